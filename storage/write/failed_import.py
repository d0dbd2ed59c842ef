"""A store that was made for an import which failed: it leaves nothing."""

from __future__ import annotations

from contextlib import suppress

from gdb.errors import GdbError

from ..disk.file_names import holds_nothing_else
from ..disk.files import MANIFEST, PosixFiles
from ..disk.writer_lock import WRITER_LOCK
from ..format.manifest import Manifest
from .store import Store


def unmake(store: Store) -> None:
    """Remove a store that this object made and that has not been written to since, with the folders that were made
    for it. Where another process writes to it, or there is anything else in its folder, it stays.

    The writer's lock is held until all is gone, and its file goes last: a process that waited for it finds that it has
    no name any more, and locks nothing (`WriterLock`).
    """
    files = store.files
    if not store.made or not isinstance(files, PosixFiles) or store.path is None:
        return
    with suppress(GdbError, OSError), store.writer():
        untouched = store.snapshot().manifest == Manifest()
        others = [name for name in files.names() if name != MANIFEST]
        if not untouched or not holds_nothing_else(others):
            return
        for name in (MANIFEST, *(name for name in others if name != WRITER_LOCK), WRITER_LOCK):
            with suppress(FileNotFoundError):
                files.unlink(name)
        for folder in files.made:
            folder.rmdir()  # not where another process has made something in it

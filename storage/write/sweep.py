"""The sweep: files of a store's folder that its manifest does not name and no snapshot needs are removed.

`gdb.storage.disk.pins` documents what protects files that are needed, and the races.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from gdb.errors import StoreError

from ..disk import file_names
from ..disk.files import Files
from ..format import manifest as manifests
from ..format.segment import FileRecord


class Sweeper:
    """Sweeps one folder, and remembers what it had to leave. One thread at a time."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._named: Sequence[FileRecord] | None = None  # beside these there is nothing else than
        self._left: tuple[file_names.FileGroup, ...] = ()

    def after_writing(self, named: Sequence[FileRecord], *, certain: bool) -> None:
        """Sweep at the end of a writer's work, under the writer's lock. Files that cannot be removed are left.

        named : the files that the manifest names; the same object as long as it is the same manifest. certain : whether
            that manifest is known to have reached the disk.

        Cost: nothing where the manifest is the same and nothing was left; else it lists the folder, or looks again at
        what was left.
        """
        if named is self._named and not self._left:
            return
        with suppress(StoreError, FileNotFoundError):
            if named is not self._named:
                self._left = self._strays({record.name for record in named})
                self._named = named
            if any(self._free(group) for group in self._left):
                with self._files.sweeping() as alone:
                    if alone:
                        self._remove({record.name for record in named} if certain else None)

    def unless_written(self) -> None:
        """Sweep while there is no writer: what a killed writer left, and what a closed snapshot needed. Files that
        cannot be removed are left."""
        files = self._files
        with suppress(StoreError, FileNotFoundError):
            if not any(self._free(group) for group in self._strays(self._now_named())):
                return
            with files.sweeping() as alone:
                if alone:
                    files.lock_writer(patient=False)
                    try:
                        self._remove(None)
                    finally:
                        files.unlock_writer()

    def _remove(self, certain: set[str] | None) -> None:
        """Remove files that neither the manifest on disk names nor a snapshot needs; the writer's lock is held.
        certain : the files in a manifest that is known to have reached the disk."""
        named = self._now_named()
        strays = self._strays(named)
        free = [group for group in strays if self._free(group)]
        if free and named != certain:
            self._files.fsync_dir()  # protects the manifest's name: the one before may need what goes now
        self._left = tuple(x for x in strays if x not in free or not self._removed(x))

    def _removed(self, group: file_names.FileGroup) -> bool:
        try:
            with self._files.unpinned(group.first) as free:
                if not free:
                    return False
                for name in group.first:
                    self._unlink(name)
            for name in group.others:
                self._unlink(name)
        except StoreError:  # the operating system refuses this one; others may go
            return False
        return True

    def _unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):  # a gdb before pins sweeps in its own way
            self._files.unlink(name)

    def _free(self, group: file_names.FileGroup) -> bool:
        try:
            with self._files.unpinned(group.first) as free:
                return free
        except StoreError:
            return False

    def _now_named(self) -> set[str]:
        """What the manifest on disk names."""
        _, manifest = manifests.read(self._files)
        return {record.name for record in manifest.files}

    def _strays(self, kept: set[str]) -> tuple[file_names.FileGroup, ...]:
        return file_names.together(file_names.strays(self._files.names(), kept))

"""Verification of checksums: a segment file holds the bytes that the manifest committed, or is refused.

A file that this process wrote itself is not read again for that. A query may read a file while it is compared: where
it is another one, the query raises, whatever it made of the bytes.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from gdb.base import forks, threads, usage, waiting
from gdb.base.machine.cores import cores
from gdb.errors import CorruptStore

from ..columns.model import U8
from ..disk import lost_pages
from ..disk.checksum import has_checksum
from ..disk.files import Files
from .invariants import CHECKSUMS
from .segment import FileRecord, SegmentFile, damaged

_written: weakref.WeakKeyDictionary[Files, set[FileRecord]] = weakref.WeakKeyDictionary()


def note_written(files: Files, record: FileRecord) -> None:
    """Note that this process wrote and synced a file through `files`."""
    _written.setdefault(files, set()).add(record)


class Comparison:
    """The comparison of a mapped file with its checksum, by the thread that is first to come to it."""

    __slots__ = ("_born", "_content", "_done", "_equal", "_files", "_record", "_taken")

    def __init__(self, files: Files, record: FileRecord, content: U8) -> None:
        self._files, self._record, self._content = files, record, content
        self._born = forks.generation()
        self._taken, self._done = waiting.Lock(), threading.Event()
        self._equal = False

    def run(self) -> None:
        """Compare, if no thread does so. Raises Cancelled and QueryTimeout, and another thread may take it then."""
        if self._done.is_set() or not self._taken.acquire(blocking=False):
            return
        try:
            with suppress(CorruptStore):
                verify(self._files, self._record, self._content)
                self._equal = True
            self._done.set()
        finally:
            self._taken.release()

    def settle(self) -> None:
        """Compare, or wait for the thread that does.

        Raises
        ------
        CorruptStore : the file is another one. Cancelled, QueryTimeout : the query of this thread is to go no further.
        """
        if self._born != forks.generation():  # the thread may be gone
            verify(self._files, self._record, self._content)
            return
        self.run()
        while not self._done.wait(waiting.STEP):
            usage.pulse()
            self.run()
        if not self._equal:
            raise _another(self._files, self._record)


def compare_beside(some: Sequence[Comparison]) -> None:
    """Let other threads compare files with their checksums, as many as there are cores, and the query go on meanwhile.

    Sixteen compute 3.4 GB/s where one does 0.32, two 1.46 for 0.67: those of one core are not in each other's way. With
    half as many, first answers of rmat100m took 5 to 12 % longer on 16 cores, and a fourth longer on two.
    """
    left = deque(some)

    def work() -> None:
        with lost_pages.watched(lambda: None, lambda: None):  # who waits for them looks
            while left:
                with suppress(IndexError):  # another thread has taken the last one
                    left.popleft().run()

    for _ in range(min(cores(), len(some))):
        try:
            threads.start(threading.Thread(target=work, name="gdb-verify", daemon=True))
        except (RuntimeError, MemoryError):  # no room for a thread: who waits for them compares
            return


def open_segment(
    files: Files, record: FileRecord, *, anew: bool = True, later: bool = False
) -> SegmentFile:
    """Map a file and verify that it is the one that the manifest committed.

    anew : also where this process wrote it itself through `files`, and so knows its bytes (without, it is `own`), or
        `files` has compared them with the checksum.
    later : the caller sees to it that it is verified (`SegmentFile.comparison`) before anything of it is given out.

    Raises
    ------
    CorruptStore : it is missing, of another length, or of other bytes.
    """
    content = files.map(record.name, record.length, record.digest)
    own = not anew and record in _written.get(files, ())
    comparison = None
    if anew or not (own or files.remote):
        comparison = Comparison(files, record, content)
        if not later:
            comparison.settle()
            comparison = None
    try:
        return SegmentFile(
            *(files.where, record.name, content),
            own=own,
            pinned=record.digest,
            comparison=comparison,
        )
    except CorruptStore:
        if comparison is not None:
            comparison.settle()
        raise


def verify(files: Files, record: FileRecord, content: U8) -> None:
    """Raise CorruptStore unless the bytes have the checksum that the manifest pinned."""
    if not has_checksum(content.data, record.digest):
        raise _another(files, record)


def _another(files: Files, record: FileRecord) -> CorruptStore:
    how = "does not hold the bytes that were committed"
    return damaged(files.where, record.name, how, CHECKSUMS.name)

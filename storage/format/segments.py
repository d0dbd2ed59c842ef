"""The segment files of one state of a store: opened when they are first read, and looked at again while they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np

from gdb.base import usage, waiting

from ..disk.files import MANIFEST, Files
from ..disk.mapped_file import pages_from_disk
from ..disk.pins import Pin
from .segment import FileRecord, Inside, SegmentFile, damaged
from .segment_checksum import compare_beside, open_segment

T = TypeVar("T")
MOST_LOOKS = 32  # files whose length is compared again when a query begins
LEAST_LATER = 1 << 22  # bytes that take so long to be verified that threads are worth their start
LOOKS_APART = 0.01  # seconds between two looks whether files were written to


class Segments:
    """The segment files of one manifest, opened and verified on first use; thread-safe."""

    __slots__ = (
        "_anew",
        "_due",
        "_later",
        "_lock",
        "_opened",
        "_turn",
        "files",
        "inline",
        "pins",
        "records",
    )

    def __init__(
        self,
        files: Files,
        records: tuple[FileRecord, ...],
        inline: Inside | None,
        before: Segments | None = None,
        pins: Sequence[Pin] | None = None,
        *,
        anew: bool = True,
    ) -> None:
        """inline : the segment that lies in the manifest itself. before : those of an earlier manifest; what
        both name is not verified again. pins : what keeps the files on disk; None: what keeps those of `before`.
        anew : see `open_segment`."""
        self.files, self.records, self.inline = files, records, inline
        self._anew = anew
        if pins is None:
            pins = () if before is None else before.pins
        self.pins: Sequence[Pin] = pins
        self._opened: dict[int, SegmentFile] = {}
        self._turn = 0  # of `look`
        self._due: float = (
            0.0 if before is None else before._due
        )  # of `look_at_bytes`, time.monotonic()
        if before is not None:
            known = dict(before._opened).items()
            if before.records is records:
                self._opened = {n: file for n, file in known if n < len(records)}
            else:
                opened = {before.records[n]: f for n, f in known if n < len(before.records)}
                self._opened = {n: opened[r] for n, r in enumerate(records) if r in opened}
        # while a file is opened: of few files, and each commit makes another one of these
        self._lock: waiting.Lock = waiting.Lock() if before is None else before._lock
        # being verified, or found to be others: of all these, since they share what was made of the files
        self._later: list[SegmentFile] = [] if before is None else before._later

    def look(self, *, every: bool = False) -> None:
        """Look whether files that were opened are as long as they were, at most `MOST_LOOKS` of them, in turn, or
        all. Raises CorruptStore."""
        files = list(self._opened.values())  # one step: another thread may open more
        if len(files) > MOST_LOOKS and not every:
            begin = self._turn = (self._turn + MOST_LOOKS) % len(files)
            files = (files[begin:] + files[:begin])[:MOST_LOOKS]
        for file in files:
            file.look()

    def look_at_bytes(self, *, at_once: bool = False) -> None:
        """Wait until what is read has been verified, and look whether something was written to files that were opened,
        and if so at all of their bytes; `at_once`, or where that was not done in the last `LOOKS_APART` seconds. Raises
        CorruptStore."""
        if self._later:
            self.settle()
        if (now := time.monotonic()) < self._due and not at_once:
            return
        files = list(self._opened.values())
        self._due = now + LOOKS_APART * max(1.0, len(files) / MOST_LOOKS)
        try:
            for file in files:
                file.look_at_bytes()
        except BaseException:  # also a Ctrl-C, in a look-up
            self._due = 0.0
            raise

    def settle(self) -> None:
        """Wait until all that was opened is verified. Raises CorruptStore, and from then on always, where something is
        not: others may have made something of it; Cancelled and QueryTimeout as `Comparison.settle`."""
        for file in list(self._later):
            file.settle()
            with suppress(ValueError):  # another thread has waited for it as well
                self._later.remove(file)

    def shares(self, before: Segments, numbers: Iterable[int]) -> bool:
        """Whether these numbers are the same files in an earlier manifest."""
        if self.records is before.records:
            return max(numbers, default=-1) < len(self.records)
        return all(
            n < len(self.records)
            and n < len(before.records)
            and (self.records[n] is before.records[n] or self.records[n] == before.records[n])
            for n in numbers
        )

    def __getitem__(self, number: int) -> SegmentFile:
        """The file of that number in the manifest; CorruptStore where it is not what was committed."""
        with self._lock:
            if number not in self._opened:
                self._opened[number] = self._open(number)
            self._opened[number].settle()
            return self._opened[number]

    def name(self, number: int) -> str:
        """That of a file, by its number, which was read."""
        return self.records[number].name if number < len(self.records) else MANIFEST

    def several(self, numbers: Sequence[int], work: Callable[[SegmentFile, int], T]) -> list[T]:
        """The results of some work with files, by their numbers, which are distinct, while their bytes are at hand; on
        all cores, or few where a budget bounds what is read at once.

        Each is verified before; or, where the query of this thread waits for that at its end, later (`verify_beside`).
        Work that raises does so only of files that are verified.
        """
        query = usage.current()
        later = query is not None and query.blocks > 0 and query.budget.limit is None
        large = later and self._new_bytes(numbers) >= LEAST_LATER

        def one(number: int) -> tuple[SegmentFile, T]:
            file = self._opened.get(number) or self._open(number, later=large)
            if not later:
                file.settle()
            before = pages_from_disk()
            try:
                result = work(file, number)
            except Exception:  # whatever it made of the bytes, the checksum says it better
                file.settle()
                raise
            if file.comparison is not None and pages_from_disk() > before:
                compare_beside([file.comparison])  # cores have little to do but to wait for others
            return file, result

        with self._lock:
            found, results = list[T](), waiting.within_budget(one, numbers)
            for number, (file, result) in zip(numbers, results, strict=True):
                self._opened[number] = file
                found.append(result)
                if file.comparison is not None and file not in self._later:
                    self._later.append(file)
        return found

    def verify_beside(self) -> None:
        """Let other threads verify what is not yet; to be called when the query of this thread has less to do for them:
        both would be slower. What the disk was read for is by then being verified."""
        if self._later:
            compare_beside([c for file in self._later if (c := file.comparison) is not None])

    def _new_bytes(self, numbers: Sequence[int]) -> int:
        """Of files that were not opened yet."""
        new = [n for n in numbers if n not in self._opened and n < len(self.records)]
        return sum(self.records[n].length for n in new)

    def _open(self, number: int, *, later: bool = False) -> SegmentFile:
        if number == len(self.records) and self.inline is not None:
            content = np.frombuffer(bytearray(self.inline.bytes), np.uint8)  # numbers are aligned
            content.flags.writeable = False
            return SegmentFile(self.files.where, MANIFEST, content)
        if not 0 <= number < len(self.records):
            raise damaged(self.files.where, MANIFEST, f"names no file {number}")
        return open_segment(self.files, self.records[number], anew=self._anew, later=later)

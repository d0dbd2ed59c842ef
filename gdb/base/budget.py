"""The memory that a query may hold, and what holds it.

One `Budget` is that of a query (`memory=`); each run of a plan has a part of it (`part`), which gives back what its
workers took when it ends (`with`). What cannot be had elsewhere is taken (`take`, which raises); large arrays test
whether there is room (`fits`) and lie in a temporary file where there is none (`gdb.storage.disk.arrays.placed`), so
that they cost page cache, which the system takes back when it needs it, not memory of the process.
"""

from __future__ import annotations

import re
import threading

from gdb.errors import OutOfBudget
from gdb.records import dataclass, field

LEAST = 1 << 20
"""Bytes: the least that `memory=` of a query takes. Above it every pattern runs, over any graph."""

READS = "Raise memory=, add a LIMIT, or aggregate instead of listing or collecting."
WRITES = "Raise memory=, or write in several statements, each for a part of the rows."
"""What OutOfBudget recommends, of a query that reads and of one that changes the graph."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)

ROWS = "its rows"
"""What stays when a run has ended."""


def size_in(text: str) -> float | None:
    """The bytes that a text names, as "8GB" or "512 MiB" do; None where it is no size."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    units = _BINARY_UNITS if found[3] else _UNITS
    return float(found[1]) * units.get(found[2].upper(), 1)


@dataclass(frozen=True, slots=True)
class Defaults:
    """Budgets of a query that is given none of its own, in bytes. memory : of the host, None for no bound. gpu_memory :
    of each GPU, None for a share of what is free there."""

    memory: int | None = None
    gpu_memory: int | None = None


UNBOUNDED = Defaults()


@dataclass(slots=True)
class Budget:
    """Bytes that a query may hold; `take` accounts before anything is allocated.

    limit : None for no bound. used : bytes held now. most : the most that were held at once.
    held, peaks : bytes by what holds them, now and at most. filed : bytes of arrays that lie in temporary files, by
        what they are.
    workers : threads that the last run of a plan on the CPU worked with, and how many it could have had.
    whole : the budget that this one is a part of: what this one takes is taken from it, too.
    cure : what OutOfBudget recommends.
    """

    limit: int | None = None
    used: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    most: int = 0
    held: dict[str, int] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)
    filed: dict[str, int] = field(default_factory=dict)
    workers: tuple[int, int] = (0, 0)
    whole: Budget | None = None
    cure: str = READS

    def part(self) -> Budget:
        """A budget of its own for a run of a plan, which takes from this one; a `with` block around the run gives back
        all but its rows."""
        return Budget(self.limit, whole=self, cure=self.cure)

    def __enter__(self) -> Budget:
        return self

    def __exit__(self, *_: object) -> None:
        if self.whole is not None:
            for what, size in self.held.items():
                if what != ROWS and size:
                    self.whole.give_back(size, what)
            self.whole.workers = self.workers

    @property
    def left(self) -> int | None:
        """Bytes that are free; None for no bound."""
        if self.limit is None:
            return None
        own = max(self.limit - self.used, 0)
        above = None if self.whole is None else self.whole.left
        return own if above is None else min(own, above)

    def take(self, size: int, what: str) -> None:
        """Account `size` bytes for `what`, or raise OutOfBudget."""
        if not self.fits(size, what):
            assert self.limit is not None
            need = self.limit - (self.left or 0) + size
            raise OutOfBudget(
                f"The query needs {need:,} bytes for {what}, over its budget of {self.limit:,}.",
                self.cure,
            )

    def fits(self, size: int, what: str = "") -> bool:
        """Account `size` bytes where they fit; whether they do."""
        if self.whole is not None and not self.whole.fits(size, what):
            return False
        with self.lock:
            fits = self.limit is None or self.used + size <= self.limit
            if fits:
                self.used += size
                self.most = max(self.most, self.used)
                self.held[what] = self.held.get(what, 0) + size
                self.peaks[what] = max(self.peaks.get(what, 0), self.held[what])
        if not fits and self.whole is not None:
            self.whole.give_back(size, what)
        return fits

    def give_back(self, size: int, what: str) -> None:
        """Bytes that were accounted for are free again."""
        with self.lock:
            self.used -= size
            self.held[what] = self.held.get(what, 0) - size
        if self.whole is not None:
            self.whole.give_back(size, what)

    def back_to(self, held: dict[str, int]) -> None:
        """Give back what was taken since `held` was this."""
        for what, size in list(self.held.items()):
            if size > held.get(what, 0):
                self.give_back(size - held.get(what, 0), what)

    def file(self, size: int, what: str) -> None:
        """Note an array that lies in a temporary file, because it does not fit."""
        with self.lock:
            self.filed[what] = self.filed.get(what, 0) + size
        if self.whole is not None:
            self.whole.file(size, what)

    def spent(self) -> str:
        """At most 3,145,728 of 24,000,000 bytes: workers 3,145,728 (2 of 2); in temporary files: workers 800."""
        shares = ", ".join(
            f"{what} {size:,}" + (" ({} of {})".format(*self.workers) if what == "workers" else "")
            for what, size in self.peaks.items()
            if what
        )
        text = f"at most {self.most:,} of {self.limit or 0:,} bytes" + (
            f": {shares}" if shares else ""
        )
        files = ", ".join(f"{what} {size:,}" for what, size in self.filed.items())
        return f"{text}; in temporary files: {files}" if files else text

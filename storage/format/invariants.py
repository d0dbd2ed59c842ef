"""The invariants of every store, by name: each is one sentence and the function that compares it.

Readers compare most of them when they touch a thing for the first time, and `gdb.storage.checking.check` all of them,
on everything. A check of what a reader compares is that reader (docs/FORMAT.md, *Invariants*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from gdb.records import dataclass

T = TypeVar("T")


class Fails(ValueError):
    """An invariant does not hold: what is wrong. An error of its own, so that a fault of what compares is none of the
    store."""


class Contradiction(ValueError):
    """Two facts of a store cannot both be right. invariant : the name of what does not hold."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(what)
        self.invariant = invariant


@dataclass(frozen=True, slots=True)
class Invariant:
    """name : few words. rule : one sentence. Those that are not `Compared` are checked by the reader of a thing while
    it is made."""

    name: str
    rule: str


@dataclass(frozen=True, slots=True)
class Compared(Invariant, Generic[T]):
    """compare : raises Fails that says what is wrong with a thing."""

    compare: Callable[[T], None]


def expect(condition: bool, otherwise: str) -> None:
    """Raise Fails unless a condition holds."""
    if not condition:
        raise Fails(otherwise)


def hold(invariants: Iterable[Compared[T]], thing: T) -> None:
    """Compare a thing with invariants, in their order: a later one may rely on those before it.

    Raises
    ------
    Contradiction : the first that does not hold.
    """
    for one in invariants:
        try:
            one.compare(thing)
        except Fails as error:
            raise Contradiction(one.name, str(error)) from None


# ---- those that reading itself compares ------------------------------------------------------------------

MANIFEST_SEAL = Invariant(
    "manifest seal", "MANIFEST is there, and the checksum at its end is that of its bytes."
)
MANIFEST_TEXT = Invariant(
    "manifest text",
    "MANIFEST has a head of a known format and a body whose members are of their types and within their ranges.",
)
JOURNAL = Invariant(
    "journal",
    "Every record after the manifest is sealed and numbered, none is missing between others, and each follows what"
    " was before it.",
)
CHECKSUMS = Invariant(
    "checksums", "Every file that the manifest names has the length and the checksum that it pins."
)
SECTION_TABLES = Invariant(
    "section tables",
    "Every file has a header of its own length, and sections that follow one another and fill it.",
)
SECTIONS = Invariant(
    "sections", "Every section that the manifest names exists, and is of its kind, item and code."
)
PACKED = Invariant(
    "packed sections",
    "A packed section holds as many items as it should, its parts follow one another, and the bits after each are 0.",
)
COLUMN_LENGTHS = Invariant(
    "column lengths",
    "A column has a value for each row, and its offsets begin with 0 and end with the last value.",
)
VALIDITY = Invariant(
    "validity", "Validity has one bit for each row, and the bits after the last row are 0."
)
DELTA_LENGTHS = Invariant(
    "delta lengths", "The lists of the delta are as long as the manifest says."
)
SEGMENT_ROWS = Invariant(
    "segment rows",
    "A segment has the rows, intervals and entries that the manifest says, and goes on with the row that the one before"
    " it broke off.",
)
INTERVALS = Invariant(
    "intervals", "A part has as many runs of consecutive vids as the manifest says."
)
INDEX_LENGTHS = Invariant(
    "index lengths", "The index of an id space has an entry for each id that the manifest counts."
)
EDGE_COUNTS = Invariant(
    "edges of --",
    "An undirected type has as many entries whose neighbour is not below their row as it has edges.",
)
DIRECTIONS = "both directions"  # the names of two that `gdb.storage.checking.cross_checks` compares, and readers meet
NEW_IDS = "new ids"

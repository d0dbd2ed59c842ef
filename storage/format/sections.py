"""Sections: the arrays that segment files hold, plain or packed (docs/FORMAT.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from gdb.records import dataclass, quick

from ..columns.model import I64

Data = npt.NDArray[np.uint8 | np.uint32 | np.uint64 | np.int32 | np.int64 | np.float64]


class SectionKind(IntEnum):
    """What a section holds."""

    INTERVAL_FIRST = 1  # u32[k]
    INTERVAL_LENGTH = 2  # u32[k]
    ROW_LENGTHS = 3  # u8[rows], 255 = see LONG_ROWS
    LONG_ROWS = 4  # u32, the lengths of 255 and more
    NEIGHBOURS = 5  # u32[m]
    VALUES = 16  # i64[n], f64[n], i32[n], u8[n] or UTF-8 bytes
    STRING_OFFSETS = 17  # i64[n + 1]
    VALIDITY = 18  # bits, least significant first
    LIST_OFFSETS = 19  # i64[n + 1]
    ID_KEYS = 32  # i64[n] or u64[n], ascending
    ID_VIDS = 33  # u32[n]
    DEAD_VIDS = 48  # u32[n], ascending
    PATCHED_ROWS = 49  # i64[n], ascending
    ADDED_KEYS = 50  # u64[n], ascending
    REMOVED_RANKS = 51  # i64[n], ascending


class Code(IntEnum):
    """How a section's bytes encode its items."""

    PLAIN = 0  # one after the other
    NUMBERS = 1  # see `gdb.storage.format.packed_blocks`
    ROWS = 2  # see `gdb.storage.format.gaps`


@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """An array of `length` items that is not in memory as a whole: `blocks` gives it front to back, each time anew."""

    dtype: np.dtype[np.generic]
    length: int
    blocks: Callable[[], Iterator[Data]]

    @property
    def nbytes(self) -> int:
        """Bytes of all its elements."""
        return self.dtype.itemsize * self.length


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """How an array was made of another one, `data`: its first `head` and its last `tail` items are that one's."""

    data: Data
    head: int
    tail: int


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One array of a file to be written.

    counted : the manifest has the number of items, or a bound on it, so that they may be packed. rows : offsets i64
    of neighbours, which may be packed by them. code : how `data` encodes the items; a packed section has words as
    `data`, and the bytes of an item as `item`. edit : how it was made, where that is known.
    """

    kind: SectionKind
    data: Data | Streamed
    counted: bool = False
    rows: I64 | None = None
    code: Code = Code.PLAIN
    item: int = 0
    edit: Edit | None = None

    def blocks(self) -> Iterator[Data]:
        """Its data, front to back."""
        if isinstance(self.data, Streamed):
            yield from self.data.blocks()
        else:
            yield self.data

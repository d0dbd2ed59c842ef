"""Local parts: the end of a counting nest whose vertices all lie in one neighbourhood, of any size up to `BITS_MOST`
words of bits (`kernels/bits.cuh`). `local` takes what lies in one short list.

The matrices of bits are made once for a view and stay beside it (`matrices`). The last two loops run over bits; those
outside of them are walked over lists, so that warps can share them, and narrow the sets of bits as they bind.
"""

from __future__ import annotations

from gdb.records import dataclass
from gdb.storage.format.direction import Direction

from ..nest.demands import Chain
from ..nest.neighbourhood import LocalPart, build, common, counted_chain, first_inside
from ..nest.prepare import Prepared
from . import layout

COMMON = 4.0  # neighbours that two adjacent vertices have in common, in the mean: with fewer, rows are read too seldom
LEAST = 2  # loops below the frame: with fewer a row of bits would be made to be read once
LOOPS = 2  # over bits: what is below them is counted without a stop


@dataclass(frozen=True, slots=True)
class Bits:
    """What a kernel counts in bits. outside : of the vertices that may be no neighbours of the frame the rows that are
    read, (level, view). words : u32 of a set at most."""

    part: LocalPart
    outside: tuple[tuple[int, int], ...]
    words: int

    @property
    def head(self) -> int:
        """u32 before the first set: the frame, and a place for each level."""
        return _fours(layout.BITS_FRAME_WORDS + self.part.last + 1)

    @property
    def own_words(self) -> int:
        """u32 of shared memory of a warp."""
        rows = self.part.sets + len(self.outside)
        return self.head + rows * self.words + layout.BITS_ELEMENTS

    @property
    def views(self) -> tuple[int, ...]:
        """The views whose matrices are read, that of the frame first."""
        read = {relation.view for relation in self.part.relations} - {-1, self.part.view}
        return (self.part.view, *sorted(read))

    @property
    def placed(self) -> int:
        """The levels outside of the bits whose places are needed, a bit each."""
        levels = {op.level for op in self.part.operations if op.level < self.part.first}
        return sum(1 << level for level in levels)

    def operations(self) -> list[list[int]]:
        """Rows of the table of operations, as layout.Operation."""
        part = self.part
        rows = []
        for op in part.operations:
            row = (op.level, part.relations[op.relation].view)
            where = self.outside.index(row) if row in self.outside else -1
            rows.append([*op, part.depth(op), where])
        return rows


def find(prepared: Prepared, room: int) -> Bits | None:
    """What of a counting nest is counted in bits, in so many bytes of shared memory of a warp; None where there is
    nothing, or too little."""
    known = counted_chain(prepared)
    if known is None:
        return None
    made = [part for frame in range(len(known.loops)) for part in _under(prepared, known, frame)]
    if not made:
        return None
    part, outside = min(made, key=lambda one: (len(one[1]), one[0].first, one[0].frame))
    whole = Bits(part, outside, 0)
    rows = max(part.sets + len(outside), 1)
    words = min((room // 4 - whole.own_words) // rows // 4 * 4, layout.BITS_MOST)
    return Bits(part, outside, words) if words > 0 else None


def _under(
    prepared: Prepared, known: Chain, frame: int
) -> list[tuple[LocalPart, tuple[tuple[int, int], ...]]]:
    """What can be counted in bits under a frame, with the rows of vertices that may be no neighbours of it."""
    last = len(known.loops) + len(known.path) - 1
    found = []
    for view in {view for end in known.ends for view, level in end.rows if level == frame}:
        inside, adjacency = first_inside(known, frame, view), prepared.views[view]
        if inside is None or last - frame < LEAST:
            continue
        first = max(inside, last + 1 - LOOPS)
        if first >= len(known.loops) or not adjacency.simple or common.of(adjacency) < COMMON:
            continue
        part = build(prepared, known, frame, view, first)
        if len(part.relations) > 0:
            found.append((part, _outside(prepared, known, part)))
    return found


def _outside(prepared: Prepared, known: Chain, part: LocalPart) -> tuple[tuple[int, int], ...]:
    """The rows of vertices that may be no neighbours of the frame."""
    own = known.loops[part.frame]
    both_ways = prepared.specs[part.view].direction is Direction.ANY

    def is_neighbour(level: int) -> bool:
        demand = known.loops[level]
        if level > part.frame:
            return demand is not None and (part.view, part.frame) in demand.rows
        return both_ways and own is not None and (part.view, level) in own.rows

    rows = {
        (op.level, part.relations[op.relation].view)
        for op in part.operations
        if op.level < part.first and part.relations[op.relation].view >= 0
    }
    return tuple(sorted(row for row in rows if row[0] == part.frame or not is_neighbour(row[0])))


def _fours(words: int) -> int:
    return -(-words // 4) * 4

"""Interval-PCSR: one edge-label partition in one direction, as CSR over the vertices that it has.

Source: geneva-tpds §4 (interval index), sgsi §6.1 (segments of about equal edge count; a long row
may span several). A part is built from sorted keys `row vid << 32 | neighbour`, so that parallel
edges stay side by side and every step is one NumPy pass.

On disk a row costs one byte, its length (longer rows are in a second list); row offsets are summed
up when the part is read. So a vertex that belongs to many partitions costs little in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.base import usage
from gdb.records import dataclass

from ..columns.model import I64, U8, U32
from ..disk.arrays import GRAPH, GRAPH_SHARE, placed, unset
from ..format.direction import Direction
from ..format.invariants import SEGMENT_ROWS
from ..format.manifest import PartRecord, SegmentRecord
from ..format.sections import Section, SectionKind
from ..format.segment import PAGE, SegmentFile, damaged
from ..format.segment_writer import SegmentWriter
from . import intervals, section_checks
from .adjacency import Adjacency
from .intervals import Intervals

if TYPE_CHECKING:
    from .row_loops import United

U64 = npt.NDArray[np.uint64]

LONG = 255  # a row of this length or more
SEGMENT_EDGES = 16 << 20  # 64 MiB of neighbours
_PAGE_EDGES = PAGE // 4


_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part in memory: `intervals` names its rows, the rest is as in `Adjacency`."""

    intervals: Intervals
    offsets: I64
    neighbours: U32
    simple: bool
    loops: bool
    max_degree: int

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """The part as the executors see it."""
        return Adjacency(
            types,
            direction,
            *self.intervals.arrays,
            self.offsets,
            self.neighbours,
            self.simple,
            self.loops,
            self.max_degree,
        )


def keys_of(rows: U32, neighbours: U32) -> U64:
    """`rows[i] << 32 | neighbours[i]`, u64[m]: their order is that of a part's positions."""
    return (rows.astype(np.uint64) << _HALF) | neighbours


def stable_order(values: U32 | I64 | U64) -> I64:
    """`np.argsort(values, kind="stable")`, but faster: one sort of (value, place), where both have 64 bits together."""
    count = values.shape[0]
    least = int(values.min()) if count else 0
    width, place = (int(values.max(initial=least)) - least).bit_length(), count.bit_length()
    if width + place > 64:
        return np.argsort(values, kind="stable")
    packed = values.astype(np.uint64)  # wraps below 0, and so does what is taken away
    packed -= np.uint64(least & (1 << 64) - 1)
    packed <<= np.uint64(place)
    return _places(packed, place)


def order_of(rows: U32, neighbours: U32) -> I64:
    """The stable order by (row, neighbour), i64[m]: that of `keys_of`, sorted."""
    width, place = int(neighbours.max(initial=0)).bit_length(), rows.shape[0].bit_length()
    if int(rows.max(initial=0)).bit_length() + width + place > 64:
        by_neighbour = stable_order(neighbours)
        return by_neighbour[stable_order(rows[by_neighbour])]
    packed = rows.astype(np.uint64)
    packed <<= np.uint64(width)
    packed |= neighbours
    packed <<= np.uint64(place)
    return _places(packed, place)


def _places(packed: U64, width: int) -> I64:
    """The places of values in ascending order, those of equal ones as they are; the values lack their lowest bits, of
    this width, and are used up."""
    from .sorting import ascending  # here: most queries sort nothing

    packed |= np.arange(packed.shape[0], dtype=np.uint64)
    packed = ascending(packed)
    packed &= np.uint64((1 << width) - 1)
    return packed.view(np.int64)


def build(keys: U64) -> Part:
    """The part of ascending keys u64[m]; see `keys_of`. O(m)."""
    if not len(keys):
        none = np.zeros(0, np.uint32)
        return Part(intervals.of_vids(none), np.zeros(1, np.int64), none, True, False, 0)
    from .edge_loops import split_keys  # brings the compiler

    found = split_keys(keys)
    return Part(
        intervals.of_vids(found.rows),
        np.append(found.starts, len(found.neighbours)),
        found.neighbours,
        simple=not found.repeats,
        loops=found.loops > 0,
        max_degree=found.max_degree,
    )


def unite_parts(a: Part, b: Part, *, without_loops: bool) -> Part:
    """Two parts as one. without_loops : self-loops of `b` are left out, which `a` has as well. O(rows + edges)."""
    from . import row_loops  # brings the compiler

    found = row_loops.unite_rows(lists(a), lists(b), without_loops=without_loops)
    return _part_of(found)


def united_eids(
    a: tuple[Part, I64], b: tuple[Part, I64], *, without_loops: bool
) -> tuple[Part, I64]:
    """As `unite_parts`, of parts with the edge id of each position, i64[m]."""
    from . import row_loops  # brings the compiler

    eids = a[1], b[1]
    found = row_loops.unite_rows(lists(a[0]), lists(b[0]), without_loops=without_loops, eids=eids)
    assert found.eids is not None
    return _part_of(found), found.eids


def _part_of(united_rows: United) -> Part:
    return Part(
        intervals.of_vids(united_rows.vids),
        united_rows.offsets,
        united_rows.neighbours,
        simple=not united_rows.repeats,
        loops=united_rows.loops > 0,
        max_degree=united_rows.max_degree,
    )


def lists(part: Part) -> Adjacency:
    """Its rows, whatever its types are."""
    return part.adjacency((), Direction.ANY)


def keys_at(part: Part, positions: I64) -> U64:
    """The keys at some positions of a part, u64[n]."""
    rows = np.searchsorted(part.offsets, positions, side="right") - 1
    index = part.intervals
    return keys_of(intervals.vids_of_rows(index.first, index.row, rows), part.neighbours[positions])


def keys_of_part(part: Part) -> U64:
    """The ascending keys that a part was built from."""
    vids = part.intervals.vids()
    return keys_of(np.repeat(vids, np.diff(part.offsets)), part.neighbours)


def encode_offsets(offsets: I64) -> tuple[U8, U32]:
    """Row lengths, u8[rows], and those of 255 and more, u32: each is 255 in the first.

    offsets : i64[rows + 1], ascending from 0.
    """
    lengths = np.diff(offsets)
    return np.minimum(lengths, LONG).astype(np.uint8), lengths[lengths >= LONG].astype(np.uint32)


def decode_offsets(lengths: U8, long: U32) -> I64:
    """The offsets i64[rows + 1] of `encode_offsets`: `long` has as many numbers as there are lengths of `LONG`."""
    offsets = placed(lengths.shape[0] + 1, np.int64, GRAPH, usage.room(), most=GRAPH_SHARE)
    if lengths.shape[0] > section_checks.MANY_ROWS:
        from .edge_loops import offsets_of  # brings the compiler

        return offsets_of(lengths, LONG, long, offsets)
    if not long.shape[0]:
        np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
        return offsets
    offsets[1:] = lengths
    offsets[1:][lengths == LONG] = long
    return np.cumsum(offsets, out=offsets)


@dataclass(frozen=True, slots=True)
class Written:
    """Counts of a written part. repeats : how often a key follows an equal one; repeated_loops : how many of these keys
    are self-loops."""

    record: PartRecord
    repeats: int
    repeated_loops: int


def write(
    pieces: Iterable[U64],
    total: int,
    direction: Direction,
    writer: SegmentWriter,
    segment_edges: int = SEGMENT_EDGES,
) -> Written:
    """Put a part into segments, as its keys come.

    Segments have at most `segment_edges` positions and are about equal in size. Where that is a number of whole pages,
    all but the last fill whole pages, so that they can be mapped one behind the other.

    Parameters
    ----------
    pieces : ascending keys (see `keys_of`), none empty; equal ones are in one piece. total : how many.

    Cost: 4 bytes of memory for each position of a segment, beside some times the largest piece.
    """
    target = -(-total // max(1, -(-total // segment_edges)))
    if segment_edges % _PAGE_EDGES == 0:
        target = -(-target // _PAGE_EDGES) * _PAGE_EDGES
    tail = _Tail(iter(pieces))
    segments: list[SegmentRecord] = []
    begin = size = 0
    while True:
        end = min(begin + target, total)
        first, vids, local, neighbours = tail.cut(begin, end)
        index = intervals.of_vids(vids)
        lengths, long = encode_offsets(local)
        sections = [
            Section(SectionKind.INTERVAL_FIRST, index.first, counted=True),
            Section(SectionKind.INTERVAL_LENGTH, index.length, counted=True),
            Section(SectionKind.ROW_LENGTHS, lengths, counted=True),
            Section(SectionKind.LONG_ROWS, long, counted=True),
            Section(SectionKind.NEIGHBOURS, neighbours, rows=local),
        ]
        place = writer.place(sections)
        size += place.bytes
        segments.append(
            SegmentRecord(place.file, place.section, first, len(vids), begin, end - begin)
        )
        begin = end
        if end >= total:
            break
    tail.finish()
    record = PartRecord(
        direction,
        rows=tail.rows,
        edges=total,
        intervals=tail.intervals,
        simple=not tail.repeats,
        loops=tail.loops,
        max_degree=tail.max_degree,
        bytes=size,
        segments=tuple(segments),
    )
    return Written(record, tail.repeats, tail.repeated_loops)


class _Tail:
    """The end of a part that grows: the rows that are not wholly in segments yet."""

    def __init__(self, pieces: Iterator[U64]) -> None:
        self._pieces = pieces
        self._vids, self._starts = np.zeros(0, np.uint32), np.zeros(0, np.int64)  # of the rows
        self._neighbours: list[U32] = []
        self._known = 0  # positions that came
        self._gone = 0  # rows that are in segments
        self.intervals = self.max_degree = self.repeats = self.repeated_loops = 0
        self.loops = False

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return self._gone + len(self._vids)

    def cut(self, begin: int, end: int) -> tuple[int, U32, I64, U32]:
        """The segment of some positions: the number of its first row, vids u32[rows], offsets i64[rows + 1], neighbours
        u32[edges]. Rows that end in it are forgotten."""
        while self._known <= end and (keys := next(self._pieces, None)) is not None:
            self._take(keys)  # also of the position behind the end: a row may begin there
        first = self._row(begin) if len(self._starts) else 0
        last = int(np.searchsorted(self._starts, end, side="left"))
        number, vids = self._gone + first, self._vids[first:last]
        offsets = np.append(np.maximum(self._starts[first:last], begin), end) - begin
        neighbours = self._next(end - begin)
        if self._known > end:
            self._forget(self._row(end))
        return number, vids, offsets, neighbours

    def _next(self, count: int) -> U32:
        """So many neighbours more."""
        if count and len(self._neighbours[0]) >= count:  # not copied
            return self._front(count)
        found, at = unset(count, np.uint32), 0
        while at < count:
            # gone when it is copied: there is no room for all of them twice
            some = self._front(count - at)
            found[at : at + len(some)] = some
            at += len(some)
        return found

    def _front(self, most: int) -> U32:
        """The first neighbours that are in no segment, at most so many."""
        front = self._neighbours.pop(0)
        if len(front) > most:
            self._neighbours.insert(0, front[most:])
        return front[:most]

    def finish(self) -> None:
        """All positions are in segments."""
        lengths = np.diff(self._starts, append=self._known)
        self.max_degree = max(self.max_degree, int(lengths.max(initial=0)))

    def _row(self, position: int) -> int:
        """The row of a position that came."""
        return int(np.searchsorted(self._starts, position, side="right")) - 1

    def _forget(self, rows: int) -> None:
        lengths = np.diff(self._starts[: rows + 1])
        self.max_degree = max(self.max_degree, int(lengths.max(initial=0)))
        self._vids, self._starts = self._vids[rows:], self._starts[rows:]
        self._gone += rows

    def _take(self, keys: U64) -> None:
        from .edge_loops import split_keys  # brings the compiler

        part = split_keys(keys)
        vids, starts = part.rows, part.starts + self._known
        gap = int(vids[0]) - int(self._vids[-1]) if len(self._vids) else 2
        self.intervals += int(np.count_nonzero(np.diff(vids) != 1)) + (gap > 1)
        same = int(gap == 0)  # rows: the first one goes on with the last one
        self._vids = np.concatenate([self._vids, vids[same:]])
        self._starts = np.concatenate([self._starts, starts[same:]])
        self._neighbours.append(part.neighbours)
        self._known += len(keys)
        self.loops = self.loops or part.loops > 0
        self.repeats += part.repeats
        self.repeated_loops += part.repeated_loops


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows of a part: vids u32[rows], offsets i64[rows + 1] from 0, neighbours u32[m]; the first may have begun
    before."""

    vids: U32
    offsets: I64
    neighbours: U32

    def keys(self, most: int) -> Iterator[U64]:
        """The keys of all positions, at most so many in a piece."""
        for begin in range(0, len(self.neighbours), most):
            end = min(begin + most, len(self.neighbours))
            first = int(np.searchsorted(self.offsets, begin, side="right")) - 1
            last = int(np.searchsorted(self.offsets, end, side="left"))
            bounds: I64 = np.clip(self.offsets[first : last + 1], begin, end)
            rows = np.repeat(self.vids[first:last], bounds[1:] - bounds[:-1])
            yield keys_of(rows, self.neighbours[begin:end])


def read_segment(
    segment: SegmentRecord, file: SegmentFile, where: str, out: U32 | None = None
) -> Rows:
    """The rows of one segment. out : where its neighbours go, instead of staying in the map.

    Raises
    ------
    CorruptStore : the segment is not what the manifest says. Its numbers are not compared with anything else.
    """
    index, offsets, neighbours = indexed_rows(segment, file, where, out)
    return Rows(index.vids(), offsets, neighbours)


def indexed_rows(
    segment: SegmentRecord, file: SegmentFile, where: str, out: U32 | None
) -> tuple[Intervals, I64, U32]:
    """As `read_segment`, the vids as intervals, which may lie in any order."""
    at = segment.section
    firsts = file.u32(at, SectionKind.INTERVAL_FIRST, segment.rows)
    runs = file.u32(at + 1, SectionKind.INTERVAL_LENGTH, segment.rows)
    if firsts.shape != runs.shape:
        raise damaged(where, file.name, "has intervals without a length", SEGMENT_ROWS.name)
    index = intervals.of_lengths(firsts, runs)
    lengths = file.u8(at + 2, SectionKind.ROW_LENGTHS, segment.rows)
    long = file.u32(at + 3, SectionKind.LONG_ROWS, segment.rows)
    if np.count_nonzero(lengths == LONG) != long.shape[0]:
        raise damaged(
            where, file.name, "has another number of long rows than it says", SEGMENT_ROWS.name
        )
    local = decode_offsets(lengths, long)
    fits = local.shape[0] == segment.rows + 1 and index.rows == segment.rows
    if not (fits and segment.edges == local[-1]):
        raise damaged(
            where, file.name, "holds another segment than the manifest says", SEGMENT_ROWS.name
        )
    return index, local, file.neighbours(at + 4, local, out)

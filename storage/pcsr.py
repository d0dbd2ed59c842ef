"""Interval-PCSR: one edge-label partition in one direction, as CSR over the vertices that it has.

Source: geneva-tpds §4 (interval index), sgsi §6.1 (segments of about equal edge count; a long row
may span several). A part is built from sorted keys `row vid << 32 | neighbour`, so that parallel
edges stay side by side and every step is one NumPy pass.

On disk a row costs one byte, its length (longer rows stand in a second list); row offsets are summed
up when the part is read. So a vertex that belongs to many partitions costs little in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdb.storage import contradictions, intervals
from gdb.storage.adjacency import Adjacency, Direction
from gdb.storage.intervals import Intervals
from gdb.storage.manifest import PartRecord, SegmentRecord
from gdb.storage.model import I64, U8, U32
from gdb.storage.segment import Section, SectionKind, SegmentFile, SegmentWriter, damaged

U64 = npt.NDArray[np.uint64]

LONG = 255  # a row of this length or more
PART_SECTIONS = 5  # of each segment of a part
SEGMENT_EDGES = 16 << 20  # 64 MiB of neighbours


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
            self.intervals.first,
            self.intervals.length,
            self.intervals.row,
            self.offsets,
            self.neighbours,
            self.simple,
            self.loops,
            self.max_degree,
        )


def keys_of(rows: U32, neighbours: U32) -> U64:
    """`rows[i] << 32 | neighbours[i]`, u64[m]: their order is that of a part's positions."""
    return (rows.astype(np.uint64) << np.uint64(32)) | neighbours


def stable_order(values: U32) -> I64:
    """`np.argsort(values, kind="stable")`, but faster: one sort of (value, place)."""
    if values.shape[0] >= 1 << 32:
        return np.argsort(values, kind="stable")
    packed = values.astype(np.uint64) << np.uint64(32)
    packed |= np.arange(values.shape[0], dtype=np.uint64)
    packed.sort()
    packed &= np.uint64(0xFFFFFFFF)
    return packed.view(np.int64)


def order_of(rows: U32, neighbours: U32) -> I64:
    """The stable order by (row, neighbour), i64[m]: that of `keys_of`, sorted."""
    by_neighbour = stable_order(neighbours)
    return by_neighbour[stable_order(rows[by_neighbour])]


def build(keys: U64) -> Part:
    """The part of ascending keys u64[m]; see `keys_of`. O(m)."""
    rows = (keys >> np.uint64(32)).astype(np.uint32)
    neighbours = keys.astype(np.uint32)
    if not keys.shape[0]:
        return Part(intervals.of_vids(rows), np.zeros(1, np.int64), neighbours, True, False, 0)
    starts = np.flatnonzero(np.diff(rows, prepend=~rows[:1]))
    offsets = np.append(starts, keys.shape[0]).astype(np.int64)
    return Part(
        intervals.of_vids(rows[starts]),
        offsets,
        neighbours,
        simple=not bool((keys[1:] == keys[:-1]).any()),
        loops=bool((rows == neighbours).any()),
        max_degree=int(np.diff(offsets).max()),
    )


def keys_at(part: Part, positions: I64) -> U64:
    """The keys at some positions of a part, u64[n]."""
    rows = np.searchsorted(part.offsets, positions, side="right") - 1
    index = part.intervals
    return keys_of(intervals.vids_of_rows(index.first, index.row, rows), part.neighbours[positions])


def without(keys: U64, removed: U64) -> U64:
    """Ascending keys without some of them, u64[k] ascending; of equal ones as many go as are named.

    Raises
    ------
    KeyError : one of them is not there.
    """
    if not len(removed):
        return keys
    first = np.searchsorted(removed, removed, side="left")
    at = np.searchsorted(keys, removed, side="left") + np.arange(len(removed)) - first
    if int(at.max()) >= len(keys) or (keys[at] != removed).any():
        raise KeyError("a key to remove is not there")
    kept: U64 = np.delete(keys, at)
    return kept


def spliced(part: Part, removed: U64, added: U64) -> Part:
    """The part without some keys and with others, both ascending. Rows that change are made anew, what lies between
    them is copied as it is: O(m) bytes are moved, and nothing is sorted but the changed rows.

    Raises
    ------
    KeyError : a key to remove is not there.
    """
    changed = np.unique(np.concatenate([removed, added]) >> np.uint64(32)).astype(np.uint32)
    view = part.adjacency((), Direction.OUT)
    rows = view.rows_of(changed)
    known = np.flatnonzero(rows >= 0)
    starts, lengths = part.offsets[rows[known]], view.degrees_of(changed[known])
    ends = np.cumsum(lengths)
    at = np.arange(int(lengths.sum())) + np.repeat(starts - ends + lengths, lengths)
    old = without(keys_of(np.repeat(changed[known], lengths), part.neighbours[at]), removed)
    keys = np.insert(old, np.searchsorted(old, added, side="right"), added)
    bounds = np.searchsorted(keys, np.append(changed, 0).astype(np.uint64) << np.uint64(32))
    bounds[-1] = len(keys)
    vids, sizes = part.intervals.vids(), np.diff(part.offsets)
    neighbours = keys.astype(np.uint32)
    places = np.where(rows >= 0, rows, np.searchsorted(vids, changed))
    pieces, done = list[U32](), 0
    for k, (row, place) in enumerate(zip(rows.tolist(), places.tolist(), strict=True)):
        begin = int(part.offsets[place])
        pieces += [part.neighbours[done:begin], neighbours[bounds[k] : bounds[k + 1]]]
        done = int(part.offsets[place + (row >= 0)])
    pieces.append(part.neighbours[done:])
    counts = np.diff(bounds)
    sizes[rows[known]] = counts[known]
    new = np.flatnonzero(rows < 0)
    sizes = np.insert(sizes, places[new], counts[new])
    vids = np.insert(vids, places[new], changed[new])
    kept = sizes > 0
    offsets = np.append(0, np.cumsum(sizes[kept])).astype(np.int64)
    joined = np.concatenate(pieces)
    index = intervals.of_vids(vids[kept])
    simple = not bool((keys[1:] == keys[:-1]).any())
    if simple and not part.simple:  # the repeats may be gone, or elsewhere
        alike = joined[1:] == joined[:-1]
        alike[offsets[1:-1] - 1] = False
        simple = not bool(alike.any())
    loops = bool(((keys >> np.uint64(32)) == (keys & np.uint64(0xFFFFFFFF))).any())
    if part.loops and not loops:
        loops = bool((np.repeat(index.vids(), sizes[kept]) == joined).any())
    return Part(index, offsets, joined, simple, loops, int(sizes.max(initial=0)))


def keys_of_part(part: Part) -> U64:
    """The ascending keys that a part was built from."""
    vids = part.intervals.vids()
    return keys_of(np.repeat(vids, np.diff(part.offsets)), part.neighbours)


def encode_offsets(offsets: I64) -> tuple[U8, U32]:
    """Row lengths, u8[rows], and those of 255 and more, u32: each stands as 255 in the first.

    offsets : i64[rows + 1], ascending from 0.
    """
    lengths = np.diff(offsets)
    return np.minimum(lengths, LONG).astype(np.uint8), lengths[lengths >= LONG].astype(np.uint32)


def decode_offsets(lengths: U8, long: U32) -> I64:
    """The offsets i64[rows + 1] of `encode_offsets`."""
    offsets = np.zeros(lengths.shape[0] + 1, np.int64)
    offsets[1:] = lengths
    offsets[1:][lengths == LONG] = long
    return np.cumsum(offsets, out=offsets)


def cut(offsets: I64, segment_edges: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut a part into pieces of at most `segment_edges` positions, about equal in size.

    Yields (first row, rows, first position, positions). Pieces end between rows where one does
    within an eighth of the size, otherwise inside a row.
    """
    total, rows = int(offsets[-1]), offsets.shape[0] - 1
    pieces = max(1, -(-total // segment_edges))
    target = -(-total // pieces)
    begin = 0
    while True:
        end = min(begin + target, total)
        if end < total:
            between = int(offsets[np.searchsorted(offsets, end, side="right") - 1])
            if between > begin and end - between <= target // 8:
                end = between
        first = int(np.searchsorted(offsets, begin, side="right") - 1) if rows else 0
        last = int(np.searchsorted(offsets, end, side="left"))
        yield first, last - first, begin, end - begin
        if end >= total:
            return
        begin = end


def write(
    part: Part, direction: Direction, writer: SegmentWriter, segment_edges: int = SEGMENT_EDGES
) -> PartRecord:
    """Put a part into segments."""
    vids = part.intervals.vids()
    segments: list[SegmentRecord] = []
    size = 0
    for first, rows, begin, edges in cut(part.offsets, segment_edges):
        index = intervals.of_vids(vids[first : first + rows])
        local = np.clip(part.offsets[first : first + rows + 1], begin, begin + edges) - begin
        lengths, long = encode_offsets(local)
        sections = [
            Section(SectionKind.INTERVAL_FIRST, index.first),
            Section(SectionKind.INTERVAL_LENGTH, index.length),
            Section(SectionKind.ROW_LENGTHS, lengths),
            Section(SectionKind.LONG_ROWS, long),
            Section(SectionKind.NEIGHBOURS, part.neighbours[begin : begin + edges]),
        ]
        place = writer.place(sections)
        size += sum(s.data.nbytes for s in sections)
        segments.append(SegmentRecord(place.file, place.section, first, rows, begin, edges))
    return PartRecord(
        direction,
        rows=int(part.offsets.shape[0] - 1),
        edges=int(part.neighbours.shape[0]),
        intervals=len(part.intervals),
        simple=part.simple,
        loops=part.loops,
        max_degree=part.max_degree,
        bytes=size,
        segments=tuple(segments),
    )


def read(record: PartRecord, files: list[SegmentFile], where: str, vertex_count: int) -> Part:
    """A part from its segments.

    files : the opened file of each segment. vertex_count : of the store; all vids are below it.

    Neighbours of a part of one segment stay in the map; those of several are copied together.

    Raises
    ------
    CorruptStore : what the segments hold could not be read without harm (see
        `gdb.storage.contradictions.in_part`), or is not what the manifest says.
    """
    offsets = np.zeros(record.rows + 1, np.int64)
    vids = np.zeros(record.rows, np.uint32)
    neighbours: list[U32] = []
    done = 0
    for segment, file in zip(record.segments, files, strict=True):
        at = segment.section
        firsts = file.u32(at, SectionKind.INTERVAL_FIRST)
        runs = file.u32(at + 1, SectionKind.INTERVAL_LENGTH)
        if firsts.shape != runs.shape:
            raise damaged(where, file.name, "has intervals without a length")
        index = intervals.of_lengths(firsts, runs)
        lengths = file.u8(at + 2, SectionKind.ROW_LENGTHS)
        long = file.u32(at + 3, SectionKind.LONG_ROWS)
        found = file.u32(at + 4, SectionKind.NEIGHBOURS)
        if np.count_nonzero(lengths == LONG) != long.shape[0]:
            raise damaged(where, file.name, "has another number of long rows than it says")
        local = decode_offsets(lengths, long)
        stop = segment.first_row + segment.rows
        fits = local.shape[0] == segment.rows + 1 and index.rows == segment.rows
        if not (fits and found.shape[0] == segment.edges == local[-1] and stop <= record.rows):
            raise damaged(where, file.name, "holds another segment than the manifest says")
        # The end of a row that goes on in the next segment is written again by that one.
        offsets[segment.first_row + 1 : stop + 1] = local[1:] + segment.first_edge
        mine = index.vids()
        if segment.first_row < done and vids[segment.first_row] != mine[0]:
            raise damaged(where, file.name, "goes on with a row of another vertex")
        vids[segment.first_row : stop] = mine
        neighbours.append(found)
        done = stop
    name = files[0].name
    if (vids[1:] <= vids[:-1]).any():
        raise damaged(where, name, "has rows that are not sorted")
    part = Part(
        intervals.of_vids(vids),
        offsets,
        neighbours[0] if len(neighbours) == 1 else np.concatenate(neighbours),
        record.simple,
        record.loops,
        record.max_degree,
    )
    if len(part.intervals) != record.intervals:
        raise damaged(where, name, "has another number of intervals than the manifest says")
    if wrong := contradictions.in_part(part, vertex_count):
        raise damaged(where, name, wrong)
    return part

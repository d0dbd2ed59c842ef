"""A part as it is read from its segments: each is put in its place while its bytes are at hand.

What a map has of neighbours stays there where it may; offsets, and neighbours of several segments, are copied.
"""

from __future__ import annotations

import numpy as np

from gdb.base import usage
from gdb.records import replace

from ..columns.model import I64, U8, U32
from ..disk.arrays import GRAPH, GRAPH_SHARE, placed, read_anywhere
from ..disk.mapped_file import in_a_row
from ..format.invariants import INTERVALS, SEGMENT_ROWS
from ..format.manifest import PartRecord, SegmentRecord
from ..format.segment import SegmentFile, compare, damaged
from ..format.segments import Segments
from . import section_checks
from .intervals import Intervals, of_lengths
from .pcsr import Part, indexed_rows


def read(record: PartRecord, segments: Segments, vertex_count: int) -> Part:
    """A part from its segments.

    vertex_count : of the store; all vids are below it.

    Neighbours of a plain part of one segment stay in the map. Those of several are copied together; where a budget has
    no room for that, and they fill pages, their maps become one (`gdb.storage.disk.mapped_file.in_a_row`). Packed ones
    are unpacked.

    Raises
    ------
    CorruptStore : what the segments hold could not be read without harm (see
        `gdb.storage.graph.section_checks.PART`), or is not what the manifest says.
    """
    where, part = segments.files.where, None
    if len(record.segments) == 1:
        number = record.segments[0].file
        ((part, own),) = segments.several(
            [number], lambda file, _: (_of_one_segment(record, file, vertex_count, where), file.own)
        )
    if part is None:
        part, own = _of_segments(record, segments, vertex_count)
    name = segments.name(record.segments[0].file)
    if len(part.intervals) != record.intervals:
        how = "has another number of intervals than the manifest says"
        raise damaged(where, name, how, INTERVALS.name)
    if not own:
        compare(where, name, section_checks.LENGTHS, (part, vertex_count))
        # in a segment intervals may lie in any order, so that its own comparison may not see the last
        last_row = replace(part, offsets=part.offsets[-2:])
        compare(where, name, (section_checks.ENDS_EXIST,), (last_row, vertex_count))
    segments.verify_beside()
    if usage.room() is not None:
        read_anywhere(part.neighbours)
    return part


def _of_one_segment(
    record: PartRecord, file: SegmentFile, vertex_count: int, where: str
) -> Part | None:
    """A part whose only segment has its intervals as `of_vids` makes them, which nearly all have; None of
    others."""
    segment = record.segments[0]
    if (segment.first_row, segment.rows) != (0, record.rows):
        return None
    index, offsets, neighbours = indexed_rows(segment, file, where, None)
    ends = index.first.astype(np.int64) + index.length
    if not (index.length.all() and (index.first[1:] > ends[:-1]).all()):
        return None
    index = Intervals(index.first.copy(), index.length.copy(), index.row)  # not of the map
    part = Part(index, offsets, neighbours, *_flags(record))
    if not file.own:
        section_checks.compare_rows(where, file.name, part, vertex_count)
    return part


def _flags(record: PartRecord) -> tuple[bool, bool, int]:
    return record.simple, record.loops, record.max_degree


def _of_segments(record: PartRecord, segments: Segments, vertex_count: int) -> tuple[Part, bool]:
    """A part of several segments, the rows of each compared when it is read; and whether this process wrote them."""
    room, where = usage.room(), segments.files.where
    offsets = placed(record.rows + 1, np.int64, GRAPH, room, most=GRAPH_SHARE)
    # in memory of their own they have large pages: counts are a tenth quicker
    large = room is not None and 4 * record.edges > GRAPH_SHARE * (room.left or 0)
    whole = _in_place(record, segments) if large else None
    neighbours = whole
    if neighbours is None:
        neighbours = placed(record.edges, np.uint32, GRAPH, room, most=GRAPH_SHARE)

    def put(segment: SegmentRecord, file: SegmentFile) -> Intervals:
        first, stop = segment.first_row, segment.first_row + segment.rows
        end = segment.first_edge + segment.edges
        own = neighbours[segment.first_edge : end]
        index, local, _ = indexed_rows(segment, file, where, own if whole is None else None)
        if not file.own:
            rows = Part(index, local, own, *_flags(record))
            section_checks.compare_rows(where, file.name, rows, vertex_count)
        np.add(local[1:-1], segment.first_edge, out=offsets[first + 1 : stop])
        return index

    of_file: dict[int, list[SegmentRecord]] = {}
    for segment in record.segments:
        of_file.setdefault(segment.file, []).append(segment)

    def read_file(file: SegmentFile, number: int) -> tuple[SegmentFile, dict[int, Intervals]]:
        return file, {id(segment): put(segment, file) for segment in of_file[number]}

    found = segments.several(list(of_file), read_file)
    indexes = {of: index for _, some in found for of, index in some.items()}
    done, last, pieces = 0, -1, list[tuple[I64, I64]]()
    following = [*(segment.first_row for segment in record.segments[1:]), record.rows]
    for segment, begin in zip(record.segments, following, strict=True):
        first, stop = _ranges(indexes[id(segment)])
        goes_on = segment.first_row < done
        if not len(first) or (goes_on and first[0] != last):
            name, how = segments.name(segment.file), "goes on with a row of another vertex"
            raise damaged(where, name, how, SEGMENT_ROWS.name)
        if goes_on and 0 < segment.first_edge < record.edges:
            both = neighbours[segment.first_edge - 1 : segment.first_edge + 1]
            rows = Part(indexes[id(segment)], np.array([0, 2]), both, *_flags(record))
            name, ascend = segments.name(segment.file), (section_checks.ROWS_SORTED,)
            compare(where, name, ascend, (rows, vertex_count))
        first[0] += goes_on
        done, last = segment.first_row + segment.rows, int(stop[-1]) - 1
        pieces.append((first, stop))
        if begin == done:  # else the row goes on, and a later segment knows where it ends
            offsets[done] = segment.first_edge + segment.edges
    index = _joined(pieces)
    if index is None:
        name = segments.name(record.segments[0].file)
        raise damaged(where, name, "has rows that are not sorted", section_checks.ROWS_SORTED.name)
    part = Part(index, offsets, neighbours, *_flags(record))
    return part, all(file.own for file, _ in found)


def _ranges(index: Intervals) -> tuple[I64, I64]:
    """The first vid of each interval, and the one behind its last; what is read may go beyond 32 bits, which is refused
    later."""
    some = index.length.nonzero()[0]
    first = index.first[some].astype(np.int64)
    return first, first + index.length[some]


def _joined(pieces: list[tuple[I64, I64]]) -> Intervals | None:
    """Ranges of vids as an interval index, those that touch as one; None where they do not ascend."""
    first, stop = (np.concatenate(some) for some in zip(*pieces, strict=True))
    some = first < stop  # a piece may have had the rest of a row alone
    first, stop = first[some], stop[some]
    if (first[1:] < stop[:-1]).any() or stop[-1] > 1 << 32:
        return None
    begins = np.concatenate(([0], np.flatnonzero(first[1:] != stop[:-1]) + 1))
    ends = np.concatenate((begins[1:], [len(first)])) - 1
    low = first[begins]
    return of_lengths(low.astype(np.uint32), (stop[ends] - low).astype(np.uint32))


def _in_place(record: PartRecord, segments: Segments) -> U32 | None:
    """The neighbours of all segments in the maps of their files; None where they cannot be one array there."""
    pieces = list[U8]()
    for segment in record.segments:
        piece = segments[segment.file].neighbours_in_place(segment.section + 4)
        if piece is None or len(piece) != 4 * segment.edges:
            return None
        pieces.append(piece)
    found = in_a_row(pieces)
    return None if found is None else found.view("<u4")

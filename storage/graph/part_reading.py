"""A part as it is read from its segments: each is put in its place while its bytes are at hand.

What a map has of neighbours stays there where it may; offsets, and neighbours of several segments, are copied.
"""

from __future__ import annotations

import numpy as np

from gdb.base import usage

from ..columns.model import U8, U32
from ..disk.arrays import GRAPH, GRAPH_SHARE, placed, read_anywhere
from ..disk.mapped_file import in_a_row
from ..format.invariants import INTERVALS, SEGMENT_ROWS
from ..format.manifest import PartRecord, SegmentRecord
from ..format.segment import SegmentFile, compare, damaged
from ..format.segments import Segments
from . import section_checks
from .intervals import Intervals, of_vids
from .pcsr import Part, indexed_rows, read_segment


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
            [number], lambda file, _: (_of_one_segment(record, file, where), file.own)
        )
    if part is None:
        part, own = _of_segments(record, segments)
    name = segments.name(record.segments[0].file)
    if len(part.intervals) != record.intervals:
        how = "has another number of intervals than the manifest says"
        raise damaged(where, name, how, INTERVALS.name)
    if not own:
        compare(where, name, section_checks.LENGTHS, (part, vertex_count))
        section_checks.compare_rows(where, name, part, vertex_count)
    segments.verify_beside()
    if usage.room() is not None:
        read_anywhere(part.neighbours)
    return part


def _of_one_segment(record: PartRecord, file: SegmentFile, where: str) -> Part | None:
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
    flags = record.simple, record.loops, record.max_degree
    return Part(index, offsets, neighbours, *flags)


def _of_segments(record: PartRecord, segments: Segments) -> tuple[Part, bool]:
    """A part of several segments, each read when its file has been verified; and whether this process wrote them."""
    room, where = usage.room(), segments.files.where
    offsets = placed(record.rows + 1, np.int64, GRAPH, room, most=GRAPH_SHARE)
    vids = np.zeros(record.rows, np.uint32)
    # in memory of their own they have large pages: counts are a tenth quicker
    large = room is not None and 4 * record.edges > GRAPH_SHARE * (room.left or 0)
    whole = _in_place(record, segments) if large else None
    neighbours = whole
    if neighbours is None:
        neighbours = placed(record.edges, np.uint32, GRAPH, room, most=GRAPH_SHARE)

    def put(segment: SegmentRecord, file: SegmentFile) -> tuple[int, int]:
        first, stop = segment.first_row, segment.first_row + segment.rows
        end = segment.first_edge + segment.edges
        out = neighbours[segment.first_edge : end] if whole is None else None
        rows = read_segment(segment, file, where, out)
        offsets[first + 1 : stop] = rows.offsets[1:-1] + segment.first_edge
        vids[first:stop] = rows.vids
        return int(rows.vids[0]), int(rows.vids[-1])

    of_file: dict[int, list[SegmentRecord]] = {}
    for segment in record.segments:
        of_file.setdefault(segment.file, []).append(segment)

    def read_file(file: SegmentFile, number: int) -> tuple[SegmentFile, dict[int, tuple[int, int]]]:
        return file, {id(segment): put(segment, file) for segment in of_file[number]}

    found = segments.several(list(of_file), read_file)
    ends = {of: both for _, some in found for of, both in some.items()}
    done, last = 0, -1
    following = [*(segment.first_row for segment in record.segments[1:]), record.rows]
    for segment, begin in zip(record.segments, following, strict=True):
        first, after = ends[id(segment)]
        if segment.first_row < done and first != last:
            name = segments.name(segment.file)
            raise damaged(where, name, "goes on with a row of another vertex", SEGMENT_ROWS.name)
        done, last = segment.first_row + segment.rows, after
        if begin == done:  # else the row goes on, and a later segment knows where it ends
            offsets[done] = segment.first_edge + segment.edges
    name = segments.name(record.segments[0].file)
    if (vids[1:] <= vids[:-1]).any():
        raise damaged(where, name, "has rows that are not sorted", section_checks.ROWS_SORTED.name)
    flags = record.simple, record.loops, record.max_degree
    part = Part(of_vids(vids), offsets, neighbours, *flags)
    return part, all(file.own for file, _ in found)


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

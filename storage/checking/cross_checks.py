"""Comparisons that only a check of the whole store makes: facts that are stored twice and cost a reader too much.

Each function takes one thing that was read, and raises Fails that says what is wrong; `gdb.storage.checking.check` adds
the file. The most expensive sorts the keys of one edge type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass

from ..columns.model import Column
from ..format.direction import Direction
from ..format.invariants import DIRECTIONS, NEW_IDS, Compared, Fails, expect
from ..format.manifest import Manifest, PartRecord, SpaceRecord
from ..format.manifest_head import format_in
from ..format.section_owners import PART_SECTIONS, format_of
from ..format.sections import SectionKind
from ..format.segment import SEGMENT_FORMAT, SegmentFile
from ..format.segments import Segments
from ..graph import ids, property_columns
from ..graph.delta import NOTHING, Delta, Ranges, lengths_of
from ..graph.ids import IdIndex
from ..graph.partitions import Partitions
from ..graph.pcsr import LONG, U64, Part, keys_of_part
from ..graph.vertices import Vertices
from ..graph.vid_ranges import vids_of

_CHUNK = 1 << 20  # keys looked at in one step: bounds the memory beside them
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


# ---- the manifest ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class OnDisk:
    """raw : the file MANIFEST. written : what it says without the records behind it."""

    raw: bytes
    written: Manifest


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """manifest : what the store consists of after the records of a journal. clear : whether there are zeros, or what a
    torn record left, behind these."""

    manifest: Manifest
    clear: bool = True


def _journal_end(followed: Followed) -> None:
    expect(followed.clear, "holds other bytes than zeros behind its last record")


JOURNAL = (
    Compared(
        "journal end",
        "Behind the last record are zeros, or what is there of one that was torn.",
        _journal_end,
    ),
)


def _oldest_format(disk: OnDisk) -> None:
    declared, wanted = format_in(disk.raw), format_of(disk.written)
    expect(
        declared == wanted,
        f"says that it is of format {declared}, and has what format {wanted} has",
    )


def _versions(disk: OnDisk) -> None:
    written = [int(record.name.split("-")[1]) for record in disk.written.files]
    later = max(written, default=0) > disk.written.version
    expect(not later, "names a file of a version after its own")


def _group_order(disk: OnDisk) -> None:
    firsts = [group.ranges[0][0] for group in disk.written.groups]
    expect(firsts == sorted(firsts), "has groups that are not in the order of their first vids")


MANIFEST: tuple[Compared[OnDisk], ...] = (
    Compared(
        "oldest format", "MANIFEST is of the oldest format that has all it uses.", _oldest_format
    ),
    Compared("versions", "No file was written by a version after that of MANIFEST.", _versions),
    Compared("group order", "The groups are in the order of their first vids.", _group_order),
)


# ---- files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A file; owners : how many there are of each of its sections. packs : whether it may have packed ones."""

    file: SegmentFile
    owners: Mapping[int, int]
    packs: bool


def _owners(opened: Opened) -> None:
    one_each = dict.fromkeys(range(opened.file.sections), 1)
    expect(bool(one_each) and opened.owners == one_each, "has sections without an owner, or of two")


def _zeros(opened: Opened) -> None:
    expect(not any(some.any() for some in opened.file.unused()), "has bytes that belong to nothing")


def _packing(opened: Opened) -> None:
    packs = opened.file.packs
    expect(opened.packs or not packs, "has packed sections that the manifest does not declare")
    expected = SEGMENT_FORMAT if packs else 1
    expect(opened.file.format == expected, "has the format of files with other sections")


FILES: tuple[Compared[Opened], ...] = (
    Compared(
        "section owners", "Every section of every file belongs to one thing and no other.", _owners
    ),
    Compared("zeros", "The bytes of headers, tables and between sections that mean nothing are 0.", _zeros),
    Compared(
        "packing",
        "Packed sections are only in a base that the manifest calls packed, in files whose format has them.",
        _packing,
    ),
)  # fmt: skip


# ---- edges -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class StoredPart:
    """A part of the base; files : that of each of its segments. keys : of its positions."""

    record: PartRecord
    part: Part
    files: Sequence[SegmentFile]
    keys: U64


def stored_part(
    partitions: Partitions, name: str, record: PartRecord, segments: Segments
) -> StoredPart:
    """A part of a type, read; raises CorruptStore as `gdb.storage.graph.part_reading.read`."""
    part = partitions.stored(name, record.direction)
    files = [segments[segment.file] for segment in record.segments]
    return StoredPart(record, part, files, keys_of_part(part))


def _flags(part: Part, keys: U64) -> None:
    """Whether a part has repeats and loops as it says."""
    repeats = loops = False
    for begin in range(0, len(keys), _CHUNK):
        some = keys[begin : begin + _CHUNK + 1]  # the last one is looked at twice
        repeats = repeats or bool((some[1:] == some[:-1]).any())
        loops = loops or bool((some >> _HALF == some & _LOW).any())
    agrees = (part.simple, part.loops) == (not repeats, loops)
    expect(agrees, "is described wrongly by the manifest: repeats or loops")


def _own_flags(stored: StoredPart) -> None:
    _flags(stored.part, stored.keys)


def _bytes(stored: StoredPart) -> None:
    size = sum(
        file.extent(segment.section + number)[1]
        for segment, file in zip(stored.record.segments, stored.files, strict=True)
        for number in range(PART_SECTIONS)
    )
    expect(size == stored.record.bytes, "is described wrongly by the manifest: bytes")


def _shortest(stored: StoredPart) -> None:
    for segment, file in zip(stored.record.segments, stored.files, strict=True):
        at, rows = segment.section, segment.rows
        first = file.u32(at, SectionKind.INTERVAL_FIRST, rows).astype(np.int64)
        length = file.u32(at + 1, SectionKind.INTERVAL_LENGTH, rows)
        apart = bool(length.all()) and bool((first[1:] > (first + length)[:-1]).all())
        expect(apart, "has runs of vids that are one, or none")
        long = file.u32(at + 3, SectionKind.LONG_ROWS, rows)
        expect(bool((long >= LONG).all()), "has rows in the list of long ones that are short")


def _span(stored: StoredPart) -> None:
    for segment, file in zip(stored.record.segments, stored.files, strict=True):
        words = file.packed_rows(segment.section + 4)
        if words is not None:
            _, least, span, _ = words[:4].tolist()
            end = segment.first_edge + segment.edges
            here = stored.part.neighbours[segment.first_edge : end]
            agrees = (int(here.min()), int(here.max())) == (least, least + span - 1)
            expect(agrees, "has packed neighbours of another span than it says")


PARTS: tuple[Compared[StoredPart], ...] = (
    Compared("part flags", "`simple` and `loops` are as the part is.", _own_flags),
    Compared("part bytes", "`bytes` is the length of the part's sections.", _bytes),
    Compared(
        "shortest runs",
        "No run of vids is empty or goes on where one ends, and a row in the list of long ones has 255 entries.",
        _shortest,
    ),
    Compared(
        "packed spans", "The least and the largest of packed neighbours are as their section says.", _span
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class BothSides:
    """An edge type as it is with the delta: its parts, with the keys of their positions."""

    sides: Mapping[Direction, tuple[Part, U64]]
    delta: Delta


def both_sides(
    name: str, delta: Delta, partitions: Partitions, stored: Mapping[Direction, StoredPart]
) -> BothSides:
    """The parts of a type with the delta. stored : those of the base, whose keys are taken where nothing is changed.

    Raises
    ------
    CorruptStore : the delta removes an edge that one side lacks; or `--` has another number of edges.
    """
    changes = delta.types.get(name)
    if Direction.ANY in stored:
        partitions.stored_slots(name)
    if changes is None or not len(changes.keys) + len(changes.removed):
        return BothSides({side: (one.part, one.keys) for side, one in stored.items()}, delta)
    sides = (Direction.OUT, Direction.IN) if changes.directed else (Direction.ANY,)
    parts = {side: partitions.part(name, side) for side in sides}
    return BothSides({side: (part, keys_of_part(part)) for side, part in parts.items()}, delta)


def _directions(sides: BothSides) -> None:
    for part, keys in sides.sides.values():
        _flags(part, keys)
    # a type that the delta alone has, without edges: the last was removed, or none came
    if not sides.sides:
        return
    (_, one), *others = sides.sides.values()
    mirrored = one << _HALF
    mirrored |= one >> _HALF
    mirrored.sort()
    for _, other in others:
        expect(np.array_equal(mirrored, other), "disagrees with its backward part")
    if not others:
        expect(np.array_equal(mirrored, one), "is not symmetric")


def _live_ends(sides: BothSides) -> None:
    for part, _ in sides.sides.values():
        gone = sides.delta.is_dead(part.intervals.vids()).any()
        expect(not gone, "has edges to vertices that are no more")


TYPES: tuple[Compared[BothSides], ...] = (
    Compared(
        DIRECTIONS,
        "Each edge is stored with both of its ends, equally often: `<-` mirrors `->`, and `--` itself, with the"
        " delta too.",
        _directions,
    ),
    Compared("live ends", "No edge has an end that is no more.", _live_ends),
)


# ---- ids -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SpaceIndex:
    """The index of an id space of the base, and the ids that it is of: ranges of vids and the column, by group."""

    name: str
    index: IdIndex
    groups: Sequence[tuple[Ranges, Column]]


def space_of(space: SpaceRecord, manifest: Manifest, segments: Segments) -> SpaceIndex:
    """The index of an id space and its ids, read; raises CorruptStore."""
    index = Vertices(manifest, NOTHING, segments).index(space)
    where = segments.files.where
    groups: list[tuple[Ranges, Column]] = []
    for group in manifest.groups:
        if group.id_space == space.name:
            count = int(lengths_of(group.ranges)[-1])
            column = property_columns.read(group.ids, segments[group.file], count, where)
            groups.append((group.ranges, column))
    return SpaceIndex(space.name, index, groups)


def _complete(space: SpaceIndex) -> None:
    column = Column.concat([column for _, column in space.groups])
    vids = np.concatenate([vids_of(ranges) for ranges, _ in space.groups])
    try:
        right = ids.build(column, vids, space.name)
    except ImportFailed:
        raise Fails("has a wrong index of ids: an id is there twice") from None
    same = np.array_equal(right.keys, space.index.keys)
    # the order of equal hashes is free
    if same and not np.array_equal(right.vids, space.index.vids):
        one, other = (np.lexsort((index.vids, index.keys)) for index in (right, space.index))
        same = np.array_equal(right.vids[one], space.index.vids[other])
    expect(same, "has a wrong index of ids")


SPACES: tuple[Compared[SpaceIndex], ...] = (
    Compared(
        "index complete",
        "The index of an id space has each vertex of the base once, under the key of its id, and no id is there twice.",
        _complete,
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """The delta, and the vertices of the store with it."""

    delta: Delta
    vertices: Vertices


def _new_ids(changed: Changed) -> None:
    for new in changed.delta.added:
        vids = vids_of(new.ranges)
        alive = np.flatnonzero(~changed.delta.is_dead(vids))
        column = new.ids.take(alive)
        if column.offsets is None:
            disk = changed.vertices.find(new.id_space, column.values.astype(np.int64))
        else:
            disk = changed.vertices.find(new.id_space, [str(text) for text in column.to_list()])
        expect(np.array_equal(disk, vids[alive]), "has a wrong index of ids: an id is there twice")


DELTA: tuple[Compared[Changed], ...] = (
    Compared(NEW_IDS, "No vertex has the id of another one of its id space, with the delta too.", _new_ids),
)  # fmt: skip

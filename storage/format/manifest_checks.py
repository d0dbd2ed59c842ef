"""Checks of a manifest's numbers, with one another and with its files' lengths, before any file is opened.

Checksums find damage after a write. These checks find nonsense that was written, or sealed again: compiled kernels
and Arrow read where numbers point, so no number of a store is trusted before it was compared. What costs more than
a look at each item waits for `gdb.storage.checking.cross_checks`; what files hold is compared in
`gdb.storage.graph.section_checks`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..columns.model import ITEM_OF, TEXT_KINDS, Kind
from ..disk.checksum import PINNED
from .direction import Direction
from .invariants import Compared, expect, hold
from .section_owners import columns_of, columns_of_delta, count_of, patches_of, sections

if TYPE_CHECKING:
    from .manifest import ColumnRecord, Manifest, PartRecord, TypeRecord

_DIGEST = re.compile(PINNED)
_BYTES: dict[Kind, int] = {"bool": 1, "date": 4}  # of a value; of the other kinds 8
_OUT_AND_IN, _BOTH = [Direction.OUT, Direction.IN], [Direction.ANY]


def in_manifest(manifest: Manifest) -> None:
    """Compare the numbers of a manifest with one another; see `MANIFEST`.

    Raises
    ------
    Contradiction : two of them cannot both be right; or a count is more than the file that should hold it has bytes
        for, so that no number here causes an allocation larger than the store on disk.
    """
    hold(MANIFEST, manifest)


def _files(manifest: Manifest) -> None:
    files = manifest.files
    expect(len({f.name for f in files}) == len(files), "a file is named twice")
    expect(all(_DIGEST.fullmatch(f.digest) for f in files), "a digest is none")
    expect(manifest.delta is not None or not manifest.inline, "there is a segment without a delta")


def _tiles(ranges: Iterator[tuple[int, int]], first: int, stop: int) -> bool:
    """Whether ranges, in any order, follow one another from the first number to the last."""
    found = sorted(ranges)
    ends = [first, *(end for _, end in found)]
    return [start for start, _ in found] == ends[:-1] and ends[-1] == stop


def _vertex_ranges(manifest: Manifest) -> None:
    ranges = (r for group in manifest.groups for r in group.ranges)
    expect(_tiles(ranges, 0, manifest.vertex_count), "the vertices are numbered with gaps")
    for group in manifest.groups:
        expect(
            1 <= len(group.ranges) <= 2 and list(group.ranges) == sorted(group.ranges),
            "ranges are out of order",
        )


def _groups(manifest: Manifest) -> None:
    keys = {(group.labels, group.id_space) for group in manifest.groups}
    expect(len(keys) == len(manifest.groups), "a vertex group is there twice")
    for group in manifest.groups:
        expect(list(group.labels) == sorted(set(group.labels)), "labels are out of order")


def _id_spaces(manifest: Manifest) -> None:
    spaces = {space.name: space for space in manifest.spaces}
    expect([s.name for s in manifest.spaces] == sorted(spaces), "id spaces are out of order")
    counts = dict.fromkeys(spaces, 0)
    for group in manifest.groups:
        expect(group.id_space in spaces, "an id space is missing")
        counts[group.id_space] += count_of(group.ranges)
        expect(group.ids.kind == spaces[group.id_space].kind, "ids are of two kinds")
    for name, space in spaces.items():
        expect(space.kind in ("int64", "string"), "ids are of another kind")
        expect(space.count == counts[name], "ids are counted wrongly")


def _columns(manifest: Manifest) -> None:
    added = () if manifest.delta is None else manifest.delta.added
    ids = [*(group.ids for group in manifest.groups), *(new.ids for new in added)]
    expect(all(column.valid == -1 for column in ids), "ids are null")
    for column in (*ids, *columns_of(manifest)):
        wants = column.kind in TEXT_KINDS or column.kind in ITEM_OF
        expect((column.offsets >= 0) == wants, "a column's kind and its sections differ")
    for record in manifest.types:
        agrees = (record.file >= 0) == bool(record.columns)
        expect(agrees, "columns without a file, or a file without")


def _edge_ids(manifest: Manifest) -> None:
    names = [record.name for record in manifest.types]
    expect(names == sorted(set(names)), "types are not in the order of their names")
    at = 0
    for record in manifest.types:
        expect(record.first_eid == at, "the edges are numbered with gaps")
        at += record.edge_count
    expect(at == manifest.edge_count, "the edges are counted wrongly")


def _parts(manifest: Manifest) -> None:
    for record in manifest.types:
        directions = [part.direction for part in record.parts]
        expect(
            directions == (_OUT_AND_IN if record.directed else _BOTH),
            "a type has other parts than its direction",
        )
        for part in record.parts:
            _part(part, record, manifest.vertex_count)
        expect(len({(p.loops, p.simple) for p in record.parts}) == 1, "the parts of a type differ")


def _part(part: PartRecord, record: TypeRecord, vertex_count: int) -> None:
    most = record.edge_count if record.directed else 2 * record.edge_count
    expect(record.edge_count <= part.edges <= most, "a part has another number of edges")
    expect(part.rows <= min(part.edges, vertex_count), "a part has too many rows")
    expect(
        bool(part.rows) == bool(part.edges) == bool(part.intervals),
        "a part has no rows, or no edges",
    )
    expect(part.intervals <= part.rows, "a part has too many intervals")
    expect(
        part.max_degree <= part.edges <= part.max_degree * part.rows, "a longest row is impossible"
    )


def _segments(manifest: Manifest) -> None:
    for part in _all_parts(manifest):
        expect(bool(part.segments), "a part has no segments")
        row, edge = 0, 0
        for number, segment in enumerate(part.segments):
            expect(segment.rows <= segment.edges, "a segment has too many rows")
            expect(segment.first_edge == edge, "segments leave out edges")
            # A long row goes on in the next segment, which then begins with the same row.
            expect(
                segment.first_row == row or (number > 0 and segment.first_row == row - 1),
                "segments leave out rows",
            )
            row, edge = segment.first_row + segment.rows, edge + segment.edges
        expect((row, edge) == (part.rows, part.edges), "segments end elsewhere than their part")


def _all_parts(manifest: Manifest) -> Iterator[PartRecord]:
    return (part for record in manifest.types for part in record.parts)


def _delta(manifest: Manifest) -> None:
    delta = manifest.delta
    if delta is None:
        return
    last = len(manifest.files) if manifest.inline else len(manifest.files) - 1
    expect(delta.file == last, "a delta is not in the last file")
    ranges = (r for added in delta.added for r in added.ranges)
    first = manifest.vertex_count
    expect(_tiles(ranges, first, first + delta.vertices), "new vertices have gaps")
    kinds = {space.name: space.kind for space in manifest.spaces}
    expect(
        len({(a.labels, a.id_space) for a in delta.added}) == len(delta.added),
        "new vertices of one group are in two places",
    )
    for added in delta.added:
        expect(list(added.labels) == sorted(set(added.labels)), "labels are out of order")
        expect(
            bool(added.ranges) and list(added.ranges) == sorted(added.ranges),
            "ranges are out of order",
        )
        expect(added.ids.kind in ("int64", "string"), "ids are of another kind")
        expect(kinds.setdefault(added.id_space, added.ids.kind) == added.ids.kind, "ids differ")
    expect(all(0 <= n < len(manifest.groups) for n in delta.patches), "there is no such group")
    names = [edges.name for edges in delta.types]
    expect(names == sorted(set(names)), "types are not in the order of their names")
    known = {record.name: record.directed for record in manifest.types}
    for edges in delta.types:
        expect(known.get(edges.name, edges.directed) == edges.directed, "a type turns round")
        expect(edges.name in known or not edges.removed_count, "what was not there is removed")


def _room(manifest: Manifest) -> None:
    needed = Counter[int]()
    for file, size in (*_needs_of_base(manifest), *_needs_of_delta(manifest)):
        needed[file] += size
    for file, size in needed.items():
        fits = size <= manifest.length_of(file)
        expect(fits, "a file is too short for what it should hold")
    # or many columns could be unpacked from the bytes of one
    found = list(sections(manifest))
    expect(len(set(found)) == len(found), "a section has two owners")


def _needs_of_base(manifest: Manifest) -> Iterator[tuple[int, int]]:
    """The file of each thing, and bytes that it needs there at least."""
    packed = manifest.packed
    for group in manifest.groups:
        count = count_of(group.ranges)
        for column in (group.ids, *group.columns.values()):
            yield group.file, _column(column, count, packed=packed)
    for space in manifest.spaces:
        yield space.file, 2 * _packed(space.count) if packed else 12 * space.count
    for record in manifest.types:
        for column in record.columns.values():
            yield record.file, _column(column, record.edge_count, packed=packed)
    for segment in (segment for part in _all_parts(manifest) for segment in part.segments):
        # packed, an entry has at least one bit
        size = segment.edges // 8 if packed else segment.rows + 4 * segment.edges
        yield segment.file, size


def _needs_of_delta(manifest: Manifest) -> Iterator[tuple[int, int]]:
    delta = manifest.delta
    if delta is None:
        return
    yield delta.file, 4 * delta.dead_count
    for column, count in columns_of_delta(delta):
        yield delta.file, _column(column, count)
    for edges in delta.types:
        yield delta.file, 8 * (edges.count + edges.removed_count)
    for patch in patches_of(delta):
        yield delta.file, 8 * patch.count


def _column(record: ColumnRecord, count: int, *, packed: bool = False) -> int:
    """The least bytes of a column: its offsets where it has any, else its values; and its validity."""
    validity = count // 8 if record.valid >= 0 else 0
    if packed and record.kind != "float64":
        return _packed(count) + validity
    return count * (8 if record.offsets >= 0 else _BYTES.get(record.kind, 8)) + validity


def _packed(count: int) -> int:
    """The least bytes of packed numbers: 128 of them have two."""
    return count // 64


MANIFEST: tuple[Compared[Manifest], ...] = (
    Compared("files", "Every file is named once, and a segment in the manifest is of a delta.", _files),
    Compared("vids", "The ranges of all groups follow one another from 0 to vertex_count.", _vertex_ranges),
    Compared("groups", "Labels ascend, and no two groups have the same labels and id space.", _groups),
    Compared(
        "id spaces", "Each id space counts the ids of its groups, which are all of its kind.", _id_spaces
    ),
    Compared(
        "column sections", "A column has the sections that its kind needs, and no id is null.", _columns
    ),
    Compared(
        "edge ids", "Types are in the order of their names, and their edge ids follow one another.", _edge_ids
    ),
    Compared(
        "parts",
        "A type has the parts of its direction, whose counts fit its edges, its vertices and one another.",
        _parts,
    ),
    Compared(
        "segments", "The segments of a part cover its rows and positions once, and end where it ends.", _segments
    ),
    Compared(
        "delta",
        "The delta's vids follow those of the base, and groups, types and kinds that it names are those of the base.",
        _delta,
    ),
    Compared(
        "room", "All that a file should hold needs no more bytes than it has, and no section has two owners.", _room
    ),
)  # fmt: skip

"""What a manifest must say of itself and of its files' lengths, and what a file must hold to be used without harm.

Checksums tell damage from what was written. This tells nonsense that was written, or sealed again: compiled kernels
and Arrow read where numbers point, so no number of a store is believed before it was compared. What costs more than
a look at each item waits for `Snapshot.check`.
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.storage import temporal
from gdb.storage.adjacency import Direction
from gdb.storage.model import I64, ITEM_OF, TEXT_KINDS, U32, Column, Kind

if TYPE_CHECKING:
    from gdb.storage.delta import Delta
    from gdb.storage.ids import IdIndex
    from gdb.storage.manifest import (
        ColumnRecord,
        DeltaRecord,
        GroupRecord,
        Manifest,
        PartRecord,
        SegmentRecord,
        TypeRecord,
    )
    from gdb.storage.pcsr import Part

_DIGEST = re.compile(r"[0-9a-f]{32}")
_CHUNK = 1 << 20  # items looked at in one step: bounds the memory beside the map
# the least and the most of what Python knows
_TIMES: dict[Kind, tuple[int, int]] = {
    "date": (temporal.FIRST_DAY, temporal.LAST_DAY),
    "datetime": (temporal.FIRST_INSTANT, temporal.LAST_INSTANT),
    "duration": (-temporal.LONGEST, temporal.LONGEST),
}
_NUMBERS: set[Kind] = {
    "int64",
    "float64",
}  # a property of both is float64, one that is any beside others is any
_OUT_AND_IN, _BOTH = [Direction.OUT, Direction.IN], [Direction.ANY]


# ---- the manifest, before any file is opened -------------------------------------------------------------


def in_manifest(manifest: Manifest) -> None:
    """Compare the numbers of a manifest with one another.

    Raises
    ------
    ValueError : two of them cannot both be right; or a count is more than the file that should hold it has bytes for,
        so that no number here makes anybody ask for more memory than the store has on disk.
    """
    files = manifest.files
    _expect(len({f.name for f in files}) == len(files), "a file is named twice")
    _expect(all(_DIGEST.fullmatch(f.digest) for f in files), "a digest is none")
    _groups(manifest)
    at = 0
    names = [record.name for record in manifest.types]
    _expect(names == sorted(set(names)), "types are not in the order of their names")
    for record in manifest.types:
        _expect(record.first_eid == at, "the edges are numbered with gaps")
        at += record.edge_count
        _type(record, manifest)
    _expect(at == manifest.edge_count, "the edges are counted wrongly")
    _expect(manifest.delta is not None or not manifest.inline, "there is a segment without a delta")
    if manifest.delta is not None:
        _delta(manifest.delta, manifest)


def _groups(manifest: Manifest) -> None:
    ranges = sorted(r for group in manifest.groups for r in group.ranges)
    stops = [0, *(stop for _, stop in ranges)]
    tiled = [start for start, _ in ranges] == stops[:-1] and stops[-1] == manifest.vertex_count
    _expect(tiled, "the vertices are numbered with gaps")
    spaces = {space.name: space for space in manifest.spaces}
    _expect([s.name for s in manifest.spaces] == sorted(spaces), "id spaces are out of order")
    counts = dict.fromkeys(spaces, 0)
    keys = {(group.labels, group.id_space) for group in manifest.groups}
    _expect(len(keys) == len(manifest.groups), "a vertex group is there twice")
    for group in manifest.groups:
        _expect(group.id_space in spaces, "an id space is missing")
        counts[group.id_space] += _group(group, manifest)
        _expect(group.ids.kind == spaces[group.id_space].kind, "ids are of two kinds")
    for name, space in spaces.items():
        _expect(space.kind in ("int64", "string"), "ids are of another kind")
        _expect(space.count == counts[name], "ids are counted wrongly")
        _items_fit(space.count, 12, space.file, manifest)


def _group(group: GroupRecord, manifest: Manifest) -> int:
    """The number of vertices of a group."""
    _expect(list(group.labels) == sorted(set(group.labels)), "labels are out of order")
    _expect(
        1 <= len(group.ranges) <= 2 and list(group.ranges) == sorted(group.ranges),
        "ranges are out of order",
    )
    count = sum(stop - start for start, stop in group.ranges)
    _items_fit(count, 8, group.file, manifest)
    _expect(group.ids.valid == -1, "ids are null")
    for column in (group.ids, *group.columns.values()):
        _column(column)
    return count


def _column(column: ColumnRecord) -> None:
    wants = column.kind in TEXT_KINDS or column.kind in ITEM_OF
    _expect((column.offsets >= 0) == wants, "a column's kind and its sections differ")


def _type(record: TypeRecord, manifest: Manifest) -> None:
    _expect((record.file >= 0) == bool(record.columns), "columns without a file, or a file without")
    if record.columns:
        _items_fit(record.edge_count, 1, record.file, manifest)
    for column in record.columns.values():
        _column(column)
    directions = [part.direction for part in record.parts]
    _expect(
        directions == (_OUT_AND_IN if record.directed else _BOTH),
        "a type has other parts than its direction",
    )
    for part in record.parts:
        most = record.edge_count if record.directed else 2 * record.edge_count
        _expect(record.edge_count <= part.edges <= most, "a part has another number of edges")
        _part(part, manifest)
    _expect(len({(p.loops, p.simple) for p in record.parts}) == 1, "the parts of a type differ")


def _part(part: PartRecord, manifest: Manifest) -> None:
    _expect(part.rows <= min(part.edges, manifest.vertex_count), "a part has too many rows")
    _expect(
        bool(part.rows) == bool(part.edges) == bool(part.intervals),
        "a part has no rows, or no edges",
    )
    _expect(part.intervals <= part.rows, "a part has too many intervals")
    _expect(
        part.max_degree <= part.edges <= part.max_degree * part.rows, "a longest row is impossible"
    )
    _expect(bool(part.segments), "a part has no segments")
    row, edge = 0, 0
    for number, segment in enumerate(part.segments):
        _segment(segment, manifest)
        _expect(segment.first_edge == edge, "segments leave out edges")
        # A long row goes on in the next segment, which then begins with the same row.
        _expect(
            segment.first_row == row or (number > 0 and segment.first_row == row - 1),
            "segments leave out rows",
        )
        row, edge = segment.first_row + segment.rows, edge + segment.edges
    _expect((row, edge) == (part.rows, part.edges), "segments end elsewhere than their part")


def _segment(segment: SegmentRecord, manifest: Manifest) -> None:
    _expect(segment.rows <= segment.edges, "a segment has too many rows")
    if manifest.packed:  # an entry has at least one bit
        _fits(segment.edges // 8, segment.file, manifest)
    else:
        _fits(segment.rows + 4 * segment.edges, segment.file, manifest)


def _delta(delta: DeltaRecord, manifest: Manifest) -> None:
    last = len(manifest.files) if manifest.inline else len(manifest.files) - 1
    _expect(delta.file == last, "a delta is not in the last file")
    ranges = sorted(r for added in delta.added for r in added.ranges)
    stops = [manifest.vertex_count, *(stop for _, stop in ranges)]
    tiled = [start for start, _ in ranges] == stops[:-1]
    _expect(tiled and stops[-1] == manifest.vertex_count + delta.vertices, "new vertices have gaps")
    kinds = {space.name: space.kind for space in manifest.spaces}
    _expect(
        len({(a.labels, a.id_space) for a in delta.added}) == len(delta.added),
        "new vertices of one group are in two places",
    )
    for added in delta.added:
        _expect(list(added.labels) == sorted(set(added.labels)), "labels are out of order")
        _expect(
            bool(added.ranges) and list(added.ranges) == sorted(added.ranges),
            "ranges are out of order",
        )
        _expect(added.ids.kind in ("int64", "string"), "ids are of another kind")
        _expect(kinds.setdefault(added.id_space, added.ids.kind) == added.ids.kind, "ids differ")
        _expect(added.ids.valid == -1, "ids are null")
        for column in (added.ids, *added.columns.values()):
            _column(column)
        count = sum(stop - start for start, stop in added.ranges)
        _fits(count * 8, delta.file, manifest)
    _expect(all(0 <= n < len(manifest.groups) for n in delta.patches), "there is no such group")
    names = [edges.name for edges in delta.types]
    _expect(names == sorted(set(names)), "types are not in the order of their names")
    known = {record.name: record.directed for record in manifest.types}
    for edges in delta.types:
        _expect(known.get(edges.name, edges.directed) == edges.directed, "a type turns round")
        _expect(edges.name in known or not edges.removed_count, "what was not there is removed")
        _fits(8 * edges.count, delta.file, manifest)
        for column in edges.columns.values():
            _column(column)


def _items_fit(count: int, size: int, file: int, manifest: Manifest) -> None:
    """Items of some bytes each; packed, 128 of them have at least two."""
    _fits(count // 64 if manifest.packed else count * size, file, manifest)


def _fits(size: int, file: int, manifest: Manifest) -> None:
    _expect(size <= manifest.length_of(file), "a file is too short for what it should hold")


# ---- files, when they are first touched ------------------------------------------------------------------


def in_part(part: Part, vertex_count: int) -> str:
    """What is wrong with a part, or "": rows and neighbours that are no vertices, rows without entries, entries that
    do not ascend, and what the manifest says of rows. O(rows + edges), without a copy of the neighbours.

    Whether it agrees with its mirror image, and `loops`, cost a sort: `Snapshot.check` compares these.
    """
    rows, neighbours = part.offsets.shape[0] - 1, part.neighbours
    if not rows:
        return ""
    lengths = np.diff(part.offsets)
    if int(lengths.min()) < 1 or int(lengths.max()) != part.max_degree:
        return "has rows of other lengths than the manifest says"
    ends = part.intervals.first.astype(np.int64) + part.intervals.length
    if int(ends[-1]) > vertex_count or int(neighbours.max()) >= vertex_count:
        return "names a vertex that does not exist"
    return "" if _ascends(part) else "has rows that are not sorted"


def _ascends(part: Part) -> bool:
    """Whether every row ascends, and strictly where the part is said to be simple."""
    neighbours, offsets = part.neighbours, part.offsets
    for begin in range(1, neighbours.shape[0], _CHUNK):
        here = neighbours[begin : begin + _CHUNK]
        before = neighbours[begin - 1 : begin - 1 + here.shape[0]]
        falls = here <= before if part.simple else here < before
        # Only the first entry of a row may be below the one before it.
        first, last = np.searchsorted(offsets, (begin, begin + here.shape[0]))
        falls[offsets[first:last] - begin] = False
        if falls.any():
            return False
    return True


def in_delta(delta: Delta, manifest: Manifest) -> str:
    """What is wrong with a delta, or "": vertices, rows and edges that are not there, or not in order. O(its size)."""
    total = manifest.vertex_count + delta.vertices
    if not _distinct(delta.dead.astype(np.int64), total):
        return "removes vertices that are not there"
    for number, patches in delta.patches.items():
        count = sum(stop - start for start, stop in manifest.groups[number].ranges)
        if not all(_distinct(patch.rows, count) for patch in patches.values()):
            return "changes vertices that are not there"
    counts = {record.name: record.edge_count for record in manifest.types}
    for name, edges in delta.types.items():
        ranks = [edges.removed, *(patch.rows for patch in edges.patches.values())]
        if not all(_distinct(some, counts.get(name, 0)) for some in ranks):
            return "changes edges that are not there"
        first, last = edges.keys >> np.uint64(32), edges.keys & np.uint64(0xFFFFFFFF)
        if (edges.keys[1:] < edges.keys[:-1]).any() or (
            not edges.directed and (first > last).any()
        ):
            return "adds edges out of order"
        ends = np.concatenate([first, last]).astype(np.uint32)
        if len(ends) and (int(ends.max()) >= total or delta.is_dead(ends).any()):
            return "adds edges to vertices that are not there"
    found = [kinds - {"any"} for kinds in _kinds(delta, manifest).values()]
    if not all(len(kinds) <= 1 or kinds == _NUMBERS for kinds in found):
        return "holds a property of two kinds"
    return ""


def _kinds(delta: Delta, manifest: Manifest) -> dict[tuple[object, str], set[Kind]]:
    """The kinds that each property of each vertex group and edge type has in the base and in the delta. What vertices
    had that are no more does not count: a group that begins anew may have other kinds."""
    found: dict[tuple[object, str], set[Kind]] = defaultdict(set)

    def note(owner: object, columns: Mapping[str, Column | ColumnRecord]) -> None:
        for key, column in columns.items():
            found[owner, key].add(column.kind)

    for number, group in enumerate(manifest.groups):
        if not _all_in(group.ranges, delta.dead):
            patches = delta.patches.get(number, {})
            note((group.labels, group.id_space), group.columns)
            note((group.labels, group.id_space), {k: p.column for k, p in patches.items()})
    for added in delta.added:
        if not _all_in(added.ranges, delta.dead):
            note(added.key, added.columns)
    for record in manifest.types:
        note(record.name, record.columns)
    for name, edges in delta.types.items():
        note(name, edges.columns)
        note(name, {key: patch.column for key, patch in edges.patches.items()})
    return found


def _all_in(ranges: Sequence[tuple[int, int]], vids: U32) -> bool:
    """Whether all of the ranges are among vids, u32[n] ascending, distinct."""
    inside = sum(int(np.diff(np.searchsorted(vids, pair))[0]) for pair in ranges)
    return inside == sum(stop - start for start, stop in ranges)


def _distinct(numbers: I64, below: int) -> bool:
    """Whether numbers ascend, each once, within 0 .. below."""
    inside = not len(numbers) or 0 <= int(numbers[0]) <= int(numbers[-1]) < below
    return inside and not bool((np.diff(numbers) <= 0).any())


def in_index(index: IdIndex, vertex_count: int) -> str:
    """What is wrong with an index of ids, or "". O(n)."""
    if index.vids.shape[0] and int(index.vids.max()) >= vertex_count:
        return "names a vertex that does not exist"
    return "has ids that are not sorted" if (index.keys[1:] < index.keys[:-1]).any() else ""


def in_column(column: Column) -> str:
    """What is wrong with a column, or "": offsets that do not ascend or cut characters, text that is no UTF-8, a bool
    that is neither. O(n + bytes); Arrow's readers check none of this."""
    offsets, values = column.offsets, column.values
    if column.kind in _TIMES:
        known = values if column.valid is None else values[column.valid]
        first, last = _TIMES[column.kind]
        beyond = len(known) and not first <= int(known.min()) <= int(known.max()) <= last
        return f"holds what is no {column.kind}" if beyond else ""
    if offsets is not None and column.items is not None:
        falls = (offsets[1:] < offsets[:-1]).any()
        return "holds lists that end before they begin" if falls else in_column(column.items)
    if offsets is None:
        two = column.kind != "bool" or not values.shape[0] or int(values.max()) <= 1
        return "" if two else "holds a bool that is neither true nor false"
    if (offsets[1:] < offsets[:-1]).any():
        return "holds strings that do not follow one another"
    if not _is_text(column):
        return "holds strings that are not UTF-8"
    return "" if column.kind != "any" or _is_coded(column) else "holds texts that are no values"


def _is_coded(column: Column) -> bool:
    """Whether each text of the kind "any" is of a value."""
    try:
        column.to_list()
    except ValueError:
        return False
    return True


def _is_text(column: Column) -> bool:
    values, offsets = column.values, column.offsets
    if offsets is None or not values.shape[0] or int(values.max()) < 0x80:
        return True
    if ((values[offsets[offsets < values.shape[0]]] & 0xC0) == 0x80).any():
        return False  # a string begins inside a character
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for begin in range(0, values.shape[0], _CHUNK):
            decoder.decode(values[begin : begin + _CHUNK].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)

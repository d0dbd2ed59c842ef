"""A full check of a snapshot: every checksum, then what the files say of one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.storage import pcsr, temporal
from gdb.storage.adjacency import Direction
from gdb.storage.manifest import MANIFEST
from gdb.storage.model import Column, Kind
from gdb.storage.segment import damaged, verify

if TYPE_CHECKING:
    from gdb.storage.partitions import EdgeType
    from gdb.storage.snapshot import Snapshot


_RANGES: dict[Kind, tuple[int, int]] = {
    "date": (temporal.FIRST_DAY, temporal.LAST_DAY),
    "datetime": (temporal.FIRST_INSTANT, temporal.LAST_INSTANT),
    "duration": (-temporal.LONGEST, temporal.LONGEST),
}


def check(snapshot: Snapshot) -> None:
    """Raise CorruptStore at the first fault; see `Snapshot.check`. Reads everything once."""
    files = snapshot.files
    for record in snapshot.manifest.files:
        verify(files, record, files.map(record.name, record.length))
    _check_numbering(snapshot)
    for edge_type in snapshot.edge_types:
        _check_type(snapshot, edge_type)
    _check_vertices(snapshot)


def _check_numbering(snapshot: Snapshot) -> None:
    where, manifest = snapshot.files.where, snapshot.manifest
    used = np.zeros(snapshot.vertex_count, np.int64)
    dead = snapshot.delta.dead
    inside = all(
        stop <= snapshot.vertex_count for group in snapshot.groups for _, stop in group.ranges
    )
    if not inside or (len(dead) and int(dead[-1]) >= snapshot.vertex_count):
        raise damaged(where, MANIFEST, "numbers more vertices than it counts")
    for group in snapshot.groups:
        for start, stop in group.ranges:
            used[start:stop] += 1
    used[dead] += 1
    if (used != 1).any() or (np.diff(dead.astype(np.int64)) <= 0).any():
        raise damaged(where, MANIFEST, "numbers its vertices with gaps")
    next_eid = 0
    for record in manifest.types:
        if record.first_eid != next_eid:
            raise damaged(where, MANIFEST, "numbers its edges with gaps")
        next_eid += record.edge_count
    if next_eid != manifest.edge_count:
        raise damaged(where, MANIFEST, "counts its edges wrongly")
    for changes in snapshot.delta.types.values():
        count = sum(r.edge_count for r in manifest.types if r.name == changes.name)
        ranks = [changes.removed, *(patch.rows for patch in changes.patches.values())]
        for some in ranks:
            if (np.diff(some) <= 0).any() or (len(some) and not 0 <= some[0] <= some[-1] < count):
                raise damaged(where, MANIFEST, "changes edges that it does not have")
        if (changes.keys[1:] < changes.keys[:-1]).any():
            raise damaged(where, MANIFEST, "adds edges that are not sorted")


def _check_type(snapshot: Snapshot, edge_type: EdgeType) -> None:
    record = next((r for r in snapshot.manifest.types if r.name == edge_type.name), None)
    changed = snapshot.manifest.delta if edge_type.name in snapshot.delta.types else None
    if changed is not None:
        first = changed.file
    else:
        assert record is not None
        first = record.parts[0].segments[0].file
    named = snapshot.manifest.files[first].name

    def fail(how: str) -> None:
        raise damaged(snapshot.files.where, named, f"{how} (type {edge_type.name})")

    keys: dict[Direction, pcsr.U64] = {}
    sides = (Direction.OUT, Direction.IN) if edge_type.directed else (Direction.ANY,)
    described = {part.direction: part for part in record.parts} if record is not None else {}
    for side in sides:
        view = snapshot.adjacency((edge_type.name,), side)
        if (np.diff(view.offsets) <= 0).any() or view.offsets[-1] != view.neighbours.shape[0]:
            fail("has wrong row offsets")
        vids = view.vids()
        if view.rows and int(vids[-1]) >= snapshot.vertex_count:
            fail("has a row for a vertex that does not exist")
        mine = pcsr.keys_of(np.repeat(vids, np.diff(view.offsets)), view.neighbours)
        if (mine[1:] < mine[:-1]).any():
            fail("has rows that are not sorted")
        own = pcsr.build(mine)
        if (own.simple, own.loops, own.max_degree) != (view.simple, view.loops, view.max_degree):
            fail("is described wrongly by the manifest")
        if changed is None and (view.rows, len(mine)) != (
            described[side].rows,
            described[side].edges,
        ):
            fail("is described wrongly by the manifest")
        keys[side] = mine
    mirrored = {
        direction: np.sort(mine << np.uint64(32) | mine >> np.uint64(32))
        for direction, mine in keys.items()
    }
    if edge_type.directed:
        if not np.array_equal(mirrored[Direction.OUT], keys[Direction.IN]):
            fail("disagrees with its backward part")
    elif not np.array_equal(mirrored[Direction.ANY], keys[Direction.ANY]):
        fail("is not symmetric")
    for key in edge_type.keys:
        _check_column(snapshot, snapshot.edge_column(edge_type.name, key), named)


def _check_vertices(snapshot: Snapshot) -> None:
    names = {(r.labels, r.id_space): r.file for r in snapshot.manifest.groups}
    for number, group in enumerate(snapshot.groups):
        delta = snapshot.manifest.delta
        file = names.get((group.labels, group.id_space), -1 if delta is None else delta.file)
        named = snapshot.manifest.files[file].name
        _check_column(snapshot, snapshot.id_column(number), named)
        for key in group.keys:
            _check_column(snapshot, snapshot.vertex_column(number, key), named)
        found = snapshot.find_many(snapshot.ids_of(number), group.id_space)
        if not np.array_equal(found, snapshot.group_vids(number)):
            raise damaged(snapshot.files.where, named, "has a wrong index of ids")


def _check_column(snapshot: Snapshot, column: Column | None, name: str) -> None:
    """Strings: ascending offsets at the beginnings of characters, and valid UTF-8. Times: of the years 1 to 9999.
    Lists: ascending offsets, and their items."""
    if column is not None and column.kind in _RANGES:
        known = column.values if column.valid is None else column.values[column.valid]
        first, last = _RANGES[column.kind]
        if ((known < first) | (known > last)).any():
            raise damaged(snapshot.files.where, name, f"holds what is no {column.kind}")
    if column is not None and column.items is not None:
        if column.offsets is not None and (np.diff(column.offsets) < 0).any():
            raise damaged(snapshot.files.where, name, "holds lists that end before they begin")
        _check_column(snapshot, column.items, name)
        return
    if column is None or column.offsets is None:
        return
    offsets, data = column.offsets, column.values
    inside = offsets[offsets < data.shape[0]]
    try:
        data.tobytes().decode("utf-8")
        wrong = bool((np.diff(offsets) < 0).any() or ((data[inside] & 0xC0) == 0x80).any())
    except UnicodeDecodeError:
        wrong = True
    if wrong:
        raise damaged(snapshot.files.where, name, "holds strings that are not UTF-8")

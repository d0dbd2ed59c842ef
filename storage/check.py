"""A full check of a snapshot: every checksum, then what the files say of one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.storage import pcsr, temporal
from gdb.storage.adjacency import Direction
from gdb.storage.manifest import MANIFEST, TypeRecord
from gdb.storage.model import Column, Kind
from gdb.storage.segment import damaged, verify

if TYPE_CHECKING:
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
    covered = sorted(r for group in snapshot.groups for r in group.ranges)
    ends = [0, *(stop for _, stop in covered)]
    if [start for start, _ in covered] != ends[:-1] or ends[-1] != snapshot.vertex_count:
        raise damaged(files.where, MANIFEST, "numbers its vertices with gaps")
    next_eid = 0
    for edge_type in snapshot.manifest.types:
        if edge_type.first_eid != next_eid:
            raise damaged(files.where, MANIFEST, "numbers its edges with gaps")
        next_eid += edge_type.edge_count
        _check_type(snapshot, edge_type)
    if next_eid != snapshot.edge_count:
        raise damaged(files.where, MANIFEST, "counts its edges wrongly")
    _check_vertices(snapshot)


def _check_type(snapshot: Snapshot, record: TypeRecord) -> None:
    def fail(how: str) -> None:
        first = record.parts[0].segments[0].file
        name = snapshot.manifest.files[first].name
        raise damaged(snapshot.files.where, name, f"{how} (type {record.name})")

    keys: dict[Direction, pcsr.U64] = {}
    for part in record.parts:
        view = snapshot.adjacency((record.name,), part.direction)
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
        keys[part.direction] = mine
    mirrored = {
        direction: np.sort(mine << np.uint64(32) | mine >> np.uint64(32))
        for direction, mine in keys.items()
    }
    if record.directed:
        if not np.array_equal(mirrored[Direction.OUT], keys[Direction.IN]):
            fail("disagrees with its backward part")
    elif not np.array_equal(mirrored[Direction.ANY], keys[Direction.ANY]):
        fail("is not symmetric")
    for key in record.columns:
        _check_column(snapshot, snapshot.edge_column(record.name, key), record.file)


def _check_vertices(snapshot: Snapshot) -> None:
    for number, group in enumerate(snapshot.manifest.groups):
        _check_column(snapshot, snapshot.id_column(number), group.file)
        for key in group.columns:
            _check_column(snapshot, snapshot.vertex_column(number, key), group.file)
    for space in snapshot.manifest.spaces:
        for number, own in enumerate(snapshot.groups):
            if own.id_space == space.name:
                found = snapshot.find_many(snapshot.ids_of(number), space.name)
                if not np.array_equal(found, snapshot.group_vids(number)):
                    name = snapshot.manifest.files[space.file].name
                    raise damaged(snapshot.files.where, name, "has a wrong index of ids")


def _check_column(snapshot: Snapshot, column: Column | None, file: int) -> None:
    """Strings: ascending offsets at the beginnings of characters, and valid UTF-8. Times: of the years 1 to 9999.
    Lists: ascending offsets, and their items."""
    if column is not None and column.kind in _RANGES:
        known = column.values if column.valid is None else column.values[column.valid]
        first, last = _RANGES[column.kind]
        if ((known < first) | (known > last)).any():
            name = snapshot.manifest.files[file].name
            raise damaged(snapshot.files.where, name, f"holds what is no {column.kind}")
    if column is not None and column.items is not None:
        if column.offsets is not None and (np.diff(column.offsets) < 0).any():
            name = snapshot.manifest.files[file].name
            raise damaged(snapshot.files.where, name, "holds lists that end before they begin")
        _check_column(snapshot, column.items, file)
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
        name = snapshot.manifest.files[file].name
        raise damaged(snapshot.files.where, name, "holds strings that are not UTF-8")

"""A full check of a snapshot: every checksum, then what the files say of one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gdb.storage import pcsr
from gdb.storage.adjacency import Direction
from gdb.storage.ids import SPACE_SECTIONS
from gdb.storage.manifest import ColumnRecord, DeltaRecord, PatchRecord
from gdb.storage.pcsr import PART_SECTIONS
from gdb.storage.segment import damaged, verify

if TYPE_CHECKING:
    from gdb.storage.partitions import EdgeType
    from gdb.storage.snapshot import Snapshot


def check(snapshot: Snapshot) -> None:
    """Raise CorruptStore at the first fault; see `Snapshot.check`. Reads everything once.

    What the numbers of the manifest say of one another was compared when it was read, and what would be harmful to
    use is compared again here, as everything is touched (`gdb.storage.contradictions`).
    """
    files = snapshot.files
    for record in snapshot.manifest.files:
        verify(files, record, files.map(record.name, record.length))
    _check_sections(snapshot)
    for edge_type in snapshot.edge_types:
        _check_type(snapshot, edge_type)
    _check_vertices(snapshot)


# ---- sections ------------------------------------------------------------------------------------


def _check_sections(snapshot: Snapshot) -> None:
    """Every section of every file has one owner: else a column lacks its nulls, or two share their values."""
    manifest, used = snapshot.manifest, Counter[tuple[int, int]]()
    for group in manifest.groups:
        used.update(_sections_of(group.file, (group.ids, *group.columns.values())))
    for edge_type in manifest.types:
        used.update(_sections_of(edge_type.file, edge_type.columns.values()))
        for part in edge_type.parts:
            for segment in part.segments:
                used.update((segment.file, segment.section + n) for n in range(PART_SECTIONS))
    for space in manifest.spaces:
        used.update((space.file, space.section + n) for n in range(SPACE_SECTIONS))
    if manifest.delta is not None:
        used.update(_sections_of_delta(manifest.delta))
    for number in range(len(manifest.files) + bool(manifest.inline)):
        own = {at: times for (file, at), times in used.items() if file == number}
        if own != dict.fromkeys(range(snapshot.sections_in(number)), 1):
            raise damaged(
                snapshot.files.where,
                manifest.name_of(number),
                "has sections without an owner, or of two",
            )


def _sections_of(file: int, columns: Iterable[ColumnRecord]) -> Iterator[tuple[int, int]]:
    for column in columns:
        for section in (column.values, column.offsets, column.valid):
            if section >= 0:
                yield file, section
        if column.kind == "string[]":  # those of the strings stand behind those of the lists
            yield file, column.offsets + 1


def _sections_of_delta(delta: DeltaRecord) -> Iterator[tuple[int, int]]:
    def patches(of: Iterable[PatchRecord]) -> Iterator[tuple[int, int]]:
        for patch in of:
            yield delta.file, patch.rows
            yield from _sections_of(delta.file, (patch.column,))

    yield delta.file, delta.dead
    for added in delta.added:
        yield from _sections_of(delta.file, (added.ids, *added.columns.values()))
    for group in delta.patches.values():
        yield from patches(group.values())
    for edges in delta.types:
        yield delta.file, edges.keys
        yield delta.file, edges.removed
        yield from _sections_of(delta.file, edges.columns.values())
        yield from patches(edges.patches.values())


# ---- edges ---------------------------------------------------------------------------------------


def _check_type(snapshot: Snapshot, edge_type: EdgeType) -> None:
    record = next((r for r in snapshot.manifest.types if r.name == edge_type.name), None)
    delta = snapshot.manifest.delta if edge_type.name in snapshot.delta.types else None
    file = delta.file if delta is not None else -1
    if record is not None:
        file = record.parts[0].segments[0].file
    named = snapshot.manifest.name_of(file)

    def fail(how: str) -> None:
        raise damaged(snapshot.files.where, named, f"{how} (type {edge_type.name})")

    described = {} if record is None else {part.direction: part for part in record.parts}
    keys: dict[Direction, pcsr.U64] = {}
    for side in (Direction.OUT, Direction.IN) if edge_type.directed else (Direction.ANY,):
        view = snapshot.adjacency((edge_type.name,), side)
        mine = pcsr.keys_of(np.repeat(view.vids(), np.diff(view.offsets)), view.neighbours)
        own = pcsr.build(mine)
        same = (own.simple, own.loops) == (view.simple, view.loops)
        if delta is None:
            part = described[side]
            same = same and snapshot.size_of(part) == part.bytes
        if not same:
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
    ends = keys[Direction.OUT if edge_type.directed else Direction.ANY].astype(np.uint32)
    if snapshot.delta.is_dead(ends).any():
        fail("has edges to vertices that are no more")
    for key in edge_type.keys:
        snapshot.edge_column(edge_type.name, key)  # compared when it is first touched


# ---- vertices ------------------------------------------------------------------------------------


def _check_vertices(snapshot: Snapshot) -> None:
    manifest, delta = snapshot.manifest, snapshot.manifest.delta
    files = {space.name: space.file for space in manifest.spaces}
    for number, group in enumerate(snapshot.groups):
        for key in group.keys:
            snapshot.vertex_column(number, key)  # compared when it is first touched
        found = snapshot.find_many(snapshot.ids_of(number), group.id_space)
        if not np.array_equal(found, snapshot.group_vids(number)):
            file = files.get(group.id_space, -1 if delta is None else delta.file)
            name = manifest.name_of(file)
            raise damaged(snapshot.files.where, name, "has a wrong index of ids")

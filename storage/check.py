"""A full check of a snapshot: every checksum, then what the files say of one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gdb.storage import pcsr
from gdb.storage.adjacency import Direction
from gdb.storage.ids import SPACE_SECTIONS
from gdb.storage.manifest import ColumnRecord, TypeRecord
from gdb.storage.pcsr import PART_SECTIONS
from gdb.storage.segment import damaged, verify

if TYPE_CHECKING:
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
    for edge_type in snapshot.manifest.types:
        _check_type(snapshot, edge_type)
    _check_vertices(snapshot)


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
    for number, record in enumerate(manifest.files):
        own = {at: times for (file, at), times in used.items() if file == number}
        if own != dict.fromkeys(range(snapshot.sections_in(number)), 1):
            raise damaged(
                snapshot.files.where, record.name, "has sections without an owner, or of two"
            )


def _sections_of(file: int, columns: Iterable[ColumnRecord]) -> Iterator[tuple[int, int]]:
    for column in columns:
        for section in (column.values, column.offsets, column.valid):
            if section >= 0:
                yield file, section


def _check_type(snapshot: Snapshot, record: TypeRecord) -> None:
    def fail(how: str) -> None:
        first = record.parts[0].segments[0].file
        name = snapshot.manifest.files[first].name
        raise damaged(snapshot.files.where, name, f"{how} (type {record.name})")

    keys: dict[Direction, pcsr.U64] = {}
    for part in record.parts:
        view = snapshot.adjacency((record.name,), part.direction)
        mine = pcsr.keys_of(np.repeat(view.vids(), np.diff(view.offsets)), view.neighbours)
        own = pcsr.build(mine)
        size = snapshot.size_of(part)
        if (own.simple, own.loops, size) != (view.simple, view.loops, part.bytes):
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
        snapshot.edge_column(record.name, key)  # compared when it is first touched


def _check_vertices(snapshot: Snapshot) -> None:
    for number, group in enumerate(snapshot.manifest.groups):
        for key in group.columns:
            snapshot.vertex_column(number, key)  # compared when it is first touched
    for space in snapshot.manifest.spaces:
        for number, own in enumerate(snapshot.groups):
            if own.id_space == space.name:
                found = snapshot.find_many(snapshot.ids_of(number), space.name)
                if not np.array_equal(found, snapshot.group_vids(number)):
                    name = snapshot.manifest.files[space.file].name
                    raise damaged(snapshot.files.where, name, "has a wrong index of ids")

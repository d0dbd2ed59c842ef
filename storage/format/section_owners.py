"""The columns, the format and the owners of sections of a store, by its manifest (docs/FORMAT.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..columns.model import FIRST_KINDS
from ..disk.checksum import is_of_large

if TYPE_CHECKING:
    from .manifest import ColumnRecord, DeltaRecord, Manifest, PatchRecord

PART_SECTIONS = 5  # of each segment of a part
SPACE_SECTIONS = 2  # of an index of ids: keys, vids


def count_of(ranges: Iterable[tuple[int, int]]) -> int:
    """The vids of some ranges."""
    return sum(stop - start for start, stop in ranges)


def has_large_files(manifest: Manifest) -> bool:
    """Whether a file has the checksum of large ones."""
    return any(is_of_large(file.digest) for file in manifest.files)


def format_of(manifest: Manifest) -> int:
    """The oldest format that has all that the store uses, so that an older gdb reads what it can."""
    if has_large_files(manifest):
        return 5
    if manifest.journal or manifest.packed:
        return 4
    kinds = {column.kind for column in columns_of(manifest)}
    if "any" in kinds:
        return 3
    # a reader that knows no delta must not overlook it
    return 1 if manifest.delta is None and kinds <= set(FIRST_KINDS) else 2


def columns_of(manifest: Manifest) -> Iterator[ColumnRecord]:
    """The columns of all properties, also those of the delta."""
    owned = [group.columns for group in manifest.groups] + [t.columns for t in manifest.types]
    if manifest.delta is not None:
        owned += [added.columns for added in manifest.delta.added]
        owned += [edges.columns for edges in manifest.delta.types]
        patches = [*manifest.delta.patches.values(), *(t.patches for t in manifest.delta.types)]
        yield from (patch.column for of in patches for patch in of.values())
    yield from (column for columns in owned for column in columns.values())


def owners(manifest: Manifest) -> dict[int, Counter[int]]:
    """Of each file, by its number: how many things each of its sections belongs to."""
    found: dict[int, Counter[int]] = {}
    for file, section in sections(manifest):
        found.setdefault(file, Counter())[section] += 1
    return found


def sections(manifest: Manifest) -> Iterator[tuple[int, int]]:
    """The section that each thing of a store has: the numbers of its file and of itself."""
    for group in manifest.groups:
        yield from _of_columns(group.file, (group.ids, *group.columns.values()))
    for edge_type in manifest.types:
        yield from _of_columns(edge_type.file, edge_type.columns.values())
        for segment in (segment for part in edge_type.parts for segment in part.segments):
            yield from ((segment.file, segment.section + n) for n in range(PART_SECTIONS))
    for space in manifest.spaces:
        yield from ((space.file, space.section + n) for n in range(SPACE_SECTIONS))
    if manifest.delta is not None:
        yield from _of_delta(manifest.delta)


def _of_columns(file: int, columns: Iterable[ColumnRecord]) -> Iterator[tuple[int, int]]:
    for column in columns:
        for section in (column.values, column.offsets, column.valid):
            if section >= 0:
                yield file, section
        if column.kind == "string[]":  # those of the strings follow those of the lists
            yield file, column.offsets + 1


def _of_delta(delta: DeltaRecord) -> Iterator[tuple[int, int]]:
    yield delta.file, delta.dead
    for edges in delta.types:
        yield delta.file, edges.keys
        yield delta.file, edges.removed
    for patch in patches_of(delta):
        yield delta.file, patch.rows
    yield from _of_columns(delta.file, (column for column, _ in columns_of_delta(delta)))


def patches_of(delta: DeltaRecord) -> Iterator[PatchRecord]:
    """All patches of a delta."""
    for patches in (*delta.patches.values(), *(edges.patches for edges in delta.types)):
        yield from patches.values()


def columns_of_delta(delta: DeltaRecord) -> Iterator[tuple[ColumnRecord, int]]:
    """All columns of a delta, ids too, and the number of values."""
    for added in delta.added:
        count = count_of(added.ranges)
        yield from ((column, count) for column in (added.ids, *added.columns.values()))
    for edges in delta.types:
        yield from ((column, edges.count) for column in edges.columns.values())
    yield from ((patch.column, patch.count) for patch in patches_of(delta))


def columns(manifest: Manifest) -> Iterator[tuple[int, ColumnRecord, int]]:
    """All columns, ids too: the number of the file, the record, and the number of values."""
    for group in manifest.groups:
        count = count_of(group.ranges)
        for column in (group.ids, *group.columns.values()):
            yield group.file, column, count
    for edge_type in manifest.types:
        for column in edge_type.columns.values():
            yield edge_type.file, column, edge_type.edge_count
    if manifest.delta is not None:
        for column, count in columns_of_delta(manifest.delta):
            yield manifest.delta.file, column, count

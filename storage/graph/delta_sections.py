"""The delta as the sections that a commit writes; `delta.read` is the inverse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from gdb.records import replace

from ..columns.model import U32, Column
from ..format.delta_parts import (
    DeltaPart,
    DeltaParts,
    text_of_edges,
    text_of_patches,
    text_of_vertices,
)
from ..format.manifest import AddedEdges, AddedVertices, ColumnRecord, PatchRecord
from ..format.sections import Section, SectionKind
from . import property_columns
from .delta import Delta, NewVertices, Patch, TypeDelta

R = TypeVar("R")
T = TypeVar("T")


def parts_of(delta: Delta, file: int, before: DeltaParts | None = None) -> DeltaParts:
    """A delta as sections. file : the number that their file has in the manifest. before : those of an earlier one;
    what both have in common is not made again."""
    known = iter(() if before is None else before.every)
    first = 0

    def part(of: T, make: Callable[[T, int], DeltaPart[R]]) -> DeltaPart[R]:
        nonlocal first
        old = next(known, None)
        kept = old is not None and old.of is of and old.first == first
        found = cast("DeltaPart[R]", old) if kept else make(of, first)
        first += len(found.sections)
        return found

    return DeltaParts(
        file,
        delta.vertices,
        part(delta.dead, _dead_part),
        [part(one, _vertices_part) for one in delta.added],
        {number: part(of, _patches_part) for number, of in sorted(delta.patches.items())},
        [part(one, _edges_part) for _, one in sorted(delta.types.items())],
    )


def _dead_part(dead: U32, first: int) -> DeltaPart[int]:
    return DeltaPart(dead, first, [Section(SectionKind.DEAD_VIDS, dead)], len(dead), "")


def _vertices_part(one: NewVertices, first: int) -> DeltaPart[AddedVertices]:
    sections: list[Section] = []
    ids = _put(one.ids, first, sections)
    columns = {key: _put(values, first, sections) for key, values in one.columns.items()}
    record = AddedVertices(one.labels, one.id_space, one.ranges, ids, columns)
    return DeltaPart(one, first, sections, record, text_of_vertices(record))


def _patches_part(of: Mapping[str, Patch], first: int) -> DeltaPart[dict[str, PatchRecord]]:
    sections: list[Section] = []
    record = {key: _put_patch(one, first, sections) for key, one in of.items()}
    return DeltaPart(of, first, sections, record, text_of_patches(record))


def _edges_part(one: TypeDelta, first: int) -> DeltaPart[AddedEdges]:
    sections = [Section(SectionKind.ADDED_KEYS, one.keys)]
    columns = {key: _put(values, first, sections) for key, values in one.columns.items()}
    removed = first + len(sections)
    sections.append(Section(SectionKind.REMOVED_RANKS, one.removed))
    record = AddedEdges(
        *(one.name, one.directed, first, len(one.keys), columns, removed, len(one.removed)),
        {key: _put_patch(patch, first, sections) for key, patch in one.patches.items()},
    )
    return DeltaPart(one, first, sections, record, text_of_edges(record))


def _put(column: Column, first: int, sections: list[Section]) -> ColumnRecord:
    record, more = property_columns.sections_of(column, first + len(sections))
    sections += more
    return record


def _put_patch(one: Patch, first: int, sections: list[Section]) -> PatchRecord:
    at = len(sections)
    edits = (None, None) if one.edits is None else one.edits
    sections.append(Section(SectionKind.PATCHED_ROWS, one.rows, edit=edits[0]))
    record = _put(one.column, first, sections)
    if edits[1] is not None:
        values = record.values - first
        sections[values] = replace(sections[values], edit=edits[1])
    return PatchRecord(first + at, len(one.rows), record)

"""The delta, all changes since the base was written: vertices and edges added and removed, properties set.

A store is a base (`gdb.storage.write.build`) and at most one delta. A commit writes what it changed of the delta into
the journal (`gdb.storage.format.journal`), or the whole delta anew, into the manifest itself or into a file of its own;
when it has grown, the base is written anew with it (`gdb.storage.write.compaction`). Readers never see the difference:
`Vertices` and `Partitions` put both together, so that each list is one contiguous sorted list (the multi-version
neighbour arrays of the thesis, ch. 4 §4.4, with two versions).

Vertices that are added get the vids after those of the base, in the order in which they come, and keep them until the
base is written anew. A vertex that is removed leaves its vid unused. Edges are named by rank: the place of an edge of
the base among those of its type, by (source, target), of an undirected type by (smaller end, larger end).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import numpy as np

from gdb.records import dataclass, field, quick, replace

from ..columns.model import I64, U32, Column, offsets_of_lengths
from ..format.delta_parts import (
    DeltaPart,
    DeltaParts,
    text_of_edges,
    text_of_patches,
    text_of_vertices,
)
from ..format.invariants import DELTA_LENGTHS
from ..format.manifest import (
    AddedEdges,
    AddedVertices,
    ColumnRecord,
    Manifest,
    PatchRecord,
)
from ..format.section_owners import count_of
from ..format.sections import Edit, Section, SectionKind
from ..format.segment import compare, damaged
from ..format.segments import Segments
from . import property_columns, section_checks
from .pcsr import U64

R = TypeVar("R")
T = TypeVar("T")
Sized = TypeVar("Sized", I64, U32, U64)
Ranges = tuple[tuple[int, int], ...]


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """New values of one property. rows : i64[k], ascending, distinct; column : k values. edits : how rows and values
    were made of those of another patch, where it differs in one."""

    rows: I64
    column: Column
    edits: tuple[Edit, Edit] | None = None

    def of_rows(self, rows: I64) -> Patch:
        """Its part for some rows, i64[n], by their places."""
        if not len(self.rows):
            return self
        at = self.rows.searchsorted(rows)
        if len(rows) == 1:
            first = int(at[0])
            if first == len(self.rows) or self.rows[first] != rows[0]:
                return Patch(rows[:0], self.column.part(0, 0))
            return Patch(np.zeros(1, np.int64), self.column.part(first, first + 1))
        at = np.minimum(at, len(self.rows) - 1)
        hit = (self.rows[at] == rows).nonzero()[0]
        return Patch(hit, self.column.take(at[hit]))


@quick
@dataclass(frozen=True, slots=True, eq=False)
class NewVertices:
    """Vertices of one group that were added, also those removed again; ranges : their vids, ascending."""

    labels: tuple[str, ...]
    id_space: str
    ranges: Ranges
    ids: Column
    columns: Mapping[str, Column]

    @property
    def key(self) -> tuple[tuple[str, ...], str]:
        """The labels and the id space of the group, by which groups of the base are known too."""
        return self.labels, self.id_space


@quick
@dataclass(frozen=True, slots=True, eq=False)
class TypeDelta:
    """Changes of one edge type.

    keys : u64[n], `source << 32 | target` of the edges that were added, ascending; of an undirected type the smaller
        end comes first. columns : their properties, in this order.
    removed : i64[k], ranks of edges of the base, ascending.
    patches : new values of edges of the base, by rank.
    serials : i64[n], a number for each of `keys`, which an edge keeps as long as its transaction (it is not stored).
    """

    name: str
    directed: bool
    keys: U64 = field(default_factory=lambda: np.zeros(0, np.uint64))
    columns: Mapping[str, Column] = field(default_factory=dict)
    removed: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    patches: Mapping[str, Patch] = field(default_factory=dict)
    serials: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def size(self) -> int:
        """Number of changes: edges added, edges removed, values patched."""
        found = len(self.keys) + len(self.removed)
        for patch in self.patches.values():
            found += len(patch.rows)
        return found


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """See the module.

    vertices : vids that it adds. dead : u32[k], vids of the base and of its own that are no more, ascending.
    patches : number of a group of the base -> property -> new values, by the group's row.
    rewrites : it is not kept beside its base: a commit writes the base anew with it.
    """

    vertices: int = 0
    dead: U32 = field(default_factory=lambda: np.zeros(0, np.uint32))
    added: tuple[NewVertices, ...] = ()
    patches: Mapping[int, Mapping[str, Patch]] = field(default_factory=dict)
    types: Mapping[str, TypeDelta] = field(default_factory=dict)
    rewrites: bool = False

    def with_type(self, changes: TypeDelta) -> Delta:
        """The same with other changes of one edge type."""
        types = {**self.types, changes.name: changes}
        return Delta(self.vertices, self.dead, self.added, self.patches, types, self.rewrites)

    @property
    def size(self) -> int:
        """How much there is in it: vertices and edges, and values set."""
        found = self.vertices + len(self.dead)
        for group in self.patches.values():
            for patch in group.values():
                found += len(patch.rows)
        for one in self.types.values():
            found += one.size
        return found

    def is_dead(self, vids: U32) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which vertices are no more, bool[n]."""
        if not len(self.dead):
            return np.zeros(vids.shape[0], np.bool_)
        at = np.minimum(self.dead.searchsorted(vids), len(self.dead) - 1)
        found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = self.dead[at] == vids
        return found


NOTHING = Delta()


def visible(ranges: Ranges, dead: U32) -> Ranges:
    """The parts of ascending ranges that are left without the dead."""
    if not len(dead):
        return ranges
    left: list[tuple[int, int]] = []
    for start, stop in ranges:
        gone = dead[np.searchsorted(dead, start) : np.searchsorted(dead, stop)].astype(np.int64)
        begins, ends = np.append(start, gone + 1), np.append(gone, stop)
        there = begins < ends
        left += zip(begins[there].tolist(), ends[there].tolist(), strict=True)
    return tuple(left)


def patched(column: Column, patch: Patch | None) -> Column:
    """A column with the new values of a patch in their rows."""
    if patch is None or not len(patch.rows):
        return column
    index = np.arange(len(column), dtype=np.int64)
    index[patch.rows] = len(column) + np.arange(len(patch.rows))
    return Column.concat([column, patch.column]).take(index)


def overlay(old: Patch | None, new: Patch) -> Patch:
    """Both patches as one, in which the new values win."""
    if old is None or not len(old.rows):
        return new
    at = old.rows.searchsorted(new.rows)
    if len(new.rows) == 1:
        return _with_one(old, new, int(at[0]))
    known = old.rows.take(at, mode="clip") == new.rows
    both, places = Column.concat([old.column, new.column]), np.arange(len(old.rows), dtype=np.int64)
    hit, fresh = known.nonzero()[0], (~known).nonzero()[0]
    places[at[hit]] = len(old.rows) + hit
    if not len(fresh):
        return Patch(old.rows, both.take(places))
    rows, every = np.empty((2, len(old.rows) + len(fresh)), np.int64)
    between = at[fresh] + np.arange(len(fresh))
    kept = np.zeros(len(rows), np.bool_)
    kept[between] = True
    kept = ~kept
    rows[kept], rows[between] = old.rows, new.rows[fresh]
    every[kept], every[between] = places, len(old.rows) + fresh
    return Patch(rows, both.take(every))


def _with_one(old: Patch, new: Patch, place: int) -> Patch:
    """A patch with one more value, or another one. place : of the first row that is not before the new one."""
    count, column = len(old.rows), old.column
    known = place < count and old.rows[place] == new.rows[0]
    after = place + 1 if known else place
    plain = column.valid is None and column.offsets is None and new.column.valid is None
    rows, values = old.rows, column.values
    if not known:
        rows = np.concatenate((rows[:place], new.rows, rows[place:]))
    if plain and column.kind == new.column.kind:
        edits = Edit(old.rows, place, count - after), Edit(values, place, count - after)
        if known:
            values = values.copy()
            values[place] = new.column.values[0]
        else:
            values = np.concatenate((values[:place], new.column.values, values[place:]))
        return Patch(rows, Column(column.kind, values), edits)
    return Patch(
        rows, Column.concat([column.part(0, place), new.column, column.part(after, count)])
    )


def appended(tables: list[Mapping[str, Column]], counts: list[int]) -> dict[str, Column]:
    """The columns of several tables, one under the other; null where a table lacks one."""
    kinds = {key: column.kind for table in tables for key, column in table.items()}
    return {
        key: Column.stacked([table.get(key) for table in tables], counts, kinds[key])
        for key in sorted(kinds)
    }


# ---- on disk -------------------------------------------------------------------------------------


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


def read(manifest: Manifest, segments: Segments) -> Delta:
    """The delta of a manifest from its file; NOTHING where there is none.

    Raises
    ------
    CorruptStore : the file is not what the manifest says.
    """
    record = manifest.delta
    if record is None:
        return NOTHING
    file, where = segments[record.file], segments.files.where

    def sized(found: Sized, declared: int) -> Sized:
        if len(found) != declared:
            how = "holds another delta than the manifest says"
            raise damaged(where, file.name, how, DELTA_LENGTHS.name)
        return found

    def columns(of: Mapping[str, ColumnRecord], count: int) -> dict[str, Column]:
        return {key: property_columns.read(one, file, count, where) for key, one in of.items()}

    def patches(of: Mapping[str, PatchRecord]) -> dict[str, Patch]:
        made: dict[str, Patch] = {}
        for key, one in of.items():
            rows = sized(file.i64(one.rows, SectionKind.PATCHED_ROWS), one.count)
            made[key] = Patch(rows, property_columns.read(one.column, file, one.count, where))
        return made

    dead = sized(file.u32(record.dead, SectionKind.DEAD_VIDS), record.dead_count)
    added = []
    for one in record.added:
        count = count_of(one.ranges)
        values = columns(one.columns, count)
        own = property_columns.read(one.ids, file, count, where)
        added.append(NewVertices(one.labels, one.id_space, one.ranges, own, values))
    types: dict[str, TypeDelta] = {}
    for edges in record.types:
        keys = sized(file.u64(edges.keys, SectionKind.ADDED_KEYS), edges.count)
        removed = sized(file.i64(edges.removed, SectionKind.REMOVED_RANKS), edges.removed_count)
        types[edges.name] = TypeDelta(
            *(edges.name, edges.directed, keys, columns(edges.columns, edges.count)),
            *(removed, patches(edges.patches), np.arange(len(keys), dtype=np.int64)),
        )
    groups = {number: patches(of) for number, of in record.patches.items()}
    delta = Delta(record.vertices, dead, tuple(added), groups, types)
    compare(where, file.name, section_checks.DELTA, (delta, manifest))
    return delta


def lengths_of(ranges: Ranges) -> I64:
    """Where each range begins in their concatenation, and the end; i64[n + 1]."""
    return offsets_of_lengths(np.array([b - a for a, b in ranges], np.int64))

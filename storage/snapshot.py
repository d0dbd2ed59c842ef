"""One committed state of a graph, read in place: what planner, executors and the public face ask.

A snapshot never changes. Files are mapped and verified when they are first touched; what has to be
computed (unions, edge ids) is computed once. Any number of threads may ask.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gdb.errors import StoreError
from gdb.storage import contradictions, ids, intervals, properties
from gdb.storage.adjacency import Adjacency, Direction
from gdb.storage.files import Files
from gdb.storage.ids import IdIndex
from gdb.storage.manifest import (
    ColumnRecord,
    GroupRecord,
    Manifest,
    PartRecord,
    SpaceRecord,
    TypeRecord,
)
from gdb.storage.model import I64, U32, Column, Kind
from gdb.storage.partitions import I32, Partitions
from gdb.storage.pcsr import PART_SECTIONS
from gdb.storage.segment import SectionKind, Segments, damaged, need


@dataclass(frozen=True, slots=True)
class EdgeType:
    """An edge type; its edges have the ids first_eid .. first_eid + edge_count - 1.

    keys : property key -> kind.
    """

    name: str
    directed: bool
    edge_count: int
    first_eid: int
    keys: Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class VertexGroup:
    """All vertices with exactly these labels whose ids are of this id space.

    labels : sorted.
    ranges : their vids, half-open, ascending, at most two; a vertex's row in the group's columns is
        its place in the concatenation of these.
    keys : property key -> kind.
    """

    labels: tuple[str, ...]
    id_space: str
    ranges: tuple[tuple[int, int], ...]
    count: int
    keys: Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class PartStats:
    """One direction of an edge-label partition; bytes without properties."""

    type: str
    direction: Direction
    rows: int
    intervals: int
    edges: int
    bytes: int
    segments: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds. `bytes` counts all its files, `parts` are by type and direction."""

    version: int
    vertices: int
    edges: int
    bytes: int
    files: int
    parts: tuple[PartStats, ...]


class Snapshot:
    """See the module. Made by `gdb.storage.store.Store.snapshot`."""

    def __init__(self, files: Files, manifest: Manifest, manifest_bytes: int) -> None:
        self.manifest = manifest
        self.files = files
        self.version = manifest.version
        self.vertex_count = manifest.vertex_count
        self.edge_count = manifest.edge_count
        self.edge_types = tuple(_edge_type(record) for record in manifest.types)
        self.groups = tuple(_group(record) for record in manifest.groups)
        self.labels = tuple(sorted({label for group in self.groups for label in group.labels}))
        self._manifest_bytes = manifest_bytes
        self._lock = threading.RLock()
        self._segments = Segments(files, manifest.files)
        self._columns: dict[tuple[int, int, str], Column] = {}
        self._ids: dict[int, Column] = {}
        self._spaces: dict[str, IdIndex] = {}
        self._partitions = Partitions(manifest.types, self._segments, manifest.vertex_count)
        bounds = sorted((r[0], n) for n, group in enumerate(self.groups) for r in group.ranges)
        self._range_start = np.array([start for start, _ in bounds], np.int64)
        self._range_group = np.array([number for _, number in bounds], np.int32)

    # ---- edges ----------------------------------------------------------------------------------

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """Neighbour lists of the given types (() = all types; unknown ones are ignored).

        The same object for the same question. One type in one direction is read in place; a union
        costs a sort of its edges once.
        """
        with self._lock:
            return self._partitions.adjacency(types, direction)

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        """The edge id of every position of that adjacency, i64[m], read-only."""
        with self._lock:
            return self._partitions.eids(types, direction)

    def edge_ends(self, eids: I64) -> tuple[I32, U32, U32]:
        """Of each edge: the number of its type in `edge_types`, source and target vid; [n] each.

        The source of an undirected edge is its smaller vid.
        """
        if eids.shape[0]:
            known = int(eids.min()) >= 0 and int(eids.max()) < self.edge_count
            need(known, "an edge id is out of range")
        with self._lock:
            return self._partitions.ends(eids)

    def edge_column(self, type: str, key: str) -> Column | None:
        """A property of all edges of a type in the order of their ids; None where there is none."""
        for number, record in enumerate(self.manifest.types):
            if record.name == type and key in record.columns:
                column = record.columns[key]
                with self._lock:
                    place = 1, number, key
                    if place not in self._columns:
                        self._columns[place] = self._read(column, record.file, record.edge_count)
                    return self._columns[place]
        return None

    # ---- vertices -------------------------------------------------------------------------------

    def label_ranges(self, label: str) -> tuple[tuple[int, int], ...]:
        """The vids that have a label: half-open ranges, ascending, none touching; () if unknown."""
        return intervals.merged(
            [r for group in self.groups if label in group.labels for r in group.ranges]
        )

    def groups_of(self, vids: U32) -> I32:
        """The number of each vid's group, i32[n]."""
        if len(self._range_group) == 1:
            return np.full(vids.shape[0], self._range_group[0])
        return self._range_group[np.searchsorted(self._range_start, vids, side="right") - 1]

    def group_rows(self, vids: U32, group: int) -> I64:
        """The row of each vid in the group's columns, i64[n]; all must be of the group."""
        rows = vids.astype(np.int64)
        before = 0
        shift = np.zeros(vids.shape[0], np.int64)
        for start, stop in self.groups[group].ranges:
            shift = np.where(rows >= start, before - start, shift)
            before += stop - start
        return rows + shift

    def group_vids(self, group: int) -> U32:
        """The vid of each row of the group's columns, u32[count], ascending."""
        ranges = self.groups[group].ranges
        return np.concatenate([np.arange(a, b, dtype=np.uint32) for a, b in ranges])

    def vertex_column(self, group: int, key: str) -> Column | None:
        """A property of all vertices of a group, by group row; None where it has none."""
        record = self.manifest.groups[group]
        if key not in record.columns:
            return None
        with self._lock:
            place = 0, group, key
            if place not in self._columns:
                self._columns[place] = self._read(
                    record.columns[key], record.file, self.groups[group].count
                )
            return self._columns[place]

    def _read(self, record: ColumnRecord, number: int, count: int) -> Column:
        """A column of `count` values in the file of that number; compared before it is used."""
        file = self._segments[number]
        column = properties.read(record, file, count, self.files.where)
        if wrong := contradictions.in_column(column):
            raise damaged(self.files.where, file.name, wrong)
        return column

    # ---- user ids -------------------------------------------------------------------------------

    def id_column(self, group: int) -> Column:
        """The user ids of a group, by group row."""
        with self._lock:
            if group not in self._ids:
                record = self.manifest.groups[group]
                self._ids[group] = self._read(record.ids, record.file, self.groups[group].count)
            return self._ids[group]

    def ids_of(self, group: int) -> I64 | list[str]:
        """The user ids of a group, by group row: i64[count], or strings."""
        column = self.id_column(group)
        if column.offsets is None:
            return column.values.astype(np.int64, copy=False)
        return [str(value) for value in column.to_list()]

    def user_ids(self, vids: U32) -> list[int | str]:
        """The user id of each vid."""
        found = np.empty(vids.shape[0], np.object_)
        numbers = self.groups_of(vids)
        for group in np.unique(numbers).tolist():
            mine = np.flatnonzero(numbers == group)
            rows = self.group_rows(vids[mine], group)
            found[mine] = self.id_column(group).take(rows).to_list()
        result: list[int | str] = found.tolist()
        return result

    def find(self, user_id: int | str, id_space: str | None = None) -> int | None:
        """The vid of a user id, None where there is none.

        Raises
        ------
        StoreError : no id space is given and several have this id.
        """
        wanted = [user_id]
        found: dict[str, int] = {}
        for space in self.manifest.spaces:
            if id_space is None or space.name == id_space:
                vid = int(self._find_in(space, wanted)[0])
                if vid >= 0:
                    found[space.name] = vid
        if len(found) > 1:
            raise StoreError(
                f"The id {user_id!r} exists in the id spaces {', '.join(map(repr, found))}.",
                "Say which one.",
            )
        return next(iter(found.values()), None)

    def find_many(self, user_ids: I64 | Sequence[int | str], id_space: str = "") -> I64:
        """The vid of each user id of one id space, -1 where there is none; i64[n]."""
        for space in self.manifest.spaces:
            if space.name == id_space:
                return self._find_in(space, user_ids)
        return np.full(len(user_ids), -1, np.int64)

    def _find_in(self, space: SpaceRecord, user_ids: I64 | Sequence[int | str]) -> I64:
        index = self._index(space)
        if isinstance(user_ids, np.ndarray):
            if space.kind == "int64":
                return ids.find_integers(index, user_ids)
            return np.full(user_ids.shape[0], -1, np.int64)
        if len(user_ids) == 1 and space.kind == "int64" and type(user_ids[0]) is int:
            known = -(1 << 63) <= user_ids[0] < 1 << 63
            vid = ids.find_integer(index, user_ids[0]) if known else -1
            return np.array((vid,), np.int64)
        found = np.full(len(user_ids), -1, np.int64)
        if space.kind == "string":
            texts = [(n, value) for n, value in enumerate(user_ids) if isinstance(value, str)]
            if texts:
                found[[n for n, _ in texts]] = ids.find_strings(
                    index, [value for _, value in texts], self.user_ids
                )
            return found
        numbers = [
            (n, value)
            for n, value in enumerate(user_ids)
            if isinstance(value, int) and -(1 << 63) <= value < 1 << 63
        ]
        if numbers:
            wanted = np.array([value for _, value in numbers], np.int64)
            found[[n for n, _ in numbers]] = ids.find_integers(index, wanted)
        return found

    def _index(self, space: SpaceRecord) -> IdIndex:
        with self._lock:
            if space.name not in self._spaces:
                file = self._segments[space.file]
                keys = (
                    file.i64(space.section, SectionKind.ID_KEYS)
                    if space.kind == "int64"
                    else file.u64(space.section, SectionKind.ID_KEYS)
                )
                vids = file.u32(space.section + 1, SectionKind.ID_VIDS)
                if keys.shape[0] != space.count or vids.shape[0] != space.count:
                    raise damaged(self.files.where, file.name, "holds an index of another length")
                index = IdIndex(keys, vids)
                if wrong := contradictions.in_index(index, self.vertex_count):
                    raise damaged(self.files.where, file.name, wrong)
                self._spaces[space.name] = index
            return self._spaces[space.name]

    # ---- the whole ------------------------------------------------------------------------------

    def stats(self) -> StoreStats:
        """Sizes, from the manifest alone."""
        parts = tuple(
            PartStats(
                record.name,
                part.direction,
                part.rows,
                part.intervals,
                part.edges,
                part.bytes,
                len(part.segments),
            )
            for record in self.manifest.types
            for part in record.parts
        )
        size = sum(record.length for record in self.manifest.files) + self._manifest_bytes
        files = len(self.manifest.files) + 1
        return StoreStats(self.version, self.vertex_count, self.edge_count, size, files, parts)

    def sections_in(self, file: int) -> int:
        """How many sections a file of the manifest has."""
        return self._segments[file].sections

    def size_of(self, part: PartRecord) -> int:
        """The bytes that the sections of a part have, by the files."""
        return sum(
            self._segments[segment.file].extent(segment.section + number)[1]
            for segment in part.segments
            for number in range(PART_SECTIONS)
        )

    def check(self) -> None:
        """Read every file and verify checksums and structure.

        Raises
        ------
        CorruptStore : the first fault found; the message names the file.
        """
        from gdb.storage.check import check  # that module asks snapshots

        check(self)


def _edge_type(record: TypeRecord) -> EdgeType:
    keys = {key: column.kind for key, column in record.columns.items()}
    return EdgeType(record.name, record.directed, record.edge_count, record.first_eid, keys)


def _group(record: GroupRecord) -> VertexGroup:
    return VertexGroup(
        record.labels,
        record.id_space,
        record.ranges,
        sum(stop - start for start, stop in record.ranges),
        {key: column.kind for key, column in record.columns.items()},
    )

"""Tables to store and back: renumber, build the parts, write segments, commit.

`write_graph` makes the given graph the content of the store, all or nothing; `read_tables` is its
inverse, so that adding to a store is: read, append, write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np

from gdb.errors import ImportFailed
from gdb.storage import ids, pcsr, properties
from gdb.storage.adjacency import Direction
from gdb.storage.manifest import (
    ColumnRecord,
    GroupRecord,
    Manifest,
    PartRecord,
    SpaceRecord,
    TypeRecord,
)
from gdb.storage.model import (
    U32,
    Column,
    EdgeTable,
    GraphTables,
    Kind,
    Rows,
    VertexTable,
)
from gdb.storage.renumber import Numbering, ShareSets, genmap
from gdb.storage.segment import Section, SectionKind, SegmentWriter
from gdb.storage.snapshot import Snapshot
from gdb.storage.store import Store

Progress = Callable[[str, float], None]
MOST_VERTICES = (1 << 32) - 2  # a vid is u32, and its end must be one too


@dataclass(frozen=True, slots=True, eq=False)
class _Type:
    """All tables of one edge type, appended."""

    name: str
    directed: bool
    sources: Rows
    targets: Rows
    columns: dict[str, Column]


def write_graph(
    store: Store,
    tables: GraphTables,
    *,
    progress: Progress | None = None,
    segment_edges: int = pcsr.SEGMENT_EDGES,
) -> Snapshot:
    """Replace the content of the store by `tables`, in one commit.

    Parameters
    ----------
    progress : called with the name of the step and the part of it done, 0 to 1. What it raises
        aborts the write and leaves the store as it was.
    segment_edges : most neighbours in one segment.

    Raises
    ------
    ImportFailed : the tables contradict themselves (an id twice, an edge without its end, ...).
    ReadOnlyError, StoreLocked, ClosedError, StorePermissionError, StoreError : the store cannot be
        written.

    Cost: a few sorts of the edges; memory about 60 bytes per edge beside the tables.
    """
    report = progress or (lambda step, done: None)
    report("checking", 0.0)
    types = _types_of(tables)
    with store.writer():
        version = store.snapshot().version + 1
        with written_or_removed(store, version) as writer:
            manifest = _Builder(tables, types, writer, report, segment_edges).run(version)
            report("committing", 0.0)
            return store.commit(manifest)


@contextmanager
def written_or_removed(store: Store, version: int) -> Iterator[SegmentWriter]:
    """A writer of the segments of a commit; an error before the commit removes them."""
    writer = SegmentWriter(store.files, version)
    try:
        yield writer
    except BaseException:
        current = {record.name for record in store.snapshot().manifest.files}
        for name in writer.created:
            if name not in current:  # else the switch was made, and only its sync failed
                with suppress(Exception):
                    store.files.unlink(name)
        raise


def read_tables(snapshot: Snapshot) -> GraphTables:
    """The whole graph as tables: one vertex table for each group, one edge table for each type.

    Arrays may be maps of the store's files. Undirected edges have their smaller vid as source.
    """
    starts = np.cumsum([0, *(group.count for group in snapshot.groups)])
    row_of_vid = np.zeros(snapshot.vertex_count, np.int64)
    vertices: list[VertexTable] = []
    for number, group in enumerate(snapshot.groups):
        vids = snapshot.group_vids(number)
        row_of_vid[vids] = starts[number] + np.arange(group.count)
        columns = {
            key: column
            for key in group.keys
            if (column := snapshot.vertex_column(number, key)) is not None
        }
        vertices.append(VertexTable(group.labels, group.id_space, snapshot.ids_of(number), columns))
    edges: list[EdgeTable] = []
    for edge_type in snapshot.edge_types:
        eids = np.arange(edge_type.first_eid, edge_type.first_eid + edge_type.edge_count)
        _, sources, targets = snapshot.edge_ends(eids)
        columns = {
            key: column
            for key in edge_type.keys
            if (column := snapshot.edge_column(edge_type.name, key)) is not None
        }
        edges.append(
            EdgeTable(
                edge_type.name,
                edge_type.directed,
                row_of_vid[sources],
                row_of_vid[targets],
                columns,
            )
        )
    return GraphTables(tuple(vertices), tuple(edges))


class _Builder:
    """One run of `write_graph`: the tables, their numbering, and the writer."""

    def __init__(
        self,
        tables: GraphTables,
        types: list[_Type],
        writer: SegmentWriter,
        report: Progress,
        segment_edges: int,
    ) -> None:
        self._tables, self._types = tables, types
        self._writer, self._report, self._segment_edges = writer, report, segment_edges
        members: dict[tuple[tuple[str, ...], str], list[int]] = {}
        for number, table in enumerate(tables.vertices):
            if len(table):
                key = tuple(sorted(set(table.labels))), table.id_space
                members.setdefault(key, []).append(number)
        self._keys, self._members = list(members), list(members.values())
        self._starts = np.cumsum([0, *(len(table) for table in tables.vertices)])
        self._count = int(self._starts[-1])

    def run(self, version: int) -> Manifest:
        self._report("numbering vertices", 0.0)
        numbering = self._number()
        groups, spaces = self._write_vertices(numbering)
        types: list[TypeRecord] = []
        first_eid = 0
        for done, edge_type in enumerate(self._types):
            self._report("writing edges", done / len(self._types))
            types.append(self._write_type(edge_type, numbering.vids, first_eid))
            first_eid += edge_type.sources.shape[0]
        self._writer.flush()
        return Manifest(
            version,
            self._count,
            first_eid,
            tuple(self._writer.records),
            groups,
            tuple(types),
            spaces,
        )

    def _number(self) -> Numbering:
        groups = np.zeros(self._count, np.int64)
        for group, tables in enumerate(self._members):
            for table in tables:
                groups[self._starts[table] : self._starts[table + 1]] = group
        shares = ShareSets(self._count, sum(2 if t.directed else 1 for t in self._types))
        degrees = np.zeros(self._count, np.int64)
        part = 0
        for edge_type in self._types:
            for ends in (edge_type.sources, edge_type.targets):
                times = np.bincount(ends, minlength=self._count)
                degrees += times
                shares.add(part, np.flatnonzero(times))
                part += int(edge_type.directed)
            part += int(not edge_type.directed)
        labels = tuple(frozenset(key[0]) for key in self._keys)
        return genmap(groups, labels, shares, degrees)

    # ---- vertices -------------------------------------------------------------------------------

    def _write_vertices(
        self, numbering: Numbering
    ) -> tuple[tuple[GroupRecord, ...], tuple[SpaceRecord, ...]]:
        groups: list[GroupRecord] = []
        spaces: dict[str, list[tuple[Column, U32]]] = {}
        for done, (number, ranges) in enumerate(
            zip(numbering.order, numbering.ranges, strict=True)
        ):
            self._report("writing vertices", done / len(numbering.order))
            tables = [self._tables.vertices[t] for t in self._members[number]]
            vids = np.concatenate(
                [
                    numbering.vids[self._starts[t] : self._starts[t + 1]]
                    for t in self._members[number]
                ]
            )
            rows = pcsr.stable_order(vids)
            labels, space = self._keys[number]
            own = _concat_ids([ids.column_of(t.ids) for t in tables], space).take(rows)
            spaces.setdefault(space, []).append((own, vids[rows]))
            columns = _append([t.columns for t in tables], [len(t) for t in tables], str(labels))
            taken = {key: column.take(rows) for key, column in columns.items()}
            file, (own_record, *_), records = self._place_columns(own, taken)
            groups.append(GroupRecord(labels, space, ranges, file, own_record, records))
        return tuple(groups), tuple(self._write_space(n, spaces[n]) for n in sorted(spaces))

    def _place_columns(
        self, own: Column | None, columns: dict[str, Column]
    ) -> tuple[int, list[ColumnRecord], dict[str, ColumnRecord]]:
        sections: list[Section] = []
        records: list[ColumnRecord] = []
        for column in [*([own] if own is not None else []), *columns.values()]:
            record, added = properties.sections_of(column, len(sections))
            records.append(record)
            sections.extend(added)
        place = self._writer.place(sections)
        records = [properties.moved(record, place.section) for record in records]
        named = dict(zip(columns, records[len(records) - len(columns) :], strict=True))
        return place.file, records, named

    def _write_space(self, name: str, parts: list[tuple[Column, U32]]) -> SpaceRecord:
        column = _concat_ids([ids_part for ids_part, _ in parts], name)
        index = ids.build(column, np.concatenate([vids for _, vids in parts]), name)
        place = self._writer.place(
            [Section(SectionKind.ID_KEYS, index.keys), Section(SectionKind.ID_VIDS, index.vids)]
        )
        return SpaceRecord(name, column.kind, len(column), place.file, place.section)

    # ---- edges ----------------------------------------------------------------------------------

    def _write_type(self, edge_type: _Type, vids: U32, first_eid: int) -> TypeRecord:
        sources, targets = vids[edge_type.sources], vids[edge_type.targets]
        if not edge_type.directed:  # the canonical slot of an edge is in the row of its smaller end
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        file, columns = -1, dict[str, ColumnRecord]()
        if edge_type.columns:
            order = pcsr.order_of(sources, targets)
            sources, targets = sources[order], targets[order]
            taken = {key: column.take(order) for key, column in edge_type.columns.items()}
            file, _, columns = self._place_columns(None, taken)
        parts: list[PartRecord] = []
        if edge_type.directed:  # the second is sorted while the first is written
            with ThreadPoolExecutor(1) as pool:
                backward = pool.submit(_part, pcsr.keys_of(targets, sources))
                forward = _part(pcsr.keys_of(sources, targets))
                parts.append(self._write_part(forward, Direction.OUT))
                parts.append(self._write_part(backward.result(), Direction.IN))
        else:  # a self-loop has one slot
            apart = sources != targets
            keys = pcsr.keys_of(sources, targets), pcsr.keys_of(targets[apart], sources[apart])
            parts.append(self._write_part(_part(np.concatenate(keys)), Direction.ANY))
        return TypeRecord(
            edge_type.name,
            edge_type.directed,
            first_eid,
            sources.shape[0],
            tuple(parts),
            file,
            columns,
        )

    def _write_part(self, part: pcsr.Part, direction: Direction) -> PartRecord:
        return pcsr.write(part, direction, self._writer, self._segment_edges)


def _part(keys: pcsr.U64) -> pcsr.Part:
    """The part of some keys, which are sorted in place."""
    keys.sort()
    return pcsr.build(keys)


def _types_of(tables: GraphTables) -> list[_Type]:
    """The edge types by name, their tables appended.

    Raises
    ------
    ImportFailed : the tables contradict themselves.
    """
    count = sum(len(table) for table in tables.vertices)
    if count > MOST_VERTICES:
        raise ImportFailed(f"{count:,} vertices are more than a store can hold", "")
    for table in tables.vertices:
        _check_text(*table.labels, table.id_space, *table.columns)
    by_name: dict[str, list[EdgeTable]] = {}
    for edge_table in tables.edges:
        by_name.setdefault(edge_table.type, []).append(edge_table)
    types: list[_Type] = []
    for name, parts in sorted(by_name.items()):
        _check_text(name, *(key for part in parts for key in part.columns))
        if len({part.directed for part in parts}) > 1:
            raise ImportFailed(
                f"the edge type {name!r} is directed in one place and undirected in another",
                "Import it under two names.",
            )
        sources, targets = _joined([p.sources for p in parts]), _joined([p.targets for p in parts])
        if sources.shape != targets.shape:
            raise ImportFailed(f"the edge type {name!r} has more sources than targets", "")
        for ends in (sources, targets):
            if ends.shape[0] and not 0 <= int(ends.min()) <= int(ends.max()) < count:
                raise ImportFailed(f"an edge of type {name!r} refers to a vertex that is missing")
        columns = _append([p.columns for p in parts], [len(p) for p in parts], name)
        types.append(_Type(name, parts[0].directed, sources, targets, columns))
    return types


def _joined(ends: list[Rows]) -> Rows:
    """One array of several, not copied where there is but one."""
    return np.concatenate(ends) if len(ends) > 1 else ends[0]


def _check_text(*texts: str) -> None:
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ImportFailed(
                f"the name {text!r} is not valid Unicode", "Repair the input."
            ) from None


def _append(tables: list[dict[str, Column]], counts: list[int], owner: str) -> dict[str, Column]:
    """The columns of several tables, one under the other; null where a table lacks one."""
    kinds: dict[str, Kind] = {}
    for table, count in zip(tables, counts, strict=True):
        for key, column in table.items():
            kinds.setdefault(key, column.kind)
            if len(column) != count:
                raise ImportFailed(
                    f"the property {key!r} of {owner} has {len(column)} values for {count} rows"
                )
    found: dict[str, Column] = {}
    for key, kind in sorted(kinds.items()):
        try:
            found[key] = Column.stacked([table.get(key) for table in tables], counts, kind)
        except ImportFailed as error:
            raise ImportFailed(
                f"the property {key!r} of {owner}: {error.reason}", error.cure
            ) from None
    return found


def _concat_ids(columns: list[Column], space: str) -> Column:
    kinds = {column.kind for column in columns}
    if len(kinds) > 1:
        raise ImportFailed(
            f"the id space {space!r} would hold both numbers and strings as vertex ids",
            "Import one of them with another id_space.",
        )
    return Column.concat(columns)

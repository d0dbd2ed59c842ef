"""Joining what files hold to what the store holds: ids resolved, vertices appended, edges spooled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from gdb.base import waiting
from gdb.errors import ImportFailed
from gdb.records import dataclass, field, replace

from ..columns.model import I64, Bools, Column, EdgeTable, VertexTable, from_strings
from ..graph.edge_loops import pack
from ..write.build import check_text, spool_of, spool_table
from ..write.edge_runs import Room
from ..write.edge_spool import Spool, without_repeats
from .duplicates import Update, sorted_out, update_table
from .header import names_of
from .load_options import LoadOptions
from .properties import Properties, Source, Spot
from .report import Fault, FileReport, Rejects
from .spaces import Ids, Space, join_ids


@dataclass(frozen=True, slots=True, eq=False)
class NewEdges:
    """Edges of one type as a file names them, by user ids: all of it, or some that come one after the other.

    rows : i64[m], for each edge a number by which `place` finds its line and text in the file.
    create : whether ends that do not exist are made where the caller left it open.
    at : the numbers of the columns of both ends, from 1.
    labels : of both ends; nodes that are made have these and their id as a property. None where only id spaces are
        known.
    """

    type: str
    directed: bool
    sources: Ids
    targets: Ids
    spaces: tuple[str, str]
    columns: dict[str, Column]
    rows: I64
    place: Callable[[list[int]], Sequence[Spot]]
    report: FileReport
    create: bool = False
    at: tuple[int, int] = (1, 2)
    labels: tuple[str, str] | None = None


@dataclass(slots=True)
class Assembly:
    """A graph that grows: the store's vertices and edges, then the files'.

    edges : by type. stored : how many of them the store held, and how many of those joined the same two vertices as an
    earlier one. last_directed : of the edges that came last.
    """

    options: LoadOptions
    rejects: Rejects
    room: Room
    vertices: list[VertexTable] = field(default_factory=list)
    edges: dict[str, Spool] = field(default_factory=dict)
    stored: dict[str, tuple[int, int]] = field(default_factory=dict)
    last_directed: bool = True
    vertex_count: int = 0
    added_vertices: int = 0
    added_edges: int = 0
    updated_vertices: int = 0
    multi_edges: int = 0
    self_loops: int = 0
    spaces: dict[str, Space] = field(default_factory=dict)
    properties: Properties = field(default_factory=Properties)
    _kept: list[VertexTable] = field(default_factory=list)
    _pool: waiting.Pool = field(default_factory=lambda: waiting.Pool(1))

    def keep(
        self,
        vertices: Iterable[VertexTable],
        edges: Iterable[EdgeTable],
        repeats: Mapping[str, int],
    ) -> None:
        """Take in what the store holds; repeats : of each type, the edges that join two vertices once more."""
        for table in vertices:
            # nodes that were made as the ends of edges have no property, not even their id
            space = self.spaces.setdefault(table.id_space, Space(table.id_space, declared=False))
            space.declared = space.declared or bool(table.columns)
            self._register([table], None)
            self._kept.append(table)
            self.properties.add_vertices(table, None)
        for some in edges:
            spool_table(self.edges, some, self.room)
            self.properties.add_edges(some.type, some.columns, None)
        self.stored = {name: (len(e), repeats[name]) for name, e in self.edges.items()}

    def add_vertices(self, found: Sequence[tuple[VertexTable, Source]], report: FileReport) -> None:
        """Append the vertices of one file, all of one id space.

        Raises
        ------
        ImportFailed : an id occurs twice, the space's ids are of the other type, or a property has
            another type elsewhere.
        """
        space = self.spaces.setdefault(found[0][0].id_space, Space(found[0][0].id_space))
        space.declared = True
        if self.options.on_duplicate != "error":
            found, updates = sorted_out(found, space, self.options.on_duplicate, report)
            for update, source in updates:
                self._update(update, source)
        tables = [table for table, _ in found]
        for table, source in found:
            self.properties.add_vertices(table, source)
            for key, column in table.columns.items():
                table.columns[key] = self.room.filed(column)
        self._register(tables, report)
        self.added_vertices += sum(map(len, tables))

    def _update(self, update: Update, source: Source) -> None:
        """Write values over those of vertices that are there."""
        begin = 0
        for at, table in enumerate(self.vertices):
            inside = np.flatnonzero((update.rows >= begin) & (update.rows < begin + len(table)))
            if len(inside):
                columns = {key: column.take(inside) for key, column in update.table.columns.items()}
                # under the labels that they have, the values must go with those of others
                values = replace(table, ids=table.ids[:0], columns=columns)
                self.properties.add_vertices(values, source.taken(inside))
                self.vertices[at] = update_table(table, update.rows[inside] - begin, values)
            begin += len(table)
        self.updated_vertices += len(update.rows)

    def _register(self, tables: list[VertexTable], report: FileReport | None) -> None:
        ids = tables[0].ids
        for table in tables[1:]:
            ids = join_ids(ids, table.ids)
        self.spaces[tables[0].id_space].add(ids, self.vertex_count, report)
        self.vertices += tables
        self.vertex_count += len(ids)

    def is_text(self, space: str) -> bool | None:
        """Whether the ids of a space are text; None where it has none yet."""
        return self.spaces[space].is_text() if space in self.spaces else None

    def add_edges(self, new: NewEdges) -> None:
        """Append edges of one type of one file: resolve or create their ends, count and drop self-loops."""
        self._same_direction(new)
        create = self.options.missing_ends == "create"
        if self.options.missing_ends is None:
            known = (s in self.spaces and self.spaces[s].declared for s in new.spaces)
            create = new.create or not any(known)
        if create:
            self._create_ends(new)
        later = self._pool.submit(self._resolve, new, new.targets, new.spaces[1])
        sources = self._resolve(new, new.sources, new.spaces[0])
        targets = waiting.result(later)
        ends, columns, numbers = pack(sources, targets), new.columns, new.rows
        loops, drop = ends.loops, self.options.self_loops == "drop"
        if ends.least < 0 or (loops and drop):
            kept = self._known(new, sources, targets)
            alike = kept & (sources == targets)
            loops = int(alike.sum())
            rows = np.flatnonzero(kept & ~alike if drop else kept)
            ends = pack(sources[rows], targets[rows])
            columns, numbers = {k: c.take(rows) for k, c in columns.items()}, numbers[rows]
        self.self_loops += loops
        source = Source(new.report.file, lambda row: int(numbers[row]), new.place)
        self.properties.add_edges(new.type, columns, source)
        check_text(*columns)
        spool_of(self.edges, new.type, new.directed, self.room).add_packed(ends, columns)
        self.last_directed = new.directed

    def _same_direction(self, new: NewEdges) -> None:
        known = self.edges.get(new.type)
        if known is not None and known.directed != new.directed:
            ours = "directed" if known.directed else "undirected"
            raise ImportFailed(
                f"type {new.type} is {ours} in this graph already",
                f"Pass directed={known.directed}, or another type=.",
                file=new.report.file,
            )

    def _create_ends(self, new: NewEdges) -> None:
        first, second = new.labels or (None, None)
        wanted = [(new.spaces[0], new.sources, first), (new.spaces[1], new.targets, second)]
        if new.spaces[0] == new.spaces[1] and first == second:
            wanted = [(new.spaces[0], join_ids(new.sources, new.targets), first)]
        for name, ids, label in wanted:
            self.create(name, ids, new.report, label)

    def create(self, name: str, ids: Ids, report: FileReport, label: str | None = None) -> None:
        """Make those vertices of an id space that do not exist; label : theirs, and their id is a property as of the
        other nodes of the space, or `id`. None for what the caller said of nodes without a label, and no property."""
        space = self.spaces.setdefault(name, Space(name, declared=False))
        absent = space.absent(ids, report)
        if not len(absent):
            return
        table = VertexTable(names_of(label or self.options.label), name, absent, {})
        if label is not None:
            own = from_strings(absent) if isinstance(absent, list) else Column("int64", absent)
            table.columns[self._key(name)] = own
            at = Source(
                report.file, lambda row: row, lambda rows: [(None, str(absent[r])) for r in rows]
            )
            self.properties.add_vertices(table, at)
        self._register([table], report)
        self.added_vertices += len(absent)

    def _key(self, space: str) -> str:
        """The property that holds the ids of a space, `id` where none does."""
        own = (table for table in self.vertices if table.id_space == space and len(table))
        names = (name for t in own for name, c in t.columns.items() if _holds(c, t.ids))
        return next(names, "id")

    def stored_space(self, label: str) -> str | None:
        """The id space in which the store holds all nodes of a label; None where it has none, or in several."""
        return _only_space(self._kept, label)

    def space_of(self, label: str) -> str:
        """The id space of the nodes of a label: the one of this name, else the one in which all of them are. Where
        there are none yet, or they are in several, that of its name."""
        known = None if label in self.spaces else _only_space(self.vertices, label)
        return label if known is None else known

    def _resolve(self, new: NewEdges, ids: Ids, space: str) -> I64:
        if space not in self.spaces:
            return np.full(len(ids), -1, np.int64)
        return self.spaces[space].find(ids, new.report)

    def _known(self, new: NewEdges, sources: I64, targets: I64) -> Bools:
        """False where an end does not exist; those edges are rejected."""
        known = (sources >= 0) & (targets >= 0)
        rejects = self.rejects
        lost = np.flatnonzero(~known)
        shown = lost[: rejects.shown]
        places = new.place(new.rows[shown].tolist()) if len(shown) else []
        for row, (line, text) in zip(shown.tolist(), places, strict=True):
            side = 0 if sources[row] < 0 else 1
            ids, space = (new.sources, new.targets)[side], new.spaces[side]
            value = ids[row] if isinstance(ids, list) else int(ids[row])
            where = f" in id space {space!r}" if space else ""
            fault = Fault(
                f"there is no node with id {value!r}{where}",
                'Load its nodes, or pass missing_ends="create" to make nodes that are missing.',
                new.at[side],
            )
            assert line is not None  # the ends of edges without lines are there
            rejects.add(new.report, line, text, fault)
        new.report.rows -= len(lost)
        return known

    def settle(self) -> None:
        """All files are read: drop multi-edges, and columns that turned out to be of no type."""
        self.vertices = self.properties.settled(self.vertices)
        for name, edges in self.edges.items():
            before = self.stored.get(name, (0, 0))[0]
            new = len(edges) - before
            if new and self.options.multi_edges == "drop":
                # of equal ones the first is kept, and what the graph holds already comes first
                self.edges[name] = without_repeats(edges, before)
                edges.close()
                self.multi_edges += before + new - len(self.edges[name])
            self.added_edges += len(self.edges[name]) - before

    def count_repeats(self, repeats: Mapping[str, int]) -> None:
        """Count the multi-edges that were kept; repeats : see `keep`, of all edges as they are written."""
        if self.options.multi_edges == "keep":
            for name, count in repeats.items():
                self.multi_edges += count - self.stored.get(name, (0, 0))[1]

    def close(self) -> None:
        """Give back what the edges take."""
        self._pool.shutdown()
        for edges in self.edges.values():
            edges.close()


def _holds(column: Column, ids: Ids) -> bool:
    """Whether a column is these ids."""
    if column.valid is not None and not column.valid.all():
        return False
    if isinstance(ids, list):
        return column.kind == "string" and column.to_list() == ids
    return column.kind == "int64" and np.array_equal(column.values, ids)


def _only_space(tables: Iterable[VertexTable], label: str) -> str | None:
    """The id space of all tables with a label; None where there are none, or in several."""
    wanted = set(names_of(label))
    found = {table.id_space for table in tables if wanted <= set(table.labels)}
    return found.pop() if len(found) == 1 else None

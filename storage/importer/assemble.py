"""Joining what files hold to what the store holds: ids resolved, duplicates counted, tables appended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gdb.errors import ImportFailed
from gdb.storage.importer.report import FileReport, Rejects
from gdb.storage.model import I64, Column, EdgeTable, GraphTables, VertexTable, from_strings

Ids = I64 | list[str]


@dataclass(frozen=True, slots=True, eq=False)
class NewEdges:
    """Edges of one type as a file names them: by user ids, with the file's line of each."""

    type: str
    directed: bool
    sources: Ids
    targets: Ids
    spaces: tuple[str, str]
    columns: dict[str, Column]
    lines: I64
    report: FileReport


@dataclass(slots=True)
class Options:
    """The caller's choices that concern whole graphs."""

    missing_ends: Literal["create", "refuse"] | None
    multi_edges: Literal["keep", "drop"]
    self_loops: Literal["keep", "drop"]
    label: str | None
    rejects: Rejects


@dataclass(slots=True)
class Assembly:
    """A graph that grows: the store's tables, then the files'."""

    options: Options
    vertices: list[VertexTable] = field(default_factory=list)
    edges: list[EdgeTable] = field(default_factory=list)
    vertex_count: int = 0
    added_vertices: int = 0
    added_edges: int = 0
    multi_edges: int = 0
    self_loops: int = 0
    spaces: dict[str, _Space] = field(default_factory=dict)

    def keep(self, tables: GraphTables) -> None:
        """Take in what the store holds."""
        for table in tables.vertices:
            self._register(table, None)
        self.edges += tables.edges

    def add_vertices(self, table: VertexTable, report: FileReport) -> None:
        """Append vertices.

        Raises
        ------
        ImportFailed : an id stands twice, or the space's ids are of the other type.
        """
        self._register(table, report)
        self.added_vertices += len(table.ids)

    def _register(self, table: VertexTable, report: FileReport | None) -> None:
        space = self.spaces.setdefault(table.id_space, _Space(table.id_space))
        space.add(table.ids, self.vertex_count, report)
        self.vertices.append(table)
        self.vertex_count += len(table.ids)

    def is_text(self, space: str) -> bool:
        """Whether the ids of a space are text."""
        return space in self.spaces and bool(self.spaces[space].texts)

    def add_edges(self, new: NewEdges) -> None:
        """Append the edges of one type of one file: resolve or create their ends, count and drop duplicates."""
        self._same_direction(new)
        create = self.options.missing_ends == "create"
        if self.options.missing_ends is None:
            create = not any(s in self.spaces and self.spaces[s].declared for s in new.spaces)
        if create:
            self._create_ends(new)
        sources = self._resolve(new, new.sources, new.spaces[0])
        targets = self._resolve(new, new.targets, new.spaces[1])
        kept = self._known(new, sources, targets)
        kept &= self._not_dropped(new, sources, targets, kept)
        rows = np.flatnonzero(kept)
        columns = {k: c.take(rows) for k, c in new.columns.items()}
        self.edges.append(EdgeTable(new.type, new.directed, sources[rows], targets[rows], columns))
        self.added_edges += len(rows)

    def _same_direction(self, new: NewEdges) -> None:
        for table in self.edges:
            if table.type == new.type and table.directed != new.directed:
                ours = "directed" if table.directed else "undirected"
                raise ImportFailed(
                    f"type {new.type} is {ours} in this graph already",
                    f"Pass directed={table.directed}, or another type=.",
                    file=new.report.file,
                )

    def _create_ends(self, new: NewEdges) -> None:
        wanted = [(new.spaces[0], new.sources), (new.spaces[1], new.targets)]
        if new.spaces[0] == new.spaces[1]:
            wanted = [(new.spaces[0], _join(new.sources, new.targets))]
        for name, ids in wanted:
            space = self.spaces.setdefault(name, _Space(name, declared=False))
            absent = space.absent(ids, new.report)
            if len(absent):
                labels = (self.options.label,) if self.options.label else ()
                space.add(absent, self.vertex_count, new.report)
                self.vertices.append(VertexTable(labels, name, absent, {}))
                self.vertex_count += len(absent)
                self.added_vertices += len(absent)

    def _resolve(self, new: NewEdges, ids: Ids, space: str) -> I64:
        if space not in self.spaces:
            return np.full(len(ids), -1, np.int64)
        return self.spaces[space].find(ids, new.report)

    def _known(
        self, new: NewEdges, sources: I64, targets: I64
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        known = (sources >= 0) & (targets >= 0)
        for row in np.flatnonzero(~known)[: self.options.rejects.most + 1].tolist():
            side = 0 if sources[row] < 0 else 1
            ids, space = (new.sources, new.targets)[side], new.spaces[side]
            where = f" in id space {space!r}" if space else ""
            self.options.rejects.add(
                new.report,
                int(new.lines[row]),
                f"{new.sources[row]} -> {new.targets[row]}",
                f"there is no node with id {ids[row]!r}{where}",
                'Load its nodes, or pass missing_ends="create".',
            )
        new.report.rows -= int((~known).sum())
        return known

    def _not_dropped(
        self,
        new: NewEdges,
        sources: I64,
        targets: I64,
        known: np.ndarray[tuple[int], np.dtype[np.bool_]],
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Count self-loops and multi-edges among the new edges; False where one is to be dropped."""
        kept = known.copy()
        loops = known & (sources == targets)
        self.self_loops += int(loops.sum())
        if self.options.self_loops == "drop":
            kept &= ~loops
        rows = np.flatnonzero(kept)
        low, high = sources[rows], targets[rows]
        if not new.directed:
            low, high = np.minimum(low, high), np.maximum(low, high)
        _, first = np.unique(low * self.vertex_count + high, return_index=True)
        self.multi_edges += len(rows) - len(first)
        if self.options.multi_edges == "drop":
            kept = np.zeros_like(kept)
            kept[rows[first]] = True
        return kept

    def tables(self) -> GraphTables:
        return GraphTables(tuple(self.vertices), tuple(self.edges))


class _Space:
    """The ids of one space and the vertices that they name; all int64 or all strings."""

    def __init__(self, name: str, declared: bool = True) -> None:
        self.name, self.declared = name, declared
        self.numbers: I64 = np.zeros(0, np.int64)
        self.rows: I64 = np.zeros(0, np.int64)
        self.texts: dict[str, int] = {}

    def add(self, ids: Ids, first_row: int, report: FileReport | None) -> None:
        """Give ids the rows from `first_row` on."""
        self._same_type(ids, report)
        if isinstance(ids, list):
            for k, text in enumerate(ids):
                if text in self.texts:
                    raise _twice(text, self.name, report)
                self.texts[text] = first_row + k
            return
        numbers = np.concatenate([self.numbers, ids])
        rows = np.concatenate([self.rows, np.arange(first_row, first_row + len(ids))])
        order = np.argsort(numbers, kind="stable")
        self.numbers, self.rows = numbers[order], rows[order]
        double = np.flatnonzero(self.numbers[1:] == self.numbers[:-1])
        if len(double):
            raise _twice(int(self.numbers[double[0]]), self.name, report)

    def _same_type(self, ids: Ids, report: FileReport | None) -> None:
        mixed = bool(len(self.numbers)) if isinstance(ids, list) else bool(self.texts)
        if mixed and len(ids):
            ours, theirs = ("text", "numbers") if isinstance(ids, list) else ("numbers", "text")
            raise ImportFailed(
                f"its ids are {ours}, those of id space {self.name!r} are {theirs}",
                "Give the nodes another id space: id_space=, or :ID(Space) in the header.",
                file=report.file if report else "",
            )

    def find(self, ids: Ids, report: FileReport) -> I64:
        """The row of each id, -1 where there is none."""
        self._same_type(ids, report)
        if isinstance(ids, list):
            return np.fromiter((self.texts.get(x, -1) for x in ids), np.int64, len(ids))
        if not len(self.numbers):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self.numbers, ids), len(self.numbers) - 1)
        return np.where(self.numbers[at] == ids, self.rows[at], -1)

    def absent(self, ids: Ids, report: FileReport) -> Ids:
        """The ids that are not here yet, each once; text in order of appearance, numbers ascending."""
        self._same_type(ids, report)
        if isinstance(ids, list):
            return [x for x in dict.fromkeys(ids) if x not in self.texts]
        return np.setdiff1d(ids, self.numbers)


def _join(a: Ids, b: Ids) -> Ids:
    if isinstance(a, list) and isinstance(b, list):
        return [*a, *b]
    if isinstance(a, list) or isinstance(b, list):
        return [*map(str, a), *map(str, b)]
    return np.concatenate([a, b])


def _twice(value: int | str, space: str, report: FileReport | None) -> ImportFailed:
    where = f" in id space {space!r}" if space else ""
    return ImportFailed(
        f"node id {value!r} stands twice{where}",
        "Ids are unique within an id space; give other nodes one of their own with id_space= or :ID(Space).",
        file=report.file if report else "",
    )


def as_ids(column: Column) -> Ids:
    """A column of ids: int64, or text for everything else."""
    if column.kind == "int64":
        return np.ascontiguousarray(column.values, np.int64)
    return [str(x) for x in column.to_list()]


def id_property(ids: Ids) -> Column:
    """The ids as a property column."""
    if isinstance(ids, list):
        return from_strings(ids, None)
    return Column("int64", ids)

"""Elements of a document into the assembly of an import, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass, field

from ...columns.model import I64, INT64, Column, VertexTable
from ...columns.python_columns import columns_of, keys_of
from ..assemble import Assembly, NewEdges
from ..csv_graph import DEFAULT_TYPE, Naming
from ..detect import open_input
from ..header import names_of
from ..meter import Meter
from ..properties import Owner, Source, Spot, label_owners, type_owner
from ..report import Fault, FileReport, LoadReport
from ..spaces import DUPLICATE, Ids, Space, some_ids
from .elements import Edge, Id, Node, Pass, Values, is_integer
from .value_types import ValueTypes

if TYPE_CHECKING:
    from . import Document

_SIGN = 16  # bytes, which no sign of an element exceeds
_PIECE = 1 << 20  # bytes that are looked through at a time
_SOME = 1 << 16  # elements that are held as objects of Python
_NO_NODE = 'Load its nodes, or pass missing_ends="create" to make nodes that are missing.'


@dataclass(slots=True)
class _ElementRows:
    """Elements that become one table: their ids (of edges, of both ends), properties and lines."""

    ids: list[Id] = field(default_factory=list)
    targets: list[Id] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, element: Node | Edge, id: Id) -> None:
        """Append an element. id : its own, or that of its start."""
        self.ids.append(id)
        self.values.append(element.values)
        self.lines.append(element.line)


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Nodes of one set of labels, their properties as columns. lines : i64[n]."""

    labels: tuple[str, ...]
    ids: list[Id]
    columns: dict[str, Column]
    lines: I64


@dataclass(slots=True)
class Collecting:
    """One document on its way into the assembly: first `nodes`, and when all other nodes of the import are known,
    `edges`."""

    document: Document
    path: Path
    naming: Naming
    side: str
    assembly: Assembly
    report: LoadReport
    file: FileReport
    meter: Meter
    text: bool = False  # whether ids are texts
    parts: list[_Some] = field(default_factory=list)
    types: ValueTypes | None = None  # where elements whose values do not go with others are skipped

    def __post_init__(self) -> None:
        if self.assembly.rejects.mode == "skip":
            self.types = ValueTypes(self.assembly.properties)

    def nodes(self) -> None:
        """Read the nodes, and take them in.

        Raises
        ------
        ImportFailed : the document is not what it should be, or an element is wrong.
        """
        read, whole = self._pass(nodes=True), not self._are_first()
        held: dict[tuple[str, ...], _ElementRows] = {}
        count, digits, ends_digits = 0, True, True
        for element in self.document.read(read):
            if isinstance(element, Edge):
                if count and not whole:
                    break
                ends_digits = ends_digits and self._is_number(element.source)
                ends_digits = ends_digits and self._is_number(element.target)
                continue
            if self.types is not None and not self._goes_with_others(
                element, label_owners(self._labels(element.labels))
            ):
                continue
            digits = digits and self._is_number(element.id)
            held.setdefault(element.labels, _ElementRows()).add(element, element.id)
            count += 1
            if count % _SOME == 0:
                self._store(held)
        self._store(held)
        self._settle_ids(digits if count else ends_digits)
        for part in self.parts:
            self._add_nodes(part)
        self.parts.clear()
        self._tell(read)
        self.meter.done(self.path, 0.5)

    def _are_first(self) -> bool:
        """Whether all nodes come before the first relationship, for certain."""
        node, edge = self.document.node, self.document.edge
        if node is None or edge is None:
            return False
        kept, found = b"", False
        with open_input(self.path, self.assembly.options.max_unpacked) as stream:
            while data := stream.read(_PIECE):
                text = kept + data
                first = None if found else edge.search(text)
                found = found or first is not None
                if found and node.search(text, first.start() if first else 0):
                    return False
                kept = text[-_SIGN:]
                self.meter.check()
        return found

    def edges(self) -> None:
        """Read the relationships, and take them in. Raises ImportFailed, as `nodes`."""
        held: dict[tuple[str, bool], _ElementRows] = {}
        count = 0
        read = self._pass(nodes=False)
        for element in self.document.read(read):
            if not isinstance(element, Edge) or not self._may_be_there(element):
                continue
            type = element.type or self.naming.type or DEFAULT_TYPE
            if self.types is not None and not self._goes_with_others(element, [type_owner(type)]):
                continue
            directed = self.naming.directed and element.directed
            rows = held.setdefault((type, directed), _ElementRows())
            rows.add(element, element.source)
            rows.targets.append(element.target)
            count += 1
            if count % _SOME == 0:
                self._add_edges(held)
        self._add_edges(held)
        self._tell(read)
        if not self.file.rows and not self.file.rejected:
            self.report.warnings.append(f"{self.path}: holds no node and no relationship")
        self.meter.done(self.path, 0.5)

    def _pass(self, *, nodes: bool) -> Pass:
        most = self.assembly.options.max_unpacked

        def reject(line: int, text: str, fault: Fault) -> None:
            self.assembly.rejects.add(self.file, line, text, fault)

        def tick(part: float) -> None:
            self.meter.part(self.path, 0.5 * part)

        return Pass(self.path, most, self.naming, self.side, nodes, reject, tick)

    def _tell(self, read: Pass) -> None:
        for what, times in read.left_out.items():
            count = f" ({times:,} times)" if times > 1 else ""
            self.report.warnings.append(f"{self.path}: left out: {what}{count}")

    # ---- nodes -------------------------------------------------------------------------------------

    def _is_number(self, id: Id) -> bool:
        if isinstance(id, int):
            return id in INT64
        return not self.document.typed and is_integer(id)

    def _store(self, rows_by_labels: dict[tuple[str, ...], _ElementRows]) -> None:
        """Make columns of some nodes."""
        for labels, rows in rows_by_labels.items():
            columns = self._columns(rows, partial(_node, rows))
            every = self._labels(labels)
            self.parts.append(_Some(every, rows.ids, columns, np.array(rows.lines, np.int64)))
        rows_by_labels.clear()

    def _labels(self, own: Iterable[str]) -> tuple[str, ...]:
        """The labels of a node: its own, and those that the caller says."""
        return tuple(sorted({*own, *names_of(self.naming.label)}))

    def _settle_ids(self, numbers: bool) -> None:
        """Find whether ids are texts: as in the id space already, else where one is no integer."""
        known = self.assembly.is_text(self._space())
        self.text = not numbers or known is True

    def _space(self) -> str:
        return self.naming.id_space or ""

    def _as_ids(self, ids: Sequence[Id]) -> Ids:
        return list(map(str, ids)) if self.text else np.array(list(map(int, ids)), np.int64)

    def _add_nodes(self, part: _Some) -> None:
        """Take in some nodes; those whose id is there already are rejected, unless they update it."""
        space, assembly = self._space(), self.assembly
        ids, columns, lines = self._as_ids(part.ids), part.columns, part.lines
        if assembly.options.on_duplicate == "error":
            again = (assembly.spaces.get(space) or Space(space)).repeated(ids)
            for row in again[: assembly.rejects.shown].tolist():
                name = f"node {part.ids[row]!r}"
                fault = Fault(f"{name} occurs twice", DUPLICATE)
                assembly.rejects.add(self.file, int(lines[row]), name, fault)
            if len(again):
                kept = np.delete(np.arange(len(ids)), again)
                ids = some_ids(ids, kept)
                columns = {key: column.take(kept) for key, column in columns.items()}
                lines = lines[kept]
        place = partial(_places, lines, lambda row: "")
        table = VertexTable(part.labels, space, ids, columns)
        source = Source(self.file.file, lambda row: row, place)
        self.file.rows += len(ids)
        assembly.add_vertices([(table, source)], self.file)

    # ---- relationships -----------------------------------------------------------------------------

    def _spaces(self) -> tuple[str, str]:
        ends = self.naming.ends or (self._space(), self._space())
        if self.naming.labelled:
            return self.assembly.space_of(ends[0]), self.assembly.space_of(ends[1])
        return ends

    def _may_be_there(self, edge: Edge) -> bool:
        """Whether both ends are such as their spaces hold; a text among numbers is rejected."""
        for space, id in zip(self._spaces(), (edge.source, edge.target), strict=True):
            if self.assembly.is_text(space) is False and not _is_integral(id):
                fault = Fault(f"there is no node with id {id!r}", _NO_NODE)
                self.assembly.rejects.add(self.file, edge.line, edge.name, fault)
                return False
        return True

    def _add_edges(self, rows_by_type: dict[tuple[str, bool], _ElementRows]) -> None:
        """Take in some relationships."""
        spaces = self._spaces()
        for (type, directed), rows in rows_by_type.items():
            columns = self._columns(rows, name := partial(_edge, rows))
            lines = np.array(rows.lines, np.int64)
            self.file.rows += len(lines)
            self.assembly.add_edges(
                NewEdges(
                    type,
                    directed,
                    self._ends(spaces[0], rows.ids),
                    self._ends(spaces[1], rows.targets),
                    spaces,
                    columns,
                    np.arange(len(lines)),
                    partial(_places, lines, name),
                    self.file,
                    labels=self.naming.ends if self.naming.labelled else None,
                )
            )
        rows_by_type.clear()

    def _ends(self, space: str, ids: Sequence[Id]) -> Ids:
        text = self.assembly.is_text(space)
        if text if text is not None else self.text:
            return list(map(str, ids))
        return np.array(list(map(int, ids)), np.int64)

    # ---- properties --------------------------------------------------------------------------------

    def _goes_with_others(self, element: Node | Edge, owners: Sequence[Owner]) -> bool:
        """Whether the values of an element are of the types of those before it; else it is rejected."""
        fault = None if self.types is None else self.types.fault(element, owners)
        if fault is not None:
            self.assembly.rejects.add(self.file, element.line, element.name, fault)
        return fault is None

    def _columns(self, rows: _ElementRows, name: Callable[[int], str]) -> dict[str, Column]:
        """A column for each property that an element has."""

        def wrong(row: int, reason: str, cure: str) -> ImportFailed:
            what, file = f"{name(row)}: {reason}", str(self.path)
            return ImportFailed(what, cure, file=file, line=rows.lines[row])

        return columns_of(rows.values, keys_of(rows.values), wrong)


def _is_integral(id: Id) -> bool:
    return id in INT64 if isinstance(id, int) else is_integer(id)


def _node(rows: _ElementRows, row: int) -> str:
    return f"node {rows.ids[row]!r}"


def _edge(rows: _ElementRows, row: int) -> str:
    return f"edge {rows.ids[row]!r} -> {rows.targets[row]!r}"


def _places(lines: I64, name: Callable[[int], str], rows: list[int]) -> list[Spot]:
    """The places and kinds of elements."""
    return [(int(lines[row]), name(row)) for row in rows]

"""Graphs of networkx: nodes and edges with their attributes.

Nothing of networkx is imported: a graph is what has its methods.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Protocol, TypeGuard, TypeVar, cast

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass, field

from ..columns.model import INT64, Column, Item, PropertyValue, VertexTable
from ..columns.numpy_arrays import Unfit
from ..columns.plain_values import plain
from ..columns.python_columns import columns_of, keys_of, shown
from .report import FileReport
from .spaces import Ids

LABELS, LABEL, TYPE = "labels", "label", "type"
"""The attributes that are no properties: labels of a node (a text or several), the type of an edge."""
_TICK = 1 << 16  # nodes or edges between two looks at whether to go on
Attributes = Mapping[object, object]
Properties = dict[str, PropertyValue]
_Item = TypeVar("_Item")
_PROPERTIES = "Properties are numbers, booleans, texts, dates, datetimes, timedeltas, and lists of one of these."


class NetworkxGraph(Protocol):
    """The part of `networkx.Graph` that is used; the three other classes have it too."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        ...

    def is_multigraph(self) -> bool:
        """Whether two nodes may have several edges, distinguished by keys."""
        ...

    @property
    def nodes(self) -> Callable[..., Iterable[tuple[Hashable, Attributes]]]:
        """Called with data=True: pairs of a node and its attributes."""
        ...

    @property
    def edges(
        self,
    ) -> Callable[..., Iterable[tuple[Any, ...]]]:  # two ends, a key or none, attributes
        """Called with data=True: source, target, the key of a multigraph if keys=True, attributes."""
        ...


def is_graph(value: object) -> TypeGuard[NetworkxGraph]:
    """Whether an object has the methods of a networkx graph; networkx itself is not imported."""
    wanted = ("is_directed", "is_multigraph", "nodes", "edges", "adj")
    return all(hasattr(value, name) for name in wanted)


@dataclass(slots=True)
class AttributeTable:
    """Elements that become one table: their attributes, and by what errors call each."""

    values: list[Properties] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, values: Properties, name: str) -> None:
        """Add an element: its attributes, and its name in error messages."""
        self.values.append(values)
        self.names.append(name)

    def columns(self, file: str) -> dict[str, Column]:
        """A column for each attribute that one of them has."""

        def wrong(row: int, reason: str, cure: str) -> ImportFailed:
            return ImportFailed(f"{self.names[row]}: attribute {reason}", cure, file=file)

        return columns_of(self.values, keys_of(self.values), wrong)


@dataclass(slots=True)
class _Edges:
    """Edges of one type, by the numbers of their ends."""

    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    rows: AttributeTable = field(default_factory=AttributeTable)


@dataclass(frozen=True, slots=True, eq=False)
class ReadGraph:
    """A graph: its vertices, and for each type (None where the edges name none) the ids of both ends; all with the
    rows that they are made of."""

    vertices: list[tuple[VertexTable, AttributeTable]]
    edges: dict[str | None, tuple[Ids, Ids, AttributeTable]]
    directed: bool


def read_networkx(
    graph: NetworkxGraph,
    labels: tuple[str, ...],
    space: str,
    report: FileReport,
    tick: Callable[[], None],
) -> ReadGraph:
    """The tables of a graph.

    labels : of each node, beside its own. tick : called now and then; what it raises ends the reading.

    Raises
    ------
    ImportFailed : a node's id, or the value of an attribute, cannot be stored; names node and attribute.
    """
    reader = _NetworkxReader(report.file)
    numbered: dict[Hashable, int] = {}
    tables: dict[tuple[str, ...], tuple[list[int], AttributeTable]] = {}
    ids: list[int | str] = []
    for node, attributes in _ticking(graph.nodes(data=True), tick):
        name = f"node {node!r}"
        own, properties = reader.node(attributes, name)
        members, rows = tables.setdefault(tuple(sorted({*labels, *own})), ([], AttributeTable()))
        members.append(len(ids))
        rows.add(properties, name)
        numbered[node] = len(ids)
        ids.append(reader.id(node, name, ids))
    edges: dict[str | None, _Edges] = {}
    several = graph.is_multigraph()
    with_keys = graph.edges(data=True, keys=True) if several else graph.edges(data=True)
    for start, end, *key, attributes in _ticking(with_keys, tick):
        name = f"edge {(start, end, *key)!r}"
        type, properties = reader.edge(attributes, key, name)
        found = edges.setdefault(type, _Edges())
        found.sources.append(numbered[start])
        found.targets.append(numbered[end])
        found.rows.add(properties, name)
    report.rows += len(ids) + sum(len(found.sources) for found in edges.values())
    return ReadGraph(
        [
            (VertexTable(names, space, _ids(ids, members), rows.columns(report.file)), rows)
            for names, (members, rows) in tables.items()
        ],
        {
            type: (_ids(ids, found.sources), _ids(ids, found.targets), found.rows)
            for type, found in edges.items()
        },
        graph.is_directed(),
    )


def _ticking(each: Iterable[_Item], tick: Callable[[], None]) -> Iterator[_Item]:
    for done, item in enumerate(each):
        if done % _TICK == 0:
            tick()
        yield item


def _ids(ids: list[int | str], numbers: list[int]) -> Ids:
    """The ids of nodes by their numbers."""
    if ids and isinstance(ids[0], str):
        return [str(ids[number]) for number in numbers]
    return np.array([ids[number] for number in numbers], np.int64)


@dataclass(frozen=True, slots=True)
class _NetworkxReader:
    """What nodes and edges are made of, checked; `file` is by what errors call the graph."""

    file: str

    def id(self, node: object, name: str, before: list[int | str]) -> int | str:
        """The id of a node, of the type of those before it."""
        text = isinstance(node, str) and node != ""
        whole = isinstance(node, numbers.Integral) and not isinstance(node, bool)
        if not text and not (whole and int(cast(int, node)) in INT64):
            raise ImportFailed(
                f"{name} is neither an integer of 64 bits nor a text",
                "Rename the nodes, for example with networkx.convert_node_labels_to_integers.",
                file=self.file,
            )
        if before and isinstance(before[0], str) != text:
            raise ImportFailed(
                f"{name} and node {before[0]!r} are named by a text and by an integer",
                "Rename the nodes with networkx.relabel_nodes.",
                file=self.file,
            )
        return str(node) if text else int(cast(int, node))

    def node(self, attributes: Attributes, name: str) -> tuple[list[str], Properties]:
        """Labels and properties of a node."""
        key = LABELS if LABELS in attributes else LABEL
        value = attributes.get(key)
        several = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
        labels = [] if value is None else list(several)
        if not all(isinstance(label, str) and label for label in labels):
            raise self._wrong(name, key, value, "Labels are a text, or a list of texts.")
        return [str(label) for label in labels], self._properties(attributes, {key}, name)

    def edge(
        self, attributes: Attributes, key: Sequence[object], name: str
    ) -> tuple[str | None, Properties]:
        """Type (None where nothing names it) and properties of an edge; `key` is that of a multigraph."""
        type = attributes.get(TYPE)
        if type is None and key and isinstance(key[0], str):
            type = key[0]
        if type is not None and (not isinstance(type, str) or not type):
            raise self._wrong(name, TYPE, type, "The type of a relationship is a text.")
        return type, self._properties(attributes, {TYPE}, name)

    def _properties(self, attributes: Attributes, but: set[str], name: str) -> Properties:
        found: Properties = {}
        for key, value in attributes.items():
            if key in but:
                continue
            if not isinstance(key, str) or not key:
                raise self._wrong(name, key, value, "Attributes are named by texts.")
            try:
                value = plain(value)
            except Unfit as problem:
                what = f"{name}: attribute {key!r} is {problem.value or shown(value)}"
                raise ImportFailed(
                    f"{what}, which {problem.reason}", problem.cure, file=self.file
                ) from None
            if isinstance(value, list):
                found[key] = [self._single(item, name, key) for item in value]
            elif value is not None:
                found[key] = self._single(value, name, key)
        return found

    def _single(self, value: object, name: str, key: str) -> Item:
        if isinstance(value, (bool, str, date, timedelta)):
            return value
        if isinstance(value, numbers.Integral):
            return int(value)
        if isinstance(value, numbers.Real):
            return float(value)
        raise self._wrong(name, key, value, _PROPERTIES)

    def _wrong(self, name: str, key: object, value: object, cure: str) -> ImportFailed:
        return ImportFailed(
            f"{name}: attribute {key!r} has the Python type {type(value).__name__}: {str(value)[:80]!r}",
            cure,
            file=self.file,
        )

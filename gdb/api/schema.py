"""The schema of a graph: node labels and relationship types, with their properties, as values and as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from gdb.errors import TypeProblem
from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.answer.drawing.drawing import Drawing
    from gdb.answer.drawing.scene import Scene
    from gdb.storage.graph.snapshot import Snapshot

_AT_ONCE = 1 << 20  # relationships
_SHOWN = {"int64": "int", "float64": "float", "bool": "bool", "string": "string"}


@dataclass(frozen=True, slots=True)
class NodeKind:
    """All nodes with exactly these labels.

    id_space : what their ids are unique in. properties : key -> "int", "float", "bool", "string", "date", "datetime",
        "duration", or a list of one of these, "int[]"; "any" where a query has set values of several types.
    """

    labels: tuple[str, ...]
    id_space: str
    count: int
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RelationshipKind:
    """All relationships of one type; properties as for nodes."""

    type: str
    directed: bool
    count: int
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Join:
    """How many relationships of a type begin at nodes of one kind and end at those of another. start, end : the labels
    and the id space of the kind."""

    type: str
    start: tuple[tuple[str, ...], str]
    end: tuple[tuple[str, ...], str]
    directed: bool
    count: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The kinds of nodes and relationships of a graph; `str()` is a table."""

    nodes: tuple[NodeKind, ...]
    relationships: tuple[RelationshipKind, ...]
    joins: Callable[[], Iterable[Join]] = field(default=tuple, compare=False)

    def draw(self, path: str | os.PathLike[str] | None = None) -> Drawing:
        """A drawing of the kinds of nodes, and of the relationship types between them. It reads the ends of all
        relationships of the graph as it is when it is drawn.

        path : a file, `.svg` or `.html`, that it is written to as well.

        Raises
        ------
        ClosedError : the database is closed. ArgumentProblem : the file is neither .svg nor .html. TypeProblem : the
            schema was pickled.
        """
        from gdb.answer.drawing.drawing import Drawing

        drawing = Drawing(_scene(self))
        if path is not None:
            drawing.save(path)
        return drawing

    def __copy__(self) -> Schema:
        return self

    def __deepcopy__(self, _: object) -> Schema:
        return self

    def __reduce__(self) -> tuple[type[Schema], tuple[object, ...]]:
        """For pickle: without the graph, so that what comes back cannot be drawn."""
        return Schema, (self.nodes, self.relationships, _no_graph)

    def __repr__(self) -> str:
        return f"Schema(nodes={self.nodes!r}, relationships={self.relationships!r})"

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, sorted."""
        return tuple(sorted({label for kind in self.nodes for label in kind.labels}))

    @property
    def types(self) -> tuple[str, ...]:
        """All relationship types, sorted."""
        return tuple(sorted(kind.type for kind in self.relationships))

    @property
    def keys(self) -> tuple[str, ...]:
        """All property keys of nodes and relationships, sorted."""
        held = [kind.properties for kind in self.nodes]
        held += [kind.properties for kind in self.relationships]
        return tuple(sorted({key for keys in held for key in keys}))

    def __str__(self) -> str:
        if not self.nodes and not self.relationships:
            return "The graph is empty."
        nodes = [
            ("".join(f":{name}" for name in kind.labels) or "(no label)", kind)
            for kind in self.nodes
        ]
        relationships = [
            (f"-[:{kind.type}]-{'>' if kind.directed else ''}", kind) for kind in self.relationships
        ]
        both = ("nodes", nodes), ("relationships", relationships)
        return "\n\n".join(_table(what, kinds) for what, kinds in both if kinds)


def _no_graph() -> NoReturn:
    raise TypeProblem("a schema that was pickled has no graph to draw.", "Draw db.schema() itself.")


def joins_of(snapshot: Snapshot) -> list[Join]:
    """What the relationships of a snapshot join. O(relationships)."""
    import numpy as np

    kinds = [(group.labels, group.id_space) for group in snapshot.groups]
    found: list[Join] = []
    for type_ in snapshot.edge_types:
        counts = np.zeros((len(kinds), len(kinds)), np.int64)
        for begin in range(0, type_.edge_count, _AT_ONCE):
            count = min(_AT_ONCE, type_.edge_count - begin)
            eids = type_.first_eid + np.arange(begin, begin + count)
            _, starts, ends = snapshot.edge_ends(eids)
            np.add.at(counts, (snapshot.groups_of(starts), snapshot.groups_of(ends)), 1)
        for start, end in np.argwhere(counts).tolist():
            number = int(counts[start, end])
            found.append(Join(type_.name, kinds[start], kinds[end], type_.directed, number))
    return found


def schema_of(snapshot: Snapshot, joins: Callable[[], Iterable[Join]] = tuple) -> Schema:
    """The schema of a snapshot; groups and types without elements are left out. joins : what they join, when that is
    drawn."""
    return Schema(
        tuple(
            NodeKind(group.labels, group.id_space, group.count, _shown(group.keys))
            for group in sorted(snapshot.groups, key=lambda group: (group.labels, group.id_space))
            if group.count
        ),
        tuple(
            RelationshipKind(type_.name, type_.directed, type_.edge_count, _shown(type_.keys))
            for type_ in sorted(snapshot.edge_types, key=lambda type_: type_.name)
            if type_.edge_count
        ),
        joins,
    )


def _scene(schema: Schema) -> Scene:
    """A circle for each kind of nodes, an arrow for each type between two of them."""
    from gdb.answer.drawing.scene import Arrow, Circle, Scene

    names = {(kind.labels, kind.id_space): ":".join(kind.labels) for kind in schema.nodes}
    circles = tuple(
        Circle(
            names[kind.labels, kind.id_space] or "(no label)",
            names[kind.labels, kind.id_space],
            f"{kind.count:,} nodes; {_listed(kind.properties)}",
        )
        for kind in schema.nodes
    )
    places = {name: place for place, name in enumerate(names)}
    arrows = tuple(
        Arrow(
            places[one.start],
            places[one.end],
            one.type,
            f"{one.count:,} relationships",
            one.directed,
        )
        for one in schema.joins()
        if one.start in places and one.end in places  # else it was made since
    )
    return Scene(circles, arrows)


def _shown(keys: Mapping[str, str]) -> dict[str, str]:
    return {key: _shown_kind(kind) for key, kind in sorted(keys.items())}


def _shown_kind(kind: str) -> str:
    item = kind.removesuffix("[]")
    return _SHOWN.get(item, item) + kind[len(item) :]


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{key}: {kind}" for key, kind in properties.items())


def _table(what: str, kinds: Sequence[tuple[str, NodeKind | RelationshipKind]]) -> str:
    from gdb.answer.table import table  # a schema is seldom printed

    rows = [(name, f"{kind.count:,}", _listed(kind.properties)) for name, kind in kinds]
    return "\n".join(table((what, "count", "properties"), rows, right=(False, True, False)))

"""Nodes and relationships as values: what a query returns for `RETURN n` and `RETURN r`.

They are plain copies, complete when made, and stay valid after the database is closed. Two are equal if
they are the same element of the graph, whatever their properties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from gdb.base.once import MadeOnce
from gdb.executor.relational import lookup
from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value
    from gdb.base.values.temporal import Temporal
    from gdb.storage.columns.model import Item
    from gdb.storage.columns.slices import Slice
    from gdb.storage.graph.snapshot import Snapshot

Moment: TypeAlias = "date | time | timedelta | Temporal"
"""A temporal value: of Python where Python has the same, else of `gdb.base.values.temporal`, as a Duration always
is."""
Scalar: TypeAlias = "bool | int | float | str | Moment"
PropertyValue: TypeAlias = "Scalar | list[Item] | list[Scalar]"
Cell: TypeAlias = "Scalar | Node | Relationship | Path | Sequence[Cell] | Mapping[str, Cell] | None"
"""A value in a row of an answer; sequences are lists, mappings dicts."""
UserId: TypeAlias = int | str


class Element(Mapping[str, Any]):
    """What nodes and relationships have in common: each is a mapping of its properties.

    `element["name"]` is the property, and so is `element.name` where the class has nothing of that name. An element is
    true also without properties, so that `if row.n:` tests whether there is one.
    """

    __slots__ = ()
    properties: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.properties[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.properties)

    def __len__(self) -> int:
        """How many properties it has."""
        return len(self.properties)

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name != "properties" and name in self.properties:
            return self.properties[name]
        raise AttributeError(f"{type(self).__name__} has no attribute or property {name!r}")


@dataclass(frozen=True, slots=True)
class Node(Element):
    """A vertex of the graph, a mapping of its properties.

    id : the user's id, unique within `id_space`.
    labels : sorted.
    properties : key -> value; a null property is absent.
    id_space : "" unless the import named one.

    Examples
    --------
    >>> ada = Node(1, ("Person",), {"name": "Ada", "id": "x"})
    >>> ada["name"], ada.name, ada.labels, dict(ada)
    ('Ada', 'Ada', ('Person',), {'name': 'Ada', 'id': 'x'})
    >>> ada.id, ada["id"]
    (1, 'x')
    """

    id: UserId
    labels: tuple[str, ...] = field(default=(), compare=False)
    properties: Mapping[str, Any] = field(default_factory=dict, compare=False)
    id_space: str = ""

    def __repr__(self) -> str:
        return f"<Node {self}>"

    def __str__(self) -> str:
        """As in Cypher: (1:Person {name: 'Ada'})."""
        labels = "".join(f":{quoted(label)}" for label in self.labels)
        return f"({literal(self.id)}{labels}{_properties(self.properties)})"


@dataclass(frozen=True, slots=True)
class Relationship(Element):
    """An edge of the graph, a mapping of its properties.

    id : number of the edge, unique in the version of the store that was read; not kept by a later one.
    type : its type.
    start, end : the user's ids of its ends; of an undirected one in either order.
    id_spaces : of start and end.
    """

    id: int
    type: str
    start: UserId
    end: UserId
    properties: Mapping[str, Any] = field(default_factory=dict, compare=False)
    directed: bool = field(default=True, compare=False)
    id_spaces: tuple[str, str] = field(default=("", ""), compare=False)

    def __repr__(self) -> str:
        return f"<Relationship {self.id} {self}>"

    def __str__(self) -> str:
        """As in Cypher: (1)-[:KNOWS {since: 1833}]->(2)."""
        arrow = "->" if self.directed else "-"
        middle = f"[:{quoted(self.type)}{_properties(self.properties)}]"
        return f"({literal(self.start)})-{middle}{arrow}({literal(self.end)})"


@dataclass(frozen=True, slots=True)
class Path(Sequence[Relationship]):
    """Nodes, and the relationships between each and the next: one fewer. It is the sequence of these relationships."""

    nodes: tuple[Node, ...]
    relationships: tuple[Relationship, ...]

    def __len__(self) -> int:
        """How many relationships it has."""
        return len(self.relationships)

    def __bool__(self) -> bool:
        return True

    @overload
    def __getitem__(self, place: int) -> Relationship: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Relationship, ...]: ...
    def __getitem__(self, place: int | slice) -> Relationship | tuple[Relationship, ...]:
        return self.relationships[place]

    @property
    def start(self) -> Node:
        """The first node."""
        return self.nodes[0]

    @property
    def end(self) -> Node:
        """The last node; the first where the path has no relationship."""
        return self.nodes[-1]

    def __repr__(self) -> str:
        return f"<Path {self}>"

    def __str__(self) -> str:
        """As in Cypher: (1:Person)-[:KNOWS]->(2:Person)."""
        parts = [str(self.nodes[0])]
        for k, one in enumerate(self.relationships):
            middle = f"[:{quoted(one.type)}{_properties(one.properties)}]"
            forward = one.start == self.nodes[k].id and one.end == self.nodes[k + 1].id
            back = one.directed and not forward
            onward = one.directed and forward
            parts.append(f"{'<' * back}-{middle}-{'>' * onward}{self.nodes[k + 1]}")
        return "".join(parts)


def literal(value: object) -> str:
    """A value as Cypher writes it: null, 'text', [1, 2], {a: 1}; numbers and times as toString() writes them.

    Examples
    --------
    >>> literal([1e21, float("nan"), timedelta(hours=24)])
    '[1.0E21, NaN, PT24H]'
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            escaped = escaped.replace("\n", "\\n").replace("\r", "\\r")
            return f"'{escaped}'"
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
        case Element() | Path():
            return str(value)
        case Mapping():
            return f"{{{', '.join(f'{quoted(key)}: {literal(v)}' for key, v in value.items())}}}"
        case date() | time() | timedelta():
            # here: only temporal values need it
            from gdb.base.values.temporal_python import moment_text

            return moment_text(value)
        case float():
            # here: at the start it would load the arithmetic of rows
            from gdb.base.values.arithmetic import as_text

            return as_text(value)
        case _:
            return str(value)


def quoted(key: str) -> str:
    """A name as Cypher writes it: in backticks where it is no plain word."""
    return key if key.isidentifier() else f"`{key.replace('`', '``')}`"


def _properties(properties: Mapping[str, PropertyValue]) -> str:
    return f" {literal(properties)}" if properties else ""


# ---- made in bulk ---------------------------------------------------------------------------------

FEW = 16
"""Nodes that are made one by one: for more, columns are sooner gathered."""


class _FewNodes:
    """What makes nodes one by one, found for each vertex group when it is first needed; None for one whose values are
    of other kinds."""

    def __init__(self, snapshot: Snapshot) -> None:
        from gdb.storage.graph.single_look_ups import (
            GroupLookUp,  # here: most answers have no nodes
        )

        self._groups = GroupLookUp.of(dict(enumerate(snapshot.groups)))
        self._makers: dict[int, Callable[[int], Node] | None] = {}

    def nodes(self, snapshot: Snapshot, vids: Sequence[int]) -> list[Node] | None:
        """One for each vid; None where they are made in bulk."""
        made: dict[int, Node] = {}
        if self._groups is None:
            return None
        for vid in vids:
            if vid not in made:
                group = self._groups.find(vid)
                if group not in self._makers:
                    self._makers[group] = _maker(snapshot, group)
                make = self._makers[group]
                if make is None:
                    return None
                made[vid] = make(vid)
        return [made[vid] for vid in vids]


def _maker(snapshot: Snapshot, number: int) -> Callable[[int], Node] | None:
    """What makes the node of a vid of a group."""
    group = snapshot.groups[number]
    looks = [snapshot.value_look_up(number, key) for key in (None, *sorted(group.keys))]
    readers = [look.value for look in looks if look is not None]
    if len(readers) < len(looks):
        return None
    name, values = readers[0], list(zip(sorted(group.keys), readers[1:], strict=True))
    labels, space = group.labels, group.id_space

    def make(vid: int) -> Node:
        properties = {}
        for key, read in values:
            value = read(vid)
            if value is not None:
                properties[key] = cast("PropertyValue", value)
        return Node(cast("UserId", name(vid)), labels, properties, space)

    return make


_few_nodes = MadeOnce(_FewNodes)


def nodes(snapshot: Snapshot, vids: npt.NDArray[np.uint32]) -> list[Node]:
    """One Node per vid; a vid that repeats gives the same object. O(n log n + distinct vids x properties)."""
    if len(vids) <= 4 * FEW and len(set(listed := vids.tolist())) <= FEW:
        few = _few_nodes.of(snapshot).nodes(snapshot, listed)
        if few is not None:
            return few
    distinct, inverse = np.unique(vids, return_inverse=True)
    ids = snapshot.user_ids(distinct)
    groups = snapshot.groups_of(distinct)
    made: dict[int, Node] = {}
    for number in np.unique(groups).tolist():
        group = snapshot.groups[number]
        at = np.flatnonzero(groups == number)
        columns = {
            key: lookup.vertex_property(snapshot, distinct[at], key, kind)
            for key, kind in sorted(group.keys.items())
        }
        for place, properties in zip(at.tolist(), _records(columns, len(at)), strict=True):
            made[place] = Node(ids[place], group.labels, properties, group.id_space)
    return [made[place] for place in inverse.tolist()]


def relationships(snapshot: Snapshot, eids: npt.NDArray[np.int64]) -> list[Relationship]:
    """One Relationship per edge id; an id that repeats gives the same object."""
    return _with_ends(snapshot, eids)[0]


def _with_ends(
    snapshot: Snapshot, eids: npt.NDArray[np.int64]
) -> tuple[list[Relationship], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The relationships, and the vids of their ends."""
    distinct, inverse = np.unique(eids, return_inverse=True)
    types, sources, targets = snapshot.edge_ends(distinct)
    starts, ends = snapshot.user_ids(sources), snapshot.user_ids(targets)
    spaces = _id_spaces(snapshot, sources, targets)
    made: dict[int, Relationship] = {}
    for number in np.unique(types).tolist():
        kind_of_edge = snapshot.edge_types[number]
        at = np.flatnonzero(types == number)
        columns = {
            key: lookup.edge_property(snapshot, distinct[at], key, kind)
            for key, kind in sorted(kind_of_edge.keys.items())
        }
        for place, properties in zip(at.tolist(), _records(columns, len(at)), strict=True):
            made[place] = Relationship(
                int(distinct[place]),
                kind_of_edge.name,
                starts[place],
                ends[place],
                properties,
                kind_of_edge.directed,
                spaces[place] if spaces else ("", ""),
            )
    found = [made[place] for place in inverse.tolist()]
    return found, sources[inverse], targets[inverse]


def relationships_along(
    snapshot: Snapshot, several: Sequence[Sequence[int] | None]
) -> list[list[Relationship] | None]:
    """The relationships of lists of edge ids; null is null."""
    found = iter(relationships(snapshot, _joined(several)))
    return [None if one is None else list(islice(found, len(one))) for one in several]


def paths(snapshot: Snapshot, several: Sequence[Sequence[int] | None]) -> list[Path | None]:
    """The paths that begin at the first of some numbers, a vid, and have the edge ids behind it; null is null."""
    eids = [None if one is None else one[1:] for one in several]
    found, sources, targets = _with_ends(snapshot, _joined(eids))
    ends = zip(sources.tolist(), targets.tolist(), strict=True)
    vids = list[int]()
    for one in several:
        if one is not None:
            vids.append(one[0])
            for start, end in islice(ends, len(one) - 1):
                vids.append(end if start == vids[-1] else start)
    met, along = iter(nodes(snapshot, np.array(vids, np.uint32))), iter(found)
    return [
        None
        if one is None
        else Path(tuple(islice(met, len(one))), tuple(islice(along, len(one) - 1)))
        for one in several
    ]


def _joined(several: Sequence[Sequence[int] | None]) -> npt.NDArray[np.int64]:
    return np.array([number for one in several for number in one or ()], np.int64)


def _id_spaces(
    snapshot: Snapshot, sources: npt.NDArray[np.uint32], targets: npt.NDArray[np.uint32]
) -> list[tuple[str, str]]:
    """The id spaces of both ends of each edge; nothing where none has a name."""
    names = [group.id_space for group in snapshot.groups]
    if not any(names):
        return []
    groups = snapshot.groups_of(sources).tolist(), snapshot.groups_of(targets).tolist()
    return [(names[start], names[end]) for start, end in zip(*groups, strict=True)]


def touch(snapshot: Snapshot, kind: str) -> None:
    """Map everything that nodes, or else relationships, are made from, so that they can be made after the store is
    closed. kind : "node" or another; of nodes no relationship is read."""
    (_nodes if kind == "node" else _relationships).of(snapshot)


def _touch_nodes(snapshot: Snapshot) -> bool:
    for number, group in enumerate(snapshot.groups):
        snapshot.id_column(number)
        for key in group.keys:
            snapshot.vertex_column(number, key)
    return True


def _touch_relationships(snapshot: Snapshot) -> bool:
    for number in range(len(snapshot.groups)):
        snapshot.id_column(number)
    filled = [kind for kind in snapshot.edge_types if kind.edge_count]
    snapshot.edge_ends(np.array([kind.first_eid for kind in filled], np.int64))
    for kind in filled:
        for key in kind.keys:
            snapshot.edge_column(kind.name, key)
    return True


_nodes, _relationships = MadeOnce(_touch_nodes), MadeOnce(_touch_relationships)


def _records(columns: Mapping[str, Slice | None], count: int) -> list[dict[str, PropertyValue]]:
    """Columns turned into `count` dicts, nulls left out."""
    records: list[dict[str, PropertyValue]] = [{} for _ in range(count)]
    for key, column in columns.items():
        for record, value in zip(records, python_values(column), strict=False):
            if value is not None:
                record[key] = value
    return records


def python_values(column: Slice | None) -> list[PropertyValue | None]:
    """The values of a column as Python has them."""
    values = [] if column is None else column.to_list()
    if column is not None and column.kind == "any":
        # here: only temporal values need it
        from gdb.base.values.temporal_python import (
            to_python,  # who has none of these needs no own times
        )

        return [cast("PropertyValue | None", to_python(cast("Value", value))) for value in values]
    return cast("list[PropertyValue | None]", values)

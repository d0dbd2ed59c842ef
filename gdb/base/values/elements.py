"""Nodes, relationships and paths while a query runs row by row.

There is one object for each element in the run of a statement, so that what one clause changes the next one sees, and
two are equal where they are the same object. What the user gets are copies (`gdb.answer.entities`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdb.base.values.kinds import Value


@dataclass(slots=True, eq=False)
class NodeValue:
    """A node. id : the user's. labels : nodes share one set. deleted : by this statement; then only its identity may be
    used."""

    id: int | str
    labels: frozenset[str] = frozenset()
    properties: dict[str, Value] = field(default_factory=dict)
    id_space: str = ""
    deleted: bool = False

    def value_of(self, key: str) -> Value:
        """One of the properties, null where it has none."""
        return self.properties.get(key)


@dataclass(slots=True, eq=False)
class RelationshipValue:
    """A relationship. id : see `gdb.answer.entities.Relationship`."""

    id: int
    type: str
    start: NodeValue
    end: NodeValue
    properties: dict[str, Value] = field(default_factory=dict)
    directed: bool = True
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class PathValue:
    """Nodes, and the relationships between each and the next: one fewer. Equal where both are."""

    nodes: tuple[NodeValue, ...]
    relationships: tuple[RelationshipValue, ...]

    @classmethod
    def along(cls, first: NodeValue, edges: Iterable[Value]) -> PathValue:
        """The path from a node along some edges, each a relationship or a list of them."""
        nodes, relationships = [first], list[RelationshipValue]()
        for edge in edges:
            for one in edge if isinstance(edge, list) else [edge]:
                assert isinstance(one, RelationshipValue)
                nodes.append(one.end if one.start is nodes[-1] else one.start)
                relationships.append(one)
        return cls(tuple(nodes), tuple(relationships))

    def __len__(self) -> int:
        return len(self.relationships)

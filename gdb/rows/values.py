"""Values of a run as the user gets them, and the user's as a run has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.entities import Node, Path, Relationship
from gdb.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.values.temporal_python import from_python, to_python

if TYPE_CHECKING:
    from gdb.result import Cell
    from gdb.values.kinds import Value


class Given:
    """Copies of values for the user, one for each element."""

    def __init__(self) -> None:
        self._nodes: dict[NodeValue, Node] = {}
        self._relationships: dict[RelationshipValue, Relationship] = {}

    def cell(self, value: Value) -> Cell:
        """The value for the user."""
        match value:
            case NodeValue():
                return self._node(value)
            case RelationshipValue():
                return self._relationship(value)
            case PathValue(nodes=nodes, relationships=relationships):
                return Path(
                    tuple(map(self._node, nodes)), tuple(map(self._relationship, relationships))
                )
            case list():
                return [self.cell(item) for item in value]
            case dict():
                return {key: self.cell(item) for key, item in value.items()}
            case None | bool() | int() | float() | str():
                return value
            case _:
                return to_python(value)

    def _node(self, value: NodeValue) -> Node:
        known = self._nodes.get(value)
        if known is None:
            properties = {k: self.cell(v) for k, v in sorted(value.properties.items())}
            labels = tuple(sorted(value.labels))
            known = self._nodes[value] = Node(value.id, labels, properties, value.id_space)
        return known

    def _relationship(self, value: RelationshipValue) -> Relationship:
        known = self._relationships.get(value)
        if known is None:
            properties = {k: self.cell(v) for k, v in sorted(value.properties.items())}
            ends = value.start.id, value.end.id
            known = Relationship(value.id, value.type, *ends, properties, value.directed)
            self._relationships[value] = known
        return known


taken = from_python
"""A parameter as a run has it."""

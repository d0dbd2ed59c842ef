"""Values of a run as the user gets them, and the user's as a run has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from gdb.answer.entities import Node, Path, Relationship
from gdb.base.allowance import here, paced
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.sizes import POINTER
from gdb.base.values.temporal_python import from_python, to_python

if TYPE_CHECKING:
    from gdb.answer.entities import Cell, PropertyValue
    from gdb.base.values.kinds import Value

_PLAIN = frozenset({bool, int, float, str, type(None), tuple})
"""What the user gets as it is, as nearly all values; a tuple is of numbers that get objects later
(`NumberedStatement.shown`)."""
_LIST, _MAP = 56, 232  # bytes of an empty one


class UserValues:
    """Copies of values for the user, one for each element. Of one that the query has deleted only what it may still
    read of it is copied: the id, of a relationship also the type and the ends."""

    def __init__(self) -> None:
        self._nodes: dict[NodeValue, Node] = {}
        self._relationships: dict[RelationshipValue, Relationship] = {}

    def cell(self, value: Value) -> Cell:
        """The value for the user. Raises Cancelled, QueryTimeout: a list may be long."""
        if type(value) in _PLAIN:
            return cast("Cell", value)
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
                here().make(_LIST + POINTER * len(value), "the result")
                return [self.cell(item) for item in paced(value, len(value))]
            case dict():
                here().make(_MAP + 2 * POINTER * len(value), "the result")
                items = paced(value.items(), len(value))
                return {key: self.cell(item) for key, item in items}
            case None | bool() | int() | float() | str():
                return value
            case _:
                return cast("Cell", to_python(value))  # a temporal value, of Python or its own

    def _node(self, value: NodeValue) -> Node:
        known = self._nodes.get(value)
        if known is None:
            gone = value.deleted
            properties = {} if gone else self._properties(value.properties)
            labels = () if gone else tuple(sorted(value.labels))
            known = self._nodes[value] = Node(value.id, labels, properties, value.id_space)
        return known

    def _relationship(self, value: RelationshipValue) -> Relationship:
        known = self._relationships.get(value)
        if known is None:
            ends = value.start.id, value.end.id
            spaces = value.start.id_space, value.end.id_space
            properties = {} if value.deleted else self._properties(value.properties)
            known = Relationship(value.id, value.type, *ends, properties, value.directed, spaces)
            self._relationships[value] = known
        return known

    def _properties(self, properties: Mapping[str, Value]) -> dict[str, PropertyValue]:
        """The properties for the user, in the order of their names, as `gdb.answer.entities` reads them from the
        store."""
        copies = {key: self.cell(value) for key, value in sorted(properties.items())}
        return cast("dict[str, PropertyValue]", copies)  # no element or map is a property


taken = from_python
"""A parameter as a run has it."""

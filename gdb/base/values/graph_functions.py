"""The functions of nodes, relationships, paths and maps."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.naming import refusal
from gdb.base.values.problems import EntityDeleted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdb.base.values.kinds import Value


def stored(element: NodeValue | RelationshipValue) -> dict[str, Value]:
    """The properties of an element.

    Raises
    ------
    EntityDeleted : this statement has deleted it.
    """
    if element.deleted:
        raise EntityDeleted("the node" if isinstance(element, NodeValue) else "the relationship")
    return element.properties


def property_of(element: NodeValue | RelationshipValue, key: str) -> Value:
    """One of the properties of an element, null where it has none. Raises as `stored`."""
    if isinstance(element, NodeValue) and not element.deleted:
        return element.value_of(key)
    return stored(element).get(key)


def labels_of(node: NodeValue) -> frozenset[str]:
    """The labels of a node.

    Raises
    ------
    EntityDeleted : this statement has deleted it.
    """
    if node.deleted:
        raise EntityDeleted("the node")
    return node.labels


def entries(name: str, value: Value) -> Mapping[str, Value]:
    """The properties of an element without those that are null, or the entries of a map."""
    match value:
        case NodeValue() | RelationshipValue():
            return {key: of for key, of in stored(value).items() if of is not None}
        case dict():
            return value
        case _:
            raise refusal(name, "a node, a relationship or a map", value)


def id_of(value: Value) -> Value:
    """id() of a node or a relationship."""
    if isinstance(value, (NodeValue, RelationshipValue)):
        return value.id
    raise refusal("id()", "a node or a relationship", value)


def element_id(value: Value) -> Value:
    """elementId(): the id as text, of a node with the id space it is of."""
    match value:
        case NodeValue(id_space=space) if space:
            return f"{space}:{value.id}"
        case NodeValue() | RelationshipValue():
            return str(value.id)
        case _:
            raise refusal("elementId()", "a node or a relationship", value)


def labels(value: Value) -> Value:
    """labels() of a node, in alphabetic order."""
    if isinstance(value, NodeValue):
        return [*sorted(labels_of(value))]
    raise refusal("labels()", "a node", value)


def type_of(value: Value) -> Value:
    """type() of a relationship."""
    return relationship("type", value).type  # part of its identity: a deleted one has it too


def relationship(name: str, value: Value) -> RelationshipValue:
    """The value, where it is a relationship. name : of the calling function, for the error."""
    if isinstance(value, RelationshipValue):
        return value
    raise refusal(f"{name}()", "a relationship", value)


def path_of(name: str, value: Value) -> PathValue:
    """The value, where it is a path. name : of the calling function, for the error."""
    if isinstance(value, PathValue):
        return value
    raise refusal(f"{name}()", "a path", value)


def elements(value: Value) -> Value:
    """The nodes and relationships of a path, in its order."""
    path = path_of("elements", value)
    pairs = chain.from_iterable(zip_longest(path.nodes, path.relationships))
    return [element for element in pairs if element is not None]


def _compared(name: str, values: tuple[Value, ...]) -> set[int] | None:
    """The identities of elements; None where one is null."""
    for value in values:
        if value is None:
            return None
        if not isinstance(value, (NodeValue, RelationshipValue)):
            raise refusal(f"{name}()", "nodes or relationships", value)
    return {id(value) for value in values}


def all_different(*values: Value) -> Value:
    """ALL_DIFFERENT(): whether no two of the elements are the same; null where one is."""
    found = _compared("ALL_DIFFERENT", values)
    return None if found is None else len(found) == len(values)


def same(*values: Value) -> Value:
    """SAME(): whether all elements are the same; null where one is."""
    found = _compared("SAME", values)
    return None if found is None else len(found) == 1

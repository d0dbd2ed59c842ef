"""The functions of nodes, relationships, paths and maps."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from gdb.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.values.function import Function, strict
from gdb.values.naming import refusal
from gdb.values.problems import EntityDeleted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdb.values.kinds import Value


def stored(element: NodeValue | RelationshipValue) -> dict[str, Value]:
    """The properties of an element.

    Raises
    ------
    EntityDeleted : this statement has deleted it.
    """
    if element.deleted:
        raise EntityDeleted("the node" if isinstance(element, NodeValue) else "the relationship")
    return element.properties


def labels_of(node: NodeValue) -> set[str]:
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


def _id(value: Value) -> Value:
    if isinstance(value, (NodeValue, RelationshipValue)):
        return value.id
    raise refusal("id()", "a node or a relationship", value)


def _element_id(value: Value) -> Value:
    match value:
        case NodeValue(id_space=space) if space:
            return f"{space}:{value.id}"
        case NodeValue() | RelationshipValue():
            return str(value.id)
        case _:
            raise refusal("elementId()", "a node or a relationship", value)


def _labels(value: Value) -> Value:
    if isinstance(value, NodeValue):
        return [*sorted(labels_of(value))]
    raise refusal("labels()", "a node", value)


def _type(value: Value) -> Value:
    if isinstance(value, RelationshipValue):
        return value.type  # part of its identity, so a deleted one has it too
    raise refusal("type()", "a relationship", value)


def _relationship(name: str, value: Value) -> RelationshipValue:
    if isinstance(value, RelationshipValue):
        return value
    raise refusal(f"{name}()", "a relationship", value)


def _path(name: str, value: Value) -> PathValue:
    if isinstance(value, PathValue):
        return value
    raise refusal(f"{name}()", "a path", value)


def _elements(value: Value) -> Value:
    """The nodes and relationships of a path, in its order."""
    path = _path("elements", value)
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


def _all_different(*values: Value) -> Value:
    found = _compared("ALL_DIFFERENT", values)
    return None if found is None else len(found) == len(values)


def _same(*values: Value) -> Value:
    found = _compared("SAME", values)
    return None if found is None else len(found) == 1


FUNCTIONS = (
    strict("id", 1, 1, _id),
    strict("elementId", 1, 1, _element_id),
    strict("labels", 1, 1, _labels),
    strict("type", 1, 1, _type),
    strict("keys", 1, 1, lambda value: list(entries("keys()", value))),
    strict("properties", 1, 1, lambda value: dict(entries("properties()", value))),
    strict("startNode", 1, 1, lambda value: _relationship("startNode", value).start),
    strict("endNode", 1, 1, lambda value: _relationship("endNode", value).end),
    strict("length", 1, 1, lambda value: len(_path("length", value))),
    strict("path_length", 1, 1, lambda value: len(_path("path_length", value))),
    strict("nodes", 1, 1, lambda value: list(_path("nodes", value).nodes)),
    strict("relationships", 1, 1, lambda value: list(_path("relationships", value).relationships)),
    strict("rels", 1, 1, lambda value: list(_path("rels", value).relationships)),
    strict("elements", 1, 1, _elements),
    Function("ALL_DIFFERENT", 2, None, _all_different),
    Function("SAME", 2, None, _same),
)

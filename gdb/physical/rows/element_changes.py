"""The clauses that change elements that rows have: SET, REMOVE, DELETE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.allowance import paced
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.errors import DeletedProblem, TypeProblem
from gdb.language.clauses import Delete, Remove, SetAll, SetItem, SetLabels, SetProperty
from gdb.language.dynamic_labels import HasNamed
from gdb.language.report import problem
from gdb.language.syntax import Expression, HasLabels, Index, Place, Property
from gdb.physical.rows.creating import Change, map_of, storable
from gdb.physical.rows.named_labels import names_of

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext

Assignment: TypeAlias = "Callable[[Row], None]"
Changed: TypeAlias = "NodeValue | RelationshipValue | None"

# ---- SET and REMOVE --------------------------------------------------------------------------------


def assigned(context: RowContext, items: Sequence[SetItem]) -> Change:
    """The function that does SET for each row, item by item, and gives the rows."""
    several = assignments(context, items)

    def change(rows: list[Row]) -> list[Row]:
        for row in paced(rows, len(rows)):
            for apply in several:
                apply(row)
        return rows

    return change


def assignments(context: RowContext, items: Sequence[SetItem]) -> list[Assignment]:
    """What each item of SET does for a row."""
    return [_assignment(context, item) for item in items]


def _assignment(context: RowContext, item: SetItem) -> Assignment:
    match item:
        case SetProperty(target=target, value=value):
            return _set_property(context, target, value, item.place)
        case SetAll():
            return _set_all(context, item)
        case SetLabels():
            return _set_labels(context, item)


def _changed(context: RowContext, subject: Expression, place: Place) -> Callable[[Row], Changed]:
    """The element that an item changes; None for null."""
    value_of = context.evaluator.compiled(subject)

    def element(row: Row) -> Changed:
        found = value_of(row)
        if isinstance(found, (NodeValue, RelationshipValue)):
            return _there(context, found, place)
        if found is None:
            return None
        raise problem(
            *(TypeProblem, context.text, place),
            "only a node or a relationship has properties that can be set.",
        )

    return element


def _there(
    context: RowContext, one: NodeValue | RelationshipValue, place: Place
) -> NodeValue | RelationshipValue:
    """The element. Raises DeletedProblem where the query has deleted it."""
    if one.deleted:
        what = "node" if isinstance(one, NodeValue) else "relationship"
        raise problem(
            *(DeletedProblem, context.text, place),
            f"the {what} was deleted by this query, and cannot be changed.",
            "Change it before DELETE, or not at all.",
        )
    return one


def _set_property(
    context: RowContext, target: Property | Index, value: Expression, place: Place
) -> Assignment:
    compiled = context.evaluator.compiled
    element, value_of = _changed(context, target.subject, place), compiled(value)
    named = target.key.text if isinstance(target, Property) else None
    key_of = compiled(target.index) if isinstance(target, Index) else None

    def assign(row: Row) -> None:
        one = element(row)
        if one is None:
            return
        key = named if key_of is None else key_of(row)
        if not isinstance(key, str):
            message = "a property is named by a string."
            raise problem(TypeProblem, context.text, target.place, message)
        context.graph.set_property(one, key, storable(context, value_of(row), value.place))

    return assign


def _set_all(context: RowContext, item: SetAll) -> Assignment:
    place = item.value.place
    element = _changed(context, item.variable, item.place)
    value_of = context.evaluator.compiled(item.value)

    def assign(row: Row) -> None:
        one = element(row)
        if one is None:
            return
        given = map_of(context, value_of(row), place)
        given = {key: storable(context, value, place) for key, value in given.items()}
        graph = context.graph
        if not item.add:
            for name in [name for name in one.properties if name not in given]:
                graph.set_property(one, name, None)
        for name, value in given.items():
            graph.set_property(one, name, value)

    return assign


def _set_labels(context: RowContext, item: SetLabels) -> Assignment:
    element = _changed(context, item.variable, item.place)
    named, labels = names_of(context, item.named), [label.text for label in item.labels]

    def assign(row: Row) -> None:
        one = element(row)
        if isinstance(one, NodeValue):
            context.graph.set_labels(one, labels + named(row), ())
        elif one is not None:
            raise problem(TypeProblem, context.text, item.place, "only a node has labels.")

    return assign


def removed(context: RowContext, clause: Remove) -> Change:
    """The function that does REMOVE for each row, and gives the rows."""
    compiled = context.evaluator.compiled
    parts = [
        (
            item,
            compiled(item.subject),
            names_of(context, [item.names] if isinstance(item, HasNamed) else []),
        )
        for item in clause.items
    ]

    def change(rows: list[Row]) -> list[Row]:
        for row in rows:
            for item, subject, named in parts:
                element = subject(row)
                if element is None:
                    continue
                if not isinstance(element, (NodeValue, RelationshipValue)):
                    raise problem(
                        *(TypeProblem, context.text, item.place),
                        "only a node or a relationship has properties that can be removed.",
                    )
                _there(context, element, item.place)
                match item:
                    case HasLabels(labels=labels) if isinstance(element, NodeValue):
                        names = [name.text for term in labels for name in term]
                        context.graph.set_labels(element, (), names)
                    case HasNamed() if isinstance(element, NodeValue):
                        context.graph.set_labels(element, (), named(row))
                    case Property(key=key):
                        context.graph.set_property(element, key.text, None)
                    case Index(index=index):
                        name = compiled(index)(row)
                        if isinstance(name, str):
                            context.graph.set_property(element, name, None)
                    case _:
                        raise problem(
                            TypeProblem, context.text, item.place, "only a node has labels."
                        )
        return rows

    return change


# ---- DELETE ----------------------------------------------------------------------------------------


def deleted(context: RowContext, clause: Delete) -> Change:
    """The function that does DELETE for each row, of nodes, relationships, all of a path, and what lists of them hold;
    it gives the rows."""
    targets = [(target, context.evaluator.compiled(target)) for target in clause.targets]

    def change(rows: list[Row]) -> list[Row]:
        _delete(context, clause, targets, rows)
        return rows

    return change


def _delete(
    context: RowContext,
    clause: Delete,
    targets: Sequence[tuple[Expression, Callable[[Row], Value]]],
    rows: Sequence[Row],
) -> None:
    found: list[tuple[NodeValue | RelationshipValue, Place]] = []
    for row in rows:
        for target, value in targets:
            place = target.place
            found += [(one, place) for one in _elements(context, value(row), place)]
    # relationships first, so that a node whose last one goes here can go
    graph, nodes = context.graph, list[tuple[NodeValue, Place]]()
    for one, place in found:
        if isinstance(one, NodeValue):
            nodes.append((one, place))
        else:
            graph.delete(one, place)
    if clause.detach and nodes:
        graph.detach((node for node, _ in nodes), clause.place)
    for node, place in nodes:
        graph.delete(node, place)


def _elements(
    context: RowContext, value: Value, place: Place
) -> Iterator[NodeValue | RelationshipValue]:
    match value:
        case None:
            return
        case NodeValue() | RelationshipValue():
            yield value
        case PathValue(nodes=nodes, relationships=relationships):
            yield from relationships
            yield from nodes
        case list():
            for item in value:
                yield from _elements(context, item, place)
        case _:
            raise problem(
                *(TypeProblem, context.text, place),
                "DELETE takes nodes, relationships and paths, and this is something else.",
                "A property is taken away with REMOVE.",
            )

"""The clauses that change elements that rows have: SET, REMOVE, DELETE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.allowance import paced
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.errors import TypeProblem
from gdb.language.clauses import Delete, Remove, SetAll, SetItem, SetLabels, SetProperty
from gdb.language.dynamic_labels import HasNamed
from gdb.language.report import problem
from gdb.language.syntax import Expression, HasLabels, Index, Place, Property
from gdb.physical.rows.creating import map_of, storable
from gdb.physical.rows.named_labels import names_of

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext

Assignment: TypeAlias = "Callable[[Row], None]"

# ---- SET and REMOVE --------------------------------------------------------------------------------


def assign(context: RowContext, items: Sequence[SetItem], rows: Sequence[Row]) -> None:
    """SET for each row, item by item."""
    several = assignments(context, items)
    for row in paced(rows, len(rows)):
        for apply in several:
            apply(row)


def assignments(context: RowContext, items: Sequence[SetItem]) -> list[Assignment]:
    """What each item of SET does for a row."""
    return [_assignment(context, item) for item in items]


def _assignment(context: RowContext, item: SetItem) -> Assignment:
    match item:
        case SetProperty(target=target):
            if isinstance(target, Property):
                return _SetProperty(context, item, target)
            return _SetIndex(context, item, target)
        case SetAll():
            return _SetAll(context, item)
        case SetLabels():
            return _SetLabels(context, item)


class _Changing:
    """An item of SET, and the element that it changes."""

    def __init__(self, context: RowContext, subject: Expression, place: Place) -> None:
        self.context, self.graph, self.place = context, context.graph, place
        self.subject = context.evaluator.compiled(subject)

    def element(self, row: Row) -> NodeValue | RelationshipValue | None:
        """What the item changes; None for null, and for what was deleted."""
        found = self.subject(row)
        if isinstance(found, (NodeValue, RelationshipValue)):
            return None if found.deleted else found
        if found is None or getattr(found, "deleted", False):
            return None
        raise problem(
            *(TypeProblem, self.context.text, self.place),
            "only a node or a relationship has properties that can be set.",
        )


class _SetProperty(_Changing):
    def __init__(self, context: RowContext, item: SetProperty, target: Property) -> None:
        super().__init__(context, target.subject, item.place)
        self.key, self.value = target.key.text, context.evaluator.compiled(item.value)
        self.value_place = item.value.place

    def __call__(self, row: Row) -> None:
        element = self.element(row)
        if element is not None:
            value = storable(self.context, self.value(row), self.value_place)
            self.graph.set_property(element, self.key, value)


class _SetIndex(_Changing):
    def __init__(self, context: RowContext, item: SetProperty, target: Index) -> None:
        super().__init__(context, target.subject, item.place)
        compiled = context.evaluator.compiled
        self.key, self.value = compiled(target.index), compiled(item.value)
        self.key_place, self.value_place = target.place, item.value.place

    def __call__(self, row: Row) -> None:
        element = self.element(row)
        if element is None:
            return
        key = self.key(row)
        if not isinstance(key, str):
            message = "a property is named by a string."
            raise problem(TypeProblem, self.context.text, self.key_place, message)
        value = storable(self.context, self.value(row), self.value_place)
        self.graph.set_property(element, key, value)


class _SetAll(_Changing):
    def __init__(self, context: RowContext, item: SetAll) -> None:
        super().__init__(context, item.variable, item.place)
        self.value, self.add = context.evaluator.compiled(item.value), item.add
        self.value_place = item.value.place

    def __call__(self, row: Row) -> None:
        element = self.element(row)
        if element is None:
            return
        properties = map_of(self.context, self.value(row), self.value_place)
        properties = {k: storable(self.context, v, self.value_place) for k, v in properties.items()}
        if not self.add:
            for name in [name for name in element.properties if name not in properties]:
                self.graph.set_property(element, name, None)
        for name, value in properties.items():
            self.graph.set_property(element, name, value)


class _SetLabels(_Changing):
    def __init__(self, context: RowContext, item: SetLabels) -> None:
        super().__init__(context, item.variable, item.place)
        self.named = names_of(context, item.named)
        self.labels = [label.text for label in item.labels]

    def __call__(self, row: Row) -> None:
        element = self.element(row)
        if isinstance(element, NodeValue):
            self.graph.set_labels(element, self.labels + self.named(row), ())
        elif element is not None:
            message = "only a node has labels."
            raise problem(TypeProblem, self.context.text, self.place, message)


def remove(context: RowContext, clause: Remove, rows: Sequence[Row]) -> None:
    """REMOVE for each row."""
    compiled = context.evaluator.compiled
    parts = [
        (
            item,
            compiled(item.subject),
            names_of(context, [item.names] if isinstance(item, HasNamed) else []),
        )
        for item in clause.items
    ]
    for row in rows:
        for item, subject, named in parts:
            element = subject(row)
            if element is None or getattr(element, "deleted", False):
                continue
            if not isinstance(element, (NodeValue, RelationshipValue)):
                raise problem(
                    *(TypeProblem, context.text, item.place),
                    "only a node or a relationship has properties that can be removed.",
                )
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
                    raise problem(TypeProblem, context.text, item.place, "only a node has labels.")


# ---- DELETE ----------------------------------------------------------------------------------------


def delete(context: RowContext, clause: Delete, rows: Sequence[Row]) -> None:
    """DELETE for each row: nodes, relationships, all of a path, and what lists of them hold."""
    targets = [(target, context.evaluator.compiled(target)) for target in clause.targets]
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

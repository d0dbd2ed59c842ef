"""Conditions on one query vertex or edge: evaluated once over the store's columns, before matching (design.md §3).

Four kinds are taken: label tests of vertices (they join the pattern's labels), `id(a) = ...` and `id(a) IN ...`
(looked up in the id index, as is a property that holds the ids), `id(a) < ...` and the like, where ids are integers,
and everything that reads properties only. What could fail for an element that no match contains (a division) stays in
the tail, so that matching decides what is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.base.sql import exp, joined
from gdb.errors import QueryError
from gdb.functions.types import INTEGER
from gdb.imports import deferred
from gdb.language import syntax
from gdb.language.aggregation import is_aggregate
from gdb.language.canonical import canonical, conjunction
from gdb.language.existence import EdgeTest, with_edge
from gdb.language.name_resolution import elements, is_id, parameters
from gdb.language.scope import Scope, has_labels
from gdb.language.syntax import Comparator, Expression, children, walk
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.executor.conditions import masks
    from gdb.executor.relational.relational_tail import Value
    from gdb.language.element_columns import ElementColumns
else:
    masks = deferred("gdb.executor.conditions.masks")  # only orders of ids need it here

I64 = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_ORDERS: dict[str, masks.Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">="}


IdTerms = syntax.Parameter | tuple[syntax.Literal | syntax.Parameter, ...]
"""The constants that id(x) must be one of: a parameter that holds a list, or each by itself."""


@dataclass(slots=True)
class ElementConditions:
    """What was found for one element: on its id, on its properties, and of a vertex on its edges.

    answer : what passes those on its properties, once they were evaluated, i64[k] ascending.
    among : the groups that a vertex may be in, and their id spaces, once they were needed.
    mentioned : the parameters in those on its properties, once they were needed.
    """

    on_id: list[tuple[Expression, IdTerms]] = field(default_factory=list)
    on_properties: list[Expression] = field(default_factory=list)
    on_edges: list[EdgeTest] = field(default_factory=list)
    answer: I64 | None = None
    among: tuple[tuple[int, ...], tuple[str, ...]] | None = None
    mentioned: frozenset[str] | None = None

    def all(self) -> list[Expression]:
        """The conditions on its id, then those on its properties."""
        return [condition for condition, _ in self.on_id] + self.on_properties

    def names(self) -> frozenset[str]:
        """The parameters that they mention."""
        return frozenset(name for c in self.all() for name, _ in parameters(c))

    def with_values(self, changed: Set[str]) -> ElementConditions:
        """The conditions where the parameters named in `changed` have other values: those on properties that
        mention none of them keep their answer."""
        if not self.on_properties:
            return self
        if self.mentioned is None:
            self.mentioned = frozenset(n for c in self.on_properties for n, _ in parameters(c))
        answer = self.answer if self.mentioned.isdisjoint(changed) else None
        return replace(self, answer=answer)


def distribute(
    scope: Scope, conditions: Iterable[Expression]
) -> tuple[dict[syntax.ElementReference, ElementConditions], list[Expression]]:
    """Sort conditions into those of one element and the rest; label tests move into the scope's labels.

    conditions : resolved, outermost ANDs taken apart.
    """
    pushed: dict[syntax.ElementReference, ElementConditions] = {}
    rest: list[Expression] = []
    for condition in conditions:
        mentioned = elements(condition)
        only = next(iter(mentioned)) if len(mentioned) == 1 else None
        if only is None:
            rest.append(condition)
        elif isinstance(condition, syntax.HasLabels) and only.kind == "vertex":
            scope.vertices[only.index].labels += condition.labels
        elif (ids := _id_terms(scope, condition)) is not None:
            pushed.setdefault(only, ElementConditions()).on_id.append((condition, ids))
        elif _on_properties(condition) or _order_of_id(scope, condition) is not None:
            pushed.setdefault(only, ElementConditions()).on_properties.append(condition)
        else:
            rest.append(condition)
    return pushed, rest


def predicate(scope: Scope, conditions: ElementConditions) -> str:
    """The text by which alike vertices and edges are known: the conditions without the element's name."""
    texts = [canonical(condition, scope.parameters, lambda _: "") for condition in conditions.all()]
    return conjunction([*texts, *(test.text for test in conditions.on_edges)])


# ---- which conditions ----------------------------------------------------------------------------


def _on_properties(condition: Expression) -> bool:
    """Whether the columns of the element are enough to evaluate this, and nothing in it can fail."""
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        match part:
            case (
                syntax.Property(subject=syntax.ElementReference())
                | syntax.HasLabels(subject=syntax.ElementReference())
            ):
                continue
            case syntax.ElementReference():
                return False
            case syntax.Call(function=function, arguments=arguments):
                name = function.text.lower()
                if (
                    name == "type"
                    and arguments
                    and isinstance(arguments[0], syntax.ElementReference)
                ):
                    continue
                if is_aggregate(part):
                    return False
            case syntax.Arithmetic(rest=rest):
                if any(sign in "/%" and not _safe_divisor(right) for sign, right in rest):
                    return False
        waiting.extend(children(part))
    return True


def _safe_divisor(expression: Expression) -> bool:
    return isinstance(expression, syntax.Literal) and bool(expression.value)


def _id_terms(scope: Scope, condition: Expression) -> IdTerms | None:
    """What a condition compares an id with, if it is id(x) = constant or id(x) IN constants, or the same of a property
    that is the id."""
    match condition:
        case syntax.Comparison(operator=Comparator.EQUAL, left=left, right=right):
            constant = isinstance(left, (syntax.Literal, syntax.Parameter))
            subject, constant_side = (right, left) if constant else (left, right)
            values = (constant_side,)
        case syntax.In(item=subject, list=syntax.ListLiteral(items=values)):
            pass
        case syntax.In(item=subject, list=syntax.Parameter(name=name, place=place) as whole):
            value = scope.parameter(name, place)
            return whole if isinstance(value, (list, tuple)) and _is_id(scope, subject) else None
        case _:
            return None
    constants = tuple(
        part for part in values if isinstance(part, (syntax.Literal, syntax.Parameter))
    )
    if len(constants) < len(values) or not _is_id(scope, subject):
        return None
    for part in constants:
        if isinstance(part, syntax.Parameter):
            scope.parameter(part.name, part.place)  # it has a value
    return constants


def _order_of_id(scope: Scope, condition: Expression) -> tuple[masks.Operator, int | float] | None:
    """The order of integer ids and the number of a condition that is id(x) < constant, or another order; None where it
    is none."""
    if not isinstance(condition, syntax.Comparison) or condition.operator not in _ORDERS:
        return None
    subject, constant, operator = condition.left, condition.right, _ORDERS[condition.operator]
    if not is_id(subject):
        subject, constant, operator = constant, subject, masks.swapped(operator)
    value: object = None
    if isinstance(constant, syntax.Literal):
        value = constant.value
    elif isinstance(constant, syntax.Parameter):
        value = scope.parameter(constant.name, constant.place)
    if not is_id(subject) or not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    (element,) = elements(subject)
    return (operator, value) if _has_integer_ids(scope, element) else None


def _split_orders(
    scope: Scope, conditions: Sequence[Expression]
) -> tuple[list[tuple[masks.Operator, int | float]], list[Expression]]:
    """What some conditions say of the order of ids, and the other conditions."""
    found: list[tuple[masks.Operator, int | float]] = []
    rest = list[Expression]()
    for condition in conditions:
        order = _order_of_id(scope, condition)
        if order is None:
            rest.append(condition)
        else:
            found.append(order)
    return found, rest


def _has_integer_ids(scope: Scope, element: syntax.ElementReference) -> bool:
    try:
        return scope.id_type(element, element.place) == INTEGER
    except QueryError:  # some are numbers
        return False


def _is_id(scope: Scope, expression: Expression) -> bool:
    """id(x), or a property that holds the id of every vertex that x can be."""
    match expression:
        case syntax.Property(subject=syntax.ElementReference(kind="vertex", index=index), key=key):
            groups = scope.groups(index)
            return bool(groups) and all(scope.snapshot.is_id(k, key.text) for k in groups)
    return is_id(expression)


def still_on_ids(scope: Scope, conditions: ElementConditions) -> bool:
    """Whether what was a condition on an id in one snapshot is one in another: a property holds the ids until it is
    changed, or vertices with other values are added."""
    return all(_id_terms(scope, condition) is not None for condition, _ in conditions.on_id)


def _ids(terms: IdTerms, values: Mapping[str, Value]) -> tuple[int | str, ...]:
    """The ids that are admitted."""
    if isinstance(terms, syntax.Parameter):
        held = values[terms.name]
        return _usable(held if isinstance(held, (list, tuple)) else ())
    if len(terms) == 1 and isinstance(only := terms[0], syntax.Parameter):
        value = values[only.name]
        if type(value) is int:  # the usual case
            return (value,)
    return _usable([t.value if isinstance(t, syntax.Literal) else values[t.name] for t in terms])


def _usable(values: Sequence[object]) -> tuple[int | str, ...]:
    """The values that an id can equal: 5.0 is 5, and true, null and lists are no id."""
    found: list[int | str] = []
    for value in values:
        if isinstance(value, float) and value.is_integer():
            found.append(int(value))
        elif isinstance(value, (int, str)) and not isinstance(value, bool):
            found.append(value)
    return tuple(dict.fromkeys(found))


# ---- their answers -------------------------------------------------------------------------------


def allowed_vertices(
    scope: Scope,
    element: syntax.ElementReference,
    conditions: ElementConditions,
    values: Mapping[str, Value] | None = None,
) -> npt.NDArray[np.uint32]:
    """The vids that satisfy all conditions on a query vertex, u32[k] ascending.

    values : of the parameters, instead of the scope's.
    """
    if conditions.among is None:
        groups = scope.groups(element.index)
        names = (scope.snapshot.groups[group].id_space for group in groups)
        conditions.among = groups, tuple(dict.fromkeys(names))
    groups, spaces = conditions.among
    known = scope.parameters if values is None else values
    if not conditions.on_properties and not conditions.on_edges and len(conditions.on_id) == 1:
        return _with_id(scope, groups, spaces, _ids(conditions.on_id[0][1], known)).astype(
            np.uint32
        )
    parts: list[I64] = []
    for _, terms in conditions.on_id:
        parts.append(_with_id(scope, groups, spaces, _ids(terms, known)))
    if conditions.on_properties:
        if conditions.answer is None:
            scope = scope if values is None else scope.with_parameters(values)
            conditions.answer = _with_properties(scope, groups, conditions.on_properties)
        parts.append(conditions.answer)
    for test in conditions.on_edges:
        parts.append(with_edge(scope.snapshot, test))
    return (parts[0] if len(parts) == 1 else _common(parts)).astype(np.uint32)


def allowed_edges(
    scope: Scope,
    element: syntax.ElementReference,
    conditions: ElementConditions,
    values: Mapping[str, Value] | None = None,
) -> I64:
    """The edge ids that satisfy all conditions on a query edge, i64[k] ascending; values as `allowed_vertices`."""
    scope = scope if values is None else scope.with_parameters(values)
    count = scope.snapshot.edge_count
    parts: list[I64] = []
    for _, terms in conditions.on_id:
        ids = _ids(terms, scope.parameters)
        numbers = [value for value in ids if isinstance(value, int) and 0 <= value < count]
        parts.append(np.unique(np.array(numbers, np.int64)))
    if conditions.on_properties:
        if conditions.answer is None:
            conditions.answer = _edges_with_properties(scope, element, conditions.on_properties)
        parts.append(conditions.answer)
    return _common(parts)


def _common(parts: Sequence[I64]) -> I64:
    """What is in all of the ascending arrays, each looked up in the next larger."""
    if len(parts) == 1:
        return parts[0]
    found, *larger = sorted(parts, key=len)
    for part in larger:
        at = np.searchsorted(part, found)
        inside = at < len(part)
        inside[inside] = part[at[inside]] == found[inside]
        found = found[inside]
    return found


def _with_id(
    scope: Scope, groups: Sequence[int], spaces: Sequence[str], ids: tuple[int | str, ...]
) -> I64:
    """The vids of some ids in the id spaces of some groups, ascending."""
    snapshot = scope.snapshot
    if len(spaces) == 1:
        vids = snapshot.find_many(ids, spaces[0])
    else:
        found = [snapshot.find_many(ids, space) for space in spaces]
        vids = np.concatenate([np.zeros(0, np.int64), *found])
    if len(vids) > 1:
        vids = np.unique(vids)
    if len(vids) and vids[0] < 0:
        vids = vids[vids >= 0]
    if len(groups) == len(snapshot.groups):
        return vids
    return vids[np.isin(snapshot.groups_of(vids.astype(np.uint32)), groups)]


def _with_properties(scope: Scope, groups: Sequence[int], conditions: Sequence[Expression]) -> I64:
    """One evaluation for all groups that answer alike to every label test among the conditions."""
    from gdb.executor.conditions.predicates import (  # ids take none of it
        matching_vertices,
        tested_vertices,
    )
    from gdb.language.equalities import looked_up
    from gdb.language.masking import mask_test

    orders, rest = _split_orders(scope, conditions)
    if orders:
        found_by_id = _in_orders(scope, groups, orders)
        return (
            _common([found_by_id, _with_properties(scope, groups, rest)]) if rest else found_by_id
        )
    named = looked_up(scope, groups, conditions)
    if named is not None:
        return named

    tests = [part for c in conditions for part in walk(c) if isinstance(part, syntax.HasLabels)]
    classes: dict[tuple[bool, ...], list[int]] = {}
    for group in groups:
        names = scope.snapshot.groups[group].labels
        answers = tuple(has_labels(names, test.labels) for test in tests)
        classes.setdefault(answers, []).append(group)
    found = [np.zeros(0, np.int64)]
    for alike in classes.values() or [[]]:
        names = scope.snapshot.groups[alike[0]].labels if alike else ()
        test = mask_test(scope, conditions, names)
        if test is not None:
            found.append(tested_vertices(scope.snapshot, alike, test).astype(np.int64))
            continue
        columns, values, sql = _condition(scope, conditions, names, len(classes) > 1)
        vids = matching_vertices(scope.snapshot, alike, columns.keys, sql, values)
        found.append(vids.astype(np.int64))
    return found[1] if len(found) == 2 else np.sort(np.concatenate(found))


def _in_orders(
    scope: Scope, groups: Sequence[int], orders: Sequence[tuple[masks.Operator, int | float]]
) -> I64:
    """The vids in some groups whose ids pass tests, ascending."""
    from gdb.executor.relational.lookup import ids_by_vid  # here: only orders of ids need it

    ids, snapshot = ids_by_vid(scope.snapshot), scope.snapshot
    found = [np.zeros(0, np.int64)]
    for first, end in sorted(r for group in groups for r in snapshot.groups[group].ranges):
        found.append(np.flatnonzero(_in_all(orders, ids[first:end])) + first)
    return np.concatenate(found)


def _in_all(orders: Sequence[tuple[masks.Operator, int | float]], ids: I64) -> Flags:
    """Which ids compare so with all of some numbers."""
    tests = (masks.compare_with_number(sign, "int64", ids, number) for sign, number in orders)
    passed: Flags = np.logical_and.reduce([*tests])
    return passed


def _edges_with_properties(
    scope: Scope, element: syntax.ElementReference, conditions: Sequence[Expression]
) -> I64:
    """One evaluation for all types; one for each type where the conditions test the type."""
    # here: only conditions on properties need it
    from gdb.executor.conditions.predicates import matching_edges, tested_edges
    from gdb.language.masking import mask_test

    orders, rest = _split_orders(scope, conditions)
    if orders:
        eids = np.arange(scope.snapshot.edge_count, dtype=np.int64)
        passed = np.flatnonzero(_in_all(orders, eids))
        return _common([passed, _edges_with_properties(scope, element, rest)]) if rest else passed
    types = scope.types(element.index)
    asks = any(isinstance(p, (syntax.HasLabels, syntax.Call)) for c in conditions for p in walk(c))
    found = [np.zeros(0, np.int64)]
    for alike in [(name,) for name in types] if asks else [types]:
        test = mask_test(scope, conditions, alike)
        if test is not None:
            if alike:  # () would mean all types
                found.append(tested_edges(scope.snapshot, alike, test))
            continue
        columns, values, sql = _condition(scope, conditions, alike, asks)
        if alike:
            found.append(matching_edges(scope.snapshot, alike, columns.keys, sql, values))
    return found[1] if len(found) == 2 else np.sort(np.concatenate(found))


def _condition(
    scope: Scope, conditions: Sequence[Expression], names: tuple[str, ...], casts: bool
) -> tuple[ElementColumns, dict[str, Value], str]:
    """The conditions as one SELECT over the columns of one element, with its parameters."""
    from gdb.executor.conditions.predicates import asking
    from gdb.language.element_columns import ElementColumns, Parameters
    from gdb.language.translator import Translator

    values = Parameters()
    columns = ElementColumns(scope, values, names, casts)
    translator = Translator(scope, columns, values)
    parts = [translator.condition(condition) for condition in conditions]
    sql = asking(joined(exp.And, parts))
    return columns, values.used(sql), sql

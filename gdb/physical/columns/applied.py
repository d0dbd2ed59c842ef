"""CALL { } of a chain, for all rows at once: the rows are numbered, the operators of the subquery run over all of them,
each keeping the number of the row that it works for (`Per`), and what they make is joined with the rows by it.

Within a subquery groups, repetitions, SKIP and LIMIT are those of the rows of one number; an aggregate without keys
makes a row of each number, also of one that has no rows left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import (
    aliased,
    column_of,
    equal,
    exp,
    left_joined,
    rows_of,
    value_of,
)
from gdb.functions.types import NODE, NULL, Type
from gdb.language.scope import ScopeVertex
from gdb.language.syntax import ElementReference
from gdb.logical import operators
from gdb.physical.columns.relation import UNIT, Builder, Held, Per, Relation, select_columns
from gdb.physical.columns.unions import distinct, union_of
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.sql import Part
    from gdb.language.syntax import Place
    from gdb.logical.needed_properties import Demand
    from gdb.logical.operators import Apply, Argument, Plan


def compile_apply(
    builder: Builder, relation: Relation, operator: Apply, demand: Demand
) -> Relation:
    """Each row with those that a subquery makes of it; where it sees nothing of the rows it runs once. The rows of one
    row keep their order; behind rows in no order that of an ORDER BY.

    Raises
    ------
    QueryError : it is not for columns.
    """
    plan, place = operator.plan, builder.reached
    if not operator.returns:
        raise builder.refuse(operator.place, "a CALL { } without RETURN is")
    per, number = None, ""
    if operator.sees:
        relation, number = builder.numbered(builder.expanded(relation))
        seen = {name: relation.names[name] for name in operator.sees}
        per = Per(number, relation.table, seen)
    inner = rows_of_all(builder, plan, per)
    builder.reached = place
    if not demand.ordered:
        inner = inner.unordered()
    elif inner.order and not relation.order and relation.source is not None:
        if any(isinstance(one, operators.Sort) for side in plan.sides for one in side):
            if not number:
                relation, number = builder.numbered(relation)
            relation = replace(relation, order=(number,))
        else:
            inner = inner.unordered()
    rows: exp.Query | exp.Expr = inner.from_
    if operator.optional:
        inner, rows = _own_columns(builder, relation, inner, operator.brings)
    columns = [c for c in inner.columns if c not in relation.columns]
    on: exp.Expr = value_of(True)
    if operator.sees:
        other = builder.fresh("n")
        rows = select_columns([*columns, aliased(number, other)], rows)
        on = equal(number, other)
    new = {name: inner.names[name] for name in operator.brings}
    names = {**relation.names, **{name: replace(held, origin=None) for name, held in new.items()}}
    every = [*relation.columns, *columns]
    if operator.optional:
        sql = select_columns(every, left_joined(relation.from_, [(rows, on)]))
    else:
        sql = select_columns(every, relation.from_, rows, where=[on] if operator.sees else [])
    found = replace(relation, source=sql, names=names)
    order = (*found.order, *inner.order)
    return replace(found, hidden=(*found.hidden, *inner.order), order=order)


def _own_columns(
    builder: Builder, relation: Relation, inner: Relation, brings: Sequence[str]
) -> tuple[Relation, exp.Expr]:
    """The rows of an OPTIONAL CALL, and them as an operand of FROM: what they bring of the rows that they were made of
    (`RETURN a AS v`) gets columns of its own, and an element of its own, for it is null where the subquery has no row.
    """
    of_rows = relation.columns
    columns: list[Part] = [*inner.columns]
    elements = {h.element for h in relation.names.values() if h.element is not None}
    names = dict(inner.names)
    for name in brings:
        held = names[name]
        element = held.element
        if element is not None and element in elements:
            element = builder.another(element)
        elif held.column not in of_rows:
            continue
        column = builder.fresh("e")
        columns.append(aliased(column_of(held.column), column))
        names[name] = replace(held, column=column, element=element, origin=None, stored={})
    if len(columns) == len(inner.columns):
        return inner, inner.from_
    source = select_columns(columns, inner.from_)
    return replace(inner, source=source, names=names), rows_of(source)


def rows_of_all(builder: Builder, plan: Plan, per: Per | None) -> Relation:
    """The rows that a plan makes of all rows that a subquery runs for; None: it sees none, and runs once."""
    start = UNIT if per is None else Relation(per.table, per.names, per=per)
    names, whole = plan.names if plan.returns else (), builder.whole
    with builder.asking():
        sides = [builder.made_of(side, names, start) for side in plan.sides]
    if per is not None:  # of some rows it makes what it makes of them, whichever they are
        builder.whole = whole
    return sides[0] if len(sides) == 1 else _united(builder, plan, sides)


def _united(builder: Builder, plan: Plan, sides: Sequence[Relation]) -> Relation:
    """The rows of the sides of UNION, whose nodes are elements of their own."""
    names, place = plan.names, plan.sides[1][0].place
    union, types = union_of(builder, plan, sides)
    held = {}
    for name, type_ in zip(names, types, strict=True):
        held[name] = _held(builder, union.names[name].column, name, type_, place)
    union = replace(union, names=held)
    if all(plan.all):
        return union
    return distinct(builder, union, operators.Distinct(names, place))


def _held(builder: Builder, column: str, name: str, type_: Type, place: Place) -> Held:
    if type_ == NULL or type_.kind not in (NODE.kind,):
        return Held(column, type_)
    element = ElementReference("vertex", len(builder.scope.vertices), place)
    builder.scope.vertices.append(ScopeVertex(name, place, []))
    return Held(column, NODE, element)


def compile_argument(builder: Builder, relation: Relation, operator: Argument) -> Relation:
    """The rows with names of the row that each works for."""
    per = relation.per
    if per is None:
        raise builder.refuse(operator.place, "Argument is")
    new = {name: per.names[name] for name in operator.names if name not in relation.names}
    there = {*relation.columns}
    columns = [c for held in new.values() for c in (held.column, *held.stored.values())]
    fresh = [c for c in dict.fromkeys(columns) if c not in there]
    other = builder.fresh("n")
    rows = select_columns([*fresh, aliased(per.column, other)], per.table)
    on = equal(per.column, other)
    sql = select_columns([*relation.columns, *fresh], relation.from_, rows, where=[on])
    return replace(relation, source=sql, names={**relation.names, **new})

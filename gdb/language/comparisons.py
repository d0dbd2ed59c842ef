"""Comparisons and IN with Cypher's three-valued logic, as SQL.

Unlike types: = is false, <> true, and an order null (openCypher 9, "Comparability and equality"). DuckDB calls NaN
equal to itself and larger than every number, Cypher neither: there is a guard wherever that would show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import call, cast, chosen, exp, is_null, joined, negated, operand
from gdb.functions.sql_pieces import all_of, compared, null_where, number
from gdb.functions.types import BOOLEAN, NUMBERS, SCALARS, Type, Typed, TypeName, alike, type_of
from gdb.language.syntax import Comparator

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value

_NODES = {
    Comparator.EQUAL: "EQ",
    Comparator.UNEQUAL: "NEQ",
    Comparator.LESS: "LT",
    Comparator.LESS_EQUAL: "LTE",
    Comparator.GREATER: "GT",
    Comparator.GREATER_EQUAL: "GTE",
}
_LEAST = -(1 << 63)
_EXACT = 1 << 53  # whole numbers below this are floats, and no others are rounded to them


def null() -> Typed:
    """Null where a boolean is wanted."""
    return Typed(exp.Null(), BOOLEAN)


def compare(operator: Comparator, left: Typed, right: Typed) -> Typed:
    """left operator right; neither is a list."""
    if left.is_null or right.is_null:
        return null()
    equality = operator in (Comparator.EQUAL, Comparator.UNEQUAL)
    if not alike(left.kind, right.kind, equality):
        if operator is Comparator.EQUAL:
            return Typed(null_where([left.sql, right.sql], exp.false()), BOOLEAN)
        if operator is Comparator.UNEQUAL:
            return Typed(null_where([left.sql, right.sql], exp.true()), BOOLEAN)
        return null()
    node = _node(operator, left.sql, right.sql)
    if {left.kind, right.kind} == set(NUMBERS) and not (_is_exact(left) or _is_exact(right)):
        node = _exactly(operator, left, right, node)
        if operator is Comparator.EQUAL:
            return Typed(node, BOOLEAN)
    return Typed(_guarded(operator, left, right, node), BOOLEAN)


def _node(operator: Comparator, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    node: type[exp.Binary] = getattr(exp, _NODES[operator])
    return node(this=operand(left), expression=operand(right))


def _is_exact(side: Typed) -> bool:
    """Whether a constant is so small that rounding what it is compared with to a float changes nothing."""
    value = side.constant.value if side.constant else None
    return isinstance(value, (int, float)) and abs(value) < _EXACT


def _exactly(operator: Comparator, left: Typed, right: Typed, node: exp.Expr) -> exp.Expr:
    """The comparison of a whole number with a float, which DuckDB rounds the whole number to: where that makes them
    equal, both are compared as whole numbers. An equality is two, by which DuckDB can join with a hash table: it is
    false for NaN too, and null beside null."""
    whole, other = (left, right) if left.kind is TypeName.INTEGER else (right, left)
    same = _node(Comparator.EQUAL, cast(whole.sql.copy(), "DOUBLE"), other.sql.copy())
    huge = [cast(side.sql.copy(), "HUGEINT", attempt=side is other) for side in (left, right)]
    if operator is Comparator.EQUAL:
        return all_of(same, _node(operator, *huge))
    return exp.Case(ifs=[exp.If(this=same, true=_node(operator, *huge))], default=node)


def _guarded(operator: Comparator, left: Typed, right: Typed, node: exp.Expr) -> exp.Expr:
    """The comparison, right for NaN as well."""
    if _never_nan(left) and _never_nan(right):
        return node
    match operator:
        case Comparator.EQUAL | Comparator.UNEQUAL:
            if _known_number(left) or _known_number(right):
                return node
            suspect = right if _never_nan(left) else left
        case Comparator.LESS | Comparator.LESS_EQUAL:
            suspect = right
        case _:
            suspect = left
    if _never_nan(suspect):
        return node
    other = left if suspect is right else right
    nan = call("isnan", suspect.sql.copy())
    if other.constant is None:  # beside null a NaN is null as well
        there = exp.Not(this=is_null(other.sql.copy()))
        answer = exp.true() if operator is Comparator.UNEQUAL else exp.false()
        test = exp.And(this=nan, expression=there)
        if operator is Comparator.EQUAL:  # by which DuckDB can join with a hash table
            return all_of(node, negated(test))
        return exp.Case(ifs=[exp.If(this=test, true=answer)], default=node)
    if operator is Comparator.UNEQUAL:
        return exp.Or(this=operand(node), expression=nan)
    return exp.And(this=operand(node), expression=negated(nan))


def _never_nan(side: Typed) -> bool:
    return side.kind is not TypeName.FLOAT or _known_number(side)


def _known_number(side: Typed) -> bool:
    """A constant that is not NaN: NaN is no more equal to it in DuckDB than in Cypher."""
    value = side.constant.value if side.constant else None
    return isinstance(value, (int, float)) and not math.isnan(value)


# ---- IN -----------------------------------------------------------------------------------------


def within_values(
    item: Typed, values: Sequence[Value], parameter: Callable[[Value, Type], exp.Expr]
) -> Typed:
    """item IN a list of constants, handed to DuckDB as one parameter (so that it can build a hash table)."""
    if not values:
        return Typed(exp.false(), BOOLEAN)
    if item.is_null:
        return null()
    same = [found for value in values for found in _as_kind(item.kind, value)]
    missing = any(value is None for value in values)
    if not same:
        return null() if missing else Typed(null_where([item.sql], exp.false()), BOOLEAN)
    type_ = type_of([*same, None] if missing else same)
    assert type_ is not None
    values_parameter = parameter([*same, None] if missing else same, type_)
    query = exp.Subquery(this=exp.Select(expressions=[call("unnest", values_parameter)]))
    return Typed(exp.In(this=operand(item.sql), query=query), BOOLEAN)


def _as_kind(kind: TypeName, value: Value) -> list[Value]:
    """The value of this kind that is equal to a constant, if there is one: 2.0 is 2, and 2**53 + 1 no float."""
    type_ = None if value is None else type_of(value)
    if type_ is None or type_.kind not in SCALARS or not alike(kind, type_.kind, True):
        return []
    if isinstance(value, float):
        if math.isnan(value):
            return []
        if kind is TypeName.INTEGER:
            whole = int(value) if math.isfinite(value) and value == int(value) else None
            return [] if whole is None or not _LEAST <= whole < -_LEAST else [whole]
    elif kind is TypeName.FLOAT and isinstance(value, int):
        return [float(value)] if float(value) == value else []
    return [value]


def any_of(tests: Sequence[Typed]) -> Typed:
    """Whether one of several tests is true."""
    return Typed(joined(exp.Or, [test.sql for test in tests]), BOOLEAN)


def within(item: Typed, items: Typed) -> exp.Expr:
    """item IN a list that is a column or computed, and may hold nulls."""
    held = items.type.item
    assert held is not None
    empty = compared(exp.EQ, call("len", items.sql.copy()), number(0))
    branches = [(is_null(items.sql.copy()), exp.Null()), (empty, exp.false())]
    if item.is_null or held is TypeName.NULL:
        return chosen(*branches, default=exp.Null())
    branches.append((is_null(item.sql.copy()), exp.Null()))
    if alike(item.kind, held, True):
        branches.append((_listed(item, items, held), exp.true()))
    fewer = compared(exp.LT, call("list_count", items.sql.copy()), call("len", items.sql.copy()))
    return chosen(*branches, (fewer, exp.Null()), default=exp.false())


def _listed(item: Typed, items: Typed, kind: TypeName) -> exp.Expr:
    """Whether the list contains the item, of a kind like its own: a number as the list's kind of number, where there is
    one that equals it."""
    if item.kind is TypeName.INTEGER and kind is TypeName.FLOAT:
        near = cast(item.sql.copy(), "DOUBLE")
        same = compared(exp.EQ, cast(near, "HUGEINT"), cast(item.sql.copy(), "HUGEINT"))
        there = call("list_contains", items.sql.copy(), near.copy())
    elif item.kind is TypeName.FLOAT and kind is TypeName.INTEGER:
        whole = cast(item.sql.copy(), "BIGINT", attempt=True)
        same = all_of(
            compared(exp.EQ, call("trunc", item.sql.copy()), item.sql),
            compared(exp.LT, call("abs", item.sql.copy()), number(-float(_LEAST))),
        )
        there = call("list_contains", items.sql.copy(), whole)
    else:
        there = call("list_contains", items.sql.copy(), item.sql.copy())
        if _never_nan(item):
            return there
        same = negated(call("isnan", item.sql.copy()))
    return chosen((same, there), default=exp.false())

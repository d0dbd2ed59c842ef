"""Comparisons and IN with Cypher's three-valued logic, as SQL.

Unlike types: = is false, <> true, and an order null (openCypher 9, "Comparability and equality"). DuckDB calls NaN
equal to itself and larger than every number, Cypher neither: a guard stands wherever that would show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gdb.language.syntax import Comparator
from gdb.language.types import (
    BOOLEAN,
    NUMBERS,
    SCALARS,
    Kind,
    Type,
    Typed,
    call,
    cast,
    is_null,
    joined,
    negated,
    null_or_false,
    null_or_true,
    operand,
    type_of,
)

if TYPE_CHECKING:
    from gdb.executor.tail import Value

_NODES: dict[Comparator, type[exp.Binary]] = {
    Comparator.EQUAL: exp.EQ,
    Comparator.UNEQUAL: exp.NEQ,
    Comparator.LESS: exp.LT,
    Comparator.LESS_EQUAL: exp.LTE,
    Comparator.GREATER: exp.GT,
    Comparator.GREATER_EQUAL: exp.GTE,
}

_EXACT = 1 << 53  # whole numbers up to this are floats


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
            return Typed(null_or_false(left.sql, right.sql), BOOLEAN)
        if operator is Comparator.UNEQUAL:
            return Typed(null_or_true(left.sql, right.sql), BOOLEAN)
        return null()
    node = _node(operator, left.sql, right.sql)
    if {left.kind, right.kind} == set(NUMBERS) and not (_is_exact(left) or _is_exact(right)):
        node = _exactly(operator, left, right, node)
    return Typed(_guarded(operator, left, right, node), BOOLEAN)


def _node(operator: Comparator, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return _NODES[operator](this=operand(left), expression=operand(right))


def _is_exact(side: Typed) -> bool:
    """Whether a constant is so small that rounding what it is compared with to a float changes nothing."""
    value = side.constant.value if side.constant else None
    return isinstance(value, (int, float)) and abs(value) <= _EXACT


def _exactly(operator: Comparator, left: Typed, right: Typed, node: exp.Expr) -> exp.Expr:
    """The comparison of a whole number with a float, which DuckDB rounds the whole number to: where that makes them
    equal, both are compared as whole numbers."""
    whole, other = (left, right) if left.kind is Kind.INTEGER else (right, left)
    same = _node(Comparator.EQUAL, cast(whole.sql.copy(), "DOUBLE"), other.sql.copy())
    huge = [cast(side.sql.copy(), "HUGEINT", attempt=side is other) for side in (left, right)]
    return exp.Case(ifs=[exp.If(this=same, true=_node(operator, *huge))], default=node)


def alike(left: Kind, right: Kind, equality: bool) -> bool:
    """Whether values of two kinds can be compared: for equality, or for order."""
    if left in NUMBERS and right in NUMBERS:
        return True
    return left is right and (equality or left in SCALARS)


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
        return exp.Case(ifs=[exp.If(this=test, true=answer)], default=node)
    if operator is Comparator.UNEQUAL:
        return exp.Or(this=operand(node), expression=nan)
    return exp.And(this=operand(node), expression=negated(nan))


def _never_nan(side: Typed) -> bool:
    return side.kind is not Kind.FLOAT or _known_number(side)


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
    same = [value for value in values if value is not None and _alike_value(item.kind, value)]
    same = [value for value in same if not (isinstance(value, float) and math.isnan(value))]
    missing = any(value is None for value in values)
    if not same:
        return null() if missing else Typed(null_or_false(item.sql), BOOLEAN)
    type_ = type_of([*same, None] if missing else same)
    assert type_ is not None
    given = parameter([*same, None] if missing else same, type_)
    query = exp.Subquery(this=exp.Select(expressions=[call("unnest", given)]))
    return Typed(exp.In(this=operand(item.sql), query=query), BOOLEAN)


def _alike_value(kind: Kind, value: Value) -> bool:
    type_ = type_of(value)
    return type_ is not None and type_.kind in SCALARS and alike(kind, type_.kind, True)


def within_list(item: Typed, items: Typed) -> Typed:
    """item IN a list that is computed or a property; such lists hold no nulls."""
    if items.is_null:
        return null()
    assert items.type.item is not None
    empty = exp.EQ(this=call("len", items.sql.copy()), expression=exp.Literal.number(0))
    found: exp.Expr = call("list_contains", items.sql.copy(), item.sql)
    if not _never_nan(item):
        nan = call("isnan", item.sql.copy())
        found = exp.And(this=found, expression=negated(nan))
    if item.is_null:
        found = exp.Null()
    elif not alike(item.kind, items.type.item, True):
        found = null_or_false(item.sql, items.sql)
    return Typed(exp.Case(ifs=[exp.If(this=empty, true=exp.false())], default=found), BOOLEAN)


def any_of(tests: Sequence[Typed]) -> Typed:
    """Whether one of several tests is true."""
    return Typed(joined(exp.Or, [test.sql for test in tests]), BOOLEAN)

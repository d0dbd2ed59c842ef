"""Pieces of SQL that the rows of the registry and the translation of expressions are written in."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.base.sql import call, cast, chosen, exp, is_null, joined, operand
from gdb.functions.types import Type, Typed, TypeName, sql_type

LONGEST_LIST = 10_000
"""What a list of range() may go through in SQL: DuckDB makes those of 2,048 rows at once, and no budget counts them."""


def number(value: int | float) -> exp.Expr:
    """A number, as a literal of its type."""
    if isinstance(value, float):
        return cast(string(repr(value)), "DOUBLE")
    return exp.Literal.number(value)


def string(value: str) -> exp.Expr:
    """A string literal, quoted by sqlglot."""
    return exp.Literal.string(value)


def compared(node: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """left node right, of copies."""
    return node(this=operand(left.copy()), expression=operand(right.copy()))


def all_of(*tests: exp.Expr) -> exp.Expr:
    """The conjunction of the tests."""
    return joined(exp.And, tests)


def null_where(values: Sequence[exp.Expr], sql: exp.Expr) -> exp.Expr:
    """The value, null where one of some values is."""
    test = joined(exp.Or, [is_null(value.copy()) for value in values])
    return chosen((test, exp.Null()), default=sql)


def strict_kind(values: Sequence[Typed]) -> TypeName | None:
    """The kind of all values but nulls; NULL for none, None where there are several: an integer is no float."""
    kinds = {value.kind for value in values if not value.is_null}
    if len(kinds) > 1:
        return None
    return kinds.pop() if kinds else TypeName.NULL


def or_nothing(type_: Type) -> exp.Expr:
    """An empty list of a type."""
    return cast(exp.Array(expressions=[]), sql_type(type_))


def item_at(values: exp.Expr, index: exp.Expr) -> exp.Expr:
    """values[index], counted from 0, from the end where negative; null outside."""
    low = compared(exp.GTE, index, number(0))
    after = exp.Add(this=operand(index.copy()), expression=number(1))
    return call("list_extract", values, chosen((low, after), default=index.copy()))


def slice_of(values: exp.Expr, start: exp.Expr | None, stop: exp.Expr | None) -> exp.Expr:
    """values[start..stop], counted from 0, from the end where negative; null where one of them is."""
    size = call("len", values.copy())
    bounds = [bound for bound in (start, stop) if bound is not None]
    first = number(0) if start is None else _from_front(start, size)
    last = size.copy() if stop is None else _from_front(stop, size)
    begin = exp.Add(this=operand(first), expression=number(1))
    cut = call("list_slice", values.copy(), begin, last)
    return null_where([values, *bounds], cut)


def _from_front(bound: exp.Expr, size: exp.Expr) -> exp.Expr:
    """The place from the front, at least 0, of a bound that may count from the end."""
    behind = exp.Add(this=operand(bound.copy()), expression=size.copy())
    negative = compared(exp.LT, bound, number(0))
    return call("greatest", chosen((negative, behind), default=bound.copy()), number(0))

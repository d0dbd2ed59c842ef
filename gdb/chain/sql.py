"""Pieces of SQL that a chain is written in."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from gdb.language.types import Kind, Typed, call, is_null, operand


def chosen(text: str) -> exp.Expr:
    """A text of ours that DuckDB reads as it is."""
    return exp.Var(this=text)


def number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def guarded(test: exp.Expr, sql: exp.Expr) -> exp.Expr:
    """The value where the test is true or null; else an error, after which the query runs over rows."""
    stop = exp.If(this=exp.Not(this=operand(test)), true=call("error", exp.Literal.string("rows")))
    return exp.Case(ifs=[stop], default=sql)


def null_where(values: Sequence[exp.Expr], sql: exp.Expr) -> exp.Expr:
    """The value, null where one of some values is."""
    test = is_null(values[0].copy())
    for value in values[1:]:
        test = exp.Or(this=test, expression=is_null(value.copy()))
    return exp.Case(ifs=[exp.If(this=test, true=exp.Null())], default=sql)


def strict_kind(values: Sequence[Typed]) -> Kind | None:
    """The kind of all values but nulls; NULL for none, None where there are several."""
    kinds = {value.kind for value in values if not value.is_null}
    if len(kinds) > 1:
        return None
    return kinds.pop() if kinds else Kind.NULL

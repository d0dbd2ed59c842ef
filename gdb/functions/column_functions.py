"""A function or an aggregate over columns: the SQL of its row where that is exact, its Python definition else."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.base.sql import chosen, exp
from gdb.functions.function import AggregateFunction, Function, Guarded
from gdb.functions.python_definitions import of_row
from gdb.functions.types import NULL, Typed


def apply_function(row: Function, arguments: Sequence[Typed]) -> Typed | None:
    """A function of some arguments; None where it is not for columns of these types.

    Where the SQL holds for some values alone, the others are given to Python, row by row.
    """
    if row.strict and any(argument.is_null for argument in arguments):
        return Typed(exp.Null(), NULL)
    made = row.sql(*_again(arguments)) if row.sql is not None else None
    if isinstance(made, Typed):
        return made
    if made is None:
        return of_row(row, arguments) if row.strict else None
    return _guarded(row, arguments, made)


def _guarded(row: Function, arguments: Sequence[Typed], guarded: Guarded) -> Typed | None:
    other = of_row(row, _again(arguments), guarded.value.type)
    if other is None:
        return None
    sql = chosen((guarded.test, guarded.value.sql), default=other.sql)  # which is null of null
    return Typed(sql, guarded.value.type)


def apply_aggregate(
    row: AggregateFunction, arguments: Sequence[Typed], distinct: bool
) -> Typed | None:
    """An aggregate of some arguments; None where it is not for columns of these types."""
    if row.sql is None or len(arguments) < row.signature.least:
        return None
    value, *more = arguments
    return row.sql(value, distinct, *more)


def _again(arguments: Sequence[Typed]) -> list[Typed]:
    """The arguments once more: an SQL node has one parent."""
    return [Typed(one.sql.copy(), one.type, one.constant) for one in arguments]

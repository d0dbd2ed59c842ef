"""Standard deviations and percentiles as SQL: DuckDB gathers, sorts and adds up the values, Python gets a few numbers
of each group.

Every step is that of the Python definition. A sum of floats is exact, rounded once: each float is cut into whole
numbers of `_BITS` bits, whose sums are floats without any rounding, in every order. What is left of those that have
bits behind the last cut is gathered in a list for Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from gdb.base.sql import between, call, cast, chosen, column_of, equal, exp, over_items
from gdb.functions.python_definitions import call_python
from gdb.functions.sql_arithmetic import as_float
from gdb.functions.sql_pieces import all_of, compared, number
from gdb.functions.types import FLOAT, Type, Typed, TypeName, sql_type
from gdb.imports import deferred

if TYPE_CHECKING:
    from gdb.base.values import aggregates
    from gdb.base.values.kinds import Value
else:
    aggregates = deferred("gdb.base.values.aggregates")

_BITS, _CUTS = 24, 5
_MOST = 1 << 26
"""Values of a group: the sums of so many cuts of numbers below 4 are whole numbers below 2**53."""
_LEAST, _LARGEST = 2.0**-900, 2.0**900
_SUMS = "DOUBLE[]", "DOUBLE[]"
_EXTREMES = ("DOUBLE", "DOUBLE")


# ---- exact sums ------------------------------------------------------------------------------------


def _bound(name: str, value: exp.Expr, body: exp.Expr) -> exp.Expr:
    """The body, in which a name means a value, which is computed once."""
    made = call("list_transform", exp.Array(expressions=[value]), over_items(name, body))
    return call("list_extract", made, number(1))


def _each(values: exp.Expr, item: str, body: exp.Expr) -> exp.Expr:
    return call("list_transform", values, over_items(item, body))


def _times(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Mul(this=left, expression=right))


def _less(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=left, expression=right))


def _cut_sums(values: exp.Expr) -> list[exp.Expr]:
    """The list of the sums of the cuts of a list of floats below 4, and those that have bits behind the last cut."""
    item = column_of("e1")

    def scaled(cut: int) -> exp.Expr:
        return _times(item, number(2.0 ** (_BITS * cut)))

    def whole(cut: int) -> exp.Expr:
        return call("trunc", scaled(cut))

    sums = list[exp.Expr]()
    for cut in range(1, _CUTS + 1):
        of = whole(cut)
        if cut > 1:
            of = _less(of, _times(whole(cut - 1), number(2.0**_BITS)))
        sums.append(call("list_sum", _each(values, "e1", of)))
    longer = compared(exp.NEQ, whole(_CUTS), scaled(_CUTS))
    rests = call("list_filter", values, over_items("e1", longer))
    return [exp.Array(expressions=sums), rests]


def _total(sums: list[float], longer: list[float]) -> float:
    """What was cut, as one float, rounded once."""
    units = [2.0 ** -(_BITS * cut) for cut in range(1, _CUTS + 1)]
    parts = (of * unit for of, unit in zip(sums, units, strict=True))
    rests = (one - math.trunc(one / units[-1]) * units[-1] for one in longer)
    return math.fsum(chain(parts, rests))


# ---- deviations ------------------------------------------------------------------------------------


def _factor(least: float, most: float) -> float:
    """A power of two that brings all values below 1; 0.0 where one of them is not finite, or too large or small for
    no step to leave the floats."""
    largest = max(abs(least), abs(most))
    if not math.isfinite(most) or (largest and not _LEAST < largest < _LARGEST):
        return 0.0  # a NaN is the last of all
    return math.ldexp(1.0, -math.frexp(largest)[1])


def _mean(sums: list[float], longer: list[float], count: int) -> float:
    return _total(sums, longer) / count


def _root(less: int) -> Callable[[list[float], list[float], int, float], float]:
    def root(sums: list[float], longer: list[float], count: int, factor: float) -> float:
        return math.sqrt(_total(sums, longer) / (count - less)) / factor

    return root


def deviation(
    name: str,
    less: int,
    value: Typed,
    values: exp.Expr,
    of_list: Callable[[list[Value]], Value],
) -> Typed:
    """The root of the sum of squared distances from the mean, over n - less. values : those of a group, as a list of
    floats. of_list : the Python definition, for what no float holds on the way."""
    floats = as_float(Typed(value.sql.copy(), value.type))
    extremes = [call(of, floats.copy()) for of in ("min", "max")]
    factor = call_python("deviation_factor", _factor, _EXTREMES, "DOUBLE", extremes)
    takes = (*_SUMS, "BIGINT")
    small = _each(values, "e1", _times(column_of("e1"), column_of("f1")))
    summed = [*_cut_sums(column_of("l1")), call("len", column_of("l1"))]
    mean = call_python("deviation_mean", _mean, takes, "DOUBLE", summed)
    distance = _less(column_of("e1"), column_of("m1"))
    squares = _each(column_of("l1"), "e1", _times(distance, distance.copy()))
    given = [*_cut_sums(column_of("l2")), call("len", column_of("l2")), column_of("f1")]
    found = call_python(f"{name}_root", _root(less), (*takes, "DOUBLE"), "DOUBLE", given)
    bound = (("l2", squares), ("m1", mean), ("l1", small), ("f1", factor.copy()))
    for inner, one in bound:
        found = _bound(inner, one, found)
    few = compared(exp.LT, call("len", values), number(2))
    fits = all_of(
        compared(exp.GT, factor, number(0.0)), compared(exp.LT, call("len", values), number(_MOST))
    )
    other = call_python(f"{name}_of_list", of_list, ("DOUBLE[]",), "DOUBLE", (values,))
    return Typed(chosen((few, number(0.0)), (fits, found), default=other), FLOAT)


def _list_of(value: Typed) -> str:
    return sql_type(Type(TypeName.LIST, value.kind))


# ---- percentiles -----------------------------------------------------------------------------------


def _interpolated(values: list[float], part: float, zero: float | None) -> float:
    """Between the first and the second value. zero : a zero of the group, with its sign."""
    low, high = values[0], values[-1]
    if zero is not None:
        low, high = low or zero, high or zero
    return aggregates.interpolated(low, high, part)


def percentile(
    name: str,
    between_two: bool,
    value: Typed,
    values: exp.Expr,
    fraction: Typed,
    of_list: Callable[[list[Value], Value, int], Value],
) -> Typed:
    """The value at a fraction of the sorted list of a group; null of none. of_list : the Python definition, of the
    list, the fraction and the number of rows, which refuses a fraction that is not from 0 to 1."""
    result = FLOAT if between_two else value.type
    part = as_float(Typed(fraction.sql.copy(), fraction.type))
    ordered, count = call("list_sort", values), call("len", values)
    # the keys that DuckDB sorts by have lost the sign of a zero
    zero: exp.Expr = cast(exp.Null(), "DOUBLE")
    if value.kind is TypeName.FLOAT:
        is_zero = exp.Where(this=equal(value.sql.copy(), number(0.0)))
        zero = exp.Filter(this=call("any_value", value.sql.copy()), expression=is_zero)
    if between_two:
        at = _times(part, cast(_less(count, number(1)), "DOUBLE"))
        first = exp.Add(this=cast(call("floor", at), "BIGINT"), expression=number(1))
        last = exp.Add(this=cast(call("ceil", at), "BIGINT"), expression=number(1))
        found = call_python(
            f"percentile_between_{value.kind.name}",
            _interpolated,
            (_list_of(value), "DOUBLE", "DOUBLE"),
            "DOUBLE",
            (call("list_slice", ordered, first, last), _less(at, call("floor", at)), zero),
            nulls=True,
        )
    else:
        rank = cast(call("ceil", _times(part, cast(count, "DOUBLE"))), "BIGINT")
        found = call("list_extract", ordered, call("greatest", rank, number(1)))
        if value.kind is TypeName.FLOAT:
            found = call("coalesce", call("nullif", found, number(0.0)), zero)
    takes = (_list_of(value), sql_type(fraction.type), "BIGINT")
    other = call_python(
        f"{name}_{value.kind.name}_{fraction.kind.name}",
        of_list,
        takes,
        sql_type(result),
        (values, fraction.sql, exp.Count(this=exp.Star())),
    )
    fits = between(part, number(0.0), number(1.0))
    none = compared(exp.EQ, count, number(0))
    if between_two:
        return Typed(chosen((all_of(fits, none), exp.Null()), (fits, found), default=other), result)
    return Typed(chosen((fits, found), default=other), result)

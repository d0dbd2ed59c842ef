"""The aggregates: what gathers the values of a group's rows. Null is left out of all of them.

The sum of floats is exact, rounded once, so that no order of rows and no way of running shows in it. In SQL a float is
taken apart into three whole numbers, which are added up without any rounding; what does not fit into these is gathered
in a list for Python. Deviations and percentiles are in `sql_spread.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from gdb.base.sql import call, cast, chosen, exp, is_null, negated
from gdb.executor.relational.python_functions import NOT_IN_COLUMNS
from gdb.functions import types
from gdb.functions.function import AggregateFunction, GatheredSql, aggregate
from gdb.functions.python_definitions import call_python
from gdb.functions.sql_pieces import all_of, compared, number, or_nothing
from gdb.functions.types import Type, Typed, TypeName, sql_type
from gdb.imports import deferred

if TYPE_CHECKING:
    from gdb.base.values import aggregates
    from gdb.base.values.kinds import Value
    from gdb.functions import sql_spread
else:
    aggregates = deferred("gdb.base.values.aggregates")
    sql_spread = deferred("gdb.functions.sql_spread")

# ---- pieces --------------------------------------------------------------------------------------


def _aggregated(name: str, argument: exp.Expr, distinct: bool) -> exp.Expr:
    return call(name, exp.Distinct(expressions=[argument]) if distinct else argument)


def _where(gathered: exp.Expr, test: exp.Expr) -> exp.Expr:
    return exp.Filter(this=gathered, expression=exp.Where(this=test))


def _there(value: exp.Expr) -> exp.Expr:
    return negated(is_null(value.copy()))


def _listed(value: Typed, distinct: bool) -> exp.Expr:
    return _where(_aggregated("list", value.sql.copy(), distinct), _there(value.sql))


def _given(value: Typed, distinct: bool) -> exp.Expr:
    """The list of the values, empty for none."""
    return call("coalesce", _listed(value, distinct), or_nothing(Type(TypeName.LIST, value.kind)))


# ---- count, collect, min and max -------------------------------------------------------------------


def _count(value: Typed, distinct: bool) -> Typed | None:
    return Typed(_aggregated("count", value.sql, distinct), types.INTEGER)


def _collect(value: Typed, distinct: bool) -> Typed | None:
    if value.is_null:
        return Typed(
            cast(exp.Array(expressions=[]), "BIGINT[]"), Type(TypeName.LIST, TypeName.NULL)
        )
    if value.kind not in types.SCALARS:
        return None
    type_ = Type(TypeName.LIST, value.kind)
    return Typed(call("coalesce", _listed(value, distinct), or_nothing(type_)), type_)


def _extreme(name: str) -> Callable[[Typed, bool], Typed | None]:
    def make(value: Typed, distinct: bool) -> Typed | None:
        if value.is_null:
            return Typed(exp.Null(), types.NULL)
        if value.kind not in types.SCALARS:
            return None
        return Typed(call(name, value.sql), value.type)  # DISTINCT changes nothing

    return make


# ---- sums ------------------------------------------------------------------------------------------

_BITS = 100  # behind the point
_UNIT = float(1 << _BITS)
_WHOLE_TO = float(1 << 62)
_HALF = 1 << 53  # whole numbers to here are floats


def _exact(whole: int | None, parts: int | None, rest: list[float] | None) -> float | None:
    """The sum of what was taken apart and of what was not, rounded once; None of nothing. parts : in units of
    2**-100."""
    if whole is None and rest is None:
        return None
    scaled, unit = _scaled(whole, parts)
    if not rest:
        return scaled / unit  # of two integers: rounded once
    return aggregates.total([*rest, *aggregates.floats_of(scaled, unit)])


def _scaled(whole: int | None, parts: int | None) -> tuple[int, int]:
    """Both as one integer, and its unit."""
    return ((whole or 0) << _BITS) + (parts or 0), 1 << _BITS


def _exact_sum(whole: int | None, parts: int | None, rest: list[float] | None) -> float:
    found = _exact(whole, parts, rest)
    if found is None:  # the sum is the integer 0, and a column has one type
        raise ValueError(NOT_IN_COLUMNS)
    return found


def _exact_mean(
    whole: int | None, parts: int | None, rest: list[float] | None, count: int
) -> float | None:
    found = _exact(whole, parts, rest)
    if found is None or rest is None or math.isfinite(found):
        return None if found is None else found / count
    return aggregates.mean(rest, aggregates.floats_of(*_scaled(whole, parts)), count)


def _parts(value: exp.Expr, distinct: bool) -> list[exp.Expr]:
    """The sums of the whole parts of floats, and of what is behind their points; and a list of those that do not fit:
    too large, too small, or no number."""
    if distinct:
        nothing = [cast(exp.Null(), "HUGEINT") for _ in range(2)]
        listed = exp.Distinct(expressions=[value.copy()])
        return [*nothing, _where(call("list", listed), _there(value))]
    whole = call("trunc", value.copy())
    behind = exp.Paren(this=exp.Sub(this=value.copy(), expression=whole.copy()))
    part = exp.Paren(this=exp.Mul(this=behind, expression=number(_UNIT)))
    fits = all_of(
        compared(exp.LT, call("abs", value.copy()), number(_WHOLE_TO)),
        compared(exp.EQ, part, call("trunc", part.copy())),
    )
    # DuckDB makes integers also of those that the filter leaves out
    sums = [
        cast(_where(call("sum", cast(of_all, to, attempt=True)), fits.copy()), "HUGEINT")
        for of_all, to in ((whole, "BIGINT"), (part, "HUGEINT"))
    ]
    return [*sums, _where(call("list", value.copy()), negated(fits))]


_TAKES = ("HUGEINT", "HUGEINT", "DOUBLE[]")


def _sum(value: Typed, distinct: bool) -> Typed | None:
    if value.is_null:
        return Typed(number(0), types.INTEGER)
    if value.kind is TypeName.INTEGER:  # DuckDB: a HUGEINT, and null of no rows
        total = cast(_aggregated("sum", value.sql, distinct), sql_type(types.INTEGER))
        return Typed(call("coalesce", total, number(0)), types.INTEGER)
    if value.kind is not TypeName.FLOAT:
        return None
    parts = _parts(value.sql, distinct)
    return Typed(
        call_python("exact_sum", _exact_sum, _TAKES, "DOUBLE", parts, nulls=True), types.FLOAT
    )


def _mean_of_integers(total: int, count: int) -> float:
    """Rounded once."""
    return total / count


def _average(value: Typed, distinct: bool) -> Typed | None:
    if value.is_null:
        return Typed(exp.Null(), types.NULL)
    if value.kind not in types.NUMBERS:
        return None
    count = _aggregated("count", value.sql.copy(), distinct)
    if value.kind is TypeName.FLOAT:
        takes, parts = (*_TAKES, "BIGINT"), [*_parts(value.sql, distinct), count]
        return Typed(
            call_python("exact_mean", _exact_mean, takes, "DOUBLE", parts, nulls=True), types.FLOAT
        )
    total = cast(_aggregated("sum", value.sql.copy(), distinct), "HUGEINT")
    small = compared(exp.LTE, call("abs", total.copy()), number(_HALF))
    both = cast(total.copy(), "DOUBLE"), call("nullif", cast(count.copy(), "DOUBLE"), number(0.0))
    mean = exp.Div(this=both[0], expression=both[1])
    both_kinds = ("HUGEINT", "BIGINT")
    large = call_python("mean_of_integers", _mean_of_integers, both_kinds, "DOUBLE", (total, count))
    return Typed(chosen((small, mean), default=large), types.FLOAT)


# ---- deviations ------------------------------------------------------------------------------------


def _deviation(name: str, less: int) -> Callable[[Typed, bool], Typed | None]:
    def of_list(values: list[Value]) -> Value:
        gathering = aggregates.Deviation(name, less)
        for value in values:
            gathering.add(value)
        return gathering.result()

    def make(value: Typed, distinct: bool) -> Typed | None:
        if value.is_null:
            return Typed(number(0.0), types.FLOAT)
        if value.kind not in types.NUMBERS:
            return None
        floats = value
        if value.kind is TypeName.INTEGER:
            if distinct:  # two integers may be one float
                values = cast(_given(value, distinct), "DOUBLE[]")
                return sql_spread.deviation(name, less, value, values, of_list)
            floats = Typed(cast(value.sql, "DOUBLE"), types.FLOAT)
        return sql_spread.deviation(name, less, value, _given(floats, distinct), of_list)

    return make


def _percentile(name: str, between: bool) -> GatheredSql:
    """The percentile is known before the query runs: that of the first row, which columns do not have."""

    def of_list(values: list[Value], percentile: Value, rows: int) -> Value:
        gathering = aggregates.Percentile(name, between)
        for value in values or ([None] if rows else []):
            gathering.add(value, percentile)
        return gathering.result()

    def make(value: Typed, distinct: bool, percentile: Typed) -> Typed | None:
        if value.kind not in types.NUMBERS or percentile.kind not in types.NUMBERS:
            return None
        if percentile.constant is None:
            return None
        values = _given(value, distinct)
        return sql_spread.percentile(name, between, value, values, percentile, of_list)

    return make


def _percentile_row(name: str, between: bool) -> AggregateFunction:
    where = "between two where it lies there" if between else "one of those that there are"
    return aggregate(
        f"{name}(value :: NUMBER, percentile :: NUMBER) :: ANY",
        lambda: aggregates.Percentile(name, between),
        f"the value at a percentile from 0 to 1, {where}",
        _percentile(name, between),
        repeated=True,
    )


def _extreme_row(name: str, doc: str) -> AggregateFunction:
    signature, sql, largest = f"{name}(value :: ANY) :: ANY", _extreme(name), name == "max"
    return aggregate(signature, lambda: aggregates.Extreme(largest), doc, sql, repeats=False)


def _deviation_row(name: str, less: int, doc: str) -> AggregateFunction:
    signature, sql = f"{name}(value :: NUMBER) :: FLOAT", _deviation(name, less)
    return aggregate(
        signature,
        lambda: aggregates.Deviation(name, less),
        doc,
        sql,
        repeated=True,
        listed=True,
    )


ROWS = (
    aggregate(
        "count(value :: ANY) :: INTEGER",
        lambda: aggregates.Count(),
        "how many are not null; of * the number of rows",
        _count,
    ),
    aggregate(
        "collect(value :: ANY) :: LIST", lambda: aggregates.Collect(), "a list of them", _collect
    ),
    aggregate(
        "sum(value :: NUMBER | DURATION) :: ANY",
        lambda: aggregates.Sum(),
        "their sum, rounded once; 0 of none",
        _sum,
        repeated=True,
    ),
    aggregate(
        "avg(value :: NUMBER | DURATION) :: ANY",
        lambda: aggregates.Average(),
        "their mean, a float; null of none",
        _average,
        repeated=True,
    ),
    _extreme_row("min", "the first in the order of ORDER BY"),
    _extreme_row("max", "the last in the order of ORDER BY"),
    _deviation_row("stDev", 1, "the standard deviation of a sample"),
    _deviation_row("stDevP", 0, "the standard deviation of a population"),
    *(_percentile_row(name, between=False) for name in ("percentileDisc", "percentile_disc")),
    *(_percentile_row(name, between=True) for name in ("percentileCont", "percentile_cont")),
)
"""One row an aggregate."""

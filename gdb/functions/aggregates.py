"""The aggregates: what gathers the values of a group's rows. Null is left out of all of them.

The sum of floats is exact, rounded once, so that no order of rows and no way of running shows in it. In SQL a float is
taken apart into three whole numbers, which are added up without any rounding; what does not fit into these is gathered
in a list for Python.
"""

from __future__ import annotations

from collections.abc import Callable

from gdb.executor.python_functions import NOT_IN_COLUMNS
from gdb.functions.by_python import called
from gdb.functions.function import aggregate
from gdb.functions.nodes import exp
from gdb.functions.pieces import all_of, chosen, compared, number, or_nothing, string
from gdb.functions.types import (
    FLOAT,
    INTEGER,
    NULL,
    NUMBERS,
    SCALARS,
    Kind,
    Type,
    Typed,
    call,
    cast,
    is_null,
    negated,
    operand,
    sql_type,
)
from gdb.values import aggregates as of
from gdb.values.kinds import Value

_FLOATS = Type(Kind.LIST, Kind.FLOAT)

# ---- pieces --------------------------------------------------------------------------------------


def _aggregated(name: str, argument: exp.Expr, distinct: bool) -> exp.Expr:
    return call(name, exp.Distinct(expressions=[argument]) if distinct else argument)


def _where(gathered: exp.Expr, test: exp.Expr) -> exp.Expr:
    return exp.Filter(this=gathered, expression=exp.Where(this=test))


def _there(value: exp.Expr) -> exp.Expr:
    return negated(is_null(value.copy()))


def _listed(value: Typed, distinct: bool) -> exp.Expr:
    return _where(_aggregated("list", value.sql.copy(), distinct), _there(value.sql))


# ---- count, collect, min and max -------------------------------------------------------------------


def _count(value: Typed, distinct: bool) -> Typed | None:
    return Typed(_aggregated("count", value.sql, distinct), INTEGER)


def _collect(value: Typed, distinct: bool) -> Typed | None:
    if value.is_null:
        return Typed(cast(exp.Array(expressions=[]), "BIGINT[]"), Type(Kind.LIST, Kind.NULL))
    if value.kind not in SCALARS:
        return None
    type_ = Type(Kind.LIST, value.kind)
    return Typed(call("coalesce", _listed(value, distinct), or_nothing(type_)), type_)


def _extreme(name: str) -> Callable[[Typed, bool], Typed | None]:
    def make(value: Typed, distinct: bool) -> Typed | None:
        if value.is_null:
            return Typed(exp.Null(), NULL)
        if value.kind not in SCALARS:
            return None
        return Typed(call(name, value.sql), value.type)  # DISTINCT changes nothing

    return make


# ---- sums ------------------------------------------------------------------------------------------

_STEP = 60  # bits of each of the two whole numbers behind the point
_UNIT = float(1 << _STEP)
_WHOLE_TO = float(1 << 62)
_HALF = 1 << 53  # whole numbers to here are floats
_WIDE = 1 << 45


def exact_total(whole: int, high: int, low: int, rest: list[float] | None) -> float:
    """The sum of the parts and of what has none, rounded once. high, low : in units of 2**-60 and 2**-120."""
    scaled, unit = (((whole << _STEP) + high) << _STEP) + low, 1 << 2 * _STEP
    if not rest:
        return scaled / unit  # of two integers: rounded once
    return of.total([*rest, *of.floats_of(scaled, unit)])


def _total(value: Typed, distinct: bool) -> exp.Expr:
    """The sum of floats, of which there is at least one."""
    if distinct:
        nothing = [cast(number(0), "HUGEINT") for _ in range(3)]
        return _by_python(*nothing, _listed(value, distinct))
    x = operand(value.sql)
    whole = call("trunc", x.copy())
    behind = _scaled(x, whole)
    high = call("trunc", behind.copy())
    further = _scaled(behind, high)
    low = call("trunc", further.copy())
    fits = all_of(
        compared(exp.LT, call("abs", x.copy()), number(_WHOLE_TO)), compared(exp.EQ, further, low)
    )
    parts = [
        call("coalesce", _where(call("sum", cast(part.copy(), "BIGINT")), fits.copy()), number(0))
        for part in (whole, high, low)
    ]
    parts = [cast(part, "HUGEINT") for part in parts]
    rest = _where(call("list", x.copy()), negated(fits))
    small = all_of(
        compared(exp.EQ, parts[2], number(0)),
        is_null(rest.copy()),
        compared(exp.LT, call("abs", parts[0].copy()), number(_WIDE)),
        compared(exp.LT, call("abs", parts[1].copy()), number(1 << 98)),
    )
    return chosen((small, _rounded(parts[0], parts[1])), default=_by_python(*parts, rest))


def _scaled(value: exp.Expr, whole: exp.Expr) -> exp.Expr:
    """What is behind the point, times 2**60; without rounding."""
    part = exp.Paren(this=exp.Sub(this=operand(value.copy()), expression=whole.copy()))
    return exp.Paren(this=exp.Mul(this=part, expression=number(_UNIT)))


def _rounded(whole: exp.Expr, high: exp.Expr) -> exp.Expr:
    """whole + high / 2**60, rounded once: by the sum of two floats, each of them exact."""
    scaled = exp.Mul(this=operand(whole.copy()), expression=cast(number(1 << _STEP), "HUGEINT"))
    units = exp.Paren(this=exp.Add(this=exp.Paren(this=scaled), expression=operand(high.copy())))
    half = cast(number(_HALF), "HUGEINT")
    upper = exp.Paren(this=exp.IntDiv(this=units, expression=half))
    back = exp.Paren(this=exp.Mul(this=upper.copy(), expression=half.copy()))
    lower = exp.Paren(this=exp.Sub(this=units.copy(), expression=back))
    large = exp.Mul(this=cast(upper.copy(), "DOUBLE"), expression=number(float(_HALF)))
    both = exp.Paren(this=exp.Add(this=exp.Paren(this=large), expression=cast(lower, "DOUBLE")))
    return exp.Div(this=both, expression=number(_UNIT))


def _by_python(*arguments: exp.Expr) -> exp.Expr:
    takes = ("HUGEINT", "HUGEINT", "HUGEINT", "DOUBLE[]")
    return called("exact_total", exact_total, takes, "DOUBLE", arguments, nulls=True)


def _number_of(value: Typed, distinct: bool) -> exp.Expr:
    return _aggregated("count", value.sql.copy(), distinct)


def _sum(value: Typed, distinct: bool) -> Typed | None:
    if value.is_null:
        return Typed(number(0), INTEGER)
    if value.kind is Kind.INTEGER:  # DuckDB: a HUGEINT, and null of no rows
        total = cast(_aggregated("sum", value.sql, distinct), sql_type(INTEGER))
        return Typed(call("coalesce", total, number(0)), INTEGER)
    if value.kind is not Kind.FLOAT:
        return None
    # of no value at all the sum is the integer 0, and a column has one type
    nothing = compared(exp.EQ, _number_of(value, distinct), number(0))
    refusal = call("error", string(NOT_IN_COLUMNS))
    return Typed(chosen((nothing, refusal), default=_total(value, distinct)), FLOAT)


def exact_mean(total: int, count: int) -> float:
    """Of integers, rounded once."""
    return total / count


def _average(value: Typed, distinct: bool) -> Typed | None:
    if value.is_null:
        return Typed(exp.Null(), NULL)
    if value.kind not in NUMBERS:
        return None
    count = _number_of(value, distinct)
    nothing = compared(exp.EQ, count, number(0))
    divisor = cast(count.copy(), "DOUBLE")
    if value.kind is Kind.FLOAT:
        mean: exp.Expr = exp.Div(this=operand(_total(value, distinct)), expression=divisor)
        return Typed(chosen((nothing, exp.Null()), default=mean), FLOAT)
    total = cast(_aggregated("sum", value.sql.copy(), distinct), "HUGEINT")
    small = compared(exp.LTE, call("abs", total.copy()), number(_HALF))
    mean = exp.Div(this=cast(total.copy(), "DOUBLE"), expression=divisor)
    given = ("HUGEINT", "BIGINT")
    large = called("exact_mean", exact_mean, given, "DOUBLE", (total, count.copy()))
    return Typed(chosen((nothing, exp.Null()), (small, mean), default=large), FLOAT)


# ---- deviations ------------------------------------------------------------------------------------


def _deviation(name: str, less: int) -> Callable[[Typed, bool], Typed | None]:
    def of_list(values: list[Value]) -> Value:
        gathering = of.Deviation(name, less)
        for value in values:
            gathering.add(value)
        return gathering.result()

    def make(value: Typed, distinct: bool) -> Typed | None:
        if value.is_null:
            return Typed(number(0.0), FLOAT)
        if value.kind not in NUMBERS:
            return None
        type_ = Type(Kind.LIST, value.kind)
        given = call("coalesce", _listed(value, distinct), or_nothing(type_))
        sql = called(f"{name}_{value.kind.name}", of_list, (sql_type(type_),), "DOUBLE", (given,))
        return Typed(sql, FLOAT)

    return make


ROWS = (
    aggregate(
        "count(value :: ANY) :: INTEGER",
        of.Count,
        "how many are not null; of * the number of rows",
        _count,
    ),
    aggregate("collect(value :: ANY) :: LIST", of.Collect, "a list of them", _collect),
    aggregate(
        "sum(value :: NUMBER | DURATION) :: ANY", of.Sum, "their sum, rounded once; 0 of none", _sum
    ),
    aggregate(
        "avg(value :: NUMBER | DURATION) :: ANY",
        of.Average,
        "their mean, a float; null of none",
        _average,
    ),
    aggregate(
        "min(value :: ANY) :: ANY",
        lambda: of.Extreme(largest=False),
        "the first in the order of ORDER BY",
        _extreme("min"),
        repeats=False,
    ),
    aggregate(
        "max(value :: ANY) :: ANY",
        lambda: of.Extreme(largest=True),
        "the last in the order of ORDER BY",
        _extreme("max"),
        repeats=False,
    ),
    aggregate(
        "stDev(value :: NUMBER) :: FLOAT",
        lambda: of.Deviation("stDev", 1),
        "the standard deviation of a sample",
        _deviation("stDev", 1),
    ),
    aggregate(
        "stDevP(value :: NUMBER) :: FLOAT",
        lambda: of.Deviation("stDevP", 0),
        "the standard deviation of a population",
        _deviation("stDevP", 0),
    ),
    aggregate(
        "percentileCont(value :: NUMBER, percentile :: NUMBER) :: ANY",
        lambda: of.Percentile("percentileCont", between=True),
        "the value at a percentile from 0 to 1, between two where it lies there",
    ),
    aggregate(
        "percentileDisc(value :: NUMBER, percentile :: NUMBER) :: ANY",
        lambda: of.Percentile("percentileDisc", between=False),
        "the value at a percentile from 0 to 1, one of those that there are",
    ),
)
"""One row an aggregate."""

"""Temporal values among the others: comparison, order, arithmetic, aggregates."""

from itertools import pairwise

import pytest

from gdb.base.values import arithmetic, times
from gdb.base.values.comparison import equal, group_key, less, sort_key
from gdb.base.values.conversion import to_string
from gdb.base.values.naming import value_type
from gdb.base.values.problems import ValueProblem
from gdb.functions.library import AGGREGATES, FUNCTIONS


def made(name, text):
    return FUNCTIONS[name].apply(text)


EARLY, LATE = made("date", "2020-01-31"), made("date", "2020-02-01")
DAY, MONTH = made("duration", "P1D"), made("duration", "P1M")
NOON = made("localtime", "12:00")


def test_they_are_compared_within_their_type():
    assert less(EARLY, LATE) is True
    assert less(LATE, EARLY) is False
    assert less(EARLY, NOON) is None
    assert less(EARLY, 1) is None
    assert equal(EARLY, made("date", "20200131")) is True
    assert equal(EARLY, NOON) is False
    assert group_key(EARLY) == group_key(made("date", "20200131"))


def test_durations_are_equal_or_not_but_none_is_less():
    assert less(DAY, MONTH) is None
    assert equal(DAY, made("duration", "P1D")) is True


def test_order_stands_between_paths_and_strings():
    ordered = [
        [],
        made("datetime", "2020-01-01T00:00Z"),
        made("localdatetime", "1990-01-01T00:00"),
        EARLY,
        LATE,
        made("time", "12:00Z"),
        NOON,
        DAY,
        MONTH,
        "",
    ]
    assert all(sort_key(low) < sort_key(high) for low, high in pairwise(ordered))


def test_arithmetic():
    assert arithmetic.add(EARLY, DAY) == LATE
    assert arithmetic.add(DAY, EARLY) == LATE
    assert arithmetic.subtract(LATE, DAY) == EARLY
    assert arithmetic.multiply(2, DAY) == arithmetic.add(DAY, DAY)
    assert arithmetic.divide(arithmetic.multiply(DAY, 2), 2) == DAY
    assert arithmetic.negate(DAY) == made("duration", "P-1D")
    assert arithmetic.add(EARLY, None) is None
    assert arithmetic.add([1], EARLY) == [1, EARLY]
    for operation in (arithmetic.add, arithmetic.remainder):
        with pytest.raises(ValueProblem):
            operation(EARLY, 1)


def test_components_text_and_type():
    assert times.component(LATE, "month") == 2
    assert to_string(EARLY) == "2020-01-31"
    assert value_type(EARLY) == "DATE NOT NULL"
    with pytest.raises(ValueProblem):
        times.component(EARLY, "hour")


def aggregate(name, *values):
    gathering = AGGREGATES[name].over(distinct=False)
    for value in values:
        gathering.add(value)
    return gathering.result()


def test_aggregates():
    assert aggregate("sum", DAY, None, DAY) == made("duration", "P2D")
    assert aggregate("avg", DAY, made("duration", "P3D")) == made("duration", "P2D")
    assert aggregate("max", EARLY, LATE) == LATE
    for values in ([EARLY], [DAY, 1]):
        with pytest.raises(ValueProblem):
            aggregate("sum", *values)

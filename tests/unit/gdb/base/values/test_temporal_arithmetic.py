"""Arithmetic, truncation and distances, beside Python's own where it has them."""

from __future__ import annotations

import datetime as python

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gdb
from gdb.base.values.duration import Duration
from gdb.base.values.kinds import Value
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import Date, Instant, LocalDateTime, LocalTime
from gdb.base.values.temporal_between import add, between, divide, in_seconds, multiply, subtract
from gdb.base.values.temporal_python import from_python, to_python
from gdb.functions.library import FUNCTIONS
from tests.support.temporal_cases import evaluate
from tests.support.temporal_strategies import dates, datetimes, durations, local_datetimes

NAIVE = st.datetimes(python.datetime(1000, 1, 1), python.datetime(3000, 1, 1))
LENGTHS = st.timedeltas(python.timedelta(-100_000), python.timedelta(100_000))


def shown(expression: str) -> str:
    return str(evaluate(expression, {}))


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("date('2020-01-31') + duration('P1M')", "2020-02-29"),
        ("date('2020-03-31') - duration('P1M')", "2020-02-29"),
        ("date('2020-01-31') + duration('P1M1D')", "2020-03-01"),
        ("duration('P1D') + date('2020-01-31')", "2020-02-01"),
        ("date('2020-01-01') + duration('PT47H')", "2020-01-02"),
        ("date('2020-01-01') - duration('PT23H')", "2020-01-01"),
        ("localtime('23:00') + duration('P5DT2H')", "01:00"),
        ("time('01:00+05:00') - duration('PT2H')", "23:00+05:00"),
        ("localdatetime('2020-02-29T12:00') - duration('P1YT13H')", "2019-02-27T23:00"),
        # a day keeps the time of day, 24 hours do not
        ("datetime('2017-10-28T12:00[Europe/Paris]') + duration('P1D')", "2017-10-29T12:00+01:00[Europe/Paris]"),
        ("datetime('2017-10-28T12:00[Europe/Paris]') + duration('PT24H')", "2017-10-29T11:00+01:00[Europe/Paris]"),
        # in the second of two hours it stays there
        ("datetime('2017-10-29T02:30+01:00[MET]') + duration('PT1M')", "2017-10-29T02:31+01:00[MET]"),
        ("duration.inSeconds(datetime('2017-10-29T02:30+01:00[MET]'), localtime('03:00'))", "PT30M"),
        ("duration('P1Y') + duration('P-1MT1.5S')", "P11MT1.5S"),
        ("duration('PT1S') - duration('PT1.5S')", "PT-0.5S"),
        ("duration('P1M') / 2", "P15DT5H14M33S"),
        ("3 * duration('P1DT8H')", "P3DT24H"),
        ("duration('PT1S') / 3", "PT0.333333333S"),
        ("duration('PT1S') * 0.1", "PT0.1S"),
        ("duration.between(date('2020-01-31'), date('2020-02-29'))", "P29D"),
        ("duration.between(date('2020-02-29'), date('2021-02-28'))", "P11M30D"),
        ("duration.between(date('2021-03-30'), date('2021-02-28'))", "P-1M"),
        ("duration.between(localdatetime('2020-01-01T12:00'), localdatetime('2020-02-01T11:00'))", "P30DT23H"),
        # as the reference (java.time) counts: the last day is not whole
        ("duration.between(localdatetime('2020-01-31T12:00'), localdatetime('2020-03-01T11:00'))", "P29DT23H"),
        ("duration.between(localdatetime('2021-03-30T11:00'), localdatetime('2021-02-28T12:00'))", "P-29DT-23H"),
        ("duration.between(date('-999999999-01-01'), date('+999999999-12-31'))", "P1999999998Y11M30D"),
        ("duration.inSeconds(datetime('2017-10-29[Europe/Paris]'), localtime('04:00'))", "PT5H"),
        ("duration.inSeconds(date('2017-10-29'), datetime('2017-10-29T04:00[Europe/Paris]'))", "PT5H"),
        ("duration.inDays(datetime('2017-03-26[Europe/Paris]'), datetime('2017-03-27[Europe/Paris]'))", "P1D"),
        ("date.truncate('decade', date('-0003-05-06'))", "-0010-01-01"),
        ("date.truncate('millennium', date('-999999999-05-06'))", "-999999999-01-01"),
        ("localtime.truncate('microsecond', localtime('12:31:14.645876123'), {nanosecond: 1})", "12:31:14.645876001"),
        # the second of two hours stays the second
        ("datetime.truncate('hour', datetime('2017-10-29T02:30+01:00[MET]'))", "2017-10-29T02:00+01:00[MET]"),
        (
            "localtime.truncate('microsecond', localtime('12:31:14.6'), {millisecond: 1, nanosecond: 2})",
            "12:31:14.001000002",
        ),
        ("datetime.truncate('hour', date('2020-01-01'), {minute: 5})", "2020-01-01T00:05Z"),
    ],
)  # fmt: skip
def test_a_result(expression: str, result: str) -> None:
    assert shown(expression) == result


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("date('2020-01-01') + date('2020-01-01')", "type"),
        ("date('2020-01-01') - date('2020-01-01')", "type"),
        ("date('2020-01-01') + 1", "type"),
        ("duration('P1D') - date('2020-01-01')", "type"),
        ("duration('P1D') * duration('P1D')", "type"),
        ("1 / duration('P1D')", "type"),
        ("duration('P1D') * true", "type"),
        ("duration('P1D') / 0", "arithmetic"),
        ("duration('P1D') / 0.0", "arithmetic"),
        ("duration({days: 9223372036854775807}) * 2", "arithmetic"),
        ("duration({days: 9223372036854775807}) + duration('P1D')", "arithmetic"),
        ("date('+999999999-12-31') + duration('P1D')", "arithmetic"),
        ("date('2020-01-01') + duration({days: 9223372036854775807})", "arithmetic"),
        ("datetime('+999999999-12-31T23:59') + duration({hours: 2})", "arithmetic"),
        ("date.truncate('hour', date('2020-01-01'))", "argument"),
        ("localtime.truncate('month', localtime('12:00'))", "argument"),
        ("date.truncate('month', localtime('12:00'))", "argument"),
        ("localtime.truncate('hour', date('2020-01-01'))", "argument"),
        ("date.truncate('Month', date('2020-01-01'))", "argument"),
        ("date.truncate('month', date('2020-01-01'), {hour: 1})", "argument"),
        ("date.truncate('month', date('2020-01-01'), {date: date('2020-01-01')})", "argument"),
        ("duration.between(date('2020-01-01'), duration('P1D'))", "argument"),
        ("duration.between(date('2020-01-01'), '2020-01-01')", "argument"),
    ],
)  # fmt: skip
def test_a_refusal(expression: str, kind: str) -> None:
    with pytest.raises(ValueProblem) as refused:
        shown(expression)
    assert refused.value.kind == kind


@given(NAIVE, LENGTHS)
def test_seconds_are_added_as_python_adds_them(
    begin: python.datetime, length: python.timedelta
) -> None:
    later = add(from_python(begin), from_python(length))
    assert to_python(later) == begin + length
    assert subtract(later, from_python(length)) == from_python(begin)


@given(NAIVE, NAIVE)
def test_the_distance_is_python_s(begin: python.datetime, end: python.datetime) -> None:
    one, other = from_python(begin), from_python(end)
    assert isinstance(one, LocalDateTime)
    assert isinstance(other, LocalDateTime)
    assert in_seconds(one, other) == from_python(end - begin)


@given(local_datetimes | dates, local_datetimes | dates)
def test_what_lies_between_leads_from_one_to_the_other(
    one: LocalDateTime | Date, other: LocalDateTime | Date
) -> None:
    length = between(one, other)
    assert len({n > 0 for n in (length.months, length.days, length.length) if n}) <= 1
    begin = LocalDateTime(one.days, getattr(one, "nanoseconds", 0))
    end = LocalDateTime(other.days, getattr(other, "nanoseconds", 0))
    assert add(begin, length) == end


@given(datetimes, datetimes)
def test_instants_are_as_far_apart_as_their_seconds_say(one: Instant, other: Instant) -> None:
    assert add(one, in_seconds(one, other)) == other


@given(durations, durations, st.integers(1, 1000))
def test_durations_add_part_by_part(one: Duration, other: Duration, n: int) -> None:
    assert subtract(add(one, other), other) == one
    assert add(one, one) == multiply(one, 2)
    assert divide(multiply(one, n), n) == one


@given(st.dates(), st.sampled_from(["year", "month", "week", "day"]))
def test_truncation_is_the_first_day_that_python_says(day: python.date, unit: str) -> None:
    assume(day.year > 1)
    first = {
        "year": day.replace(month=1, day=1),
        "month": day.replace(day=1),
        "week": day - python.timedelta(day.weekday()),
        "day": day,
    }[unit]
    assert FUNCTIONS["date.truncate"].apply(unit, from_python(day)) == from_python(first)


UNITS = ["millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day"]


@given(dates, st.sampled_from(UNITS))
def test_truncation_stays_and_goes_back(value: Date, unit: str) -> None:
    assume(abs(value.days) < 10**8)
    apply = FUNCTIONS["date.truncate"].apply
    first: Value = apply(unit, value)
    assert isinstance(first, Date)
    assert first <= value
    assert apply(unit, first) == first
    if first.days > -719_000:
        assert apply(unit, Date(first.days - 1)) != first


def test_a_local_time_has_no_day_to_carry_into() -> None:
    assert add(LocalTime(0), Duration(5, 5, -1)) == LocalTime(86_399 * 1_000_000_000)


def test_a_month_that_ends_when_the_clocks_are_put_on() -> None:
    with gdb.connect() as db:
        text = """WITH datetime('2021-02-28T02:30[Europe/Paris]') AS a, datetime('2021-03-29T03:30[Europe/Paris]') AS b
            RETURN toString(duration.between(a, b)), a + duration.between(a, b) = b, toString(a + duration('P1M1D'))"""
        ((found, back, later),) = db.execute(text).fetchall()
        assert (found, back) == ("P1M1D", True)
        assert later.startswith("2021-03-29T03:30")

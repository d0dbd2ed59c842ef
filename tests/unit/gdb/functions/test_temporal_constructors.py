"""What date(), time() and the others make of maps and of one another."""

from __future__ import annotations

import datetime as python
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base.values.kinds import Value
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import Date
from gdb.functions.library import FUNCTIONS
from tests.support.temporal_cases import evaluate

EPOCH = python.date(1970, 1, 1).toordinal()


def made(expression: str) -> str:
    return str(evaluate(expression, {}))


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("date({date: date('2020-01-31'), month: 2})", "2020-02-29"),
        ("date({date: date('2020-02-29'), year: 2021})", "2021-02-28"),
        ("date({date: date('2020-12-31'), quarter: 1})", "2020-03-31"),
        ("date({date: date('2020-12-31'), year: 2021, dayOfWeek: 4})", "2021-12-30"),
        ("date({date: date('2021-01-01'), dayOfWeek: 1})", "2020-12-28"),
        ("date({date: date('2021-01-01'), weekDay: 7})", "2021-01-03"),
        ("date({year: 2020, ordinalDay: 366})", "2020-12-31"),
        ("date({year: 2020, week: 53})", "2020-12-28"),
        ("date({year: 2020, quarter: 1, quarterDay: 91})", "2020-03-31"),
        ("date({year: 0, month: 2, day: 29})", "0000-02-29"),
        ("localtime({hour: 1, minute: 2, second: 3, millisecond: 4, nanosecond: 5})", "01:02:03.004000005"),
        ("localtime({time: localtime('01:02:03.004'), nanosecond: 5})", "01:02:03.000000005"),
        ("time({time: time('23:00+01:00'), timezone: '+03:00'})", "01:00+03:00"),
        ("localdatetime({datetime: datetime('2020-01-01T12:00Z'), hour: 1})", "2020-01-01T01:00"),
        ("datetime({datetime: datetime('2020-01-01T23:00Z'), timezone: '+02:00'})", "2020-01-02T01:00+02:00"),
        ("datetime({epochSeconds: 1, nanosecond: 7})", "1970-01-01T00:00:01.000000007Z"),
        ("datetime({epochMillis: 1500, nanosecond: 7})", "1970-01-01T00:00:01.500000007Z"),
        ("datetime({epochMillis: -1, timezone: '+01:00'})", "1970-01-01T00:59:59.999+01:00"),
        ("datetime({date: datetime('2020-01-01T12:00+05:00'), hour: 1})", "2020-01-01T01:00Z"),
        ("datetime(date('2020-01-01'))", "2020-01-01T00:00Z"),
        ("localdatetime(date('2020-01-01'))", "2020-01-01T00:00"),
        ("time(localtime('12:00'))", "12:00Z"),
        ("datetime({year: 2020, timezone: 'UTC'})", "2020-01-01T00:00Z[UTC]"),
        ("duration({days: 0.1, seconds: 0.7})", "PT2H24M0.7S"),
        ("duration({quarters: 5, weeks: -1})", "P1Y3M-7D"),
        ("duration(duration({days: 1}))", "P1D"),
    ],
)  # fmt: skip
def test_a_value_is_made(expression: str, shown: str) -> None:
    assert made(expression) == shown


@pytest.mark.parametrize(
    "expression",
    [
        "date({})",
        "date({month: 1})",
        "date({year: 2020, day: 1})",
        "date({year: 2020, month: 13})",
        "date({year: 2021, month: 2, day: 29})",
        "date({year: 2020, dayOfWeek: 1})",
        "date({year: 2021, week: 53})",
        "date({year: 2020, dayOfQuarter: 1})",
        "date({year: 2020, quarter: 1, dayOfQuarter: 92})",
        "date({year: 2021, ordinalDay: 366})",
        "date({year: 2020, month: 1, week: 1})",
        "date({year: 2020, hour: 1})",
        "date({year: 2020, Month: 1})",
        "date({year: 2020.0})",
        "date({year: true})",
        "date({year: null})",
        "date({year: 1000000000})",
        "date({year: 2020, timezone: 'Z'})",
        "date({date: localtime('12:00')})",
        "date({date: '2020-01-01'})",
        "date(localtime('12:00'))",
        "date(2020)",
        "localtime({})",
        "localtime({minute: 1})",
        "localtime({hour: 1, second: 1})",
        "localtime({hour: 1, nanosecond: 1})",
        "localtime({hour: 24})",
        "localtime({hour: 1, minute: 1, second: 1, millisecond: 1, microsecond: 1000})",
        "localtime({hour: 1, minute: 1, second: 1, nanosecond: -1})",
        "localtime(date('2020-01-01'))",
        "localtime({time: date('2020-01-01')})",
        "time({hour: 1, timezone: 1})",
        "time({hour: 1, timezone: 'Nowhere'})",
        "datetime({date: date('2020-01-01'), datetime: datetime('2020-01-01')})",
        "datetime({year: 2020, minute: 1})",
        "localdatetime({epochSeconds: 1})",
        "duration({})",
        "duration({day: 1})",
        "duration({days: '1'})",
        "duration({days: true})",
        "duration(1)",
        "duration(date('2020-01-01'))",
    ],
)
def test_no_value_is_made(expression: str) -> None:
    with pytest.raises(ValueProblem) as refused:
        made(expression)
    assert refused.value.kind == "argument"


def test_a_refusal_says_what_is_wrong() -> None:
    with pytest.raises(ValueProblem, match="month is 13") as refused:
        made("date({year: 2020, month: 13})")
    assert refused.value.cure == "It must be 1 to 12 here."
    with pytest.raises(ValueProblem, match="no 'hour'") as refused:
        made("date({year: 2020, hour: 13})")
    assert "ordinalDay" in refused.value.cure


@pytest.mark.parametrize("count", [float("nan"), float("inf")])
def test_a_duration_of_no_number_is_refused(count: float) -> None:
    with pytest.raises(ValueProblem):
        FUNCTIONS["duration"].apply({"days": count})


@given(st.dates())
def test_dates_are_made_as_python_makes_them(day: python.date) -> None:
    date = FUNCTIONS["date"].apply
    year, week, weekday = day.isocalendar()
    parts: list[dict[str, Value]] = [
        {"year": day.year, "month": day.month, "day": day.day},
        {"year": year, "week": week, "dayOfWeek": weekday},
        {"year": day.year, "ordinalDay": day.timetuple().tm_yday},
    ]
    assert {str(date(given)) for given in parts} == {day.isoformat()}
    assert cast(Date, date(day.isoformat())).days == day.toordinal() - EPOCH

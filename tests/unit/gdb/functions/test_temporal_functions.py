"""The registry of temporal functions, the present, and components."""

from __future__ import annotations

import datetime as python
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base.values.duration import Duration
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import DateTime, Temporal
from gdb.base.values.temporal_clock import clock_at
from gdb.base.values.temporal_components import component
from gdb.base.values.temporal_python import from_python
from gdb.base.values.temporal_text import parse_datetime, parse_duration, parse_time
from gdb.functions import of_times
from gdb.functions.library import FUNCTIONS
from tests.support.temporal_cases import evaluate

TEMPORAL = {row.name.lower(): row for row in of_times.ROWS}
KINDS = ("date", "localtime", "time", "localdatetime", "datetime")
NOON = 1_600_000_000_000_000_000 - 1_600_000_000 % 86_400 * 1_000_000_000 + 12 * 3600 * 10**9


def test_the_registry_is_whole() -> None:
    for kind in KINDS:
        for name in ("", ".truncate", ".transaction", ".statement", ".realtime"):
            assert FUNCTIONS[kind + name].name == kind + name
    assert FUNCTIONS["duration.inmonths"].name == "duration.inMonths"
    assert len(TEMPORAL) == 5 * 5 + 1 + 4 + 2


@pytest.mark.parametrize("name", sorted(TEMPORAL))
def test_null_gives_null(name: str) -> None:
    function = FUNCTIONS[name]
    for count in range(max(function.signature.least, 1), function.signature.most + 1):
        assert function.apply(*[None] * count) is None


def test_the_present_stands_still_within_a_statement() -> None:
    with clock_at(NOON, NOON - 1):
        shown = [str(FUNCTIONS[kind].apply()) for kind in KINDS]
        assert shown == ["2020-09-13", "12:00", "12:00Z", "2020-09-13T12:00", "2020-09-13T12:00Z"]
        assert str(evaluate("localtime.transaction()", {})) == "11:59:59.999999999"
        assert str(evaluate("time.statement('+02:00')", {})) == "14:00+02:00"
        assert str(evaluate("date({timezone: 'Pacific/Auckland'})", {})) == "2020-09-14"
        assert str(evaluate("date.truncate('year')", {})) == "2020-01-01"
        later = evaluate("datetime.realtime()", {})
    assert isinstance(later, DateTime)
    assert later.instant > NOON


def test_without_a_statement_the_present_is_now() -> None:
    before = python.datetime.now(python.UTC)
    now = evaluate("datetime()", {})
    assert isinstance(now, DateTime)
    assert (
        from_python(before)
        <= now
        <= from_python(python.datetime.now(python.UTC) + python.timedelta(seconds=1))
    )


def test_a_time_in_a_named_zone_has_the_offset_of_today() -> None:
    with clock_at(NOON):
        assert str(evaluate("time({hour: 1, timezone: 'Europe/Paris'})", {})) == "01:00+02:00"
        truncation = "time.truncate('hour', time('12:31-01:00'), {timezone: 'Europe/Paris'})"
        assert str(evaluate(truncation, {})) == "12:00+02:00"


@pytest.mark.parametrize(
    ("value", "key", "expected"),
    [
        (parse_time("12:31-01:30"), "offset", "-01:30"),
        (parse_time("12:31-01:30"), "timezone", "-01:30"),
        (parse_time("12:31-01:30"), "offsetMinutes", -90),
        (parse_time("12:31Z"), "timezone", "Z"),
        (parse_datetime("2020-01-01T00:00[Asia/Tokyo]"), "timezone", "Asia/Tokyo"),
        (parse_datetime("2020-01-01T00:00[Asia/Tokyo]"), "offset", "+09:00"),
        (parse_datetime("1969-12-31T23:59:59.9995Z"), "epochMillis", -1),
        (parse_datetime("1969-12-31T23:59:59.9995Z"), "epochSeconds", -1),
        (parse_duration("P-14M"), "years", -1),
        (parse_duration("P-14M"), "monthsOfYear", -2),
        (parse_duration("P-14M"), "quarters", -4),
        (parse_duration("P-14M"), "quartersOfYear", 0),
        (parse_duration("P-14M"), "monthsOfQuarter", -2),
        (parse_duration("P-17M"), "quartersOfYear", -1),
        (parse_duration("P-10D"), "weeks", -1),
        (parse_duration("P-10D"), "daysOfWeek", -3),
        (parse_duration("PT-90M"), "hours", -1),
        (parse_duration("PT-90M"), "minutesOfHour", -30),
        (parse_duration("PT-0.25S"), "seconds", -1),
        (parse_duration("PT-0.25S"), "millisecondsOfSecond", 750),
        (parse_duration("PT-0.25S"), "milliseconds", -250),
        (parse_duration("PT1.000002S"), "microseconds", 1_000_002),
    ],
)
def test_a_component(value: Temporal, key: str, expected: int | str) -> None:
    assert component(value, key) == expected


@given(st.dates())
def test_components_of_a_date_are_python_s(day: python.date) -> None:
    value = from_python(day)
    assert not isinstance(value, Duration)
    year, week, weekday = day.isocalendar()
    expected = {
        "year": day.year,
        "month": day.month,
        "day": day.day,
        "weekYear": year,
        "week": week,
        "dayOfWeek": weekday,
        "weekDay": weekday,
        "ordinalDay": day.timetuple().tm_yday,
        "quarter": (day.month + 2) // 3,
    }
    assert {key: component(value, key) for key in expected} == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expression", "key"),
    [("date()", "hour"), ("localtime()", "offset"), ("duration('P1D')", "year"), ("time()", "x")],
)
def test_an_unknown_component_is_refused(expression: str, key: str) -> None:
    value = evaluate(expression, {})
    with pytest.raises(ValueProblem, match=key) as refused:
        component(value, key)  # type: ignore[arg-type]
    assert refused.value.kind == "type"
    assert refused.value.cure.startswith("It has ")


def test_zones_are_read_only_when_one_is_named() -> None:
    program = "import sys, gdb.base.values.temporal_functions; print('zoneinfo' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"

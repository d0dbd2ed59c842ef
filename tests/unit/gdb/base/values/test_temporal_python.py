"""Values of Python become values of the language and come back."""

from __future__ import annotations

import datetime as python
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base.values.duration import Duration
from gdb.base.values.elements import NodeValue
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Temporal, Time
from gdb.base.values.temporal_python import from_python, to_python
from gdb.base.values.zones import zone_named
from tests.support.temporal_strategies import ZONES

OFFSETS = st.integers(-1079, 1079).map(lambda m: python.timezone(python.timedelta(minutes=m)))
VALUES = (
    st.dates()
    | st.datetimes()
    | st.times()
    | st.datetimes(timezones=OFFSETS)
    | st.times(timezones=OFFSETS)
)


@given(VALUES)
def test_there_and_back(value: python.date | python.time) -> None:
    back = to_python(from_python(value))
    assert type(back) is type(value)
    assert back == value
    assert str(back) == str(value)


NEAR = st.datetimes(python.datetime(1900, 1, 1), python.datetime(2200, 1, 1))


@given(NEAR, st.sampled_from(ZONES), st.integers(0, 1))
def test_named_zones_there_and_back(value: python.datetime, zone: str, fold: int) -> None:
    aware = value.replace(
        tzinfo=zone_named(zone), fold=fold
    )  # the machine's may differ in old times
    back = to_python(from_python(aware))
    assert isinstance(back, python.datetime)
    assert str(back.tzinfo) == zone
    if aware.astimezone(python.UTC).astimezone(aware.tzinfo).replace(tzinfo=None) == value:
        # otherwise the clocks never showed the time, and it is moved on
        assert back.timestamp() == aware.timestamp()


@pytest.mark.parametrize("fold", [0, 1])
def test_the_second_of_two_hours_there_and_back(fold: int) -> None:
    aware = python.datetime(2017, 10, 29, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=fold)
    value = from_python(aware)
    assert str(value) == f"2017-10-29T02:30+0{2 - fold}:00[Europe/Paris]"
    back = to_python(value)
    assert isinstance(back, python.datetime)
    assert back.fold == fold


@given(st.timedeltas())
def test_a_timedelta_is_seconds(value: python.timedelta) -> None:
    length = from_python(value)
    assert isinstance(length, Duration)
    assert (length.months, length.days) == (0, 0)
    assert length.length == value // python.timedelta(microseconds=1) * 1_000


@pytest.mark.parametrize(
    "value",
    [
        Date(10**8),
        Date(-719_163),
        LocalTime(1),
        Time(1),
        LocalDateTime(0, 1),
        DateTime(0, 1),
        DateTime(10**8),
        Duration(0, 1),
        Duration(1),
        Duration(0, 0, 1, 1),
        Duration(0, 0, 10**15),
    ],
)
def test_what_python_cannot_hold_stays(value: Temporal) -> None:
    assert to_python(value) is value
    assert from_python(value) is value


def test_the_types() -> None:
    assert from_python(python.date(1970, 1, 2)) == Date(1)
    assert from_python(python.datetime(1970, 1, 2)) == LocalDateTime(1)
    assert from_python(python.datetime(1970, 1, 2, tzinfo=python.UTC)) == DateTime(1)
    assert from_python(python.time(0, 0, 1)) == LocalTime(10**9)
    assert from_python(python.time(0, 0, 1, tzinfo=python.UTC)) == Time(10**9)
    assert str(from_python(python.datetime(2020, 6, 1, tzinfo=ZoneInfo("Asia/Tokyo")))) == (
        "2020-06-01T00:00+09:00[Asia/Tokyo]"
    )


def test_within_lists_and_maps() -> None:
    node = NodeValue(1)
    given_values = {"a": [None, True, 1, 1.5, "x", (python.date(1970, 1, 1),)], "n": node}
    value = from_python(given_values)
    assert value == {"a": [None, True, 1, 1.5, "x", [Date(0)]], "n": node}
    assert to_python(value) == {
        "a": [None, True, 1, 1.5, "x", [python.date(1970, 1, 1)]],
        "n": node,
    }


@pytest.mark.parametrize(
    "value", [b"x", object(), {1: 2}, {1, 2}, 1j, python.time(1, tzinfo=ZoneInfo("Asia/Tokyo"))]
)
def test_what_the_language_has_not_is_refused(value: object) -> None:
    with pytest.raises(ValueProblem) as refused:
        from_python(value)
    assert refused.value.kind == "type"


def test_a_duration_of_seconds_is_a_timedelta() -> None:
    value = Duration(0, 0, -108_000, 1_000)
    assert to_python(value) == python.timedelta(hours=-30, microseconds=1)
    assert from_python(to_python(value)) == value

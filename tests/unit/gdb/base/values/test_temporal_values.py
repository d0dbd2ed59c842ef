"""What temporal values are: how they print, which are equal, which are before which, and where they end."""

from __future__ import annotations

import itertools
import re
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdb
from gdb.base.values.duration import DAY, Duration
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import (
    Date,
    DateTime,
    LocalDateTime,
    LocalTime,
    Temporal,
    Time,
    sort_key,
)
from tests.support.temporal_strategies import datetimes, durations, temporals

HOUR = DAY // 24


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Date(0), "1970-01-01"),
        (Date(-719_162 - 1), "0000-12-31"),
        (Date(-719_162 - 366 - 1), "-0001-12-31"),
        (Date(2_932_896 + 1), "+10000-01-01"),
        (LocalTime(0), "00:00"),
        (LocalTime(1_000_000_000), "00:00:01"),
        (LocalTime(DAY - 1), "23:59:59.999999999"),
        (LocalTime(100_000_000), "00:00:00.1"),
        (Time(HOUR, 0), "01:00Z"),
        (Time(HOUR, -5400), "01:00-01:30"),
        (LocalDateTime(1, HOUR), "1970-01-02T01:00"),
        (DateTime(1, HOUR), "1970-01-02T01:00Z"),
        (DateTime(1, HOUR, 3208), "1970-01-02T01:00+00:53:28"),
        (DateTime(1, HOUR, 0, "Europe/London"), "1970-01-02T01:00Z[Europe/London]"),
        (Duration(), "PT0S"),
        (Duration(14, -3), "P1Y2M-3D"),
        (Duration(-14), "P-1Y-2M"),
        (Duration(0, 0, 3600), "PT1H"),
        (Duration(0, 1, -61), "P1DT-1M-1S"),
        (Duration(0, 0, -1, 500_000_000), "PT-0.5S"),
    ],
)
def test_a_value_prints_as_the_language_writes_it(value: Temporal, text: str) -> None:
    assert str(value) == text


def test_an_instant_is_the_same_wherever_it_is_shown() -> None:
    here, there = DateTime(0, HOUR, 3600), DateTime.of_instant(0, "America/New_York")
    assert str(here) == "1970-01-01T01:00+01:00"
    assert str(there) == "1969-12-31T19:00-05:00[America/New_York]"
    assert here == there
    assert hash(here) == hash(there)
    assert len({here, there}) == 1


def test_a_time_goes_by_what_is_shown_at_utc() -> None:
    assert Time(2 * HOUR, 3600) == Time(HOUR, 0)
    assert Time(2 * HOUR, 7200) < Time(HOUR, 0)


def test_values_of_two_types_are_never_equal() -> None:
    values: list[Temporal] = [Date(0), LocalTime(0), Time(0), LocalDateTime(0), DateTime(0)]
    values.append(Duration())
    assert len(set(values)) == len(values)
    assert all(a != b for a, b in itertools.combinations(values, 2))
    with pytest.raises(TypeError):
        assert Date(0) < LocalDateTime(1)


def test_durations_are_equal_by_parts_and_ordered_by_length() -> None:
    assert Duration(0, 0, 60) == Duration(0, 0, 0, 60_000_000_000)
    assert Duration(0, 1) != Duration(0, 0, 86_400)
    assert Duration(0, 30) < Duration(1) < Duration(0, 31)
    assert Duration(12, 1) > Duration(0, 365)


@given(st.lists(temporals, max_size=6))
def test_sort_keys_are_equal_for_equal_values_only(values: list[Temporal]) -> None:
    for one, other in itertools.product(values, repeat=2):
        assert (sort_key(one) == sort_key(other)) == (one == other)
        if type(one) is type(other):
            assert (sort_key(one) < sort_key(other)) == (one < other) == (other > one)
            assert (one <= other) == (other >= one) == (one < other or one == other)


@given(datetimes)
def test_a_datetime_shows_its_instant(value: DateTime) -> None:
    again = DateTime.of_instant(value.instant, value.place)
    assert (again, str(again)) == (value, str(value))


@given(durations)
def test_nanoseconds_are_of_a_second(value: Duration) -> None:
    assert 0 <= value.nanoseconds < 1_000_000_000
    opposite = -value
    assert -opposite == value


@pytest.mark.parametrize(
    ("local", "preferred", "shown"),
    [
        # Sweden put its clocks back from 03:00 to 02:00 on 2017-10-29, and forward from 02:00 on 2017-03-26
        ((17_468, 2 * HOUR), None, "2017-10-29T02:00+02:00[Europe/Stockholm]"),
        ((17_468, 2 * HOUR), 3600, "2017-10-29T02:00+01:00[Europe/Stockholm]"),
        ((17_468, 3 * HOUR), 7200, "2017-10-29T03:00+01:00[Europe/Stockholm]"),
        ((17_251, 2 * HOUR + HOUR // 2), None, "2017-03-26T03:30+02:00[Europe/Stockholm]"),
        ((17_251, 2 * HOUR + HOUR // 2), 7200, "2017-03-26T03:30+02:00[Europe/Stockholm]"),
        ((17_251, 2 * HOUR - 1), None, "2017-03-26T01:59:59.999999999+01:00[Europe/Stockholm]"),
    ],
)
def test_clocks_are_put_forward_and_back(
    local: tuple[int, int], preferred: int | None, shown: str
) -> None:
    assert str(DateTime.of_local(*local, "Europe/Stockholm", preferred)) == shown


@pytest.mark.parametrize("years", [8_000, 400_000_000])
def test_a_zone_keeps_its_rules_beyond_what_python_reaches(years: int) -> None:
    summer = DateTime.of_local(17_379 + years // 400 * 146_097, 0, "Europe/Stockholm")
    assert summer.offset == 7200
    assert DateTime.of_local(-10_000_000, 0, "Pacific/Honolulu").offset == -37_886


@pytest.mark.parametrize(
    "make",
    [
        lambda: Date(10**12),
        lambda: LocalTime(DAY),
        lambda: LocalTime(-1),
        lambda: DateTime(-(10**12)),
        lambda: Duration(1 << 63),
        lambda: Duration(0, 0, (1 << 63) - 1, 1_000_000_000),
    ],
)
def test_what_is_out_of_range_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueProblem) as refused:
        make()
    assert refused.value.kind == "arithmetic"


@pytest.mark.parametrize(
    ("kind", "fields", "error", "text"),
    [
        (Date, [10**12], gdb.ArithmeticProblem, "years -999999999 to 999999999"),
        (LocalDateTime, [-(10**12)], gdb.ArithmeticProblem, "years"),
        (DateTime, [10**30], gdb.ArithmeticProblem, "years"),
        (DateTime, [0, DAY], gdb.ArithmeticProblem, "between 00:00 and 24:00"),
        (LocalTime, [-1], gdb.ArithmeticProblem, "between 00:00 and 24:00"),
        (Time, [DAY], gdb.ArithmeticProblem, "between 00:00 and 24:00"),
        (Time, [0, 10**9], gdb.ArgumentProblem, "over 18 hours"),
        (DateTime, [0, 0, -(10**9)], gdb.ArgumentProblem, "over 18 hours"),
        (Duration, [10**30], gdb.ArithmeticProblem, "64 bits"),
        (Duration, [0, 0, 0, 10**40], gdb.ArithmeticProblem, "64 bits"),
        (Date, ["2024-01-01"], gdb.TypeProblem, "an integer of days, not '2024-01-01'"),
        (Date, [True], gdb.TypeProblem, "an integer of days, not True"),
        (Duration, [0, 0, 1.5], gdb.TypeProblem, "an integer of seconds, not 1.5"),
        (LocalTime, [None], gdb.TypeProblem, "an integer of nanoseconds, not None"),
        (DateTime, [0, 0, 0, 5], gdb.TypeProblem, "the name of a zone, not 5"),
    ],
)
def test_errors_of_the_library(kind, fields, error, text):
    with pytest.raises(error, match=re.escape(text)) as caught:
        kind(*fields)
    assert isinstance(caught.value, gdb.GdbError)
    assert isinstance(caught.value, ValueProblem)  # an operation of a query names the place


def test_integers_of_numpy_are_integers():
    fields: list[typing.Any] = [np.int32(1), np.int64(2), np.int16(3)]
    made = DateTime(*fields)
    assert made == DateTime(1, 2, 3)
    assert {type(one) for one in (made.days, made.nanoseconds, made.offset)} == {int}


def test_a_zone_that_there_is_not():
    with gdb.connect() as db, pytest.raises(gdb.TypeProblem, match="no time zone 'Nowhere/x'"):
        db.execute("RETURN $t", {"t": DateTime(0, 0, 0, "Nowhere/x")})

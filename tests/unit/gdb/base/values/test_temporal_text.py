"""The texts that date() and the others read; the values expected are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base.values.duration import Duration
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import (
    Date,
    DateTime,
    LocalDateTime,
    LocalTime,
    Temporal,
    Time,
)
from gdb.base.values.temporal_text import (
    parse_date,
    parse_datetime,
    parse_duration,
    parse_local_datetime,
    parse_local_time,
    parse_time,
)
from tests.support.temporal_strategies import temporals

PARSERS: dict[type, Callable[[str], Temporal]] = {
    Date: parse_date,
    LocalTime: parse_local_time,
    Time: parse_time,
    LocalDateTime: parse_local_datetime,
    DateTime: parse_datetime,
    Duration: parse_duration,
}


@given(temporals)
def test_what_is_printed_is_read(value: Temporal) -> None:
    read = PARSERS[type(value)](str(value))
    assert (read, str(read)) == (value, str(value))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2020-02-29", "2020-02-29"),
        ("20200229", "2020-02-29"),
        ("202002", "2020-02-01"),
        ("2020-02", "2020-02-01"),
        ("2020", "2020-01-01"),
        ("2020-366", "2020-12-31"),
        ("2020366", "2020-12-31"),
        ("2020-W53-5", "2021-01-01"),
        ("2020W535", "2021-01-01"),
        ("2021-W01", "2021-01-04"),
        ("2020-Q2-91", "2020-06-30"),
        ("2020Q291", "2020-06-30"),
        ("2020-Q4", "2020-10-01"),
        ("-0001-03-01", "-0001-03-01"),
        ("+12345-03-01", "+12345-03-01"),
        ("+12345-W01-1", "+12345-01-01"),
    ],
)
def test_a_date_is_read(text: str, shown: str) -> None:
    assert str(parse_date(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2021-02-29",
        "2020-13-01",
        "2020-00-01",
        "2020-1-1",
        "2020-0101",
        "202001-01",
        "2021-366",
        "2021-W53",
        "2020-W10-8",
        "2020-Q5",
        "2020-Q1-92",
        "12345-01-01",
        "+1234567890-01-01",
        "+1234567890101",
        "2020-01-01T00:00",
        "2020-01-01 ",
        "٢٠٢٠-01-01",
    ],
)
def test_another_text_is_no_date(text: str) -> None:
    with pytest.raises(ValueProblem) as refused:
        parse_date(text)
    assert refused.value.kind == "argument"
    assert refused.value.cure


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("23:59:59.123456789", "23:59:59.123456789"),
        ("235959,5", "23:59:59.5"),
        ("07", "07:00"),
        ("0730", "07:30"),
    ],
)
def test_a_time_is_read(text: str, shown: str) -> None:
    assert str(parse_local_time(text)) == shown
    assert str(parse_time(text)) == f"{shown}Z"
    assert str(parse_time(text + "-0330")) == f"{shown}-03:30"


@pytest.mark.parametrize(
    "text", ["24:00", "12:60", "12:00:60", "12:0000", "1", "12:00:00.1234567890", "12.5", "12:"]
)
def test_another_text_is_no_time(text: str) -> None:
    with pytest.raises(ValueProblem):
        parse_local_time(text)


@pytest.mark.parametrize("text", ["12:00+19:00", "12:00+01:60", "12:00+1", "12:00[Europe/Paris]"])
def test_another_text_is_no_time_with_an_offset(text: str) -> None:
    with pytest.raises(ValueProblem):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2020-06-01", "2020-06-01T00:00Z"),
        ("2020-06-01[Europe/Paris]", "2020-06-01T00:00+02:00[Europe/Paris]"),
        ("2020-06-01T12[America/Toronto]", "2020-06-01T12:00-04:00[America/Toronto]"),
        ("20200601T1200z", "2020-06-01T12:00Z"),
        ("2020-10-25T02:30+01:00[Europe/Paris]", "2020-10-25T02:30+01:00[Europe/Paris]"),
        ("2020-10-25T02:30[Europe/Paris]", "2020-10-25T02:30+02:00[Europe/Paris]"),
        ("1850-01-01T00:00[Europe/Paris]", "1850-01-01T00:00+00:09:21[Europe/Paris]"),
    ],
)
def test_a_datetime_is_read(text: str, shown: str) -> None:
    assert str(parse_datetime(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "2020-06-01T12:00+01:00[Europe/Paris]",
        "2020-06-01T12:00[Europe]",
        "2020-06-01T12:00[Europe/Nowhere]",
        "2020-06-01T12:00[/etc/passwd]",
        "2020-06-01T12:00[../Paris]",
        "2020-06-01T12:00[]",
        "2020-06-01T",
        "2020-06-01T12:00 +01:00",
    ],
)
def test_another_text_is_no_datetime(text: str) -> None:
    with pytest.raises(ValueProblem) as refused:
        parse_datetime(text)
    assert refused.value.kind == "argument"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P1Y2M3W4DT5H6M7.8S", Duration(14, 25, 18_367, 800_000_000)),
        ("P-1Y2M", Duration(-10)),
        ("-P1Y2MT1S", Duration(-14, 0, -1)),
        ("PT0.1S", Duration(0, 0, 0, 100_000_000)),
        ("PT-0,7S", Duration(0, 0, 0, -700_000_000)),
        ("P0.5D", Duration(0, 0, 43_200)),
        ("P0.5Y", Duration(6)),
        ("P0001-02-03T04:05:06.7", Duration(14, 3, 14_706, 700_000_000)),
    ],
)
def test_a_duration_is_read(text: str, value: Duration) -> None:
    assert parse_duration(text) == value


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "P1S", "PT1D", "P1D2Y", "P--1D"])
def test_another_text_is_no_duration(text: str) -> None:
    with pytest.raises(ValueProblem) as refused:
        parse_duration(text)
    assert refused.value.kind == "argument"


def test_a_duration_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueProblem) as refused:
        parse_duration("P9223372036854775808D")
    assert refused.value.kind == "arithmetic"
    with pytest.raises(ValueProblem):
        parse_duration(f"P{'9' * 100_000}D")


@given(st.text(alphabet="0123456789-+:.,TWQZPYMDHS[]/", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in PARSERS.values():
        try:
            read = parse(text)
        except ValueProblem:
            continue
        assert parse(str(read)) == read

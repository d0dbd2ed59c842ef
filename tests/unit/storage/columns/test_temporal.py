"""Dates, datetimes and durations: texts in Python and in SQL mean what Python's datetime says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base.sql import written
from gdb.errors import CorruptStore, StoreVersionError
from gdb.storage.columns import temporal
from gdb.storage.columns.model import Column, Kind, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.columns.temporal import LONGEST, Temporal, read_sql, text_of, written_sql
from gdb.storage.format import manifest
from gdb.storage.write.store import Store
from tests.oracles.temporal_texts import parse
from tests.support.graph_tables import GraphTables, write_graph

LENGTHS = st.integers(-LONGEST, LONGEST).map(lambda n: timedelta(microseconds=n))
VALUES = st.one_of(
    st.tuples(st.just("date"), st.dates()),
    st.tuples(st.just("datetime"), st.datetimes()),
    st.tuples(st.just("duration"), LENGTHS | st.timedeltas(-timedelta(3), timedelta(3))),
)
DUCKDB = duckdb.connect()


def by_sql(text: str, kind: Kind) -> Temporal | None:
    """What the importer makes of a text."""
    select = f"SELECT {written(read_sql('x', kind))} FROM (SELECT $x::VARCHAR AS x)"
    found = DUCKDB.cursor().execute(select, {"x": text}).fetchall()[0][0]
    return timedelta(microseconds=found) if isinstance(found, int) else found


def by_python(text: str, kind: Kind) -> Temporal | None:
    try:
        return parse(text, kind)
    except ValueError:
        return None


@given(VALUES)
def test_texts_come_back(given_value: tuple[Kind, Temporal]) -> None:
    kind, value = given_value
    assert parse(text_of(value), kind) == value
    assert by_sql(text_of(value), kind) == value
    number = temporal.length_of(value) if isinstance(value, timedelta) else value
    select = f"SELECT {written(written_sql('x', kind))} FROM (SELECT $x AS x)"
    assert DUCKDB.cursor().execute(select, {"x": number}).fetchone() == (text_of(value),)


@given(st.datetimes(), st.integers(-18 * 60, 18 * 60))
def test_a_zone_is_taken_off_as_python_does(value: datetime, minutes: int) -> None:
    zoned = value.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    try:
        expected = zoned.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        expected = None
    text = zoned.isoformat()
    assert by_python(text, "datetime") == by_sql(text, "datetime") == expected
    if expected is not None:
        assert temporal.instant_of(zoned) == temporal.instant_of(expected)


_SIGN = st.sampled_from(["", "", "-", "+"])
_COUNT = st.sampled_from(["0", "1", "07", "59", "106751991", "999999999999999999", "1" * 19, ""])
_PART = st.builds("{}{}{}".format, _SIGN, _COUNT, st.sampled_from("WDHMSYT"))
_DURATION = st.builds(
    "{}P{}{}{}".format,
    _SIGN,
    st.lists(_PART, max_size=3).map("".join),
    st.sampled_from(["", "T"]),
    st.lists(_PART | st.just("0.5S") | st.just("-1.0000010S"), max_size=3).map("".join),
)
_DATE = st.builds(
    "{}-{}-{}".format,
    st.sampled_from(["0000", "0001", "1900", "2000", "9999", "10000", "99"]),
    st.sampled_from(["00", "01", "02", "12", "13", "1"]),
    st.sampled_from(["00", "01", "28", "29", "30", "31", "32", "1"]),
)
_TIME = st.builds(
    "{}:{}{}{}".format,
    st.sampled_from(["00", "09", "23", "24", "9"]),
    st.sampled_from(["00", "59", "60"]),
    st.sampled_from(["", ":00", ":59", ":60", ":59.5", ":59.999999", ":59.9999990", ":1.1234567"]),
    st.sampled_from(
        ["", "Z", "z", "+02", "-02:30", "+0230", "+18:59", "+19:00", "Z[UTC]", "[UTC]"]
    ),
)
_TEXTS: dict[Kind, st.SearchStrategy[str]] = {
    "date": _DATE,
    "datetime": st.builds("{}{}{}".format, _DATE, st.sampled_from("T t"), _TIME) | _DATE,
    "duration": _DURATION,
}


@pytest.mark.parametrize("kind", _TEXTS)
@given(data=st.data())
def test_importer_and_query_read_a_text_alike(kind: Kind, data: st.DataObject) -> None:
    text = data.draw(_TEXTS[kind] | st.text(max_size=4))
    assert by_python(text, kind) == by_sql(text, kind)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P1W", timedelta(7)),
        ("P1DT2H3M4.5S", timedelta(1, hours=2, minutes=3, seconds=4.5)),
        ("-P1DT2H", timedelta(-1, hours=-2)),
        ("P-1DT2H", timedelta(-1, hours=2)),
        ("PT-0.5S", timedelta(seconds=-0.5)),
        ("PT0S", timedelta(0)),
        *(
            (text, None)
            for text in ("", "P", "PT", "P1DT", "1D", "P1Y", "P1M", "PT1.0000001S", "PT1,5S")
        ),
    ],
)
def test_durations(text: str, value: timedelta | None) -> None:
    assert by_python(text, "duration") == by_sql(text, "duration") == value


def stored(column: Column) -> Store:
    store = Store.open(None, create=True)
    write_graph(store, GraphTables((VertexTable((), "", np.arange(len(column)), {"x": column}),)))
    return store


@pytest.mark.parametrize(
    "column",
    [
        Column("date", np.array([temporal.FIRST_DAY - 1], np.int32)),
        Column("datetime", np.array([temporal.LAST_INSTANT + 1])),
        Column("duration", np.array([-(2**63)])),
    ],
)
def test_a_check_finds_what_is_no_time(column: Column) -> None:
    with pytest.raises(CorruptStore, match=f"holds what is no {column.kind}"):
        stored(column).snapshot().check()
    nothing = Column(column.kind, column.values, None, np.zeros(1, np.bool_))
    stored(nothing).snapshot().check()


def test_only_a_store_with_times_is_refused_by_a_gdb_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = stored(column_of([1])).snapshot().manifest
    timed = stored(column_of([date.min])).snapshot().manifest
    files = manifest.encode(plain), manifest.encode(timed)
    assert manifest.decode(files[1], "x") == timed
    monkeypatch.setattr(manifest, "FORMAT", 1)
    assert manifest.decode(files[0], "x") == plain
    with pytest.raises(StoreVersionError, match="format 2; this gdb reads up to format 1"):
        manifest.decode(files[1], "x")

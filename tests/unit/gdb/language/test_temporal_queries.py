"""Dates, datetimes and durations in queries: values in and out, comparisons, order, groups, functions."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import cast
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdb
from gdb import Database
from gdb.base.values.duration import Duration
from gdb.base.values.temporal import DateTime
from gdb.errors import NotSupported, TypeProblem
from gdb.executor.relational.relational_tail import Value
from gdb.language.parser import parse
from gdb.query_graph import DIFFERENT_EDGES
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.columns.temporal import LONGEST, Temporal, text_of
from tests.support.binding import bind
from tests.support.graph_tables import GraphTables, write_graph

DAYS: list[Temporal | None] = [date.min, date(2000, 1, 1), None, date.max, date(2000, 1, 1)]
INSTANTS: list[Temporal | None] = [
    datetime.min,
    datetime(2000, 1, 1, 10, 0, 0, 500_000),
    None,
    datetime.max,
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
]
LENGTHS: list[Temporal | None] = [
    timedelta(microseconds=-LONGEST),
    timedelta(1, hours=2),
    None,
    timedelta(microseconds=LONGEST),
    timedelta(0),
]
LISTS = {"day": DAYS, "at": INSTANTS, "length": LENGTHS}


def filled(db: Database) -> Database:
    """Nodes 0 to 4 in a ring, the values of each also on the relationship that leaves it."""
    columns = {key: column_of(values) for key, values in LISTS.items()}
    ring = np.arange(5)
    graph = GraphTables(
        (VertexTable(("N",), "", ring, columns),),
        (EdgeTable("R", True, ring, np.roll(ring, -1), columns),),
    )
    write_graph(db._store, graph)
    return db


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with gdb.connect() as made:
        yield filled(made)


@pytest.mark.parametrize("key", LISTS)
def test_values_come_out_as_pythons_own(db: Database, key: str) -> None:
    for text in (f"MATCH (n) RETURN id(n), n.{key}", f"MATCH (n)-[r]->() RETURN id(n), r.{key}"):
        found = dict(db.execute(text))
        assert found == dict(enumerate(LISTS[key]))
        assert {type(value) for value in found.values()} == {type(value) for value in LISTS[key]}


@pytest.mark.parametrize("key", LISTS)
def test_sorted_grouped_distinct_least_and_largest(db: Database, key: str) -> None:
    known = sorted(cast("list[date]", [value for value in LISTS[key] if value is not None]))
    ordered = [value for (value,) in db.execute(f"MATCH (n) RETURN n.{key} ORDER BY n.{key}")]
    assert ordered == [*known, None]
    down = [v for (v,) in db.execute(f"MATCH (n) RETURN n.{key} ORDER BY n.{key} DESC LIMIT 2")]
    assert down == [None, known[-1]]
    grouped = dict(db.execute(f"MATCH (n)-[r]->() RETURN n.{key}, count(*)"))
    assert grouped == {value: LISTS[key].count(value) for value in LISTS[key]}
    assert len(db.execute(f"MATCH (n) RETURN DISTINCT n.{key}")) == len(set(LISTS[key]))
    row = f"min(n.{key}), max(n.{key}), count(n.{key}), collect(n.{key})"
    least, most, count, everything = next(iter(db.execute(f"MATCH (n) RETURN {row}")))
    assert (least, most, count) == (known[0], known[-1], 4)
    assert isinstance(everything, list)
    assert sorted(everything) == known


OPERATORS: dict[str, Callable[[Value, Value], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("key", LISTS)
def test_comparisons_before_matching_and_after(db: Database, key: str, sign: str) -> None:
    """With a parameter and with a literal, pushed down and between two elements: as Python compares; but durations,
    which have no order."""
    ordered = key != "length" or sign in ("=", "<>")
    function = {"day": "date", "at": "localdatetime", "length": "duration"}[key]
    for given_value in {value for value in LISTS[key] if value is not None}:
        expected = [
            number
            for number, value in enumerate(LISTS[key])
            if value is not None and ordered and OPERATORS[sign](value, given_value)
        ]
        shown = text_of(given_value)
        if isinstance(given_value, timedelta):  # days would be a part of its own
            seconds, rest = divmod(abs(given_value) // timedelta(microseconds=1), 10**6)
            shown = f"PT{'-' * (given_value < timedelta())}{seconds}.{rest:06}S"
        written = f"{function}('{shown}')"
        for other in ("$x", written):
            text = f"MATCH (n) WHERE n.{key} {sign} {other} RETURN id(n)"
            found = db.execute(text, {"x": given_value})
            assert sorted(found) == [(number,) for number in expected]
    pairs = [
        (a, b)
        for a, b in zip(range(5), [1, 2, 3, 4, 0], strict=True)
        if None not in (LISTS[key][a], LISTS[key][b])
        and ordered
        and OPERATORS[sign](LISTS[key][a], LISTS[key][b])
    ]
    text = f"MATCH (a)-->(b) WHERE a.{key} {sign} b.{key} RETURN id(a), id(b)"
    assert sorted(db.execute(text)) == pairs


def test_a_statement_asked_again_with_another_value(db: Database) -> None:
    text = "MATCH (n) WHERE n.day = $x RETURN id(n)"
    days = [date.min, date.max, datetime(2000, 1, 1), date(2000, 1, 1), timedelta(1)]
    found = [sorted(db.execute(text, {"x": day})) for day in days]
    assert found == [[(0,)], [(3,)], [], [(1,), (4,)], []]


def test_in_maps_and_lists_of_parameters(db: Database) -> None:
    days = [date.max, None, "2000-01-01", datetime.min]
    assert sorted(db.execute("MATCH (n) WHERE n.day IN $x RETURN id(n)", {"x": days})) == [(3,)]
    text = "MATCH (n) WHERE n.length IN [duration('PT26H'), $x] RETURN id(n)"
    assert sorted(db.execute(text, {"x": timedelta(0)})) == [(1,), (4,)]
    assert db.execute("MATCH (n {day: date('0001-01-01')}) RETURN id(n)").fetchall() == [(0,)]
    lengths = [timedelta(0), None, timedelta(1)]
    assert db.execute("MATCH (n) RETURN $x LIMIT 1", {"x": lengths}).scalar() == lengths


def test_unlike_values_are_not_equal_and_have_no_order(db: Database) -> None:
    row = "n.day = n.at, n.day <> n.at, n.day < n.at, n.length > 1, n.at = '2000-01-01'"
    found = db.execute(f"MATCH (n) WHERE id(n) = 1 RETURN {row}").fetchall()
    assert found == [(False, True, None, None, False)]


def test_functions(db: Database) -> None:
    row = (
        "date(n.at), localdatetime(n.day), date(n.day), localdatetime('2000-01-01'), duration(n.length),"
        " localdatetime('2000-01-01T01:30'), date($text), date(null), duration(n.missing),"
        " toString(n.day), toString(n.at), toString(n.length), coalesce(n.missing, n.day)"
    )
    text = f"MATCH (n) WHERE id(n) = 1 RETURN {row}"
    assert db.execute(text, {"text": "1999-12-31"}).fetchall() == [
        (
            date(2000, 1, 1),
            datetime(2000, 1, 1),
            date(2000, 1, 1),
            datetime(2000, 1, 1),
            timedelta(1, hours=2),
            datetime(2000, 1, 1, 1, 30),
            date(1999, 12, 31),
            None,
            None,
            "2000-01-01",
            "2000-01-01T10:00:00.5",
            "PT26H",
            date(2000, 1, 1),
        )
    ]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("date('2000-02-30')", "column 18: date() of a string"),
        ("localdatetime('10:00')", "localdatetime() of a string"),
        ("duration('P1M')", "a parameter of this kind"),
        ("duration('P1D')", "a parameter of this kind"),
        ("datetime('2000-01-01')", "a parameter of this kind"),
        ("date(5)", "date() of an integer"),
        ("date(toString(n.day))", "date() of a string"),
        ("duration(n.day)", "duration() of a date"),
        ("n.day + 1", "+ of a date"),
        ("-n.length", "- of a duration"),
        ("sum(n.length)", "sum() of a duration"),
        ("abs(n.at)", "abs() of a datetime"),
        ("[n.day, n.at]", "of several types"),
    ],
)
def test_what_duckdb_is_not_asked(db: Database, expression: str, says: str) -> None:
    query = parse(f"MATCH (n) RETURN {expression}")
    with pytest.raises(NotSupported, match=re.escape(says)):
        bind(query, db._store.snapshot(), {}, DIFFERENT_EDGES)


def test_parameters_are_taken_as_python_and_numpy_have_them(db: Database) -> None:
    given_values = {
        np.datetime64("2000-01-01"): date(2000, 1, 1),
        np.datetime64("2000-01-01T00:00:00.000001000", "ns"): datetime(2000, 1, 1, 0, 0, 0, 1),
        np.timedelta64(-1, "s"): timedelta(seconds=-1),
        np.datetime64("NaT"): None,
        np.timedelta64("NaT", "us"): None,
    }
    for value, plain in given_values.items():
        assert db.execute("MATCH (n) RETURN $x LIMIT 1", {"x": value}).scalar() == plain
    assert db.execute("MATCH (n) RETURN $x LIMIT 1", {"x": timedelta.max}).scalar() == timedelta.max
    with pytest.raises(TypeProblem, match="Years are 1 to 9999"):
        db.execute("MATCH (n) RETURN $x", {"x": np.datetime64("12000-01-01")})


EAST = datetime(2000, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
PARIS = datetime(2000, 7, 1, 1, 30, tzinfo=ZoneInfo("Europe/Paris"))
TWICE = datetime(2000, 10, 29, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris"))
WRITTEN = {
    "datetime('2000-01-01T01:30+02:00')": EAST,
    "datetime('2000-07-01T01:30[Europe/Paris]')": PARIS,
    "datetime('2000-10-29T02:30+01:00[Europe/Paris]')": TWICE,
    "localdatetime('2000-01-01T01:30')": datetime(2000, 1, 1, 1, 30),
    "time('01:30+02:00')": time(1, 30, tzinfo=timezone(timedelta(hours=2))),
    "localtime('01:30')": time(1, 30),
    "duration('P1M2D')": Duration(1, 2, 0, 0),
    "datetime('2000-01-01T01:30:00.000000001Z')": DateTime(10957, 5_400_000_000_001, 0),
}


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n) RETURN {0} = $x, toString($x), $x",
        "MATCH (n) WHERE $x = {0} RETURN true, toString($x), $x",
        "MATCH (n) WITH n, $x AS x RETURN x = {0}, toString(x), x",
        "WITH [$x] AS several RETURN {0} IN several, toString(several[0]), several[0]",
        "CREATE (m:Made {{x: $x}}) WITH m MATCH (m) RETURN m.x = {0}, toString(m.x), m.x",
    ],
)
def test_a_parameter_is_what_the_language_writes(text: str, query: str) -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:N)")
        value = WRITTEN[text]
        told = db.execute(f"RETURN toString({text})").scalar()
        assert db.execute(query.format(text), {"x": value}).fetchall() == [(True, told, value)]
        assert db.execute("RETURN $x.a[0] = " + text, {"x": {"a": [value]}}).scalar() is True


def test_a_stored_value_is_found_by_a_parameter(db: Database) -> None:
    with gdb.connect() as own:
        own.execute(f"UNWIND range(1, {3000}) AS i CREATE (:N {{at: localdatetime('2000-01-01')}})")
        own.execute("CREATE (:Z {at: $x})", {"x": EAST})
        for text in (
            "MATCH (n:Z {at: $x}) RETURN n.at",
            "MATCH (n:Z) WHERE n.at IN [$x] RETURN n.at",
            "MATCH (n:Z) WHERE n.at <= $x RETURN n.at",
            "MATCH (n) WITH n WHERE n.at = $x RETURN n.at",
        ):
            assert own.execute(text, {"x": EAST}).fetchall() == [(EAST,)], text
        text = "MATCH (n) WHERE n.at = $x RETURN count(*)"
        # the statement that columns answer is not taken for a value that they have not
        assert own.execute(text, {"x": datetime(2000, 1, 1)}).scalar() == 3000
        assert own.execute(text, {"x": EAST}).scalar() == 1


def test_a_time_that_the_language_has_not_is_refused(db: Database) -> None:
    odd = timezone(timedelta(microseconds=1))
    for value in (datetime(2000, 1, 1, tzinfo=odd), time(1, tzinfo=ZoneInfo("Europe/Paris"))):
        with pytest.raises(TypeProblem, match=r"parameter \$x holds .*offset"):
            db.execute("RETURN $x", {"x": value})


def test_arrow_and_data_frames_have_the_types(db: Database) -> None:
    text = "MATCH (n) RETURN n.day AS day, n.at AS at, n.length AS length, n AS node"
    for query in (text, f"{text} ORDER BY n.length"):
        table = db.execute(query).arrow()
        table.validate(full=True)
        assert [str(field.type) for field in table.schema][:3] == [
            "date32[day]",
            "timestamp[us]",
            "duration[us]",
        ]
        rows = [tuple(row[key] for key in LISTS) for row in table.to_pylist()]
        assert sorted(rows, key=repr) == sorted(zip(*LISTS.values(), strict=True), key=repr)
        of_node = [
            tuple(row["node"]["properties"][key] for key in LISTS) for row in table.to_pylist()
        ]
        assert of_node == rows
    frame = db.execute(text).df()
    assert [str(kind) for kind in frame.dtypes] == [
        "object",
        "datetime64[us]",
        "timedelta64[us]",
        "object",
    ]
    assert db.execute(text).pl().schema["length"].is_temporal()


def test_lists_and_no_rows_of_durations(db: Database) -> None:
    table = db.execute("MATCH (n) RETURN collect(n.length) AS x").arrow()
    assert str(table.schema.field("x").type.value_type) == "duration[us]"
    none = db.execute("MATCH (n) WHERE n.day = date('1234-05-06') RETURN n.length, n.day")
    assert none.fetchall() == []
    assert str(none.arrow().schema.field(0).type) == "duration[us]"


def test_nodes_show_them_as_iso_texts(db: Database) -> None:
    node = db.execute("MATCH (n) WHERE id(n) = 1 RETURN n").scalar()
    assert str(node) == "(1:N {at: 2000-01-01T10:00:00.5, day: 2000-01-01, length: PT26H})"


def test_explain_shows_the_condition(db: Database) -> None:
    text = "EXPLAIN MATCH (n) WHERE n.length > $x AND n.at < $y RETURN n"
    plan = db.execute(text, {"x": timedelta(hours=1), "y": datetime(2000, 1, 1)})
    shown = "\n".join(str(line) for (line,) in plan)
    assert ".at < localdatetime('2000-01-01T00:00:00')" in shown
    assert ".length > duration('PT1H')" in shown


@given(st.lists(st.none() | st.datetimes(), min_size=1, max_size=6), st.datetimes())
def test_any_datetimes_compare_as_in_python(values: list[datetime | None], other: datetime) -> None:
    with gdb.connect() as db:
        column = {"at": column_of(values, "datetime")}
        write_graph(db._store, GraphTables((VertexTable((), "", np.arange(len(values)), column),)))
        found = db.execute("MATCH (n) WHERE n.at <= $x RETURN id(n)", {"x": other})
        expected = [k for k, value in enumerate(values) if value is not None and value <= other]
        assert sorted(found) == [(k,) for k in expected]


def test_a_backup_has_them(db: Database, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("temporal")
    db.backup(folder / "copy")
    with gdb.connect(folder / "copy") as copy:
        copy.check()
        text = "MATCH (n) RETURN id(n), n.day, n.at, n.length"
        assert sorted(copy.execute(text)) == sorted(db.execute(text))


def test_a_local_datetime_is_not_compared_with_one_of_a_zone() -> None:
    """Whatever evaluates it: NumPy, DuckDB or the reference."""
    with gdb.connect() as db:
        db.execute("CREATE (:A {t: localdatetime('2020-01-01T00:00:00')}), (:A {x: 1})")
        for where, found in (
            ("a.t < localdatetime('2021-01-01')", 1),
            ("a.t < datetime('2021-01-01')", 0),
            ("a.t = datetime('2020-01-01')", 0),
            ("a.t < $zoned", 0),
            ("a.t < $local", 1),
        ):
            given = {
                "zoned": datetime(2021, 1, 1, tzinfo=UTC),
                "local": datetime(2021, 1, 1),
            }
            for query in ("MATCH (a:A) WHERE", "MATCH (a:A) WITH a WHERE"):
                asked = f"{query} {where} RETURN count(*)"
                assert db.execute(asked, given).scalar() == found, asked

"""Answers as text."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

import gdb
from gdb.answer.entities import Node, Path, Relationship
from gdb.answer.table import cell, fitted, places, table
from gdb.base.values.duration import Duration
from gdb.base.values.temporal import Date
from gdb.repl.format import Format, csv_lines, json_lines, lines

ADA = Node(1, ("Person",), {"name": "Ada"})
TIMES = [date.min, datetime(2000, 1, 1, 10), -timedelta(hours=1)]
KNOWS = Relationship(0, "KNOWS", 1, "x", {"since": 1833})


def test_a_table_is_aligned_by_places_not_characters() -> None:
    rows = [("日本", 1), ("e\u0301", 20), (None, None)]
    assert list(table(["name", "n"], rows)) == [
        "name     n",
        "----  ----",
        "日本     1",
        "e\u0301       20",
        "null  null",
    ]


def test_a_table_is_cut_to_its_width() -> None:
    shown = list(table(["id", "text", "more"], [(1, "x" * 50, "日" * 50)], 40))
    assert all(places(line) <= 40 for line in shown)
    assert shown[2].startswith(" 1  xxxx")
    assert "…" in shown[2]


def test_more_columns_than_places_still_fit() -> None:
    names = [f"column{number}" for number in range(50)]
    assert all(places(line) <= 30 for line in table(names, [range(50)], 30))


def test_without_a_width_nothing_is_cut() -> None:
    assert list(table(["a"], [("x" * 500,)], None))[2] == "x" * 500


def test_no_rows_show_the_names() -> None:
    assert list(table(["a", "b"], [])) == ["a  b", "-  -"]


def test_long_answers_are_written_block_by_block() -> None:
    shown = list(table(["a"], ((number,) for number in range(2500))))
    assert [int(line) for line in shown[2:]] == list(range(2500))


@pytest.mark.parametrize(("width", "widths"), [(100, [5, 50]), (32, [5, 25]), (20, [5, 13])])
def test_the_widest_column_gives_way_first(width: int, widths: list[int]) -> None:
    assert fitted([5, 50], width) == widths


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("\u202egpj", "\\u202egpj"),
        (["a'", 1, None], "['a\\'', 1, null]"),
        (ADA, "(1:Person {name: 'Ada'})"),
        (KNOWS, "(1)-[:KNOWS {since: 1833}]->('x')"),
    ],
)
def test_a_cell_is_one_harmless_line(value: object, text: str) -> None:
    assert cell(value) == text


def test_csv_is_read_back() -> None:
    rows = [("a,b", 'say "x"\nthen', None), (ADA, True, 1.5)]
    text = "\n".join(csv_lines(["x", "y", "z"], rows)) + "\n"
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["x", "y", "z"],
        ["a,b", 'say "x"\nthen', ""],
        ["(1:Person {name: 'Ada'})", "true", "1.5"],
    ]


def test_csv_keeps_an_empty_text_apart_from_null(tmp_path: Path) -> None:
    rows = [("", None), (None, ""), ("a,b", " c")]
    found = [*csv_lines(["x", ""], rows)]
    assert found == ['x,""', '"",', ',""', '"a,b", c']
    assert [*csv_lines(["x"], [(None,), ("",), ("\r",)])] == ["x", "", '""', '"\r"']
    file = tmp_path / "a.csv"
    text = "\n".join(csv_lines(["id", "a", "b"], [(1, "", None), (2, None, "")])) + "\n"
    file.write_text(text, newline="")
    with gdb.connect() as db:
        db.load(nodes={"P": file})
        found_rows = db.execute("MATCH (p) RETURN p.a, p.b ORDER BY p.id").fetchall()
        assert found_rows == [("", None), (None, "")]


def test_json_is_read_back() -> None:
    rows = [(ADA, None, float("nan")), (KNOWS, [1, "é"], True)]
    assert json.loads("\n".join(json_lines(["x", "y", "z"], rows))) == [
        {
            "x": {"id": 1, "labels": ["Person"], "properties": {"name": "Ada"}},
            "y": None,
            "z": None,
        },
        {
            "x": {"type": "KNOWS", "start": 1, "end": "x", "properties": {"since": 1833}},
            "y": [1, "é"],
            "z": True,
        },
    ]


def test_json_of_no_rows_is_an_empty_array() -> None:
    assert list(json_lines(["x"], [])) == ["[]"]


def test_jsonl_is_one_object_for_each_row() -> None:
    rows = [(ADA, "a\nb"), ([KNOWS], float("inf"))]
    shown = list(lines(Format.JSONL, ["x", "y"], rows, 10))
    assert [json.loads(line) for line in shown] == [
        {
            "x": {"id": 1, "labels": ["Person"], "properties": {"name": "Ada"}},
            "y": "a\nb",
        },
        {
            "x": [{"type": "KNOWS", "start": 1, "end": "x", "properties": {"since": 1833}}],
            "y": None,
        },
    ]
    assert not any("\n" in line for line in shown)


def test_jsonl_of_no_rows_is_nothing() -> None:
    assert list(lines(Format.JSONL, ["x"], [], None)) == []


def test_jsonl_holds_the_same_rows_as_json() -> None:
    rows = [(ADA, None), (KNOWS, True)]
    shown = lines(Format.JSONL, ["x", "y"], rows, None)
    whole = "".join(lines(Format.JSON, ["x", "y"], rows, None))
    assert [json.loads(line) for line in shown] == json.loads(whole)


PATH = Path((ADA, Node(2)), (Relationship(0, "KNOWS", 2, 1),))
ODD = [
    PATH,
    {"a": 1, "b c": [1, {"d": None}]},
    time(12, 30, 0, 500_000, timezone(-timedelta(hours=1))),
    datetime(2020, 7, 1, tzinfo=ZoneInfo("Europe/Stockholm")),
    datetime(2020, 7, 1, 0, 0, 0, 500_000, UTC),
    Duration(14, 3, 1),
    Date(10**7),
]
TEXTS = [
    "(1:Person {name: 'Ada'})<-[:KNOWS]-(2)",
    "{a: 1, `b c`: [1, {d: null}]}",
    "12:30:00.5-01:00",
    "2020-07-01T00:00+02:00[Europe/Stockholm]",
    "2020-07-01T00:00:00.5Z",
    "P1Y2M3DT1S",
    "+29349-01-26",
]


def test_paths_maps_and_times_are_texts_in_a_table_and_in_csv() -> None:
    assert [cell(value) for value in ODD] == TEXTS
    assert next(csv.reader([*csv_lines(["x"] * len(ODD), [ODD])][1:])) == TEXTS
    assert cell([ODD[2:], {"p": PATH}]) == f"[[{', '.join(TEXTS[2:])}], {{p: {TEXTS[0]}}}]"


def test_paths_and_maps_are_objects_in_json() -> None:
    names = [str(k) for k in range(len(ODD))]
    (record,) = json.loads("".join(json_lines(names, [ODD])))
    assert [*record.values()][1:] == [{"a": 1, "b c": [1, {"d": None}]}, *TEXTS[2:]]
    assert record["0"] == {
        "nodes": [
            {"id": 1, "labels": ["Person"], "properties": {"name": "Ada"}},
            {"id": 2, "labels": [], "properties": {}},
        ],
        "relationships": [{"type": "KNOWS", "start": 2, "end": 1, "properties": {}}],
    }


VALUES = [
    *("duration('PT24H')", "duration('PT-25H')", "duration('P1DT1H')", "duration('-PT0.5S')"),
    *("1e21", "1e-7", "-0.0", "0.0/0", "1.0/0", "-1.0/0", "time('10:00Z')", "date('2000-01-01')"),
    *(
        "localtime('10:00')",
        "localdatetime('2000-01-01T10:00')",
        "datetime('2000-01-01T10:00:01Z')",
    ),
]


def test_values_are_shown_as_to_string_writes_them() -> None:
    with gdb.connect() as db:
        query = f"UNWIND [{', '.join(VALUES)}] AS x RETURN x, toString(x) AS t"
        rows = [tuple(row) for row in db.execute(query)]
        texts = [text for _, text in rows]
        assert [cell(value) for value, _ in rows] == texts
        listed = f"[{', '.join(texts)}]"
        assert cell([value for value, _ in rows]) == listed
        assert [*csv_lines(["x"], [(value,) for value, _ in rows])][1:] == texts
        found = db.execute(f"CREATE (a:A {{d: {VALUES[0]}, e: {VALUES[1]}}}) RETURN a").scalar()
        assert str(found) == "(0:A {d: PT24H, e: PT-25H})"
        assert str(db.execute("MATCH (a) RETURN a")).splitlines()[3] == str(found)


def test_a_statement_of_insert_keeps_a_duration() -> None:
    with gdb.connect() as db:
        query = "RETURN [duration('PT24H'), duration('PT-25H')] AS l"
        for line in lines(Format.INSERT, ["l"], db.execute(query), None):
            db.execute(line)
        assert db.execute("MATCH (n:Row) RETURN [d IN n.l | toString(d)]").scalar() == [
            "PT24H",
            "PT-25H",
        ]


def test_dates_and_times_are_iso_texts_in_every_format() -> None:
    texts = ["0001-01-01", "2000-01-01T10:00", "PT-1H"]
    assert list(table(["x"], [(value,) for value in TIMES]))[2:] == texts
    assert list(csv_lines(["a", "b", "c"], [TIMES]))[1] == ",".join(texts)
    assert json.loads("".join(json_lines(["x"], [(TIMES,)]))) == [{"x": texts}]
    assert cell(TIMES) == f"[{', '.join(texts)}]"


HARD: list[object] = [
    *("x\r\ny\rz", 'it\'s \\ "q"', "\x00\x01\t\b\f", "\u2028é\U0001f600"),
    *(float("inf"), -float("inf"), float("nan"), -0.0, 1e300, 5e-324, 2**63 - 1, -(2**63), True),
    *([1, 2], ["a\r", "b"], [float("inf"), 1.5]),
]


@pytest.mark.parametrize("value", HARD, ids=repr)
def test_a_statement_of_insert_makes_the_same_node(value: object) -> None:
    shown = "MATCH (n) RETURN labels(n), properties(n)"
    with gdb.connect() as db, gdb.connect() as again:
        db.execute(
            "CREATE (:`My lab`:MATCH {`a key`: $v, null: 1, match: 2, `b``c`: 3})", {"v": value}
        )
        rows = [tuple(row) for row in db.execute("MATCH (n) RETURN n")]
        for line in lines(Format.INSERT, ["n"], rows, None):
            again.execute(line)
        assert repr(again.execute(shown).fetchall()) == repr(db.execute(shown).fetchall())

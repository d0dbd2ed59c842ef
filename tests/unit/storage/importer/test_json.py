"""JSON: what neo4j's `apoc.export.json` writes, and plain records, on lines of their own or in one array."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gdb
from gdb.errors import ImportFailed
from gdb.storage.importer.documents import json_lines
from tests.support.effort import share

NODES = "MATCH (n) RETURN id(n), labels(n), properties(n)"
EDGES = "MATCH (a)-[r]->(b) RETURN id(a), type(r), properties(r), id(b)"
NEO4J = """\
{"type":"node","id":"0","labels":["User"],"properties":{"name":"Adam","age":42,"male":true,"kids":["Sam","Anna"]}}
{"type":"node","id":"1","labels":["User","Admin"],"properties":{"name":"Jim"}}
{"type":"node","id":"2"}
{"id":"0","type":"relationship","label":"KNOWS","properties":{"since":1993},"start":{"id":"0","labels":["User"]},"end":{"id":"1","labels":["User"]}}
{"id":"1","type":"relationship","label":"SEES","start":{"id":"1"},"end":{"id":"2"}}
"""


def rows(db: gdb.Database, query: str) -> list[tuple[Any, ...]]:
    return sorted(db.execute(query).fetchall(), key=repr)


def write(tmp_path: Path, text: str, name: str = "file.json") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


@pytest.mark.parametrize("array", [False, True])
def test_what_neo4j_writes(array: bool, tmp_path: Path) -> None:
    text = f"[{','.join(NEO4J.splitlines())}]" if array else NEO4J
    with gdb.connect() as db:
        report = db.load(write(tmp_path, text))
        assert rows(db, NODES) == [
            (0, ["User"], {"age": 42, "kids": ["Sam", "Anna"], "male": True, "name": "Adam"}),
            (1, ["Admin", "User"], {"name": "Jim"}),
            (2, [], {}),
        ]
        assert rows(db, EDGES) == [(0, "KNOWS", {"since": 1993}, 1), (1, "SEES", {}, 2)]
    assert (report.rows, report.files[0].format) == (5, "JSON")


def test_nodes_and_relationships_in_files_of_their_own(tmp_path: Path) -> None:
    lines = NEO4J.splitlines(keepends=True)
    first = write(tmp_path, "".join(lines[3:]), "a.json")
    second = write(tmp_path, "".join(lines[:3]), "b.json.gz")
    second.write_bytes(gzip.compress(second.read_bytes()))
    with gdb.connect() as db:
        db.load([first, second])
        assert len(rows(db, EDGES)) == 2


PEOPLE = """\
{"id": 1, "name": "Ada", "labels": "Person"}

{"name": "Bob", "id": 2, "tags": ["x"], "labels": ["Person", "New"]}
"""
KNOWS = (
    '{"source": 1, "target": 2, "type": "KNOWS", "since": 1843}\n{"from": 2, "to": 1, "w": 0.5}\n'
)


def test_plain_records(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(write(tmp_path, KNOWS + PEOPLE))
        assert rows(db, NODES) == [
            (1, ["Person"], {"id": 1, "name": "Ada"}),
            (2, ["New", "Person"], {"id": 2, "name": "Bob", "tags": ["x"]}),
        ]
        assert rows(db, EDGES) == [
            (1, "KNOWS", {"since": 1843}, 2),
            (2, "EDGE", {"w": 0.5}, 1),
        ]


def test_as_tables_of_nodes_and_edges(tmp_path: Path) -> None:
    people = write(tmp_path, '{"id": 1, "n": "a"}\n{"id": 2, "n": "b"}\n', "people.jsonl")
    cities = write(tmp_path, '[{"id": 1, "n": "c"}]', "cities.json")
    lives = write(tmp_path, '{"start": 1, "end": 1, "y": 3}\n', "lives.jsonl")
    with gdb.connect() as db:
        db.load(nodes={"Person": people, "City": cities}, edges={"LIVES:Person:City": lives})
        query = "MATCH (a:Person)-[r:LIVES]->(b:City) RETURN a.n, r.y, b.n"
        assert db.execute(query).fetchall() == [("a", 3, "c")]
    with gdb.connect() as db:
        db.execute(f"COPY (:Person) FROM '{people}'")
        assert db.execute("MATCH (a:Person {id: 2}) RETURN a.n").scalar() == "b"


def test_text_ids_stay_texts(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(write(tmp_path, '{"id": "1"}\n{"id": "x"}\n{"source": "1", "target": "x"}\n'))
        assert rows(db, EDGES) == [("1", "EDGE", {}, "x")]


def test_records_without_nodes_make_them(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(write(tmp_path, '{"source": 5, "target": 6}\n'), label="N")
        assert rows(db, NODES) == [(5, ["N"], {}), (6, ["N"], {})]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is no JSON: Expecting property name enclosed in double quotes (column 2)"),
        ('{"id": 3', "is no JSON"),
        ('{"id": 3} {"id": 4}', "is no JSON: Extra data"),
        ("7", "is a number, no object"),
        ('{"name": "x"}', "has the keys 'name', which name no node (id) and no relationship"),
        ('{"id": null}', "has null as 'id'"),
        ('{"id": 1.5}', "has 1.5 as 'id'"),
        ('{"id": true}', "has true as 'id'"),
        ('{"id": 99999999999999999999}', "has 99999999999999999999 as 'id'"),
        ('{"id": 3, "x": {"y": 1}}', "holds an object as 'x'"),
        ('{"id": 3, "x": [1, null]}', "holds null in the list 'x'"),
        ('{"id": 3, "labels": 7}', "has a number as its labels"),
        ('{"id": 1}', "node 1 occurs twice"),
        ('{"source": 1, "target": 8}', "there is no node with id 8"),
        ('{"source": 1, "target": 1, "type": 3}', "has a number as its type"),
        ('{"type": "relationship", "start": {"id": "1"}, "end": {"id": "1"}}', "without label"),
        ('{"type": "relationship", "start": 1, "end": 2}', "has a number as 'start'"),
        ('{"id": 3, "y": "\\ud800"}', "is not valid Unicode"),
        ('{"id": 3, "\\ud800": 1}', "is not valid Unicode"),
        ('{"id": "\\ud800"}', "is not valid Unicode"),
        ('{"id": 3, "x": "text"}', "is none of the integers before it"),
        ("[" * 5000, "is no JSON"),
    ],
)
def test_bad_lines(line: str, said: str, tmp_path: Path) -> None:
    file = write(tmp_path, f'{{"id": 1, "x": 2}}\n{line}\n{{"id": 9}}\n')
    with gdb.connect() as db:
        with pytest.raises(ImportFailed) as failed:
            db.load(file)
        assert db.stats().vertices == 0
    assert said in str(failed.value), str(failed.value)
    assert (failed.value.line, failed.value.file) == (2, str(file))
    assert failed.value.cure


def test_bad_lines_are_skipped_once(tmp_path: Path) -> None:
    text = (
        PEOPLE + '{"id": 1}\nx\n{"source": 1, "target": 9}\n{"source": 1, "target": {}}\n' + KNOWS
    )
    with gdb.connect() as db:
        with pytest.warns(gdb.errors.LinesSkipped):
            report = db.load(write(tmp_path, text), on_error="skip")
        assert sorted(r.line for r in report.rejected) == [4, 5, 6, 7]
        assert (report.vertices, report.edges) == (2, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"id": 1}', "ends before its array is closed"),
        ('[{"id": 1},\n{"id": 2', "is no JSON"),
        ('[{"id": 1}]\n{"id": 2}', "goes on behind the end of its array"),
        ('[{"id": 1},\n{"id" 2}]', "is no JSON"),
        ('[{"id": 1},\n7]', "is a number, no object"),
        ('[{"id": 1},\n"' + "x" * 3000, "is no JSON"),
    ],
)
def test_bad_arrays(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for piece in (1 << 16, 5):
        monkeypatch.setattr(json_lines, "_PIECE", piece)
        with gdb.connect() as db, pytest.raises(ImportFailed) as failed:
            db.load(write(tmp_path, text))
        assert said in str(failed.value)
        assert failed.value.line == text.count("\n") + 1 or "goes on" in said


def test_an_object_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LONGEST", 50_000)
    with gdb.connect() as db, pytest.raises(ImportFailed, match="is no JSON"):
        db.load(write(tmp_path, '[{"id": "' + "x" * 300_000))


@settings(max_examples=share(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    piece=st.integers(1, 40),
    indent=st.sampled_from([None, 0, 2]),
    records=st.lists(
        st.fixed_dictionaries(
            {
                "t": st.text(st.characters(blacklist_categories=["Cs"]), max_size=9),
                "f": st.floats(-1e9, 1e9),
            }
        ),
        min_size=1,
        max_size=9,
    ),
)
def test_any_array_in_any_pieces(
    piece: int, indent: int | None, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    for number, record in enumerate(records):
        record["id"] = number
    file = write(tmp_path, json.dumps(records, indent=indent, ensure_ascii=False))
    with pytest.MonkeyPatch.context() as patch, gdb.connect() as db:
        patch.setattr(json_lines, "_PIECE", piece)
        db.load(file)
        found = db.execute("MATCH (n) RETURN n.id AS id, n.t, n.f ORDER BY id").fetchall()
    assert found == [(r["id"], r["t"], r["f"]) for r in records]

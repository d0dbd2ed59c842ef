"""An export for spreadsheets: an apostrophe before what they would take for a formula, and nothing else."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import gdb
from gdb.repl import main
from gdb.repl.format import Format, lines
from gdb.storage.copies import export_contents

TEXTS = ["=1+1", "+1", "-1", "@a", "\tb", "\rc", "\uff1dd", "a=1", "'=1", "", " =1"]
GUARDED = [f"'{text}" if k < 7 else text for k, text in enumerate(TEXTS)]


@pytest.fixture
def db() -> gdb.Database:
    db = gdb.connect()
    for k, text in enumerate(TEXTS):
        db.execute(
            "CREATE (:`=L` {k: $k, `+x`: $x, n: -5, f: -0.5, l: [$x], day: date('2020-01-01')})",
            {"k": k, "x": text},
        )
    return db


def rows_of(folder: Path) -> list[list[str]]:
    (path,) = folder.glob("nodes*.csv")
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


def test_texts_and_names_are_guarded_and_numbers_are_not(db: gdb.Database, tmp_path: Path) -> None:
    db.export(tmp_path / "a", guard_formulas=True)
    header, *rows = rows_of(tmp_path / "a")
    at = {name: k for k, name in enumerate(header)}
    assert "'+x:string" in at
    rows.sort(key=lambda row: int(row[at["k:long"]]))
    assert [row[at["'+x:string"]] for row in rows] == GUARDED
    assert {row[at[":LABEL"]] for row in rows} == {"'=L"}
    assert {(row[at["n:long"]], row[at["f:double"]]) for row in rows} == {("-5", "-0.5")}
    assert rows[0][at["l:string[]"]] == "'=1+1"


def test_it_is_off_unless_wanted(db: gdb.Database, tmp_path: Path) -> None:
    db.export(tmp_path / "a")
    header, *rows = rows_of(tmp_path / "a")
    assert "guarded" not in json.loads((tmp_path / "a" / export_contents.NAME).read_text())
    assert {row[header.index("+x:string")] for row in rows} == set(TEXTS)


def test_an_import_says_that_it_is_not_the_same(db: gdb.Database, tmp_path: Path) -> None:
    db.export(tmp_path / "a", guard_formulas=True)
    again = gdb.connect()
    report = again.load(tmp_path / "a")
    assert any("was exported for spreadsheets" in warning for warning in report.warnings)
    found = again.execute("MATCH (n) RETURN n.`+x` ORDER BY n.k").fetchall()
    assert [text for (text,) in found] == GUARDED


def test_parquet_has_no_formulas(db: gdb.Database, tmp_path: Path) -> None:
    db.export(tmp_path / "a", "parquet", guard_formulas=True)
    again = gdb.connect()
    assert not again.load(tmp_path / "a").warnings
    found = again.execute("MATCH (n) RETURN n.`+x` ORDER BY n.k").fetchall()
    assert [text for (text,) in found] == TEXTS


def test_answers_of_the_shell() -> None:
    rows = [["=1", -5, -0.5, None, "a"]]
    given = (Format.CSV, ["@x", "n", "f", "o", "s"], rows, None)
    assert list(lines(*given, guard=True)) == ["'@x,n,f,o,s", "'=1,-5,-0.5,,a"]
    assert list(lines(*given)) == ["@x,n,f,o,s", "=1,-5,-0.5,,a"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "s.gdb")
    with gdb.connect(store) as db:
        db.execute("CREATE (:A {x: '=1'})")
    query = ["--format", "csv", "--guard-formulas", "-c", "MATCH (n) RETURN n.x AS x"]
    assert main.main([store, *query]) == 0
    assert capsys.readouterr().out == "x\n'=1\n"
    assert main.main(["export", store, str(tmp_path / "a"), "--guard-formulas"]) == 0
    assert rows_of(tmp_path / "a")[1][-1] == "'=1"


def test_a_description_that_claims_wide_lines(tmp_path: Path) -> None:
    """DuckDB makes room for two lines before it reads one."""
    db = gdb.connect()
    db.execute("CREATE (:A {x: 'a'})")
    db.export(tmp_path / "a")
    path = tmp_path / "a" / export_contents.NAME
    told = json.loads(path.read_text())
    told["nodes"][0]["held"]["widest"] = 1 << 50
    path.write_text(json.dumps(told))
    assert gdb.connect().load(tmp_path / "a").vertices == 1

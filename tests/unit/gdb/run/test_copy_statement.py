"""COPY: `Database.load` as a query."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import gdb
from gdb.errors import (
    Cancelled,
    ChangeRefused,
    ImportFailed,
    NameProblem,
    NotSupported,
    ReadOnlyError,
    SyntaxProblem,
    TypeProblem,
)
from gdb.language.parser import parse
from gdb.language.printer import printed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("id:ID,name,age:int\n1,Ada,36\n2,Bob,41\n3,Cem,\n")
    (tmp_path / "labelled.csv").write_text("id:ID,:LABEL\n7,A;B\n8,C\n")
    (tmp_path / "knows.csv").write_text("1;2;2001\n2;3;2009\n1;x;3\n")
    (tmp_path / "links.txt").write_text("# links\n1 2\n2 3\n3 1\n")
    return tmp_path


def test_nodes_and_relationships(folder: Path) -> None:
    with gdb.connect() as db:
        done = db.execute(f"COPY (:Person) FROM '{folder}/people.csv'")
        assert done.columns == []
        assert done.summary.effects is not None
        assert done.summary.effects.nodes_created == 3
        with pytest.warns(gdb.errors.LinesSkipped):
            done = db.execute(
                "COPY ()-[:KNOWS]->() FROM $file OPTIONS {delimiter: $by, header: false, on_error: 'skip', "
                "columns: [':START_ID', ':END_ID', 'since:int']}",
                {"file": str(folder / "knows.csv"), "by": ";"},
            )
        assert done.summary.effects is not None
        assert done.summary.effects.relationships_created == 2
        assert any("knows.csv:3" in warning for warning in done.warnings)
        rows = db.execute("MATCH (a:Person)-[r:KNOWS]->(b) RETURN a.name, r.since, b.name")
        assert sorted(rows) == [("Ada", 2001, "Bob"), ("Bob", 2009, "Cem")]


def test_what_the_files_tell(folder: Path) -> None:
    with gdb.connect() as db:
        db.execute(f"COPY FROM '{folder}/links.txt' OPTIONS {{type: 'LINK', directed: false}}")
        assert db.execute("MATCH (a)-[:LINK]-(b) RETURN count(*)").scalar() == 6
    with gdb.connect() as db:
        db.execute(f"COPY () FROM 'file://{folder}/labelled.csv'")
        assert db.execute("MATCH (n:A:B) RETURN id(n)").scalar() == 7


def test_undirected(folder: Path) -> None:
    (folder / "pairs.csv").write_text(":START_ID,:END_ID\n1,2\n2,3\n")
    with gdb.connect() as db:
        db.execute(f"COPY (:P) FROM '{folder}/people.csv'")
        db.execute(f"COPY ()-[:NEAR]-() FROM '{folder}/pairs.csv'")
        ((directed, count),) = [
            (one.directed, one.edge_count) for one in db._store.snapshot().edge_types
        ]
        assert (directed, count) == (False, 2)


def test_all_or_nothing(folder: Path) -> None:
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="is there already"):
            db.execute(f"COPY (:P) FROM '{folder}/people.csv', '{folder}/people.csv'")
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("COPY (a:P) FROM 'x'", SyntaxProblem, "column 6: COPY takes a label or a type"),
        ("COPY (:P {x: 1}) FROM 'x'", SyntaxProblem, "COPY takes a label or a type"),
        ("COPY ()-[:T*]->() FROM 'x'", SyntaxProblem, "COPY takes a label or a type"),
        ("COPY ()-->()-->() FROM 'x'", SyntaxProblem, "COPY takes a label or a type"),
        ("COPY (:P)-[:T]->() FROM 'x'", SyntaxProblem, "one end"),
        ("COPY ()<-[:T]-() FROM 'x'", SyntaxProblem, "from the first to the second"),
        ("COPY ()-[:T|U]->() FROM 'x'", SyntaxProblem, "COPY takes one type"),
        ("COPY (:A:B) FROM 'x'", SyntaxProblem, "COPY takes one label"),
        ("COPY (:P) 'x'", SyntaxProblem, "expected FROM"),
        ("COPY (:P) FROM 'x' RETURN 1", SyntaxProblem, "COPY is a query of its own"),
        ("MATCH (n) COPY (:P) FROM 'x'", SyntaxProblem, "found 'COPY'"),
        ("EXPLAIN COPY (:P) FROM 'x'", SyntaxProblem, "COPY has no plan"),
        ("COPY (:P) FROM 1", TypeProblem, "column 16: FROM takes the path"),
        ("COPY (:P) FROM 'a' + 'b'", TypeProblem, "values as they are"),
        ("COPY (:P) FROM $file", NameProblem, r"no value for the parameter \$file"),
        ("COPY (:P) FROM 'x' OPTIONS 1", TypeProblem, "OPTIONS takes a map"),
        ("COPY (:P) FROM 'x' OPTIONS {delimitr: ','}", NameProblem, "Did you mean delimiter"),
        ("COPY (:P) FROM 'x' OPTIONS {header: 1}", TypeProblem, "takes true or false"),
        ("COPY (:P) FROM 'x' OPTIONS {columns: [1]}", TypeProblem, "a list of strings"),
        ("COPY (:P) FROM 'x' OPTIONS {ends: ['a']}", TypeProblem, "two id spaces"),
        (
            "COPY (:P) FROM 'x' OPTIONS {format: 'y'}",
            NameProblem,
            "column 28: format: 'y' is not a choice",
        ),
        ("COPY (:P) FROM 'x' OPTIONS {label: 'y'}", TypeProblem, "and in OPTIONS"),
        ("COPY ()-[:T]-() FROM 'x' OPTIONS {directed: true}", TypeProblem, "an arrow says"),
    ],
)
def test_refused(text: str, error: type[Exception], said: str) -> None:
    with gdb.connect() as db, pytest.raises(error, match=said):
        db.execute(text)


def test_where_it_cannot_be(folder: Path) -> None:
    text = f"COPY (:P) FROM '{folder}/people.csv'"
    with gdb.connect(folder / "s.gdb") as db:
        with db.transaction() as tx, pytest.raises(ChangeRefused, match="commit of its own"):
            tx.execute(text)
        with pytest.raises(NotSupported, match="has no plan"):
            db.explain(text)
    with gdb.connect(folder / "s.gdb", read_only=True) as db, pytest.raises(ReadOnlyError):
        db.execute(text)


def test_the_import_root_holds(folder: Path) -> None:
    (folder / "in").mkdir()
    with gdb.connect(import_root=folder / "in") as db, pytest.raises(ImportFailed, match="outside"):
        db.execute(f"COPY (:P) FROM '{folder}/people.csv'")


def test_it_can_be_cancelled(folder: Path) -> None:
    with (folder / "many.txt").open("w") as file:
        file.writelines(f"{k} {k * 7 % 1_000_003}\n" for k in range(3_000_000))
    with gdb.connect() as db:
        stop = threading.Timer(0.2, db.interrupt)
        stop.start()
        with pytest.raises(Cancelled):
            db.execute(f"COPY FROM '{folder}/many.txt' OPTIONS {{type: 'T'}}")
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0


def test_a_stream_of_it_can_be_cancelled(folder: Path) -> None:
    with (folder / "many.txt").open("w") as file:
        file.writelines(f"{k} {k * 7 % 1_000_003}\n" for k in range(3_000_000))
    with gdb.connect() as db:
        streams: list[Exception] = []

        def run() -> None:
            try:
                db.stream(f"COPY FROM '{folder}/many.txt' OPTIONS {{type: 'T'}}")
            except Cancelled as error:
                streams.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive() and not db._work._running:  # what has not begun is not interrupted
            time.sleep(0.001)
        time.sleep(0.1)
        db.interrupt()
        thread.join()
        assert len(streams) == 1
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0


@pytest.mark.parametrize(
    "text",
    [
        "COPY (:Person) FROM 'a', $b OPTIONS {header: true, max_errors: -1}",
        "COPY () FROM 'a'",
        "COPY ()-[:`odd one`]->() FROM 'a'",
        "COPY ()-[]-() FROM 'a'",
        "COPY FROM 'a'",
    ],
)
def test_printed_and_read_again(text: str) -> None:
    assert parse(printed(parse(text))) == parse(text)

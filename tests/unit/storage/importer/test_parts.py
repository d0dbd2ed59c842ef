"""Tables in several files: a header and parts, as neo4j-admin takes them, and patterns of names."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import pytest

import gdb
from gdb.base.sql import call, written
from gdb.errors import ImportFailed
from gdb.repl import loading
from gdb.storage.importer import FileReport, statements


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    held = {
        "people.csv": "id:ID,age:int,name\n",
        "p1.csv": "1,5,ann\n2,6,bob\n",
        "p2.csv": "3,7,cid\n",
        "p10.csv": "4,8,dan\n",
        "knows.csv": ":START_ID,:END_ID,w:double\n",
        "k1.csv": "1,2,.5\n\n2,3,1.5\n",
        "k2.csv": "3,4,2\n4,1,x\n",
    }
    for name, text in held.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "p3.csv.gz").write_bytes(gzip.compress(b"6,1,fay\n"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def people(given: object, **more: object) -> tuple[list[tuple[object, ...]], list[FileReport]]:
    with gdb.connect() as db:
        report = db.load(nodes=given, **more)  # type: ignore[arg-type]
        found = db.execute("MATCH (n) RETURN n.id, n.age, n.name")
        return sorted(found.fetchall()), report.files


ANN, BOB, CID, DAN, FAY = (1, 5, "ann"), (2, 6, "bob"), (3, 7, "cid"), (4, 8, "dan"), (6, 1, "fay")


@pytest.mark.parametrize(
    ("given", "rows", "files"),
    [
        ("people.csv,p1.csv,p2.csv", [ANN, BOB, CID], ["p1.csv", "p2.csv"]),
        ("people.csv, p2.csv,", [CID], ["p2.csv"]),
        (["people.csv", "p1.csv", "p3.csv.gz"], [ANN, BOB, FAY], ["p1.csv", "p3.csv.gz"]),
        ({"P": ("people.csv", "p2.csv")}, [CID], ["p2.csv"]),
        (["people.csv", "p*.csv"], None, None),
        ("people.csv,p[0-9]*.csv", [ANN, BOB, CID, DAN], ["p1.csv", "p2.csv", "p10.csv"]),
        (["people.csv", "p?.csv"], [ANN, BOB, CID], ["p1.csv", "p2.csv"]),
        ({"P": Path("people.csv,p2.csv")}, [CID], ["p2.csv"]),
    ],
)
def test_a_header_and_its_parts(
    folder: Path, given: object, rows: list[object] | None, files: list[str] | None
) -> None:
    if rows is None:  # the header is one of the files of the pattern
        (folder / "people.csv").rename(folder / "header.csv")
        given, rows = ["header.csv", "p*.csv"], [ANN, BOB, CID, DAN]
        files = ["p1.csv", "p2.csv", "p10.csv"]
    found, reports = people(given)
    assert found == rows
    assert [report.file for report in reports] == files


def test_the_first_file_may_hold_rows_as_well(folder: Path) -> None:
    (folder / "first.csv").write_text("id:ID,age:int,name\n9,9,ida\n")
    assert people("first.csv,p2.csv")[0] == [CID, (9, 9, "ida")]


def test_a_part_that_says_the_header_again(folder: Path) -> None:
    (folder / "again.csv").write_text("id:ID,age:int,name\n9,9,ida\n")
    assert people("people.csv,p2.csv,again.csv")[0] == [CID, (9, 9, "ida")]


def test_files_with_headers_of_their_own_stay_by_themselves(folder: Path) -> None:
    (folder / "other.csv").write_text("id:ID,name\n9,ida\n")
    found, reports = people(["people.csv", "other.csv"])
    assert found == [(9, None, "ida")]
    assert [(report.file, report.rows) for report in reports] == [
        ("people.csv", 0),
        ("other.csv", 1),
    ]


def test_names_that_hold_a_comma_or_a_star(folder: Path) -> None:
    (folder / "a,b*.csv").write_text("id:ID,age:int,name\n1,5,ann\n")
    assert people("a,b*.csv")[0] == [ANN]


def test_errors_name_the_line_of_the_part(folder: Path) -> None:
    with gdb.connect() as db:
        with pytest.raises(ImportFailed) as wrong:
            db.load(nodes="people.csv,p?.csv,p10.csv", edges="knows.csv,k1.csv,k2.csv")
        assert (wrong.value.file, wrong.value.line) == ("k2.csv", 2)
        with pytest.raises(ImportFailed) as missing:
            db.load(nodes="people.csv,p1.csv", edges=["knows.csv", "k1.csv"])
        assert (missing.value.file, missing.value.line) == ("k1.csv", 3)
        report = db.load(
            nodes="people.csv,p?.csv,p10.csv", edges="knows.csv,k?.csv", on_error="skip"
        )
        assert [(r.file, r.line, r.column) for r in report.rejected] == [("k2.csv", 2, 3)]
        assert report.edges == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("q*.csv", "matches no file"),
        ("people.csv,q*.csv", "matches no file"),
        ("people.csv,q.csv", "does not exist"),
        ("people.csv,bad.csv", "declared int64"),
        ("people.csv,short.csv", "Number of Columns"),
    ],
)
def test_what_is_refused(folder: Path, given: str, said: str) -> None:
    (folder / "short.csv").write_text("1,2\n")
    (folder / "bad.csv").write_text("1,old,ann\n")
    with gdb.connect() as db, pytest.raises(ImportFailed, match=said):
        db.load(nodes=given)


def test_copy_and_the_shell_take_the_same(folder: Path) -> None:
    with gdb.connect() as db:
        db.execute("COPY (:P) FROM 'people.csv,p?.csv'")
        db.execute("COPY ()-[:K]->() FROM 'knows.csv', 'k1.csv'")
        assert db.execute("MATCH (:P)-[r:K]->(:P) RETURN count(*)").scalar() == 2
    words = ["--nodes", "P=people.csv,p?.csv", "--edges", "K=knows.csv,k1.csv"]
    with gdb.connect() as db:
        report = loading.load(db, loading.parse(loading.Parser(), words))
        assert (report.vertices, report.edges) == (3, 2)


def test_any_format_is_told_by_the_header(folder: Path) -> None:
    with gdb.connect() as db:
        report = db.load(["people.csv", "p1.csv", "p2.csv"])
        assert report.vertices == 3
        assert db.load("knows.csv,k1.csv").edges == 2
    (folder / "a.txt").write_text("1 2\n")
    (folder / "b.txt").write_text("2 3\n")
    with gdb.connect() as db:
        assert db.load("a.txt,b.txt").edges == 2


def test_patterns_stay_in_the_import_root(folder: Path) -> None:
    (folder / "root").mkdir()
    (folder / "root" / "a.csv").write_text("id:ID\n1\n")
    with gdb.connect(import_root="root") as db:
        assert db.load(nodes="root/*.csv").vertices == 1
        for given in ("*.csv", "root/../*.csv", "root/a.csv,p1.csv", "/et*/passwd"):
            with pytest.raises(ImportFailed, match="lies outside"):
                db.load(nodes=given)


def test_more_columns_of_texts_than_duckdb_nests_expressions() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a'), (2, 'bc')) AS t(record, c0)"
    )
    asked = statements.sizes(8, [call("strlen", "c0")] * 1_500)
    assert connection.execute(written(asked)).fetchall() == [(0, 2, 4_500)]

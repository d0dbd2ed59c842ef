"""Properties that hold values of several types: what a query stores, another reads back with its type."""

from __future__ import annotations

import datetime as python
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.base.values.duration import Duration
from gdb.base.values.temporal import Date, DateTime
from gdb.errors import ChangeRefused, ImportFailed

VALUES = {
    "1": 1,
    "1.0": 1.0,
    "-0.0": -0.0,
    "true": True,
    "'1'": "1",
    "''": "",
    "date('2020-02-29')": python.date(2020, 2, 29),
    "date('-0044-03-15')": Date(-735525),
    "localtime('12:31:14.645876')": python.time(12, 31, 14, 645_876),
    "time('10:35-08:00')": python.time(10, 35, tzinfo=python.timezone(python.timedelta(hours=-8))),
    "localdatetime('2020-01-01T00:00')": python.datetime(2020, 1, 1),
    "datetime('2020-01-01T00:00Z')": python.datetime(2020, 1, 1, tzinfo=python.UTC),
    "datetime('2020-01-01T00:00:00.000000001[Europe/Stockholm]')": DateTime(
        18262, 1, 3600, "Europe/Stockholm"
    ),
    "duration('P1M2DT3.000000004S')": Duration(1, 2, 3, 4),
    "[]": [],
    "[1, 'a', 1.5, duration('P1M')]": [1, "a", 1.5, Duration(1)],
    "[1, 2]": [1, 2],
}
EQUAL = sorted(map(repr, VALUES.values()))


def read(db: gdb.Database, text: str = "MATCH (n:A) RETURN n.x") -> list[str]:
    """The values that a query gives, with their types."""
    return sorted(repr(value) for (value,) in db.execute(text))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with one of each."""
    with gdb.connect(tmp_path / "s") as db:
        nodes = ", ".join(f"(:A {{x: {text}}})" for text in VALUES)
        db.execute(f"CREATE {nodes}, (:A)")
    return tmp_path / "s"


@pytest.mark.parametrize("compacted", [False, True])
def test_what_is_stored_comes_back(folder: Path, compacted: bool) -> None:
    with gdb.connect(folder) as db:
        if compacted:
            db.compact()
            db.check()
    with gdb.connect(folder, read_only=True) as db:
        db.check()
        assert db.schema().nodes[0].properties == {"x": "any"}
        assert read(db) == sorted([*EQUAL, "None"])
        nodes = [node for (node,) in db.execute("MATCH (n:A) RETURN n")]  # not over rows
        assert sorted(repr(node["x"]) for node in nodes if "x" in node.properties) == EQUAL
        assert read(db, "MATCH (n:A) WHERE n.x = 1 RETURN n.x") == ["1", "1.0"]
        assert db.execute("MATCH (n:A) WHERE id(n) = 2 RETURN n").scalar()["x"] == 0.0


def test_a_typed_property_becomes_any_by_another_value(folder: Path) -> None:
    with gdb.connect(folder) as db:
        db.execute("UNWIND range(1, 3) AS i CREATE (:B {y: i})-[:R {w: i * 0.5}]->(:C)")
        db.compact()
        kinds = {kind.labels: kind.properties for kind in db.schema().nodes}
        assert kinds["B",] == {"y": "int"}
        db.execute("MATCH (n:B {y: 2})-[r]->() SET n.y = 2.0, r.w = 'one'")
        db.execute("MATCH (n:B {y: 3})-[r]->() SET n.y = 'three', r.w = 3")
    for _ in range(2):
        with gdb.connect(folder) as db:
            db.check()
            assert read(db, "MATCH (n:B) RETURN n.y") == ["'three'", "1", "2.0"]
            assert read(db, "MATCH ()-[r:R]->() RETURN r.w") == ["'one'", "0.5", "3"]
            assert read(db, "MATCH ()-[r:R]->() RETURN r")
            db.compact()
    with gdb.connect(folder) as db:
        db.execute("MATCH (n:B) SET n.y = null")
        db.execute("MATCH ()-[r:R]->() REMOVE r.w")
        assert read(db, "MATCH (n:B) RETURN n.y") == ["None"] * 3
        db.execute("MATCH (n:B) SET n:A, n.x = time('01:00Z')")
        db.check()
        assert len(read(db)) == len(EQUAL) + 4


def test_an_integer_beside_floats_stays_one(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("F", [1, 2], {"x": [0.5, 2.0]})
            tx.execute("MATCH (n:F) WHERE id(n) = 1 SET n.x = 1")
            assert sorted(repr(x) for (x,) in tx.execute("MATCH (n:F) RETURN n.x")) == ["1", "2.0"]
        assert read(db, "MATCH (n:F) RETURN n.x") == ["1", "2.0"]


def test_values_of_one_type_stay_typed() -> None:
    db = gdb.connect()
    db.execute(
        "CREATE (:A {i: 1, d: date('2020-01-01'), t: localdatetime('2020-01-01T00:00:00.5'), l: [1]}), "
        "(:A {i: 2, s: 'x', u: duration('PT1.5S'), m: duration('P1D'), l: []})"
    )
    kinds = {"i": "int", "d": "date", "t": "datetime", "l": "int[]", "s": "string", "u": "duration"}
    assert db.schema().nodes[0].properties == kinds | {"m": "any"}
    assert read(db, "MATCH (n:A) WHERE n.m IS NOT NULL RETURN n.m") == [repr(Duration(0, 1))]


def test_python_still_refuses_another_type(folder: Path) -> None:
    with gdb.connect(folder) as db, db.transaction() as tx:
        tx.add_nodes("B", [100], {"y": [1]})
        with pytest.raises(ChangeRefused, match="is none of these"):
            tx.set_nodes([100], {"y": ["a"]})
        tx.execute("MATCH (n:B) SET n.y = 'a'")
        tx.set_nodes([100], {"y": [2.5]})  # what is any takes all
        assert tx.execute("MATCH (n:B) RETURN n.y").fetchall() == [(2.5,)]


def test_other_labels_under_which_the_property_is_of_one_type() -> None:
    """What is any by what other nodes hold is refused by its values alone."""
    db = gdb.connect()
    db.execute(
        "CREATE (:A {k: 1, x: 1.5}), (:A {k: 2, x: 2.0}), (:A {k: 3, x: 'a'}), (:A:F {x: 0.5})"
    )
    with db.transaction() as tx:
        tx.set_labels([0, 1], add="F")
        assert tx.execute("MATCH (n:F) RETURN n.x").fetchall() == [(0.5,), (1.5,), (2.0,)]
        tx.execute("MATCH (n {k: 1}) REMOVE n:F")
        with pytest.raises(
            ChangeRefused, match=r"holds floats, and the value 'a' \(row .\) is none"
        ):
            tx.set_labels([0, 2], add="F")
        tx.execute("MATCH (n {k: 3}) SET n.x = 3")
        tx.set_labels([0, 2], add="F")
    assert db.schema().nodes[0].properties == {"k": "int", "x": "float"}
    assert read(db, "MATCH (n:F) RETURN n.x") == ["0.5", "1.5", "2.0", "3.0"]


@pytest.mark.parametrize("text", ["[1, null]", "[[1]]", "{a: 1}", "[{a: 1}]"])
def test_what_is_no_property_is_refused(text: str) -> None:
    db = gdb.connect()
    with pytest.raises((ChangeRefused, gdb.errors.TypeProblem)):
        db.execute(f"CREATE (:A {{x: {text}}})")
    assert db.stats().vertices == 0


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_an_export_keeps_the_types(
    folder: Path, tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with gdb.connect(folder) as db:
        db.execute("MATCH (a:A {x: 1}) CREATE (a)-[:R {w: 1}]->(a), (a)-[:R {w: 'é\n'}]->(a)")
        db.export(tmp_path / "e", format="csv" if format == "csv" else "parquet")
    found = gdb.connect()
    found.load(tmp_path / "e")
    found.check()
    assert read(found) == sorted([*EQUAL, "None"])
    assert read(found, "MATCH ()-[r:R]->() RETURN r.w") == sorted(["1", "1", *["'é\\n'"] * 2])


def test_texts_that_are_no_values_are_bad_rows(tmp_path: Path) -> None:
    (file := tmp_path / "nodes.csv").write_text("id:ID,x:any\n1,i1\n2,one\n3,\n4,sone\n")
    db = gdb.connect()
    with pytest.raises(ImportFailed, match="declared any"):
        db.load(nodes=file, label="A")
    with pytest.warns(gdb.errors.LinesSkipped):
        report = db.load(nodes=file, label="A", on_error="skip")
    assert [rejected.line for rejected in report.rejected] == [3]
    assert read(db) == ["'one'", "1", "None"]


def test_more_is_loaded_beside_groups_of_several_types(folder: Path, tmp_path: Path) -> None:
    (file := tmp_path / "nodes.csv").write_text("id:ID,y:int\n1,1\n")
    with gdb.connect(folder) as db:
        db.execute("CREATE (:A:B {x: 1})")
        db.load(nodes=file, label="New", id_space="new")
        assert read(db) == sorted([*EQUAL, "None", "1"])


@pytest.mark.parametrize("on_disk", [False, True])
def test_imports_go_into_a_property_of_any_in_the_graph(tmp_path: Path, on_disk: bool) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,x:date\n14,2000-01-01\n15,\n")
    with gdb.connect(tmp_path / "s" if on_disk else None) as db:
        db.execute("CREATE (a:A {x: 1})-[:K {x: 1}]->(b:A {x: 'a'})-[:K {x: 'b'}]->(a)")
        if on_disk:
            db.compact()
        for rows in ([{"id": 11, "x": 5}], [{"id": 12, "x": "5"}], [{"id": 13, "x": [2.5]}], file):
            db.load(nodes={"A": rows})
        db.load(nodes={"A": [{"id": 13, "x": True}]}, on_duplicate="update")
        for value in (7, 7.5, [1, 2], None):
            db.load(edges={"K:A:A": [{":START_ID": 11, ":END_ID": 12, "x": value}]})
        db.check()
        day = python.date(2000, 1, 1)
        assert read(db) == sorted(map(repr, [1, "a", 5, "5", True, day, None]))
        relationships = read(db, "MATCH ()-[r:K]->() RETURN r.x")
        assert relationships == sorted(map(repr, [1, "b", 7, 7.5, [1, 2], None]))
        db.export(tmp_path / "copy")
        with gdb.connect() as copy:
            copy.load(tmp_path / "copy")
            assert read(copy) == read(db)


def test_files_that_are_read_together_still_need_one_type(folder: Path, tmp_path: Path) -> None:
    with gdb.connect(folder) as db:
        db.export(tmp_path / "export")
    coded, plain = tmp_path / "coded.csv", tmp_path / "plain.csv"
    coded.write_text("id,x:any\n1,i5\n")
    plain.write_text("id,x:int\n2,5\n")
    with gdb.connect() as db:
        for files in ([coded, plain], [plain, coded]):
            with pytest.raises(ImportFailed, match="any"):
                db.load(nodes={"A": [str(each) for each in files]})
        db.load(nodes={"A": str(coded)})
        db.load(nodes={"A": str(plain)})
        assert read(db) == ["5", "5"]


def test_arrow_has_texts(folder: Path) -> None:
    with gdb.connect(folder) as db:
        table = db.execute("MATCH (n:A) RETURN n").arrow()
    texts = [row["n"]["properties"]["x"] for row in table.to_pylist()]
    assert texts[:5] == ["1", "1.0", "-0.0", "true", "1"]
    assert texts[-4:] == ["[]", "[1, 'a', 1.5, P1M]", "[1, 2]", None]
    assert "2020-01-01T00:00:00.000000001+01:00[Europe/Stockholm]" in texts


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: db.explain("MATCH (n:A) WHERE n.x = 1 RETURN n"),
        lambda db: db.execute("MATCH (n:A {x: 'a'}) RETURN count(*)"),
        lambda db: db.execute("MATCH (n:A)-->(m) WHERE n.x < m.x RETURN m.x ORDER BY n.x"),
        lambda db: db.execute("MATCH (n) RETURN n.x, count(*)"),
    ],
)
def test_the_typed_way_leaves_such_properties_alone(
    folder: Path, ask: Callable[[gdb.Database], object]
) -> None:
    with gdb.connect(folder) as db:
        ask(db)


def test_a_large_property_widens(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("A", np.arange(10_000), {"x": list(range(10_000))})
        db.execute("MATCH (n:A) WHERE id(n) = 77 SET n.x = 'a'")
        rows = db.execute("MATCH (n:A) RETURN id(n), n.x").fetchall()
        assert sorted(rows)[76:79] == [(76, 76), (77, "a"), (78, 78)]

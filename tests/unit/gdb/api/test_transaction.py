"""Transactions as a user meets them: what they refuse, when they end, who sees what."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import gdb
from gdb.api.transaction import Transaction
from gdb.errors import (
    ChangeRefused,
    ClosedError,
    GdbError,
    InternalError,
    ReadOnlyError,
    StoreLocked,
    TypeProblem,
)
from gdb.storage.format import journal
from gdb.storage.format.manifest import read
from gdb.storage.write import commit, compaction


@pytest.fixture
def db(tmp_path: Path) -> gdb.Database:
    made = gdb.connect(tmp_path / "s.gdb")
    with made.transaction() as tx:
        tx.add_nodes("P", ["a", "b", "c"], {"age": [1, 2, None], "name": ["A", "B", "C"]})
        tx.add_relationships("R", ["a", "b"], ["b", "c"], {"w": [0.5, 1.5]})
        tx.add_relationships("U", ["c"], ["a"], directed=False)
    made.compact()
    return made


def ids(db: gdb.Database) -> list[object]:
    return [row[0] for row in db.execute("MATCH (n) RETURN id(n) ORDER BY id(n)").fetchall()]


def test_all_or_nothing(db: gdb.Database) -> None:
    version = db.stats().version
    with contextlib.suppress(ZeroDivisionError), db.transaction() as tx:
        tx.add_nodes("P", ["d"])
        raise ZeroDivisionError
    with db.transaction() as tx:
        tx.add_nodes("P", ["d"])
        tx.rollback()
        with pytest.raises(ClosedError, match="not open"):
            tx.add_nodes("P", ["e"])
    with db.transaction():
        pass
    assert db.stats().version == version  # nothing was written
    assert ids(db) == ["a", "b", "c"]


def test_others_see_it_at_the_commit(db: gdb.Database, tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s.gdb", read_only=True) as reader:
        before = reader.execute("MATCH (n) RETURN n.name ORDER BY n.name")
        with db.transaction() as tx:
            tx.add_nodes("P", ["d"], {"name": ["D"]})
            tx.remove_nodes(["a"], detach=True)
            assert tx.execute("MATCH (n:P) RETURN count(*)").scalar() == 3
            assert ids(reader) == ids(db) == ["a", "b", "c"]
        assert ids(reader) == ids(db) == ["b", "c", "d"]
        assert [row[0] for row in before.fetchall()] == ["A", "B", "C"]
        assert reader.execute("MATCH (a)-[:R]->(b) RETURN count(*)").scalar() == 1


def test_nothing_of_a_delta_is_left_behind(
    db: gdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit replaces the delta's file, where it has one."""
    monkeypatch.setattr(commit, "MOST_INLINE", 0)
    monkeypatch.setattr(journal, "MOST_BYTES", 4 * 512)
    for k in range(5):
        with db.transaction() as tx:
            tx.add_nodes("P", [f"n{k}"])
        gc.collect()  # unused snapshots
    _, manifest = read(db._store.files)
    assert len(manifest.files) == 2
    found = {p.name for p in (tmp_path / "s.gdb").glob("seg-*")}
    # the state before this one is still in use when its successor is committed, and goes with the next
    assert len(found - {file.name for file in manifest.files}) <= 1
    with db.transaction() as tx:
        tx.remove_nodes([f"n{k}" for k in range(5)])
    db.check()
    db.compact()
    assert db.stats().changes == 0
    assert ids(db) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda tx: tx.add_nodes("P", ["a"]), "there already"),
        (lambda tx: tx.add_nodes("P", ["x", "x"]), "is given twice"),
        (lambda tx: tx.add_nodes("P", [1]), "are strings, not integers"),
        (lambda tx: tx.add_nodes("P", ["x"], {"age": ["old"]}), "'age' holds integers"),
        (lambda tx: tx.add_nodes("P", ["x"], {"age": [1, 2]}), "2 values for 1 rows"),
        (lambda tx: tx.add_nodes("P", ["x"], {"age": [object()]}), "'age'"),
        (lambda tx: tx.add_nodes("P", ["x"], {"age": [1 << 70]}), "'age'"),
        (lambda tx: tx.add_nodes("P", ["x", "y", "x"]), "the id 'x' is given twice"),
        (lambda tx: tx.add_nodes("P", ["x", "a", "x"]), "the id 'a' is there already"),
        (lambda tx: tx.add_nodes("P", ["d"]), "the id 'd' is there already"),
        (lambda tx: tx.set_nodes(["x"], {"age": [1]}), "no node with the id 'x'"),
        (lambda tx: tx.set_nodes(["a"], {"name": [2]}), "'name' holds strings"),
        (lambda tx: tx.set_nodes(["a", "b"], {"age": [2.5, (1 << 60) + 1]}), "'age'"),
        (lambda tx: tx.remove_nodes(["a"]), "has relationships"),
        (lambda tx: tx.add_relationships("R", ["a"], ["x"]), "no node"),
        (lambda tx: tx.add_relationships("R", ["a"], []), "1 starts and 0 ends"),
        (lambda tx: tx.add_relationships("R", ["a"], ["b"], directed=False), "directed"),
        (lambda tx: tx.add_relationships("R", ["a"], ["b"], {"w": ["x"]}), "'w' holds floats"),
        (lambda tx: tx.remove_relationships("X", ["a"], ["b"]), "no relationship type"),
    ],
)
def test_a_refused_change_changes_nothing(db: gdb.Database, what: object, message: str) -> None:
    assert callable(what)
    with db.transaction() as tx:
        tx.add_nodes("P", ["d"])
        with pytest.raises(ChangeRefused, match=message):
            what(tx)
    assert ids(db) == ["a", "b", "c", "d"]
    db.check()


def test_what_is_refused_for_one_node_is_done_for_none(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.add_nodes("Q", ["q"], {"name": [1]})
    with db.transaction() as tx:
        with pytest.raises(ChangeRefused, match="'name' holds integers"):
            tx.set_nodes(["a", "q"], {"name": ["new", "new"]})
        with pytest.raises(ChangeRefused, match="'name' holds integers"):
            tx.set_labels(["a", "b"], add="Q", remove="P")
    found = db.execute("MATCH (n:P) RETURN n.name ORDER BY id(n)").fetchall()
    assert found == [("A",), ("B",), ("C",)]


def test_integers_that_are_no_floats_stay(db: gdb.Database) -> None:
    for exact, other in ((2**53, 0.5), (-(2**53), 0.5), (2**53 + 1, None), (-(2**63), None)):
        with db.transaction() as tx:
            tx.add_nodes("N", [f"n{exact}"], {"x": [exact]}, id_space=str(exact))
            if other is None:
                with pytest.raises(ChangeRefused, match="'x' holds integers"):
                    tx.set_nodes([f"n{exact}"], {"x": [0.5]}, id_space=str(exact))
            else:
                tx.set_nodes([f"n{exact}"], {"x": [other]}, id_space=str(exact))
            count = tx.execute("MATCH (n:N) WHERE n.x = $x RETURN count(*)", {"x": other or exact})
            assert count.scalar()


@pytest.mark.parametrize(
    "what",
    [
        lambda tx: tx.add_nodes("", ["x"]),
        lambda tx: tx.add_nodes("P", "xyz"),
        lambda tx: tx.add_nodes("P", ["x", 1]),
        lambda tx: tx.add_nodes("P", [None]),
        lambda tx: tx.add_nodes("P", np.array([1.5])),
        lambda tx: tx.add_nodes("P", ["x"], {"age": 3}),
        lambda tx: tx.add_nodes("P\ud800", ["x"]),
        lambda tx: tx.add_nodes("P", ["\ud800"]),
        lambda tx: tx.add_nodes("P", ["x"], {"name": ["\ud800"]}),
    ],
)
def test_wrong_arguments_are_named(db: gdb.Database, what: object) -> None:
    assert callable(what)
    with db.transaction() as tx:
        with pytest.raises((TypeProblem, ChangeRefused)) as caught:
            what(tx)
        assert not isinstance(caught.value, InternalError)
    assert ids(db) == ["a", "b", "c"]


def test_integers_become_floats_where_nothing_is_lost(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.set_nodes(["a"], {"age": [1.5]})
        tx.set_relationships("R", ["a"], ["b"], {"w": [2]})
        tx.add_nodes("P", ["d"], {"age": [7]})
    query = "MATCH (n:P) RETURN n.age ORDER BY id(n)"
    assert [row[0] for row in db.execute(query).fetchall()] == [1.5, 2.0, None, 7.0]
    db.check()
    db.compact()
    assert [row[0] for row in db.execute(query).fetchall()] == [1.5, 2.0, None, 7.0]


def test_id_spaces(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.add_nodes("P", ["a"], id_space="other")
        tx.add_nodes("Q", np.array([1, 2]), id_space="numbers")
        tx.add_relationships("R", ["a"], [2], id_space=("other", "numbers"))
    found = db.execute("MATCH (a)-[:R]->(b:Q) RETURN id(b)").fetchall()
    assert found == [(2,)]
    with db.transaction() as tx:
        tx.remove_nodes([1], id_space="numbers")
        tx.remove_nodes(["a"], id_space="other", detach=True)
        assert tx.remove_relationships("R", ["a"], ["b"]) == 1
    assert db.execute("MATCH (n:Q) RETURN id(n)").fetchall() == [(2,)]
    db.check()


def test_a_label_moves_the_node_and_its_relationships(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.set_labels(["b"], add=["Q"], remove=["P"])
    query = "MATCH (a)-[r:R]->(b) RETURN labels(a), r.w, labels(b) ORDER BY r.w"
    assert db.execute(query).fetchall() == [(["P"], 0.5, ["Q"]), (["Q"], 1.5, ["P"])]
    assert db.execute("MATCH (n:Q) RETURN n.name, n.age").fetchall() == [("B", 2)]


def test_much_is_written_into_the_base(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MOST_CHANGES", 50)
    many = np.arange(100)
    with db.transaction() as tx:
        tx.add_nodes("N", many, id_space="n")
        tx.add_relationships("NEXT", many[:-1], many[1:], id_space="n")
    stats = db.stats()
    assert (stats.changes, stats.vertices, stats.edges) == (0, 103, 102)
    assert db.execute("MATCH (a:N)-->(b)-->(c) RETURN count(*)").scalar() == 98


def test_import_export_and_backup_take_the_changes(db: gdb.Database, tmp_path: Path) -> None:
    with db.transaction() as tx:
        tx.add_nodes("P", ["d"], {"age": [4]})
        tx.remove_nodes(["a"], detach=True)
        tx.add_relationships("R", ["d"], ["b"], {"w": [9.0]})
    query = "MATCH (a:P)-[r]->(b:P) RETURN id(a), a.age, r.w, id(b) ORDER BY id(a)"
    expected = db.execute(query).fetchall()
    assert len(expected) == 2
    db.backup(tmp_path / "copy.gdb")
    db.export(tmp_path / "out")
    with gdb.connect() as other, gdb.connect(tmp_path / "copy.gdb") as copy:
        other.load(tmp_path / "out")
        assert other.execute(query).fetchall() == copy.execute(query).fetchall() == expected
        copy.check()
    (tmp_path / "more.txt").write_text("1 2\n")
    db.load(tmp_path / "more.txt", format="snap", type="X", id_space="x")
    assert db.stats().changes == 0
    assert db.execute(query).fetchall() == expected


def test_a_load_inside_a_transaction_is_refused(db: gdb.Database, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("1 2\n")
    with db.transaction() as tx:
        tx.add_nodes("P", ["d"])
        with pytest.raises(ChangeRefused, match="is open"):
            db.load(tmp_path / "more.txt", format="snap", type="X", id_space="x")
        with pytest.raises(ChangeRefused, match="is open"):
            db.compact()
        with pytest.raises(ChangeRefused, match="is open"):
            db.transaction().__enter__()
    assert ids(db) == ["a", "b", "c", "d"]


def test_one_writer_over_all_processes(db: gdb.Database, tmp_path: Path) -> None:
    program = (
        "import gdb, sys\n"
        "db = gdb.connect(sys.argv[1])\n"
        "try:\n"
        "    with db.transaction() as tx: tx.add_nodes('P', ['z'])\n"
        "except gdb.GdbError as error: print(type(error).__name__, error)\n"
        "print(db.execute('MATCH (n) RETURN count(*)').scalar())\n"
    )

    def other() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "s.gdb")],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    with db.transaction() as tx:
        tx.add_nodes("P", ["d"])
        told = other()
    assert told.startswith(StoreLocked.__name__)
    assert told.endswith("3\n")
    assert other() == "5\n"
    assert ids(db) == ["a", "b", "c", "d", "z"]


def test_threads_and_reading_only(db: gdb.Database, tmp_path: Path) -> None:
    caught: list[GdbError] = []

    def work(tx: Transaction) -> None:
        try:
            tx.add_nodes("P", ["d"])
        except GdbError as error:
            caught.append(error)

    with db.transaction() as tx:
        thread = threading.Thread(target=work, args=(tx,))
        thread.start()
        thread.join()
    assert [type(error) for error in caught] == [ClosedError]
    with pytest.raises(ClosedError, match="once"), tx:
        pass
    with (
        gdb.connect(tmp_path / "s.gdb", read_only=True) as reader,
        pytest.raises(ReadOnlyError),
        reader.transaction(),
    ):
        pass


def test_in_memory() -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [1, 2])
            tx.add_relationships("R", [1, 1], [2, 2])
        assert db.execute("MATCH (a)-[:R]->(b) RETURN count(*)").scalar() == 2
        db.compact()
        assert db.execute("MATCH (a)-[:R]->(b) RETURN count(*)").scalar() == 2


def test_times_and_lists() -> None:
    born, at = date(1815, 12, 10), datetime(2024, 2, 29, 12, 30)
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [1, 2], {"born": [born, None], "tags": [["a", "b"], []]})
        with db.transaction() as tx:
            tx.set_nodes(
                [2, 1], {"born": [born, None], "at": [at, None], "for": [timedelta(1), None]}
            )
            tx.set_nodes([1], {"tags": [["c"]]})
            with pytest.raises(ChangeRefused, match="'born' holds dates"):
                tx.set_nodes([1], {"born": [5]})
            with pytest.raises(ChangeRefused, match=r"'tags' holds lists"):
                tx.set_nodes([1], {"tags": ["x"]})
        query = "MATCH (n) RETURN n.born, n.tags, n.at, n.for ORDER BY id(n)"
        expected = [(None, ["c"], None, None), (born, [], at, timedelta(1))]
        assert db.execute(query).fetchall() == expected
        db.check()
        db.compact()
        assert db.execute(query).fetchall() == expected


# ---- tables in memory ----------------------------------------------------------------------------


def test_tables_instead_of_lists(db: gdb.Database) -> None:
    nodes = pl.DataFrame({"id": ["d", "e"], "age": [4, None], "born": [date(2000, 1, 1), None]})
    ends = pa.table({"target": ["e", "a"], "w": [2.5, None], "source": ["d", "e"]})
    with db.transaction() as tx:
        tx.add_nodes(["P", "Q"], nodes)
        tx.add_relationships("R", ends)
        tx.add_nodes("N", pa.table({":ID": [1, 2]}).to_reader(), id_space="n")
        tx.add_relationships(
            "M", pa.table({":START_ID": [2], ":END_ID": ["a"]}), id_space=("n", ""), directed=False
        )
    found = db.execute("MATCH (n:Q) RETURN n.id, n.age, n.born ORDER BY n.id").fetchall()
    assert found == [("d", 4, date(2000, 1, 1)), ("e", None, None)]
    found = db.execute(
        "MATCH (a:Q)-[r:R]->(b:P) RETURN id(a), id(b), r.w ORDER BY id(a)"
    ).fetchall()
    assert found == [("d", "e", 2.5), ("e", "a", None)]
    assert db.execute("MATCH (a:P)-[:M]-(b:N) RETURN id(a), id(b)").fetchall() == [("a", 2)]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pa.table({"id": ["d", None]}), "id in row 1 is empty"),
        (pa.table({"id": ["d"], "age": ["text"]}), "age"),
        (pa.table({"id": [7]}), "strings"),
        (pa.table({"id": ["a"]}), "there already"),
        (pa.table({"id": ["d"], ":LABEL": ["Q"]}), "column of the role LABEL"),
        (pa.table({"id:ID(space)": ["d"]}), "names an id space, 'space'"),
        (pa.table({"id": ["d"], "x": [{"a": 1}]}), r"struct<a: int64>"),
        (pa.table({"id": ["d"], "x": [Decimal("1.5")]}), r"decimal128\(2, 1\)"),
        (pa.table({"id": ["d", ""]}), "id in row 1 is empty"),
    ],
)
def test_tables_that_are_refused(db: gdb.Database, table: Any, reason: str) -> None:
    with db.transaction() as tx:
        with pytest.raises(ChangeRefused, match=reason) as caught:
            tx.add_nodes("P", table)
        assert ".." not in str(caught.value)
        assert tx.execute("MATCH (n) RETURN count(*)").scalar() == 3


def test_a_table_holds_ends_and_properties_itself(db: gdb.Database) -> None:
    table = pa.table({"source": ["a"], "target": ["c"]})
    with db.transaction() as tx:
        with pytest.raises(TypeProblem, match="nothing behind it"):
            tx.add_relationships("R", table, ["b"])
        with pytest.raises(TypeProblem, match="nothing behind it"):
            tx.add_nodes("P", pa.table({"id": ["d"]}), {"x": [1]})
        with pytest.raises(TypeProblem, match="ends are a list"):
            tx.add_relationships("R", ["a"])
        with pytest.raises(ChangeRefused, match="no node with the id 'z'"):
            tx.add_relationships("R", pa.table({"source": ["a"], "target": ["z"]}))
        tx.add_relationships("R", table)
    assert db.execute("MATCH (:P)-[r:R]->() RETURN count(*)").scalar() == 3


def test_a_group_whose_nodes_are_all_gone_may_have_other_types(tmp_path: Path) -> None:
    # What the delta had added and removed again was put together with the new values.
    with gdb.connect(tmp_path / "s") as db:
        for number, value in enumerate([1, "one", 2.5]):
            with db.transaction() as tx:
                tx.add_nodes("A", [number], {"x": [value]})
                assert tx.execute("MATCH (n:A) RETURN n.x").scalar() == value
            assert db.execute("MATCH (n:A) RETURN n.x").scalar() == value
            with db.transaction() as tx:
                tx.remove_nodes([number])
        db.check()


def test_a_table_whose_ends_have_other_names_is_refused_with_the_names(db: gdb.Database) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"x": ["a"], "y": ["b"], "w": [1.5]})
    with (
        pytest.raises(ChangeRefused, match=r"name them :START_ID and :END_ID"),
        db.transaction() as tx,
    ):
        tx.add_relationships("R", table)

"""Snapshots that are held: one version of the graph, however often it is queried and whatever is written meanwhile."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow
import pytest

import gdb
from gdb.api.snapshot import HeldSnapshot
from gdb.dbapi import Cursor
from gdb.errors import ClosedError, ReadOnlyError

QUERIES = (
    "MATCH (a:P) RETURN a.x",
    "MATCH (a:P) RETURN count(*)",
    "MATCH (a)-[k:K]->(b) RETURN a, k, b",
    "MATCH (a)-[k:K]->(b) RETURN id(a), k.w, labels(b), type(k) ORDER BY k.w",
    "MATCH (a:P) WITH a.x % 3 AS x, count(*) AS n RETURN x, n",
    "MATCH p = (a:P {x: 1})-[:K*1..2]->(b) RETURN p",
    "CALL db.labels() YIELD label RETURN label",
)


def fill(db: gdb.Database) -> None:
    db.execute("UNWIND range(1, 60) AS k CREATE (a:P {x: k})-[:K {w: k}]->(b:Q {x: k % 7})")


def disturb(db: gdb.Database) -> None:
    """Commits of all kinds, and the base written anew, twice."""
    db.execute("MATCH (a:P) WHERE a.x % 2 = 0 DETACH DELETE a")
    db.compact()
    db.execute("MATCH (a:P) SET a.x = a.x + 1001 CREATE (a)-[:L]->(:R)")
    db.compact()
    db.execute("MATCH ()-[k:K]->() SET k.w = 'other'")


def answers(asked: gdb.Database | HeldSnapshot) -> list[list[str]]:
    return [sorted(map(repr, asked.execute(query))) for query in QUERIES]


@pytest.fixture(params=["memory", "disk"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[gdb.Database]:
    with gdb.connect(None if request.param == "memory" else tmp_path / "s") as db:
        fill(db)
        db.compact()
        yield db


def test_all_that_is_asked_stays_as_it_was(db: gdb.Database, tmp_path: Path) -> None:
    with db.snapshot() as held:
        expected, schema, stats = answers(db), str(db.schema()), db.stats()
        plan = db.explain("MATCH (a:P)-->(b) RETURN b.x")
        disturb(db)
        assert answers(db) != expected
        assert answers(held) == expected  # of files that were first touched now, in part
        assert answers(held) == expected  # by the statements that were kept
        assert str(held.schema()) == schema != str(db.schema())
        assert held.stats() == stats
        assert held.version == stats.version < db.stats().version
        assert held.explain("MATCH (a:P)-->(b) RETURN b.x") == plan
        assert [sorted(map(repr, held.stream(query))) for query in QUERIES] == expected
        held.check()
        held.backup(tmp_path / "copy")
        held.export(tmp_path / "tables", "parquet")
    with gdb.connect(tmp_path / "copy") as copied:
        assert answers(copied) == expected
    with gdb.connect() as again:
        again.load(tmp_path / "tables")
        (numbers,) = zip(*again.execute(QUERIES[0]), strict=True)
        assert sorted(numbers) == [*range(1, 61)]


def test_two_of_two_versions(db: gdb.Database) -> None:
    first = db.snapshot()
    disturb(db)
    second = db.snapshot()
    disturb(db)
    count = "MATCH (a:P) RETURN count(*)"
    assert [one.execute(count).scalar() for one in (first, second, db)] == [60, 30, 0]
    first.close()
    assert second.execute(count).scalar() == 30


def test_nothing_is_written(db: gdb.Database, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id:ID,:LABEL\n7000,P\n")
    held, before = db.snapshot(), db.stats()
    copying = f"COPY (:P) FROM '{tmp_path / 'nodes.csv'}'"
    cursor = Cursor(held)
    for write in (
        lambda: held.execute("CREATE (:P)"),
        lambda: held.execute("MATCH (a) DETACH DELETE a"),
        lambda: held.stream("CREATE (:P)"),
        lambda: cursor.executemany("CREATE (:P {x: $x})", [{"x": 1}, {"x": 2}]),
        lambda: held.execute(copying),
    ):
        with pytest.raises(
            ReadOnlyError, match=r"snapshot never changes.*\n?.*Run it on the Database"
        ):
            write()
    assert db.stats() == before
    assert answers(held) == answers(db)


def test_inside_a_transaction(db: gdb.Database) -> None:
    """It sees what is committed, and a transaction of the same thread is none of its business."""
    with db.transaction() as tx:
        tx.execute("CREATE (:P)")
        with db.snapshot() as held:
            assert held.execute("MATCH (a:P) RETURN count(*)").scalar() == 60
    assert db.execute("MATCH (a:P) RETURN count(*)").scalar() == 61


def test_closed(db: gdb.Database) -> None:
    held = db.snapshot()
    result = held.execute(QUERIES[2])
    stream = held.stream(QUERIES[0])
    assert not held.closed
    assert repr(held) == f"<gdb.HeldSnapshot of version {held.version}>"
    held.close()
    held.close()
    assert held.closed
    assert repr(held).endswith(", closed>")
    with pytest.raises(ClosedError, match=r"snapshot is closed.*\n?.*db\.snapshot\(\)"):
        held.execute(QUERIES[0])
    for late in (held.schema, held.stats, held.check, lambda: held.stream(QUERIES[0])):
        with pytest.raises(ClosedError):
            late()
    disturb(db)
    assert len(result.fetchall()) == 60  # what ran before goes on
    assert sorted(x for (x,) in stream) == [*range(1, 61)]


def test_it_ends_with_its_database(db: gdb.Database) -> None:
    held = db.snapshot()
    db.close()
    assert held.closed
    with pytest.raises(ClosedError, match="database is closed"):
        held.execute(QUERIES[0])
    with pytest.raises(ClosedError):
        db.snapshot()


def test_a_stream_of_it(db: gdb.Database) -> None:
    with db.snapshot() as held, held.stream("MATCH (a:P) RETURN a.x") as stream:
        held.close()
        disturb(db)
        batches = [pyarrow.record_batch(batch) for batch in stream.batches(7)]
    numbers = [x for batch in batches for x in batch.column(0).to_pylist()]
    assert sorted(numbers) == [*range(1, 61)]


def test_threads_and_a_writer(db: gdb.Database) -> None:
    held = db.snapshot()
    expected, ended = answers(held), threading.Event()

    def ask(_: int) -> int:
        looks = 0
        while not ended.is_set() or looks < 2:
            assert answers(held) == expected
            looks += 1
        return looks

    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask, number) for number in range(4)]
        try:
            for _ in range(3):
                disturb(db)
        finally:
            ended.set()
        assert all(one.result() >= 2 for one in asking)


def names(path: Path) -> set[str]:
    return {file.name for file in path.glob("seg-*")}


def test_its_files_stay_as_long_as_it_lives(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s") as db:
        fill(db)
        db.compact()
        for let_go in ("close", "forget"):
            held = db.snapshot()
            held.execute(QUERIES[0])  # so that it has a statement
            own = {record.name for record in held._snapshot().manifest.files}
            db.execute("CREATE (:P)")
            db.compact()
            assert own <= names(tmp_path / "s")
            held.check()
            if let_go == "close":
                held.close()
            else:
                del held
            gc.collect()
            db.execute("CREATE (:P)")
            db.compact()
            assert not own & names(tmp_path / "s")


WRITER = """
import sys, gdb
with gdb.connect(sys.argv[1]) as db:
    for _ in range(3):
        db.execute("MATCH (a:P) SET a.x = a.x + 1001 CREATE (a)-[:L]->(:R)")
        db.compact()
        print("written", flush=True)
        sys.stdin.readline()
"""


@pytest.mark.parametrize("read_only", [False, True])
def test_another_process_writes(tmp_path: Path, repository: Path, *, read_only: bool) -> None:
    path = tmp_path / "s"
    with gdb.connect(path) as db:
        fill(db)
        db.compact()
    with gdb.connect(path, read_only=read_only) as db:
        held = db.snapshot()  # nothing of it is read yet
        words = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(
            words, cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdin is not None
            assert writer.stdout is not None
            seen: list[list[list[str]]] = []
            versions = set[int]()
            while writer.stdout.readline() == "written\n":
                seen.append(answers(held))
                versions.add(db.stats().version)
                writer.stdin.write("\n")
                writer.stdin.flush()
        assert writer.returncode == 0
        assert len(versions) == 3  # the database goes on, the snapshot does not
        assert len(seen) == 3
        assert seen[0] == seen[1] == seen[2]
        assert seen[0][1] == ["(60,)"]
        held.check()


def test_procedures_and_arguments_are_those_of_the_database(db: gdb.Database) -> None:
    db.register_procedure("my.up(x :: INTEGER) :: (y :: INTEGER)", lambda x: [(x + 1,)])
    held = db.snapshot()
    held.register_procedure("my.own() :: (y :: INTEGER)", lambda: [(5,)])
    assert held.execute("CALL my.up(1) YIELD y RETURN y").scalar() == 2
    assert held.execute("CALL my.own() YIELD y RETURN y").scalar() == 5
    with pytest.raises(gdb.GdbError):
        db.execute("CALL my.own() YIELD y RETURN y")


def test_an_interrupt_reaches_it(db: gdb.Database) -> None:
    held = db.snapshot()
    begun = threading.Event()

    def wait() -> list[tuple[int]]:
        begun.set()
        return [(1,)]

    held.register_procedure("my.wait() :: (y :: INTEGER)", wait)
    found: list[gdb.GdbError] = []

    def ask() -> None:
        try:
            while True:
                held.execute("CALL my.wait() YIELD y RETURN y")
        except gdb.GdbError as error:
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    begun.wait()
    while thread.is_alive():  # between two queries there is nothing to cancel
        db.interrupt()
        thread.join(0.001)
    assert [error.code for error in found] == ["CANCELLED"]

"""Files go when no snapshot of any process needs them, and never before (`gdb.storage.disk.pins`)."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

import gdb
from gdb.storage.copies.backup import backup
from gdb.storage.disk.steps import Steps
from gdb.storage.format import segment_writer
from gdb.storage.write import commit, compaction
from gdb.storage.write.compaction import compact
from gdb.storage.write.store import Store
from tests.support.graph_tables import write_graph
from tests.support.pinned_stores import COUNT, ROWS, add, found, graph, held, named, reader

STRAYS = (
    "seg-00000077-0000-00000000.gdb",
    "seg-00000077-0001-00000000.gdb",
    "seg-00000078-0003-00000000.gdb",
    "manifest-00000077-00000000.tmp",
    "scratch-0000000000000000.tmp",
)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A base of several files."""
    monkeypatch.setattr(segment_writer, "PACK_BYTES", 1)


# ---- they go ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [COUNT, ROWS])
def test_a_reader_that_moves_on_lets_old_files_go(tmp_path: Path, ask: str) -> None:
    with gdb.connect(tmp_path) as db, reader(tmp_path) as other:
        for turn in range(1, 6):
            db.execute("CREATE (:P {i: $i})", {"i": turn})
            db.compact()
            assert other.tell(ask) == str(turn)
            assert len(found(tmp_path)) <= 2  # what is, and what the reader had until now
        other.tell("d.close()")
        db.execute("CREATE (:P)")
        assert found(tmp_path) == named(db._store.snapshot())


def test_two_databases_of_one_process(tmp_path: Path) -> None:
    with gdb.connect(tmp_path) as db, gdb.connect(tmp_path) as other:
        for turn in range(1, 5):
            db.execute("CREATE (:P {i: $i})", {"i": turn})
            db.compact()
            assert len(found(tmp_path)) <= 2
            assert other.execute("MATCH (n) RETURN count(*)").scalar() == turn
    assert len(found(tmp_path)) == 1


@pytest.mark.parametrize("path", [True, False])
def test_what_replaces_a_base_removes_it(tmp_path: Path, path: bool) -> None:
    csv = tmp_path / "p.csv"
    csv.write_text(":ID,x:int\n1,1\n2,2\n")
    with gdb.connect(tmp_path / "s" if path else None) as db:

        def only() -> bool:
            files = {name for name in db._store.files.names() if name.startswith("seg-")}
            return files == named(db._store.snapshot())

        db.load(nodes={"P": csv})
        assert only()
        for query in ("MATCH (n:P) RETURN n.x", "MATCH (n:P) SET n.y = n.x", "MATCH (n) RETURN n"):
            db.execute(query).fetchall()
        db.compact()
        assert only()
        with db.transaction() as tx:
            tx.add_nodes("Q", list(range(3, compaction.MOST_CHANGES + 4)))  # many: a new base
        assert db._store.snapshot().manifest.delta is None
        assert only()
        db.compact(packed=True)
        assert only()


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:P)-[:K]->(b:P) RETURN a.i, b.i",
        "MATCH (a) WHERE a.i > 3 RETURN sum(a.i)",
        "MATCH p = (a)-[:K*1..2]->(b) RETURN p",
        "UNWIND [1, 2] AS x MATCH (a:P {i: x}) RETURN a",
        "MATCH (a:P) SET a.j = a.i",
        "CREATE (:P {i: 99})",
    ],
)
def test_a_query_that_ended_holds_nothing(tmp_path: Path, query: str) -> None:
    """Also where no garbage is collected."""
    with gdb.connect(tmp_path) as db:
        db.execute("UNWIND range(1, 9) AS i CREATE (:P {i: i})-[:K]->(:P {i: -i})")
        db.compact()
        gc.collect()
        gc.disable()
        try:
            db.execute(query).fetchall()
            list(db.stream("MATCH (a)-[:K]->(b) RETURN a.i, b.i"))
            db.execute("CREATE (:P)")
            db.compact()
        finally:
            gc.enable()
        assert found(tmp_path) == named(db._store.snapshot())


def test_what_a_killed_writer_left_goes_when_the_store_is_opened_to_write(tmp_path: Path) -> None:
    with gdb.connect(tmp_path) as db:
        db.execute("CREATE (:P)")
        db.compact()
        kept = found(tmp_path)
    for name in STRAYS:
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / "mine.gdb").write_bytes(b"")
    gdb.connect(tmp_path, read_only=True).close()
    assert found(tmp_path) == kept | {*STRAYS, "mine.gdb"}
    with gdb.connect(tmp_path):
        assert found(tmp_path) == kept | {"mine.gdb"}


def test_nothing_of_a_writer_at_work_goes(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    with store.writer():
        for name in STRAYS:
            (tmp_path / name).write_bytes(b"in work")
        Store.open(tmp_path, create=False).close()
        assert found(tmp_path) == set(STRAYS)
    assert not found(tmp_path)


def test_a_reader_that_may_write_sweeps_when_it_closes(tmp_path: Path) -> None:
    with gdb.connect(tmp_path) as db:
        db.execute("CREATE (:P)")
        db.compact()
        with reader(tmp_path, read_only=False) as other:
            other.tell(COUNT)
            db.execute("CREATE (:P)")
            db.compact()
            assert len(found(tmp_path)) == 2
            other.tell("d.close()")
            assert found(tmp_path) == named(db._store.snapshot())


def test_the_file_of_a_delta_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "MOST_INLINE", 0)
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(3))
    for number in range(6):
        add(store, number)
        assert found(tmp_path) >= named(store.snapshot())
        assert len(found(tmp_path)) <= 3  # the base, the manifest's delta, and the one before
    compact(store)
    assert found(tmp_path) == named(store.snapshot())


def test_in_memory_it_is_the_same() -> None:
    store = Store.open(None, create=True)
    write_graph(store, graph(3))
    old = store.snapshot()
    write_graph(store, graph(5))
    assert set(store.files.names()) - {"MANIFEST"} == named(old) | named(store.snapshot())
    assert held(old) == [0, 1, 2, "x", "y"]
    del old
    add(store, 1)
    assert set(store.files.names()) - {"MANIFEST"} == named(store.snapshot())


# ---- but not before -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("read_only", [True, False])
def test_what_a_snapshot_needs_stays_until_its_process_is_killed(
    tmp_path: Path, read_only: bool
) -> None:
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(3))
    old = named(store.snapshot())
    assert len(old) > 2
    with reader(tmp_path, read_only=read_only) as other:
        other.tell("s = d._store.snapshot()")
        for number in range(3):
            write_graph(store, graph(10 + number))
            assert found(tmp_path) == old | named(store.snapshot())
        other.tell("d.execute('MATCH (n) RETURN count(*)')")  # it moves on, and keeps that one
        last = named(store.snapshot())
        for number in range(2):
            write_graph(store, graph(20 + number))
            assert found(tmp_path) == old | last | named(store.snapshot())
        other.tell("import numpy")
        ids = "s.user_ids(numpy.arange(s.vertex_count, dtype='u4'))"
        assert other.tell(f"print(sorted({ids}, key=str))") == "[0, 1, 2, 'x', 'y']"
        other.end(signal.SIGKILL)
    add(store, 1)
    assert found(tmp_path) == named(store.snapshot())


@pytest.mark.usefixtures("small_files")
def test_what_a_forked_child_needs_stays(tmp_path: Path) -> None:
    store, reading = (Store.open(tmp_path, create=True) for _ in range(2))
    write_graph(store, graph(3))
    reading.snapshot()
    begin, told = os.pipe()
    child = os.fork()
    if not child:
        os.close(told)
        os.read(begin, 1)  # until the parent has moved on
        with suppress(BaseException):
            snapshot = reading._snapshot
            assert snapshot is not None
            os._exit(0 if held(snapshot) == [0, 1, 2, "x", "y"] else 1)
        os._exit(2)
    old = named(reading.snapshot())
    reading.close()  # for the parent alone
    write_graph(store, graph(5))
    kept = found(tmp_path)
    os.write(told, b".")
    assert os.waitpid(child, 0)[1] == 0
    assert kept == old | named(store.snapshot())
    add(store, 1)
    assert found(tmp_path) == named(store.snapshot())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_reader_of_a_folder_that_it_may_not_write_to() -> None:
    folder = Path(tempfile.mkdtemp())  # not tmp_path, whose parents are root's own
    try:
        with gdb.connect(folder / "first") as db:
            db.execute("UNWIND range(1, 50) AS i CREATE (:A {i: i})")
            db.compact()
            db.backup(folder / "s")
        folder.chmod(0o755)
        (folder / "s").chmod(0o755)
        as_nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        if shutil.which("setpriv") is None:
            pytest.skip("there is no setpriv")
        with reader(folder / "s", *as_nobody) as other, gdb.connect(folder / "s") as db:
            assert {p.name for p in (folder / "s").iterdir()} == {"MANIFEST", *found(folder / "s")}
            other.tell("s = d.stream('MATCH (n:A) RETURN n.i')")
            for _ in range(3):
                db.execute("CREATE (:Z)")
                db.compact()
            assert other.tell("print(sum(1 for _ in s))") == "50"
            assert other.tell(COUNT) == "53"
    finally:
        shutil.rmtree(folder)


@pytest.mark.usefixtures("small_files")
def test_a_backup_is_whole_though_the_base_is_replaced(tmp_path: Path) -> None:
    store, other = (Store.open(tmp_path / "s", create=True) for _ in range(2))
    write_graph(store, graph(3))
    left = iter((1, 2))

    class Replacing(Steps):
        def at(self, step: str, done: int, total: int) -> None:
            if next(left, None):
                write_graph(store, graph(9))

    backup(other.snapshot(), tmp_path / "copy", Replacing("backup"))
    assert next(left, None) is None
    copy = Store.open(tmp_path / "copy", create=False).snapshot()
    copy.check()
    assert held(copy) == [0, 1, 2, "x", "y"]

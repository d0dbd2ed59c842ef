"""Files go when no snapshot of any process needs them, and never before (`gdb.storage.pins`)."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import gdb
from gdb.errors import CorruptStore, StoreLocked
from gdb.storage import commit as committing
from gdb.storage import manifest as manifests
from gdb.storage import pins, segment
from gdb.storage.backup import backup
from gdb.storage.build import write_graph
from gdb.storage.commit import compact
from gdb.storage.files import PosixFiles
from gdb.storage.manifest import Manifest
from gdb.storage.model import Column, GraphTables, VertexTable
from gdb.storage.snapshot import Snapshot
from gdb.storage.steps import Steps
from gdb.storage.store import Store
from gdb.storage.transaction import Changes

REPOSITORY = Path(__file__).resolve().parents[3]
STRAYS = (
    "seg-00000077-0000-00000000.gdb",
    "seg-00000077-0001-00000000.gdb",
    "seg-00000078-0003-00000000.gdb",
    "manifest-00000077-00000000.tmp",
    "scratch-0000000000000000.tmp",
)


def graph(count: int) -> GraphTables:
    """Two groups and an index: with small files, four of them."""
    tables = (VertexTable(("A",), "", np.arange(count)), VertexTable(("B",), "b", ["x", "y"]))
    return GraphTables(tables)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A base of several files."""
    monkeypatch.setattr(segment, "PACK_BYTES", 1)


def found(folder: Path) -> set[str]:
    """The files that may be swept."""
    return {p.name for p in folder.iterdir() if p.suffix in {".gdb", ".tmp"}}


def named(snapshot: Snapshot) -> set[str]:
    return {record.name for record in snapshot.manifest.files}


def held(snapshot: Snapshot) -> list[int | str]:
    """The ids of all vertices; files are read for it that were not before."""
    return sorted(snapshot.user_ids(np.arange(snapshot.vertex_count, dtype=np.uint32)), key=str)


def add(store: Store, number: int) -> None:
    """A small commit."""
    with store.writer():
        changes = Changes(store.snapshot())
        changes.add_vertices(("N",), "n", Column.from_list([number]), {})
        committing.commit(store, changes)


class Reader:
    """Another process with a Database `d`, which does what it is told."""

    def __init__(self, folder: Path, *command: str, read_only: bool = True) -> None:
        program = (
            "import sys, gdb\n"
            f"d = gdb.connect({str(folder)!r}, read_only={read_only})\n"
            "print('ready', flush=True)\n"
            "for line in sys.stdin:\n"
            "    exec(line)\n"
            "    print('done', flush=True)\n"
        )
        self.process = subprocess.Popen(
            [*command, sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )
        assert self._line() == "ready"

    def tell(self, what: str) -> str:
        """What it prints."""
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        said = []
        while (line := self._line()) != "done":
            assert line, "the reader died"
            said.append(line)
        return "\n".join(said)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate()


@contextmanager
def reader(folder: Path, *command: str, read_only: bool = True) -> Iterator[Reader]:
    """A reader that does not outlive the block."""
    one = Reader(folder, *command, read_only=read_only)
    try:
        yield one
    finally:
        if one.process.returncode is None:
            one.end()


COUNT = "print(d.execute('MATCH (n) RETURN count(n)').scalar())"
ROWS = "print(len(d.execute('MATCH (n) WHERE n.i >= 0 RETURN n, n.i').fetchall()))"


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
            tx.add_nodes("Q", list(range(3, committing.MOST_CHANGES + 4)))  # many: a new base
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
    monkeypatch.setattr(committing, "MOST_INLINE", 0)
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


# ---- races --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_is_swept_between_the_manifest_and_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    folder = tmp_path / "s"
    store, other = (Store.open(folder, create=True) for _ in range(2))
    write_graph(store, graph(3))
    decode, left = manifests.decode, iter((5, 7))

    def and_then_replaced(raw: bytes, where: str) -> Manifest:
        manifest = decode(raw, where)
        if linked and not (tmp_path / "copy").exists():
            shutil.copytree(folder, tmp_path / "copy", copy_function=os.link)
        monkeypatch.setattr(manifests, "decode", decode)
        if count := next(left, 0):
            write_graph(store, graph(count))
        monkeypatch.setattr(manifests, "decode", and_then_replaced)
        return manifest

    monkeypatch.setattr(manifests, "decode", and_then_replaced)
    snapshot = other.snapshot()
    assert next(left, None) is None  # twice, and it began anew twice
    assert snapshot.vertex_count == 9
    assert held(snapshot) == sorted([*range(7), "x", "y"], key=str)
    assert found(folder) == named(snapshot)


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_is_swept_between_its_opening_and_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    (tmp_path / "f").write_bytes(b"x")
    if linked:
        os.link(tmp_path / "f", tmp_path / "g")
    flock = fcntl.flock

    def removed_first(fd: int, how: int) -> None:
        (tmp_path / "f").unlink()
        flock(fd, how)

    monkeypatch.setattr(pins.fcntl, "flock", removed_first)
    with pytest.raises(FileNotFoundError):
        PosixFiles(tmp_path).pin("f")


@pytest.mark.usefixtures("small_files")
def test_a_sweeper_that_is_killed_halfway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first file of a version is there, all of it are."""
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(3))
    old, unlink = named(store.snapshot()), PosixFiles.unlink
    left = [3]

    def killed(files: PosixFiles, name: str) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        unlink(files, name)

    assert len(old) > 3
    for turn in range(3):
        left[0] = turn
        monkeypatch.setattr(PosixFiles, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            write_graph(store, graph(4 + turn))
        monkeypatch.undo()
        monkeypatch.setattr(segment, "PACK_BYTES", 1)
        rest = old & found(tmp_path)
        assert len(rest) == len(old) - turn
        assert turn == 0 or not any("-0000-" in name for name in rest)
        Store.open(tmp_path, create=False).close()
        assert found(tmp_path) == named(store.snapshot())
        old = named(store.snapshot())


@pytest.mark.usefixtures("small_files")
def test_a_version_with_two_first_files(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(3))
    old = named(store.snapshot())
    left = {"seg-00000001-0000-00000000.gdb", "seg-00000001-0001-00000000.gdb"}
    for name in left:
        (tmp_path / name).write_bytes(b"of a killed writer")
    for one in ("seg-00000001-0000-00000000.gdb", min(old)):
        pin = store.files.pin(one)
        write_graph(store, graph(4))
        assert found(tmp_path) == old | left | named(store.snapshot())
        del pin
    add(store, 1)
    assert found(tmp_path) == named(store.snapshot())


@pytest.mark.usefixtures("small_files")
def test_a_first_file_that_is_missing_is_damage(tmp_path: Path) -> None:
    write_graph(Store.open(tmp_path, create=True), graph(3))
    (tmp_path / min(found(tmp_path))).unlink()
    for read_only in (True, False):
        snapshot = Store.open(tmp_path, create=False, read_only=read_only).snapshot()
        with pytest.raises(CorruptStore, match="is missing"):
            snapshot.check()
    assert found(tmp_path) == named(snapshot) - {min(named(snapshot))}


def test_a_gdb_before_pins_keeps_everything(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(3))
    old = named(store.snapshot())
    fd = os.open(tmp_path / "readers.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_SH)
    write_graph(store, graph(4))
    Store.open(tmp_path, create=False).close()
    assert found(tmp_path) == old | named(store.snapshot())
    os.close(fd)
    add(store, 1)
    assert found(tmp_path) == named(store.snapshot())


@pytest.mark.parametrize("sweeps", [True, False])
def test_a_writer_waits_for_one_that_only_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sweeps: bool
) -> None:
    store = Store.open(tmp_path, create=True)
    locked = [
        os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in ("writer.lock", "readers.lock")
    ]
    for fd in locked if sweeps else locked[:1]:
        fcntl.flock(fd, fcntl.LOCK_EX)
    wait = pins.wait_for_sweeper

    def ended(folder: Path) -> None:
        while sweeps and locked:
            os.close(locked.pop())
        wait(folder)

    monkeypatch.setattr(pins, "wait_for_sweeper", ended)
    if sweeps:
        write_graph(store, graph(3))
    else:
        with pytest.raises(StoreLocked):
            write_graph(store, graph(3))
    assert bool(locked) != sweeps


def test_a_sweep_that_is_refused_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(3))

    def refuse(path: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", refuse)
        write_graph(store, graph(4))
    assert len(found(tmp_path)) == 2
    add(store, 1)
    assert found(tmp_path) == named(store.snapshot())


def test_a_small_commit_asks_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reader beside it neither: the writer's lock is all that it takes."""
    store, other = (Store.open(tmp_path, create=True) for _ in range(2))
    write_graph(store, graph(3))
    other.snapshot()
    for number in range(3):
        add(store, number)
    calls: list[str] = []
    flock, listdir, opened = fcntl.flock, os.listdir, os.open

    def note(name: str) -> None:
        calls.append(name)

    monkeypatch.setattr(fcntl, "flock", lambda fd, how: (note("flock"), flock(fd, how))[1])
    monkeypatch.setattr(os, "listdir", lambda path: (note("listdir"), listdir(path))[1])
    monkeypatch.setattr(os, "open", lambda *args: (note("open"), opened(*args))[1])
    version = store.snapshot().version
    for number in range(3, 8):
        add(store, number)
    assert store.snapshot().version == version + 5
    assert calls == ["open", "flock"] * 5

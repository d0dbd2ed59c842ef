"""A backup is the store that was open, whole and verified, or there is nothing at all."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.errors import Cancelled, ClosedError, CorruptStore, FolderTaken, NotAStore, StoreError
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.copies import backup as backups
from gdb.storage.copies.backup import backup
from gdb.storage.disk import checksum
from gdb.storage.disk.steps import Steps
from gdb.storage.format import segment_writer
from gdb.storage.write.store import Store
from tests.oracles.dict_graph import Naive, agree
from tests.support.graph_tables import GraphTables, read_tables, write_graph

STEPS = Steps("backup")


def graph(seed: int) -> GraphTables:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 50, (2, 300))
    weight = {"w": Column("float64", rng.random(300))}
    return GraphTables(
        (VertexTable(("V",), "", [f"{seed} {n}" for n in range(50)]),),
        (EdgeTable("D", True, ends[0], ends[1], weight), EdgeTable("U", False, ends[0], ends[1])),
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checksums: str) -> Store:
    """A store of several files."""
    monkeypatch.setattr(segment_writer, "PACK_BYTES", 1)
    monkeypatch.setattr(backups, "_CHUNK", 100)
    store = Store.open(tmp_path / "s", create=True)
    write_graph(store, graph(1))
    return store


def beside(tmp_path: Path) -> list[str]:
    """What lies beside the store."""
    return sorted(p.name for p in tmp_path.iterdir() if p.name != "s")


def test_a_backup_is_a_store_of_the_same_graph(store: Store, tmp_path: Path) -> None:
    stats = backup(store.snapshot(), tmp_path / "new" / "b", STEPS)
    copy = Store.open(tmp_path / "new" / "b", create=False)
    assert stats == copy.snapshot().stats() == store.snapshot().stats()
    copy.snapshot().check()
    agree(Naive(graph(1)), copy.snapshot())
    write_graph(copy, graph(2))  # it is a store like any other
    agree(Naive(graph(1)), store.snapshot())
    assert os.listdir(tmp_path / "new") == ["b"]


def test_it_holds_nothing_but_the_snapshot(store: Store, tmp_path: Path) -> None:
    old = store.snapshot()
    write_graph(store, graph(2))
    (tmp_path / "s" / "seg-00000009-0000-00000000.gdb").write_bytes(b"a stray")
    backup(old, tmp_path / "b", STEPS)
    held = {path.name for path in (tmp_path / "b").iterdir()}
    assert held == {"MANIFEST", *(record.name for record in old.manifest.files)}
    agree(Naive(graph(1)), Store.open(tmp_path / "b", create=False).snapshot())


def test_of_a_read_only_store_and_of_one_in_memory(store: Store, tmp_path: Path) -> None:
    store.close()
    with gdb.connect(tmp_path / "s", read_only=True) as db:
        db.backup(tmp_path / "b")
    memory = Store.open(None, create=True)
    write_graph(memory, graph(3))
    backup(memory.snapshot(), tmp_path / "c", STEPS)
    for name, seed in (("b", 1), ("c", 3)):
        agree(Naive(graph(seed)), Store.open(tmp_path / name, create=False).snapshot())


def test_an_empty_store_and_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    with gdb.connect() as db:
        db.backup(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Store.open(tmp_path / "b", create=False).snapshot().version == 0


@pytest.mark.parametrize("taken", ["s", "file", "folder"])
def test_what_is_there_is_never_written_over(store: Store, tmp_path: Path, taken: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter").write_text("mine")
    before = sorted(map(str, tmp_path.rglob("*")))
    with pytest.raises(FolderTaken, match=r"not an empty folder\. Name a new folder") as caught:
        backup(store.snapshot(), tmp_path / taken, STEPS)
    assert isinstance(caught.value, FileExistsError)
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_a_folder_that_is_filled_meanwhile_is_left_alone(store: Store, tmp_path: Path) -> None:
    def fill(step: str, done: float) -> None:
        (tmp_path / "b").mkdir(exist_ok=True)
        (tmp_path / "b" / "letter").write_text("mine")

    with pytest.raises(FolderTaken):
        backup(store.snapshot(), tmp_path / "b", Steps("backup", fill))
    assert beside(tmp_path) == ["b"]
    assert os.listdir(tmp_path / "b") == ["letter"]


def damages(path: Path) -> list[Callable[[], object]]:
    raw = path.read_bytes()
    return [
        lambda: path.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1])),
        lambda: path.write_bytes(raw[:-1]),
        lambda: path.write_bytes(raw + b"\0"),
        path.unlink,
        lambda: path.write_bytes(raw),  # mended
    ]


def test_a_damaged_source_is_refused_with_the_file_name(store: Store, tmp_path: Path) -> None:
    snapshot = store.snapshot()
    for record in snapshot.manifest.files:
        *wrong, mend = damages(tmp_path / "s" / record.name)
        for damage in wrong:
            damage()
            with pytest.raises(CorruptStore, match=record.name):
                backup(snapshot, tmp_path / "a" / "b", STEPS)
            assert beside(tmp_path) == []
        mend()
    backup(snapshot, tmp_path / "b", STEPS)


def stopping_at(last: int) -> Steps:
    """Cancelled when step number `last` is reported."""
    cancel, seen = threading.Event(), iter(range(last + 1))

    def stop(step: str, done: float) -> None:
        if next(seen) == last:
            cancel.set()

    return Steps("backup", stop, cancel)


def test_cancelled_at_every_step_it_leaves_nothing(store: Store, tmp_path: Path) -> None:
    steps: list[tuple[str, float]] = []
    backup(store.snapshot(), tmp_path / "b", Steps("backup", lambda *step: steps.append(step)))
    assert [done for _, done in steps] == sorted(done for _, done in steps)
    assert steps[-1] == ("committing", 1.0)
    for last in range(len(steps) - 1):  # nothing checks after the last step
        with pytest.raises(Cancelled, match="backup was cancelled"):
            backup(store.snapshot(), tmp_path / "c", stopping_at(last))
        assert beside(tmp_path) == ["b"]


@pytest.mark.parametrize("end", [gdb.Database.interrupt, gdb.Database.close])
def test_interrupt_and_close_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[gdb.Database], None]
) -> None:
    db = gdb.connect()
    write_graph(db._store, graph(1))
    began, ended = threading.Event(), threading.Event()
    create = checksum.hasher_like

    def waits(pinned: str) -> checksum.FileHasher:
        began.set()
        ended.wait(10)
        return create(pinned)

    monkeypatch.setattr(backups, "hasher_like", waits)
    errors: list[Exception] = []

    def copies() -> None:
        try:
            db.backup(tmp_path / "b")
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=copies)
    thread.start()
    assert began.wait(10)
    ender = threading.Thread(target=end, args=[db])
    ender.start()
    while not any(cancel.is_set() for cancel in db._work._running):
        pass
    ended.set()
    thread.join()
    ender.join()
    monkeypatch.setattr(backups, "hasher_like", create)
    assert [type(error) for error in errors] == [Cancelled]
    assert beside(tmp_path) == []
    if end is gdb.Database.close:
        with pytest.raises(ClosedError):
            db.backup(tmp_path / "b")


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "mkdir"])
def test_a_disk_that_fails_leaves_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real, before = getattr(os, call), [-1]  # calls until one fails

    def fails(*arguments: object, **more: object) -> object:
        before[0] -= 1
        if before[0] == -1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **more)

    monkeypatch.setattr(os, call, fails)
    snapshot = store.snapshot()
    backup(snapshot, tmp_path / "b", STEPS)
    count, whole = -1 - before[0], 0
    assert count
    for good in range(count):
        before[0] = good
        with pytest.raises(StoreError, match="No space left on device"):
            backup(snapshot, tmp_path / "c", STEPS)
        if beside(tmp_path) == ["b", "c"]:  # only the sync of the finished name failed
            agree(Naive(graph(1)), Store.open(tmp_path / "c", create=False).snapshot())
            whole += 1
        else:
            assert beside(tmp_path) == ["b"]
    assert whole == (call == "fsync")


@pytest.mark.parametrize("path", ["", "a\0b", 7])
def test_what_is_no_path(path: str) -> None:
    with gdb.connect() as db, pytest.raises((NotAStore, TypeError)):
        db.backup(path)


def test_read_tables_of_a_backup_are_those_of_the_store(store: Store, tmp_path: Path) -> None:
    backup(store.snapshot(), tmp_path / "b", STEPS)
    copy = Store.open(tmp_path / "b", create=False)
    agree(Naive(read_tables(copy.snapshot())), store.snapshot())


@pytest.mark.parametrize(
    "path", ["/proc/none/b", "/", "/dev/null", "/dev/null/b", "/tmp/" + "x" * 300]
)
def test_where_no_folder_can_be(path: str) -> None:
    with gdb.connect() as db:
        for copy in (db.backup, db.export):
            with pytest.raises(StoreError):
                copy(path)

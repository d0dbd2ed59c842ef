"""Pins and sweeps that meet, processes that are killed in between, and locks of others (`gdb.storage.disk.pins`)."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from gdb.errors import CorruptStore, StoreLocked
from gdb.storage.disk import pins
from gdb.storage.disk.files import PosixFiles
from gdb.storage.format import manifest as manifests
from gdb.storage.format import segment_writer
from gdb.storage.format.manifest import Manifest
from gdb.storage.write.store import Store
from tests.support.graph_tables import write_graph
from tests.support.pinned_stores import add, found, graph, held, named


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A base of several files."""
    monkeypatch.setattr(segment_writer, "PACK_BYTES", 1)


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

    monkeypatch.setattr(fcntl, "flock", removed_first)
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
        monkeypatch.setattr(segment_writer, "PACK_BYTES", 1)
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
    assert calls == ["open", "flock", "flock"] * 5  # taken and given up

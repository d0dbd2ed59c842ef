"""A file of a store that is damaged while a query reads it: the query raises, with the file and the section; it gives
no answer, and nothing hangs. From the disk, through page-locked memory, and where a budget puts views in files."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import gdb
from gdb.base import budget
from gdb.errors import CorruptStore
from gdb.executor.cpu import plans
from gdb.executor.gpu import pinned
from gdb.storage.disk import arrays
from gdb.storage.format import segments
from gdb.storage.graph.snapshot import Snapshot
from tests.support.emulated_gpu import emulated_gpu
from tests.support.random_store import random_store

COUNT, EACH = 3000, 10
TRIANGLES = "MATCH (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)"
PAIRS = "MATCH (a)-[r]-(b)-[s]-(c) RETURN a.x, r.w, c.x"
Damage = Callable[[], None]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool, int], Path]:
    """By whether it is packed, and its number of nodes; copies of them are damaged."""
    folder = tmp_path_factory.mktemp("whole")

    @cache
    def made(packed: bool, nodes: int) -> Path:
        return random_store(folder / f"{packed} {nodes}", nodes, EACH * nodes, packed=packed)

    return made


@pytest.fixture(scope="module")
def pairs(stores: Callable[[bool, int], Path]) -> frozenset[tuple[object, ...]]:
    """The rows of `PAIRS`."""
    with gdb.connect(stores(False, COUNT), read_only=True) as db:
        return frozenset(db.execute(PAIRS))


@pytest.fixture
def nodes() -> int:
    return COUNT


@pytest.fixture
def store(packed: bool, nodes: int, stores: Callable[[bool, int], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(stores(packed, nodes), tmp_path / "s"))


def written(file: Path, at: int, data: bytes) -> None:
    """Write into a file, some time after it was written last."""
    before = file.stat().st_mtime_ns
    with file.open("r+b") as out:
        out.seek(at)
        out.write(data)
    if file.stat().st_mtime_ns == before:  # within one tick of the system's clock
        os.utime(file, ns=(before + 1, before + 1))


def overwritten(file: Path) -> Damage:
    """Zeros in the middle."""
    size = file.stat().st_size
    return lambda: written(file, size // 2, bytes(4096))


def cut(file: Path) -> Damage:
    return lambda: os.truncate(file, file.stat().st_size // 2 // 4096 * 4096)


DAMAGES = {"overwritten": overwritten, "cut": cut}


def before(owner: object, name: str, damage: Damage, patch: pytest.MonkeyPatch) -> None:
    """Do damage before something is called the first time."""
    original, todo = getattr(owner, name), [damage]

    def first(*given: object, **named: object) -> object:
        if todo:
            todo.pop()()
        return original(*given, **named)

    patch.setattr(owner, name, first)


# what is called first when views are made, when workers begin
MOMENTS = {"views": (Snapshot, "adjacency"), "run": (plans, "count")}


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is handled on Linux")
@pytest.mark.parametrize("memory", [None, 20_000])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_count(
    damage: str,
    moment: str,
    memory: int | None,
    store: Path,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "LEAST", 1)
    monkeypatch.setattr(arrays, "LEAST_FILED", 1)
    monkeypatch.setattr(segments, "LOOKS_APART", 0.0)
    with gdb.connect(store, read_only=True) as db:
        db.execute("MATCH ()-[r]->() RETURN sum(r.w)").scalar()  # the file is open
        before(*MOMENTS[moment], DAMAGES[damage](file), monkeypatch)
        with pytest.raises(CorruptStore, match=file.name) as raised:
            db.execute(TRIANGLES, device="cpu", memory=memory).scalar()
        assert damage == "overwritten" or "in section " in str(raised.value)
        with pytest.raises(CorruptStore, match=file.name):
            db.execute(TRIANGLES, device="cpu")


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is handled on Linux")
@pytest.mark.parametrize("memory", [None, "1MiB"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_rows_of_a_stream(
    damage: str, memory: str | None, pairs: frozenset[tuple[object, ...]], store: Path, file: Path
) -> None:
    """None of those that were given out is wrong."""
    with gdb.connect(store, read_only=True) as db:
        with db.stream(PAIRS, device="cpu", memory=memory) as stream:
            rows = iter(stream)
            given = [next(rows)]
            DAMAGES[damage](file)()
            with pytest.raises(CorruptStore, match=file.name):
                given.extend(rows)
        assert pairs.issuperset(given)
        assert len(given) < len(pairs)


def test_the_same_bytes_are_no_damage(store: Path, file: Path) -> None:
    """As a program writes them that brings copies up to date in place."""
    with gdb.connect(store, read_only=True) as db:
        known = db.execute(TRIANGLES).scalar()
        written(file, 0, file.read_bytes())
        assert db.execute(TRIANGLES).scalar() == known
        content = file.read_bytes()
        replacement = file.with_name("other")
        replacement.write_bytes(bytes(len(content)))
        replacement.rename(file)  # another file: the one that is mapped is what it was
        assert db.execute(TRIANGLES).scalar() == known


def test_files_are_looked_at_again_after_a_while(
    store: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gdb.connect(store, read_only=True) as db:
        db.execute(TRIANGLES)
        monkeypatch.setattr(segments, "LOOKS_APART", 1e6)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "monotonic", lambda: 1e9)
            db._store.snapshot()._segments.look_at_bytes()
        overwritten(file)()
        db._store.snapshot()._segments.look_at_bytes()  # not yet
        with pytest.raises(CorruptStore, match="was written to after it was opened"):
            db._store.snapshot()._segments.look_at_bytes(at_once=True)
        with pytest.raises(CorruptStore, match="was written to after it was opened"):
            db.execute(TRIANGLES)


# ---- through page-locked memory ------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kernels by g++, and no room for the graph on the device."""
    with emulated_gpu(monkeypatch, 1000):
        yield


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is handled on Linux")
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("nodes", [800])  # the kernels by g++ are slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_count_from_page_locked_memory(
    damage: str, store: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged before it is copied there. What was copied before is what it was."""
    with gdb.connect(store, read_only=True) as db:
        known = db.execute(TRIANGLES, device="cpu").scalar()
        assert db.execute(TRIANGLES, device="cuda").scalar() == known
    with gdb.connect(store, read_only=True) as db:
        db.execute("MATCH ()-[r]->() RETURN sum(r.w)").scalar()
        with monkeypatch.context() as patch:
            before(pinned, "fill", DAMAGES[damage](file), patch)
            with pytest.raises(CorruptStore, match=file.name):
                db.execute(TRIANGLES, device="cuda")
        with pytest.raises(CorruptStore, match=file.name):
            db.execute(TRIANGLES, device="cuda")

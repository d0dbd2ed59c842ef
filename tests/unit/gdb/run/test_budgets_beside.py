"""Queries whose graph is larger than their budget, beside a writer, `close`, a cancel, and other queries."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import gdb
from gdb.base import budget
from gdb.errors import Cancelled, ClosedError, QueryTimeout
from gdb.executor.cpu import launch
from gdb.executor.gpu import compiler, device, memory, pinned
from gdb.executor.work.scheduler import Watch
from gdb.storage.disk import arrays, scratch_folder
from tests.emulated import emulator
from tests.support.emulated_gpu import emulated_gpu
from tests.support.random_store import random_store

PAIRS = "MATCH (a)-[r]-(b)-[s]-(c) RETURN a.x, r.w, c.x"
SHAPES = {
    "triangle": "(a)-[]-(b)-[]-(c), (a)-[]-(c)",
    "rectangle": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a)",
    "diamond": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a), (a)-[]-(c)",
    "tailed": "(a)-[]-(b)-[]-(c), (a)-[]-(c)-[]-(d)",
    "star": "(a)-[]-(b), (a)-[]-(c), (a)-[]-(d)",
}
COUNTS = [f"MATCH DIFFERENT NODES {shape} RETURN count(*)" for shape in SHAPES.values()]


@pytest.fixture(autouse=True)
def nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "LEAST_FILED", 256)
    monkeypatch.setattr(budget, "LEAST", 1)
    monkeypatch.setattr(launch, "WORTH_A_THREAD", 0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return random_store(tmp_path / "s", 1200, 9000)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """For the emulator."""
    return random_store(tmp_path / "small", 150, 700)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kernels by g++, with little of the graph on the device."""
    with emulated_gpu(monkeypatch, 3_000):
        yield


def changed(store: Path) -> None:
    """Commit, and write the graph anew, by another connection."""
    with gdb.connect(store) as db:
        db.execute("MATCH (a) WHERE a.x % 3 = 0 DETACH DELETE a")
        db.execute("CREATE (:N {x: -1})-[:R {w: -1}]->(:N {x: -2})")
        db.compact()


def before(owner: object, name: str, work: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """Do something before a function is called the first time."""
    original, todo = getattr(owner, name), [work]

    def first(*given: object, **named: object) -> object:
        if todo:
            todo.pop()()
        return original(*given, **named)

    patch.setattr(owner, name, first)


@pytest.mark.parametrize("own", [False, True])
def test_a_stream_keeps_its_snapshot(own: bool, store: Path) -> None:
    """Whether another process or its own connection commits and compacts."""
    with gdb.connect(store, read_only=not own) as db:
        known = sorted(db.execute(PAIRS))
        with db.stream(PAIRS, device="cpu", memory=20_000) as stream:
            rows = iter(stream)
            given = [next(rows)]
            if own:
                db.execute("MATCH (a) WHERE a.x % 3 = 0 DETACH DELETE a")
                db.compact()
            else:
                changed(store)
            given.extend(rows)
        assert sorted(given) == known
        assert sorted(db.execute(PAIRS)) != known


@pytest.mark.usefixtures("gpu")
def test_a_count_on_a_gpu_keeps_its_snapshot(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is written anew while it is copied into page-locked memory."""
    with gdb.connect(small, read_only=True) as db:
        known = [db.execute(text, device="cpu").scalar() for text in COUNTS]
    with gdb.connect(small, read_only=True) as db:
        before(pinned, "fill", lambda: changed(small), monkeypatch)
        assert db.execute(COUNTS[0], device="cuda").scalar() == known[0]
        assert db.execute(COUNTS[0], device="cuda").scalar() != known[0]


def test_a_database_is_closed_during_a_stream(store: Path) -> None:
    with gdb.connect(store, read_only=True) as db:
        stream = db.stream(PAIRS, device="cpu", memory=20_000)
        rows = iter(stream)
        next(rows)
        db.close()
        with pytest.raises((Cancelled, ClosedError)):
            list(rows)
    folder = scratch_folder.of_process()
    assert folder is not None
    assert not list(folder.glob("*.tmp"))
    assert not [t for t in threading.enumerate() if t.name == "gdb-stream"]


def stopped_after(looks: int) -> Callable[[Watch], bool]:
    """`Watch.going` of a query whose time is over after so many looks."""
    left, going = iter(range(looks)), Watch.going

    def stops(watch: Watch) -> bool:
        if next(left, None) is None:
            watch.deadline, watch.timeout = 0.0, 1.0
        return going(watch)

    return stops


def test_a_timeout_in_the_middle_leaves_nothing(store: Path) -> None:
    """Of the budget's files, workers and threads; the next query is right."""
    with gdb.connect(store, read_only=True) as db:
        known = db.execute(COUNTS[1], device="cpu").scalar()
    with gdb.connect(store, read_only=True) as db:
        for part in range(12):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Watch, "going", stopped_after(2**part))
                try:
                    found = db.execute(COUNTS[1], device="cpu", memory=20_000, timeout=60).scalar()
                except QueryTimeout:
                    continue
                assert found == known
        assert db.execute(COUNTS[1], device="cpu", memory=20_000).scalar() == known


def test_ten_queries_at_once(store: Path) -> None:
    """Their total need is many times the budget of one; none is refused, and no file is left."""
    with gdb.connect(store, read_only=True) as db:
        known = [db.execute(text, device="cpu").scalar() for text in COUNTS]
    with gdb.connect(store, read_only=True) as db, ThreadPoolExecutor(10) as threads:

        def count(text: str) -> object:
            return db.execute(text, device="cpu", memory=10_000).scalar()

        for _ in range(3):
            assert list(threads.map(count, COUNTS * 2)) == known * 2
        lines = [line for (line,) in db.execute(f"PROFILE {COUNTS[1]}", memory=10_000)]
        (shown,) = [line for line in lines if line.startswith("memory: ")]
        assert "in temporary files" in shown
    folder = scratch_folder.of_process()
    assert folder is not None
    assert not list(folder.glob("*.tmp"))


class SmallDevice:
    """A device of so many bytes: allocations beyond it fail, as CuPy's do. Kernels run one at a time: the emulator has
    no threads."""

    def __init__(self, size: int, patch: pytest.MonkeyPatch) -> None:
        self.size, self.used, self.most = size, 0, 0
        self._lock, running = threading.Lock(), threading.Lock()
        for module in (device, memory):
            patch.setattr(module, "free_bytes", lambda ordinal: self.size - self.used)
        for name in ("upload", "empty"):
            patch.setattr(memory, name, partial(self._made, getattr(memory, name)))
        for owner, name in ((compiler.Call, "launch"), (emulator.Function, "__call__")):
            patch.setattr(owner, name, _alone(running, getattr(owner, name)))

    def _made(self, make: Callable[..., emulator.Array], *given: object, **named: object) -> object:
        made = make(*given, **named)
        with self._lock:
            if self.used + made.nbytes > self.size:
                raise device.full(0, MemoryError(f"{made.nbytes:,} bytes"))
            self.used += made.nbytes
            self.most = max(self.most, self.used)
        weakref.finalize(made, self._gone, made.nbytes)
        return made

    def _gone(self, size: int) -> None:
        with self._lock:
            self.used -= size


def _alone(lock: threading.Lock, run: Callable[..., object]) -> Callable[..., object]:
    def locked(*given: object) -> object:
        with lock:
            return run(*given)

    return locked


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("room", [100_000, 30_000])
def test_ten_queries_on_one_gpu(small: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose total need is more than its memory: all are right, none is refused, and nothing is left."""
    gpu = SmallDevice(room, monkeypatch)
    with gdb.connect(small, read_only=True) as db, ThreadPoolExecutor(10) as threads:
        known = [db.execute(text, device="cpu").scalar() for text in COUNTS]

        def count(text: str) -> object:
            return db.execute(text, device="cuda").scalar()

        for _ in range(2):
            assert list(threads.map(count, COUNTS * 2)) == known * 2
    assert gpu.most > room // 2
    memory.KEPT.forget()
    memory.ARENAS.forget(0)
    memory.RESIDENTS.forget(0)
    gc.collect()
    assert gpu.used == 0

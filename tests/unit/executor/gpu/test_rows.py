"""Transfer of rows from a GPU to their reader, with memory of the host in place of a device's."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gdb.executor.gpu import memory, rows
from gdb.executor.gpu.rows import Drain, Out
from gdb.executor.nest.tables import Written
from gdb.executor.plan.embeddings import Deliver, Embeddings, Wanted
from gdb.executor.work.scheduler import Watch

COLUMNS = Wanted((1, 3), (0,))
WRITTEN = Written(np.zeros((0, 0), np.int64), COLUMNS, -1)


class _Later:
    """A copy that takes a moment."""

    def __init__(self, pieces: list[tuple[int, int, int]]) -> None:
        self._thread = threading.Thread(target=self._copy, args=(pieces,))
        self._thread.start()

    def _copy(self, pieces: list[tuple[int, int, int]]) -> None:
        time.sleep(0.001)
        for to, source, size in pieces:
            ctypes.memmove(to, source, size)

    def synchronize(self) -> None:
        self._thread.join()


class _Copies:
    def to_host(self, pieces: Iterator[tuple[int, int, int]]) -> _Later:
        return _Later(list(pieces))

    def settle(self) -> None:
        pass


class _Block:
    def __init__(self, size: int) -> None:
        self.size, self._memory = size, np.zeros(size, np.uint8)
        self.address = self._memory.ctypes.data

    def array(
        self, shape: tuple[int, ...], dtype: type[np.generic], offset: int = 0
    ) -> npt.NDArray[np.generic]:
        return np.ndarray(shape, dtype, self._memory.data, offset)


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(shape: tuple[int, ...], dtype: type[np.generic]) -> SimpleNamespace:
        array = np.empty(shape, dtype)
        return SimpleNamespace(array=array, data=SimpleNamespace(ptr=array.ctypes.data))

    monkeypatch.setattr(memory, "empty", empty)
    monkeypatch.setattr(memory, "Block", _Block)
    monkeypatch.setattr(memory, "LOCKED", memory.LockedBlocks())
    monkeypatch.setattr(memory, "copies", lambda _: _Copies())
    monkeypatch.setattr(memory, "wait_for", lambda event: event.synchronize())
    monkeypatch.setattr(rows, "LEAST_PART", 5)


def watch(limit: int | None = None, cancel: threading.Event | None = None) -> Watch:
    return Watch(None, cancel, limit)


def at(address: int, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(address)), dtype)


def launch(out: Out, first: int, count: int) -> None:
    """What a kernel does: rows first, first + 1, ... into the columns of a buffer."""
    values = np.arange(first, first + count)
    at(out.vertex(1), count, np.uint32)[:] = values
    at(out.vertex(3), count, np.uint32)[:] = 2 * values
    at(out.edge(0), count, np.int64)[:] = -values


class Taker:
    """Keeps the rows that are delivered, and looks twice at each part: its memory must not change meanwhile."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seen: list[tuple[int, int, int]] = []
        self.threads: set[int] = set()
        self.at_work = self.most_at_work = 0
        self.seconds, self.lock = seconds, threading.Lock()

    def __call__(self, part: Embeddings) -> None:
        with self.lock:
            self.at_work += 1
            self.most_at_work = max(self.most_at_work, self.at_work)
            self.threads.add(threading.get_ident())
        columns = part.vertex(1), part.vertex(3), part.edge(0)
        before = [column.tolist() for column in columns]
        time.sleep(self.seconds)
        assert [column.tolist() for column in columns] == before
        assert (part.edge(7) == -1).all()  # an edge that is not bound
        with self.lock:
            self.seen += zip(*before, strict=True)
            self.at_work -= 1


def drained(capacity: int, total: int, taker: Taker, watch: Watch, threads: int) -> int:
    """Send rows on their way, a buffer at a time; how many were sent."""
    sent = 0
    with Drain(WRITTEN, capacity, taker, watch, 0, threads) as drain:
        while sent < total and watch.going():
            out, count = drain.room(), min(capacity, total - sent)
            launch(out, sent, count)
            drain.take(out, count)
            sent += count
    return sent


def expected(total: int) -> list[tuple[int, int, int]]:
    return [(k, 2 * k, -k) for k in range(total)]


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("capacity", [1, 31, 32, 33, 400])
def test_every_row_arrives_once(capacity: int, threads: int) -> None:
    taker = Taker()
    assert drained(capacity, 300, taker, watch(), threads) == 300
    assert sorted(taker.seen) == expected(300)
    assert taker.most_at_work <= threads


def test_who_is_slow_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than `BLOCKS` blocks are ever made, and the next query finds them."""
    made: list[int] = []

    def block(size: int) -> _Block:
        made.append(size)
        return _Block(size)

    monkeypatch.setattr(memory, "Block", block)
    for _ in range(2):
        taker = Taker(0.003)
        drained(300, 9000, taker, watch(), 3)
        assert sorted(taker.seen) == expected(9000)
    assert len(made) <= rows.BLOCKS
    assert sum(made) == memory.LOCKED.bytes


def test_who_waits_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool whose threads are all at other work delays no caller."""
    gate = threading.Event()
    pool = ThreadPoolExecutor(1)
    pool.submit(gate.wait)
    monkeypatch.setattr(rows, "helpers_of_all", lambda: pool)
    taker = Taker()
    drained(20, 1000, taker, watch(), 3)
    assert sorted(taker.seen) == expected(1000)
    assert taker.threads == {threading.get_ident()}
    gate.set()
    pool.shutdown()


def flood(deliver: Deliver, run: Watch, threads: int) -> None:
    """Rows without end."""
    with Drain(WRITTEN, 20, deliver, run, 0, threads) as drain:
        while run.going():
            out = drain.room()
            launch(out, 100, 20)
            drain.take(out, 20)


@pytest.mark.parametrize("threads", [1, 3])
def test_what_deliver_raises_is_raised(threads: int) -> None:
    def deliver(part: Embeddings) -> None:
        raise ValueError("a fault of whoever takes them")

    with pytest.raises(ValueError, match="whoever takes"):
        flood(deliver, watch(), threads)
    assert 0 < sum(map(len, memory.LOCKED._waiting.values())) <= rows.BLOCKS


def test_a_cancel_drops_what_is_on_its_way() -> None:
    cancel, got = threading.Event(), []

    def deliver(part: Embeddings) -> None:
        got.append(len(part))
        cancel.set()

    run = watch(cancel=cancel)
    with Drain(WRITTEN, 20, deliver, run, 0, 2) as drain:
        for k in range(40):
            out = drain.room()
            launch(out, 20 * k, 20)
            drain.take(out, 20)
    assert 1 <= len(got) <= 2  # each thread had at most one in hand
    assert memory.LOCKED.bytes > 0  # the blocks are back


def interrupted(run: Watch) -> None:
    """Ctrl-C right after some rows were sent."""
    with Drain(WRITTEN, 20, lambda _: time.sleep(0.01), run, 0, 2) as drain:
        out = drain.room()
        launch(out, 0, 20)
        drain.take(out, 20)
        raise KeyboardInterrupt


def test_an_interrupt_ends_what_is_on_its_way() -> None:
    run = watch()
    with pytest.raises(KeyboardInterrupt):
        interrupted(run)
    assert not run.going()
    assert memory.LOCKED.bytes > 0  # the block is back


def test_rows_without_columns_are_counted() -> None:
    """`RETURN 1 LIMIT 5` needs rows of nothing."""
    seen: list[int] = []
    nothing = Written(WRITTEN.levels, Wanted(()), -1)
    with Drain(nothing, 7, lambda part: seen.append(len(part)), watch(), 0, 1) as drain:
        for _ in range(3):
            drain.take(drain.room(), 7)
    assert sum(seen) == 21


def test_blocks_beyond_the_most_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_LOCKED", 10_000)
    locked = memory.LockedBlocks()
    blocks = [locked.take(5000), locked.take(5000), locked.take(1)]
    assert [block.size for block in blocks] == [8192, 8192, 4096]
    for block in blocks:
        locked.give(block)
    assert locked.bytes == 8192
    assert locked.take(8192) is blocks[0]
    assert locked.bytes == 0


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 70_000, 1 << 20, (1 << 20) + 1, 23_456_789])
def test_a_block_is_little_larger_than_what_is_requested(size: int) -> None:
    found = memory.LockedBlocks().take(size).size
    assert size <= found <= max(size * 9 // 8, size + 4096)
    assert size == 0 or size & (size - 1) or found == max(size, 4096)

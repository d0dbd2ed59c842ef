"""How many warps a stage gets; it needs no device."""

from __future__ import annotations

import weakref
from typing import cast

import pytest

from gdb.executor.gpu import arenas, device, memory
from gdb.executor.gpu.own_arrays import Own
from gdb.executor.gpu.residency import Room
from gdb.executor.gpu.warps import Warps
from gdb.executor.work.scheduler import Budget


def test_memory_that_no_run_holds_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second stage gets as many warps as the first, whose memory waits for it."""
    free, waiting = 4 << 20, 0
    monkeypatch.setattr(device, "multiprocessors", lambda _: 132)
    monkeypatch.setattr(memory, "evict", lambda *_: free)
    monkeypatch.setattr(memory.ARENAS, "bytes", lambda _: waiting)
    numbers = []
    for _ in range(2):
        warps, budget, room = (
            Warps(0, state=100, task=100, buffer=800, scratch=10_000),
            Budget(),
            Room(1 << 30),
        )
        warps.place(1000, budget, room, Own(budget, room))
        numbers.append(warps.number)
        size = warps.number * warps.bytes
        free, waiting = free - size, size
    assert numbers[0] == (2 << 20) // 11_000
    assert numbers[1] == numbers[0]


class Memory:
    """A block of a device's memory."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_memory_that_is_too_small_is_let_go_before_more_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocks, small = memory.Arenas(), Memory(1000)
    gone = weakref.ref(small)
    blocks.give(cast("memory.DeviceArray", small), 1, 0)
    del small

    def new_block(size: int) -> Memory:
        assert gone() is None
        return Memory(size)

    monkeypatch.setattr(arenas, "free_bytes", lambda _: 500)
    monkeypatch.setattr(arenas, "new_block", new_block)
    block, as_left = blocks.take(1400, 2, 0)
    assert block.nbytes == 1400
    assert not as_left

"""Page-locked memory in pages of our own, with a driver that only notes what it is to lock."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gdb.executor.gpu import locked_pages, memory

runtime = pytest.importorskip("cupy.cuda.runtime")
SIZE = locked_pages.LEAST + 5


class Driver:
    """What is locked, by address its bytes. failing : it locks nothing."""

    def __init__(self, patch: pytest.MonkeyPatch, *, failing: bool = False) -> None:
        self.held: dict[int, int] = {}
        self.made: list[int] = []
        self.failing = failing
        patch.setattr(runtime, "hostRegister", self.lock)
        patch.setattr(runtime, "hostUnregister", self.held.pop)
        patch.setattr("cupy.cuda.PinnedMemory", self.make)
        patch.setattr("cupy.cuda.PinnedMemoryPointer", lambda made, offset: made)

    def lock(self, address: int, size: int, flags: int) -> None:
        assert flags == 1
        if self.failing:
            raise runtime.CUDARuntimeError(801)
        self.held[address] = size

    def make(self, size: int, flags: int) -> Made:
        self.made.append(size)
        return Made(size)


class Made(bytearray):
    """What a driver has made."""

    ptr = 1 << 20


def test_a_large_block_is_locked_until_nothing_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(monkeypatch)
    block = memory.Block(SIZE)
    assert driver.held == {block.address: SIZE}
    assert not driver.made
    array = block.array((5,), np.uint8, SIZE - 5)
    assert array.ctypes.data == block.address + SIZE - 5
    assert not array.any()
    array[:] = range(5)
    assert block.array((SIZE,), np.uint8)[-6:].tolist() == [0, 0, 1, 2, 3, 4]
    del block
    gc.collect()
    assert len(driver.held) == 1
    assert array.tolist() == [0, 1, 2, 3, 4]
    del array
    gc.collect()
    assert not driver.held


@pytest.mark.parametrize("failing", [False, True])
def test_others_are_the_drivers(failing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones, and all where a driver locks no memory but its own."""
    driver = Driver(monkeypatch, failing=failing)
    block = memory.Block(SIZE if failing else 100)
    assert driver.made == [SIZE if failing else 100]
    assert (block.address, len(block.array((100,), np.uint8))) == (1 << 20, 100)
    assert not driver.held


def test_a_driver_that_has_ended_unlocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(monkeypatch)
    block = memory.Block(SIZE)
    driver.held.clear()  # so that to unlock raises
    del block
    gc.collect()

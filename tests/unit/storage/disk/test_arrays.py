"""Arrays that are maps of their own: they are used as any other."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gdb.storage.disk import arrays


@pytest.mark.parametrize("count", [0, 5, (1 << 18) - 1, 1 << 20])
def test_it_has_the_length_and_type_and_can_be_written(count: int) -> None:
    found = arrays.unset(count, np.uint32)
    found[:] = np.arange(count)
    assert (found.dtype, found.shape) == (np.uint32, (count,))
    assert int(found.sum(dtype=np.int64)) == count * (count - 1) // 2


def test_arrays_are_joined() -> None:
    parts = [np.arange(3, dtype=np.uint64), np.arange(1 << 18, dtype=np.uint64)]
    assert (arrays.joined(parts, np.uint64) == np.concatenate(parts)).all()
    assert arrays.joined([], np.uint64).shape == (0,)


_DROPPED = """
import mmap
import numpy as np
from gdb.storage.disk import arrays

def memory():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE

np.ones(30 << 20, np.uint8)  # freed: malloc takes blocks of this size from its heap from now on
before = memory()
found = [arrays.unset(1 << 20, np.uint64) for _ in range(8)]
for array in found:
    array[:] = 1
assert memory() - before > 50 << 20
kept = np.ones(100_000, np.uint8)  # in the heap behind them
del found, array
assert memory() - before < 10 << 20
"""


def test_a_large_one_is_gone_when_it_is_dropped() -> None:
    # a process of its own: here other threads allocate and free meanwhile
    subprocess.run([sys.executable, "-c", _DROPPED], check=True, timeout=300)


@pytest.mark.parametrize("count", [0, 1, 7, 50])
def test_an_array_filled_piece_by_piece(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "PIECE", 7)
    found = arrays.filled(count, np.int64, lambda begin, end: np.arange(begin, end) ** 2)
    assert np.array_equal(found, np.arange(count) ** 2)

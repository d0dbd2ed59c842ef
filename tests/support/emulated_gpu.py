"""A GPU that is none: CUDA's kernels by g++ (`tests.emulated.emulator`), and little memory of a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gdb.executor.gpu import device, residency
from tests.emulated.emulator import absence, emulated


def found(patch: pytest.MonkeyPatch) -> None:
    """A device answers from now on."""
    patch.setattr(device, "absence", lambda: None)
    patch.setattr(device, "require", lambda ordinal=0: None)
    patch.setattr(device, "total_bytes", lambda ordinal: 1 << 34)


@contextmanager
def emulated_gpu(patch: pytest.MonkeyPatch, most: int) -> Iterator[None]:
    """Queries may run on it, with so many bytes of a graph in its memory; the test is skipped without g++."""
    if (missing := absence()) is not None:
        pytest.skip(missing)
    found(patch)
    patch.setattr(residency, "MOST", most)
    with emulated(worth=1e9):
        yield

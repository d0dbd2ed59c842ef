"""A GPU that is pretended, for what is decided without one."""

from __future__ import annotations

import pytest

from gdb.executor import choose_device
from gdb.executor.gpu import device


@pytest.fixture
def some_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has begun to use a GPU of 132 multiprocessors."""
    monkeypatch.setattr(device, "absence", lambda: None)
    monkeypatch.setattr(device, "was_queried", lambda: True)
    monkeypatch.setattr(device, "multiprocessors", lambda _: 132)


@pytest.fixture
def quick_gpu(some_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is quicker with everything that it may do."""
    for name in ("LAUNCH", "PLACE", "WARP_STEP", "WARP_BOUND"):
        monkeypatch.setattr(choose_device, name, 0.0)
    monkeypatch.setattr(choose_device, "LINK", 1e30)

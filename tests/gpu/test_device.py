"""What a machine without a usable GPU says."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from gdb.errors import DeviceError
from gdb.executor.gpu import device


class _Refused(RuntimeError):
    pass


def _cupy(monkeypatch: pytest.MonkeyPatch, devices: int | Exception) -> None:
    def count() -> int:
        if isinstance(devices, Exception):
            raise devices
        return devices

    runtime = SimpleNamespace(getDeviceCount=count, CUDARuntimeError=_Refused)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert device.absence() == "CuPy is not installed"
    with pytest.raises(DeviceError, match=r"CuPy is not installed.*gdb-embedded\[cuda13\]"):
        device.require()


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    _cupy(monkeypatch, _Refused("insufficient driver"))
    assert device.absence() == "no CUDA device answers: insufficient driver"
    with pytest.raises(DeviceError, match="insufficient driver"):
        device.require()


def test_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    _cupy(monkeypatch, 0)
    assert device.absence() == "there is no CUDA device"


def test_without_a_driver_cupy_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its import takes most of a second."""
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(device, "find_spec", lambda name: name)
    monkeypatch.setattr(device, "_LIBRARY", "libcuda-of-nobody.so")
    assert device.absence() == "no CUDA driver is installed"
    assert "cupy" not in sys.modules


def test_beyond_the_last_device(monkeypatch: pytest.MonkeyPatch) -> None:
    _cupy(monkeypatch, 2)
    assert device.absence() is None
    device.require(1)
    with pytest.raises(DeviceError, match="no GPU number 2; this machine has 2"):
        device.require(2)


ENDS_WITH_A_COPY = """
import numpy as np
from gdb.executor.gpu import memory

array = np.arange(3)
memory.RESIDENTS.made_of(array, 0, "", lambda: np.arange(3))
"""


def test_a_process_that_ends_with_copies_says_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_WITH_A_COPY], capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""

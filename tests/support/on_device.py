"""Where the random queries are run: on the CPU, on a GPU, or on a GPU that holds next to nothing of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args
from unittest.mock import patch

from gdb.executor.gpu import launch, residency

Device = Literal["cpu", "gpu", "cold"]
DEVICES: tuple[Device, ...] = get_args(Device)
_MOST = 200  # bytes of a graph's arrays on the device, cold
_STEPS = 7  # of a warp in one launch, cold


@contextmanager
def on(device: Device) -> Iterator[str]:
    """The name that `execute` takes. cold: on a GPU, passes and reads over the link wherever the arrays have more than
    200 bytes, and launches that end every few steps."""
    if device != "cold":
        yield device
        return
    passes = patch.object(residency, "GAIN", float("inf"))
    with patch.object(residency, "MOST", _MOST), patch.object(launch, "STEPS", _STEPS), passes:
        yield "gpu"

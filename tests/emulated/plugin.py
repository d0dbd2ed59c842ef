"""A pytest plugin that runs tests of the GPU on the emulator: `make gpu-emulated`.

Threads cannot share the emulator, and what asks CuPy itself has no answer here: the target leaves such tests out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gdb.executor.gpu import device, special

os.environ["GDB_TEST_BACKENDS"] = "cpu,gpu"
os.environ["GDB_EMULATED_GPU"] = "1"
setattr(device, "absence", lambda: None)  # noqa: B010
setattr(device, "require", lambda ordinal=0: None)  # noqa: B010
setattr(device, "total_bytes", lambda ordinal: 1 << 34)  # noqa: B010


@pytest.fixture(autouse=True)
def _on_the_emulator() -> Iterator[None]:
    from tests.emulated.emulator import emulated

    with emulated(worth=special.WORTH):
        yield

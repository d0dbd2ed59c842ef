"""A pytest plugin that runs tests of the GPU on the emulator: `make gpu-emulated`.

Threads cannot share the emulator, and what calls CuPy itself has no answer here: the target leaves such tests out.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gdb.executor.gpu import special


def pytest_configure(config: pytest.Config) -> None:
    """Have a device be there for this run, from before tests are collected: some are skipped by that."""
    from tests.support import emulated_gpu

    patches = pytest.MonkeyPatch()
    config.add_cleanup(patches.undo)
    patches.setenv("GDB_TEST_BACKENDS", "cpu,gpu")
    emulated_gpu.found(patches)


@pytest.fixture(autouse=True)
def _on_the_emulator() -> Iterator[None]:
    from tests.emulated.emulator import emulated

    with emulated(worth=special.WORTH):
        yield

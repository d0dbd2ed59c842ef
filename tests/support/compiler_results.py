"""What compilers make of the kernels' sources, kept beside the machine code of the library for the next run of the
tests: the same compiler makes the same of the same source, and takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from gdb.base.machine import cache


def kept(name: str, depends_on: object, make: Callable[[], bytes]) -> bytes:
    """What `make` gives, or gave an earlier run; what it raises is raised, and nothing is kept.

    Parameters
    ----------
    name : of letters, digits and underscores.
    depends_on : all that decides what `make` gives, by its repr: source, options, version of the compiler.
    """
    entry = cache.entry(f"tests_{name}", repr(depends_on).encode())
    found = cache.read(entry)
    if found is None:
        found = make()
        cache.write(entry, found)
    return found


def nvrtc_version() -> tuple[int, int]:
    """That of CUDA's run-time compiler; a test is skipped where there is none."""
    nvrtc = pytest.importorskip(
        "cupy_backends.cuda.libs.nvrtc",
        reason="CuPy is not installed: pip install cupy-cuda13x[ctk]",
    )
    try:
        return cast("tuple[int, int]", nvrtc.getVersion())
    except (RuntimeError, OSError, ImportError) as error:
        pytest.skip(f"NVRTC is not installed (pip install nvidia-cuda-nvrtc): {error}")

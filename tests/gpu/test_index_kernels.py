"""The kernels of benchmarks/gpu/index_lookups.cu compile for every architecture, and hold the product's own lookup."""

from __future__ import annotations

import pytest

from benchmarks.gpu import index_kernels
from gdb.executor.gpu import render
from tests.gpu.test_nvrtc import ARCHITECTURES, compiled_here


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("special", [True, False])
def test_the_kernels_compile(architecture: int, special: bool) -> None:
    code, log = compiled_here(index_kernels.source(special, 1), architecture)
    assert "warning" not in log, log
    for kernel in index_kernels.KERNELS:
        assert f"time_{kernel.entry}".encode() in code
        assert f"digest_{kernel.entry}".encode() in code


def test_the_crowded_kernels_compile() -> None:
    """Not for sm_75, whose multiprocessors hold 1024 threads: there the second block is ignored."""
    _, log = compiled_here(index_kernels.source(True, 2), 90)
    assert "warning" not in log, log


def test_the_lookup_is_the_products() -> None:
    source = index_kernels.source(True, 1)
    assert "#include" not in source
    for function in ("PART i64 row_number(", "Span find_row("):
        assert source.count(function) == render.source().count(function) == 1

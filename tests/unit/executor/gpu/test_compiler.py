"""The CUDA compiler's process: what it says where it is absent, fails or dies. It needs no GPU, and no CuPy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gdb.errors import DeviceError
from gdb.executor.gpu import compiler


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_PROGRAM", "import no_such_compiler")
    with pytest.raises(DeviceError, match="No module named 'no_such_compiler'") as caught:
        compiler.compile_source("", "sm_90")
    assert "Traceback" not in str(caught.value)


def test_one_that_dies_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    program = (
        f"import os, sys; from pathlib import Path; mark = Path({str(mark)!r})\n"
        "if not mark.exists(): mark.touch(); os.abort()\n"
        "sys.stdout.buffer.write(b'\\x7fELF' + sys.stdin.buffer.read())"
    )
    monkeypatch.setattr(compiler, "_PROGRAM", program)
    monkeypatch.setattr(compiler, "_COMMENT", " // again")  # by which the source is another one
    assert compiler.compile_source("code", "sm_90")[0] == b"\x7fELFcode // again"


def test_the_compiler_never_gets_freed_memory_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside what the user tunes."""
    program = (
        "import os, sys\n"
        "sys.stdout.buffer.write(b'\\x7fELF' + os.environ['GLIBC_TUNABLES'].encode())"
    )
    monkeypatch.setattr(compiler, "_PROGRAM", program)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    assert compiler.compile_source("", "sm_90")[0] == b"\x7fELFglibc.malloc.tcache_count=0"
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.perturb=0")
    tuned = b"glibc.malloc.perturb=0:glibc.malloc.tcache_count=0"
    assert compiler.compile_source("", "sm_90")[0] == b"\x7fELF" + tuned


def test_every_second_try_leaves_the_allocator_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import os, sys\n"
        "if 'GLIBC_TUNABLES' in os.environ: os.abort()\n"
        "sys.stdout.buffer.write(b'\\x7fELF')"
    )
    monkeypatch.setattr(compiler, "_PROGRAM", program)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    assert compiler.compile_source("", "sm_90")[0] == b"\x7fELF"


def test_one_that_always_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_PROGRAM", "import os; os.abort()")
    with pytest.raises(DeviceError, match="NVRTC"):
        compiler.compile_source("", "sm_90")


def test_one_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(compiler, "LONGEST", 0.2)
    with pytest.raises(DeviceError, match="NVRTC"):
        compiler.compile_source("", "sm_90")


def test_the_machine_code_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(
        compiler, "_PROGRAM", "import sys; sys.stdout.buffer.write(b'\\x7fELF' + b'1')"
    )
    assert compiler.machine_code("source", "sm_90") == b"\x7fELF1"
    monkeypatch.setattr(sys, "executable", "/no/python")
    assert compiler.machine_code("source", "sm_90") == b"\x7fELF1"
    with pytest.raises(DeviceError):
        compiler.machine_code("another", "sm_90")

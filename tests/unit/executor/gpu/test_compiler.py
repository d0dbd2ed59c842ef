"""The CUDA compiler's process: what it says where it is absent, fails or dies. It needs no GPU, and no CuPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gdb.errors import DeviceError
from gdb.executor.gpu import compiler
from tests.support.compiler_results import nvrtc_version


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


def test_every_second_try_gives_memory_back_late(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    program = (
        f"import os; note = open({str(seen)!r}, 'a')\n"
        "note.write(f\"{'put_off' in globals()}\\n\"); note.close(); os.abort()"
    )
    monkeypatch.setattr(compiler, "_PROGRAM", program)
    monkeypatch.setattr(compiler, "TRIES", 5)
    with pytest.raises(DeviceError, match="crashed in each of 5 tries"):
        compiler.compile_source("", "sm_90")
    assert seen.read_text().split() == ["False", "True", "False", "True", "False"]


def test_memory_that_is_given_back_late() -> None:
    """The same machine code, by a process in which NVRTC's calls of `free` lead to ours."""
    nvrtc_version()
    strict = compiler._PUT_OFF.replace("put_off(", "assert put_off(")
    late = compiler._program(1).replace(
        compiler._PUT_OFF, strict.replace("except Exception:\n    pass", "finally:\n    pass")
    )
    assert "assert put_off(" in late
    assert "finally:" in late
    usual, ours = (
        subprocess.run(
            [sys.executable, "-P", "-c", program, "--gpu-architecture=sm_90"],
            input=b"__global__ void nothing(int* x) { *x += 1; }",
            capture_output=True,
            check=True,
        )
        for program in (compiler._PROGRAM, late)
    )
    assert usual.stderr == ours.stderr == b""
    assert usual.stdout == ours.stdout
    assert usual.stdout.startswith(b"\x7fELF")


def test_one_that_always_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_PROGRAM", "import os; os.abort()")
    with pytest.raises(DeviceError, match=r"NVRTC[\s\S]*gdb-embedded\[cuda13\]"):
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

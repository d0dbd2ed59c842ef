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


@pytest.mark.parametrize("own", [None, "glibc.malloc.perturb=0"])
def test_every_fourth_try_has_another_allocator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str | None
) -> None:
    """Beside what the user tunes."""
    seen = tmp_path / "seen"
    program = (
        f"import os; note = open({str(seen)!r}, 'a')\n"
        "note.write(os.environ.get('GLIBC_TUNABLES', '') + '\\n'); note.close(); os.abort()"
    )
    monkeypatch.setattr(compiler, "_PROGRAM", program)
    monkeypatch.setattr(compiler, "TRIES", 6)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    if own is not None:
        monkeypatch.setenv("GLIBC_TUNABLES", own)
    with pytest.raises(DeviceError, match="crashed in each of 6 tries"):
        compiler.compile_source("", "sm_90")
    plain, tuned = own or "", ":".join([*filter(None, [own]), "glibc.malloc.tcache_count=0"])
    assert seen.read_text().splitlines() == [plain, tuned, plain, plain, plain, tuned]


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

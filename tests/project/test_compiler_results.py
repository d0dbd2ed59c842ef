"""What compilers make for the tests is kept for what it depends on, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.compiler_results import kept


def test_a_compiler_runs_once_for_what_its_code_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    runs = list[bytes]()

    def compiled() -> bytes:
        runs.append(b"code %d" % len(runs))
        return runs[-1]

    wanted = [("a", "source"), ("a", "source"), ("a", "other"), ("b", "source"), ("a", "other")]
    found = [kept(name, (name, source), compiled) for name, source in wanted]
    assert found == [b"code 0", b"code 0", b"code 1", b"code 2", b"code 1"]


def test_what_fails_fails_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept("a", "source", lambda: bytes(1 // 0))

"""Waits in steps: what is waited for arrives whole."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from gdb.base import waiting

SLOW = "import sys, time; time.sleep(0.5); data = sys.stdin.buffer.read(); print(len(data))"


def test_a_command_that_reads_late_gets_all_of_its_input() -> None:
    given = b"x" * (1 << 20)  # more than a pipe holds
    ended = waiting.run([sys.executable, "-c", SLOW], given, 60)
    assert (ended.returncode, ended.stdout) == (0, b"1048576\n")


def test_a_command_that_takes_too_long_is_killed() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.run([sys.executable, "-c", "import time; time.sleep(600)"], b"", 0.2)


def test_a_quick_call_is_made_beside_once_one_was_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_wary", 0)

    def here() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert waiting.blocking(here, quick=True)
    assert not waiting.blocking(here)
    waiting.blocking(lambda: time.sleep(2 * waiting._SLOW), quick=True)
    found = [waiting.blocking(here, quick=True) for _ in range(waiting._WARY + 1)]
    assert found == [False] * waiting._WARY + [True]

"""A small sample of `python -m tests.signals`, without a limit of time: noticed at all, reported as it is."""

from __future__ import annotations

import subprocess
import sys

from tests.support.effort import share


def test_each_ctrl_c_is_noticed_and_what_is_reported_is_true() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.signals",
        "--presses",
        str(share(30, least=12)),
        "--busy",
        "0",
    ]
    done = subprocess.run(
        [*command, "--limit", "0"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lost 0, not true 0" in done.stdout

"""Other users of this machine: folders that they can reach, files of theirs, processes with their rights."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have the rights of others")
NOBODY, STRANGER = 65534, 65533
_REPOSITORY = Path(__file__).resolve().parents[2]


@contextmanager
def everybodys_folder() -> Iterator[Path]:
    """A new folder that all users can enter (those of pytest are for their owner alone)."""
    folder = Path(tempfile.mkdtemp(prefix="gdb-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def drop(user: int) -> None:
    """Have the rights of that user from here on. Import and run beforehand all that lies where only root can read."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def ran(program: str, *arguments: object, **environment: str) -> str:
    """Run a Python program in a process of its own; what it printed, and what it logged."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, *map(str, arguments)],
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(_REPOSITORY)} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def give(path: Path, user: int, mode: int | None = None) -> None:
    """Make a file, a link or a folder a user's."""
    os.chown(path, user, user, follow_symlinks=False)
    if mode is not None:
        path.chmod(mode)

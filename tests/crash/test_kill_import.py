"""SIGKILL while `Database.load` runs: the store opens, whole, with the file or without it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import gdb
from tests.support.effort import share

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, gdb
db = gdb.connect(sys.argv[1])
print("begins", flush=True)
db.load(sys.argv[2], type="NEW")
print("acknowledged", flush=True)
"""
OLD, NEW = 1_000, 40_000


def _edges(path: Path, count: int, seed: int) -> Path:
    rng = random.Random(seed)
    lines = (f"{rng.randrange(5_000)} {rng.randrange(5_000)}\n" for _ in range(count))
    path.write_text("".join(lines))
    return path


def _begin(store: Path, file: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(store), str(file)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )


def _holds(store: Path) -> tuple[int, int]:
    """How many old and new relationships the store holds, by its numbers and by matching."""
    with gdb.connect(store, create=False) as db:
        db.check()
        counts = [
            db.execute(f"MATCH ()-[r:{name}]->() RETURN count(*)").scalar()
            for name in ("OLD", "NEW")
        ]
        assert sum(map(int, map(str, counts))) == db.stats().edges
    return int(str(counts[0])), int(str(counts[1]))


def test_killed_at_random_moments_of_an_import(tmp_path: Path) -> None:
    base, rng = tmp_path / "base.gdb", random.Random(7)
    with gdb.connect(base) as db:
        db.load(_edges(tmp_path / "old.txt", OLD, 1), type="OLD")
    file = _edges(tmp_path / "new.txt", NEW, 2)

    whole = tmp_path / "whole.gdb"
    shutil.copytree(base, whole)
    process = _begin(whole, file)
    assert process.stdout is not None
    process.stdout.readline()
    began = time.monotonic()
    assert process.communicate()[0] == "acknowledged\n"
    seconds = time.monotonic() - began
    assert _holds(whole) == (OLD, NEW)

    before = 0
    tried = share(12, least=6)
    for k in range(tried):
        store = tmp_path / f"{k}.gdb"
        shutil.copytree(base, store)
        process = _begin(store, file)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.random() * seconds)
        process.kill()
        acknowledged = process.communicate()[0] == "acknowledged\n"
        found = _holds(store)
        assert found == (OLD, NEW) or (found == (OLD, 0) and not acknowledged)
        before += found == (OLD, 0)
        shutil.rmtree(store)
    assert before > tried // 4  # else the kills came too late to mean anything

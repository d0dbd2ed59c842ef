"""Temporary folders: of a process that was killed, the next one removes them; of one that lives, none does."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gdb
from gdb.storage.disk.scratch_folder import ScratchFolder
from gdb.storage.importer import LoadProgress

HOLDS = "import sys; from pathlib import Path; from gdb.storage.disk.scratch_folder import ScratchFolder\n"
HOLDS += "s = ScratchFolder(Path(sys.argv[1])); print(s.path, flush=True); sys.stdin.read()"


def holder(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a scratch folder, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_goes_with_all_it_holds(tmp_path: Path) -> None:
    with ScratchFolder(tmp_path) as scratch:
        (scratch.path / "deep").mkdir()
        (scratch.path / "deep" / "file").write_bytes(b"x")
        assert scratch.path.parent == tmp_path
        assert scratch.path.stat().st_mode & 0o777 == 0o700
    assert not os.listdir(tmp_path)


def test_folders_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path) -> None:
    dead, first = holder(tmp_path)
    alive, second = holder(tmp_path)
    (first / "large").write_bytes(b"x" * 1000)
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    try:
        with ScratchFolder(tmp_path) as own, ScratchFolder(tmp_path) as other:
            assert (own.left, other.left) == (1, 0)
            assert {p.name for p in tmp_path.iterdir()} == {
                second.name,
                own.path.name,
                other.path.name,
            }
    finally:
        alive.communicate("")
    assert not os.listdir(tmp_path)


def test_what_is_no_folder_of_ours_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    store = tmp_path / "store"
    store.mkdir()
    (store / "gdb-scratch-0123456789abcdef").symlink_to(outside)
    (store / "gdb-scratch-file").write_text("x")
    (store / "other").mkdir()
    with ScratchFolder(store) as scratch:
        assert not scratch.left
    assert (outside / "precious").exists()
    assert len(os.listdir(store)) == 3


def test_a_folder_whose_lock_was_not_made_yet_is_not_taken(tmp_path: Path) -> None:
    # one that removes a folder holds its lock: who makes one meanwhile takes another name
    theirs = tmp_path / "gdb-scratch-00"
    theirs.mkdir()
    with (theirs / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with ScratchFolder(tmp_path) as scratch:
            assert not scratch.left
            assert theirs.exists()


LOADS = """
import os, signal, sys, gdb
db = gdb.connect(sys.argv[1])
def stop(at):
    if at.step.startswith("reading") and at.part > 0.2:
        os.kill(os.getpid(), signal.SIGKILL)
db.load(edges=sys.argv[2], missing_ends="create", memory="16MB", progress=stop)
"""


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "e.csv"
    rows = "".join(f"{k % 1777},{k % 1333},{k / 8}\n" for k in range(200_000))
    path.write_text(":START_ID,:END_ID,w:double\n" + rows)
    return path


def test_a_killed_load_is_told_and_begun_again(tmp_path: Path, edges: Path) -> None:
    folder = tmp_path / "store"
    with gdb.connect(folder) as db:
        db.execute("CREATE (:Old)")
    killed = subprocess.run([sys.executable, "-c", LOADS, str(folder), str(edges)], check=False)
    assert killed.returncode == -signal.SIGKILL
    left = [name for name in os.listdir(folder) if name.startswith("gdb-scratch-")]
    assert len(left) == 1
    with gdb.connect(folder) as db:
        assert db.stats().edges == 0
        assert db.stats().vertices == 1
        db.check()
        report = db.load(edges=edges, missing_ends="create")
        assert report.edges == 200_000
        assert any("an earlier load ended before it was done" in w for w in report.warnings)
        db.check()
        again = db.load(edges=edges, missing_ends="create")
        assert not any("earlier load" in w for w in again.warnings)
    assert not [name for name in os.listdir(folder) if name.startswith("gdb-scratch-")]


def test_duckdb_lays_down_in_the_folder_of_the_store(tmp_path: Path, edges: Path) -> None:
    folder, seen = tmp_path / "store", set[str]()

    def look(at: LoadProgress) -> None:
        seen.update(str(p.relative_to(folder)) for p in folder.glob("gdb-scratch-*/duckdb/*"))

    with gdb.connect(folder) as db:
        text = tmp_path / "wide.csv"
        rows = "".join(f"{k},{k:0100d}\n" for k in range(400_000))
        text.write_text("id:ID,name\n" + rows)
        db.load(nodes=text, memory="16MB", progress=look)
    assert seen
    assert not list(folder.glob("gdb-scratch-*"))


def test_what_progress_raises_ends_the_import(tmp_path: Path, edges: Path) -> None:
    class Enough(Exception):
        pass

    def enough(at: LoadProgress) -> None:
        raise Enough

    with gdb.connect(tmp_path / "store") as db:
        with pytest.raises(Enough):
            db.load(edges=edges, missing_ends="create", progress=enough)
        assert db.stats().edges == 0
    assert not list((tmp_path / "store").glob("gdb-scratch-*"))

"""What a parent lays down and holds, when a child that has it too ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

import gdb
from gdb.errors import DeviceError
from gdb.executor import choose_device
from gdb.executor.gpu import device, memory
from gdb.storage.disk.files import PosixFiles
from gdb.storage.disk.new_folder import new_folder
from gdb.storage.disk.scratch_folder import ScratchFolder
from tests.fork.children import LONGEST, answer
from tests.fork.jobs import PEOPLE, ask, filled, write, written

# A parent with everything open forks children that end in three ways.
PROGRAM = """
import gc, os, sys
from pathlib import Path
import gdb
from gdb.executor.relational.relational import Session
from gdb.storage.disk.files import PosixFiles
from gdb.storage.disk.scratch_folder import ScratchFolder
from tests.fork.children import fork, watch_over
from tests.fork.jobs import ask, filled, write, written

folder = Path(sys.argv[1])
db = filled(folder / "people.gdb")
ask(db)
scratch = ScratchFolder(folder)
(scratch.path / "spilled").write_text("much")
loose = db._store.files.scratch()
at = loose.append(b"1234")
stream = db.stream("MATCH (a:Person)-->(b), (c:Person)-->(d) RETURN a.age, d.age")
session = Session(None, None, None)
held = db.snapshot()
tx = db.transaction()
tx.__enter__()
tx.add_nodes("Parent", [1], id_space="Parent")
watch_over(100)
for way in ("exit", "_exit", "forget"):
    if not (pid := fork()):
        watch_over(60)
        ask(db)
        if way == "forget":
            del db, tx, stream, scratch, loose, held
            gc.collect()
        if way == "_exit":
            os._exit(0)
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0, (way, status)
assert (scratch.path / "spilled").read_text() == "much"
import numpy as np
out = np.zeros(4, np.uint8)
loose.read(at, out)
assert out.tobytes() == b"1234"
scratch.close()
assert not scratch.path.exists()
assert next(iter(stream))
stream.close()
tx.__exit__(None, None, None)
assert written(db, "Parent") == 1
db.check()
print("well")
"""


def test_a_child_that_ends_takes_nothing_with_it(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=4 * LONGEST,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (ended.returncode, ended.stdout) == (0, "well\n"), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


WORK: dict[str, Callable[[gdb.Database, Path], object]] = {
    "import": lambda db, folder: db.load(folder / "more.txt", type="MORE"),
    "compaction": lambda db, _: db.compact(),
    "backup": lambda db, folder: db.backup(folder / "copy.gdb"),
    "export": lambda db, folder: db.export(folder / "tables"),
}


@pytest.mark.parametrize("work", WORK)
def test_a_fork_in_the_middle_of_another_threads_work(
    work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "more.txt").write_text("1\t2\n2\t3\n")
    inside, go = threading.Event(), threading.Event()
    create = PosixFiles.create

    def paused(files: PosixFiles, name: str) -> object:
        inside.set()
        go.wait()
        return create(files, name)

    def child() -> int:
        go.set()
        ask(db)
        if work in ("backup", "export"):
            write(db, "Child", [1], 1)
        db.close()
        return 1

    with filled(tmp_path / "people.gdb") as db:
        write(db, "Before", [1])
        ask(db)
        monkeypatch.setattr(PosixFiles, "create", paused)
        errors: list[BaseException] = []

        def begin() -> None:
            try:
                WORK[work](db, tmp_path)
            except BaseException as error:
                errors.append(error)
            inside.set()

        thread = threading.Thread(target=begin)
        thread.start()
        inside.wait()
        assert not errors
        try:
            assert answer(child) == 1
        finally:
            go.set()
            thread.join()
        monkeypatch.undo()
        assert not errors
        ask(db)
        write(db, "After", [1], 1)
        db.check()
        match work:
            case "import":
                found = db.execute("MATCH ()-[r:MORE]->() RETURN count(*)").scalar()
                assert found == 2
            case "compaction":
                assert db.execute("MATCH (a) RETURN count(*)").scalar() == PEOPLE + 2
            case "backup":
                with gdb.connect(tmp_path / "copy.gdb") as copy:
                    assert (written(copy, "Before"), written(copy, "Child")) == (1, 0)
            case "export":
                assert (tmp_path / "tables" / "gdb-export.json").exists()
        assert not list(tmp_path.glob("**/*partial*"))


def test_a_child_that_leaves_the_block_does_not_remove_the_folder(tmp_path: Path) -> None:
    block = new_folder(tmp_path / "whole")
    block.__enter__().create("part").close()
    error = ValueError("the child's own")
    assert answer(lambda: block.__exit__(ValueError, error, None)) is False
    assert list(tmp_path.glob("whole.partial-*/part"))
    block.__exit__(None, None, None)
    assert (tmp_path / "whole" / "part").exists()


def test_a_scratch_folder_is_the_parents(tmp_path: Path) -> None:
    folder = ScratchFolder(tmp_path)

    def child() -> int:
        folder.close()
        return ScratchFolder(tmp_path).left  # whether the parent's is taken for a dead one's

    assert answer(child) == 0
    assert folder.path.exists()
    folder.close()
    assert not folder.path.exists()


# ---- GPUs ------------------------------------------------------------------------------------------------


def test_cuda_of_the_parent_is_refused_in_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose_device, "BEGIN", 0.0)  # every query is worth starting a GPU

    def child() -> tuple[str, str]:
        with pytest.raises(DeviceError, match="spawn") as refused:
            db.execute("MATCH (a)-->(b) RETURN count(*)", device="cuda")
        found = db.execute("MATCH (a)-->(b) RETURN count(*)")
        assert found.scalar() == PEOPLE - 1
        return str(refused.value), db.explain("MATCH (a)-->(b) RETURN count(*)")

    with filled(tmp_path / "people.gdb") as db:
        monkeypatch.setattr(device._driver, "begun", True)
        refused, explained = cast(tuple[str, str], answer(child))
        assert "forked from" in refused
        assert "forked from" in explained
        assert not device._driver.lost


def test_a_child_frees_nothing_on_the_device() -> None:
    kept, idle = memory.Kept(), list[object]()
    kept.keep(idle, thing := _Freed())
    locked = memory.LockedBlocks()
    locked._waiting[4096] = [_Freed()]

    def child() -> list[int]:
        before = _Freed.freed
        idle.clear()
        kept.forget()
        locked._waiting.clear()
        return [before, _Freed.freed]

    del thing
    assert answer(child) == [0, 0]
    idle.clear()
    assert _Freed.freed == 1


class _Freed:
    """Counts how many are freed in this process."""

    freed = 0

    def __del__(self) -> None:
        _Freed.freed += 1

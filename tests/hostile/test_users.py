"""Other users of this machine: stores of theirs, folders that they may write to, temporary files that they guess."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb.base.once import PerProcess
from gdb.errors import CorruptStore
from gdb.executor.relational import relational
from gdb.repl import shell
from gdb.storage.disk import scratch_folder
from gdb.storage.disk.new_folder import new_folder
from tests.hostile.users import NOBODY, STRANGER, as_root, everybodys_folder, give, ran


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that all users can enter."""
    with everybodys_folder() as folder:
        yield folder


def filled(path: Path) -> Path:
    with gdb.connect(path) as db:
        db.execute("CREATE (:A {name: 'a'})-[:R]->(:A {name: 'b'})")
        db.compact()
    return path


# ---- stores -----------------------------------------------------------------------------------------

# Runs the work once with all rights, in memory, so that all that it imports is there; and imports what a query does
# that takes long over rows, to go on over columns.
AS_OTHER = """
import os, sys
import duckdb, sqlglot
import gdb
from gdb.errors import GdbError
from tests.hostile.users import drop

def work(path, *, write):
    with gdb.connect(path, read_only=not write) as db:
        if write:
            db.execute("CREATE (:A {name: 'c'})-[:R]->(:A {name: 'd'})")
        print("names", db.execute("MATCH (a:A) RETURN a.name AS n ORDER BY n").fetchall())

work(None, write=True)
drop(int(sys.argv[1]))
for path in sys.argv[2:]:
    for write in (False, True):
        try:
            work(path, write=write)
        except GdbError as error:
            print(os.path.basename(path), type(error).__name__, error)
"""


@as_root
def test_a_store_of_another_user_is_read_and_not_written(place: Path) -> None:
    store, secret = filled(place / "store"), filled(place / "secret")
    (secret / "MANIFEST").chmod(0o600)
    before = {path.name: path.read_bytes() for path in store.iterdir()}
    told = ran(AS_OTHER, NOBODY, store, secret)
    assert told.count("names [('a',), ('b',)]") == 1
    assert told.count("store StorePermissionError") == 1
    assert told.count("secret StorePermissionError") == 2
    assert {path.name: path.read_bytes() for path in store.iterdir()} == before


@as_root
def test_a_store_that_a_stranger_filled_with_links(place: Path) -> None:
    # root's own file, and a user who may write to the folder of a store that root writes to
    store, secret = filled(place / "store"), place / "secret"
    secret.write_text("precious")
    secret.chmod(0o600)
    give(store, STRANGER, 0o777)
    (store / "writer.lock").unlink(missing_ok=True)
    (store / "writer.lock").symlink_to(secret)
    give(store / "writer.lock", STRANGER)
    with gdb.connect(store) as db, pytest.raises(CorruptStore, match=r"writer\.lock is a symbolic"):
        db.execute("CREATE (:B)")
    (segment, *_) = store.glob("seg-*")
    segment.unlink()
    segment.symlink_to(secret)
    give(segment, STRANGER)
    with (
        pytest.raises(CorruptStore, match="is a symbolic link"),
        gdb.connect(store, read_only=True) as db,
    ):
        db.backup(place / "copy")
    assert not (place / "copy").exists()
    assert secret.read_text() == "precious"


# ---- temporary files --------------------------------------------------------------------------------


def spilled(temporary: Path) -> list[Path]:
    """The folders for DuckDB that a query makes in the system's folder for temporary files, while it holds them."""
    program = """
import duckdb, os, sqlglot.generators.duckdb, gdb  # where both are loaded, a small aggregate goes to DuckDB
with gdb.connect() as db:
    db.execute("UNWIND range(1, 10) AS k CREATE (:A {k: k})")
    print(db.execute("MATCH (a:A) RETURN a.k % 3 AS g, sum(a.k) ORDER BY g", memory="64MB").fetchall())
    for folder, folders, files in os.walk(os.environ["TMPDIR"]):
        print("mode", oct(os.stat(folder).st_mode & 0o777), folder)
"""
    told = ran(program, TMPDIR=str(temporary))
    assert "[(0, 18), (1, 22), (2, 15)]" in told
    lines = [line.split() for line in told.splitlines() if line.startswith("mode")]
    assert {mode for _, mode, folder in lines if folder != str(temporary)} == {"0o700"}
    return [Path(folder) for _, _, folder in lines if folder != str(temporary)]


def test_what_duckdb_spills_lies_where_nobody_else_can_look(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        folders = spilled(tmp_path)
    finally:
        os.umask(mask)
    assert folders
    assert not os.listdir(tmp_path)  # they went with the process


def test_duckdb_is_given_a_folder_in_that_of_the_process() -> None:
    own = scratch_folder.of_process()
    assert own is not None
    assert own == scratch_folder.of_process()
    with relational._open({}) as connection:
        (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchone() or ()
    assert Path(folder).parent == own
    assert not os.path.lexists(folder)


def test_a_query_where_there_is_no_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_folder, "_own", PerProcess(scratch_folder._make_scratch))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    assert scratch_folder.of_process() is None
    with gdb.connect() as db:
        assert db.execute("RETURN sum(1)", memory="64MB").scalar() == 1


def test_a_forked_child_leaves_the_folders_of_its_parent(tmp_path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from gdb.storage.disk import scratch_folder
held = scratch_folder.ScratchFolder(Path(sys.argv[1]))
mine = scratch_folder.of_process()
child = os.fork()
if not child:
    other = scratch_folder.of_process()
    assert other != mine
    held.close()
    sys.exit()  # and what is registered for the end of the process
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("there", held.path.exists(), mine.exists(), len(list(mine.parent.iterdir())))
held.close()
"""
    (tmp_path / "temporary").mkdir()
    told = ran(program, tmp_path, TMPDIR=str(tmp_path / "temporary"))
    assert "there True True 1" in told  # the child's own is gone
    assert os.listdir(tmp_path) == ["temporary"]
    assert not os.listdir(tmp_path / "temporary")


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_name_that_a_stranger_has_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("gdb.base.digests.token_hex", lambda count: "0" * 2 * count)
    partial, outside = tmp_path / "copy.partial-00000000", tmp_path / "outside"
    outside.mkdir()
    partial.mkdir() if kind == "folder" else partial.symlink_to(outside)
    with pytest.raises(gdb.errors.StoreError), new_folder(tmp_path / "copy"):
        pass
    assert not os.listdir(outside)
    assert not (tmp_path / "copy").exists()


# ---- the shell's history ----------------------------------------------------------------------------


@pytest.fixture
def history(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(place))
    return place / "gdb" / "history"


def kept(history: Path) -> bool:
    """Whether statements are kept in the file."""
    made = shell._history()
    return getattr(made, "filename", None) == str(history)


def test_the_history_is_no_link(history: Path, place: Path) -> None:
    assert kept(history)
    (place / "victim").write_text("precious")
    (place / "victim").chmod(0o644)
    history.unlink()
    history.symlink_to(place / "victim")
    assert not kept(history)
    history.unlink()
    os.link(place / "victim", history)
    assert not kept(history)
    assert (place / "victim").read_text() == "precious"
    assert stat.S_IMODE((place / "victim").stat().st_mode) == 0o644


@as_root
@pytest.mark.parametrize("which", ["place", "gdb", "history"])
def test_a_history_that_is_anothers(
    history: Path, place: Path, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert kept(history)
    give({"place": place, "gdb": place / "gdb", "history": history}[which], NOBODY)
    assert not kept(history)
    assert "The history of statements is not kept" in caplog.text


# ---- the compiler of kernels for GPUs -----------------------------------------------------------------


def test_the_compiler_imports_nothing_from_the_folder_where_the_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdb.executor.gpu import compiler

    (tmp_path / "cupy_backends").mkdir()
    (tmp_path / "cupy_backends" / "__init__.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compiler, "TRIES", 1)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(gdb.errors.DeviceError):
        compiler.compile_source("no CUDA at all", "sm_00")
    assert not (tmp_path / "ran").exists()

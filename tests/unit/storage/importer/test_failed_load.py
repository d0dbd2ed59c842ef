"""An import that fails leaves nothing behind, also not the store that was made for it."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

import gdb
from gdb.errors import GdbError, ImportFailed, NameProblem
from gdb.repl.main import main
from gdb.storage.disk.files import PosixFiles


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.csv"
    path.write_text("id,x\n1,2\n1,3\n", encoding="utf-8")
    return path


def fail(store: Path, bad: Path) -> None:
    with pytest.raises(ImportFailed), gdb.connect(store) as db:
        db.load(nodes={"P": bad})


def test_a_new_store_goes_with_the_folders_that_were_made(tmp_path: Path, bad: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    fail(tmp_path / "a" / "b" / "s.gdb", bad)
    assert sorted(tmp_path.rglob("*")) == before


def test_also_where_an_option_is_wrong_or_the_load_is_a_query(tmp_path: Path, bad: Path) -> None:
    store = tmp_path / "s.gdb"
    with pytest.raises(NameProblem), gdb.connect(store) as db:
        db.load(nodes={"P": bad}, on_duplicate="replace")  # type: ignore[arg-type]
    assert not store.exists()
    with pytest.raises(GdbError), gdb.connect(store) as db:
        db.execute(f"COPY (:P) FROM '{bad}'")
    assert not store.exists()


def test_a_second_try_simply_works(tmp_path: Path, bad: Path) -> None:
    store = tmp_path / "s.gdb"
    with gdb.connect(store) as db:
        with pytest.raises(ImportFailed):
            db.load(nodes={"P": bad})
        assert store.exists()
        db.load(nodes={"P": bad}, on_duplicate="skip")
    with gdb.connect(store, create=False) as db:
        assert db.stats().vertices == 1


def test_a_folder_that_was_there_stays_empty(tmp_path: Path, bad: Path) -> None:
    store = tmp_path / "s.gdb"
    store.mkdir()
    fail(store, bad)
    assert list(store.iterdir()) == []


def test_a_store_that_was_there_stays(tmp_path: Path, bad: Path) -> None:
    store = tmp_path / "s.gdb"
    gdb.connect(store).close()
    fail(store, bad)
    with gdb.connect(store, create=False) as db:
        assert db.stats().vertices == 0


def test_what_was_stored_before_or_after_stays(tmp_path: Path, bad: Path) -> None:
    for number, early in enumerate((True, False)):
        store = tmp_path / f"{number}.gdb"
        with gdb.connect(store) as db:
            if early:
                db.execute("CREATE (:A)")
            with pytest.raises(ImportFailed):
                db.load(nodes={"P": bad})
            if not early:
                db.execute("CREATE (:A)")
        with gdb.connect(store, create=False) as db:
            assert db.stats().vertices == 1


def test_a_successful_load_of_nothing_keeps_the_store(tmp_path: Path, bad: Path) -> None:
    with gdb.connect() as empty:
        empty.export(tmp_path / "export")
    with gdb.connect(tmp_path / "s.gdb") as db:
        with pytest.raises(ImportFailed):
            db.load(nodes={"P": bad})
        db.load(tmp_path / "export")
    gdb.connect(tmp_path / "s.gdb", create=False).close()


def test_other_files_in_the_folder_keep_it(tmp_path: Path, bad: Path) -> None:
    store = tmp_path / "s.gdb"
    with gdb.connect(store) as db:
        (store / "notes.txt").write_text("mine", encoding="utf-8")
        with pytest.raises(ImportFailed):
            db.load(nodes={"P": bad})
    assert (store / "notes.txt").read_text(encoding="utf-8") == "mine"
    gdb.connect(store, create=False).close()


def commit(store: Path) -> None:
    with gdb.connect(store) as db:
        db.execute("CREATE (:A)")


def test_what_another_process_stored_stays(tmp_path: Path, bad: Path) -> None:
    store = tmp_path / "s.gdb"
    with gdb.connect(store) as db:
        other = multiprocessing.get_context("spawn").Process(target=commit, args=(store,))
        other.start()
        other.join()
        assert other.exitcode == 0
        with pytest.raises(ImportFailed):
            db.load(nodes={"P": bad})
    with gdb.connect(store, create=False) as db:
        assert db.stats().vertices == 1


def test_the_lock_of_a_store_that_is_gone_locks_nothing(
    tmp_path: Path, bad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening the file of the lock and locking it, the store is removed."""
    import fcntl

    store = tmp_path / "s.gdb"
    with gdb.connect(store):
        files, flock = PosixFiles(store), fcntl.flock

        def late(fd: int, how: int) -> None:
            for path in store.iterdir():
                path.unlink()
            store.rmdir()
            flock(fd, how)

        monkeypatch.setattr(fcntl, "flock", late)
        with pytest.raises(GdbError, match="is gone"):
            files.lock_writer()
        monkeypatch.setattr(fcntl, "flock", flock)


def test_gdbsh_load_leaves_nothing(
    tmp_path: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "s.gdb"
    assert main(["load", str(store), "--nodes", f"P={bad}"]) == 1
    assert not store.exists()
    words = ["load", str(store), "--nodes", f"P={bad}", "--on-duplicate", "skip"]
    assert main(words) == 0
    assert "added 1 nodes" in capsys.readouterr().out

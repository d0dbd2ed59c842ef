"""A link, a pipe, a folder in every place of a store, for every kind of work: nothing outside of the store is read,
changed or made, nothing waits, and what cannot be done is an error that names the file."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gdb
from gdb.errors import CorruptStore, GdbError, InternalError, StoreLocked
from gdb.storage.disk.file_names import SEGMENT_NAME

QUERY = "MATCH (a:A)-[:R]->(b:A) RETURN id(a) AS a, id(b) AS b ORDER BY a"
RIGHT = [(k, k + 1) for k in range(9)]
PLACES = ("MANIFEST", "first segment", "last segment", "writer.lock", "readers.lock")
UNNAMED = ("stray segment", "temporary manifest", "scratch file", "scratch folder")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a base of several segments, a delta, both locks."""
    path = tmp_path_factory.mktemp("made") / "store"
    with gdb.connect(path) as db:
        with db.transaction() as tx:
            tx.add_nodes("A", range(10), {"name": [f"n{k}" for k in range(10)]})
            tx.add_relationships("R", range(8), range(1, 9))
        db.compact()
        db.execute("MATCH (a {name: 'n8'}), (b {name: 'n9'}) CREATE (a)-[:R]->(b)")
    (path / "readers.lock").touch()
    return path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it; what waits is ended."""
    shutil.copytree(made, tmp_path / "store")
    signal.alarm(60)
    yield tmp_path / "store"
    signal.alarm(0)


def place(store: Path, name: str) -> Path:
    segments = sorted(path for path in store.iterdir() if SEGMENT_NAME.fullmatch(path.name))
    found = {
        "first segment": segments[0].name,
        "last segment": segments[-1].name,
        "stray segment": "seg-00000009-0000-0123abcd.gdb",
        "temporary manifest": "manifest-00000009-0123abcd.tmp",
        "scratch file": f"scratch-{'0' * 16}.tmp",
        "scratch folder": f"gdb-scratch-{'0' * 16}",
    }
    return store / found.get(name, name)


def link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def moved(path: Path, victim: Path) -> None:
    """A link to the very file that belongs there."""
    if path.exists():
        path.rename(victim)
    path.symlink_to(victim)


def unix_socket(path: Path, victim: Path) -> None:
    with (
        socket.socket(socket.AF_UNIX) as made,
        contextlib.chdir(path.parent),
    ):  # its name may be short only
        made.bind(path.name)


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "link": link,
    "dangling": lambda path, victim: path.symlink_to(victim.with_name("absent")),
    "moved": moved,
    "circle": lambda path, victim: path.symlink_to(path),
    "pipe": lambda path, victim: os.mkfifo(path),
    "folder": lambda path, victim: path.mkdir(),
    "socket": unix_socket,
}
WORK: dict[str, Callable[[gdb.Database, Path], object]] = {
    "read": lambda db, out: db.execute(QUERY).fetchall(),
    "check": lambda db, out: db.check(),
    "backup": lambda db, out: db.backup(out),
    "export": lambda db, out: db.export(out),
    "write": lambda db, out: [db.execute("CREATE (:B {k: 1})") for _ in range(3)],
    "compact": lambda db, out: db.compact(),
    "load": lambda db, out: db.load(nodes={"C": out.with_name("c.csv")}),
}


def put(store: Path, name: str, kind: str) -> tuple[Path, Path]:
    """Something that is no file in a place of a store, and the victim that it may lead to."""
    path, victim = place(store, name), store.parent / "victim"
    victim.write_text("precious")
    if kind != "moved":
        path.unlink(missing_ok=True)
    KINDS[kind](path, victim)
    return path, victim


def outcome(store: Path, name: str) -> str:
    """ "right", or the error of ours."""
    out = store.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    (store.parent / "c.csv").write_text("id:ID(c)\n1\n")
    try:
        with gdb.connect(store, read_only=name in ("read", "check", "backup", "export")) as db:
            WORK[name](db, out)
            assert db.execute(QUERY).fetchall() == RIGHT
    except InternalError:
        raise
    except GdbError as error:
        return str(error)
    return "right"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            (name, kind)
            for name in PLACES
            for kind in ("link", "dangling", "moved", "pipe", "folder")
        ),
        *((name, kind) for name in UNNAMED for kind in ("link", "pipe")),
    ],
)
def test_nothing_outside_is_touched(
    store: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store)
    path, victim = put(store, name, kind)
    before, seen = victim.read_bytes(), sorted(os.listdir(store.parent))
    for work in WORK:
        told = outcome(store, work)
        assert told == "right" or path.name in told, work
        if name in UNNAMED or (name.endswith(".lock") and work in ("read", "check", "backup")):
            assert told == "right", work
        if name == "MANIFEST" or (name == "first segment" and work == "check"):
            assert told != "right", work
        assert victim.read_bytes() == before
        assert not victim.with_name("absent").exists()
    assert set(os.listdir(store.parent)) <= {*seen, "out", "c.csv"}
    if kind in ("link", "dangling", "moved") and name in PLACES:
        assert path.is_symlink()


@pytest.mark.parametrize("name", ["MANIFEST", "first segment", "last segment"])
def test_a_link_is_refused_wherever_it_leads(store: Path, name: str) -> None:
    path, _ = put(store, name, "moved")
    with (
        pytest.raises(CorruptStore, match="is a symbolic link, not a file") as caught,
        gdb.connect(store, read_only=True) as db,
    ):
        db.check()
    assert "Copy the file that it leads to into its place" in caught.value.cure
    (fault,) = caught.value.faults
    assert fault.file == path.name
    target = path.readlink()
    path.unlink()
    shutil.copy(target, path)
    with gdb.connect(store) as db:
        assert db.execute(QUERY).fetchall() == RIGHT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["writer.lock", "readers.lock"])
def test_a_lock_that_is_no_file(store: Path, name: str, kind: str) -> None:
    path, victim = put(store, name, kind)
    before = victim.read_bytes()
    if name == "writer.lock":
        with gdb.connect(store) as db, pytest.raises(CorruptStore, match=r"writer\.lock is a"):
            db.execute("CREATE (:B)")
    assert victim.read_bytes() == before
    path.rmdir() if kind == "folder" else path.unlink()
    with gdb.connect(store) as db:
        db.execute("CREATE (:B)")


def test_the_folder_itself_may_be_a_link(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store)
    with gdb.connect(tmp_path / "link") as db:
        db.execute("CREATE (:B)")
        assert db.execute(QUERY).fetchall() == RIGHT
        db.compact()


# ---- hard links -------------------------------------------------------------------------------------


def test_a_lock_with_a_second_name_is_not_written_to(store: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious letters")
    (store / "writer.lock").unlink()
    os.link(victim, store / "writer.lock")
    with gdb.connect(store) as db, gdb.connect(store) as other:
        db.execute("CREATE (:B)")
        with db.transaction() as tx:
            tx.add_nodes("B", [77])
            with pytest.raises(StoreLocked, match=r"^Another process is writing"):
                other.execute("CREATE (:B)")
    assert victim.read_text() == "precious letters"


def linked_copy(store: Path, copy: Path) -> dict[str, bytes]:
    """A copy by hard links, as `cp -al` makes it, and what its files hold."""
    shutil.copytree(store, copy, copy_function=os.link)
    return {path.name: path.read_bytes() for path in copy.iterdir() if path.is_file()}


@pytest.mark.parametrize("commits", [1, 2, 5])
def test_a_copy_by_hard_links_does_not_change_with_the_store(
    store: Path, tmp_path: Path, commits: int
) -> None:
    copy = tmp_path / "copy"
    with gdb.connect(store) as db:
        for k in range(commits):
            db.execute(f"CREATE (:B {{k: {k}}})")
        held = linked_copy(store, copy)
        for k in range(3):
            db.execute(f"CREATE (:B {{k: {k}}})")
        db.compact()
    for name, content in held.items():
        if not name.endswith(".lock"):
            assert (copy / name).read_bytes() == content, name
    counted = "MATCH (b:B) RETURN count(*)"
    with gdb.connect(copy) as old, gdb.connect(store) as new:
        assert old.execute(counted).scalar() == commits
        assert new.execute(counted).scalar() == commits + 3
        old.check()
        old.execute("CREATE (:B)")
        assert new.execute(counted).scalar() == commits + 3


def test_the_journal_goes_on_after_a_copy_by_hard_links(store: Path, tmp_path: Path) -> None:
    with gdb.connect(store) as db:
        inodes = list[int]()
        for k in range(6):
            db.execute(f"CREATE (:B {{k: {k}}})")
            if k == 2:
                linked_copy(store, tmp_path / "copy")
            inodes.append((store / "MANIFEST").stat().st_ino)
    assert inodes[1] == inodes[2] != inodes[3] == inodes[4] == inodes[5]

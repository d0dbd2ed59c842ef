"""What is told of a write that was cancelled is true: Ctrl-C, interrupt, close and timeout at every stage of it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gdb
from gdb import by_rows, options, request, transaction
from gdb.api import Database
from gdb.errors import Cancelled, GdbError, QueryTimeout, StoreError
from gdb.queries import Queries
from gdb.repl.main import main
from gdb.storage import commit as committing
from gdb.storage import files, importer
from gdb.storage.store import Store

CREATE = "UNWIND range(1, 100) AS i CREATE (n:N) RETURN count(*)"
Press = Callable[[Database], None]


@pytest.fixture(params=["manifest", "journal", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A graph whose next commit is a manifest or a record, on a disk or not."""
    with gdb.connect(None if request.param == "memory" else tmp_path / "s.gdb") as made:
        for _ in range(3 if request.param == "journal" else 1):
            made.execute("CREATE (:M)")
        yield made


# ---- ways to cancel ------------------------------------------------------------------------------


def wait_for(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not found():
        assert time.monotonic() < end
        time.sleep(0.001)


def ctrl_c(db: Database) -> None:
    running = list(db._work._running)
    assert running
    os.kill(os.getpid(), signal.SIGINT)
    wait_for(lambda: all(cancel.is_set() for cancel in running))


def interrupt(db: Database) -> None:
    thread = threading.Thread(target=db.interrupt)
    thread.start()
    thread.join()


def close(db: Database) -> None:
    threading.Thread(target=db.close).start()
    running = list(db._work._running)
    wait_for(lambda: all(cancel.is_set() for cancel in running))


class Late:
    """A clock that jumps over every deadline."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        now = SimpleNamespace(monotonic=lambda: time.monotonic() + self.ahead)
        monkeypatch.setattr(request, "time", now)

    def __call__(self, _: Database) -> None:
        self.ahead += 1e6


# ---- stages of a write ---------------------------------------------------------------------------

Stage = Callable[[pytest.MonkeyPatch, Database, Press], None]


def wrapped(
    owner: object, name: str, before: bool
) -> Callable[[pytest.MonkeyPatch, Database, Press], None]:
    """A stage before or after some function has run; pressed once."""

    def patched(patch: pytest.MonkeyPatch, db: Database, press: Press) -> None:
        original, pressed = getattr(owner, name), list[bool]()

        def once() -> None:
            if not pressed:
                pressed.append(True)
                press(db)

        def call(*given: Any, **named: Any) -> Any:
            if before:
                once()
            found = original(*given, **named)
            if not before and found is not None:
                once()
            return found

        patch.setattr(owner, name, call)

    return patched


def both(name: str, before: bool) -> Stage:
    """The write of a manifest or of a record, whichever comes."""

    def patched(patch: pytest.MonkeyPatch, db: Database, press: Press) -> None:
        wrapped(Store, "append", before)(patch, db, press)
        wrapped(Store, "commit", before)(patch, db, press)

    patched.__name__ = name
    return patched


EARLY: dict[str, Stage] = {
    "before the rows": wrapped(by_rows, "_ran", True),
    "behind the rows": wrapped(by_rows, "_ran", False),
    "behind the cells": wrapped(by_rows, "_given", False),
}
LATE: dict[str, Stage] = {
    "the commit begins": wrapped(Queries, "_commit", True),
    "before the switch": both("before", True),
    "behind the switch": both("behind", False),
    "behind the commit": wrapped(committing, "commit", False),
    "the result is made": wrapped(by_rows, "Summary", True),
}
early = pytest.mark.parametrize("stage", EARLY.values(), ids=EARLY)
late = pytest.mark.parametrize("stage", LATE.values(), ids=LATE)


def ask(db: Database) -> int:
    found = db.execute(CREATE, timeout=1000).scalar()
    assert isinstance(found, int)
    return found


def ask_streamed(db: Database) -> int:
    with db.stream(CREATE, timeout=1000) as rows:
        ((found,),) = rows
    assert isinstance(found, int)
    return found


ways = pytest.mark.parametrize("way", [ask, ask_streamed])


def nodes(db: Database) -> int:
    return db.stats().vertices


@ways
@early
def test_cancelled_before_the_commit_is_not_committed(
    db: Database, monkeypatch: pytest.MonkeyPatch, stage: Stage, way: Callable[[Database], int]
) -> None:
    had = nodes(db)
    for press in (ctrl_c, interrupt):
        with monkeypatch.context() as patch:
            stage(patch, db, press)
            with pytest.raises(Cancelled, match=r"^the query was cancelled\.$") as raised:
                way(db)
        assert not raised.value.committed
        assert nodes(db) == had
    with monkeypatch.context() as patch:
        stage(patch, db, Late(patch))
        with pytest.raises(QueryTimeout):
            way(db)
    assert nodes(db) == had
    assert way(db) == 100  # it can be run again
    assert nodes(db) == had + 100


@ways
@late
def test_ctrl_c_that_is_late_says_what_is_committed(
    db: Database, monkeypatch: pytest.MonkeyPatch, stage: Stage, way: Callable[[Database], int]
) -> None:
    had = nodes(db)
    with monkeypatch.context() as patch:
        stage(patch, db, ctrl_c)
        with pytest.raises(
            Cancelled, match=r"too late: its changes are committed\. Do not"
        ) as raised:
            way(db)
    assert raised.value.committed
    assert nodes(db) == had + 100
    assert way(db) == 100
    db.check()


@ways
@late
def test_who_else_is_late_is_too_late(
    db: Database, monkeypatch: pytest.MonkeyPatch, stage: Stage, way: Callable[[Database], int]
) -> None:
    had = nodes(db)
    for makes in (lambda _: interrupt, Late):
        with monkeypatch.context() as patch:
            stage(patch, db, makes(patch))
            assert way(db) == 100
    assert nodes(db) == had + 200


@late
def test_close_waits_for_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage
) -> None:
    db = gdb.connect(tmp_path / "s.gdb")
    with monkeypatch.context() as patch:
        stage(patch, db, close)
        assert ask(db) == 100
    db.close()
    with gdb.connect(tmp_path / "s.gdb") as again:
        assert nodes(again) == 100


def test_a_statement_that_changed_nothing_has_committed_nothing(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    LATE["behind the commit"](monkeypatch, db, ctrl_c)
    with pytest.raises(Cancelled) as raised:
        db.execute("MATCH (n:Nobody) SET n.x = 1")
    assert not raised.value.committed


def test_what_a_query_gives_is_made_before_its_commit(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it fails for a value that nobody can be given, and is committed all the same."""
    had = nodes(db)
    monkeypatch.setattr(by_rows, "_given", lambda _: 1 // 0)
    with pytest.raises(GdbError, match="ZeroDivisionError"):
        ask(db)
    assert nodes(db) == had


# ---- transactions --------------------------------------------------------------------------------


def change(db: Database, ids: Sequence[int], then: Callable[[], None] = lambda: None) -> None:
    with db.transaction() as tx:
        tx.add_nodes("P", list(ids), id_space="p")
        then()


ENDS = {name: LATE[name] for name in list(LATE)[:4]}


@pytest.mark.parametrize("stage", ENDS.values(), ids=ENDS)
def test_ctrl_c_waits_for_the_commit_of_a_transaction(
    db: Database, monkeypatch: pytest.MonkeyPatch, stage: Stage
) -> None:
    had = nodes(db)
    with monkeypatch.context() as patch:
        told = "^the transaction was cancelled too late: its changes are committed. Do not run it"
        stage(patch, db, lambda _: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt, match=told):
            change(db, range(3))
    assert nodes(db) == had + 3
    with monkeypatch.context() as patch:
        stage(patch, db, interrupt)
        change(db, [3])
    assert nodes(db) == had + 4


def test_ctrl_c_in_a_transaction_drops_it(db: Database) -> None:
    had = nodes(db)
    with pytest.raises(KeyboardInterrupt) as raised:
        change(db, [1], lambda: signal.raise_signal(signal.SIGINT))
    assert not str(raised.value)
    assert nodes(db) == had
    ask(db)  # nobody writes


def test_ctrl_c_just_before_the_end_of_a_transaction(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit has not begun, and the next one can."""
    real, had = transaction.run_interruptibly, nodes(db)

    def first(*_: object) -> None:
        monkeypatch.setattr(transaction, "run_interruptibly", real)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        change(db, [1], lambda: monkeypatch.setattr(transaction, "run_interruptibly", first))
    assert nodes(db) == had
    ask(db)


@pytest.mark.parametrize("name", ["behind the cells", "the result is made"])
def test_a_query_of_a_transaction_that_was_cancelled_has_changed_nothing(
    db: Database, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    had = nodes(db)
    with db.transaction() as tx:
        tx.execute("CREATE (:Q)")
        with monkeypatch.context() as patch:
            (EARLY | LATE)[name](patch, db, ctrl_c)
            with pytest.raises(Cancelled) as raised:
                tx.execute(CREATE)
        assert not raised.value.committed
    assert nodes(db) == had + 1


# ---- imports and compaction ----------------------------------------------------------------------


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.txt"
    path.write_text("1 2\n2 3\n")
    return path


def loaded(db: Database, edges: Path) -> object:
    return db.load(edges, type="E")


def copied(db: Database, edges: Path) -> object:
    return db.execute(f"COPY FROM '{edges}' OPTIONS {{type: 'E'}}")


def copied_streamed(db: Database, edges: Path) -> object:
    return list(db.stream(f"COPY FROM '{edges}' OPTIONS {{type: 'E'}}"))


@pytest.mark.parametrize("way", [loaded, copied, copied_streamed])
def test_a_late_ctrl_c_does_not_deny_an_import(
    db: Database,
    monkeypatch: pytest.MonkeyPatch,
    edges: Path,
    way: Callable[[Database, Path], object],
) -> None:
    stage = wrapped(importer, "write_spools", False)
    with monkeypatch.context() as patch:
        stage(patch, db, ctrl_c)
        with pytest.raises(Cancelled, match="too late") as raised:
            way(db, edges)
    assert raised.value.committed
    assert db.stats().edges == 2


def test_a_late_ctrl_c_does_not_deny_a_compaction(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = wrapped(committing, "rewrite", False)
    stage(monkeypatch, db, ctrl_c)
    with pytest.raises(
        Cancelled, match="the compaction was cancelled too late: it is done"
    ) as told:
        db.compact()
    assert told.value.committed
    assert db.stats().changes == 0


# ---- a commit that compacts ----------------------------------------------------------------------


@pytest.fixture
def grown(db: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A graph that a hundred changes make too large for its delta."""
    monkeypatch.setattr(committing, "MOST_CHANGES", 50)
    return db


@pytest.fixture
def rewrites(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The budgets of the compactions that were begun."""
    found, real = list[int | None](), committing.rewrite

    def rewrite(store: Any, view: Any, progress: Any, budget: int | None, *packed: Any) -> Any:
        found.extend([budget] * (not packed))  # compact() says how it packs
        return real(store, view, progress, budget, *packed)

    monkeypatch.setattr(committing, "rewrite", rewrite)
    return found


def test_it_has_the_memory_of_an_import(grown: Database, rewrites: list[int | None]) -> None:
    ask(grown)
    change(grown, range(100))
    assert grown.stats().changes == 0
    assert rewrites == [options.import_memory(None)] * 2


def stopped(patch: pytest.MonkeyPatch, db: Database, press: Press) -> None:
    wrapped(committing, "rewrite", True)(patch, db, press)


def test_one_that_is_stopped_commits_a_delta(
    grown: Database, rewrites: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    had = nodes(grown)
    for done, makes in enumerate((lambda _: interrupt, Late), 1):
        grown.compact()
        with monkeypatch.context() as patch:
            stopped(patch, grown, makes(patch))
            assert ask(grown) == 100
        assert (nodes(grown), grown.stats().changes) == (had + 100 * done, 100)
    grown.compact()
    with monkeypatch.context() as patch:
        stopped(patch, grown, ctrl_c)
        with pytest.raises(Cancelled, match="too late") as raised:
            ask(grown)
    assert raised.value.committed
    assert (nodes(grown), grown.stats().changes) == (had + 300, 100)
    grown.compact()
    with monkeypatch.context() as patch:
        stopped(patch, grown, lambda _: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt, match="committed"):
            change(grown, range(100))
    assert (nodes(grown), grown.stats().changes) == (had + 400, 100)
    grown.check()


def test_one_that_was_stopped_is_not_tried_at_once(
    grown: Database, rewrites: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopped(patch, grown, interrupt)
        ask(grown)
    assert len(rewrites) == 1
    small = grown.stats().changes
    while 2 * small > grown.stats().changes > 0:
        assert len(rewrites) == 1
        grown.execute("UNWIND range(1, 60) AS i CREATE (:N)")
    assert len(rewrites) == 2
    assert grown.stats().changes == 0 < small
    ask(grown)  # from now on as before
    assert len(rewrites) == 3


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_leaves_the_delta_and_a_broken_one_is_told(
    tmp_path: Path,
    rewrites: list[int | None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: int,
) -> None:
    monkeypatch.setattr(committing, "MOST_CHANGES", 50)
    path, fails, real = tmp_path / "s.gdb", list[bool](), files.os.write

    def write(fd: int, data: bytes) -> int:
        if fails:
            raise OSError(code, os.strerror(code))
        return real(fd, data)

    full = committing.rewrite

    def rewrite(*given: Any) -> Any:
        fails.append(True)
        try:
            return full(*given)
        finally:
            fails.clear()

    with gdb.connect(path) as db:
        monkeypatch.setattr(files.os, "write", write)
        monkeypatch.setattr(committing, "rewrite", rewrite)
        if code == errno.EIO:
            with pytest.raises(StoreError, match="Input/output error"):
                ask(db)
        else:
            assert ask(db) == 100
            assert "there is no room to write the graph anew" in caplog.text
        assert (nodes(db), db.stats().changes) == ((100, 100) if code == errno.ENOSPC else (0, 0))
        db.check()
    assert len(rewrites) == 1
    with gdb.connect(path) as db:
        db.check()


# ---- the shell -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "told", "kept"),
    [
        (EARLY["behind the cells"], "cancelled\n", 0),
        (
            LATE["behind the switch"],
            "cancelled: the query was cancelled too late: its changes are committed."
            " Do not run it again.\n",
            100,
        ),
    ],
)
def test_the_command_tells_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stage: Stage,
    told: str,
    kept: int,
) -> None:
    opened, connect = list[Database](), gdb.connect

    def noted(*given: Any, **named: Any) -> Database:
        opened.append(connect(*given, **named))
        return opened[-1]

    connect(tmp_path / "s.gdb").close()
    with monkeypatch.context() as patch:
        patch.setattr(gdb, "connect", noted)
        stage(patch, opened, lambda _: ctrl_c(opened[0]))  # type: ignore[arg-type]
        assert main([str(tmp_path / "s.gdb"), "-c", CREATE]) == 130
    assert capsys.readouterr().err == told
    with connect(tmp_path / "s.gdb") as db:
        assert nodes(db) == kept


# ---- at any moment -------------------------------------------------------------------------------

STRESS = """
import os, random, signal, sys, threading, time
import gdb

db = gdb.connect(sys.argv[1])
db.execute("CREATE (:N)")
draw = random.Random(7)
lies, said, late = [], 0, 0
for k in range(30):
    before, told = db.stats().vertices, None
    pause = draw.uniform(0, 0.006)

    def press():
        time.sleep(pause)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    try:
        try:
            thread.start()
            if k % 3:
                db.execute("UNWIND range(1, 50) AS i CREATE (:Y)")
            else:
                with db.transaction() as tx:
                    tx.add_nodes("Z", list(range(50 * k, 50 * k + 50)))
            told = True
        except gdb.errors.Cancelled as error:
            told = error.committed
        except KeyboardInterrupt as error:
            told = True if "committed" in str(error) else None
        while thread.is_alive():
            thread.join()
    except KeyboardInterrupt:
        pass
    thread.join()
    try:
        time.sleep(0)
        after = db.stats().vertices
    except KeyboardInterrupt:
        after = db.stats().vertices
    said, late = said + (told is not None), late + (told is True)
    if told is not None and after - before != 50 * told:
        lies.append((k, told, before, after))
db.check()
print(lies, said > 5)
"""


def test_it_is_true_at_any_moment(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STRESS, str(tmp_path / "s.gdb")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("[] True\n", "")

"""The report of a cancelled write is true: Ctrl-C, interrupt, close and timeout at every stage of it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.api import transaction
from gdb.api.database import Database
from gdb.errors import Cancelled, GdbError, QueryTimeout
from gdb.repl.main import main
from gdb.repl.session import Session
from gdb.run import columns_or_rows
from gdb.run.interrupt import run_interruptibly
from gdb.storage import importer
from gdb.storage.format import manifest
from gdb.storage.write import compaction
from gdb.storage.write.store import Store
from gdb.storage.write.sweep import Sweeper
from tests.support.cancellations import (
    CREATE,
    EARLY,
    LATE,
    Late,
    Stage,
    ask,
    ask_streamed,
    change,
    close,
    ctrl_c,
    interrupt,
    nodes,
    wrapped,
)

ways = pytest.mark.parametrize("way", [ask, ask_streamed])
early = pytest.mark.parametrize("stage", EARLY.values(), ids=EARLY)
late = pytest.mark.parametrize("stage", LATE.values(), ids=LATE)


@pytest.fixture(params=["manifest", "journal", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A graph whose next commit is a manifest or a record, on a disk or not."""
    with gdb.connect(None if request.param == "memory" else tmp_path / "s.gdb") as made:
        for _ in range(3 if request.param == "journal" else 1):
            made.execute("CREATE (:M)")
        yield made


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
    """Else it fails for a value that cannot be returned, and is committed all the same."""
    had = nodes(db)
    monkeypatch.setattr(columns_or_rows, "user_rows", lambda _: 1 // 0)
    with pytest.raises(GdbError, match="ZeroDivisionError"):
        ask(db)
    assert nodes(db) == had


# ---- transactions --------------------------------------------------------------------------------

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
    ask(db)  # no process writes


def test_ctrl_c_just_before_the_end_of_a_transaction(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit has not begun, and the next one can."""
    real, had = run_interruptibly, nodes(db)

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


def timed(db: Database, edges: Path) -> object:
    text = f"COPY FROM '{edges}' OPTIONS {{type: 'E'}}"
    return db.execute(text, timeout=1000).summary.effects


def timed_elsewhere(db: Database, edges: Path) -> object:
    """In another thread than the main one, where the import runs in the thread of its query."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(timed, db, edges).result()


@pytest.mark.parametrize("way", [timed, timed_elsewhere])
@pytest.mark.parametrize("name", ["_keep", "write_spools"])
def test_a_timeout_stops_an_import_before_its_commit(
    db: Database,
    monkeypatch: pytest.MonkeyPatch,
    edges: Path,
    name: str,
    way: Callable[[Database, Path], object],
) -> None:
    with monkeypatch.context() as patch:
        wrapped(importer, name, True)(patch, db, Late(patch))
        with pytest.raises(QueryTimeout, match="its timeout of 1000 s"):
            way(db, edges)
    assert db.stats().edges == 0
    assert way(db, edges)


@pytest.mark.parametrize("way", [timed, timed_elsewhere])
@pytest.mark.parametrize(
    "stage",
    [
        wrapped(manifest, "commit", True, look=True),
        wrapped(Store, "commit", False),
        wrapped(Sweeper, "after_writing", True, look=True),
    ],
)
def test_a_timeout_during_the_commit_of_an_import_is_too_late(
    db: Database,
    monkeypatch: pytest.MonkeyPatch,
    edges: Path,
    stage: Stage,
    way: Callable[[Database, Path], object],
) -> None:
    with monkeypatch.context() as patch:
        stage(patch, db, Late(patch))
        assert way(db, edges)
    assert db.stats().edges == 2


def test_a_late_ctrl_c_does_not_deny_a_compaction(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = wrapped(compaction, "rewrite", False)
    stage(monkeypatch, db, ctrl_c)
    with pytest.raises(
        Cancelled, match="the compaction was cancelled too late: it is done"
    ) as told:
        db.compact()
    assert told.value.committed
    assert db.stats().changes == 0


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


def test_the_command_tells_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gdb.connect(tmp_path / "s.gdb").close()
    asked, stream = list[str](), Database.stream

    def streamed(db: Database, text: str, *parameters: Any) -> Any:
        asked.append(text)
        if len(asked) == 2:
            EARLY["before the rows"](monkeypatch, db, ctrl_c)
        return stream(db, text, *parameters)

    monkeypatch.setattr(Database, "stream", streamed)
    assert main([str(tmp_path / "s.gdb"), "-c", f"CREATE (:N);\n{CREATE};\nCREATE (:N)"]) == 130
    assert capsys.readouterr().err == "(in the statement at line 2; stopped there)\ncancelled\n"
    with gdb.connect(tmp_path / "s.gdb") as db:
        assert nodes(db) == 1


class Interrupted(StringIO):
    """A terminal on which Ctrl-C comes while a row is printed."""

    def write(self, text: str) -> int:
        raise KeyboardInterrupt


@pytest.mark.parametrize("query", [CREATE, "MATCH (n) RETURN n"])
def test_ctrl_c_among_the_rows_says_what_is_committed(db: Database, query: str) -> None:
    had = nodes(db)
    with pytest.raises(Cancelled) as raised:
        Session(db, Interrupted(), StringIO()).query(query)
    assert raised.value.committed == (query == CREATE)
    assert (nodes(db) > had) == (query == CREATE)


# ---- at any moment -------------------------------------------------------------------------------

STRESS = """
import os, random, signal, sys, threading, time
import gdb

armed = False


def pressed(number, frame):
    if armed:
        raise KeyboardInterrupt


signal.signal(signal.SIGINT, pressed)
db = gdb.connect(sys.argv[1])
db.execute("CREATE (:N)")
draw, lies, said = random.Random(7), [], 0
for k in range(30):
    before, told, pause = db.stats().vertices, None, draw.uniform(0, 0.006)

    def press():
        time.sleep(pause)
        os.kill(os.getpid(), signal.SIGINT)

    thread, tx = threading.Thread(target=press), db.transaction()
    thread.start()
    try:
        armed = True
        if k % 3:
            db.execute("UNWIND range(1, 50) AS i CREATE (:Y)")
        else:
            with tx:
                tx.add_nodes("Z", list(range(50 * k, 50 * k + 50)), id_space="z")
        armed = False
        told = True
    except gdb.errors.Cancelled as error:
        armed = False
        told = error.committed
    except KeyboardInterrupt as error:
        armed = False
        told = True if "committed" in str(error) else None
    thread.join()
    if db._store.writes_here:  # Python struck between the block and the first step of __exit__
        tx.rollback()
    after = db.stats().vertices
    said += told is not None
    if told is not None and after - before != 50 * told:
        lies.append((k, told, before, after))
db.check()
print(lies, said > 5)
"""


def test_it_is_true_at_any_moment(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STRESS, str(tmp_path / "s.gdb")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.stderr, done.stdout) == ("", "[] True\n")

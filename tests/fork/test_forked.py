"""A Database, its snapshots, streams and transactions in a forked child."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

import gdb
from gdb.api.transaction import Transaction
from gdb.base.waiting import TurnLock
from gdb.errors import Cancelled, ClosedError, StoreLocked
from gdb.executor.relational import lookup, relational
from gdb.executor.relational.relational import Session
from gdb.storage.disk.files import PosixFiles
from tests.fork.children import answer, begin
from tests.fork.jobs import PEOPLE, ask, filled, write, written


@pytest.fixture(params=["disk", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[gdb.Database]:
    with filled(tmp_path / "people.gdb" if request.param == "disk" else None) as db:
        yield db


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[gdb.Database]:
    with filled(tmp_path / "people.gdb") as db:
        yield db


@contextmanager
def elsewhere(enter: Callable[[ExitStack], object]) -> Iterator[None]:
    """Have another thread enter something, and leave it when the block ends."""
    inside, leave = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def hold() -> None:
        try:
            with ExitStack() as stack:
                enter(stack)
                inside.set()
                leave.wait()
        except BaseException as error:
            errors.append(error)
        finally:
            inside.set()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        inside.wait()
        yield
    finally:
        leave.set()
        thread.join()
        assert not errors


# ---- queries -----------------------------------------------------------------------------------------


def test_a_child_asks_what_its_parent_has_asked(db: gdb.Database) -> None:
    ask(db)
    for _ in range(3):
        answer(lambda: ask(db))
    ask(db)


def test_a_child_of_a_child_asks(db: gdb.Database) -> None:
    ask(db)

    def both() -> None:
        ask(db)
        answer(lambda: ask(db))

    answer(both)


def test_a_child_asks_while_its_parent_uses_duckdb(db: gdb.Database) -> None:
    ask(db)
    with Session(None, None, None):
        answer(lambda: ask(db))
        assert relational._shared._database is not None


def test_an_idle_duckdb_is_closed_before_a_fork(db: gdb.Database) -> None:
    with Session(
        None, None, None
    ):  # that few rows need no DuckDB depends on what the process ran before
        ask(db)
    assert relational._shared._database is not None
    answer(lambda: None)
    assert relational._shared._database is None
    ask(db)


@contextmanager
def turn(lock: TurnLock) -> Iterator[None]:
    taken = lock.take()
    yield
    lock.release(taken)


LOCKS: dict[str, Callable[[gdb.Database], object]] = {
    "the store's": lambda db: db._store._lock,
    "the writing thread's": lambda db: turn(db._store._writing),
    "of what runs": lambda db: db._work._guard,
    "of kept statements": lambda db: db._statements._lock,
    "the snapshot's": lambda db: db._snapshot()._lock,
    "of the segments": lambda db: db._snapshot()._segments._lock,
    "of all columns by vid": lambda _: lookup._wholes._lock,
    "of a snapshot's columns by vid": lambda db: lookup._wholes.of(db._snapshot()).lock,
}


@pytest.mark.parametrize("which", LOCKS)
def test_a_lock_that_another_thread_has_is_free_in_the_child(db: gdb.Database, which: str) -> None:
    ask(db)
    lock = LOCKS[which](db)

    def work() -> int:
        ask(db)
        write(db, "Child", [1], 1)
        return written(db, "Child")

    with elsewhere(lambda stack: stack.enter_context(lock)):  # type: ignore[arg-type]
        assert answer(work) == 1
    ask(db)


def test_what_was_planned_is_kept_in_the_child(db: gdb.Database) -> None:
    ask(db)
    kept = len(db._statements)
    assert kept
    assert answer(lambda: len(db._statements)) == kept


def test_results_and_held_snapshots_are_read_in_the_child(db: gdb.Database) -> None:
    result = db.execute("MATCH (a:Person) RETURN a, a.age AS age ORDER BY age")
    with db.snapshot() as then:
        write(db, "Later", [1])

        def work() -> object:
            assert then.execute("MATCH (a) RETURN count(*)").scalar() == PEOPLE
            assert db.execute("MATCH (a) RETURN count(*)").scalar() == PEOPLE + 1
            write(db, "Child", [1])
            assert then.execute("MATCH (a) RETURN count(*)").scalar() == PEOPLE
            return [age for _, age in result]

        assert answer(work) == list(range(PEOPLE))


def test_closing_in_the_child_does_not_wait_for_the_parents_queries(db: gdb.Database) -> None:
    def run(stack: ExitStack) -> None:
        stack.enter_context(db._store._lock)  # as a query that takes its snapshot
        db._work._running[threading.Event()] = threading.current_thread()
        stack.callback(db._work._running.clear)

    def close() -> bool:
        db.close()
        return db.closed

    with elsewhere(run):
        assert answer(close) is True
    ask(db)


# ---- streams -----------------------------------------------------------------------------------------


def test_a_stream_of_the_parent_is_refused_in_the_child(db: gdb.Database) -> None:
    stream = db.stream("MATCH (a:Person)-->(b), (c:Person)-->(d) RETURN a.age, d.age")

    def work() -> str:
        with pytest.raises(ClosedError, match="parent process") as refused:
            list(stream)
        stream.close()
        return str(refused.value)

    with elsewhere(lambda stack: stack.enter_context(stream._pipe._state)):
        assert "db.stream" in str(answer(work))
    assert next(iter(stream)) is not None
    stream.close()


# ---- transactions --------------------------------------------------------------------------------------


def test_a_transaction_of_the_parent_is_refused_in_the_child(db: gdb.Database) -> None:
    def work(tx: Transaction) -> int:
        for use in (
            lambda: tx.add_nodes("Child", [1], id_space="Child"),
            lambda: tx.execute("MATCH (a) RETURN count(*)"),
            tx.rollback,
            lambda: tx.__exit__(None, None, None),
        ):
            with pytest.raises(ClosedError, match="begun in the parent process"):
                use()
        tx.__exit__(ValueError, ValueError("the block ends badly"), None)
        return written(db, "Parent")

    with db.transaction() as tx:
        tx.add_nodes("Parent", [1], id_space="Parent")
        assert answer(lambda: work(tx)) == 0
        tx.add_nodes("Parent", [2], id_space="Parent")
    assert written(db, "Parent") == 2
    write(db, "Parent", [3])
    db.check()


def test_a_child_leaves_the_block_of_its_parents_transaction(stored: gdb.Database) -> None:
    def leave() -> None:
        with stored.transaction() as tx:
            tx.add_nodes("Parent", [1], id_space="Parent")
            child = begin(lambda: _raised(lambda: tx.__exit__(None, None, None)))
            assert child.answer() == "ClosedError"
            assert (
                begin(lambda: _raised(lambda: write(other, "Child", [1], 1))).answer()
                == "StoreLocked"
            )

    with gdb.connect(stored.path) as other:
        leave()
        assert answer(lambda: write(other, "Child", [1])) is None
        assert (written(other, "Parent"), written(other, "Child")) == (1, 1)


def _raised(work: Callable[[], object]) -> str:
    try:
        work()
    except Exception as error:
        return type(error).__name__
    return ""


def test_a_child_holds_no_lock_of_its_parents_transaction(stored: gdb.Database) -> None:
    """The child lives on; the lock is of the open file, which it had at the fork."""
    waiting, go = os.pipe()
    with stored.transaction() as tx:
        tx.add_nodes("Parent", [1], id_space="Parent")
        child = begin(lambda: len(os.read(waiting, 1)))
    write(stored, "Parent", [2], 1)
    with gdb.connect(stored.path) as other:
        write(other, "Parent", [3], 1)
    os.write(go, b".")
    assert child.answer() == 1


def test_the_lock_is_given_up_for_a_child_that_goes_past_python(stored: gdb.Database) -> None:
    """Where nothing closes the lock's file in the child, as in the moment after its opening: who locked it unlocks."""
    files = stored._store.files
    assert isinstance(files, PosixFiles)
    waiting, go = os.pipe()
    files.lock_writer()
    assert files._writer_lock._held
    inherited = os.dup(files._writer_lock._file)
    child = begin(lambda: len(os.read(waiting, 1)))
    os.close(inherited)
    files.unlock_writer()
    write(stored, "Parent", [1], 1)
    os.write(go, b".")
    assert child.answer() == 1


def test_another_threads_transaction_keeps_the_child_out_on_disk(stored: gdb.Database) -> None:
    def begun(stack: ExitStack) -> None:
        tx = stack.enter_context(stored.transaction())
        tx.add_nodes("Parent", [1], id_space="Parent")

    def refused() -> str:
        with pytest.raises(StoreLocked) as error:
            write(stored, "Child", [1], 1)
        return str(error.value)

    with elsewhere(begun):
        assert str(os.getpid()) in str(answer(refused))
    answer(lambda: write(stored, "Child", [1], 1))
    assert (written(stored, "Parent"), written(stored, "Child")) == (1, 1)


def test_parent_and_child_write_in_turns(stored: gdb.Database) -> None:
    write(
        stored, "Parent", [-2, -1]
    )  # from here on, commits are records of a journal that the parent began
    assert stored._store._own
    for turn in range(4):
        answer(partial(write, stored, "Child", [2 * turn, 2 * turn + 1], 1))
        write(stored, "Parent", [2 * turn, 2 * turn + 1], 1)
    assert (written(stored, "Parent"), written(stored, "Child")) == (10, 8)
    stored.check()


def test_parent_and_children_write_at_once(stored: gdb.Database) -> None:
    write(stored, "Parent", [-2, -1])
    labels = ["One", "Two"]
    children = [begin(lambda label=label: write(stored, label, list(range(8)))) for label in labels]  # type: ignore[misc]
    write(stored, "Parent", list(range(8)))
    for child in children:
        child.answer()
    assert [written(stored, label) for label in ["Parent", *labels]] == [10, 8, 8]
    stored.check()


def test_each_has_its_own_graph_in_memory() -> None:
    with filled(None) as db:
        with db.transaction() as tx:
            tx.add_nodes("Parent", [1], id_space="Parent")
            assert answer(lambda: (write(db, "Child", [1]), written(db, "Child"))[1]) == 1
        assert (written(db, "Parent"), written(db, "Child")) == (1, 0)
        db.check()


# ---- Ctrl-C --------------------------------------------------------------------------------------------

ENDLESS = "MATCH (a), (b), (c), (d), (e), (f) WHERE a.age + b.age + c.age + d.age + e.age = -f.age RETURN count(*)"


def test_ctrl_c_ends_a_childs_query(db: gdb.Database) -> None:
    ask(db)

    def press() -> None:
        while not db._work._running:
            pass
        os.kill(os.getpid(), signal.SIGINT)

    def work() -> bool:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=press).start()
        with pytest.raises(Cancelled) as ended:
            db.execute(ENDLESS, device="cpu")
        ask(db)
        return ended.value.committed

    assert answer(work) is False


def test_ctrl_c_in_a_child_is_not_for_its_parents_query(db: gdb.Database) -> None:
    """Another thread forks while the main thread works, whose handler of SIGINT the child inherits."""
    found: list[object] = []

    def press() -> str:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return "raised"
        return "lost"

    def forks() -> Iterator[tuple[int]]:
        thread = threading.Thread(target=lambda: found.append(answer(press)))
        thread.start()
        thread.join()
        yield (1,)

    db.register_procedure("my.forks() :: (x :: INTEGER)", forks)
    db.execute("CALL my.forks() YIELD x RETURN x")
    assert found == ["raised"]

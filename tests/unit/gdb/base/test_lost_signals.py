"""A Ctrl-C that arrives as the main thread begins to wait is noticed at once, wherever the library waits.

CPython's C handler runs in the thread that the kernel picks; where that is not the main one, the main thread's wait
goes on as if nothing had come. So a thread that sends SIGINT to itself is the case that is lost, each time.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.answer.summary import Summary
from gdb.api.database import Database
from gdb.api.running_work import Work
from gdb.base import waiting
from gdb.base.waiting import Turn
from gdb.errors import Cancelled, QueryTimeout
from gdb.run.interrupt import Cancel, run_beside, run_interruptibly
from gdb.run.late_interrupt import Outcome
from gdb.run.stream import Begun, Pipe, Stream
from gdb.storage.disk import pins
from gdb.storage.write import build, compaction
from tests.support.cancellations import lost_ctrl_c, wait_for

Begin = Callable[[Callable[[], object]], None]
"""Begins to press Ctrl-C; gets what then ends the wait."""
Form = Callable[[Begin], Callable[[], None]]
SUMMARY = Summary({}, "", 0)


class Helper:
    """A thread that presses Ctrl-C while the main thread waits for it, and ends the wait when that was noticed."""

    def __init__(self, cancel: threading.Event, provide: Callable[[], object]) -> None:
        self.cancel, self.provide, self.noticed = cancel, provide, False
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            lost_ctrl_c()
            wait_for(self.cancel.is_set)
            self.noticed = True
        finally:
            self.provide()


def future(begin: Begin) -> Callable[[], None]:
    made: Future[None] = Future()
    begin(lambda: made.set_result(None))
    return lambda: waiting.result(made)


def ended(begin: Begin) -> Callable[[], None]:
    made: Future[None] = Future()
    begin(lambda: made.set_exception(ValueError()))
    return lambda: waiting.wait_for_future(made)


def condition(begin: Begin) -> Callable[[], None]:
    state, reached = threading.Condition(), list[bool]()

    def provide() -> None:
        with state:
            reached.append(True)
            state.notify_all()

    def wait() -> None:
        with state:
            begin(provide)
            waiting.until(state, lambda: reached)

    return wait


def event(begin: Begin) -> Callable[[], None]:
    done = threading.Event()
    begin(done.set)
    return lambda: wait_for(lambda: waiting.happens(done, time.monotonic() + 30))


def lock(begin: Begin) -> Callable[[], None]:
    held, taken = waiting.Lock(), threading.Event()
    released = threading.Event()

    def hold() -> None:
        with held:
            taken.set()
            released.wait(30)

    threading.Thread(target=hold).start()
    taken.wait(30)
    begin(released.set)

    def wait() -> None:
        with held:
            pass

    return wait


def slots(begin: Begin) -> Callable[[], None]:
    one = waiting.Slots(1)
    one.__enter__()
    begin(one.__exit__)
    return one.__enter__


def thread(begin: Begin) -> Callable[[], None]:
    released = threading.Event()
    made = threading.Thread(target=released.wait, args=(30,))
    made.start()
    begin(released.set)
    return lambda: waiting.join_thread(made)


def pool(begin: Begin) -> Callable[[], None]:
    released = threading.Event()

    def wait() -> None:
        with waiting.Pool(1) as made:
            made.submit(released.wait, 30)
            begin(released.set)

    return wait


def mapped(begin: Begin) -> Callable[[], None]:
    released = threading.Event()

    def wait() -> None:
        with waiting.Pool(1) as made:
            begin(released.set)
            assert list(made.map(lambda _: released.wait(30), [1])) == [True]

    return wait


def process(begin: Begin) -> Callable[[], None]:
    path = Path(tempfile.mkdtemp()) / "fifo"
    os.mkfifo(path)
    child = f"import sys; open({str(path)!r}).read(); print(sys.stdin.read())"
    begin(lambda: path.write_text("x"))

    def wait() -> None:
        made = waiting.run([sys.executable, "-c", child], b"given", 30)
        assert (made.returncode, made.stdout) == (0, b"given\n")

    return wait


def file_lock(begin: Begin) -> Callable[[], None]:
    path = Path(tempfile.mkdtemp()) / pins.READERS_LOCK
    other = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    begin(lambda: os.close(other))
    return lambda: pins.wait_for_sweeper(path.parent)


@pytest.mark.parametrize(
    "form",
    [future, ended, condition, event, lock, slots, thread, pool, mapped, process, file_lock],
)
def test_each_form_of_waiting_notices_it(
    form: Form,
) -> None:
    cancel, helpers = Cancel(), list[Helper]()
    begun = threading.Event()

    def begin(provide: Callable[[], object]) -> None:
        helpers.append(Helper(cancel, provide))
        if begun.is_set():
            helpers[0].thread.start()

    wait = form(begin)

    def work() -> None:
        begun.set()
        if helpers:
            helpers[0].thread.start()
        wait()

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work, cancel)
    helpers[0].thread.join()
    assert helpers[0].noticed


@pytest.mark.parametrize("form", [future, ended, condition, lock, slots, thread, pool, mapped])
def test_a_wait_ends_at_once(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the end of a step: what is waited for wakes it."""
    monkeypatch.setattr(waiting, "STEP", 1000.0)
    threads = list[threading.Thread]()

    def begin(provide: Callable[[], object]) -> None:
        threads.append(threading.Thread(target=provide))
        if form in (condition, pool, mapped):
            threads[0].start()

    wait = form(begin)
    if form not in (condition, pool, mapped):
        threads[0].start()
    wait()


# ---- where the library waits -----------------------------------------------------------------------


def test_work_beside() -> None:
    cancel = Cancel()

    def work() -> None:
        lost_ctrl_c()
        wait_for(cancel.is_set)

    with pytest.raises(KeyboardInterrupt):
        run_beside(work, cancel)


@pytest.mark.parametrize("begun", [False, True])
def test_a_reader_of_a_stream(begun: bool) -> None:
    def work(pipe: Pipe) -> Summary:
        if begun:
            pipe.begin(Begun([], ()))
        lost_ctrl_c()
        wait_for(pipe.cancel.is_set)
        raise Cancelled("seen.")

    cancel = Cancel()
    with pytest.raises(Cancelled):
        list(Stream(Pipe(cancel), work, Outcome()))


def test_who_closes_a_stream() -> None:
    released = threading.Event()

    def work(pipe: Pipe) -> Summary:
        pipe.begin(Begun([], ()))
        wait_for(pipe.cancel.is_set)
        lost_ctrl_c()
        released.wait(30)
        return SUMMARY

    stream = Stream(Pipe(Cancel()), work, Outcome())
    with pytest.raises(KeyboardInterrupt):
        stream.close()
    assert stream.summary is None  # it did not wait for the end
    released.set()


def test_who_closes_a_database() -> None:
    work, released, cancel = Work(), threading.Event(), Cancel()

    def run() -> None:
        wait_for(cancel.is_set)
        lost_ctrl_c()
        released.wait(30)

    thread = threading.Thread(target=lambda: work.do(run, cancel))
    thread.start()
    wait_for(lambda: bool(work._running))
    with pytest.raises(KeyboardInterrupt):
        work.close()
    assert work._running
    released.set()
    work.close()  # waits for the rest
    assert not work._running
    thread.join()


class Writer:
    """Another thread's transaction, which presses Ctrl-C when this one waits for it; a context manager."""

    def __init__(self, db: Database, press: Callable[[], None]) -> None:
        self.db, self.press = db, press
        self.writes, self.released = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with self.db.transaction():
            self.writes.set()
            self.press()
            self.released.wait(30)

    def __enter__(self) -> None:
        self.thread.start()
        self.writes.wait(30)

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self.thread.join()


@pytest.mark.parametrize("way", ["query", "load", "compact"])
def test_who_waits_for_another_writer(way: str, tmp_path: Path) -> None:
    path = tmp_path / "e.txt"
    path.write_text("1 2\n")
    db = gdb.connect()
    db.execute("CREATE (:N)")

    def press() -> None:
        wait_for(lambda: bool(db._work._running))
        lost_ctrl_c()

    ways = {
        "query": lambda: db.execute("CREATE (:M)"),
        "load": lambda: db.load(path, type="E"),
        "compact": db.compact,
    }
    with Writer(db, press), pytest.raises(Cancelled) as raised:
        ways[way]()
    assert not raised.value.committed
    assert (db.stats().vertices, db.stats().edges) == (1, 0)


def test_a_transaction_that_waits_for_another_one() -> None:
    db, waits = gdb.connect(), threading.Event()
    store = db._store
    take = store._writing.take

    def noted(*given: Callable[[], object]) -> Turn:
        if threading.current_thread() is threading.main_thread():
            waits.set()
        return take(*given)

    vars(store._writing)["take"] = noted

    def press() -> None:
        wait_for(waits.is_set)
        lost_ctrl_c()

    with Writer(db, press), pytest.raises(KeyboardInterrupt), db.transaction():
        pytest.fail("two write at once")
    with db.transaction() as tx:  # the lock is free
        tx.add_nodes("N", [1])
    assert db.stats().vertices == 1


def test_who_waits_for_another_writer_keeps_its_timeout() -> None:
    db = gdb.connect()
    with Writer(db, lambda: None), pytest.raises(QueryTimeout):
        db.execute("CREATE (:M)", timeout=0.1)


def test_a_query_that_a_procedure_asks_is_cancelled_too() -> None:
    db, found = gdb.connect(), list[type[BaseException]]()

    def asks() -> list[tuple[int]]:
        signal.raise_signal(signal.SIGINT)
        try:
            db.execute("MATCH (n) RETURN count(*)")
        except Cancelled as error:
            found.append(type(error))
            raise
        return [(1,)]

    db.register_procedure("t.asks() :: (x :: INTEGER)", asks)
    with pytest.raises(Cancelled):
        db.execute("CALL t.asks() YIELD x RETURN x")
    assert found == [Cancelled]
    assert db.execute("RETURN 1").scalar() == 1


def test_a_commit_that_writes_the_graph_anew_does_not_hold_up_ctrl_c(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It leaves Python for long, so the main thread waits; the writer's lock stays that of the transaction."""
    db, rewrite, where = gdb.connect(), build.rewrite, list[threading.Thread]()

    def noted(*given: Any) -> Any:
        where.append(threading.current_thread())
        return rewrite(*given)

    monkeypatch.setattr(compaction, "MOST_CHANGES", 10)
    monkeypatch.setattr(compaction, "rewrite", noted)
    with db.transaction() as tx:
        tx.add_nodes("N", list(range(100)))
    db.execute("UNWIND range(1, 100) AS i CREATE (:M)")
    assert len(where) == 2
    assert threading.main_thread() not in where
    assert db.stats().vertices == 200
    assert not db._store.writes_here
    with db.transaction() as tx:
        assert db._store.writes_here
        tx.add_nodes("N", [1000])
    db.check()

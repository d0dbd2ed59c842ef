"""Exceptions of the program's own signal handlers: they come out as they are, and leave nothing taken."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

import gdb
from gdb.api.running_work import Work, faults
from gdb.errors import InternalError
from gdb.run.interrupt import Cancel, held_back, raised_by_handler, run_interruptibly
from gdb.storage.write.store import Store
from tests.support.cancellations import wrapped


class SoftTimeLimit(Exception):
    """What a task queue raises in a task that takes too long."""


class HardLimit(BaseException):
    """One that no `except Exception` catches."""


ERRORS = pytest.mark.parametrize("error", [SoftTimeLimit, HardLimit, TimeoutError, ValueError])


@pytest.fixture
def handle() -> Iterator[Callable[[type[BaseException]], None]]:
    """Have SIGALRM raise an exception."""
    before = signal.getsignal(signal.SIGALRM)

    def use(error: type[BaseException]) -> None:
        def handler(number: int, frame: FrameType | None) -> None:
            raise error("of the program")

        signal.signal(signal.SIGALRM, handler)

    yield use
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def alarm(*_: object) -> None:
    signal.raise_signal(signal.SIGALRM)


@ERRORS
def test_it_comes_out_of_a_query_as_it_is(
    handle: Callable[[type[BaseException]], None], error: type[BaseException]
) -> None:
    db = gdb.connect()
    db.register_procedure("t.alarm() :: (x :: INTEGER)", lambda: [(alarm(),)])
    handle(error)
    ours = signal.getsignal(signal.SIGALRM)
    with pytest.raises(error, match="of the program") as raised:
        db.execute("CALL t.alarm() YIELD x CREATE (:N)")
    assert not isinstance(raised.value, gdb.GdbError)
    assert not hasattr(raised.value, "__notes__")
    assert signal.getsignal(signal.SIGALRM) is ours
    assert not db._work._running
    assert db.stats().vertices == 0


@ERRORS
def test_it_says_that_the_changes_are_committed(
    handle: Callable[[type[BaseException]], None],
    error: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    db = gdb.connect()
    handle(error)
    wrapped(Store, "commit", True)(monkeypatch, db, alarm)
    with pytest.raises(error) as raised:
        db.execute("CREATE (:N)")
    assert raised.value.__notes__ == [
        "gdb: its changes are committed all the same. Do not run it again."
    ]
    assert db.stats().vertices == 1


def test_a_transaction_says_it_too(
    handle: Callable[[type[BaseException]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = gdb.connect()
    handle(SoftTimeLimit)
    wrapped(Store, "commit", True)(monkeypatch, db, alarm)
    with pytest.raises(SoftTimeLimit) as raised, db.transaction() as tx:
        tx.add_nodes("N", [1])
    assert "committed" in raised.value.__notes__[0]
    assert db.stats().vertices == 1


def test_it_strikes_where_nothing_holds_it_back(
    handle: Callable[[type[BaseException]], None],
) -> None:
    """As in a look-up of a few microseconds, or a method of a transaction."""
    handle(SoftTimeLimit)
    with pytest.raises(SoftTimeLimit), faults():
        alarm()
    with pytest.raises(SoftTimeLimit):
        Work().at_once(alarm, 1, 2)
    with pytest.raises(SoftTimeLimit), faults():  # as around the beginning of a transaction
        run_interruptibly(alarm, Cancel())

    class Handler:
        def strike(self, *given: object) -> None:
            raise ValueError

    signal.signal(signal.SIGALRM, Handler().strike)
    with pytest.raises(ValueError), faults():
        alarm()


def test_a_fault_of_ours_is_none_of_a_handler() -> None:
    with pytest.raises(InternalError), faults():
        [][0]

    def called(frame: object) -> None:
        raise ValueError("of a callback")

    with pytest.raises(ValueError, match="of a callback") as raised:
        called(None)
    assert not raised_by_handler(raised.value)


def test_a_statement_of_a_transaction_that_it_strikes_has_changed_nothing(
    handle: Callable[[type[BaseException]], None],
) -> None:
    db = gdb.connect()
    db.register_procedure("t.alarm() :: (x :: INTEGER)", lambda: [(alarm(),)])
    handle(SoftTimeLimit)
    with db.transaction() as tx:
        tx.execute("CREATE (:N)")
        with pytest.raises(SoftTimeLimit):
            tx.execute("CALL t.alarm() YIELD x CREATE (:N)")
    assert db.stats().vertices == 1


@pytest.mark.parametrize("run", [run_interruptibly, held_back])
def test_nothing_is_left_running(
    handle: Callable[[type[BaseException]], None], run: Callable[..., object]
) -> None:
    """Else `close` waits for it forever. held_back : nothing holds the signal back."""
    work = Work()
    handle(SoftTimeLimit)
    ours, interrupted = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGINT)

    def some() -> None:
        for _ in range(300):
            work.do(lambda: None, Cancel(), run)

    struck = strikes(some)
    assert struck
    assert not work._running
    assert signal.getsignal(signal.SIGALRM) is ours
    assert signal.getsignal(signal.SIGINT) is interrupted
    assert work._here.cancel is None
    work.close()


def strikes(work: Callable[[], None]) -> int:
    """Have an alarm come at some moment of work, again and again; how often its exception came out. No garbage is
    collected meanwhile: Python drops what strikes in a callback of that."""
    struck = 0
    gc.disable()
    try:
        for k in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (50 + k % 100))
                work()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except SoftTimeLimit:
                struck += 1
    finally:
        gc.enable()
    return struck


def test_the_next_ctrl_c_is_noticed(handle: Callable[[type[BaseException]], None]) -> None:
    """The handlers of the program are back whenever the signal came."""
    handle(SoftTimeLimit)

    def some() -> None:
        for _ in range(300):
            run_interruptibly(lambda: None, Cancel())

    assert strikes(some)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_that_raises_nothing_stops_nothing(
    handle: Callable[[type[BaseException]], None],
) -> None:
    handle(SoftTimeLimit)
    seen = list[int]()
    signal.signal(signal.SIGALRM, lambda number, _: seen.append(number))
    db = gdb.connect()
    db.register_procedure("t.alarm() :: (x :: INTEGER?)", lambda: [(alarm(),)])
    db.execute("CALL t.alarm() YIELD x CREATE (:N)")
    assert seen == [signal.SIGALRM]
    assert db.stats().vertices == 1


def test_other_threads_leave_the_handlers_alone(
    handle: Callable[[type[BaseException]], None],
) -> None:
    handle(SoftTimeLimit)
    ours, seen = signal.getsignal(signal.SIGALRM), list[object]()
    thread = threading.Thread(
        target=lambda: run_interruptibly(
            lambda: seen.append(signal.getsignal(signal.SIGALRM)), Cancel()
        )
    )
    thread.start()
    thread.join()
    assert seen == [ours]

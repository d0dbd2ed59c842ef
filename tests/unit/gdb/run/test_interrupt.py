"""Ctrl-C during work stops the work first, then raises in the caller."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from gdb.api.running_work import Work
from gdb.errors import Cancelled
from gdb.run import interrupt
from gdb.run.interrupt import Cancel, run_beside, run_interruptibly
from gdb.run.progress import line, terminal_progress

Run = Callable[[Callable[[], object], threading.Event], object]


def press_ctrl_c(after: float) -> None:
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()


WAYS = pytest.mark.parametrize("run", [run_interruptibly, run_beside])


@WAYS
def test_work_gives_its_value_and_its_error(run: Run) -> None:
    assert run(lambda: 3, threading.Event()) == 3
    assert run(lambda: None, threading.Event()) is None
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0, threading.Event())


@WAYS
def test_ctrl_c_sets_the_event_and_waits_for_the_work(run: Run) -> None:
    cancel, stopped = threading.Event(), threading.Event()

    def work() -> None:
        while not cancel.is_set():
            time.sleep(0.01)
        time.sleep(0.1)
        stopped.set()
        raise Cancelled("stopped.")

    press_ctrl_c(0.1)
    with pytest.raises(Cancelled):
        run(work, cancel)
    assert stopped.is_set()


@WAYS
def test_ctrl_c_that_the_work_did_not_see_is_not_lost(run: Run) -> None:
    press_ctrl_c(0.1)
    with pytest.raises(KeyboardInterrupt):
        run(lambda: time.sleep(0.3), threading.Event())


@WAYS
def test_the_handler_of_the_program_comes_back_and_is_asked_meanwhile(run: Run) -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: told.append(number))
    try:
        ours = signal.getsignal(signal.SIGINT)
        cancel = threading.Event()
        press_ctrl_c(0.05)
        run(lambda: time.sleep(0.2), cancel)  # a handler that raises nothing stops nothing
        assert told == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is ours
        with pytest.raises(ZeroDivisionError):
            run(lambda: 1 // 0, cancel)
        assert signal.getsignal(signal.SIGINT) is ours
    finally:
        signal.signal(signal.SIGINT, before)


@WAYS
def test_what_a_handler_raises_is_told_when_the_work_has_stopped(run: Run) -> None:
    class Odd(Exception):
        pass

    def handler(_: int, __: object) -> None:
        raise Odd

    cancel, stopped = threading.Event(), threading.Event()

    def work() -> None:
        while not cancel.is_set():
            time.sleep(0.01)
        stopped.set()
        raise Cancelled("stopped.")

    before = signal.signal(signal.SIGINT, handler)
    try:
        press_ctrl_c(0.05)
        with pytest.raises(Odd):
            run(work, cancel)
        assert stopped.is_set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        press_ctrl_c(0.05)
        assert run_interruptibly(lambda: time.sleep(0.2), threading.Event()) is None
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


class Struck:
    """`_signal`, whose `signal` is struck by a Ctrl-C as it returns, in its n-th call."""

    SIGINT = signal.SIGINT

    def __init__(self, call: int, error: BaseException) -> None:
        self.calls, self.call, self.error = 0, call, error

    def getsignal(self, number: int) -> object:
        return signal.getsignal(number)

    def signal(self, number: int, handler: Any) -> None:
        signal.signal(number, handler)
        self.calls += 1
        if self.calls == self.call:
            raise self.error


@WAYS
def test_ctrl_c_as_the_handler_is_put_back_hides_no_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may be that of a commit whose end is unknown."""
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(interrupt, "_signal", Struck(2, KeyboardInterrupt()))
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0, threading.Event())
    monkeypatch.setattr(interrupt, "_signal", Struck(2, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run(lambda: 1, threading.Event())
    assert signal.getsignal(signal.SIGINT) is before


@WAYS
def test_what_the_handler_before_raises_is_not_taken_for_another_thread(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler raises ValueError for a signal that comes as ours is installed; `signal` raises it in other threads."""

    def handler() -> None:
        raise ValueError("of the handler")

    try:
        handler()
    except ValueError as error:
        monkeypatch.setattr(interrupt, "_signal", Struck(1, error))
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(ValueError, match="of the handler"):
            run(lambda: 1, threading.Event())
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_the_program_sets_meanwhile_stays() -> None:
    before, told = signal.getsignal(signal.SIGINT), list[int]()
    mine = lambda number, _: told.append(number)  # noqa: E731
    cancel = threading.Event()

    def work() -> None:
        signal.signal(signal.SIGINT, mine)

    try:
        run_interruptibly(work, cancel)
        assert signal.getsignal(signal.SIGINT) is mine
        signal.raise_signal(signal.SIGINT)
        assert told == [signal.SIGINT]
        assert not cancel.is_set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_our_handler_put_back_by_the_program_swallows_nothing() -> None:
    """As a `with` block does that begins inside the work and ends behind it."""
    found = list[Any]()
    before = signal.getsignal(signal.SIGINT)
    run_interruptibly(lambda: found.append(signal.getsignal(signal.SIGINT)), threading.Event())
    signal.signal(signal.SIGINT, found[0])
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_work_inside_of_work_stops_with_it() -> None:
    """A procedure queries its database, with an event of its own."""
    work, outer, inner = Work(), Cancel(), Cancel()

    def asks() -> bool:
        outer.set()
        return work.do(inner.is_set, inner)

    assert work.do(asks, outer)
    assert not Cancel().is_set()


def test_work_that_ends_soon_starts_no_thread() -> None:
    where = run_interruptibly(threading.current_thread, threading.Event())
    assert where is threading.main_thread()


def test_other_threads_do_their_own_work() -> None:
    where: list[str] = []
    thread = threading.Thread(
        target=lambda: run_interruptibly(
            lambda: where.append(threading.current_thread().name), threading.Event()
        ),
        name="mine",
    )
    thread.start()
    thread.join()
    assert where == ["mine"]


class Terminal:
    def __init__(self, tty: bool) -> None:
        self.tty, self.text = tty, ""

    def isatty(self) -> bool:
        return self.tty

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def test_progress_is_shown_on_a_terminal_only() -> None:
    pipe = Terminal(False)
    with terminal_progress(pipe) as progress:  # type: ignore[arg-type]
        assert progress is None
    assert pipe.text == ""


def test_the_bar_comes_late_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(True)
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with terminal_progress(terminal) as progress:  # type: ignore[arg-type]
        assert progress is not None
        progress("reading", 0.1)
        assert terminal.text == ""
        clock[0] += 1
        progress("reading", 0.5)
        assert "reading" in terminal.text
        assert " 50 %" in terminal.text
    assert terminal.text.endswith("\r")
    assert terminal.text.rpartition("0:01")[2].strip("\r ") == ""


def test_the_bar_fits_the_terminal_and_takes_any_number() -> None:
    assert len(line("a very long name of a step indeed", 7.0, 3600, 40)) == 40
    assert "100 %" in line("reading", 7.0, 0, 80)
    assert "  0 %" in line("reading", -1.0, 0, 80)


def test_work_inside_of_work_leaves_it_to_be_interrupted() -> None:
    """COPY is a query that imports: both have one event."""
    work, cancel = Work(), threading.Event()

    def outer() -> bool:
        work.do(lambda: None, cancel)
        work.interrupt()
        return cancel.is_set()

    assert work.do(outer, cancel)

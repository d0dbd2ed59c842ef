"""Waits that a Ctrl-C can reach: each form of waiting that the library has, in steps of at most `STEP` seconds.

CPython looks for signals between two bytecodes, then waits inside C. A signal whose C handler ran after that look and
before the wait began does not end the wait: it is noticed when the wait ends, which may be never. So nothing here or
elsewhere in the library waits without a bound (tests/unit/gdb/base/test_waits.py compares the source). A wait still
ends at once when what it waits for happens, for each step waits on the same primitive.
"""

from __future__ import annotations

import _thread
import fcntl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from gdb.base import forks, threads, usage
from gdb.base.machine.cores import cores
from gdb.base.threads import callers, for_callers

if TYPE_CHECKING:
    import subprocess

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")

STEP = 0.05
"""Seconds of one wait at most; half of what a person takes to be at once."""
LEAST = 1 << 20
"""Elements from which on NumPy takes so long for a sort of them, 0.05 s, that a thread is worth its start."""
_CALLS = 8  # at once: a signal handler may commit while the main thread waits for a commit
_SLOW = 0.01  # seconds of a call that was to be quick
_WARY = 100
AHEAD = 4  # items in work for each core
BOUNDED = 4  # items at once under a budget: of a disk several reads are under way
SMALL = 16 << 20  # bytes of a budget under which it is one
_LOOKS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)  # seconds between two looks at a file's lock


class Lock(_thread.RLock):  # type: ignore[misc]  # final in its stub alone
    """A lock that another thread may hold for long; its owner may take it again. For `with` blocks.

    `with` leaves it by C code, as every lock of `threading` and unlike a Condition, so that no Ctrl-C strikes between
    the block and the release. An uncontended `with` takes 0.05 us longer than a lock of `threading`.

    In a forked child it is free, unless the thread that forked has it.

    torn : in such a child, whether a thread that is gone had it at the fork: what it guards may be half changed.
    """

    torn = False

    def __init__(self) -> None:
        forks.renew(self)

    def __enter__(self) -> bool:  # type: ignore[override]  # called without arguments
        return self.acquire(False) or self.take()

    def forked(self) -> None:
        """Release the lock in the child. Held by another thread of the parent, it is made anew and `torn`: what it
        guards may be half changed."""
        self.torn = not self.acquire(False)
        if self.torn:
            self._at_fork_reinit()  # type: ignore[attr-defined]  # as `threading` does with its own
        else:
            self.release()

    def take(self, check: Callable[[], object] = lambda: None) -> bool:
        """Acquire it; `check` is called between two steps, and what it raises ends the wait."""
        while not self.acquire(timeout=STEP):
            check()
        return True


class Turn:
    """One thread's time with a `TurnLock`. owner : that thread. depth : how often it was taken. over : it has ended."""

    __slots__ = ("depth", "over", "owner")

    def __init__(self, owner: threading.Thread) -> None:
        self.owner = owner
        self.depth, self.over = 0, False


class TurnLock:
    """A lock that one thread at a time has, for long; it, and who works for it, may take it again. Any thread may
    release it: its owner may have left that to another one, as garbage collection does. That of a thread which has
    ended is free.

    A forked child needs a new one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guard = Lock()  # of what follows
        self._turn: Turn | None = None

    def own(self) -> Turn | None:
        """The turn of this thread, or of one that waits for it; None where neither has it."""
        turn = self._turn
        return turn if turn is not None and turn.owner in callers() else None

    def take(
        self,
        check: Callable[[], object] = lambda: None,
        left: Callable[[], object] = lambda: None,
    ) -> Turn:
        """Take it. check : called between two steps; what it raises ends the wait. left : called before the turn of a
        thread ends that has ended itself, to undo what it left."""
        turn = self.own() or self._begun(0.0)
        while turn is None:
            self._reclaim(left)
            turn = self._begun(STEP)
            if turn is None:
                check()
        turn.depth += 1
        return turn

    def take_free(self) -> Turn | None:
        """Take it where no thread, nor this one, has it; else None."""
        turn = self._begun(0.0)
        if turn is not None:
            turn.depth = 1
        return turn

    def _begun(self, seconds: float) -> Turn | None:
        if not self._lock.acquire(timeout=seconds):
            return None
        turn = self._turn = Turn(threading.current_thread())
        return turn

    def release(self, turn: Turn) -> None:
        """Undo a `take`; nothing where the turn is over."""
        with self._guard:
            turn.depth -= 1
            if not turn.depth and not turn.over:
                self._end(turn)

    def _reclaim(self, left: Callable[[], object]) -> None:
        with self._guard:
            turn = self._turn
            if turn is not None and not turn.owner.is_alive():
                left()
                self._end(turn)

    def _end(self, turn: Turn) -> None:
        turn.over, self._turn = True, None
        self._lock.release()


class Slots:
    """As many `with` blocks at once as it has slots; another one waits."""

    def __init__(self, number: int) -> None:
        self._slots = threading.BoundedSemaphore(number)

    def __enter__(self) -> None:
        while not self._slots.acquire(timeout=STEP):
            pass

    def __exit__(self, *_: object) -> None:
        self._slots.release()


def until(state: threading.Condition, reached: Callable[[], object]) -> None:
    """Wait until `reached` is true, which is looked at whenever the condition is notified; its lock must be held."""
    while not reached():
        state.wait(STEP)


def happens(event: threading.Event, end: float) -> bool:
    """Wait until an event is set, at most until `end` of time.monotonic(); whether it is."""
    while not event.is_set() and (left := end - time.monotonic()) > 0:
        event.wait(min(left, STEP))
    return event.is_set()


def result(future: Future[T], check: Callable[[], object] | None = None) -> T:
    """What a future gives or raises; `check` is called between two steps, and what it raises ends the wait."""
    try:
        while True:
            try:
                return future.result(STEP)
            except TimeoutError:
                if future.done():  # the error was the work's own
                    return future.result(0)
            if check is not None:
                check()
    finally:
        del future  # its error would hold it by this frame, and with it all that the work had


def first_of(futures: Collection[Future[T]], longest: float) -> set[Future[T]]:
    """Those of some futures that have ended, once there is one, or some seconds have gone by (at most `STEP`)."""
    from concurrent.futures import FIRST_COMPLETED, wait

    return wait(futures, min(longest, STEP), FIRST_COMPLETED).done


def wait_for_future(future: Future[T]) -> None:
    """Wait until a future has ended, however it did."""
    while True:
        try:
            future.exception(STEP)
        except TimeoutError:
            continue
        return


def join_thread(thread: threading.Thread) -> None:
    """Wait for the end of a thread."""
    while thread.is_alive():
        thread.join(STEP)


class Pool(threads.Threads):
    """Threads for the time of a `with` block, which waits for them; what has not begun when the block raises never
    begins."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As ThreadPoolExecutor.submit; the call works for this thread (`gdb.base.threads`)."""
        return super().submit(for_callers(fn), *args, **kwargs)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],  # as the class before has it
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[T]:
        """The results in the order of the items. timeout, chunksize : of no effect.

        Raises
        ------
        Cancelled, QueryTimeout : the query of this thread is to go no further; what has not begun never begins.
        """
        futures = [self.submit(fn, *items) for items in zip(*iterables, strict=False)]
        return self._results(futures)

    def _results(self, futures: list[Future[T]]) -> Iterator[T]:
        futures.reverse()
        try:
            while futures:
                usage.pulse()
                yield result(futures.pop(), usage.pulse)
        finally:
            for future in futures:
                future.cancel()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As ThreadPoolExecutor.shutdown, but a Ctrl-C reaches the wait for the threads."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if wait:
            for thread in list(self._threads):
                join_thread(thread)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool | None:
        self.shutdown(cancel_futures=kind is not None)
        return None


class _Helping(threading.local):
    """Whether this thread does a part of some work that has all cores."""

    now = False


_helping = _Helping()


def in_order(
    work: Callable[[Item], T], items: Iterable[Item], most: int | None = None
) -> Iterator[T]:
    """The results of some work on all cores, or as many as `most`, in the order of the items; few are there at a time.
    One item is done in this thread, and so are all where it does a part of such work itself, or there is no memory for
    another thread.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further; what has not begun never begins.
    """
    following = iter(items)
    some = [item for _, item in zip(range(2), following, strict=False)]
    if len(some) < 2 or _helping.now:
        yield from map(work, chain(some, following))
        return
    workers = min(cores(), most or cores())
    with Pool(workers, initializer=setattr, initargs=(_helping, "now", True)) as pool:
        try:
            ahead = [pool.submit(work, some[0])]
        except MemoryError:
            yield from map(work, chain(some, following))
            return
        for item in chain(some[1:], following):
            ahead.append(pool.submit(work, item))
            if len(ahead) >= AHEAD * workers:
                yield result(ahead.pop(0), usage.pulse)
        while ahead:
            yield result(ahead.pop(0), usage.pulse)


def within_budget(work: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """As `in_order`, but with few items at once where the query of this thread has a budget, and one after the other
    where that is small: it bounds what is read at once, and the stacks of threads."""
    room = usage.room()
    if room is not None and (room.limit or 0) < SMALL:
        return map(work, items)
    return in_order(work, items, BOUNDED if room else None)


def beside(work: Callable[[], T], name: str, check: Callable[[], object] | None = None) -> T:
    """Do some work on a daemon thread of its own, and wait for what it gives or raises. `check` is that of
    `result`: where it raises, the work goes on until it ends by itself."""
    future: Future[T] = Future()
    arguments = future, for_callers(work)
    threads.start(threading.Thread(target=_settle, args=arguments, name=name, daemon=True))
    try:
        return result(future, check)
    finally:
        del future  # as in `result`


def aside(size: int, work: Callable[[], T]) -> T:
    """Do some work that stays outside of Python for long, as a large sort does: on the main thread, which a signal
    reaches only between two bytecodes, beside it. It must take no lock that this thread holds.

    size : of what it goes through, in elements; below `LEAST` of them it is done in place.
    """
    if size < LEAST or threading.current_thread() is not threading.main_thread():
        return work()
    return beside(usage.carry_usage(work), "gdb-aside")


_wary = 0  # how many quick calls are made beside the main thread before one is tried in place again
_helpers: tuple[int, threads.Threads] | None = None  # behind the generation of their process


def blocking(call: Callable[[], T], *, quick: bool = False) -> T:
    """Make a system call that no signal ends and that may take long, as an fsync of a slow disk: on the main thread,
    beside it, which takes up to 0.2 ms longer.

    quick : it takes little where the disk is quick; so it is made in place until one such call was slow.
    """
    global _helpers, _wary
    if threading.current_thread() is not threading.main_thread():
        return call()
    if quick and not _wary:
        began = time.monotonic()
        try:
            return call()
        finally:
            _wary = _WARY if time.monotonic() - began > _SLOW else 0
    _wary -= quick
    if _helpers is None or _helpers[0] != forks.generation():  # only this thread makes them
        _helpers = forks.generation(), threads.Threads(_CALLS, thread_name_prefix="gdb-call")
    try:
        future = _helpers[1].submit(call)
    except (RuntimeError, MemoryError):  # Python ends, or there is no room: no more threads
        return call()
    try:
        return result(future)
    finally:
        del future  # as in `result`


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
    finally:
        del future  # as in `result`


def flock(file: int, kind: int, check: Callable[[], object] = lambda: None) -> None:
    """Lock an open file, once who else has it has given it back; kind : fcntl.LOCK_SH or LOCK_EX. check : called
    between two tries; what it raises ends the wait.

    A blocking flock would not end for a signal that came just before it, so this tries again and again.
    """
    looks = iter(_LOOKS)
    while True:
        try:
            return fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            check()
            time.sleep(next(looks, _LOOKS[-1]))


def run(
    command: Sequence[str],
    input_bytes: bytes,
    longest: float,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end and give its outputs; with `input_bytes` as input.

    Raises
    ------
    subprocess.TimeoutExpired : it took longer than `longest` seconds, and was killed. OSError : it cannot be run.
    """
    import subprocess
    import tempfile

    end = time.monotonic() + longest
    pipe = subprocess.PIPE
    # a pipe's rest would be lost: `communicate` forgets it after a timeout
    with tempfile.TemporaryFile() as file:
        file.write(input_bytes)
        file.seek(0)
        # what ends the block kills it: __exit__ of Popen alone would wait
        with subprocess.Popen(command, stdin=file, stdout=pipe, stderr=pipe) as process:
            try:
                while True:
                    try:
                        out, log = process.communicate(timeout=STEP)
                    except subprocess.TimeoutExpired:
                        if time.monotonic() > end:
                            raise subprocess.TimeoutExpired(list(command), longest) from None
                    else:
                        return subprocess.CompletedProcess(
                            list(command), process.returncode, out, log
                        )
            except BaseException:
                process.kill()
                raise


def wait_for_program(process: subprocess.Popen[str]) -> int:
    """Wait until the user has left a program that has the terminal; its exit code. A Ctrl-C meanwhile is the
    program's."""
    while True:
        with suppress(KeyboardInterrupt):
            while (code := process.poll()) is None:
                time.sleep(STEP)
            return code

"""Forked children of a test: what they give back, and a bound on their time."""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 60  # seconds that a child may take, on a machine that does much else


class Died(AssertionError):
    """A child ended in another way than it should."""


@dataclass
class Child:
    """A child that runs; `answer` waits for it."""

    pid: int
    pipe: int

    def answer(self) -> object:
        """What its work gave.

        Raises
        ------
        Died : it was killed by a signal, hung, or its work raised.
        """
        try:
            text = self._read()
        finally:
            os.close(self.pipe)
            _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            raise Died(f"the child was killed by {signal.Signals(os.WTERMSIG(status)).name}")
        if not text:
            raise Died(f"the child ended with {os.WEXITSTATUS(status)} and said nothing")
        good, value = pickle.loads(text)
        if not good:
            raise Died(f"the child failed:\n{value}")
        return value

    def _read(self) -> bytes:
        found = b""
        while True:
            ready, _, _ = select.select([self.pipe], [], [], LONGEST + 30)
            if not ready:
                os.kill(self.pid, signal.SIGKILL)
                raise Died("the child hung, and its watchdog as well")
            piece = os.read(self.pipe, 1 << 16)
            if not piece:
                return found
            found += piece


def begin(work: Callable[[], object]) -> Child:
    """Fork a child that does some work and ends."""
    reading, writing = os.pipe()
    pid = fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    os.close(reading)
    watch_over(LONGEST)
    try:
        said = pickle.dumps((True, work()))
    except BaseException:
        said = pickle.dumps((False, traceback.format_exc()))
    with open(writing, "wb") as out:
        out.write(said)
    os._exit(0)


def watch_over(seconds: int) -> None:
    """Have this process show where its threads are and die by SIGALRM after so long. (faulthandler's own watchdog is a
    thread, for which a child of this process would wait endlessly.)"""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.enable(2)
    faulthandler.register(signal.SIGALRM, file=2, all_threads=True, chain=True)
    signal.alarm(seconds)


def fork() -> int:
    """os.fork, without what Python 3.12 and later say of it where there are threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def answer(work: Callable[[], object]) -> object:
    """What some work gives in a child."""
    return begin(work).answer()

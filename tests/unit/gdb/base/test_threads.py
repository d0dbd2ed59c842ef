"""A thread for which there is no memory: an error, and no wait for it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from gdb.base import threads, waiting
from gdb.base.usage import Usage

# What the process has is used up, and then there is room for a stack and so many bytes more.
_LITTLE = """
import faulthandler, resource, sys
import gdb
from gdb.base import waiting
faulthandler.dump_traceback_later(60, exit=True)
db = gdb.connect()
status = open("/proc/self/status").read()
used = int(status.partition("VmSize:")[2].split()[0]) << 10
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
stack = max(resource.getrlimit(resource.RLIMIT_STACK)[0], 0)
resource.setrlimit(resource.RLIMIT_AS, (used, hard))
held = []
try:
    while True:
        held.append(bytearray(1 << 10))
except MemoryError:
    pass
resource.setrlimit(resource.RLIMIT_AS, (used + stack + int(sys.argv[1]), hard))
try:
    print(waiting.beside(lambda: 5, "x"))
except MemoryError:
    print("none")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads what Linux says of it")
@pytest.mark.parametrize(
    ("more", "said"), [(0, "none"), (8 << 10, "none"), (32 << 10, "none"), (64 << 20, "5")]
)
def test_no_room_for_a_thread_is_an_error(more: int, said: str) -> None:
    arguments = [sys.executable, "-c", _LITTLE, str(more)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == [said], done.stderr[-2000:]


def none() -> None:
    raise MemoryError


def test_all_threads_look_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "look_for_room", none)
    with pytest.raises(MemoryError):
        threads.start(threading.Thread(target=none))
    with pytest.raises(MemoryError):
        waiting.beside(lambda: 5, "x")
    with waiting.Pool(1) as pool, pytest.raises(MemoryError):
        pool.submit(lambda: 5)


def test_what_must_be_done_is_done_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "look_for_room", none)
    monkeypatch.setattr(waiting, "_helpers", None)
    assert waiting.blocking(lambda: 5) == 5


def test_a_thread_that_waits_takes_the_next_work() -> None:
    with waiting.Pool(2) as pool:
        assert [*pool.map(abs, range(-5, 0))] == [5, 4, 3, 2, 1]


def test_a_pool_goes_on_with_the_threads_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> int:
        begun.set()
        assert go_on.wait(60)
        return threading.get_ident()

    with waiting.Pool(4) as pool:
        first = pool.submit(wait)
        assert begun.wait(60)
        monkeypatch.setattr(threads, "look_for_room", none)
        others = [pool.submit(threading.get_ident) for _ in range(5)]
        go_on.set()
        assert {other.result(60) for other in others} == {first.result(60)}


def test_work_in_order_is_done_here_where_there_is_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "cores", lambda: 4)
    assert threading.get_ident() not in waiting.in_order(lambda _: threading.get_ident(), range(9))
    monkeypatch.setattr(threads, "look_for_room", none)
    here = threading.get_ident()
    found = waiting.in_order(lambda item: (item, threading.get_ident()), range(9))
    assert list(found) == [(item, here) for item in range(9)]


@pytest.mark.parametrize(("memory", "here"), [(None, False), (1 << 30, False), (1 << 20, True)])
def test_a_small_budget_has_one_item_at_once(
    memory: int | None, here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "cores", lambda: 64)
    at_once, most, lock = 0, 0, threading.Lock()

    def work(_: int) -> int:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        threading.Event().wait(0.002)
        with lock:
            at_once -= 1
        return threading.get_ident()

    with Usage(memory):
        found = set(waiting.within_budget(work, range(60)))
    assert (found == {threading.get_ident()}) == here
    assert most <= {None: 64, 1 << 30: waiting.BOUNDED, 1 << 20: 1}[memory]

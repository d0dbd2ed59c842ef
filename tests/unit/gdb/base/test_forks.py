"""What a forked child makes anew: `gdb.base.forks`, without a database."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from gdb.base import forks, waiting
from gdb.base.machine import compile as compiling
from gdb.base.once import MadeOnce, PerProcess, cached_property
from gdb.executor.relational import arrow
from gdb.storage.disk import sandbox
from tests.fork.children import answer


class _Thing:
    """Counts how many of its kind are destroyed in this process."""

    destroyed = 0

    def __del__(self) -> None:
        _Thing.destroyed += 1


def test_a_value_is_made_once_in_each_process() -> None:
    holder = PerProcess(_Thing)
    mine = holder.get()

    def child() -> list[bool]:
        theirs = holder.get()
        return [theirs is mine, theirs is holder.get()]

    assert holder.get() is mine
    assert answer(child) == [False, True]
    assert holder.get() is mine


def test_a_parents_value_is_not_destroyed_in_the_child() -> None:
    holder = PerProcess(_Thing)
    holder.get()

    def child() -> int:
        before = _Thing.destroyed
        holder.forked()  # as a child of the child has it
        return _Thing.destroyed - before

    assert answer(child) == 0


def test_what_is_made_of_an_object_stays_in_the_child_under_a_new_lock() -> None:
    made = MadeOnce(lambda _: _Thing())
    key = _Thing()
    mine = made.of(key)
    with made._lock:
        assert answer(lambda: made.of(key) is mine) is True


def test_a_process_knows_that_it_was_forked() -> None:
    mine = forks.generation()
    assert answer(lambda: forks.generation() != mine) is True
    assert forks.generation() == mine


def test_one_that_cannot_be_renewed_does_not_keep_the_others_from_it() -> None:
    class Bad:
        def forked(self) -> None:
            raise ValueError("this one cannot")

    bad, holders = Bad(), [PerProcess(_Thing) for _ in range(20)]
    forks.watch(bad)
    mine = [holder.get() for holder in holders]

    def child() -> bool:
        return any(holder.get() is one for holder, one in zip(holders, mine, strict=True))

    assert answer(child) is False


@pytest.mark.parametrize("lock", [compiling._compiling, sandbox._starting], ids=["LLVM", "DuckDB"])
def test_a_fork_waits_for_a_library_that_has_locks_of_its_own(lock: threading.Lock) -> None:
    ended: list[str] = []

    def work(inside: Callable[[], None], about: threading.Event) -> None:
        with lock:
            inside()
            about.wait()
            ended.append("ended")

    def child() -> list[str]:
        with lock:
            return ended

    assert _forked_during(work, child) == ["ended"]


def test_a_fork_waits_for_imports_of_other_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_module.py").write_text(
        "import sys\ninside, about = sys.modules['tests.unit.gdb.base.test_forks'].import_events\n"
        "inside()\nabout.wait()\ndone = True\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(forks, "_IMPORTED_LATE", {"slow_module"})

    def work(inside: Callable[[], None], about: threading.Event) -> None:
        global import_events
        import_events = inside, about
        __import__("slow_module")

    def child() -> bool:
        return bool(__import__("slow_module").done)

    try:
        assert _forked_during(work, child) is True
    finally:
        sys.modules.pop("slow_module", None)


def test_a_lock_that_came_while_a_fork_waited_is_free_in_the_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A module that was waited for makes one as it is imported, and its thread may have taken it."""
    hold, locks, held = forks._hold_imports, list[waiting.Lock](), list[bool]()

    def imported() -> None:
        hold()
        held.append(bool(locks) and locks[0] in forks._held)
        if not locks:
            locks.append(forks.undivided(waiting.Lock()))

    monkeypatch.setattr(forks, "_undivided", list(forks._undivided))
    monkeypatch.setattr(forks, "_hold_imports", imported)
    assert answer(lambda: held) == [False, True]


def test_threads_that_fork_at_once_take_turns() -> None:
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(answer(lambda: len(forks._held))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0, 0, 0, 0]
    assert not forks._held


import_events: tuple[Callable[[], None], threading.Event]


def _forked_during(
    work: Callable[[Callable[[], None], threading.Event], None], child: Callable[[], object]
) -> object:
    """What a child gives that is forked while another thread works, which ends once the fork is about to begin."""
    inside, about = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(inside.set, about))
    thread.start()
    inside.wait()
    about.set()
    found = answer(child)
    thread.join()
    return found


def test_a_property_that_another_thread_computes_is_computed_in_the_child() -> None:
    class Slow:
        def __init__(self, inside: Callable[[], None], about: threading.Event) -> None:
            self._inside, self._about = inside, about

        @cached_property
        def value(self) -> str:
            """Long in coming."""
            self._inside()
            self._about.wait()
            return "computed"

    def work(inside: Callable[[], None], about: threading.Event) -> None:
        assert Slow(inside, about).value == "computed"

    def child() -> str:
        free = threading.Event()
        free.set()
        return Slow(lambda: None, free).value

    assert _forked_during(work, child) == "computed"


def test_the_value_of_a_property_that_two_threads_compute_is_the_first_one() -> None:
    both = threading.Barrier(2)

    class Made:
        @cached_property
        def value(self) -> object:
            both.wait()
            return object()

    made, found = Made(), list[object]()
    threads = [threading.Thread(target=lambda: found.append(made.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [made.value, made.value]
    assert isinstance(Made.value, cached_property)


def test_properties_of_nanoarrow_are_computed_without_a_lock() -> None:
    array = arrow.int64_array(np.arange(3))
    held = [p for one in type(array).__mro__ for p in vars(one).values() if hasattr(p, "lock")]
    if sys.version_info < (3, 12):
        assert held
    assert all(type(p.lock) is nullcontext for p in held)

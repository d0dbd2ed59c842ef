"""No wait of the library is without a bound, on the main thread or elsewhere: `gdb.base.waiting` has all of them.

A Ctrl-C that arrives as such a wait begins is noticed when it ends, perhaps never. This walks the source; what is
allowed below waits for something that takes a few instructions, or never waits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOMS = ("gdb", "storage", "executor", "repl")
WAITING = "gdb/base/waiting.py"

# What makes something that is waited for without a bound.
MAKERS = {
    *("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier", "Popen"),
    *("Threads", "ThreadPoolExecutor", "ProcessPoolExecutor", "Queue", "SimpleQueue", "LifoQueue"),
}
MODULES = {
    *("threading", "_thread", "queue", "subprocess", "concurrent.futures", "select"),
    "gdb.base.threads",
}
# What waits without a bound with fewer arguments than so many.
BOUNDED_BY = {
    "wait": 1,
    "wait_for": 2,
    "result": 1,
    "exception": 1,
    "join": 1,
    "communicate": 2,
}

SHORT = "held for a few instructions"
STEPS = "waited for in steps"
OTHER = "no wait: another thing of that name"
ALLOWED = {
    ("executor/cpu/launch.py", "Lock"): SHORT,
    ("executor/cpu/turns.py", "Lock"): SHORT,
    ("executor/cpu/walkers.py", "Lock"): SHORT,
    ("executor/gpu/launch.py", "ThreadPoolExecutor"): STEPS,
    ("executor/gpu/rows.py", "Condition"): STEPS,
    ("executor/gpu/rows.py", "wait_for"): "the device's stream waits, not the host",
    ("executor/relational/relational.py", "Threads"): STEPS,
    ("executor/run.py", "Lock"): SHORT,
    ("executor/work/scheduler.py", "Lock"): SHORT,
    (
        "executor/work/scheduler.py",
        "Threads",
    ): "its futures are waited for by `gdb.base.waiting`",
    ("gdb/base/budget.py", "Lock"): SHORT,
    ("gdb/base/forks.py", "RLock"): STEPS,
    (
        "gdb/base/threads.py",
        "ThreadPoolExecutor",
    ): "its futures are waited for by `gdb.base.waiting`",
    ("gdb/physical/rows/row_projection.py", "result"): OTHER,
    ("gdb/physical/rows/row_steps.py", "result"): OTHER,
    ("gdb/run/stream.py", "Condition"): STEPS,
    ("gdb/run/stream.py", "Lock"): SHORT,
    ("gdb/base/values/aggregates.py", "result"): OTHER,
    ("gdb/functions/aggregate_functions.py", "result"): OTHER,
    ("gdb/api/running_work.py", "Condition"): STEPS,
    ("repl/pager.py", "Popen"): "the user's own program, waited for by `gdb.base.waiting`",
    ("repl/saved_queries.py", "Popen"): "the user's own program, waited for by `gdb.base.waiting`",
    (
        "storage/disk/memory_files.py",
        "Lock",
    ): "held for a few instructions, or taken without waiting",
}


def calls(source: str) -> Iterator[tuple[int, str]]:
    """The line and the name of each call, or reference, that may wait without a bound."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            if node.attr in MAKERS and ast.unparse(node.value) in MODULES:
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for one in node.names:
                if one.name in MAKERS or node.module in ("subprocess", "select"):
                    yield node.lineno, one.name
        elif isinstance(node, ast.Call) and _unbounded(node):
            yield node.lineno, ast.unparse(node.func).rpartition(".")[2]


def _unbounded(call: ast.Call) -> bool:
    """Whether a call waits without a bound, as far as its name shows."""
    base, _, name = ast.unparse(call.func).rpartition(".")
    many = len(call.args)
    bounds = {"timeout", "blocking"} & {keyword.arg for keyword in call.keywords}
    if base == "subprocess" or (base, name) == ("select", "select"):
        return True
    if base in ("", "concurrent.futures"):  # of futures
        return name in ("wait", "as_completed") and not bounds and many < 2
    if name == "flock":
        told = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
        return base != "waiting" and not {"LOCK_NB", "LOCK_UN"} & told
    if name == "acquire":
        return not bounds and (not many or (many < 2 and ast.unparse(call.args[0]) != "False"))
    return base != "waiting" and not bounds and many < BOUNDED_BY.get(name, 0)


def found(repository: Path) -> dict[tuple[str, str], list[int]]:
    places: dict[tuple[str, str], list[int]] = {}
    for room in ROOMS:
        for path in sorted((repository / room).rglob("*.py")):
            name = path.relative_to(repository).as_posix()
            if name == WAITING or (room == "gdb" and name.split("/")[1] in ROOMS):
                continue  # the second: the links in gdb/ to the other rooms
            for line, what in calls(path.read_text(encoding="utf-8")):
                places.setdefault((name, what), []).append(line)
    return places


def test_every_wait_has_a_bound(repository: Path) -> None:
    places = found(repository)
    new = [
        f"{name}:{lines[0]} {what}"
        for (name, what), lines in places.items()
        if (name, what) not in ALLOWED
    ]
    assert not new, f"wait by gdb.base.waiting, or a Ctrl-C may be lost: {new}"
    gone = ALLOWED.keys() - places.keys()
    assert not gone, f"allowed, and not there: {gone}"


@pytest.mark.parametrize(
    "line",
    [
        "done.wait()",
        "state.wait_for(lambda: ready)",
        "later.result()",
        "thread.join()",
        "lock.acquire()",
        "lock.acquire(True)",
        "fcntl.flock(fd, fcntl.LOCK_EX)",
        "x = threading.RLock()",
        "f = field(default_factory=threading.Lock)",
        "from concurrent.futures import ThreadPoolExecutor",
        "subprocess.run(['x'], timeout=3)",
        "concurrent.futures.wait(some)",
        "wait(some)",
        "for one in as_completed(some): pass",
        "select.select(a, b, c)",
    ],
)
def test_a_wait_without_a_bound_would_be_seen(line: str) -> None:
    assert list(calls(line))


@pytest.mark.parametrize(
    "line",
    [
        "done.wait(0.05)",
        "state.wait(timeout=0.05)",
        "lock.acquire(False)",
        "lock.acquire(blocking=False)",
        "', '.join(names)",
        "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "waiting.result(later)",
        "wait([later], 0.05)",
    ],
)
def test_a_wait_with_a_bound_is_fine(line: str) -> None:
    assert not list(calls(line))

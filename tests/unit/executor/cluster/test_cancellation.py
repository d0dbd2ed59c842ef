"""How tasks of other processes learn that their query was stopped."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import pytest

from gdb.executor.cluster import cancellation
from gdb.executor.cluster.cancellation import Stop, Stopped, note, send, stop_for
from gdb.executor.work.scheduler import Watch


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look goes to the file."""
    monkeypatch.setattr(cancellation, "LOOK", 0.0)


class Broadcasting(Executor):
    """Dask's executor, of a client that runs a function on one worker, this process, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self._client = self
        self.error = error

    def run(self, function: Callable[[str], None], query: str, *, on_error: str) -> None:
        if self.error is not None:
            raise self.error
        function(query)


@pytest.mark.parametrize("executor", [Executor(), Broadcasting()], ids=["file", "broadcast"])
def test_a_stop_reaches_the_tasks_of_its_query_alone(executor: Executor) -> None:
    stop, other = stop_for(executor), stop_for(executor)
    tasks, others = Stopped(stop), Stopped(other)
    assert Watch(None, tasks, None).going()
    send(stop, executor)
    assert not Watch(None, tasks, None).going()
    assert Stopped(stop).is_set()  # a task that begins later
    assert not others.is_set()


def test_a_task_ends_with_the_folder_of_its_caller(tmp_path: Path) -> None:
    folder = tmp_path / "caller"
    folder.mkdir()
    task = Stopped(Stop("one", str(folder / "stop-one")))
    assert not task.is_set()
    folder.rmdir()
    assert task.is_set()


def test_a_worker_that_does_not_see_the_folder_goes_on(tmp_path: Path) -> None:
    task = Stopped(Stop("two", str(tmp_path / "elsewhere" / "stop-two")))
    assert not task.is_set()


def test_a_cluster_that_is_gone_is_no_error() -> None:
    executor = Broadcasting(OSError("gone"))
    stop = stop_for(executor)
    send(stop, executor)
    assert not Stopped(stop).is_set()


def test_a_worker_forgets_old_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancellation, "REMEMBERED", 2)
    for query in ("x", "y", "z"):
        note(query)
    assert [Stopped(Stop(query, None)).is_set() for query in "xyz"] == [False, True, True]

"""Messages to the tasks of other processes: their query was stopped, or others wait for what is left of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import pytest

from gdb.executor.cluster import messages
from gdb.executor.cluster.messages import STOP, Channel, Inbox, channel_for, note, stop, take_back
from gdb.executor.work.scheduler import Watch


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look goes to the file."""
    monkeypatch.setattr(messages, "LOOK", 0.0)


class Broadcasting(Executor):
    """Dask's executor, of a client that runs a function on one worker, this process, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self._client = self
        self.error = error

    def run(
        self, function: Callable[[str, str], None], query: str, message: str, *, on_error: str
    ) -> None:
        if self.error is not None:
            raise self.error
        function(query, message)


EXECUTORS = pytest.mark.parametrize(
    "executor", [Executor(), Broadcasting()], ids=["file", "broadcast"]
)


@EXECUTORS
def test_a_stop_reaches_the_tasks_of_its_query_alone(executor: Executor) -> None:
    channel, other = channel_for(executor), channel_for(executor)
    tasks, others = Inbox(channel, 1), Inbox(other, 1)
    assert Watch(None, tasks, None).going()
    stop(channel, executor)
    assert not Watch(None, tasks, None).going()
    assert Inbox(channel, 2).is_set()  # a task that begins later
    assert not others.is_set()


@EXECUTORS
def test_tasks_are_taken_back_by_their_tickets(executor: Executor) -> None:
    channel = channel_for(executor)
    tasks = [Inbox(channel, ticket) for ticket in (1, 2, 11)]
    take_back(channel, executor, [1])
    assert [task.is_taken_back() for task in tasks] == [True, False, False]
    take_back(channel, executor, [2, 11])
    assert [task.is_taken_back() for task in tasks] == [False, True, True]
    assert not any(task.is_set() for task in tasks)
    stop(channel, executor)
    assert all(task.is_set() for task in tasks)


def test_a_stop_is_the_last_message() -> None:
    """Dask may deliver two broadcasts in either order."""
    note("late", STOP)
    note("late", "1")
    assert Inbox(Channel("late", None), 1).is_set()


def test_a_task_ends_with_the_folder_of_its_caller(tmp_path: Path) -> None:
    folder = tmp_path / "caller"
    folder.mkdir()
    task = Inbox(Channel("one", str(folder / "query-one")), 1)
    assert not task.is_set()
    folder.rmdir()
    assert task.is_set()


def test_a_worker_that_does_not_see_the_folder_goes_on(tmp_path: Path) -> None:
    task = Inbox(Channel("two", str(tmp_path / "elsewhere" / "query-two")), 1)
    assert not task.is_set()


def test_a_cluster_that_is_gone_is_no_error() -> None:
    executor = Broadcasting(OSError("gone"))
    channel = channel_for(executor)
    stop(channel, executor)
    assert not Inbox(channel, 1).is_set()


def test_a_worker_forgets_old_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "REMEMBERED", 2)
    for query in ("x", "y", "z"):
        note(query, STOP)
    assert [Inbox(Channel(query, None), 1).is_set() for query in "xyz"] == [False, True, True]

"""Queries that other processes share, and that are stopped while tasks run."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb import Cluster, ClusterError
from gdb.executor.cluster import cluster, messages
from gdb.executor.cluster.task import Answer, Task, work
from gdb.records import replace
from gdb.storage.graph.snapshot_state import State
from tests.support.shared_store import Inline, cut_always, people


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(autouse=True)
def several_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_always(monkeypatch)


ENDLESS = (
    "MATCH DIFFERENT NODES "
    + "--".join(f"({name})" for name in "abcdefghijklmn")
    + " RETURN count(*)"
)
"""Takes longer than any test waits."""


def noted(folder: Path, number: int, task: Task) -> Answer:
    """A task that writes down where it begins and ends."""
    (folder / f"begun-{number}").touch()
    answer = work(task)
    (folder / f"ended-{number}").touch()
    return answer


class Noted(Executor):
    """Another executor, whose tasks write down in a folder where they begin and end."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        self.executor, self.folder, self.sent = executor, folder, 0
        if hasattr(executor, "_client"):
            self._client = executor._client

    def submit(self, _: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        self.sent += 1
        return self.executor.submit(noted, self.folder, self.sent, *arguments, **options)

    def has(self, what: str) -> int:
        return len(list(self.folder.glob(f"{what}-*")))


def assert_close_stops_the_workers(store: Path, executor: Executor, folder: Path) -> None:
    """Two tasks run, and give nothing back by themselves: they end because the query is cancelled."""
    tasks = Noted(executor, folder)
    db = gdb.connect(store, read_only=True)
    with ThreadPoolExecutor(1) as beside:
        found = beside.submit(db.execute, ENDLESS, on=Cluster(tasks, 2, least=0.0))
        try:
            assert soon(lambda: tasks.has("begun") >= 2 or found.done())
            assert tasks.has("ended") == 0
        finally:
            db.close()
        with pytest.raises(gdb.Cancelled):
            found.result(60)
    assert soon(lambda: tasks.has("ended") == tasks.has("begun"))


def soon(reached: Callable[[], bool]) -> bool:
    """Whether something happens before a machine that is very busy would need so long for it."""
    end = time.monotonic() + 60
    while not reached() and time.monotonic() < end:
        time.sleep(0.01)
    return reached()


def test_a_task_of_a_stopped_query_gives_no_answer(store: Path) -> None:
    """It reads nothing, and its empty answer is never taken for one."""
    tasks = Inline()
    query = "MATCH (a)-->(b) RETURN count(*)"

    class Stopping(Inline):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            messages.note(arguments[0].channel.query, messages.STOP)
            return super().submit(function, *arguments, **options)

    with gdb.connect(store, read_only=True) as db:
        db.execute(query, on=Cluster(tasks, 2, least=0.0))
        messages.note(tasks.tasks[0].channel.query, messages.STOP)
        assert work(replace(tasks.tasks[0], state=State("", b""))).stopped
        with pytest.raises(gdb.Cancelled):
            db.execute(query, on=Cluster(Stopping(), 2, least=0.0))


def test_a_worker_that_fails_stops_the_others(store: Path) -> None:
    class OneFails(Inline):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            if not self.tasks:
                return super().submit(function, *arguments, **options)
            return Future()  # which runs on

    tasks = OneFails(1)
    with gdb.connect(store, read_only=True) as db, pytest.raises(ClusterError, match="killed"):
        db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(tasks, 2, least=0.0))
    assert work(tasks.tasks[0]).stopped


def test_idle_workers_take_back_what_is_left_of_a_task_that_runs(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one task of a query, which would give back nothing by itself, gives back what is left of it."""
    monkeypatch.setattr(cluster, "tasks_for", lambda seconds, workers: 1)
    monkeypatch.setattr(messages, "LOOK", 0.0)
    for name, value in (("GIVES_BACK", 1e9), ("SMALLEST", 0.0), ("TAKES_BACK", 0.0)):
        monkeypatch.setattr(cluster, name, value)
    query = "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(e)--(f)--(a), (a)--(d) RETURN count(*)"
    with gdb.connect(store, read_only=True) as db, ThreadPoolExecutor(2) as pool:
        sent = []

        class Watched(Executor):
            def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
                sent.append(arguments[0])
                return pool.submit(function, *arguments, **options)

        found = db.execute(query, on=Cluster(Watched(), 2, least=0.0)).scalar()
        assert found == db.execute(query).scalar()
    assert len(sent) > 1
    assert sent[0].place is None
    assert all(task.place is not None for task in sent[1:])


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "GIVES_BACK", 1e9)


@pytest.mark.usefixtures("patient")
def test_a_cancelled_query_stops_tasks_that_run_in_a_process_pool(
    store: Path, tmp_path: Path
) -> None:
    pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    try:
        assert_close_stops_the_workers(store, pool, tmp_path)
    finally:
        for process in list(pool._processes.values()):
            process.kill()
        pool.shutdown()


@pytest.mark.usefixtures("patient")
def test_a_cancelled_query_stops_tasks_that_run_on_dask(store: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with local, distributed.Client(local) as client:
        assert_close_stops_the_workers(store, client.get_executor(pure=False), tmp_path)

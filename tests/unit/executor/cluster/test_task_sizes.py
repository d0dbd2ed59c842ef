"""Into how many tasks a query is cut, by what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb import Cluster, planner
from gdb.base.machine.cores import cores
from gdb.executor.cluster import cluster
from gdb.executor.cluster.cluster import tasks_for
from gdb.executor.cluster.task import Answer, Task, work
from gdb.executor.plan.plan import Plan, Runs
from gdb.records import replace
from tests.support.shared_store import Inline, people


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people(tmp_path_factory.mktemp("cluster"))


@pytest.mark.parametrize(
    ("seconds", "workers", "tasks"),
    [
        (0.1, 4, 1),
        (0.99, 400, 1),
        (2.0, 100, 8),  # of 0.25 s, fewer than there are workers
        (4.0, 4, 16),  # of 0.25 s
        (10.0, 4, 32),  # 8 for each
        (100.0, 4, 100),  # of 1 s
        (3600.0, 4, 128),  # 32 for each
        (1e7, 1000, 8000),  # 8 for each of very many
        (1e7, 200, 4096),
    ],
)
def test_how_many_tasks(seconds: float, workers: int, tasks: int) -> None:
    assert tasks_for(seconds, workers) == tasks


COUNT = "MATCH (a)-->(b)-->(c) RETURN count(*)"


def lasting(seconds: float) -> Callable[[Task], Answer]:
    """Does a task, and says that it took so long."""

    def done(task: Task) -> Answer:
        answer = work(task)
        more = tuple(replace(one, seconds=seconds) for one in answer.more)
        return replace(answer, seconds=seconds, more=more)

    return done


class Said(Inline):
    """Its tasks take as long as is said."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        return super().submit(lasting(self.seconds), *arguments, **options)


def test_tasks_are_sized_by_what_the_last_ones_took(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = Said(30.0)
    with gdb.connect(store, read_only=True) as db:
        on = Cluster(tasks, 4, 2, least=0.0)
        known = db.execute(COUNT, on=on).scalar()
        assert len(tasks.tasks) == 1  # by the estimate
        tasks.tasks.clear()
        tasks.seconds = 0.001
        assert db.execute(COUNT, on=on).scalar() == known
        assert len(tasks.tasks) == tasks_for(30.0, 4) == 32
        tasks.tasks.clear()
        assert db.execute(COUNT, on=on).scalar() == known
        assert len(tasks.tasks) == 1


def test_what_took_little_in_tasks_is_not_sent_again(store: Path) -> None:
    tasks = Said(30.0)
    with gdb.connect(store, read_only=True) as db:
        db.execute(COUNT, on=Cluster(tasks, 4, least=0.0))
        tasks.seconds = 0.001
        tasks.tasks.clear()
        assert db.execute(COUNT, on=Cluster(tasks, 4)).summary.device == "cluster"
        tasks.tasks.clear()
        # here, on the CPU or, where the process has begun with one, on a GPU
        assert db.execute(COUNT, on=Cluster(tasks, 4)).summary.device != "cluster"
    assert not tasks.tasks


def test_what_took_long_here_is_sent(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run on this machine corrects the estimate where no tasks have."""
    tasks, add, sent = Said(30.0), Runs.add, list[float]()

    def noted(seconds: float, workers: int) -> int:
        sent.append(seconds)
        return workers

    monkeypatch.setattr(cluster, "tasks_for", noted)
    with gdb.connect(store, read_only=True) as db:
        assert "not used" in db.explain(COUNT, on=Cluster(tasks, 4))
        monkeypatch.setattr(Runs, "add", lambda runs, device, _: add(runs, device, 7.0))
        db.execute(COUNT)
        assert db.execute(COUNT, on=Cluster(tasks, 4, 2)).summary.device == "cluster"
        assert len(sent) == 1
        assert sent[0] == pytest.approx(7 * cores() / 2)


def test_short_terms_are_sent_in_one_message(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = planner.plan

    def twice(*arguments: Any, **options: Any) -> Plan:
        plan, term = (honest(*arguments, **options) for _ in range(2))
        return replace(plan, terms=((1, term),))

    monkeypatch.setattr(planner, "plan", twice)
    tasks = Inline()
    query = "MATCH (a)-->(b)-->(c), (a)-->(c) RETURN count(*)"
    with gdb.connect(store, read_only=True) as db:
        known = db.execute(query, device="cpu").scalar()
        assert db.execute(query, on=Cluster(tasks, 2, least=0.0)).scalar() == known
    assert tasks.messages == 1
    assert [task.part for task in tasks.tasks] == [0, 1]

"""A store for queries that other processes share, and an executor without any."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdb
from gdb.executor.cluster import cluster
from gdb.executor.cluster.task import Task
from gdb.records import replace

PEOPLE = 400


def people(parent: Path) -> Path:
    """A store with a base, and commits behind it."""
    folder = parent / "people.gdb"
    random = np.random.default_rng(7)
    with gdb.connect(folder) as db:
        ends = random.integers(PEOPLE, size=(4 * PEOPLE, 2)).tolist()
        db.execute(
            "UNWIND range(0, $n - 1) AS k CREATE (:Person {id: k, age: k % 70})", {"n": PEOPLE}
        )
        db.execute(
            "UNWIND $rows AS r MATCH (a:Person {id: r[0]}), (b:Person {id: r[1]}) CREATE (a)-[:KNOWS]->(b)",
            {"rows": ends},
        )
        db.compact()
        db.execute("MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:KNOWS]->(b)")
    return folder


def cut_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have queries cut into four tasks for each worker, also those that are over at once."""
    monkeypatch.setattr(cluster, "tasks_for", lambda seconds, workers: 4 * workers)


class Inline(Executor):
    """Runs what it is given at once, and keeps it. lost : how many of the first messages fail. tasks : also those that
    came in one message. messages : how many."""

    def __init__(self, lost: int = 0) -> None:
        self.tasks: list[Task] = []
        self.lost, self.messages = lost, 0

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        self.messages += 1
        self.tasks += (replace(arguments[0], more=()), *arguments[0].more)
        future: Future[Any] = Future()
        try:
            if self.messages <= self.lost:
                raise MemoryError("killed")
            future.set_result(function(*arguments, **options))
        except Exception as error:
            future.set_exception(error)
        return future

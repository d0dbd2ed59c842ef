"""Pools of processes, forked and spawned, and a few rounds of the campaign."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import gdb
from tests.fork import campaign, jobs
from tests.fork.children import LONGEST


@pytest.fixture
def db(tmp_path: Path) -> Iterator[gdb.Database]:
    with warnings.catch_warnings(), jobs.filled(tmp_path / "people.gdb") as db:
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork() beside threads
        jobs.ask(db)
        yield db


def test_a_forked_pool_works_on_the_parents_database(db: gdb.Database) -> None:
    jobs.opened = db
    with multiprocessing.get_context("fork").Pool(2) as pool:
        labels = [f"Job{k}" for k in range(4)]
        assert pool.map_async(jobs.work_on_opened, labels, 1).get(LONGEST) == labels
    assert [jobs.written(db, label) for label in labels] == [2, 2, 2, 2]
    db.check()


def test_an_executor_of_forked_processes_works_on_the_parents_database(db: gdb.Database) -> None:
    jobs.opened = db
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        labels = [f"Job{k}" for k in range(4)]
        assert list(pool.map(jobs.work_on_opened, labels, timeout=LONGEST)) == labels
    assert [jobs.written(db, label) for label in labels] == [2, 2, 2, 2]


def test_a_spawned_pool_opens_the_store(db: gdb.Database) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        places = [(str(db.path), f"Job{k}") for k in range(2)]
        found = pool.starmap_async(jobs.work_on_path, places, 1).get(2 * LONGEST)
    assert found == [label for _, label in places]
    assert [jobs.written(db, label) for _, label in places] == [2, 2]


@pytest.mark.parametrize("number", [1, 2])
def test_a_round_loses_nothing(number: int, tmp_path: Path) -> None:
    assert campaign.play(number, tmp_path) >= campaign.CHILDREN * (campaign.EACH + 2)

"""Where workers find the store: at a URL, or elsewhere than the caller."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import gdb
from gdb import Cluster, ClusterError
from gdb.executor.cluster import task
from gdb.executor.cluster.task import work
from gdb.records import replace
from tests.support.flaky import Flaky
from tests.support.shared_store import Inline, cut_always, people

QUERIES = (
    "MATCH (a)--(b)--(c), (a)--(c) RETURN count(*)",
    "MATCH (a)-->(b)-->(c) RETURN id(a), id(c)",
    "MATCH (a)-[r]->(b)-[s]->(c) WHERE a.age > b.age RETURN id(r), c.age",
    "MATCH (a)-->(b)-->(c) RETURN count(DISTINCT id(c))",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache of stores at URLs; and several tasks of what is over at once."""
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "cache"))
    cut_always(monkeypatch)


def _cached_in(folder: str) -> None:
    os.environ["GDB_CACHE"] = folder


def test_workers_read_a_url(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have neither the caller's folder nor its cache."""
    url = f"file://{shutil.copytree(store, tmp_path / 'origin')}"
    with gdb.connect(store, read_only=True) as db:
        known = {query: sorted(db.execute(query).fetchall()) for query in QUERIES}
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "here"))
    with (
        ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_cached_in,
            initargs=(str(tmp_path / "there"),),
        ) as workers,
        gdb.connect(url, read_only=True) as db,
    ):
        for query, rows in known.items():
            found = db.execute(query, on=Cluster(workers, 1, least=0.0))
            assert sorted(found.fetchall()) == rows
    assert [*(tmp_path / "there").iterdir()]


def test_workers_find_the_store_elsewhere(store: Path, tmp_path: Path) -> None:
    """In a folder of theirs, or at a URL, while it is open here in a folder that they do not see."""
    copy = shutil.copytree(store, tmp_path / "copy")
    query = "MATCH (a)-->(b)-->(c) RETURN count(*)"
    with gdb.connect(store, read_only=True) as db:
        known = db.execute(query).scalar()
        for place in (str(copy), f"file://{copy}"):
            tasks = Inline()
            on = Cluster(tasks, 2, least=0.0, store=place)
            assert db.execute(query, on=on).scalar() == known
            assert {task.state.location for task in tasks.tasks} == {place}
        shutil.rmtree(copy)  # the copies in the cache are enough
        assert db.execute(query, on=on).scalar() == known


def test_credentials_are_sent_and_not_shown(store: Path) -> None:
    Flaky.begin()
    query, tasks = "MATCH (a)-->(b)-->(c) RETURN count(*)", Inline()
    options = {"token": "s3cret"}
    with gdb.connect(Flaky.upload(store), read_only=True, storage_options=options) as db:
        db.execute(query, on=Cluster(tasks, 2, least=0.0))
    assert tasks.tasks[0].state.options == options
    assert "s3cret" not in repr(tasks.tasks[0])
    assert Flaky.options[-1] == options  # the worker's


def test_a_url_that_a_worker_cannot_read_is_told(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Flaky.begin()
    query, tasks = "MATCH (a)-->(b)-->(c) RETURN count(*)", Inline()
    with gdb.connect(Flaky.upload(store), read_only=True) as db:
        db.execute(query, on=Cluster(tasks, 2, least=0.0))
    gone = replace(tasks.tasks[0].state, location="flaky://elsewhere")
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "empty"))
    task._known.get().snapshots.clear()
    with pytest.raises(ClusterError, match=r"worker on .* is not at flaky://elsewhere any more"):
        work(replace(tasks.tasks[0], state=gone))

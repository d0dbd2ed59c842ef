"""Queries that other processes share."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb import Cluster, ClusterError, planner
from gdb.base import version
from gdb.executor.cluster import cluster, task
from gdb.executor.cluster.task import Answer, Task, work
from gdb.executor.plan.plan import Plan
from gdb.records import replace
from tests.support.shared_store import Inline, cut_always, people


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache of stores at URLs; and several tasks of what is over at once."""
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "cache"))
    cut_always(monkeypatch)


QUERIES = {
    "MATCH (a)-->(b)-->(c) RETURN count(*)": "count",
    "MATCH (a)--(b)--(c), (a)--(c) RETURN count(*)": "count",
    "MATCH DIFFERENT NODES (a)-->(b)-->(c)-->(d) WHERE a.age < 40 RETURN count(*)": "count",
    "MATCH (a)-->(b)-->(c) RETURN id(a), id(c)": "rows",
    "MATCH (a)-[r]->(b)-[s]->(c) WHERE a.age > b.age RETURN id(r), c.age": "rows",
    "MATCH (a)-->(b)-->(c) RETURN count(DISTINCT id(c))": "distinct",
    "MATCH (a)-->(b)-->(c) RETURN DISTINCT id(c)": "distinct",
    "MATCH (a)-->(b)-->(c) RETURN id(a) AS i, count(*) AS n": "",
    "MATCH (a)-->(b) WITH a, count(b) AS n WHERE n > 3 MATCH (a)-->(c) RETURN sum(c.age)": "",
    "MATCH SUBGRAPHS (a)--(b)--(c), (a)--(c) RETURN id(a) + id(b) + id(c)": "rows",
}
FROM_ROWS = [
    "MATCH (a)-->(b) WHERE EXISTS { (b)-->(c)-->(a) } RETURN count(*)",
    "MATCH (a)-->(b) WHERE (b)-->()-->(a) RETURN count(*)",
    "MATCH (a)-->(b) WHERE COUNT { (b)-->()-->(a) } > 0 RETURN count(*)",
    "MATCH (a)--(b) WHERE EXISTS { MATCH (a)--(c)--(b) WHERE c.age > a.age } RETURN count(*)",
    "MATCH (a)-->(b) RETURN size([(a)--(b)--(c) | c.age]) AS n, count(*)",
    "MATCH (a)-->(b) WITH a, b MATCH (a)-->(c)-->(b) RETURN count(*)",
]  # the inner pattern binds two nodes of each row


@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_is_the_same(store: Path, query: str) -> None:
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        known = sorted(db.execute(query, device="cpu").fetchall())
        found = db.execute(query, on=Cluster(tasks, 3, least=0.0))
        assert sorted(found.fetchall()) == known
        assert {task.what for task in tasks.tasks} <= {"count", "rows", "distinct", "tallies"}
        if QUERIES[query]:
            assert QUERIES[query] in {task.what for task in tasks.tasks}
            assert found.summary.device == "cluster"
            assert len(tasks.tasks) >= 3


@pytest.mark.parametrize("query", FROM_ROWS)
@pytest.mark.filterwarnings("error")  # no part of it is for another way
def test_what_begins_at_rows_runs_here(store: Path, query: str) -> None:
    """Rows are in this process only: the pattern before them is shared, the one that begins at them is not."""
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        known = sorted(db.execute(query, device="cpu").fetchall())
        on = Cluster(tasks, 3, least=0.0)
        assert sorted(db.execute(query, on=on).fetchall()) == known
        with db.stream(query, on=on) as stream:
            assert sorted(tuple(row) for row in stream) == known
    assert tasks.tasks


@pytest.mark.parametrize("query", list(QUERIES)[:6])
def test_other_processes_do_it(store: Path, pool: ProcessPoolExecutor, query: str) -> None:
    with gdb.connect(store, read_only=True) as db:
        known = sorted(db.execute(query).fetchall())
        assert sorted(db.execute(query, on=Cluster(pool, 2, least=0.0)).fetchall()) == known


def test_parameters_are_sent(store: Path) -> None:
    query = "MATCH (a)-->(b)-->(c) WHERE a.age < $age RETURN count(*)"
    tasks = Inline()
    on = Cluster(tasks, 3, least=0.0)
    with gdb.connect(store, read_only=True) as db:
        for age in (10, 50, 30):
            known = db.execute(query, {"age": age}).scalar()
            assert db.execute(query, {"age": age}, on=on).scalar() == known
    assert any(task.bindings is not None for task in tasks.tasks)


def test_rows_are_streamed(store: Path) -> None:
    query = "MATCH (a)-->(b)-->(c) RETURN id(a), id(c)"
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        known = sorted(db.execute(query).fetchall())
        with db.stream(query, on=Cluster(tasks, 3, least=0.0)) as stream:
            assert sorted(tuple(row) for row in stream) == known
    assert tasks.tasks


def test_every_root_is_in_one_task(store: Path) -> None:
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        db.execute("MATCH (a)-->(b)-->(c) RETURN count(*)", on=Cluster(tasks, 5, least=0.0))
    ranges = sorted(task.roots for task in tasks.tasks)
    assert ranges[0][0] == 0
    assert all(end == start for (_, end), (start, _) in pairwise(ranges))


def test_a_short_query_stays_here(store: Path) -> None:
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        found = db.execute("MATCH (a)-->(b) RETURN count(*)", on=tasks)
        assert found.summary.device == "cpu"
    assert not tasks.tasks


def test_a_limit_stays_here(store: Path) -> None:
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        on = Cluster(tasks, 2, least=0.0)
        assert len(db.execute("MATCH (a)-->(b) RETURN id(a) LIMIT 5", on=on)) == 5
    assert not tasks.tasks


def test_all_tasks_see_one_version(store: Path, tmp_path: Path) -> None:
    """Also what is compacted, and its files replaced, between two of them."""
    copy = tmp_path / "copy.gdb"
    with gdb.connect(store, read_only=True) as db:
        db.backup(copy)

    class Meanwhile(Inline):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            with gdb.connect(copy) as other:
                other.execute(
                    "MATCH (a:Person {id: 5}) DETACH DELETE a CREATE (:Person {id: 1000})"
                )
                other.compact()
            task._known.get().snapshots.clear()
            return super().submit(function, *arguments, **options)

    query = "MATCH (a)-->(b)-->(c) RETURN count(*)"
    with gdb.connect(copy, read_only=True) as db, db.snapshot() as held:
        known = held.execute(query).scalar()
        tasks = Meanwhile()
        assert held.execute(query, on=Cluster(tasks, 3, least=0.0)).scalar() == known
        assert len(tasks.tasks) >= 3
        assert db.execute(query).scalar() != known


# ---- what is given back ---------------------------------------------------------------------------------------


def test_a_task_that_takes_too_long_gives_back_the_rest(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what is left below one root; who goes on with it gives back in turn."""
    monkeypatch.setattr("gdb.executor.cpu.launch.STEPS", 20)
    answers: list[Answer] = []

    def patient(task: Task) -> Answer:
        """It has some launches' patience, and more when there were many."""
        patience = 1e-3 * 1.05 ** len(answers)
        more = tuple(replace(one, patience=patience) for one in task.more)
        answer = work(replace(task, patience=patience, more=more))
        answers.extend((answer, *answer.more))
        return answer

    class Given(Inline):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            return super().submit(patient, *arguments, **options)

    query = "MATCH (a)-->(b)-->(c) RETURN count(*)"
    with gdb.connect(store, read_only=True) as db:
        known = db.execute(query).scalar()
        tasks = Given()
        found = db.execute(query, on=Cluster(tasks, 2, threads=2, least=0.0))
        assert found.scalar() == known
    given = [place for answer in answers for place in answer.rest]
    assert any(place.depth > 0 for place in given)
    assert sum(answer.count for answer in answers) == known


# ---- faults ---------------------------------------------------------------------------------------------------


def test_a_worker_that_fails_is_told(store: Path) -> None:
    with gdb.connect(store, read_only=True) as db, pytest.raises(ClusterError, match="killed"):
        db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(Inline(1), 2, least=0.0))


def test_a_process_that_is_killed_is_told(store: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        process = pool.submit(os.getpid).result()
        os.kill(process, signal.SIGKILL)
        with gdb.connect(store, read_only=True) as db, pytest.raises(ClusterError):
            db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(pool, 1, least=0.0))


def test_another_version_is_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(tasks, 2, least=0.0))
    monkeypatch.setattr(version, "installed_version", lambda: "0.0.1")
    with pytest.raises(ClusterError, match=r"has gdb 0\.0\.1"):
        work(tasks.tasks[0])


def test_a_store_that_is_not_there_is_told(store: Path, tmp_path: Path) -> None:
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(tasks, 2, least=0.0))
    task = tasks.tasks[0]
    gone = replace(task, state=replace(task.state, location=str(tmp_path / "no")))
    with pytest.raises(ClusterError, match="cannot read the store"):
        work(gone)


def test_a_full_disk_is_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a worker that keeps in temporary files what has no room in its budget."""
    tasks = Inline()
    with gdb.connect(store, read_only=True) as db:
        db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(tasks, 2, least=0.0))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(task, "between", full)
    with pytest.raises(ClusterError, match=r"(?s)could not do its task: .*No space.*TMPDIR"):
        work(tasks.tasks[0])


class Deserted(Inline):
    """A Dask client's executor whose workers have all died."""

    def __init__(self) -> None:
        super().__init__()
        self._client = self
        self.workers: dict[str, object] = {}

    def scheduler_info(self, n_workers: int) -> dict[str, object]:
        return {"workers": self.workers}

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        return Future()  # which waits for a worker


def test_a_cluster_without_workers_is_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has had none for a while; while there are some, a task may take as long as it takes."""
    monkeypatch.setattr(cluster, "DESERTED", 0.2)
    text, tasks = "MATCH (a)-->(b) RETURN count(*)", Deserted()
    with gdb.connect(store, read_only=True) as db:
        with pytest.raises(ClusterError, match="no workers for"):
            db.execute(text, on=Cluster(tasks, 2, least=0.0), timeout=60)
        tasks.workers["one"] = object()
        with pytest.raises(gdb.QueryTimeout):
            db.execute(text, on=Cluster(tasks, 2, least=0.0), timeout=1)


class Client(Inline):
    """A client of Dask and its executor. status, asynchronous : as Dask's; fails : what its methods raise."""

    def __init__(self, status: str = "running", asynchronous: bool = False) -> None:
        super().__init__()
        self._client, self.status, self.asynchronous = self, status, asynchronous
        self.fails: Exception | None = None

    def get_executor(self, *, pure: bool) -> Client:
        return self

    def scheduler_info(self, n_workers: int) -> dict[str, object]:
        if self.fails is not None:
            raise self.fails
        return {"workers": {"one": {"nthreads": 2}}}

    def run(self, function: object, *arguments: object, on_error: str) -> None:
        pass

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        if self.fails is not None:
            raise self.fails
        options.pop("key")
        return super().submit(function, *arguments, **options)


def test_a_cluster_takes_a_client_of_dask(store: Path) -> None:
    client = Client()
    with gdb.connect(store, read_only=True) as db:
        on = Cluster(client, 2, least=0.0)
        assert db.execute("MATCH (a)-->(b) RETURN count(*)", on=on).scalar() == 1601
        assert client.tasks
        assert cluster.cluster_of(client).workers == 2


@pytest.mark.parametrize("status", ["closing", "closed"])
def test_a_client_that_is_closed(store: Path, status: str) -> None:
    client = Client()
    on = Cluster(client, 2, least=0.0)
    client.status, client.fails = status, RuntimeError("IOLoop is closed")
    with gdb.connect(store, read_only=True) as db:
        for where in (client, on):
            with pytest.raises(ClusterError, match="The Dask client is closed"):
                db.execute("MATCH (a)-->(b) RETURN count(*)", on=where)
    with pytest.raises(ClusterError, match="The Dask client is closed"):
        Cluster(client, 2)


def test_a_client_that_is_asynchronous_or_without_a_scheduler(store: Path) -> None:
    with gdb.connect(store, read_only=True) as db:
        with pytest.raises(ClusterError, match="is asynchronous"):
            db.execute("MATCH (a)-->(b) RETURN count(*)", on=Client(asynchronous=True))
        client = Client()
        client.fails = KeyError("workers")
        with pytest.raises(ClusterError, match=r"scheduler .* cannot be reached: KeyError"):
            db.execute("MATCH (a)-->(b) RETURN count(*)", on=client)


@pytest.mark.parametrize("closed", [False, True])
def test_an_executor_that_is_shut_down_meanwhile(store: Path, closed: bool) -> None:
    """Dask, or a pool, cancels the tasks then."""

    class Cancels(Client):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            self.status = "closed" if closed else "running"
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    told = "The Dask client is closed" if closed else "has cancelled tasks of the query"
    with gdb.connect(store, read_only=True) as db, pytest.raises(ClusterError, match=told):
        db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(Cancels(), 2, least=0.0))


def test_a_graph_in_memory_cannot_be_sent() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:A)-[:R]->(:A), (:A)-[:R]->(:A)")
        with pytest.raises(ClusterError, match="not committed to a disk"):
            db.execute("MATCH (a)-->(b) RETURN count(*)", on=Cluster(Inline(), 2, least=0.0))


def test_what_is_no_executor_is_refused(store: Path) -> None:
    with gdb.connect(store, read_only=True) as db, pytest.raises(ClusterError, match="not str"):
        db.execute("MATCH (a) RETURN count(*)", on="dask")


def test_a_timeout_ends_it(store: Path) -> None:
    go_on = threading.Event()

    def slow(task: Task) -> Answer:
        go_on.wait(60.0)
        return work(task)

    class Slow(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            return super().submit(slow, *arguments, **options)

    with gdb.connect(store, read_only=True) as db, Slow(1) as pool:
        on = Cluster(pool, 1, least=0.0)
        with pytest.raises(gdb.QueryTimeout):
            db.execute("MATCH (a)-->(b) RETURN count(*)", timeout=0.2, on=on)
        go_on.set()  # it did not wait for the task


# ---- parts ----------------------------------------------------------------------------------------------------


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each count has a term that is the same count."""
    honest = planner.plan

    def twice(*arguments: Any, **options: Any) -> Plan:
        plan, term = (honest(*arguments, **options) for _ in range(2))
        return replace(plan, terms=((1, term),))

    monkeypatch.setattr(planner, "plan", twice)


@pytest.mark.usefixtures("twice")
def test_terms_are_sent_together(store: Path) -> None:
    """A count that other patterns are added to has the tasks of all of them in one queue."""
    query = "MATCH (a)-->(b)-->(c), (a)-->(c) RETURN count(*)"
    sent: list[Future[Answer]] = []

    class Later(Inline):
        """Does nothing before it has tasks of two parts."""

        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            self.tasks.append(arguments[0])
            sent.append(Future())
            if len({task.part for task in self.tasks}) > 1:
                for task, future in zip(self.tasks, sent, strict=True):
                    if not future.done():
                        future.set_result(function(task))
            return sent[-1]

    tasks = Later()
    with gdb.connect(store, read_only=True) as db:
        known = db.execute(query, device="cpu").scalar()
        on = Cluster(tasks, 2, least=0.0)
        assert db.execute(query, on=on, timeout=60).scalar() == known
    assert len({task.part for task in tasks.tasks}) > 1


def test_dask_shares_it(store: Path) -> None:
    distributed = pytest.importorskip("distributed")
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with local, distributed.Client(local) as client, gdb.connect(store, read_only=True) as db:
        for query in list(QUERIES)[:4]:
            known = sorted(db.execute(query).fetchall())
            on = cluster.cluster_of(client, 0.0)
            assert on.workers == 2
            assert sorted(db.execute(query, on=on).fetchall()) == known
        assert db.execute(query, on=client, device="cpu").summary.device == "cpu"
        with gdb.connect(f"file://{store}", read_only=True) as far:  # as without a shared disk
            assert sorted(far.execute(query, on=on).fetchall()) == known


def test_explain_says_who_works(store: Path) -> None:
    query = "MATCH (a)-->(b)-->(c) RETURN count(*)"
    with gdb.connect(store, read_only=True) as db:
        assert "cluster: not used" in db.explain(query, on=Inline())
        assert "cluster: 7 workers" in db.explain(query, on=Cluster(Inline(), 7, least=0.0))
        assert "cluster" not in db.explain(query)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"workers": 0}, "workers= takes a whole number from 1, not 0"),
        ({"workers": "x"}, "workers= takes"),
        ({"workers": 2, "threads": "x"}, "threads= takes"),
        ({"workers": 2, "threads": 0}, "threads= takes"),
        ({"workers": 2, "least": "x"}, "least= takes seconds"),
        ({"workers": 2, "least": float("nan")}, "least= takes seconds"),
        ({"workers": 2, "least": -1}, "least= takes seconds"),
        ({"workers": 2, "store": 5}, "store= takes a folder or a URL as a text, not 5"),
        ({"workers": 2, "executor": "x"}, "executor= takes an executor, not str"),
        ({"workers": 2, "executor": None}, "executor= takes an executor, not NoneType"),
    ],
)
def test_what_is_no_cluster(given: dict[str, Any], says: str) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(ClusterError, match=says):
        Cluster(**{"executor": pool, **given})

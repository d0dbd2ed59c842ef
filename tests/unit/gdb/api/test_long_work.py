"""Long work through the public face: timeout, interrupt, Ctrl-C, budget, threads."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb import Database, errors
from gdb.executor.work import scheduler


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A graph on which `LONG` takes hours."""
    file = tmp_path_factory.mktemp("heavy") / "edges.txt"
    with file.open("w") as out:
        for u in range(300):
            for step in range(1, 60):
                out.write(f"{u} {(u * 7 + step * step) % 300}\n")
    with gdb.connect() as db:
        db.load(file, type="E")
        db.execute("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)")  # the kernel is compiled now
        yield db


HANGS = 120  # seconds after which a query that nothing stopped fails its test
LONG = (
    "MATCH DIFFERENT NODES (a)-->(b)-->(c)-->(d)-->(e)-->(f)-->(a), (a)-->(c), (b)-->(d), (c)-->(e), (d)-->(f), "
    "(a)--(g)--(h)--(d) RETURN count(*)"
)


def test_a_timeout_ends_the_query(heavy: Database) -> None:
    with pytest.raises(errors.QueryTimeout, match=r"its timeout of 0\.3 s"):
        heavy.execute(LONG, timeout=0.3)


def test_interrupt_ends_the_query_of_another_thread(heavy: Database) -> None:
    threading.Timer(0.3, heavy.interrupt).start()
    with pytest.raises(errors.Cancelled):
        heavy.execute(LONG, timeout=HANGS)
    assert heavy.execute("MATCH (a) RETURN count(*)").scalar() == 300


def test_ctrl_c_cancels_the_query_and_nothing_goes_on_running(heavy: Database) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(errors.Cancelled):
        heavy.execute(LONG, timeout=HANGS)
    assert not [t.name for t in threading.enumerate() if t.name.startswith("gdb-work")]
    pool = scheduler.helpers_of_all()  # its threads stay for the next query, but none is at work
    together = threading.Barrier(pool._max_workers, timeout=10)
    for arrived in [pool.submit(together.wait) for _ in range(pool._max_workers)]:
        arrived.result(10)


def test_ctrl_c_cancels_the_relational_part(heavy: Database) -> None:
    text = (
        "MATCH DIFFERENT NODES (a)-->(b)-->(c) "
        "RETURN id(a), collect(DISTINCT id(b) * id(c) + id(a)), size(collect(id(b))) AS n ORDER BY n"
    )
    heavy.execute(text)  # the second time, most of it is DuckDB's
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    def again() -> None:
        for _ in range(HANGS):
            heavy.execute(text)

    with pytest.raises(errors.Cancelled):
        again()
    assert heavy.execute("MATCH (a) RETURN count(*)").scalar() == 300


def test_ctrl_c_cancels_rows(heavy: Database) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(errors.Cancelled):
        heavy.execute(LONG.replace("count(*)", "sum(id(a) + id(h))"), timeout=HANGS)


def test_close_ends_what_runs(files: Path, heavy: Database) -> None:
    source = next(iter(files.glob("edges.txt")))
    db = gdb.connect()
    db.load(source, type="E")
    outcome: list[str] = []

    def ask() -> None:
        try:
            while True:
                db.execute("MATCH (a)-->(b) RETURN count(*)")
        except (errors.Cancelled, errors.ClosedError) as error:
            outcome.append(error.code)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.1)
    db.close()
    thread.join(10)
    assert outcome
    assert outcome[0] in ("CANCELLED", "CLOSED")


def test_too_little_memory_is_told(heavy: Database) -> None:
    with pytest.raises(errors.OutOfBudget):
        heavy.execute("MATCH (a)-->(b)-->(c)-->(d) RETURN a, b, c, d", memory="1MB")


def test_threads_ask_at_once(db: Database) -> None:
    questions = {
        "MATCH (a)-[:KNOWS]->(b) RETURN count(*)": [(4,)],
        "MATCH (a)-[:LIKES]->(b) RETURN a.name": [("Dan",)],
        "MATCH (a) RETURN max(a.age)": [(41,)],
    }
    wrong: list[object] = []

    def ask(text: str) -> None:
        for _ in range(5):
            found = db.execute(text).fetchall()
            if found != questions[text]:
                wrong.append(found)

    threads = [threading.Thread(target=ask, args=(text,)) for text in questions for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

"""`close` in a function that a query or an import calls: that is cancelled, and the store is closed when it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import gdb
from gdb.api.running_work import Work
from gdb.errors import Cancelled, ClosedError
from gdb.run.interrupt import Cancel
from tests.unit.gdb.api.test_threads_of_writers import HANGS, in_thread


@pytest.fixture(params=["disk", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> gdb.Database:
    made = gdb.connect(tmp_path / "s.gdb" if request.param == "disk" else None)
    made.execute("CREATE (:N)")
    return made


def is_closed(db: gdb.Database) -> None:
    assert db._store.closed
    assert not db._work._running
    with pytest.raises(ClosedError):
        db.execute("RETURN 1")
    in_thread(db.close)  # again


def closing(db: gdb.Database) -> Callable[[], list[tuple[int]]]:
    def procedure() -> list[tuple[int]]:
        db.close()
        assert not db._store.closed
        return [(1,)]

    db.register_procedure("t.closes() :: (x :: INTEGER)", procedure)
    return procedure


@pytest.mark.parametrize(
    "text", ["CALL t.closes() YIELD x RETURN x", "CALL t.closes() YIELD x CREATE (:N)"]
)
@pytest.mark.parametrize("way", ["execute", "stream", "transaction"])
def test_in_a_procedure(db: gdb.Database, text: str, way: str) -> None:
    closing(db)

    def work() -> object:
        if way == "execute":
            return db.execute(text, timeout=HANGS)
        if way == "stream":
            return list(db.stream(text))
        with db.transaction() as tx:
            return tx.execute(text)

    with pytest.raises((Cancelled, ClosedError)):
        in_thread(work)
    is_closed(db)


def test_in_a_signal_handler(db: gdb.Database) -> None:
    """As that of SIGTERM; the query runs in the main thread."""

    def handler(number: int, frame: FrameType | None) -> None:
        db.close()

    db.register_procedure(
        "t.terminated() :: (x :: INTEGER?)", lambda: [(signal.raise_signal(signal.SIGTERM),)]
    )
    before = signal.signal(signal.SIGTERM, handler)
    watchdog = threading.Timer(HANGS, signal.pthread_kill, (threading.get_ident(), signal.SIGABRT))
    watchdog.start()
    try:
        with pytest.raises(Cancelled):
            db.execute("UNWIND range(1, 1000000) AS i CALL t.terminated() YIELD x RETURN x, i")
    finally:
        signal.signal(signal.SIGTERM, before)
        watchdog.cancel()
    is_closed(db)


@pytest.mark.parametrize("where", ["progress", "source"])
def test_in_what_an_import_calls(db: gdb.Database, where: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "e.txt"
    path.write_text("1 2\n" * 1000)

    def batches() -> Iterator[object]:
        db.close()
        yield pa.record_batch({"id": [1]})

    def load() -> Any:
        if where == "progress":
            return db.load(path, type="E", progress=lambda _: db.close())
        reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
        return db.load(nodes={"N": reader}, progress=lambda _: None)

    with pytest.raises(Cancelled):
        in_thread(load)
    is_closed(db)


def test_it_waits_for_other_threads() -> None:
    work, other, begun, released = Work(), Cancel(), threading.Event(), threading.Event()
    ended = list[str]()

    def runs() -> None:
        begun.set()
        released.wait(HANGS)
        ended.append("other")

    thread = threading.Thread(target=lambda: work.do(runs, other))
    thread.start()
    begun.wait(HANGS)
    threading.Timer(0.1, released.set).start()

    def closes() -> None:
        work.close(lambda: ended.append("closed"))
        ended.append("own")

    in_thread(lambda: work.do(closes))
    thread.join()
    assert ended == ["other", "own", "closed"]

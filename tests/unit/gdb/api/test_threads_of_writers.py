"""Whose turn it is to write: a transaction that ends in another thread, or never, and writes that would wait for
themselves."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.api.transaction import Transaction
from gdb.errors import ChangeRefused, ClosedError, ImportFailed, QueryTimeout

HANGS = 60  # seconds after which a thread hangs


@pytest.fixture(params=["disk", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> gdb.Database:
    return gdb.connect(tmp_path / "s.gdb" if request.param == "disk" else None)


def in_thread(work: Callable[[], Any]) -> Any:
    """What some work gives or raises in a thread of its own, which is a daemon: one that hangs fails the test."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((True, work()))
        except BaseException as error:
            found.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANGS)
    assert found, "it hangs"
    ok, value = found.pop()
    if not ok:
        raise value
    return value


def write(db: gdb.Database) -> None:
    in_thread(lambda: db.execute("CREATE (:M)"))


def begun(db: gdb.Database) -> Transaction:
    tx = db.transaction().__enter__()
    tx.execute("CREATE (:N)")
    return tx


# ---- transactions --------------------------------------------------------------------------------


def test_a_block_that_ends_in_another_thread_commits_nothing(db: gdb.Database) -> None:
    tx = begun(db)
    with pytest.raises(ClosedError, match="in another thread than began it: nothing is committed"):
        in_thread(lambda: tx.__exit__(None, None, None))
    tx.execute("CREATE (:N)")  # it is open in its own thread
    tx.rollback()
    write(db)
    assert db.stats().vertices == 1


def test_an_error_that_ends_the_block_in_another_thread_drops_it(db: gdb.Database) -> None:
    tx = begun(db)
    in_thread(lambda: tx.__exit__(ValueError, ValueError(), None))
    write(db)
    with pytest.raises(ClosedError, match="not open"):
        tx.execute("CREATE (:N)")
    assert db.stats().vertices == 1


def test_a_generator_that_goes_on_in_another_thread(db: gdb.Database) -> None:
    """As the dependency of a web framework, which runs its beginning and its end in threads of a pool."""

    def dependency() -> Iterator[object]:
        with db.transaction() as tx:
            tx.execute("CREATE (:N)")
            yield tx

    inside = dependency()
    released = threading.Event()

    def begin() -> None:
        next(inside)
        entered.set()
        released.wait(HANGS)  # a thread of a pool lives on

    entered = threading.Event()
    pool = threading.Thread(target=begin, daemon=True)
    pool.start()
    entered.wait(HANGS)
    with pytest.raises(ClosedError):
        in_thread(lambda: next(inside))
    gc.collect()  # the frames of the error
    write(db)
    assert db.stats().vertices == 1
    released.set()
    pool.join()


def test_a_thread_that_ends_leaves_the_turn_to_others(db: gdb.Database) -> None:
    left = [in_thread(lambda: begun(db))]
    write(db)
    assert not db._store.writes_here
    with pytest.raises(ClosedError):
        in_thread(lambda: left[0].__exit__(None, None, None))
    with db.transaction() as other:
        other.execute("CREATE (:N)")
        left.clear()  # ends no turn but its own
        with pytest.raises(QueryTimeout):
            in_thread(lambda: db.execute("CREATE (:M)", timeout=0.1))
    assert db.stats().vertices == 2
    db.check()


def test_a_transaction_that_is_forgotten_is_dropped(db: gdb.Database) -> None:
    begun(db)
    write(db)
    assert db.stats().vertices == 1


# ---- writes inside of writes -----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["CREATE (:M) RETURN 1", "CREATE (:M)", "COPY FROM '{}'"])
def test_a_stream_that_writes_inside_a_transaction_is_refused(
    db: gdb.Database, text: str, tmp_path: Path
) -> None:
    (tmp_path / "e.txt").write_text("1 2\n")

    def work() -> None:
        with db.transaction() as tx:
            with pytest.raises(ChangeRefused, match="A transaction of this thread is open"):
                list(db.stream(text.format(tmp_path / "e.txt")))
            assert list(db.stream("MATCH (n) RETURN n")) == []
            tx.execute("CREATE (:N)")

    in_thread(work)
    assert db.stats().vertices == 1


@pytest.mark.parametrize("kind", ["nodes", "edges"])
def test_a_source_that_writes_while_it_is_loaded_is_refused(db: gdb.Database, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    raised: list[BaseException] = []

    def batches() -> Iterator[Any]:
        for k in range(3):
            for write in (
                lambda: db.execute("CREATE (:M)"),
                lambda: list(db.stream("CREATE (:M)")),
                lambda: db.transaction().__enter__(),
                db.compact,
            ):
                try:
                    write()
                except ChangeRefused as error:
                    raised.append(error)
            assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0
            yield pa.record_batch({"start": [k], "end": [k + 1]})

    schema = pa.schema([("start", pa.int64()), ("end", pa.int64())])
    if kind == "nodes":
        schema = schema.set(0, pa.field("id", pa.int64()))

    def load() -> object:
        made = (batch.rename_columns(schema.names) for batch in batches())
        reader = pa.RecordBatchReader.from_batches(schema, made)
        if kind == "nodes":
            return db.load(nodes={"N": reader})
        return db.load(edges={"E": reader}, missing_ends="create")

    report = in_thread(load)
    assert len(raised) == 12
    assert (report.vertices, report.edges) == ((3, 0) if kind == "nodes" else (4, 3))


def test_the_reason_is_in_the_error_of_the_import(db: gdb.Database) -> None:
    pa = pytest.importorskip("pyarrow")

    def batches() -> Iterator[object]:
        db.execute("CREATE (:M)")
        yield pa.record_batch({"id": [1]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    with pytest.raises(ImportFailed, match="A transaction of this thread is open"):
        in_thread(lambda: db.load(nodes={"N": reader}))
    assert db.stats().vertices == 0
    write(db)


def test_a_query_that_waits_too_long_for_another_writer_says_so(db: gdb.Database) -> None:
    with db.transaction() as tx:
        with pytest.raises(
            QueryTimeout,
            match=r"has waited 0\.\d+ s for the transaction of another thread, and has not begun",
        ):
            in_thread(lambda: db.execute("CREATE (:M)", timeout=0.2))
        tx.execute("CREATE (:N)")
    assert db.stats().vertices == 1

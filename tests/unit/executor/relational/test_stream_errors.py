"""Errors that DuckDB raises while its answer is streamed: nanoarrow raises them as its own, and they become ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import duckdb
import nanoarrow as na
import pytest

import gdb
from gdb.base.budget import Budget
from gdb.errors import (
    ArgumentProblem,
    ArithmeticProblem,
    Cancelled,
    GdbError,
    InternalError,
    OutOfBudget,
    QueryTimeout,
    RunError,
    TypeProblem,
)
from gdb.executor.relational import relational
from gdb.executor.relational.arrow import Array, ArrowStream
from gdb.storage.disk.duckdb_engine import stream_errors

ROWS = "SELECT i FROM range(3000000) t(i)"
Answer = Callable[[threading.Event, float | None], object]


def of_query(cancel: threading.Event, deadline: float | None) -> object:
    return relational.query({}, ROWS, {}, cancel=cancel, deadline=deadline)


def of_session(cancel: threading.Event, deadline: float | None) -> object:
    with relational.Session(None, cancel, deadline) as session:
        return session.answer(ROWS, {})


ANSWERS = pytest.mark.parametrize("answer", [of_query, of_session])


def failing(text: str) -> Callable[[ArrowStream, object], Array]:
    def read(_: ArrowStream, budget: object) -> Array:
        raise RuntimeError(f"ArrowArrayStream::get_next() failed (5): {text}")

    return read


@ANSWERS
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTERRUPT Error: Interrupted!", Cancelled),
        ("Out of Memory Error: failed to allocate data of size 16.0 MiB", OutOfBudget),
        ("Out of Range Error: Overflow in multiplication of INT64", ArithmeticProblem),
        ("Conversion Error: Could not convert string 'x' to INT32\n\nLINE 1: ...", TypeProblem),
        ("Invalid Input Error: no such thing", ArgumentProblem),
        ("IO Error: No space left on device", RunError),
        ("Some Odd Error: what", InternalError),
    ],
)
def test_each_error_of_a_stream_is_ours(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, text: str, expected: type[GdbError]
) -> None:
    monkeypatch.setattr(relational, "read_stream", failing(text))
    cancel = threading.Event()
    if expected is Cancelled:
        cancel.set()
    with pytest.raises(GdbError) as raised:
        answer(cancel, None)
    assert type(raised.value) is expected
    assert "LINE 1" not in str(raised.value)


def test_what_is_not_duckdbs_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relational, "read_stream", failing("the stream was released"))
    with pytest.raises(RuntimeError, match="was released"):
        of_query(threading.Event(), None)


@ANSWERS
@pytest.mark.parametrize("why", ["cancelled", "late"])
def test_a_stream_that_is_interrupted_halfway(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, why: str
) -> None:
    """Its first rows were read: DuckDB itself raises nothing any more, its stream does."""
    cancel, interrupted = threading.Event(), threading.Event()
    deadline = None if why == "cancelled" else time.monotonic() + 0.5
    stoppable = relational._stoppable

    def noted(work: object, interrupt: Callable[[], None], *rest: object) -> object:
        def noting() -> None:
            interrupt()
            interrupted.set()

        return stoppable(work, noting, *rest)  # type: ignore[arg-type]

    def read(source: ArrowStream, budget: object) -> Array:
        chunks = iter(na.ArrayStream(source))
        first = next(chunks)
        if deadline is None:
            cancel.set()
        assert interrupted.wait(30)
        for _ in chunks:
            pass
        return first

    monkeypatch.setattr(relational, "_stoppable", noted)
    monkeypatch.setattr(relational, "read_stream", read)
    with pytest.raises(QueryTimeout if deadline else Cancelled):
        answer(cancel, deadline)


def test_duckdbs_own_errors_pass() -> None:
    with pytest.raises(duckdb.IOException), stream_errors():
        raise duckdb.IOException("IO Error: x")


def test_a_database_that_is_closed_while_duckdb_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    reached, raised, read = threading.Event(), list[BaseException](), relational._read

    def noted(relation: duckdb.DuckDBPyRelation, budget: Budget) -> Array:
        reached.set()
        return read(relation, budget)

    monkeypatch.setattr(relational, "_read", noted)
    db = gdb.connect()
    db.execute("UNWIND range(1, 20000) AS i CREATE (:P {x: i})")

    def work() -> None:
        query = "MATCH (a:P) WITH a.x AS x ORDER BY x MATCH (b:P) RETURN x, sum(x * b.x) AS s ORDER BY s"
        try:
            db.execute(query)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert reached.wait(60)
    db.close()
    thread.join(60)
    assert [type(error) for error in raised] == [Cancelled]

"""Streams: the rows of `execute`, handed out as they are found."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import NoReturn

import numpy as np
import pyarrow
import pytest

import gdb
from gdb import limits
from gdb.errors import (
    ArithmeticProblem,
    Cancelled,
    ClosedError,
    LimitExceeded,
    QueryTimeout,
    SyntaxProblem,
    TypeProblem,
)
from gdb.run import pipeline
from gdb.run.stream import Pipe

WIDE = 2000  # nodes on each side: WIDE * WIDE rows of one pattern, more than any memory of two
BOTH = "MATCH (a:L)-[:T]->(b:R), (c:L)-[:T]->(d:R) RETURN id(a), id(b), id(c), id(d)"


@pytest.fixture(scope="module")
def wide() -> Iterator[gdb.Database]:
    """Every node of L is joined with every node of R: 4 million relationships, 16e12 rows of `BOTH`."""
    with gdb.connect() as db:
        left, right = np.arange(WIDE), np.arange(WIDE, 2 * WIDE)
        with db.transaction() as tx:
            tx.add_nodes("L", left, {"x": left})
            tx.add_nodes("R", right, {"x": right})
            tx.add_relationships("T", np.repeat(left, WIDE), np.tile(right, WIDE))
        yield db


@pytest.fixture
def small() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute(
            "UNWIND range(1, 60) AS k CREATE (a:P {x: k, name: 'n' + toString(k)})-[:K {w: k}]->(b:Q {x: k % 7})"
            "-[:K]->(a)"
        )
        yield db


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[r:K]->(b) RETURN a, r, b",
        "MATCH (a:P)-->(b) RETURN a.name, b.x",
        "MATCH (a:P)-->(b)-->(c) WHERE a.x + b.x > 20 RETURN a.x * 2 AS twice, b.x",
        "MATCH (a:P)-->(b) RETURN a.x ORDER BY a.x DESC SKIP 3 LIMIT 5",
        "MATCH (a:P)-->(b) RETURN b.x, count(*) AS n",
        "MATCH (a:P)-->(b) RETURN DISTINCT b",
        "MATCH (a:P) WITH a.x AS x WHERE x < 9 UNWIND [x, x] AS y RETURN y",
        "MATCH (a:P) WHERE a.x > 1000 RETURN a",
        "RETURN 1 AS one",
        "EXPLAIN MATCH (a:P) RETURN a.x",
    ],
)
def test_the_rows_of_execute(small: gdb.Database, query: str) -> None:
    expected = small.execute(query)
    for _ in range(2):  # the second time the statement is kept
        stream = small.stream(query)
        assert stream.columns == expected.columns
        assert sorted(map(repr, stream)) == sorted(map(repr, expected))
        assert stream.summary is not None
        assert stream.summary.rows == len(expected)


def test_parameters_of_a_kept_statement(small: gdb.Database) -> None:
    query = "MATCH (a:P) WHERE a.x <= $most RETURN a.x"
    for most in (3, 5, 4):
        assert sorted(small.stream(query, {"most": most})) == [(k + 1,) for k in range(most)]


@pytest.mark.parametrize("limit", [0, 1, 7, 70_000])
def test_a_limit_ends_it(wide: gdb.Database, limit: int) -> None:
    assert sum(1 for _ in wide.stream(f"{BOTH} LIMIT {limit}")) == limit


def test_a_limit_after_a_filter_is_one_of_the_whole(wide: gdb.Database) -> None:
    query = "MATCH (a:L)-->(b:R) WHERE a.x * 1.5 + b.x > 2500 RETURN a.x, b.x LIMIT 5"
    assert len(list(wide.stream(query))) == 5


def test_more_rows_than_memory_could_hold(wide: gdb.Database) -> None:
    with wide.stream(BOTH) as stream:
        batches = stream.batches(1000)
        seen = [pyarrow.record_batch(next(batches)) for _ in range(200)]
    assert {batch.num_rows for batch in seen} <= set(range(1, 1001))
    assert len({batch.schema for batch in seen}) == 1
    firsts = np.concatenate([batch.column(0).to_numpy() for batch in seen])
    assert ((firsts >= 0) & (firsts < WIDE)).all()


def test_nothing_works_while_nobody_reads(wide: gdb.Database) -> None:
    with wide.stream(BOTH) as stream:
        next(stream.batches())
        time.sleep(0.3)
        begin = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - begin < 0.2


def test_all_threads_end_when_it_is_closed(wide: gdb.Database) -> None:
    stream = wide.stream(BOTH)
    next(stream.batches())
    stream.close()
    stream.close()
    assert not [one for one in threading.enumerate() if one.name == "gdb-stream"]


def test_reading_after_the_with_block_is_refused(small: gdb.Database, wide: gdb.Database) -> None:
    for db, query in ((small, "MATCH (a:P) RETURN a.x"), (wide, BOTH), (small, "RETURN 1")):
        with db.stream(query) as stream:
            rows, batches = iter(stream), stream.batches(1)
            next(rows)
        for read in (rows, iter(stream), batches):
            with pytest.raises(ClosedError, match="the stream is closed"):
                next(read)
        with pytest.raises(ClosedError, match="the stream is closed"):
            stream.batches()


ORDERED = "MATCH (a:P) RETURN a.x ORDER BY a.x"


@pytest.mark.parametrize(
    "query", ["MATCH (a:P) RETURN a.x", ORDERED, "UNWIND range(1, 60) AS x RETURN x"]
)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_reading_goes_on_where_it_stopped(small: gdb.Database, query: str, size: int) -> None:
    with small.stream(query) as stream:
        read: list[tuple[object, ...]] = [next(iter(stream)) for _ in range(3)]
        for row in stream:
            read.append(row)
            if len(read) == 10:
                break
        read += rows_in(next(stream.batches(size)))
        read.append(next(iter(stream), (0,)))
        for batch in stream.batches(size):
            read += rows_in(batch)
            break
        for row in stream:
            read.append(row)
        assert not [*stream]
        assert not [*stream.batches()]
        assert stream.summary is not None
    assert sorted({*read} - {(0,)}) == [(k,) for k in range(1, 61)]
    assert len(read) - read.count((0,)) == 60


def test_loops_over_one_stream_share_its_rows(small: gdb.Database) -> None:
    with small.stream(ORDERED) as stream:
        one, other, batches = iter(stream), iter(stream), stream.batches(2)
        assert [next(one), next(other), next(one)] == [(1,), (2,), (3,)]
        assert rows_in(next(batches)) == [(4,)]  # the rest of the batch of rows 3 and 4
        assert rows_in(next(batches)) == [(5,), (6,)]
        assert [next(one), next(other)] == [(7,), (8,)]
        assert rows_in(next(batches)) == [(9,), (10,)]
        assert [*one] == [(k,) for k in range(11, 61)]
        assert not [*batches]


def rows_in(batch: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in pyarrow.record_batch(batch).to_pylist()]


def test_a_stream_that_is_forgotten_ends() -> None:
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 400) AS k CREATE (:N {x: k})")
        rows = iter(db.stream("MATCH (a), (b), (c), (d) RETURN a.x, b.x, c.x, d.x"))
        next(rows)
        del rows
        gc.collect()
        for stream in [one for one in threading.enumerate() if one.name == "gdb-stream"]:
            stream.join(20)
            assert not stream.is_alive()


def test_closing_the_database_ends_it() -> None:
    db = gdb.connect()
    db.execute("UNWIND range(1, 400) AS k CREATE (:N {x: k})")
    rows = iter(db.stream("MATCH (a), (b), (c), (d) RETURN a.x, b.x, c.x, d.x"))
    next(rows)
    db.close()
    with pytest.raises(Cancelled):
        for _ in rows:
            pass
    with pytest.raises(ClosedError):
        db.stream("MATCH (a) RETURN a")


def test_it_can_be_interrupted(wide: gdb.Database) -> None:
    rows = iter(wide.stream(BOTH))
    next(rows)
    wide.interrupt()
    with pytest.raises(Cancelled):
        for _ in rows:
            pass


def test_it_has_a_timeout(wide: gdb.Database) -> None:
    with pytest.raises(QueryTimeout, match=r"its timeout of 0\.3 s"):
        for _ in wide.stream(BOTH, timeout=0.3):
            pass


def test_ctrl_c_ends_it(wide: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = wide.stream(BOTH)
    monkeypatch.setattr(Pipe, "take", _interrupted)
    with pytest.raises(Cancelled):
        next(stream.batches())
    assert not [one for one in threading.enumerate() if one.name == "gdb-stream"]


def _interrupted(_: Pipe) -> NoReturn:
    raise KeyboardInterrupt


def test_more_rows_than_the_limit(
    wide: gdb.Database, small: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_ROWS", 60)
    assert len(list(small.stream("MATCH (a:P)-->(b) RETURN a.x"))) == 60
    with pytest.raises(LimitExceeded):
        list(small.stream("MATCH (a) RETURN a.x"))
    with pytest.raises(LimitExceeded):
        list(wide.stream(BOTH))


@pytest.mark.parametrize("query", ["MATCH (a:P) RETURN a.x", "MATCH (a:P) RETURN count(a.x)"])
def test_a_query_is_understood_once(
    small: gdb.Database, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    planned: list[object] = []
    plan = pipeline._planned
    monkeypatch.setattr(pipeline, "_planned", lambda *given: planned.append(given) or plan(*given))
    for _ in range(2):
        list(small.stream(query))
    assert len(planned) == 1


def test_errors_before_the_first_row_are_raised_at_once(small: gdb.Database) -> None:
    with pytest.raises(SyntaxProblem):
        small.stream("MATCH (a RETURN a")
    with pytest.raises(TypeProblem):
        small.stream("MATCH (a) RETURN a").batches(0)


def test_an_error_among_the_rows(small: gdb.Database) -> None:
    with pytest.raises(ArithmeticProblem):
        list(small.stream("MATCH (a:P)-->(b) RETURN a.x / (a.x - a.x)"))


def test_it_sees_the_graph_as_it_was(small: gdb.Database) -> None:
    with small.stream("MATCH (a:P) RETURN a.x") as stream:
        small.execute("MATCH (a:P) SET a.x = -1")
        assert min(stream) == (1,)
    assert min(small.stream("MATCH (a:P) RETURN a.x")) == (-1,)


def test_it_may_write(small: gdb.Database) -> None:
    assert list(small.stream("CREATE (n:New {x: 1}) RETURN n.x")) == [(1,)]
    assert small.execute("MATCH (n:New) RETURN count(*)").scalar() == 1


def test_two_at_once_and_a_query_between(wide: gdb.Database) -> None:
    with wide.stream(BOTH) as one, wide.stream(BOTH) as other:
        a, b = one.batches(500), other.batches(500)
        for _ in range(50):
            assert len(next(a))
            assert len(next(b))
            assert wide.execute("MATCH (:L)-->(b:R) RETURN count(*)").scalar() == WIDE * WIDE

"""What `Result.summary` says of compiling and of what was read, in all three ways of a query."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import gdb
from gdb.base import usage
from gdb.base.machine import compile as machine
from gdb.base.usage import Usage
from gdb.executor.cpu import kernel
from gdb.run.request import Clock
from gdb.storage.format.direction import Direction

N = 3000  # enough for queries of several clauses to go over columns
PATTERN = "MATCH (a:P)-[:K]->(b) RETURN a.x, b.y"
CHAIN = "MATCH (a:P)-[:K]->(b) WITH a, count(b) AS n RETURN sum(n), sum(a.x)"
ROWS = "MATCH (a:P)-[:K]->(b) WITH a, b LIMIT 5 RETURN {x: a.x, y: b.y}"


@pytest.fixture(scope="module")
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute(
            f"UNWIND range(1, {N}) AS i CREATE (:P {{x: i, text: 'abcd'}})-[:K {{w: i}}]->(:Q {{y: i}})"
        )
        yield db


def bytes_of(db: gdb.Database) -> int:
    """Of the adjacency K, in its own direction: index, offsets and neighbours."""
    view = db._store.snapshot().adjacency(("K",), Direction.OUT)
    return sum(array.nbytes for array in view.arrays)


def test_each_way_tells_what_it_read(db: gdb.Database) -> None:
    column = 8 * N
    for text, way in ((PATTERN, "duckdb"), (CHAIN, "duckdb"), (ROWS, "rows")):
        summary = db.execute(text).summary
        assert summary.evaluator == way
        assert summary.bytes_read >= bytes_of(db) + column, text
    assert db.execute("RETURN 1").summary.bytes_read == 0


def test_it_counts_what_the_query_reads(db: gdb.Database) -> None:
    counted = db.execute("MATCH (a:P)-[:K]->(b) RETURN count(*)").summary.bytes_read
    assert counted == bytes_of(db)
    with_ids = db.execute("MATCH (a:P)-[r:K]->(b) RETURN id(r)").summary.bytes_read
    assert with_ids == bytes_of(db) + 8 * N
    x = db.execute("MATCH (a:P) RETURN a.x").summary.bytes_read
    text = db.execute("MATCH (a:P) RETURN a.text").summary.bytes_read
    both = db.execute("MATCH (a:P) RETURN a.x, a.text, a.x + 1").summary.bytes_read
    assert x >= 8 * N  # of all nodes, where they are laid out by vid
    assert text >= 4 * N
    assert both == x + text, "each column counts once"


def test_it_counts_again_what_a_kept_statement_reads(db: gdb.Database) -> None:
    text = "MATCH (a:P)-[:K]->(b) RETURN b.y"
    first, second = (db.execute(text).summary for _ in range(2))
    assert "plan" in first.seconds
    assert "plan" not in second.seconds
    assert second.bytes_read == first.bytes_read > 0


def test_planning_reads_nothing(db: gdb.Database) -> None:
    with Usage() as used:
        db._store.snapshot().adjacency(("K",), Direction.IN)
        assert used.bytes_read > 0
    with Usage() as used:
        usage.unread(db._store.snapshot().adjacency)(("K",), Direction.IN)
        assert used.bytes_read == 0


def test_profile_tells_it(db: gdb.Database) -> None:
    for text in (PATTERN, CHAIN, ROWS):
        result = db.execute("PROFILE " + text)
        lines = [str(line) for (line,) in result]
        assert any(line.startswith("milliseconds: ") and "run" in line for line in lines), text
        told = next(line for line in lines if line.startswith("bytes read: "))
        assert told == f"bytes read: {result.summary.bytes_read:,}" != "bytes read: 0"


def test_profile_of_a_query_that_writes_tells_what_it_did() -> None:
    with gdb.connect() as db:
        lines = [line for (line,) in db.execute("PROFILE CREATE (:A {x: 1})")]
        assert "Created 1 node, set 1 property, added 1 label." in lines
        assert db.execute("MATCH (a:A) RETURN count(*)").scalar() == 1


# ---- compiling -----------------------------------------------------------------------------------


def test_the_first_query_of_a_process_tells_the_seconds_of_compiling(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (PATTERN, CHAIN, ROWS):
        (fresh,) = machine.together(kernel._run)
        monkeypatch.setattr(kernel, "run", fresh)
        cold = db.execute(f"{text} // cold").summary.seconds
        assert cold["compile"] > 0, text
        assert list(cold).index("compile") < list(cold).index("run")
        assert "compile" not in db.execute(text).summary.seconds


def test_compiling_is_no_part_of_the_step_that_waited() -> None:
    clock = Clock(threading.Event(), None)

    def work() -> None:
        with usage.compiling():
            clock.usage.compile_seconds += 100.0

    with clock.usage:
        clock.step("run", work)
    assert clock.seconds["compile"] > 99
    assert 0 <= clock.seconds["run"] < 50
    assert list(clock.seconds) == ["compile", "run"]


# ---- threads -------------------------------------------------------------------------------------


def test_a_helper_notes_for_the_query_that_called_it() -> None:
    array, other = np.zeros(100, np.int64), np.zeros(10, np.int64)
    with Usage() as used:
        for work in (usage.carry_usage(partial(usage.read, array)), partial(usage.read, other)):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        assert used.bytes_read == 800


def test_a_query_inside_of_another_has_its_own() -> None:
    array = np.zeros(100, np.int64)
    with Usage() as outer:
        with Usage() as inner:
            usage.read(array, None)
        assert (inner.bytes_read, outer.bytes_read) == (800, 0)
        usage.read(array, array)
        assert outer.bytes_read == 800
    usage.read(array)  # without a query

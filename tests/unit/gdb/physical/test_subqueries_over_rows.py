"""CALL { } row by row: what a subquery gives that sees nothing of the rows is found once."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

import gdb
from gdb import Database
from gdb.logical.operators import Plan
from gdb.physical.rows import applying
from gdb.physical.rows.batches import Batches
from gdb.physical.rows.row_run import Runner
from tests.support.ways import forced


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with gdb.connect() as made:
        made.execute("UNWIND range(1, 20) AS i CREATE (:P {i: i})-[:R]->(:Q {k: i % 5})")
        made.register_procedure("my.next() :: (n :: INTEGER)", lambda: [(next(COUNTER),)])
        yield made


COUNTER = iter(range(10**9))
ALIKE = {
    "UNWIND range(1, 9) AS i CALL { MATCH (n:P) RETURN n.i AS x ORDER BY x DESC LIMIT 2 }"
    " RETURN i, x": [(i, x) for i in range(1, 10) for x in (20, 19)],
    "UNWIND range(1, 9) AS i CALL { MATCH (n:P) WHERE n.i > 18 RETURN n } SET n.y = i"
    " RETURN i, count(*)": [(i, 2) for i in range(1, 10)],
    "UNWIND range(1, 9) AS i OPTIONAL CALL { MATCH (n:P {i: 99}) RETURN n } RETURN i, n": [
        (i, None) for i in range(1, 10)
    ],
    "UNWIND range(1, 9) AS i CALL { MATCH (n:P {i: 1}) RETURN 1 AS x UNION ALL RETURN 2 AS x }"
    " RETURN i, x": [(i, x) for i in range(1, 10) for x in (1, 2)],
    "UNWIND range(1, 9) AS i CALL { UNWIND [1, 2] AS j CALL { MATCH (n:P) RETURN count(*) AS c }"
    " RETURN j * c AS x } RETURN i, x": [(i, x) for i in range(1, 10) for x in (20, 40)],
}
VARYING = (
    "CALL { RETURN rand() AS x }",
    "CALL { MATCH (n:P {i: 1}) WHERE rand() >= 0 RETURN randomUUID() AS x }",
    "CALL { MATCH (n:P {i: 1}) CALL { RETURN rand() AS x } RETURN x }",
    "CALL { CALL my.next() YIELD n AS x RETURN x }",
    "CALL { RETURN COLLECT { RETURN rand() AS y } AS x }",
    "CALL { RETURN [k IN [1] | rand()] AS x }",
)
RANDOM_CHOICES = (
    "CALL { MATCH (n:P {i: 1 + toInteger(rand() * 19)}) RETURN n.i AS x }",
    "CALL { MATCH (n:P) RETURN n.i AS x ORDER BY rand() LIMIT 1 }",
    "CALL { MATCH (n:P) RETURN n.i AS x SKIP toInteger(rand() * 19) LIMIT 1 }",
)


def runs(db: Database, text: str) -> tuple[list[tuple[object, ...]], int]:
    """The rows of a query over rows, and how many times its plans ran."""
    many, run = 0, Runner.plan

    def counted(self: Runner, plan: Plan, start: Batches) -> Batches:
        nonlocal many
        many += 1
        return run(self, plan, start)

    with forced("rows"), patch.object(Runner, "plan", counted):
        return db.execute(text).fetchall(), many


@pytest.mark.parametrize("text", ALIKE)
def test_a_subquery_that_sees_nothing_runs_twice_at_most(db: Database, text: str) -> None:
    rows, many = runs(db, text)
    assert rows == ALIKE[text]
    assert many <= 1 + 2 + 4


@pytest.mark.parametrize("call", VARYING)
def test_what_is_another_value_each_time_is_computed_for_each_row(db: Database, call: str) -> None:
    rows, many = runs(db, f"UNWIND range(1, 300) AS i {call} RETURN DISTINCT x")
    assert len(rows) == 300
    assert many > 300


@pytest.mark.parametrize("call", RANDOM_CHOICES)
def test_a_random_choice_is_made_for_each_row(db: Database, call: str) -> None:
    rows, _ = runs(db, f"UNWIND range(1, 300) AS i {call} RETURN DISTINCT x")
    assert len(rows) > 3


def test_a_subquery_with_many_rows_runs_for_each(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "UNWIND range(1, 9) AS i CALL { MATCH (n:P) RETURN n } RETURN count(*)"
    assert runs(db, text) == ([(180,)], 3)
    monkeypatch.setattr(applying, "MOST", 19)
    assert runs(db, text) == ([(180,)], 10)


def test_a_limit_behind_the_first_row_ends_its_work(db: Database) -> None:
    text = "UNWIND range(1, 9) AS i CALL { UNWIND range(1, 40_000_000) AS x RETURN x } RETURN x LIMIT 2"
    assert runs(db, text)[0] == [(1,), (2,)]


def test_rows_of_a_subquery_are_not_shared(db: Database) -> None:
    text = (
        "UNWIND range(1, 5) AS i CALL { MATCH (n:P {i: 7}) RETURN n, [1] AS l } "
        "WITH i, l + i AS l, n RETURN l"
    )
    assert runs(db, text)[0] == [([1, i],) for i in range(1, 6)]

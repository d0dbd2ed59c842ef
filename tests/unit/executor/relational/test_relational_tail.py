"""The relational tail: columns gathered right, SQL run on them, errors of ours, cancel and budget."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from gdb.errors import (
    ArgumentProblem,
    ArithmeticProblem,
    Cancelled,
    GdbError,
    OutOfBudget,
    QueryTimeout,
    TypeProblem,
)
from gdb.executor.plan.embeddings import Embeddings
from gdb.executor.relational import arrow, lookup, relational_tail
from gdb.executor.relational.relational_tail import ColumnRef, Output, Tail, Value
from tests.support import tails
from tests.support.small_snapshot import SmallSnapshot, embeddings, small_snapshot

FOUND = embeddings([[0, 1], [3, 5], [2, 2], [4, 0]], [[0], [4], [2], [1]])
AGE = ColumnRef("c0", "vertex", 0, "age", "property")


def rows(
    columns: tuple[ColumnRef, ...],
    sql: str,
    parameters: dict[str, Value] | None = None,
    found: Embeddings = FOUND,
) -> list[tuple[Value, ...]]:
    answer = tails.run(Tail(columns, sql, parameters or {}), found, small_snapshot())
    columns_of_chunks = (
        [arrow.to_list(arrow.child(chunk, i)) for i in range(sql.count(" AS o"))]
        for chunk in answer.table.iter_chunks()
    )
    return [row for chunk in columns_of_chunks for row in zip(*chunk, strict=True)]


@pytest.mark.parametrize(
    ("ref", "values"),
    [
        (AGE, [10.0, 1.5, 30.0, 2.5]),
        (ColumnRef("c0", "vertex", 1, "age", "property"), [None, 40.0, 30.0, 10.0]),
        (ColumnRef("c0", "vertex", 1, "name", "property"), ["bé", "d", None, "a"]),
        (ColumnRef("c0", "vertex", 0, "name", "property"), ["a", None, None, None]),
        (ColumnRef("c0", "vertex", 0, "ok", "property"), [None, True, None, None]),
        (ColumnRef("c0", "vertex", 0, "nothing", "property"), [None] * 4),
        (ColumnRef("c0", "vertex", 0), [0, 3, 2, 4]),
        (ColumnRef("c0", "vertex", 0, what="id"), [0, 300, 200, 400]),
        (
            ColumnRef("c0", "vertex", 0, what="labels"),
            [["Person"], ["Admin", "Person"], ["Person"], ["Admin", "Person"]],
        ),
        (ColumnRef("c0", "edge", 0), [0, 4, 2, 1]),
        (ColumnRef("c0", "edge", 0, what="type"), ["KNOWS", "LIKES", "KNOWS", "KNOWS"]),
        (ColumnRef("c0", "edge", 0, "since", "property", "int64"), [7, None, 9, 8]),
        (ColumnRef("c0", "vertex", 0, "nothing", "property", "null"), [None] * 4),
    ],
)
def test_columns_are_gathered_in_the_order_of_the_embeddings(
    ref: ColumnRef, values: list[Value]
) -> None:
    gathered = relational_tail.gather((ref,), FOUND, small_snapshot())
    assert arrow.to_list(arrow.child(next(gathered.iter_chunks()), 0)) == values


def test_strided_columns_of_a_wide_table_are_gathered_right() -> None:
    wide = embeddings([[k % 6, (k + 1) % 6, 5] for k in range(50)])
    found = rows((ColumnRef("c0", "vertex", 1),), "SELECT c0 AS o0 FROM embeddings", found=wide)
    assert sorted(found) == sorted(((k + 1) % 6,) for k in range(50))


def test_a_key_of_two_kinds_without_a_common_one_is_refused_by_name() -> None:
    with pytest.raises(TypeProblem, match="'since' is int64 and string"):
        lookup.edge_property(small_snapshot(), np.array([0, 1]), "since")


def test_ids_of_two_kinds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmallSnapshot, "ids", [0, 1, 2, "x", "y", 5])
    with pytest.raises(TypeProblem, match="numbers and strings"):
        rows((ColumnRef("c0", "vertex", 0, what="id"),), "SELECT c0 AS o0 FROM embeddings")


def test_sql_sorts_groups_and_takes_parameters() -> None:
    sql = "SELECT c0 AS o0, $p0 AS o1 FROM embeddings WHERE c0 > $p1 ORDER BY c0 DESC LIMIT 2"
    assert rows((AGE,), sql, {"p0": "x", "p1": 2.0}) == [(30.0, "x"), (10.0, "x")]


def test_order_survives_the_cast_to_the_types_of_the_language() -> None:
    many = embeddings([[0]] * 300_000)
    sql = "SELECT sum(c0) OVER (ROWS UNBOUNDED PRECEDING) AS o0 FROM embeddings ORDER BY 1 DESC"
    ref = ColumnRef("c0", "vertex", 0, "age", "property", "int64")
    one_group = Tail((ref,), sql)
    chunks = list(tails.run(one_group, many, small_snapshot()).table.iter_chunks())
    values = np.concatenate([arrow.int64_values(arrow.child(chunk, 0))[0] for chunk in chunks])
    assert values.tolist() == [10 * k for k in range(300_000, 0, -1)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sum(c0)", 44.0),
        ("sum(1)", 4),
        ("1.25", 1.25),
        ("[1, 2]", [1, 2]),
        ("[[1.5], NULL]", [[1.5], None]),
        ("NULL", None),
        ("CAST(1 AS UTINYINT)", 1),
        ("'é'", "é"),
        ("true", True),
        ("CAST([] AS VARCHAR[])", []),
    ],
)
def test_answers_are_values_of_the_language(expression: str, value: Value) -> None:
    ((found,),) = rows((AGE,), f"SELECT {expression} AS o0 FROM embeddings GROUP BY ()")
    assert found == value
    assert type(found) is type(value)


def test_no_embeddings_give_no_rows_but_an_aggregate() -> None:
    nothing = Embeddings(np.zeros((0, 2), np.uint32), np.zeros((0, 1), np.int64))
    assert rows((AGE,), "SELECT c0 AS o0 FROM embeddings", found=nothing) == []
    assert rows((AGE,), "SELECT count(*) AS o0 FROM embeddings", found=nothing) == [(0,)]


def test_rows_count_where_no_column_is_needed() -> None:
    assert rows((), "SELECT count(*) AS o0 FROM embeddings") == [(4,)]


def test_a_count_is_one_row_and_runs_no_sql() -> None:
    counting = Tail((), "this is not SQL", {}, (Output("n"),), count_only=True)
    answer = tails.run(counting, 12, small_snapshot())
    assert len(answer) == 1
    assert arrow.to_list(arrow.child(next(answer.table.iter_chunks()), 0)) == [12]


@pytest.mark.parametrize(
    ("sql", "parameters", "error", "says"),
    [
        ("SELECT c0 + $p0 AS o0 FROM embeddings", {"p0": True}, TypeProblem, "boolean"),
        ("SELECT CAST($p0 AS INT) AS o0", {"p0": "abc"}, TypeProblem, "'abc'"),
        ("SELECT $p0 * $p0 AS o0", {"p0": 2**60}, ArithmeticProblem, "too large"),
        ("SELECT 5 % 0 AS o0", {}, ArithmeticProblem, "divided by zero"),
        (
            "SELECT sum(x) AS o0 FROM (VALUES (9e18::BIGINT), (9e18::BIGINT)) t(x)",
            {},
            ArithmeticProblem,
            "too large",
        ),
        ("SELECT regexp_matches('a', '(') AS o0", {}, ArgumentProblem, "missing \\)"),
        ("SELECT nothing AS o0", {}, GdbError, "nothing"),
    ],
)
def test_errors_are_ours_and_hide_the_sql(
    sql: str, parameters: dict[str, Value], error: type[GdbError], says: str
) -> None:
    with pytest.raises(error, match=says) as raised:
        rows((AGE,), sql, parameters)
    assert "SELECT" not in str(raised.value)
    assert "LINE" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


SLOW = Tail(
    (), "SELECT count(*) AS o0 FROM range(1000000) a(x), range(1000000) b(y) WHERE x + y < 5"
)


def test_cancel_stops_the_sql() -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(Cancelled):
        tails.run(SLOW, FOUND, small_snapshot(), cancel=cancel)


def test_the_deadline_stops_the_sql() -> None:
    with pytest.raises(QueryTimeout):
        tails.run(SLOW, FOUND, small_snapshot(), deadline=time.monotonic() + 0.1)


def test_over_its_memory_the_tail_fails_with_our_error() -> None:
    many = embeddings([[k % 6] for k in range(1_000_000)])
    sql = "SELECT list(hash(c0)) AS o0 FROM embeddings, range(10)"  # 80 MB
    greedy = Tail((ColumnRef("c0", "vertex", 0),), sql)
    with pytest.raises(OutOfBudget):
        tails.run(greedy, many, small_snapshot(), memory=1 << 20)


def test_sql_sees_no_files_and_no_variables_of_the_program(tmp_path: object) -> None:
    secret = {"x": np.arange(3)}
    assert secret
    for sql in (f"SELECT * FROM '{tmp_path}/x.csv'", "SELECT x AS o0 FROM secret"):
        with pytest.raises(GdbError):
            rows((), sql)


def test_threads_do_not_meet_each_others_embeddings() -> None:
    wrong: list[object] = []

    def ask(count: int) -> None:
        for _ in range(10):
            found = rows(
                (), "SELECT count(*) AS o0 FROM embeddings", found=embeddings([[0]] * count)
            )
            if found != [(count,)]:
                wrong.append(found)

    threads = [threading.Thread(target=ask, args=(count,)) for count in (1, 20, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

"""Statements that write, bound to their text (`gdb.run.bound_rows`): they do what the usual way does, or leave it to
that before anything is changed."""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import gdb
from gdb.api.database import Database
from gdb.errors import (
    Cancelled,
    ChangeRefused,
    ClosedError,
    GdbError,
    ReadOnlyError,
    StoreLocked,
    TypeProblem,
)
from gdb.physical.rows.row_statement import RowStatement
from gdb.run.bound_rows import BoundRows
from gdb.run.query_cache import QueryCache
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.store import Store
from tests.crash.workloads import content
from tests.fuzz import writes
from tests.unit.gdb.physical import test_row_program, test_small_writes
from tests.unit.gdb.physical.test_row_program import VALUES, WHOLE, store

UPSERT = "MERGE (n:P {id: $i}) SET n.x = $x"
ASSIGN = "MATCH (n:P {id: $i}) SET n.x = $x"
MODIFY = "MATCH (n:P {id: $i}) SET n.x = n.x + 1 RETURN n.x"
LINK = "MATCH (a:P {id: $i}), (b:P {id: $j}) MERGE (a)-[:R]->(b)"
DELETE = "MATCH (n:P {id: $i}) DETACH DELETE n"
BOUND = [
    *(UPSERT, ASSIGN, MODIFY, LINK, DELETE),
    "MATCH (n:P {id: $i}) SET n += {y: $x, z: null}, n:Q RETURN n",
    "MATCH (n:P {id: $i}) SET n = {id: n.id, y: $x} RETURN n.y, labels(n)",
    "MATCH (n:P {id: $i}) SET n[$name] = $x RETURN n",
    "MATCH (n:P {id: $i}) REMOVE n.x, n:P RETURN n",
    "MATCH (a:P {id: $i}), (b:P {id: $j}) CREATE (a)-[r:R {w: $x}]->(b) RETURN type(r), r.w",
    "MATCH (a:P {id: $i}) CREATE (a)-[:R]->(:Q {id: $x})-[:S]->(c:T) RETURN c",
    "CREATE (n:P {id: $i, x: $x}) RETURN n.id, n.x",
    "CREATE p = (:P {id: $i})-[:R]->(:P {x: $x}) RETURN length(p)",
    "MERGE (n:P {id: $i}) ON CREATE SET n.y = 'new' ON MATCH SET n.y = 'old' RETURN n.y",
    "MERGE (n:P {id: $i}) MERGE (n)-[r:R]->(m:Q {id: $x}) SET r.w = $x RETURN m.id",
    "MATCH (n:P {id: $i}) WITH n, n.x AS x WHERE x > 3 SET n.y = x RETURN x",
    "MATCH (n:P {id: $i}) SET n.x = $x FINISH",
    "OPTIONAL MATCH (n:P {id: $i}) SET n.x = $x",
    "MATCH (n:P {id: $i}) SET n.x = $x RETURN count(*)",
    "MATCH (n:P {id: $i}) SET n.x = $x RETURN n.x ORDER BY n.x LIMIT 1",
    "MATCH (a:P {id: $i})-[r:R]->(b) SET r.w = $x",
    "MATCH (n:P {id: $i}) SET n.x = 5 WITH n MATCH (m:P {id: n.x}) SET m.y = 1 RETURN m.id",
    "MATCH (n:P {id: $i}) SET n.when = timestamp() > 0",
    "MATCH (n:P {id: $i}) SET n.x = n.x / $x",
    "MATCH (n:P {id: $i}) SET n.x = CASE WHEN n.x IN [1, 7] THEN $x ELSE $name END RETURN n.x",
]
USUAL = [
    "UNWIND [$i, $x] AS k MERGE (n:P {id: k}) SET n.x = k",
    "MATCH (n:P) WHERE n.x > $i SET n.x = $x",
    "MATCH (n:P {id: $i}) FOREACH (k IN [1, 2] | SET n.x = k + $x)",
    "MATCH (n:P {id: $i}) CALL (n) { CREATE (:Q {id: n.id}) } RETURN n.x",
    "CREATE (:P {id: $i}) UNION CREATE (:P {id: $x})",
    "PROFILE MATCH (n:P {id: $i}) SET n.x = $x",
]
OTHERS = [
    "MATCH (n:P {id: $i}) DELETE n",  # which has relationships: an error is no reason to bind it
    "MATCH (n:Q {id: $i}) DETACH DELETE n WITH 1 AS x MATCH (m:P {id: x}) SET m.y = 1 RETURN m.id",
    "MATCH (a:P {id: $i}), (b:P {id: $j}) MATCH (a)-[r]-(b) DELETE r",
]
CORPUS = [
    *(*OTHERS, *BOUND, *USUAL, *test_row_program.STATEMENTS),
    *(text for text, _ in test_small_writes.STATEMENTS),
]
ALL = {**VALUES, "x": 3, "name": "x"}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the runs that were bound, and gave the answer."""
    found, run = list[str](), BoundRows.run

    def noted(self: BoundRows, *arguments: object) -> gdb.Result | None:
        result = run(self, *arguments)  # type: ignore[arg-type]
        if result is not None:
            found.append(self.text)
        return result

    monkeypatch.setattr(BoundRows, "run", noted)
    return found


def outcome(db: Database, text: str, values: dict[str, object]) -> object:
    """The rows and effects of a statement, or its error, and what the store holds after it."""
    try:
        result = db.execute(text, values)
    except GdbError as error:
        found: object = type(error), str(error)
    else:
        summary = result.summary
        found = (
            *(sorted(map(repr, result.fetchall())), result.columns, repr(summary.effects)),
            *(result.warnings, summary.rows, summary.embeddings, summary.evaluator, summary.why),
        )
        if text.startswith("PROFILE"):
            found = None
    graph = content(db._store.snapshot())
    return found, *(sorted(map(repr, part.items())) for part in (graph.vertices, graph.edges))


def outcomes(db: Database, text: str, several: list[dict[str, object]]) -> object:
    """Those of one run after the other, and the graph at the end, as queries see it."""
    found = [outcome(db, text, values) for values in several]
    return found, [sorted(map(repr, db.execute(one).fetchall())) for one in WHOLE]


def never(*_: object) -> None:
    """Nothing is to be bound."""


# ---- the same as the usual way ---------------------------------------------------------------------


@pytest.mark.parametrize("text", CORPUS)
def test_bound_runs_do_what_the_usual_ones_do(
    text: str, monkeypatch: pytest.MonkeyPatch, runs: list[str]
) -> None:
    names = {name: value for name, value in ALL.items() if f"${name}" in text} or {"unused": 1}
    others = {**names, **({"i": 11} if "i" in names else {}), **({"x": 0} if "x" in names else {})}
    several: list[dict[str, object]] = [names, names, others, names, {**names, "more": 1}, others]
    bound, usual = store(), store()
    with monkeypatch.context() as patch:
        patch.setattr(QueryCache, "is_to_be_bound", never)
        expected = outcomes(usual, text, several)
    assert not runs
    assert outcomes(bound, text, several) == expected
    assert bool(runs) or text not in BOUND
    assert not (runs and text in USUAL)
    bound.check()


@pytest.mark.parametrize("text", BOUND)
def test_values_of_other_kinds(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [None, float("nan"), True, "7", 7.0, [7], {"a": 7}, 1 << 70, object()]
    values: dict[str, object] = {n: value for n, value in ALL.items() if f"${n}" in text}
    several = [values, values]
    for bad in others[BOUND.index(text) % 3 :: 3]:  # each comes to a third of the texts
        several += [*({**values, name: bad} for name in values), values]
    bound, usual = store(), store()
    with monkeypatch.context() as patch:
        patch.setattr(QueryCache, "is_to_be_bound", never)
        expected = outcomes(usual, text, several)
    assert outcomes(bound, text, several) == expected


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that writes and can be bound is, at its first run; those texts."""
    from gdb.run import columns_or_rows
    from gdb.run.bound_rows import bound_rows
    from gdb.run.columns_or_rows import Planned
    from gdb.run.request import QueryRun

    usual, found = columns_or_rows.answer_by_operators, list[str]()

    def answer(run: QueryRun, planned: Planned) -> gdb.Result:
        request, change = run.request, run.change
        lists = any(isinstance(one, (list, dict)) for one in request.parameters.values())
        if planned.changes and change is not None and not lists:
            made = bound_rows(request, planned, "", run.statements.cache)
            if made is not None:
                work = partial(made._changed, request, run.clock)
                result = change(request, run.clock, work)
                if result is not None:
                    found.append(request.text)
                    return result
        return usual(run, planned)

    monkeypatch.setattr(columns_or_rows, "answer_by_operators", answer)
    return found


def test_drawn_statements_do_what_the_model_does(forced: list[str]) -> None:
    assert [one for seed in range(16) for one in writes.suite(seed) if one is not None] == []
    assert len(forced) > 50


# ---- what happens meanwhile ------------------------------------------------------------------------


def ready(db: Database) -> None:
    """Bind the texts."""
    for k in range(3):
        db.execute(UPSERT, {"i": k, "x": k})
        db.execute(MODIFY, {"i": k})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with gdb.connect(tmp_path / "s.gdb") as made:
        for k in range(20):
            made.execute("CREATE (:P {id: $i, x: $x})", {"i": k, "x": 0})
        ready(made)
        yield made


def xs(db: Database) -> list[object]:
    return [x for (x,) in db.execute("MATCH (n:P) RETURN n.x ORDER BY n.id").fetchall()]


def test_commits_of_another_process_are_seen(db: Database, runs: list[str]) -> None:
    assert db.path is not None
    with gdb.connect(db.path) as other:
        for k in range(5):
            other.execute(MODIFY, {"i": 7})
            other.execute("CREATE (:P {id: $i, x: 0})", {"i": 100 + k})
            runs.clear()
            assert db.execute(MODIFY, {"i": 7}).scalar() == 2 * k + 2
            assert db.execute(UPSERT, {"i": 100 + k, "x": 5}).summary.effects is not None
            assert runs == [MODIFY, UPSERT]
    assert xs(db).count(5) == 5


def test_a_closed_database_a_snapshot_and_a_reader_refuse(db: Database) -> None:
    assert db.path is not None
    with db.snapshot() as held, pytest.raises(ReadOnlyError):
        held.execute(MODIFY, {"i": 7})
    with gdb.connect(db.path, read_only=True) as reader, pytest.raises(ReadOnlyError):
        reader.execute(MODIFY, {"i": 7})
    db.close()
    with pytest.raises(ClosedError):
        db.execute(MODIFY, {"i": 7})


def test_a_transaction_of_this_thread_refuses_it(db: Database) -> None:
    with db.transaction() as tx:
        tx.execute(MODIFY, {"i": 7})
        with pytest.raises(ChangeRefused, match="A transaction of this thread is open"):
            db.execute(MODIFY, {"i": 7})
    assert db.execute(MODIFY, {"i": 7}).scalar() == 2


def test_another_writer_has_the_lock(db: Database) -> None:
    assert db.path is not None
    with gdb.connect(db.path) as other, other.transaction() as tx:
        tx.execute(MODIFY, {"i": 7})
        with pytest.raises(StoreLocked):
            db.execute(MODIFY, {"i": 7})
    assert db.execute(MODIFY, {"i": 7}).scalar() == 2


def test_threads_write_one_after_the_other(db: Database) -> None:
    def work() -> None:
        for _ in range(50):
            db.execute(MODIFY, {"i": 7})

    several = [threading.Thread(target=work) for _ in range(4)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert db.execute(MODIFY, {"i": 7}).scalar() == 201


def test_cancelled_before_the_commit_nothing_is_changed(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, ran = xs(db), RowStatement._ran

    def cancelled(self: RowStatement) -> object:
        db.interrupt()
        return ran(self)

    with monkeypatch.context() as patch:
        patch.setattr(RowStatement, "_ran", cancelled)
        with pytest.raises(Cancelled) as error:
            db.execute(MODIFY, {"i": 7})
    assert not error.value.committed
    assert xs(db) == before
    assert db.execute(MODIFY, {"i": 7}).scalar() == 1


@pytest.mark.parametrize("late", [False, True])
def test_a_late_ctrl_c_says_whether_it_is_committed(
    db: Database, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    append = Store.append

    def pressed(self: Store, *arguments: object) -> Snapshot | None:
        if not late:
            signal.raise_signal(signal.SIGINT)
        found = append(self, *arguments)  # type: ignore[arg-type]
        if late:
            signal.raise_signal(signal.SIGINT)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", pressed)
        with pytest.raises(Cancelled) as error:
            db.execute(MODIFY, {"i": 7})
    assert error.value.committed  # the commit had begun
    assert db.execute(MODIFY, {"i": 7}).scalar() == 2


def test_an_error_changes_nothing_and_leaves_nothing_behind(db: Database) -> None:
    text = "MATCH (n:P {id: $i}) SET n.x = $x SET n.y = 1 / n.x"
    for x in (1, 2, 3):
        db.execute(text, {"i": 7, "x": x})
    for _ in range(2):
        with pytest.raises(GdbError, match="zero"):
            db.execute(text, {"i": 7, "x": 0})
        assert db.execute("MATCH (n:P {id: 7}) RETURN n.x").scalar() == 3
    db.execute(text, {"i": 7, "x": 4})
    assert db.execute("MATCH (n:P {id: 7}) RETURN n.x").scalar() == 4
    db.check()


def test_a_node_with_relationships_is_not_deleted(db: Database) -> None:
    text = "MATCH (n:P {id: $i}) DELETE n"
    for i in (10, 11, 12):
        db.execute(text, {"i": i})
    db.execute("MATCH (a:P {id: 1}), (b:P {id: 2}) CREATE (a)-[:R]->(b)")
    with pytest.raises(ChangeRefused, match="has relationships"):
        db.execute(text, {"i": 1})
    assert len(xs(db)) == 17


def test_what_is_bound_holds_no_snapshot(db: Database, runs: list[str]) -> None:
    db.execute(MODIFY, {"i": 7})
    assert runs == [MODIFY]
    held = weakref.ref(db._snapshot())
    db.execute(MODIFY, {"i": 7})
    gc.collect()
    assert held() is None


def test_options_go_the_usual_way(db: Database, runs: list[str]) -> None:
    options: list[Callable[[], gdb.Result]] = [
        lambda: db.execute(MODIFY, {"i": 7}, timeout=10),
        lambda: db.execute(MODIFY, {"i": 7}, memory="64MB"),
        lambda: db.execute(MODIFY, {"i": 7}, match="DIFFERENT NODES"),
        lambda: db.execute(MODIFY, {"i": 7}, threads=1),
    ]
    assert [one().scalar() for one in options] == [1, 2, 3, 4]
    assert runs == []
    assert db.execute(MODIFY, {"i": 7}).scalar() == 5
    assert runs == [MODIFY]


def test_wrong_parameters_are_named_as_ever(db: Database) -> None:
    with pytest.raises(TypeProblem, match="parameter \\$i is of the Python type object"):
        db.execute(MODIFY, {"i": object()})
    with pytest.raises(TypeProblem, match="must be a dict"):
        db.execute(MODIFY, [7])  # type: ignore[arg-type]
    with pytest.raises(GdbError, match="\\$i"):
        db.execute(MODIFY, {"j": 7})
    with pytest.raises(GdbError, match="\\$i"):
        db.execute(MODIFY)

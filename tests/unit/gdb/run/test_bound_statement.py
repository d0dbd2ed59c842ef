"""Statements bound to a snapshot (`gdb.run.bound_statement`) give what the usual way gives."""

from __future__ import annotations

import itertools
import random
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb.api.database import Database
from gdb.errors import Cancelled, ClosedError, LimitExceeded, TypeProblem
from gdb.run.bound_reads import Reads
from gdb.run.bound_statement import FEW, BoundStatement
from gdb.storage.disk import lost_pages

TEXTS = {
    "key": "MATCH (n:P {id: $i}) RETURN n.name, n.x, n.f, n.b, n.id",
    "key with a filter": "MATCH (n:P {id: $i}) WHERE n.x > 3 RETURN n.x",
    "id()": "MATCH (n:P) WHERE id(n) = $i RETURN n.name",
    "node": "MATCH (n:P {id: $i}) RETURN n",
    "any label": "MATCH (n) WHERE id(n) = $i RETURN n.id",
    "hop": "MATCH (a:P {id: $i})-[:K]->(b:P) RETURN b.name",
    "two hops": "MATCH (a:P {id: $i})-[:K]->(b)-[:K]->(c) RETURN c.id, b.x",
    "count": "MATCH (a:P {id: $i})-[:K]->(b)-[:K]->(c) RETURN count(*)",
    "edge": "MATCH (a:P {id: $i})-[k:K]->(b) RETURN k.w, b.name",
    "both": "MATCH (a:P {id: $i})-[:K]->(b:P {id: $j}) RETURN a.name, b.name",
}
BY_NAME = "MATCH (n:P {name: $name}) RETURN n.id"
BY_NUMBER = "MATCH (n:P {x: $x}) RETURN n.id"


@pytest.fixture(params=["memory", "disk"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    random.seed(3)
    rows = [
        {
            "i": i,
            "name": None if i % 7 == 0 else f"n{i % 40}",
            "x": i % 9,
            "f": i / 4,
            "b": i % 3 == 0,
        }
        for i in range(60)
    ]
    ends = [{"i": random.randrange(60), "j": random.randrange(60), "w": k} for k in range(240)]
    with gdb.connect(tmp_path / "s" if request.param == "disk" else None) as made:
        nodes = tmp_path / "nodes.csv"
        lines = [f"{r['i']},{r['name'] or ''},{r['x']},{r['f']},{r['b']}" for r in rows]
        nodes.write_text("\n".join(["id:ID,name,x:int,f:float,b:boolean", *lines]) + "\n")
        made.load(nodes={"P": nodes})
        made.execute("CREATE (:Q {name: 'q'})")
        made.execute(
            "UNWIND $rows AS r MATCH (a:P {id: r.i}), (b:P {id: r.j}) CREATE (a)-[:K {w: r.w}]->(b)",
            {"rows": ends},
        )
        yield made


def bound(db: Database, text: str) -> BoundStatement | None:
    found = db._statements.bound(text)
    assert found is None or isinstance(found, BoundStatement)
    return found


def usual(db: Database, text: str, parameters: dict[str, object]) -> list[str]:
    """The rows of the usual way: a budget is an option."""
    return sorted(map(str, db.execute(text, parameters, memory="1GB").fetchall()))


def compare(db: Database, text: str, several: list[dict[str, object]]) -> int:
    """How many of the answers came from the bound statement; all are compared."""
    runs = 0
    for parameters in several:
        known = bound(db, text)
        if known is not None:
            known.used = False
        got = db.execute(text, parameters)
        runs += known is not None and known.used
        assert sorted(map(str, got.fetchall())) == usual(db, text, parameters)
    return runs


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_bound_statements_give_what_the_usual_way_gives(db: Database, text: str) -> None:
    firsts = [*range(0, 60, 3), 99, -1, 2**62]
    several: list[dict[str, object]] = [{"i": i} for i in firsts]
    if "$j" in text:
        several = [{"i": i, "j": j} for i in firsts[::3] for j in range(0, 60, 4)]
    runs = compare(db, text, several)
    if text != TEXTS["both"]:  # with two predicates, values decide on the symmetry of the plan
        assert runs >= len(several) - 4


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        (BY_NAME, "name", ["n1", "n2", "n39", "none", "", "n0", "x" * 100]),
        (BY_NUMBER, "x", [0, 1, 8, 9, -5, 2**62]),
    ],
)
def test_look_ups_by_a_property(db: Database, text: str, name: str, values: list[object]) -> None:
    several = [{name: value} for value in values * 4]
    assert compare(db, text, several) > len(several) // 2


def test_a_statement_without_parameters(db: Database) -> None:
    text = "MATCH (a:P)-[:K]->(b:P) RETURN a.id, b.id LIMIT 5"
    for _ in range(4):
        result = db.execute(text)
        assert len(result.fetchall()) == 5
    assert bound(db, text) is not None


def test_rows_beyond_few_are_gathered(db: Database) -> None:
    db.execute("MATCH (a:P {id: 1}), (b:P) CREATE (a)-[:K]->(b)")
    text = "MATCH (a:P {id: $i})-[:K]->(b) RETURN b.name, b.id"
    several: list[dict[str, object]] = [{"i": i} for i in (1, 2, 3, 1, 4)]
    assert compare(db, text, several) >= 2
    assert len(db.execute(text, {"i": 1})) > FEW


@pytest.mark.parametrize("text", [TEXTS["key"], TEXTS["two hops"], TEXTS["count"], BY_NAME])
def test_commits_are_seen(db: Database, text: str) -> None:
    parameters: dict[str, object] = {"name": "n3"} if text == BY_NAME else {"i": 3}
    changes = [
        "MATCH (n:P {id: 3}) SET n.name = 'new', n.x = 77",
        "MATCH (a:P {id: 3}), (b:P {id: 5}) CREATE (a)-[:K]->(b)-[:K]->(a)",
        "CREATE (:P {id: 1000, name: 'n3'})",
        "MATCH (n:P {id: 3}) DETACH DELETE n",
        "CREATE (:P {id: 3, name: 'n3', x: 1})",
    ]
    for change in [*changes, ""]:
        for _ in range(5):
            compare(db, text, [parameters])
        assert bound(db, text) is not None or change
        if change:
            db.execute(change)
    db.compact()
    compare(db, text, [parameters] * 5)


def test_reads_between_writes_follow(db: Database) -> None:
    """Each text runs once between two commits: it stays bound as long as the edges are the same."""
    draw = random.Random(11)
    texts = [*TEXTS.values(), BY_NAME, BY_NUMBER]
    writes = [
        "MATCH (n:P {id: $k}) SET n.name = 'n' + $k, n.x = $k % 5",
        "MATCH (n:P {id: $k}) REMOVE n.name SET n.f = null",
        "CREATE (:P {id: 100 + $k, name: 'n3', x: $k})",
        "CREATE (:Q {name: 'q' + $k})",
        "MATCH (n:P) WHERE n.id > 99 DELETE n",
        "MATCH (n:P {id: $k}) SET n:Old",
        "MATCH (a:P {id: $k}), (b:P {id: 7}) CREATE (a)-[:K {w: $k}]->(b)",
        "MATCH (n:P {id: $k}) SET n.x = 'text'",
        "MATCH (n:P {id: $k}) DETACH DELETE n",
    ]
    runs = 0
    for step in range(40):
        k = draw.randrange(60)
        db.execute(writes[draw.randrange(min(1 + step // 5, len(writes)))], {"k": k})
        for text in texts:
            values = {"$i": k, "$j": (k * 7) % 60, "$name": f"n{k}", "$x": k % 9}
            runs += compare(db, text, [{p[1:]: v for p, v in values.items() if p in text}])
    assert runs > 60


def test_a_property_that_is_the_id_no_more(db: Database) -> None:
    """Look-ups by `id` are look-ups of the user's id, until a node has another value."""
    text = "MATCH (n:P {id: $i}) RETURN n.name"
    for i in range(5):
        db.execute(text, {"i": i})
    known = bound(db, text)
    db.execute("MATCH (n:P {id: 3}) SET n.x = 4")
    assert compare(db, text, [{"i": 3}]) == 1
    db.execute("CREATE (:P {id: 7000, name: 'new'})")
    assert db.execute(text, {"i": 7000}).fetchall() == [("new",)]
    assert bound(db, text) is not known


def test_nothing_holds_a_snapshot_that_was(db: Database) -> None:
    for text in (TEXTS["key"], TEXTS["two hops"], BY_NAME):
        for i in range(5):
            db.execute(text, {"name": f"n{i}"} if text == BY_NAME else {"i": i})
    before = weakref.ref(db._snapshot())
    db.execute("MATCH (n:P {id: 3}) SET n.x = 4")
    assert before() is None
    assert all(bound(db, text) for text in (TEXTS["key"], TEXTS["two hops"], BY_NAME))


def test_commits_of_another_database_are_seen(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s") as first:
        first.execute("CREATE (:P {name: 'a', x: 1})")
        text = "MATCH (n:P {name: $name}) RETURN n.x"
        with gdb.connect(tmp_path / "s", read_only=True) as second:
            for x in range(1, 6):
                for _ in range(4):
                    assert second.execute(text, {"name": "a"}).scalar() == x
                first.execute("MATCH (n:P) SET n.x = n.x + 1")


def test_arguments_are_checked_as_ever(db: Database) -> None:
    text = TEXTS["key"]
    for i in range(5):
        db.execute(text, {"i": i})
    assert bound(db, text) is not None
    with pytest.raises(TypeProblem):
        db.execute(text, {"i": object()})
    with pytest.raises(TypeProblem):
        db.execute(text, {"i": 2**64})
    with pytest.raises(TypeProblem):
        db.execute(text, [1])  # type: ignore[arg-type]
    with pytest.raises(gdb.errors.QueryError):
        db.execute(text, {"j": 1})
    with pytest.raises(TypeProblem):
        db.execute([text])  # type: ignore[arg-type]
    for value, count in ((True, 0), (3.0, 1), ("3", 0), (None, 0), (3, 1)):
        assert len(db.execute(text, {"i": value})) == count
    assert len(db.execute(text, {"i": 3, "other": 1})) == 1


def test_limits_hold(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS["two hops"]
    for i in range(5):
        db.execute(text, {"i": i})
    assert bound(db, text) is not None
    monkeypatch.setattr(gdb.limits, "MAX_ROWS", 1)
    with pytest.raises(LimitExceeded):
        db.execute(text, {"i": 3})


def test_a_value_that_decides_on_the_tail(db: Database) -> None:
    text = "MATCH (n:P {id: $i}) RETURN n.x LIMIT $most"
    for i, most in itertools.product(range(6), (0, 1, 2)):
        assert len(db.execute(text, {"i": i, "most": most})) == min(most, 1)


def test_summary_and_arrow(db: Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    text = TEXTS["key"]
    results = [db.execute(text, {"i": i}) for i in (7, 8, 7, 8)]
    assert bound(db, text) is not None
    tables = [pyarrow.table(result) for result in results]
    assert tables[0].equals(tables[2])
    assert tables[1].equals(tables[3])
    last = results[-1].summary
    assert (last.rows, last.embeddings, last.device, last.evaluator) == (1, 1, "cpu", "duckdb")
    assert last.bytes_read > 0
    assert set(last.seconds) == {"run"}


def test_interrupt_and_close(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS["two hops"]
    for i in range(5):
        db.execute(text, {"i": i})
    known = bound(db, text)
    assert known is not None
    staged = BoundStatement._staged

    def interrupted(self: BoundStatement, reads: Reads, values: dict[str, object]) -> object:
        db.interrupt()
        return staged(self, reads, values)  # type: ignore[arg-type]

    monkeypatch.setattr(BoundStatement, "_staged", interrupted)
    with pytest.raises(Cancelled):
        db.execute(text, {"i": 9})
    monkeypatch.undo()
    assert len(db.execute(text, {"i": 9})) >= 0
    db.close()
    with pytest.raises(ClosedError):
        db.execute(text, {"i": 9})


@pytest.mark.parametrize("text", [TEXTS["key"], BY_NAME])
def test_ctrl_c_anywhere_in_a_look_up_leaves_nothing_behind(db: Database, text: str) -> None:
    """CPython looks for signals where a function begins and where a call of C ends: each of these raises in turn."""
    parameters: dict[str, object] = {"name": "n3"} if text == BY_NAME else {"i": 3}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(5):
            expected = db.execute(text, parameters).fetchall()
        raised = list[type[BaseException]]()
        for place in range(1000):
            left = place

            def strike(_: object, event: str, __: object) -> None:
                nonlocal left
                left -= event in ("call", "c_return")
                if left < 0:
                    raise KeyboardInterrupt

            sys.setprofile(strike)
            try:
                found = db.execute(text, parameters)
            except (KeyboardInterrupt, Cancelled) as error:
                raised.append(type(error))
            finally:
                sys.setprofile(None)
            assert not db._work._running
            assert db._store._lock.acquire(blocking=False)
            db._store._lock.release()
            assert not lost_pages._maps.get().watching
            if left >= 0:
                break
        assert found.fetchall() == expected
        assert raised.count(Cancelled) > 20
        assert db.execute(text, parameters).fetchall() == expected
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_share_a_bound_statement(db: Database) -> None:
    text = TEXTS["two hops"]
    expected = {i: usual(db, text, {"i": i}) for i in range(60)}
    wrong: list[int] = []

    def ask(shift: int) -> None:
        for k in range(120):
            i = (k * 7 + shift) % 60
            if sorted(map(str, db.execute(text, {"i": i}).fetchall())) != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_procedure_that_queries_notes_its_own_reads(db: Database) -> None:
    text = TEXTS["key"]
    for i in range(5):
        db.execute(text, {"i": i})
    db.register_procedure(
        "my.x(i :: INTEGER) :: (x :: INTEGER?)",
        lambda i: [(db.execute(text, {"i": i}).fetchall()[0][1],)],
    )
    assert db.execute("UNWIND [10, 11] AS i CALL my.x(i) YIELD x RETURN x").fetchall() == [
        (1,),
        (2,),
    ]

"""Batches that write run over arrays: the graph, the answer, the counts and the errors are those of rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import gdb
from gdb.base.values import sizes
from gdb.base.values.map_columns import MapColumns
from gdb.errors import Cancelled, GdbError, OutOfBudget, QueryTimeout
from gdb.physical.arrays import array_merging, array_run, array_table
from gdb.physical.arrays.array_changes import ArrayChanges
from gdb.physical.arrays.array_matching import _ArrayMatching
from gdb.physical.arrays.array_table import ArrayTable
from gdb.physical.rows.object_graph import Graph
from gdb.run import columns_or_rows
from gdb.run.parameters import checked_parameters, kind_of
from tests.support.effort import share

Outcome = tuple[object, ...]
Rows = list[dict[str, object]]


def _store() -> gdb.Database:
    """Nodes in base and delta, relationships of a directed and an undirected type, some parallel."""
    db = gdb.connect()
    with db.transaction() as tx:
        ids = list(range(20))
        tx.add_nodes("P", ids, {"id": ids, "x": ids, "s": [f"n{k}" for k in ids]})
        tx.add_nodes(("P", "Q"), list(range(20, 26)), {"id": list(range(20, 26))})
        tx.add_relationships("K", ids, [(7 * k + 1) % 20 for k in ids], {"w": ids})
        tx.add_relationships("K", [3, 3, 4], [4, 4, 5], {"w": [1, 2, 3]})
        tx.add_relationships("U", [1, 2], [2, 3], directed=False)
    db.compact()
    db.execute("CREATE (:P {id: 30, x: 'thirty'}), (:R {id: 1.5}), (:R {id: 'r'})")
    db.execute("MATCH (a:P {id: 1}), (b:P {id: 30}) CREATE (a)-[:K {w: 9}]->(b)")
    return db


def _content(db: gdb.Database) -> tuple[list[str], list[str]]:
    nodes = db.execute("MATCH (n) RETURN id(n), labels(n), properties(n)").fetchall()
    edges = db.execute("MATCH (a)-[r]->(b) RETURN id(a), id(b), type(r), properties(r)").fetchall()
    return sorted(map(repr, nodes)), sorted(map(repr, edges))


def _outcome(text: str, rows: Rows, way: str, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    db = _store()
    monkeypatch.setattr(columns_or_rows, "WAY", way)
    answer: object
    try:
        result = db.execute(text, {"rows": rows})
        answer = sorted(map(repr, result.fetchall())), str(result.summary.effects)
    except GdbError as error:
        answer = type(error).__name__, str(error)
    monkeypatch.setattr(columns_or_rows, "WAY", None)
    return answer, *_content(db)


def _rows(seed: int) -> Rows:
    """Rows with keys that are there, that are not, and that come again; of one type, or of several."""
    draw = random.Random(seed)
    kinds: list[Callable[[], object]] = [
        lambda: draw.randrange(100),
        lambda: draw.choice([1, 2.0, "a", None, True]),
        lambda: draw.choice([[1, 2], ["a"], 3]),
        lambda: f"t{draw.randrange(3)}",
        lambda: draw.choice([None, 5]),
    ]
    value = kinds[seed % len(kinds)]
    keys: list[Callable[[], object]] = [
        lambda: draw.randrange(45),
        lambda: draw.choice([1, 1.0, 30, 1.5, "r", 7]),
        lambda: draw.choice([3, None, 4]),
        lambda: draw.sample(range(50), 1)[0] if seed % 2 else draw.choice([2, 3, 4, 5]),
    ]
    key = keys[draw.randrange(6) % 4 if draw.random() < 0.4 else 0]
    count = draw.choice([1, 2, 12, 40])
    if draw.random() < 0.2:  # no key twice
        several = draw.sample(range(45), count)
        return [{"i": k, "j": draw.choice(several), "x": value()} for k in several]
    return [{"i": key(), "j": draw.randrange(32), "x": value()} for _ in range(count)]


TEXTS = [
    "MERGE (n:P {id: r.i}) SET n.x = r.x",
    "MERGE (n:P {id: r.i}) ON CREATE SET n.x = r.x, n.new = true ON MATCH SET n.old = r.x",
    "MERGE (n:P {id: r.i, s: 's' + toString(r.j)}) RETURN n.id, n.x",
    "MERGE (n:R {id: r.i}) SET n += r",
    "MERGE (n:P:Q {id: r.i}) SET n.y = r.x, n.z = r.j + 1",
    "MERGE (n:P {x: r.x}) RETURN count(*)",
    "MERGE (n:S)",
    "MERGE (n:P {id: r.i}) MERGE (m:P {id: r.j}) MERGE (n)-[e:K]->(m) SET e.w = r.x RETURN e.w",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) CREATE (a)-[:K]->(b)",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) CREATE (a)<-[e:N {w: r.x}]-(b) SET e.v = 1",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) MERGE (a)-[:K]->(b)",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) MERGE (a)-[e:K {w: r.j}]->(b) ON MATCH SET e.v = r.x",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) MERGE (a)-[:U]-(b)",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) SET a.x = r.x, b.y = r.x",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) SET a.x = r.x, b.x = r.j",
    "MATCH (a:P {id: r.i}) SET a.x = a.x + 1",
    "MATCH (a:P {id: r.i}) SET a.x = null, a.y = r.x REMOVE a.s",
    "MATCH (a:P {id: r.i}) SET a:Z SET a.z = r.x",
    "MATCH (a:P {id: r.i})-[e:K]->(b) SET e.w = r.x, b.seen = r.j",
    "MATCH (a:P {id: r.i})-[e]-(b:P) WHERE b.id < 15 SET e.w = r.x",
    "MATCH (a:P {id: r.i})-[e:K]->(b) DELETE e",
    "MATCH (a:P {id: r.i}) DETACH DELETE a",
    "MATCH (a:P {id: r.i}) DELETE a",
    "MATCH (a:P {id: r.i})-[e:K]->(b) DELETE e, b",
    "MATCH (a:P {id: r.i}) DETACH DELETE a RETURN count(*)",
    "CREATE (a:P {id: r.i, x: r.x})-[:K {w: r.j}]->(:T)-[:L]->(b:P {id: r.j}), (a)-[:M]->(b)",
    "CREATE (n:P) SET n += r RETURN n.id, id(n)",
    "CREATE (n:V {v: r}) RETURN n.v",
    "WITH r.i AS i, r.x AS x WHERE i < 20 MERGE (n:P {id: i}) SET n.x = x WITH n, x "
    "MATCH (n)-[:K]->(m) RETURN n.x, m.id",
    "MATCH (a:P {id: r.i}) CREATE (b:W {of: r.i}) MERGE (a)-[:HAS]->(b) RETURN b.of, count(*)",
    "OPTIONAL MATCH (a:P {id: r.i}) SET a.x = r.x",
    "MERGE (n:P {id: r.i}) SET n.x = 1 / (r.j - 5)",
    "MERGE (n:P {id: r.i}) WITH n ORDER BY n.id LIMIT 3 SET n.first = true",
    "FOREACH (k IN [1, 2] | CREATE (:F {k: k}))",
    "MATCH (a:P {id: r.i}) WHERE r.j > 10 SET a.x = r.j",
    "MATCH (a:P {id: r.i}) WHERE a.x > r.j SET a.x = r.j",
    "MATCH (a:P {id: r.i}) SET a.y = a.x, a.x = r.j",
    "MATCH (a:P {id: r.i}) SET a.y = [a IN [r] | a.x], a.z = size([a.id, r.j])",
    "MATCH (a:P {id: r.i})-[e:K]->(b) SET b.y = e.w + a.id CREATE (c:C {x: a.x}) RETURN c.x, b.s",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) MERGE (a)-[e:K]->(b) ON CREATE SET a.x = 1 ON MATCH SET a.x = 2",
    "MATCH (a:P {id: r.i}), (b:P {id: r.j}) MERGE (a)-[e:K]->(b) ON CREATE SET e.w = a.x ON MATCH SET e.v = b.x",
    "MATCH (a:P {id: r.i}) MERGE (n:P {id: r.j}) ON CREATE SET n.x = a.x ON MATCH SET n.x = a.id",
    "MATCH (a:P {id: r.i}) MERGE (n:P {id: a.x}) ON MATCH SET n.c = coalesce(n.c, 0) + 1",
    "MATCH (a:P {id: r.i}) MERGE (n:P) ON MATCH SET a.c = coalesce(a.c, 0) + 1, n.c = a.c",
    "MERGE (n:P)-[e:K]->(m:P) ON MATCH SET n.c = r.j, m.c = n.id",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_as_over_rows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(share(14)):
        rows, whole = _rows(seed), f"UNWIND $rows AS r {text}"
        expected = _outcome(whole, rows, "rows", monkeypatch)
        assert _outcome(whole, rows, "columns", monkeypatch) == expected, (seed, rows)


BATCHES = [
    "UNWIND $rows AS r MERGE (n:P {id: r.i}) ON CREATE SET n.new = true SET n.x = r.x",
    "UNWIND $rows AS r MATCH (a:P {id: r.i}), (b:P {id: r.j}) CREATE (a)-[e:K {w: r.x}]->(b)",
    "UNWIND $rows AS r MATCH (a:P {id: r.i}), (b:P {id: r.j}) MERGE (a)-[e:K]->(b) SET e.w = r.x",
    "UNWIND $rows AS r MATCH (a:P {id: r.i})-[e:K]->() SET e.w = e.w + r.x, a.x = 1 DELETE e",
    "UNWIND $rows AS r CREATE (:N {id: r.i})-[:K]->(:N {x: r.x})",
    "UNWIND $rows AS r MATCH (a:P {id: r.i}) REMOVE a.s WITH a DETACH DELETE a",
    "MATCH (a:P)-[e:K]->(b:P) WHERE a.x < b.x SET e.up = true, b.below = a.x",
]


@pytest.mark.parametrize("text", BATCHES)
def test_no_element_has_an_object(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("an object was made for an element")

    rows = [{"i": k, "j": (3 * k) % 20, "x": k} for k in range(columns_or_rows.BATCH + 8)]
    db = _store()
    db.execute("MATCH (a:P) WHERE a.x = 'thirty' REMOVE a.x")
    for name in ("nodes", "relationships", "create_node", "create_relationship", "connect"):
        monkeypatch.setattr(Graph, name, never)
    monkeypatch.setattr(columns_or_rows, "SMALL", 0)
    assert db.execute(text, {"rows": rows}).summary.effects


def test_few_rows_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(array_run, "run_arrays", never)
    db, rows = _store(), [{"i": k, "x": k} for k in range(columns_or_rows.BATCH)]
    db.execute(BATCHES[0], {"rows": rows})
    db.execute("MERGE (n:P {id: 1}) SET n.x = 1")


def test_a_wrong_row_changes_nothing() -> None:
    db = _store()
    before = _content(db)
    rows = [{"i": 1000 + k, "x": [[1]] if k == 70 else k} for k in range(100)]
    with pytest.raises(GdbError, match="line 1, column"):
        db.execute("UNWIND $rows AS r MERGE (n:P {id: r.i}) SET n.x = r.x", {"rows": rows})
    assert _content(db) == before


def test_budget_and_timeout() -> None:
    db = _store()
    before = _content(db)
    with pytest.raises(OutOfBudget):
        db.execute("UNWIND range(1, 50000000) AS k CREATE (:P {id: k})", memory="64MB")
    with pytest.raises(OutOfBudget):
        db.execute("UNWIND range(1, 2000) AS k MATCH (a:P), (b:P), (c:P) CREATE (:X)", memory="1MB")
    with pytest.raises(QueryTimeout):
        db.execute("UNWIND range(1, 3000000) AS k CREATE (:P {id: k + 1})", timeout=0.2)
    assert _content(db) == before


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:P) SET p.s = $large + toString(p.id)",
        "MATCH (p:P) SET p.s = p.large",
        "MATCH (p:P) CREATE (:Q {s: $large + toString(p.id)})",
        "UNWIND range(1, 300) AS i MERGE (:Q {s: $large + toString(i)})",
    ],
)
def test_few_large_values_are_counted_as_they_are_made(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are noticed when there is no room for the next one, and no later."""
    monkeypatch.setattr(columns_or_rows, "SMALL", 0)
    with gdb.connect() as db:
        large = "x" * 100_000
        db.execute("UNWIND range(1, 300) AS i CREATE (:P {id: i, large: $large})", {"large": large})
        made, count = list[int](), sizes.size_of

        def noted(value: Any) -> int:
            items = value if isinstance(value, list) else ()
            made.append(sum(len(one) for one in items if isinstance(one, str)))
            return count(value)

        monkeypatch.setattr(sizes, "size_of", noted)
        monkeypatch.setattr(array_table, "size_of", noted)
        with pytest.raises(OutOfBudget):
            db.execute(text, {"large": large}, memory="10MB")
        assert max(made, default=0) < 12_000_000


MERGED = "UNWIND range(1, 300) AS i MERGE (a:P {id: i % 200}) SET a.x = i"


@pytest.mark.parametrize(
    ("owner", "name", "never"),
    [
        (array_merging, "numbered", "match_rows"),
        (_ArrayMatching, "_values_of", "_matched"),
        (array_merging, "match_rows", "expanded"),
        (array_merging, "expanded", "_sets"),
        (array_merging._ArrayMerging, "_sets", "create"),
        (Graph, "ids_of_new", "_made"),
        (ArrayChanges, "create", "with_columns"),
    ],
)
def test_a_batch_is_stopped_between_its_steps(
    owner: object, name: str, never: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them goes through all rows."""
    db, step = _store(), getattr(owner, name)
    before = _content(db)
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")

    def stopping(*given: Any) -> Any:
        found = step(*given)
        db.interrupt()
        merging = array_merging, array_merging._ArrayMerging
        for of in (*merging, _ArrayMatching, ArrayChanges, ArrayTable):
            if hasattr(of, never):
                monkeypatch.setattr(of, never, None)  # it is not called any more
        return found

    monkeypatch.setattr(owner, name, stopping)
    with pytest.raises(Cancelled):
        db.execute(MERGED)
    monkeypatch.undo()
    assert _content(db) == before


def test_profile_counts_the_rows_of_each_operator() -> None:
    rows = [{"i": k % 50, "x": k} for k in range(100)]
    text = (
        "UNWIND $rows AS r MATCH (n:P {id: r.i}) WITH n, r WHERE r.x > 9 SET n.x = r.x RETURN n.x"
    )
    lines = [line for (line,) in _store().execute(f"PROFILE {text}", {"rows": rows}).fetchall()]
    assert "over arrays: " in str(lines[0])
    assert sum("=44 rows" in str(line) for line in lines) >= 2, lines


def test_a_transaction_sees_its_batches() -> None:
    db = _store()
    rows = [{"i": 500 + k, "j": 500 + (k + 1) % 40, "x": k} for k in range(40)]
    with db.transaction() as tx:
        tx.execute(BATCHES[0], {"rows": rows})
        tx.execute(BATCHES[2], {"rows": rows})
        tx.execute(BATCHES[2], {"rows": [{**row, "x": 7} for row in rows]})
        found = tx.execute("MATCH (a:P)-[e:K]->(b:P) WHERE a.id >= 500 RETURN a.x, b.x, e.w")
        assert sorted(found.fetchall()) == sorted((k, (k + 1) % 40, 7) for k in range(40))
    assert db.execute("MATCH (a:P) WHERE a.id >= 500 RETURN sum(a.x)").scalar() == 780


def _checked(rows: object) -> object:
    return checked_parameters({"rows": rows})["rows"]


def test_rows_of_a_parameter_are_columns() -> None:
    class Text(str):
        __slots__ = ()

    rows: Rows = [{"i": 1, "x": "é"}, {"x": None, "i": 2}]
    found = _checked(rows)
    assert isinstance(found, MapColumns)
    assert [*found] == rows
    assert found.columns == {"i": [1, 2], "x": ["é", None]}
    rows[0]["i"] = 5
    assert found[0] == {"i": 1, "x": "é"}
    for other in (
        [{"i": 1}, {"j": 1}],
        [{"i": 1}, {"i": 1, "j": 2}],
        [{"i": [1]}],
        [{"i": Text()}],
    ):
        assert not isinstance(_checked(other), MapColumns)
    for wrong in ([{"i": 2**63}], [{"i": "\ud800"}, {"i": "a"}]):
        with pytest.raises(GdbError):
            _checked(wrong)


def test_tables_of_one_kind_are_understood_once() -> None:
    def kind(rows: Rows) -> object:
        return kind_of(checked_parameters({"rows": rows})["rows"])

    one = kind([{"a": 1, "b": "x"}, {"a": None, "b": "y"}])
    assert kind([{"b": "z", "a": None}, {"b": "", "a": 7}, {"b": "", "a": 8}]) == one
    others: list[Rows] = [
        [{"a": 1, "b": "x"}],
        [{"a": 1, "b": None}, {"a": None, "b": "y"}],
        [{"a": 1.0, "b": "x"}, {"a": None, "b": "y"}],
        [{"a": float("nan"), "b": "x"}, {"a": None, "b": "y"}],
    ]
    assert len({one, *map(kind, others)}) == 1 + len(others)

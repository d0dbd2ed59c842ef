"""Batches that write run over arrays: the graph, the answer, the counts and the errors are those of rows."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import gdb
from gdb.errors import GdbError
from gdb.run import columns_or_rows

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
    "WITH r.i AS i, r.x AS x WHERE i < 20 MERGE (n:P {id: i}) SET n.x = x WITH n, x MATCH (n)-[:K]->(m) RETURN n.x, m.id",
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
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_as_over_rows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(14):
        rows, whole = _rows(seed), f"UNWIND $rows AS r {text}"
        expected = _outcome(whole, rows, "rows", monkeypatch)
        assert _outcome(whole, rows, "columns", monkeypatch) == expected, (seed, rows)

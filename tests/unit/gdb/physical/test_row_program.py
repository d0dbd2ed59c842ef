"""One row goes through a compiled pattern: the answers and the changes are those of the matching of batches."""

from __future__ import annotations

import numpy as np
import pytest

import gdb
from gdb.errors import GdbError
from gdb.language.clauses import Match
from gdb.language.parser import parse
from gdb.physical.rows import pattern as patterns
from gdb.physical.rows.pattern import Pattern, pattern_of_match
from gdb.physical.rows.row_program import compiled
from gdb.query_graph import MatchMode

VALUES = {"i": 7, "j": 22, "none": None, "name": "n3", "many": "same", "nan": float("nan")}
WHOLE = (
    "MATCH (n) RETURN labels(n), n.id, n.x, n.y, n.name, n.kind",
    "MATCH (a)-[r]->(b) RETURN a.id, type(r), r.w, r.z, b.id",
)

STATEMENTS = [
    "MATCH (n:P {id: $i}) SET n.x = -1",
    "MATCH (n:P {id: $i}) SET n.x = n.x + 1 RETURN n.x, n.name",
    "MATCH (n {id: $i}) SET n:Q, n.y = 'y' RETURN labels(n)",
    "MATCH (n:P {id: 7.0}) SET n.x = 0.5 RETURN n.x",
    "MATCH (n:P {id: $none}) SET n.x = -1",
    "MATCH (n:P {id: $nan}) SET n.x = -1",
    "MATCH (n:P {id: '7'}) SET n.x = -1",
    "MATCH (n:P {id: [7]}) SET n.x = -1",
    "MATCH (n:P {id: 1000}) SET n.x = -1 RETURN n",
    "MATCH (n:P) WHERE n.name = $name AND n.x > 1 SET n.x = -1 RETURN n.id",
    "MATCH (n:P) WHERE n.kind = $many SET n.y = 1 RETURN count(*)",
    "MATCH (n:P {id: $i, name: 'n7'}) SET n.y = 1 RETURN n.id",
    "MATCH (n:P {id: $i, name: 'n8'}) SET n.y = 1 RETURN n.id",
    "MATCH (n:P {id: $i / 0}) SET n.y = 1",
    "MATCH (n:P {id: $i}) WHERE n.x / 0 = 1 SET n.y = 1",
    "MATCH (n:P) WHERE id(n) = $i SET n.y = 1 RETURN n.id",
    "MATCH (a:P {id: $i}), (b:P {id: $j}) MERGE (a)-[:R]->(b)",
    "MATCH (a:P {id: $i}), (b:P {id: a.x + 1}) MERGE (a)-[r:R]->(b) SET r.z = 1 RETURN b.id",
    "MATCH (a:P {id: $i}) MATCH (b:P {id: a.x}) SET b.y = a.name RETURN b.y",
    "MATCH (a:P {id: 3}), (b:P {id: 22}) MERGE (a)-[r:R]->(b) SET r.z = 1 RETURN r.w",
    "MATCH (a:P {id: 3}), (b:P {id: 22}) MERGE (a)<-[r:R]-(b) SET r.z = 1 RETURN r.w",
    "MATCH (a:P {id: 3}), (b:P {id: 11}) MERGE (b)-[r:U]-(a) SET r.z = 1 RETURN type(r)",
    "MATCH (a:P {id: 41}) MERGE (a)-[r:R]->(a) SET r.z = 1 RETURN r.w",
    "MATCH (a:P {id: 3}), (b:P {id: 22}) MATCH (a)-[r]-(b) SET r.z = 1 RETURN type(r)",
    "MATCH (a:P {id: 3}), (b:P {id: 22}) MATCH (a)-[r:R {w: 3}]->(b) SET r.z = 1 RETURN r.w",
    "MATCH (a:P {id: 3}), (b:P {id: 22}) MATCH (a)-[r:R {w: 4}]->(b) SET r.z = 1 RETURN r.w",
    "MATCH (a:P {id: $i}) MATCH (a:Q) SET a.y = 1 RETURN a.id",
    "MATCH (a:P {id: $i}) SET a:Q WITH a MATCH (a:Q) SET a.y = 1 RETURN a.id",
    "MATCH (a:P {id: $i}) DETACH DELETE a WITH a MATCH (a:P) RETURN a",
    "MATCH (a:P {id: $i}) DETACH DELETE a WITH 1 AS one MATCH (b:P {id: $i}) RETURN b.id",
    "CREATE (a:P {id: 900, x: 1}) WITH a MATCH (b:P {id: 900}) SET b.x = 2 RETURN a.x, b.x",
    "MERGE (a:P {id: $i}) ON MATCH SET a.y = 1 ON CREATE SET a.y = 2 RETURN a.y",
    "MERGE (a:P {id: 901}) ON MATCH SET a.y = 1 ON CREATE SET a.y = 2 RETURN a.y",
    "MERGE (a:P {kind: $many}) SET a.y = 1 RETURN count(*)",
    "OPTIONAL MATCH (n:P {id: 1000}) SET n.y = 1 RETURN n",
    "OPTIONAL MATCH (n:P {id: 1000}) WITH n MATCH (m:P {id: n.x}) SET m.y = 1 RETURN m",
    "MATCH (n:P {id: $i}), (m:P) WHERE m.x < n.x SET m.y = 1 RETURN count(*)",
    "MATCH (n:P {id: $i}) WHERE (n)-[:R]->() SET n.y = 1 RETURN n.id",
    "MATCH (n:P {id: $i}) CALL (n) { MATCH (m:P {id: n.x + 1}) SET m.y = 1 RETURN m } RETURN m.id",
    "MATCH (n:P {id: $i}) FOREACH (k IN [1, 2] | SET n.y = k) RETURN n.y",
    "MATCH (n:P {id: $i}) REMOVE n.x, n:P RETURN n.x, labels(n)",
]


def store() -> gdb.Database:
    """Base and delta."""
    db, ids = gdb.connect(), np.arange(50)
    with db.transaction() as tx:
        names = {"name": [f"n{k}" for k in ids], "kind": ["same"] * 50}
        tx.add_nodes("P", ids, {"id": ids, "x": ids, **names})
        tx.add_relationships("R", ids, (ids * 7 + 1) % 50, {"w": ids})
        tx.add_relationships("U", ids, (ids * 3 + 2) % 50, directed=False)
    db.compact()
    db.execute("MATCH (n:P {id: 9}) SET n.x = 4.5, n.id = 77")
    db.execute("CREATE (:P {id: 100, x: 1})-[:R {w: 1}]->(:Q {id: 7})")
    db.execute("MATCH (n:P {id: 49}) DETACH DELETE n")
    return db


def outcome(db: gdb.Database, text: str) -> object:
    """The rows, the changes and the graph after a statement; of one that fails its error."""
    values = {name: value for name, value in VALUES.items() if f"${name}" in text}
    try:
        result = db.execute(text, values)
    except GdbError as error:
        found: object = type(error), error.message
    else:
        found = sorted(map(repr, result.fetchall())), repr(result.summary.effects)
    whole = [sorted(map(repr, db.execute(one).fetchall())) for one in WHOLE]
    db.check()
    return found, whole


@pytest.mark.parametrize("text", STATEMENTS)
def test_one_row_matches_as_batches_do(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_ = outcome(store(), text)
    with monkeypatch.context() as patch:
        patch.setattr(Pattern, "program", lambda *_: None)
        assert outcome(store(), text) == compiled_


@pytest.mark.parametrize("text", STATEMENTS[:8])
def test_a_statement_that_comes_again_finds_its_program(text: str) -> None:
    db = store()
    once = outcome(store(), text)
    db.execute("MATCH (n:P {id: 30}) SET n.x = 30")
    assert outcome(db, text) == once


def pattern(text: str) -> Pattern:
    query = f"MATCH {text} RETURN 1"
    (clause, *_) = parse(query).parts[0]
    assert isinstance(clause, Match)
    return pattern_of_match(query, clause, MatchMode())


@pytest.mark.parametrize(
    ("text", "known", "steps"),
    [
        ("(n:P {id: $i})", (), 1),
        ("(n:P {id: $i}) WHERE n.x > 1", (), 2),
        ("(a:P {id: $i}), (b:P {id: $j})", (), 2),
        ("(a:P {id: $i}), (b:P {id: a.x})", (), 2),
        ("(a:P {id: b.x})", ("b",), 1),
        ("(a)-[:R]->(b)", ("a", "b"), 2),
        ("(n)", (), None),
        ("(n:P {id: b.x}), (b)", (), None),
        ("(n) WHERE n.id IN [1, 2]", (), None),
        ("(n {id: 1})-[:R]->(m)", (), 2),
        ("(m)<-[:R]-(n {id: 1})", (), 2),
        ("(a)-[:R]->(b)", ("a",), 2),
        ("(a)-[:R]->(b)-[:R]->(c)", ("a",), 4),
        ("(a)-[:R]->(b)-[:S]->(c)", ("a",), 3),
        ("(a)-[:R]->(b)-[:R]->(c)<-[:R]-(a)", ("a",), 6),
        ("(a)-[:R]->(b), (c)-[:R]->(d)", ("a", "c"), 4),
        ("(a)-[:R]->(a)", ("a",), None),
        ("(n)-[:R]->(m)", (), None),
        ("(a)-[:R*2]->(b)", ("a", "b"), 2),
        ("(a)-[:R*2]->(b)", ("a",), 2),
        ("(a)-[:R*2]->(b:P)", ("a",), 3),
        ("(n {id: 1})-[:R*1..3]->(m)", (), 2),
        ("(m)<-[:R*]-(n {id: 1})", (), 2),
        ("(n {id: 1})-[:R*1..3]->(m {id: 2})", (), 3),
        ("(n {id: 1})-[r:R*1..3 {w: 1}]->(m)", (), None),
        ("(n {id: 1})-[:R*1..3]->(m)-[:R]->(k)", (), None),
        ("(n)-[:R*1..3]->(m)", (), None),
        ("p = shortestPath((n {id: 1})-[:R*]->(m {id: 2}))", (), 4),
        ("p = shortestPath((n {id: 1})-[:R*]->(m))", (), None),
        ("p = (a)-[:R]->(b)", ("a", "b"), 3),
        ("ACYCLIC (a)-[:R*]->(b)", ("a", "b"), None),
        ("p = ACYCLIC (a)-[:R]->(b)", ("a", "b"), None),
        ("(n {id: 1}) WHERE (n)-->()", (), None),
    ],
)
def test_what_is_compiled(text: str, known: tuple[str, ...], steps: int | None) -> None:
    program = compiled(pattern(text), frozenset(known))
    assert (program is None) == (steps is None)
    assert program is None or len(program.steps) == steps


def test_a_pattern_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[frozenset[str]] = []
    first = patterns.Pattern.program

    def program(own: Pattern, known: frozenset[str]) -> object:
        if known not in own._programs:
            made.append(known)
        return first(own, known)

    db = store()
    monkeypatch.setattr(patterns.Pattern, "program", program)
    for number in range(5):
        db.execute("MATCH (n:P {id: $i}) SET n.x = $x", {"i": number, "x": number})
    assert len(made) == 1

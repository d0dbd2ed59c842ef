"""Rows drop the names that nothing behind uses, where these are many."""

from __future__ import annotations

import pytest

import gdb
from gdb.language.parser import parse
from gdb.logical.planning import planned
from gdb.physical.rows import kept
from gdb.query_graph import DIFFERENT_EDGES
from gdb.run import columns_or_rows

MANY = 3 * kept.MOST_UNUSED
MERGES = " ".join(f"MERGE (n{k}:P {{id: {k}}})" for k in range(MANY))
TEXTS = (
    "MATCH (n:P) WITH n, n.l AS l, n.m AS m SET n:$(l) WITH n MATCH (n) RETURN labels(n) AS found",
    "MATCH (n:P), (m:P) MERGE (n)-[e:R]->(m) WITH n, m, e REMOVE n.l DELETE e RETURN n.l, m.l",
    "MATCH (n:P), (m:P) WHERE n.l < m.l FOREACH (x IN [m.l] | SET n.y = x) RETURN n.y",
    "MATCH (n:P) MATCH (m:P) CALL (m) { WITH m.l AS k RETURN k } WITH n, k LIMIT 9 RETURN n.l, k",
    "MATCH (n:P) MATCH (m:P) WHERE EXISTS { (m) WHERE m.l > n.l } UNWIND [n.m] AS o RETURN o",
)


def names_of(text: str) -> list[tuple[str, ...]]:
    plan = planned(parse(text), {}, DIFFERENT_EDGES)
    steps = kept.KeptPatterns(plan).steps(plan.sides[0], ())
    return [one.names if one.kept is None else one.kept for one in steps]


def test_names_that_nothing_uses_are_dropped() -> None:
    assert max(map(len, names_of(MERGES))) <= kept.MOST_UNUSED + 1
    used = ", ".join(f"n{k}.id AS m{k}" for k in range(MANY))
    assert max(map(len, names_of(f"{MERGES} RETURN {used}"))) == MANY


def test_what_is_used_far_behind_is_there() -> None:
    with gdb.connect() as db:
        found = db.execute(f"{MERGES} SET n5.x = n1.id + 7 RETURN n2.id, n5.x, n{MANY - 1}.id")
        assert found.fetchall() == [(2, 8, MANY - 1)]
        assert db.execute("MATCH (n:P) RETURN count(*)").scalar() == MANY


@pytest.mark.parametrize("text", TEXTS)
def test_the_answers_are_those_of_whole_rows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", "rows")
    found = []
    for most in (100, 0):
        monkeypatch.setattr(kept, "MOST_UNUSED", most)
        with gdb.connect() as db:
            db.execute("UNWIND range(1, 4) AS i CREATE (:P {l: 'L' + toString(i), m: i})")
            found.append(sorted(map(repr, db.execute(text).fetchall())))
    assert found[0] == found[1] != []

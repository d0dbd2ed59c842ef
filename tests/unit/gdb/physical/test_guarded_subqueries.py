"""A CASE, AND, OR or coalesce() guards the patterns and queries inside it: one that a row does not come to raises
nothing for it, though all rows are answered at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

import gdb
from gdb import Database, errors
from tests.support.effort import share
from tests.support.ways import WAYS, Way, forced

Node: TypeAlias = "dict[str, int | None]"
Made: TypeAlias = "tuple[str, Callable[[int], object]]"
"""An expression, and what it is for the node of a number; it raises ZeroDivisionError as the query an error."""


@pytest.fixture(scope="module")
def line() -> Iterator[Database]:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:A {k: 0, x: 0})-[:R]->(b:A {k: 1, x: 2})-[:R]->(c:A {k: 2, x: 5})-[:R]->(:B {k: 3})"
        )
        yield db


COUNTED = "COUNT { (a)-->(b) WHERE b.k > 2 / a.x }"
CASES: dict[str, list[tuple[object, ...]]] = {
    f"MATCH (a:A) RETURN a.k, CASE WHEN a.x = 0 THEN -1 ELSE {COUNTED} END": [
        *((0, -1), (1, 1), (2, 1)),
    ],
    "MATCH (a:A) RETURN a.k, CASE a.x WHEN 0 THEN [] ELSE [(a)-->(b) | 10 / a.x + b.k] END": [
        *((0, []), (1, [7]), (2, [5])),
    ],
    "MATCH (a:A) RETURN a.k, a.x <> 0 AND EXISTS { (a)-->(b) WHERE b.k > 2 / a.x }": [
        *((0, False), (1, True), (2, True)),
    ],
    f"MATCH (a:A) WHERE a.x = 0 OR {COUNTED} > 1 RETURN a.k": [(0,)],
    f"MATCH (a:A) WITH a WHERE a.x = 0 OR {COUNTED} > 0 RETURN a.k": [(0,), (1,), (2,)],
    "MATCH (a:A) RETURN coalesce(a.x, COUNT { (a)-->() WHERE 1 / 0 = 1 })": [(0,), (2,), (5,)],
    "MATCH (a:A) RETURN CASE WHEN false THEN COUNT { (a)-->() WHERE 1 / 0 = 1 } ELSE a.k END": [
        *((0,), (1,), (2,)),
    ],
    f"MATCH (a:A) RETURN sum(CASE WHEN a.x = 0 THEN 5 ELSE {COUNTED} END)": [(7,)],
    f"MATCH (a:A) RETURN a.k AS k ORDER BY CASE WHEN a.x = 0 THEN 0 ELSE {COUNTED} END, k": [
        *((0,), (1,), (2,)),
    ],
    "MATCH (a:A) UNWIND CASE WHEN a.x = 0 THEN [1] ELSE [(a)-->(b) | b.k / a.x] END AS c RETURN a.k, c": [
        *((0, 1), (1, 1), (2, 0)),
    ],
    f"MATCH (a:A)-->(c) WHERE a.x = 0 OR {COUNTED} > 1 RETURN a.k, c.k": [(0, 1)],
    f"MATCH (a:A)-->(c) WHERE (a.x > c.k OR a.x > 1) AND {COUNTED} > 0 RETURN a.k, c.k": [
        *((1, 2), (2, 3)),
    ],
    f"MATCH (a:A) CALL (a) {{ RETURN CASE WHEN a.x = 0 THEN -1 ELSE {COUNTED} END AS c }} RETURN a.k, c": [
        *((0, -1), (1, 1), (2, 1)),
    ],
    f"MATCH (a:A) RETURN a.k, CASE WHEN a.x = 0 THEN 0 WHEN {COUNTED} = 1 THEN {COUNTED} ELSE {COUNTED} END": [
        *((0, 0), (1, 1), (2, 1)),
    ],
}


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_a_row_that_does_not_come_to_it_raises_nothing(line: Database, text: str, way: Way) -> None:
    with forced(way):
        assert sorted(map(repr, line.execute(text))) == sorted(map(repr, CASES[text]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "text",
    [
        f"MATCH (a:A) RETURN {COUNTED}",
        f"MATCH (a:A) RETURN CASE WHEN a.x = 2 THEN -1 ELSE {COUNTED} END",
        f"MATCH (a:A) WHERE a.x <> 2 AND {COUNTED} > 0 RETURN a.k",
    ],
)
def test_a_row_that_comes_to_it_raises_its_error(line: Database, text: str, way: Way) -> None:
    with forced(way), pytest.raises(errors.ArithmeticProblem):
        line.execute(text).fetchall()


@pytest.mark.parametrize("way", WAYS)
def test_a_guard_of_random_values_never_raises_another_error(line: Database, way: Way) -> None:
    text = f"MATCH (a:A) RETURN CASE WHEN rand() < 0.5 THEN -1 ELSE {COUNTED} END"
    with forced(way):
        for _ in range(20):
            try:
                line.execute(text).fetchall()
            except errors.ArithmeticProblem:
                continue


# ---- random ones ---------------------------------------------------------------------------------


class Drawn:
    """A random graph in which every node has a relationship, and random guarded expressions over its nodes."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        count = draw.randrange(2, 6)
        self.nodes: list[Node] = [
            {"k": k, "x": draw.randrange(3), "y": draw.choice((None, 0, 1))} for k in range(count)
        ]
        self.edges = [(k, draw.randrange(count)) for k in range(count)]
        self.edges += [(draw.randrange(count), draw.randrange(count)) for _ in range(count)]

    def store(self) -> Database:
        db = gdb.connect()
        db.execute("UNWIND $nodes AS n CREATE (a:A) SET a = n", {"nodes": self.nodes})
        db.execute(
            "UNWIND $edges AS e MATCH (a:A {k: e[0]}), (b:A {k: e[1]}) CREATE (a)-[:R]->(b)",
            {"edges": [list(edge) for edge in self.edges]},
        )
        return db

    def ends(self, node: int) -> list[int]:
        return [b for a, b in self.edges if a == node]

    def number(self, depth: int) -> Made:
        """An expression of an integer or null."""
        draw, nodes = self.draw, self.nodes
        kind = draw.randrange(5 if depth else 2)
        if kind == 0:
            return "a.k", lambda a: a
        if kind == 1:
            return (
                "COUNT { (a)-->(b) WHERE b.k >= 2 / a.x }",
                lambda a: sum(b >= 2 // nodes[a]["x"] for b in self.ends(a)),
            )
        if kind == 2:
            return (
                "size([(a)-->(b) | b.k / a.x])",
                lambda a: len([b // nodes[a]["x"] for b in self.ends(a)]),
            )
        if kind == 3:
            rest, value_of = self.number(depth - 1)
            return (
                f"coalesce(a.y, {rest})",
                lambda a: value_of(a) if nodes[a]["y"] is None else nodes[a]["y"],
            )
        (test, holds), (yes, one), (no, other) = (
            self.condition(depth - 1),
            self.number(depth - 1),
            self.number(depth - 1),
        )
        return (
            f"CASE WHEN {test} THEN {yes} ELSE {no} END",
            lambda a: one(a) if holds(a) else other(a),
        )

    def condition(self, depth: int) -> Made:
        """An expression of true or false."""
        draw, nodes = self.draw, self.nodes
        kind = draw.randrange(5 if depth else 3)
        if kind == 0:
            return "a.x = 0", lambda a: nodes[a]["x"] == 0
        if kind == 1:
            return "a.x > 0", lambda a: nodes[a]["x"] > 0
        if kind == 2:
            return (
                "EXISTS { (a)-->(b) WHERE b.k = 4 / a.x }",
                lambda a: len([b for b in self.ends(a) if b == 4 // nodes[a]["x"]]) > 0,
            )
        (left, one), (right, other) = self.condition(depth - 1), self.condition(depth - 1)
        if kind == 3:
            return f"({left} AND {right})", lambda a: one(a) and other(a)
        return f"({left} OR {right})", lambda a: one(a) or other(a)


@pytest.mark.parametrize("seed", range(share(16, least=4)))
def test_random_guards(seed: int) -> None:
    draw = random.Random(seed)
    drawn = Drawn(draw)
    raised = 0
    with drawn.store() as db:
        for k in range(20):
            filters = k % 2
            text, value_of = drawn.condition(3) if filters else drawn.number(3)
            query = f"MATCH (a:A) RETURN a.k, {text} AS made"
            if filters:
                query = f"MATCH (a:A) WITH a WHERE {text} RETURN a.k"
            wanted: list[tuple[object, ...]] | None
            try:
                every = [(node, value_of(node)) for node in range(len(drawn.nodes))]
                wanted = [(node,) for node, holds in every if holds] if filters else [*every]
            except ZeroDivisionError:
                wanted = None
            with forced(draw.choice(WAYS)):
                if wanted is not None:
                    assert sorted(db.execute(query).fetchall()) == wanted, query
                    continue
                raised += 1
                with pytest.raises(errors.ArithmeticProblem):
                    db.execute(query).fetchall()
    assert raised < 20

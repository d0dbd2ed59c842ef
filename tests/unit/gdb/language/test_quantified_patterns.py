"""Patterns in parentheses that are repeated: ((x)-[:R]->(y) WHERE x.k < y.k){1,3}."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

import pytest

import gdb
from gdb.errors import GdbError
from gdb.language.parser import parse
from gdb.language.printer import printed
from gdb.run import columns_or_rows

NODES, EDGES = 7, 13


@pytest.fixture(scope="module")
def edges() -> list[tuple[int, int, int]]:
    """start, end, weight; the place is the name of the relationship."""
    random = Random(4)
    return [
        (random.randrange(NODES), random.randrange(NODES), random.randrange(5))
        for _ in range(EDGES)
    ]


@pytest.fixture(scope="module")
def db(edges: list[tuple[int, int, int]]) -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute(f"UNWIND range(0, {NODES - 1}) AS k CREATE (:N {{k: k}})")
        db.execute("MATCH (n:N) WHERE n.k % 2 = 0 SET n:Even")
        for number, (start, end, weight) in enumerate(edges):
            db.execute(
                "MATCH (a:N {k: $a}), (b:N {k: $b}) CREATE (a)-[:R {e: $e, w: $w}]->(b)",
                {"a": start, "b": end, "e": number, "w": weight},
            )
        yield db


def _trails(
    edges: Sequence[tuple[int, int, int]], low: int, high: int
) -> Iterator[tuple[list[int], list[int]]]:
    """The nodes and the edges of all paths without an edge twice."""

    def longer(nodes: list[int], used: list[int]) -> Iterator[tuple[list[int], list[int]]]:
        if low <= len(used):
            yield nodes, used
        if len(used) < high:
            for number, (start, end, _) in enumerate(edges):
                if start == nodes[-1] and number not in used:
                    yield from longer([*nodes, end], [*used, number])

    for first in range(NODES):
        yield from longer([first], [])


def _rows(db: gdb.Database, text: str) -> list[tuple[object, ...]]:
    assert parse(printed(parse(text))) == parse(text)
    return sorted(db.execute(text).fetchall(), key=repr)


_LISTS = "[n IN x | n.k] AS xs, [n IN y | n.k] AS ys, [e IN r | e.e] AS es"


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 3), (2, 2), (0, 2), (0, 0), (3, 2)])
def test_one_relationship(
    db: gdb.Database, edges: list[tuple[int, int, int]], low: int, high: int
) -> None:
    found = _rows(
        db, f"MATCH (a)((x)-[r:R]->(y)){{{low},{high}}}(b) RETURN a.k AS a, b.k AS b, {_LISTS}"
    )
    expected = [(n[0], n[-1], n[:-1], n[1:], used) for n, used in _trails(edges, low, high)]
    assert found == sorted(expected, key=repr)


def test_its_where_concerns_each_repetition(
    db: gdb.Database, edges: list[tuple[int, int, int]]
) -> None:
    text = f"MATCH ((x)-[r:R]->(y) WHERE x.k <= y.k AND r.w > 0){{1,3}} RETURN {_LISTS}"
    expected = [
        (n[:-1], n[1:], used)
        for n, used in _trails(edges, 1, 3)
        if all(a <= b for a, b in pairwise(n)) and all(edges[e][2] > 0 for e in used)
    ]
    assert _rows(db, text) == sorted(expected, key=repr)


def test_labels_maps_and_conditions_inside(
    db: gdb.Database, edges: list[tuple[int, int, int]]
) -> None:
    text = (
        "MATCH (a)((x:Even WHERE x.k < 6)-[r:R {w: 2}]->(y)){1,2}(b:!Even) "
        "WHERE a.k > 0 AND size(x) < 3 RETURN a.k AS a, b.k AS b, [e IN r | e.e] AS es"
    )
    expected = [
        (n[0], n[-1], used)
        for n, used in _trails(edges, 1, 2)
        if all(k % 2 == 0 and k < 6 for k in n[:-1])
        and all(edges[e][2] == 2 for e in used)
        and n[-1] % 2 == 1
        and n[0] > 0
    ]
    assert _rows(db, text) == sorted(expected, key=repr)


def test_several_relationships_in_each_repetition(
    db: gdb.Database, edges: list[tuple[int, int, int]]
) -> None:
    text = (
        "MATCH p = (a)((x)-[r:R]->(m)-[s:R]->(y) WHERE r.w <> s.w){1,2}(b) "
        "RETURN [n IN nodes(p) | n.k] AS ks, [n IN m | n.k] AS ms, [e IN s | e.e] AS es, length(p) AS l"
    )
    expected = []
    for n, used in _trails(edges, 2, 4):
        pairs = list(zip(used[::2], used[1::2], strict=False))
        if len(used) % 2 == 0 and all(edges[a][2] != edges[b][2] for a, b in pairs):
            expected.append((n, n[1::2], used[1::2], len(used)))
    assert _rows(db, text) == sorted(expected, key=repr)


def test_relationships_differ_over_the_whole_clause(
    db: gdb.Database, edges: list[tuple[int, int, int]]
) -> None:
    text = "MATCH (a)-[q:R]->(b)((x)-[r:R]->(y)){1,2}(c), ()-[t:R {e: 3}]->() RETURN q.e AS q, [e IN r | e.e] AS es"
    expected = [(used[0], used[1:]) for _, used in _trails(edges, 2, 3) if 3 not in used]
    assert _rows(db, text) == sorted(expected, key=repr)


def test_two_of_them_beside_each_other(db: gdb.Database, edges: list[tuple[int, int, int]]) -> None:
    text = "MATCH ((x)-[r:R]->()){1,2}((y)<-[s:R]-()){1,1} RETURN [e IN r | e.e] AS rs, [e IN s | e.e] AS ss"
    expected = [
        (used, [back])
        for n, used in _trails(edges, 1, 2)
        for back, (_, end, _) in enumerate(edges)
        if end == n[-1] and back not in used
    ]
    assert _rows(db, text) == sorted(expected, key=repr)


def test_ends_that_are_bound_before(db: gdb.Database, edges: list[tuple[int, int, int]]) -> None:
    text = "MATCH (a {k: 1}), (b) MATCH (a)((x)-[r:R]->(y)){0,2}(b) RETURN b.k AS b, [e IN r | e.e] AS es"
    expected = [(n[-1], used) for n, used in _trails(edges, 0, 2) if n[0] == 1]
    assert _rows(db, text) == sorted(expected, key=repr)


def test_optional_and_counted(db: gdb.Database, edges: list[tuple[int, int, int]]) -> None:
    number = {k: sum(n[0] == k for n, _ in _trails(edges, 2, 3)) for k in range(NODES)}
    text = "MATCH (a) RETURN a.k AS k, COUNT { (a)((x)-[:R]->(y)){2,3} } AS c"
    assert _rows(db, text) == sorted(number.items())
    text = "MATCH (a) WHERE EXISTS { (a)((x)-[:R]->(y)){2,3} } RETURN a.k AS k"
    assert _rows(db, text) == [(k,) for k in range(NODES) if number[k]]
    text = (
        "MATCH (a) OPTIONAL MATCH (a)((x)-[:R]->(y)){2,3} WITH a, count(x) AS c RETURN a.k AS k, c"
    )
    assert _rows(db, text) == sorted(number.items())
    text = "MATCH ((x)-[:R]->(y)){1,2} RETURN 1 AS one LIMIT 3"
    assert len(_rows(db, text)) == 3


def test_over_columns_it_runs_over_rows(
    db: gdb.Database, edges: list[tuple[int, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    text = "MATCH ((x)-[r:R]->(y)){1,2} WITH size(r) AS n, count(*) AS c RETURN n, c ORDER BY n"
    found = db.execute(text)
    assert found.summary.evaluator == "rows"
    lengths = [len(used) for _, used in _trails(edges, 1, 2)]
    assert found.fetchall() == [(1, lengths.count(1)), (2, lengths.count(2))]


def test_a_single_relationship_is_repeated_as_such(db: gdb.Database) -> None:
    assert parse("MATCH (a)(()-[r:R]->())+(b) RETURN r") == parse("MATCH (a)-[r:R]->+(b) RETURN r")
    assert parse("MATCH (a)(()-[:R]->()){2}(b) RETURN a") == parse("MATCH (a)-[:R*2]->(b) RETURN a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MATCH (a)((x)-->(y))+(b) RETURN a", r"Write a bound, as in \{1,10\}"),
        ("MATCH (a)((x)-->(y)){2,}(b) RETURN a", r"Write a bound"),
        ("MATCH ANY SHORTEST (a)((x)-->(y)){1,2}(b) RETURN a", "a shortest path through"),
        ("MATCH ((x)-[*1..2]->(y)){1,2} RETURN x", "a length inside"),
        ("MATCH ((x)){1,2} RETURN x", "has a relationship"),
        ("MATCH ((x)-->(y)){1,300} RETURN x", "MAX_PATTERN_EDGES"),
        ("MATCH ((x)-->(y)){1,50}, ((z)-->(w)){1,50} RETURN x", "numbers of repetitions"),
        ("MATCH (a)((x)-->(y))(b) RETURN x", "Write how often"),
        ("MATCH (x) MATCH ((x)-->(y)){1,2} RETURN x", "'x' is already the name"),
        (
            "MATCH ((x)-->(y) WHERE EXISTS { (x)-->() }){1,2} RETURN x",
            "inside a pattern that is repeated",
        ),
        ("MATCH ((x)-->(y)){1,2} RETURN x.k", "a list of nodes has no properties"),
        ("CREATE ((x)-[:R]->(y)){1,2}", "variable length cannot be written"),
        ("MATCH ((a)-->(b) WHERE a.k > 1) RETURN a", "Write it after the pattern"),
    ],
)
def test_what_is_refused(db: gdb.Database, text: str, message: str) -> None:
    with pytest.raises(GdbError, match=message):
        db.execute(text)

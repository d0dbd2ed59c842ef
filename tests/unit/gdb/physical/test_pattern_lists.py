"""Pattern comprehensions: over columns they are COLLECT { } for all rows at once, and give what they give by rows."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from tests.support.ways import WAYS, Way, forced

LISTS = (
    "MATCH (a:P) RETURN a.i, [(a)-->(b) | b.x] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-->(b) WHERE b.x > 1 | b.i] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-[k]->(b) WHERE k.w > a.x | b.s + toString(k.w)] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-->(b)-->(c) | c.i] AS l",
    "MATCH (a:P) RETURN a.i, [p = (a)-->(b) | length(p)] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-->(b) | COUNT { (b)-->() }] AS l",
    "MATCH (a:P)-->(b) RETURN a.i, b.i, [(a)-->(c)-->(b) | c.i] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-[:K*1..2]->(b) | b.i] AS l",
    "OPTIONAL MATCH (a:Z) RETURN [(a)-->(b) | b.i] AS l, size([(a)-->(b) | b.i]) AS n",
    "UNWIND [1, 2] AS u MATCH (a:P) RETURN a.i, u, [(a)-->(b) WHERE b.x = u | b.i + u] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-->(b) | a.i + b.i] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-->(b) WHERE EXISTS { (b)-->(:P {x: 1}) } | b.i] AS l",
    "MATCH (a:P) RETURN a.i, size([(a)-->(b) WHERE b.x > 1 | b.i]) AS n",
    "MATCH (a:P) RETURN sum(size([(a)--(b) | 1])) AS n",
    "MATCH (a:P) RETURN a.i, size([p = (a)-->(b)-->(c) | p]) AS n",
    "MATCH (a:P) WHERE size([(a)-->(b) | 1]) > 2 RETURN a.i",
    "MATCH (a:P) WITH a ORDER BY size([(a)-->(b) | 1]) DESC, a.i LIMIT 3 RETURN a.i",
    "MATCH (a:P) RETURN a.i, size([(a)-->(b) | 12 / (b.i + 1)]) AS n",
)
OVER_ROWS = (
    "MATCH (a:P) RETURN a.i, [(a)-->(b) | [(b)-->(c) | c.i]] AS l",
    "MATCH (a:P) RETURN a.i, [(a)-->(b) | {n: b.s, x: b.x}] AS l",
    "MATCH (a:P) RETURN a.i, reduce(s = 0, x IN [(a)-->(b) | b.i] | s + x) AS l",
)


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    chance = random.Random(3)
    with gdb.connect() as made:
        made.execute(
            "UNWIND range(0, 29) AS i"
            " CREATE (:P {i: i, x: CASE WHEN i % 4 = 0 THEN null ELSE i % 5 END, s: 'n' + toString(i % 3)})"
        )
        made.execute(
            "UNWIND $pairs AS p MATCH (a:P {i: p[0]}), (b:P {i: p[1]}) CREATE (a)-[:K {w: p[2]}]->(b)",
            {
                "pairs": [
                    [chance.randrange(30), chance.randrange(30), chance.randrange(9)]
                    for _ in range(80)
                ]
            },
        )
        yield made


def _bag(rows: list[tuple[object, ...]]) -> list[str]:
    """The rows, and the items of their lists, in no order."""
    return sorted(
        repr([sorted(one, key=repr) if isinstance(one, list) else one for one in row])
        for row in rows
    )


@pytest.mark.parametrize("text", LISTS + OVER_ROWS)
def test_every_way_gives_the_same_lists(db: Database, text: str) -> None:
    answers: dict[Way, list[str]] = {}
    for way in WAYS:
        with forced(way):
            result = db.execute(text)
            if way == "columns":
                assert result.summary.evaluator == ("rows" if text in OVER_ROWS else "duckdb")
            answers[way] = _bag(result.fetchall())
    assert all(found == answers["rows"] for found in answers.values())


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_an_item_is_one_of_its_list_and_of_the_size_of_it(
    db: Database, way: Way
) -> None:
    for text in ("[(a)-->(b) | 1 / (b.i - b.i)]", "size([(a)-->(b) | 1 / (b.i - b.i)])"):
        with forced(way), pytest.raises(gdb.QueryError, match="zero"):
            db.execute(f"MATCH (a:P) RETURN {text}")

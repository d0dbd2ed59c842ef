"""Rows keep the order of the rows that they come from, from ORDER BY on, in every way of running."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import gdb
from gdb import Database
from gdb.physical.columns import chain_run
from gdb.physical.columns.chain_run import run_last_select
from gdb.physical.columns.steps import Made
from tests.support.ways import WAYS, Way, forced

if TYPE_CHECKING:
    from gdb.executor.relational.arrow import Array
    from gdb.executor.relational.relational import Session
    from gdb.physical.columns.steps import Chain
    from gdb.physical.meter import Meter

NODES, KINDS = 3000, 7
NUMBERS = random.Random(4).sample(range(NODES), NODES)
"""The values of x, by i."""
IDS = random.Random(5).choices(range(40), k=200)


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    """Nodes whose x is in another order than that of the store, each with a relationship to one of k = x."""
    rows = [{"i": i, "x": x} for i, x in enumerate(NUMBERS)]
    with gdb.connect() as made:
        made.execute(
            f"UNWIND $rows AS r CREATE (:P {{i: r.i, x: r.x, y: r.x % {KINDS}}})-[:R]->(:Q {{k: r.x}})",
            {"rows": rows},
        )
        yield made


ORDERED: dict[str, list[object]] = {
    # UNWIND
    "MATCH (n:P) WITH n ORDER BY n.x UNWIND [n.x] AS k RETURN k LIMIT 5": [0, 1, 2, 3, 4],
    "MATCH (n:P) WITH n ORDER BY n.x UNWIND [n.x, -n.x] AS k RETURN k LIMIT 5": [0, 0, 1, -1, 2],
    "MATCH (n:P) WITH n ORDER BY n.x DESC UNWIND [n.x, 7, n.y] AS k RETURN collect(k)[0..4] AS k": [
        [2999, 7, 3, 2998]
    ],
    "MATCH (n:P) WITH n.x AS x ORDER BY x UNWIND [[], [x], null][x % 3] AS k RETURN k LIMIT 3": [
        1,
        4,
        7,
    ],
    "MATCH (n:P) WITH n.x AS x ORDER BY x UNWIND range(1, 2) AS k RETURN x * 10 + k LIMIT 3": [
        1,
        2,
        11,
    ],
    "MATCH (n:P) WITH n.x AS x ORDER BY x UNWIND range(2, 1, -1) AS k RETURN x * 10 + k LIMIT 3": [
        2,
        1,
        12,
    ],
    "MATCH (n:P) WITH n ORDER BY n.x UNWIND [1, 2] AS a UNWIND [3, 4] AS b RETURN [n.x, a, b] LIMIT 6": [
        [0, 1, 3],
        [0, 1, 4],
        [0, 2, 3],
        [0, 2, 4],
        [1, 1, 3],
        [1, 1, 4],
    ],
    "MATCH (n:P) WITH n ORDER BY n.x UNWIND [1] AS one WITH n LIMIT 3 MATCH (n)-->(m) RETURN m.k": [
        0,
        1,
        2,
    ],
    # DISTINCT
    "MATCH (n:P) WITH n.x AS x ORDER BY x WITH DISTINCT x RETURN x LIMIT 5": [0, 1, 2, 3, 4],
    "MATCH (n:P) WITH n ORDER BY n.x DESC RETURN DISTINCT n.y": [3, 2, 1, 0, 6, 5, 4],
    "MATCH (n:P) WITH n ORDER BY n.x RETURN DISTINCT n.y LIMIT 2": [0, 1],
    "MATCH (n:P) WITH n ORDER BY n.x LIMIT 10 RETURN DISTINCT n.x": [*range(10)],
    "MATCH (n:P) WITH n ORDER BY n.x WITH DISTINCT n MATCH (n)-->(m) RETURN m.k LIMIT 3": [0, 1, 2],
    "MATCH (n:P) WITH n ORDER BY n.x DESC UNWIND [n.y, 9] AS y RETURN DISTINCT y": [
        3,
        9,
        2,
        1,
        0,
        6,
        5,
        4,
    ],
    "MATCH (n:P) WITH n ORDER BY n.x DESC RETURN collect(DISTINCT n.y)": [[3, 2, 1, 0, 6, 5, 4]],
    "MATCH (n:P) WITH n ORDER BY n.x DESC WITH n.y % 2 AS odd, collect(DISTINCT n.y) AS l RETURN l": [
        [3, 1, 5],
        [2, 0, 6, 4],
    ],
    # groups
    "MATCH (n:P) WITH n ORDER BY n.x DESC WITH n.y AS y, count(*) AS c RETURN y": [
        3,
        2,
        1,
        0,
        6,
        5,
        4,
    ],
    "MATCH (n:P) WITH n ORDER BY n.x UNWIND [n.y] AS y WITH y, collect(n.x) AS l RETURN l[0..2]": [
        [y, y + KINDS] for y in range(KINDS)
    ],
    # ORDER BY keeps the order of what is equal
    "MATCH (n:P) WITH n ORDER BY n.x DESC WITH n.x AS x, n.y AS y ORDER BY y RETURN x LIMIT 3": [
        2996,
        2989,
        2982,
    ],
    "MATCH (n:P) WITH n ORDER BY n.x DESC WITH n.x AS x, n.y AS y ORDER BY y WITH DISTINCT x"
    " RETURN collect(x)[0..3]": [[2996, 2989, 2982]],
    # CALL { }
    "CALL { MATCH (n:P) RETURN n.x AS x ORDER BY x } RETURN collect(x)[0..5]": [[0, 1, 2, 3, 4]],
    "CALL { MATCH (n:P) RETURN n.x AS x ORDER BY x } RETURN x LIMIT 3": [0, 1, 2],
    "UNWIND [2, 1] AS u CALL { MATCH (n:P) RETURN n.x AS x ORDER BY x LIMIT 2 } RETURN [u, x]": [
        [2, 0],
        [2, 1],
        [1, 0],
        [1, 1],
    ],
    "MATCH (n:P) WITH n.x AS x ORDER BY x CALL { UNWIND [2, 1] AS u RETURN u } RETURN [x, u] LIMIT 3": [
        [0, 2],
        [0, 1],
        [1, 2],
    ],
    "MATCH (m:P) CALL { MATCH (n:P) RETURN n.x AS x ORDER BY x DESC LIMIT 2 }"
    " WITH m, collect(x) AS l RETURN DISTINCT l": [[2999, 2998]],
    # UNION
    "MATCH (n:P) WITH n.x AS x ORDER BY x RETURN x UNION ALL"
    " MATCH (n:P) WITH n.x AS x ORDER BY x DESC RETURN x": [*range(NODES), *range(NODES)[::-1]],
    "MATCH (n:P) WITH n.y AS x ORDER BY n.x DESC RETURN x UNION UNWIND [9, 4, 8] AS x RETURN x": [
        *(3, 2, 1, 0, 6, 5, 4),
        *(9, 8),
    ],
    # the items of a list that the query begins with
    "UNWIND $ids AS i WITH DISTINCT i RETURN i": list(dict.fromkeys(IDS)),
    "UNWIND $ids AS i RETURN collect(DISTINCT i)": [list(dict.fromkeys(IDS))],
    "UNWIND $ids AS i WITH i, count(*) AS c RETURN i": list(dict.fromkeys(IDS)),
    "UNWIND $ids AS i MATCH (n:P {i: i}) RETURN DISTINCT n.x": [
        NUMBERS[i] for i in dict.fromkeys(IDS)
    ],
    "UNWIND $ids AS i WITH i ORDER BY i % 3 RETURN i": sorted(IDS, key=lambda i: i % 3),
    # what kept the order before
    "MATCH (n:P) WITH n ORDER BY n.x MATCH (n)-->(m) RETURN m.k LIMIT 3": [0, 1, 2],
    "MATCH (n:P) WITH n ORDER BY n.x OPTIONAL MATCH (n)-->(m) RETURN m.k LIMIT 3": [0, 1, 2],
    "MATCH (n:P) WITH n ORDER BY n.x WHERE n.x > 3 RETURN n.x LIMIT 3": [4, 5, 6],
    "MATCH (n:P) WITH n ORDER BY n.x CALL (n) { MATCH (n)-->(m) RETURN m } RETURN m.k LIMIT 3": [
        0,
        1,
        2,
    ],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ORDERED)
def test_rows_keep_the_order_of_the_rows_that_they_come_from(
    db: Database, text: str, way: Way
) -> None:
    with forced(way):
        rows = db.execute(text, {"ids": IDS} if "$ids" in text else {}).fetchall()
    assert [value for (value,) in rows] == ORDERED[text]


@pytest.mark.parametrize("text", ORDERED)
def test_profile_gives_as_many_rows(db: Database, text: str) -> None:
    """Under PROFILE each operator makes a table, and the order is a column of it."""
    lines = db.execute(f"PROFILE {text}", {"ids": IDS} if "$ids" in text else {}).fetchall()
    assert f"rows: {len(ORDERED[text]):,}" in " ".join(line for (line,) in lines)


UNORDERED = (
    "MATCH (n:P) UNWIND [n.x] AS k RETURN k",
    "MATCH (n:P) UNWIND [n.x] AS k RETURN DISTINCT k",
    "MATCH (n:P) CALL { UNWIND [1, 2] AS u RETURN u } RETURN n.x, u",
    "MATCH (n:P) CALL { MATCH (m:Q) RETURN m.k AS k } RETURN n.x, count(k)",
    "MATCH (n:P) RETURN n.x AS x UNION MATCH (n:Q) RETURN n.k AS x",
    "UNWIND $ids AS i WITH DISTINCT i RETURN count(i)",
    "UNWIND $ids AS i MATCH (n:P {i: i}) RETURN max(n.x)",
)
"""Queries whose rows have no order, or whose answer does not depend on it."""


@pytest.mark.parametrize("text", UNORDERED)
def test_rows_are_sorted_only_where_an_order_may_show(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def seen(session: Session, chain: Chain, meter: Meter | None) -> Array:
        ran.extend(step.sql for step in chain.steps if isinstance(step, Made))
        ran.append(chain.sql)
        return run_last_select(session, chain, meter)

    monkeypatch.setattr(chain_run, "run_last_select", seen)
    with forced("columns"):
        db.execute(text, {"ids": IDS} if "$ids" in text else {})
    assert ran
    for sql in ran:
        assert "ORDER BY" not in sql.upper()

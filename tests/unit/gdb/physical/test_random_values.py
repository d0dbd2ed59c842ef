"""rand() and randomUUID(): a value for each row, the same wherever the row's column is used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gdb import Database, connect
from tests.support.ways import WAYS, Way, forced

COUNT = 200


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with connect() as made:
        made.execute(
            f"UNWIND range(1, {COUNT}) AS i CREATE (:N {{i: i}})-[:T {{w: i}}]->(:M {{i: i}})"
        )
        yield made


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    with forced(request.param):
        yield request.param


def _rows(db: Database, text: str, way: Way) -> list[tuple[object, ...]]:
    if way == "columns" and "count(" not in text:
        pytest.skip("columns have no random values")
    return [tuple(row) for row in db.execute(text)]


@pytest.mark.parametrize(
    "text",
    [
        "WITH rand() AS r RETURN r AS a, r AS b",
        "MATCH (n) WITH n, rand() AS r RETURN r AS a, r AS b",
        "MATCH (n) WITH n, randomUUID() AS r RETURN r AS a, r AS b",
        "MATCH (n) WITH DISTINCT rand() AS r RETURN r AS a, r AS b",
        "MATCH (n) WITH [x IN [1, 2] | rand()] AS r RETURN r AS a, r AS b",
        "MATCH (n) WITH n, rand() AS r WITH r AS q, n RETURN q AS a, q AS b",
        "MATCH (n) WITH n, rand() AS r ORDER BY r LIMIT 9 RETURN r AS a, r AS b",
        "MATCH (n) WITH rand() AS r, count(*) AS c RETURN r AS a, r AS b",
        "UNWIND range(1, 9) AS i WITH i, rand() AS r RETURN r AS a, r AS b",
        "WITH rand() AS r UNWIND [r, r] AS x RETURN x AS a, r AS b",
        "MATCH (n:N) WITH n, rand() AS r CALL (n, r) { MATCH (n)-->(m) RETURN r AS s } RETURN r AS a, s AS b",
        "MATCH (n:N) CALL (n) { WITH n, rand() AS r RETURN r AS a, r AS b } RETURN a, b",
        "MATCH (n) WITH rand() AS r WHERE r < 0.5 RETURN r < 0.5 AS a, true AS b",
        "MATCH (n:N) WITH n, rand() AS r MATCH (n)-->(m) WHERE r < 0.5 RETURN r < 0.5 AS a, true AS b",
        "MATCH (n) WITH n, rand() AS r RETURN r < 0.5 AS a, NOT r >= 0.5 AS b",
    ],
)
def test_a_column_is_drawn_once(text: str, db: Database, way: Way) -> None:
    rows = _rows(db, text, way)
    assert rows
    assert all(a == b for a, b in rows)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:N) RETURN rand() AS a, rand() AS b",
        "MATCH (n:N) RETURN DISTINCT rand() AS a, rand() AS b",
        "MATCH (n:N) RETURN rand() AS a, rand() AS b, count(*) AS c",
    ],
)
def test_each_column_is_drawn_by_itself(text: str, db: Database, way: Way) -> None:
    rows = _rows(db, text, way)
    assert len(rows) == COUNT
    assert not any(row[0] == row[1] for row in rows)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:N) WHERE rand() < 0.5 RETURN count(*)",
        "MATCH (n:N)-->(m) WHERE rand() < 0.5 RETURN count(*)",
        "MATCH (n:N) WHERE rand() < 0.5 MATCH (n)-->(m) RETURN count(*)",
        "MATCH (n:N) WITH n WHERE rand() < 0.5 MATCH (n)-->(m) RETURN count(*)",
        "MATCH (n:N)-->(m) WHERE n.i < rand() * 200 RETURN count(*)",
        "MATCH (n:N) OPTIONAL MATCH (n)-->(m) WHERE rand() < 0.5 RETURN count(m)",
        "MATCH (n:N) WHERE EXISTS { (n)-->(m) WHERE rand() < 0.5 } RETURN count(*)",
        "MATCH (n:N) WHERE EXISTS { (n)-[:T*]->(m) WHERE rand() < 0.5 } RETURN count(*)",
        "UNWIND range(1, 200) AS i MATCH (n:N {i: 1}) WHERE rand() < 0.5 RETURN count(*)",
        "UNWIND range(1, 200) AS i MATCH (n:N {i: 1})-[:T*]->(m) WHERE rand() < 0.5 RETURN count(*)",
        "UNWIND range(1, 200) AS i WITH i WHERE EXISTS { MATCH (n:N {i: 1}) WHERE rand() < 0.5 } RETURN count(*)",
    ],
)
def test_a_condition_is_drawn_for_each_row(text: str, db: Database, way: Way) -> None:
    ((count,),) = _rows(db, text, way)
    assert isinstance(count, int)
    assert 40 < count < 160  # 100 is expected, with a standard deviation of 7


def test_what_goes_on_from_a_drawn_node_has_all_of_its_rows(db: Database, way: Way) -> None:
    text = "MATCH (n:N) WHERE rand() < 0.5 MATCH (n), (m:M) RETURN count(*)"
    ((count,),) = _rows(db, text, way)
    assert isinstance(count, int)
    assert count % COUNT == 0
    assert 0 < count < COUNT * COUNT

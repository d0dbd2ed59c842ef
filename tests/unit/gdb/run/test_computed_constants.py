"""What mentions no row and is calculated has one value for a run, which every way has as a parameter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

import pytest

import gdb
from gdb import Database
from gdb.language.computed_constants import MARK, with_computed
from gdb.language.hidden_names import parameter_shown
from gdb.language.parser import parse
from tests.support.ways import WAYS, Way, forced

PARAMETERS: dict[str, object] = {
    "t": datetime(2024, 3, 1),
    "d": timedelta(days=1),
    "m": {"low": 5, "ids": [1, 2, 3], "name": "a"},
    "l": [10, 20, 30],
    "x": "17",
    "z": 0,
}
NODES = 2_000


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    """Posts, one each hour."""
    with gdb.connect() as made:
        with made.transaction() as tx:
            at = [datetime(2024, 1, 1) + timedelta(hours=k) for k in range(NODES)]
            tx.add_nodes("Post", list(range(NODES)), {"i": list(range(NODES)), "at": at})
        yield made


COMPUTED = {
    "p.at >= localdatetime('2024-03-01') + duration({days: 1})": (datetime(2024, 3, 2), "at"),
    "p.at >= $t + duration('P1D')": (datetime(2024, 3, 2), "at"),
    "p.at >= $t + $d": (datetime(2024, 3, 2), "at"),
    "p.at >= localdatetime.truncate('month', $t + $d)": (datetime(2024, 3, 1), "at"),
    "p.i >= $m.low": (5, "i"),
    "p.i >= $m['low'] + size($l)": (8, "i"),
    "p.i >= date('2024-03-02').year - 1000": (1024, "i"),
    "p.i >= toInteger($x) * 2": (34, "i"),
    "p.i >= $l[1]": (20, "i"),
    "p.i >= coalesce($m.high, 3)": (3, "i"),
    "p.i >= size(split('a,b', ','))": (2, "i"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("condition", COMPUTED)
def test_a_condition_is_as_with_its_value(db: Database, condition: str, way: Way) -> None:
    value, key = COMPUTED[condition]
    with forced(way):
        expected = db.execute(f"MATCH (p:Post) WHERE p.{key} >= $v RETURN count(*)", {"v": value})
        many = expected.scalar()
        for _ in range(3):
            text = f"MATCH (p:Post) WHERE {condition} RETURN count(*)"
            assert db.execute(text, PARAMETERS).scalar() == many


@pytest.mark.parametrize("condition", COMPUTED)
def test_it_is_a_condition_of_the_nest(db: Database, condition: str) -> None:
    plan = db.explain(f"MATCH (p:Post) WHERE {condition} RETURN count(*)", PARAMETERS)
    assert plan.startswith("one compiled pattern, whose number is the answer")


def test_a_list_of_a_map_is_looked_up(db: Database) -> None:
    text = "MATCH (p:Post) WHERE p.i IN $m.ids RETURN p.i ORDER BY p.i"
    assert db.execute(text, PARAMETERS).fetchall() == [(1,), (2,), (3,)]
    other = {"m": {"ids": [7]}}
    assert db.execute(text, other).fetchall() == [(7,)]
    assert db.execute(text, {"m": {}}).fetchall() == []


def test_columns_keep_their_names(db: Database) -> None:
    text = "MATCH (p:Post {i: 1}) RETURN p.i + size($l), date('2024-01-01'), $t + $d AS later"
    found = db.execute(text, PARAMETERS)
    assert found.columns == ["p.i + size($l)", "date('2024-01-01')", "later"]
    assert found.fetchall() == [(4, date(2024, 1, 1), datetime(2024, 3, 2))]


def test_the_present_is_that_of_each_run(db: Database) -> None:
    text = (
        "MATCH (p:Post {i: 1}) RETURN localdatetime() AS a, timestamp() AS b, localdatetime() AS c"
    )
    runs = [db.execute(text).fetchone() for _ in range(4)]
    assert all(run is not None and run[0] == run[2] for run in runs)
    assert len({run[0] for run in runs if run is not None}) == 4


def test_the_present_is_stored_as_a_datetime() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:P {at: localdatetime()})")
        assert type(db.execute("MATCH (p:P) RETURN p.at").scalar()) is datetime
        assert db.execute("MATCH (p:P) WHERE p.at <= localdatetime() RETURN count(*)").scalar() == 1


@pytest.mark.parametrize("way", WAYS)
def test_an_error_shows_the_place_and_only_where_it_is_needed(db: Database, way: Way) -> None:
    with forced(way):
        for _ in range(2):
            with pytest.raises(gdb.QueryError, match=r"line 1, column 30: an integer is divided"):
                db.execute("MATCH (p:Post) WHERE (p.i) = 1 / $z RETURN p.i", PARAMETERS)
            text = "MATCH (p:Nothing) WHERE p.i = 1 / $z RETURN p.i"
            assert db.execute(text, PARAMETERS).fetchall() == []
            text = "MATCH (p:Post {i: 1}) RETURN CASE WHEN $z = 0 THEN -1 ELSE 1 / $z END AS x"
            assert db.execute(text, PARAMETERS).scalar() == -1
            assert db.execute(text, {"z": 1}).scalar() == 1


def test_random_values_stay_those_of_each_row(db: Database) -> None:
    many = db.execute("MATCH (p:Post) WITH rand() AS r RETURN count(DISTINCT r) AS n").scalar()
    assert many == NODES
    text = "MATCH (p:Post) WITH randomUUID() + $x AS r RETURN count(DISTINCT r) AS n"
    assert db.execute(text, PARAMETERS).scalar() == NODES


def test_writes_have_them_too(db: Database) -> None:
    with gdb.connect() as other:
        for k in range(5):
            other.execute(
                "MERGE (p:P {k: toInteger($x) + $k}) SET p.at = $t + duration({days: $k})",
                {**PARAMETERS, "k": k},
            )
        found = other.execute("MATCH (p:P) RETURN p.k, p.at ORDER BY p.k").fetchall()
        assert found == [(17 + k, datetime(2024, 3, 1 + k)) for k in range(5)]
        with other.transaction() as tx:
            with pytest.raises(gdb.QueryError):
                tx.execute("CREATE (:Q {a: 1 + $z}) SET p = 1 / $z", PARAMETERS)
            tx.execute("CREATE (:R {a: date('2024-01-01')})")
        assert other.execute(
            "MATCH (n) RETURN labels(n)[0] AS l, count(*) ORDER BY l"
        ).fetchall() == [*(("P", 5), ("R", 1))]


FOUND = {
    "RETURN date()": ["date()"],
    "RETURN date() + $d, date() + $d": ["date() + $d"],
    "MATCH (a) WHERE a.x > $m.a AND a.y < $m.b RETURN a": ["$m.a", "$m.b"],
    "MATCH (a {id: toInteger($x)}) RETURN a.x + 1": ["toInteger($x)"],
    "MATCH (a) RETURN [a.x, date()]": ["date()"],
    "MATCH (a) WHERE a.x IN [date(), $t] RETURN a": ["[date(), $t]"],
    "MATCH (a) WHERE EXISTS { (a)-->(b) WHERE b.x > $m.a } RETURN a": ["$m.a"],
    "RETURN [x IN [1] | x + size($l)]": ["size($l)"],
    "RETURN $x + 1 AS x": ["$x + 1"],
    "RETURN $x, 1 + 2, [1, 2], {a: 1}, -$x": [],
    "RETURN rand(), randomUUID(), toString(rand()), range(1, 3), localdatetime.realtime()": [],
    "MATCH (a) RETURN count(*), sum(1), a.x + 1, id(a), labels(a)": [],
    "RETURN COUNT { (a) } + 1 AS n": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_which_parts_are_computed(text: str) -> None:
    found = with_computed(parse(text))
    if found is None:
        assert FOUND[text] == []
        return
    query, parts = found
    assert [parameter_shown(name) for name in parts] == FOUND[text]
    assert query.text == text + MARK

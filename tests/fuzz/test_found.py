"""What the suites of this folder found, each by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from tests.support.ways import WAYS, Way, forced


@pytest.fixture
def star() -> Iterator[Database]:
    """Four nodes with x 3, 1, 2, 0, and a relationship from the first to each other."""
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", [0, 1, 2, 3], {"x": [3, 1, 2, 0]})
            tx.add_relationships("R", [0, 0, 0], [1, 2, 3])
        yield db


def rows(db: Database, text: str) -> list[tuple[object, ...]]:
    return sorted(db.execute(text, device="cpu").fetchall())


@pytest.mark.parametrize("between", ["", "WITH * "])
def test_two_relationships_of_a_match_differ(star: Database, between: str) -> None:
    text = f"MATCH (o)-[:R]->(a), (o)-[:R]->(b) {between}RETURN count(*)"
    assert rows(star, text) == [(6,)]


def test_a_walk_may_have_a_relationship_twice(star: Database) -> None:
    # out: 3; back from each: 3; from each of three to all three: 9; from the first out and back: 3
    assert rows(star, "MATCH WALK (a)-[*1..2]-(b) RETURN count(*)") == [(18,)]


def test_any_takes_as_many_paths_as_it_says(star: Database) -> None:
    with star.transaction() as tx:
        tx.add_relationships("R", [0, 0], [1, 1])
    for k in (1, 2, 3, 4):
        text = f"MATCH ANY {k} (a {{x: 3}})-[r:R*]->(b {{x: 1}}) RETURN count(*)"
        assert rows(star, text) == [(min(k, 3),)]


def test_one_relationship_behind_a_selector_is_no_list(star: Database) -> None:
    text = "MATCH p = ANY (a)-[r]->(b) RETURN type(r), length(p)"
    assert rows(star, text) == [("R", 1)] * 3


@pytest.mark.parametrize("pattern", ["(a)-[:R*]->(b)--(c)", "(a)-->(b)-[:R*0..1]-(c)"])
def test_acyclic_is_said_of_the_whole_path(pattern: str) -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", [0, 1])
            tx.add_relationships("R", [0, 0, 1], [1, 1, 0])
        found = rows(db, f"MATCH ACYCLIC {pattern} WHERE a = c RETURN count(*)")
        assert found == [(0,)]


@pytest.mark.parametrize(
    "condition", ["(b)-[:R]->(b)", "EXISTS { (b)-[:R]->(b) }", "COUNT { (b)-[:R]->(b) } = 1"]
)
def test_anonymous_parts_of_a_condition_are_its_own(condition: str) -> None:
    """The relationship of the condition was the one of the MATCH around it."""
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", [0, 1])
            tx.add_relationships("R", [0, 0], [0, 1])
        text = f"MATCH (b)-->(c) WHERE c.none IS NULL AND {condition} RETURN id(b), id(c)"
        assert rows(db, text) == [(0, 0), (0, 1)]


@pytest.mark.parametrize("condition", ["a.x < b.x", "a.x > b.x", "EXISTS { (a)-->() }"])
def test_subgraphs_keeps_the_match_that_a_condition_wants(star: Database, condition: str) -> None:
    """Row by row, the one match of each class was chosen before the condition was tested."""
    text = f"MATCH SUBGRAPHS (a)--(b) WHERE {condition} WITH * RETURN count(*)"
    assert rows(star, text) == [(3,)]


def test_subgraphs_counts_a_condition_that_says_the_same_once(star: Database) -> None:
    text = "MATCH SUBGRAPHS (a)--(b) WHERE a.x <> b.x WITH * RETURN count(*)"
    assert rows(star, text) == [(3,)]


def test_merge_finds_an_undirected_relationship_that_it_made_from_the_other_end() -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", [0, 1, 2])
            tx.add_relationships("U", [2], [2], directed=False)
        db.execute("MATCH (a:A), (b:A) WHERE a <> b MERGE (a)-[r:U]->(b)")
        assert rows(db, "MATCH (a)-[r:U]->(b) WHERE a <> b RETURN count(DISTINCT id(r))") == [(3,)]


@pytest.mark.parametrize("behind", ["", "WITH * ", "MATCH () "])
@pytest.mark.parametrize(("labels", "found"), [("%", [(1,), (2,), (3,)]), ("!%", [])])
def test_a_node_without_a_name_may_have_any_label(
    star: Database, labels: str, found: list[tuple[int]], behind: str
) -> None:
    text = f"MATCH (:{labels})-->(b) {behind}RETURN DISTINCT id(b)"
    assert rows(star, text) == found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("returned", ["a", "a, b.x AS x", "*", "DISTINCT a", "a LIMIT 3"])
def test_rows_are_in_the_order_of_a_node(star: Database, returned: str, way: Way) -> None:
    columns, _, limit = returned.partition(" LIMIT")
    text = f"MATCH (a)<-[:R]-(b) RETURN {columns} ORDER BY a DESC"
    with forced(way):
        found = star.execute(text + (" LIMIT 3" if limit else ""), device="cpu")
    assert [row[0].id for row in found] == [3, 2, 1]


@pytest.mark.parametrize("way", WAYS)
def test_the_relationship_of_a_shortest_path_goes_on(star: Database, way: Way) -> None:
    text = "MATCH ANY SHORTEST (a)-[r:R]->(b), (c)-[:R*0..2]->(a) UNWIND [a.x, c.x] AS x RETURN type(r), x"
    with forced(way):
        assert rows(star, text) == [("R", 3)] * 6


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pattern", ["p = (a)-[:R]->()", "p = (a)-[r:R*1..2]->()"])
def test_a_path_that_is_given_on_is_no_length(star: Database, pattern: str, way: Way) -> None:
    with forced(way):
        found = star.execute(f"WITH max(1) AS x MATCH {pattern} RETURN *", device="cpu")
        assert [len(row["p"].relationships) for row in found.dicts()] == [1, 1, 1]


@pytest.mark.parametrize("way", WAYS)
def test_acyclic_is_said_of_one_relationship_as_well(star: Database, way: Way) -> None:
    star.execute("MATCH (a {x: 3}) CREATE (a)-[:R]->(a)")
    for length, number in (("", 3), ("*1..2", 3), ("*0..1", 7)):
        with forced(way):
            text = f"MATCH ACYCLIC (a)-[r:R{length}]->(b) WITH a, b, 1 AS x RETURN count(*)"
            assert star.execute(text, device="cpu").scalar() == number


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("between", ["", "WITH * ", "WITH a "])
@pytest.mark.parametrize(
    "first",
    [
        "(a) WHERE EXISTS { (a)-->(b {x: 1}) }",
        "(a) WHERE COUNT { (a)-->(b {x: 1}) } = 1",
        "(a WHERE EXISTS { (a)-->(b {x: 1}) })",
        "(a {x: 2 + COUNT { (a)-->(b {x: 1}) }})",
        "({x: 0})<-[r:R WHERE EXISTS { (a)-->(b {x: 1}) }]-(a)",
    ],
)
def test_a_name_of_a_subquery_is_not_what_a_later_match_binds(
    star: Database, first: str, between: str, way: Way
) -> None:
    with forced(way):
        found = rows(star, f"MATCH {first} {between}MATCH (a)-->(b) RETURN b.x")
    assert found == [(0,), (1,), (2,)]

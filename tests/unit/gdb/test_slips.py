"""What runs, and is probably not meant: warnings; and errors of values that say what to write."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import gdb
from gdb.errors import TypeProblem


@pytest.fixture(scope="module")
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute("CREATE (:P {name: 'a', age: 3})-[:KNOWS {since: 1}]->(:P {name: 'b', age: 4})")
        yield db


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "MATCH (a)-[KNOWS]->(b) RETURN a.name",
            r"^line 1, column 12: the relationship variable KNOWS is named as a type.*-\[:KNOWS\]-",
        ),
        ("MATCH (a) MATCH (a)-[LIVES_IN]->(b) WITH a RETURN a.name", "LIVES_IN is named as a type"),
        ("MATCH (P) RETURN P.name", r"column 7: the node variable P is named as a label.*\(:P\)"),
        ("MATCH (a)-->(b) WITH b MATCH (a) RETURN a, b", r"column 31: .* does not pass on 'a'"),
        ("MATCH (a) WHERE a.name <> null RETURN a", r"never true\. Write IS NOT NULL"),
        ("MATCH (a) WITH a WHERE null = a.name RETURN a", r"never true\. Write IS NULL"),
        ("MATCH (a)-[*3..1]->(b) RETURN a", r"at least 3 and at most 1 .* Write \*1\.\.3"),
    ],
)
def test_a_warning(db: gdb.Database, text: str, warning: str) -> None:
    found = db.execute(text).warnings
    assert [one for one in found if re.search(warning, one)]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[KNOWS]->(b) RETURN KNOWS.since",
        "MATCH (a)-[knows]->(b) RETURN a.name",
        "MATCH (a)-[R]->(b) RETURN a.name",
        "MATCH (a)-[`KNOWS`]->(b) RETURN a.name",
        "MATCH (a)-[:KNOWS*1..1]->(b) RETURN a.name",
        "MATCH (P:P) RETURN P.name",
        "MATCH (a) WITH count(a) AS n MATCH (a:P) RETURN n, a.name",
        "MATCH (a)-->(b) WITH b AS a MATCH (a) RETURN a.name",
        "MATCH (a)-->(b) WITH a, b MATCH (a) RETURN a.name",
        "MATCH (a) WHERE a.name IS NOT NULL RETURN a",
        "MATCH (n) RETURN n ORDER BY n.age",
        "MATCH (n) RETURN n AS n ORDER BY n.age",
        "MATCH (n) RETURN n.age AS age ORDER BY n.age",
    ],
)
def test_no_warning(db: gdb.Database, text: str) -> None:
    assert db.execute(text).warnings == ()


@pytest.mark.parametrize("column", ["count(*)", "n.age", "'x'"])
def test_order_by_a_column_that_has_a_nodes_name(db: gdb.Database, column: str) -> None:
    message = "'n' is here the column of that name, and no longer a node.*as in AS n_name"
    with pytest.raises(TypeProblem, match=message):
        db.execute(f"MATCH (n) RETURN {column} AS n ORDER BY n.name")


def test_order_by_a_part_of_a_column(db: gdb.Database) -> None:
    text = "UNWIND [{born: date('2001-01-01')}, {born: date('2000-01-01')}] AS n "
    found = db.execute(text + "WITH n.born AS n ORDER BY n.year RETURN n.year").fetchall()
    assert found == [(2000,), (2001,)]
    mapped = "MATCH (n) RETURN {age: -n.age} AS n ORDER BY n.age"
    assert db.execute(mapped).fetchall() == [({"age": -4},), ({"age": -3},)]


@pytest.mark.parametrize(
    ("expression", "cure"),
    [
        ("n.name + (n.age > 1)", r"toString\(\) makes a string of a boolean"),
        ("n.name * 2", r"toInteger\(\) and toFloat\(\) make a number of a string"),
        ("n * 2", r"Take a property"),
        ("'a' * 2", r"toInteger\(\) and toFloat\(\)"),
        ("[1] * 2", r"\[x IN list"),
        ("1 + true", r"toString\(\)"),
    ],
)
def test_a_calculation_says_what_to_write(db: gdb.Database, expression: str, cure: str) -> None:
    with pytest.raises(TypeProblem, match=cure):
        db.execute(f"MATCH (n) WITH n RETURN {expression} AS x").fetchall()

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
        db.execute("CREATE (:Q {born: date('2000-01-01'), ok: true, tags: ['x']})")
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
        ("MATCH (a:Pp) WITH a, {x: a} AS m RETURN m", "no node has the label :Pp. Did you mean :P"),
        ("MATCH (a:Pp) SET a.x = 1", "no node has the label :Pp"),
        ("MATCH (a)-[:KNOW]->() DETACH DELETE a", "no relationship has the type :KNOW"),
        ("MATCH (a:P) WHERE EXISTS { (a)-->(:Pp) } RETURN a", "no node has the label :Pp"),
        ("MATCH (a:P) WHERE a.agee > 3 SET a.x = 1", r"property agee, .* Did you mean \.age"),
        (
            "MATCH (a:P) WHERE a.age > '30' RETURN a",
            r"column 19: a\.age is an integer, and '30' a string: .* null in every row\. Write 30 with",
        ),
        ("MATCH (a:P) WITH a, rand() AS x WHERE '3' = a.age RETURN a", "equal in no row. Write 3 "),
        ("MATCH (a:P {age: '3'}) RETURN a", "column 13: age is an integer, .* Write 3 without"),
        ("MATCH (a:P) WHERE a.age <> 'x' SET a.y = 1", "differ in every row"),
        ("MATCH (a:P) WHERE a.name = 3 RETURN a", "Write '3' in quotes"),
        ("MATCH (a:Q) WHERE a.born > '2020-01-01' RETURN a", r"Write date\('2020-01-01'\)"),
        ("MATCH (a:Q) WHERE a.ok = 'TRUE' RETURN a", "Write true without quotes"),
        ("MATCH (a:Q) WHERE a.tags = 'x' RETURN a", r"Write 'x' IN a\.tags"),
        ("MATCH (a) WHERE id(a) = '1' RETURN a", r"id\(a\) is an integer"),
        ("MATCH (a)-[r]->(b:P) WHERE r.since = b.name RETURN a", "Compare values of one type"),
        ("MATCH (a:P) WHERE a.age IN ['3', 'x'] RETURN a", "Write 3 without quotes"),
        ("MATCH (a:P) WHERE a.age STARTS WITH '3' RETURN a", r"Write toString\(a\.age\)"),
        ("CREATE (P {name: 'x'})", r"the new node has no label.*\(:P\)"),
        ("MATCH (a:P) WHERE a.age > $least RETURN a", r"Write toInteger\(\$least\)"),
    ],
)
def test_a_warning(db: gdb.Database, text: str, warning: str) -> None:
    with db.transaction() as changes:
        found = changes.execute(text, {"least": "30"} if "$least" in text else None).warnings
        changes.rollback()
    assert [one for one in found if re.search(warning, one)]


def test_a_variable_with_the_name_of_a_type_that_is_there() -> None:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:A)-[:knows]->(b:B), (a)-[:LivesIn]->(b), (a)-[:K]->(b), (a)-[:KNOWS]->(b)"
        )
        for name in ("knows", "LivesIn", "K", "KNOWS"):
            for pattern in (f"(a)-[{name}]->(b)", f"(a) WHERE EXISTS {{ (a)-[{name}]->() }}"):
                (found,) = db.execute(f"MATCH {pattern} RETURN count(*)").warnings
                assert f"the relationship variable {name} is named as a type" in found
            for used in (f"[{name}]->(b) RETURN type({name})", f"[{name}:K]->() RETURN 1"):
                assert not db.execute(f"MATCH (a)-{used}").warnings
        assert not db.execute("MATCH (a)-[r]->(b) RETURN count(*)").warnings


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
        "MATCH (a:Q) WITH a, {y: 1} AS m RETURN m.y",
        "MATCH (a) WHERE a.age > 3.5 RETURN a",
        "MATCH (a) RETURN [a IN [1] WHERE a = 'x'] AS x",
        "MATCH (a:P) WHERE a.age IS NULL SET a.new = a.new, a:New",
        "MATCH (a:P) WITH a.name AS a WHERE a > 'x' RETURN a",
        "MATCH (a:P) WHERE a.age IN [3, 'x'] OR a.age IN [null] RETURN a",
        "MATCH (a:P) WHERE toString(a.age) > '30' RETURN a",
        "MERGE (b:Made {kind: 1}) WITH 1 AS x MATCH (b:Made) WHERE b.kind = 2 RETURN b",
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
    mapped = "MATCH (n:P) RETURN {age: -n.age} AS n ORDER BY n.age"
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

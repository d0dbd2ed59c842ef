"""A graph that is written as one statement: its patterns are a table, which means what they mean."""

from __future__ import annotations

from random import Random

import pytest

import gdb
from gdb.errors import GdbError, SyntaxProblem
from gdb.language import bulk, parser
from gdb.language.clauses import BulkCreate, Create, Return
from gdb.language.parser import parse
from tests.support.effort import share


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of any number of patterns."""
    monkeypatch.setattr(bulk, "FEWEST", 1)
    monkeypatch.setattr(parser, "_SHORT", 0)


def kinds(text: str) -> list[tuple[str, int]]:
    """The clauses of a query, and how many patterns each creates."""
    return [
        (type(one).__name__, len(one.rows if isinstance(one, BulkCreate) else one.patterns))
        if isinstance(one, (BulkCreate, Create))
        else (type(one).__name__, 0)
        for one in parse(text).parts[0]
    ]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("CREATE (a:A {x: 1}), (b:A {x: 2}), (a)-[:T {y: 'z'}]->(b)", [3]),
        ("/* ( */ create (a:A) // , (x\nCREATE /* ( */ (b:B);", [2]),
        ("CREATE (:A {x: 1}), (:A {l: [1, 2]}), (:A {l: ['a', \"b\", 'c']})", [3]),
        ("CREATE (a:A)<-[r:T]-(b:B)-[:T]->(:C), (a)-[q:T]->(b)", [2]),
        ("CREATE (a:A), (b), (a)-[:T]->(b)", [3]),
        ("CREATE (where:A), (where)-[:T]->(where)", [2]),
        ("CREATE (a:A {x: null, y: 1e3, z: 1_000})", [1]),
        ("CREATE (a:A), (b:B {x: date('2020-01-01')}), (c:C {x: duration({days: 3})})", [3]),
        ("CREATE (:A {x: date('(')}), (:B {x: [date('2020-01-01'), date('2021-01-01')]})", [2]),
        # what is something else ends the table
        ("CREATE (a:A), (a)-[:T]->(b)", [1, 1]),  # makes b
        ("CREATE (a:A), (b:B {x: a.x}), (c:C)", [1, 2]),
        ("CREATE (a:A), (b:B {x: [a.x]}), (c:C)", [1, 2]),
        ("CREATE (a:A), (b:B {x: toString(a.x)}), (c:C)", [1, 2]),
        ("CREATE (a:A), (b:B {x: COUNT { (a) }}), (c:C)", [1, 2]),
        ("CREATE (a:A), p = (b:B), (c:C)", [1, 2]),
        ("CREATE (a:A), (`b`:B), (c:C)", [1, 2]),
        ("CREATE (a:A), (b:B {x: $x}), (c:C)", [1, 2]),
        ("CREATE (a:A), (b:$('B')), (c:C)", [1, 2]),
        ("CREATE (a:A), (b {})-[:T]->(a), (c:C)", [1, 2]),
        ("CREATE (a:A), (b:B)-[:T]->(b), (c:C)", [1, 2]),
        ("CREATE (inf:A), (b:B)", [2]),
        ("CREATE (a:A) CREATE p = (b:B) CREATE (c:C)", [1, 1, 1]),
    ],
)
def test_which_patterns_are_in_the_table(text: str, patterns: list[int]) -> None:
    assert [count for _, count in kinds(text)] == patterns
    first = "Create" if text.startswith("CREATE (inf") else "BulkCreate"
    assert kinds(text)[0][0] == first


def test_a_few_patterns_are_no_table() -> None:
    text = ", ".join(f"(p{k}:Person {{id: {k}, name: 'Anna {'x' * 100}'}})" for k in range(15))
    assert kinds(f"CREATE {text}") == [("Create", 15)]
    assert kinds(f"CREATE {text}, (q:Person {{id: 15, name: ''}})") == [("BulkCreate", 16)]


def test_many_shapes_are_no_table() -> None:
    """To find a shape takes longer than to parse a pattern."""
    text = ", ".join(f"(p{k}:Person{k})" for k in range(200))
    found = kinds(f"CREATE {text}")
    assert sum(count for _, count in found) == 200
    assert found[0][1] < 20


def test_a_pattern_longer_than_a_short_text() -> None:
    text = ", ".join(f"(p{k}:Person {{name: '{'x' * 2000}'}})" for k in range(20))
    assert kinds(f"CREATE {text}") == [("BulkCreate", 20)]


def test_the_reading_can_be_stopped() -> None:
    class Stopped(Exception):
        pass

    times = 0

    def pulse() -> None:
        nonlocal times
        times += 1
        if times == 3:
            raise Stopped

    text = "CREATE " + ", ".join(f"(p{k}:Person {{id: {k}}})" for k in range(10_000))
    with pytest.raises(Stopped):
        parse(text, pulse)


@pytest.mark.parametrize("separator", [", ", "\nCREATE "])
def test_errors_behind_the_table_show_their_place(separator: str) -> None:
    parts = [f"(p{k}:Person {{id: {k}}})" for k in range(3000)]
    for wrong, kind in (
        ("(p7:Person {id: 1})", SyntaxProblem),
        ("(q:Person {id: 'x)", SyntaxProblem),
        ("(q:Person {id: 1}", SyntaxProblem),
        ("(p1)-[:A|B]->(p2)", SyntaxProblem),
        ("(q:Person {id: 1 / 0})", GdbError),
    ):
        text = "CREATE " + (separator + "\n").join([*parts, wrong])
        with gdb.connect() as db, pytest.raises(kind) as raised:
            db.execute(text)
        assert f"line {text.count(chr(10)) + 1}" in str(raised.value)


@pytest.mark.parametrize("separator", [", ", "\nCREATE "])
@pytest.mark.parametrize("wrong", ["'2020-13-01'", "'x'", "''"])
def test_errors_in_the_table_show_their_place(separator: str, wrong: str) -> None:
    parts = [f"(p{k}:Person {{id: {k}, born: date('2020-01-01')}})" for k in range(100)]
    parts[70] = f"(p70:Person {{id: 70, born: date({wrong})}})"
    text = "CREATE " + (separator + "\n").join(parts)
    assert kinds(text) == [("BulkCreate", 100)]
    with gdb.connect() as db:
        with pytest.raises(GdbError) as raised:
            db.execute(text)
        assert not db.stats().vertices
    line = text[: text.index("(p70")].count("\n") + 1
    assert f"line {line}, column" in str(raised.value)
    assert f"date({wrong})" in str(raised.value)


def test_what_follows_sees_the_names() -> None:
    parts = [f"(p{k}:Person {{id: {k}}})" for k in range(100)]
    parts += [f"(p{k})-[r{k}:KNOWS]->(p{k + 1})" for k in range(99)]
    text = "CREATE " + ", ".join(parts)
    assert isinstance(parse(f"{text} RETURN p3").parts[0][1], Return)
    with gdb.connect() as db:
        assert db.execute(f"{text} RETURN p3.id, type(r98)").fetchall() == [(3, "KNOWS")]
        found = db.execute(f"{text} WITH p5 MATCH (p5)-->(b) RETURN b.id").fetchall()
        assert found == [(6,)]
        assert len(db.execute(f"{text} RETURN *").columns) == 199
        with pytest.raises(GdbError, match="p100"):
            db.execute(f"{text} RETURN p100")
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 300


def test_a_table_is_shown_as_it_is_written() -> None:
    text = "CREATE " + ", ".join(f"(p{k}:Person {{id: {k}, name: 'it\\'s'}})" for k in range(100))
    with gdb.connect() as db:
        assert text in db.explain(text)


# ---- the same as without -------------------------------------------------------------------------


def _script(chance: Random) -> str:
    """Patterns of many kinds, some of them wrong."""
    values = ["1", "-2", "1.5", "'x'", '"it\'s"', "'it\\'s'", "'\\q'", "true", "null", "[1, 2]"]
    values += ["date('2020-01-01')", "toInteger('7')", "[date('2020-01-01')]", "date('2020-13-01')"]
    values += [
        "['a', 1]",
        "1e3",
        "0x1F",
        "007",
        "1 + 1",
        "date(v0.x)",
        "[]",
        "$x",
        "'//'",
        "{x: 1}",
    ]
    found = []
    for k in range(chance.randrange(2, 14)):
        name = f"v{k if chance.random() < 0.95 else 0}"
        value = chance.choice(values[: 13 if chance.random() < 0.9 else None])
        a, b = (f"v{chance.randrange(k + 1)}" for _ in range(2))
        found.append(
            chance.choice(
                [
                    f"({name}:A {{x: {value}}})",
                    f"({name} :A:B{{ x : {value}, y:{chance.choice(values[:5])} }})",
                    f"({name})",
                    f"({a})-[:T {{x: {value}}}]->({b})",
                    f"({a})<-[r{k}:T]-({b})",
                    f"({a})-[:T]->({name}n:C {{x: {value}}})<-[:U]-({b})",
                    f"({name}:A {{x: {value}}}) /* , (z:Z) */",
                    *(
                        [f"({a})-[:T]-({b})", f"p{k} = ({a})-[:T]->(:D)", f"({name}:A|B)", "(:A"]
                        * 1
                    )[: 4 if chance.random() < 0.15 else 2 if chance.random() < 0.2 else 0],
                ]
            )
        )
    joined = found[0]
    for one in found[1:]:
        joined += chance.choice([", ", ",\n  ", "\nCREATE ", " create ", " // x, (y)\nCREATE "])
        joined += one
    ends = ["", ";", " RETURN v0", " WITH v0 MATCH (v0)-->(b) RETURN count(b)", " RETRUN 1", ","]
    return f"CREATE {joined}{chance.choice(ends)}"


def _outcome(text: str) -> list[str]:
    with gdb.connect() as db:
        try:
            rows = db.execute(text).fetchall()
        except GdbError as error:
            assert not db.stats().vertices
            return [type(error).__name__, str(error)]
        nodes = db.execute("MATCH (n) RETURN id(n), labels(n), properties(n)")
        edges = db.execute("MATCH (a)-[r]->(b) RETURN id(a), type(r), properties(r), id(b)")
        return [str(rows), *sorted(map(str, nodes)), *sorted(map(str, edges))]


@pytest.mark.parametrize("seed", range(share(150)))
def test_with_and_without_tables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = _script(Random(seed))
    expected = _outcome(text)
    monkeypatch.setattr(bulk, "FEWEST", 1)
    monkeypatch.setattr(parser, "_SHORT", 0)
    assert _outcome(text) == expected, text

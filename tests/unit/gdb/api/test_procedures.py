"""CALL of procedures: gdb's own, and those that a program registers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest

import gdb
from gdb.errors import (
    ArgumentProblem,
    Cancelled,
    NameProblem,
    QueryError,
    SyntaxProblem,
    TypeProblem,
)
from gdb.language.procedure_signatures import signature


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute("CREATE (:A:B {x: 1})-[:R {w: 2.5}]->(:C {y: 'a'})")
        db.register_procedure(
            "my.up(x :: INTEGER) :: (y :: INTEGER, z :: FLOAT?)",
            lambda x: [(x + 1, x), {"z": None, "y": x}],
            "Two rows for a number.",
        )
        yield db


# ---- gdb's own -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("db.labels()", ["label"], [("A",), ("B",), ("C",)]),
        ("db.labels", ["label"], [("A",), ("B",), ("C",)]),
        ("db.relationshipTypes()", ["relationshipType"], [("R",)]),
        ("db.propertyKeys()", ["propertyKey"], [("w",), ("x",), ("y",)]),
        (
            "db.schema.nodeTypeProperties()",
            ["nodeType", "nodeLabels", "count", "propertyName", "propertyTypes"],
            [(":`A`:`B`", ["A", "B"], 1, "x", ["int"]), (":`C`", ["C"], 1, "y", ["string"])],
        ),
        (
            "db.schema.relTypeProperties()",
            ["relType", "count", "propertyName", "propertyTypes"],
            [(":`R`", 1, "w", ["float"])],
        ),
        (
            "dbms.components()",
            ["name", "versions", "edition"],
            [("gdb", [gdb.__version__], "embedded")],
        ),
    ],
)
def test_gdbs_own(db: gdb.Database, text: str, columns: list[str], rows: list[object]) -> None:
    found = db.execute(f"CALL {text}")
    assert (found.columns, found.fetchall()) == (columns, rows)


def test_they_see_what_the_query_has_written(db: gdb.Database) -> None:
    text = "CREATE (:New) WITH 1 AS one CALL db.labels() YIELD label RETURN label"
    assert ("New",) in db.execute(text).fetchall()
    with db.transaction() as tx:
        tx.execute("CREATE (:Newer)")
        assert ("Newer",) in tx.execute("CALL db.labels()").fetchall()


def test_all_are_listed(db: gdb.Database) -> None:
    listed = db.execute("CALL dbms.procedures() YIELD name, signature, description").fetchall()
    assert [row[1] for row in listed] == db.procedures()
    names = [row[0] for row in listed]
    assert names == sorted(names)
    assert {"db.labels", "dbms.procedures", "my.up"} <= set(names)
    assert all(row[2] for row in listed)
    with gdb.connect() as other:
        assert "my.up" not in {row[0] for row in other.execute("CALL dbms.procedures()")}


# ---- in a query ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("UNWIND [1, 5] AS x CALL my.up(x) YIELD y RETURN x, y", [(1, 2), (1, 1), (5, 6), (5, 5)]),
        ("CALL my.up(1) YIELD z, y RETURN y, z", [(2, 1.0), (1, None)]),
        ("CALL my.up(1) YIELD y AS a, z AS b RETURN a, b", [(2, 1.0), (1, None)]),
        ("CALL my.up(1) YIELD y AS z, z AS y RETURN y, z", [(1.0, 2), (None, 1)]),
        ("CALL my.up(1) YIELD *", [(2, 1.0), (1, None)]),
        ("CALL my.up(1) YIELD z", [(1.0,), (None,)]),
        ("CALL my.up(1) YIELD y AS a", [(2,), (1,)]),
        ("UNWIND [7] AS x CALL my.up(x) YIELD * RETURN x, y", [(7, 8), (7, 7)]),
        ("UNWIND [1, 5] AS x CALL my.up(x) YIELD y WHERE y > x RETURN y", [(2,), (6,)]),
        ("CALL my.up($x)", [(4, 3.0), (3, None)]),
        ("CALL my.up", [(4, 3.0), (3, None)]),
        ("MATCH (n:A) CALL my.up(n.x) YIELD y RETURN sum(y)", [(3,)]),
        ("MATCH (n:A) CALL my.up(size([(n)-->(m) | m])) YIELD y RETURN y", [(2,), (1,)]),
        ("CALL db.labels() YIELD label MATCH (n) WHERE label IN labels(n) RETURN count(*)", [(3,)]),
        ("CALL { CALL db.labels() YIELD label RETURN label AS l } RETURN count(l)", [(3,)]),
        (
            "MATCH (n) WHERE EXISTS { CALL db.labels() YIELD label WHERE label IN labels(n) AND label = 'B'"
            " RETURN label } RETURN n.x",
            [(1,)],
        ),
        (
            "CALL db.labels() YIELD label RETURN count(*) AS n"
            " UNION ALL CALL db.propertyKeys() YIELD propertyKey RETURN count(*) AS n",
            [(3,), (3,)],
        ),
        ("UNWIND [] AS x CALL my.up(x) YIELD y RETURN y", []),
        ("CALL my.up(1) YIELD y WITH y ORDER BY y RETURN collect(y)", [([1, 2],)]),
    ],
)
def test_in_a_query(db: gdb.Database, text: str, rows: list[object]) -> None:
    assert db.execute(text, {"x": 3}).fetchall() == rows


def test_one_that_gives_nothing_leaves_the_rows(db: gdb.Database) -> None:
    seen: list[object] = []
    db.register_procedure("my.note(x :: ANY?) :: VOID", lambda x: seen.append(x) or [])
    assert db.execute("MATCH (n) CALL my.note(n.x) RETURN count(*)").scalar() == 2
    assert seen == [1, None]
    assert db.execute("MATCH (n) CALL my.note(n)").columns == []
    assert [type(one) for one in seen[2:]] == [gdb.Node, gdb.Node]
    assert db.execute("CALL my.up(1) YIELD -").columns == []


def test_explain_and_profile(db: gdb.Database) -> None:
    text = "CALL my.up(1) YIELD y AS a WHERE a > 1 RETURN a"
    assert "CALL my.up(1) YIELD y AS a WHERE a > 1" in db.explain(text)
    lines = [line for (line,) in db.execute(f"PROFILE {text}")]
    assert any("CALL my.up(1)" in line for line in lines)
    with pytest.raises(NameProblem):
        db.explain("CALL my.nothing()")


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("CALL db.lables()", NameProblem, "column 6: .*Did you mean db.labels"),
        ("CALL a.b()", NameProblem, "dbms.procedures"),
        ("CALL db.labels() YIELD lable RETURN 1", NameProblem, "column 24: .*Did you mean label"),
        ("CALL my.up() YIELD y RETURN y", SyntaxProblem, "takes 1 value, not 0"),
        ("CALL db.labels(1)", SyntaxProblem, "takes 0 values, not 1"),
        ("CALL my.up('a')", TypeProblem, "column 12: .*takes x :: INTEGER, and this is a string"),
        ("UNWIND [1, 'a'] AS x CALL my.up(x) YIELD y RETURN y", TypeProblem, "column 33"),
        ("UNWIND [null] AS x CALL my.up(x) YIELD y RETURN y", TypeProblem, "this is null"),
        ("MATCH (n) CALL db.labels() RETURN n", SyntaxProblem, "Write YIELD"),
        ("MATCH (n) CALL db.labels RETURN n", SyntaxProblem, "needs its arguments"),
        ("CALL { CALL db.labels } RETURN 1", SyntaxProblem, "needs its arguments"),
        ("MATCH (n) CALL db.labels() YIELD label", SyntaxProblem, "Add RETURN"),
        ("WITH 1 AS label CALL db.labels() YIELD label RETURN 1", SyntaxProblem, "already"),
        ("WITH 1 AS label CALL db.labels() YIELD * RETURN 1", SyntaxProblem, "YIELD label AS"),
        ("CALL my.up(1) YIELD y, y RETURN 1", SyntaxProblem, "already"),
        ("CALL my.up(1) YIELD y WHERE z > 1 RETURN y", NameProblem, "no variable 'z'"),
        ("CALL my.up(count(*)) YIELD y RETURN y", SyntaxProblem, "aggregate"),
        ("SHOW LABELS", QueryError, "dbms.procedures"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    db: gdb.Database, text: str, kind: type[QueryError], says: str
) -> None:
    with pytest.raises(kind, match=says) as found:
        db.execute(text)
    assert found.value.line == 1


def test_an_implicit_argument_needs_its_parameter(db: gdb.Database) -> None:
    with pytest.raises(NameProblem, match=r"\$x has no value"):
        db.execute("CALL my.up")


# ---- the program's own ---------------------------------------------------------------------------


def test_types(db: gdb.Database) -> None:
    given = {
        "f": ("FLOAT", 1, 1.0),
        "n": ("NUMBER", 1, 1),
        "l": ("LIST OF FLOAT", [1, 2.5], [1.0, 2.5]),
        "m": ("MAP", {"a": 1}, {"a": 1}),
        "d": ("DATE", date(2000, 1, 1), date(2000, 1, 1)),
        "a": ("ANY?", None, None),
        "b": ("BOOLEAN", True, True),
    }
    for name, (kind, value, made) in given.items():
        db.register_procedure(f"my.{name}(x :: {kind}) :: (y :: {kind})", lambda x: [[x]])
        found = db.execute(f"CALL my.{name}($x) YIELD y RETURN y", {"x": value}).scalar()
        assert (found, type(found)) == (made, type(made)), kind
    for name, value in (("l", [1, "a"]), ("f", "1"), ("b", 1), ("m", None), ("d", 1)):
        with pytest.raises(TypeProblem, match="takes x ::"):
            db.execute(f"CALL my.{name}($x)", {"x": value})


def test_nodes_relationships_and_paths_are_those_of_the_graph(db: gdb.Database) -> None:
    db.register_procedure("my.same(x :: ANY?) :: (y :: ANY?)", lambda x: [(x,)])
    db.register_procedure(
        "my.found() :: (n :: NODE, r :: RELATIONSHIP, p :: PATH)",
        lambda: db.execute("MATCH p = (n)-[r]->() RETURN n, r, p"),
    )
    for part in ("n", "r", "p", "[n, r]", "{a: n}"):
        text = f"MATCH p = (n)-[r]->() CALL my.same({part}) YIELD y RETURN y = {part}"
        assert db.execute(text).fetchall() == [(True,)], part
    text = "CALL my.found() YIELD n, r, p MATCH (n)-[r]->(m) SET n.seen = 1 RETURN m.y, length(p), n.seen"
    assert db.execute(text).fetchall() == [("a", 1, 1)]
    with gdb.connect() as other:
        other.execute("CREATE (), (), ()")
        stranger = other.execute("MATCH (n) RETURN n ORDER BY id(n) DESC LIMIT 1").scalar()
    db.register_procedure("my.stranger() :: (n :: NODE)", lambda: [(stranger,)])
    with pytest.raises(TypeProblem, match="no node 2"):
        db.execute("CALL my.stranger()")


def test_it_may_ask_the_database(db: gdb.Database) -> None:
    db.register_procedure(
        "my.count() :: (n :: INTEGER)", lambda: db.execute("MATCH (n) RETURN count(*)")
    )
    assert (
        db.execute("UNWIND [1, 2] AS x CALL my.count() YIELD n RETURN n").fetchall() == [(2,)] * 2
    )


def test_what_it_gives_is_checked(db: gdb.Database) -> None:
    for rows in ([("a",)], [(None,)], [()], [(1, 2)], [{"x": 1}], [7], [(object(),)]):
        db.register_procedure("my.wrong() :: (y :: INTEGER)", lambda rows=rows: rows)
        with pytest.raises(TypeProblem, match="column 1: "):
            db.execute("CALL my.wrong()")


def test_an_error_of_its_own_keeps_its_cause(db: gdb.Database) -> None:
    db.register_procedure("my.bad() :: (y :: INTEGER)", lambda: [1 / 0])
    with pytest.raises(ArgumentProblem, match=r"my\.bad failed: ZeroDivisionError") as found:
        db.execute("MATCH (n:A) CALL my.bad() YIELD y RETURN y")
    assert isinstance(found.value.__cause__, ZeroDivisionError)
    assert found.value.column == 13


def test_it_can_be_stopped(db: gdb.Database) -> None:
    def forever() -> Iterator[tuple[int]]:
        number = 0
        while True:
            number += 1
            if number == 10_000:
                db.interrupt()
            yield (number,)

    db.register_procedure("my.forever() :: (n :: INTEGER)", forever)
    with pytest.raises(Cancelled):
        db.execute("CALL my.forever() YIELD n RETURN n")


def test_registering(db: gdb.Database) -> None:
    db.register_procedure("my.up(x :: INTEGER) :: (y :: INTEGER)", lambda x: [(7,)])
    assert db.execute("CALL my.up(1)").fetchall() == [(7,)]
    with pytest.raises(NameProblem, match="of gdb"):
        db.register_procedure("db.labels() :: (x :: INTEGER)", list)
    with pytest.raises(TypeProblem):
        db.register_procedure("a() :: ()", 7)  # type: ignore[arg-type]
    with pytest.raises(TypeProblem):
        db.register_procedure(7, list)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "a.b(x::INTEGER?)::(y::LIST OF STRING?)",
        "doNothing() :: VOID",
        " a ( ) :: ( ) ",
        "a(x :: list of list of any) :: (y :: any?, z :: Node)",
    ],
)
def test_signatures(text: str) -> None:
    once = signature(text)
    assert signature(str(once)) == once


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a()", "a() :: (x)", "a(x :: FOO) :: ()", "a(x y :: ANY) :: ()", "1a() :: ()"),
        *("a() :: (x :: ANY, x :: ANY)", "a() :: () b", "a(x :: ANY", "a(x :: ANY,) :: ()", "a;"),
    ],
)
def test_no_signatures(text: str) -> None:
    with pytest.raises(SyntaxProblem, match="is no signature"):
        signature(text)

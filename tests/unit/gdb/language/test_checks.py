"""The check of a query before it runs: what is refused and by which name, what is not, and scopes."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gdb
from gdb.errors import LimitExceeded, NameProblem, QueryError, SyntaxProblem, TypeProblem
from gdb.functions.static_kinds import (
    BOOLEAN,
    INTEGER,
    LIST,
    STRING,
    VALUE,
    list_of,
)
from gdb.language.checks import check
from gdb.language.checks.expression_checks import known
from gdb.language.checks.frame import Aggregates, Frame, QueryFacts
from gdb.language.clauses import Return
from gdb.language.parser import parse
from gdb.language.procedure_signatures import Procedure, signature
from gdb.language.syntax import Expression, Not
from gdb.logical.build import built
from gdb.run import columns_or_rows

PROCEDURES = {
    "some.proc": Procedure(signature("some.proc() :: (a :: ANY, b :: ANY)"), lambda graph, _: ())
}
REFUSED = [
    # variables
    ("RETURN x", "UndefinedVariable"),
    ("MATCH (a) WITH a.x AS x RETURN a", "UndefinedVariable"),
    ("MATCH (a) RETURN [x IN [1] | x] + x", "UndefinedVariable"),
    ("MATCH (a) WHERE (a)-->(b) RETURN a", "UndefinedVariable"),
    ("MATCH (a) WHERE exists((a)-[r]->()) RETURN a", "UndefinedVariable"),
    ("MATCH (a) WHERE EXISTS { (a)-->(b) } RETURN b", "UndefinedVariable"),
    ("MATCH (a) WITH DISTINCT a.x AS x ORDER BY a.y RETURN x", "UndefinedVariable"),
    ("MATCH (a) WITH a.x AS x, count(*) AS n WHERE a.y = 1 RETURN x", "UndefinedVariable"),
    ("MATCH (a) RETURN a.x, count(*) AS n ORDER BY a.y", "UndefinedVariable"),
    ("MATCH (a) RETURN a.x AS x, min(a.y) AS m ORDER BY sum(a.z)", "UndefinedVariable"),
    ("CREATE (a {x: b.x})", "UndefinedVariable"),
    ("CREATE (a {x: a.y})", "UndefinedVariable"),
    ("MERGE (a {x: 1})-[:R]->(b {x: a.x})", "UndefinedVariable"),
    ("MATCH (a) SET b.x = 1", "UndefinedVariable"),
    ("MATCH (a) SET a.x = missing", "UndefinedVariable"),
    ("MATCH (a) REMOVE b:Old", "UndefinedVariable"),
    ("MERGE (a) ON CREATE SET b.x = 1", "UndefinedVariable"),
    ("FOREACH (x IN [1] | CREATE ({v: x})) RETURN x", "UndefinedVariable"),
    ("MATCH (a) CALL { RETURN a.x AS x } RETURN x", "UndefinedVariable"),
    ("MATCH (a) CALL (b) { RETURN 1 AS x } RETURN x", "UndefinedVariable"),
    ("MATCH (a), (b) CALL (a) { RETURN b.x AS x } RETURN x", "UndefinedVariable"),
    ("MATCH (a) RETURN 1 AS x UNION RETURN a AS x", "UndefinedVariable"),
    ("RETURN CASE y WHEN 1 THEN 2 END", "UndefinedVariable"),
    ("RETURN CASE 1 WHEN y THEN 2 END", "UndefinedVariable"),
    ("RETURN [1][y..]", "UndefinedVariable"),
    ("RETURN y IN [1]", "UndefinedVariable"),
    ("RETURN [x IN [1] WHERE y | x]", "UndefinedVariable"),
    ("MATCH (n WHERE m.x = 1) RETURN n", "UndefinedVariable"),
    ("MATCH (n) SET n[y] = 1", "UndefinedVariable"),
    ("MATCH (n) RETURN reduce(s = y, x IN [1] | s)", "UndefinedVariable"),
    ("MATCH (n) RETURN n {.x, y: y}", "UndefinedVariable"),
    ("MATCH (a) CREATE (a)", "VariableAlreadyBound"),
    ("MATCH (a) CREATE (a {x: 1})-[:R]->()", "VariableAlreadyBound"),
    ("CREATE (n {}) CREATE (n {})-[:R]->()", "VariableAlreadyBound"),
    ("CREATE (n)-[:R]->(n:Foo)", "VariableAlreadyBound"),
    ("MATCH ()-[r]->() CREATE ()-[r]->()", "VariableAlreadyBound"),
    ("MATCH ()-[r]->() CREATE ()-[r:R]->()", "VariableAlreadyBound"),
    ("MATCH p = ()-->() CREATE p = ()-[:R]->()", "VariableAlreadyBound"),
    ("MATCH (a:Foo) MERGE (a)-[r:KNOWS]->(a:Bar)", "VariableAlreadyBound"),
    ("MATCH ()-[p]-() MATCH p = ()-->() RETURN p", "VariableAlreadyBound"),
    ("MATCH p = ()-[p*]-() RETURN p", "VariableAlreadyBound"),
    ("MATCH (a) UNWIND [1] AS a RETURN a", "VariableAlreadyBound"),
    ("MATCH (a) LOAD CSV FROM 'x' AS a RETURN a", "VariableAlreadyBound"),
    ("MATCH (a) FOREACH (a IN [1] | CREATE ())", "VariableAlreadyBound"),
    ("MATCH (a) CALL { RETURN 1 AS a } RETURN a", "VariableAlreadyBound"),
    ("MATCH (a) CALL (a) { WITH 1 AS a RETURN a AS b } RETURN b", "VariableAlreadyBound"),
    ("MATCH (a) CALL some.proc() YIELD a RETURN a", "VariableAlreadyBound"),
    ("CALL some.proc() YIELD a AS x, b AS x RETURN x", "VariableAlreadyBound"),
    ("MATCH (r) MATCH ()-[r]->() RETURN r", "VariableTypeConflict"),
    ("MATCH ()-[r]->() MATCH (r) RETURN r", "VariableTypeConflict"),
    ("MATCH ()-[r*]->() MATCH ()-[r]->() RETURN r", "VariableTypeConflict"),
    ("MATCH ()-[r]->() MATCH ()-[r*]->() RETURN r", "VariableTypeConflict"),
    ("WITH 1 AS r MATCH ()-[r]->() RETURN r", "VariableTypeConflict"),
    ("MATCH (n) WITH [n] AS users MATCH (users)-->(m) RETURN m", "VariableTypeConflict"),
    ("MATCH (n) WITH [n] AS rs MATCH ()-[rs*]->() RETURN rs", "VariableTypeConflict"),
    ("MATCH p = ()-->() CREATE (p)-[:R]->()", "VariableTypeConflict"),
    ("MATCH ()-[r]->()-[r]->() RETURN r", "RelationshipUniquenessViolation"),
    ("MATCH ()-[r]->(), ()-[r*]->() RETURN r", "RelationshipUniquenessViolation"),
    # patterns
    ("CREATE ()-->()", "NoSingleRelationshipType"),
    ("CREATE ()-[:A|B]->()", "NoSingleRelationshipType"),
    ("MERGE ()-[r]->()", "NoSingleRelationshipType"),
    ("CREATE ()-[:A]-()", "RequiresDirectedRelationship"),
    ("CREATE ()<-[:A]->()", "RequiresDirectedRelationship"),
    ("CREATE ()-[:A*2]->()", "CreatingVarLength"),
    ("MERGE ()-[:A*2]->()", "CreatingVarLength"),
    ("MATCH (n $p) RETURN n", "InvalidParameterUse"),
    ("MERGE (n $p)", "InvalidParameterUse"),
    ("MATCH (n) WHERE (n)-->($p) RETURN n", "InvalidParameterUse"),
    ("CREATE (n:A|B)", "UnexpectedSyntax"),
    ("CREATE p = ANY (a)-[:R]->(b)", "UnexpectedSyntax"),
    ("MATCH (n) RETURN (n)-->()", "UnexpectedSyntax"),
    ("MATCH (n) WITH (n)-->() AS x RETURN x", "UnexpectedSyntax"),
    ("MATCH (n) RETURN size((n)-->())", "UnexpectedSyntax"),
    ("MATCH (n) SET n.x = [(n)-->() = true]", "UnexpectedSyntax"),
    # projections
    ("MATCH () RETURN *", "NoVariablesInScope"),
    ("RETURN 1 AS a, 2 AS a", "ColumnNameConflict"),
    ("WITH 1 AS a, 2 AS a RETURN a", "ColumnNameConflict"),
    ("MATCH (a) RETURN *, 1 AS a", "ColumnNameConflict"),
    ("RETURN 1 AS a UNION RETURN 2 AS b", "DifferentColumnsInUnion"),
    ("RETURN 1 AS a UNION ALL RETURN 2 AS a, 3 AS b", "DifferentColumnsInUnion"),
    ("MATCH (n) RETURN n.x AS x ORDER BY max(n.y)", "InvalidAggregation"),
    ("MATCH (n) RETURN n.x AS x, max(n.y) AS m ORDER BY count(*)", "InvalidAggregation"),
    ("MATCH (n) WITH n.x AS x ORDER BY count(1) RETURN x", "InvalidAggregation"),
    ("MATCH (n) WHERE count(*) > 1 RETURN n", "InvalidAggregation"),
    ("MATCH (n) WITH n WHERE count(*) > 1 RETURN n", "InvalidAggregation"),
    ("MATCH (n) SET n.x = count(*)", "InvalidAggregation"),
    ("UNWIND collect(1) AS x RETURN x", "InvalidAggregation"),
    ("MATCH (n) RETURN [x IN [1, 2] | count(*)]", "InvalidAggregation"),
    ("CALL some.proc(count(*)) YIELD x RETURN x", "InvalidAggregation"),
    ("RETURN count(count(*))", "NestedAggregation"),
    ("RETURN sum(1 + max(2))", "NestedAggregation"),
    ("RETURN count(rand())", "NonConstantExpression"),
    ("MATCH (n) RETURN n.x + count(*)", "AmbiguousAggregationExpression"),
    ("MATCH (n) RETURN n.x + n.y, n.x + n.y + count(*)", "AmbiguousAggregationExpression"),
    ("WITH 1 AS x RETURN x + 1, [y IN [x] | y][0] + count(*)", "AmbiguousAggregationExpression"),
    (
        "MATCH (n) RETURN n.x + 1 AS s, count(*) AS c ORDER BY n.x + 1 + count(*)",
        "AmbiguousAggregationExpression",
    ),
    ("MATCH (n) RETURN n.x AS x, count(*) + COUNT { (n)-->() }", "AmbiguousAggregationExpression"),
    ("MATCH (n) RETURN DISTINCT n.x ORDER BY [(m)-->() | n.x]", "UndefinedVariable"),
    ("MATCH (n) RETURN n LIMIT count(*)", "NonConstantExpression"),
    ("MATCH (n) RETURN n LIMIT toFloat('1')", "InvalidArgumentType"),
    # kinds
    ("WITH 1 AS x RETURN x:Label", "InvalidArgumentType"),
    ("LOAD CSV FROM 1 AS row RETURN row", "InvalidArgumentType"),
    ("MATCH p = ()-->() RETURN p{.x}", "InvalidArgumentType"),
    ("RETURN NOT 1", "InvalidArgumentType"),
    ("RETURN true AND 'x'", "InvalidArgumentType"),
    ("MATCH (n) WHERE n RETURN n", "InvalidArgumentType"),
    ("MATCH (n) RETURN CASE WHEN n THEN 1 END", "InvalidArgumentType"),
    ("RETURN 1 IN 'foo'", "InvalidArgumentType"),
    ("RETURN all(x IN ['a'] WHERE x % 2 = 0)", "InvalidArgumentType"),
    ("RETURN [x IN 1 | x]", "InvalidArgumentType"),
    ("MATCH (n) RETURN n + 1", "InvalidArgumentType"),
    ("RETURN 1 + true", "InvalidArgumentType"),
    ("MATCH (n) RETURN -n", "InvalidArgumentType"),
    ("MATCH p = ()-->() RETURN size(p)", "InvalidArgumentType"),
    ("MATCH (n) RETURN length(n)", "InvalidArgumentType"),
    ("MATCH ()-[r]->() RETURN length(r)", "InvalidArgumentType"),
    ("MATCH (n) RETURN type(n)", "InvalidArgumentType"),
    ("MATCH p = () RETURN labels(p)", "InvalidArgumentType"),
    ("RETURN properties('x')", "InvalidArgumentType"),
    ("MATCH r = ()-[*1..2]->() WHERE r.name = 'x' RETURN r", "InvalidArgumentType"),
    ("MATCH ()-[r*1..2]->() RETURN r.x", "InvalidArgumentType"),
    ("MATCH () DELETE 1 + 1", "InvalidArgumentType"),
    ("WITH 1 AS x SET x.y = 1", "InvalidArgumentType"),
    ("MATCH (n) SET n = 1", "InvalidArgumentType"),
    ("MATCH ()-[r]->() SET r:Label", "InvalidArgumentType"),
    ("MATCH ()-[r]->() REMOVE r:Label", "InvalidArgumentType"),
    ("WITH 1 AS x RETURN x.y", "PropertyAccessOnNonMap"),
    ("WITH [1] AS list, 'a' AS k RETURN list[k]", "ListElementAccessByNonInteger"),
    ("WITH {a: 1} AS map RETURN map[0]", "MapElementAccessByNonString"),
    ("WITH 1 AS x RETURN x[0]", "InvalidElementAccess"),
    # functions, procedures, parameters
    ("RETURN nothing(1)", "UnknownFunction"),
    ("RETURN date.nothing()", "UnknownFunction"),
    ("RETURN abs(1, 2)", "InvalidNumberOfArguments"),
    ("RETURN count()", "InvalidNumberOfArguments"),
    ("RETURN percentileCont(1)", "InvalidNumberOfArguments"),
    ("RETURN sum(*)", "UnexpectedSyntax"),
    ("RETURN size(DISTINCT 'x')", "UnexpectedSyntax"),
    ("CALL db.labels()", "ProcedureNotFound"),
    ("RETURN $missing", "MissingParameter"),
    # clauses
    ("MATCH (n) DELETE n:Person", "InvalidDelete"),
    ("MATCH ()-[r]-() DELETE r:T", "InvalidDelete"),
    ("MATCH (n) WHERE EXISTS { MATCH (n) SET n.x = 1 } RETURN n", "InvalidClauseComposition"),
    (
        "RETURN COUNT { CALL { CREATE (a) RETURN a } RETURN a }",
        "InvalidClauseComposition",
    ),
    ("RETURN COLLECT { MATCH (n) RETURN n, n.x AS x }", "UnexpectedSyntax"),
]


@pytest.mark.parametrize(("text", "detail"), REFUSED)
def test_what_is_refused(text: str, detail: str) -> None:
    query = parse(text)
    with pytest.raises(QueryError) as caught:
        check(query, ["p"], PROCEDURES)
    assert caught.value.detail == detail
    assert caught.value.picture, "the error shows the place"
    expected: tuple[type[QueryError], ...]
    match detail:
        case "UndefinedVariable" | "UnknownFunction" | "ProcedureNotFound" | "MissingParameter":
            expected = (NameProblem,)
        case "InvalidArgumentType" | "PropertyAccessOnNonMap" | "InvalidElementAccess":
            expected = (TypeProblem,)
        case _:
            expected = (SyntaxProblem, TypeProblem)
    assert isinstance(caught.value, expected)


@pytest.mark.parametrize(
    "text",
    [
        # WITH: ORDER BY and WHERE see what was before, unless rows are put together
        "MATCH (a) WITH a.x AS x WHERE a.y = 1 RETURN x",
        "MATCH (a) WITH a.x AS x ORDER BY a.y RETURN x",
        "MATCH (a) WITH DISTINCT a ORDER BY a.x WHERE a.y = 1 RETURN a",
        "MATCH (a) RETURN DISTINCT a.x ORDER BY a.x",
        "MATCH (a) RETURN a.x, count(*) AS n ORDER BY n, a.x, count(*)",
        "MATCH (a) RETURN a.x % 3 AS m, sum(a.y) AS s ORDER BY a.x % 3, sum(a.y) + m",
        "MATCH (a) RETURN a, a.x + count(*)",
        "MATCH (a) RETURN a.x, a.x + count(*)",
        "MATCH (a) WITH *, count(*) AS n RETURN a, n",
        "WITH 1 AS x RETURN x, [y IN [x] | y][0] + count(*)",
        "MATCH (a) RETURN [x IN collect(a) | x.y]",
        "MATCH (a)-->(b) RETURN a, collect(b)[0].x AS first, $p + count(*)",
        "MATCH (n) RETURN n, count(*) + COUNT { (n)-->() } AS c ORDER BY [(n)-->(m) | m.x]",
        # patterns
        "MATCH (a)-[r]->(b) MATCH (a)-[r]->(c) RETURN c",
        "MATCH ()-[r]->() WITH collect(r) AS rs MATCH (a)-[rs*]->(b) RETURN a",
        "UNWIND $p AS n MATCH (n)-->(m) RETURN m",
        "WITH null AS n OPTIONAL MATCH (n)-->(m) RETURN m",
        "MATCH (a {x: b.x})-->(b) RETURN a",
        "MATCH (a) WHERE NOT (a)-->(:B) AND exists((a)<--()) RETURN a",
        "MATCH (a) RETURN [p = (a)-[r]->(b) WHERE b.x > 1 | [length(p), type(r)]] AS l",
        "MATCH (a) RETURN exists((a)-->()) AS e, CASE WHEN (a)-->() THEN 1 ELSE 2 END AS c",
        # subqueries
        "MATCH (n) WHERE EXISTS { MATCH (n)-->(m) WITH n, count(*) AS c WHERE c = 3 RETURN 1 } RETURN n",
        "MATCH (n) RETURN COUNT { (n)-->() } AS c, COLLECT { MATCH (n)-->(m) RETURN m.x } AS l",
        "MATCH (n) CALL (n) { WITH 1 AS x RETURN n.y + x AS y } RETURN y",
        "MATCH (n) CALL (n) { RETURN n.x + count(*) AS y } RETURN y",
        "MATCH (n) CALL { WITH n RETURN n.x AS x UNION WITH n RETURN n.y AS x } RETURN x",
        "MATCH (n) CALL (*) { CREATE (m {x: n.x}) } RETURN n",
        "MATCH (n) CALL { MATCH (m) RETURN m } RETURN *",
        # writing
        "CREATE (a), (b), (a)-[:R]->(b)-[:R]->(a)",
        "MATCH (a), (b) MERGE (a)-[r:R]-(b) ON CREATE SET r.x = a.x ON MATCH SET r += {y: 1}",
        "CREATE (n $p) SET n:Label, n.x = 1, n = $p REMOVE n.x, n:Label",
        "MATCH p = (a)-[rs*1..2]->() DETACH DELETE p, a",
        "WITH [1, 2] AS l FOREACH (x IN l | CREATE (n {v: x}) SET n.y = x)",
        # kinds
        "WITH [1, 'a'] AS l RETURN l[0] + 1, NOT l[1]",
        "RETURN 'a' + 1, [1] + 2, 1 + [2], date() + duration('P1D'), duration('P1D') * 2",
        "MATCH (n) RETURN n.x + true, null + {a: 1}, [n] + n",
        "MATCH ()-[rs:R*1..2 WHERE rs.x > 1]->() RETURN rs",
        "RETURN null AND null, NOT null, -null, null[0], null.x, 1 IN null",
        "RETURN date('2020-01-01').year, duration.between(date(), date()).days",
        "UNWIND [{x: 1}] AS m RETURN m.x, m['x'], keys(m)",
        "RETURN 1 AS a, 2 AS b UNION RETURN 3 AS b, 4 AS a",
        "MATCH (n) RETURN n SKIP toInteger(1.5) LIMIT $p",
        "RETURN reduce(s = 0, x IN [1, 2] | s + x), single(x IN [true] WHERE x)",
        "RETURN COUNT(*), toupper('a'), TOUPPER('a')",
    ],
)
def test_what_is_not_refused(text: str) -> None:
    check(parse(text), ["p"])


@pytest.mark.parametrize("text", ["MATCH (n) RETURN $anything", "RETURN 1 LIMIT $n"])
def test_parameters_are_not_asked_for_before_they_are_known(text: str) -> None:
    check(parse(text), None)


def test_the_cure_names_what_is_near() -> None:
    with pytest.raises(NameProblem, match=r"Did you mean person\?"):
        check(parse("MATCH (person) RETURN persn"), None)
    with pytest.raises(NameProblem, match=r"There are a, b\."):
        check(parse("MATCH (a)-->(b) RETURN xyz"), None)
    with pytest.raises(NameProblem, match=r"Did you mean toUpper\?"):
        check(parse("RETURN toUper('a')"), None)


def test_a_path_without_bound_is_told() -> None:
    (warning,) = check(parse("MATCH (a)-[*]->(b) RETURN a"), None)
    assert warning.startswith("line 1, column 10: ")
    assert check(parse("MATCH (a)-[*..3]->(b) RETURN a"), None) == ()
    assert check(parse("MATCH p = shortestPath((a)-[*]->(b)) RETURN p"), None) == ()


@pytest.mark.parametrize("size", [0, 1 << 60])
def test_explain_tells_the_warnings(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(columns_or_rows, "SMALL", size)  # over columns, where they can; over rows
    with gdb.connect() as db:
        plan = db.explain("MATCH (a) WITH a MATCH (a)-[*]->(b) RETURN a").splitlines()
    assert "has no bound" in plan[-1]
    assert plan[-1].startswith("warning: line 1, ")


def test_a_query_nested_too_deeply_is_refused_and_not_a_crash() -> None:
    shallow = parse("RETURN 1 AS x")
    (last,) = shallow.parts[0]
    assert isinstance(last, Return)
    deep: Expression = last.items[0].expression
    for _ in range(20_000):
        deep = Not(deep, last.place)
    query = replace(
        shallow, parts=((replace(last, items=(replace(last.items[0], expression=deep),)),),)
    )
    with pytest.raises(LimitExceeded):
        check(query, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCH (a)-[r]->(b) RETURN *", ("a", "b", "r")),
        ("MATCH p = (a)-->() RETURN *, a.x, a.y AS y", ("a", "p", "a.x", "y")),
        ("MATCH (a) WITH *, 1 AS one RETURN *", ("a", "one")),
        ("RETURN 1 AS a, 2 AS b UNION RETURN 3 AS b, 4 AS a", ("a", "b")),
        ("MATCH (a) CALL (a) { RETURN a.x AS x } RETURN *", ("a", "x")),
    ],
)
def test_columns(text: str, expected: tuple[str, ...]) -> None:
    query = parse(text)
    check(query, ())
    assert built(query, {}).names == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2", INTEGER),
        ("'a' + 1", STRING),
        ("[1] + 2", LIST),
        ("[1, null]", list_of(INTEGER)),
        ("CASE WHEN true THEN 1 ELSE 'a' END", VALUE),
        ("[x IN [1, 2] | x = 1]", list_of(BOOLEAN)),
        ("max(1)", INTEGER),
        ("count(*)", INTEGER),
    ],
)
def test_what_the_text_tells_of_a_value(text: str, expected: object) -> None:
    query = parse(f"RETURN {text} AS x")
    frame = Frame(QueryFacts(query.text, (), lambda *_: VALUE), {}, aggregates=Aggregates.HERE)
    match query.parts:
        case ((Return(items=(item,)),),):
            assert known(item.expression, frame) == expected
        case parts:
            pytest.fail(str(parts))

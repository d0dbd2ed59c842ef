"""What operators a query is, and what each pass makes of them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gdb import Database, errors
from gdb.language.checks import check
from gdb.language.parser import parse
from gdb.language.syntax import Place, Variable
from gdb.logical import planning
from gdb.logical.needed_properties import demands
from gdb.logical.operators import Column, Project, Sort, behind, names_after
from gdb.logical.plan_text import plan_lines
from gdb.logical.verify import verify
from gdb.query_graph import DIFFERENT_EDGES
from gdb.run import columns_or_rows

BUILT = {
    "MATCH (a) RETURN a": ["MATCH (a)", "Project a"],
    "MATCH (a)-->(b) WITH a, count(b) AS n ORDER BY n DESC LIMIT 3 WHERE n > 1 RETURN a.x AS x": [
        "MATCH (a)-->(b)",
        "Aggregate by a: count(b) AS #a1",
        "Project a, #a1 AS n",
        "Sort n DESC",
        "Limit 3",
        "Filter n > 1",
        "Project a.x AS x",
    ],
    # a key is computed once, and what ORDER BY says again is the column
    "MATCH (a) RETURN a.x AS k, [count(*), a.x] AS m ORDER BY a.x SKIP 1": [
        "MATCH (a)",
        "Aggregate by a.x AS #k1: count(*) AS #a2",
        "Project #k1 AS k, [#a2, #k1] AS m",
        "Sort k",
        "Limit skip 1",
    ],
    "MATCH (a) RETURN DISTINCT a.x AS k ORDER BY a.x + 1": [
        "MATCH (a)",
        "Project a.x AS k",
        "Distinct k",
        "Sort k + 1",
    ],
    # behind the projection a is the column
    "MATCH (a) WITH a.x AS a ORDER BY a WHERE a > 2 RETURN a": [
        "MATCH (a)",
        "Project a.x AS a",
        "Sort a",
        "Filter a > 2",
        "Project a",
    ],
    # the demand on the rows before is passed on
    "MATCH (a) WITH a.x AS x LIMIT 5 WHERE a.y > x RETURN x": [
        "MATCH (a)",
        "Project a.x AS x, a",
        "Limit 5",
        "Filter a.y > x",
        "Project x",
        "Project x",
    ],
    "MATCH (a) RETURN a.x AS x ORDER BY x + a.y, a.z": [
        "MATCH (a)",
        "Project a.x AS x, a.z AS #s1, a",
        "Sort x + a.y, #s1",
        "Project x",
    ],
    # or tested, or computed, before it
    "MATCH (a) WITH a.x AS x WHERE a.y > 3 RETURN x": [
        "MATCH (a)",
        "Filter a.y > 3",
        "Project a.x AS x",
        "Project x",
    ],
    # names inside a comprehension are its own
    "UNWIND [{x: 1}] AS a RETURN a.x AS k, [a IN [{x: 2}] | a.x] AS l, count(*) AS n": [
        "UNWIND [{x: 1}] AS a",
        "Aggregate by a.x AS #k1, [a IN [{x: 2}] | a.x] AS #k2: count(*) AS #a3",
        "Project #k1 AS k, #k2 AS l, #a3 AS n",
    ],
    "UNWIND [{x: 1}] AS a RETURN a.x AS k, [a IN collect(a) | a.x] AS l": [
        "UNWIND [{x: 1}] AS a",
        "Aggregate by a.x AS #k1: collect(a) AS #a2",
        "Project #k1 AS k, [a IN #a2 | a.x] AS l",
    ],
    "MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN count(b) AS n } RETURN *": [
        "MATCH (a)",
        "Apply a",
        "  MATCH (a)-->(b)",
        "  Aggregate: count(b) AS #a1",
        "  Project #a1 AS n",
        "Project a, n",
    ],
    "MATCH (a) CALL { MATCH (b) RETURN * } RETURN b": [
        "MATCH (a)",
        "Apply",
        "  MATCH (b)",
        "  Project b",
        "Project b",
    ],
}


def operators(text: str, *passes: str) -> list[str]:
    """The lines of a query's operators, after some passes."""
    query = parse(text)
    check(query, None)
    off = {*planning.NAMES} - {*passes}
    return [*plan_lines(planning.planned(query, {}, DIFFERENT_EDGES, switched_off=off))]


@pytest.mark.parametrize("text", [text for text, wanted in BUILT.items() if wanted])
def test_the_operators_of_a_query(text: str) -> None:
    assert operators(text) == BUILT[text]


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (
            "MATCH (a)-->(b) RETURN a.x + b.x AS s LIMIT 3",
            ["MATCH (a)-->(b)", "Project a.x + b.x AS s", "Limit 3"],
            ["MATCH (a)-->(b)", "Limit 3", "Project a.x + b.x AS s"],
        ),
        (
            "MATCH (a) WITH a ORDER BY a.x RETURN a.y AS y LIMIT 3",
            ["MATCH (a)", "Project a, a.x AS #s1", "Sort #s1", "Project a", "Project a.y AS y", "Limit 3"],
            ["MATCH (a)", "Project a, a.x AS #s1", "Sort #s1", "Limit 3", "Project a", "Project a.y AS y"],
        ),
        (
            "MATCH (a) RETURN DISTINCT a.x AS x LIMIT 3",
            ["MATCH (a)", "Project a.x AS x", "Distinct x", "Limit 3"],
            ["MATCH (a)", "Project a.x AS x", "Distinct x", "Limit 3"],
        ),
    ],
)  # fmt: skip
def test_early_limit(text: str, before: list[str], after: list[str]) -> None:
    assert operators(text) == before
    assert operators(text, "early_limit") == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "MATCH (a)-->(b) WITH a, b, a.x AS x, 1 / b.y AS q MATCH (a)-->(c) RETURN c.z AS z, x",
            ["MATCH (a)-->(b)", "Project a, a.x AS x, 1 / b.y AS q", "MATCH (a)-->(c)", "Project c.z AS z, x"],
        ),
        (
            "MATCH (a)-->(b) WITH DISTINCT a, b RETURN a",  # b is compared
            ["MATCH (a)-->(b)", "Project a, b", "Distinct a, b", "Project a"],
        ),
        (
            "MATCH (a)-->(b) WITH a, b, count(*) AS n REMOVE a.x WITH a RETURN a",
            ["MATCH (a)-->(b)", "Aggregate by a, b: count(*) AS #a1", "Project a", "REMOVE a.x",
             "Project a", "Project a"],
        ),
    ],
)  # fmt: skip
def test_prune_columns(text: str, after: list[str]) -> None:
    assert operators(text, "prune_columns") == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "MATCH (a) WITH a.x AS x LIMIT 5 WHERE a.y > x RETURN x + 1 AS z",
            ["MATCH (a)", "Project a.x AS x, a", "Limit 5", "Filter a.y > x", "Project x + 1 AS z"],
        ),
        (
            "MATCH (a) WITH a.x AS x LIMIT 5 RETURN x",
            ["MATCH (a)", "Project a.x AS x", "Limit 5"],
        ),
        ("MATCH (a) RETURN a", ["MATCH (a)", "Project a"]),  # what there is before is not known
        (
            "MATCH (a)-->(b) WITH a LIMIT 1 RETURN [b IN [1] | b] AS l, a",  # another b
            ["MATCH (a)-->(b)", "Project a", "Limit 1", "Project [b IN [1] | b] AS l, a"],
        ),
        (
            "MATCH (a)-->(b) WITH a, b WITH a RETURN [b IN [1] | b] AS l, a",
            ["MATCH (a)-->(b)", "Project a", "Project [b IN [1] | b] AS l, a"],
        ),
    ],
)
def test_drop_projects(text: str, after: list[str]) -> None:
    assert operators(text, "drop_projects") == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "MATCH (a)-[r]->(b) RETURN a.x AS x, count(r) AS n",
            ["MATCH (a)-[r]->(b)", "Aggregate by a.x AS #k1: count(*) AS #a2",
             "Project #k1 AS x, #a2 AS n"],
        ),
        (
            "MATCH p = (a)-->(b) WITH b AS c, p WITH c, count(c) AS n, count(p) AS m RETURN count(c)",
            ["MATCH p = (a)-->(b)", "Project b AS c, p",
             "Aggregate by c: count(*) AS #a1, count(*) AS #a2", "Project c, #a1 AS n, #a2 AS m",
             "Aggregate: count(*) AS #a3", "Project #a3 AS `count(c)`"],
        ),
        (
            "MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN count(a), count(b), count(DISTINCT a)",
            ["MATCH (a)", "OPTIONAL MATCH (a)-->(b)",
             "Aggregate: count(*) AS #a1, count(b) AS #a2, count(DISTINCT a) AS #a3",
             "Project #a1 AS `count(a)`, #a2 AS `count(b)`, #a3 AS `count(DISTINCT a)`"],
        ),
        (
            "MATCH (a) WITH a.x AS a RETURN count(a)",
            ["MATCH (a)", "Project a.x AS a", "Aggregate: count(a) AS #a1",
             "Project #a1 AS `count(a)`"],
        ),
    ],
)  # fmt: skip
def test_count_rows(text: str, after: list[str]) -> None:
    assert operators(text, "count_rows") == after


def test_what_is_asked_of_the_rows_of_each_operator() -> None:
    query = parse("MATCH (a)-->(b) WITH a AS c, b MATCH (c)-->(d) RETURN c.x AS x, count(b) AS n")
    plan = planning.planned(query, {}, DIFFERENT_EDGES, switched_off={*planning.NAMES})
    first, second, third, *_ = demands(plan.sides[0], plan.names)
    assert (first.live, first.present, first.wishes) == ({"a", "b"}, {"b"}, {("a", "x")})
    assert (second.live, second.present) == ({"b", "c", "d"}, {"b"})
    assert (third.live, third.present, third.wishes) == ({"b", "c"}, {"b"}, {("c", "x")})
    assert (first.numbers, first.once) == (True, False)


def test_names_of_later_operators_are_not_live_before_them() -> None:
    """Of many MERGEs each needs few names: the sets would have n * n in all."""
    merges = [f"MERGE (p{k}:P {{id: {k}}}) SET p{k}.x = {k}" for k in range(50)]
    query = parse("MATCH (p0) " + " ".join(merges[1:]) + " SET p0.x = p1.x")
    plan = planning.planned(query, {}, DIFFERENT_EDGES)
    (operators,) = plan.sides
    found = [demand.live for demand in demands(operators, (), ())]
    assert found[0] == {"p0"}
    assert all(
        {"p0"} <= live <= {"p0", "p1", f"p{k // 2 + 1}"} for k, live in enumerate(found[:-1])
    )
    assert len(demands(operators, ())[0].live) == 50


FOLLOWED: dict[str, list[tuple[str, ...]]] = {
    "MATCH p = (a)-[r]->(b) UNWIND [1] AS x MERGE (a)-[s:R]->(c) RETURN x": [
        ("a", "b", "r", "p"),
        ("a", "b", "r", "p", "x"),
        ("a", "b", "r", "p", "x", "c", "s"),
        ("x",),
    ],
    "UNWIND [1] AS a WITH a, a AS b UNWIND [2] AS c CREATE (d)-[:R]->() RETURN b": [
        ("a",),
        ("a", "b"),
        ("a", "b", "c"),
        ("a", "b", "c", "d"),
        ("b",),
    ],
    "MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b } FINISH": [("a",), ("a", "b"), ()],
    "MATCH (a)-->(b) WITH a.x AS x, count(b) AS n LIMIT 3 RETURN n": [
        ("a", "b"),
        ("#k1", "#a2"),
        ("x", "n"),
        ("x", "n"),
        ("n",),
    ],
    "LOAD CSV FROM 'x' AS line CREATE (:P {x: line[0]})": [("line",), ("line",)],
}


@pytest.mark.parametrize("text", FOLLOWED)
def test_the_names_behind_each_operator(text: str) -> None:
    off = {*planning.NAMES}
    plan = planning.planned(parse(text), {}, DIFFERENT_EDGES, switched_off=off)
    (operators,) = plan.sides
    names: tuple[str, ...] = ()
    found = []
    for operator in operators:
        names = names_after(operator, names)
        found.append(tuple(name.strip() for name in names))
    assert found == FOLLOWED[text]
    assert behind(operators, ()) == names


def test_the_verifier_refuses_what_a_pass_must_not_do() -> None:
    query = parse("MATCH (a) RETURN a ORDER BY a.x")
    plan = planning.planned(query, {}, DIFFERENT_EDGES)
    (match, project, sort, last) = plan.sides[0]
    assert isinstance(project, Project)
    assert isinstance(sort, Sort)
    verify(plan.sides[0], (), plan.names)
    with pytest.raises(errors.InternalError, match="Sort uses"):
        verify((match, replace(project, columns=project.columns[:1]), sort, last), (), plan.names)
    other = Project((Column("b", Variable("a", Place(0, 0))),), Place(0, 0))
    with pytest.raises(errors.InternalError, match="the answer is to have"):
        verify((match, project, sort, other), (), plan.names)


ANSWERS = {
    "UNWIND [{x: 1}, {x: 2}] AS a RETURN a.x AS k, [a IN collect(a) | a.x] AS l ORDER BY k": [
        (1, [1]),
        (2, [2]),
    ],
    "UNWIND [{m: {m: 2}}, {m: {m: 1}}] AS a WITH a.m AS a ORDER BY a.m RETURN a.m": [(1,), (2,)],
    "UNWIND [{m: {m: 2}}, {m: {m: 1}}] AS a RETURN a.m AS a, count(*) AS n ORDER BY a.m": [
        ({"m": 1}, 1),
        ({"m": 2}, 1),
    ],
    "UNWIND [3, 1, 2] AS x WITH x AS y, -x AS x ORDER BY x RETURN y, x": [(3, -3), (2, -2), (1, -1)],
    "UNWIND [1, 2, 3] AS x WITH x AS y LIMIT 2 WHERE x > 1 RETURN y": [(2,)],
    "UNWIND [1, 1, 2] AS x WITH DISTINCT x AS y WHERE y > 1 RETURN y": [(2,)],
    "UNWIND [1, 2, 3] AS x RETURN 1 AS one, count(*) + 1 AS n": [(1, 4)],
    "UNWIND [] AS x RETURN 1 AS one, count(*) + 1 AS n": [],
    "UNWIND [] AS x RETURN count(*) + 1 AS n": [(1,)],
    "UNWIND [1] AS x CALL { RETURN 2 AS y } RETURN *": [(1, 2)],
    "UNWIND [1] AS x CALL { UNWIND [5] AS z RETURN * } RETURN x, z": [(1, 5)],
    "UNWIND [1, 2] AS x CALL { WITH x RETURN x AS y UNION RETURN 7 AS y } RETURN x, y ORDER BY x, y": [
        (1, 1),
        (1, 7),
        (2, 2),
        (2, 7),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("text", ANSWERS)
def test_answers(db: Database, text: str, rows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", "rows" if rows else "columns")
    assert db.execute(text).fetchall() == ANSWERS[text]


def test_profile_says_what_each_operator_made(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", "rows")
    text = (
        "PROFILE UNWIND range(1, 10) AS x WITH x WHERE x > 4 CALL (x) { UNWIND [1, 2] AS y RETURN y }"
        " CREATE (n:New {x: x}) WITH x, count(n) AS m RETURN sum(m) AS s"
    )
    lines = [str(line) for (line,) in db.execute(text)]
    made = [re.search(r"=(\d+) rows, ([\d.]+) ms, ([\d,]+) bytes$", line) for line in lines]
    assert [int(one[1]) for one in made if one] == [10, 6, 6, 12, 12, 12, 12, 6, 6, 1, 1]
    assert all(float(one[2]) >= 0.0 and one[3] != "0" for one in made if one)


def test_what_no_pass_changes_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(planning, "verify", lambda operators, *_: seen.append(operators))
    for text, times in (
        ("MATCH (a)-->(b) RETURN count(*) AS n", 1),
        ("MATCH (a) WITH a, a AS b RETURN a.x", 3),
    ):
        seen.clear()
        planning.planned(parse(text), {}, DIFFERENT_EDGES)
        assert len(seen) == times, text

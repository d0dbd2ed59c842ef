"""Whatever is typed: an answer or an error of ours, soon."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb import limits
from gdb.errors import GdbError, LimitExceeded, NotSupported, SyntaxProblem
from gdb.language.parser import parse
from gdb.query_graph import DIFFERENT_EDGES
from tests.support import language_cases
from tests.support.binding import bind


def asked(text: str) -> None:
    query = parse(text)
    parameters = {**language_cases.PARAMETERS, **query.constants}
    bind(query, language_cases.snapshot(), parameters, DIFFERENT_EDGES)


def answer(text: str) -> str:
    """The outcome of a query: nothing, or an error of ours."""
    try:
        asked(text)
    except GdbError as error:
        return str(error) or "an error without words"
    return ""


# ---- large ---------------------------------------------------------------------------------------

LARGE: dict[str, Callable[[], str]] = {
    "parentheses": lambda: f"MATCH (a) WHERE {'(' * 1000}a.age = 1{')' * 1000} RETURN a",
    "open parentheses": lambda: f"MATCH (a) WHERE {'(' * 50_000}",
    "lists": lambda: f"MATCH (a) RETURN {'[' * 1000}1{']' * 1000}",
    "calls": lambda: f"MATCH (a) RETURN {'abs(' * 1000}1{')' * 1000}",
    "NOT": lambda: f"MATCH (a) WHERE {'NOT ' * 1000}a:Admin RETURN a",
    "minus": lambda: f"MATCH (a) RETURN {'- ' * 1000}a.age",
    "AND": lambda: f"MATCH (a) WHERE {' AND '.join(f'a.age > {k}' for k in range(6000))} RETURN a",
    "OR": lambda: f"MATCH (a) WHERE {' OR '.join(f'a.age = {k}' for k in range(6000))} RETURN a",
    "XOR": lambda: f"MATCH (a) WHERE {' XOR '.join(['a:Admin'] * 8000)} RETURN a",
    "plus": lambda: f"MATCH (a) RETURN {' + '.join(['a.age'] * 10_000)}",
    "power": lambda: f"MATCH (a) RETURN {' ^ '.join(['2'] * 10_000)}",
    "chain": lambda: f"MATCH (a) WHERE {' < '.join(map(str, range(10_000)))} RETURN a",
    "chain of chains": lambda: f"MATCH (a) WHERE {'1 < (' * 60}1{' < 1) < 1' * 60} RETURN a",
    "list": lambda: f"MATCH (a) WHERE a.age IN [{', '.join(map(str, range(15_000)))}] RETURN a",
    "string": lambda: f"MATCH (a) WHERE a.name = '{'x' * 100_000}' RETURN a",
    "name": lambda: f"MATCH ({'x' * 100_000}) RETURN {'y' * 100_000}",
    "number": lambda: f"MATCH (a) WHERE a.age = {'9' * 100_000} RETURN a",
    "path": lambda: f"MATCH (a){'-->()' * 20_000} RETURN a",
    "nodes": lambda: f"MATCH {', '.join(['()'] * 30_000)} RETURN count(*)",
    "edges": lambda: f"MATCH {', '.join(['(a)-->(b)'] * 10_000)} RETURN count(*)",
    "labels": lambda: f"MATCH (a{':L' * 30_000}) RETURN count(*)",
    "many labels": lambda: f"MATCH (a:{'|'.join(f'L{k}' for k in range(1000))}) RETURN count(*)",
    "map": lambda: f"MATCH (a {{{', '.join(f'k{k}: 1' for k in range(500))}}}) RETURN count(*)",
    "columns": lambda: f"MATCH (a) RETURN {', '.join(f'a.age AS c{k}' for k in range(7000))}",
    "sorts": lambda: f"MATCH (a) RETURN a ORDER BY {', '.join(['a.age'] * 7000)}",
    "commas": lambda: "MATCH (a) RETURN " + "," * 100_000,
    "comment": lambda: f"MATCH (a) /*{'*' * 100_000}*/ RETURN a",
    "quotes": lambda: "MATCH (a) RETURN " + "''" * 50_000,
    "blanks": lambda: "MATCH" + " " * 100_000 + "(a) RETURN a",
    "words": lambda: "MATCH (a) " + "RETRUN " * 14_000,
    "characters": lambda: "MATCH (a) RETURN a " + " " * limits.MAX_QUERY_CHARACTERS,
    "mixed nesting": lambda: f"MATCH (a) RETURN {'1 + abs(2 * (3 - ' * 300}1{'))' * 300}",
}


@pytest.mark.parametrize("name", LARGE)
def test_large_queries_work_or_are_refused(name: str) -> None:
    text = LARGE[name]()
    told = answer(text)
    assert len(told) < 1500


@pytest.mark.parametrize("name", ["list", "string", "comment", "blanks", "many labels"])
def test_long_but_shallow_queries_work(name: str) -> None:
    asked(LARGE[name]())


@pytest.mark.parametrize("operator", [" AND ", " OR "])
def test_many_conditions_work(operator: str) -> None:
    asked(f"MATCH (a) WHERE {operator.join(f'a.age > {k}' for k in range(500))} RETURN a")


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("parentheses", "nested more than 100 deep"),
        ("path", "20001 nodes"),
        ("edges", "10000 relationships"),
        ("characters", "characters"),
        ("columns", "RETURN has more than 1,000 items"),
    ],
)
def test_limits_are_told(name: str, limit: str) -> None:
    with pytest.raises(LimitExceeded, match=limit):
        asked(LARGE[name]())


def test_a_long_sum_is_left_to_rows() -> None:
    with pytest.raises(NotSupported, match="so large an expression"):
        asked(LARGE["plus"]())


def test_a_limit_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DEPTH", 3)
    asked("MATCH (a) WHERE (a.age = 1) RETURN a")
    with pytest.raises(LimitExceeded, match="nested more than 3 deep"):
        asked("MATCH (a) WHERE (((a.age = 1))) RETURN a")


def test_a_deep_stack_of_the_callers_is_no_recursion_error() -> None:
    def deeper(frames: int) -> None:
        if frames:
            deeper(frames - 1)
        else:
            asked(f"MATCH (a) WHERE {'(' * 90}a.age = 1{')' * 90} RETURN a")

    with pytest.raises(LimitExceeded, match="nested"):
        deeper(sys.getrecursionlimit() - 250)


# ---- odd -----------------------------------------------------------------------------------------

_WORDS = (
    *("MATCH", "WHERE", "RETURN", "ORDER", "BY", "SKIP", "LIMIT", "DISTINCT", "AS", "DESC", "WITH"),
    *("AND", "OR", "XOR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE", "STARTS", "CONTAINS", "CASE"),
    *(
        "EXPLAIN",
        "DIFFERENT",
        "NODES",
        "EDGES",
        "SUBGRAPHS",
        "INDUCED",
        "OPTIONAL",
        "EXISTS",
        "UNION",
    ),
    *("a", "b", "r", "name", "age", "Person", "KNOWS", "count", "sum", "collect", "id", "labels"),
    *("type", "coalesce", "abs", "any", "all", "shortestPath"),
)
_SIGNS = (
    *"()[]{},.:;|&!+-*/%^=<>$\"'`\\~?#@",
    *("-->", "<--", "--", "]->", "-[", "<>", "<=", "..", "//", "/*", "*/"),
)
_VALUES = [
    "1",
    "0",
    "2.5",
    "1e3",
    "'x'",
    '"y"',
    "`z`",
    "$name",
    "$n",
    "$x",
    "null",
    "a.age",
    "a.name",
    "r.since",
    "9" * 30,
]
_TOKEN = st.one_of(
    st.sampled_from(_WORDS), st.sampled_from(_SIGNS), st.sampled_from(_VALUES), st.text(max_size=3)
)
_STARTS = [
    "",
    "MATCH (a",
    "MATCH (a)",
    "MATCH (a)-[r]->(b) WHERE ",
    "MATCH (a) RETURN ",
    "MATCH (a) RETURN a ORDER BY ",
]


@given(st.sampled_from(_STARTS), st.lists(_TOKEN, max_size=25), st.sampled_from([" ", ""]))
def test_token_soup(start: str, tokens: list[str], between: str) -> None:
    answer(start + between.join(tokens))


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    try:
        asked(text)
    except (SyntaxProblem, NotSupported):
        return
    raise AssertionError("a random text was a query")


_VALID = [case.query for file in ("syntax.txt", "bind.txt") for case in language_cases.read(file)]


@given(st.sampled_from(_VALID), st.data())
def test_mutilated_queries(query: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(query)))
    stop = data.draw(st.integers(start, min(len(query), start + 10)))
    answer(query[:start] + data.draw(st.one_of(st.just(""), _TOKEN)) + query[stop:])


def test_sqlglot_is_read_only_for_queries() -> None:
    script = (
        "import sys, gdb, gdb.limits, gdb.language, gdb.language.suggest, gdb.language.syntax\n"
        "assert not {'sqlglot', 'duckdb', 'llvmlite'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    "query",
    ["WITH {} RETURN 1 AS one", "LET {} RETURN 1 AS one", "MATCH (n) WITH {} MATCH (m) RETURN m"],
)
def test_items_of_other_clauses_than_return_name_their_clause(query: str) -> None:
    word = "LET" if query.startswith("LET") else "WITH"
    items = (f"c{k} = 1" if word == "LET" else f"1 AS c{k}" for k in range(1001))
    with pytest.raises(LimitExceeded, match=f"{word} has more than 1,000 items"):
        asked(query.format(", ".join(items)))

"""What expressions are worth: translated, run on DuckDB, compared with openCypher's values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.executor.relational import arrow, relational_tail
from gdb.language.parser import parse
from gdb.physical.binder import BoundQuery
from gdb.query_graph import DIFFERENT_EDGES
from tests.support import language_cases, tails
from tests.support.binding import bind
from tests.support.small_snapshot import embeddings


def first_column(query: str, vids: list[list[int]]) -> list[relational_tail.Value]:
    """The first column of a query over given embeddings."""
    return answers(
        bind(parse(query), language_cases.snapshot(), language_cases.PARAMETERS, DIFFERENT_EDGES),
        vids,
    )


def answers(bound: BoundQuery, vids: list[list[int]]) -> list[relational_tail.Value]:
    found = tails.run(bound.tail, embeddings(vids), language_cases.snapshot())
    chunks = (arrow.to_list(arrow.child(chunk, 0)) for chunk in found.table.iter_chunks())
    return [value for chunk in chunks for value in chunk]


def pairs() -> list[tuple[str, str]]:
    lines = (language_cases.QUERIES / "values.txt").read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if line and not line.startswith("#")]
    return [(line.split(" => ")[0], line.split(" => ")[1]) for line in written]


@pytest.mark.parametrize(("expression", "expected"), pairs())
def test_value(expression: str, expected: str) -> None:
    found = first_column(f"MATCH (a), (b) RETURN {expression} AS x", [[0, 4]])
    wanted = eval(expected, {"inf": math.inf})
    assert found == [wanted]
    assert repr(found[0]) == repr(wanted)  # 1 is not True, and not 1.0


# ---- a condition says the same before matching and after -----------------------------------------

_NUMBER = st.sampled_from(
    ["a.age", "a.missing", "1", "2.5", "30", "null", "$n", "-a.age", "a.age + 1"]
)
_TEXT = st.sampled_from(["a.name", "'a'", "'d'", "null", "toUpper(a.name)", "$name"])
_COMPARATOR = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_TEST = st.one_of(
    st.builds("({} {} {})".format, _NUMBER, _COMPARATOR, _NUMBER),
    st.builds("({} {} {})".format, _TEXT, _COMPARATOR, _TEXT),
    st.builds("({} {} {})".format, _NUMBER, _COMPARATOR, _TEXT),
    st.builds("({} IN [{}, {}])".format, _NUMBER, _NUMBER, _TEXT),
    st.builds("({} IN $ages)".format, _NUMBER),
    st.builds("({} STARTS WITH {})".format, _TEXT, _TEXT),
    st.builds("({} IS NULL)".format, st.one_of(_NUMBER, _TEXT)),
    st.sampled_from(["a.ok", "a:Admin", "true", "null"]),
)
_CONDITION = st.recursive(
    _TEST,
    lambda inner: st.one_of(
        st.builds("(NOT {})".format, inner),
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("({} XOR {})".format, inner, inner),
    ),
    max_leaves=5,
)


@given(_CONDITION)
def test_pushed_down_or_not_a_condition_is_the_same(condition: str) -> None:
    vids = [[vid] for vid in range(6)]
    told = first_column(f"MATCH (a) RETURN {condition} AS x", vids)
    true = [vid for vid, value in enumerate(told) if value is True]
    bound = bind(
        parse(f"MATCH (a) WHERE {condition} RETURN id(a) AS x"),
        language_cases.snapshot(),
        language_cases.PARAMETERS,
        DIFFERENT_EDGES,
    )
    (vertex,) = bound.graph.vertices
    left = set(range(6)) if vertex.allowed is None else set(vertex.allowed.tolist())
    for term in vertex.labels:
        left &= {3, 4} if term == ("Admin",) else set(range(6))
    found = answers(bound, [[vid] for vid in sorted(left)]) if left else []
    assert found == [language_cases.NamedSnapshot.ids[vid] for vid in true]

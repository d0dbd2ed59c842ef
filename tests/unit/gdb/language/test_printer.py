"""A query's printed text is read as the same query: of made trees, of the cases of this repository, of the TCK."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.errors import QueryError
from gdb.language import clauses as c
from gdb.language import syntax as s
from gdb.language.parser import parse
from gdb.language.printer import expression_text, printed
from gdb.language.reading import MODES
from gdb.language.syntax import Place
from gdb.language.value_types import NAMES, IsNormalized, IsTyped, OneType, ValueType
from gdb.storage.format.direction import Direction
from tests.support import language_cases

_P = Place(0, 0)
_TCK = Path(__file__).parents[5] / "shared" / "tck" / "features"


def check(query: c.Query) -> None:
    text = printed(query)
    again = parse(text)
    assert again == query, text
    assert printed(again) == text  # also where 1 == 1.0 == True


# ---- trees ---------------------------------------------------------------------------------------

_WORDS = [
    "a",
    "n",
    "Person",
    "match",
    "RETURN",
    "null",
    "count",
    "exists",
    "any",
    "in",
    "end",
    "x y",
    "`",
    "a.b",
    "é",
    "1",
]
names = st.builds(
    s.Name, st.one_of(st.sampled_from(_WORDS), st.text(min_size=1, max_size=3)), st.just(_P)
)
variables = names.map(lambda name: s.Variable(name.text, _P))
literals = st.builds(
    s.Literal,
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.text(max_size=5),
    ),
    st.just(_P),
)
parameters = st.builds(s.Parameter, names.map(lambda name: name.text), st.just(_P))
labels = st.lists(st.lists(names, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2).map(
    tuple
)


value_types = st.recursive(
    st.builds(
        lambda name, nullable: ValueType((OneType(name, nullable and name != "NOTHING"),)),
        st.sampled_from(sorted(set(NAMES.values()))), st.booleans(),
    ),
    lambda inner: st.builds(
        lambda items, nullable, more: ValueType((OneType("LIST", nullable, items), *more.alternatives)),
        inner, st.booleans(), inner,
    ),
    max_leaves=4,
)  # fmt: skip


def _few(strategy: st.SearchStrategy, least: int = 0) -> st.SearchStrategy:
    return st.lists(strategy, min_size=least, max_size=3).map(tuple)


def _entries(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(st.tuples(names, inner), max_size=3, unique_by=lambda entry: entry[0].text).map(
        tuple
    )


def _path(inner: st.SearchStrategy, least: int, name: st.SearchStrategy) -> st.SearchStrategy:
    """Patterns with `least` relationships or one more."""
    filling = st.one_of(
        st.tuples(_entries(inner), st.none()), st.tuples(st.just(()), st.none() | parameters)
    )
    node = st.builds(
        lambda v, l, f, w: s.NodePattern(v, l, f[0], _P, f[1], w),
        st.none() | names, st.just(()) | labels, filling, st.none() | inner,
    )  # fmt: skip
    lengths = st.none() | st.builds(s.Length, st.integers(0, 3), st.none() | st.integers(0, 3))
    relationship = st.builds(
        lambda v, t, f, d, n, w: s.RelationshipPattern(v, t, f[0], d, _P, n, f[1], w),
        st.none() | names, _few(names), filling, st.sampled_from(Direction), lengths, st.none() | inner,
    )  # fmt: skip
    if least == 0:
        relationship = relationship | _repeated(node, relationship)
    selectors = st.none() | st.builds(s.Selector, st.sampled_from(["ANY", "SHORTEST"]), st.integers(1, 3)) | st.just(
        s.Selector("ALL SHORTEST")
    )  # fmt: skip
    plain = least > 0  # in an expression
    chain = st.lists(st.tuples(relationship, node), min_size=least, max_size=least + 1)

    def path(first, rest, name_, selector, mode):
        several = tuple(r for r, _ in rest)
        if any(one.repeated for one in several):  # shortest paths are of relationships
            selector = None
        return s.PathPattern((first, *(n for _, n in rest)), several, name_, selector, mode)

    return st.builds(
        path,
        node, chain, name,
        st.none() if plain else selectors,
        st.just(s.PathMode.TRAIL) if plain else st.sampled_from(s.PathMode),
    )  # fmt: skip


def _repeated(node: st.SearchStrategy, relationship: st.SearchStrategy) -> st.SearchStrategy:
    """A pattern in parentheses that is repeated, and more than one relationship alone."""
    simple = st.none() | variables
    single = relationship.map(lambda one: replace(one, length=None, where=None, properties=()))
    bare = node.map(lambda one: replace(one, where=None, properties=()))
    chain = st.lists(st.tuples(single, bare), min_size=1, max_size=2)
    inner = st.builds(
        lambda name, first, rest: s.PathPattern(
            (replace(first, variable=name), *(n for _, n in rest)), tuple(r for r, _ in rest)
        ),
        names, bare, chain,
    )  # fmt: skip
    return st.builds(
        lambda path, where, low, more: s.RelationshipPattern(
            *(None, (), (), Direction.ANY, _P, s.Length(low, low + more), None, where),
            repeated=path,
        ),
        inner, simple, st.integers(0, 3), st.integers(0, 2),
    )  # fmt: skip


def _larger(inner: st.SearchStrategy) -> st.SearchStrategy:
    none, p = st.none(), st.just(_P)
    optional = none | inner
    arithmetic = st.sampled_from([["+", "-", "||"], "*/%", "^"]).flatmap(
        lambda signs: st.lists(st.tuples(st.sampled_from(signs), inner), min_size=1, max_size=3)
    )
    projection_entries = _few(st.tuples(names, inner))
    match = st.builds(
        lambda paths, where: c.Query("", ((c.Match(None, paths, where),),)),
        _few(_path(inner, 0, none), 1), optional,
    )  # fmt: skip
    return st.one_of(
        st.builds(s.Property, inner, names, p),
        st.builds(s.ListLiteral, _few(inner), p),
        st.builds(s.Connected, st.sampled_from(s.Connective), st.lists(inner, min_size=2, max_size=3).map(tuple), p),
        st.builds(s.Not, inner, p),
        st.builds(s.Comparison, st.sampled_from(s.Comparator), inner, inner, p),
        st.builds(s.StringTest, st.sampled_from(s.StringOperator), inner, inner, p),
        st.builds(s.In, inner, inner, p),
        st.builds(s.IsNull, inner, st.booleans(), p),
        st.builds(IsTyped, inner, value_types, st.booleans(), p),
        st.builds(IsNormalized, inner, st.sampled_from(["NFC", "NFKD"]), st.booleans(), p),
        st.builds(s.Arithmetic, inner, arithmetic.map(tuple), p),
        st.builds(s.Negative, inner, p),
        st.builds(s.HasLabels, inner, labels, p),
        st.builds(s.Call, names, _few(inner), p),
        st.builds(s.Call, names, st.tuples(inner), p, st.booleans()),
        st.builds(s.Call, names, st.just(()), p, st.just(False), st.just(True)),
        st.builds(s.MapLiteral, _entries(inner), p),
        st.builds(s.MapProjection, variables, st.booleans(), projection_entries, p),
        st.builds(s.Index, inner, inner, p),
        st.builds(s.Slice, inner, optional, optional, p),
        st.builds(s.Case, optional, _few(st.tuples(inner, inner), 1), optional, p),
        st.builds(s.ListComprehension, names, inner, optional, optional, p),
        st.builds(s.Quantified, st.sampled_from(["all", "any", "none", "single"]), names, inner, inner, p),
        st.builds(s.Reduce, names, inner, names, inner, inner, p),
        st.builds(s.PatternComprehension, _path(inner, 1, none | names), optional, inner, p),
        st.builds(s.PatternTest, _path(inner, 1, none), p),
        st.builds(s.Subquery, st.sampled_from(["EXISTS", "COUNT"]), match, p),
    )  # fmt: skip


expressions = st.recursive(literals | parameters | variables, _larger, max_leaves=12)
small = st.one_of(
    literals | parameters | variables,
    st.builds(s.In, variables, variables, st.just(_P)),
    st.builds(s.HasLabels, variables, labels, st.just(_P)),
    st.builds(s.Arithmetic, literals, st.tuples(st.tuples(st.just("-"), literals)), st.just(_P)),
)
paths = _path(small, 0, st.none() | names)


def _returns(items: st.SearchStrategy) -> st.SearchStrategy:
    sorts = st.builds(s_item, small, st.booleans(), st.none() | st.booleans())
    counts = st.none() | parameters | st.builds(s.Literal, st.integers(0, 99), st.just(_P))
    return st.builds(
        lambda distinct, star, found, order, skip, limit: c.Return(
            _P, distinct, star or not found, found, order, skip, limit
        ),
        st.booleans(), st.booleans(), _few(items), _few(sorts), counts, counts,
    )  # fmt: skip


def s_item(expression: s.Expression, descending: bool, nulls_first: bool | None) -> c.SortItem:
    return c.SortItem(expression, descending, nulls_first)


aliased = st.builds(c.ReturnItem, small, names, st.just(""))
returns = _returns(st.builds(c.ReturnItem, small, st.none() | names, st.just("")))
matches = st.builds(
    c.Match,
    st.none() | st.sampled_from(list(MODES.values())),
    _few(paths, 1),
    st.none() | small,
    st.booleans(),
)
set_items = st.one_of(
    st.builds(
        c.SetProperty,
        st.builds(s.Property, small, names, st.just(_P)),
        small,
        st.just(_P),
    ),
    st.builds(
        c.SetProperty,
        st.builds(s.Index, variables, small, st.just(_P)),
        small,
        st.just(_P),
    ),
    st.builds(c.SetAll, variables, small, st.booleans(), st.just(_P)),
    st.builds(c.SetLabels, variables, _few(names, 1), st.just(_P)),
)


def _made(path: s.PathPattern) -> s.PathPattern:
    """What CREATE and MERGE take."""
    nodes = tuple(replace(node, where=None) for node in path.nodes)
    relationships = tuple(
        replace(
            r,
            where=None,
            length=None,
            repeated=None,
            types=(s.Name("T", _P),),
            direction=Direction.IN,
        )
        for r in path.relationships
    )
    return s.PathPattern(nodes, relationships, path.name)


made = paths.map(_made)
single_labels = st.builds(
    s.HasLabels, variables, _few(names.map(lambda name: (name,)), 1), st.just(_P)
)
writing = st.one_of(
    st.builds(c.Create, _few(made, 1), st.just(_P)),
    st.builds(c.Merge, made, _few(set_items), _few(set_items), st.just(_P)),
    st.builds(c.Set, _few(set_items, 1), st.just(_P)),
    st.builds(
        c.Remove,
        _few(single_labels | st.builds(s.Property, small, names, st.just(_P)), 1),
        st.just(_P),
    ),
    st.builds(c.Delete, _few(small, 1), st.booleans(), st.just(_P)),
)
writing |= st.builds(cast(Any, c.Foreach), names, small, _few(writing, 1), st.just(_P))
others = st.one_of(
    matches,
    st.builds(c.Unwind, small, names, st.just(_P)),
    st.builds(c.With, _returns(aliased), st.none() | small, st.just(_P)),
    st.builds(
        c.CallProcedure,
        names,
        _few(small),
        st.none() | _few(st.tuples(names, names)),
        st.just(_P),
    ),
    st.builds(
        c.CallProcedure,
        names,
        _few(small),
        st.none(),
        st.just(_P),
        st.just(True),
        st.none() | small,
    ),
    st.builds(
        c.CallProcedure,
        names,
        _few(small),
        _few(st.tuples(names, names), 1),
        st.just(_P),
        st.just(False),
        small,
    ),
    st.builds(
        c.LoadCsv,
        st.booleans(),
        small,
        names,
        st.sampled_from([",", ";", "'", "\t"]),
        st.just(_P),
    ),
    writing,
)


@st.composite
def queries(draw: st.DrawFn, deeper: bool = True) -> c.Query:
    def part() -> tuple[c.Clause, ...]:
        inner = others
        if deeper:
            inner = inner | st.builds(
                c.CallSubquery,
                queries(deeper=False),
                st.none() | _few(names),
                st.just(_P),
                st.booleans(),
            )
        return (*draw(_few(inner)), draw(returns | writing | st.builds(c.Finish, st.just(_P))))

    parts = [part() for _ in range(draw(st.integers(1, 2)))]
    all_ = draw(st.booleans())
    explain = deeper and draw(st.booleans())
    return c.Query("", tuple(parts), (all_,) * (len(parts) - 1), explain)


@given(expressions)
def test_expressions(expression: s.Expression) -> None:
    item = c.ReturnItem(expression, None, "")
    check(c.Query("", ((c.Return(_P, False, False, (item,)),),)))


@given(queries())
def test_queries(query: c.Query) -> None:
    check(query)


# ---- texts ---------------------------------------------------------------------------------------

_TEXTS = [
    case for file in ("syntax.txt", "bind.txt", "values.txt") for case in language_cases.read(file)
]


@pytest.mark.parametrize("case", _TEXTS, ids=str)
def test_our_queries(case: language_cases.Case) -> None:
    check(parse(case.query))


def test_a_chain_in_chains_is_no_longer_than_written() -> None:
    text = f"RETURN {'1 < (' * 40}1{' < 1) < 1' * 40}"
    assert len(printed(parse(text))) <= len(text)


def test_an_expression_alone() -> None:
    item = parse("RETURN (a.x + 1) * `return`").parts[0][0]
    assert isinstance(item, c.Return)
    assert expression_text(item.items[0].expression) == "(a.x + 1) * `return`"


# ---- the TCK -------------------------------------------------------------------------------------


def _filled(row: dict[str, str], name: re.Match[str]) -> str:
    return row.get(name[1], name[0])


def _scenarios() -> Iterator[tuple[str, bool]]:
    """Queries, and whether the scenario expects an error before anything runs; without the tables of outlines."""
    for path in sorted(_TCK.glob("**/*.feature")):
        for block in re.split(r"\n\s*Scenario(?: Outline)?:", path.read_text(encoding="utf-8"))[1:]:
            refused = "should be raised at compile time" in block
            rows = _rows(block)
            asked = re.findall(
                r'(executing query|having executed):\s*\n\s*"""\n(.*?)"""', block, re.DOTALL
            )
            for how, text in asked:
                for row in rows:
                    query = re.sub(r"<(\w+)>", partial(_filled, row), text)
                    yield query, refused and how == "executing query"


def _rows(block: str) -> list[dict[str, str]]:
    table = re.search(r"Examples:\s*\n((?:\s*\|.*\n?)+)", block)
    if table is None:
        return [{}]
    lines = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        for line in table[1].strip().split("\n")
    ]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


@pytest.mark.skipif(not _TCK.exists(), reason="the TCK lies beside the repository")
def test_the_tck() -> None:
    number = 0
    for text, refused in _scenarios():
        try:
            query = parse(text)
        except QueryError:
            if not refused:
                raise
            continue
        check(query)
        number += 1
    assert number > 2000


def test_a_property_of_a_numbered_parameter() -> None:
    """`0.` is no number, but behind `$` it is a name and a dot."""
    query = parse("RETURN $0.a AS a")
    assert query.parts[0][0].items[0].expression == s.Property(  # type: ignore[union-attr]
        s.Parameter("0", s.Place(0, 0)), s.Name("a", s.Place(0, 0)), s.Place(0, 0)
    )
    check(query)


@pytest.mark.parametrize("text", ["REMOVE $`0`.a", "RETURN $0", "RETURN $`1`.a + $1[$0..$1]"])
def test_parameters_that_are_numbers(text: str) -> None:
    check(parse(text))

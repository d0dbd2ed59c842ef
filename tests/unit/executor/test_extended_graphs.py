"""Plans over more than the graph, in which equal values are paths, on all executors: what comparisons give."""

from __future__ import annotations

from collections import Counter
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.executor import reference
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan import embeddings
from gdb.executor.plan.embeddings import Embeddings
from gdb.executor.plan.plan import MISSING, Compare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import QueryGraph
from gdb.records import replace
from tests.oracles import brute_force
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases

VALUES = st.sampled_from([0, 1, 2, MISSING])


@st.composite
def joined_cases(draw: st.DrawFn) -> tuple[SmallGraph, QueryGraph]:
    """A graph, and a pattern of several parts; some of them must have equal values."""
    graph, query = draw(cases())
    count, size = len(query.vertices), graph.vertex_count
    column = st.lists(VALUES, min_size=size, max_size=size)
    several = [np.array(draw(column), np.int64) for _ in range(2)]
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    equal = []
    for a, b in draw(st.lists(pairs, min_size=1, max_size=3)):
        left, right = draw(st.sampled_from(several)), draw(st.sampled_from(several))
        shift = draw(st.integers(-1, 1))
        if a != b:
            equal.append(Compare(a, b, False, False, shift, shift, left, right, f"{a} = {b}"))
    compared = tuple(one for one in query.compared if not one.edges)
    edges = query.edges[: draw(st.integers(0, 2))]
    mode = replace(query.mode, distinct=False, induced=False)
    return graph, replace(
        query, edges=edges, mode=mode, compared=(*compared, *equal), symmetric_under=(), negated=()
    )


def vids(table: Embeddings, count: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(row[:count]) for row in table.vids.tolist())


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@settings(max_examples=share(150), deadline=None)
@given(joined_cases())
def test_equal_values_are_paths(backend: Backend, case: tuple[SmallGraph, QueryGraph]) -> None:
    graph, query = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("gdb.planner.equal_values"), "WORTH", -1.0)
        plan, counted = (planner.plan(query, graph, counting=c) for c in (False, True))
    wanted = Counter(v for v, _ in brute_force.embeddings(query, graph))
    count, windows = len(query.vertices), backend.windows
    assert vids(reference.rows(plan, graph), count) == wanted
    assert reference.count(counted, graph) == wanted.total()
    watch, budget = Watch(None, None, None), Budget()
    found = backend.rows(prepare(plan, graph, windows=windows), watch, budget, 32)
    assert vids(embeddings.expand(found, plan.twins), count) == wanted
    total = 0
    for factor, term in ((1, counted), *counted.terms):
        many = backend.count(prepare(term, graph, windows=windows), watch, budget)
        total += factor * term.multiplicity * many
    assert total == wanted.total()

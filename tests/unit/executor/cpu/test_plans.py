"""The plans of one count beside one another: each once, the long ones by all threads, and one error ends all."""

from __future__ import annotations

import threading
from collections import Counter
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from gdb import planner
from gdb.errors import Cancelled
from gdb.executor import reference
from gdb.executor.cpu import launch
from gdb.executor.cpu import plans as beside
from gdb.executor.nest.prepare import Prepared, stage
from gdb.executor.plan.plan import Plan
from gdb.executor.work.scheduler import Budget, Helpers, Watch
from gdb.query_graph import DIFFERENT_NODES
from gdb.records import replace
from tests.support.small_graph import SmallGraph
from tests.unit.gdb.planner.test_differences import data_graph, pattern, taken_off


@cache
def planned() -> tuple[list[Plan], SmallGraph]:
    """Four plans of one graph or more."""
    for seed in range(40):
        random = np.random.default_rng(seed)
        graph = data_graph(random)
        with taken_off():
            plan = planner.plan(pattern(random, 6, DIFFERENT_NODES), graph, counting=True)
        if len(plan.terms) >= 3:
            return [replace(plan, terms=()), *(term for _, term in plan.terms)], graph
    raise AssertionError("no pattern has so many terms")


def plans_of(steps: list[float | None]) -> tuple[list[Plan], SmallGraph]:
    """As many plans of one graph, with the steps that they are expected to take."""
    found, graph = planned()
    return [
        replace(one, notes=replace(one.notes, steps=n), stages={})
        for one, n in zip(found, steps, strict=False)
    ], graph


def counts(
    plans: list[Plan], graph: SmallGraph, threads: int, *, alone: bool = False
) -> tuple[list[int], Counter[int]]:
    """What is counted, and with how many threads each plan was."""
    used: Counter[int] = Counter()
    real = launch.count

    def count(
        prepared: Prepared,
        watch: Watch,
        budget: Budget,
        threads: int,
        others: Helpers | None = None,
    ) -> int:
        used[threads] += 1
        return real(prepared, watch, budget, threads, others)

    watch = Watch(None, None, None)
    with patch.object(beside, "count", count):
        found = beside.counts(
            *(plans, lambda plan: stage(plan, graph), watch, Budget(), threads), alone=alone
        )
    return found, used


STEPS: list[float | None] = [5e4, 9e9, 1e3, 0.0]


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_each_plan_is_counted_once(threads: int) -> None:
    plans, graph = plans_of(STEPS)
    want = [reference.count(replace(plan, multiplicity=1), graph) for plan in plans]
    found, used = counts(plans, graph, threads)
    assert found == want
    assert used == Counter({1: 4} if threads == 1 else {1: 3, threads: 1})


def test_plans_run_alone_where_they_have_to() -> None:
    plans, graph = plans_of(STEPS)
    want, _ = counts(plans, graph, 1)
    assert counts(plans, graph, 2, alone=True) == (want, Counter({2: 4}))
    unknown, graph = plans_of([1.0, None, 1.0])
    assert counts(unknown, graph, 2) == (want[:3], Counter({2: 3}))


def test_the_steps_of_a_plan_are_without_those_of_its_terms() -> None:
    plans, graph = plans_of([1e9 + 2e3, 1e9, 2e3])
    first = replace(plans[0], terms=((1, plans[1]), (1, plans[2])))
    assert counts([first, *plans[1:]], graph, 2)[1] == Counter({1: 2, 2: 1})


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_share_that_is_done_is_by_expected_steps(threads: int) -> None:
    plans, graph = plans_of([3e6, 1e7, 1e6, 1e6])
    watch, shares = Watch(None, None, None), dict[int, float]()
    real, numbers = launch.count, dict[int, int]()

    def staged(plan: Plan) -> Prepared:
        prepared = stage(plan, graph)
        numbers[id(prepared)] = next(k for k, one in enumerate(plans) if one is plan)
        return prepared

    def count(
        prepared: Prepared,
        watch: Watch,
        budget: Budget,
        threads: int,
        others: Helpers | None = None,
    ) -> int:
        found = real(prepared, watch, budget, threads, others)
        shares[numbers[id(prepared)]] = watch.share_done()
        return found

    with patch.object(beside, "count", count), patch.object(beside, "ALONE", 4e6):
        beside.counts(plans, staged, watch, Budget(), threads, alone=False)
    if threads == 1:  # in their order, and the last unit of each half done
        ends = [0.0, 3 / 15, 13 / 15, 14 / 15, 1.0]
        assert all(ends[k] < shares[k] < ends[k + 1] for k in range(4))
    else:  # the long one first, and the shortest last
        assert 0.0 < shares[1] < 10 / 15
        assert all(10 / 15 < shares[k] < 1.0 for k in (0, 2, 3))
        assert shares[0] <= max(shares[2], shares[3])


def test_an_error_ends_all() -> None:
    plans, graph = plans_of(STEPS[:1] * 4)
    watch, seen = Watch(None, None, None), threading.Event()

    def staged(plan: Plan) -> Prepared:
        if plan is plans[3]:
            seen.set()
            raise Cancelled("The query was cancelled.")
        return stage(plan, graph)

    with pytest.raises(Cancelled):
        beside.counts(plans, staged, watch, Budget(), 2, alone=False)
    assert seen.is_set()
    assert watch.stopped.is_set()

"""What one worker gives another of a unit is found once, by threads and by processes."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.executor import reference
from gdb.executor.cpu import address, launch
from gdb.executor.cpu.workers import Worker
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan import embeddings
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.executor.work.place import END, POSITION, Place
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import QueryGraph
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases
from tests.unit.executor.nest.test_neighbourhood import NEAR_CLIQUES, dense, forced, question, stage
from tests.unit.executor.test_executors import PASS_SETS, bag

NO_SYMMETRY = frozenset({"symmetry"})


def given_away(prepared: Prepared, steps: int, seed: int) -> tuple[int, int]:
    """The count, when a worker gives something away, half or whole, after so many steps each time; how often it did."""
    chance = random.Random(seed)
    workers = [Worker(prepared, 1) for _ in range(3)]
    waiting, gave = [Place.of_roots(0, len(prepared.roots), len(prepared.tables.levels))], 0
    while waiting:
        worker = chance.choice(workers)
        worker.go_on(pickle.loads(pickle.dumps(waiting.pop())))
        while worker.run(steps) == address.YIELDED:
            place = worker.give(half=chance.random() < 0.5)
            if place is not None:
                waiting.append(place)
                gave += 1
        assert int(worker.control[address.STATUS]) == address.DONE
    return sum(worker.total for worker in workers), gave


@settings(max_examples=share(150), deadline=None)
@given(case=cases(), off=st.sampled_from(PASS_SETS), steps=st.sampled_from([0, 3, 20]))
def test_a_count_is_given_away(
    case: tuple[SmallGraph, QueryGraph], off: frozenset[str], steps: int
) -> None:
    """Also where loops branch, and where counts are kept."""
    graph, query = case
    plan = planner.plan(query, graph, counting=True, switched_off=off)
    prepared = prepare(plan, graph, windows=True)
    if prepared.tables.loops:
        whole = launch.count(prepared, Watch(None, None, None), Budget(), 1)
        assert given_away(prepared, steps, steps)[0] == whole


@pytest.mark.parametrize("way", ["always", "little room"])
@pytest.mark.parametrize("name", NEAR_CLIQUES)
def test_a_count_in_bits_is_given_away(name: str, way: str) -> None:
    with forced(way):
        prepared, _ = stage(question(NEAR_CLIQUES[name]), dense(20, 0.6))
        whole = launch.count(prepared, Watch(None, None, None), Budget(), 1)
        for seed in range(3):
            found, gave = given_away(prepared, 8, seed)
            assert found == whole
            assert gave > 3


def test_a_heavy_root_is_given_away_below_it() -> None:
    """A hub whose unit is one root: what is given begins in a loop within it."""
    graph = dense(40, 0.5)
    prepared, _ = stage(question(((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))), graph)
    worker, other = Worker(prepared, 1), Worker(prepared, 1)
    worker.begin(0, 1)
    assert worker.run(50) == address.YIELDED
    place = worker.give(half=False)
    assert place is not None
    assert place.depth > 0
    other.go_on(place)
    assert worker.run(1 << 40) == other.run(1 << 40) == address.DONE
    assert other.total > worker.total
    one = Worker(prepared, 1)
    one.begin(0, 1)
    assert one.run(1 << 40) == address.DONE
    assert one.total == worker.total + other.total


# ---- runs ----------------------------------------------------------------------------------------


@pytest.fixture
def short_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small graphs are worth threads, and take many launches."""
    monkeypatch.setattr(launch, "STEPS", 0)
    monkeypatch.setattr(launch, "WORTH_A_THREAD", 0)
    monkeypatch.setattr("gdb.executor.work.scheduler.LEAST_WEIGHT", 1)
    monkeypatch.setattr("gdb.executor.work.scheduler.UNITS_PER_WORKER", 1)


@pytest.mark.usefixtures("short_launches")
@pytest.mark.parametrize("counting", [True, False])
def test_threads_share_a_unit(counting: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    gave: list[Place] = []
    give = Worker.give

    def noted(self: Worker, *, half: bool, roots: bool = False) -> Place | None:
        place = give(self, half=half, roots=roots)
        gave.extend([] if place is None else [place])
        return place

    monkeypatch.setattr(Worker, "give", noted)
    graph = dense(24, 0.5)
    query = question(((0, 1), (1, 2), (2, 3), (3, 0)))
    plan = planner.plan(query, graph, counting=counting, switched_off=NO_SYMMETRY)
    for seed in range(60):  # on a busy machine one thread may be done before another begins
        if gave and seed >= 5:
            break
        prepared = prepare(plan, graph, windows=True)
        watch, budget = Watch(None, None, None), Budget()
        if counting:
            known = reference.count(plan, graph)
            assert launch.count(prepared, watch, budget, 4) * plan.multiplicity == known, seed
            vids = launch.tallies(prepared, Watch(None, None, None), budget, 4)
            assert int(vids.sum()) * plan.multiplicity == known
            assert (vids == launch.tallies(prepared, Watch(None, None, None), budget, 1)).all()
        else:
            rows = rows_on_cpu(prepared, watch, budget, 4, 3)
            found = embeddings.expand(rows, plan.twins)
            assert bag(found, plan) == bag(reference.rows(plan, graph), plan)
            once = launch.distinct(prepared, Watch(None, None, None), budget, 2, 4, 3)
            want = np.unique(reference.rows(plan, graph).vids[:, 2])
            assert np.unique(once).tolist() == want.tolist()
    assert gave


@pytest.mark.usefixtures("short_launches")
@settings(max_examples=share(100), deadline=None)
@given(case=cases(), threads=st.sampled_from([1, 3]), counting=st.booleans())
def test_runs_that_are_over_give_back_all_that_is_left(
    case: tuple[SmallGraph, QueryGraph], threads: int, counting: bool
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=counting)
    prepared = prepare(plan, graph, windows=True)
    if not prepared.tables.loops or not len(prepared.roots):
        return
    wanted = Wanted(tuple(range(plan.vertices)), plan.bound_edges)
    waiting: list[Place | None] = [None]
    total, rows, tries = 0, list[Embeddings](), 0
    while waiting:
        watch = Watch(None, None, None)
        watch.start, tries = waiting.pop(), tries + 1
        watch.until = 0.0 if tries % 2 else None
        if watch.start is None:  # one that is late before it begins gives all of it back
            watch.start = Place.of_roots(0, len(prepared.roots), len(prepared.tables.levels))
        if counting:
            total += launch.count(prepared, watch, Budget(), threads)
        else:
            launch.deliver_rows(
                prepared, watch, Budget(), wanted, lambda part: rows.append(kept(part)), threads, 3
            )
        waiting += watch.rest
    if counting:
        assert total == launch.count(prepared, Watch(None, None, None), Budget(), 1)
    else:
        every = sum(len(part) for part in rows)
        assert every == len(rows_on_cpu(prepared, Watch(None, None, None), Budget(), 1, 100))


def kept(part: Embeddings) -> Embeddings:
    return Embeddings(part.vids.copy(), np.array(part.eids), kept=part.kept)


def test_halves_of_a_place_are_all_of_it() -> None:
    place = Place(np.zeros((5, 3), np.int64), 2, 0, 0, 0)
    place.loops[POSITION], place.loops[END] = [4, 10, 0], [5, 17, 3]
    left = [(k, x) for k in range(3) for x in range(*place.loops[[POSITION, END], k].tolist())]
    parts = [place]
    for part in parts:
        while (half := part.halve()) is not None:
            parts.append(half)
    found = [
        (k, x)
        for part in parts
        for k in range(part.depth + 1)
        for x in range(*part.loops[[POSITION, END], k].tolist())
    ]
    assert sorted(found) == sorted(left)
    assert len(parts) > 5


def test_a_long_run_of_few_roots_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins as one unit of one thread, as a short one does."""
    monkeypatch.setattr(launch, "STEPS", 50)
    prepared, _ = stage(question(((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))), dense(30, 0.3))
    assert prepared.work < launch.WORTH_A_THREAD
    gave: list[int] = []
    whole = Worker.give

    def give(self: Worker, *, half: bool, roots: bool = False) -> Place | None:
        place = whole(self, half=half, roots=roots)
        gave.append(place is not None)
        return place

    monkeypatch.setattr(Worker, "give", give)
    watch, budget = Watch(None, None, None), Budget()
    found = launch.count(prepared, watch, budget, 2)
    assert any(gave)
    assert found == launch.count(prepared, Watch(None, None, None), Budget(), 1)
    assert budget.workers == (2, 2)

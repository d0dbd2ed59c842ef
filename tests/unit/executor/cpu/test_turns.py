"""A search that is put aside goes on from its place, in any worker: what is found is found once."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.errors import Cancelled, QueryTimeout
from gdb.executor import reference, run
from gdb.executor.cpu import address, launch, turns, workers
from gdb.executor.cpu.turns import Turns
from gdb.executor.cpu.workers import Worker
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan import embeddings
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.executor.plan.plan import Plan
from gdb.executor.run import Options
from gdb.executor.work import place
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases
from tests.unit.executor.test_executors import PASS_SETS, bag

NO_SYMMETRY = frozenset({"symmetry"})


def short_turns(patch: pytest.MonkeyPatch, steps: int = 0) -> None:
    """A launch, and a first turn, of so many steps and one more."""
    for name in ("FIRST_STEPS", "EARLY_STEPS", "TURN"):
        patch.setattr(launch, name, steps)


def cut_short(prepared: Prepared, limit: int, threads: int, capacity: int) -> Embeddings:
    return rows_on_cpu(prepared, Watch(None, None, limit), Budget(), threads, capacity)


@settings(max_examples=share(150), deadline=None)
@given(
    case=cases(),
    off=st.sampled_from(PASS_SETS),
    steps=st.sampled_from([0, 1, 5, 40]),
    threads=st.sampled_from([1, 2, 4]),
    capacity=st.sampled_from([1, 2, 1000]),
    most=st.sampled_from([2, 5, turns.MOST_ASIDE]),
    tries=st.sampled_from([1, 2, 16]),
)
def test_rows_of_short_turns_are_those_of_the_reference(
    case: tuple[SmallGraph, QueryGraph],
    off: frozenset[str],
    steps: int,
    threads: int,
    capacity: int,
    most: int,
    tries: int,
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False, switched_off=off)
    prepared = prepare(plan, graph, windows=True)
    with pytest.MonkeyPatch.context() as patch:
        short_turns(patch, steps)
        patch.setattr(turns, "MOST_ASIDE", most)
        patch.setattr(turns, "TRIES", tries)
        found = cut_short(prepared, 1 << 40, threads, capacity)
    assert bag(embeddings.expand(found, plan.twins), plan) == bag(reference.rows(plan, graph), plan)


@settings(max_examples=share(100), deadline=None)
@given(
    case=cases(),
    limit=st.sampled_from([1, 2, 7, 30]),
    threads=st.sampled_from([1, 2, 4]),
)
def test_a_limit_is_filled_with_rows_of_the_reference(
    case: tuple[SmallGraph, QueryGraph], limit: int, threads: int
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False)
    wanted = Wanted(tuple(range(plan.vertices)), plan.bound_edges)

    def rows(some: Embeddings) -> list[tuple[int, ...]]:
        columns = [some.vertex(v).tolist() for v in wanted.vertices]
        return list(zip(*columns, *(some.edge(e).tolist() for e in wanted.edges), strict=True))

    with pytest.MonkeyPatch.context() as patch:
        short_turns(patch)
        found = run.rows(plan, graph, Options("cpu", threads), wanted, rows, limit)
    whole = Counter(rows(reference.rows(plan, graph)))
    some = Counter(row for part in found.parts for row in part)
    assert some.total() == found.rows == min(limit, whole.total())
    assert some <= whole


@settings(max_examples=share(100), deadline=None)
@given(case=cases(), capacity=st.sampled_from([1, 2, 1000]), data=st.data())
def test_a_distinct_value_is_found_once(
    case: tuple[SmallGraph, QueryGraph], capacity: int, data: st.DataObject
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False, switched_off=NO_SYMMETRY)
    vertex = data.draw(st.integers(0, plan.vertices - 1))
    want = sorted(set(reference.rows(plan, graph).vids[:, vertex].tolist()))
    prepared = prepare(plan, graph, windows=True)
    with pytest.MonkeyPatch.context() as patch:
        short_turns(patch)
        for _ in range(2):
            every = Watch(None, None, 1 << 40)
            found = launch.distinct(prepared, every, Budget(), vertex, 1, capacity)
            assert sorted(found.tolist()) == want


@settings(max_examples=share(100), deadline=None)
@given(case=cases(), off=st.sampled_from(PASS_SETS), steps=st.sampled_from([0, 3]))
def test_a_count_goes_from_worker_to_worker(
    case: tuple[SmallGraph, QueryGraph], off: frozenset[str], steps: int
) -> None:
    """Also where loops branch, and products are under way."""
    graph, query = case
    plan = planner.plan(query, graph, counting=True, switched_off=off)
    prepared = prepare(plan, graph, windows=True)
    one, other = Worker(prepared, 1), Worker(prepared, 1)
    one.begin(0, len(prepared.roots))
    while one.run(steps) == address.YIELDED:
        other.go_on(one.put_aside())
        one, other = other, one
    assert int(one.control[address.STATUS]) == address.DONE
    assert (one.total + other.total) == launch.count(prepared, Watch(None, None, None), Budget())


# ---- a hub with nothing in it ------------------------------------------------------------------------

CYCLES = 40


def barren(width: int) -> tuple[Plan, SmallGraph]:
    """Cycles of five, none among the first 4 * width vertices: only of four, very many."""
    edges = [
        ("R", layer * width + a, (layer + 1) % 4 * width + b)
        for layer in range(4)
        for a in range(width)
        for b in range(width)
    ]
    hubs = 4 * width
    edges += [
        ("R", hubs + 5 * c + k, hubs + 5 * c + (k + 1) % 5) for c in range(CYCLES) for k in range(5)
    ]
    graph = SmallGraph([()] * (hubs + 5 * CYCLES), edges)
    cycle = tuple(QueryEdge(k, (k + 1) % 5, ("R",)) for k in range(5))
    query = QueryGraph((QueryVertex(),) * 5, cycle, DIFFERENT_NODES)
    return planner.plan(query, graph, counting=False), graph


def count_rows(some: Embeddings) -> int:
    return len(some)


def asked(plan: Plan, graph: SmallGraph, options: Options, limit: int) -> int:
    found = run.rows(plan, graph, options, Wanted((0, 1)), count_rows, limit)
    return sum(found.parts)


def steps_to_fill(turn: int, threads: int) -> int:
    """Steps of all workers until a LIMIT is filled, with first turns of so many."""
    plan, graph = barren(24)
    spent: list[int] = []
    whole = launch._launch

    def launched(worker: Worker, budget: int, watch: Watch) -> bool:
        before = worker.spent
        done = whole(worker, budget, watch)
        spent.append(worker.spent - before)
        return done

    with pytest.MonkeyPatch.context() as patch:
        short_turns(patch, 500)
        patch.setattr(launch, "TURN", turn)
        patch.setattr(launch, "_launch", launched)
        assert asked(plan, graph, Options("cpu", threads), 3 * CYCLES) == 3 * CYCLES
    return sum(spent)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_barren_hub_is_not_finished_first(threads: int) -> None:
    assert 4 * steps_to_fill(500, threads) < steps_to_fill(turns.NEVER, threads)


def test_what_waits_is_accounted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it does not fit the budget, turns do not end."""
    plan, graph = barren(8)
    prepared = prepare(plan, graph)
    known: list[Turns] = []
    whole = Turns.of

    def of(*arguments: object) -> Turns:
        known.append(whole(*arguments))  # type: ignore[arg-type]
        return known[-1]

    short_turns(monkeypatch, 50)
    monkeypatch.setattr(Turns, "of", of)
    cut_short(prepared, 1 << 40, 1, 1000)
    assert known[0].most > 10
    need = workers.scratch_bytes(prepared) + workers.slot_bytes(prepared, 1)
    for left in (-1, 0, 1000):  # also where what a worker needs has no room
        budget = Budget(need + left)
        found = rows_on_cpu(prepared, Watch(None, None, 1 << 40), budget, 2, 1000)
        assert len(found) * len(plan.twins or (None,)) == 5 * CYCLES
        waited = known[-1].most * 8 * place.KEPT * prepared.tables.loops
        assert waited <= need + left
        assert budget.used == 0
        assert waited <= budget.most <= need + left


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_run_that_takes_turns_stops_at_once(threads: int) -> None:
    plan, graph = barren(100)
    cancel = threading.Event()
    timer = threading.Timer(0.1, cancel.set)
    timer.start()
    begin = time.process_time()
    with pytest.raises(Cancelled):
        asked(plan, graph, Options("cpu", threads, cancel=cancel), 1 << 40)
    with pytest.raises(QueryTimeout):
        asked(plan, graph, Options("cpu", threads, timeout=0.1), 1 << 40)
    assert time.process_time() - begin < 2
    timer.join(10)


@pytest.mark.parametrize("threads", [2, 4])
def test_a_worker_that_fails_ends_those_that_wait(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, graph = barren(24)
    launches = iter(range(200))

    def failing(worker: Worker, budget: int, watch: Watch) -> bool:
        if next(launches, None) is None:
            raise ValueError("it fails")
        return whole(worker, budget, watch)

    whole = launch._launch
    short_turns(monkeypatch, 500)
    monkeypatch.setattr(launch, "_launch", failing)
    with pytest.raises(ValueError, match="it fails"):
        asked(plan, graph, Options("cpu", threads), 1 << 40)


def test_one_root_is_shared_by_two_workers() -> None:
    """A worker that finds no unit waits for what another may put back."""
    queue = Turns.of([(0, 1)], 1, Budget())
    unit = queue.take(lambda: True)
    assert unit is not None
    taken: list[turns.Unit | None] = []
    waiting = threading.Thread(target=lambda: taken.append(queue.take(lambda: True)))
    waiting.start()
    time.sleep(0.02)
    assert not taken
    prepared = prepare(*barren(8))
    worker = Worker(prepared, 1000)
    worker.begin(0, 1)
    worker.run(10)
    queue.put_back(unit, worker.put_aside())
    waiting.join(10)
    assert taken[0] is not None
    assert taken[0].place is not None
    assert len(queue.waiting) == 1

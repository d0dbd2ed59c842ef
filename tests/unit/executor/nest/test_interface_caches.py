"""Counts that are kept for when they come again are those that would have been counted."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from gdb import planner
from gdb.executor import reference
from gdb.executor.cpu import address, caches, launch, workers
from gdb.executor.nest.nest import LoopNest
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.run import Options, tallies
from gdb.executor.work.scheduler import Budget, Watch
from gdb.planner.explain import explain
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64
from gdb.storage.graph.row_loops import at_of
from tests.support.small_graph import SmallGraph

LABELS = "ABCD"
PATH = tuple((k, k + 1) for k in range(7))
RINGS = ((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (5, 6))
OFF = frozenset({"symmetry", "decompose"})


def random_graph(seed: int, n: int = 40, m: int = 110) -> SmallGraph:
    random = Random(seed)
    labels = sorted((random.choice(LABELS),) for _ in range(n))
    pairs = {tuple(sorted(random.sample(range(n), 2))) for _ in range(m)}
    return SmallGraph(labels, [("U", a, b) for a, b in sorted(pairs)], frozenset("U"))


def query_of(
    edges: tuple[tuple[int, int], ...], mode: MatchMode, seed: int, labelled: float = 0.7
) -> QueryGraph:
    random = Random(seed)
    size = 1 + max(max(pair) for pair in edges)
    vertices = tuple(
        QueryVertex(None, ((random.choice(LABELS),),) if random.random() < labelled else ())
        for _ in range(size)
    )
    found = tuple(QueryEdge(a, b, (), Direction.ANY) for a, b in edges)
    return QueryGraph(vertices, found, mode)


def counted(prepared: Prepared, slots: int | None, steps: int) -> tuple[int, int]:
    """The count, and how often a cache knew, of one worker."""
    return counts_of(workers.Worker(prepared, 1, slots=slots), steps)


def counts_of(worker: workers.Worker, steps: int) -> tuple[int, int]:
    for start, end in worker.prepared.cut(1):
        worker.begin(start, end)
        while worker.run(steps) != address.DONE:
            pass
    known = worker.caches[:, address.K.KNOWN].sum()
    return int(worker.control[address.TOTAL]), int(known)


@pytest.mark.parametrize("slots", [1, 2, 64, None])
@pytest.mark.parametrize("mode", [DIFFERENT_NODES, DIFFERENT_EDGES, REPEATABLE_ELEMENTS])
@pytest.mark.parametrize("edges", [PATH, RINGS])
def test_counts_are_those_without_caches(
    edges: tuple[tuple[int, int], ...], mode: MatchMode, slots: int | None
) -> None:
    knew = 0
    for seed in range(6):
        graph = random_graph(seed)
        query = query_of(edges, mode, seed)
        plans = [
            planner.plan(query, graph, counting=True, switched_off=OFF | {"trees"} | off)
            for off in (frozenset[str](), frozenset({"caches"}))
        ]
        cached, plain = (prepare(plan, graph, windows=True) for plan in plans)
        assert plain.nest.caches == ()
        expected, none = counted(plain, slots, 1 << 20)
        assert none == 0
        for steps in (1 << 20, 3):  # the kernel leaves off and goes on everywhere
            found, known = counted(cached, slots, steps)
            assert found == expected
            knew += known
    assert knew > 0 or slots in (1, 2) or mode == DIFFERENT_EDGES


def test_counts_are_those_of_the_reference() -> None:
    for seed in range(8):
        graph = random_graph(seed, n=14, m=24)
        plan = planner.plan(
            query_of(RINGS, DIFFERENT_NODES, seed, 0.3), graph, counting=True, switched_off=OFF
        )
        found = launch.count(prepare(plan, graph, windows=True), Watch(None, None, None), Budget())
        assert plan.multiplicity * found == reference.count(plan, graph)


@pytest.mark.parametrize("steps", [1 << 20, 3])
def test_trees_in_one_loop_are_kept_apart(steps: int) -> None:
    """In the loop of a vertex are a tree of it, a leaf of it, and a tree of it and the vertex before: each tree is kept
    by what it reads, the leaf with that which reads its vertex."""
    edges = ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (4, 5), (3, 5), (3, 6), (6, 7), (3, 8))
    knew = 0
    for seed in range(6):
        graph = random_graph(seed)
        query = query_of(edges, REPEATABLE_ELEMENTS, seed, 0.2)
        off = OFF | {"order", "structure"}
        plans = [
            planner.plan(query, graph, counting=True, switched_off=off | more)
            for more in (frozenset[str](), frozenset({"caches"}))
        ]
        cached, plain = (prepare(plan, graph, windows=True) for plan in plans)
        trees = [one for one in cached.nest.caches if one.tail]
        assert [one.level for one in trees] == [3, 3]
        assert {one.keys for one in trees} == {(3,), (2, 3)}
        assert sorted(one.until for one in trees)[-1] == len(cached.nest.tail)
        found, known = counted(cached, None, steps)
        assert found == counted(plain, None, steps)[0]
        knew += known
        assert "[kept by _3]" in explain(plans[0], graph, Options(device="cpu"))
    assert knew > 0


def test_a_worker_that_is_used_again_knows_nothing_of_the_run_before() -> None:
    graph = random_graph(3)
    plan = planner.plan(query_of(PATH, DIFFERENT_NODES, 3), graph, counting=True, switched_off=OFF)
    prepared = prepare(plan, graph, windows=True)
    worker = workers.Worker(prepared, 1)
    totals = []
    for _ in range(3):
        for start, end in prepared.cut(1):
            worker.begin(start, end)
            assert worker.run(1 << 30) == address.DONE
        totals.append((int(worker.control[address.TOTAL]), worker.bound.tolist()))
        worker.reset()
    assert totals[0] == totals[1] == totals[2]


def test_caches_grow_and_what_does_not_pay_is_asked_no_more() -> None:
    random = Random(1)
    n = 400
    pairs = {tuple(sorted(random.sample(range(n), 2))) for _ in range(3000)}
    labels = sorted((random.choice(LABELS),) for _ in range(n))
    graph = SmallGraph(labels, [("U", a, b) for a, b in sorted(pairs)], frozenset("U"))
    query = query_of(PATH, DIFFERENT_NODES, 1, 1.0)
    found = {}
    grown = off = 0
    for name, switched_off in (("on", OFF | {"trees"}), ("off", OFF | {"caches"})):
        plan = planner.plan(query, graph, counting=True, switched_off=switched_off | {"order"})
        prepared = prepare(plan, graph, windows=True)
        worker = workers.Worker(prepared, 1)
        for start, end in prepared.cut(1):
            worker.begin(start, end)
            while worker.run(1 << 24) != address.DONE:
                pass
        found[name] = int(worker.control[address.TOTAL])
        grown += int((worker.shared.masks >= 1024 - 1).sum())
        off += int((worker.caches[:, address.K.OFF] == 1).sum())
    assert found["on"] == found["off"] > 0
    assert grown > 0
    assert off > 0


def test_counts_for_each_vertex_of_the_first_loop() -> None:
    graph = random_graph(5)
    query = query_of(PATH, DIFFERENT_NODES, 5, 0.3)
    numbers = []
    for off in (OFF, OFF | {"caches"}):
        plan = planner.plan(query, graph, counting=True, switched_off=off)
        _, counts = tallies(plan, graph, Options())
        numbers.append(counts)
    assert np.array_equal(numbers[0], numbers[1])
    assert numbers[0].sum() > 0


def path_nest(mode: MatchMode = REPEATABLE_ELEMENTS) -> LoopNest:
    graph = random_graph(1)
    off = OFF | {"trees", "count_last", "order"}
    plan = planner.plan(query_of(PATH, mode, 1), graph, counting=True, switched_off=off)
    return prepare(plan, graph, windows=True).nest


def test_a_loop_is_kept_by_what_it_reads() -> None:
    """Of a path whose vertices may be the same, each loop by the vertex before it alone."""
    nest = path_nest()
    assert [(one.level, one.keys, one.strangers) for one in nest.caches] == [
        (k, (k - 1,), ()) for k in range(2, nest.loops)
    ]


def test_a_vertex_that_may_not_be_among_the_candidates_is_no_key() -> None:
    nest = path_nest(DIFFERENT_NODES)
    for one in nest.caches:
        assert one.level - 1 in one.keys
        for stranger in one.strangers:
            assert stranger.level not in one.keys
            assert all(test.target == stranger.level for test in stranger.tests)


def test_explain_says_by_what_a_count_is_kept() -> None:
    graph = random_graph(1)
    off = OFF | {"trees", "count_last", "order"}
    plan = planner.plan(
        query_of(PATH, REPEATABLE_ELEMENTS, 1), graph, counting=True, switched_off=off
    )
    text = explain(plan, graph, Options(device="cpu"))
    assert f"[kept by {plan.names[1]}]" in text
    plain = planner.plan(
        query_of(PATH, REPEATABLE_ELEMENTS, 1), graph, counting=True, switched_off=off | {"caches"}
    )
    assert "kept by" not in explain(plain, graph, Options(device="cpu"))


def test_a_tree_whose_vertices_are_all_in_rows_of_a_loop_is_kept() -> None:
    """A triangle at the end of a path: its last two vertices are a tree, and no leaves that a length counts."""
    edges = ((0, 1), (1, 2), (2, 3), (2, 4), (3, 4))
    off = OFF | {"order", "structure"}
    plan = planner.plan(
        query_of(edges, REPEATABLE_ELEMENTS, 1, 0.0),
        random_graph(1),
        counting=True,
        switched_off=off,
    )
    nest = prepare(plan, random_graph(1), windows=True).nest
    assert [one.keys for one in nest.caches if one.tail] == [(2,)]


def cache_row(asked: int, known: int, steps: int, mask: I64) -> I64:
    """A cache of three keys that was looked up, and took so many steps for what it did not know. mask : i64[1]."""
    row = np.zeros(address.K.N, np.int64)
    row[address.K.KEY_END] = 3
    row[[address.K.ASKED, address.K.KNOWN, address.K.STEPS]] = asked, known, steps
    row[[address.K.MASK, address.K.MOST_MASK]] = at_of(mask), (1 << 16) - 1
    return row


@pytest.mark.parametrize(
    ("asked", "known", "each", "slots", "paid", "grown"),
    [
        (1024, 0, 20, 256, False, False),  # a look-up takes nine
        (1024, 0, 50, 256, False, True),
        (1024, 1000, 50, 256, True, False),  # no more memory for so little
        (1024, 512, 500, 256, True, True),
        (1024, 0, 50, 1 << 16, False, False),
    ],
)
def test_a_cache_grows_where_it_pays_or_its_look_ups_are_cheap(
    asked: int, known: int, each: int, slots: int, paid: bool, grown: bool
) -> None:
    mask = np.array([slots - 1])
    row = cache_row(asked, known, each * (asked - known + 1), mask)
    k = int(row.ctypes.data)
    assert caches.pays(k) is paid
    assert caches.grows(k, paid) is grown


# ---- caches that several workers share -------------------------------------------------------------


def labelled_path() -> Prepared:
    """The stage of a path whose loops keep counts."""
    graph = random_graph(1, 60, 240)
    query = query_of(PATH, DIFFERENT_NODES, 1, 1.0)
    off = OFF | {"trees", "order"}
    prepared = prepare(planner.plan(query, graph, counting=True, switched_off=off), graph)
    assert len(prepared.nest.caches) > 1
    return prepared


def test_a_worker_knows_what_another_one_counted() -> None:
    prepared = labelled_path()
    first = workers.Worker(prepared, 1)
    total, known = counts_of(first, 1 << 24)
    second = workers.Worker(prepared, 1, shared=first.shared)
    assert counts_of(second, 1 << 24)[0] == total > 0
    missed = [
        int((w.caches[:, address.K.ASKED] - w.caches[:, address.K.KNOWN]).sum())
        for w in (first, second)
    ]
    assert 2 * missed[1] < missed[0]  # of keys that have one slot the last one is known
    other = workers.Worker(prepared, 1)
    assert counts_of(other, 1 << 24) == (total, known)
    asked = int(first.caches[:, address.K.ASKED].sum())
    first.reset()  # another run knows nothing of this one, and has its counts in other slots
    assert counts_of(first, 1 << 24)[0] == total
    assert abs(int(first.caches[:, address.K.ASKED].sum()) - asked) < asked / 4


def test_who_shares_what_lies_in_a_file_is_gone_with_the_run() -> None:
    prepared = labelled_path()
    with Budget(1) as budget:
        first = workers.Worker(prepared, 1, budget=budget)
        assert first.filed
        assert workers.Worker(prepared, 1, shared=first.shared).filed
    assert not workers.Worker(prepared, 1, shared=workers.Worker(prepared, 1).shared).filed


@pytest.mark.parametrize("at", ["count", "key", "check", "halves"])
def test_a_slot_that_two_wrote_parts_of_is_not_found(at: str) -> None:
    prepared = labelled_path()
    first = workers.Worker(prepared, 1)
    total, _ = counts_of(first, 1 << 24)
    begin = 0
    for width in workers._slot_widths(prepared).tolist():
        slots = first.shared.few[begin : begin + 256 * width].reshape(256, width)
        used = np.flatnonzero(slots[:, 0])
        before = slots[used]
        torn = np.roll(before, 1, axis=0)
        if at == "count":
            slots[used, 1] = torn[:, 1]
        elif at == "key":
            slots[used, 2:] = torn[:, 2:]
        elif at == "check":
            slots[used, 0] = torn[:, 0]
        else:
            slots[used, :2] = torn[:, :2]
        begin += 256 * width
    second = workers.Worker(prepared, 1, shared=first.shared)
    assert counts_of(second, 1 << 24)[0] == total


def test_a_cache_that_grows_forgets_nothing() -> None:
    width, random = 4, np.random.default_rng(1)
    few, more, mask = (
        np.zeros(256 * width, np.int64),
        np.zeros(4096 * width, np.int64),
        np.array([255]),
    )
    row = np.zeros(address.K.N, np.int64)
    row[[address.K.MASK, address.K.MOST_MASK]] = at_of(mask), 4095
    row[[address.K.FEW, address.K.MORE]] = at_of(few), at_of(more)
    mixed = random.integers(-(1 << 63), 1 << 63, 256)
    counts, keys = random.integers(1 << 40, size=256), random.integers(99, size=(256, 2))
    slots = few.reshape(-1, width)
    for m, count, key in zip(mixed.tolist(), counts.tolist(), keys.tolist(), strict=True):
        slots[(m >> 24) & 255] = [m ^ count, count, *key]
    known = slots[slots[:, 0] != 0].copy()
    for grown in (1023, 4095):
        caches.grow(at_of(row), width)
        assert mask[0] == grown
        slots = more.reshape(-1, width)
        for one in known:
            at = (int(one[0] ^ one[1]) >> 24) & grown
            assert slots[at].tolist() == one.tolist()


@pytest.mark.parametrize("slots", [1, 2, 64])
def test_threads_that_share_caches_count_as_one(
    slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MOST_SLOTS", slots)
    monkeypatch.setattr(launch, "STEPS", 40)
    monkeypatch.setattr(launch, "WORTH_A_THREAD", 0)
    prepared = labelled_path()
    whole, _ = counted(prepared, None, 1 << 24)
    for _ in range(5):
        prepared.idle["cpu"].clear()
        assert launch.count(prepared, Watch(None, None, None), Budget(), 4) == whole
        assert launch.count(prepared, Watch(None, None, None), Budget(), 4) == whole

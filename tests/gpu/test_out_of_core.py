"""Graphs that lie in device memory in part: the same answers as with the whole, from any part; accounts,
eviction, and what is refused."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb import planner
from gdb.errors import OutOfBudget, QueryError
from gdb.executor.gpu import (
    device,
    launch,
    locked_pages,
    memory,
    parts,
    pinned,
    residency,
    special,
    supports,
    unit_passes,
    unit_placing,
    units,
)
from gdb.executor.gpu.stage import Share, Stage
from gdb.executor.nest.by_edge import by_edge
from gdb.executor.nest.nest import VertexLevel
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
)
from gdb.storage.format.direction import Direction
from tests.gpu.test_gpu_executor import MODES, SHAPES, bag, count_both, hub_graph, pattern, staged
from tests.support.backends import rows_on_cpu, rows_on_gpu

pytestmark = pytest.mark.gpu
WIKI = Path(__file__).resolve().parents[3] / "shared" / "data" / "wiki-vote"


@pytest.fixture(params=[0, 200, 900, 4000], ids=lambda most: f"{most}B")
def part(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes of the graph that may be resident, on graphs of some thousand."""
    monkeypatch.setattr(residency, "MOST", request.param)
    return int(request.param)


def is_split(prepared: Prepared) -> bool:
    return residency.split_views(prepared, sys.maxsize).cold


@pytest.mark.parametrize(
    "mode", MODES, ids=["edges", "nodes", "homomorphic", "subgraphs", "induced"]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_from_every_memory(shape: str, mode: MatchMode, part: int) -> None:
    split = 0
    for seed, direction in enumerate((Direction.ANY, Direction.OUT)):
        for graph in (hub_graph(seed, 50, 50), hub_graph(seed, 60, 60, multi=False)):
            for off in (frozenset[str](), frozenset({"count_last"})):
                prepared = staged(pattern(shape, mode, direction=direction), graph, True, off)
                split += is_split(prepared)
                found, expected = count_both(prepared)
                assert found == expected
    assert split or part == 4000


@pytest.mark.parametrize("shape", ["edge", "wedge", "triangle", "parallel", "diamond"])
def test_rows_from_every_memory(shape: str, part: int) -> None:
    """With edge ids, which are read in place too."""
    query = pattern(shape, DIFFERENT_EDGES, ("R",), wanted=shape in ("edge", "parallel"))
    prepared = staged(query, hub_graph(5, 40, 30), False)
    for capacity in (33, None):
        found = rows_on_gpu(prepared, Watch(None, None, None), Budget(), capacity)
        expected = rows_on_cpu(prepared, Watch(None, None, None), Budget(), 1, 1 << 16)
        assert bag(found) == bag(expected)


@pytest.mark.parametrize("counting", [True, False])
@pytest.mark.parametrize("shape", ["tailed", "square", "clique", "diamond"])
def test_special_kernels_read_every_memory(shape: str, counting: bool, part: int) -> None:
    graph = hub_graph(6, 50, 50, multi=False)
    prepared = staged(pattern(shape, DIFFERENT_NODES), graph, counting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(special, "WORTH", -1.0)
        for steps in (3, sys.maxsize):
            patch.setattr(launch, "STEPS", steps)
            if counting:
                found, expected = count_both(prepared)
                assert found == expected
            else:
                some = rows_on_gpu(prepared, Watch(None, None, None), Budget(), 33)
                assert bag(some) == bag(
                    rows_on_cpu(prepared, Watch(None, None, None), Budget(), 1, 1 << 16)
                )
            assert special.settle(180)


@pytest.mark.parametrize("shape", ["diamond", "tailed", "path"])
def test_passes_over_the_vids_of_a_level(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many passes, some over a row that is too large to be resident; again by the same stage, and stopped anywhere."""
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    several = 0
    for most in (150, 400, 1500):
        monkeypatch.setattr(residency, "MOST", most)
        for graph in (hub_graph(2, 60, 60, multi=False), hub_graph(3, 40, 40)):
            for off in (frozenset[str](), frozenset({"count_last"}), frozenset({"symmetry"})):
                prepared = staged(pattern(shape, DIFFERENT_NODES, ("U",)), graph, True, off)
                several += len(residency.split_views(prepared, sys.maxsize).passes) > 1
                for steps in (7, sys.maxsize):
                    monkeypatch.setattr(launch, "STEPS", steps)
                    found, expected = count_both(prepared)
                    assert found == expected
    assert several > 3


@pytest.mark.parametrize("shape", ["diamond", "tailed", "triangle"])
def test_passes_come_to_units_that_have_something_to_do(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part of a root's list has a bit for each pass in whose range of vids it has a neighbour, and no other; of a
    triangle, one with another below it in the list. Its mark says where the root's row is, and of a list that is one
    part how much of the row is below the ends of the first passes' ranges."""
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(residency, "MOST", 900)
    monkeypatch.setattr(units, "PART", 3)
    prepared = staged(
        pattern(shape, DIFFERENT_NODES, ("U",)), hub_graph(2, 60, 60, multi=False), True
    )
    assert count_both(prepared)[0] > 0
    stage = memory.KEPT.take(prepared.idle["gpu"], lambda _: True)
    assert isinstance(stage, Stage)
    assert stage.notes.units is not None
    ends, placed = [one.hi for one in stage.graph.split.passes], stage.graph.split.views[0]
    bits = unit_passes.mark_bits(prepared, len(ends), len(placed.neighbours))
    assert bits.starts
    assert bits.skipped == (shape == "triangle") == (bits.cuts > 0)
    level = prepared.nest.levels[stage.graph.split.level]
    assert isinstance(level, VertexLevel)
    roots, first = units.work_units(prepared, unit_placing.list_sizes(stage.graph), cold=True)
    skipped = 0
    marks = stage.notes.units.read(np.uint64).tolist()
    for unit, (root, mark) in enumerate(zip(roots, marks, strict=True)):
        vid = int(prepared.roots[root])
        near = prepared.views[0].neighbours_of(vid).astype(int)
        near = near[near < vid] if level.cut.below else near
        near = near[near > vid] if level.cut.above else near
        parts, part = int(first[root + 1] - first[root]), unit - int(first[root])
        begin = max(len(near) * part // parts, bits.skipped)
        here = near[begin : len(near) * (part + 1) // parts]
        wanted = set(np.searchsorted(ends, here, side="right").tolist())
        assert {k for k in range(bits.passes) if mark >> k & 1} == wanted
        row, at = int(placed.rows_of(np.array([vid]))[0]), bits.passes
        assert mark >> at & (1 << bits.starts) - 1 == placed.offsets[row]
        at += bits.starts
        whole = placed.neighbours_of(vid).astype(int)
        for k in range(bits.cuts):
            assert mark >> at + 8 * k & 255 == ((whole < ends[k]).sum() if parts == 1 else 255)
        assert mark >> at + 8 * bits.cuts == len(whole)
        skipped += len(wanted) < len(ends)
    assert skipped


@pytest.mark.parametrize("most", [sys.maxsize, 3000, 600])
def test_sums_over_edges(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Supports have counters beside the view, or triangles are listed in the memory of the host."""
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(residency, "MOST", most)
    monkeypatch.setattr(special, "WORTH", -1.0)
    monkeypatch.setattr(supports, "LEAST", 0.0)
    for mode in (DIFFERENT_NODES, SUBGRAPHS, REPEATABLE_ELEMENTS):
        graph = hub_graph(2, 60, 60, multi=False)
        prepared = staged(pattern("diamond", mode, ("U",)), graph, True)
        for _ in range(3):
            found, expected = count_both(prepared)
            assert found == expected > 0
            assert special.settle(180)
        counted = by_edge(prepared)
        assert counted is not None
        assert 0 < counted.quickest[Share(0)] < float("inf")


@pytest.mark.parametrize("shape", ["diamond", "tailed"])
def test_special_kernels_in_passes(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(residency, "MOST", 600)
    monkeypatch.setattr(special, "WORTH", -1.0)
    graph = hub_graph(2, 60, 60, multi=False)
    prepared = staged(pattern(shape, DIFFERENT_NODES, ("U",)), graph, True)
    assert len(residency.split_views(prepared, sys.maxsize).passes) > 1
    for _ in range(2):
        found, expected = count_both(prepared)
        assert found == expected > 0
        assert special.settle(180)


def test_tallies_and_distinct_values(part: int) -> None:
    from gdb.executor.cpu import launch as cpu

    graph = hub_graph(1, 50, 50)
    plan = planner.plan(pattern("triangle", DIFFERENT_NODES), graph, counting=True, root=1)
    prepared = prepare(plan, graph)
    watch = Watch(None, None, None)
    expected = cpu.tallies(prepared, watch, Budget(), 1)
    for _ in range(2):
        assert launch.tallies(prepared, watch, Budget()).tolist() == expected.tolist()
    rows = prepare(planner.plan(pattern("wedge", DIFFERENT_NODES), graph, counting=False), graph)
    found = launch.distinct(rows, watch, Budget(), 0)
    assert found.tolist() == cpu.distinct(rows, watch, Budget(), 0, 1).tolist()


def test_own_arrays_in_page_locked_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work units, candidates and marks for which the account has no room on the device."""
    monkeypatch.setattr(residency, "OWN_SHARE", 1 << 40)
    test_tallies_and_distinct_values(0)
    prepared = staged(pattern("clique", SUBGRAPHS), hub_graph(3), True)
    found, expected = count_both(prepared)
    assert found == expected


def test_pages_of_our_own_that_the_driver_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels read and write them, arrays go through them, and they are unlocked with the last copy."""
    monkeypatch.setattr(locked_pages, "LEAST", 1)
    monkeypatch.setattr(residency, "MOST", 0)
    monkeypatch.setattr(memory, "LOCKED", memory.LockedBlocks())
    pinned.CACHE.forget()
    test_own_arrays_in_page_locked_memory(monkeypatch)
    test_large_arrays_arrive_whole(monkeypatch)
    for mode in (DIFFERENT_NODES, SUBGRAPHS):
        prepared = staged(pattern("square", mode), hub_graph(4, multi=False), True)
        found, expected = count_both(prepared)
        assert found == expected
    prepared = staged(pattern("wedge", DIFFERENT_NODES), hub_graph(4), False)
    rows = rows_on_gpu(prepared, Watch(None, None, None), Budget(), 33)
    assert bag(rows) == bag(rows_on_cpu(prepared, Watch(None, None, None), Budget(), 1, 1 << 16))


def test_a_whole_graph_takes_the_plain_kernel() -> None:
    prepared = staged(pattern("triangle", DIFFERENT_NODES), hub_graph(2), True)
    launch.counts([prepared], Watch(None, None, None), Budget())
    kept = memory.KEPT.take(prepared.idle["gpu"], lambda _: True)
    assert isinstance(kept, Stage)
    assert not kept.cold


def test_page_locked_memory_counts_as_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "MOST", 0)
    prepared = staged(pattern("triangle", DIFFERENT_NODES), hub_graph(2), True)
    with pytest.raises(OutOfBudget, match="page-locked"):
        launch.counts([prepared], Watch(None, None, None), Budget(100))


def test_the_least_used_copies_go_first() -> None:
    residents = memory.Residents()
    arrays = [np.zeros(1000, np.uint8) for _ in range(3)]
    for array in arrays:
        residents.copy_of(array, 0)
    residents.copy_of(arrays[0], 0)
    assert residents.bytes(0) == 3000
    residents.forget(0, 1000)
    assert [residents.has(array, 0) for array in arrays] == [True, False, True]
    residents.forget(0, 1000, frozenset({id(arrays[2])}))
    assert [residents.has(array, 0) for array in arrays] == [False, False, True]


def test_large_arrays_arrive_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned, "PIECE", 1 << 20)
    array = np.random.default_rng(1).integers(0, 1 << 30, (5 << 20) // 4 + 3, np.uint32)
    assert np.array_equal(memory.download(pinned.upload(array)), array)
    copy = pinned.CACHE.copy_of(array, Budget())
    assert np.array_equal(copy.block.array(array.shape, np.uint32), array)
    del array
    gc.collect()


# ---- through the front door ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gdb.Database]:
    files = sorted(WIKI.glob("*.txt*")) if WIKI.exists() else []
    if not files:
        pytest.skip("wiki-Vote is not here")
    with gdb.connect(tmp_path_factory.mktemp("wiki") / "w.gdb") as db:
        db.load(files[0], type="E", directed=False, multi_edges="drop", self_loops="drop")
        yield db


WIKI_PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "rectangle": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a), (a)--(c)",
    "clique4": "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
    "tailed": "(a)--(b)--(c)--(a), (c)--(d)",
}


@pytest.mark.parametrize("parts", [16, 64])
@pytest.mark.parametrize("name", WIKI_PATTERNS)
def test_wiki_vote(
    wiki: gdb.Database, name: str, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"MATCH DIFFERENT NODES {WIKI_PATTERNS[name]} RETURN count(*)"
    expected = wiki.execute(text, device="cpu").scalar()
    monkeypatch.setattr(residency, "MOST", 1_000_000 // parts)
    assert wiki.execute(text + " ", device="cuda").scalar() == expected
    listed = (
        f"MATCH SUBGRAPHS {WIKI_PATTERNS['triangle']} WHERE id(a) < 900 RETURN id(a), id(b), id(c)"
    )
    some = sorted(wiki.execute(listed + " ", device="cuda").fetchall())
    assert some == sorted(wiki.execute(listed, device="cpu").fetchall())


def test_a_small_budget_through_the_front_door(wiki: gdb.Database) -> None:
    text = f"MATCH DIFFERENT NODES {WIKI_PATTERNS['clique4']} RETURN count(*)"
    expected = wiki.execute(text, device="cpu").scalar()
    assert wiki.execute(text, device="cuda", gpu_memory="64MiB").scalar() == expected
    assert "GPU memory" in wiki.explain(text, device="cuda", gpu_memory="64MiB")


def test_what_is_refused(wiki: gdb.Database) -> None:
    text = "MATCH (a)--(b) RETURN count(*)"
    for asked in (-1, 0, 1000, "63MiB"):
        with pytest.raises(QueryError):
            wiki.execute(text, device="cuda", gpu_memory=asked)
    with pytest.raises(QueryError, match="GPU 0 has"):
        wiki.execute(text, device="cuda", gpu_memory="9000GB")


def test_many_at_once_leave_nothing(wiki: gdb.Database) -> None:
    """Device memory is what it was, but for the graph and some stages that wait, and then for the graph alone."""
    import cupy

    pool = cupy.get_default_memory_pool()
    texts = [f"MATCH DIFFERENT NODES {p} RETURN count(*)" for p in WIKI_PATTERNS.values()]
    expected = [wiki.execute(t, device="cuda").scalar() for t in texts]
    memory.KEPT.forget()
    memory.ARENAS.forget(0)
    gc.collect()
    device.empty_pool(0)
    before = pool.used_bytes()
    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            found = list(threads.map(lambda t: wiki.execute(t, device="cuda").scalar(), texts * 4))
            assert found == expected * 4
    largest = max(one.size for one in list(memory.KEPT._lists.values()))
    assert memory.KEPT.bytes(0) <= max(memory.MOST_KEPT, largest)
    assert memory.ARENAS.bytes(0) <= memory.MOST_KEPT
    assert device.pool_bytes(0) <= device.MOST_POOLED
    memory.KEPT.forget()
    memory.ARENAS.forget(0)
    gc.collect()
    assert pool.used_bytes() <= before


@pytest.mark.parametrize("longest", [128, 9])
@pytest.mark.parametrize("shape", ["triangle", "clique", "diamond"])
def test_counts_with_the_rows_of_some_roots_at_a_time(
    shape: str, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`memory=` has no room for the rest of the graph: passes copy their rows from its own arrays. Cliques have
    their own kernel, and lists that it does not take are counted for themselves."""
    graph = hub_graph(4, 3000, 12_000, multi=False)
    prepared = staged(pattern(shape, SUBGRAPHS, ("U",)), graph, True)
    whole = residency.view_bytes(prepared.views[0], split=True)
    monkeypatch.setattr(residency, "MOST", whole // 8)
    monkeypatch.setattr(parts, "LONGEST", longest)
    known = launch.counts([prepared], Watch(None, None, None), Budget())
    budget = Budget(whole // 4)
    found = parts.find(prepared, budget, sys.maxsize)
    assert len(found.roots) > 1
    assert (found.long is not None) == (shape == "clique" and longest == 9)
    for _ in range(2):
        assert launch.counts([prepared], Watch(None, None, None), budget) == known
    assert budget.used == 0

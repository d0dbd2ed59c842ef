"""What the GPU's kernels count, without a GPU: every lane of every warp runs, in either order, and must meet the rest.

The CPU executor says what is right.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from functools import cache
from typing import cast

import numpy as np
import pytest

from gdb import planner
from gdb.executor.cpu import launch as cpu
from gdb.executor.gpu import (
    compiler,
    launch,
    layout,
    matrices,
    memory,
    render,
    residency,
    stage,
    unit_passes,
    units,
    warps,
)
from gdb.executor.gpu.layout import Job
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    OptionalGraph,
)
from gdb.records import replace
from tests.emulated.emulator import Clock, Function, absence, emulated, library
from tests.support import hub_rectangles
from tests.support.small_graph import SmallGraph
from tests.unit.executor.gpu.test_bits import OUTSIDE
from tests.unit.executor.nest.test_neighbourhood import NEAR_CLIQUES, Pairs, clique, dense, question

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
SQUARE: Pairs = ((0, 1), (1, 2), (2, 3), (3, 0))
HOUSE: Pairs = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4))
DIAMOND: Pairs = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))
EVERY = launch.STEPS
# steps of a warp in one launch; lanes from the last to the first; the nest's own kernel takes over in the middle
WAYS = {
    "whole": (EVERY, False, False),
    "downwards": (EVERY, True, False),
    "stopping": (20, False, False),
    "taken over": (60, True, True),
}


@cache
def hubs(n: int = 700) -> SmallGraph:
    """Two hubs, a dense part, and a sparse rest."""
    draw = random.Random(5)
    edges = {(0, x) for x in range(1, n) if draw.random() < 0.6} | {(1, x) for x in range(2, n, 2)}
    edges |= {(a, b) for a in range(2, 60) for b in range(a + 1, 60) if draw.random() < 0.35}
    rest = ((draw.randrange(n), draw.randrange(n)) for _ in range(2 * n))
    edges |= {(min(a, b), max(a, b)) for a, b in rest if a != b}
    return SmallGraph([()] * n, [("R", a, b) for a, b in sorted(edges)], frozenset("R"))


@cache
def long_lists() -> SmallGraph:
    """Vertices whose lists of neighbours before them are short, or longer than one and than two words have bits."""
    draw, n = random.Random(7), 140
    few = {(a, b) for b in range(n) for a in range(b) if draw.random() < 0.03}
    some = {(a, b) for b in range(118) for a in range(b) if draw.random() < 0.9}
    return SmallGraph([()] * n, [("R", a, b) for a, b in sorted(few | some)], frozenset("R"))


def staged(pairs: Pairs, mode: MatchMode, graph: SmallGraph, *off: str) -> Prepared:
    plan = planner.plan(question(pairs, mode), graph, counting=True, switched_off=frozenset(off))
    return prepare(plan, graph)


def count(prepared: Prepared) -> int:
    return launch.counts([prepared], Watch(None, None, None), Budget())[0]


def on_the_cpu(prepared: Prepared) -> int:
    return cpu.count(prepared, Watch(None, None, None), Budget(), 1)


def counts_whichever_way(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, check: Callable[[stage.Stage], bool]
) -> None:
    known = on_the_cpu(prepared)
    assert known > 0
    for steps, downwards, late in WAYS.values():
        monkeypatch.setattr(launch, "STEPS", steps)
        before = Function.launches
        with emulated(downwards=downwards, late=late):
            assert count(prepared) == known
            made = memory.KEPT.take(prepared.idle["gpu"], lambda one: True)
            assert isinstance(made, stage.Stage)
            assert made.special is not None
            assert check(made)
        assert Function.launches - before > (1 if steps < EVERY else 0)


@pytest.mark.parametrize("most", [1 << 58, 1 << 30, 40])
def test_a_sum_over_a_warp(most: int) -> None:
    """It is added up in parts, and every one must come to its place."""
    numbers = np.random.default_rng(most).integers(0, most, 32)
    sums = np.zeros(32, np.int64)
    given = (ctypes.c_void_p(array.ctypes.data) for array in (numbers, sums))
    assert library(render.source()).emulate_warp_sum(*given) == 0
    assert set(sums.tolist()) == {int(numbers.sum())}


def test_the_generic_kernel() -> None:
    for pairs, mode in ((clique(4), SUBGRAPHS), (HOUSE, REPEATABLE_ELEMENTS)):
        prepared = staged(pairs, mode, dense(24, 0.5))
        with emulated(worth=1e9):
            assert count(prepared) == on_the_cpu(prepared) > 0


@pytest.mark.parametrize("filter_bits", [layout.FILTER_BITS, 512])
@pytest.mark.parametrize(
    ("pairs", "mode"),
    [(clique(3), SUBGRAPHS), (DIAMOND, REPEATABLE_ELEMENTS), (HOUSE, REPEATABLE_ELEMENTS)],
)
def test_nests_of_one_loop(
    pairs: Pairs, mode: MatchMode, filter_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter that says which vertices are in a list, and one that says which are not."""
    monkeypatch.setattr(layout, "FILTER_BITS", filter_bits)
    prepared = staged(pairs, mode, hubs(), "supports")
    counts_whichever_way(prepared, monkeypatch, lambda made: made.tables.loops == 1 and made.packs)


@pytest.mark.parametrize("n", [4, 5])
def test_local_graphs(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = staged(clique(n), SUBGRAPHS, hubs())
    counts_whichever_way(prepared, monkeypatch, lambda made: made.local is not None)


@pytest.mark.parametrize("off", [(), ("symmetry",)])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_work_units_side_by_side_in_a_local_graph(
    n: int, off: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few warps draw many units at a time; some lists are too long, some fill a graph alone."""
    monkeypatch.setattr(warps.Warps, "resident", 4)
    monkeypatch.setattr(stage, "DRAWS", 2)
    prepared = staged(clique(n), SUBGRAPHS, hubs(300), *off)

    def drawn(made: stage.Stage) -> int:
        return -int(-made.job[Job.UNITS] // made.job[Job.STRIDE])

    counts_whichever_way(
        prepared, monkeypatch, lambda made: made.local is not None and drawn(made) > 8
    )


@pytest.mark.parametrize(
    ("n", "part", "group", "most"),
    [(3, 8, 16, 3_000), (4, 256, 2, 3_000), (4, 64, 4, 3_000), (4, 16, 4, 8_000)],
)
def test_local_graphs_in_passes(
    n: int, part: int, group: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass has a part of a local graph's edges; units are parts of a root's list, or lists of several roots beside
    one another, and the first nearly fills the graph."""
    monkeypatch.setattr(layout, "LOCAL_GROUP", group)
    monkeypatch.setattr(residency, "MOST", most)
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(units, "PART", part)
    monkeypatch.setattr(warps.Warps, "resident", 4)
    prepared = staged(clique(n), SUBGRAPHS, long_lists())

    def in_passes(made: stage.Stage) -> bool:
        assert made.local is not None
        assert made.notes.keeps_rows == (n > 3)
        if made.notes.keeps_rows:
            left, alone = lists_of_the_last_pass(made)
            assert bool(left) == made._with_own
            assert alone
            assert not left & alone
        return len(made.passes.turns) > 1

    counts_whichever_way(prepared, monkeypatch, in_passes)


def lists_of_the_last_pass(made: stage.Stage) -> tuple[set[int], set[int]]:
    """The roots in whose lists a last pass counts; and those whose units one pass counts alone."""

    def there(place: Job, count: int) -> np.ndarray:
        return np.array((ctypes.c_uint32 * count).from_address(int(made.job[place])))

    assert made.notes.units is not None
    marks = made.notes.units.read(np.uint64) & np.uint64((1 << len(made.passes.turns)) - 1)
    of, roots = there(Job.UNIT_ROOTS, len(marks)), len(made.prepared.roots)
    passes = np.zeros(roots, np.uint64)
    np.bitwise_or.at(passes, of, marks)
    alone = set(np.flatnonzero(np.bitwise_count(passes) == 1).tolist())
    bits = there(Job.LOCAL_LISTS, -(-roots // 32)).view(np.uint8)
    return set(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist()), alone


@pytest.mark.parametrize(("filter_bits", "window"), [(8192, 512), (256, 64), (256, 16)])
@pytest.mark.parametrize("mode", [SUBGRAPHS, REPEATABLE_ELEMENTS], ids=["subgraphs", "all"])
def test_a_window_that_is_filled_several_times_for_a_batch(
    mode: MatchMode, filter_bits: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For those roots that it had no room for; the longest row fits, or does not."""
    monkeypatch.setattr(layout, "FILTER_BITS", filter_bits)
    monkeypatch.setattr(layout, "LEAST_WINDOW", window)
    monkeypatch.setattr(layout, "WINDOW_SHARE", 1 if window == 16 else 1 << 20)
    monkeypatch.setattr(residency, "MOST", 2_000)
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(warps.Warps, "resident", 4)
    prepared = staged(DIAMOND, mode, hubs(), "structure", "orientation", "supports")

    def in_passes(made: stage.Stage) -> bool:
        assert (made.job[Job.WINDOW_VIDS] > prepared.views[0].max_degree) == (window == 512)
        assert (made.job[Job.WINDOW_VIDS] == window) == (window != 16)
        return len(made.passes.turns) > 1 and made.local is None and made.tables.loops == 1

    counts_whichever_way(prepared, monkeypatch, in_passes)


@pytest.mark.parametrize("room", [matrices.ROOM, 6_000])
@pytest.mark.parametrize(
    ("pattern", "mode"),
    [
        ("5-clique less one", SUBGRAPHS),
        ("6-clique less one", DIFFERENT_NODES),
        ("two 4-cliques", REPEATABLE_ELEMENTS),
    ],
)
def test_neighbourhoods_in_bits(
    pattern: str, mode: MatchMode, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them in bits, and some of them over lists."""
    monkeypatch.setattr(matrices, "ROOM", room)
    prepared = staged(NEAR_CLIQUES[pattern], mode, dense(40, 0.45), "structure")
    counts_whichever_way(prepared, monkeypatch, lambda made: made.bits is not None)


def test_a_vertex_outside_of_the_neighbourhood(monkeypatch: pytest.MonkeyPatch) -> None:
    """q19 of `../shared/peers`: no vertex of it is next to all others."""
    prepared = staged(OUTSIDE, DIFFERENT_NODES, dense(22, 0.5), "structure")
    counts_whichever_way(
        prepared, monkeypatch, lambda made: made.bits is not None and len(made.bits.outside) > 0
    )


@pytest.mark.parametrize("most", [0, 3_000])
@pytest.mark.parametrize("pairs", [clique(4), HOUSE], ids=["clique", "house"])
def test_rows_in_two_memories(pairs: Pairs, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the rows is resident, and some of them are."""
    monkeypatch.setattr(residency, "MOST", most)
    prepared = staged(pairs, SUBGRAPHS, hubs(90))
    counts_whichever_way(prepared, monkeypatch, lambda made: made.cold)


@pytest.mark.parametrize("mode", [SUBGRAPHS, REPEATABLE_ELEMENTS], ids=["subgraphs", "all"])
def test_pairs_that_are_pushed_from_rows_in_two_memories(
    mode: MatchMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a root reaches is cleared one by one, or where that is much, with all that it might reach."""
    monkeypatch.setattr(residency, "MOST", 3_000)
    prepared = staged(SQUARE, mode, hubs(400))
    counts_whichever_way(
        prepared, monkeypatch, lambda made: made.cold and units.is_pushed(made.tables)
    )


@pytest.mark.parametrize("number", [200, 300])
@pytest.mark.parametrize("part", [1, 3], ids=["whole", "split"])
def test_counters_are_as_wide_as_lists_need(
    part: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counters of 8 and 16 bits, which are set to zero from a list of what was reached, or in order."""
    graph = hub_rectangles.graph(number)
    plan = planner.plan(hub_rectangles.query(SUBGRAPHS), graph, counting=True)
    prepared = prepare(plan, graph)
    if part > 1:
        size = residency.view_bytes(prepared.views[0], split=prepared.restricted)
        monkeypatch.setattr(residency, "MOST", size // part)
    with emulated(worth=1e9):
        assert count(prepared) == hub_rectangles.count(number, SUBGRAPHS)


@pytest.mark.parametrize("length", [0, 4, 40])
@pytest.mark.parametrize("mode", [SUBGRAPHS, REPEATABLE_ELEMENTS], ids=["subgraphs", "all"])
def test_rows_of_roots_in_passes(
    mode: MatchMode, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are copied from where marks say that they are, or their offsets do, and split where the copy says; those of
    hubs have no room in a window. length : the bits of a mark for the length of a row."""

    def bits(prepared: Prepared, passes: int, neighbours: int) -> unit_passes.MarkBits:
        return unit_passes.MarkBits(passes, 64 - passes - length if length else 0, 0, 0)

    monkeypatch.setattr(unit_passes, "mark_bits", bits)
    monkeypatch.setattr(residency, "MOST", 3_000)
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(layout, "LEAST_WINDOW", 64)
    prepared = staged(DIAMOND, mode, hubs(90), "structure", "supports")

    def in_passes(made: stage.Stage) -> bool:
        assert int(np.diff(prepared.views[0].offsets).max()) > 1 << 4
        return len(made.passes.turns) > 1 and made.local is None

    counts_whichever_way(prepared, monkeypatch, in_passes)


@pytest.mark.parametrize("spare", [100_000, 1_000])
@pytest.mark.parametrize(
    ("pairs", "mode"),
    [
        (HOUSE, REPEATABLE_ELEMENTS),
        (DIAMOND, REPEATABLE_ELEMENTS),
        (((0, 1), (1, 2), (2, 3), (3, 0)), SUBGRAPHS),
    ],
    ids=["house", "diamond", "rectangle"],
)
def test_warps_that_have_no_room_on_the_device(
    pairs: Pairs, mode: MatchMode, spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a warp needs grows with the graph, a plan that pushes has a number for each vertex: it is in page-locked
    memory, and the count is right with a budget that not even one warp fits."""
    prepared = staged(pairs, mode, hubs(), "supports")
    known = on_the_cpu(prepared)
    with emulated():
        monkeypatch.setattr(
            launch, "room_on", lambda ordinal, asked: residency.Room(20_000 + spare, 1)
        )
        monkeypatch.setattr(residency, "MOST", 0)
        monkeypatch.setattr(warps.Warps, "bytes", 1 << 40)
        assert count(prepared) == known > 0
        made = memory.KEPT.take(prepared.idle["gpu"], lambda one: True)
        assert isinstance(made, stage.Stage)
        assert made.warps.far


def test_optional_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a path those that go on to a triangle count each of them, the others one."""
    path = question(((0, 1), (1, 2)), REPEATABLE_ELEMENTS)
    part = OptionalGraph(question(clique(3), REPEATABLE_ELEMENTS), ((0, 2),))
    graph = hubs(90)
    plan = planner.plan(replace(path, optional=(part,)), graph, counting=True)
    assert plan.optional
    counts_whichever_way(prepare(plan, graph), monkeypatch, lambda made: True)


def test_stages_take_turns_with_the_memory_of_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of one stage after another need one block, also after a run that was stopped in the middle."""
    patterns = HOUSE, clique(4), DIAMOND
    stages = [staged(pairs, SUBGRAPHS, hubs(90), "supports") for pairs in patterns]
    known = [on_the_cpu(prepared) for prepared in stages]
    with emulated(worth=1e9):
        made = launch.counts(stages, Watch(None, None, None), Budget())
        block = memory.ARENAS.bytes(0)
        assert made == known
        for prepared in stages:
            (waiting,) = prepared.idle["gpu"]
            assert getattr(waiting, "size", block) < block / 4
        with monkeypatch.context() as patch:
            patch.setattr(launch, "STEPS", 20)
            stopped = Watch(None, None, None)
            patch.setattr(stopped, "going", iter([True, True, False, False, False]).__next__)
            assert sum(launch.counts(stages, stopped, Budget())) < sum(known)
        for _ in range(2):
            found = [count(prepared) for prepared in stages]
            assert found == known
            assert [len(prepared.idle["gpu"]) for prepared in stages] == [1, 1, 1]
        assert memory.ARENAS.bytes(0) == block


def test_a_new_stage_begins_with_the_kernel_that_is_there() -> None:
    """What a query was worth is known of it, not of one stage that may be gone."""
    prepared = staged(clique(4), SUBGRAPHS, hubs(90))
    with emulated(worth=0.0):
        assert count(prepared) == on_the_cpu(prepared)
        memory.KEPT.forget()
        assert count(prepared) == on_the_cpu(prepared)
        made = memory.KEPT.take(prepared.idle["gpu"], lambda one: True)
    assert isinstance(made, stage.Stage)
    assert made.special is not None


def watch_launches(monkeypatch: pytest.MonkeyPatch, own: list[bool], allowed: list[int]) -> None:
    """Note of each launch on the emulated GPU whether it is of a stage's own kernel, and the ns that it may take."""
    # there it takes a function of the emulator
    launched = cast(Callable[[compiler.Call, Function, int, int], None], compiler.Call.launch)

    def launch_it(call: compiler.Call, function: Function, blocks: int, shared: int) -> None:
        own.append("#define SPECIAL" in function.source)
        allowed.append(int(call.parameters[3][0]))
        launched(call, function, blocks, shared)

    monkeypatch.setattr(compiler.Call, "launch", launch_it)


@pytest.mark.parametrize("slower", [True, False])
def test_the_quicker_kernel_goes_on(slower: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its own one takes longer than the generic one did, a query goes back to that."""
    prepared, own = staged(clique(4), SUBGRAPHS, hubs(90)), list[bool]()
    with emulated(worth=0.0):
        watch_launches(monkeypatch, own, [])
        for limit in ("LAUNCH_NANOSECONDS", "LONGEST_LAUNCH"):  # a run is one launch
            monkeypatch.setattr(launch, limit, 1 << 40)
        seconds = {False: 0.5, True: 0.7 if slower else 0.3}
        monkeypatch.setattr(Clock, "seconds", lambda clock: seconds[own[-1]])
        for _ in range(4):
            assert count(prepared) == on_the_cpu(prepared)
        memory.KEPT.forget()
        assert count(prepared) == on_the_cpu(prepared)
        assert own == [False, True, *(not slower,) * 3]
        monkeypatch.undo()


@pytest.mark.parametrize("both", [True, False])
def test_a_launch_that_ends_late_shortens_the_next(
    both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Units are not left in the middle where there is but one loop, and may take as long as a launch. How late the
    generic kernel was says nothing of a stage's own."""
    prepared, allowed, own = staged(HOUSE, SUBGRAPHS, hubs(90)), list[int](), list[bool]()
    with emulated(worth=0.0):
        watch_launches(monkeypatch, own, allowed)
        late = {False: 0.03, True: 0.03 if both else 0.0}
        monkeypatch.setattr(Clock, "seconds", lambda clock: allowed[-1] / 1e9 + late[own[-1]])
        monkeypatch.setattr(launch, "STEPS", 20)
        assert count(prepared) == on_the_cpu(prepared)
    assert own[:2] == [False, True]
    assert allowed[:2] == [launch.LAUNCH_NANOSECONDS, 20_000_000]
    assert len(allowed) > 3
    assert set(allowed[2:]) == {20_000_000 if both else launch.LAUNCH_NANOSECONDS}


@pytest.mark.parametrize("run", [1, 3])
def test_shares_of_several_devices_add_up(run: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same one two and three times, one after another; of a square each part of a root reads the same lists."""
    monkeypatch.setattr(units, "PUSHED_PART", 8)
    monkeypatch.setattr(units, "PUSHED_RUN", run)
    for pairs in (HOUSE, clique(4), clique(3), SQUARE):
        prepared = staged(pairs, SUBGRAPHS, hubs(90))
        with emulated(worth=1e9):
            for devices in (2, 3):
                found = 0
                for k in range(devices):
                    placed = stage.Stage(prepared, stage.Share(0, k, devices), NO_COLUMNS)
                    placed.place(Budget(), residency.Room(1 << 30))
                    assert placed.job[Job.RUN] == (run if pairs is SQUARE else 1)
                    placed.enter()
                    launch._run(placed, Watch(None, None, None), None)
                    found += placed.total
                    placed.warps.leave(done=True)
                assert found == on_the_cpu(prepared)

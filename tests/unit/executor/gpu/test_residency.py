"""What of a graph lies in device memory, and the account of a query there; none of it needs a device."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gdb import planner
from gdb.base.usage import Usage
from gdb.errors import OutOfBudget, QueryError, TypeProblem
from gdb.executor.cpu import launch
from gdb.executor.gpu import memory, orientation, residency, unit_passes
from gdb.executor.gpu.residency import Room
from gdb.executor.nest import visits
from gdb.executor.nest.nest import VertexLevel
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import SUBGRAPHS, QueryEdge, QueryGraph, QueryVertex
from gdb.records import replace
from gdb.run import options
from gdb.storage.format.direction import Direction
from gdb.storage.graph import row_blocks
from gdb.storage.graph.row_blocks import Side, sizes_of
from tests.support.small_graph import SmallGraph

SQUARE = ((0, 1), (1, 2), (2, 3), (3, 0))


def prepared(*types: str) -> Prepared:
    """A wedge of relationships of these types, on a star of each."""
    edges = [(t, 0, x) for t in ("U", "V") for x in range(1, 30 if t == "U" else 10)]
    graph = SmallGraph([()] * 30, sorted(edges), frozenset("UV"))
    asked = tuple(QueryEdge(0, k + 1, (t,), Direction.ANY) for k, t in enumerate(types))
    query = QueryGraph((QueryVertex(),) * (1 + len(types)), asked, SUBGRAPHS)
    return prepare(planner.plan(query, graph, counting=True), graph)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("valued", [False, True])
def test_an_extent_fits_and_is_worth_most(split: bool, valued: bool) -> None:
    view = prepared("U").views[0]
    value = np.random.default_rng(3).random(view.rows) if valued else None
    for room in range(residency.view_bytes(view, split=split) + 50):
        found = residency.extent(view, room, value, split=split)
        assert found.start == view.offsets[found.first]
        assert found.end == view.offsets[found.last]
        assert residency.extent_bytes(view, found, split=split) <= room
        assert value is not None or found.first == 0
        assert found.all_offsets == (16 * (view.rows + 1) <= room)
        longer = residency.Extent(found.first, found.last + 1, found.start, 0, found.all_offsets)
        if found.last < view.rows and found.rows:
            longer = replace(longer, end=int(view.offsets[found.last + 1]))
            assert residency.extent_bytes(view, longer, split=split) > room
        if value is not None:
            best = value[found.first : found.last].sum()
            for first in range(view.rows):
                ends = view.offsets[first:] - view.offsets[first]
                each = 8 * split + 8 * (not found.all_offsets)
                own = 8 * (view.rows + 1) if found.all_offsets else 8
                n = int((own + 4 * ends + each * np.arange(len(ends)) <= room).sum()) - 1
                assert n <= 0 or value[first : first + n].sum() <= best + 1e-9
    assert (found.first, found.last) == (0, view.rows)


def test_lower_sides() -> None:
    rng = np.random.default_rng(5)
    pairs = {tuple(sorted(p)) for p in rng.integers(0, 60, (300, 2)).tolist() if p[0] != p[1]}
    graph = SmallGraph([()] * 60, [("U", a, b) for a, b in sorted(pairs)], frozenset("U"))
    view = graph.adjacency(("U",), Direction.ANY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "_READ", 50)  # several blocks
        degrees, side = sizes_of(view, Side.BELOW), orientation.lower_side(view)
    assert len(side.neighbours) == len(pairs) == degrees.sum()
    for vid in range(60):
        row = view.neighbours_of(vid)
        assert side.neighbours_of(vid).tolist() == row[row < vid].tolist()
    assert side.max_degree == degrees.max()
    assert orientation.lower_side(view) is side


def test_lower_sides_lie_in_files_where_a_budget_has_no_room() -> None:
    rng = np.random.default_rng(5)
    pairs = {tuple(sorted(p)) for p in rng.integers(0, 3000, (90_000, 2)).tolist() if p[0] != p[1]}
    graph = SmallGraph([()] * 3000, [("U", a, b) for a, b in sorted(pairs)], frozenset("U"))
    view = graph.adjacency(("U",), Direction.ANY)
    with Usage(100_000) as usage:
        side = row_blocks.below(view)
    assert sum(usage.budget.filed.values()) >= side.neighbours.nbytes
    for vid in range(0, 3000, 7):
        row = view.neighbours_of(vid)
        assert side.neighbours_of(vid).tolist() == row[row < vid].tolist()


SHAPES = {
    "triangle": (((0, 1), (1, 2), (0, 2)), True),
    "clique4": (tuple((a, b) for b in range(4) for a in range(b)), True),
    "clique5": (tuple((a, b) for b in range(5) for a in range(b)), True),
    "square": (SQUARE, False),
    "diamond": ((*SQUARE, (0, 2)), False),
    "tailed": (((0, 1), (1, 2), (0, 2), (2, 3)), False),
    "edge": (((0, 1),), True),
}


@pytest.mark.parametrize("name", SHAPES)
def test_which_patterns_read_lower_sides(name: str) -> None:
    """Every list of a clique is cut below the vertex whose row it is."""
    pairs, wanted = SHAPES[name]
    rng = np.random.default_rng(5)
    found = {tuple(sorted(p)) for p in rng.integers(0, 60, (300, 2)).tolist() if p[0] != p[1]}
    graph = SmallGraph([()] * 60, [("U", a, b) for a, b in sorted(found)], frozenset("U"))
    asked = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in pairs)
    query = QueryGraph((QueryVertex(),) * (1 + max(map(max, pairs))), asked, SUBGRAPHS)
    stage = prepare(planner.plan(query, graph, counting=True), graph)
    assert orientation.reads_lower_sides(stage) == wanted
    tight = residency.split_views(stage, residency.view_bytes(stage.views[0], split=False) // 4)
    assert tight.cold
    assert tight.lower == wanted


def with_hubs(pairs: tuple[tuple[int, int], ...], n: int = 80, edges: int = 4000) -> Prepared:
    """A pattern to be counted on a graph with hubs."""
    rng = np.random.default_rng(7)
    ends = (rng.pareto(1.1, (edges, 2)) * 4).astype(int) % n
    found = sorted({(int(min(p)), int(max(p))) for p in ends if p[0] != p[1]})
    graph = SmallGraph([()] * n, [("U", a, b) for a, b in found], frozenset("U"))
    asked = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in pairs)
    query = QueryGraph((QueryVertex(),) * (1 + max(map(max, pairs))), asked, SUBGRAPHS)
    return prepare(planner.plan(query, graph, counting=True), graph)


@pytest.mark.parametrize("part", [3, 6, 12, 40])
def test_passes_come_to_every_row_once(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    stage = with_hubs((*SQUARE, (0, 2)))
    view = stage.views[0]
    room = residency.view_bytes(view, split=True) // part
    found = residency.split_views(stage, room)
    assert found.level == 1
    assert found.passes[0].lo == 0
    assert found.passes[-1].hi == stage.vids
    rows, places = view.vids(), np.zeros(view.rows, int)
    for one, after in zip(found.passes, (*found.passes[1:], None), strict=True):
        assert after is None or one.hi == after.lo
        inside = (rows >= one.lo) & (rows < one.hi)
        places += inside
        if one.extent.rows:
            assert rows[inside].tolist() == rows[one.extent.first : one.extent.last].tolist()
            assert one.extent.start == view.offsets[one.extent.first]
            assert one.extent.end == view.offsets[one.extent.last]
            assert residency.extent_bytes(view, one.extent, split=found.splits) <= room
        else:  # a row that is too large
            assert inside.sum() == 1
    assert (places == 1).all()


COUNTED = {
    "edge": ((0, 1),),
    "wedge": ((0, 1), (0, 2)),
    "path": ((0, 1), (1, 2), (2, 3)),
    "tailed": ((0, 1), (1, 2), (0, 2), (2, 3)),
}


@pytest.mark.parametrize("name", COUNTED)
def test_rows_that_are_read_in_place(name: str) -> None:
    """As many as a run binds vertices whose rows it reads, where none is resident; the fewer, the more are."""
    stage = with_hubs(COUNTED[name])
    readers = [level for k in range(len(stage.views)) for level in visits.readers(stage, k)]
    watch = Watch(None, None, None)
    watch.bound = np.zeros(stage.tables.loops, np.int64)
    launch.count(stage, watch, Budget(), 1)
    found = residency.read_in_place(stage, residency.split_views(stage, 0))
    bound = sum(int(watch.bound[level]) for level in readers)
    assert found[0] == bound > 0
    assert found[1] >= 20 * bound  # offsets, and one neighbour at least
    whole = residency.view_bytes(stage.views[0], split=stage.restricted)
    reads = [
        residency.read_in_place(stage, residency.split_views(stage, whole * part // 8))
        for part in range(9)
    ]
    assert max(reads) == reads[0] == found
    assert reads[-1] == (0, 0)
    shown = residency.describe_residency(stage, 0)[-1]
    assert shown == f"  about {found[0]:,} rows of {found[1]:,} bytes in all are read so"


def test_passes_read_fewer_rows_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = with_hubs((*SQUARE, (0, 2)))
    room = residency.view_bytes(stage.views[0], split=True) // 2
    monkeypatch.setattr(unit_passes, "PASS", 1e12)
    without = residency.split_views(stage, room)
    monkeypatch.setattr(unit_passes, "PASS", 0.0)
    several = residency.split_views(stage, room)
    assert bool(several.passes) > bool(without.passes)
    whole = residency.read_in_place(stage, residency.split_views(stage, 0))
    # each pass comes to the roots that have something in it, and to no other row that is not resident
    ends = np.array([one.hi for one in several.passes])
    times, _ = unit_passes.root_visits(stage, stage.views[0], ends)
    assert residency.read_in_place(stage, several)[0] == times
    assert residency.read_in_place(stage, without)[0] < whole[0]


@pytest.mark.parametrize("pairs", [(*SQUARE, (0, 2)), ((0, 1), (1, 2), (0, 2))])
def test_visits_of_roots_in_passes(pairs: tuple[tuple[int, int], ...]) -> None:
    """Of a sample that has all roots in it: those neighbours count to which the level may be bound. Of triangles each
    has another one below it in the list, and what is above a pass's range is not read, as far as marks say."""
    stage = with_hubs(pairs)
    view, ends = stage.views[0], np.array([3, 10, 40, stage.vids])
    level = stage.nest.levels[unit_passes.level_of(stage)]
    assert isinstance(level, VertexLevel)
    triangle = len(pairs) == 3
    marks = unit_passes.mark_bits(stage, len(ends), len(view.neighbours))
    assert (marks.cuts, marks.skipped) == ((3, 1) if triangle else (0, 0))
    times = size = 0
    for root in stage.roots.tolist():
        row = view.neighbours_of(root).astype(int)
        near = row[row < root] if level.cut.below else row[row > root]
        for found in np.unique(np.searchsorted(ends, near[triangle:], side="right")):
            read = (row < ends[found]).sum() if found < marks.cuts else len(row)
            times, size = times + 1, size + 4 * int(read)
    assert unit_passes.root_visits(stage, view, ends) == (times, size)
    assert times > len(stage.roots)


@pytest.mark.parametrize(
    ("passes", "neighbours", "wanted"),
    [
        (8, 100_000_000, (8, 27, 2, 1)),
        (2, 100_000_000, (2, 27, 1, 1)),
        (33, 100_000_000, (33, 27, 0, 1)),
        (34, 100_000_000, (34, 0, 0, 1)),
        (64, 10, (64, 0, 0, 1)),
        (1, 0, (1, 1, 0, 1)),
    ],
)
def test_a_mark_has_what_there_are_bits_for(
    passes: int, neighbours: int, wanted: tuple[int, ...]
) -> None:
    """Passes first, then where the row begins with room for its length, then parts of it."""
    found = unit_passes.mark_bits(with_hubs(((0, 1), (1, 2), (0, 2))), passes, neighbours)
    assert (found.passes, found.starts, found.cuts, found.skipped) == wanted
    left = 64 - found.passes - found.starts - 8 * found.cuts
    assert left >= (8 if found.cuts else unit_passes.LEAST_LENGTH_BITS if found.starts else 0)


def test_optional_parts_have_no_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not there counts one, once."""
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    stage = with_hubs((*SQUARE, (0, 2)))
    room = residency.view_bytes(stage.views[0], split=True) // 6
    assert residency.split_views(stage, room).passes
    stage.nest = replace(stage.nest, parts=(0,))
    assert not residency.split_views(stage, room).passes


def test_passes_where_they_spare_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where they are dear to begin, and never where a sum counts vids of the level together."""
    diamond, square = with_hubs((*SQUARE, (0, 2))), with_hubs(SQUARE)
    room = residency.view_bytes(diamond.views[0], split=True) // 2
    for each, wanted in ((0.0, True), (1e12, False)):
        monkeypatch.setattr(unit_passes, "PASS", each)
        assert bool(residency.split_views(diamond, room).passes) == wanted
        assert (
            "passes, each over a part of" in residency.describe_residency(diamond, room)[1]
        ) == wanted
        assert not residency.split_views(square, room).passes


def test_a_graph_that_fits_is_whole() -> None:
    stage = prepared("U", "V")
    found = residency.split_views(stage, sys.maxsize)
    assert not found.cold
    assert found.streamed == 0
    sizes = [residency.view_bytes(v, split=stage.restricted) for v in stage.views]
    assert found.resident == sum(sizes)
    less = residency.split_views(stage, found.resident - 1)
    assert less.cold
    assert less.resident < found.resident == less.resident + less.streamed
    assert residency.split_views(stage, 0).resident == 0


def test_only_the_types_of_the_pattern_are_placed() -> None:
    large, small = (residency.split_views(prepared(name), sys.maxsize) for name in "UV")
    assert small.resident < large.resident


def test_explain_says_what_is_resident() -> None:
    stage = prepared("U")
    size = residency.split_views(stage, sys.maxsize).resident
    assert "all of it resident" in residency.describe_residency(stage, size)[0]
    lines = residency.describe_residency(stage, size // 2)
    assert "read in place through the link" in lines[0]
    extent = residency.split_views(stage, size // 2).extents[0]
    assert extent is not None
    assert f"rows {extent.first} to {extent.last} of 30" in lines[1]


def test_an_account_holds_what_it_may() -> None:
    room = Room(100, 100)
    room.take(60, "its graph")
    assert room.left == 40
    with pytest.raises(
        OutOfBudget, match="101 bytes of GPU memory with its rows, over its gpu_memory of 100"
    ):
        room.take(41, "its rows")
    assert room.used == 60
    room.take(40, "its rows")
    assert room.left == 0


@pytest.mark.parametrize("asked", [0, 1, -5, "63MiB", residency.LEAST - 1])
def test_too_little_names_the_least(asked: int | str) -> None:
    with pytest.raises(QueryError, match="gpu_memory="):
        options.gpu_memory_bytes(asked, None)


def test_budgets_of_a_gpu() -> None:
    assert options.gpu_memory_bytes(None, None) is None
    assert options.gpu_memory_bytes(None, 1 << 30) == 1 << 30
    assert options.gpu_memory_bytes("64MiB", 1 << 30) == residency.LEAST
    with pytest.raises(QueryError, match="67,108,864"):
        options.gpu_memory_bytes("63MiB", None)
    with pytest.raises(TypeProblem):
        options.gpu_memory_bytes(1.5, None)  # type: ignore[arg-type]


def test_stages_of_one_device_never_put_out_those_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two devices that share a query leave a stage each, run after run."""
    monkeypatch.setattr(memory, "MOST_KEPT", 100)
    kept = memory.Kept()
    idle: list[object] = []
    stages = [np.zeros(1), np.zeros(1)]
    for ordinal, stage in enumerate(stages):
        kept.keep(idle, stage, 60, ordinal)
    assert kept.bytes(0) == kept.bytes(1) == 60
    assert kept.take(idle, lambda one: one is stages[0]) is stages[0]
    assert kept.take(idle, lambda one: one is stages[1]) is stages[1]


def test_stages_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads that run one query leave eight stages; the oldest of them go."""
    monkeypatch.setattr(memory, "MOST_KEPT", 100)
    kept, lists = memory.Kept(), ([], [])  # type: tuple[memory.Kept, tuple[list[object], list[object]]]
    stages = [np.zeros(1) for _ in range(4)]
    for k, stage in enumerate(stages):
        kept.keep(lists[k % 2], stage, 40)
    assert kept.bytes(0) == 80
    assert kept.take(lists[0], lambda _: True) is stages[2]
    assert kept.take(lists[0], lambda _: True) is None
    large = np.zeros(2)
    kept.keep(lists[0], large, 1000)  # the last stays in any case
    assert kept.bytes(0) == 1000
    assert kept.take(lists[1], lambda _: True) is None
    assert kept.take(lists[0], lambda _: True) is large

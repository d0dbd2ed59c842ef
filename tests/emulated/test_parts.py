"""Stages in parts, without a GPU: what is found under any budget of the host's memory is what is found without one."""

from __future__ import annotations

import gc
import random
import sys
import weakref

import numpy as np
import numpy.typing as npt
import pytest

from gdb import planner
from gdb.errors import OutOfBudget
from gdb.executor.gpu import launch, layout, parts, residency
from gdb.executor.gpu.stage import Share
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.emulated.emulator import absence, emulated
from tests.emulated.test_emulated import DIAMOND, HOUSE, SQUARE, hubs, on_the_cpu, staged
from tests.gpu.test_gpu_executor import bag
from tests.support.backends import rows_on_gpu
from tests.support.small_graph import SmallGraph
from tests.unit.executor.nest.test_neighbourhood import Pairs, clique, question

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
PATTERNS: dict[str, Pairs] = {
    "triangle": clique(3),
    "4-clique": clique(4),
    "diamond": DIAMOND,
    "square": SQUARE,
    "house": HOUSE,
}
# bytes that are there in the host's memory and the device's, as a part of the view's
ROOMS = [
    ("triangle", 0.3, SUBGRAPHS),
    ("triangle", 0.3, REPEATABLE_ELEMENTS),
    ("4-clique", 0.45, DIFFERENT_NODES),
    ("diamond", 0.3, SUBGRAPHS),
    ("diamond", 0.3, REPEATABLE_ELEMENTS),
    ("square", 0.7, DIFFERENT_NODES),
    ("square", 0.7, REPEATABLE_ELEMENTS),
    ("house", 0.75, SUBGRAPHS),
]


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No stage is streamed here (`test_streamed.py`)."""
    monkeypatch.setattr(residency, "streamed", lambda prepared, room: None)


def watch() -> Watch:
    return Watch(None, None, None)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each part's views that stages ran in."""
    found, alone = list[int](), parts._alone

    def noted(part: Prepared, wholes: int, ordinal: int) -> Prepared:
        one = alone(part, wholes, ordinal)
        found.append(sum(residency.view_bytes(view, split=one.restricted) for view in one.views))
        return one

    monkeypatch.setattr(parts, "_alone", noted)
    return found


@pytest.mark.parametrize(("pattern", "part", "mode"), ROOMS)
def test_counts(
    pattern: str,
    part: float,
    mode: MatchMode,
    made: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared = staged(PATTERNS[pattern], mode, hubs())
    known = on_the_cpu(prepared)
    room = int(part * residency.view_bytes(prepared.views[0], split=True))
    monkeypatch.setattr(residency, "MOST", room)
    with emulated(worth=1e9):
        budget = Budget(room)
        assert launch.counts([prepared], watch(), budget) == [known]
    assert len(made) > 3
    assert max(made) <= room
    assert budget.most <= room
    assert not budget.filed
    assert budget.used == 0


def test_what_reads_rows_of_what_is_summed_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tail of trees within trees has no level to be bound: the error is that of a stage that is not cut."""
    prepared = staged(HOUSE, REPEATABLE_ELEMENTS, hubs())
    room = int(0.5 * residency.view_bytes(prepared.views[0], split=True))
    monkeypatch.setattr(residency, "MOST", room)
    with emulated(worth=1e9), pytest.raises(OutOfBudget, match="page-locked memory"):
        launch.counts([prepared], watch(), Budget(room))


def test_no_part_has_more_views_than_a_kernel_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = staged(clique(4), SUBGRAPHS, hubs())
    room = int(0.45 * residency.view_bytes(prepared.views[0], split=True))
    monkeypatch.setattr(residency, "MOST", room)
    blocks = len(parts._passes(prepared, room, room))
    monkeypatch.setattr(layout, "MAX_VIEWS", len(prepared.views) + blocks)
    assert len(parts._passes(prepared, room, room)) == blocks == 3
    monkeypatch.setattr(layout, "MAX_VIEWS", len(prepared.views) + blocks - 1)
    assert parts._passes(prepared, room, room) == []


def test_a_budget_with_room_has_one_part(made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = staged(clique(3), SUBGRAPHS, hubs())
    whole = residency.view_bytes(prepared.views[0], split=True)
    monkeypatch.setattr(residency, "MOST", whole // 3)
    known = on_the_cpu(prepared)
    for budget in (Budget(4 * whole), Budget()):
        with emulated(worth=1e9):
            assert launch.counts([prepared], watch(), budget) == [known]
    assert made == []


@pytest.mark.parametrize("pattern", ["triangle", "diamond"])
def test_rows_and_values(pattern: str, made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hubs(120)
    plan = planner.plan(question(PATTERNS[pattern], DIFFERENT_NODES), graph, counting=False)
    prepared = prepare(plan, graph)
    half = residency.view_bytes(prepared.views[0], split=prepared.restricted) // 2
    locked = residency.locked_bytes(prepared, half)
    found = list[tuple[object, object]]()
    for most, memory in ((sys.maxsize, None), (half, locked - 1)):
        monkeypatch.setattr(residency, "MOST", most)
        with emulated(worth=1e9):
            rows = bag(rows_on_gpu(prepared, watch(), Budget(memory), 20))
            values = launch.distinct(prepared, watch(), Budget(memory), 2).tolist()
        found.append((rows, values))
    assert found[0] == found[1]
    assert len(made) > 3


def test_a_part_is_let_go_when_the_next_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its memory on the device, and not only when garbage is collected."""
    prepared = staged(clique(3), SUBGRAPHS, hubs())
    room = int(0.3 * residency.view_bytes(prepared.views[0], split=True))
    monkeypatch.setattr(residency, "MOST", room)
    alone, most = parts._alone, 0

    def noted(part: Prepared, wholes: int, ordinal: int) -> Prepared:
        nonlocal most
        one = alone(part, wholes, ordinal)
        most = max(most, len({id(array) for each in held if (array := each()) is not None}))
        held.extend(weakref.ref(view.neighbours) for view in one.views[wholes:])
        return one

    held = list[weakref.ref[npt.NDArray[np.uint32]]]()
    monkeypatch.setattr(parts, "_alone", noted)
    gc.disable()
    try:
        with emulated(worth=1e9):
            launch.counts([prepared], watch(), Budget(room))
        assert [array for array in held if array() is not None] == []
    finally:
        gc.enable()
    assert len(held) > 10
    assert most <= 2


def test_explain_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = staged(clique(3), SUBGRAPHS, hubs())
    room = int(0.3 * residency.view_bytes(prepared.views[0], split=True))
    monkeypatch.setattr(residency, "MOST", room)
    with emulated(worth=1e9):
        first, *levels = launch.describe_residency(prepared, 0, None, room)
        whole = launch.describe_residency(prepared, 0, None)
    passes = [int(line.split()[1]) for line in levels if "passes, each over a part of" in line]
    parts_at_most = f"{passes[0] * passes[1]} parts at most"
    assert len(levels) == 2
    assert first == f"memory: {room:,} bytes, in which the graph is read in {parts_at_most}"
    assert whole[0].startswith("GPU memory: ")


def test_random_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directed and of two types as well; what cannot run in parts is refused, and nothing else."""
    done = sum(random_pattern(random.Random(seed), monkeypatch) for seed in range(20))
    assert done > 40


def random_stage(draw: random.Random) -> tuple[Prepared, SmallGraph]:
    """A pattern on a graph of two types, which must stay."""
    kinds = ["R", "S"]
    # no relationships beside one another, which only their ids would distinguish
    ends = {tuple(draw.sample(range(40), 2)) for _ in range(300)}
    edges = [(draw.choice(kinds), a, b) for a, b in sorted(ends) if (b, a) not in ends]
    graph = SmallGraph([()] * 40, edges, frozenset(draw.choice(["", "R"])))
    vertices = draw.randint(2, 5)
    pairs = {(draw.randrange(v), v) for v in range(1, vertices)}
    for _ in range(draw.randrange(4)):
        a, b = sorted(draw.sample(range(vertices), 2))
        pairs.add((a, b))
    query = QueryGraph(
        tuple(QueryVertex() for _ in range(vertices)),
        tuple(
            QueryEdge(
                *(a, b, tuple(kinds[: draw.randrange(3)])),
                draw.choice([Direction.OUT, Direction.ANY]),
            )
            for a, b in sorted(pairs)
        ),
        draw.choice([SUBGRAPHS, DIFFERENT_NODES, REPEATABLE_ELEMENTS]),
    )
    return prepare(planner.plan(query, graph, counting=True), graph), graph


def random_pattern(draw: random.Random, monkeypatch: pytest.MonkeyPatch) -> int:
    """Under how many of three budgets it was counted."""
    prepared, _graph = random_stage(draw)
    known, done = on_the_cpu(prepared), 0
    views = {id(view): view for view in prepared.views}.values()
    whole = sum(residency.view_bytes(view, split=prepared.restricted) for view in views)
    for part in (0.9, 0.7, 0.5):
        monkeypatch.setattr(residency, "MOST", int(part * whole))
        with emulated(worth=1e9):
            try:
                found = launch.counts([prepared], watch(), Budget(int(part * whole)))
            except OutOfBudget:
                continue
        assert found == [known]
        done += 1
    return done


def test_two_devices_share_the_memory(made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other here: the emulator has one. Each has half of the memory, and its share of each part."""
    prepared = staged(clique(3), SUBGRAPHS, hubs())
    room = int(0.4 * residency.view_bytes(prepared.views[0], split=True))
    monkeypatch.setattr(residency, "MOST", room)
    known, budget, total = on_the_cpu(prepared), Budget(room), 0
    with emulated(worth=1e9):
        several = parts.find(prepared, budget, room, 2)
        for share in (Share(0, 0, 2), Share(0, 1, 2)):
            for part, account in parts.parts_of(prepared, several, 0, budget):
                on = watch(), account, launch.room_on(0, None), share, NO_COLUMNS
                stage = launch._placed(part, *on)
                launch._run(stage, on[0], None)
                total += stage.total
                launch._keep(stage, done=True)
    assert total == known
    assert budget.most <= room // 2
    assert len(made) > 20

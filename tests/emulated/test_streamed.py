"""Counts that are cut at their roots, without a GPU: page-locked memory has the rows of some roots at a time, and what
passes read comes from the graph's own arrays."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from gdb.base.usage import Usage
from gdb.errors import Cancelled, DeviceError
from gdb.executor.gpu import (
    launch,
    memory,
    orientation,
    own_arrays,
    parts,
    pass_chain,
    pinned,
    residency,
    special,
)
from gdb.executor.gpu.memory import DeviceArray
from gdb.executor.gpu.placing import Turn
from gdb.executor.gpu.stage import Share
from gdb.executor.nest.prepare import Prepared
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.executor.work.scheduler import Budget
from gdb.query_graph import DIFFERENT_NODES, REPEATABLE_ELEMENTS, SUBGRAPHS, MatchMode
from gdb.records import replace
from tests.emulated import test_parts
from tests.emulated.emulator import absence, emulated
from tests.emulated.test_emulated import HOUSE, hubs, on_the_cpu, staged
from tests.emulated.test_parts import watch
from tests.support.small_graph import SmallGraph
from tests.unit.executor.nest.test_neighbourhood import clique

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
PATTERNS = {
    **{name: test_parts.PATTERNS[name] for name in ("triangle", "4-clique", "diamond")},
    "5-clique": clique(5),
}
MODES = [SUBGRAPHS, DIFFERENT_NODES, REPEATABLE_ELEMENTS]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_LEAST_LOCKED", 8)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Prepared]:
    """The parts that stages were cut into."""
    found, streamed = list[Prepared](), parts._streamed

    def noted(prepared: Prepared, roots: tuple[int, int], passes: residency.Split) -> Prepared:
        found.append(streamed(prepared, roots, passes))
        return found[-1]

    monkeypatch.setattr(parts, "_streamed", noted)
    return found


def sizes(prepared: Prepared, part: float) -> int:
    """Bytes of a part of the first view."""
    return int(part * residency.view_bytes(prepared.views[0], split=True))


@pytest.mark.parametrize("worth", [-1.0, 1e9])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_counts(
    pattern: str,
    mode: MatchMode,
    worth: float,
    made: list[Prepared],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared = staged(PATTERNS[pattern], mode, hubs(400))
    known = on_the_cpu(prepared)
    monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.1))
    budget = Budget(sizes(prepared, 0.4))
    with emulated(worth=worth):
        for _ in range(2):
            assert launch.counts([prepared], watch(), budget) == [known]
    assert len(made) > 3
    assert budget.used == 0


def test_page_locked_memory_has_some_roots_alone(
    made: list[Prepared], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a pass that none of them has something to do in is not sent."""
    prepared = staged(clique(3), SUBGRAPHS, hubs(400))
    monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.1))
    taken, turns = list[int](), list[int]()
    borrowed, send = own_arrays.Borrowed.__init__, pass_chain.PassChain.__init__

    def noted(self: own_arrays.Borrowed, size: int, budget: Budget, what: str) -> None:
        if what == "the rows of its roots":
            taken.append(size)
        borrowed(self, size, budget, what)

    def chained(self: pass_chain.PassChain, those: Sequence[Turn], *rest: DeviceArray) -> None:
        turns.append(len(those))
        send(self, those, *rest)

    monkeypatch.setattr(own_arrays.Borrowed, "__init__", noted)
    monkeypatch.setattr(pass_chain.PassChain, "__init__", chained)
    with emulated(worth=1e9):
        launch.counts([prepared], watch(), Budget(sizes(prepared, 0.2)))
        passes = residency.split_views(made[0], sys.maxsize).passes
    assert len(taken) == len(made) >= 3
    assert max(taken) <= sizes(prepared, 0.2)
    assert turns == sorted(turns)  # roots and what is below them come in order
    assert turns[0] < turns[-1] <= len(passes)


def random_stage(draw: random.Random) -> tuple[Prepared, SmallGraph]:
    """A pattern on a graph, which must stay."""
    edges = {tuple(sorted(draw.sample(range(60), 2))) for _ in range(400)}
    graph = SmallGraph([()] * 60, [("R", a, b) for a, b in sorted(edges)], frozenset("R"))
    vertices = draw.randint(3, 5)
    pairs = {(draw.randrange(v), v) for v in range(1, vertices)}
    chords = (sorted(draw.sample(range(vertices), 2)) for _ in range(draw.randrange(7)))
    pairs |= {(a, b) for a, b in chords}
    mode = draw.choice([SUBGRAPHS, DIFFERENT_NODES, REPEATABLE_ELEMENTS])
    off = draw.choice([(), ("symmetry",), ("local",)])
    return staged(tuple(sorted(pairs)), mode, graph, *off), graph


@pytest.mark.parametrize("pattern", ["triangle", "4-clique"])
def test_a_root_below_all_others(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pass has anything to do for it."""
    prepared = staged(PATTERNS[pattern], SUBGRAPHS, hubs(400))
    found = residency.streamed(prepared, sizes(prepared, 0.1))
    assert found is not None
    alone = parts._streamed(prepared, (0, 1), found)
    assert alone.roots.tolist() == [0]
    with emulated(worth=1e9):
        assert launch.counts([alone], watch(), Budget()) == [0]


def test_random_patterns(made: list[Prepared], monkeypatch: pytest.MonkeyPatch) -> None:
    """With whole rows, and with lower sides of them."""
    whole = list[bool]()
    for seed in range(80):
        prepared, _graph = random_stage(random.Random(seed))
        monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.3))
        budget = Budget(sizes(prepared, 0.4))
        with emulated(worth=1e9):
            if parts.find(prepared, budget, sys.maxsize).roots:
                assert launch.counts([prepared], watch(), budget) == [on_the_cpu(prepared)]
                whole.append(not residency.split_views(made[-1], sys.maxsize).lower)
    assert len(whole) > 10
    assert 3 < sum(whole) < len(whole) - 3


def test_counts_of_each_vertex(made: list[Prepared], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of triangles are streamed; local graphs count for all vertices at once, so cliques are not."""
    for pattern, streamed in (("triangle", True), ("4-clique", False)):
        prepared = staged(PATTERNS[pattern], DIFFERENT_NODES, hubs(200), "symmetry")
        found = list[list[int]]()
        for most in (None, sizes(prepared, 0.6)):
            monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.3))
            made.clear()
            with emulated(worth=-1.0):
                found.append(launch.tallies(prepared, watch(), Budget(most)).tolist())
        assert found[0] == found[1]
        assert bool(made) == streamed


def test_two_devices(made: list[Prepared], monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other here. Each has half of the memory, and its share of each part; cliques are not streamed."""
    prepared = staged(clique(3), SUBGRAPHS, hubs(400))
    monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.1))
    known, budget, total = on_the_cpu(prepared), Budget(sizes(prepared, 0.5)), 0
    with emulated(worth=1e9):
        several = parts.find(prepared, budget, sys.maxsize, 2)
        for share in (Share(0, 0, 2), Share(0, 1, 2)):
            for part, account in parts.parts_of(prepared, several, 0, budget):
                on = watch(), account, launch.room_on(0, None), share, NO_COLUMNS
                stage = launch._placed(part, *on)
                launch._run(stage, on[0], None)
                total += stage.total
                launch._keep(stage, done=True)
    assert total == known
    assert len(made) >= 6
    four = staged(clique(4), SUBGRAPHS, hubs(400))
    assert parts.find(four, Budget(sizes(four, 0.4)), sys.maxsize).roots
    assert not parts.find(four, Budget(sizes(four, 0.6)), sys.maxsize, 2).roots


def test_what_reads_other_rows_is_not_streamed() -> None:
    assert residency.streamed(staged(HOUSE, SUBGRAPHS, hubs()), 1 << 20) is None
    assert residency.streamed(staged(clique(4), SUBGRAPHS, hubs()), 1 << 20) is not None


@pytest.mark.parametrize("few", [0, 8])
@pytest.mark.parametrize("cliques", [4, 5])
def test_lists_longer_than_a_local_graph(
    cliques: int, few: int, made: list[Prepared], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are counted for themselves, with the rows that they need."""
    prepared = staged(clique(cliques), SUBGRAPHS, hubs(400))
    lower = orientation.lower_side(prepared.views[0])
    lengths = np.sort(np.diff(lower.offsets))
    monkeypatch.setattr(parts, "LONGEST", int(lengths[-3]))
    monkeypatch.setattr(parts, "_FEW", few)
    monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.1))
    known, beside = on_the_cpu(prepared), list[Prepared]()
    alone = parts._with_long_lists

    def noted(stage: Prepared, found: parts.Parts, budget: Budget) -> Prepared:
        beside.append(alone(stage, found, budget))
        return beside[-1]

    monkeypatch.setattr(parts, "_with_long_lists", noted)
    budget = Budget(sizes(prepared, 0.4))
    with emulated(worth=1e9):
        assert launch.counts([prepared], watch(), budget) == [known]
    (stage,) = beside
    assert 0 < len(stage.roots) == np.count_nonzero(lengths > lengths[-3])
    roots = [*stage.roots.tolist(), *(root for one in made for root in one.roots.tolist())]
    assert sorted(roots) == prepared.roots.tolist()
    assert on_the_cpu(stage) > 0
    assert budget.used == 0
    passes = residency.streamed(prepared, sizes(prepared, 0.1))
    assert passes is not None
    assert parts._streamed_parts(prepared, passes, 1 << 20, 1 << 20) is not None
    for size in ((1 << 20, 100), (100, 1 << 20)):  # those rows must have room in both memories
        assert parts._streamed_parts(prepared, passes, *size) is None
    monkeypatch.setattr(parts, "LONGEST", -1)
    monkeypatch.setattr(residency, "MOST", sys.maxsize)
    every = parts._streamed_parts(prepared, passes, 1 << 20, 1 << 20)
    assert every is not None
    assert every.long is not None
    assert (every.roots, len(every.long.roots)) == ([], len(prepared.roots))


def test_a_kernel_that_is_needed_and_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = staged(clique(4), SUBGRAPHS, hubs(400))
    monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.1))
    with emulated(worth=1e9):
        monkeypatch.setattr(special.Kernel, "function", None)
        with pytest.raises(DeviceError, match="own GPU kernel"):
            launch.counts([prepared], watch(), Budget(sizes(prepared, 0.4)))


def test_room_that_is_gone_when_it_is_placed() -> None:
    prepared = staged(clique(3), SUBGRAPHS, hubs(400))
    found = residency.streamed(prepared, sizes(prepared, 0.1))
    assert found is not None
    stage = replace(prepared, streamed=found)
    assert residency.split_views(stage, found.resident) is found
    with pytest.raises(residency.NoRoom, match="passes over parts of its graph"):
        residency.split_views(stage, found.resident - 1)


def test_it_stops_between_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent before has ended then, as its memory goes."""
    prepared = staged(clique(3), SUBGRAPHS, hubs(400))
    monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.1))
    settled = list[int]()
    with emulated(worth=1e9), Usage() as usage:
        looks = iter(range(1_000_000))

        def check() -> None:
            if sent and next(looks) == 3:
                raise Cancelled("stop", "")

        sent = list[int]()
        send, settle = pinned.Ring.send, memory.settle
        monkeypatch.setattr(
            pinned.Ring, "send", lambda ring, *what: (sent.append(1), send(ring, *what))
        )
        monkeypatch.setattr(memory, "settle", lambda: (settled.append(len(sent)), settle()))
        usage.check = check
        with pytest.raises(Cancelled):
            launch.counts([prepared], watch(), Budget(sizes(prepared, 0.4)))
    assert settled[-1] == len(sent) > 1


def test_explain_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = staged(clique(3), SUBGRAPHS, hubs(400))
    monkeypatch.setattr(residency, "MOST", sizes(prepared, 0.1))
    room = sizes(prepared, 0.4)
    with emulated(worth=1e9):
        first, second, third = launch.describe_residency(prepared, 0, None, room)
    assert re.fullmatch(
        rf"memory: {room:,} bytes, in which it runs in \d+ parts, each with some of its roots",
        first,
    )
    assert re.fullmatch(r"GPU memory: [\d,]+ bytes of the graph at a time", second)
    assert re.fullmatch(r"  in \d+ passes, each over a part of .*", third)

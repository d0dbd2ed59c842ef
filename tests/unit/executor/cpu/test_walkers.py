"""The walkers against the plain walk: random multigraphs with loops, parallel and undirected edges."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gdb.errors import Cancelled, OutOfBudget
from gdb.executor.cpu import paths, shortest_paths, walk_memory, walkers
from gdb.executor.nest.tables import bitset
from gdb.executor.walk import Conditions, Differ, PathBound, Paths, Question, Taken, steps
from gdb.executor.work.scheduler import Budget
from gdb.storage.format.direction import Direction
from tests.oracles.walks import Walk
from tests.support.small_graph import SmallGraph

LENGTHS: list[tuple[int, int | None]] = [
    *((0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (3, 3)),
    *((2, 1), (3, 5), (0, None), (1, None), (2, None)),
]

UNHINDERED = Conditions(lambda: None)


class Case:
    """A question at random, and the same for the plain walk, row by row."""

    def __init__(self, seed: int, *, goals: bool | None = None, short: bool = False) -> None:
        draw = self.draw = random.Random(seed)
        n, m = draw.randrange(1, 7), draw.randrange(0, 9)
        edges = [(draw.choice("RSU"), draw.randrange(n), draw.randrange(n)) for _ in range(m)]
        self.graph = SmallGraph([()] * n, edges, frozenset("U"))
        types = tuple(sorted(draw.choice([[], ["R"], ["R", "S"], ["U"], ["R", "U"], ["X"]])))
        direction = draw.choice(list(Direction))
        self.differ = draw.choice(list(Differ))
        bounded = [one for one in LENGTHS if one[1] is not None]
        low, high = draw.choice(bounded if self.differ is Differ.NOTHING or short else LENGTHS)
        allowed = None
        if draw.random() < 0.3:
            allowed = np.array([e for e in range(m) if draw.random() < 0.7], np.int64)
        self.steps = steps(self.graph, types, direction, allowed)
        named = {t.name for t in self.graph.edge_types}
        plain: dict[int, list[tuple[int, int]]] = {}
        if not types or named & set(types):
            for a, b, eid in self.graph.ends(types, direction):
                if allowed is None or eid in allowed:
                    plain.setdefault(a, []).append((eid, b))
        rows = draw.randrange(0, 6)
        starts = [draw.randrange(n) for _ in range(rows)]
        has_goals = draw.random() < 0.5 if goals is None else goals
        ends = None
        if not has_goals and draw.random() < 0.3:
            ends = frozenset(v for v in range(n) if draw.random() < 0.6)
        used = [[e for e in range(m) if draw.random() < 0.2] for _ in range(rows)]
        if draw.random() < 0.6:
            used = [[] for _ in range(rows)]
        aims = [draw.randrange(n) if has_goals else None for _ in range(rows)]
        self.walks = [
            Walk(plain, s, low, high, self.differ, g, frozenset(u), ends)
            for s, g, u in zip(starts, aims, used, strict=True)
        ]
        self.question = Question(
            *(self.steps, n, m, np.array(starts, np.uint32), low, high, self.differ),
            goals=np.array(aims, np.uint32) if has_goals else None,
            used_at=np.cumsum([0, *map(len, used)]) if any(used) else None,
            used=np.array([e for some in used for e in some], np.int64) if any(used) else None,
            ends=None if ends is None else bitset(np.array(sorted(ends), np.int64), n),
        )

    def every(self) -> list[tuple[int, tuple[int, ...], int]]:
        return sorted((k, *found) for k, one in enumerate(self.walks) for found in one.every())


def told(found: Paths) -> list[tuple[int, tuple[int, ...], int]]:
    cut = found.offsets.tolist()
    return sorted(
        (row, tuple(found.eids[cut[k] : cut[k + 1]].tolist()), end)
        for k, (row, end) in enumerate(zip(found.rows.tolist(), found.ends.tolist(), strict=True))
    )


@pytest.fixture(params=["as it is", "small buffers"])
def _buffers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are full after every path, and launches end after every step."""
    if request.param == "small buffers":
        for name in ("CAPACITY", "EDGE_CAPACITY", "SHALLOW"):
            monkeypatch.setattr(walk_memory, name, 1 if name != "SHALLOW" else 2)
        for kept in ("_buffers", "_marks"):
            monkeypatch.setattr(walk_memory, kept, [])
        for module in (walkers, shortest_paths):
            monkeypatch.setattr(module, "STEPS", 1)
        monkeypatch.setattr(walkers, "SEARCHED", 0)
        monkeypatch.setattr(walkers, "WORTH_A_THREAD", 0)
        monkeypatch.setattr(shortest_paths, "FAR", 0)


@pytest.mark.usefixtures("_buffers")
def test_all_paths() -> None:
    for seed in range(250):
        case = Case(seed)
        find = walkers.list_paths if case.question.goals is None else shortest_paths.to_goals
        assert told(find(case.question, UNHINDERED)) == case.every(), seed


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.usefixtures("_buffers")
def test_a_bounded_walk_gives_all_paths_or_says_that_it_was_cut(short: bool) -> None:
    cut = Counter[bool]()
    for seed in range(250):
        case = Case(seed)
        question, every = case.question, case.every()
        for most in (0, 3, 50):
            bound = PathBound(most, short)
            find = walkers.list_paths if question.goals is None else shortest_paths.to_goals
            found = told(find(question, Conditions(lambda: None, bound=bound)))
            assert Counter(found) <= Counter(every), seed
            assert bound.cut or found == every, seed
            if not short:
                assert bound.cut is (len(every) > most), seed
            cut[bound.cut] += 1
        if question.goals is not None:
            taken = random.Random(seed).choice(list(Taken))
            bound = PathBound(1, short)
            select = shortest_paths.select_paths
            found = told(select(question, taken, 2, Conditions(lambda: None, bound=bound)))
            whole = told(select(question, taken, 2, UNHINDERED))
            assert bound.cut or len(found) == len(whole), seed
    assert all(cut.values())
    assert len(cut) == 2


def test_memory_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for kept in ("_buffers", "_marks"):
        monkeypatch.setattr(walk_memory, kept, [])
    for seed in range(300):
        case = Case(6000 + seed)
        if case.question.goals is None:
            if case.question.reachable:
                walkers.reach_ends(case.question, UNHINDERED)
            walkers.list_paths(case.question, UNHINDERED)
        else:
            shortest_paths.select_paths(case.question, Taken.FIRST, 1 + seed % 2, UNHINDERED)
            shortest_paths.to_goals(case.question, UNHINDERED)
        for marks in walk_memory._marks:
            assert not marks.distances.any(), seed
            assert not marks._again.any(), seed
    assert 0 < len(walk_memory._buffers) <= walk_memory.MOST_KEPT
    assert 0 < len(walk_memory._marks) <= walk_memory.MOST_KEPT


@pytest.mark.usefixtures("_buffers")
def test_lengths_tallies_and_numbers() -> None:
    for seed in range(250):
        case = Case(1000 + seed)
        question, every = case.question, case.every()
        rows, ends, lengths = walkers.measure_paths(question, UNHINDERED)
        found = zip(rows.tolist(), ends.tolist(), lengths.tolist(), strict=True)
        assert sorted(found) == sorted((k, end, len(path)) for k, path, end in every), seed
        rows, ends, numbers = walkers.tally_ends(question, UNHINDERED)
        tally = dict(zip(zip(rows.tolist(), ends.tolist(), strict=True), numbers, strict=True))
        assert tally == Counter((k, end) for k, _, end in every), seed
        rows, numbers = walkers.count_paths(question, UNHINDERED)
        assert dict(zip(rows.tolist(), numbers, strict=True)) == Counter(k for k, _, _ in every)


@pytest.mark.usefixtures("_buffers")
def test_where_paths_end() -> None:
    tried = Counter[bool]()
    for seed in range(600):
        case = Case(2000 + seed, goals=False)
        tried[case.question.reachable] += 1
        if not case.question.reachable:
            continue
        rows, ends = walkers.reach_ends(case.question, UNHINDERED)
        found = list(zip(rows.tolist(), ends.tolist(), strict=True))
        expected = {(k, end) for k, _, end in case.every()}
        assert len(found) == len(set(found))
        assert set(found) == expected, seed
        rows, ends = walkers.reach_ends(case.question, UNHINDERED, most=1)
        some = set(zip(rows.tolist(), ends.tolist(), strict=True))
        assert some <= expected
        assert {k for k, _ in some} == {k for k, _ in expected}, seed
        if case.question.used is None:
            _, ends = walkers.reach_ends(case.question, UNHINDERED, as_one=True)
            assert sorted(ends.tolist()) == sorted({end for _, end in expected}), seed
    assert min(tried.values()) > 100


@pytest.mark.usefixtures("_buffers")
def test_shortest_paths() -> None:
    for seed in range(500):
        case = Case(4000 + seed, goals=True)
        taken, count = case.draw.choice(list(Taken)), case.draw.choice([1, 1, 2, 3])
        found = shortest_paths.select_paths(case.question, taken, count, UNHINDERED)
        every = set(case.every())
        assert set(told(found)) <= every, seed
        assert len(set(told(found))) == len(found.rows)
        lengths = [
            sorted(found.lengths[found.rows == k].tolist()) for k in range(case.question.rows)
        ]
        wanted = [[len(path) for path in one.taken(taken, count)] for one in case.walks]
        assert lengths == wanted, seed
        if taken is Taken.SHORTEST:
            per = [(k, path) for k, one in enumerate(case.walks) for path in one.taken(taken, 1)]
            assert sorted((row, path) for row, path, _ in told(found)) == sorted(per), seed


@pytest.mark.usefixtures("_buffers")
def test_lengths_of_shortest_paths() -> None:
    tried = Counter[bool]()
    for seed in range(700):
        case = Case(4000 + seed, goals=True)
        if case.question.low > 1 or case.question.used_at is not None:
            continue
        rows, lengths = shortest_paths.shortest_lengths(case.question, UNHINDERED)
        several = [one.taken(Taken.FIRST, 1) for one in case.walks]
        wanted = [(k, len(path)) for k, one in enumerate(several) for path in one]
        assert list(zip(rows.tolist(), lengths.tolist(), strict=True)) == wanted, seed
        tried[bool(wanted)] += 1
    assert min(tried.values()) > 30


def test_many_rows_that_share_an_end() -> None:
    """One search for all of them, from either side."""
    edges = [("R", k, (k + 1) % 40) for k in range(40)] + [("R", 0, 20), ("R", 20, 30)]
    graph = SmallGraph([()] * 40, edges)
    one, many = np.zeros(40, np.uint32), np.arange(40, dtype=np.uint32)
    over = steps(graph, (), Direction.OUT)
    for starts, goals in ((one, many), (many, one)):
        question = Question(over, 40, 42, starts, 0, None, Differ.EDGES, goals)
        found = shortest_paths.select_paths(question, Taken.FIRST, 1, UNHINDERED)
        plain = {k: [(eid, b) for eid, (_, a, b) in enumerate(edges) if a == k] for k in range(40)}
        rows = zip(starts.tolist(), goals.tolist(), strict=True)
        walks = [Walk(plain, a, 0, None, Differ.VERTICES, b) for a, b in rows]
        wanted = [len(walk.taken(Taken.FIRST, 1)[0]) for walk in walks]
        assert found.lengths[np.argsort(found.rows)].tolist() == wanted


def _dense() -> Question:
    edges = [("R", a, b) for a in range(30) for b in range(30)]
    graph = SmallGraph([()] * 30, edges)
    starts = np.arange(30, dtype=np.uint32)
    return Question(steps(graph, (), Direction.OUT), 30, 900, starts, 1, 30, Differ.VERTICES)


def test_a_walk_without_end_is_stopped() -> None:
    """10^32 paths: a look between launches stops it, also where nothing is given out."""
    stop = threading.Event()
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks > 3:
            stop.set()
        if stop.is_set():
            raise Cancelled("stopped")

    for question in (_dense(), replace(_dense(), ends=np.zeros(4, np.uint8))):
        for threads in (1, 2):
            looks = 0
            stop.clear()
            with pytest.raises(Cancelled):
                walkers.tally_ends(question, Conditions(look, threads=threads))


def test_the_budget_holds() -> None:
    with pytest.raises(OutOfBudget):
        walkers.list_paths(replace(_dense(), high=5), Conditions(lambda: None, Budget(1 << 20)))


def test_deep_paths_get_a_larger_stack() -> None:
    n = 5000
    graph = SmallGraph([()] * n, [("R", k, k + 1) for k in range(n - 1)])
    over = steps(graph, (), Direction.OUT)
    for differ in (Differ.EDGES, Differ.VERTICES):
        question = Question(over, n, n - 1, np.zeros(1, np.uint32), n - 2, None, differ)
        found = walkers.list_paths(question, UNHINDERED)
        assert sorted(found.lengths.tolist()) == [n - 2, n - 1]
        assert found.eids[: n - 2].tolist() == list(range(n - 2))


def test_last_edges_are_counted_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers alone, of trails over edges of one kind: of a star with 1,000 rays and loops it takes few steps."""
    edges = [("R", 0, k) for k in range(1000)] + [("R", k, 0) for k in range(1000)]
    graph = SmallGraph([()] * 1000, edges)
    question = Question(
        *(steps(graph, (), Direction.OUT), 1000, 2000, np.zeros(1, np.uint32), 3, 3),
        Differ.EDGES,
    )
    rows, numbers = walkers.count_paths(question, UNHINDERED)
    _, ends, tallies = walkers.tally_ends(question, UNHINDERED)
    assert rows.tolist() == [0]
    assert numbers.tolist() == [int(tallies.sum())]
    monkeypatch.setattr(walkers, "STEPS", 5000)
    looks: list[None] = []
    walkers.count_paths(question, Conditions(lambda: looks.append(None)))
    assert len(looks) < 5
    assert question.steps.sides == paths.ONE_SIDE
    assert len(ends) == 1000

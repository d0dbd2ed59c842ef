"""The measurements of benchmarks/: their command lines, and what they compute, on graphs small enough to check."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gdb
from benchmarks.answers import arrow_rows
from benchmarks.inputs import patterns, query_sets
from benchmarks.inputs import published as published_figures
from benchmarks.matching import ablation, floors, large_patterns, query_graphs, unlabelled_patterns
from benchmarks.peers import data, floor, kernels, workload
from benchmarks.process import cold_start
from benchmarks.report.table import Over, Wrong
from gdb import planner

_ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(
    ".".join(file.relative_to(_ROOT).with_suffix("").parts)
    for file in (_ROOT / "benchmarks").rglob("*.py")
    if "def main(" in (text := file.read_text(encoding="utf-8")) and "--save" in text
)
KINDS = ("rows", "count")
TRIANGLE = patterns.Pattern("tri", (None,) * 3, ((0, 1), (1, 2), (0, 2)))
# a 4-clique with a tail
EDGES = [*itertools.combinations(range(4), 2), (3, 4)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "g.txt").write_text("".join(f"{u} {v}\n" for u, v in EDGES))
    with gdb.connect(folder / "g.gdb") as db:
        db.load(folder / "g.txt", format="snap", type="E", directed=False)
    return folder / "g.gdb"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module(name)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert "--save" in capsys.readouterr().out


@pytest.mark.parametrize(
    "module",
    [ablation, cold_start, unlabelled_patterns, floors, large_patterns, query_graphs, arrow_rows],
)
def test_absent_data_is_told(
    module: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert module.main(["--data", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


# ---- floors ------------------------------------------------------------------------------------


def random_graph(vertices: int = 30, edges: int = 120) -> data.Graph:
    rng = np.random.default_rng(5)
    pairs = np.array(list(itertools.combinations(range(vertices), 2)))
    chosen = pairs[rng.choice(len(pairs), edges, replace=False)]
    labels = rng.integers(0, 3, vertices)
    none = np.zeros(edges, np.int64)
    return data.Graph(labels, labels, chosen[:, 0], chosen[:, 1], none)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_clique_elements_are_the_shorter_lists(size: int) -> None:
    graph = random_graph()
    oriented = floor.csr(graph.vertices, *floor.by_degree(graph))
    starts, ends = oriented
    after = [set(ends[starts[v] : starts[v + 1]].tolist()) for v in range(graph.vertices)]

    def read(candidates: set[int], levels: int) -> int:
        total = 0
        for u in candidates:
            total += min(len(candidates), len(after[u]))
            total += read(candidates & after[u], levels - 1) if levels > 1 else 0
        return total

    expected = sum(read(candidates, size - 2) for candidates in after)
    assert kernels.cliques(starts, ends, size, True) == expected > 0


def test_paths_below_their_highest_vertex() -> None:
    graph = random_graph()
    low, high = floor.by_degree(graph)
    near: list[set[int]] = [set() for _ in range(graph.vertices)]
    for u, v in zip(low.tolist(), high.tolist(), strict=True):
        near[u].add(v)
        near[v].add(u)
    expected = sum(w < v for v in range(graph.vertices) for u in near[v] if u < v for w in near[u])
    assert floors.paths_below(graph.vertices, low, high) == expected > 0


def test_matching_edges_are_read_once() -> None:
    graph = random_graph()
    pattern = workload.Pattern(
        4,
        tuple(workload.PatternEdge(i, j) for i, j in ((0, 1), (0, 2), (2, 3))),
        labels=(0, 1, 0, 1),  # 0-1 twice, 0-0 once
    )
    ends = [
        {int(graph.labels[u]), int(graph.labels[v])}
        for u, v in zip(graph.sources, graph.targets, strict=True)
    ]
    assert floors.matching_edges(graph, pattern) == ends.count({0, 1}) + ends.count({0})


# ---- query graphs, decomposition, ablation, rows -------------------------------------------------


def test_a_query_graph_is_asked_and_compared(store: Path) -> None:
    right = patterns.Pattern("right", TRIANGLE.vertices, TRIANGLE.edges, {"isomorphisms": 24})
    wrong = patterns.Pattern("wrong", TRIANGLE.vertices, TRIANGLE.edges, {"isomorphisms": 5})
    with gdb.connect(store, read_only=True) as db:
        asked = list(query_graphs.ask(db, [right, wrong], repeat=2))
    assert [one.right for one in asked] == [True, False]
    assert all(one.seconds > 0 and one.again > 0 for one in asked)
    assert query_graphs.steps(asked)[:3] == ["parse", "bind", "plan"]
    found = query_graphs.report(asked, warm_up=2, threads=0)
    assert found.notes == (
        "1 of 2 counts are the published ones",
        "wrong differs: 24, published 5",
    )


def test_the_distribution_counts_what_is_over_the_goals() -> None:
    pattern = patterns.Pattern("p", (None,), (), {"isomorphisms": 1})
    asked = [query_graphs.Asked(pattern, 1, s, {"plan": s / 2}) for s in (0.01, 0.02, 0.5)]
    whole = query_graphs.distribution(asked).rows[0]
    assert whole[:2] == ("end to end", 20.0)
    assert whole[-2:] == (2, 1)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Two patterns; one has a published count and times."""
    shape = {"vertices": 3, "labels": None, "edges": [[0, 1], [0, 2], [1, 2]]}
    measured = {"g": {"q1": {"count": 24, "ms": {"one": 3.0, "two": "timeout", "three": None}}}}
    (tmp_path / "patterns.json").write_text(json.dumps({"q1": shape, "q2": shape, "house": shape}))
    (tmp_path / "gpu_h200.json").write_text(json.dumps(measured))
    return tmp_path


def test_published_counts_and_times(store: Path, published: Path) -> None:
    subjects = published_figures.read_subjects(published, "g", [])
    assert [subject.pattern.name for subject in subjects] == ["q1", "q2"]
    assert subjects[0].best == pytest.approx(0.003)
    assert subjects[1].best is None
    with gdb.connect(store, read_only=True) as db:
        outcomes = [unlabelled_patterns.measure(db, one, 60, "cpu", 1) for one in subjects]
    assert [(one.count, one.verdict) for one in outcomes] == [(24, "equal"), (24, "counted")]
    found = unlabelled_patterns.report(outcomes, "cpu", 60)
    (first, _) = found.tables[0].rows
    assert first[7:10] == (0.003, "stopped", "stopped")
    assert "2 of 2 within 60 s; 1 of them" in found.notes[0]


def test_another_count_differs_and_a_limit_is_shown(store: Path, published: Path) -> None:
    (subject,) = published_figures.read_subjects(published, "g", ["q1"])
    other = published_figures.Subject(subject.pattern, 23, subject.milliseconds)
    with gdb.connect(store, read_only=True) as db:
        assert unlabelled_patterns.measure(db, other, 60, "cpu", 1).verdict == "differs"
        late = unlabelled_patterns.measure(db, subject, 1e-9, "cpu", 1)
    assert late.verdict == "over the limit"
    assert Over(60) in unlabelled_patterns.table([late], 60).rows[0]


def test_passes_switched_off_give_the_same_answer(store: Path) -> None:
    settings = ablation.Settings(limit=60.0, threads=1, runs=1)
    with gdb.connect(store, read_only=True) as db:
        question = ablation.Question("tri", TRIANGLE.cypher("isomorphisms"), db)
        few = ablation.Question(
            "rows", "MATCH DIFFERENT NODES (a)-[]-(b)-[]-(c) RETURN id(a) LIMIT 7", db
        )
        for name in planner.PASSES:
            assert ablation.answer(question, frozenset({name}), settings) == 24
            assert ablation.answer(few, frozenset({name}), settings) == 7


def test_an_ablation_shows_limits_and_differences() -> None:
    late = ablation.Run(3.0, None, ablation.OVER)
    off = {"a": ablation.Run(2.0, 5), "b": late, "c": ablation.Run(1.0, 6)}
    row = ablation.Row("tri", ablation.Run(1.0, 5), off)
    assert row.differing() == ["c"]
    found = ablation.report([row], "abc", ablation.Settings(limit=20.0, threads=1, runs=3))
    assert found.tables[0].rows == (("tri", 1000.0, 2.0, Over(3.0), Wrong(1.0)),)
    assert found.notes == ("tri without c: 6 instead of 5",)
    assert "The answers are the same" not in found.introduction


def test_listings_reach_arrow(store: Path) -> None:
    pytest.importorskip("nanoarrow")
    found = {
        name: arrow_rows.list_rows(store, name, query, 1, 2).rows
        for name, query in arrow_rows.listings(10).items()
    }
    assert found == {"each triangle, all": 4, "each triangle, LIMIT": 4, "embeddings, LIMIT": 10}


def own_cache() -> Path:
    """The user's own cache folder: nothing need be compiled."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def test_first_answers_are_those_of_the_whole_graph(tmp_path: Path) -> None:
    """What is written is written to a copy."""
    (tmp_path / "cache").symlink_to(own_cache())
    found = cold_start.first_answers(tmp_path, 1)
    with gdb.connect(tmp_path / "people", read_only=True) as db:
        assert db.execute("MATCH (a) RETURN count(*)").scalar() == 2_000
        first, over_paths = (
            db.execute(cold_start.FIRST[name]).fetchall()[0][0]
            for name in ("means by group", "means over paths")
        )
    assert {name: [one.count for one in kept["warm"]] for name, kept in found.items()} == {
        "number of relationships": [10_000],
        "node by its key": [17],
        "means by group": [first],
        "means over paths": [over_paths],
        "first write": [30],
    }


def test_a_fresh_process_tells_its_seconds(store: Path) -> None:
    told = cold_start.start(store, cold_start.TRIANGLE, own_cache())
    assert told.count == 24
    assert told.seconds["all"] >= told.seconds["execute"] >= told.seconds["run"] > 0
    (row,) = cold_start.table({"triangle": {"warm": [told], "empty": []}}).rows
    assert row[:3] == ("triangle", "warm", 1)


# ---- large patterns ------------------------------------------------------------------------------


def test_large_patterns_are_walked_asked_and_judged(tmp_path: Path) -> None:
    pairs = [(10 * a, 10 * ((a + step) % 40)) for a in range(40) for step in (1, 2)]
    network = query_sets.Network.of(
        [*pairs, pairs[0], (3, 3)], ["E"] * (len(pairs) + 2), labels=3, directed=False, seed=1
    )
    assert len(network.ends) == len(pairs)
    queries = [q for q in network.walked("ring", 1) if len(q.labels) == 12]
    assert [q.name for q in queries] == ["ring_dense_12_0", "ring_sparse_12_0"]
    assert queries == [q for q in network.walked("ring", 1) if len(q.labels) == 12]
    assert len(queries[0].edges) > len(queries[1].edges) >= 11
    with gdb.connect() as db:
        network.load(db, tmp_path)
        asked = [large_patterns.ask(db, queries[0], kind, limit=60, threads=1) for kind in KINDS]
    assert {a.end for a in asked} == {"solved"}
    assert asked[0].found == min(asked[1].found, query_sets.ROWS)
    assert asked[1].found >= 1  # what was cut out is there
    assert not large_patterns.wrong(asked)
    assert asked[1].expected is not None
    assert large_patterns.q_error(asked[1].found, asked[1].expected) < 10
    times, errors = large_patterns.report({"ring": asked}, 0, 60.0, 1).tables
    kinds = [(*("ring", kind), 1, 0, 0) for kind in KINDS]
    assert [row[:5] for row in times.rows] == [*kinds, ("all", "both", 2, 0, 0)]
    assert errors.rows[0][:2] == ("ring", 1)


@pytest.mark.parametrize(
    ("truth", "expected", "error"), [(10, 5, 2), (5, 10, 2), (0, 0, 1), (0, 1e-9, 1), (8, 0, 8)]
)
def test_q_error(truth: float, expected: float, error: float) -> None:
    assert large_patterns.q_error(truth, expected) == error

"""R-MAT graphs of the measurements: the published ones, number for number, and with labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gdb
from benchmarks.inputs import rmat
from benchmarks.scale import out_of_core_labelled
from benchmarks.scale.out_of_core_labelled import LABELS, SIZE, TYPES, drawn


def published(scale: int, count: int) -> rmat.Keys:
    """As the program that made the published graph: one stream, drawn at once, shuffled."""
    rng, keys = np.random.default_rng(7), np.empty(0, np.int64)
    while len(keys) < count:
        k = int((count - len(keys)) * 1.15) + 1000
        u, v = np.zeros(k, np.int64), np.zeros(k, np.int64)
        for _ in range(scale):
            r = rng.random(k)
            u = (u << 1) | (r >= 0.67)
            v = (v << 1) | (((r >= 0.45) & (r < 0.67)) | (r >= 0.89))
        a, b = np.minimum(u, v), np.maximum(u, v)
        keys = np.unique(np.concatenate([keys, (a * (1 << scale) + b)[a != b]]))
    return np.sort(rng.permutation(keys)[:count])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("scale", "count"), [(5, 100), (7, 3_000), (14, 60_000)])
def test_relationships_are_those_of_one_stream(
    scale: int, count: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rmat, "_PIECE", 1000)
    found = rmat.relationships(scale, count, threads)
    np.testing.assert_array_equal(found, published(scale, count))


def test_a_graph_is_numbered_by_degree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rmat.SIZES, "small", (8, 900))
    view = rmat.graph("small", 2)._view
    degrees = np.diff(view.offsets)
    assert (degrees[1:] <= degrees[:-1]).all()
    assert degrees.min() > 0
    rows = np.repeat(np.arange(len(degrees)), degrees)
    edges = set(zip(rows.tolist(), view.neighbours.tolist(), strict=True))
    assert len(edges) == 1800 == view.neighbours.size
    assert all((b, a) in edges and a != b for a, b in edges)
    ascend = np.diff(view.neighbours.astype(np.int64)) > 0
    ascend[view.offsets[1:-1] - 1] = True
    assert ascend.all()


def test_a_graph_of_many_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rmat.SIZES, "small", (8, 900))
    monkeypatch.setattr(out_of_core_labelled, "TYPES", 5)
    monkeypatch.setattr(out_of_core_labelled, "LABELS", 3)
    graph = out_of_core_labelled.Labelled("small")
    graph.load(tmp_path / "s.gdb")
    with gdb.connect(tmp_path / "s.gdb", read_only=True) as db:
        assert db.stats().edges == 900
        for query in graph.walks(2):
            assert len(query.labels) == SIZE
            assert len(query.edges) >= SIZE - 1
            assert int(str(db.execute(query.texts()["count"]).scalar())) > 0  # it was cut out there


def test_labels_are_drawn_by_rank() -> None:
    for number in (LABELS, TYPES):
        counts = np.bincount(drawn(number, 100_000, 3), minlength=number)
        expected = 100_000 / np.arange(1, number + 1) / (1 / np.arange(1, number + 1)).sum()
        np.testing.assert_allclose(counts, expected, rtol=0.25)

"""`.graph` files: labels become L<number>, edges are undirected; the real ones with their known counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb.storage.write.store import Store
from tests.support.loading import load


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


def written(folder: Path, text: str) -> Path:
    (folder / "a.graph").write_text(text)
    return folder / "a.graph"


@pytest.mark.parametrize("first", ["t 3 2\n", "t 0 3 2\n", "t 0 3\n", ""])
@pytest.mark.parametrize("end", ["", " 0"])
def test_small(store: Store, tmp_path: Path, first: str, end: str) -> None:
    text = f"{first}v 0 5 1\nv 1 6 2\nv 2 5\ne 0 1{end}\n\n# note\ne 1 2{end}\n"
    report = load(store, written(tmp_path, text), format="graph", type="BINDS", label="Protein")
    snapshot = store.snapshot()
    assert (report.vertices, report.edges) == (3, 2)
    assert sorted((g.labels, g.count) for g in snapshot.groups) == [
        (("L5", "Protein"), 2),
        (("L6", "Protein"), 1),
    ]
    assert [(t.name, t.directed) for t in snapshot.edge_types] == [("BINDS", False)]


def test_edge_labels_become_types(store: Store, tmp_path: Path) -> None:
    load(store, written(tmp_path, "t 2 2\nv 0 1\nv 1 1\ne 0 1 0\ne 0 1 3\n"))
    assert [t.name for t in store.snapshot().edge_types] == ["EDGE0", "EDGE3"]


def test_skipped_lines(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "t 2 2\nv 0 1\nv 1 1\nv 1 2\ne 0 1\ne 0 9\nx\n")
    report = load(store, path, on_error="skip")
    assert [r.line for r in report.rejected] == [4, 6, 7]
    assert (report.vertices, report.edges) == (2, 1)


@pytest.mark.parametrize(
    ("name", "vertices", "edges", "labels"),
    [("hprd/HPRD.graph", 9460, 34998, 307), ("yeast/yeast.graph", 3112, 12519, 71)],
)
def test_real_graphs(
    store: Store, shared_data: Path, name: str, vertices: int, edges: int, labels: int
) -> None:
    report = load(store, shared_data / name)
    assert (report.vertices, report.edges) == (vertices, edges)
    assert len(store.snapshot().labels) == labels
    assert [t.name for t in store.snapshot().edge_types] == ["EDGE"]

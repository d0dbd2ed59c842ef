"""SNAP edge lists: how they are written, what is kept, and the real ones with their known counts."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from gdb.storage.write.store import Store
from tests.support.loading import load


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


def written(folder: Path, data: bytes, name: str = "list.txt") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def pairs_of(store: Store) -> list[tuple[int | str, int | str]]:
    snapshot = store.snapshot()
    _, sources, targets = snapshot.edge_ends(np.arange(snapshot.edge_count))
    pairs = zip(snapshot.user_ids(sources), snapshot.user_ids(targets), strict=True)
    return sorted(pairs, key=repr)


WRITINGS = {
    "tabs": b"1\t2\n30\t4\n",
    "spaces": b" 1   2 \n30 4\n",
    "no last line end": b"1 2\n30 4",
    "CRLF": b"1 2\r\n30 4\r\n",
    "comments": b"# a\n#b c d\n1 2\n  # 5 6\n30 4\n#",
    "blank lines": b"\n1 2\n\n \t\n30 4\n\n",
    "byte order mark": b"\xef\xbb\xbf1 2\n30 4\n",
    "signs": b"+1 2\n30 +4\n",
    "gzip": gzip.compress(b"1 2\n30 4\n"),
    "gzip in two members": gzip.compress(b"1 2\n") + gzip.compress(b"30 4\n"),
}


@pytest.mark.parametrize("data", WRITINGS.values(), ids=WRITINGS.keys())
def test_ways_to_write(store: Store, tmp_path: Path, data: bytes) -> None:
    report = load(store, written(tmp_path, data), format="snap")
    assert pairs_of(store) == [(1, 2), (30, 4)]
    assert (report.vertices, report.edges, report.rows) == (4, 2, 2)


def test_extreme_ids(store: Store, tmp_path: Path) -> None:
    low, high = -(1 << 63), (1 << 63) - 1
    load(store, written(tmp_path, b"%d %d\n0 1\n" % (low, high)))
    assert set(pairs_of(store)) == {(low, high), (0, 1)}


def test_a_list_of_more_than_one_block(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gdb.storage.importer.number_lines.CHUNK", 7)
    path = written(tmp_path, b"# comment\n" + b"".join(b"%d %d\n" % (i, i + 1) for i in range(99)))
    assert load(store, path).edges == 99
    bad = written(tmp_path, path.read_bytes() + b"x y\n7 8\n")
    report = load(store, bad, on_error="skip", type="OTHER")
    assert [(r.line, r.text) for r in report.rejected] == [(101, "x y")]
    assert report.edges == 100


def test_multi_edges_and_loops(tmp_path: Path) -> None:
    path = written(tmp_path, b"1 2\n2 1\n1 2\n3 3\n3 3\n")
    for directed, drop, edges, multi in [
        (True, False, 5, 2),
        (True, True, 3, 2),
        (False, False, 5, 3),
        (False, True, 2, 3),
    ]:
        store = Store.open(None, create=True)
        choice = "drop" if drop else "keep"
        report = load(store, path, directed=directed, multi_edges=choice)
        assert (report.edges, report.multi_edges, report.self_loops) == (edges, multi, 2)
        assert f"multi-edges: {multi} {'dropped' if drop else 'kept'}" in str(report)
    store = Store.open(None, create=True)
    assert load(store, path, self_loops="drop").edges == 3


def test_the_same_file_twice(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, b"1 2\n3 4\n")
    load(store, path)
    report = load(store, path, multi_edges="drop")
    assert (report.vertices, report.edges, report.multi_edges) == (0, 0, 2)
    report = load(store, [path, path])
    assert (report.edges, report.multi_edges) == (4, 4)
    assert store.snapshot().edge_count == 6


def test_a_second_list_makes_its_nodes(store: Store, tmp_path: Path) -> None:
    load(store, written(tmp_path, b"1 2\n"))
    report = load(store, written(tmp_path, b"2 9\n"), label="New")
    assert (report.vertices, report.edges) == (1, 1)
    assert store.snapshot().labels == ("New",)


def test_each_edge_in_both_directions_is_told(store: Store, tmp_path: Path) -> None:
    report = load(store, written(tmp_path, b"1 2\n2 1\n"), directed=False)
    assert "multi_edges='drop'" in report.warnings[0]


@pytest.mark.parametrize(
    ("name", "directed", "vertices", "edges"),
    [
        ("email-enron/email-Enron.txt.gz", False, 36692, 183831),
        ("email-enron/email-Enron.txt.gz", True, 36692, 367662),
        ("wiki-vote/wiki-Vote.txt", False, 7115, 100762),
        ("wiki-vote/wiki-Vote.txt", True, 7115, 103689),
    ],
)
def test_real_lists(
    store: Store, shared_data: Path, name: str, directed: bool, vertices: int, edges: int
) -> None:
    report = load(store, shared_data / name, directed=directed, multi_edges="drop")
    assert (report.vertices, report.edges) == (vertices, edges)
    assert not report.rejected

"""Files at the edge of their formats: white space, pipes, flipped bytes, names that look like patterns."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from gdb.errors import ImportFailed
from gdb.storage.write.store import Store
from tests.support.loading import load


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


def written(folder: Path, data: str | bytes, name: str = "a.txt") -> Path:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return folder / name


def reason_of(store: Store, path: Path, **choices: object) -> ImportFailed:
    with pytest.raises(ImportFailed) as caught:
        load(store, path, **choices)  # type: ignore[arg-type]
    assert store.snapshot().vertex_count == 0
    assert caught.value.file == str(path)
    assert caught.value.cure
    return caught.value


@pytest.mark.parametrize("end", [" ", "\n \t", "\n\n\n", "\r\n", " \n"])
def test_white_space_after_the_last_line(store: Store, tmp_path: Path, end: str) -> None:
    load(store, written(tmp_path, "1 2\n2 3" + end))
    assert (store.snapshot().vertex_count, store.snapshot().edge_count) == (3, 2)


@pytest.mark.parametrize("text", ["\n\n", "   ", "# a\n# b\n", "# a"])
def test_a_list_without_edges(store: Store, tmp_path: Path, text: str) -> None:
    assert "no data" in reason_of(store, written(tmp_path, text), format="snap").reason


def test_one_good_and_one_bad_line_are_a_list_with_a_bad_line(store: Store, tmp_path: Path) -> None:
    error = reason_of(store, written(tmp_path, "3 4\n5 x\n"))
    assert (error.line, error.text) == (2, "5 x")


def test_a_short_and_a_long_line_are_not_two_edges(store: Store, tmp_path: Path) -> None:
    error = reason_of(store, written(tmp_path, "1 2\n3\n4 5 6\n"), format="snap")
    assert (error.line, error.text) == (2, "3")


def test_lines_that_end_with_cr_alone(store: Store, tmp_path: Path) -> None:
    assert "LF" in reason_of(store, written(tmp_path, "1 2\r3 4\r")).cure


def test_a_cut_graph_whose_vertices_are_as_many_as_its_edges_were(
    store: Store, tmp_path: Path
) -> None:
    """`t 3 2` is three vertices and two edges, not graph number 3 with two vertices."""
    path = written(tmp_path, "t 3 2\nv 0 5 1\nv 1 5 1\ne 0 1\n")
    assert "t line says" in reason_of(store, path).reason


@pytest.mark.parametrize("name", ["a[1].csv", "a?.csv", "a*.csv", "it's.csv", "ä b.csv", "-x.csv"])
def test_a_name_is_no_pattern(store: Store, tmp_path: Path, name: str) -> None:
    """Beside a file that the name would match as a pattern."""
    written(tmp_path, "id\n99\n", "a1.csv")
    load(store, nodes=written(tmp_path, "id\n1\n", name))
    assert store.snapshot().user_ids(np.arange(1, dtype=np.uint32)) == [1]
    assert store.snapshot().vertex_count == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_nobody_waits(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reason_of(store, tmp_path / "pipe")


@pytest.mark.parametrize("text", ["1 2\n" * 9999, "id\n" + "\n".join(map(str, range(9999)))])
def test_an_archive_with_a_wrong_checksum(store: Store, tmp_path: Path, text: str) -> None:
    packed = bytearray(gzip.compress(text.encode()))
    packed[-6] ^= 1
    reason_of(store, written(tmp_path, bytes(packed), "a.gz"))


def test_labels_that_edges_name_are_id_spaces(store: Store, tmp_path: Path) -> None:
    """Two tables count from one each; no header names a space."""
    people = written(tmp_path, "id\n1\n2\n", "p.csv")
    cities = written(tmp_path, "id\n1\n2\n", "c.csv")
    lives = written(tmp_path, "source,target\n1,2\n2,2\n", "l.csv")
    load(store, nodes={"P": people, "C": cities}, edges={"LIVES": (lives, "P", "C")})
    snapshot = store.snapshot()
    assert (snapshot.vertex_count, snapshot.edge_count) == (4, 2)
    _, sources, targets = snapshot.edge_ends(np.arange(2))
    labels = [snapshot.groups[g].labels for g in snapshot.groups_of(targets).tolist()]
    assert labels == [("C",), ("C",)]
    assert snapshot.user_ids(targets) == [2, 2]
    assert sorted(snapshot.user_ids(sources)) == [1, 2]

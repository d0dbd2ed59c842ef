"""Edges written under a budget: the same bytes as without one, through scratch files that leave nothing behind."""

from __future__ import annotations

import os
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.errors import Cancelled, StoreError
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.disk.arrays import Shelf
from gdb.storage.disk.memory_files import MemoryFiles
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.importer import LoadProgress
from gdb.storage.write import edge_runs, edge_spool
from gdb.storage.write.build import rewrite
from gdb.storage.write.edge_runs import Pieces, Room, RunPiece, order_edges
from gdb.storage.write.edge_spool import Spool
from gdb.storage.write.store import Store
from tests.oracles.dict_graph import Naive, agree, tables
from tests.support.graph_tables import GraphTables, read_tables, write_graph
from tests.support.loading import load

TINY = 1 << 10


@contextmanager
def tiny(piece: int = 3, sample: int = 16) -> Iterator[None]:
    """Pieces of a few edges, buckets of a few bytes."""
    with (
        patch.object(edge_runs, "PIECE", piece),
        patch.object(edge_runs, "BLOCK", 2),
        patch.object(edge_runs, "LEAST_BUCKET", 16),
        patch.object(edge_runs, "SAMPLE", sample),
        patch.object(edge_runs, "MOST_BUCKETS", 3),
    ):
        yield


def contents(snapshot: Snapshot) -> tuple[object, list[bytes]]:
    """A store's manifest but for the names of its files, and the bytes of these."""
    found = snapshot.manifest
    files = [snapshot.files.read(record.name, lambda _: sys.maxsize) for record in found.files]
    rest = (found.groups, found.types, found.spaces, found.vertex_count, found.edge_count)
    return rest, files


def written(graph: GraphTables, budget: int | None, segment_edges: int = 1 << 24) -> Snapshot:
    store = Store.open(None, create=True)
    return write_graph(store, graph, budget=budget, segment_edges=segment_edges)


@given(tables(), st.integers(1, 9))
def test_a_budget_does_not_change_a_byte(graph: GraphTables, segment_edges: int) -> None:
    whole = written(graph, None, segment_edges)
    with tiny():
        few = written(graph, 200, segment_edges)
    assert contents(few) == contents(whole)


def large(seed: int, edges: int = 3_000) -> GraphTables:
    """Hubs, repeats, self-loops, and properties of every shape."""
    rng = np.random.default_rng(seed)
    ends = (rng.random((2, edges)) ** 3 * 300).astype(np.int64)
    ends[0, : edges // 10] = 7  # a row that no bucket holds
    texts = column_of([None if k % 7 == 0 else "x" * (k % 11) for k in range(edges)])
    lists = column_of([None if k % 5 == 0 else ["y"] * (k % 3) for k in range(edges)])
    columns = {"n": column_of(list(range(edges))), "t": texts, "l": lists}
    widened = {"n": column_of([0.5] * edges)}
    return GraphTables(
        (VertexTable(("A",), "", np.arange(300)),),
        (
            EdgeTable("D", True, ends[0], ends[1], columns),
            EdgeTable("D", True, ends[1], ends[0], widened),
            EdgeTable("U", False, ends[0], ends[1], columns),
            EdgeTable("V", False, ends[1], ends[0]),
        ),
    )


def test_a_large_graph_on_disk_under_a_budget(tmp_path: Path) -> None:
    graph = large(1)
    whole = written(graph, None, 1_000)
    store = Store.open(tmp_path / "s", create=True)
    with tiny(piece=200, sample=100), patch.object(edge_runs, "MOST_BUCKETS", 7):
        few = write_graph(store, graph, budget=8_000, segment_edges=1_000)
    assert contents(few) == contents(whole)
    few.check()
    agree(Naive(graph), few)
    names = {record.name for record in few.manifest.files}
    assert set(os.listdir(tmp_path / "s")) - names == {"MANIFEST", "writer.lock"}


@given(
    st.lists(st.integers(0, 12), max_size=60),
    st.integers(1, 9),
    st.booleans(),
    st.integers(8, 400),
)
def test_a_run_comes_in_order(keys: list[int], at_once: int, columns: bool, budget: int) -> None:
    with tiny():
        pieces = Pieces(Room(MemoryFiles(), budget))
        for begin in range(0, len(keys), at_once):
            some = np.array(keys[begin : begin + at_once], np.uint64)
            number = Column("int64", np.arange(begin, begin + len(some)))
            pieces.add(RunPiece(some, {"number": number} if columns else {}))
        found = list(order_edges(pieces, pieces.room))
    joined = np.concatenate([piece.keys for piece in found])
    assert joined.tolist() == sorted(keys)
    seen = [set(piece.keys.tolist()) for piece in found]
    assert sum(map(len, seen)) == len(set(keys))  # all edges of a key are in one piece
    if columns and keys:
        order = np.concatenate([piece.columns["number"].values for piece in found])
        assert order.tolist() == np.argsort(keys, kind="stable").tolist()


def test_a_run_of_one_key_is_sorted_however_large_it_is() -> None:
    with tiny():
        pieces = Pieces(Room(MemoryFiles(), 100))
        for _ in range(100):
            pieces.add(RunPiece(np.full(10, 5, np.uint64)))
        assert [len(piece) for piece in order_edges(pieces, pieces.room)] == [1000]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("budget", [None, 100])
def test_repeats_go_but_for_those_that_were_there(directed: bool, budget: int | None) -> None:
    with tiny():
        edges = Spool("T", directed, Room(MemoryFiles(), budget))
        old = np.array([[1, 1, 2], [2, 2, 1]], np.uint32)
        new = np.array([[1, 3, 3, 2, 4], [2, 3, 3, 1, 5]], np.uint32)
        edges.add_edges(old[0], old[1], {})
        weights = column_of([1, 2, 3, 4, 5])
        edges.add_edges(new[0], new[1], {"w": weights})
        kept = edge_spool.without_repeats(edges, 3)
        ends = np.concatenate([piece.keys for piece in kept])
        values = [v for piece in kept for v in piece.columns["w"].to_list()]
    found = sorted(
        ((int(k >> np.uint64(32)), int(k & np.uint64(0xFFFFFFFF))), v is not None, v or 0)
        for k, v in zip(ends, values, strict=True)
    )
    first = [((1, 2), False, 0), ((1, 2), False, 0), ((2, 1) if directed else (1, 2), False, 0)]
    assert found == [*first, ((3, 3), True, 2), ((4, 5), True, 5)]
    assert kept.loops == 1


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s", create=True)
    before = contents(write_graph(store, large(2, 100)))
    names = set(os.listdir(tmp_path / "s"))
    real = os.write

    def full(descriptor: int, data: memoryview) -> int:
        if "scratch-" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(28, os.strerror(28))
        return real(descriptor, data)

    with (
        tiny(),
        patch.object(os, "write", full),
        pytest.raises(StoreError, match=r"temporary file in .*: No space left on device") as caught,
    ):
        write_graph(store, large(3, 100), budget=TINY)
    assert "free space" in caught.value.cure
    assert set(os.listdir(tmp_path / "s")) == names
    assert contents(store.snapshot()) == before


def test_a_stray_scratch_file_is_swept(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s", create=True)
    (tmp_path / "s" / "scratch-0123456789abcdef.tmp").write_bytes(b"left by a killed writer")
    write_graph(store, large(4, 10))
    assert not list((tmp_path / "s").glob("scratch-*"))


def test_room_is_given_back() -> None:
    room = Room(MemoryFiles(), 1600)
    pieces = Pieces(room)
    pieces.add(RunPiece(np.zeros(10, np.uint64)))
    pieces.close()
    other = Pieces(room)
    other.add(RunPiece(np.zeros(20, np.uint64)))
    assert other._scratch is None
    other.add(RunPiece(np.zeros(20, np.uint64)))
    assert other._scratch is not None


@pytest.mark.parametrize("budget", [None, 500])
@pytest.mark.parametrize("drop", [True, False])
def test_an_import_under_a_budget(tmp_path: Path, budget: int | None, drop: bool) -> None:
    """Text, integers and an edge list, in a store that holds edges already: the counts and the bytes are the same."""
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 40, (150, 2)).tolist()
    (tmp_path / "n.csv").write_text("id:ID\n" + "".join(f"{k}\n" for k in range(40)))
    (tmp_path / "e.csv").write_text(
        ":START_ID,:END_ID,w:int,l:string[]\n" + "".join(f"{a},{b},{a},x;y\n" for a, b in ends)
    )
    (tmp_path / "i.csv").write_text("source,target,w\n" + "".join(f"{a},{b},7\n" for a, b in ends))
    (tmp_path / "e.txt").write_text("".join(f"{a + 20}\t{b + 20}\n" for a, b in ends))
    choice: Literal["drop", "keep"] = "drop" if drop else "keep"
    reports = []

    def made(name: str, memory: int | None) -> Snapshot:
        store = Store.open(tmp_path / name, create=True)
        for directed in (True, False):
            how: dict[str, Any] = {"type": f"T{directed}", "directed": directed, "memory": memory}
            nodes = tmp_path / "n.csv" if directed else None
            for files in ([tmp_path / "e.csv", tmp_path / "i.csv"], tmp_path / "e.txt"):
                found = load(store, files, nodes=nodes, multi_edges=choice, **how)
                reports.append((found.vertices, found.edges, found.multi_edges, found.self_loops))
                nodes = None
        names = {record.name for record in store.snapshot().manifest.files}
        left = set(os.listdir(tmp_path / name)) - names
        assert left == {
            "MANIFEST",
            "readers.lock",
            "writer.lock",
        }  # it replaced what it had written
        return store.snapshot()

    whole = made("whole", None)
    with tiny(piece=50, sample=100) if budget else nullcontext():
        few = made("few", budget)
    half = len(reports) // 2
    assert reports[:half] == reports[half:]
    assert contents(few) == contents(whole)
    distinct = {(a, b) for a, b in ends} | {(a + 20, b + 20) for a, b in ends}
    if drop:
        assert sum(r[1] for r in reports[: half // 2]) == len(distinct)
    again = rewrite(Store.open(tmp_path / "few", create=False), few, None, budget)
    agree(Naive(read_tables(few)), again)


@pytest.mark.parametrize("packed", [False, True])
def test_columns_of_nodes_lie_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """Of several labels and files, with nulls, texts and lists: the same bytes as in memory."""
    monkeypatch.setattr(edge_runs, "LEAST_FILED", 1)
    for part in range(2):
        rows = (
            f"{k},L{k % 3};M,{'' if k % 5 else k * 7},{k / 3},text {k},a{k};b,{k % 2 == 0}\n"
            for k in range(part * 300, part * 300 + 300)
        )
        head = "id:ID,:LABEL,i:int,f:double,s:string,l:string[],b:boolean\n"
        (tmp_path / f"n{part}.csv").write_text(head + "".join(rows))
    put, found = Shelf.put, list[int]()

    def counted(self: Shelf, data: np.ndarray) -> np.ndarray:
        found.append(len(data))
        return put(self, data)

    monkeypatch.setattr(Shelf, "put", counted)
    stores = []
    for name, memory in (("whole", None), ("few", 1)):
        store = Store.open(tmp_path / name, create=True)
        nodes = [tmp_path / f"n{part}.csv" for part in range(2)]
        load(store, nodes=nodes, memory=memory, packed=packed)
        assert bool(found) == (memory is not None)
        stores.append(store.snapshot())
        names = {record.name for record in stores[-1].manifest.files}
        assert set(os.listdir(tmp_path / name)) - names == {"MANIFEST", "writer.lock"}
    assert contents(stores[0]) == contents(stores[1])
    assert len(found) > 50
    again = rewrite(Store.open(tmp_path / "few", create=False), stores[1], None, 1)
    assert read_tables(again).vertices[0].columns["s"].to_list()[0] is not None


def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("source,target\n" + "".join(f"{k % 17},{k % 13}\n" for k in range(500)))
    for after in range(0, 60, 5):
        store = Store.open(tmp_path / str(after), create=True)
        cancel, steps = threading.Event(), iter(range(1000))

        def progress(at: LoadProgress, steps: Iterator[int] = steps, after: int = after) -> None:
            if next(steps) == after:
                cancel.set()  # noqa: B023 (called in this turn only)

        with tiny(piece=50, sample=100), suppress(Cancelled):
            load(store, path, memory=500, progress=progress, cancel=cancel)
        names = {record.name for record in store.snapshot().manifest.files}
        assert set(os.listdir(tmp_path / str(after))) - names == {"MANIFEST", "writer.lock"}
        assert store.snapshot().edge_count in (0, 500)
        if cancel.is_set():
            assert store.snapshot().edge_count == 0


def test_a_sample_holds_no_piece() -> None:
    # a slice of each piece would: then a sort of runs that lie on disk had all of their keys in memory
    pieces, size = Pieces(Room(MemoryFiles(), 1)), 1 << 17
    for _ in range(20):
        pieces.add(RunPiece(np.arange(size, dtype=np.uint64)))
    tracemalloc.start()
    try:
        sample = pieces.sample()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pieces.close()
    assert len(sample) >= edge_runs.SAMPLE
    assert peak < 6 * 8 * size

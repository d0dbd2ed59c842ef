"""Whatever graph is written, the snapshot says exactly that graph: against plain dicts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from gdb.errors import ImportFailed
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.format.direction import Direction
from gdb.storage.write.store import Store
from tests.oracles.dict_graph import Naive, agree, tables
from tests.support.graph_tables import GraphTables, read_tables, write_graph


@given(tables())
def test_a_store_in_memory_holds_the_graph(graph: GraphTables) -> None:
    snapshot = write_graph(Store.open(None, create=True), graph)
    agree(Naive(graph), snapshot)
    snapshot.check()


@given(tables())
def test_a_store_on_disk_holds_the_graph_in_a_new_process_too(graph: GraphTables) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "s", create=True)
        write_graph(store, graph)
        store.close()
        again = Store.open(Path(folder) / "s", create=False, read_only=True)
        agree(Naive(graph), again.snapshot())
        again.snapshot().check()
        again.close()


@given(tables())
def test_small_segments_hold_the_same_graph(graph: GraphTables) -> None:
    for segment_edges in (1, 3):
        store = Store.open(None, create=True)
        snapshot = write_graph(store, graph, segment_edges=segment_edges)
        for part in snapshot.stats().parts:
            assert part.segments == max(1, -(-part.edges // segment_edges))
        agree(Naive(graph), snapshot)
        snapshot.check()


@given(tables())
def test_reading_back_and_writing_again_changes_nothing(graph: GraphTables) -> None:
    store = Store.open(None, create=True)
    first = write_graph(store, graph)
    second = write_graph(store, read_tables(first))
    agree(Naive(graph), second)
    agree(Naive(read_tables(second)), first)


def test_appending_by_read_and_write() -> None:
    store = Store.open(None, create=True)
    old = GraphTables(
        (VertexTable(("A",), "", np.array([1, 2]), {"p": column_of([1, None])}),),
        (EdgeTable("T", True, np.array([0]), np.array([1]), {"w": column_of(["x"])}),),
    )
    write_graph(store, old)
    read = read_tables(store.snapshot())
    more = GraphTables(
        (*read.vertices, VertexTable(("A",), "", np.array([3]), {"p": column_of([0.5])})),
        (*read.edges, EdgeTable("T", True, np.array([2, 2]), np.array([0, 2]))),
    )
    snapshot = write_graph(store, more)
    agree(Naive(more), snapshot)
    assert [group.keys for group in snapshot.groups] == [{"p": "float64"}]
    assert snapshot.version == 2


def test_an_edge_type_without_edges_is_kept() -> None:
    none = np.zeros(0, np.int64)
    graph = GraphTables(edges=(EdgeTable("D", True, none, none), EdgeTable("U", False, none, none)))
    snapshot = write_graph(Store.open(None, create=True), graph)
    assert [t.name for t in snapshot.edge_types] == ["D", "U"]
    agree(Naive(graph), snapshot)
    snapshot.check()


def test_a_segment_cut_inside_a_hub_reads_as_one_row() -> None:
    hub = np.zeros(1000, np.int64)
    graph = GraphTables(
        (VertexTable((), "", np.arange(1001)),),
        (EdgeTable("T", True, hub, np.arange(1, 1001)),),
    )
    snapshot = write_graph(Store.open(None, create=True), graph, segment_edges=300)
    assert [part.segments for part in snapshot.stats().parts] == [4, 4]
    out = snapshot.adjacency((), Direction.OUT)
    assert out.rows == 1
    assert out.max_degree == 1000
    agree(Naive(graph), snapshot)


V = VertexTable((), "", np.array([1, 2]))


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (GraphTables((VertexTable((), "", np.array([4, 4])),)), "4 occurs twice"),
        (GraphTables((VertexTable((), "", ["a", "b", "a"]),)), "'a' occurs twice"),
        (GraphTables((V, VertexTable(("L",), "", np.array([2])))), "2 occurs twice"),
        (GraphTables((V, VertexTable((), "", ["x"]))), "both numbers and strings"),
        (GraphTables((V,), (EdgeTable("T", True, np.array([0]), np.array([2])),)), "missing"),
        (GraphTables((V,), (EdgeTable("T", True, np.array([-1]), np.array([0])),)), "missing"),
        (
            GraphTables(
                (V,),
                tuple(EdgeTable("T", d, np.array([0]), np.array([1])) for d in (True, False)),
            ),
            "directed in one place",
        ),
        (
            GraphTables((VertexTable((), "", np.array([1]), {"p": column_of([1, 2])}),)),
            "2 values for 1 rows",
        ),
        (
            GraphTables(
                tuple(
                    VertexTable((), "", np.array([n]), {"p": column_of([value])})
                    for n, value in enumerate([1, "x"])
                )
            ),
            "int64, string",
        ),
        (GraphTables((VertexTable(("\ud800",), "", np.array([1])),)), "not valid Unicode"),
        (GraphTables((VertexTable((), "", ["\ud800"]),)), "not valid Unicode"),
    ],
)
def test_tables_that_contradict_themselves_are_refused(graph: GraphTables, says: str) -> None:
    store = Store.open(None, create=True)
    before = write_graph(store, GraphTables((V,)))
    with pytest.raises(ImportFailed, match=says):
        write_graph(store, graph)
    assert store.snapshot() is before  # nothing of it was stored


def test_progress_that_raises_aborts_and_leaves_nothing(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop_at_the_end(step: str, done: float) -> None:
        if step == "committing":
            raise Stop

    store = Store.open(tmp_path / "s", create=True)
    before = sorted(path.name for path in (tmp_path / "s").iterdir())
    with pytest.raises(Stop):
        write_graph(store, GraphTables((V,)), progress=stop_at_the_end)
    assert store.snapshot().version == 0
    after = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert [name for name in after if name != "writer.lock"] == [
        name for name in before if name != "writer.lock"
    ]

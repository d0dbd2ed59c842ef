"""All edges a piece at a time are all edges: base and delta, plain and packed, however small the pieces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.errors import CorruptStore
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph import part_reading
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write import snapshot_tables
from gdb.storage.write.commit import commit
from gdb.storage.write.compaction import compact
from gdb.storage.write.store import Store
from gdb.storage.write.transaction import Changes
from tests.corrupt import sealed
from tests.support.graph_tables import GraphTables, write_graph

COUNT, EDGES = 30, 400


def base() -> GraphTables:
    rng = np.random.default_rng(6)
    ends = rng.integers(0, COUNT - 4, (6, EDGES))
    ends[0, :90] = 3  # a row over several segments
    ends[1, :30] = 5  # as equal keys over several pieces
    columns = {
        "n": Column("int64", np.arange(EDGES)),
        "s": column_of([f"é{k}" if k % 3 else None for k in range(EDGES)]),
        "a": column_of([k if k % 2 else "x" for k in range(EDGES)], "any"),
        "l": column_of([[k, 1] if k % 5 else None for k in range(EDGES)]),
    }
    return GraphTables(
        (VertexTable(("A",), "", np.arange(COUNT), {}),),
        (
            EdgeTable("D", True, ends[0], ends[1], columns),
            EdgeTable("U", False, ends[2], ends[3], columns),
            EdgeTable("Same", True, ends[4], ends[5], {}),
        ),
    )


def change(store: Store) -> None:
    """Added among equal ones, before the first and behind the last; removed; patched; a new type."""
    rng = np.random.default_rng(7)
    vids = np.arange(COUNT, dtype=np.uint32)
    with store.writer():
        changes = Changes(store.snapshot())
        by_id = changes.find(list(range(COUNT)), "").astype(np.uint32)
        some = rng.choice(by_id, (2, 25))
        some[:, :9] = by_id[[[3], [5]]]
        some[:, 9] = vids[0]
        some[:, 10] = vids[-1]
        values = {"n": column_of([0.5] * 25), "new": column_of(["w"] * 25)}
        for name, directed in (("D", True), ("U", False), ("New", True)):
            changes.add_edges(name, directed, some[0], some[1], values)
        gone = rng.choice(by_id, (2, 200))
        changes.remove_edges("D", *gone)
        changes.remove_edges("U", *gone)
        one = by_id[[3]], by_id[[5]]
        changes.set_edges("D", *one, {"s": column_of(["set"])})
        commit(store, changes)


@pytest.fixture(params=[(False, False), (True, False), (False, True), (True, True)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    packed, changed = request.param
    found = Store.open(tmp_path, create=True)
    write_graph(found, base(), segment_edges=70, packed=packed)
    if changed:
        change(found)
    return found


def whole(snapshot: Snapshot, number: int) -> list[tuple[object, ...]]:
    """The edges of a type by their ids."""
    edge_type = snapshot.edge_types[number]
    eids = np.arange(edge_type.first_eid, edge_type.first_eid + edge_type.edge_count)
    _, sources, targets = snapshot.edge_ends(eids)
    columns = [snapshot.edge_column(edge_type.name, key) for key in sorted(edge_type.keys)]
    values = [column.to_list() for column in columns if column is not None]
    return list(zip(sources.tolist(), targets.tolist(), *map(repr_all, values), strict=True))


def repr_all(values: Sequence[object]) -> list[str]:
    return list(map(repr, values))


@pytest.mark.parametrize("most", [1, 2, 7, 64, 10**6])
def test_pieces_are_all_edges_in_the_order_of_their_ids(store: Store, most: int) -> None:
    snapshot = store.snapshot()
    for number, edge_type in enumerate(snapshot.edge_types):
        found: list[tuple[object, ...]] = []
        for piece in snapshot.edge_pieces(edge_type.name, most):
            ends = (piece.keys >> np.uint64(32)).tolist(), piece.keys.astype(np.uint32).tolist()
            assert {k: c.kind for k, c in piece.columns.items()} == dict(edge_type.keys)
            values = [repr_all(piece.columns[key].to_list()) for key in sorted(edge_type.keys)]
            found += zip(*ends, *values, strict=True)
        assert found == whole(snapshot, number)


def test_repeats_are_counted_over_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = store.snapshot()
    for number, edge_type in enumerate(snapshot.edge_types):
        pairs = [edge[:2] for edge in whole(snapshot, number)]
        wanted = len(pairs) - len(set(pairs))
        for most in (1, 3, 1000):
            monkeypatch.setattr(snapshot_tables, "PIECE", most)
            assert snapshot_tables.repeats_of(snapshot)[edge_type.name] == wanted


def test_a_compaction_never_reads_a_part_as_a_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gdb.connect(store.path, read_only=True) as db:
        queries = [f"MATCH (a)-[r:{t}]-(b) RETURN id(a), id(b), r.n, r.s" for t in ("D", "U")]
        right = [sorted(map(repr, db.execute(query).fetchall())) for query in queries]
    before = store.snapshot().edge_count

    def never(*_: object) -> None:
        raise AssertionError("a part was read as a whole")

    with monkeypatch.context() as patch:
        patch.setattr(part_reading, "read", never)
        patch.setattr(snapshot_tables, "PIECE", 50)
        packed = store.snapshot().manifest.packed
        compact(store, packed=not packed)
    assert store.snapshot().edge_count == before
    with gdb.connect(store.path, read_only=True) as db:
        db.check()
        assert [sorted(map(repr, db.execute(query).fetchall())) for query in queries] == right


def test_a_part_that_one_end_does_not_know_is_not_written_anew(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    graph = base()
    bare = [EdgeTable(t.type, t.directed, t.sources, t.targets, {}) for t in graph.edges]
    write_graph(store, GraphTables(graph.vertices, tuple(bare)))
    store.close()
    body = sealed.body_of(tmp_path)
    assert sealed.value_at(body, ("types", 2, "directed")) is False
    for at in (("edge_count",), ("types", 2, "edge_count")):
        count = sealed.value_at(body, at)
        assert isinstance(count, int)
        body = sealed.changed(body, at, count - 1)
    sealed.seal_json(tmp_path, body)
    store = Store.open(tmp_path, create=False)
    with pytest.raises(CorruptStore, match="is not symmetric"):
        compact(store, packed=True)


@pytest.mark.parametrize(("value", "how"), [(0xFFFF, "no vertex|not there"), (0, "not sorted")])
def test_neighbours_that_are_nonsense_are_not_written_anew(
    tmp_path: Path, value: int, how: str
) -> None:
    store = Store.open(tmp_path, create=True)
    write_graph(store, base())
    store.close()
    (name, content), *_ = sealed.segments(tmp_path)
    entry = next(e for e in sealed.entries(content) if e.kind == 5)
    at = entry.offset + (entry.length - 4 if value else 4 * 60)
    changed = content[:at] + value.to_bytes(4, "little") + content[at + 4 :]
    sealed.seal_file(tmp_path, name, changed)
    store = Store.open(tmp_path, create=False)
    with pytest.raises(CorruptStore, match=how):
        compact(store, packed=True)

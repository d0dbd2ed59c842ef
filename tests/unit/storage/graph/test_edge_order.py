"""Edges at vertices and between them, found row by row in base and delta, are those of the parts put together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import gdb
from gdb.storage.format.direction import Direction
from gdb.storage.graph import pcsr
from gdb.storage.graph.edge_order import positions
from gdb.storage.graph.snapshot import Snapshot
from tests.support.effort import share

NODES = 12


def changed(seed: int) -> tuple[gdb.Database, Snapshot, Snapshot]:
    """A store with a base and a delta, and its snapshot twice: what one puts together the other has not."""
    draw = np.random.default_rng(seed)
    db = gdb.connect()

    def some(count: int) -> tuple[list[int], list[int]]:
        return draw.integers(0, NODES, count).tolist(), draw.integers(0, NODES, count).tolist()

    with db.transaction() as tx:
        tx.add_nodes("P", range(NODES))
        tx.add_relationships("R", *some(30), {"w": range(30)})
        tx.add_relationships("U", *some(20), {"w": range(20)}, directed=False)
    db.compact()
    if seed % 3:
        with db.transaction() as tx:
            tx.add_relationships("R", *some(9), {"w": range(100, 109), "v": [1.5] * 9})
            tx.add_relationships("U", *some(9), {"w": range(100, 109)}, directed=False)
            tx.add_relationships("N", *some(5))
            tx.remove_relationships("R", *some(20))
            tx.remove_relationships("U", *some(20))
            tx.set_relationships("R", *some(20), {"w": range(200, 220)})
            if seed % 3 == 2:
                tx.remove_nodes([3, 7], detach=True)
                tx.add_nodes("P", [100])
                tx.add_relationships("R", [100, 0, 100], [0, 100, 100])
    now = db._store.snapshot()
    apart = replace(now.delta, types=dict(now.delta.types))  # else it takes the partitions of `now`
    other = Snapshot(now.files, now.manifest, before=now, delta=apart)
    return db, now, other


@pytest.mark.parametrize("seed", range(share(12)))
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("types", [(), ("R",), ("U",), ("N", "R"), ("none",)])
def test_as_put_together(seed: int, direction: Direction, types: tuple[str, ...]) -> None:
    db, whole, rows = changed(seed)
    every = np.arange(whole.vertex_count, dtype=np.uint32)
    if types == ("none",):
        assert not len(rows.incident(every, types, direction)[0])
        return
    view, eids = whole.adjacency(types, direction), whole.eids(types, direction)
    expected: Counter[tuple[int, int, int]] = Counter()
    for vid in every.tolist():
        row = int(view.rows_of(np.array([vid], np.uint32))[0])
        for place in range(view.offsets[row], view.offsets[row + 1]) if row >= 0 else ():
            expected[vid, int(view.neighbours[place]), int(eids[place])] += 1
    at, others, found = rows.incident(every, types, direction)
    assert Counter(zip(at.tolist(), others.tolist(), found.tolist(), strict=True)) == expected
    few = every[[1, 4, 9]]
    at, others, found = rows.incident(few, types, direction)
    mine = Counter(zip(few[at].tolist(), others.tolist(), found.tolist(), strict=True))
    assert mine == Counter({k: n for k, n in expected.items() if k[0] in few})
    sources, targets = np.repeat(every, len(every)), np.tile(every, len(every))
    pair, found = rows.between(sources, targets, types, direction)
    pairs = zip(sources[pair].tolist(), targets[pair].tolist(), found.tolist(), strict=True)
    assert Counter(pairs) == expected
    counts = Counter((source, target) for source, target, _ in expected.elements())
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        assert rows.count_between(source, target, types, direction) == counts[source, target]
    db.close()


@pytest.mark.parametrize("seed", range(6))
def test_numbers_and_values(seed: int) -> None:
    db, whole, rows = changed(seed)
    for one in whole.edge_types:
        numbers = np.arange(one.edge_count, dtype=np.int64)
        eids = numbers + one.first_eid
        handles = rows.edge_handles(one.name, eids)
        assert len(set(handles.tolist())) == len(handles)
        assert rows.edges_called(one.name, handles).tolist() == eids.tolist()
        part = whole.partitions.part(one.name, Direction.OUT if one.directed else Direction.ANY)
        keys = pcsr.keys_of_part(part)
        if not one.directed:
            keys = keys[(keys >> np.uint64(32)) <= (keys & np.uint64(0xFFFFFFFF))]
        _, sources, targets = rows.edge_ends(eids)
        assert pcsr.keys_of(sources, targets).tolist() == keys.tolist()
        for key in one.keys:
            column = whole.edge_column(one.name, key)
            assert column is not None
            for chosen in (eids, eids[::7], eids[5:4]):
                values = rows.edge_values(one.name, key, chosen)
                assert values is not None
                assert values.to_list() == column.take(chosen - one.first_eid).to_list()
    assert rows.edges_called("R", np.array([-10_000])).tolist() in ([-1], [-10_000])
    db.close()


@pytest.mark.parametrize("side", ["left", "right"])
def test_positions_are_those_of_a_search_in_all_keys(side: str) -> None:
    draw = np.random.default_rng(1)
    keys = pcsr.keys_of(*(draw.integers(2, 9, 40).astype(np.uint32) for _ in range(2)))
    keys.sort()
    every = np.arange(12, dtype=np.uint32)
    wanted = pcsr.keys_of(np.repeat(every, 12), np.tile(every, 12))
    for some in (keys, keys[:0], keys[(keys >> np.uint64(32)) != 5]):
        found = positions(pcsr.build(some), wanted, side)  # type: ignore[arg-type]
        assert found.tolist() == np.searchsorted(some, wanted, side).tolist()  # type: ignore[call-overload]

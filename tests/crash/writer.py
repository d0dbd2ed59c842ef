"""The process that `test_kill` kills: writes generation after generation over a store until it dies.

Usage: writer.py FOLDER FIRST. Prints the number of each generation before it is written, and again
with a `+` once its commit was acknowledged.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

VERTICES, EDGES, SEGMENT_EDGES = 2_000, 20_000, 4_000


def generation(number: int) -> GraphTables:
    """A graph with its number in every part of it."""
    rng = np.random.default_rng(number)
    ids = np.arange(VERTICES) + number * VERTICES
    owner = {"generation": Column("int64", np.full(VERTICES, number))}
    ends = rng.integers(0, VERTICES, (4, EDGES))
    weight = {"w": column_of([f"{number}"] * EDGES)}
    return GraphTables(
        (VertexTable(("V",), "", ids, owner),),
        (EdgeTable("D", True, ends[0], ends[1], weight), EdgeTable("U", False, ends[2], ends[3])),
    )


def generation_of(snapshot: Snapshot) -> int:
    """Which generation a store holds; AssertionError where it is a mixture or damaged."""
    snapshot.check()
    column = snapshot.vertex_column(0, "generation")
    assert column is not None
    number = int(column.values[0])
    assert (column.values == number).all()
    weights = snapshot.edge_column("D", "w")
    assert weights is not None
    assert set(weights.to_list()) == {str(number)}
    vids = np.arange(snapshot.vertex_count, dtype=np.uint32)
    ids = np.array(snapshot.user_ids(vids))
    assert sorted(ids) == list(range(number * VERTICES, (number + 1) * VERTICES))
    wanted = generation(number)
    for edges in wanted.edges:
        known = next(t for t in snapshot.edge_types if t.name == edges.type)
        eids = np.arange(known.first_eid, known.first_eid + known.edge_count)
        _, sources, targets = snapshot.edge_ends(eids)
        found = np.stack([ids[sources], ids[targets]]) - number * VERTICES
        pairs = np.stack([edges.sources, edges.targets])
        if not edges.directed:
            found, pairs = np.sort(found, axis=0), np.sort(pairs, axis=0)
        assert sorted(zip(*found.tolist(), strict=True)) == sorted(
            zip(*pairs.tolist(), strict=True)
        )
    return number


def main(folder: Path, first: int) -> None:
    store = Store.open(folder, create=True)
    number = first
    while True:
        print(number, flush=True)
        write_graph(store, generation(number), segment_edges=SEGMENT_EDGES)
        print(f"{number}+", flush=True)
        number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

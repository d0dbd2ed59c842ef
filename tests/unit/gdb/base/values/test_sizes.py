"""What values count against the memory of a query."""

from __future__ import annotations

import numpy as np

import gdb
from gdb.base.allowance import Allowance
from gdb.base.values.kinds import Row
from gdb.base.values.sizes import Pile, size_of
from gdb.physical.rows.stored_nodes import Batch, StoredNode


def stored() -> StoredNode:
    with gdb.connect() as db, db.snapshot() as held:
        batch = Batch(held._snapshot(), 0, np.zeros(1, np.uint32))
    return StoredNode(frozenset(), "", batch)


def test_a_node_of_the_store_counts_where_it_is_read_only() -> None:
    assert size_of([stored()]) == size_of([None])


def test_a_batch_of_rows_counts_as_each_row_by_itself() -> None:
    numbers: Row = {"a": 1, "b": 2.5, "c": None}
    rows: list[Row] = [numbers, {**numbers, "d": "x" * 40}, {"n": stored()}]
    for row in rows:
        named, unnamed = Pile(Allowance(), "rows"), Pile(Allowance(), "rows")
        named.batch([row], 0)
        unnamed.batch([tuple(row.values())], 0)
        assert named.size == size_of(row) + 8
        assert unnamed.size == size_of(tuple(row.values())) + 8

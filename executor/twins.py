"""Rows that restrictions left out are written back (design.md §3: restrictions never change what a
query returns)."""

from __future__ import annotations

import numpy as np

from gdb.executor.embeddings import Embeddings
from gdb.executor.plan import Twin


def expand(table: Embeddings, twins: tuple[Twin, ...]) -> Embeddings:
    """Each row once for every automorphism in `twins`; the table itself where there are none."""
    if not twins:
        return table
    n, copies = len(table), len(twins)
    vids = np.empty((n * copies, table.vids.shape[1]), np.uint32, order="F")
    bound = table.eids.strides[0] != 0  # else all are -1, and no memory is behind them
    if bound:
        eids = np.empty((n * copies, table.eids.shape[1]), np.int64, order="F")
    else:
        eids = np.broadcast_to(np.int64(-1), (n * copies, table.eids.shape[1]))
    for k, twin in enumerate(twins):
        for column, source in enumerate(twin.vertices):
            vids[k * n : (k + 1) * n, column] = table.vids[:, source]
        for column, source in enumerate(twin.edges if bound else ()):
            eids[k * n : (k + 1) * n, column] = table.eids[:, source]
    return Embeddings(vids, eids)

"""Scratch memory of a tail's nodes on a GPU, one part for each warp."""

from __future__ import annotations

import numpy as np

from gdb.storage.graph.adjacency import I64

from ..nest.counters import counter_bytes
from ..nest.prepare import Prepared
from ..table_fields import NodeField, Role
from . import layout

_ALIGNED = 256  # bytes to which each warp's and each node's scratch is rounded up


def places(prepared: Prepared) -> tuple[I64, I64, int]:
    """Where in a warp's scratch each node's begins, i64[nodes], and where the sums that it adds to its parent's
    vertices (-1: it adds none), i64[nodes]; the bytes of a warp's."""
    vids, nodes = prepared.vids, prepared.tables.nodes
    offsets, total = np.zeros(len(nodes), np.int64), 0
    spreads = np.full(len(nodes), -1, np.int64)
    for c, row in enumerate(nodes):
        role, parent = int(row[NodeField.ROLE]), int(row[NodeField.PARENT])
        size = 0
        if role == Role.MARK:
            size = 4 * (vids // 32 + 1)
        elif role == Role.PUSHED:
            size = _counters(prepared, row) if row[NodeField.PAIRED] else 12 * vids
        elif role == Role.INNER and parent >= 0:
            size = 8 * vids
        offsets[c] = total
        total += _rounded(size)
        if row[NodeField.SPREADS]:
            spreads[c] = total
            total += _rounded(8 * vids)
    return offsets, spreads, total


def _counters(prepared: Prepared, row: I64) -> int:
    """Bytes of the counters of a PAIRED root, and of the list of what is reached before them."""
    vids = prepared.vids
    width = counter_bytes(prepared, int(row[NodeField.PUSHER]))
    return 4 * (vids // layout.FAR_COST) + width * (vids + 4)


def _rounded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED

"""Counters of how often a vertex is reached from a list: no more often than the list has elements, so as wide as these
need."""

from __future__ import annotations

from gdb.base.machine.compile import compiled

from ..table_fields import LevelField, NodeField
from .nest import Kind
from .prepare import Prepared

_MOST = (1 << 32) - 1


@compiled
def width_for(count: int) -> int:
    """Bytes of an unsigned number up to this one: 1, 2 or 4."""
    return 1 if count < 1 << 8 else 2 if count < 1 << 16 else 4


def counter_bytes(prepared: Prepared, node: int) -> int:
    """Bytes of a counter of how often a vertex is reached from the list of a node of the tail: 1, 2 or 4."""
    level = prepared.tables.levels[prepared.tables.nodes[node, NodeField.LEVEL]]
    if level[LevelField.IS_EDGE]:  # of parallel edges each may count
        return width_for(_MOST)
    if level[LevelField.BASE] == Kind.ROW:
        return width_for(prepared.views[level[LevelField.BASE_A]].max_degree)
    return width_for(prepared.vids)

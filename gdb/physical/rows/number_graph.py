"""The graph as rows of numbers have it: a node is its vid, a relationship its edge id, a path the vid at which it
begins and the edge ids along it.

What `gdb.physical.rows.row_program` takes from a graph is here without an object for any element
(`gdb.physical.rows.object_graph` has these).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from gdb.storage.graph.single_look_ups import GroupLookUp

if TYPE_CHECKING:
    from gdb.base.values.elements import NodeValue
    from gdb.base.values.kinds import Row
    from gdb.storage.columns.model import I64, U32
    from gdb.storage.graph.snapshot import Snapshot

Edges = int | tuple[int, ...]
"""An edge id, or those along a path."""


class NumberGraph:
    """See the module. most : rows that one row becomes up to which it goes on by itself: with 1,100 ends of paths rows
    take 4 ms, columns 10."""

    most = 2_500

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._groups: GroupLookUp | None = None

    def node(self, vid: int, _: int | None = None) -> int:
        """A node."""
        return vid

    def nodes(self, vids: U32) -> list[int]:
        """Nodes."""
        found: list[int] = vids.tolist()
        return found

    def vid(self, node: int) -> int:
        """The vid of a node."""
        return node

    def vids(self, nodes: Sequence[int]) -> U32:
        """The vids of nodes, u32[n]."""
        return np.array(nodes, np.uint32)

    def labels_of(self, node: int) -> tuple[str, ...]:
        """The labels of a node, ascending."""
        groups = self.snapshot.groups
        if self._groups is None:
            self._groups = GroupLookUp.of(dict(enumerate(groups)))
        if self._groups is None:  # of very many ranges
            return tuple(sorted(groups[int(self.snapshot.groups_of(self.vids([node]))[0])].labels))
        return tuple(sorted(groups[self._groups.find(node)].labels))

    def relationships(self, eids: I64) -> list[int]:
        """Relationships."""
        found: list[int] = eids.tolist()
        return found

    def listed(self, relationships: Sequence[int]) -> tuple[int, ...]:
        """What a row has for the relationships of a path."""
        return tuple(relationships)

    def path(self, vertices: Sequence[int], edges: Sequence[Edges]) -> tuple[int, ...]:
        """What a row has for a path."""
        along = (eid for edge in edges for eid in (edge if isinstance(edge, tuple) else (edge,)))
        return vertices[0], *along

    def flush(self) -> None:
        """It has no changes."""

    def release(self) -> None:
        """It has no elements."""


def node_of(row: Row, name: str) -> NodeValue:
    """What a row has for a node: an object, or a number as if it were one."""
    return cast("NodeValue", row[name])

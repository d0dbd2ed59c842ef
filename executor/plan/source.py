"""The graph as an executor reads it: the part of `gdb.storage.graph.snapshot.Snapshot` that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, Adjacency
from gdb.storage.graph.degree_order import NamedType


class GraphSource(Protocol):
    """A snapshot, as executors see it."""

    @property
    def vertex_count(self) -> int:
        """Number of vids, removed vertices included: vids are 0 to vertex_count - 1."""
        ...

    @property
    def edge_count(self) -> int:
        """Number of edge ids, over all types."""
        ...

    @property
    def edge_types(self) -> Sequence[NamedType]:
        """The edge types, in the order of their edge ids."""
        ...

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """Neighbour lists of the given types (() = all); the same object for the same question."""
        ...

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        """Edge id of every position of that adjacency, i64[m]."""
        ...

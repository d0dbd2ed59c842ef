"""The adjacencies of a stage, each opened when it is first read.

A nest whose tail has trees names the relationships of each of them from both ends, for passes over parts of a graph and
for a GPU; the CPU's kernel nearly always reads one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from gdb.errors import InternalError
from gdb.storage.graph.adjacency import Adjacency

from ..plan.plan import ViewSpec
from ..plan.source import GraphSource


class Views(Sequence[Adjacency]):
    """The adjacencies of some specs in a graph, by number."""

    __slots__ = ("_graph", "_opened", "_specs")

    def __init__(self, specs: Sequence[ViewSpec], graph: GraphSource) -> None:
        self._specs, self._graph = specs, graph if specs else None
        self._opened: list[Adjacency | None] = [None] * len(specs)

    def __len__(self) -> int:
        return len(self._opened)

    @overload
    def __getitem__(self, k: int) -> Adjacency: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Adjacency, ...]: ...
    def __getitem__(self, k: int | slice) -> Adjacency | tuple[Adjacency, ...]:
        if isinstance(k, slice):
            return tuple(self[i] for i in range(*k.indices(len(self))))
        found = self._opened[k]
        if found is None:
            found = self._opened[k] = self._open(k)
        return found

    def _open(self, k: int) -> Adjacency:
        if self._graph is None:
            raise InternalError(f"A stage reads view {k} after its snapshot.", "Please report it.")
        return self._graph.adjacency(self._specs[k].types, self._specs[k].direction)

    @property
    def opened(self) -> list[Adjacency]:
        """Those that were read."""
        return [view for view in self._opened if view is not None]

    def leave(self) -> None:
        """Hold the graph no more; what is not open stays closed."""
        self._graph = None

"""The adjacencies of a stage, each opened when it is first read.

A nest whose tail has trees names the relationships of each of them from both ends, for passes over parts of a graph and
for a GPU; the CPU's kernel nearly always reads one of the two.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import overload

from gdb.errors import InternalError
from gdb.storage.graph.adjacency import Adjacency

from ..plan.plan import ViewSpec
from ..plan.source import GraphSource


class Views(Sequence[Adjacency]):
    """The adjacencies of some specs in a graph, by number.

    numbered : gives the graph in the numbering of the vids in them, as long as the graph is there: it is not held, for
        it holds what is made of it.
    """

    __slots__ = ("_graph", "_numbered", "_opened", "_specs")

    def __init__(
        self,
        specs: Sequence[ViewSpec],
        graph: GraphSource,
        numbered: Callable[[GraphSource], GraphSource],
    ) -> None:
        self._specs, self._numbered = specs, numbered
        self._graph: weakref.ref[GraphSource] | None = weakref.ref(graph)
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
        graph = None if self._graph is None else self._graph()
        if graph is None:
            raise InternalError(f"A stage reads view {k} after its snapshot.", "Please report it.")
        spec = self._specs[k]
        return self._numbered(graph).adjacency(spec.types, spec.direction)

    @property
    def opened(self) -> list[Adjacency]:
        """Those that were read."""
        return [view for view in self._opened if view is not None]

    def leave(self) -> None:
        """Open no more of them."""
        self._graph = None

"""A graph with its vertices numbered by degree, the highest first.

Vids are grouped by label, so a restriction between unlabelled vertices does not lead from higher to
lower degrees. Where a plan names no vertex outside of itself (it counts, and every vertex may be
any), it may as well run on a renumbered graph, in which the lists cut by restrictions are short
(the degree order of triangle counting; `N+` of an arboricity order).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from gdb.base import waiting
from gdb.base.once import MadeOnce
from gdb.errors import InternalError

from ..format.direction import Direction
from . import intervals
from .adjacency import I64, U32, Adjacency

MOST_KEPT = 4
"""Ranked forms of a snapshot, by the types whose edges count."""


class NamedType(Protocol):
    """An edge type of a snapshot."""

    @property
    def name(self) -> str:
        """The name of the type."""

    @property
    def directed(self) -> bool:
        """Whether its edges have a direction."""


class Numbered(Protocol):
    """What is renumbered: a snapshot."""

    @property
    def edge_types(self) -> Sequence[NamedType]:
        """The edge types, in the order of their edge ids."""
        ...

    @property
    def vertex_count(self) -> int:
        """Number of vids, removed vertices included: vids are 0 to vertex_count - 1."""
        ...

    @property
    def edge_count(self) -> int:
        """Number of edge ids, over all types."""
        ...

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """The neighbours of each vertex by edges of these types (() = all) in a direction."""
        ...

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        """Edge id of every position of that adjacency, i64[m]."""
        ...


class RankedGraph:
    """A snapshot whose vertex of rank r, by number of its edges of some types (() = all), is vid r.

    Adjacencies are renumbered on first use (each row is sorted by itself, on all cores) and kept; under a
    budget that has no room for them, in a temporary file. Edge ids have
    no place here.
    """

    def __init__(self, base: Numbered, types: tuple[str, ...] = ()) -> None:
        self.vertex_count, self.edge_count = base.vertex_count, base.edge_count
        self.edge_types = base.edge_types
        self._base = weakref.ref(base)
        self._lock = waiting.Lock()
        self._known: dict[tuple[tuple[str, ...], Direction], Adjacency] = {}
        from . import degree_loops  # brings the compiler

        degrees = np.zeros(base.vertex_count, np.int64)
        for kind in base.edge_types:  # type by type: their union would be a copy of all edges
            if types and kind.name not in types:
                continue
            for direction in (Direction.OUT, Direction.IN) if kind.directed else (Direction.ANY,):
                degree_loops.add_degrees(base.adjacency((kind.name,), direction), degrees)
        self._vid, self._rank, self.ordered = degree_loops.ranks(degrees)

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """Neighbour lists in ranks; the same object for the same question."""
        with self._lock:
            if (types, direction) not in self._known:
                base = self._base()
                if base is None:
                    raise InternalError("A ranked graph outlived its snapshot.")
                old = base.adjacency(types, direction)
                self._known[types, direction] = waiting.aside(
                    len(old.neighbours), lambda: _renumbered(old, self._vid, self._rank)
                )
            return self._known[types, direction]

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        """Always raises InternalError: the planner counts on this graph, and lists no edges."""
        raise InternalError(f"A ranked graph has no edge ids (requested: {types} {direction}).")


class _Rankings:
    """The ranked forms of a snapshot that were used last."""

    def __init__(self) -> None:
        self._lock = waiting.Lock()
        self._made: dict[tuple[str, ...], RankedGraph] = {}

    def of(self, graph: Numbered, types: tuple[str, ...]) -> RankedGraph:
        with self._lock:
            found = self._made.pop(types, None)
            if found is None:
                found = waiting.aside(graph.edge_count, lambda: RankedGraph(graph, types))
            self._made[types] = found
            while len(self._made) > MOST_KEPT:
                del self._made[next(iter(self._made))]
            return found


def ranked_graph(graph: Numbered, specs: Iterable[tuple[str, ...]] = ((),)) -> RankedGraph:
    """The ranked form of a snapshot for what reads edges of some types, each () for all: no others are read for it.
    Made on first use, and kept as long as the snapshot unless many others follow."""
    sets = [*specs]
    types = () if () in sets else tuple(sorted({name for names in sets for name in names}))
    return _ranked.of(graph).of(graph, types)


_ranked: MadeOnce[Numbered, _Rankings] = MadeOnce(lambda _: _Rankings())


def _renumbered(old: Adjacency, vid: U32, rank: U32) -> Adjacency:
    """`old` with vid[r] called r."""
    from . import degree_loops  # brings the compiler

    vids, offsets, neighbours = degree_loops.renumber_rows(old, vid, rank, old.max_degree)
    return Adjacency(
        old.types,
        old.direction,
        *intervals.of_vids(vids).arrays,
        offsets,
        neighbours,
        old.simple,
        old.loops,
        old.max_degree,
    )

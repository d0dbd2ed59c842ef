"""The query graph: the pattern of a query's MATCH clauses, independent of the text that it came from.

Vertices and edges are numbered from 0; names are kept for messages only. Predicates on one element
arrive evaluated: as a set of allowed vids or edge ids (design.md §3).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gdb.executor.plan.plan import Compare
from gdb.records import dataclass, field, quick
from gdb.storage.format.direction import Direction


class Components:
    """The connected parts of some vertices, while edges are added."""

    def __init__(self, vertices: int) -> None:
        self._above = list(range(vertices))

    def of(self, vertex: int) -> int:
        """A vertex of its part, the same one for all of these until it is joined with another."""
        while self._above[vertex] != vertex:
            vertex = self._above[vertex]
        return vertex

    def join(self, one: int, other: int) -> None:
        """Make the parts of two vertices one."""
        self._above[self.of(one)] = self.of(other)


@dataclass(frozen=True, slots=True)
class MatchMode:
    """Which elements of one embedding must differ (design.md §3).

    edges_differ : two query edges never share a data edge (openCypher's rule; implied by
        nodes_differ).
    nodes_differ : two query vertices never share a data vertex.
    distinct : one embedding for each automorphism class of the query graph (SUBGRAPHS).
    induced : no data edge between matched vertices beyond the matched ones.
    """

    edges_differ: bool = True
    nodes_differ: bool = False
    distinct: bool = False
    induced: bool = False


DIFFERENT_EDGES = MatchMode()
DIFFERENT_NODES = MatchMode(nodes_differ=True)
REPEATABLE_ELEMENTS = MatchMode(edges_differ=False)
SUBGRAPHS = MatchMode(nodes_differ=True, distinct=True)
INDUCED = MatchMode(nodes_differ=True, induced=True)


@quick
@dataclass(frozen=True, slots=True)
class QueryVertex:
    """A query vertex.

    labels : an AND of ORs: ((A,), (B, C)) is "A and (B or C)"; () is any vertex.
    allowed : vids that pass this vertex's own predicates, u32[k] ascending, or None for no
        predicate.
    predicate : a text that is equal for two vertices exactly if their predicates are (used for
        symmetry); "" for none.
    """

    name: str | None = None
    labels: tuple[tuple[str, ...], ...] = ()
    allowed: npt.NDArray[np.uint32] | None = field(default=None, compare=False)
    predicate: str = ""


@quick
@dataclass(frozen=True, slots=True)
class QueryEdge:
    """A query edge from `source` to `target` (query vertex numbers).

    types : alternatives, () for any.
    direction : OUT (source -> target) or ANY; the binder turns `<--` around, so IN does not occur.
    wanted : the embeddings table must have this edge's id as a column.
    allowed : edge ids that pass this edge's own predicates, i64[k] ascending, or None.
    predicate : as for QueryVertex.
    clause : the MATCH that it is in; that relationships differ holds within one.
    exists : only whether there is such a data edge matters: it is not bound, so parallel ones count once, and it
        may be one that another query edge is matched by.
    """

    source: int
    target: int
    types: tuple[str, ...] = ()
    direction: Direction = Direction.OUT
    name: str | None = None
    wanted: bool = False
    allowed: npt.NDArray[np.int64] | None = field(default=None, compare=False)
    predicate: str = ""
    clause: int = 0
    exists: bool = False


Renamed = Callable[[tuple[int, ...], tuple[int, ...]], frozenset[str]]


@quick
@dataclass(frozen=True, slots=True)
class QueryGraph:
    """Vertices, edges and the mode of one MATCH, or of several in a row.

    symmetric_under : predicates over two or more elements, which later run on the embeddings table, as
        canonical texts in which query vertex k is `$vk` and query edge k `$ek`.
    renamed : the same texts with vertex k called `$v{vertices[k]}` and edge k `$e{edges[k]}`; in mode
        SUBGRAPHS an automorphism counts only if it maps the texts onto themselves.
    apart : pairs of query vertices that differ, whatever the mode.
    negated : edges that no data edge may match (anti-edges); of them only ends, types and direction count.
    compared : values of two elements that are compared.
    optional : what each embedding is matched with besides, where it can be (OPTIONAL MATCH); only counts have some.
    """

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    mode: MatchMode = DIFFERENT_EDGES
    symmetric_under: tuple[str, ...] = ()
    renamed: Renamed | None = field(default=None, compare=False)
    apart: tuple[tuple[int, int], ...] = ()
    negated: tuple[QueryEdge, ...] = ()
    compared: tuple[Compare, ...] = ()
    optional: tuple[OptionalGraph, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionalGraph:
    """A pattern that each embedding of the query graph around it is matched with, or with nothing where it has no
    embedding there.

    graph : with vertices of its own for those that it shares, whose labels, predicates and mode concern it alone; at
        least one is not shared, and no bound edge joins two that are.
    held : the vertices that it shares: their numbers in it, and in the whole pattern. There the vertices of the
        outermost graph come first, then those that each optional graph does not share, in the order of the
        graphs, each before those within it.
    """

    graph: QueryGraph
    held: tuple[tuple[int, int], ...]

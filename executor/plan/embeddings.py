"""The embeddings table: what the MATCH part of a query hands to the relational part (design.md
§3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gdb.records import dataclass, quick, replace

from .plan import Twin


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Full assignments, one per row: a whole table, or a part of one.

    vids : u32[n, query vertices]; column k is the data vertex of query vertex k.
    eids : i64[n, query edges]; column k is the edge id of query edge k, -1 where the plan did not
        bind it.
    turned : the automorphism by which the rows are read, None for as they are.
    kept : where given, vids and eids have the columns of these vertices and edges alone, in their order.
    """

    vids: npt.NDArray[np.uint32]
    eids: npt.NDArray[np.int64]
    turned: Twin | None = None
    kept: Wanted | None = None

    def __len__(self) -> int:
        return int(self.vids.shape[0])

    def vertex(self, index: int) -> npt.NDArray[np.uint32]:
        """The column of a query vertex, u32[n]."""
        index = index if self.turned is None else self.turned.vertices[index]
        return self.vids[:, index if self.kept is None else self.kept.vertices.index(index)]

    def edge(self, index: int) -> npt.NDArray[np.int64]:
        """The column of a query edge, i64[n]."""
        index = index if self.turned is None else self.turned.edges[index]
        if self.kept is not None:
            if index not in self.kept.edges:  # the plan did not bind it
                return unbound_edges(len(self), 1)[:, 0]
            index = self.kept.edges.index(index)
        return self.eids[:, index]

    def part(self, start: int, stop: int) -> Embeddings:
        """The rows [start, stop), as far as there are any; shares memory."""
        if start == 0 and stop >= len(self):
            return self
        return replace(self, vids=self.vids[start:stop], eids=self.eids[start:stop])


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts of the embeddings that a query reads.

    vertices, edges : query vertices and edges whose columns are read.
    once : the query vertex that is read for its distinct values only, in any one row each; None
        where every row counts.
    """

    vertices: tuple[int, ...]
    edges: tuple[int, ...] = ()
    once: int | None = None

    def under(self, twins: tuple[Twin, ...]) -> Wanted:
        """With the columns that these are read from when rows are turned."""
        if not twins:
            return self
        vertices = {twin.vertices[v] for twin in twins for v in self.vertices}
        edges = {twin.edges[e] for twin in twins for e in self.edges}
        return Wanted(tuple(sorted(vertices)), tuple(sorted(edges)), self.once)


NO_COLUMNS = Wanted(())

Deliver = Callable[[Embeddings], None]
"""Takes rows that were found, in any thread; their memory is overwritten afterwards."""


def unbound_edges(rows: int, edges: int) -> npt.NDArray[np.int64]:
    """The columns of edges that are all unbound, i64[rows, edges]: all -1, without memory."""
    return np.broadcast_to(np.int64(-1), (rows, edges))


def expand(table: Embeddings, twins: tuple[Twin, ...]) -> Embeddings:
    """Each row once for every automorphism in `twins`; the table itself where there are none. So rows that restrictions
    left out are written back: these never change what a query returns."""
    if not twins:
        return table
    vids = np.concatenate([table.vids[:, list(t.vertices)] for t in twins])
    eids = np.concatenate([table.eids[:, list(t.edges)] for t in twins])
    return Embeddings(vids, eids)

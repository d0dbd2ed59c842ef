"""The embeddings table: what the MATCH part of a query hands to the relational part (design.md
§3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.base.budget import ROWS, Budget
from gdb.records import dataclass, quick, replace
from gdb.storage.disk.arrays import Shelf

from .plan import Twin

Part = TypeVar("Part")


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


class KeptParts(Generic[Part]):
    """What several threads keep of the rows that they find, within the budget of their query or in temporary files.

    make : what to keep of some rows. row_bytes : of each row that is found. size_of : bytes of what `make` made; None:
    no more than that. pick : leaves rows out before; None: none. spill : puts what was made into temporary files, where
    the budget has no room for it; None: then OutOfBudget is raised. parts : what is kept.
    """

    def __init__(
        self,
        budget: Budget,
        row_bytes: int,
        make: Callable[[Embeddings], Part],
        spill: Callable[[Part, Shelf], Part] | None,
        size_of: Callable[[Embeddings, Part], int] | None,
        parts: list[Part],
        pick: Callable[[Embeddings], Embeddings] | None = None,
    ) -> None:
        self._budget, self._row_bytes, self.parts = budget, row_bytes, parts
        self._make, self._spill, self._pick = make, spill, pick
        self._size_of = None if budget.limit is None else size_of
        self._shelf, self._lock = Shelf(budget, ROWS), waiting.Lock()

    def keep(self, part: Embeddings) -> None:
        """Keep what is needed of some rows. Raises OutOfBudget."""
        if self._pick is not None:
            part = self._pick(part)
            if not len(part):
                return
        size, budget, spill = len(part) * self._row_bytes, self._budget, self._spill
        fits = spill is not None and budget.fits(size, ROWS)
        if spill is None:
            budget.take(size, ROWS)
        made = self._make(part)
        if self._size_of is not None and (fits or spill is None):
            more = max(self._size_of(part, made) - size, 0)
            if spill is None:
                budget.take(more, ROWS)
            elif not budget.fits(more, ROWS):
                budget.give_back(size, ROWS)
                fits = False
        with self._lock:
            self.parts.append(made if spill is None or fits else spill(made, self._shelf))

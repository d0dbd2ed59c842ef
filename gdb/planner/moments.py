"""Expected numbers of partial embeddings from degrees, for all sets of query vertices.

In the random graph of Chung and Lu (2002) with the degrees of the data graph, an edge joins u and v
with probability d(u) d(v) / m, so the expected number of embeddings of a pattern is a product of
moments of the degrees, one for each query vertex, over a power of m: exact for stars, cheap, and
aware of hubs, where a mean degree is not. It ranks orders; what is to be run is measured
(`gdb.executor.cpu.sample`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gdb.executor.plan import ViewSpec
from gdb.planner.resolve import Resolved

MOST_VERTICES = 8  # all sets of query vertices are looked at

SET_ELEMENT = 0.25  # steps of the kernel for each element of a set operation


class Moments:
    """Estimates over one query graph; sets of vertices and of edges are bit masks."""

    def __init__(self, query: Resolved) -> None:
        self.query = query
        self.n = len(query.candidates)
        self.ends = [(e.source, e.target) for e in query.edges]
        self.near = [sum(1 << u for u in query.neighbours(v)) for v in range(self.n)]
        self._degrees: dict[ViewSpec, npt.NDArray[np.float64]] = {}
        self._moments: dict[tuple[object, ...], float] = {}
        self._expected: dict[int, float] = {}
        self._plain: dict[int, float] = {}
        self._seen = [
            (
                e.spec(e.source),
                e.spec(e.target),
                max(len(query.view(e.spec(e.source)).neighbours), 1),
            )
            for e in query.edges
        ]

    # ---- estimates -------------------------------------------------------------------------------

    def between(self, left: int, right: int) -> int:
        """The query edges that join two sets of vertices, as a mask."""
        found = 0
        for e, (u, v) in enumerate(self.ends):
            if (left >> u & 1 and right >> v & 1) or (left >> v & 1 and right >> u & 1):
                found |= 1 << e
        return found

    def expected(self, edges: int) -> float:
        """Number of embeddings of a set of query edges; never more than without any one of them."""
        if edges not in self._expected:
            found = self._product(edges)
            rest = edges
            while rest:
                low = rest & -rest
                rest ^= low
                if edges != low and self._covers(edges ^ low, edges):
                    found = min(found, self._product(edges ^ low))
            self._expected[edges] = found
        return self._expected[edges]

    def _covers(self, fewer: int, edges: int) -> bool:
        return self._touched(fewer) == self._touched(edges)

    def _touched(self, edges: int) -> int:
        found = 0
        for e, (u, v) in enumerate(self.ends):
            if edges >> e & 1:
                found |= 1 << u | 1 << v
        return found

    def _product(self, edges: int) -> float:
        if edges not in self._plain:
            around: dict[int, list[ViewSpec]] = {}
            found = 1.0
            for e, (u, v) in enumerate(self.ends):
                if edges >> e & 1:
                    from_u, from_v, size = self._seen[e]
                    around.setdefault(u, []).append(from_u)
                    around.setdefault(v, []).append(from_v)
                    found /= size
            for v, specs in around.items():
                found *= self._moment(v, tuple(sorted(specs, key=repr)))
            self._plain[edges] = found
        return self._plain[edges]

    def _moment(self, vertex: int, specs: tuple[ViewSpec, ...]) -> float:
        """Sum over a vertex's candidates of the product of their degrees."""
        candidates = self.query.candidates[vertex]
        key = (candidates.ranges, id(candidates.allowed), specs)
        if key not in self._moments:
            product: npt.NDArray[np.float64] | float = 1.0
            for spec in specs:
                product = product * self._degree(spec)
            values = np.asarray(product)
            if candidates.allowed is not None:
                found = float(values[candidates.allowed].sum())
            else:
                found = float(sum(values[a:b].sum() for a, b in candidates.ranges))
            self._moments[key] = found
        return self._moments[key]

    def _degree(self, spec: ViewSpec) -> npt.NDArray[np.float64]:
        """Degree of every vid in a view, f64[vertices]."""
        if spec not in self._degrees:
            view = self.query.view(spec)
            found = np.zeros(self.query.source.vertex_count, np.float64)
            found[view.vids()] = np.diff(view.offsets)
            self._degrees[spec] = found
        return self._degrees[spec]

    # ---- costs -----------------------------------------------------------------------------------

    def loops(self) -> dict[int, tuple[float, tuple[int, ...]]]:
        """For every connected set of vertices the cheapest order to loop over it, with its steps: the
        bindings, and the set operations that each makes possible, also for vertices that come after."""
        best: dict[int, tuple[float, tuple[int, ...]]] = {
            1 << v: (float(self.query.candidates[v].count), (v,)) for v in range(self.n)
        }
        frontier = list(best)
        while frontier:
            grown: dict[int, tuple[float, tuple[int, ...]]] = {}
            for mask in frontier:
                cost, order = best[mask]
                for v in self._next(mask):
                    new = mask | 1 << v
                    found = cost + self._step(mask, v)
                    if new not in grown or found < grown[new][0]:
                        grown[new] = (found, (*order, v))
            best |= grown
            frontier = list(grown)
        return best

    def _next(self, mask: int) -> Iterator[int]:
        for v in range(self.n):
            if not mask >> v & 1 and self.near[v] & mask:
                yield v

    def _step(self, mask: int, v: int) -> float:
        """Steps to bind v after a set of vertices."""
        new = mask | 1 << v
        within = self.between(new, new)
        cost = self.expected(within)
        for w in range(self.n):
            before = self.near[w] & mask
            if new >> w & 1 or not self.near[w] >> v & 1 or not before:
                continue
            known = self.expected(within | self.between(before, 1 << w))
            row = self.expected(within | self.between(1 << v, 1 << w))
            cost += SET_ELEMENT * min(known, row)
        return cost

    def tail(self, loops: int) -> float:
        """Steps to count what is left of the query graph as a forest below the loops."""
        within = self.between(loops, loops)
        cost = self.expected(within) if within else float(1)
        rest = (1 << self.n) - 1 & ~loops
        for e, (u, v) in enumerate(self.ends):
            if rest >> u & 1 and rest >> v & 1:
                ways = [
                    self.expected(within | self.between(loops, 1 << p) | 1 << e)
                    for p in (u, v)
                    if self.near[p] & loops
                ]
                cost += SET_ELEMENT * min(ways, default=self.expected(1 << e))
        return cost

    def leaves_forest(self, loops: int) -> bool:
        """Whether the query graph is a forest without these vertices."""
        left = (1 << self.n) - 1 & ~loops
        while left:
            leaf = next(
                (
                    v
                    for v in range(self.n)
                    if left >> v & 1 and (self.near[v] & left).bit_count() < 2
                ),
                None,
            )
            if leaf is None:
                return False
            left &= ~(1 << leaf)
        return True

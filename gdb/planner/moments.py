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

from gdb.executor.plan.plan import Candidates, ViewSpec
from gdb.planner.resolved_graph import Resolved, ResolvedEdge
from gdb.records import dataclass
from gdb.storage.graph.adjacency import U32

MOST_VERTICES = 8  # all sets of query vertices are looked at

SET_ELEMENT = 0.25  # steps of the kernel for each element of a set operation


_FIRST, _MOST = 1 << 13, 1 << 16
"""Candidates of a vertex that are looked at: the first, and of the others so many at the same distances. Within a
label vertices are stored by degree, so the hubs are among the first."""
_DRAWN = 1 << 11  # of their edges, to see which end at candidates of the other end


class Moments:
    """Estimates over one query graph; sets of vertices and of edges are bit masks."""

    def __init__(self, query: Resolved) -> None:
        self.query = query
        self.n = len(query.candidates)
        self.ends = [(e.source, e.target) for e in query.edges]
        self.near = [sum(1 << u for u in query.neighbours(v)) for v in range(self.n)]
        self._samples: dict[tuple[object, ...], _Sample] = {}
        self._degrees: dict[tuple[int, ViewSpec], npt.NDArray[np.float64]] = {}
        self._moments: dict[tuple[object, ...], float] = {}
        self._expected: dict[int, float] = {}
        self._plain: dict[int, float] = {}
        self._seen = [(e.spec(e.source), e.spec(e.target), self._size(e)) for e in query.edges]

    def _size(self, edge: ResolvedEdge) -> float:
        """What the product of both ends' degrees is divided by: the number of edges of the view, if all of them join
        candidates; else so that one edge alone is expected as often as edges join candidates."""
        both = ((self._moment(v, (edge.spec(v),)), v) for v in (edge.source, edge.target))
        (_, one), (most, other) = sorted(both)
        near = edge.spec(one)
        view, sample = self.query.view(near), self._sample(one)
        known = np.flatnonzero(self._degree(one, near))
        known = known[:: max(1, len(known) // _DRAWN)]
        degrees = self._degree(one, near)[known].astype(np.int64)
        at = view.offsets[view.rows_of(sample.vids[known])]
        at += (np.random.default_rng(0).random(len(known)) * degrees).astype(np.int64)
        weights = sample.weights[known] * degrees
        inside = self._sample(other).holds(view.neighbours[at])
        share = float(weights[inside].sum()) / max(float(weights.sum()), 1.0)
        return max(most, 1.0) / max(share, 1 / _DRAWN)

    def _sample(self, vertex: int) -> _Sample:
        """Some candidates of a vertex; the same for vertices with the same candidates."""
        candidates = self.query.candidates[vertex]
        key = candidates.ranges, id(candidates.allowed)
        if key not in self._samples:
            self._samples[key] = _sample(candidates)
        return self._samples[key]

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
        sample = self._sample(vertex)
        key = (id(sample), specs)
        if key not in self._moments:
            product = sample.weights
            for spec in specs:
                product = product * self._degree(vertex, spec)
            self._moments[key] = float(product.sum())
        return self._moments[key]

    def _degree(self, vertex: int, spec: ViewSpec) -> npt.NDArray[np.float64]:
        """Degree of each candidate of a vertex's sample in a view."""
        sample = self._sample(vertex)
        key = id(sample), spec
        if key not in self._degrees:
            found = self._degrees[key] = np.zeros(len(sample.vids), np.float64)
            places, degrees = self.query.view(spec).present(sample.vids)
            found[places] = degrees
        return self._degrees[key]

    def _roots(self, vertex: int) -> float:
        """Number of the candidates that have a row in all views that are read from them."""
        sample = self._sample(vertex)
        there = np.ones(len(sample.vids), np.bool_)
        for e in self.query.incident(vertex):
            there &= self._degree(vertex, self.query.edges[e].spec(vertex)) > 0
        return float(sample.weights[there].sum())

    # ---- costs -----------------------------------------------------------------------------------

    def loops(self) -> dict[int, tuple[float, tuple[int, ...]]]:
        """For every connected set of vertices the cheapest order to loop over it, with its steps: the
        bindings, and the set operations that each makes possible, also for vertices that come after."""
        best: dict[int, tuple[float, tuple[int, ...]]] = {
            1 << v: (self._roots(v), (v,)) for v in range(self.n)
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
        """Steps to count what is left of the query graph as a forest below the loops: each time that these are bound,
        the edges that are reached from them, at most all of them."""
        within = self.between(loops, loops)
        times = self.expected(within) if within else self._roots(loops.bit_length() - 1)
        cost = times
        rest = (1 << self.n) - 1 & ~loops
        ways = {
            p: self.between(loops, 1 << p) for p in range(self.n) if self.near[p] & rest & ~loops
        }
        reached = {p: within | way for p, way in ways.items() if rest >> p & 1 and way}
        left = {e for e, (u, v) in enumerate(self.ends) if rest >> u & 1 and rest >> v & 1}
        while left:
            here = [e for e in left if any(p in reached for p in self.ends[e])]
            for e in here or left:
                paths = [reached[p] | 1 << e for p in self.ends[e] if p in reached]
                found = min(map(self.expected, paths), default=self.expected(1 << e))
                cost += SET_ELEMENT * min(found, times * self.expected(1 << e))
            for e in here:
                for p, other in (self.ends[e], self.ends[e][::-1]):
                    if p in reached:
                        reached.setdefault(other, reached[p] | 1 << e)
            left = left - set(here) if here else set()
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


def bits(mask: int) -> list[int]:
    """The vertices of a mask, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Candidates of a query vertex, u32[n] ascending, and how many of them each represents, f64[n]."""

    of: Candidates
    vids: U32
    weights: npt.NDArray[np.float64]

    def holds(self, vids: U32) -> npt.NDArray[np.bool_]:
        """Which vids are candidates, bool[k]."""
        found: npt.NDArray[np.bool_]
        if self.of.allowed is not None:
            found = np.searchsorted(self.of.allowed, vids, "right") > np.searchsorted(
                self.of.allowed, vids
            )
            return found
        bounds = np.array(self.of.ranges, np.int64).reshape(-1)
        found = np.searchsorted(bounds, vids, "right") % 2 == 1
        return found


def _sample(candidates: Candidates) -> _Sample:
    parts: list[U32] = []
    weights: list[npt.NDArray[np.float64]] = []
    allowed = candidates.allowed
    for begin, end in candidates.ranges if allowed is None else [(0, len(allowed))]:
        step = -(-(end - begin) // _MOST)
        first = end if step == 1 else begin + _FIRST
        if allowed is not None:
            parts += [allowed[begin:first], allowed[first:end:step]]
        else:  # most of a label is never listed
            parts.append(np.arange(begin, first, dtype=np.uint32))
            parts.append(np.arange(first, end, step, dtype=np.uint32))
        rest = end - first
        shares = [1.0, rest / max(len(parts[-1]), 1)]
        weights += [np.full(len(p), w) for p, w in zip(parts[-2:], shares, strict=True)]
    none = np.zeros(0, np.uint32)
    return _Sample(candidates, np.concatenate([none, *parts]), np.concatenate([[], *weights]))

"""Statistics of one query graph over one snapshot: candidates cut down by arc consistency, edges between them, trees
below them, and samples of the embeddings of any part (`gdb.executor.cpu.candidate_space`, `populations`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from gdb.executor.cpu import candidate_space, populations
from gdb.executor.cpu.workers import view_row
from gdb.executor.plan.plan import Candidates, ViewSpec
from gdb.planner.moments import bits
from gdb.planner.resolved_graph import Resolved
from gdb.records import dataclass, replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32

ROUNDS = 2  # of arc consistency
SAMPLED = 256  # rows by which the number of edges between two sets of candidates is estimated


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A sample of the embeddings of some query vertices. state : `populations.N_POPULATION`. block : the arrays that it
    names."""

    state: I64
    block: npt.NDArray[np.float64]

    @property
    def address(self) -> int:
        """Address of `state`, for machine code; valid while this object lives."""
        return int(self.state.ctypes.data)


class Statistics:
    """Candidates of a query graph, and what is known of them.

    Parameters
    ----------
    differs : pairs of query vertices that have to differ.
    members : of each query vertex the candidates to begin with, u32[k] ascending; None: those of the query.
    distinct : arc consistency may use that they differ; else what it leaves holds without such conditions too.
    """

    def __init__(
        self,
        query: Resolved,
        differs: Iterable[tuple[int, int]],
        members: Sequence[U32] | None = None,
        *,
        distinct: bool = True,
    ) -> None:
        self.query = query
        self.distinct = distinct
        self.n = n = len(query.candidates)
        self.near = [sum(1 << u for u in query.neighbours(v)) for v in range(n)]
        self.differs = [0] * n
        self.apart = frozenset(differs)
        for u, v in self.apart:
            self.differs[u] |= 1 << v
            self.differs[v] |= 1 << u
        self.fan: dict[tuple[int, int], float] = {}
        self._expansions: dict[tuple[int, int], float] = {}
        self._kept: list[npt.NDArray[np.generic]] = []
        self._longest = 1  # row
        if members is None:
            self._spans = [_span(c) for c in query.candidates]
        else:
            self._spans = [_span_of(some) for some in members]
        self._lists, rows = self._candidates(members)
        found, self._arc, starts = self._arcs()
        for v, row in enumerate(rows):
            row += [starts[v], starts[v + 1], self.differs[v], 0, -1, 0, -1, -1, 0]
        self.vertices = np.array(rows, np.int64)
        self.arcs = np.array(found or [(0, 0, 0, 0)], np.int64)
        self._vertices_at = int(self.vertices.ctypes.data)
        self._arcs_at = int(self.arcs.ctypes.data)
        self._scratch = np.zeros(populations.N_SCRATCH, np.int64)
        self._scratch_at = int(self._scratch.ctypes.data)
        self._most_arcs = max(starts[v + 1] - starts[v] for v in range(n))
        self._most = 0  # members that the scratch has room for

    @property
    def tables(self) -> tuple[int, int]:
        """The addresses of the tables of query vertices and of arcs."""
        return self._vertices_at, self._arcs_at

    @property
    def scratch(self) -> int:
        """The address of what samples work in, after `begin`."""
        return self._scratch_at

    # ---- tables ----------------------------------------------------------------------------------

    def _candidates(self, given: Sequence[U32] | None) -> tuple[list[U32], list[list[int]]]:
        """The lists of candidates, and for each query vertex the beginning of its row in the table."""
        candidates = self.query.candidates
        counts = [c.count for c in candidates] if given is None else [len(some) for some in given]
        members = np.empty(sum(counts), np.uint32)
        alive = np.ones(sum(high - low for low, high in self._spans), np.uint8)
        self._kept += [members, alive]
        at, bytes_at = int(members.ctypes.data), int(alive.ctypes.data)
        lists, rows = [], []
        start = first = 0
        for v, (count, (low, high)) in enumerate(zip(counts, self._spans, strict=True)):
            own = members[start : start + count]
            if count == high - low:
                own[:] = np.arange(low, high, dtype=np.uint32)
            else:
                own[:] = candidates[v].vids() if given is None else given[v]
                bytes_of = alive[first : first + high - low]
                bytes_of.fill(0)
                bytes_of[own - np.uint32(low)] = 1
            lists.append(own)
            rows.append([low, high, bytes_at + first, at + 4 * start, count])
            start += count
            first += high - low
        return lists, rows

    def _arcs(
        self,
    ) -> tuple[list[tuple[int, int, int, int]], dict[tuple[int, int], int], list[int]]:
        """The table of arcs, of each pair of joined query vertices the first of them, and where those of each vertex
        begin."""
        query, spans = self.query, self._spans
        views: dict[tuple[object, bool], tuple[int, int]] = {}
        ends = []
        for edge in query.edges:
            key = edge.types, edge.direction is Direction.ANY
            if key not in views:
                views[key] = self._view(edge.spec(edge.source)), self._view(edge.spec(edge.target))
            ends.append((edge.source, edge.target, *views[key]))
        found: list[tuple[int, int, int, int]] = []
        first: dict[tuple[int, int], int] = {}
        starts = [0]
        for v in range(self.n):
            arcs, alike = [], dict[tuple[int, int, int], int]()
            for e in query.incident(v):
                other, target, back, view = ends[e]
                if other == v:
                    other, view, back = target, back, view
                if other != v:
                    group = (view, *spans[other])
                    alike[group] = alike.get(group, 0) | 1 << other
                    arcs.append((other, view, back, group))
            for other, view, back, group in arcs:
                first.setdefault((v, other), len(found))
                found.append((other, view, back, self._least(alike[group])))
            starts.append(len(found))
        return found, first, starts

    def _view(self, spec: ViewSpec) -> int:
        """The address of a view's row in the table of views."""
        row = np.array(view_row(self.query.view(spec), None, restricted=False), np.int64)
        self._kept.append(row)
        self._longest = max(self._longest, self.query.view(spec).max_degree)
        return int(row.ctypes.data)

    def _least(self, group: int) -> int:
        """How many data vertices a group of query vertices needs: 1 unless all of them have to differ."""
        if not self.distinct or not group & (group - 1):
            return 1
        apart = all(not group & ~(self.differs[u] | 1 << u) for u in bits(group))
        return group.bit_count() if apart else 1

    # ---- candidates ------------------------------------------------------------------------------

    def narrow(self, most: int, changed: int | None = None) -> int:
        """Drop candidates by arc consistency until `most` elements were looked at; how many were.

        changed : the query vertex from which on candidates may have fewer neighbours than before; None: all.
        """
        stale = list(self.near)
        if changed is not None:
            stale = [near & 1 << changed for near in self.near]
            stale[changed] = self.near[changed]
        self.vertices[:, candidate_space.CV.STALE] = stale
        tables = self._vertices_at, self._arcs_at, self.n
        return int(candidate_space.narrow(*tables, ROUNDS, most))

    def count(self, v: int) -> int:
        """Candidates of a query vertex."""
        return int(self.vertices[v, candidate_space.CV.COUNT])

    def counts(self) -> list[int]:
        """The numbers of candidates of all query vertices."""
        found: list[int] = self.vertices[:, candidate_space.CV.COUNT].tolist()
        return found

    def members(self, v: int) -> U32:
        """Candidates of a query vertex, u32[count] ascending."""
        return self._lists[v][: self.count(v)]

    def reduced(self, order: Sequence[int], tail: int) -> tuple[Candidates, ...]:
        """What the executor is to match: fewer candidates of vertices that are bound before one of their neighbours,
        where they leave out at least half. Those of the others have been tested when their neighbours' rows are
        intersected.

        tail : how many vertices at the end of the order are counted without loops.
        """
        place = {v: k for k, v in enumerate(order)}
        looped = order[: self.n - tail]
        found = []
        for v, candidates in enumerate(self.query.candidates):
            later = any(place[u] > place[v] for u in bits(self.near[v]))
            if v in looped and later and 2 * self.count(v) <= candidates.count:
                members = self.members(v).copy()
                candidates = replace(candidates, allowed=members, count=len(members))
            found.append(candidates)
        return tuple(found)

    def fans(self, rows: int = SAMPLED) -> None:
        """Fill `fan`: of each pair of joined query vertices (u, v) the mean number of candidates of v that an edge, the
        first of several, leads to from one of u. rows : by which that is estimated."""
        counts = self.counts()
        for (u, v), a in self._arc.items():
            if counts[u] < counts[v] or (counts[u] == counts[v] and u < v):
                edges = candidate_space.edges_between(self._vertices_at, self._arcs_at, u, a, rows)
                self.fan[u, v] = edges / max(counts[u], 1)
                self.fan[v, u] = edges / max(counts[v], 1)

    def expansion(self, bound: int, v: int) -> float:
        """Expected candidates of a vertex beside bound ones, edges taken as independent."""
        joined = self.near[v] & bound
        found = self._expansions.get((joined, v))
        if found is None:
            count = float(self.count(v))
            found = max(count, 1e-9)
            for u in bits(joined):
                found *= min(self.fan[u, v] / max(count, 1.0), 1.0)
            self._expansions[joined, v] = found
        return found

    def rows(self) -> float:
        """About how many neighbours the rows of all candidates hold along an edge of a tree each."""
        counts = self.counts()
        widest = [
            max((self.fan[v, u] for u in bits(self.near[v])), default=0.0) for v in range(self.n)
        ]
        return sum(count * fan for count, fan in zip(counts, widest, strict=True))

    # ---- trees -----------------------------------------------------------------------------------

    def weigh(self, order: tuple[int, ...]) -> float:
        """Count the trees below each candidate, along the spanning tree that joins each vertex of an order to the
        earlier one that leaves it the fewest candidates; how many there are of the whole, of the last part where the
        order has several."""
        n = self.n
        up, child, sibling, below = [-1] * n, [-1] * n, [-1] * n, [0] * n
        sizes = [max(high - low, 1) for low, high in self._spans]
        offsets, total, seen = [0] * n, 0, 0
        for v in order:
            offsets[v] = total
            total += sizes[v]
            joined = self.near[v] & seen
            if joined:
                parent = min(bits(joined), key=lambda u: self.fan[u, v])
                up[v] = self._arc[v, parent]
                sibling[v], child[parent] = child[parent], v
                below[v] = total
                total += sizes[parent]
            seen |= 1 << v
        sums = np.zeros(total)
        at = int(sums.ctypes.data)
        self._kept.append(sums)
        self.vertices[:, candidate_space.CV.WEIGHT : candidate_space.CV.STALE] = [
            (at + 8 * offsets[v], up[v], at + 8 * below[v], child[v], sibling[v]) for v in range(n)
        ]
        places = np.array(order, np.int64)
        trees = candidate_space.weigh(self._vertices_at, self._arcs_at, places.ctypes.data, n)
        return float(trees)

    # ---- samples ---------------------------------------------------------------------------------

    @property
    def spent(self) -> int:
        """Elements that sampling looked at."""
        return int(self._scratch[populations.SPENT])

    def begin(self, most: int, room: int = 1) -> Population:
        """The population of no vertex: one empty embedding. most : members of those that come of it. room : members
        that it has space for."""
        if most > self._most:
            self._work_in(most)
        empty = self._population(room)
        empty.block.fill(1.0)
        empty.state[populations.MEMBERS] = 1
        return empty

    def _work_in(self, most: int) -> None:
        """Make room for samples of so many members."""
        self._most = most
        longest = max(self._longest, max(len(members) for members in self._lists))
        sets, each = (longest + populations.KEPT) // 2 + 1, most + 8
        block = np.empty(sets + 3 * each + 3 * self._most_arcs + 3, np.int64)
        self._kept.append(block)
        at = int(block.ctypes.data)
        sums = at + 8 * sets
        starts, lengths, rows = (sums + 8 * k * each for k in (1, 2, 3))
        self._scratch[: populations.SPENT] = (at, sums, rows, starts, lengths, 0)

    def along(
        self,
        order: tuple[int, ...],
        most: int,
        firsts: npt.NDArray[np.float64] | None = None,
    ) -> tuple[tuple[float, ...], bool]:
        """The expected number of embeddings after each vertex of an order, from one sample; whether it was of all.

        firsts : f64[n], random numbers within [0, 1) of the sample; None: those that every process takes.
        """
        own = np.arange(1, self.n + 1) * populations.GOLDEN % 1.0 if firsts is None else firsts
        empty, other = self.begin(most, room=most + 8), self._population(most + 8)
        found = np.empty(self.n)
        places = np.array(order, np.int64)
        exact = populations.along(
            *(self._vertices_at, self._arcs_at, self.n, int(places.ctypes.data)),
            *(empty.address, other.address, self._scratch_at, most),
            *(int(own.ctypes.data), int(found.ctypes.data)),
        )
        return tuple(found.tolist()), bool(exact)

    def _population(self, most: int) -> Population:
        block = np.empty(2 * most + (most * self.n) // 2 + 1)  # shares, trees, images
        at = int(block.ctypes.data)
        state = np.array((at + 16 * most, at, at + 8 * most, 0, 0), np.int64)
        return Population(state, block)


def _span(candidates: Candidates) -> tuple[int, int]:
    """The vids within which all candidates lie."""
    if candidates.allowed is not None:
        return _span_of(candidates.allowed)
    ranges = candidates.ranges
    return (ranges[0][0], ranges[-1][1]) if ranges else (0, 0)


def _span_of(members: U32) -> tuple[int, int]:
    """The vids within which ascending ones lie."""
    return (int(members[0]), int(members[-1]) + 1) if len(members) else (0, 0)

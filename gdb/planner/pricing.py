"""The cost of a counting nest of a large pattern, priced from samples before there is a nest.

A nest is priced as `executor.nest.branches` and `interface_caches` will make it of an order: what falls apart is
counted apart, and a loop whose count is kept by some of the vertices around it runs as often as these are bound to
other data vertices, at most as often as the pattern between them has embeddings. All numbers of embeddings are
sampled: mean degrees, which know nothing of hubs, have been wrong by a factor of ten and more here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.planner.shape import Shape, components, members

if TYPE_CHECKING:
    from gdb.planner.statistics import Population, Statistics

TAIL_ELEMENT = 0.25  # steps for each element that is summed in a tail
ELEMENT = 0.25  # steps for each element of a set operation
SET, NODE = 4.0, 4.0  # steps of a set operation, and of a node of a tail, besides
BINDING = 2.0  # steps of a loop for each vertex
UNEVEN = 8.0  # how many elements of the shorter list searches in a much longer one take
MOST_KEYS = 8  # levels that one cache reads (`gdb.executor.nest.interface_caches`)
SLOTS = 1 << 16  # of one cache (`gdb.executor.cpu.workers`)


class Samples:
    """Samples of the embeddings of the parts of one query graph, kept.

    most : members of each sample.
    """

    def __init__(self, statistics: Statistics, most: int) -> None:
        self.statistics, self.most = statistics, most
        self._populations = {0: statistics.begin(most)}
        self._expected: dict[int, float] = {0: 1.0}

    def embeddings(self, mask: int) -> float:
        """Expected embeddings of the pattern between some vertices."""
        found = self._expected.get(mask)
        if found is None:
            found = 1.0
            for part in components(mask, self.statistics.near):
                found *= self._population(part).expected
            self._expected[mask] = found
        return found

    def grown(self, bound: int, more: int) -> float:
        """Mean embeddings of more vertices for each embedding of some bound ones; infinite where no sample of these
        lasted, so that nothing can be said."""
        before = self.embeddings(bound)
        return self.embeddings(more) / before if before else float("inf")

    def _population(self, mask: int) -> Population:
        """A sample of the embeddings of joined vertices."""
        found = self._populations.get(mask)
        if found is None:
            last = self._last(mask)
            before = self._population(mask & ~(1 << last))
            found = self._populations[mask] = self.statistics.grown(before, last, self.most)
        return found

    def _last(self, mask: int) -> int:
        """The vertex to bind last: one that leaves the others joined, and known if there is such a one."""
        near = self.statistics.near
        rests = [(v, mask & ~(1 << v)) for v in members(mask)]
        known = [(v, rest) for v, rest in rests if rest in self._populations]
        able = known or [(v, rest) for v, rest in rests if len(components(rest, near)) < 2]
        return max(able, key=lambda both: self.statistics.expansion(both[1], both[0]))[0]


class Prices:
    """Prices of the nests of one query graph in which what has to differ is that of a shape."""

    def __init__(self, samples: Samples, shape: Shape) -> None:
        self.samples, self.shape = samples, shape
        self.statistics = samples.statistics
        self.near = shape.near
        self.priced = 0

    def price(self, order: Sequence[int]) -> float:
        """Steps to count the embeddings along an order: to loop over its first vertices and count the others."""
        self.priced += 1
        loops = order[: self.shape.looped(order)]
        first = order[0]
        rows = float(self.statistics.count(first))
        cost = rows * self._work(1 << first, first)
        waiting = [(1 << first, self.shape.everyone & ~(1 << first), rows)]
        while waiting:
            bound, rest, rows = waiting.pop()
            for part in self.shape.parts(rest):
                loop = next((u for u in loops if part >> u & 1), None)
                anew = self._anew(loops, bound, part, rows)
                if loop is None:
                    cost += rows + anew * self._tail(bound, part)
                    continue
                own = bound | 1 << loop
                times = anew * self.samples.grown(bound, own)
                cost += rows + anew + times * self._work(own, loop)
                waiting.append((own, part & ~(1 << loop), times))
        return cost

    def _anew(self, loops: Sequence[int], bound: int, part: int, rows: float) -> float:
        """How often what is counted below some bound vertices, `rows` times bound, is not known from before."""
        reads = strange = 0
        for v in members(part):
            reads |= self.near[v]
            strange |= self.shape.differs[v]
        keys = reads & bound
        strange &= bound & ~keys
        if keys | strange == bound or (keys | strange).bit_count() > MOST_KEYS:
            return rows
        kept = self.samples.embeddings(keys)
        for x in members(strange):
            kept *= 1.0 + self._matters(keys, part, x)
        if kept >= rows:
            return rows
        outer = 0  # kept counts come again when the first loop that they do not read goes on
        for v in loops:
            if not keys >> v & 1:
                break
            outer |= 1 << v
        at_once = kept / max(self.samples.embeddings(outer), 1.0)
        return rows - (rows - kept) * min(1.0, SLOTS / max(at_once, 1.0))

    def _matters(self, keys: int, part: int, x: int) -> float:
        """How many data vertices of a bound vertex `x`, that some of a part have only to differ from, may be candidates
        of one of these."""
        most = float(self.statistics.count(x))
        found = 0.0
        for v in members(part):
            if self.shape.differs[v] >> x & 1:
                rows = [self.statistics.fan[u, v] for u in members(self.near[v] & keys)]
                found += min(rows, default=most)
        return min(found, most)

    def _work(self, bound: int, v: int) -> float:
        """Steps for each binding of v: itself, and the sets that it makes possible."""
        before = bound & ~(1 << v)
        cost = BINDING
        for u in members(self.near[v] & ~bound):
            if self.near[u] & before:
                left, right = self.statistics.expansion(before, u), self.statistics.fan[v, u]
                cost += SET + ELEMENT * min(left + right, UNEVEN * min(left, right))
        return cost

    def _tail(self, bound: int, rest: int) -> float:
        """Steps to count the rest once."""
        statistics = self.statistics
        cost, left = 0.0, rest
        while left:
            near = [v for v in members(left) if self.near[v] & bound]
            if not near:
                return float("inf")
            top = min(near, key=lambda v: statistics.expansion(bound, v))
            own = bound | 1 << top
            waiting = [(top, own, self.samples.grown(bound, own))]
            left &= ~(1 << top)
            cost += NODE
            while waiting:
                v, own, size = waiting.pop()
                for u in members(self.near[v] & left):
                    more = own | 1 << u
                    each = self.samples.grown(own, more)
                    cost += NODE + TAIL_ELEMENT * size * (1.0 + each)
                    waiting.append((u, more, min(size * each, float(statistics.count(u)))))
                    left &= ~(1 << u)
        return cost

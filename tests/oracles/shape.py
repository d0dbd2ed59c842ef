"""The shape of a nest, as far as the query graph determines it: which vertices can be counted without loops, and which
parts become independent below others. `gdb.executor.cpu.nest_shapes` says the same in machine code. Sets of query
vertices are bit masks."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.planner.shape import components, members


class Shape:
    """A query graph and what has to differ.

    near, differs : for each vertex the vertices that edges join it to, and those that it has to differ from.
    """

    def __init__(self, near: list[int], differs: list[int]) -> None:
        self.near, self.differs = near, differs
        self.n = len(near)
        self.everyone = (1 << self.n) - 1
        self._against: dict[int, int] = {}
        self._parts: dict[int, list[int]] = {}

    def parts(self, rest: int) -> list[int]:
        """Some vertices in sets of those that edges, or having to differ, join."""
        found = self._parts.get(rest)
        if found is None:
            tied = [u | v for u, v in zip(self.near, self.differs, strict=True)]
            found = self._parts[rest] = components(rest, tied)
        return found

    def looped(self, order: Sequence[int]) -> int:
        """How many vertices of an order have to be looped over before the rest can be counted without."""
        rest = 0
        for k in range(len(order) - 1, 0, -1):
            if self.against(rest | 1 << order[k]):
                return k + 1
            rest |= 1 << order[k]
        return 1

    def against(self, rest: int) -> int:
        """The vertices that keep a set of vertices from being counted without loops: what lies on a cycle, else what no
        row of a bound vertex leads to, else what has to differ from others and is neither like them nor, with one of
        them, alone."""
        known = self._against.get(rest)
        if known is None:
            known = self._without_leaves(rest, 0) or self._unreached(rest) or self._entangled(rest)
            self._against[rest] = known
        return known

    def _without_leaves(self, rest: int, kept: int) -> int:
        """What is left after vertices that are not `kept` and have at most one neighbour are taken off, again and
        again."""
        near, leaves = self.near, 1
        while leaves:
            leaves = 0
            for v in members(rest & ~kept):
                if (near[v] & rest).bit_count() < 2:
                    leaves |= 1 << v
            rest &= ~leaves
        return rest

    def _unreached(self, rest: int) -> int:
        """Of a forest the inner vertices that weights cannot be summed over (`executor.nest.counted_tail`): nothing
        below them is read by a bound vertex, on whichever one of such paths the root of their tree lies."""
        near, found = self.near, 0
        listed = sum(1 << v for v in members(rest) if near[v] & ~rest)
        reached = self._without_leaves(rest, listed)
        inner = sum(1 << v for v in members(rest & ~reached) if (near[v] & rest).bit_count() > 1)
        for tree in components(rest, near) if inner else ():
            own = inner & tree
            beside = sum((near[v] & reached).bit_count() for v in members(own))
            path = all((near[v] & (own | reached)).bit_count() < 3 for v in members(own))
            if own and not (beside == 1 and path):
                found |= own
        return found

    def _entangled(self, rest: int) -> int:
        near, differs = self.near, self.differs
        found = 0
        for v in members(rest):
            others = differs[v] & rest & ~near[v]
            if not others or all(near[u] == near[v] for u in members(others)):
                continue
            pair = 1 << v | others
            alone = others.bit_count() == 1 and all(
                not near[u] & rest and not differs[u] & rest & ~pair for u in members(pair)
            )
            if not alone:
                found |= 1 << v
        return found

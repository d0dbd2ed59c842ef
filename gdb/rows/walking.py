"""Relationships of variable length: walked from each row's vertex, depth first, or breadth first for shortest paths.

A path is a trail unless the pattern says otherwise: no relationship twice, none that the clause uses elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import TypeProblem
from gdb.language.report import problem
from gdb.language.syntax import PathMode
from gdb.rows.pattern import Edge, Pattern, Vertex
from gdb.values.elements import NodeValue, RelationshipValue

if TYPE_CHECKING:
    from gdb.rows.context import Context
    from gdb.rows.graph import Graph
    from gdb.values.kinds import Row, Value

Step = tuple[int, int]
"""An edge id and the vid that it leads to."""
Trail = tuple[int, ...]
"""The edge ids of a path."""
_PULSE = 4096  # steps between two looks at the clock


class _Steps:
    """The edges that may be followed from a vertex, looked up once for each."""

    def __init__(self, graph: Graph, edge: Edge, forward: bool) -> None:
        snapshot = graph.snapshot
        direction = edge.direction if forward else edge.direction.flipped
        known = {type_.name for type_ in snapshot.edge_types}
        self._none = bool(edge.types) and not known & set(edge.types)
        self._view = snapshot.adjacency(edge.types, direction)
        self._eids = snapshot.eids(edge.types, direction)
        self._known: dict[int, list[Step]] = {}

    def of(self, vid: int) -> list[Step]:
        found = self._known.get(vid)
        if found is None:
            row = -1 if self._none else int(self._view.rows_of(np.array([vid], np.uint32))[0])
            found = []
            if row >= 0:
                start, stop = self._view.offsets[row], self._view.offsets[row + 1]
                eids, others = self._eids[start:stop], self._view.neighbours[start:stop]
                found = list(zip(eids.tolist(), others.tolist(), strict=True))
            self._known[vid] = found
        return found


def walked(
    context: Context,
    pattern: Pattern,
    edge: Edge,
    table: Sequence[tuple[int, Row]],
    others: Sequence[str],
    bound: frozenset[str],
) -> list[tuple[int, Row]]:
    """The rows extended by every path of an edge, of which one end is bound.

    others : names of relationships that the path may not use.
    """
    return _Walk(context, pattern, edge, others, bound).rows(table)


class _Walk:
    def __init__(
        self,
        context: Context,
        pattern: Pattern,
        edge: Edge,
        others: Sequence[str],
        bound: frozenset[str],
    ) -> None:
        self.context, self.edge, self.others, self.bound = context, edge, others, bound
        self.graph = context.graph
        self.forward = edge.left in bound
        self.begin, self.end = edge.ends if self.forward else edge.ends[::-1]
        self.target: Vertex = pattern.vertices[self.end]
        self.steps = _Steps(self.graph, edge, self.forward)
        self.tests = [context.evaluator.condition(c) for c in edge.conditions]
        assert edge.length is not None
        self.low, self.high = edge.length.low, edge.length.high
        self.count = 0

    def rows(self, table: Sequence[tuple[int, Row]]) -> list[tuple[int, Row]]:
        made: list[tuple[int, Row]] = []
        for number, row in table:
            start = row[self.begin]
            if not isinstance(start, NodeValue):
                raise problem(
                    *(TypeProblem, self.context.text, self.edge.place),
                    f"'{self.begin}' is no node here, so that no path begins at it.",
                )
            goal = self._goal(row)
            if goal is False:
                continue
            begin = int(self.graph.vids([start])[0])
            for trail, end in self._paths(begin, goal, row):
                relationships = self.graph.relationships(np.array(trail, np.int64))
                if not self.forward:
                    relationships = relationships[::-1]
                found: Value = relationships[0] if self.edge.alone else [*relationships]
                if self.edge.name in self.bound and row[self.edge.name] != found:
                    continue
                (node,) = self.graph.nodes(np.array([end], np.uint32))
                made.append((number, {**row, self.edge.name: found, self.end: node}))
        return made

    def _goal(self, row: Row) -> int | bool | None:
        """The vid that paths end at; None for any, False where there can be none."""
        if self.end not in self.bound:
            return None
        end = row[self.end]
        return int(self.graph.vids([end])[0]) if isinstance(end, NodeValue) else False

    def _paths(self, begin: int, goal: int | None, row: Row) -> Iterator[tuple[Trail, int]]:
        used = self._used(row)
        steps = self._following(row, used)
        selector = self.edge.selector
        if selector is None:
            yield from self._depth_first(begin, goal, steps)
        elif self.low <= 1 and goal is not None and (goal != begin or self.low == 0):
            yield from self._shortest(begin, goal, steps)
        else:
            yield from self._selected(begin, goal, steps)

    def _used(self, row: Row) -> frozenset[int]:
        """The ids of the relationships that the clause uses elsewhere."""
        ones: list[RelationshipValue] = []
        for name in self.others:
            value = row[name]
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, RelationshipValue):
                    ones.append(one)
        return frozenset(self.graph.eids(ones).tolist()) if ones else frozenset()

    def _following(self, row: Row, used: frozenset[int]) -> Callable[[int], list[Step]]:
        """The steps from a vertex that the row admits."""
        if not used and not self.tests:
            return self.steps.of
        known: dict[int, bool] = {}

        def admits(eid: int) -> bool:
            if eid in used:
                return False
            if eid not in known:
                (one,) = self.graph.relationships(np.array([eid], np.int64))
                inner = {**row, self.edge.name: one}
                known[eid] = all(test(inner) is True for test in self.tests)
            return known[eid]

        return lambda vid: [step for step in self.steps.of(vid) if admits(step[0])]

    def _admits_end(self, vid: int, goal: int | None) -> bool:
        if goal is not None:
            return vid == goal
        if not self.target.labels:
            return True
        (node,) = self.graph.nodes(np.array([vid], np.uint32))
        return all(any(name.text in node.labels for name in term) for term in self.target.labels)

    # ---- depth first -----------------------------------------------------------------------------

    def _depth_first(
        self, begin: int, goal: int | None, steps: Callable[[int], list[Step]]
    ) -> Iterator[tuple[Trail, int]]:
        """All paths from `low` to `high` long."""
        mode = self.edge.mode
        if self.low == 0 and self._admits_end(begin, goal):
            yield (), begin
        trail: list[int] = []
        visited = [begin]
        stack = [iter(steps(begin) if self.high != 0 else ())]
        while stack:
            self._count()
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                if trail:
                    trail.pop()
                    visited.pop()
                continue
            eid, vid = step
            if mode is PathMode.TRAIL and eid in trail:
                continue
            if mode is PathMode.ACYCLIC and vid in visited:
                continue
            trail.append(eid)
            visited.append(vid)
            if len(trail) >= self.low and self._admits_end(vid, goal):
                yield tuple(trail), vid
            longer = self.high is None or len(trail) < self.high
            stack.append(iter(steps(vid) if longer else ()))

    def _count(self) -> None:
        self.count += 1
        if self.count % _PULSE == 0:
            self.context.pulse()

    # ---- shortest --------------------------------------------------------------------------------

    def _shortest(
        self, begin: int, goal: int, steps: Callable[[int], list[Step]]
    ) -> Iterator[tuple[Trail, int]]:
        """The paths that the selector takes, between two vertices: breadth first up to the goal, then back."""
        selector = self.edge.selector
        assert selector is not None
        if selector.count > 1:
            yield from self._selected(begin, goal, steps)
            return
        if begin == goal:
            yield (), begin
            return
        before: dict[int, list[Step]] = {begin: []}
        level, depth = [begin], 0
        while level and goal not in before and (self.high is None or depth < self.high):
            depth += 1
            following: dict[int, list[Step]] = {}
            for vid in level:
                self._count()
                for eid, other in steps(vid):
                    if other not in before:
                        following.setdefault(other, []).append((eid, vid))
            before |= following
            level = list(following)
        if goal not in before:
            return
        every = selector.kind == "ALL SHORTEST"
        waiting: list[tuple[int, Trail]] = [(goal, ())]
        while waiting:
            vid, trail = waiting.pop()
            if vid == begin:
                yield trail, goal
                if not every:
                    return
                continue
            for eid, previous in before[vid]:
                waiting.append((previous, (eid, *trail)))

    def _selected(
        self, begin: int, goal: int | None, steps: Callable[[int], list[Step]]
    ) -> Iterator[tuple[Trail, int]]:
        """Of all paths to each end, in order of length, those that the selector takes."""
        selector = self.edge.selector
        assert selector is not None
        by_end: dict[int, list[Trail]] = {}
        for trail, end in self._breadth_first(begin, goal, steps):
            taken = by_end.setdefault(end, [])
            if selector.kind == "ALL SHORTEST":
                if taken and len(trail) > len(taken[0]):
                    if goal is not None:
                        return
                    continue
            elif len(taken) >= selector.count:
                if goal is not None:
                    return
                continue
            taken.append(trail)
            yield trail, end

    def _breadth_first(
        self, begin: int, goal: int | None, steps: Callable[[int], list[Step]]
    ) -> Iterator[tuple[Trail, int]]:
        """All paths, shorter ones first."""
        mode = self.edge.mode
        level: list[tuple[Trail, tuple[int, ...]]] = [((), (begin,))]
        depth = 0
        while level:
            following: list[tuple[Trail, tuple[int, ...]]] = []
            for trail, visited in level:
                if depth >= self.low and self._admits_end(visited[-1], goal):
                    yield trail, visited[-1]
                if self.high is not None and depth >= self.high:
                    continue
                self._count()
                for eid, vid in steps(visited[-1]):
                    if mode is PathMode.TRAIL and eid in trail:
                        continue
                    if mode is PathMode.ACYCLIC and vid in visited:
                        continue
                    following.append(((*trail, eid), (*visited, vid)))
            level, depth = following, depth + 1

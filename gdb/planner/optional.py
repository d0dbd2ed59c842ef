"""Optional parts of a plan: what OPTIONAL MATCH adds to a pattern that is counted.

Each is planned by itself, behind the vertices that it shares with what is around it: these are bound already, so what
would bind them tests them instead. Nothing in a part restricts what is around it, which is matched as without it.
"""

from __future__ import annotations

import numpy as np

from gdb.executor.plan.plan import (
    MISSING,
    Apart,
    Arc,
    Between,
    BindEdge,
    Candidates,
    Compare,
    Eliminate,
    Extend,
    OptionalPart,
    Phase,
    Plan,
    Rules,
    Scan,
    Step,
    ViewSpec,
)
from gdb.executor.plan.valid_plans import verify
from gdb.planner import cost
from gdb.planner.decompose import decompose
from gdb.planner.distinct import conditions
from gdb.planner.order import order_behind
from gdb.planner.phases import build
from gdb.planner.resolved_graph import PlannerSource, Resolved, resolve
from gdb.query_graph import OptionalGraph, QueryGraph
from gdb.records import dataclass, replace


def with_optional(plan: Plan, graph: QueryGraph, source: PlannerSource, *, ordered: bool) -> Plan:
    """The plan of a query graph that has optional parts, from that of the graph without them.

    ordered : choose their matching orders; else the order in which they are written.
    """
    whole = _GrowingPlan(
        *(source, ordered, plan.edges, [*plan.views], [*plan.candidates]),
        *([*plan.names], [*plan.notes.estimates]),
    )
    parts = whole.parts(graph, plan.notes.estimates[-1])
    return verify(
        replace(
            plan,
            vertices=len(whole.candidates),
            edges=whole.edges,
            views=tuple(whole.views),
            candidates=tuple(whole.candidates),
            names=tuple(whole.names),
            notes=replace(plan.notes, estimates=tuple(whole.estimates)),
            optional=parts,
        )
    )


@dataclass(slots=True)
class _GrowingPlan:
    """A plan that grows by parts: their vertices and edges are numbered behind those that are there. estimates :
    expected partial embeddings after each vertex."""

    source: PlannerSource
    ordered: bool
    edges: int
    views: list[ViewSpec]
    candidates: list[Candidates]
    names: list[str]
    estimates: list[float]

    def parts(self, graph: QueryGraph, around: float) -> tuple[OptionalPart, ...]:
        """The optional parts of a graph. around : how often it is expected to be bound."""
        return tuple(self._part(one, around) for one in graph.optional)

    def _part(self, part: OptionalGraph, around: float) -> OptionalPart:
        query = resolve(part.graph, self.source)
        held = tuple(own for own, _ in part.held)
        order = order_behind(query, held)
        if not self.ordered:
            order = (*held, *(v for v in range(len(query.candidates)) if v not in held))
        phases, views = build(
            query,
            order,
            decompose(query),
            conditions(query, {}),
            {},
            (),
            patterns=False,
            implied=True,
        )
        numbered = self._numbered(query, part, views)
        expected = cost.estimates(query, order)
        scale = around / max(expected[len(held) - 1], 1.0) if held else around
        self.estimates += [scale * many for many in expected[len(held) :]]
        own = tuple(made for phase in phases for made in numbered.phase(phase))
        own += tuple(numbered.candidate_tests())
        return OptionalPart(own, self.parts(part.graph, max(around, self.estimates[-1])))

    def _numbered(
        self, query: Resolved, part: OptionalGraph, views: tuple[ViewSpec, ...]
    ) -> _Numbered:
        """Number the part's own vertices, edges and views."""
        vertex = dict(part.held)
        for own, found in enumerate(query.candidates):
            if own not in vertex:
                vertex[own] = len(self.candidates)
                self.candidates.append(found)
                name = query.graph.vertices[own].name
                self.names.append(name or f"_{vertex[own]}")
        for spec in views:
            if spec not in self.views:
                self.views.append(spec)
        first = self.edges
        self.edges += len(query.edges)
        at = tuple(self.views.index(spec) for spec in views)
        return _Numbered(self, query, frozenset(dict(part.held)), vertex, first, at)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Phases of a part by the numbers of the whole. held : the part's own numbers of the vertices bound around it.
    vertex, view : from the part's numbers. first : the number of its first edge."""

    whole: _GrowingPlan
    query: Resolved
    held: frozenset[int]
    vertex: dict[int, int]
    first: int
    view: tuple[int, ...]

    def phase(self, phase: Phase) -> list[Phase]:
        """What a phase becomes: one that would bind a vertex which is bound already tests it."""
        match phase:
            case Scan(vertex=v, rules=rules):
                if v in self.held:
                    return self._tests(v, rules)
                return [Scan(self.vertex[v], self._rules(rules))]
            case Extend(pattern=pattern, steps=(step,)):
                return self._extended(pattern, step)
            case Eliminate(view=view, arcs=arcs):
                return [Eliminate(self.view[view], tuple(map(self._arc, arcs)))]
            case BindEdge():
                return [self._bound(phase)]
            case Apart(a=a, b=b, c=c, d=d):
                at = self.vertex
                return [Apart(at[a], at[b], at[c], at[d], phase.either_way)]
            case Between(view=view, source=source, target=target):
                ends = self.vertex[source], self.vertex[target]
                return [Between(self.view[view], *ends, phase.count)]
            case Compare():
                left = self._element(phase.left, phase.left_is_edge)
                right = self._element(phase.right, phase.right_is_edge)
                return [replace(phase, left=left, right=right)]
            case _:
                raise AssertionError(phase)  # without patterns each step is an Extend of its own

    def _extended(self, pattern: int, step: Step) -> list[Phase]:
        source, vertex, edge = self.vertex[step.source], self.vertex[step.vertex], step.edge
        view = self.view[step.view]
        if step.vertex in self.held:
            arc = Arc(self.first + edge, source, vertex)
            return [Eliminate(view, (arc,)), *self._tests(step.vertex, step.rules)]
        own = Step(vertex, source, self.first + edge, view, self._rules(step.rules))
        return [Extend(pattern, (own,))]

    def _bound(self, phase: BindEdge) -> BindEdge:
        first = self.first
        return BindEdge(
            first + phase.edge,
            self.vertex[phase.source],
            self.vertex[phase.target],
            self.view[phase.view],
            tuple(first + e for e in phase.differs),
            tuple(first + e for e in phase.above),
            phase.allowed,
        )

    def _arc(self, arc: Arc) -> Arc:
        return Arc(self.first + arc.edge, self.vertex[arc.source], self.vertex[arc.target])

    def _element(self, element: int, is_edge: bool) -> int:
        return self.first + element if is_edge else self.vertex[element]

    def _rules(self, rules: Rules) -> Rules:
        return Rules(differs=tuple(self.vertex[u] for u in rules.differs))

    def _tests(self, vertex: int, rules: Rules) -> list[Phase]:
        """That a bound vertex is another than some that are bound."""
        at = self.vertex
        return [Apart(at[vertex], at[u], at[u], at[u], False) for u in rules.differs]

    def candidate_tests(self) -> list[Phase]:
        """That bound vertices are candidates in the part, where they need not be: a value of their own, which those
        that are none miss."""
        found: list[Phase] = []
        for own in sorted(self.held):
            here, there = self.query.candidates[own], self.whole.candidates[self.vertex[own]]
            if here.allowed is None and _within(there.ranges, here.ranges):
                continue
            values = np.full(self.whole.source.vertex_count, MISSING, np.int64)
            values[here.vids()] = 0
            number = self.vertex[own]
            text = f"{self.whole.names[number]} in its candidates of the optional part"
            found.append(Compare(number, number, False, False, 0, 0, values, values, text))
        return found


Ranges = tuple[tuple[int, int], ...]


def _within(some: Ranges, others: Ranges) -> bool:
    """Whether each of some ranges lies in one of others."""
    return all(any(c <= a and b <= d for c, d in others) for a, b in some)

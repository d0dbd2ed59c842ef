"""The reference executor: a plan walked phase by phase in plain Python.

It is the living definition: whatever a plan means is what these functions return, and every other
executor is tested against them. It is slow and keeps all partial embeddings in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gdb.records import dataclass

from .plan.embeddings import Embeddings, expand
from .plan.plan import (
    Apart,
    Between,
    BindEdge,
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
from .plan.source import GraphSource
from .plan.valid_plans import verify


@dataclass(frozen=True, slots=True)
class Row:
    """A partial embedding: query vertex -> vid, query edge -> eid."""

    vids: dict[int, int]
    eids: dict[int, int]

    def with_vertex(self, vertex: int, vid: int) -> Row:
        """A copy with one more vertex bound."""
        return Row({**self.vids, vertex: vid}, self.eids)

    def with_edge(self, edge: int, eid: int) -> Row:
        """A copy with one more edge bound."""
        return Row(self.vids, {**self.eids, edge: eid})


def count(plan: Plan, graph: GraphSource) -> int:
    """Number of embeddings: the plan's own and those of its terms."""
    graph = plan.over(graph)
    own = _ways(OptionalPart(plan.phases, plan.optional), Row({}, {}), verify(plan), graph)
    own *= plan.multiplicity
    return (own + sum(factor * count(term, graph) for factor, term in plan.terms)) // plan.divisor


def rows(plan: Plan, graph: GraphSource) -> Embeddings:
    """All embeddings, twins written out, in no promised order."""
    graph = plan.over(graph)
    found = list(_walk(verify(plan).phases, Row({}, {}), plan, graph))
    vids = np.array([[r.vids[v] for v in range(plan.vertices)] for r in found], np.uint32)
    eids = np.array([[r.eids.get(e, -1) for e in range(plan.edges)] for r in found], np.int64)
    table = Embeddings(
        vids.reshape(len(found), plan.vertices), eids.reshape(len(found), plan.edges)
    )
    return expand(table, plan.twins)


def _ways(part: OptionalPart, row: Row, plan: Plan, graph: GraphSource) -> int:
    """How often a part is matched beside what a row binds: each match as often as the product of what the parts within
    it count, each at least once."""
    return sum(
        math.prod(max(_ways(inner, found, plan, graph), 1) for inner in part.parts)
        for found in _walk(part.phases, row, plan, graph)
    )


def _walk(phases: tuple[Phase, ...], row: Row, plan: Plan, graph: GraphSource) -> Iterator[Row]:
    partial: Iterator[Row] = iter([row])
    for phase in phases:
        partial = iter([after for row in partial for after in _apply(phase, row, plan, graph)])
    return partial


def _apply(phase: Phase, row: Row, plan: Plan, graph: GraphSource) -> list[Row]:
    match phase:
        case Scan(vertex=v, rules=rules):
            found = plan.candidates[v].vids().tolist()
            return [row.with_vertex(v, x) for x in found if _obeys(x, rules, row)]
        case Extend(steps=steps):
            partial = [row]
            for step in steps:
                partial = [after for r in partial for after in _step(step, r, plan, graph)]
            return partial
        case Eliminate(view=w, arcs=arcs):
            spec = plan.views[w]
            kept = all(_edges(spec, row.vids[a.source], row.vids[a.target], graph) for a in arcs)
            return [row] if kept else []
        case BindEdge():
            return _bind(phase, row, plan, graph)
        case Apart(a=a, b=b, c=c, d=d, either_way=either_way):
            ends = (row.vids[c], row.vids[d])
            pair = (row.vids[a], row.vids[b])
            same = pair == ends or (either_way and pair == ends[::-1])
            return [] if same else [row]
        case Compare():
            left = phase.left_values[(row.eids if phase.left_is_edge else row.vids)[phase.left]]
            right = phase.right_values[(row.eids if phase.right_is_edge else row.vids)[phase.right]]
            return [row] if phase.holds(int(left), int(right)) else []
        case Between(view=w, source=s, target=t, count=n):
            held = len(_edges(plan.views[w], row.vids[s], row.vids[t], graph))
            return [row] if held == n else []


def _obeys(x: int, rules: Rules, row: Row) -> bool:
    return (
        all(x < row.vids[u] for u in rules.below)
        and all(x > row.vids[u] for u in rules.above)
        and all(x != row.vids[u] for u in rules.differs)
    )


def _step(step: Step, row: Row, plan: Plan, graph: GraphSource) -> list[Row]:
    spec = plan.views[step.view]
    adjacency = graph.adjacency(spec.types, spec.direction)
    near = set(adjacency.neighbours_of(row.vids[step.source]).tolist())
    found = near & set(plan.candidates[step.vertex].vids().tolist())
    return [row.with_vertex(step.vertex, x) for x in sorted(found) if _obeys(x, step.rules, row)]


def _edges(spec: ViewSpec, source: int, target: int, graph: GraphSource) -> list[int]:
    """Edge ids of all edges of a view from source to target."""
    adjacency = graph.adjacency(spec.types, spec.direction)
    at = int(adjacency.rows_of(np.array([source], np.uint32))[0])
    if at < 0:
        return []
    eids = graph.eids(spec.types, spec.direction)
    span = range(int(adjacency.offsets[at]), int(adjacency.offsets[at + 1]))
    return [int(eids[p]) for p in span if int(adjacency.neighbours[p]) == target]


def _bind(phase: BindEdge, row: Row, plan: Plan, graph: GraphSource) -> list[Row]:
    source, target = row.vids[phase.source], row.vids[phase.target]
    found = _edges(plan.views[phase.view], source, target, graph)
    if phase.allowed is not None:
        allowed = set(phase.allowed.tolist())
        found = [e for e in found if e in allowed]
    found = [e for e in found if all(e != row.eids[f] for f in phase.differs)]
    found = [e for e in found if all(e > row.eids[f] for f in phase.above)]
    return [row.with_edge(phase.edge, e) for e in found]

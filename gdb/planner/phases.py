"""From a matching order to phases: extensions by matching patterns 0-7 and eliminations by view
(geneva-tpds §5-§6)."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.executor.plan.plan import (
    Arc,
    Between,
    BindEdge,
    Compare,
    Eliminate,
    Extend,
    Phase,
    Rules,
    Scan,
    Step,
    ViewSpec,
)
from gdb.planner.decompose import Decomposition
from gdb.planner.distinct import ModeConditions
from gdb.planner.implied import Implied
from gdb.planner.resolved_graph import Resolved
from gdb.records import dataclass, field, quick

MAX_GROUP = 8


@quick
@dataclass(frozen=True, slots=True)
class _Way:
    """A tree edge by which a vertex can be reached: from bound `source` along `edge` through
    `spec`."""

    source: int
    edge: int
    spec: ViewSpec


@dataclass(slots=True)
class _PhaseBuilder:
    """Phases under construction."""

    query: Resolved
    conditions: ModeConditions
    parallel: dict[int, int]
    rules: dict[int, Rules]
    phases: list[Phase] = field(default_factory=list)
    views: list[ViewSpec] = field(default_factory=list)
    bound: list[int] = field(default_factory=list)
    matched: set[int] = field(default_factory=set)
    named: list[int] = field(default_factory=list)
    compared: list[Compare] = field(default_factory=list)
    implied: Implied | None = None

    def view(self, spec: ViewSpec) -> int:
        if spec not in self.views:
            self.views.append(spec)
        return self.views.index(spec)

    def ways(self, vertex: int) -> list[_Way]:
        """Tree edges from bound vertices, the expected shortest list first."""
        found = []
        for e in self.query.incident(vertex):
            edge = self.query.edges[e]
            source = edge.other(vertex)
            if source in self.bound and source != vertex:
                found.append(_Way(source, e, edge.spec(source)))
        if len(found) < 2:
            return found
        mean = self.query.mean_degree
        return sorted(found, key=lambda w: (mean(w.spec), self.bound.index(w.source)))

    def scan(self, vertex: int) -> None:
        self.phases.append(Scan(vertex, self.rules[vertex]))
        self._bind([vertex])

    def extend(self, pattern: int, ways: Sequence[tuple[int, _Way]]) -> None:
        steps = tuple(Step(v, w.source, w.edge, self.view(w.spec), self.rules[v]) for v, w in ways)
        self.phases.append(Extend(pattern, steps))
        self.matched |= {w.edge for _, w in ways}
        self._bind([v for v, _ in ways])

    def _bind(self, vertices: list[int]) -> None:
        """After an extension: eliminate by every edge that became checkable, bind edges that have
        predicates."""
        self.bound += vertices
        backward: dict[int, list[Arc]] = {}
        for v in vertices:
            for e in self.query.incident(v):
                edge = self.query.edges[e]
                u = edge.other(v)
                ready = u in self.bound and e not in self.matched
                if ready and self.bound.index(u) <= self.bound.index(v):
                    backward.setdefault(self.view(edge.spec(u)), []).append(Arc(e, u, v))
                    self.matched.add(e)
        self.phases += [Eliminate(w, tuple(arcs)) for w, arcs in sorted(backward.items())]
        for apart in self.conditions.apart:
            ends = {apart.a, apart.b, apart.c, apart.d}
            if ends <= set(self.bound) and ends & set(vertices):
                self.phases.append(apart)
        self._between(vertices)
        self._compare()
        compared = {e for c in self.query.graph.compared for e in c.edges}
        for e in sorted(self.conditions.bound):
            if self.query.graph.edges[e].allowed is not None or e in compared:
                self.bind_edge(e)

    def _compare(self) -> None:
        """Compare the values of two elements as soon as the second one is bound."""
        for c in self.query.graph.compared:
            ready = c.vertices <= set(self.bound) and c.edges <= set(self.named)
            if ready and not any(c is known for known in self.compared):
                self.compared.append(c)
                self.phases.append(c)
                if self.implied is not None:
                    self.implied.note_made(c)
        if self.implied is not None:
            self.phases += self.implied.following(self.bound, self.named)

    def _between(self, vertices: list[int]) -> None:
        """Hold the number of edges between two vertices that are now bound to what it has to be."""
        for spec, u, v, held in self.conditions.between:
            if {u, v} <= set(self.bound) and {u, v} & set(vertices):
                if self.bound.index(v) < self.bound.index(u):
                    u, v = v, u
                    spec = ViewSpec(spec.types, spec.direction.flipped)
                self.phases.append(Between(self.view(spec), u, v, held))

    def bind_edge(self, e: int) -> None:
        """Bind a query edge whose ends are bound, once."""
        edge = self.query.edges[e]
        if e in self.named or not {edge.source, edge.target} <= set(self.bound):
            return
        differs = [f for f in self.named if {(e, f), (f, e)} & self.conditions.edges]
        above = [f for f in self.named if self.parallel.get(e) == f]
        # a parallel twin bound later must have the larger id as well, so twins are bound in their
        # order
        before = self.parallel.get(e)
        if before is not None and before not in self.named:
            self.bind_edge(before)
            differs = [f for f in self.named if {(e, f), (f, e)} & self.conditions.edges]
            above = [before]
        differs = [f for f in differs if f not in above]
        spec = edge.spec(edge.source)
        allowed = self.query.graph.edges[e].allowed
        self.phases.append(
            BindEdge(
                e, edge.source, edge.target, self.view(spec), tuple(differs), tuple(above), allowed
            )
        )
        self.named.append(e)
        self._compare()


def build(
    query: Resolved,
    order: tuple[int, ...],
    parts: Decomposition,
    conditions: ModeConditions,
    parallel: dict[int, int],
    restrictions: tuple[tuple[int, int], ...],
    *,
    patterns: bool,
    implied: bool,
) -> tuple[tuple[Phase, ...], tuple[ViewSpec, ...]]:
    """Phases and their views; without `patterns` every extension is matching pattern 0. implied : comparisons that
    follow from others are made as well, where they exclude more."""
    builder = _PhaseBuilder(query, conditions, parallel, _rules(order, conditions, restrictions))
    if implied and len(query.graph.compared) > 1:
        builder.implied = Implied(query.graph.compared)
    left = list(order)
    while left:
        options = _options(builder, left, parts, patterns=patterns)
        if not options:
            builder.scan(left.pop(0))
            continue
        pattern, ways = _pattern(builder, left, options)
        builder.extend(pattern, ways)
        del left[: len(ways)]
    for e in sorted(conditions.bound):
        builder.bind_edge(e)
    return tuple(builder.phases), tuple(builder.views)


def _rules(
    order: tuple[int, ...], conditions: ModeConditions, restrictions: tuple[tuple[int, int], ...]
) -> dict[int, Rules]:
    """For each vertex its rules against those before it in the order."""
    found: dict[int, Rules] = {}
    larger = {v: {a for a, b in restrictions if b == v} for v in order}
    smaller = {v: {b for a, b in restrictions if a == v} for v in order}
    apart: dict[int, set[int]] = {v: set() for v in order}
    for a, b in conditions.vertices:
        apart[a].add(b)
        apart[b].add(a)
    for k, v in enumerate(order):
        earlier = set(order[:k])
        below, above = larger[v] & earlier, smaller[v] & earlier
        differs = (apart[v] & earlier) - below - above
        found[v] = Rules(tuple(sorted(below)), tuple(sorted(above)), tuple(sorted(differs)))
    return found


def _options(
    builder: _PhaseBuilder, left: list[int], parts: Decomposition, *, patterns: bool
) -> list[list[_Way]]:
    """The ways to each of the next vertices of the order that one pattern may bind: those that have some and are, as
    the first is, in the core or not in it. In the core at most two are bound at once (§6)."""
    inside = left[0] in parts.core
    found: list[list[_Way]] = []
    for v in left[: (2 if inside else MAX_GROUP) if patterns else 1]:
        ways = builder.ways(v) if (v in parts.core) is inside else []
        if not ways:
            break
        found.append(ways)
    return found


def _pattern(
    builder: _PhaseBuilder, left: list[int], options: list[list[_Way]]
) -> tuple[int, list[tuple[int, _Way]]]:
    """The matching pattern of highest priority for the next vertices of the order (§5.5): 5, 6, 7
    bind most vertices, then 1, 3, 4, 2 bind two, then 0. options : the ways to each of them."""
    for size in range(len(options), 1, -1):
        found = _classify(builder, left[:size], options[:size])
        if found is not None:
            return found
    return 0, [(left[0], options[0][0])]


def _classify(
    builder: _PhaseBuilder, vertices: list[int], options: list[list[_Way]]
) -> tuple[int, list[tuple[int, _Way]]] | None:
    """The pattern that binds exactly these vertices at once, if there is one (geneva-tpds Fig. 1):
    their tree edges have one label, and come from one source or, one source for each vertex label,
    from two."""
    labels = [builder.query.candidates[v].label for v in vertices]
    if len(set(labels)) > 2:
        return None
    for way in options[0]:
        chosen = [
            next((w for w in o if (w.source, w.spec) == (way.source, way.spec)), None)
            for o in options
        ]
        found = [w for w in chosen if w is not None]
        if len(found) == len(vertices):
            alike = len(set(labels)) == 1
            pattern = (1 if alike else 3) if len(vertices) == 2 else (5 if alike else 6)
            return pattern, list(zip(vertices, found, strict=True))
    return _two_sources(vertices, options, labels)


def _two_sources(
    vertices: list[int], options: list[list[_Way]], labels: list[str]
) -> tuple[int, list[tuple[int, _Way]]] | None:
    alike = len(set(labels)) == 1
    if alike and len(vertices) > 2:
        return None
    for first in options[0]:
        for last in options[-1]:
            if first.spec != last.spec or first.source == last.source:
                continue
            wanted = [
                (last if label == labels[-1] and (not alike or k) else first).source
                for k, label in enumerate(labels)
            ]
            chosen = [
                next((w for w in o if (w.source, w.spec) == (source, first.spec)), None)
                for o, source in zip(options, wanted, strict=True)
            ]
            found = [w for w in chosen if w is not None]
            if len(found) == len(vertices):
                pattern = (2 if alike else 4) if len(vertices) == 2 else 7
                return pattern, list(zip(vertices, found, strict=True))
    return None

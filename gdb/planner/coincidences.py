"""Counting without the condition that two relationships differ, less the embeddings in which they are one.

Relationships that may have parallel ones are compared by their ids, so each has to be bound, and nothing of a pattern
is counted by the length of a list. Where they may coincide, each of them only multiplies. With a pair p of query edges
that have to differ taken off, and Q / p the pattern in which both are one edge, and so their ends one vertex each,

    count(Q, D) = count(Q, D - p) - count(Q / p, D / p)

An edge without a direction may be the other one either way round, which of a self-loop is the same:
count(Q / p) is then the sum over both ways less the pattern in which all ends are one vertex. Pairs of leaves of one
list stay: these are counted together by its length (`gdb.executor.nest.each_edge`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gdb.executor.plan.plan import Plan, ViewSpec
from gdb.executor.plan.valid_plans import verify
from gdb.planner.distinct import ModeConditions
from gdb.planner.resolved_graph import PlannerSource, Resolved, resolve
from gdb.planner.structure import Effort, expected_steps
from gdb.planner.symmetry import Automorphisms
from gdb.query_graph import DIFFERENT_EDGES, QueryEdge, QueryGraph, QueryVertex
from gdb.records import dataclass, replace
from gdb.storage.format.direction import Direction

# patterns that are looked at, at most, and steps, about 0.3 ms, that one of them takes: in all at most this share of
# those of the plan with all conditions
MOST_PATTERNS, A_PATTERN, SEARCH_SHARE = 3_000, 3e4, 0.1
# how much cheaper all terms have to be than the plan with all conditions, and steps, about 3 ms, that one term costs to
# plan and to prepare
CHEAPER, A_TERM = 0.6, 3e5

Number = TypeVar("Number", bound=np.generic)

Apart = frozenset[frozenset[int]]  # pairs of edges, each by the least of those that it is one of


@dataclass(frozen=True, slots=True)
class _Edge:
    """Query edges that are one: `number`, the least of them, and the others. source, target : vertices, each by the
    least of those that are one. types : () = all."""

    number: int
    members: frozenset[int]
    source: int
    target: int
    types: tuple[str, ...]
    direction: Direction

    def other(self, vertex: int) -> int:
        return self.target if vertex == self.source else self.source

    def spec(self, vertex: int) -> ViewSpec:
        """The view that is read where `vertex`, one of its ends, is bound."""
        way = self.direction if vertex == self.source else self.direction.flipped
        return ViewSpec(self.types, way)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern made of another: for each vertex the least of those that it is one with, the edges by their number, and
    those that have to differ."""

    place: tuple[int, ...]
    edges: tuple[_Edge, ...]
    apart: Apart


@dataclass(frozen=True, slots=True)
class Addend:
    """A query graph to count, so often as `factor` says. place : what each vertex of the pattern became."""

    factor: int
    graph: QueryGraph
    place: tuple[int, ...]


def by_coincidences(
    first: Plan,
    query: Resolved,
    held: ModeConditions,
    source: PlannerSource,
    make: Callable[[QueryGraph, int | None], Plan],
    effort: Effort,
    root: int | None,
) -> Plan:
    """The plan that counts what `first` does: where that is cheaper, of relationships that may coincide, less the
    embeddings in which they do.

    held : the query's conditions. make : plans a query graph, with a vertex for each of whose data vertices is counted.
    root : that vertex; None: all is.
    """
    steps = expected_steps(first, source, effort)
    if steps < effort.search_from:
        return first
    first = replace(first, notes=replace(first.notes, steps=steps))
    most = int(min(SEARCH_SHARE * steps / A_PATTERN, MOST_PATTERNS))
    terms = coincidences(query, held, root, most)
    if not terms or A_TERM * len(terms) > CHEAPER * steps:
        return first
    whole, plans = 0.0, list[tuple[int, Plan]]()
    for term in terms:
        effort.check()
        plan = make(term.graph, None if root is None else term.place[root])
        own = expected_steps(plan, source, effort)
        whole += own + A_TERM
        if whole > CHEAPER * steps:
            return first
        others, known = plan.terms, sum(t.notes.steps or 0.0 for _, t in plan.terms)
        notes = replace(plan.notes, steps=own - known)
        plans.append((term.factor, replace(plan, terms=(), notes=notes, stages={})))
        plans += [(term.factor * factor, other) for factor, other in others]
    (_, plan), *left = plans
    notes = replace(plan.notes, steps=whole - A_TERM * len(terms), several=first.notes.several)
    return verify(replace(plan, terms=tuple(left), notes=notes))


def coincidences(
    query: Resolved, held: ModeConditions, root: int | None = None, most: int = MOST_PATTERNS
) -> list[Addend]:
    """What a query graph is counted by where relationships that must differ may coincide: first itself, then what is
    taken off and added; [] where that cannot be, or would change nothing.

    held : its conditions. root : a vertex for each of whose data vertices is counted. most : patterns to look at.
    """
    graph = query.graph
    if held.between or graph.mode.distinct or graph.mode.induced:
        return []
    if graph.compared or graph.negated or graph.optional or any(x.wanted for x in graph.edges):
        return []
    if any(edge.types is None for edge in query.edges):
        return []
    expansion = _Expansion(query, held, root)
    whole = expansion.whole()
    if not expansion.to_take_off(whole):
        return []
    found = expansion.patterns(whole, most)
    return _alike_together(query, [expansion.term(*one) for one in found.items()], root)


def _alike_together(query: Resolved, terms: list[Addend], root: int | None) -> list[Addend]:
    """The terms without those that are like others, whose factors count for both."""
    kept: list[tuple[Automorphisms, Addend]] = []
    for term in terms:
        shape = Automorphisms(resolve(term.graph, query.source))
        at = None
        if root is None:
            like = (k for k, (known, _) in enumerate(kept) if known.n == shape.n)
            at = next((k for k in like if shape.onto(kept[k][0])), None)
        if at is None:
            kept.append((shape, term))
        else:
            known, one = kept[at]
            kept[at] = known, replace(one, factor=one.factor + term.factor)
    return [kept[0][1], *(term for _, term in kept[1:] if term.factor)] if kept else []


class _Expansion:
    """The patterns that a query graph is counted by."""

    def __init__(self, query: Resolved, held: ModeConditions, root: int | None) -> None:
        self.query, self.held, self.root = query, held, root
        self.undirected = frozenset(t.name for t in query.source.edge_types if not t.directed)
        self.every = frozenset(t.name for t in query.source.edge_types)
        differ = {(min(p), max(p)) for p in (*held.vertices, *query.graph.apart)}
        self.differ = frozenset(differ)

    def whole(self) -> _Pattern:
        """The query graph itself."""
        edges = tuple(
            _Edge(e, frozenset({e}), x.source, x.target, x.types or (), x.direction)
            for e, x in enumerate(self.query.edges)
        )
        apart = frozenset(frozenset(pair) for pair in (*self.held.edges, *self.held.compared))
        return _Pattern(tuple(range(len(self.query.candidates))), edges, apart)

    def patterns(self, whole: _Pattern, most: int) -> dict[_Pattern, int]:
        """The patterns to count and their factors, `whole` without conditions first; {} where more than `most` are
        looked at."""
        found: dict[_Pattern, int] = {}
        waiting, looked = {whole: 1}, 0
        while waiting:
            looked += 1
            if looked > most:
                return {}
            # of the most edges first, so that what several lead to is looked at once
            one = max(waiting, key=lambda p: (len(p.edges), len(p.apart)))
            factor = waiting.pop(one)
            pairs = self.to_take_off(one)
            if not pairs:
                found[one] = found.get(one, 0) + factor
                continue
            pair = min(pairs, key=sorted)
            free = replace(one, apart=one.apart - {pair})
            waiting[free] = waiting.get(free, 0) + factor
            for sign, smaller in self.merged(one, *sorted(pair)):
                waiting[smaller] = waiting.get(smaller, 0) - sign * factor
        return {one: factor for one, factor in found.items() if factor}

    # ---- pairs that stay ---------------------------------------------------------------------------

    def to_take_off(self, pattern: _Pattern) -> list[frozenset[int]]:
        """The pairs that no list counts together."""
        kept = {pair for group in self.groups(pattern) for pair in _pairs(group)}
        return [pair for pair in pattern.apart if pair not in kept]

    def groups(self, pattern: _Pattern) -> list[frozenset[int]]:
        """Sets of edges to leaves of one list, each to differ from all others of its set."""
        degrees = Counter(v for x in pattern.edges for v in {x.source, x.target})
        alike: dict[tuple[object, ...], set[int]] = {}
        for x in pattern.edges:
            for leaf in {x.source, x.target}:
                if degrees[leaf] == 1 and x.source != x.target and self._is_plain(pattern, x, leaf):
                    near = x.other(leaf)
                    ranges = self.query.candidates[leaf].ranges
                    alike.setdefault((near, x.spec(near), ranges), set()).add(x.number)
        found = []
        for group in alike.values():
            left = set(group)
            while left:
                first = min(left)
                own = {first} | {e for e in left if frozenset({first, e}) in pattern.apart}
                left -= own
                if len(own) > 1 and all(pair in pattern.apart for pair in _pairs(frozenset(own))):
                    found.append(frozenset(own))
        return found

    def _is_plain(self, pattern: _Pattern, edge: _Edge, leaf: int) -> bool:
        """Whether nothing but its list and its labels says what a leaf may be, nor by which edge."""
        graph = self.query.graph
        if any(graph.edges[e].allowed is not None or graph.edges[e].exists for e in edge.members):
            return False
        own = {v for v, at in enumerate(pattern.place) if at == leaf}
        tied = self.root in own or any(own & {*pair} for pair in self.differ)
        return len(own) == 1 and not tied and self.query.candidates[leaf].allowed is None

    # ---- edges that are one ------------------------------------------------------------------------

    def merged(self, pattern: _Pattern, e: int, f: int) -> Iterator[tuple[int, _Pattern]]:
        """The patterns in which two edges are one, with the sign of each."""
        x, y = (next(z for z in pattern.edges if z.number == k) for k in (e, f))
        if x.direction is Direction.ANY:
            x, y = y, x  # the direction of one is that of both
        any_way = y.direction is Direction.ANY
        types = (self.every if not x.types else {*x.types}) & (
            self.every if not y.types else {*y.types}
        )
        turned = types if any_way else types & self.undirected
        ways = (
            (1, types, ((x.source, y.source), (x.target, y.target))),
            (1, turned, ((x.source, y.target), (x.target, y.source))),
            (-1, turned, ((x.source, x.target), (x.source, y.source), (x.source, y.target))),
        )
        for sign, some, ends in ways:
            one = self._with(pattern, x, y, frozenset(some), ends) if some else None
            if one is not None:
                yield sign, one

    def _with(
        self,
        pattern: _Pattern,
        x: _Edge,
        y: _Edge,
        types: frozenset[str],
        ends: tuple[tuple[int, int], ...],
    ) -> _Pattern | None:
        """The pattern in which x and y are one edge of some types, and so are vertices; None where it has no
        embeddings."""
        place = list(pattern.place)
        for u, v in ends:
            low, high = sorted((place[u], place[v]))
            place = [low if at == high else at for at in place]
        if any(place[u] == place[v] for u, v in self.differ):
            return None
        n = range(len(place))
        if any(place[u] == place[v] and self.query.disjoint(u, v) for u in n for v in range(u)):
            return None
        number = min(x.number, y.number)
        names = () if types == self.every else tuple(sorted(types))
        both = replace(x, number=number, members=x.members | y.members, types=names)
        others = [z for z in pattern.edges if z.number not in (x.number, y.number)]
        edges = [
            replace(z, source=place[z.source], target=place[z.target]) for z in (both, *others)
        ]
        for z in edges:
            if z.source == z.target and not self.query.shape(z.spec(z.source)).loops:
                return None
        apart = set()
        for pair in pattern.apart:
            renamed = frozenset(number if k in (x.number, y.number) else k for k in pair)
            if len(renamed) == 2:
                apart.add(renamed)
        edges.sort(key=lambda z: z.number)
        return _Pattern(tuple(place), tuple(edges), frozenset(apart))

    # ---- query graphs ------------------------------------------------------------------------------

    def term(self, pattern: _Pattern, factor: int) -> Addend:
        """The query graph of a pattern."""
        graph, kept = self.query.graph, sorted(set(pattern.place))
        at = tuple(kept.index(v) for v in pattern.place)
        members = [[v for v, k in enumerate(at) if k == number] for number in range(len(kept))]
        groups = sorted(self.groups(pattern), key=min)
        clause = {e: k for k, group in enumerate(groups) for e in group}
        edges = tuple(
            self._query_edge(x, at, clause.get(x.number, len(groups) + x.number))
            for x in pattern.edges
        )
        pairs = {tuple(sorted((at[u], at[v]))) for u, v in self.differ}
        own = QueryGraph(
            tuple(_one_vertex([graph.vertices[v] for v in some]) for some in members),
            edges,
            DIFFERENT_EDGES,
            apart=tuple(sorted((u, v) for u, v in pairs)),
        )
        return Addend(factor, own, at)

    def _query_edge(self, edge: _Edge, at: tuple[int, ...], clause: int) -> QueryEdge:
        all_of = [self.query.graph.edges[e] for e in sorted(edge.members)]
        allowed = _common([x.allowed for x in all_of])
        return QueryEdge(
            at[edge.source],
            at[edge.target],
            edge.types,
            edge.direction,
            allowed=allowed,
            predicate=_both([x.predicate for x in all_of]),
            clause=clause,
            exists=all_of[0].exists,
        )


def _pairs(group: frozenset[int]) -> Iterator[frozenset[int]]:
    return (frozenset({a, b}) for a in group for b in group if a < b)


def _one_vertex(all_of: list[QueryVertex]) -> QueryVertex:
    if len(all_of) == 1:
        return all_of[0]
    labels = tuple(sorted({some for vertex in all_of for some in vertex.labels}))
    allowed = _common([vertex.allowed for vertex in all_of])
    name = "=".join(vertex.name or "_" for vertex in all_of)
    return QueryVertex(name, labels, allowed, _both([vertex.predicate for vertex in all_of]))


def _common(sets: list[npt.NDArray[Number] | None]) -> npt.NDArray[Number] | None:
    """What is in all of some ascending sets; None is everything."""
    known = [some for some in sets if some is not None]
    found = known[0] if known else None
    for some in known[1:]:
        found = np.intersect1d(found, some, assume_unique=True) if found is not None else None
    return found


def _both(predicates: list[str]) -> str:
    return " AND ".join(sorted({text for text in predicates if text}))

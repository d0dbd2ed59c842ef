"""A counting problem, and the smaller ones that are left when conditions are taken off.

`count(Q, D)`, the embeddings of Q in which the pairs D differ, is `count(Q, D - S)` less those in
which some pairs of S are equal; these are the embeddings of Q with such pairs made one vertex
(shrinkages of DecoMine; thesis ch. 3):

    count(Q, D) = count(Q, D - S) - sum over partitions p made of pairs of S: count(Q / p, D / p)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gdb.base.once import cached_property
from gdb.executor.plan.plan import Candidates
from gdb.planner.distinct import ModeConditions
from gdb.planner.resolved_graph import Resolved, ResolvedEdge
from gdb.planner.symmetry import Automorphisms
from gdb.query_graph import MatchMode, QueryEdge, QueryGraph, QueryVertex
from gdb.records import dataclass, replace
from gdb.storage.format.direction import Direction

Pairs = frozenset[tuple[int, int]]
Block = frozenset[int]
Partition = frozenset[Block]

_PLAIN = MatchMode(edges_differ=False)


@dataclass(frozen=True)
class Problem:
    """Count the embeddings of `query` in which each pair of `apart` (smaller vertex first) differs, and in which the
    vid of u is larger than that of v for each pair (u, v) of `order`."""

    query: Resolved
    apart: Pairs
    order: Pairs = frozenset()

    @cached_property
    def group(self) -> Automorphisms:
        """Its automorphisms: those of the query graph that keep what differs and what is ordered."""
        return Automorphisms(self.query, self.apart | {(v, u) for u, v in self.apart}, self.order)

    def least_of(self, orbit: list[int], *, hubs_first: bool) -> Problem:
        """The embeddings in which the first vertex of an orbit has the smallest vid of it, or with not `hubs_first` the
        largest: as many for each of its vertices, which all differ."""
        first, others = orbit[0], orbit[1:]
        pairs = {(x, first) if hubs_first else (first, x) for x in others}
        known = {(min(p), max(p)) for p in pairs}
        return replace(self, apart=self.apart - known, order=self.order | pairs)

    def merged(self, pair: tuple[int, int], taken: Pairs) -> tuple[Problem, dict[int, int]] | None:
        """The problem without the conditions `taken` in which a pair is one vertex, and what became of each vertex;
        None where that has no embeddings."""
        kept = replace(self, apart=self.apart - taken)
        if different(kept, *pair):
            return None
        others = set(range(len(self.query.candidates))) - set(pair)
        partition = frozenset({frozenset(pair), *(frozenset({v}) for v in others)})
        found = _quotient(kept, partition)
        return (found, _places(partition)) if found is not None else None


def problem_of(query: Resolved, conditions: ModeConditions) -> Problem | None:
    """The query as a counting problem; None where more has to hold than that vertices differ, or an edge
    may be matched more than once."""
    if conditions.apart or conditions.between or conditions.bound or conditions.edges:
        return None
    if query.graph.compared:
        return None
    for edge in query.edges:
        view = query.shape(edge.spec(edge.source))
        if edge.source == edge.target or not view.simple or view.loops:
            return None
    pairs = frozenset((min(p), max(p)) for p in conditions.vertices)
    graph = replace(
        query.graph, mode=_PLAIN, symmetric_under=(), renamed=None, apart=(), negated=()
    )
    return Problem(replace(query, graph=graph, negated=()), pairs)


def conditions_of(apart: Pairs) -> ModeConditions:
    """The conditions of a problem, for building a plan."""
    return ModeConditions(apart, frozenset(), (), frozenset(), ())


def different(problem: Problem, u: int, v: int) -> bool:
    """Whether no embedding maps both vertices alike."""
    query = problem.query
    pair = (min(u, v), max(u, v))
    if (u, v) in problem.order or (v, u) in problem.order:
        return True
    return pair in problem.apart or v in query.neighbours(u) or query.disjoint(u, v)


def quotients(problem: Problem, taken: Pairs) -> Iterator[Problem]:
    """What is to be taken off when the pairs `taken` need not differ: one problem for each way to make
    some of them equal that has embeddings at all."""
    kept = replace(problem, apart=problem.apart - taken)
    identity = frozenset(frozenset([v]) for v in range(len(problem.query.candidates)))
    seen = {identity}
    frontier = [identity]
    for partition in frontier:
        for u, v in taken:
            merged = _merged(partition, u, v)
            if merged not in seen:
                seen.add(merged)
                if all(_may_be_one(kept, block) for block in merged):
                    frontier.append(merged)
    for partition in frontier[1:]:
        found = _quotient(problem, partition)
        if found is not None:
            yield found


def _merged(partition: Partition, u: int, v: int) -> Partition:
    joined = [b for b in partition if u in b or v in b]
    return partition - frozenset(joined) | {frozenset().union(*joined)}


def _may_be_one(kept: Problem, block: Block) -> bool:
    """Whether no condition that is kept, and nothing else, makes vertices of a block differ."""
    return not any(different(kept, u, v) for u in block for v in block if u < v)


def _quotient(problem: Problem, partition: Partition) -> Problem | None:
    """The problem with each block made one vertex; None where one has no candidates."""
    query = problem.query
    blocks = sorted(partition, key=min)
    place = _places(partition)
    vertices = tuple(_one_vertex(query.graph, block) for block in blocks)
    candidates = tuple(_common([query.candidates[v] for v in sorted(b)]) for b in blocks)
    if any(c.count == 0 for c in candidates):
        return None
    edges: dict[tuple[object, ...], tuple[ResolvedEdge, QueryEdge]] = {}
    for edge, query_edge in zip(query.edges, query.graph.edges, strict=True):
        u, v = place[edge.source], place[edge.target]
        if edge.direction is Direction.ANY:
            u, v = min(u, v), max(u, v)
        found = (
            replace(edge, source=u, target=v),
            replace(query_edge, source=u, target=v, name=None),
        )
        edges.setdefault((u, v, edge.types, edge.direction), found)
    graph = replace(query.graph, vertices=vertices, edges=tuple(a for _, a in edges.values()))
    smaller = Resolved(graph, query.source, candidates, tuple(e for e, _ in edges.values()))
    pairs = {(place[u], place[v]) for u, v in problem.apart}
    apart = {(min(p), max(p)) for p in pairs if p[0] != p[1]}
    order = frozenset((place[u], place[v]) for u, v in problem.order)
    plain = Problem(smaller, frozenset(), order)
    return Problem(smaller, frozenset(p for p in apart if not different(plain, *p)), order)


def _places(partition: Partition) -> dict[int, int]:
    """The number of the block of each vertex."""
    return {v: k for k, block in enumerate(sorted(partition, key=min)) for v in block}


def _one_vertex(graph: QueryGraph, block: Block) -> QueryVertex:
    members = [graph.vertices[v] for v in sorted(block)]
    if len(members) == 1:
        return members[0]
    labels = tuple(sorted({alternatives for m in members for alternatives in m.labels}))
    predicates = sorted({m.predicate for m in members} - {""})
    names = "=".join(m.name or "_" for m in members)
    return QueryVertex(names, labels, predicate=" AND ".join(predicates))


def _common(all_of: list[Candidates]) -> Candidates:
    """The vertices that are candidates of all."""
    first = all_of[0]
    if all(c.ranges == first.ranges and c.allowed is first.allowed for c in all_of):
        return first
    vids = first.vids()
    for other in all_of[1:]:
        vids = np.intersect1d(vids, other.vids(), assume_unique=True)
    label = "&".join(dict.fromkeys(c.label for c in all_of if c.label))
    return Candidates(first.ranges, vids, len(vids), label)

"""Automorphisms of the query graph and the restrictions that keep one embedding of each class
(GraphZero, GraphPi).

The group is never listed for restrictions: orbits of a stabilizer chain are found by searching one
automorphism at a time, so that a star with twelve leaves (12! automorphisms) is planned at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from gdb.errors import LimitExceeded
from gdb.executor.plan.plan import Twin
from gdb.planner.distinct import clauses
from gdb.planner.resolved_graph import Resolved, ResolvedEdge
from gdb.records import dataclass, field
from gdb.storage.format.direction import Direction

MAX_TWINS = 5040
SEARCH_STEPS = 200_000
_EDGE = re.compile(r"\$e(\d+)\b")

Colour = tuple[object, ...]
Signature = tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Symmetry:
    """The symmetry that was broken: `restrictions` (u, v) mean vid(u) > vid(v); each kept embedding represents
    `multiplicity` embeddings; `fixed` are vertices whose orbit was left alone. moves : for each broken orbit, in
    their order, automorphisms that take its vertex to the others and leave the vertices of those before where they are.
    """

    restrictions: tuple[tuple[int, int], ...] = ()
    multiplicity: int = 1
    fixed: tuple[int, ...] = ()
    moves: tuple[tuple[tuple[int, ...], ...], ...] = field(default=(), compare=False, repr=False)


class Automorphisms:
    """Searches automorphisms of a query graph: vertex permutations that keep labels, predicates, edges and
    anti-edges, the query's pairs that differ and the pairs `apart` (both ways round), which have to where others need
    not, and the pairs `order`, of whose vids the first is the larger."""

    def __init__(
        self,
        query: Resolved,
        apart: frozenset[tuple[int, int]] = frozenset(),
        order: frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        pairs = query.graph.apart
        self.apart = apart | frozenset(pairs) | {(v, u) for u, v in pairs}
        self.query, self.order, self.clauses = query, order, clauses(query)
        # what is compared with another is like nothing else
        self.compared = frozenset(v for c in query.graph.compared for v in c.vertices)
        self.compared_edges = frozenset(e for c in query.graph.compared for e in c.edges)
        self.n = len(query.candidates)
        mode = query.graph.mode
        self.texts = frozenset(query.graph.symmetric_under) if mode.distinct else frozenset()
        named = {int(k) for t in self.texts for k in _EDGE.findall(t)}
        related = self._related()
        self.signature = [
            [self._signature(u, v, named) if (u, v) in related else () for v in range(self.n)]
            for u in range(self.n)
        ]
        self.colour: list[Colour] = [self._colour(v) for v in range(self.n)]
        self.steps = 0
        self._alike: dict[tuple[int, int, tuple[object, ...]], list[int]] | None = None
        self._from_source: list[tuple[object, ...]] = []

    def _colour(self, v: int) -> Colour:
        # by what the pattern says, not by what it finds: which subgraphs are one must not depend on
        # the data
        vertex = self.query.graph.vertices[v]
        labels = frozenset(frozenset(alternatives) for alternatives in vertex.labels)
        around = Counter(self.signature[v][u] for u in range(self.n) if u != v)
        own = v if v in self.compared else -1
        return (labels, vertex.predicate, self.signature[v][v], frozenset(around.items()), own)

    def _related(self) -> set[tuple[int, int]]:
        """The pairs, both ways round, that anything is known of."""
        pairs = {(v, v) for v in range(self.n)}
        pairs |= {(u, v) for v in range(self.n) for u in self.query.neighbours(v)}
        for u, v in (*self.order, *((x.source, x.target) for x in self.query.negated)):
            pairs |= {(u, v), (v, u)}
        return pairs | self.apart

    def _signature(self, u: int, v: int, named: set[int]) -> Signature:
        """The edges between two vertices as seen from u, in an order that does not depend on the
        query's text."""
        found = []
        for e in self.query.incident(u):
            edge = self.query.edges[e]
            if edge.other(u) == v and (u != v or edge.source == edge.target):
                found.append(self._edge_colour(e, u, named))
        for edge, query_edge in zip(self.query.negated, self.query.graph.negated, strict=True):
            if {edge.source, edge.target} == {u, v}:
                way = "loop" if u == v else edge.spec(u).direction.value
                found.append(("none", tuple(sorted(set(query_edge.types))), way))
        if (u, v) in self.apart:
            found.append(("apart",))
        if (u, v) in self.order:
            found.append(("above",))
        if (v, u) in self.order:
            found.append(("below",))
        return tuple(sorted(found, key=str) if len(found) > 1 else found)

    def _edge_colour(self, e: int, u: int, named: set[int]) -> tuple[object, ...]:
        """Alike edges have equal colours. A parallel edge that a predicate names is like no
        other."""
        edge, query_edge = self.query.edges[e], self.query.graph.edges[e]
        alone = e if e in self.compared_edges or (e in named and self._is_parallel(edge)) else -1
        way = "loop" if edge.source == edge.target else edge.spec(u).direction.value
        types = tuple(sorted(set(query_edge.types)))
        return (types, way, query_edge.predicate, alone, query_edge.exists, self.clauses[e])

    def _is_parallel(self, edge: ResolvedEdge) -> bool:
        """Whether another query edge joins the same vertices."""
        ends = {edge.source, edge.target}
        return sum({x.source, x.target} == ends for x in self.query.edges) > 1

    def onto(self, other: Automorphisms) -> bool:
        """Whether some isomorphism takes this query graph to another."""
        if sorted(map(str, self.colour)) != sorted(map(str, other.colour)):
            return False
        return self._onto(other, ())

    def _onto(self, other: Automorphisms, image: tuple[int, ...]) -> bool:
        u = len(image)
        return u == self.n or any(
            self._onto(other, (*image, x))
            for x in range(self.n)
            if x not in image
            and self.colour[u] == other.colour[x]
            and all(self.signature[u][w] == other.signature[x][y] for w, y in enumerate(image))
        )

    def find(self, start: dict[int, int]) -> tuple[int, ...] | None:
        """One automorphism that extends a partial map, or None."""
        self.steps = 0
        return next(self.all(start), None)

    def all(self, start: dict[int, int]) -> Iterator[tuple[int, ...]]:
        """Every automorphism that extends a partial map."""
        if all(
            self._fits(u, x, {a: b for a, b in start.items() if a != u}) for u, x in start.items()
        ):
            yield from self._extend(dict(start))

    def _extend(self, image: dict[int, int]) -> Iterator[tuple[int, ...]]:
        self.steps += 1
        if self.steps > SEARCH_STEPS:
            raise LimitExceeded(
                "The automorphisms of the pattern take too long to find.",
                "Use fewer alike nodes, or MATCH DIFFERENT NODES instead of SUBGRAPHS.",
            )
        if len(image) == self.n:
            found = tuple(image[v] for v in range(self.n))
            if self._keeps_texts(found):
                yield found
            return
        u = self._next(image)
        used = set(image.values())
        for x in range(self.n):
            if x not in used and self._fits(u, x, image):
                yield from self._extend({**image, u: x})

    def _next(self, image: dict[int, int]) -> int:
        left = [v for v in range(self.n) if v not in image]
        return next((v for v in left if self.query.neighbours(v) & image.keys()), left[0])

    def _fits(self, u: int, x: int, image: dict[int, int]) -> bool:
        return self.colour[u] == self.colour[x] and all(
            self.signature[u][w] == self.signature[x][y] for w, y in image.items()
        )

    def _keeps_texts(self, image: tuple[int, ...]) -> bool:
        renamed = self.query.graph.renamed
        if not self.texts or renamed is None:
            return True
        return renamed(image, self.edge_image(image)) == self.texts

    def edge_image(self, image: tuple[int, ...]) -> tuple[int, ...]:
        """Where an automorphism takes each query edge; parallel alike edges keep their order."""
        if self._alike is None:
            self._alike = self._edges_by_colour()
        taken: set[int] = set()
        found: list[int] = []
        for edge, colour in zip(self.query.edges, self._from_source, strict=True):
            for f in self._alike.get((image[edge.source], image[edge.target], colour), ()):
                if f not in taken:
                    taken.add(f)
                    found.append(f)
                    break
        return tuple(found)

    def _edges_by_colour(self) -> dict[tuple[int, int, tuple[object, ...]], list[int]]:
        """The edges from u to v that look alike from u."""
        found: dict[tuple[int, int, tuple[object, ...]], list[int]] = {}
        for e, edge in enumerate(self.query.edges):
            for u in {edge.source, edge.target}:
                key = u, edge.other(u), self._edge_colour(e, u, set())
                found.setdefault(key, []).append(e)
        self._from_source = [
            self._edge_colour(e, edge.source, set()) for e, edge in enumerate(self.query.edges)
        ]
        return found


def break_symmetry(
    query: Resolved,
    order: tuple[int, ...],
    surely_different: Callable[[int, int], bool],
    *,
    hubs_first: bool = False,
    group: Automorphisms | None = None,
    fixed: tuple[int, ...] = (),
) -> Symmetry:
    """Restrictions along a matching order: each vertex gets the largest vid of its orbit under the
    stabilizer of those before it; with `hubs_first` the smallest, which has the highest degree, so that
    a hub is not reached from below (in a clique, where all lists are cut, those of low degrees are the
    short ones). An orbit whose vertices may share a data vertex is left alone (its vertex is fixed
    instead): an embedding that maps two of them alike would satisfy no strict order. fixed : vertices that
    every automorphism leaves in place, so that only the symmetry of the others is broken."""
    if group is None and _all_unlike(query):
        return Symmetry((), 1, fixed, ())
    group = group or Automorphisms(query)
    left_alone: list[int] = [*fixed]
    while True:
        found = _chain(group, order, surely_different, left_alone, hubs_first)
        if isinstance(found, Symmetry):
            return found
        # start again in the subgroup that fixes it, so that what is broken is a group and twins can
        # be listed
        left_alone.append(found)


def _all_unlike(query: Resolved) -> bool:
    """Whether no two query vertices have the same labels and predicate, so that the identity is all there is."""
    vertices = query.graph.vertices
    kinds = {(frozenset(map(frozenset, one.labels)), one.predicate) for one in vertices}
    return len(kinds) == len(vertices)


def _chain(
    group: Automorphisms,
    order: tuple[int, ...],
    surely_different: Callable[[int, int], bool],
    left_alone: list[int],
    hubs_first: bool,
) -> Symmetry | int:
    """The stabilizer chain of the subgroup that fixes `left_alone`, or a vertex whose orbit cannot
    be broken."""
    fixed = {v: v for v in left_alone}
    restrictions: list[tuple[int, int]] = []
    moves: list[tuple[tuple[int, ...], ...]] = []
    multiplicity = 1
    for u in order:
        if u in fixed:
            continue
        others = [x for x in range(group.n) if x not in fixed and x != u]
        alike = (x for x in others if group.colour[x] == group.colour[u])
        found = [image for x in alike if (image := group.find({**fixed, u: x})) is not None]
        orbit = [u, *(image[u] for image in found)]
        if not all(surely_different(a, b) for a in orbit for b in orbit if a < b):
            return u
        if found:
            moves.append(tuple(found))
        restrictions += [(x, u) if hubs_first else (u, x) for x in orbit[1:]]
        multiplicity *= len(orbit)
        fixed[u] = u
    return Symmetry(tuple(restrictions), multiplicity, tuple(left_alone), tuple(moves))


def orbit_of(
    group: Automorphisms, u: int, surely_different: Callable[[int, int], bool]
) -> list[int]:
    """The vertices that automorphisms take u to, u first; u alone where two of them may share a data vertex."""
    alike = (x for x in range(group.n) if x != u and group.colour[x] == group.colour[u])
    orbit = [u, *(x for x in alike if group.find({u: x}))]
    return orbit if all(surely_different(a, b) for a in orbit for b in orbit if a < b) else [u]


def twins(query: Resolved, symmetry: Symmetry) -> tuple[Twin, ...]:
    """The automorphisms that `symmetry` broke, each with its edge permutation; () where there is
    only the identity."""
    if symmetry.multiplicity == 1:
        return ()
    group = Automorphisms(query)
    # each automorphism is in one way a product of one move of each orbit
    vertices = np.arange(group.n)[np.newaxis]
    edges = np.arange(len(query.edges))[np.newaxis]
    for moves in reversed(symmetry.moves):
        vertices = np.concatenate([vertices, *(np.array(image)[vertices] for image in moves)])
        images = [np.array(group.edge_image(image), np.int64) for image in moves]
        edges = np.concatenate([edges, *(image[edges] for image in images)])
    both = zip(vertices.tolist(), edges.tolist(), strict=True)
    return tuple(Twin(tuple(v), tuple(e)) for v, e in both)


def parallel_twins(query: Resolved) -> dict[int, int]:
    """Query edge -> the alike parallel query edge just before it, for SUBGRAPHS: their edge ids
    must ascend."""
    group = Automorphisms(query)
    named = {int(k) for t in group.texts for k in _EDGE.findall(t)}
    before: dict[int, int] = {}
    last: dict[tuple[object, ...], int] = {}
    for e, edge in enumerate(query.edges):
        if query.graph.edges[e].exists:
            continue
        low = min(edge.source, edge.target)
        ends = (low, max(edge.source, edge.target))
        at = low if edge.direction is Direction.ANY else edge.source
        key = (ends, at, *group._edge_colour(e, at, named))
        if key in last:
            before[e] = last[key]
        last[key] = e
    return before

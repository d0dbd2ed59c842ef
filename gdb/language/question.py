"""The query graph of a pattern and its conditions, for all clauses that match.

Conditions are sorted by what they require of the numbered vertices and edges: candidates of one element, edges that
must or must not exist, vertices that differ, comparisons of two elements. All others are left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from gdb.errors import QueryError
from gdb.language import pushdown
from gdb.language.existence import EdgeTest, edge_test, told_apart
from gdb.language.hidden_names import is_hidden
from gdb.language.name_resolution import conjuncts, measure, parameters, resolve
from gdb.language.pushdown import ElementConditions
from gdb.language.scope import Scope
from gdb.language.syntax import ElementReference, Expression, Property, walk
from gdb.query_graph import MatchMode, QueryEdge, QueryGraph, QueryVertex
from gdb.records import dataclass, field
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdb.language.element_comparisons import Compared
    from gdb.storage.graph.adjacency import I64, U32

FEW = 64
"""Candidates of one vertex, of whom what matches may be listed sooner than columns are read."""
LISTED, SCANNED = 64, 4_096
"""Embeddings that are sooner tested than columns of so many elements are read (`benchmarks.matching.short_reads`)."""
HUB = 4_096
"""Edges at a vertex, which take longer to test than a query to be bound and planned anew."""


@dataclass(slots=True)
class SortedConditions:
    """Conditions by what they require.

    pushed : of one element. between : edges that are there, or with `exists` false are not. apart : vertices that
        differ. compared : comparisons of two elements that the nest makes. rest : all others. left : whether some of
        these are of one element, and were left to few embeddings.
    """

    pushed: dict[ElementReference, ElementConditions] = field(default_factory=dict)
    between: list[QueryEdge] = field(default_factory=list)
    apart: tuple[tuple[int, int], ...] = ()
    compared: tuple[Compared, ...] = ()
    rest: list[Expression] = field(default_factory=list)
    left: bool = False

    def compare(self, scope: Scope) -> None:
        """Move the comparisons that the nest can make from `rest` to `compared`. Reads both columns of each."""
        if self.rest:
            # here: only comparisons of two elements need it
            from gdb.language.element_comparisons import split_comparisons

            self.compared, self.rest = split_comparisons(scope, self.rest)
        if self.rest and not scope.is_connected:
            # here: few patterns are in several parts
            from gdb.language.computed_values import split_equalities

            computed, self.rest = split_equalities(scope, self.rest)
            self.compared = (*self.compared, *computed)

    def graph(
        self, vertices: Sequence[QueryVertex], edges: Iterable[QueryEdge], mode: MatchMode
    ) -> QueryGraph:
        """The query graph, with the conditions on several elements."""
        return QueryGraph(
            tuple(vertices),
            (*edges, *(edge for edge in self.between if edge.exists)),
            mode,
            apart=self.apart,
            negated=tuple(edge for edge in self.between if not edge.exists),
            compared=tuple(one.compare for one in self.compared),
        )


def sort_conditions(
    scope: Scope, tests: Iterable[EdgeTest], conditions: Iterable[Expression]
) -> SortedConditions:
    """Sort conditions by what they require; comparisons stay in `rest`, see `SortedConditions.compare`.

    tests : those that `existence.edge_test` made of conditions. conditions : the others, resolved, outermost ANDs taken
        apart. Label tests move into the scope's labels.
    """
    pushed, rest = pushdown.distribute(scope, conditions)
    apart, rest = told_apart(scope, rest)
    found = SortedConditions(pushed, [], apart, (), rest)
    for test in tests:
        if test.end is None:
            element = ElementReference("vertex", test.start, scope.vertices[test.start].place)
            pushed.setdefault(element, ElementConditions()).on_edges.append(test)
        else:
            found.between.append(test.edge)
    return found


def conditions_of(
    scope: Scope, where: Sequence[Expression], default: MatchMode, *, apart: bool = False
) -> tuple[list[EdgeTest], list[Expression]]:
    """The property maps and the WHERE of a MATCH that was just added, in parts that must all be true, with their names
    and parameters known; apart from these the conditions on edges. apart : whether its vertices differ."""
    written, scope.conditions = scope.conditions, []
    written += where
    tests: list[EdgeTest] = []
    found: list[Expression] = []
    for condition in written:
        measure(condition, scope.text)
        for part in conjuncts(condition):
            test = edge_test(scope, part, default, apart=apart)
            if test is not None:
                tests.append(test)
                continue
            resolved = resolve(part, scope.lookup)
            for name, place in parameters(resolved):
                scope.parameter(name, place)  # refuses one that has no value
            found.append(resolved)
    return tests, found


Candidates: TypeAlias = "Mapping[ElementReference, tuple[I64, str]]"
"""The vids or edge ids that pass an element's own conditions, ascending, and the text of these conditions."""


def candidates_of(
    scope: Scope, element: ElementReference, conditions: ElementConditions
) -> tuple[I64, str]:
    """What passes the conditions on one element. Reads columns and the id index. Raises QueryError."""
    found: I64
    if element.kind == "vertex":
        found = pushdown.allowed_vertices(scope, element, conditions).astype(np.int64)
    else:
        found = pushdown.allowed_edges(scope, element, conditions)
    return found, pushdown.predicate(scope, conditions)


def candidates(
    scope: Scope,
    pushed: Mapping[ElementReference, ElementConditions],
    kind: Literal["vertex", "edge"],
) -> Candidates:
    """What the elements of a kind may be by their own conditions."""
    elements_ = (element for element in pushed if element.kind == kind)
    return {element: candidates_of(scope, element, pushed[element]) for element in elements_}


def vertex_of(
    scope: Scope, index: int, allowed: Candidates, bound: U32 | None = None
) -> QueryVertex:
    """A query vertex. bound : the vids that rows hold it to, ascending and distinct."""
    vertex = scope.vertices[index]
    labels = tuple(sorted({tuple(sorted({n.text for n in term})) for term in vertex.labels}))
    vids, text = allowed.get(ElementReference("vertex", index, vertex.place), (None, ""))
    if bound is not None:
        mine = bound.astype(np.int64)
        vids = mine if vids is None else np.intersect1d(vids, mine)
        text = f"{text} bound {vertex.name}"
    return QueryVertex(
        _shown(vertex.name), labels, None if vids is None else vids.astype(np.uint32), text
    )


def edge_of(
    scope: Scope, index: int, allowed: Candidates, wanted: bool, bound: I64 | None = None
) -> QueryEdge:
    """A query edge. wanted : whether its id is a column of the embeddings. bound : see `vertex_of`."""
    edge = scope.edges[index]
    eids, text = allowed.get(ElementReference("edge", index, edge.place), (None, ""))
    if bound is not None:
        eids = bound if eids is None else np.intersect1d(eids, bound)
        text = f"{text} bound {edge.name}"
    types = tuple(sorted({name.text for name in edge.types}))
    return QueryEdge(
        *(edge.source, edge.target, types, edge.direction, _shown(edge.name), wanted, eids, text),
        clause=edge.clause,
    )


def _shown(name: str | None) -> str | None:
    """The name that EXPLAIN shows."""
    return None if name is None or is_hidden(name) else name


def leave_scans(scope: Scope, found: SortedConditions) -> None:
    """Leave conditions on properties to the embeddings, where these are expected to be few and columns of many elements
    would be read for the candidates: those of a pattern that begins at a vertex which a value names."""
    long = [
        element
        for element, own in found.pushed.items()
        if own.on_properties and _count(scope, element) > SCANNED
    ]
    if not long:
        return
    named = [
        element
        for element, own in found.pushed.items()
        if element.kind == "vertex" and (own.on_id or _has_equality(scope, own))
    ]
    late = [element for element in long if element not in named]
    if not named or not late:
        return
    allowed = {e.index: pushdown.allowed_vertices(scope, e, found.pushed[e]) for e in named}
    first = min(allowed, key=lambda index: len(allowed[index]))
    expected = _expected(scope, len(allowed[first]), len(scope.vertices))
    # a hub has many more than the mean
    if max(expected, most_edges(scope, {first: allowed[first]})) > LISTED:
        return
    for element in late:
        own = found.pushed[element]
        if not _has_types(scope, own.on_properties):
            continue
        found.rest += own.on_properties
        own.on_properties = []
        if not own.on_id and not own.on_edges:
            del found.pushed[element]
        found.left = True


def most_edges(scope: Scope, allowed: Mapping[int, U32]) -> int:
    """The most edges that one query edge may be at the candidates of some of its vertices, ascending and distinct."""
    found = [0]
    for edge in scope.edges:
        types = tuple(name.text for name in edge.types)
        for end, direction in (
            (edge.source, edge.direction),
            (edge.target, edge.direction.flipped),
        ):
            if end in allowed:
                found.append(scope.snapshot.degrees(allowed[end], types, direction))
    return max(found)


def _has_equality(scope: Scope, conditions: ElementConditions) -> bool:
    """Whether a condition is that a property equals a value."""
    from gdb.language.equalities import is_equality  # here: few patterns need it

    return any(is_equality(condition, scope) for condition in conditions.on_properties)


def _count(scope: Scope, element: ElementReference) -> int:
    """The data vertices or edges that an element may be by its labels or types."""
    snapshot, index = scope.snapshot, element.index
    if element.kind == "vertex":
        return sum(snapshot.groups[group].count for group in scope.groups(index))
    types = scope.types(index)
    return sum(type_.edge_count for type_ in snapshot.edge_types if type_.name in types)


def _has_types(scope: Scope, conditions: Iterable[Expression]) -> bool:
    """Whether each property in conditions has one type wherever its element may have it."""
    try:
        for condition in conditions:
            for part in walk(condition):
                match part:
                    case Property(subject=ElementReference() as element, key=key):
                        scope.property_type(element, key)
    except QueryError:
        return False
    return True


def soon_listed(scope: Scope, vertices: Sequence[QueryVertex]) -> bool:
    """Whether all that matches is listed sooner than whole columns are read: by the mean degrees of a tree that begins
    at a vertex of few candidates."""
    few = min((len(v.allowed) for v in vertices if v.allowed is not None), default=FEW + 1)
    if few > FEW:
        return False
    snapshot = scope.snapshot
    expected = _expected(scope, few, len(vertices))
    return expected < snapshot.vertex_count + snapshot.edge_count


def _expected(scope: Scope, few: int, vertices: int) -> float:
    """The embeddings of a pattern of so many vertices that begins at one of few candidates, by mean degrees."""
    snapshot = scope.snapshot
    count, expected = max(snapshot.vertex_count, 1), float(few)
    degrees = []
    for edge in scope.edges:
        names = {name.text for name in edge.types}
        types = [t.edge_count for t in snapshot.edge_types if not names or t.name in names]
        degrees.append(sum(types) / count * (2 if edge.direction is Direction.ANY else 1))
    for degree in sorted(degrees)[: vertices - 1]:
        expected *= max(degree, 1.0)
    return expected

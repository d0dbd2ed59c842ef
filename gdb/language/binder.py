"""From tree to question: names are looked up in a snapshot, and the query is cut in two (design.md §3).

The MATCH part becomes a `QueryGraph`, with the conditions on one element already evaluated; everything else becomes
the `Tail`, SQL over the embeddings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gdb.errors import LimitExceeded, NotSupported, SyntaxProblem
from gdb.executor.tail import Tail, same
from gdb.language import functions, pushdown
from gdb.language.canonical import canonical, numbered
from gdb.language.clauses import Match, Query, Simple
from gdb.language.compared import Compared, compared
from gdb.language.existence import EdgeTest, edge_test, told_apart
from gdb.language.hidden import is_hidden
from gdb.language.projection import project
from gdb.language.pushdown import Conditions
from gdb.language.refusals import check, refuse_clauses
from gdb.language.report import problem
from gdb.language.resolve import conjuncts, elements, measure, parameters, resolve
from gdb.language.scope import Scope
from gdb.language.syntax import Element, Expression, HasLabels, walk
from gdb.query_graph import MatchMode, QueryEdge, QueryGraph, QueryVertex, Renamed
from gdb.storage.adjacency import Direction

if TYPE_CHECKING:
    from gdb.executor.tail import Value
    from gdb.storage.adjacency import I64, U32
    from gdb.storage.snapshot import Snapshot


_FEW = (
    64  # candidates of one vertex, of whom what matches may be listed sooner than columns are read
)


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What the parts of a bound query were made of, so that they can be made again with other values.

    scope : holds the values. pushed : conditions on one element. compared : comparisons of two, in the order of the
        query graph's. rest : the other conditions.
    """

    query: Simple
    scope: Scope
    pushed: Mapping[Element, Conditions]
    rest: Sequence[Expression]
    compared: Sequence[Compared]


@dataclass(frozen=True, slots=True, eq=False)
class BoundQuery:
    """A query over one snapshot.

    graph : what to match. tail : what to make of the embeddings.
    explain : the plan is wanted, not the answer. profile : the plan, and what a run of it did.
    warnings : one sentence each, with line and column.
    sources : what graph and tail were made of.
    """

    graph: QueryGraph
    tail: Tail
    explain: bool
    warnings: tuple[str, ...]
    sources: Sources
    profile: bool = False

    @property
    def values(self) -> Mapping[str, Value]:
        """Of the parameters."""
        return self.sources.scope.parameters

    @property
    def conditions(self) -> list[tuple[Element, frozenset[str]]]:
        """The elements with conditions of their own, and the parameters that each mentions."""
        return [(element, known.names()) for element, known in self.sources.pushed.items()]

    @property
    def tail_names(self) -> frozenset[str]:
        """The parameters that the tail was made with."""
        made_of = [*self.sources.rest, *_returned(self.sources.query)]
        return frozenset(name for e in made_of for name, _ in parameters(e))

    def changed(self, values: Mapping[str, Value]) -> frozenset[str]:
        """The parameters that have another value here than the query was bound with."""
        known = self.values
        return frozenset([name for name, value in values.items() if not same(value, known[name])])

    def allowed_again(
        self, values: Mapping[str, Value], changed: Set[str], touched: Iterable[Element]
    ) -> tuple[dict[int, U32], dict[int, I64]]:
        """The allowed vids of query vertices and edge ids of query edges, by number, with other values of the
        parameters, each of the same kind as before.

        touched : the elements whose conditions mention a parameter in `changed`.
        """
        scope, pushed = self.sources.scope, self.sources.pushed
        vertices: dict[int, U32] = {}
        edges: dict[int, I64] = {}
        for element in touched:
            again, k = pushed[element].with_values(changed), element.index
            if element.kind == "vertex":
                vertices[k] = pushdown.allowed_vertices(scope, element, again, values)
            else:
                edges[k] = pushdown.allowed_edges(scope, element, again, values)
        return vertices, edges

    def bounds_again(
        self, values: Mapping[str, Value], changed: Set[str]
    ) -> dict[int, tuple[int, int]] | None:
        """The bounds of the comparisons that mention a parameter in `changed`, by their place in the query graph; None
        where the new values make one something else."""
        found: dict[int, tuple[int, int]] = {}
        for k, one in enumerate(self.sources.compared):
            if _mention([one.condition], changed):
                bounds = one.bounds(values)
                if bounds is None:
                    return None
                found[k] = bounds
        return found

    def with_values(self, values: Mapping[str, Value]) -> BoundQuery:
        """The query with other values of its parameters, each of the same kind as before.

        Only what mentions a parameter whose value changed is evaluated again.

        Raises
        ------
        TypeProblem : SKIP or LIMIT is negative.
        """
        before, changed = self.sources, self.changed(values)
        bounds = self.bounds_again(values, changed)
        if bounds is None:
            return _bind(before.query, before.scope.snapshot, values, self.graph.mode)
        scope = before.scope.with_parameters(values)
        touched = {e: known for e, known in before.pushed.items() if known.names() & changed}
        again = {element: known.with_values(changed) for element, known in touched.items()}
        pushed = {**before.pushed, **again}
        vertices, edges = list(self.graph.vertices), list(self.graph.edges)
        for element in touched:
            k = element.index
            if element.kind == "vertex":
                vertices[k] = _vertex(scope, k, pushed)
            else:
                edges[k] = _edge(scope, k, pushed, edges[k].wanted)
        compares = list(self.graph.compared)
        for k, (least, most) in bounds.items():
            compares[k] = replace(compares[k], least=least, most=most)
        graph = replace(
            self.graph, vertices=tuple(vertices), edges=tuple(edges), compared=tuple(compares)
        )
        if graph.mode.distinct and _mention(before.rest, changed):
            texts, renamed = _compared(scope, before.rest)
            graph = replace(graph, symmetric_under=texts, renamed=renamed)
        tail = self.tail
        if self.tail_names & changed:
            tail = project(scope, before.query.returning, before.rest)
        sources = replace(before, scope=scope, pushed=pushed)
        return replace(self, graph=graph, tail=tail, sources=sources)


def bind(
    query: Query, snapshot: Snapshot, params: Mapping[str, Value], default_mode: MatchMode
) -> BoundQuery:
    """Look up every name of a query and cut it into QueryGraph and Tail.

    Parameters
    ----------
    params : values of $name: numbers, booleans, strings, None, lists of these.
    default_mode : of a MATCH that names none.

    Raises
    ------
    NameProblem, TypeProblem, SyntaxProblem, NotSupported : with the place in the query.
    LimitExceeded : see `gdb.limits`.

    Notes
    -----
    Evaluates conditions on one element over all vertices or edges that its labels admit.
    """
    simple = query.simple
    if simple is None:
        raise refuse_clauses(query)
    check(simple)
    try:
        return _bind(simple, snapshot, params, default_mode)
    except RecursionError:
        raise LimitExceeded(
            "the query is nested too deeply.", "Leave out parentheses, or split it."
        ) from None


def _bind(
    query: Simple, snapshot: Snapshot, params: Mapping[str, Value], default_mode: MatchMode
) -> BoundQuery:
    scope = Scope(query.text, snapshot, params)
    mode = _mode(query, default_mode)
    written: list[Expression] = []
    tests: list[EdgeTest] = []
    for clause, match in enumerate(query.matches):
        scope.add(match, clause)
        asked, others = _conditions(scope, match, default_mode)
        tests += asked
        written += others
    pushed, rest = pushdown.distribute(scope, written)
    apart, rest = told_apart(scope, rest)
    compares: tuple[Compared, ...] = ()
    for test in tests:
        scope.tested_types += test.types
        scope.tested_labels += [name for term in test.labels for name in term]
        if test.end is None:
            element = Element("vertex", test.start, scope.vertices[test.start].place)
            pushed.setdefault(element, Conditions()).on_edges.append(test)
    between = [test.edge for test in tests if test.end is not None]
    scope.warn_of_unknown_names()
    vertices = tuple(_vertex(scope, k, pushed) for k in range(len(scope.vertices)))
    if not mode.distinct and not _soon_listed(scope, vertices):
        compares, rest = compared(scope, rest)
    tail = project(scope, query.returning, rest)
    wanted = {ref.index for ref in tail.columns if ref.element == "edge"}
    texts, renamed = _compared(scope, rest)
    graph = QueryGraph(
        vertices,
        (
            *(_edge(scope, k, pushed, k in wanted) for k in range(len(scope.edges))),
            *(edge for edge in between if edge.exists),
        ),
        mode,
        texts,
        renamed,
        apart,
        tuple(edge for edge in between if not edge.exists),
        tuple(one.compare for one in compares),
    )
    warnings = tuple(scope.warnings)
    return BoundQuery(
        *(graph, tail, query.explain, warnings),
        Sources(query, scope, pushed, rest, compares),
        query.profile,
    )


def _soon_listed(scope: Scope, vertices: Sequence[QueryVertex]) -> bool:
    """Whether all that matches is listed sooner than whole columns are read: by the mean degrees of a tree that begins
    at a vertex of few candidates."""
    few = min((len(v.allowed) for v in vertices if v.allowed is not None), default=_FEW + 1)
    if few > _FEW:
        return False
    snapshot = scope.snapshot
    count, expected = max(snapshot.vertex_count, 1), float(few)
    degrees = []
    for edge in scope.edges:
        names = {name.text for name in edge.types}
        types = [t.edge_count for t in snapshot.edge_types if not names or t.name in names]
        degrees.append(sum(types) / count * (2 if edge.direction is Direction.ANY else 1))
    for degree in sorted(degrees)[: len(vertices) - 1]:
        expected *= max(degree, 1.0)
    return expected < snapshot.vertex_count + snapshot.edge_count


def _compared(scope: Scope, rest: Sequence[Expression]) -> tuple[tuple[str, ...], Renamed]:
    """The texts of the conditions that compare elements, and what they are under an automorphism."""
    compared = [condition for condition in rest if elements(condition)]
    params = scope.parameters

    def renamed(vertices: tuple[int, ...], edges: tuple[int, ...]) -> frozenset[str]:
        def name(element: Element) -> str:
            image = vertices if element.kind == "vertex" else edges
            return numbered(replace(element, index=image[element.index]))

        return frozenset(canonical(condition, params, name) for condition in compared)

    return tuple(sorted({canonical(condition, params) for condition in compared})), renamed


def _mention(expressions: Iterable[Expression], names: Set[str]) -> bool:
    return any(name in names for e in expressions for name, _ in parameters(e))


def _returned(query: Simple) -> list[Expression]:
    """Everything in RETURN that may hold a parameter."""
    returning = query.returning
    found = [item.expression for item in returning.items]
    found += [item.expression for item in returning.order]
    return found + [count for count in (returning.skip, returning.limit) if count is not None]


def _mode(query: Simple, default: MatchMode) -> MatchMode:
    """The mode of all MATCH.

    Raises
    ------
    NotSupported : they have several, or one that concerns the nodes of each.
    """
    first, *others = query.matches
    mode = first.mode or default
    for match in others:
        if (match.mode or default) != mode or mode.nodes_differ:
            raise problem(
                NotSupported,
                query.text,
                match.place,
                "a second MATCH in this mode is not supported yet.",
                "Write all patterns in one MATCH, separated by commas.",
            )
    return mode


def _conditions(
    scope: Scope, match: Match, default: MatchMode
) -> tuple[list[EdgeTest], list[Expression]]:
    """The property maps and the WHERE of a MATCH that was just added, in parts that must all be true, with their names
    and parameters known; apart from these what is asked of edges."""
    written, scope.conditions = scope.conditions, []
    if match.where is not None:
        written.append(match.where)
    tests: list[EdgeTest] = []
    found: list[Expression] = []
    for condition in written:
        measure(condition, scope.text)
        for part in conjuncts(condition):
            test = edge_test(scope, part, default)
            if test is not None:
                tests.append(test)
                continue
            resolved = resolve(part, scope.lookup)
            _check(scope, resolved)
            found.append(resolved)
    return tests, found


def _check(scope: Scope, condition: Expression) -> None:
    for part in walk(condition):
        if isinstance(part, HasLabels):
            scope.tests.append(part)
        if functions.is_aggregate(part):
            raise problem(
                SyntaxProblem,
                scope.text,
                part.place,
                "an aggregate stands only in RETURN and ORDER BY.",
                "Sort by it and use LIMIT, or filter the rows in Python.",
            )
    for name, place in parameters(condition):
        scope.parameter(name, place)


def _vertex(scope: Scope, index: int, pushed: Mapping[Element, Conditions]) -> QueryVertex:
    vertex = scope.vertices[index]
    element = Element("vertex", index, vertex.place)
    labels = {tuple(sorted({name.text for name in term})) for term in vertex.labels}
    conditions = pushed.get(element)
    if conditions is None:
        return QueryVertex(_shown(vertex.name), tuple(sorted(labels)))
    allowed = pushdown.allowed_vertices(scope, element, conditions)
    text = pushdown.predicate(scope, conditions)
    return QueryVertex(_shown(vertex.name), tuple(sorted(labels)), allowed, text)


def _shown(name: str | None) -> str | None:
    """The name that EXPLAIN shows."""
    return None if name is None or is_hidden(name) else name


def _edge(
    scope: Scope, index: int, pushed: Mapping[Element, Conditions], wanted: bool
) -> QueryEdge:
    edge = scope.edges[index]
    element = Element("edge", index, edge.place)
    types = tuple(sorted({name.text for name in edge.types}))
    allowed, text = None, ""
    conditions = pushed.get(element)
    if conditions is not None:
        allowed = pushdown.allowed_edges(scope, element, conditions)
        text = pushdown.predicate(scope, conditions)
    return QueryEdge(
        *(
            edge.source,
            edge.target,
            types,
            edge.direction,
            _shown(edge.name),
            wanted,
            allowed,
            text,
        ),
        clause=edge.clause,
    )

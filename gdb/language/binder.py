"""From tree to question: names are looked up in a snapshot, and the query is cut in two (design.md §3).

The MATCH part becomes a `QueryGraph`, with the conditions on one element already evaluated; everything else becomes
the `Tail`, SQL over the embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gdb.errors import LimitExceeded, SyntaxProblem
from gdb.executor.tail import Tail
from gdb.language import functions, pushdown
from gdb.language.canonical import canonical, numbered
from gdb.language.projection import project
from gdb.language.pushdown import Conditions
from gdb.language.report import problem
from gdb.language.resolve import conjuncts, elements, measure, parameters, resolve
from gdb.language.scope import Scope
from gdb.language.syntax import Element, Expression, HasLabels, Query, walk
from gdb.query_graph import MatchMode, QueryEdge, QueryGraph, QueryVertex

if TYPE_CHECKING:
    from gdb.executor.tail import Value
    from gdb.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class BoundQuery:
    """A query over one snapshot.

    graph : what to match. tail : what to make of the embeddings.
    explain : the plan is wanted, not the answer.
    warnings : one sentence each, with line and column.
    """

    graph: QueryGraph
    tail: Tail
    explain: bool
    warnings: tuple[str, ...]


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
    try:
        return _bind(query, snapshot, params, default_mode)
    except RecursionError:
        raise LimitExceeded(
            "the query is nested too deeply.", "Leave out parentheses, or split it."
        ) from None


def _bind(
    query: Query, snapshot: Snapshot, params: Mapping[str, Value], default_mode: MatchMode
) -> BoundQuery:
    scope = Scope(query.text, snapshot, params)
    scope.add(query.match)
    pushed, rest = pushdown.distribute(scope, _conditions(scope, query))
    scope.warn_of_unknown_names()
    tail = project(scope, query.returning, rest)
    compared = [condition for condition in rest if elements(condition)]

    def renamed(vertices: tuple[int, ...], edges: tuple[int, ...]) -> frozenset[str]:
        def name(element: Element) -> str:
            image = vertices if element.kind == "vertex" else edges
            return numbered(replace(element, index=image[element.index]))

        return frozenset(canonical(condition, params, name) for condition in compared)

    wanted = {ref.index for ref in tail.columns if ref.element == "edge"}
    graph = QueryGraph(
        tuple(_vertex(scope, k, pushed) for k in range(len(scope.vertices))),
        tuple(_edge(scope, k, pushed, k in wanted) for k in range(len(scope.edges))),
        query.match.mode or default_mode,
        tuple(sorted({canonical(condition, params) for condition in compared})),
        renamed,
    )
    return BoundQuery(graph, tail, query.explain, tuple(scope.warnings))


def _conditions(scope: Scope, query: Query) -> list[Expression]:
    """The property maps and the WHERE, in parts that must all be true, with their names and parameters known."""
    written = list(scope.conditions)
    if query.match.where is not None:
        written.append(query.match.where)
    found: list[Expression] = []
    for condition in written:
        measure(condition, query.text)
        for part in conjuncts(resolve(condition, scope.lookup)):
            _check(scope, part)
            found.append(part)
    return found


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
        return QueryVertex(vertex.name, tuple(sorted(labels)))
    allowed = pushdown.allowed_vertices(scope, element, conditions)
    text = pushdown.predicate(scope, conditions)
    return QueryVertex(vertex.name, tuple(sorted(labels)), allowed, text)


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
        edge.source, edge.target, types, edge.direction, edge.name, wanted, allowed, text
    )

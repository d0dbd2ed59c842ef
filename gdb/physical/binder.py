"""From operators to a question, where they are one pattern and its tail: names are looked up in a snapshot.

The MATCH part becomes a `QueryGraph`, with the conditions on one element already evaluated; the operators behind it
become the `Tail`, SQL over the embeddings (design.md §3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias

from gdb.errors import LimitExceeded
from gdb.executor.relational.relational_tail import same
from gdb.language import pushdown, question
from gdb.language.canonical import canonical, numbered
from gdb.language.existence import EdgeTest
from gdb.language.name_resolution import elements, parameters
from gdb.language.pushdown import ElementConditions
from gdb.language.question import edge_of, vertex_of
from gdb.language.refusals import check
from gdb.language.report import beyond_pattern
from gdb.language.scope import Scope
from gdb.language.syntax import ElementReference, Expression
from gdb.logical.operators import Limit, Names, Operators, expressions_of
from gdb.physical.one_pattern import OnePattern, counted_alone
from gdb.physical.tail import TailCompiler
from gdb.query_graph import MatchMode, QueryGraph, Renamed
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Tail, Value
    from gdb.language.element_comparisons import Compared
    from gdb.physical.rows.bound import Bound
    from gdb.physical.rows.row_tail import RowTails
    from gdb.storage.graph.adjacency import I64, U32
    from gdb.storage.graph.snapshot import Snapshot

Weigh: TypeAlias = "Callable[[QueryGraph, Names], Bound | None]"
"""Whether a pattern had better run over rows, and how many."""


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What the parts of a bound query were made of, so that they can be made again with other values.

    scope : holds the values. pushed : conditions on one element. compared : comparisons of two, in the order of the
        query graph's. rest : the other conditions. mode : of a MATCH that names none.
    left : whether conditions on one element were left to the embeddings (`question.leave_scans`).
    tails : the tail compiled for few embeddings, once there were some.
    """

    pattern: OnePattern
    scope: Scope
    pushed: Mapping[ElementReference, ElementConditions]
    rest: Sequence[Expression]
    compared: Sequence[Compared]
    mode: MatchMode
    left: bool = False
    tails: list[RowTails] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class BoundQuery:
    """A query over one snapshot.

    graph : what to match. tail : what to make of the embeddings.
    warnings : one sentence each, with line and column.
    sources : what graph and tail were made of.
    """

    graph: QueryGraph
    tail: Tail
    warnings: tuple[str, ...]
    sources: Sources

    @property
    def values(self) -> Mapping[str, Value]:
        """The values of the parameters, by name."""
        return self.sources.scope.parameters

    @property
    def conditions(self) -> list[tuple[ElementReference, frozenset[str], ElementConditions]]:
        """The elements with conditions of their own, the parameters that each mentions, and these conditions."""
        return [(element, known.names(), known) for element, known in self.sources.pushed.items()]

    @property
    def tail_names(self) -> frozenset[str]:
        """The parameters that the tail was made with."""
        made_of = [*self.sources.rest, *_computed(self.sources.pattern.behind)]
        return frozenset(name for e in made_of for name, _ in parameters(e))

    @property
    def row_tails(self) -> RowTails:
        """The tail compiled for few embeddings."""
        made = self.sources.tails
        if not made:
            made.append(self.compiles_tails(self.sources.scope))
        return made[0]

    @property
    def compiles_tails(self) -> Callable[[Scope], RowTails]:
        """What makes `row_tails` for the snapshot of a scope; it holds no snapshot."""
        from gdb.physical.rows.row_tail import RowTails  # here: few patterns need it

        behind = self.sources.pattern, self.sources.rest, self.tail.wanted, self.tail_names
        return lambda scope: RowTails(scope, *behind)

    def changed(self, values: Mapping[str, Value]) -> frozenset[str]:
        """The parameters that have another value here than the query was bound with."""
        known, found = self.values, set[str]()
        for name, value in values.items():
            if not same(value, known[name]):
                found.add(name)
        return frozenset(found)

    def allowed_again(
        self,
        values: Mapping[str, Value],
        changed: Set[str],
        mentions: Iterable[tuple[ElementReference, frozenset[str], ElementConditions]],
    ) -> tuple[dict[int, U32], dict[int, I64]]:
        """The allowed vids of query vertices and edge ids of query edges, by number, with other values of the
        parameters, each of the same kind as before.

        mentions : as in `conditions`.
        """
        scope = self.sources.scope
        vertices: dict[int, U32] = {}
        edges: dict[int, I64] = {}
        for element, names, known in mentions:
            if names.isdisjoint(changed):
                continue
            again, k = known.with_values(changed), element.index
            if element.kind == "vertex":
                vertices[k] = pushdown.allowed_vertices(scope, element, again, values)
            else:
                edges[k] = pushdown.allowed_edges(scope, element, again, values)
        return vertices, edges

    def anew_at_hubs(
        self, values: Mapping[str, Value], allowed: Mapping[int, U32]
    ) -> BoundQuery | None:
        """The query bound anew with other values, where conditions were left to few embeddings and the candidates with
        these values, by query vertex, have very many edges; else None."""
        own = self.sources
        if not own.left or question.most_edges(own.scope, allowed) <= question.HUB:
            return None
        return bind(own.pattern, own.scope.snapshot, values, own.mode)

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
        if bounds is None or self.graph.optional:
            return bind(before.pattern, before.scope.snapshot, values, before.mode)
        scope = before.scope.with_parameters(values)
        touched = {e: known for e, known in before.pushed.items() if known.names() & changed}
        again = {element: known.with_values(changed) for element, known in touched.items()}
        pushed = {**before.pushed, **again}
        vertices, edges = list(self.graph.vertices), list(self.graph.edges)
        for element in touched:
            k = element.index
            allowed = {element: question.candidates_of(scope, element, pushed[element])}
            if element.kind == "vertex":
                vertices[k] = vertex_of(scope, k, allowed)
            else:
                edges[k] = edge_of(scope, k, allowed, edges[k].wanted)
        compares = list(self.graph.compared)
        for k, (least, most) in bounds.items():
            compares[k] = replace(compares[k], least=least, most=most)
        graph = replace(
            self.graph, vertices=tuple(vertices), edges=tuple(edges), compared=tuple(compares)
        )
        if graph.mode.distinct and _mention(before.rest, changed):
            texts, renamed = _compared(scope, before.rest)
            graph = replace(graph, symmetric_under=texts, renamed=renamed)
        made = self.tail
        if self.tail_names & changed:
            made = _tail_compiler(scope, before.pattern, before.rest).tail()
        sources = replace(before, scope=scope, pushed=pushed)
        return replace(self, graph=graph, tail=made, sources=sources)


def bind(
    pattern: OnePattern, snapshot: Snapshot, params: Mapping[str, Value], default_mode: MatchMode
) -> BoundQuery:
    """Look up every name of a query, and make its QueryGraph and Tail.

    Parameters
    ----------
    pattern : of a query in which `language.checks.check` found nothing wrong.
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
    found = bind_or_bound(pattern, snapshot, params, default_mode, lambda *_: None)
    assert isinstance(found, BoundQuery)
    return found


def bind_or_bound(
    pattern: OnePattern,
    snapshot: Snapshot,
    params: Mapping[str, Value],
    default_mode: MatchMode,
    weigh: Weigh,
) -> BoundQuery | Bound:
    """As `bind`. Where the tail takes a SELECT, `weigh` is called before that is made, with the query graph and the
    names of its elements; a bound that it gives is the result."""
    check(pattern.text, (*pattern.matches, *pattern.optional))
    try:
        if pattern.optional:
            from gdb.physical.optional_matches import needed_matches  # few queries have any

            pattern = needed_matches(pattern)
        return _bind(pattern, Scope(pattern.text, snapshot, params), default_mode, weigh)
    except RecursionError:
        raise LimitExceeded(
            "the query is nested too deeply.", "Leave out parentheses, or split it."
        ) from None


def _bind(
    pattern: OnePattern, scope: Scope, default_mode: MatchMode, weigh: Weigh
) -> BoundQuery | Bound:
    mode = _mode(pattern, default_mode)
    written: list[Expression] = []
    tests: list[EdgeTest] = []
    clause = 0
    for match in pattern.matches:
        scope.add(match, clause)
        clause += 1 + max(match.of, default=0)
        where = [] if match.where is None else [match.where]
        if match is pattern.matches[-1]:
            where += pattern.conditions
        more, others = question.conditions_of(scope, where, default_mode, apart=mode.nodes_differ)
        tests += more
        written += others
    found = question.sort_conditions(scope, tests, written)
    if not pattern.optional and not mode.distinct and counted_alone(pattern.behind) is None:
        question.leave_scans(scope, found)
    allowed = question.candidates(scope, found.pushed, "vertex")
    vertices = [vertex_of(scope, k, allowed) for k in range(len(scope.vertices))]
    few = not pattern.optional and question.soon_listed(scope, vertices)
    if not mode.distinct and not few:
        found.compare(scope)
    maker = _tail_compiler(scope, pattern, found.rest)
    made = maker.without_select()
    allowed = question.candidates(scope, found.pushed, "edge")
    texts, renamed = _compared(scope, found.rest)

    def graph(wanted: Set[int]) -> QueryGraph:
        edges = [edge_of(scope, k, allowed, k in wanted) for k in range(len(scope.edges))]
        matched = found.graph(vertices, edges, mode)
        return replace(matched, symmetric_under=texts, renamed=renamed)

    if made is None:
        bound = None if pattern.optional else weigh(graph(frozenset()), tuple(scope.names))
        if bound is not None:
            return bound
        made = maker.select()
    matched = graph({ref.index for ref in made.columns if ref.element == "edge"})
    if pattern.optional:
        from gdb.physical.optional_matches import with_optional

        matched = with_optional(matched, made, pattern, scope, default_mode)
    sources = Sources(
        pattern, scope, found.pushed, found.rest, found.compared, default_mode, found.left
    )
    return BoundQuery(matched, made, (), sources)


def _tail_compiler(
    scope: Scope, pattern: OnePattern, conditions: Sequence[Expression]
) -> TailCompiler:
    return TailCompiler(scope, pattern.behind, pattern.names, conditions, pattern.demand)


def _compared(scope: Scope, rest: Sequence[Expression]) -> tuple[tuple[str, ...], Renamed]:
    """The texts of the conditions that compare elements, and what they are under an automorphism."""
    compared = [condition for condition in rest if elements(condition)]
    params = scope.parameters

    def renamed(vertices: tuple[int, ...], edges: tuple[int, ...]) -> frozenset[str]:
        def name(element: ElementReference) -> str:
            image = vertices if element.kind == "vertex" else edges
            return numbered(replace(element, index=image[element.index]))

        return frozenset(canonical(condition, params, name) for condition in compared)

    return tuple(sorted({canonical(condition, params) for condition in compared})), renamed


def _mention(expressions: Iterable[Expression], names: Set[str]) -> bool:
    return any(name in names for e in expressions for name, _ in parameters(e))


def _computed(operators: Operators) -> list[Expression]:
    """Everything behind the pattern that may hold a parameter."""
    found: list[Expression] = []
    for operator in operators:
        found += expressions_of(operator)
        if isinstance(operator, Limit):
            found += [count for count in (operator.skip, operator.limit) if count is not None]
    return found


def _mode(pattern: OnePattern, default: MatchMode) -> MatchMode:
    """The mode of all MATCH.

    Raises
    ------
    NotSupported : they have several, or one that concerns the nodes of each.
    """
    first, *others = pattern.matches
    mode = first.mode or default
    for match in others:
        if (match.mode or default) != mode or mode.nodes_differ:
            raise beyond_pattern(pattern.text, match.place, "a second MATCH in this mode is")
    return mode

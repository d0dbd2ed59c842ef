"""One connected part of a pattern, matched by the executors: a table of vids and edge ids for all rows at once.

Conditions on one element go to the candidates as in a query that is one pattern (`gdb.language.pushdown`); those that
need dynamic types are left. Elements that the rows know already are held to what the rows have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Never

import numpy as np

from gdb.errors import NotSupported, QueryError
from gdb.executor import run as executor
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.language.canonical import canonical, numbered
from gdb.language.existence import edge_test
from gdb.language.mentioned_names import asks, mentioned
from gdb.language.name_resolution import elements, resolve
from gdb.language.pattern_texts import with_pattern_texts
from gdb.language.pushdown import ElementConditions
from gdb.language.question import (
    SortedConditions,
    candidates_of,
    edge_of,
    soon_listed,
    sort_conditions,
    vertex_of,
)
from gdb.language.scope import Scope
from gdb.language.scope import ScopeEdge as ScopeEdge
from gdb.language.scope import ScopeVertex as ScopeVertex
from gdb.language.syntax import ElementReference, Expression, Name, Variable
from gdb.physical.row_graph import plan_from_rows
from gdb.physical.rows.pattern import Component, Condition, Pattern, RowEdge
from gdb.query_graph import QueryGraph
from gdb.records import dataclass, field, replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32

if TYPE_CHECKING:
    from gdb.physical.rows.run_context import RowContext


_UNBOUND: Mapping[str, Never] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Embeddings by name: vids of vertices u32[n], ids of edges i64[n]; `count` is n. left : the conditions on its
    elements that were not applied."""

    vertices: Mapping[str, U32]
    edges: Mapping[str, I64]
    count: int
    left: tuple[Condition, ...]


def admitted_edges(
    context: RowContext, pattern: Pattern, edge: RowEdge
) -> tuple[I64 | None, tuple[Expression, ...]]:
    """The ids of the relationships that a path of variable length may use by its conditions, ascending, None for all;
    and the conditions that are not in it, for they need dynamic types or more than the relationship."""
    mine = [Condition(c, mentioned(c)) for c in edge.conditions]
    own = [c for c in mine if c.names == {edge.name}]
    if not own:
        return None, edge.conditions
    graph, left = ComponentRun(context, *_of_one(pattern, edge)).graph(own, sure=True)
    rest = [c.expression for c in mine if c not in own or c in left]
    return graph.edges[0].allowed, tuple(rest)


def admissible(context: RowContext, pattern: Pattern, edge: RowEdge) -> bool:
    """Whether `admitted_edges` leaves no condition, as far as their texts show."""
    mine = [Condition(c, mentioned(c)) for c in edge.conditions]
    own = [c for c in mine if c.names == {edge.name}]
    return len(ComponentRun(context, *_of_one(pattern, edge)).pushable(own)) == len(mine)


def _of_one(pattern: Pattern, edge: RowEdge) -> tuple[Pattern, Component]:
    """A pattern of one relationship, between nodes of any kind, of those that a path may have."""
    single = replace(edge, length=None, conditions=())
    ends = tuple(dict.fromkeys(edge.ends))
    vertices = {name: replace(pattern.vertices[name], labels=()) for name in ends}
    small = replace(pattern, vertices=vertices, edges={edge.name: single}, routes=[], conditions=[])
    return small, Component(ends, (edge.name,))


def candidates(
    context: RowContext, pattern: Pattern, vertex: str, conditions: Sequence[Condition]
) -> I64 | None:
    """The vids that a query vertex may be by its labels and conditions, ascending, None for all.

    Raises
    ------
    NotSupported : a condition turned out to need dynamic types.
    """
    alone = ComponentRun(context, pattern, Component((vertex,), ()))
    graph, left = alone.graph(conditions, sure=True)
    if left or graph.edges or graph.negated:
        raise NotSupported("a condition of a pattern needs values of any type.")
    (found,) = graph.vertices
    vids = None if found.allowed is None else found.allowed.astype(np.int64)
    if not found.labels:
        return vids
    snapshot = context.graph.snapshot
    flags = np.ones(snapshot.vertex_count, np.bool_)
    for term in found.labels:
        some = np.zeros_like(flags)
        for start, stop in (r for label in term for r in snapshot.label_ranges(label)):
            some[start:stop] = True
        flags &= some
    return np.flatnonzero(flags) if vids is None else vids[flags[vids]]


@dataclass(slots=True)
class _Distributed:
    """Conditions by what they require.

    of : those on one element, by element. of_several : those that compare two; their expressions are `sorted.rest`.
    left : all that are for none of it.
    """

    sorted: SortedConditions = field(default_factory=SortedConditions)
    of: dict[ElementReference, list[Condition]] = field(default_factory=dict)
    of_several: list[Condition] = field(default_factory=list)
    left: list[Condition] = field(default_factory=list)

    def take(self, condition: Condition, one: SortedConditions) -> None:
        """Add what one condition requires."""
        for element, known in one.pushed.items():
            self.of.setdefault(element, []).append(condition)
            several = self.sorted.pushed.setdefault(element, ElementConditions())
            several.on_id += known.on_id
            several.on_properties += known.on_properties
            several.on_edges += known.on_edges
        self.sorted.between += one.between
        self.sorted.apart = tuple(sorted({*self.sorted.apart, *one.apart}))
        self.sorted.rest += one.rest

    def compared(self, scope: Scope) -> list[Condition]:
        """Make the comparisons part of the query graph; those that cannot be."""
        left: list[Condition] = []
        for condition, expression in zip(self.of_several, self.sorted.rest, strict=True):
            one = SortedConditions(rest=[expression])
            try:
                one.compare(scope)
            except QueryError:  # of values of several types
                left.append(condition)
                continue
            left += [condition for _ in one.rest]
            self.sorted.compared += one.compared
        self.sorted.rest, self.of_several = [], []
        return left


class ComponentRun:
    """A component to be matched.

    Conditions that its methods take mention nothing but elements of the component, and parameters.
    """

    def __init__(self, context: RowContext, pattern: Pattern, component: Component) -> None:
        self.context, self.pattern, self.component = context, pattern, component
        self.snapshot = context.graph.snapshot
        self.scope = Scope(context.text, self.snapshot, context.plain)
        for k, name in enumerate(component.vertices):
            vertex = pattern.vertices[name]
            self.scope.vertices.append(ScopeVertex(name, vertex.place, [*vertex.labels]))
            self.scope.names[name] = ElementReference("vertex", k, vertex.place)
        for k, name in enumerate(component.edges):
            edge = pattern.edges[name]
            left, right = (component.vertices.index(end) for end in edge.ends)
            back = edge.direction is Direction.IN
            source, target = (right, left) if back else (left, right)
            direction = Direction.OUT if back else edge.direction
            types = tuple(Name(type_, edge.place) for type_ in edge.types)
            self.scope.edges.append(
                ScopeEdge(name, edge.place, source, target, types, direction, edge.clause)
            )
            self.scope.names[name] = ElementReference("edge", k, edge.place)

    def table(
        self,
        conditions: Sequence[Condition],
        bound_vertices: Mapping[str, U32],
        bound_edges: Mapping[str, I64],
        later: Sequence[Condition] = (),
        together: Sequence[U32] = (),
        most: int | None = None,
        wanted: Collection[str] = (),
    ) -> Table:
        """All embeddings, or at most so many; arguments as `graph`.

        together : what the rows bind these vertices to, u32[rows] each; embeddings that are of no row may be left out.
        """
        edges = [name for name in self.component.edges if name in wanted]
        graph, left = self.graph(conditions, bound_vertices, bound_edges, later, edges)
        bound = [self.component.vertices.index(name) for name in bound_vertices]
        return self._rows(graph, left, bound, together, most, edges)

    def pushable(
        self, conditions: Sequence[Condition], bound: Collection[str] = ()
    ) -> tuple[Condition, ...]:
        """Those of some conditions that the query graph takes, as far as their texts show.

        bound : the elements that rows bind. What compares with them is left: it would read columns of all elements, and
            the rows may be few.
        """
        given = (
            self.context,
            self.pattern,
            self.component,
        )  # labels that one tests stay in its scope
        return tuple(one for one in conditions if ComponentRun(*given)._takes(one, bound))

    def _takes(self, condition: Condition, bound: Collection[str]) -> bool:
        found = self.distributed([condition])
        if found.left or (found.sorted.between and not self.component.edges):
            return (
                False  # a single vertex may be only the end of a path, which `candidates` handles
            )
        if found.of_several:
            return not (condition.names & {*bound}) and not found.compared(self.scope)
        return all(self.typed(known.all()) for known in found.sorted.pushed.values())

    def graph(
        self,
        conditions: Sequence[Condition],
        bound_vertices: Mapping[str, U32] = _UNBOUND,
        bound_edges: Mapping[str, I64] = _UNBOUND,
        later: Sequence[Condition] = (),
        wanted: Collection[str] = (),
        *,
        sure: bool = False,
    ) -> tuple[QueryGraph, tuple[Condition, ...]]:
        """The query graph, vertices and edges in the component's order, and the conditions that are not in it.

        bound_vertices, bound_edges : what an element may be, ascending and distinct, where the rows say so.
        later : conditions that are tested on the embeddings; they distinguish what a symmetry would merge.
        wanted : the edges whose ids are needed. sure : comparisons are in it, however few candidates there are.
        """
        scope, found = self.scope, self.distributed(conditions)
        left = found.left
        allowed: dict[ElementReference, tuple[I64, str]] = {}
        for element, of in found.of.items():
            try:
                allowed[element] = candidates_of(scope, element, found.sorted.pushed[element])
            except (
                QueryError
            ):  # it needs dynamic types, or fails: then only for rows that get there
                left += of
        vertices = [
            vertex_of(scope, k, allowed, bound_vertices.get(vertex.name or ""))
            for k, vertex in enumerate(scope.vertices)
        ]
        edges = [
            edge_of(scope, k, allowed, edge.name in wanted, bound_edges.get(edge.name or ""))
            for k, edge in enumerate(scope.edges)
        ]
        mode = self.pattern.mode
        few = mode.distinct or (not sure and soon_listed(scope, vertices))
        left += found.of_several if few else found.compared(scope)
        graph = found.sorted.graph(vertices, edges, mode)
        if mode.distinct:
            graph = self._compared(graph, [*left, *later])
        return graph, tuple(left)

    def _compared(self, graph: QueryGraph, conditions: Sequence[Condition]) -> QueryGraph:
        """The query graph that has only those symmetries which conditions keep. A condition whose text does not show
        it, such as EXISTS of more than a path, is kept only where every element that it mentions stays."""
        names = self.scope.names

        def found(variable: Variable) -> Expression:
            return names.get(variable.name, variable)

        mine = [c.expression for c in conditions if c.names & names.keys()]

        def renamed(vertices: tuple[int, ...], edges: tuple[int, ...]) -> frozenset[str]:
            def name(element: ElementReference) -> str:
                image = vertices if element.kind == "vertex" else edges
                return numbered(replace(element, index=image[element.index]))

            def named(variable: str) -> str:
                element = names.get(variable)
                return variable if element is None else name(element)

            def text(condition: Expression) -> str:
                shown = with_pattern_texts(condition, named) if asks(condition) else condition
                one = resolve(shown, found)
                inside = sorted(mentioned(one) & names.keys())
                whole = canonical(one, self.scope.parameters, name)
                return " ".join([whole, *(name(names[k]) for k in inside)])

            return frozenset(map(text, mine))

        texts = renamed((*range(len(graph.vertices)),), (*range(len(graph.edges)),))
        return replace(graph, symmetric_under=tuple(sorted(texts)), renamed=renamed)

    def distributed(self, conditions: Sequence[Condition]) -> _Distributed:
        """Conditions by the parts of the component that they test; label tests move into the scope's labels."""
        found = _Distributed()
        for condition in conditions:
            try:
                one = self._sort_conditions(condition.expression)
            except QueryError:
                found.left.append(condition)
                continue
            if any(len(elements(part)) != 2 for part in one.rest):
                found.left.append(condition)
                continue
            found.of_several += [condition for _ in one.rest]
            found.take(condition, one)
        return found

    def _sort_conditions(self, condition: Expression) -> SortedConditions:
        apart = self.pattern.mode.nodes_differ
        test = edge_test(self.scope, condition, self.context.mode, apart=apart)
        if test is not None:
            return sort_conditions(self.scope, [test], [])
        return sort_conditions(self.scope, [], [resolve(condition, self.scope.lookup)])

    def typed(self, conditions: Sequence[Expression]) -> bool:
        """Whether conditions on one element are ones over columns."""
        from gdb.language.translator import Translator  # few conditions are looked at
        from gdb.physical.columns.looked_columns import RelationColumns
        from gdb.physical.columns.relation import Builder, embedded

        builder = Builder(self.scope, None)
        columns = RelationColumns(builder, embedded(self.scope))
        translator = Translator(self.scope, columns, builder.parameters)
        try:
            for condition in conditions:
                translator.condition(condition)
        except QueryError:
            return False
        return True

    def _rows(
        self,
        graph: QueryGraph,
        left: Sequence[Condition],
        bound: Sequence[int],
        together: Sequence[U32],
        most: int | None,
        names: Sequence[str],
    ) -> Table:
        vertices = range(len(graph.vertices))
        edges = [self.component.edges.index(name) for name in names]

        def make(some: Embeddings) -> tuple[list[U32], list[I64], int]:
            kept = [some.vertex(k).copy() for k in vertices]
            return kept, [some.edge(k).copy() for k in edges], len(some)

        wanted = Wanted(tuple(vertices), tuple(edges))
        made, source = plan_from_rows(graph, self.snapshot, bound, together, few=most is not None)
        found = executor.rows(made, source, self.context.options, wanted, make, most)
        self.context.embeddings += found.rows
        return Table(
            {
                name: np.concatenate([part[0][k] for part in found.parts])
                for k, name in enumerate(self.component.vertices)
            },
            {
                name: np.concatenate([part[1][k] for part in found.parts])
                for k, name in enumerate(names)
            },
            sum(part[2] for part in found.parts),
            tuple(left),
        )

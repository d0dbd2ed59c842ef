"""MATCH and OPTIONAL MATCH of a chain: each connected component becomes a table, which is joined with the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import (
    aliased,
    binary,
    call,
    equal,
    everything,
    exp,
    is_there,
    joined,
    left_joined,
    select,
    unequal,
    value_of,
)
from gdb.errors import QueryError
from gdb.executor.relational.relational_tail import ColumnRef
from gdb.functions.types import INTEGER, NODE, RELATIONSHIP, TypeName
from gdb.language.element_columns import STORE_KIND
from gdb.language.existence import is_edge_test
from gdb.language.hidden_names import is_hidden
from gdb.language.mentioned_names import asks
from gdb.language.name_resolution import properties
from gdb.language.scope import ScopeEdge, ScopeVertex
from gdb.language.syntax import ElementReference, HasLabels, Name, Variable
from gdb.logical.needed_properties import Demand
from gdb.physical.columns.expression_translation import ChainTranslator
from gdb.physical.columns.looked_columns import RelationColumns
from gdb.physical.columns.paths import Part, Paths, folded_path, read_pattern
from gdb.physical.columns.pattern_columns import PatternColumns
from gdb.physical.columns.relation import UNIT, Builder, Held, Relation, select_columns
from gdb.physical.columns.semi_joins import add_semi_joins
from gdb.physical.columns.steps import Found, Sought
from gdb.physical.rows.component import ComponentRun
from gdb.physical.rows.distinct_paths import alike, rivals
from gdb.physical.rows.pattern import Component, Condition
from gdb.records import replace
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.base.sql import Part as SqlPart
    from gdb.base.sql import Rows
    from gdb.language.clauses import Match


def compile_match(builder: Builder, relation: Relation, clause: Match, demand: Demand) -> Relation:
    """The rows that MATCH makes of a relation. demand : what later operators need of them.

    Raises
    ------
    QueryError : it is not for columns.
    """
    return _ColumnMatching(builder, clause, demand).run(relation)


_SHORT = (TypeName.INTEGER, TypeName.FLOAT, TypeName.BOOLEAN, TypeName.DATE, TypeName.DATETIME)


class _ColumnMatching:
    def __init__(self, builder: Builder, clause: Match, demand: Demand) -> None:
        self.builder, self.clause, self.demand = builder, clause, demand
        self.live = demand.live
        self.wishes: frozenset[tuple[str, str]] = frozenset()
        self.pattern = read_pattern(builder, clause)
        self.components = self.pattern.components()
        self.needed: frozenset[str] | set[str] = frozenset()
        self.sought: Mapping[str, Sought] = {}
        self.beside = False  # what is counted may become a column of the rows' own table

    def run(self, relation: Relation) -> Relation:
        pattern, optional = self.pattern, self.clause.optional
        bound = {n for n in (*pattern.vertices, *pattern.edges) if n in relation.names}
        self._check_bound(relation, bound)
        fresh = self._numbered(bound)
        long, paths = self.pattern.long, self.pattern.routes
        reach = {*relation.names, *fresh, *(e.name for e in long), *(p.name for p in paths)}
        pushed = [self._pushed(component, bound, reach) for component in self.components]
        taken = [condition.expression for some in pushed for condition in some]
        rest = [c for c in pattern.conditions if not any(c.expression is one for one in taken)]
        late = [c for c in rest if asks(c.expression)]
        soon = [c for c in rest if c not in late]
        needed = {name for c in rest for name in c.names} & reach
        self.wishes = self.demand.wishes | properties(c.expression for c in rest)
        self.needed = wanted = (self.live | needed) & reach
        if optional and late:
            return self._numbered_optional(relation, wanted)
        relation = relation.only(wanted | bound)
        if bound:
            relation = self.builder.as_table(relation)
        relation, self.sought = add_semi_joins(self.builder, relation, fresh, soon)
        differing = self._differing()
        compared = {e for pair in differing for e in pair} | needed
        present = self.demand.present - compared - bound
        single = len(self.components) == 1 and not pattern.long and not soon
        self.beside = not relation.sorted and (single or not optional)
        parts = self._parts(relation, fresh, pushed, wanted | compared, present)
        joined = self._joined(relation, parts, fresh, soon, differing)
        if late:
            named = joined.only(n for n in joined.names if not is_hidden(n))
            joined = PatternColumns(self.builder, named).filtered(
                [c.expression for c in late], own=True
            )
        return joined.only(self.live)

    def _parts(
        self,
        relation: Relation,
        fresh: dict[str, ElementReference],
        pushed: Sequence[tuple[Condition, ...]],
        needed: Collection[str],
        present: Collection[str],
    ) -> list[Part]:
        """The tables of the components, and of the relationships of variable length. needed : names whose columns
        are needed; present : those of them that are only tested for null."""
        pattern, long = self.pattern, self.pattern.long
        others = {other.name for edge in long for other in rivals(pattern, edge)}
        needed = {*needed, *(others - {edge.name for edge in long})}
        measured = {e for r in pattern.routes if r.name in needed for e in r.edges} | needed
        ends = {end for edge in long for end in edge.ends}
        own: dict[str, tuple[Condition, ...]] = {}
        present_only = {name for name in present if name not in ends | others}
        parts: list[Part] = []
        for component, conditions in zip(self.components, pushed, strict=True):
            if folded_path(pattern, component, relation.names):
                own[component.vertices[0]] = conditions
            elif not self._known(component, relation, ends):
                parts.append(
                    self._part(component, conditions, relation, fresh, needed | ends, present_only)
                )
        stored = {
            n: self._stored(n, fresh[n]) for n in pattern.vertices if n in own and n in needed
        }
        paths = Paths(self.builder, pattern, own, measured, present, self.demand)
        return [*parts, *paths.parts(relation, parts, stored)]

    def _known(self, component: Component, relation: Relation, ends: Collection[str]) -> bool:
        """Whether a component says nothing new: a vertex of the rows at which paths end."""
        (vertex, *more) = component.vertices
        if more or component.edges or vertex not in relation.names or vertex not in ends:
            return False
        return not self.pattern.vertices[vertex].labels

    def _check_bound(self, relation: Relation, bound: Collection[str]) -> None:
        for name in bound:
            kind = "vertex" if name in self.pattern.vertices else "edge"
            element = relation.names[name].element
            if element is None or element.kind != kind:
                raise self.builder.refuse(self.clause.place, f"'{name}' of this kind is")

    def _numbered(self, bound: Collection[str]) -> dict[str, ElementReference]:
        """The new elements, known to the scope."""
        scope, pattern = self.builder.scope, self.pattern
        found: dict[str, ElementReference] = {}
        for name, vertex in pattern.vertices.items():
            if name not in bound:
                labels = [*vertex.labels, *self._labels(name)]
                found[name] = ElementReference("vertex", len(scope.vertices), vertex.place)
                scope.vertices.append(ScopeVertex(name, vertex.place, labels))
        for name, edge in pattern.edges.items():
            if name not in bound:
                types = tuple(Name(type_, edge.place) for type_ in edge.types)
                if edge.length is None:
                    found[name] = ElementReference("edge", len(scope.edges), edge.place)
                scope.edges.append(ScopeEdge(name, edge.place, 0, 0, types, Direction.ANY))
        return found

    def _labels(self, name: str) -> list[tuple[Name, ...]]:
        """What WHERE says of a new vertex's labels."""
        return [
            term
            for condition in self.pattern.conditions
            if isinstance(condition.expression, HasLabels)
            and isinstance(condition.expression.subject, Variable)
            and condition.expression.subject.name == name
            for term in condition.expression.labels
        ]

    def _pushed(
        self, component: Component, bound: Collection[str], reach: Collection[str]
    ) -> tuple[Condition, ...]:
        """The conditions that a component's query graph takes. reach : the names that a condition can mean; others are
        inside of it."""
        names = {*component.vertices, *component.edges}
        own = [
            Condition(c.expression, c.names & {*reach})
            for c in self.pattern.conditions
            if is_edge_test(c.expression) or not asks(c.expression)
        ]
        own = [c for c in own if c.names <= names and c.names - {*bound}]
        run = ComponentRun(self.builder.context, self.pattern, component)
        return run.pushable(own, bound)

    def _differing(self) -> list[tuple[str, str]]:
        """Relationships of several components that could be the same."""
        if not self.pattern.mode.edges_differ:
            return []
        found: list[tuple[str, str]] = []
        for k, component in enumerate(self.components):
            for other in self.components[k + 1 :]:
                for a in component.edges:
                    for b in other.edges:
                        one, another = self.pattern.edges[a], self.pattern.edges[b]
                        if one.clause == another.clause and alike(one, another):
                            found.append((a, b))
        return found

    def _part(
        self,
        component: Component,
        own: tuple[Condition, ...],
        relation: Relation,
        fresh: dict[str, ElementReference],
        wanted: Collection[str],
        present: Collection[str],
    ) -> Part:
        builder, bound = self.builder, relation.names
        names = (*component.vertices, *component.edges)
        needed = [n for n in names if n in wanted or n in bound]
        valued = [n for n in needed if n not in present]
        number = builder.fresh("w") if self._counts(component, valued, bound) else None
        columns = {n: builder.fresh("x") for n in (needed if number is None else valued)}
        held = {n: (relation.table, relation.names[n].column) for n in names if n in bound}
        table = builder.fresh("f")
        stored = {n: self._stored(n, fresh[n]) for n in names if n in fresh and n in columns}
        refs = [
            replace(
                ref,
                index=component.edges.index(n)
                if n in component.edges
                else component.vertices.index(n),
            )
            for n, several in stored.items()
            for ref in several
        ]
        what = ", ".join(n for n in names if not n.startswith(" ")) or "no name"
        step = Found(
            *(table, self.pattern, component, own, held, columns, tuple(refs)),
            number=number,
            part=builder.partly and number is None and not self.clause.optional,
            what=f"match {what}",
            sought={n: one for n, one in self.sought.items() if n in component.vertices},
        )
        if self._lies_beside(relation, step):
            assert number is not None
            flags = {n: number for n in needed if n not in valued}
            return Part(relation.table, {}, number=number, present=flags, beside=True)
        builder.steps.append(step)
        if number is None:
            return Part(table, columns, stored)
        there = columns[valued[0]] if valued else number
        flags = {n: there for n in needed if n not in valued}
        return Part(table, columns, stored, number=number, present=flags)

    def _lies_beside(self, relation: Relation, step: Found) -> bool:
        """Whether a step became a part of the one whose vertices the rows are."""
        if not self.beside or step.number is None or step.sought or len(step.bound) != 1:
            return False
        (name,) = step.bound
        return step.columns.keys() == {name} and self.builder.beside(relation, name, step)

    def _counts(self, component: Component, valued: Sequence[str], bound: Collection[str]) -> bool:
        """Whether the embeddings of a component are to be counted, and not listed, for each needed vertex, or for what
        each row binds."""
        more = set(component.vertices) - set(valued) or component.edges or not valued
        keys = len(valued) <= 1 or all(name in bound for name in valued)
        keys = keys and all(name in component.vertices for name in valued)
        return self.demand.numbers and keys and bool(more)

    def _stored(self, name: str, element: ElementReference) -> list[ColumnRef]:
        """The properties of a new element that are taken from the store at once: those for which nearly as many values
        are needed as there are rows, or short ones."""
        found = []
        for key in sorted(key for wished, key in self.wishes if wished == name):
            try:
                type_ = self.builder.scope.property_type(element, Name(key, element.place))
            except QueryError:
                continue
            short = type_.kind in _SHORT or (
                element.kind == "edge" and type_.kind is TypeName.STRING
            )
            if short:
                column, kind = self.builder.fresh("c"), STORE_KIND[type_]
                found.append(ColumnRef(column, element.kind, 0, key, "property", kind))
        return found

    def _joined(
        self,
        relation: Relation,
        parts: Sequence[Part],
        fresh: dict[str, ElementReference],
        conditions: Sequence[Condition],
        differing: Sequence[tuple[str, str]],
    ) -> Relation:
        owner, tests = _owners(relation, parts)
        names = self._held_columns(relation, parts, fresh, owner)
        routes = self._routes({n: one for part in parts for n, one in part.lengths.items()})
        names |= {name: Held(one, INTEGER, measured="length") for name, (one, _) in routes.items()}
        tests += [unequal(owner[a].columns[a], owner[b].columns[b]) for a, b in differing]
        columns = RelationColumns(self.builder, names)
        translator = ChainTranslator(self.builder, columns)
        tests += [translator.tested(c.expression) for c in conditions]
        if columns.asked_of(relation):
            relation = self.builder.as_table(relation)
        if not self.clause.optional:
            tests += [is_there(part.number) for part in parts if part.beside and part.number]
        apart = [part for part in parts if not part.beside]
        made = [self._with_looks(part, fresh, columns, owner) for part in apart]
        made = self._with_routes(made, routes)
        held = {n: relation.names.get(n, held) for n, held in names.items()}
        before = everything(left_joined(relation.from_, columns.joins(relation)))
        new = [n for n in names if n not in relation.names]
        mine = [c for n in new for c in (held[n].column, *held[n].stored.values())]
        weights = [part.number for part in parts if part.number is not None]
        first = relation.source is None
        relation, every = self._weighed(relation, weights, mine)
        if self.clause.optional:
            inside = made[0] if len(made) == 1 else everything(*made) if made else None
            on = joined(exp.And, tests) if tests else value_of(True)
            source = left_joined(before, [] if inside is None else [(inside, on)])
            return replace(relation, source=select_columns(every, source), names=held)
        if first:
            if len(parts) == 1 and not tests and not columns.asks() and not routes:
                relation = replace(UNIT, hidden=tuple(weights), weight=parts[0].number)
                return replace(relation, source=parts[0].table, names=held)
            sources = made
        else:
            sources = [before, *made]
        return replace(relation, source=select_columns(every, *sources, where=tests), names=held)

    def _held_columns(
        self,
        relation: Relation,
        parts: Sequence[Part],
        fresh: dict[str, ElementReference],
        owner: Mapping[str, Part],
    ) -> dict[str, Held]:
        """The columns of the names of the rows and of the new elements."""
        names = dict(relation.names)
        for name, element in fresh.items():
            type_ = NODE if element.kind == "vertex" else RELATIONSHIP
            for part in parts:
                if name in part.present:
                    names[name] = Held(part.present[name], type_, element)
            if name in owner:
                part = owner[name]
                column = part.columns[name]
                stored = {(r.what, r.key): r.name for r in part.stored.get(name, ())}
                names[name] = Held(column, type_, element, (part.table, column), stored)
        for part in parts:
            for name, length in part.lengths.items():
                edge = self.pattern.edges[name]
                if not edge.alone:
                    names[name] = Held(length, INTEGER, measured="size")
                elif name in self.needed:
                    raise self.builder.refuse(edge.place, "the relationship of a shortest path is")
        return names

    def _routes(self, lengths: Mapping[str, str]) -> dict[str, tuple[str, exp.Expr]]:
        """A column for each path length that is needed, and its SQL."""
        found: dict[str, tuple[str, exp.Expr]] = {}
        for route in self.pattern.routes:
            if route.name in self.needed:
                single = sum(edge not in lengths for edge in route.edges)
                terms = [lengths[edge] for edge in route.edges if edge in lengths]
                length = binary(exp.Add, *terms, value_of(single))
                found[route.name] = self.builder.fresh("d"), length
        return found

    def _with_routes(
        self, parts: list[Rows], routes: Mapping[str, tuple[str, exp.Expr]]
    ) -> list[Rows]:
        if not routes:
            return parts
        columns = [aliased(sql, column) for column, sql in routes.values()]
        return [select([exp.Star(), *columns], *parts)]

    def _weighed(
        self, relation: Relation, weights: Sequence[str], mine: Sequence[str]
    ) -> tuple[Relation, list[SqlPart]]:
        """The relation with the weights that numbers of embeddings give it, and all its columns, new ones among
        them."""
        if not weights:
            return relation, [*relation.columns, *mine]
        factors: list[SqlPart] = [*weights]
        if self.clause.optional:
            factors = [call("coalesce", weight, value_of(1)) for weight in weights]
        if relation.weight is not None:
            factors.append(relation.weight)
        product = self.builder.fresh("w")
        bare = relation.unweighted()
        every: list[SqlPart] = [*bare.columns, *mine, aliased(binary(exp.Mul, *factors), product)]
        return replace(bare, hidden=(*bare.hidden, product), weight=product), every

    def _with_looks(
        self,
        part: Part,
        fresh: dict[str, ElementReference],
        columns: RelationColumns,
        owner: Mapping[str, Part],
    ) -> Rows:
        joins = [
            columns.join_of(element, part.columns[name], (part.table, part.columns[name]))
            for name, element in fresh.items()
            if owner.get(name) is part
        ]
        found = [join for join in joins if join is not None]
        return everything(left_joined(part.table, found)) if found else part.table

    def _numbered_optional(self, relation: Relation, wanted: Collection[str]) -> Relation:
        """OPTIONAL MATCH with conditions that contain patterns: matched as MATCH, and joined by the rows' numbers."""
        builder = self.builder
        counted, number = builder.numbered(relation)
        inner = replace(self.clause, optional=False)
        demand = replace(self.demand, live=frozenset({*self.live, *wanted}))
        with builder.asking():
            found = builder.matched(counted.unweighted(), inner, demand)
        fresh = [held for n, held in found.names.items() if n not in relation.names]
        new = [c for one in fresh for c in (one.column, *one.stored.values())]
        other = builder.fresh("n")
        new = list(dict.fromkeys(new))
        weights = [] if found.weight is None else [found.weight]
        rows = select_columns([aliased(number, other), *new, *weights], found.from_)
        kept = replace(relation, names=counted.names)
        kept, every = self._weighed(kept, weights, new)
        source = left_joined(counted.table, [(rows, equal(number, other))])
        names = {n: h for n, h in found.names.items() if n not in relation.names}
        return replace(kept, source=select_columns(every, source), names={**counted.names, **names})


def _owners(relation: Relation, parts: Sequence[Part]) -> tuple[dict[str, Part], list[exp.Expr]]:
    """The first table that has each element, and what makes the others agree with it and with the rows."""
    owner: dict[str, Part] = {}
    tests: list[exp.Expr] = []
    for part in parts:
        for name, column in part.columns.items():
            if name in relation.names:
                tests.append(equal(relation.names[name].column, column))
            elif name in owner:
                tests.append(equal(owner[name].columns[name], column))
            owner.setdefault(name, part)
    return owner, tests

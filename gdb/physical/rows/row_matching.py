"""MATCH over rows: every row with every way to extend it by the pattern.

Each connected component is matched for all rows at once and joined with them; relationships of variable length are
walked from the rows (`gdb.physical.rows.walking`). A condition is tested as soon as all that it mentions is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from gdb.base import usage
from gdb.base.allowance import paced
from gdb.base.values.comparison import group_key
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.sizes import Pile
from gdb.errors import NotSupported
from gdb.language.mentioned_names import mentioned
from gdb.language.report import problem
from gdb.language.syntax import Comparator, Comparison, Expression, Name, Quantified, Variable
from gdb.physical.rows.batches import MOST, Few
from gdb.physical.rows.component import Table
from gdb.physical.rows.component_matching import ComponentMatching
from gdb.physical.rows.distinct_paths import rivals
from gdb.physical.rows.pattern import Component, Condition, Pattern, RowEdge, Variant
from gdb.physical.rows.row_look_ups import ValuesOf
from gdb.physical.rows.subqueries import Prepared
from gdb.records import replace
from gdb.storage.graph.adjacency import I64, U32

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import Numbered, RowContext

_CHUNK = 1 << 14


def extend_rows(
    context: RowContext, pattern: Pattern, rows: Sequence[Row], known: Iterable[str]
) -> list[Numbered]:
    """The rows that MATCH makes of some rows, each with the number of the one it extends, in ascending order.

    known : the names that the rows have, which may be null in some.
    """
    return [one for some in extensions(context, pattern, rows, known) for one in some]


def extensions(
    context: RowContext, pattern: Pattern, rows: Sequence[Row], known: Iterable[str]
) -> Iterator[list[Numbered]]:
    """As `extend_rows`, in batches that are made when they are wanted."""
    return Matching(context, pattern, known).extensions(rows)


class Matching:
    """A MATCH, for one batch of rows after the other. few : where only some of what it finds is wanted."""

    def __init__(
        self, context: RowContext, pattern: Pattern, known: Iterable[str], few: Few | None = None
    ) -> None:
        self.context, self.pattern = context, pattern
        self.known, self.few = frozenset(known), few
        self.unbound: dict[Component, Table] = {}  # matched once, whatever the rows

    def extensions(self, rows: Sequence[Row]) -> Iterator[list[Numbered]]:
        """The rows that MATCH makes of some rows, each with the number of the one it extends, in ascending order."""
        program = self.pattern.program(self.known) if len(rows) == 1 else None
        made = None if program is None else program.run(self.context, rows[0])
        if made is not None:
            yield [(0, row) for row in made]
            return
        if self.pattern.variants:
            yield from self._of_variants(rows)
            return
        matching = _RowMatching(self.context, self.pattern, self.known, self.few, self.unbound)
        yield from matching.run(rows)

    def _of_variants(self, rows: Sequence[Row]) -> Iterator[list[Numbered]]:
        """The rows of all variants of a pattern. Those of one row need no order: they are not gathered."""
        if len(rows) == 1:
            for variant in self.pattern.variants:
                yield from self._varied(variant, rows)
            return
        allowance = self.context.allowance
        pile = Pile(allowance, "the rows of a repeated pattern")
        try:
            every: list[Numbered] = []
            for variant in self.pattern.variants:
                for some in self._varied(variant, rows):
                    pile.batch([row for _, row in some], 0)
                    every += some
            every.sort(key=itemgetter(0))
            for start in range(0, len(every), MOST):
                yield every[start : start + MOST]
        finally:
            pile.clear()

    def _varied(self, variant: Variant, rows: Sequence[Row]) -> Iterator[list[Numbered]]:
        """The rows of a pattern in which repeated ones are written out, in batches."""
        context, budget = self.context, usage.room()
        taken = {} if budget is None else budget.held.copy()
        matching = _RowMatching(context, variant.pattern, self.known, None, {}, whole=True)
        try:
            for some in matching.run(rows):
                found = [one for one in some if variant.completed(one[1])]
                if variant.later and found:
                    prepared = Prepared(context, variant.later, tests=True)
                    tests = [context.evaluator.condition(one) for one in prepared.expressions]
                    prepared.fill([row for _, row in found])
                    found = [o for o in found if all(test(o[1]) is True for test in tests)]
                if found:
                    yield found
        finally:
            if budget is not None:
                budget.back_to(taken)  # its embeddings are rows now


class _RowMatching(ComponentMatching["list[Numbered]"]):
    def run(self, rows: Sequence[Row]) -> Iterator[list[Numbered]]:
        table = list(enumerate(rows))
        if self.bound:
            every = (*self.pattern.vertices, *self.pattern.edges)
            shared = [name for name in every if name in self.bound]
            if shared:
                table = [(k, row) for k, row in table if all(map(_there, _of(row, shared)))]
        table = self._filtered(table)
        return self._rest(table, self.parts.components, self.parts.long)

    def _rest(
        self, table: list[Numbered], components: Sequence[Component], long: Sequence[RowEdge]
    ) -> Iterator[list[Numbered]]:
        """The rows extended by what is left of the pattern: depth first, a batch through all of it at a time."""
        if not table or not (components or long):
            if table:  # all was bound before
                yield self._routed(table)
            return
        component = self._next(components, long)
        if component is not None:
            components = [other for other in components if other is not component]
            parts = self._joined(component, table)
        else:
            edge = self._next_walk(long)
            long = [other for other in long if other is not edge]
            parts = self._walked(edge, table)
        for some in parts:
            if components or long:
                yield from self._rest(some, components, long)
            elif some:
                yield self._routed(some)

    def _routed(self, table: list[Numbered]) -> list[Numbered]:
        for route in self.pattern.routes:
            for _, row in table:
                if any(self.pattern.edges[name].once for name in route.edges):
                    row[route.name] = None  # which nothing needs
                    continue
                first = row[route.vertices[0]]
                assert isinstance(first, NodeValue)
                row[route.name] = PathValue.along(first, _of(row, route.edges))
            self.bound.add(route.name)
            if route.acyclic and not self.pattern.edges[route.edges[0]].once:
                table = [one for one in table if _acyclic(one[1][route.name])]
        return self._filtered(table)

    # ---- conditions ------------------------------------------------------------------------------

    def _filtered(self, table: list[Numbered]) -> list[Numbered]:
        """The rows that satisfy the conditions that can be tested now."""
        if not self.waiting:
            return table
        ready = [c for c in self.waiting if c.names & self.reach <= self.bound]
        if not ready:
            return table
        self.waiting = [c for c in self.waiting if c not in ready]
        prepared = Prepared(self.context, [c.expression for c in ready], tests=True)
        tests = [self.context.evaluator.condition(one) for one in prepared.expressions]
        prepared.fill([row for _, row in table])
        return [o for o in paced(table, len(table)) if all(test(o[1]) is True for test in tests)]

    # ---- components ------------------------------------------------------------------------------

    def _joined(self, component: Component, table: list[Numbered]) -> Iterator[list[Numbered]]:
        few = self.few
        chunk, count = _CHUNK if few is None else min(_CHUNK, few.most), 0
        found, places = self._find_embeddings(component, table, chunk)
        names = self._fresh(component)
        before, waiting = self.bound | {*component.vertices, *component.edges}, self.waiting
        for at, of in places:
            self.context.allowance.pulse()
            self.bound, self.waiting = set(before), list(waiting)
            some = self._built(found, table, at, of, names)
            if self.checks_edges:
                some = [one for one in some if self._differ(one[1])]
            some = self._filtered(some)
            count += len(some)
            yield some
            if few is not None and count > few.most:
                few.cut = True
                return

    def _values_of(self, table: list[Numbered]) -> ValuesOf:
        compiled, rows = self.context.evaluator.compiled, [row for _, row in table]
        return lambda expression: list(map(compiled(expression), rows))

    def _vids(self, table: list[Numbered], name: str) -> U32:
        return self.context.graph.vids(_nodes(table, name))

    def _eids(self, table: list[Numbered], name: str) -> I64:
        return self.context.graph.eids(_relationships(table, name))

    def _built(
        self, found: Table, table: list[Numbered], at: I64, of: I64, names: Sequence[str]
    ) -> list[Numbered]:
        """The rows at some places, each with the named elements of an embedding."""
        graph = self.context.graph
        columns: list[Sequence[Value]] = []
        for name in names:
            if name in found.vertices:
                columns.append(graph.nodes(found.vertices[name][of]))
            else:
                columns.append(graph.relationships(found.edges[name][of]))
        rows = [table[place] for place in at.tolist()]
        if not names:
            return [(number, dict(row)) for number, row in rows]
        if len(names) == 1:
            (name,), (values,) = names, columns
            pairs = zip(rows, values, strict=True)
            return [(number, {**row, name: value}) for (number, row), value in pairs]
        return [
            (number, {**row, **dict(zip(names, values, strict=True))})
            for (number, row), *values in zip(rows, *columns, strict=True)
        ]

    def _equalities(
        self, component: Component, found: Table, table: list[Numbered]
    ) -> list[tuple[I64, I64]]:
        """Columns to join on that come from conditions `x = y`, where one side is the component's and the other the
        rows'."""
        if len(table) < 2 or found.count < 2:
            return []
        inside = self.reach & ({*component.vertices, *component.edges} - self.bound)
        pairs: list[tuple[I64, I64]] = []
        for condition in self.waiting:
            sides = sides_of(condition, self.reach, inside, self.bound)
            if sides is None:
                continue
            codes: dict[object, int] = {}
            test = self.context.evaluator.compiled
            left, right = test(sides[0]), test(sides[1])
            every = np.arange(found.count, dtype=np.int64)
            mine = self._built(
                found,
                [(0, {})],
                np.zeros_like(every),
                every,
                [*found.vertices, *found.edges],
            )
            inner = [codes.setdefault(group_key(left(row)), len(codes)) for _, row in mine]
            outer = [codes.setdefault(group_key(right(row)), len(codes)) for _, row in table]
            pairs.append((np.array(inner, np.int64), np.array(outer, np.int64)))
        return pairs

    # ---- paths -----------------------------------------------------------------------------------

    def _next_walk(self, long: Sequence[RowEdge]) -> RowEdge:
        """The paths to walk now. Shortest ones come last: they are looked for among those that the rest of the pattern
        leaves. Where the conditions of each mention what others find, those of one wait until that is found."""
        ready = [edge for edge in long if self._may_walk(edge)]
        if not ready:
            ready = [edge for edge in long if not self.bound.isdisjoint(edge.ends)]
        edge = min(ready, key=lambda e: e.selector is not None)
        if edge.selector is not None and (needs := self._needs(edge)):
            names = ", ".join(f"'{name}'" for name in sorted(needs))
            raise problem(
                *(NotSupported, self.context.text, edge.place),
                f"a shortest path over relationships whose condition mentions {names} is not supported: that is found "
                "together with it.",
                "Match the path in a MATCH of its own, behind the one that finds what its condition mentions.",
            )
        return edge

    def _without_late(self, edge: RowEdge) -> RowEdge:
        """The edge without the conditions on its relationships that mention what is not bound; these wait."""
        if not self._needs(edge):
            return edge
        unbound = self.reach - self.bound - {edge.name}
        late = [one for one in edge.conditions if mentioned(one) & unbound]
        for one in late:
            if not edge.alone:
                several = Variable(edge.name, one.place)
                one = Quantified("all", Name(edge.name, one.place), several, one, one.place)
            self.waiting = [*self.waiting, Condition(one, mentioned(one) | {edge.name})]
        return replace(edge, conditions=tuple(one for one in edge.conditions if one not in late))

    def _walked(self, edge: RowEdge, table: list[Numbered]) -> Iterator[list[Numbered]]:
        from gdb.physical.rows.walking import Walk  # machine code of its own

        edge = self._without_late(edge)
        others = [one for one in rivals(self.pattern, edge) if one.name in self.bound]
        # of two shortest paths none goes before the other: each is looked for, then they must differ
        apart = [e for e in others if edge.selector is None or e.selector is None]
        names, bound = [e.name for e in apart], frozenset(self.bound)
        given = self.context, self.pattern, edge, names, bound, self.few
        paths = Walk(*given, once=self._once(edge)).rows(table)
        before, waiting = self.bound | {edge.name, *edge.ends}, self.waiting
        while some := list(islice(paths, _CHUNK)):
            if self.checks_edges and len(apart) < len(others):
                some = [one for one in some if self._differ(one[1])]
            self.bound, self.waiting = set(before), list(waiting)
            yield self._filtered(some)

    def _differ(self, row: Row) -> bool:
        """Whether no relationship matches two of the pattern; a walk may have one twice."""
        seen: set[tuple[int, int]] = set()  # by clause
        for name, edge in self.pattern.edges.items():
            value = row.get(name)
            several = value if isinstance(value, list) else [value]
            own = {(edge.clause, id(o)) for o in several if isinstance(o, RelationshipValue)}
            if seen & own:
                return False
            seen |= own
        return True


def sides_of(
    condition: Condition, reach: frozenset[str], inside: frozenset[str], bound: set[str]
) -> tuple[Expression, Expression] | None:
    """Both sides of an equality, that of the component first; None where it is something else."""
    expression = condition.expression
    if not isinstance(expression, Comparison) or expression.operator is not Comparator.EQUAL:
        return None
    if condition.random:
        return None
    for mine, other in (
        (expression.left, expression.right),
        (expression.right, expression.left),
    ):
        left, right = mentioned(mine) & reach, mentioned(other) & reach
        if left and left <= inside and right <= bound:
            return mine, other
    return None


def _of(row: Row, names: Sequence[str]) -> list[Value]:
    return [row[name] for name in names]


def _there(value: Value) -> bool:
    """Whether a pattern can be matched at what a row has."""
    return value is not None and not getattr(value, "deleted", False)


def _nodes(table: Sequence[Numbered], name: str) -> list[NodeValue]:
    found: list[NodeValue] = []
    for _, row in table:
        value = row[name]
        assert isinstance(value, NodeValue)
        found.append(value)
    return found


def _relationships(table: Sequence[Numbered], name: str) -> list[RelationshipValue]:
    found: list[RelationshipValue] = []
    for _, row in table:
        value = row[name]
        assert isinstance(value, RelationshipValue)
        found.append(value)
    return found


def _acyclic(path: Value) -> bool:
    """Whether a path has no node twice."""
    assert isinstance(path, PathValue)
    return len({id(node) for node in path.nodes}) == len(path.nodes)

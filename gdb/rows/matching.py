"""MATCH over rows: every row with every way to extend it by the pattern.

Each connected component is matched for all rows at once and joined with them; relationships of variable length are
walked from the rows (`gdb.rows.walking`). A condition is tested as soon as all that it mentions is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.language.syntax import Comparator, Comparison, Expression
from gdb.rows.component import Table, matched
from gdb.rows.pattern import Component, Condition, Edge, Pattern, Variant
from gdb.rows.subqueries import Prepared
from gdb.rows.walking import walked
from gdb.storage.adjacency import I64
from gdb.values.comparison import group_key
from gdb.values.elements import NodeValue, PathValue, RelationshipValue

if TYPE_CHECKING:
    from gdb.rows.context import Context
    from gdb.values.kinds import Row, Value

Numbered: TypeAlias = "tuple[int, Row]"
"""The number of the row that one came from, and the row."""
_CHUNK = 1 << 16


def extended(
    context: Context, pattern: Pattern, rows: Sequence[Row], known: Iterable[str]
) -> list[Numbered]:
    """The rows that MATCH makes of some rows, each with the number of the one it extends.

    known : the names that the rows have, which may be null in some.
    """
    if pattern.variants:
        names = frozenset(known)
        return [one for v in pattern.variants for one in _varied(context, v, rows, names)]
    return _Matching(context, pattern, frozenset(known)).run(rows)


def partly_extended(
    context: Context, pattern: Pattern, rows: Sequence[Row], known: Iterable[str], most: int
) -> tuple[list[Numbered], bool]:
    """As `extended`, but only what comes of some `most` embeddings of each part of the pattern, and whether that is
    all."""
    if pattern.variants:
        return extended(context, pattern, rows, known), True
    matching = _Matching(context, pattern, frozenset(known), most)
    found = matching.run(rows)
    return found, not matching.cut


def _varied(
    context: Context, variant: Variant, rows: Sequence[Row], known: frozenset[str]
) -> list[Numbered]:
    """The rows of a pattern in which repeated ones are written out."""
    found = _Matching(context, variant.pattern, known).run(rows)
    found = [one for one in found if variant.completed(one[1])]
    if not variant.later or not found:
        return found
    prepared = Prepared(context, variant.later)
    tests = [context.evaluator.condition(one) for one in prepared.expressions]
    prepared.fill([row for _, row in found])
    return [one for one in found if all(test(one[1]) is True for test in tests)]


class _Matching:
    def __init__(
        self, context: Context, pattern: Pattern, known: frozenset[str], most: int | None = None
    ) -> None:
        self.context, self.pattern = context, pattern
        self.most, self.cut = most, False
        self.bound = set(known)
        self.waiting = list(pattern.conditions)
        own = {*pattern.vertices, *pattern.edges, *(route.name for route in pattern.routes)}
        self.reach = own | known  # what a condition can mean; other names are inside of it
        self.checks_edges = pattern.mode.edges_differ and (
            bool(pattern.long) or len([c for c in pattern.components() if c.edges]) > 1
        )

    def run(self, rows: Sequence[Row]) -> list[Numbered]:
        shared = [*self.pattern.vertices, *self.pattern.edges]
        shared = [name for name in shared if name in self.bound]
        table = [(k, row) for k, row in enumerate(rows) if all(map(_there, _of(row, shared)))]
        table = self._filtered(table)
        components, long = self.pattern.components(), self.pattern.long
        while (components or long) and table:
            component = self._next(components, long)
            if component is not None:
                components.remove(component)
                table = self._joined(component, table)
                continue
            # shortest paths come last: they are looked for among those that the rest of the pattern leaves
            ready = [e for e in long if self.bound & set(e.ends)]
            edge = min(ready, key=lambda e: e.selector is not None)
            long.remove(edge)
            table = self._walked(edge, table)
        for route in self.pattern.routes if table else ():
            for _, row in table:
                row[route.name] = _path(_of(row, route.vertices), _of(row, route.edges))
            self.bound.add(route.name)
            if route.acyclic:
                table = [one for one in table if _acyclic(one[1][route.name])]
        return self._filtered(table)

    def _next(self, components: Sequence[Component], long: Sequence[Edge]) -> Component | None:
        """The component to match now; None where a path is to be walked first."""
        if not components:
            return None
        for component in components:
            if self.bound & {*component.vertices, *component.edges}:
                return component
        for edge in long:
            ready = set(edge.ends) & self.bound
            if ready and edge.selector is None:
                return None
        # one that a path leads to is reached by it, and matched as bound
        ends = {end for edge in long for end in edge.ends}
        best = min(
            components,
            key=lambda c: (not c.edges and bool(ends & set(c.vertices)), -len(c.edges)),
        )
        return best

    # ---- conditions ------------------------------------------------------------------------------

    def _filtered(self, table: list[Numbered]) -> list[Numbered]:
        """The rows that satisfy the conditions that can be tested now."""
        ready = [c for c in self.waiting if c.names & self.reach <= self.bound]
        if not ready:
            return table
        self.waiting = [c for c in self.waiting if c not in ready]
        prepared = Prepared(self.context, [c.expression for c in ready])
        tests = [self.context.evaluator.condition(one) for one in prepared.expressions]
        prepared.fill([row for _, row in table])
        return [one for one in table if all(test(one[1]) is True for test in tests)]

    def _own(self, component: Component) -> list[Condition]:
        """The conditions that one element of a component decides."""
        names = {*component.vertices, *component.edges} - self.bound
        return [c for c in self.waiting if len(c.names) == 1 and c.names <= names]

    # ---- components ------------------------------------------------------------------------------

    def _joined(self, component: Component, table: list[Numbered]) -> list[Numbered]:
        graph = self.context.graph
        shared = [name for name in component.vertices if name in self.bound]
        shared_edges = [name for name in component.edges if name in self.bound]
        vids = {name: graph.vids(_nodes(table, name)) for name in shared}
        eids = {name: graph.eids(_relationships(table, name)) for name in shared_edges}
        own = self._own(component)
        found = matched(
            self.context,
            self.pattern,
            component,
            own,
            {name: np.unique(values) for name, values in vids.items()},
            {name: np.unique(values) for name, values in eids.items()},
            [c for c in self.waiting if c not in own],
            [*vids.values()],
            self.most,
        )
        self.cut = self.cut or (self.most is not None and found.count >= self.most)
        self.waiting = [c for c in self.waiting if c not in own or c in found.left]
        pairs: list[tuple[I64, I64]] = [
            (found.vertices[name].astype(np.int64), vids[name].astype(np.int64)) for name in shared
        ]
        pairs += [(found.edges[name], eids[name]) for name in shared_edges]
        pairs += self._equalities(component, found, table)
        at, of = joined(len(table), found.count, pairs)
        names = {*component.vertices, *component.edges}
        made: list[Numbered] = []
        before = set(self.bound)
        waiting = list(self.waiting)
        chunk = _CHUNK if self.most is None else min(_CHUNK, self.most)
        for start in range(0, max(len(at), 1), chunk):
            self.context.pulse()
            self.bound, self.waiting = before | names, list(waiting)
            some = self._built(found, table, at[start : start + chunk], of[start : start + chunk])
            made += self._filtered([one for one in some if self._differ(one[1])])
            if self.most is not None and len(made) > self.most:
                self.cut = True
                break
        return made

    def _built(self, found: Table, table: list[Numbered], at: I64, of: I64) -> Iterator[Numbered]:
        graph = self.context.graph
        columns: dict[str, Sequence[Value]] = {
            name: graph.nodes(vids[of]) for name, vids in found.vertices.items()
        }
        columns |= {name: graph.relationships(eids[of]) for name, eids in found.edges.items()}
        names = list(columns)
        for place, *values in zip(at.tolist(), *columns.values(), strict=True):
            number, row = table[place]
            yield number, {**row, **dict(zip(names, values, strict=True))}

    def _equalities(
        self, component: Component, found: Table, table: list[Numbered]
    ) -> list[tuple[I64, I64]]:
        """Columns to join on that come from conditions `x = y`, of which one side is the component's and the other the
        rows'."""
        if len(table) < 2 or found.count < 2:
            return []
        inside = ({*component.vertices, *component.edges} - self.bound) & self.reach
        pairs: list[tuple[I64, I64]] = []
        for condition in self.waiting:
            sides = _sides(condition.expression, self.reach, inside, self.bound)
            if sides is None:
                continue
            codes: dict[object, int] = {}
            test = self.context.evaluator.compiled
            left, right = test(sides[0]), test(sides[1])
            every = np.arange(found.count, dtype=np.int64)
            mine = self._built(found, [(0, {})], np.zeros_like(every), every)
            inner = [codes.setdefault(group_key(left(row)), len(codes)) for _, row in mine]
            outer = [codes.setdefault(group_key(right(row)), len(codes)) for _, row in table]
            pairs.append((np.array(inner, np.int64), np.array(outer, np.int64)))
        return pairs

    # ---- paths -----------------------------------------------------------------------------------

    def _walked(self, edge: Edge, table: list[Numbered]) -> list[Numbered]:
        edges = self.pattern.edges.values()
        others = [e for e in edges if e.name in self.bound and e.name != edge.name]
        if not self.pattern.mode.edges_differ:
            others = []
        # of two shortest paths none goes before the other: each is looked for, then they must differ
        apart = [e for e in others if edge.selector is None or e.selector is None]
        names, bound = [e.name for e in apart], frozenset(self.bound)
        made = walked(self.context, self.pattern, edge, table, names, bound)
        if len(apart) < len(others):
            made = [one for one in made if self._differ(one[1])]
        self.bound |= {edge.name, *edge.ends}
        return self._filtered(made)

    def _differ(self, row: Row) -> bool:
        """Whether no relationship stands for two of the pattern; a walk may have one twice."""
        if not self.checks_edges:
            return True
        seen: set[int] = set()
        for name in self.pattern.edges:
            value = row.get(name)
            several = value if isinstance(value, list) else [value]
            own = {id(one) for one in several if isinstance(one, RelationshipValue)}
            if seen & own:
                return False
            seen |= own
        return True


def joined(rows: int, found: int, pairs: Sequence[tuple[I64, I64]]) -> tuple[I64, I64]:
    """The pairs (row, embedding) that agree in all columns: of each pair of columns, the values of the embeddings,
    i64[found], and of the rows, i64[rows]. Without columns all pairs."""
    if not pairs:
        return np.repeat(np.arange(rows), found), np.tile(np.arange(found), rows)
    codes = np.zeros(found + rows, np.int64)
    for inner, outer in pairs:
        _, one = np.unique(np.concatenate([inner, outer]), return_inverse=True)
        _, codes = np.unique(codes * (int(one.max(initial=0)) + 1) + one, return_inverse=True)
    inner, outer = codes[:found], codes[found:]
    order = np.argsort(inner, kind="stable")
    low = np.searchsorted(inner[order], outer, side="left")
    counts = np.searchsorted(inner[order], outer, side="right") - low
    at = np.repeat(np.arange(rows), counts)
    within = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    return at, order[np.repeat(low, counts) + within]


def _sides(
    expression: Expression, reach: set[str], inside: set[str], bound: set[str]
) -> tuple[Expression, Expression] | None:
    """Both sides of an equality, that of the component first; None where it is something else."""
    from gdb.language.mentions import mentioned

    if not isinstance(expression, Comparison) or expression.operator is not Comparator.EQUAL:
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


def _path(vertices: Sequence[Value], edges: Sequence[Value]) -> PathValue:
    """The path through some vertices; an edge may be a list of relationships."""
    first = vertices[0]
    assert isinstance(first, NodeValue)
    nodes, relationships = [first], list[RelationshipValue]()
    for edge in edges:
        for one in edge if isinstance(edge, list) else [edge]:
            assert isinstance(one, RelationshipValue)
            nodes.append(one.end if one.start is nodes[-1] else one.start)
            relationships.append(one)
    return PathValue(tuple(nodes), tuple(relationships))

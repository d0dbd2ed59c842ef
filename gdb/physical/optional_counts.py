"""Counts of rows that OPTIONAL MATCH multiplies, without the rows.

A pattern, then OPTIONAL MATCHes that each hang on one node of it, then counts without keys: each embedding of the
pattern stands for the product, over the OPTIONAL MATCHes, of max(1, how many matches it has at the node). So the
pattern is matched once, or counted for each data vertex if all hang on one node; each OPTIONAL MATCH is counted for
each data vertex (`gdb.physical.counting`); and the products are summed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.executor import run as executor
from gdb.executor.embeddings import Embeddings, Wanted
from gdb.language.aggregation import is_count
from gdb.language.clauses import Match
from gdb.language.existence import is_edge_test
from gdb.language.syntax import (
    HasLabels,
    PatternComprehension,
    PatternTest,
    Subquery,
    Variable,
    walk,
)
from gdb.logical.operators import Aggregate, Operator, Plan
from gdb.physical.counting import Tally, tally
from gdb.physical.rows.component import pushable, question
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.executor.plan import Plan as Matching
    from gdb.physical.rows.context import Context
    from gdb.physical.rows.pattern import Pattern
    from gdb.query_graph import QueryGraph
    from gdb.storage.adjacency import I64, U32

_LARGEST = float(1 << 62)


@dataclass(frozen=True, slots=True)
class OptionalCounts:
    """What is counted, planned for one snapshot.

    plan : the operators that it was made of; rest : those behind the counts. base : lists the pattern, or counts it at
    the one node. roots : for each OPTIONAL MATCH the query vertex of the pattern on which it hangs. tallies : of the
    OPTIONAL MATCHes. names : of the counts; of : for each the OPTIONAL MATCH whose elements it counts, None for all
    rows.
    """

    plan: Plan
    rest: Plan
    base: Matching | Tally
    roots: tuple[int, ...]
    tallies: tuple[Tally, ...]
    names: tuple[str, ...]
    of: tuple[int | None, ...]

    @property
    def aggregate(self) -> Operator:
        """The operator of the counts."""
        (operators,), (rest,) = self.plan.sides, self.rest.sides
        return operators[len(operators) - len(rest) - 1]

    def row(self, context: Context) -> Row:
        """The row of the counts. Raises as `executor.rows`."""
        source, options = context.graph.snapshot, context.options
        found = [one.run(source, options) for one in self.tallies]
        context.embeddings += sum(int(numbers.sum()) for _, numbers in found)
        if isinstance(self.base, Tally):
            vids, numbers = self.base.run(source, options)
            context.embeddings += int(numbers.sum())
            many = [numbers, *(_numbers(vids, *one) for one in found)]
            sums_of = [_sum(many, None if of is None else of + 1, len(vids)) for of in self.of]
            return dict(zip(self.names, sums_of, strict=True))
        wanted = tuple(sorted(set(self.roots)))

        def sums(some: Embeddings) -> list[int]:
            many = [
                _numbers(some.vertex(root), *one)
                for root, one in zip(self.roots, found, strict=True)
            ]
            return [_sum(many, of, len(some)) for of in self.of]

        made = executor.rows(
            *(self.base, source, options, Wanted(wanted), sums),
            spill=lambda few, _: few,  # no rows are held, but some numbers
        )
        context.embeddings += made.rows
        totals = [sum(parts) for parts in zip(*made.parts, strict=True)]
        return dict(zip(self.names, totals, strict=True))


def _numbers(vids: U32, known: U32, numbers: I64) -> I64:
    """The number of each vertex, i64[n], 0 where none is known. known : ascending."""
    if not len(known):
        return np.zeros(len(vids), np.int64)
    places = np.minimum(np.searchsorted(known, vids), len(known) - 1)
    return np.where(known[places] == vids, numbers[places], 0)


def _sum(many: Sequence[I64], of: int | None, rows: int) -> int:
    """The sum of the products; exact beyond 2^63. of : whose number counts as it is, also 0."""
    factors = [one if k == of else np.maximum(one, 1) for k, one in enumerate(many)]
    sizes = np.ones(rows, np.float64)
    for one in factors:
        sizes *= one
    if float(sizes.sum()) >= _LARGEST:
        return sum(map(math.prod, zip(*(one.tolist() for one in factors), strict=True)))
    product = np.ones(rows, np.int64)
    for one in factors:
        product *= one
    return int(product.sum())


def optional_counts(context: Context, plan: Plan) -> OptionalCounts | None:
    """The counts that a plan begins with; None where it does not, or where rows must be asked."""
    if len(plan.sides) != 1 or plan.start:
        return None
    (operators,) = plan.sides
    end = next((k for k, one in enumerate(operators) if not isinstance(one, Match)), 0)
    matches = [one for one in operators[:end] if isinstance(one, Match)]
    last = operators[end] if end < len(operators) else None
    if len(matches) < 2 or not isinstance(last, Aggregate) or last.keys or last.rest:
        return None
    if matches[0].optional or not all(one.optional for one in matches[1:]):
        return None
    patterns = [context.pattern(one) for one in matches]
    if not all(_simple(context, one) for one in patterns):
        return None
    roots = _roots(patterns)
    of = None if roots is None else _counted(patterns, last)
    graphs = [_graph(context, one) for one in patterns] if of is not None else []
    if roots is None or of is None or not all(graphs):
        return None
    return _planned(context, plan, end, [one for one in graphs if one], (patterns, roots, of, last))


def _planned(
    context: Context,
    plan: Plan,
    end: int,
    graphs: Sequence[QueryGraph],
    read: tuple[Sequence[Pattern], Sequence[str], Sequence[int | None], Aggregate],
) -> OptionalCounts:
    """Plans of the patterns. read : them, the nodes that they hang on, what is counted, and its operator."""
    from gdb.planner import plan as make_plan

    patterns, roots, of, last = read
    snapshot = context.graph.snapshot
    places = [[*one.components()[0].vertices] for one in patterns]
    names = tuple(call.name for call in last.calls)
    own = tuple(places[0].index(root) for root in roots)
    rest = replace(plan, sides=(plan.sides[0][end + 1 :],), start=names)
    return OptionalCounts(
        plan,
        rest,
        tally(graphs[0], snapshot, own[0])
        if len(set(own)) == 1
        else make_plan(graphs[0], snapshot, counting=False),
        own,
        tuple(
            tally(graph, snapshot, vertices.index(root))
            for graph, vertices, root in zip(graphs[1:], places[1:], roots, strict=True)
        ),
        names,
        tuple(of),
    )


def _simple(context: Context, pattern: Pattern) -> bool:
    """Whether a pattern is one component of relationships, of names that the store knows."""
    mode, snapshot = pattern.mode, context.graph.snapshot
    if mode.nodes_differ or mode.distinct or mode.induced:
        return False
    if pattern.variants or pattern.long or pattern.routes or len(pattern.components()) != 1:
        return False
    terms = [term for vertex in pattern.vertices.values() for term in vertex.labels]
    types = {type_ for edge in pattern.edges.values() for type_ in edge.types}
    known = {type_.name for type_ in snapshot.edge_types}
    parts = [part for one in pattern.conditions for part in walk(one.expression)]
    if any(isinstance(part, HasLabels) for part in parts):
        return False
    return types <= known and {label.text for term in terms for label in term} <= {*snapshot.labels}


def _roots(patterns: Sequence[Pattern]) -> list[str] | None:
    """The node of the first pattern on which each other one hangs; None where one hangs on more, or on another one."""
    first = patterns[0]
    before = {*first.names}
    found: list[str] = []
    for one in patterns[1:]:
        shared = before & {*one.names}
        if len(shared) != 1 or not shared <= first.vertices.keys() & one.vertices.keys():
            return None
        found += shared
        before |= {*one.names}
    return found


def _counted(patterns: Sequence[Pattern], last: Aggregate) -> list[int | None] | None:
    """Whose elements each count counts; None where one is not of rows or elements."""
    found: list[int | None] = []
    for gathered in last.calls:
        call = gathered.call
        if not is_count(call) or call.distinct:
            return None
        if call.star:
            found.append(None)
            continue
        argument = call.arguments[0] if len(call.arguments) == 1 else None
        owners = [
            k
            for k, one in enumerate(patterns)
            if isinstance(argument, Variable) and argument.name in one.names
        ]
        if not owners:
            return None
        found.append(owners[0] - 1 if owners[0] else None)
    return found


def _graph(context: Context, pattern: Pattern) -> QueryGraph | None:
    """The query graph of a pattern; None where a condition is not in it."""
    (component,) = pattern.components()
    names, conditions = {*component.vertices, *component.edges}, pattern.conditions
    kinds = (PatternTest, PatternComprehension, Subquery)
    for one in conditions:
        asks = any(isinstance(part, kinds) for part in walk(one.expression))
        if not one.names <= names or (asks and not is_edge_test(one.expression)):
            return None
    if len(pushable(context, pattern, component, conditions)) != len(conditions):
        return None
    graph, left = question(context, pattern, component, conditions, {}, {})
    return None if left else graph

"""From a checked query to operators, and the passes over these.

Any pass may be left out, and the answer stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from gdb.language.clauses import Match, Query
from gdb.language.procedure_signatures import Procedure
from gdb.logical.build import built
from gdb.logical.drop_projects import drop_projects
from gdb.logical.early_limit import early_limit
from gdb.logical.operators import Apply, Names, Operator, Operators, Plan
from gdb.logical.prune_columns import count_rows, prune_columns
from gdb.logical.rewrites import REWRITES, improved
from gdb.logical.verify import verify
from gdb.query_graph import MatchMode
from gdb.records import replace

PASSES: tuple[Callable[[Operators, Names], Operators], ...] = (
    count_rows,
    early_limit,
    prune_columns,
    drop_projects,
)
"""In the order in which they run. They take the operators, and the names of the answer's columns."""
NAMES = (*(function.__name__ for function in (*REWRITES, *PASSES)), "distinct_matches")
"""The names of rewrites and passes."""


def planned(
    query: Query,
    procedures: Mapping[str, Procedure],
    mode: MatchMode,
    start: Names = (),
    switched_off: Set[str] = frozenset(),
    *,
    once: bool = False,
) -> Plan:
    """The operators of a query after all rewrites and passes but those named in `switched_off`.

    query : `language.checks.check` found nothing wrong with it. procedures : what CALL finds. mode : of a MATCH that
    names none. start : the names of the rows that it begins with. once : whether of equal rows one is enough, as in
        EXISTS { }.
    """
    plan = built(improved(query, mode, switched_off), procedures, start)
    return _passed(plan, switched_off, once=once)


def _passed(plan: Plan, switched_off: Set[str], *, once: bool = False) -> Plan:
    names = plan.names if plan.returns else ()
    once = once or (len(plan.sides) > 1 and not any(plan.all))
    sides = []
    for side in plan.sides:
        operators = tuple(_inside(operator, switched_off) for operator in side)
        verify(operators, plan.start, names)
        for function in PASSES:
            if function.__name__ not in switched_off:
                made = function(operators, names)
                if made is not operators:  # those that are as they were have been verified
                    verify(made, plan.start, names)
                operators = made
        if "distinct_matches" not in switched_off and any(map(_walks, operators)):
            from gdb.logical.distinct_matches import distinct_matches  # here: few patterns walk

            operators = distinct_matches(operators, names, once)
        sides.append(operators)
    return replace(plan, sides=tuple(sides))


def _inside(operator: Operator, switched_off: Set[str]) -> Operator:
    if isinstance(operator, Apply):
        return replace(operator, plan=_passed(operator.plan, switched_off))
    return operator


def _walks(operator: Operator) -> bool:
    """Whether an operator matches a pattern with a relationship of variable length."""
    return isinstance(operator, Match) and any(
        one.length is not None for path in operator.patterns for one in path.relationships
    )

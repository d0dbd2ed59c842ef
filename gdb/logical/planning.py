"""From a checked query to operators, and the passes over these.

Any pass may be left out, and the answer stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from gdb.language.clauses import Query
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
NAMES = tuple(function.__name__ for function in (*REWRITES, *PASSES))
"""The names of rewrites and passes."""


def planned(
    query: Query,
    procedures: Mapping[str, Procedure],
    mode: MatchMode,
    start: Names = (),
    switched_off: Set[str] = frozenset(),
) -> Plan:
    """The operators of a query after all rewrites and passes but those named in `switched_off`.

    query : `language.checks.check` found nothing wrong with it. procedures : what CALL finds. mode : of a MATCH that
    names none. start : the names of the rows that it begins with.
    """
    plan = built(improved(query, mode, switched_off), procedures, start)
    return _passed(plan, switched_off)


def _passed(plan: Plan, switched_off: Set[str]) -> Plan:
    names = plan.names if plan.returns else ()
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
        sides.append(operators)
    return replace(plan, sides=tuple(sides))


def _inside(operator: Operator, switched_off: Set[str]) -> Operator:
    if isinstance(operator, Apply):
        return replace(operator, plan=_passed(operator.plan, switched_off))
    return operator

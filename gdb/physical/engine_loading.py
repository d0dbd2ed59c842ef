"""The cost of loading the relational engine, against that of rows in Python.

The first SELECT of a process loads sqlglot and DuckDB, which takes as long as Python takes for tens of thousands of
rows. So a query that is expected to have few rows runs over rows while they are not loaded. A process spends on that
what loading would have cost, and no more: then it loads them, so that it never waits for more than twice the better of
both ways (Karp, "On-line algorithms versus off-line algorithms", 1992: ski rental).
"""

from __future__ import annotations

import sys
from collections.abc import Set
from itertools import takewhile
from typing import TYPE_CHECKING

from gdb.language.clauses import Match
from gdb.language.syntax import Call, Expression, Property, Subquery, Variable, children, walk
from gdb.logical.operators import (
    Aggregate,
    Distinct,
    Filter,
    Limit,
    Operators,
    Project,
    Sort,
    expressions_of,
    names_after,
)
from gdb.physical.rows.bound import Bound

if TYPE_CHECKING:
    from gdb.logical.operators import Names, Plan
    from gdb.physical.rows.run_context import RowContext
    from gdb.query_graph import QueryGraph
    from gdb.storage.graph.snapshot import Snapshot

SECONDS = {"sqlglot.expressions": 0.075, "duckdb": 0.070}
"""Of the processor, for each module with what is loaded after it and its first use (13 processes, Xeon 2.5 GHz)."""
FOUND, TAKEN = 2.2e-6, 1.2e-6
"""Seconds for each embedding that becomes a row, and for each row that goes into an operator (nine queries of 2,000 to
50,000 rows, same machine)."""
LARGEST = 8
"""Query vertices of a pattern that is planned quickly; larger ones are planned by samples."""
_ROW_BY_ROW = (Project, Filter, Aggregate, Distinct, Sort, Limit)
_VALUES = frozenset({"count", "id", "labels", "type"})


class _Account:
    """Seconds that this process spent on rows for want of the engine."""

    spent = 0.0


def left() -> float:
    """Seconds that loading what is missing of the engine takes, less those that the process has spent on rows."""
    missing = sum(seconds for module, seconds in SECONDS.items() if module not in sys.modules)
    return max(missing - _Account.spent, 0.0) if missing else 0.0


def spend(seconds: float) -> None:
    """Note the seconds of a query that ran over rows for want of the engine: all of them, as each run understands the
    text anew."""
    _Account.spent += seconds


def bound_of(
    graph: QueryGraph, snapshot: Snapshot, elements: Names, behind: Operators, names: Names
) -> Bound | None:
    """How many rows a query may have that runs over rows for want of the engine; None where it should load the engine.

    graph : its pattern. elements : the names in it. behind : the operators behind it. names : of the answer.
    """
    seconds = left()
    if not seconds or len(graph.vertices) > LARGEST or _gives_elements(elements, behind, names):
        return None
    from gdb.physical.pattern_plans import embeddings
    from gdb.planner import plan

    found = embeddings(plan(graph, snapshot, counting=False))
    if found is None or not all(map(_simple, behind)):
        return None
    # rows go into all operators up to the first Aggregate, behind which there are fewer
    many = sum(1 for _ in takewhile(lambda one: not isinstance(one, Aggregate), behind)) + 1
    return _bound(found, found * min(many, len(behind)), seconds)


def bound_of_plan(context: RowContext, plan: Plan) -> Bound | None:
    """As `bound_of`, for a plan of any number of MATCHes."""
    seconds = left()
    if not seconds or len(plan.sides) > 1 or plan.start:
        return None
    from gdb.physical.pattern_plans import expected_rows, of_clause

    rows, found, taken, names = 1.0, 0.0, 0.0, plan.start
    elements: list[str] = []
    for operator in plan.sides[0]:
        taken += rows
        if isinstance(operator, Match):
            pattern = context.pattern(operator)
            if len(pattern.vertices) > LARGEST:
                return None
            expected = expected_rows(pattern, of_clause(context, operator, names))
            if expected is None:
                return None
            rows *= max(expected, 1.0) if operator.optional else expected
            found += rows
            elements += pattern.names
        elif not _simple(operator):
            return None
        names = names_after(operator, names)
    if _gives_elements(tuple(elements), plan.sides[0], plan.names):
        return None
    return _bound(found, taken, seconds)


def _bound(found: float, taken: float, seconds: float) -> Bound | None:
    """The bound where so many rows are found, and go into operators, in less than some seconds."""
    needed = found * FOUND + taken * TAKEN
    if needed > seconds:
        return None
    # as many more of both as fill the time
    more = seconds / max(needed, FOUND)
    return Bound(int(taken * more) + 1, int(found * more) + 1, found)


def _simple(operator: object) -> bool:
    """Whether an operator makes at most one row of each, and runs nothing else for it."""
    if not isinstance(operator, _ROW_BY_ROW):
        return False
    every = (part for one in expressions_of(operator) for part in walk(one))
    return not any(isinstance(part, Subquery) for part in every)


def _gives_elements(elements: Names, behind: Operators, names: Names) -> bool:
    """Whether a node or relationship of the pattern is in the answer: over columns and over rows Arrow has these with
    other properties."""
    pattern, found = frozenset(elements), {*elements}
    for operator in behind:
        match operator:
            case Project(columns=columns):
                found = {one.name for one in columns if _gives(one.expression, found, pattern)}
            case Aggregate(keys=keys, calls=calls, rest=rest):
                given = {one.name for one in keys if _gives(one.expression, found, pattern)}
                given |= {one.name for one in calls if _gives(one.call, found, pattern)}
                found = given | (found & {*rest})
    return not found.isdisjoint(names)


def _gives(expression: Expression, elements: Set[str], pattern: Set[str]) -> bool:
    """Whether the value of an expression may be, or hold, an element."""
    match expression:
        case Variable(name=name):
            return name in elements
        case Property(subject=Variable(name=name)) if name in pattern:
            return False
        case Call(function=function) if function.text.lower() in _VALUES:
            return False
        case Subquery():
            return True
    return any(_gives(part, elements, pattern) for part in children(expression))

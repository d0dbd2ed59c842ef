"""Counts of the paths of one relationship of variable length, or of the distinct nodes at an end of them, without rows.

What columns would make a table of, and count there (`gdb.physical.columns.paths`), is a number here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.errors import NotSupported, QueryError
from gdb.executor.walk import steps
from gdb.language.aggregation import is_count
from gdb.language.syntax import Variable
from gdb.physical.rows.component import admitted_edges, candidates
from gdb.physical.rows.path_questions import conditions_of
from gdb.physical.walk_ends import Walks
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.language.clauses import Match
    from gdb.logical.operators import Gathered
    from gdb.physical.rows.pattern import Pattern, RowEdge
    from gdb.physical.rows.run_context import RowContext
    from gdb.storage.columns.model import I64


@dataclass(frozen=True, slots=True, eq=False)
class WalkCount:
    """What is counted of the paths between some vertices of one snapshot.

    left, right : vids of the ends, ascending, None for all. ends : whether the distinct ones that `walks` wants are
    counted, and not the paths.
    """

    walks: Walks
    left: I64 | None
    right: I64 | None
    ends: bool

    @property
    def how(self) -> str:
        """What is counted."""
        return "only where paths end" if self.ends else "paths are counted, not listed"

    def number(self, context: RowContext) -> int:
        """The count. Raises as `Walks.between`."""
        walks = replace(self.walks, conditions=conditions_of(context))
        found = walks.between(self.left, self.right)
        if self.ends:
            return found.rows
        assert found.numbers is not None
        return sum(found.numbers.tolist())


def walk_counts(
    context: RowContext, clause: Match, calls: Sequence[Gathered]
) -> tuple[WalkCount, ...] | None:
    """What some aggregates count of a MATCH; None where it is not the paths of one relationship of variable length, or
    where more than that decides."""
    pattern = context.pattern(clause)
    if pattern.variants or pattern.edges.keys() - {edge.name for edge in pattern.long}:
        return None
    if len(pattern.long) != 1 or len(pattern.vertices) != 2 or clause.optional:
        return None
    (edge,), mode = pattern.long, pattern.mode
    if edge.selector is not None or mode.nodes_differ or mode.distinct or mode.induced:
        return None
    if any(len(c.names) != 1 or not c.names <= {*edge.ends} for c in pattern.conditions):
        return None
    names = {edge.name, *(route.name for route in pattern.routes)}
    sides = [_side(one, edge, names) for one in calls]
    ends = [side for side in sides if side is not None]
    if len(ends) < len(sides):
        return None
    try:
        first, last = (_end(context, pattern, name) for name in edge.ends)
        allowed, left = admitted_edges(context, pattern, edge)
    except (QueryError, NotSupported):  # rows say what is wrong, if anything is
        return None
    if left:
        return None
    snapshot = context.graph.snapshot
    over = steps(snapshot, edge.types, edge.direction, allowed)
    walks = Walks(snapshot, conditions_of(context), edge, over, False, False)
    return tuple(
        WalkCount(
            replace(
                walks, wants_left=end == edge.left, wants_right=end == edge.right, once=end != ""
            ),
            *(first, last, end != ""),
        )
        for end in ends
    )


def _side(gathered: Gathered, edge: RowEdge, names: set[str]) -> str | None:
    """The end of a relationship whose distinct nodes an aggregate counts, "" where it counts the paths; None where it
    does neither."""
    call = gathered.call
    if not is_count(call) or len(call.arguments) > 1:
        return None
    named = [one.name for one in call.arguments if isinstance(one, Variable)]
    if len(named) < len(call.arguments):
        return None
    if call.distinct:
        return named[0] if named and named[0] in edge.ends else None
    return "" if {*named} <= {*names, *edge.ends} else None


def _end(context: RowContext, pattern: Pattern, name: str) -> I64 | None:
    """The vids at an end of paths. Raises QueryError, NotSupported: a condition is not for candidates."""
    return candidates(context, pattern, name, [c for c in pattern.conditions if name in c.names])

"""The warning of a path whose length has no bound, where only its ends are searched.

The check of a text gives it for every such path. Which of them are not listed follows from the operators of the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdb.errors import NotSupported
from gdb.language.checks.pattern_checks import UNBOUNDED
from gdb.language.clauses import Match
from gdb.language.report import located_message
from gdb.language.syntax import Expression, Place, Subquery, walk
from gdb.logical.operators import Apply, every_expression, follow
from gdb.logical.planning import planned
from gdb.physical.rows.pattern import pattern_of_match

if TYPE_CHECKING:
    from gdb.language.clauses import Query
    from gdb.language.procedure_signatures import Procedure
    from gdb.logical.operators import Plan
    from gdb.physical.rows.pattern import RowEdge
    from gdb.query_graph import MatchMode


def without_searched(
    warnings: tuple[str, ...], query: Query, procedures: Mapping[str, Procedure], mode: MatchMode
) -> tuple[str, ...]:
    """The warnings of a query without those of paths that are only searched for their ends: these need no bound.
    procedures, mode : see `gdb.logical.planning.planned`."""
    paths = _UnboundedPaths(procedures, mode)
    paths.look_into(planned(query, procedures, mode))
    searched = {located_message(query.text, p, UNBOUNDED) for p in paths.searched - paths.listed}
    return tuple(warning for warning in warnings if warning not in searched)


class _UnboundedPaths:
    """The places of the paths without a bound in a plan: those only searched for their ends, and those listed."""

    def __init__(self, procedures: Mapping[str, Procedure], mode: MatchMode) -> None:
        self.procedures, self.mode = procedures, mode
        self.searched: set[Place] = set()
        self.listed: set[Place] = set()

    def look_into(self, plan: Plan) -> None:
        """Add those of a plan."""
        for side in plan.sides:
            names = dict.fromkeys(plan.start)
            for operator in side:
                if isinstance(operator, Match):
                    for edge in self._edges(plan.text, operator):
                        self._add(edge)
                elif isinstance(operator, Apply):
                    self.look_into(operator.plan)
                for expression in every_expression(operator):
                    self._look_into_subqueries(expression, tuple(names))
                follow(operator, names)

    def _look_into_subqueries(self, expression: Expression, names: tuple[str, ...]) -> None:
        for part in walk(expression):
            if isinstance(part, Subquery):
                once = part.kind == "EXISTS"
                arguments = part.query, self.procedures, self.mode, names
                self.look_into(planned(*arguments, once=once))

    def _edges(self, text: str, clause: Match) -> list[RowEdge]:
        try:
            pattern = pattern_of_match(text, clause, self.mode)
        except NotSupported:  # which its run reports
            return []
        every = [pattern, *(one.pattern for one in pattern.variants)]
        return [edge for one in every for edge in one.long]

    def _add(self, edge: RowEdge) -> None:
        length = edge.length
        if length is None or length.high is not None or edge.selector is not None:
            return
        # with a lower bound above one, paths are walked for each end
        (self.searched if edge.once and length.low <= 1 else self.listed).add(edge.place)

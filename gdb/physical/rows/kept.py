"""What is known of the operators of a plan whatever the graph and the values of parameters: kept with the plan, so that
a statement that comes again, over another snapshot, makes no pattern anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gdb.logical.operators import Apply, Names, Operator, Plan

if TYPE_CHECKING:
    from gdb.language.clauses import Match, Merge
    from gdb.physical.rows.pattern import Pattern


class KeptPatterns:
    """The patterns of the operators of a plan, and answers about these operators, each made once. Threads may share it:
    what two of them make at once is the same.

    plan : None to keep nothing beyond a run.
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self._plan = plan  # which holds the operators, whose ids are keys
        self._own = frozenset() if plan is None else frozenset(map(id, _operators(plan)))
        self._patterns: dict[int, Pattern] = {}
        self._answers: dict[tuple[int, Names], bool] = {}

    def pattern(self, clause: Match | Merge, make: Callable[[], Pattern]) -> Pattern:
        """The pattern of an operator."""
        found = self._patterns.get(id(clause))
        if found is None:
            found = make()
            if id(clause) in self._own:
                self._patterns[id(clause)] = found
        return found

    def answer(self, operator: Operator, names: Names, make: Callable[[], bool]) -> bool:
        """An answer about an operator over rows that have some names."""
        key = id(operator), names
        found = self._answers.get(key)
        if found is None:
            found = make()
            if id(operator) in self._own:
                self._answers[key] = found
        return found


def _operators(plan: Plan) -> Iterator[Operator]:
    for operators in plan.sides:
        for operator in operators:
            yield operator
            if isinstance(operator, Apply):
                yield from _operators(operator.plan)

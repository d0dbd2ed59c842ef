"""Facts about the operators of a plan that do not depend on the graph or the values of parameters: kept with the plan,
so that a statement that runs again, over another snapshot, builds no pattern anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gdb.language.clauses import WRITING
from gdb.logical.needed_properties import Demand, demands
from gdb.logical.operators import Apply, Names, Operator, Operators, Plan, behind, names_after
from gdb.physical.rows.limiting import stops
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.language.clauses import Match, Merge
    from gdb.language.syntax import Expression
    from gdb.physical.rows.pattern import Pattern


MOST_FAILED = 6
"""Failures one after the other that count (`Tries`)."""
MOST_UNUSED = 8
"""Names that nothing behind uses and rows carry all the same: a row of fewer names is another dict."""


@dataclass(frozen=True, slots=True)
class Step:
    """An operator in its place. names : that its rows have. last : the place of the LIMIT that rows from here on fill
    (`gdb.physical.rows.limiting`). after : what follows it. kept : the names that its rows go on with, where there are
    many others; None for all."""

    operator: Operator
    names: Names
    last: int | None
    after: Operator | None
    kept: Names | None


class Tries:
    """Whether to try a way that fails at many rows: after each further failure tries are left out for about twice as
    many runs, at most 62."""

    __slots__ = ("_failed", "_left_out")

    def __init__(self) -> None:
        self._failed = self._left_out = 0

    def worth(self) -> bool:
        """Whether to try it now."""
        if self._left_out:
            self._left_out -= 1
            return False
        return True

    def note(self, *, failed: bool) -> None:
        """After a try."""
        self._failed = min(self._failed + 1, MOST_FAILED) if failed else 0
        self._left_out = (1 << self._failed) - 2 if failed else 0


class KeptPatterns:
    """The patterns of the operators of a plan, and answers about these operators, each made once. Threads may share it:
    what two of them make at once is the same.

    plan : None to keep nothing beyond a run. few : tries to run it over few rows.
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self._plan = plan  # which holds the operators, whose ids are keys
        every = [] if plan is None else [*_sides(plan)]
        self._own = frozenset(id(one) for operators in every for one in (operators, *operators))
        self._patterns: dict[int, Pattern] = {}
        self._steps: dict[tuple[int, Names], Sequence[Step]] = {}
        self._begun: tuple[Sequence[Expression] | None] | None = None
        self.few = Tries()

    def pattern(self, clause: Match | Merge, make: Callable[[], Pattern]) -> Pattern:
        """The pattern of an operator."""
        found = self._patterns.get(id(clause))
        if found is None:
            found = make()
            if id(clause) in self._own:
                self._patterns[id(clause)] = found
        return found

    def steps(self, operators: Operators, names: Names) -> Sequence[Step]:
        """Operators, each with the names of its rows. names : of the rows before the first."""
        key = id(operators), names
        found = self._steps.get(key)
        if found is None:
            found = _steps(operators, names)
            if id(operators) in self._own:
                self._steps[key] = found
        return found

    def begun(
        self, plan: Plan, find: Callable[[], Sequence[Expression] | None]
    ) -> Sequence[Expression] | None:
        """The lists that have to be short where the plan is to begin with few rows; None where it never does
        (`gdb.physical.rows.anchored`)."""
        if plan is not self._plan:
            return find()
        if self._begun is None:
            self._begun = (find(),)
        return self._begun[0]


def _steps(operators: Operators, names: Names) -> Sequence[Step]:
    found = []
    used: list[Demand] | None = None
    # the place of the last LIMIT that rows from an earlier operator on fill: they run as one
    filled = -1
    begin = names
    for place, (operator, last) in enumerate(zip(operators, stops(operators), strict=True)):
        names, kept = names_after(operator, names), None
        after = operators[place + 1] if place + 1 < len(operators) else None
        filled = max(filled, -1 if last is None else last)
        if len(names) > MOST_UNUSED and place > filled and after is not None:
            used = _used(operators, begin) if used is None else used
            live = tuple(name for name in names if name in used[place].live)
            kept = live if len(names) - len(live) > MOST_UNUSED else None
        found.append(Step(operator, names, last, after, kept))
        names = names if kept is None else kept
    return found


def _used(operators: Operators, names: Names) -> list[Demand]:
    """For each operator what is used of its rows. Those of the last one are the answer, unless it writes."""
    last = () if isinstance(operators[-1], WRITING) else behind(operators, names)
    return demands(operators, last, names)


def _sides(plan: Plan) -> Iterator[Operators]:
    """The operators of all sides of a plan, and of the plans in it."""
    for operators in plan.sides:
        yield operators
        for operator in operators:
            if isinstance(operator, Apply):
                yield from _sides(operator.plan)

"""Plans that are one pattern and its tail (`gdb.physical.tail`): some MATCH, and operators behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, takewhile
from typing import TYPE_CHECKING

from gdb.language.aggregation import is_count
from gdb.language.clauses import Match, hoist_conditions
from gdb.language.syntax import Call, Expression
from gdb.logical.operators import (
    Aggregate,
    Apply,
    Filter,
    Names,
    Operator,
    Operators,
    Plan,
    expressions_of,
)
from gdb.physical import tail
from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.logical.needed_properties import Demand


@dataclass(frozen=True, slots=True, eq=False)
class OnePattern:
    """A plan that is one pattern and its tail.

    text : of the query. matches : one or several MATCH, none optional. conditions : those of a WITH on the rows
        that it only passes on. behind : the operators behind. names : of the answer. operators : all of the plan.
    optional : OPTIONAL MATCHes after the others, where only the number of rows is needed.
    demand : what is used of the embeddings.
    """

    text: str
    matches: tuple[Match, ...]
    conditions: tuple[Expression, ...]
    behind: Operators
    names: Names
    operators: Operators = ()
    optional: tuple[Match, ...] = ()
    demand: Demand = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "demand", tail.demand_of(self.behind, self.names))

    @property
    def refused_by_text(self) -> bool:
        """Whether it does not compile, whatever the graph."""
        from gdb.language.refusals import refused_by_text  # here: most compile

        behind = [one for operator in self.behind for one in expressions_of(operator)]
        every = (*self.conditions, *behind)
        return refused_by_text(self.text, (*self.matches, *self.optional), every)

    @property
    def first(self) -> Operators:
        """The operators that are the pattern."""
        return self.operators[: len(self.operators) - len(self.behind)]


def one_pattern(plan: Plan) -> OnePattern | None:
    """The plan as one pattern and its tail; None where it is none."""
    if len(plan.sides) > 1 or not plan.returns or plan.start:
        return None
    return of_operators(plan.text, plan.sides[0], plan.names)


def why_none(plan: Plan) -> str:
    """Why a plan is not one pattern and its tail."""
    every = tuple(_operators(plan.sides))
    if not any(isinstance(one, Match) for one in every):
        return "it has no MATCH"
    (first, *_) = plan.sides
    behind = tuple(dropwhile(lambda one: isinstance(one, Match) and not one.optional, first))
    apart = any(isinstance(one, Match) for one in _operators([behind]))
    if len(plan.sides) > 1 or (apart and len(behind) < len(first)):
        return "it is more than one pattern and what is made of its rows"
    if apart:
        return "it does not begin with its pattern"
    return "it is one pattern, and more than a result is made of its rows"


def _operators(sides: Iterable[Operators]) -> Iterator[Operator]:
    """All operators of a plan, also those of its subqueries."""
    for operator in chain.from_iterable(sides):
        yield operator
        if isinstance(operator, Apply):
            yield from _operators(operator.plan.sides)


def of_operators(text: str, operators: Operators, names: Names) -> OnePattern | None:
    """As `one_pattern`, of the operators of a plan. names : of the answer."""
    first = takewhile(lambda one: isinstance(one, Match), operators)
    every = tuple(hoist_conditions(one) for one in first if isinstance(one, Match))
    matches = tuple(takewhile(lambda one: not one.optional, every))
    optional = every[len(matches) :]
    rest = operators[len(every) :]
    filters = tuple(takewhile(lambda one: isinstance(one, Filter), rest))
    behind = rest[len(filters) :]
    covered = all(isinstance(one, tail.COVERED) for one in behind)
    if not matches or not behind or not covered:
        return None
    if optional and (filters or counted_alone(behind) is None):
        return None
    if not all(one.optional for one in optional):
        return None
    conditions = tuple(one.condition for one in filters if isinstance(one, Filter))
    return OnePattern(text, matches, conditions, behind, names, operators, optional)


def counted_alone(operators: Operators) -> Call | None:
    """The count that some operators begin with, where they gather nothing else, and no keys."""
    match operators[0]:
        case Aggregate(keys=(), calls=(gathered,), rest=()) if is_count(gathered.call):
            return None if gathered.call.distinct else gathered.call
        case _:
            return None

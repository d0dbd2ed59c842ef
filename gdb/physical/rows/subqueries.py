"""Patterns inside expressions, for all rows at once.

Row by row each pattern predicate, pattern comprehension and EXISTS { } would be planned and run again. So before some
expressions are evaluated over rows, every such part that depends on the row alone is matched for all of them, and its
values are in the rows under hidden names. Where that raises an error for some row, only the rows that need the value
are answered: those for which a CASE, AND, OR or coalesce() around it comes to it. What depends on the variable of a
comprehension around it, and what is more than one MATCH, is evaluated row by row
(`gdb.physical.evaluator.Subqueries`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gdb.base.values.sizes import Growing
from gdb.errors import LimitExceeded, QueryError
from gdb.language.clauses import Match
from gdb.language.hidden_names import HIDDEN
from gdb.language.mentioned_names import asks
from gdb.language.syntax import (
    Expression,
    ListComprehension,
    PatternComprehension,
    PatternTest,
    Quantified,
    Reduce,
    Subquery,
    rebuilt,
)
from gdb.logical.merge_matches import one_pattern
from gdb.physical.evaluator.context import Answered
from gdb.physical.rows.pattern import Pattern, pattern_of, pattern_of_match
from gdb.physical.rows.visible_names import visible
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext

SubqueryExpression = PatternTest | PatternComprehension | Subquery


@dataclass(frozen=True, slots=True)
class _Question:
    """A part of an expression that is answered for all rows, and the name that its values get."""

    part: SubqueryExpression
    name: str
    pattern: Pattern


class _Unanswered(Exception):
    """An expression came to a question that is not answered for its row."""

    def __init__(self, question: _Question) -> None:
        super().__init__(question.name)
        self.question = question


class Prepared:
    """Expressions in which patterns have become hidden variables; `fill` gives rows their values.

    tests : whether the expressions are conditions; those after the first one that is not true are not
        evaluated for a row.
    """

    def __init__(
        self, context: RowContext, expressions: Sequence[Expression], *, tests: bool = False
    ) -> None:
        self.context, self.tests = context, tests
        self._probing = False
        self.questions: list[_Question] = []
        self.expressions = [
            expression if not asks(expression) else rebuilt(expression, self._replaced)
            for expression in expressions
        ]

    def _replaced(self, part: Expression) -> Expression | None:
        match part:
            case PatternTest() | PatternComprehension() | Subquery():
                return self._lift(part)
            case ListComprehension() | Quantified() | Reduce():
                return part  # its parts may depend on its variable
        return None

    def _lift(self, part: SubqueryExpression) -> Expression:
        pattern = pattern_of_subquery(self.context, part)
        if pattern is None:
            return part
        question = _Question(part, f"{HIDDEN}q{self.context.next_number()}", pattern)
        self.questions.append(question)
        return Answered(question.name, part.place, partial(self._missing, question))

    def fill(self, rows: Sequence[Row]) -> None:
        """Answer the patterns of the expressions, for rows that have the same names.

        Raises
        ------
        QueryError, LimitExceeded : for a row that needs the answer.
        """
        if not rows or not self.questions:
            return
        failed = False
        for question in self.questions:
            level = self.context.allowance.made
            try:
                self._answer(question, rows)
            except (QueryError, LimitExceeded):
                self.context.allowance.made = level
                failed = True
        while failed:
            needed = self._needed(rows)
            for question, some in needed:
                self._answer(question, some)
            failed = bool(needed)

    def _answer(self, question: _Question, rows: Sequence[Row]) -> None:
        # here: a circle: a subquery in an expression has MATCH
        from gdb.physical.rows.pattern_answers import numbers

        # anonymous parts are not those of a pattern around it
        seen = [visible(row) for row in rows]
        if not isinstance(question.part, PatternComprehension):
            exact = isinstance(question.part, Subquery) and question.part.kind == "COUNT"
            answers = numbers(self.context, question.pattern, seen, exact=exact)
            if answers is not None:
                for row, many in zip(rows, answers.tolist(), strict=True):
                    row[question.name] = many if exact else many > 0
                return
        found = self.context.extensions(self.context, question.pattern, seen, seen[0])
        values = _values(self.context, question.part, found, len(rows))
        for row, value in zip(rows, values, strict=True):
            row[question.name] = value

    def _needed(self, rows: Sequence[Row]) -> list[tuple[_Question, list[Row]]]:
        """The questions that evaluating the expressions comes to first and that have no answer, with the rows."""
        functions = [self.context.evaluator.compiled(one) for one in self.expressions]
        needed: dict[str, tuple[_Question, list[Row]]] = {}
        self._probing, level = True, self.context.allowance.made
        try:
            for row in rows:
                for function in functions:
                    try:
                        if function(row) is not True and self.tests:
                            break
                    except _Unanswered as found:
                        needed.setdefault(found.question.name, (found.question, []))[1].append(row)
                        break
                    except (QueryError, LimitExceeded):
                        break  # which evaluating the row will raise
                self.context.allowance.made = level
                self.context.allowance.tick()
        finally:
            self._probing = False
        return [*needed.values()]

    def _missing(self, question: _Question, row: Row) -> Value:
        """The answer for one row, where it was not expected to need it: a guard is of random values."""
        if self._probing:
            raise _Unanswered(question)
        return self.context.evaluator.kept(question.part)(row)


def compile_expressions(
    context: RowContext, expressions: Sequence[Expression]
) -> tuple[Prepared, list[Callable[[Row], Value]]]:
    """The functions of some expressions, to be called on rows that were filled."""
    prepared = Prepared(context, expressions)
    return prepared, [context.evaluator.compiled(one) for one in prepared.expressions]


def pattern_of_subquery(context: RowContext, part: SubqueryExpression) -> Pattern | None:
    """The pattern of a part; None where it is more than a pattern."""
    if isinstance(part, Subquery):
        (first, *rest) = one_pattern(part.query.parts[0], context.mode)
        if rest or len(part.query.parts) > 1 or not isinstance(first, Match) or first.optional:
            return None
        if part.kind == "EXISTS":
            first = replace(first, needed=frozenset())
        return pattern_of_match(context.text, first, context.mode)
    if isinstance(part, PatternTest):
        return pattern_of(context.text, [part.pattern], None, context.mode, frozenset())
    return pattern_of(context.text, [part.pattern], part.where, context.mode)


def _values(
    context: RowContext,
    part: SubqueryExpression,
    found: Iterator[list[tuple[int, Row]]],
    count: int,
) -> list[Value]:
    if isinstance(part, PatternComprehension):
        return [*_lists(context, part, found, count)]
    if isinstance(part, Subquery) and part.kind == "COUNT":
        numbers = [0] * count
        for some in found:
            for number, _ in some:
                numbers[number] += 1
        return [*numbers]
    there = {number for some in found for number, _ in some}
    return [number in there for number in range(count)]


def _lists(
    context: RowContext,
    part: PatternComprehension,
    found: Iterator[list[tuple[int, Row]]],
    count: int,
) -> list[list[Value]]:
    """What a pattern comprehension is for each row."""
    prepared, (result,) = compile_expressions(context, [part.result])
    lists: list[list[Value]] = [[] for _ in range(count)]
    growing = Growing(context.allowance, "a pattern comprehension")
    for some in found:
        prepared.fill([row for _, row in some])
        for number, row in some:
            lists[number].append(result(row))
            growing.turn(lists)
    return lists

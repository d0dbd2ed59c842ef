"""Operators compiled for few rows: what each makes of all of them, without batches.

They mean what they mean in `gdb.physical.rows.row_projection`; but nothing is accounted for row by row. Names of rows
may be those of elements of a pattern, whose values are then numbers, for an evaluator that can read these (`row_tail`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias, cast

from gdb.base.values.comparison import group_key
from gdb.base.values.problems import ValueProblem
from gdb.language import syntax
from gdb.language.aggregation import is_count
from gdb.language.mentioned_names import asks
from gdb.language.report import row_count
from gdb.language.syntax import Call, ElementReference, Expression, Variable, walk
from gdb.logical.operators import (
    Aggregate,
    Column,
    Distinct,
    Filter,
    Limit,
    Operator,
    Project,
    Sort,
)
from gdb.physical.rows.row_projection import gathering, ordered

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.evaluator import Compiled, Evaluator

LOOPS = (syntax.ListComprehension, syntax.Quantified, syntax.Reduce)
_OWN_KEYS = (int, str)  # whose values are their own keys
Elements: TypeAlias = "dict[str, ElementReference]"
"""The names of rows that are elements of a pattern."""
Step: TypeAlias = "Callable[[list[Row]], list[Row]]"
_Group: TypeAlias = "tuple[tuple[Value, ...], list[Row]]"
"""The values of the keys in its first row, and its rows."""


class Unsuited(Exception):
    """An operator is of another kind, or needs more of an element than its number gives."""


class RowSteps:
    """Compiles operators, one after the other. elements : of the rows before the next one."""

    def __init__(self, evaluator: Evaluator, text: str) -> None:
        self._evaluator, self._text = evaluator, text
        self.elements: Elements = {}

    def step(self, operator: Operator) -> Step:
        """What an operator makes of rows. Raises Unsuited."""
        step, self.elements = self._step(operator, self.elements)
        return step

    def satisfying(self, condition: Expression) -> Step:
        """The rows for which a condition is true. Raises Unsuited."""
        self.check(condition)
        test = self._evaluator.condition(condition)
        return lambda rows: [row for row in rows if test(row) is True]

    def _step(self, operator: Operator, elements: Elements) -> tuple[Step, Elements]:
        """What an operator makes of rows, and which names are elements behind it."""
        match operator:
            case Project(columns=columns):
                return self._project(columns, elements)
            case Filter(condition=condition):
                return self.satisfying(condition), elements
            case Aggregate():
                return self._aggregate(operator, elements)
            case Distinct(names=names):
                return self._distinct(names), elements
            case Sort(keys=keys):
                functions = [self._compiled(item.expression) for item in keys]
                return lambda rows: ordered(keys, functions, rows), elements
            case Limit():
                return self._limit(operator), elements
        raise Unsuited

    def _compiled(self, expression: Expression) -> Compiled:
        self.check(expression)
        return self._evaluator.compiled(expression)

    def check(self, expression: Expression) -> None:
        """Raise Unsuited for an expression that matches patterns, or has an element's name for one of its own."""
        if asks(expression):
            raise Unsuited
        for part in walk(expression):
            if isinstance(part, LOOPS) and part.variable.text in self.elements:
                raise Unsuited

    def _column(self, column: Column, elements: Elements, after: Elements) -> Compiled:
        """The value of a column; `after` gets its name where that is an element."""
        match column.expression:
            case Variable(name=name) if name in elements:
                after[column.name] = elements[name]
                return itemgetter(name)
        return self._compiled(column.expression)

    def _project(self, columns: Sequence[Column], elements: Elements) -> tuple[Step, Elements]:
        after: Elements = {}
        values = [(column.name, self._column(column, elements, after)) for column in columns]
        if len(values) == 1:
            ((only, value_of),) = values
            return lambda rows: [{only: value_of(row)} for row in rows], after
        return lambda rows: [{name: value(row) for name, value in values} for row in rows], after

    def _aggregate(self, operator: Aggregate, elements: Elements) -> tuple[Step, Elements]:
        after: Elements = {name: elements[name] for name in operator.rest if name in elements}
        grouped = _grouped([self._column(key, elements, after) for key in operator.keys])
        names, rest = [key.name for key in operator.keys], operator.rest
        calls = [(one.name, self._gathered(one.call)) for one in operator.calls]

        def step(rows: list[Row]) -> list[Row]:
            made: list[Row] = []
            for values, own in grouped(rows):
                group: Row = {}
                for place, name in enumerate(names):
                    group[name] = values[place]
                for name in rest if own else ():
                    group[name] = own[0][name]
                for name, gathered in calls:
                    group[name] = gathered(own)
                made.append(group)
            return made

        return step, after

    def _gathered(self, call: Call) -> Callable[[list[Row]], Value]:
        """What an aggregate is of the rows of a group."""
        arguments = [self._argument(call, one) for one in call.arguments]
        if (
            is_count(call)
            and not call.distinct
            and (call.star or self._is_there(call.arguments[0]))
        ):
            return len
        located, place = self._evaluator.located, call.place

        def gathered(rows: list[Row]) -> Value:
            state = gathering(call)
            add = state.add
            try:
                if len(arguments) == 1:
                    (value_of,) = arguments
                    for row in rows:
                        add(value_of(row))
                else:
                    for row in rows:
                        add(*[value(row) for value in arguments])
                return state.result()
            except ValueProblem as refused:
                raise located(refused, place) from None

        return gathered

    def _is_element(self, expression: Expression) -> bool:
        return isinstance(expression, Variable) and expression.name in self.elements

    def _is_there(self, expression: Expression) -> bool:
        """Whether it is an element that is never null."""
        return self._is_element(expression)

    def _argument(self, call: Call, expression: Expression) -> Compiled:
        """The argument of an aggregate: of a count an element too."""
        if isinstance(expression, Variable) and is_count(call) and self._is_element(expression):
            return itemgetter(expression.name)
        return self._compiled(expression)

    def _distinct(self, names: Sequence[str]) -> Step:
        grouped = _grouped([itemgetter(name) for name in names])
        return lambda rows: [own[0] for _, own in grouped(rows)]

    def _limit(self, operator: Limit) -> Step:
        skip = self._number(operator.skip, "SKIP")
        limit = self._number(operator.limit, "LIMIT")

        def step(rows: list[Row]) -> list[Row]:
            first, most = (skip() or 0), limit()
            return rows[first:] if most is None else rows[first : first + most]

        return step

    def _number(self, expression: Expression | None, clause: str) -> Callable[[], int | None]:
        """What gives the value of SKIP or LIMIT in a run."""
        if expression is None:
            return lambda: None
        value_of, place = self._compiled(expression), expression.place
        return lambda: row_count(value_of({}), self._text, place, clause)


def _grouped(keys: Sequence[Compiled]) -> Callable[[list[Row]], Iterable[_Group]]:
    """What puts rows whose keys are the same into groups, in the order of their first rows; without keys all of them,
    also where there are none. A key is evaluated once for each row: another time it may be another value."""
    if not keys:
        return lambda rows: (((), rows),)

    def grouped(rows: list[Row]) -> Iterable[_Group]:
        groups: dict[Hashable, _Group] = {}
        for row in rows:
            if len(keys) == 1:
                value = keys[0](row)
                values: tuple[Value, ...] = (value,)
                key = cast("Hashable", value) if type(value) in _OWN_KEYS else group_key(value)
            else:
                values = tuple([value(row) for value in keys])
                key = tuple(map(group_key, values))
            found = groups.get(key)
            if found is None:
                groups[key] = values, [row]
            else:
                found[1].append(row)
        return groups.values()

    return grouped

"""The reference evaluator of expressions: each becomes a function from a row to a value, once for the whole query.

It is the living definition of what an expression means: plain Python, one row at a time, the standard's dynamic types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TypeVar

from gdb.base.allowance import Allowance, here
from gdb.base.values import arithmetic, comparison
from gdb.base.values.graph_functions import entries
from gdb.base.values.kinds import Row, Value
from gdb.base.values.lists import coalesce
from gdb.base.values.membership import ListMembers, is_contained
from gdb.base.values.naming import type_phrase
from gdb.base.values.numbers import integers
from gdb.base.values.problems import ValueProblem
from gdb.errors import InternalError, QueryError
from gdb.functions.library import FUNCTIONS
from gdb.language import syntax
from gdb.language.dynamic_labels import HasNamed
from gdb.language.syntax import Comparator, Expression, Place
from gdb.language.value_types import IsNormalized, IsTyped
from gdb.physical.evaluator import access, logic, loops
from gdb.physical.evaluator.calls import apply_operation, chain_operations, measure_results
from gdb.physical.evaluator.context import Answered, Compiled, Condition, Context, Subqueries
from gdb.physical.evaluator.string_predicates import normal_form_test, tester
from gdb.physical.evaluator.type_tests import is_of

Result = TypeVar("Result")
_PLAIN: frozenset[type] = frozenset(
    {syntax.Literal, syntax.Parameter, syntax.Property, syntax.Variable}
)
"""Expressions that are most often compiled, and are no tests."""


class Evaluator:
    """Expressions of one query.

    Parameters
    ----------
    text : the query's, for errors.
    parameters : the values of $name.
    subqueries : what answers patterns and queries inside expressions.
    allowance : what the query may still take; None for that of this thread's work.
    """

    def __init__(
        self,
        text: str,
        parameters: Mapping[str, Value],
        subqueries: Subqueries | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        self._context = Context(text, parameters, subqueries, allowance or here())
        self._kept: dict[int, tuple[Expression, Compiled]] = {}
        self._kept_conditions: dict[int, tuple[Expression, Condition]] = {}

    def kept(self, expression: Expression) -> Compiled:
        """As `compiled`, once for each expression."""
        found = self._kept.get(id(expression))
        if found is None:
            found = self._kept[id(expression)] = expression, self.compiled(expression)
        return found[1]

    def kept_condition(self, expression: Expression) -> Condition:
        """As `condition`, once for each expression."""
        found = self._kept_conditions.get(id(expression))
        if found is None:
            made = expression, self.condition(expression)
            found = self._kept_conditions[id(expression)] = made
        return found[1]

    def located(self, error: ValueProblem, place: Place) -> QueryError:
        """The error to raise for what a value refused at this place, for aggregates and writing clauses."""
        return self._context.located(error, place)

    def compiled(self, expression: Expression) -> Compiled:
        """The function from a row to the value of an expression that was checked (`gdb.language.checks`). It raises
        QueryErrors that show the place.

        Raises
        ------
        TypeProblem : a literal where it never fits.
        """
        test = None if type(expression) in _PLAIN else self._test(expression)
        if test is not None:
            return test
        match expression:
            case syntax.Literal(value=value):
                return lambda row: value
            case syntax.Parameter(name=parameter):
                known = self._context.parameters  # another run may give it another value
                return lambda row: known[parameter]
            case Answered(name=name, missing=missing):
                return lambda row: row[name] if name in row else missing(row)
            case syntax.Variable(name=name):
                return itemgetter(name)
            case syntax.Property(subject=subject, key=key, place=place):
                return self._property(subject, key.text, place)
            case syntax.Index(subject=subject, index=index, place=place):
                return self._applied(access.item_of, place, subject, index)
            case syntax.Slice():
                return self._slice(expression)
            case syntax.Arithmetic():
                return self._arithmetic(expression)
            case syntax.Negative():
                return self._negative(expression)
            case syntax.Call():
                return self._call(expression)
            case syntax.ListLiteral(items=items):
                constants = self._constant(expression)
                if constants is not None:
                    return lambda row: constants.copy()
                parts = [self.compiled(item) for item in items]
                return lambda row: [part(row) for part in parts]
            case syntax.MapLiteral(entries=pairs):
                entries = {key.text: self.compiled(value) for key, value in pairs}
                return lambda row: {key: value(row) for key, value in entries.items()}
            case syntax.MapProjection():
                return self._projection(expression)
            case syntax.Case():
                return self._case(expression)
            case syntax.ListComprehension(variable=name, list=of, where=where, result=result):
                test = self.condition(where) if where else None
                each = self.compiled(result) if result else None
                allowance = self._context.allowance
                return loops.comprehension(name.text, self.items(of), test, each, allowance)
            case syntax.Reduce(total=total, initial=initial, variable=name, list=of, result=result):
                first, each = self.compiled(initial), self.compiled(result)
                values, allowance = self.items(of), self._context.allowance
                return loops.reduction(total.text, first, name.text, values, each, allowance)
            case syntax.PatternComprehension():
                return self._pattern_comprehension(expression)
            case syntax.Subquery():
                return self._subquery(expression)
            case _:
                raise InternalError(f"the evaluator cannot read {expression!r}.")

    def condition(self, expression: Expression) -> Condition:
        """The function from a row to true, false or null.

        Raises
        ------
        TypeProblem : when the value is none of these; of a literal at once.
        """
        test = self._test(expression)
        if test is not None:
            return test
        context, place = self._context, expression.place
        match expression:
            case syntax.Literal(value=value) if value is not None and not isinstance(value, bool):
                context.refuse(
                    place, f"this must be true or false, and it is {type_phrase(value)}."
                )
            case syntax.ListLiteral() | syntax.MapLiteral():
                what = "a list" if isinstance(expression, syntax.ListLiteral) else "a map"
                context.refuse(place, f"this must be true or false, and it is {what}.")
        evaluate = self.compiled(expression)

        def checked(row: Row) -> bool | None:
            value = evaluate(row)
            if value is None or isinstance(value, bool):
                return value
            context.refuse(place, f"this must be true or false, and it is {type_phrase(value)}.")

        return checked

    def items(self, values: Expression) -> loops.ListOf:
        """The function from a row to what a loop runs over: of a call of range() its integers, else the list that the
        expression gives.

        Raises
        ------
        TypeProblem : when the row gives no list.
        """
        match values:
            case syntax.Call(arguments=arguments, place=place) if (
                values.function.text.lower() == "range"
            ):
                return self._applied(integers, place, *arguments)
            case _:
                return loops.items(self.compiled(values), self._context, values.place)

    def unwound(self, expression: Expression) -> Callable[[Row], Sequence[Value]]:
        """The function from a row to what UNWIND makes rows of: the items of a list, nothing of null, any other value
        itself."""
        if isinstance(expression, syntax.Call) and expression.function.text.lower() == "range":
            integers_of = self.items(expression)
            return lambda row: integers_of(row) or ()
        value_of = self.compiled(expression)

        def evaluate(row: Row) -> Sequence[Value]:
            found = value_of(row)
            return found if isinstance(found, list) else () if found is None else (found,)

        return evaluate

    # ---- what is true, false or null --------------------------------------------------------------

    def _test(self, expression: Expression) -> Condition | None:
        """The function of an expression that gives nothing but true, false and null; None for any other."""
        match expression:
            case syntax.Connected(connective=connective, operands=operands):
                return logic.connect_conditions(
                    connective, [self.condition(one) for one in operands]
                )
            case syntax.Not(operand=operand):
                return logic.negate_condition(self.condition(operand))
            case syntax.Comparison():
                return self._comparison(expression)
            case syntax.StringTest(operator=operator, left=left, right=right, place=place):
                return self._applied(tester(operator), place, left, right)
            case syntax.In():
                return self._in(expression)
            case syntax.IsNull(operand=operand, negated=negated):
                inner = self.compiled(operand)
                if negated:
                    return lambda row: inner(row) is not None
                return lambda row: inner(row) is None
            case IsTyped(operand=operand, type=type_, negated=negated):
                inner = self.compiled(operand)
                return lambda row: is_of(inner(row), type_) is not negated
            case IsNormalized(operand=operand, form=form, negated=negated, place=place):
                return self._applied(normal_form_test(form, negated), place, operand)
            case syntax.HasLabels(subject=subject, labels=labels, place=place):
                return self._applied(lambda of: access.has_labels(of, labels), place, subject)
            case HasNamed(subject=subject, names=names, any=any_, place=place):
                return self._applied(partial(access.has_named, any_=any_), place, subject, names)
            case syntax.Quantified(quantifier=kind, variable=name, list=of, where=where):
                test = self.condition(where)
                allowance = self._context.allowance
                return loops.quantifier(kind, name.text, self.items(of), test, allowance)
            case syntax.PatternTest(pattern=pattern):
                matches = self._subqueries().matches
                return lambda row: any(True for _ in matches(pattern, None, row, once=True))
            case _:
                return None

    def _in(self, expression: syntax.In) -> Condition:
        """A list that no row changes is looked up in a set."""
        values = self._constant(expression.list)
        if values is None:
            operands = (expression.item, expression.list)
            return self._applied(is_contained, expression.place, *operands)
        item, find = self.compiled(expression.item), ListMembers(values).find
        return lambda row: find(item(row))

    def _constant(self, expression: Expression) -> list[Value] | None:
        """The list that the expression is in every row; None where it may differ, or is no list."""
        match expression:
            case syntax.Parameter(name=name):
                value = self._context.parameters.get(name)
                return value if isinstance(value, list) else None
            case syntax.ListLiteral(items=items):
                values: list[Value] = [
                    one.value for one in items if isinstance(one, syntax.Literal)
                ]
                return values if len(values) == len(items) else None
            case _:
                return None

    def _comparison(self, expression: syntax.Comparison) -> Condition:
        left, right = self.compiled(expression.left), self.compiled(expression.right)
        match expression.operator:
            case Comparator.EQUAL:
                equal = comparison.equal
                return lambda row: equal(left(row), right(row))
            case Comparator.UNEQUAL:
                equal = comparison.equal
                return logic.negate_condition(lambda row: equal(left(row), right(row)))
            case Comparator.LESS:
                test = comparison.less
            case Comparator.LESS_EQUAL:
                test = comparison.less_equal
            case Comparator.GREATER:
                test = comparison.greater
            case Comparator.GREATER_EQUAL:
                test = comparison.greater_equal
        return lambda row: test(left(row), right(row))

    # ---- the other kinds --------------------------------------------------------------------------

    def _applied(
        self, operation: Callable[..., Result], place: Place, *operands: Expression
    ) -> Callable[[Row], Result]:
        parts = [self.compiled(operand) for operand in operands]
        return apply_operation(operation, parts, self._context, place)

    def _property(self, subject: Expression, key: str, place: Place) -> Compiled:
        """One closure, and no operation between, for what most expressions are made of."""
        of, context, operation = self.compiled(subject), self._context, access.property_of

        def evaluate(row: Row) -> Value:
            value = of(row)
            if type(value) is dict:
                return value.get(key)
            try:
                return operation(value, key)
            except ValueProblem as found:
                raise context.located(found, place) from None

        return evaluate

    def _call(self, expression: syntax.Call) -> Compiled:
        function = FUNCTIONS[expression.function.text.lower()]
        if function.apply is coalesce:
            return loops.first_there([self.compiled(part) for part in expression.arguments])
        value_of = self._applied(function.apply, expression.place, *expression.arguments)
        return measure_results(value_of, f"{function.name}()", self._context.allowance)

    def _slice(self, expression: syntax.Slice) -> Compiled:
        """A bound that is not written is the end of the list; null as a bound makes the slice null."""
        start = expression.start or syntax.Literal(0, expression.place)
        stop = expression.stop or syntax.Literal(arithmetic.HIGHEST, expression.place)
        operands = (expression.subject, start, stop)
        value_of = self._applied(access.slice_of, expression.place, *operands)
        return measure_results(value_of, "[..]", self._context.allowance)

    def _arithmetic(self, expression: syntax.Arithmetic) -> Compiled:
        """From left to right, in a loop; an error shows what is to the left of its operator too."""
        first = expression.first
        steps = [
            (arithmetic.OPERATIONS[operator], self.compiled(operand), first.place.to(operand.place))
            for operator, operand in expression.rest
        ]
        return chain_operations(self.compiled(first), steps, self._context)

    def _negative(self, expression: syntax.Negative) -> Compiled:
        match expression.operand:
            case syntax.Literal(value=int(number)) if number == -arithmetic.LOWEST:
                return lambda row: arithmetic.LOWEST  # whose positive does not fit
            case operand:
                return self._applied(arithmetic.negate, expression.place, operand)

    def _projection(self, expression: syntax.MapProjection) -> Compiled:
        pairs = [(key.text, self.compiled(value)) for key, value in expression.entries]
        subject = self.compiled(expression.subject)
        everything = self._applied(
            lambda of: dict(entries("{...}", of)), expression.place, expression.subject
        )

        def evaluate(row: Row) -> Value:
            if subject(row) is None:
                return None
            made = everything(row)
            if not expression.everything:
                made = {}
            made.update((key, value(row)) for key, value in pairs)
            return made

        return evaluate

    def _case(self, expression: syntax.Case) -> Compiled:
        default = self.compiled(expression.default) if expression.default else _null
        if expression.subject is None:
            branches = [(self.condition(a), self.compiled(b)) for a, b in expression.branches]

            def searched(row: Row) -> Value:
                for test, value in branches:
                    if test(row):
                        return value(row)
                return default(row)

            return searched
        subject = self.compiled(expression.subject)
        pairs = [(self.compiled(a), self.compiled(b)) for a, b in expression.branches]

        def chosen(row: Row) -> Value:
            looked_for = subject(row)
            for candidate, value in pairs:
                if comparison.equal(looked_for, candidate(row)):
                    return value(row)
            return default(row)

        return chosen

    # ---- patterns and subqueries ------------------------------------------------------------------

    def _subqueries(self) -> Subqueries:
        found = self._context.subqueries
        if found is None:
            raise InternalError("a pattern or subquery is used where the evaluator has no answer.")
        return found

    def _pattern_comprehension(self, expression: syntax.PatternComprehension) -> Compiled:
        matches, pattern, where = self._subqueries().matches, expression.pattern, expression.where
        result = self.compiled(expression.result)
        return lambda row: [result(match) for match in matches(pattern, where, row)]

    def _subquery(self, expression: syntax.Subquery) -> Compiled:
        rows, query = self._subqueries().rows, expression.query
        match expression.kind:
            case "EXISTS":
                return lambda row: any(True for _ in rows(query, row, once=True))
            case "COUNT":
                return lambda row: sum(1 for _ in rows(query, row))
            case "COLLECT":  # its RETURN has one column
                return lambda row: [next(iter(one.values())) for one in rows(query, row)]


def _null(row: Row) -> Value:
    return None

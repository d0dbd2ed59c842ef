"""Typed translation: an expression of the language becomes SQL for DuckDB, with the type of its values.

The one translation of expressions, wherever they occur: in RETURN of one pattern, in conditions on one element, between
the clauses of a chain. It takes what DuckDB gives exactly as the reference evaluator does (`gdb.physical.evaluator`),
and refuses the rest with its place, upon which it runs over rows. Values of the user travel as parameters; names never
leave this room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from gdb.base.sql import aliased, call, cast, column_of, exp, is_null, joined, negated, operand
from gdb.errors import NotSupported, SyntaxProblem
from gdb.functions import column_functions, types
from gdb.functions.library import AGGREGATES, FUNCTIONS
from gdb.functions.python_definitions import call_python, of_row
from gdb.functions.sql_arithmetic import Operator, calculate, unrewritten
from gdb.functions.sql_pieces import item_at, slice_of, strict_kind
from gdb.functions.types import Constant, Type, Typed, TypeName, sql_type, type_of
from gdb.imports import deferred
from gdb.language import column_times, syntax
from gdb.language.comparisons import any_of, compare, null, within, within_values
from gdb.language.constants import NotConstant, constant, has_column, written_list
from gdb.language.element_columns import Columns, Parameters
from gdb.language.element_functions import OF_ELEMENTS, of_element
from gdb.language.refusals import untranslatable_part
from gdb.language.report import problem
from gdb.language.scope import Scope
from gdb.language.syntax import Comparator, Connective, Expression, Place, StringOperator

if TYPE_CHECKING:
    from gdb.base.values import duration
    from gdb.executor.relational.relational_tail import Value
    from gdb.functions import sql_times
else:
    duration = deferred("gdb.base.values.duration")
    sql_times = deferred("gdb.functions.sql_times")

_STRING_TESTS = {
    StringOperator.STARTS_WITH: "starts_with",
    StringOperator.ENDS_WITH: "suffix",
    StringOperator.CONTAINS: "contains",
}
_LARGEST = 10_000
"""Nodes of SQL: some operands are written several times, those inside them more often."""


class Translator:
    """Translates resolved expressions over some columns.

    names : columns that variables mean.
    before : what the rows that are gathered must have as well, each AS v0, v1, ...
    """

    def __init__(
        self,
        scope: Scope,
        columns: Columns,
        parameters: Parameters,
        names: Mapping[str, Typed] | None = None,
    ) -> None:
        self.scope = scope
        self.columns = columns
        self.parameters = parameters
        self._names = names or {}
        self.before: list[exp.Expr] = []

    def condition(self, expression: Expression) -> exp.Expr:
        """An expression that must be a boolean, as in WHERE.

        Raises
        ------
        NotSupported : it is none.
        """
        return self._boolean(expression, "WHERE").sql

    def translate(self, expression: Expression) -> Typed:
        """SQL and type of an expression.

        Raises
        ------
        NotSupported : with the place.
        """
        match expression:
            case syntax.Literal(value=value):
                return self._constant(value)
            case syntax.Parameter(name=name, place=place):
                return self._parameter_value(self.scope.parameter(name, place), place)
            case syntax.Variable(name=name, place=place):
                return self._variable(name, place)
            case syntax.ElementReference():
                return self.columns.element(expression)
            case syntax.Property(subject=syntax.ElementReference() as element, key=key):
                return self.columns.property(element, key)
            case _:
                found = self._compound(expression)
        if sum(1 for _ in islice(found.sql.walk(), _LARGEST)) == _LARGEST:
            raise self.refuse(expression.place, "so large an expression is")
        return found

    def _compound(self, expression: Expression) -> Typed:
        match expression:
            case syntax.HasLabels(subject=subject, labels=labels):
                element = self._element(subject, "a label")
                return self.columns.has_labels(element, labels)
            case syntax.IsNull(operand=inner, negated=negated_):
                value = self.translate(inner)
                test = exp.true() if value.is_null else is_null(value.sql)
                return Typed(negated(test) if negated_ else test, types.BOOLEAN)
            case syntax.Not(operand=inner):
                return Typed(negated(self._boolean(inner, "NOT").sql), types.BOOLEAN)
            case syntax.Connected():
                return self._connected(expression)
            case syntax.Comparison():
                return self._comparison(expression)
            case syntax.StringTest():
                return self._string_test(expression)
            case syntax.In():
                return self._in(expression)
            case syntax.Arithmetic():
                return self._arithmetic(expression)
            case syntax.Negative(operand=inner):
                return self._negative(inner)
            case syntax.ListLiteral():
                return self._list(expression)
            case syntax.Case():
                return self._case(expression)
            case syntax.Index():
                return self._index(expression)
            case syntax.Slice():
                return self._slice(expression)
            case syntax.Call():
                return self._call(expression)
            case syntax.Property():
                return self._field(expression)
            case _:
                raise self.refuse(
                    expression.place, untranslatable_part(expression) or "this expression is"
                )

    # ---- values ----------------------------------------------------------------------------------

    def _constant(self, value: Value) -> Typed:
        type_ = type_of(value)
        assert type_ is not None, "a literal is a list."
        if type_ == types.NULL:
            return Typed(exp.Null(), types.NULL, Constant(None))
        return Typed(self.parameters.add(value, type_), type_, Constant(value))

    def _parameter_value(self, value: Value, place: Place) -> Typed:
        """The value of a parameter."""
        items = value if isinstance(value, (list, tuple)) else [value]
        known = all(map(has_column, items))
        type_ = type_of(value) if known else None
        if type_ is None:
            raise self.refuse(place, "a parameter of this kind is")
        return self._constant(value)

    def _variable(self, name: str, place: Place) -> Typed:
        known = self._names.get(name)
        if known is None:
            raise self.refuse(place, f"'{name}' as a name of its own is")
        return Typed(known.sql.copy(), known.type)

    def _element(self, subject: Expression, what: str) -> syntax.ElementReference:
        if isinstance(subject, syntax.ElementReference):
            return subject
        if isinstance(subject, syntax.Variable):
            self._variable(subject.name, subject.place)
        raise self.refuse(subject.place, f"{what} of anything but a node or a relationship is")

    def _field(self, expression: syntax.Property) -> Typed:
        """Of a date, a datetime or a duration."""
        subject, key = expression.subject, expression.key.text
        if isinstance(subject, syntax.Call):
            found = column_times.field_of_call(subject, key, self.translate)
            if found is not None:
                return found
        value = self.translate(subject)
        if value.is_null:
            return value
        found = sql_times.field_of(value, key)
        if found is None:
            what = "a property of anything but a node or a relationship is"
            raise self.refuse(subject.place, what)
        return found

    def _list(self, expression: syntax.ListLiteral) -> Typed:
        items = [self.translate(item) for item in expression.items]
        kind = self._one_kind(items, expression.place)
        if kind not in (*types.SCALARS, TypeName.NULL):
            raise self.refuse(expression.place, f"a list with an item of type {kind} is")
        type_ = Type(TypeName.LIST, kind)
        return Typed(cast(exp.Array(expressions=[i.sql for i in items]), sql_type(type_)), type_)

    def _one_kind(self, values: Sequence[Typed], place: Place) -> TypeName:
        """The one kind of some values, nulls aside: an integer is no float here, as it would become one."""
        kind = strict_kind(values)
        if kind is None:
            raise self.refuse(place, "a value that may be of several types is")
        return kind

    def _case(self, expression: syntax.Case) -> Typed:
        values = [self.translate(value) for _, value in expression.branches]
        if expression.default is not None:
            values.append(self.translate(expression.default))
        kind = self._one_kind(values, expression.place)
        distinct_types = {value.type for value in values if not value.is_null}
        if len(distinct_types) > 1 or kind in (TypeName.NODE, TypeName.RELATIONSHIP):
            raise self.refuse(expression.place, f"CASE that gives {kind} is")
        tests = [self._when(expression, when) for when, _ in expression.branches]
        ifs = [exp.If(this=t, true=v.sql) for t, v in zip(tests, values, strict=False)]
        default = values[-1].sql if expression.default is not None else exp.Null()
        return Typed(
            exp.Case(ifs=ifs, default=default),
            distinct_types.pop() if distinct_types else types.NULL,
        )

    def _when(self, expression: syntax.Case, when: Expression) -> exp.Expr:
        if expression.subject is None:
            return self._boolean(when, "CASE").sql
        left, right = self.translate(expression.subject), self.translate(when)
        if TypeName.LIST in (left.kind, right.kind):
            raise self.refuse(when.place, "CASE of a list is")
        return compare(Comparator.EQUAL, left, right).sql

    # ---- booleans --------------------------------------------------------------------------------

    def _boolean(self, expression: Expression, operator: str) -> Typed:
        value = self.translate(expression)
        if value.kind not in (TypeName.BOOLEAN, TypeName.NULL):
            raise self.refuse(expression.place, f"{operator} of {value.kind} is")
        return value

    def _connected(self, expression: syntax.Connected) -> Typed:
        name = expression.connective
        parts = [self._boolean(part, name).sql for part in expression.operands]
        if name is Connective.AND:
            return Typed(joined(exp.And, parts), types.BOOLEAN)
        if name is Connective.OR:
            return Typed(joined(exp.Or, parts), types.BOOLEAN)
        sql = parts[0]
        for part in parts[1:]:
            sql = exp.NEQ(this=operand(sql), expression=operand(part))  # null where one is null
        return Typed(sql, types.BOOLEAN)

    def _comparison(self, comparison: syntax.Comparison) -> Typed:
        left, right = self.translate(comparison.left), self.translate(comparison.right)
        if TypeName.LIST in (left.kind, right.kind):
            raise self.refuse(comparison.place, "comparing lists is")
        return compare(comparison.operator, unrewritten(left), unrewritten(right))

    def _string_test(self, test: syntax.StringTest) -> Typed:
        left, right = self.translate(test.left), self.translate(test.right)
        if left.kind is not TypeName.STRING or right.kind is not TypeName.STRING:
            return null()  # openCypher: null for what is no string
        if test.operator is StringOperator.MATCHES:
            takes = ("VARCHAR", "VARCHAR")
            sql = call_python("matches", _matches, takes, "BOOLEAN", (left.sql, right.sql))
            return Typed(sql, types.BOOLEAN)
        return Typed(call(_STRING_TESTS[test.operator], left.sql, right.sql), types.BOOLEAN)

    def _in(self, test: syntax.In) -> Typed:
        values = written_list(test.list, self.scope)
        item = self.translate(test.item)
        if item.kind is TypeName.LIST:
            raise self.refuse(test.place, "looking for a list in a list is")
        if values is not None and all(map(has_column, values)):
            return within_values(item, values, self.parameters.add)
        if isinstance(test.list, syntax.ListLiteral):
            return any_of([self._same(item, part) for part in test.list.items])
        items = self.translate(test.list)
        if items.is_null:
            return null()
        if items.kind is not TypeName.LIST:
            raise self.refuse(test.list.place, f"IN {items.kind} is")
        return Typed(within(item, items), types.BOOLEAN)

    def _same(self, item: Typed, part: Expression) -> Typed:
        other = self.translate(part)
        if other.kind is TypeName.LIST:
            raise self.refuse(part.place, "a list inside a list is")
        again = Typed(item.sql.copy(), item.type, item.constant)
        return compare(Comparator.EQUAL, again, other)

    # ---- lists -----------------------------------------------------------------------------------

    def _index(self, expression: syntax.Index) -> Typed:
        subject, index = self.translate(expression.subject), self.translate(expression.index)
        if subject.is_null and index.kind in (TypeName.INTEGER, TypeName.NULL):
            return Typed(exp.Null(), types.NULL)
        if subject.kind is not TypeName.LIST or index.kind not in (TypeName.INTEGER, TypeName.NULL):
            raise self.refuse(expression.place, "an index of anything but a list is")
        item = subject.type.item
        if item in (None, TypeName.NULL) or index.is_null:
            return Typed(exp.Null(), types.NULL)
        return Typed(item_at(subject.sql, index.sql), Type(item or TypeName.NULL))

    def _slice(self, expression: syntax.Slice) -> Typed:
        subject = self.translate(expression.subject)
        bounds_of = (expression.start, expression.stop)
        bounds = [None if part is None else self.translate(part) for part in bounds_of]
        kinds = {bound.kind for bound in bounds if bound is not None}
        if subject.is_null or TypeName.NULL in kinds:
            return Typed(exp.Null(), types.NULL)
        if subject.kind is not TypeName.LIST or not kinds <= {TypeName.INTEGER}:
            raise self.refuse(expression.place, "a slice of anything but a list is")
        start, stop = (None if bound is None else bound.sql for bound in bounds)
        return Typed(slice_of(subject.sql, start, stop), subject.type)

    # ---- numbers ---------------------------------------------------------------------------------

    def _negative(self, inner: Expression) -> Typed:
        if (
            isinstance(inner, syntax.Literal)
            and inner.value == 1 << 63
            and type(inner.value) is int
        ):
            return self._constant(-inner.value)  # whose positive does not fit
        value = self.translate(inner)
        self._check_number(value, inner.place, "-")
        return value if value.is_null else Typed(exp.Neg(this=operand(value.sql)), value.type)

    def _arithmetic(self, expression: syntax.Arithmetic) -> Typed:
        place = expression.first.place
        value = self._operand(expression.first)
        for operator, following in expression.rest:
            right = self._operand(following)
            moved = column_times.moved(value, operator, right)
            if moved is not None:
                value, place = moved, place.to(following.place)
                continue
            if not isinstance(value, Typed):
                value = self.translate(expression.first)
            if not isinstance(right, Typed):
                right = self.translate(following)
            if operator == "||":
                if not {value.kind, right.kind} <= {TypeName.STRING, TypeName.NULL}:
                    raise self.refuse(place, "|| of lists is")
                value = self._concatenated(value, right, place.to(following.place))
            elif operator == "+" and TypeName.STRING in (value.kind, right.kind):
                value = self._concatenated(value, right, place.to(following.place))
            else:
                self._check_number(value, place, operator)
                self._check_number(right, following.place, operator)
                value = calculate(operator, value, right)
            place = place.to(following.place)
        return value if isinstance(value, Typed) else self.translate(expression.first)

    def _operand(self, expression: Expression) -> Typed | duration.Duration:
        """An operand; a duration that is known before the query runs may have months and days, as no column has."""
        if isinstance(expression, syntax.Parameter):
            known = self.scope.parameters.get(expression.name)
            if type_of(known) is None and isinstance(known, duration.Duration):
                return known
        return self.translate(expression)

    def _check_number(self, value: Typed, place: Place, operator: Operator) -> None:
        if not (value.kind in types.NUMBERS or value.is_null):
            raise self.refuse(place, f"{operator} of {value.kind} is")

    def _concatenated(self, left: Typed, right: Typed, place: Place) -> Typed:
        if left.is_null or right.is_null:
            return Typed(exp.Null(), types.NULL)
        parts = []
        for side in (left, right):
            if side.kind is TypeName.FLOAT:
                text = of_row(FUNCTIONS["tostring"], [side])
                assert text is not None
                parts.append(text.sql)
            elif side.kind in (TypeName.STRING, TypeName.INTEGER):
                plain = side.kind is TypeName.STRING
                parts.append(operand(side.sql) if plain else cast(side.sql, "VARCHAR"))
            else:
                raise self.refuse(place, f"+ of a string and {side.kind} is")
        return Typed(exp.DPipe(this=parts[0], expression=parts[1]), types.STRING)

    # ---- functions -------------------------------------------------------------------------------

    def _call(self, expression: syntax.Call) -> Typed:
        name, place = expression.function.text.lower(), expression.place
        if name in AGGREGATES:  # where rows are not gathered
            raise self.refuse(place, f"{expression.function.text}() here is")
        row = FUNCTIONS[name]
        if name in OF_ELEMENTS:
            return of_element(name, expression, self)
        try:
            known = constant(expression, self.scope)
        except NotConstant:
            pass
        else:
            return self._parameter_value(known, place)
        arguments = [self.translate(argument) for argument in expression.arguments]
        found = column_times.temporal_of_column(name, arguments) or column_functions.apply_function(
            row, arguments
        )
        if found is None:
            kinds = ", ".join(argument.kind for argument in arguments)
            raise self.refuse(place, f"{row.name}() of {kinds or 'nothing'} is")
        return found

    # ---- aggregates ------------------------------------------------------------------------------

    def gathered(self, expression: syntax.Call) -> Typed:
        """SQL of an aggregate of these rows.

        Raises
        ------
        NotSupported : with the place.
        """
        row = AGGREGATES[expression.function.text.lower()]
        if expression.star:
            return Typed(exp.Count(this=exp.Star()), types.INTEGER)
        count = len(expression.arguments)
        if count != row.signature.least:
            takes = "one value" if row.signature.least == 1 else "two values"
            message = f"{row.name}() takes {takes}."
            raise problem(SyntaxProblem, self.scope.text, expression.place, message)
        arguments = [self.translate(argument) for argument in expression.arguments]
        if row.repeated and not isinstance(arguments[0].sql, exp.Column):
            arguments[0] = self.named(arguments[0])
        found = column_functions.apply_aggregate(row, arguments, expression.distinct)
        if found is None:
            raise self.refuse(expression.place, f"{row.name}() of {arguments[0].kind} is")
        return found

    def named(self, value: Typed) -> Typed:
        """A value as a column, where its SQL is to be written several times: computed before the rows are gathered."""
        name = f"v{len(self.before)}"
        if value.is_null:
            return value
        self.before.append(aliased(value.sql, name))
        return Typed(column_of(name), value.type)

    # ---- refusals --------------------------------------------------------------------------------

    def refuse(self, place: Place, what: str) -> NotSupported:
        """Why a part of the query is not for columns."""
        message = f"{what} not covered over columns."
        return problem(NotSupported, self.scope.text, place, message)


def _matches(text: str, pattern: str) -> bool:
    from gdb.base.values import regex  # it is rarely needed

    return regex.compile_regex(pattern).fits(text)

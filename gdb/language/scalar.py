"""Typed translation: an expression of the language becomes SQL for DuckDB, with the type of its values.

Every operator checks the types of its operands here, so that an error can point at the expression and DuckDB never
has to refuse one. Values of the user travel as parameters; names never leave this room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.errors import InternalError, SyntaxProblem, TypeProblem
from gdb.language import functions, temporal
from gdb.language.columns import Columns, Parameters
from gdb.language.comparisons import any_of, compare, null, within_list, within_values
from gdb.language.nodes import exp
from gdb.language.refusals import refused
from gdb.language.report import problem
from gdb.language.scope import Scope
from gdb.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Call,
    Comparator,
    Comparison,
    Connected,
    Connective,
    Element,
    Expression,
    HasLabels,
    In,
    IsNull,
    ListLiteral,
    Literal,
    Negative,
    Not,
    Parameter,
    Place,
    Property,
    StringOperator,
    StringTest,
)
from gdb.language.types import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    NULL,
    STRING,
    Constant,
    Kind,
    Type,
    Typed,
    call,
    cast,
    common_kind,
    is_null,
    joined,
    negated,
    operand,
    sql_type,
    type_of,
)

if TYPE_CHECKING:
    from gdb.executor.tail import Value

_STRING_TESTS = {
    StringOperator.STARTS_WITH: "starts_with",
    StringOperator.ENDS_WITH: "suffix",
    StringOperator.CONTAINS: "contains",
}


class Translator:
    """Translates resolved expressions over some columns."""

    def __init__(self, scope: Scope, columns: Columns, parameters: Parameters) -> None:
        self.scope = scope
        self.columns = columns
        self.parameters = parameters

    def condition(self, expression: Expression) -> exp.Expr:
        """An expression that must be a boolean, as in WHERE.

        Raises
        ------
        TypeProblem : it is none.
        """
        return self._boolean(expression, "WHERE").sql

    def translate(self, expression: Expression) -> Typed:
        """SQL and type of an expression.

        Raises
        ------
        TypeProblem, NameProblem, SyntaxProblem, NotSupported : with the place.
        """
        match expression:
            case Literal(value=value):
                return self._constant(value)
            case Parameter(name=name, place=place):
                return self._given(self.scope.parameter(name, place), place)
            case Element():
                return self.columns.element(expression)
            case Property(subject=subject, key=key):
                return self.columns.property(self._element(subject, "a property"), key)
            case HasLabels(subject=subject, labels=labels):
                element = self._element(subject, "a label")
                return self.columns.has_labels(element, labels)
            case IsNull(operand=inner, negated=negated_):
                test = is_null(self.translate(inner).sql)
                return Typed(negated(test) if negated_ else test, BOOLEAN)
            case Not(operand=inner):
                return Typed(negated(self._boolean(inner, "NOT").sql), BOOLEAN)
            case Connected():
                return self._connected(expression)
            case _:
                return self._compound(expression)

    def _compound(self, expression: Expression) -> Typed:
        match expression:
            case Comparison():
                return self._comparison(expression)
            case StringTest() if expression.operator in _STRING_TESTS:
                return self._string_test(expression)
            case In():
                return self._in(expression)
            case Arithmetic(first=first, rest=rest):
                return self._arithmetic(first, rest)
            case Negative(operand=inner):
                value = self._number(inner, "-")
                return (
                    value if value.is_null else Typed(exp.Neg(this=operand(value.sql)), value.type)
                )
            case ListLiteral():
                return self._list(expression)
            case Call():
                return self._call(expression)
            case _:
                what = refused(expression)
                if what is None:
                    raise InternalError(f"{type(expression).__name__} was not resolved.")
                raise functions.not_supported(self.scope.text, expression.place, *what)

    # ---- values ----------------------------------------------------------------------------------

    def _constant(self, value: Value) -> Typed:
        type_ = type_of(value)
        if type_ is None:
            raise InternalError("a literal is a list.")
        if type_ == NULL:
            return Typed(exp.Null(), NULL, Constant(None))
        return Typed(self.parameters.add(value, type_), type_, Constant(value))

    def _given(self, value: Value, place: Place) -> Typed:
        """The value of a parameter."""
        if isinstance(value, Mapping):
            what = "a map as a parameter is"
            raise functions.not_supported(
                self.scope.text, place, what, "Pass its values one by one."
            )
        if type_of(value) is None:
            raise self.type_problem(
                place,
                "the list holds values of different types, or lists.",
                "Only x IN $list takes unlike values.",
            )
        return self._constant(value)

    def _element(self, subject: Expression, what: str) -> Element:
        if isinstance(subject, Element):
            return subject
        raise self.type_problem(
            subject.place, f"only a node or a relationship has {what}.", "Name one before the sign."
        )

    def _list(self, expression: ListLiteral) -> Typed:
        items = [self.translate(item) for item in expression.items]
        kind = common_kind({item.kind for item in items if not item.is_null})
        if kind is None:
            raise self.type_problem(
                expression.place,
                "a list as a value holds numbers, strings or booleans, of one type.",
                "Return its items as columns.",
            )
        type_ = Type(Kind.LIST, kind)
        return Typed(cast(exp.Array(expressions=[i.sql for i in items]), sql_type(type_)), type_)

    # ---- booleans --------------------------------------------------------------------------------

    def _boolean(self, expression: Expression, operator: str) -> Typed:
        value = self.translate(expression)
        if value.kind not in (Kind.BOOLEAN, Kind.NULL):
            cure = "Compare it with something, as in x > 0."
            if value.kind in (Kind.NODE, Kind.RELATIONSHIP):
                cure = "Ask for a property, a label or IS NOT NULL."
            raise self.type_problem(
                expression.place, f"{operator} takes a boolean, and this is {value.kind}.", cure
            )
        return value

    def _connected(self, expression: Connected) -> Typed:
        name = expression.connective
        parts = [self._boolean(part, name).sql for part in expression.operands]
        if name is Connective.AND:
            return Typed(joined(exp.And, parts), BOOLEAN)
        if name is Connective.OR:
            return Typed(joined(exp.Or, parts), BOOLEAN)
        sql = parts[0]
        for part in parts[1:]:
            sql = exp.NEQ(this=operand(sql), expression=operand(part))  # null where one is null
        return Typed(sql, BOOLEAN)

    def _comparison(self, comparison: Comparison) -> Typed:
        left, right = self.translate(comparison.left), self.translate(comparison.right)
        if Kind.LIST in (left.kind, right.kind):
            raise functions.not_supported(
                self.scope.text, comparison.place, "comparing lists is", "Use IN, or size()."
            )
        return compare(comparison.operator, left, right)

    def _string_test(self, test: StringTest) -> Typed:
        left, right = self.translate(test.left), self.translate(test.right)
        if left.kind is not Kind.STRING or right.kind is not Kind.STRING:
            return null()  # openCypher: null for what is no string
        return Typed(call(_STRING_TESTS[test.operator], left.sql, right.sql), BOOLEAN)

    def _in(self, test: In) -> Typed:
        values = self._constant_list(test.list)
        item = self.translate(test.item)
        if item.kind is Kind.LIST:
            raise functions.not_supported(
                self.scope.text, test.place, "looking for a list in a list is", "Compare its items."
            )
        if values is not None:
            return within_values(item, values, self.parameters.add)
        if isinstance(test.list, ListLiteral):
            items = [self.translate(part) for part in test.list.items]
            return any_of([self._same(item, part, test.place) for part in items])
        within = self.translate(test.list)
        if within.kind not in (Kind.LIST, Kind.NULL):
            raise self.type_problem(
                test.list.place, f"IN takes a list, and this is {within.kind}.", "Write [a, b]."
            )
        return within_list(item, within)

    def _same(self, item: Typed, other: Typed, place: Place) -> Typed:
        if other.kind is Kind.LIST:
            raise functions.not_supported(
                self.scope.text, place, "a list inside a list is", "Write one list."
            )
        again = Typed(item.sql.copy(), item.type, item.constant)
        return compare(Comparator.EQUAL, again, other)

    def _constant_list(self, expression: Expression) -> Sequence[Value] | None:
        """The values of a list that is known before the query runs."""
        if isinstance(expression, Parameter):
            value = self.scope.parameter(expression.name, expression.place)
            # what is no list is translated, and refused by its type
            return value if isinstance(value, (list, tuple)) else None
        if not isinstance(expression, ListLiteral):
            return None
        found: list[Value] = []
        for item in expression.items:
            if isinstance(item, Literal):
                found.append(item.value)
            elif isinstance(item, Parameter):
                found.append(self.scope.parameter(item.name, item.place))
            else:
                return None
        return found

    # ---- numbers ---------------------------------------------------------------------------------

    def _number(self, expression: Expression, operator: str) -> Typed:
        value = self.translate(expression)
        if not value.is_number and not value.is_null:
            raise self.type_problem(
                expression.place, f"{operator} takes numbers, and this is {value.kind}."
            )
        return value

    def _arithmetic(
        self, first: Expression, rest: Sequence[tuple[ArithmeticOperator, Expression]]
    ) -> Typed:
        place = first.place
        value = self.translate(first)
        for operator, following in rest:
            right = self.translate(following)
            if operator == "||" and not {value.kind, right.kind} <= {Kind.STRING, Kind.NULL}:
                raise functions.not_supported(
                    self.scope.text, place, "|| of lists is", "Return them as columns."
                )
            if operator == "||" or (operator == "+" and Kind.STRING in (value.kind, right.kind)):
                value = self._concatenated(value, right, place, following.place)
            else:
                self._check_number(value, place, operator)
                self._check_number(right, following.place, operator)
                value = _calculated(operator, value, right)
            place = place.to(following.place)
        return value

    def _check_number(self, value: Typed, place: Place, operator: str) -> None:
        if value.kind is Kind.LIST:
            raise functions.not_supported(
                self.scope.text, place, "calculating with lists is", "Return them as columns."
            )
        if not value.is_number and not value.is_null:
            what = "numbers, or two strings" if operator == "+" else "numbers"
            raise self.type_problem(place, f"{operator} takes {what}, and this is {value.kind}.")

    def _concatenated(self, left: Typed, right: Typed, at: Place, after: Place) -> Typed:
        if left.is_null or right.is_null:
            return Typed(exp.Null(), NULL)
        parts = []
        for side, place in ((left, at), (right, after)):
            if side.kind is Kind.FLOAT:
                raise functions.not_supported(
                    self.scope.text, place, "the text of a float is", "Return it as it is."
                )
            if side.kind not in (Kind.STRING, Kind.INTEGER):
                raise self.type_problem(
                    place, f"+ joins strings and numbers, and this is {side.kind}."
                )
            plain = side.kind is Kind.STRING
            parts.append(operand(side.sql) if plain else cast(side.sql, "VARCHAR"))
        return Typed(exp.DPipe(this=parts[0], expression=parts[1]), STRING)

    # ---- functions -------------------------------------------------------------------------------

    def _call(self, expression: Call) -> Typed:
        name = functions.known(expression, self.scope.text)
        if name in functions.AGGREGATES:
            return self.aggregate(expression)
        functions.check_arguments(expression, name, self.scope.text)
        if name in functions.OF_ELEMENTS:
            return self._of_element(expression, name)
        arguments = [self.translate(argument) for argument in expression.arguments]
        if name in temporal.FUNCTIONS and not arguments[0].is_null:
            return temporal.made(name, expression, arguments[0], self)
        return functions.apply(name, expression, arguments, self.scope.text)

    def _of_element(self, expression: Call, name: str) -> Typed:
        subject = expression.arguments[0]
        wanted = {"labels": "vertex", "type": "edge"}.get(name)
        if isinstance(subject, Literal) and subject.value is None:
            return Typed(exp.Null(), NULL)
        if not isinstance(subject, Element) or wanted not in (None, subject.kind):
            takes = {"labels": "a node", "type": "a relationship"}.get(
                name, "a node or a relationship"
            )
            shown = expression.function.text
            raise self.type_problem(expression.place, f"{shown}() takes {takes} of the pattern.")
        if name == "elementid":
            return self._element_id(subject, expression.place)
        if name == "id":
            return self.columns.identity(subject, expression.place)
        return self.columns.labels(subject) if name == "labels" else self.columns.type(subject)

    def _element_id(self, element: Element, place: Place) -> Typed:
        """The id as a text, behind the id space that all candidates have."""
        text = cast(self.columns.identity(element, place).sql, "VARCHAR")
        if element.kind == "vertex":
            groups = self.scope.snapshot.groups
            spaces = {groups[k].id_space for k in self.scope.groups(element.index)}
            if len(spaces) > 1:
                what = "elementId() of nodes of several id spaces is"
                raise functions.not_supported(self.scope.text, place, what, "Use id().")
            for space in filter(None, spaces):
                text = exp.DPipe(this=self.parameters.add(f"{space}:", STRING), expression=text)
        return Typed(text, STRING)

    def aggregate(self, expression: Call) -> Typed:
        """An aggregate, where there are none to be had."""
        raise problem(
            SyntaxProblem,
            self.scope.text,
            expression.place,
            f"{expression.function.text}() stands only in RETURN and ORDER BY, and not in another aggregate.",
        )

    def type_problem(self, place: Place, message: str, cure: str = "") -> TypeProblem:
        return problem(TypeProblem, self.scope.text, place, message, cure)


def _calculated(operator: ArithmeticOperator, left: Typed, right: Typed) -> Typed:
    """left operator right of two numbers, or null."""
    if left.is_null or right.is_null:
        return Typed(exp.Null(), NULL)
    if operator == "^":
        return Typed(call("pow", cast(left.sql, "DOUBLE"), cast(right.sql, "DOUBLE")), FLOAT)
    whole = left.kind is right.kind is Kind.INTEGER
    node = exp.IntDiv if operator == "/" and whole else _exact(operator)  # both cut towards zero
    sql = node(this=operand(left.sql), expression=operand(right.sql))
    return Typed(sql, INTEGER if whole else FLOAT)


def _exact(operator: ArithmeticOperator) -> type[exp.Binary]:
    match operator:
        case "+":
            return exp.Add
        case "-":
            return exp.Sub
        case "*":
            return exp.Mul
        case "/":
            return exp.Div
        case "%":
            return exp.Mod
        case "^" | "||":
            raise InternalError(f"{operator} is no binary operator of numbers in SQL.")

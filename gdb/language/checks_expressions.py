"""Expressions before they run: every name is known, functions exist, and kinds that are known fit."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from gdb.errors import SyntaxProblem
from gdb.functions.library import FUNCTIONS, varies
from gdb.functions.static_kinds import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    LIST,
    MAP,
    NODE,
    NULL,
    RELATIONSHIP,
    STRING,
    VALUE,
    Kind,
    Known,
    common,
    list_of,
)
from gdb.language import checks_patterns
from gdb.language.aggregation import is_aggregate
from gdb.language.checks_calls import called, check_call, refuse_aggregate
from gdb.language.checks_frame import Frame
from gdb.language.checks_operators import (
    arithmetic,
    boolean,
    check_labelled,
    check_listed,
    index,
    negative,
    warn_of_null,
    with_keys,
)
from gdb.language.dynamic_labels import HasNamed
from gdb.language.quantified_patterns import group_names
from gdb.language.syntax import (
    Arithmetic,
    Call,
    Case,
    Comparison,
    Connected,
    Expression,
    HasLabels,
    In,
    Index,
    IsNull,
    ListComprehension,
    ListLiteral,
    Literal,
    MapLiteral,
    MapProjection,
    Negative,
    NodePattern,
    Not,
    Parameter,
    PathPattern,
    PatternComprehension,
    PatternTest,
    Property,
    Quantified,
    Reduce,
    RelationshipPattern,
    Slice,
    StringTest,
    Subquery,
    Variable,
    children,
    walk,
)
from gdb.language.value_types import IsNormalized, IsTyped


class Aggregates(Enum):
    """Whether an aggregate is allowed here."""

    NOWHERE = auto()
    HERE = auto()
    INSIDE = auto()  # inside an aggregate


def known(
    expression: Expression, frame: Frame, aggregates: Aggregates = Aggregates.NOWHERE
) -> Known:
    """Check an expression, and return what is known of its value.

    Raises
    ------
    NameProblem : a variable, parameter or function that is not there.
    TypeProblem : an operand or argument of a kind that cannot be meant.
    SyntaxProblem : an aggregate or a pattern where none is allowed.
    """
    match expression:
        case Literal():
            return _OF_LITERAL[type(expression.value)]
        case Parameter():
            frame.parameter(expression)
            return VALUE
        case Variable(name=name, place=place):
            return frame.need(name, place)
        case Connected() | Not():
            return condition(expression, frame, aggregates)
        case Property(subject=subject):
            with_keys(known(subject, frame, aggregates), expression, frame)
            return VALUE
        case MapProjection(subject=subject, entries=entries):
            with_keys(known(subject, frame, aggregates), expression, frame)
            for _, value in entries:
                known(value, frame, aggregates)
            return MAP
        case ListLiteral(items=items):
            literals = {type(item.value) for item in items if isinstance(item, Literal)}
            others = [item for item in items if not isinstance(item, Literal)]
            several = [known(item, frame, aggregates) for item in others]
            return list_of(common([*(_OF_LITERAL[kind] for kind in literals), *several]))
        case Call():
            return _call(expression, frame, aggregates)
        case Arithmetic(first=first, rest=rest):
            so_far = known(first, frame, aggregates)
            for operator, operand in rest:
                right = known(operand, frame, aggregates)
                so_far = arithmetic(operator, so_far, right, operand.place, expression, frame)
            return so_far
        case Negative(operand=operand):
            return negative(known(operand, frame, aggregates), operand, frame)
        case In(item=item, list=of):
            known(item, frame, aggregates)
            check_listed(known(of, frame, aggregates), of, frame)
            return BOOLEAN
        case Index() | Slice():
            return _element(expression, frame, aggregates)
        case HasLabels(subject=subject):
            check_labelled(known(subject, frame, aggregates), subject, frame)
            return BOOLEAN
        case HasNamed(subject=subject, names=names):
            check_labelled(known(subject, frame, aggregates), subject, frame)
            check_names(names, frame, aggregates)
            return BOOLEAN
        case Case():
            return _case(expression, frame, aggregates)
        case PatternTest(pattern=pattern, place=place):
            if not frame.facts.text[place.start : place.end].lower().startswith("exists"):
                raise _pattern_as_value(expression, frame)
            _test(pattern, frame)
            return BOOLEAN
        case Subquery():
            return frame.facts.subquery(expression, frame)
        case ListComprehension() | Quantified() | Reduce() | PatternComprehension():
            return _with_variable(expression, frame, aggregates)
        case Comparison() | StringTest() | IsNull() | IsTyped() | IsNormalized():
            if isinstance(expression, Comparison):
                warn_of_null(expression, frame)
            result = BOOLEAN
        case MapLiteral():
            result = MAP
        case _:
            result = VALUE
    for part in children(expression):
        known(part, frame, aggregates)
    return result


def condition(
    expression: Expression, frame: Frame, aggregates: Aggregates = Aggregates.NOWHERE
) -> Known:
    """Check an expression that must be true or false; a pattern is allowed here."""
    match expression:
        case PatternTest(pattern=pattern):
            _test(pattern, frame)
        case Connected(operands=operands):
            for operand in operands:
                condition(operand, frame, aggregates)
        case Not(operand=operand):
            condition(operand, frame, aggregates)
        case _:
            boolean(known(expression, frame, aggregates), expression, frame)
    return BOOLEAN


def check_patterns(paths: Sequence[PathPattern], frame: Frame) -> None:
    """Check what is written inside the nodes and relationships of patterns whose names are bound."""
    for part in checks_patterns.parts(paths):
        check_values(part, frame)


def check_values(part: NodePattern | RelationshipPattern, frame: Frame) -> None:
    """Check the properties of a node or relationship, and its WHERE."""
    for value in checks_patterns.values(part):
        known(value, frame)
    for names in part.named:
        check_names(names, frame)
    if isinstance(part, RelationshipPattern) and part.repeated is not None:
        frame = frame.inner()  # in it its variables are single
        for name, is_node in group_names(part):
            frame.names[name.text] = NODE if is_node else RELATIONSHIP
        check_patterns([part.repeated], frame)
    if part.where is None:
        return
    if isinstance(part, RelationshipPattern) and part.length and part.variable:
        frame = frame.inner({part.variable.text: RELATIONSHIP})  # it holds for each of them
    condition(part.where, frame)


_OF_LITERAL: dict[type, Known] = {
    bool: BOOLEAN,
    int: INTEGER,
    float: FLOAT,
    str: STRING,
    type(None): NULL,
}


def check_names(
    names: Expression, frame: Frame, aggregates: Aggregates = Aggregates.NOWHERE
) -> None:
    """Check what names labels. Raises as `known`."""
    value = known(names, frame, aggregates)
    one = value.items if value.kind is Kind.LIST else value
    if not one.may_be((Kind.STRING, Kind.LIST)) or (one is not value and one.kind is Kind.LIST):
        message = f"labels are named by a string or a list of strings, and this is {value}."
        raise frame.misfit(names.place, message)


def _pattern_as_value(expression: PatternTest, frame: Frame) -> SyntaxProblem:
    return frame.problem(
        SyntaxProblem,
        expression.place,
        "UnexpectedSyntax",
        "a pattern is used here as a value.",
        "Write exists(...) or COUNT { ... }, or [(a)-->(b) | b] for what it finds.",
    )


def _test(pattern: PathPattern, frame: Frame) -> None:
    inner = checks_patterns.test(pattern, frame)
    checks_patterns.refuse_parameters([pattern], frame)
    check_patterns([pattern], inner)


def _call(expression: Call, frame: Frame, aggregates: Aggregates) -> Known:
    if not is_aggregate(expression):
        called(expression, frame)
        arguments = [known(argument, frame, aggregates) for argument in expression.arguments]
        return check_call(expression, arguments, frame)
    if aggregates is not Aggregates.HERE:
        raise refuse_aggregate(expression, frame, nested=aggregates is Aggregates.INSIDE)
    arguments = [known(argument, frame, Aggregates.INSIDE) for argument in expression.arguments]
    for argument in expression.arguments:
        _refuse_random(argument, frame)
    result = check_call(expression, arguments, frame)
    if expression.function.text.lower() == "collect":
        return list_of(arguments[0])
    return arguments[0] if expression.function.text.lower() in ("min", "max") else result


def _refuse_random(argument: Expression, frame: Frame) -> None:
    for part in walk(argument):
        if isinstance(part, Call) and varies(part.function.text.lower()):
            name = FUNCTIONS[part.function.text.lower()].name
            message = f"{name}() gives another value for each row, so no aggregate takes it."
            cure = "Compute it in a WITH before."
            raise frame.problem(SyntaxProblem, part.place, "NonConstantExpression", message, cure)


def _element(expression: Index | Slice, frame: Frame, aggregates: Aggregates) -> Known:
    subject = known(expression.subject, frame, aggregates)
    if isinstance(expression, Index):
        return index(subject, known(expression.index, frame, aggregates), expression, frame)
    for bound in (expression.start, expression.stop):
        if bound is not None:
            known(bound, frame, aggregates)
    return subject if subject.kind is Kind.LIST else LIST


def _case(expression: Case, frame: Frame, aggregates: Aggregates) -> Known:
    results: list[Known] = []
    if expression.subject is not None:
        known(expression.subject, frame, aggregates)
    for when, then in expression.branches:
        if expression.subject is None:
            condition(when, frame, aggregates)
        else:
            known(when, frame, aggregates)
        results.append(known(then, frame, aggregates))
    if expression.default is not None:
        results.append(known(expression.default, frame, aggregates))
    return common(results)


def _with_variable(
    expression: ListComprehension | Quantified | Reduce | PatternComprehension,
    frame: Frame,
    aggregates: Aggregates,
) -> Known:
    """Expressions that bring a variable of their own, which hides one of the same name; what is computed for each of
    its values may hold no aggregate."""
    each = Aggregates.INSIDE if aggregates is Aggregates.INSIDE else Aggregates.NOWHERE
    match expression:
        case PatternComprehension(pattern=pattern, where=where, result=result):
            inner = frame.inner()
            checks_patterns.bind([pattern], inner)
            check_patterns([pattern], inner)
            if where is not None:
                condition(where, inner, each)
            return list_of(known(result, inner, each))
        case ListComprehension(variable=variable, where=where, result=wanted):
            item = _items(expression.list, frame, aggregates)
            inner = frame.inner({variable.text: item})
            if where is not None:
                condition(where, inner, each)
            return list_of(item if wanted is None else known(wanted, inner, each))
        case Quantified(variable=variable, where=test):
            inner = frame.inner({variable.text: _items(expression.list, frame, aggregates)})
            condition(test, inner, each)
            return BOOLEAN
        case Reduce(total=total, initial=initial, variable=variable, result=result):
            known(initial, frame, aggregates)
            item = _items(expression.list, frame, aggregates)
            known(result, frame.inner({total.text: VALUE, variable.text: item}), each)
            return VALUE


def _items(of: Expression, frame: Frame, aggregates: Aggregates) -> Known:
    several = known(of, frame, aggregates)
    check_listed(several, of, frame)
    return several.items

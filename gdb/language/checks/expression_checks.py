"""Expressions before they run: every name is known, functions exist, and kinds that are known fit."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.errors import NameProblem, SyntaxProblem
from gdb.functions import static_kinds
from gdb.functions.function import AggregateFunction, Function
from gdb.functions.library import AGGREGATES, FUNCTIONS, names
from gdb.functions.static_kinds import Kind, Known, common, list_of
from gdb.language import syntax
from gdb.language.aggregation import is_aggregate
from gdb.language.checks import operand_checks, pattern_checks
from gdb.language.checks.frame import Aggregates, Frame
from gdb.language.dialects import instead_of
from gdb.language.dynamic_labels import HasNamed
from gdb.language.pattern_syntax import NodePattern, PathPattern, RelationshipPattern, values
from gdb.language.quantified_patterns import group_names
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Expression, children
from gdb.language.value_types import IsNormalized, IsTyped


def known(expression: Expression, frame: Frame) -> Known:
    """Check an expression, and return what is known of its value.

    Raises
    ------
    NameProblem : a variable, parameter or function that is not there.
    TypeProblem : an operand or argument of a kind that cannot be meant.
    SyntaxProblem : an aggregate or a pattern where none is allowed.
    """
    match expression:
        case syntax.Literal():
            return _OF_LITERAL[type(expression.value)]
        case syntax.Parameter():
            frame.parameter(expression)
            return static_kinds.VALUE
        case syntax.Variable(name=name, place=place):
            return frame.need(name, place)
        case syntax.Property(subject=subject):
            operand_checks.with_keys(known(subject, frame), expression, frame)
            return static_kinds.VALUE
        case (
            syntax.Comparison() | syntax.StringTest() | syntax.IsNull() | IsTyped() | IsNormalized()
        ):
            if isinstance(expression, syntax.Comparison):
                operand_checks.warn_of_null(expression, frame)
            result = static_kinds.BOOLEAN
        case syntax.Connected() | syntax.Not():
            return condition(expression, frame)
        case syntax.MapProjection(subject=subject, entries=entries):
            operand_checks.with_keys(known(subject, frame), expression, frame)
            for _, value in entries:
                known(value, frame)
            return static_kinds.MAP
        case syntax.ListLiteral(items=items):
            literals = {type(item.value) for item in items if isinstance(item, syntax.Literal)}
            others = [item for item in items if not isinstance(item, syntax.Literal)]
            several = [known(item, frame) for item in others]
            return list_of(common([*(_OF_LITERAL[kind] for kind in literals), *several]))
        case syntax.Call():
            return _call(expression, frame)
        case syntax.Arithmetic(first=first, rest=rest):
            so_far = known(first, frame)
            for operator, operand in rest:
                right = known(operand, frame)
                so_far = operand_checks.arithmetic(
                    operator, so_far, right, operand.place, expression, frame
                )
            return so_far
        case syntax.Negative(operand=operand):
            return operand_checks.negative(known(operand, frame), operand, frame)
        case syntax.In(item=item, list=of):
            known(item, frame)
            operand_checks.check_listed(known(of, frame), of, frame)
            return static_kinds.BOOLEAN
        case syntax.Index() | syntax.Slice():
            return _element(expression, frame)
        case syntax.HasLabels(subject=subject):
            operand_checks.check_labelled(known(subject, frame), subject, frame)
            return static_kinds.BOOLEAN
        case HasNamed(subject=subject, names=names):
            operand_checks.check_labelled(known(subject, frame), subject, frame)
            check_names(names, frame)
            return static_kinds.BOOLEAN
        case syntax.Case():
            return _case(expression, frame)
        case syntax.PatternTest(pattern=pattern, place=place):
            if not frame.query.text[place.start : place.end].lower().startswith("exists"):
                raise _pattern_as_value(expression, frame)
            _test(pattern, frame)
            return static_kinds.BOOLEAN
        case syntax.Subquery():
            return frame.query.subquery(expression, frame.of_subquery(expression))
        case (
            syntax.ListComprehension()
            | syntax.Quantified()
            | syntax.Reduce()
            | syntax.PatternComprehension()
        ):
            return _with_variable(expression, frame)
        case syntax.MapLiteral():
            result = static_kinds.MAP
        case _:
            result = static_kinds.VALUE
    for part in children(expression):
        known(part, frame)
    return result


def condition(expression: Expression, frame: Frame) -> Known:
    """Check an expression that must be true or false; a pattern is allowed here."""
    match expression:
        case syntax.PatternTest(pattern=pattern):
            _test(pattern, frame)
        case syntax.Connected(operands=operands):
            for operand in operands:
                condition(operand, frame)
        case syntax.Not(operand=operand):
            condition(operand, frame)
        case _:
            operand_checks.boolean(known(expression, frame), expression, frame)
    return static_kinds.BOOLEAN


def check_patterns(paths: Sequence[PathPattern], frame: Frame) -> None:
    """Check what is written inside the nodes and relationships of patterns whose names are bound."""
    for path in paths:
        for part in path.parts:
            check_values(part, frame)


def check_values(part: NodePattern | RelationshipPattern, frame: Frame) -> None:
    """Check the properties of a node or relationship, and its WHERE."""
    for value in values(part):
        known(value, frame)
    for named in part.named:
        check_names(named, frame)
    if isinstance(part, RelationshipPattern) and part.repeated is not None:
        frame = frame.inner()  # in it its variables are single
        for name, is_node in group_names(part):
            frame.names[name.text] = static_kinds.NODE if is_node else static_kinds.RELATIONSHIP
        check_patterns([part.repeated], frame)
    if part.where is None:
        return
    if isinstance(part, RelationshipPattern) and part.length and part.variable:
        # it holds for each of them
        frame = frame.inner({part.variable.text: static_kinds.RELATIONSHIP})
    condition(part.where, frame)


_OF_LITERAL: dict[type, Known] = {
    bool: static_kinds.BOOLEAN,
    int: static_kinds.INTEGER,
    float: static_kinds.FLOAT,
    str: static_kinds.STRING,
    type(None): static_kinds.NULL,
}


def check_names(names: Expression, frame: Frame) -> None:
    """Check what names labels. Raises as `known`."""
    value = known(names, frame)
    one = value.items if value.kind is Kind.LIST else value
    if not one.may_be((Kind.STRING, Kind.LIST)) or (one is not value and one.kind is Kind.LIST):
        message = f"labels are named by a string or a list of strings, and this is {value}."
        raise frame.misfit(names.place, message)


def _pattern_as_value(expression: syntax.PatternTest, frame: Frame) -> SyntaxProblem:
    return frame.not_allowed(
        expression.place,
        "UnexpectedSyntax",
        "a pattern is used here as a value.",
        "Write exists(...) or COUNT { ... }, or [(a)-->(b) | b] for what it finds.",
    )


def _test(pattern: PathPattern, frame: Frame) -> None:
    inner = pattern_checks.test(pattern, frame)
    pattern_checks.refuse_parameters([pattern], frame)
    check_patterns([pattern], inner)


def _call(expression: syntax.Call, frame: Frame) -> Known:
    if not is_aggregate(expression):
        called(expression, frame)
        arguments = [known(argument, frame) for argument in expression.arguments]
        return check_call(expression, arguments, frame)
    if frame.aggregates is not Aggregates.HERE:
        raise refuse_aggregate(expression, frame, nested=frame.aggregates is Aggregates.INSIDE)
    inside = frame.with_aggregates(Aggregates.INSIDE)
    arguments = [known(argument, inside) for argument in expression.arguments]
    for argument in expression.arguments:
        _refuse_random(argument, frame)
    result = check_call(expression, arguments, frame)
    if expression.function.text.lower() == "collect":
        return list_of(arguments[0])
    return arguments[0] if expression.function.text.lower() in ("min", "max") else result


def _refuse_random(argument: Expression, frame: Frame) -> None:
    from gdb.language.random_values import random_calls  # here: few queries aggregate

    for part in random_calls(argument):
        name = FUNCTIONS[part.function.text.lower()].name
        message = f"{name}() gives another value for each row, so no aggregate takes it."
        cure = "Compute it in a WITH before."
        raise frame.not_allowed(part.place, "NonConstantExpression", message, cure)


def _element(expression: syntax.Index | syntax.Slice, frame: Frame) -> Known:
    subject = known(expression.subject, frame)
    if isinstance(expression, syntax.Index):
        return operand_checks.index(subject, known(expression.index, frame), expression, frame)
    for bound in (expression.start, expression.stop):
        if bound is not None:
            known(bound, frame)
    return subject if subject.kind is Kind.LIST else static_kinds.LIST


def _case(expression: syntax.Case, frame: Frame) -> Known:
    results: list[Known] = []
    if expression.subject is not None:
        known(expression.subject, frame)
    for when, then in expression.branches:
        if expression.subject is None:
            condition(when, frame)
        else:
            known(when, frame)
        results.append(known(then, frame))
    if expression.default is not None:
        results.append(known(expression.default, frame))
    return common(results)


def _with_variable(
    expression: syntax.ListComprehension
    | syntax.Quantified
    | syntax.Reduce
    | syntax.PatternComprehension,
    frame: Frame,
) -> Known:
    """Expressions that bring a variable of their own, which hides one of the same name."""
    match expression:
        case syntax.PatternComprehension(pattern=pattern, where=where, result=result):
            inner = frame.of_subquery(expression).inner()
            pattern_checks.bind([pattern], inner)
            check_patterns([pattern], inner)
            if where is not None:
                condition(where, inner)
            return list_of(known(result, inner))
        case syntax.ListComprehension(variable=variable, where=where, result=wanted):
            item = _items(expression.list, frame)
            inner = frame.inner({variable.text: item})
            if where is not None:
                condition(where, inner)
            return list_of(item if wanted is None else known(wanted, inner))
        case syntax.Quantified(variable=variable, where=test):
            inner = frame.inner({variable.text: _items(expression.list, frame)})
            condition(test, inner)
            return static_kinds.BOOLEAN
        case syntax.Reduce(total=total, initial=initial, variable=variable, result=result):
            known(initial, frame)
            item = _items(expression.list, frame)
            known(result, frame.inner({total.text: static_kinds.VALUE, variable.text: item}))
            return static_kinds.VALUE


def _items(of: Expression, frame: Frame) -> Known:
    several = known(of, frame)
    operand_checks.check_listed(several, of, frame)
    return several.items


# ---- calls ---------------------------------------------------------------------------------------


def called(expression: syntax.Call, frame: Frame) -> Function | AggregateFunction:
    """What is called.

    Raises
    ------
    NameProblem : there is no such function.
    """
    name = expression.function.text
    low = name.lower()
    if low in AGGREGATES:
        return AGGREGATES[low]
    if low in FUNCTIONS:
        return FUNCTIONS[low]
    message = f"there is no function '{name}'."
    cure = instead_of(name) or did_you_mean(name, names())
    raise frame.problem(NameProblem, expression.function.place, "UnknownFunction", message, cure)


def check_call(expression: syntax.Call, arguments: Sequence[Known], frame: Frame) -> Known:
    """Check a call whose arguments were checked, and return what is known of its value.

    Raises
    ------
    SyntaxProblem : too many arguments, too few, or DISTINCT or * where it means nothing.
    TypeProblem : the first argument is of a kind that the function never takes.
    """
    row = called(expression, frame)
    _check_star(expression, row, frame)
    if not expression.star:
        _check_number(expression, row, frame)
    if row.takes:
        rule = f"{row.name}() takes {' or '.join(row.takes)}"
        frame.expect(arguments[0], row.takes, expression.arguments[0].place, rule)
    return row.signature.result


def refuse_aggregate(expression: syntax.Call, frame: Frame, nested: bool) -> SyntaxProblem:
    """The error of an aggregate where none is allowed. nested : it is inside another one."""
    if nested:
        message = "an aggregate is nested in another."
        cure = "Compute the inner one in a WITH before."
        return frame.not_allowed(expression.place, "NestedAggregation", message, cure)
    message = "an aggregate is allowed only in the items of RETURN and WITH, and in their ORDER BY."
    cure = "Compute it in a WITH before."
    return frame.not_allowed(expression.place, "InvalidAggregation", message, cure)


def _check_star(expression: syntax.Call, row: Function | AggregateFunction, frame: Frame) -> None:
    name = row.name
    if expression.star and name != "count":
        message = f"{name}() takes no *."
    elif expression.distinct and name.lower() not in AGGREGATES:
        message = f"{name}() takes no DISTINCT: it is no aggregate."
    else:
        return
    raise frame.not_allowed(expression.place, "UnexpectedSyntax", message)


def _check_number(expression: syntax.Call, row: Function | AggregateFunction, frame: Frame) -> None:
    number, least, most = len(expression.arguments), row.signature.least, row.signature.most
    if number >= least and (most is None or number <= most):
        return
    if most is None:
        takes = f"{least} or more"
    else:
        takes = str(least) if least == most else f"{least} to {most}"
    values = "value" if takes == "1" else "values"
    message = f"{row.name}() takes {takes} {values}, not {number}."
    raise frame.not_allowed(expression.place, "InvalidNumberOfArguments", message)

"""An expression with some of its parts replaced."""

from __future__ import annotations

from collections.abc import Callable

from gdb.language.dynamic_labels import HasNamed
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
    MapLiteral,
    MapProjection,
    Negative,
    Not,
    PatternComprehension,
    Property,
    Quantified,
    Reduce,
    Slice,
    StringTest,
)
from gdb.language.value_types import IsNormalized, IsTyped
from gdb.records import replace


def rebuilt(
    expression: Expression, replaced: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression in which every part for which `replaced` gives another is that other, outer parts first;
    patterns and subqueries stay."""

    def inner(part: Expression) -> Expression:
        return rebuilt(part, replaced)

    def maybe(part: Expression | None) -> Expression | None:
        return None if part is None else inner(part)

    other = replaced(expression)
    if other is not None:
        return other
    match expression:
        case Property(subject=subject) | HasLabels(subject=subject):
            return replace(expression, subject=inner(subject))
        case Not() | Negative() | IsNull() | IsTyped() | IsNormalized():
            return replace(expression, operand=inner(expression.operand))
        case HasNamed(subject=subject, names=names):
            return replace(expression, subject=inner(subject), names=inner(names))
        case ListLiteral(items=items):
            return replace(expression, items=tuple(map(inner, items)))
        case Connected(operands=operands):
            return replace(expression, operands=tuple(map(inner, operands)))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(inner, arguments)))
        case Comparison(left=left, right=right) | StringTest(left=left, right=right):
            return replace(expression, left=inner(left), right=inner(right))
        case In(item=item, list=within):
            return replace(expression, item=inner(item), list=inner(within))
        case Arithmetic(first=first, rest=rest):
            following = tuple((operator, inner(part)) for operator, part in rest)
            return replace(expression, first=inner(first), rest=following)
        case MapLiteral(entries=entries) | MapProjection(entries=entries):
            # the subject of a projection is a variable, and stays one
            return replace(expression, entries=tuple((k, inner(v)) for k, v in entries))
        case Index(subject=subject, index=index):
            return replace(expression, subject=inner(subject), index=inner(index))
        case Slice(subject=subject, start=start, stop=stop):
            return replace(expression, subject=inner(subject), start=maybe(start), stop=maybe(stop))
        case Case(subject=subject_, branches=branches, default=default):
            pairs = tuple((inner(when), inner(then)) for when, then in branches)
            return replace(
                expression, subject=maybe(subject_), branches=pairs, default=maybe(default)
            )
        case ListComprehension(list=of, where=where, result=result):
            return replace(expression, list=inner(of), where=maybe(where), result=maybe(result))
        case Quantified(list=of, where=test):
            return replace(expression, list=inner(of), where=inner(test))
        case Reduce(initial=initial, list=of, result=each):
            return replace(expression, initial=inner(initial), list=inner(of), result=inner(each))
        case PatternComprehension(where=where, result=each):
            return replace(expression, where=maybe(where), result=inner(each))
        case _:
            return expression

"""Conditions on one element as trees that NumPy evaluates (`gdb.executor.conditions.masks`), where they are simple
enough.

Comparisons of properties with constants and with one another, IN, IS NULL, the tests of strings, label tests, and what
AND, OR and NOT make of these. Everything else, and everything that is refused, is left to the translation into SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias, get_args

from gdb.executor.conditions import masks
from gdb.executor.conditions.masks import Both, Either, Fixed, Negated, Test
from gdb.functions.types import TypeName, alike
from gdb.language import syntax
from gdb.language.constants import NotConstant, constant, written, written_list
from gdb.language.scope import Scope, has_labels
from gdb.language.syntax import Comparator, Connective, Expression
from gdb.storage.columns import temporal

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value

_INTEGERS = range(-(1 << 63), 1 << 63)
_MOST_TEXTS = 16  # of an IN; DuckDB makes a hash table of more

_OPERATORS: dict[str, masks.Operator] = {sign: sign for sign in get_args(masks.Operator)}
_TEXT_OPERATORS: dict[str, masks.TextOperator] = {one: one for one in get_args(masks.TextOperator)}

Key: TypeAlias = tuple[str, TypeName]
"""A property, and what it holds wherever the element has it."""
Side: TypeAlias = "Key | Constant"
Constant: TypeAlias = tuple[Fixed | None, TypeName]
"""None is null."""


def mask_test(
    scope: Scope, conditions: Sequence[Expression], names: tuple[str, ...]
) -> Test | None:
    """All conditions as one test; None where one of them takes DuckDB.

    names : the labels of the vertex (all that the conditions test are in or out alike), or the edge's one type.

    Raises
    ------
    NotSupported : a property is of several types that have no common one.
    """
    return _all_of(Both, conditions, scope, names)


def _all_of(
    junction: type[Both] | type[Either],
    operands: Iterable[Expression],
    scope: Scope,
    names: tuple[str, ...],
) -> Test | None:
    tests: list[Test] = []
    for operand in operands:
        test = _test(operand, scope, names)
        if test is None:
            return None
        tests.append(test)
    return tests[0] if len(tests) == 1 else junction(tuple(tests))


def _test(expression: Expression, scope: Scope, names: tuple[str, ...]) -> Test | None:
    """A condition; None also where it is no boolean, which the translation refuses."""
    match expression:
        case syntax.Comparison(operator=operator, left=left, right=right):
            return _compared(operator, _side(left, scope), right, scope)
        case syntax.Connected(connective=Connective.AND, operands=operands):
            return _all_of(Both, operands, scope, names)
        case syntax.Connected(connective=Connective.OR, operands=operands):
            return _all_of(Either, operands, scope, names)
        case syntax.Not(operand=operand):
            test = _test(operand, scope, names)
            return None if test is None else Negated(test)
        case syntax.HasLabels(subject=syntax.ElementReference(), labels=labels):
            return masks.Known(has_labels(names, labels))
        case syntax.IsNull(
            operand=syntax.Property(subject=syntax.ElementReference() as element, key=key),
            negated=negated,
        ):
            scope.property_type(element, key)  # it warns of an unknown one
            return Negated(masks.Missing(key.text)) if negated else masks.Missing(key.text)
        case syntax.StringTest():
            return _string_test(expression, scope)
        case syntax.In():
            return _within(expression, scope)
        case _:
            return _boolean(_side(expression, scope))


def _boolean(side: Side | None) -> Test | None:
    match side:
        case (str() as key, TypeName.BOOLEAN):
            return masks.Holds(key)
        case (None, _):
            return masks.Known(None)
        case (Fixed(kind="bool", value=value), _):
            return masks.Known(bool(value))
    return None


# ---- operands ---------------------------------------------------------------------------------------


def _side(expression: Expression, scope: Scope) -> Side | None:
    """A property or a constant; None for anything else. A property that nothing has is null."""
    match expression:
        case syntax.Property(subject=syntax.ElementReference() as element, key=key):
            type_ = scope.property_type(element, key)
            return (None, TypeName.NULL) if type_.kind is TypeName.NULL else (key.text, type_.kind)
    find = constant if isinstance(expression, syntax.Call) else written
    try:
        return _fixed(find(expression, scope))
    except NotConstant:
        return None


def _fixed(value: Value) -> Constant | None:
    """A constant as a column has it; None where no column could have it, or it is a list or a map."""
    match value:
        case None:
            return None, TypeName.NULL
        case bool():
            return Fixed("bool", int(value)), TypeName.BOOLEAN
        case int():
            return (Fixed("int64", value), TypeName.INTEGER) if value in _INTEGERS else None
        case float():
            return Fixed("float64", value), TypeName.FLOAT
        case str():
            try:
                return Fixed("string", value.encode()), TypeName.STRING
            except UnicodeEncodeError:
                return None
        case datetime():
            if value.tzinfo is not None:
                return None
            return Fixed("datetime", temporal.instant_of(value)), TypeName.DATETIME
        case date():
            return Fixed("date", temporal.day_of(value)), TypeName.DATE
        case timedelta():
            length = temporal.length_of(value)
            return (Fixed("duration", length), TypeName.DURATION) if length in _INTEGERS else None
    return None


# ---- comparisons ------------------------------------------------------------------------------------


def _compared(
    operator: Comparator, left: Side | None, right: Expression, scope: Scope
) -> Test | None:
    other = None if left is None else _side(right, scope)
    if left is None or other is None or TypeName.LIST in (left[1], other[1]):
        return None
    one, another = left[0], other[0]
    if one is None or another is None:
        return masks.Known(None)
    symbol = _OPERATORS[operator]
    if isinstance(one, Fixed):
        one, another, symbol = another, one, masks.swapped(symbol)
    if isinstance(one, Fixed):
        return None  # two constants
    equality = operator in (Comparator.EQUAL, Comparator.UNEQUAL)
    if not alike(left[1], other[1], equality):
        keys = tuple(dict.fromkeys(key for key in (one, another) if isinstance(key, str)))
        return masks.Unlike(operator is Comparator.UNEQUAL if equality else None, keys)
    if isinstance(another, str) and left[1] is TypeName.STRING:
        return None
    return masks.Compared(symbol, one, another)


def _string_test(test: syntax.StringTest, scope: Scope) -> Test | None:
    operator = _TEXT_OPERATORS.get(test.operator)
    left = None if operator is None else _side(test.left, scope)
    right = None if left is None else _side(test.right, scope)
    if operator is None or left is None or right is None:
        return None
    if left[1] is not TypeName.STRING or right[1] is not TypeName.STRING:
        return masks.Known(None)  # openCypher: null for what is no string
    match left[0], right[0]:
        case str() as key, Fixed(value=bytes() as text):
            return masks.Text(operator, key, text)
    return None


def _within(test: syntax.In, scope: Scope) -> Test | None:
    values = written_list(test.list, scope)
    item = None if values is None else _side(test.item, scope)
    if values is None or item is None or item[1] is TypeName.LIST:
        return None
    if not values:
        return masks.Known(False)
    key, kind = item
    if key is None:
        return masks.Known(None)
    if isinstance(key, Fixed):
        return None
    missing = any(value is None for value in values)
    fixed: list[Fixed] = []
    for value in values:
        found = _fixed(value)
        if found is None:
            return None
        if found[0] is not None and alike(kind, found[1], True):
            fixed.append(found[0])
    if not fixed:
        return masks.Unlike(None if missing else False, (key,))
    if kind is TypeName.STRING and len(fixed) > _MOST_TEXTS:
        return None
    return masks.Within(key, tuple(fixed), missing)

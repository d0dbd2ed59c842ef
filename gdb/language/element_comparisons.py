"""Comparisons of two elements by a property of each, made ready to be tested while matching: `a.age < b.age`,
`f.time - e.time <= $window`, `b.at <= a.at + duration({hours: 24})`, `a.city <> b.city`, `id(a) < id(b)`, `a = b`.

Each is brought into the form `least <= right - left <= most`, or its opposite, over whole numbers by vid or edge id
(`comparison_values.py`), and bounds, the only place of parameters. What calculates with floats, with more than one
property of an element, or might overflow stays in the tail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from gdb.base.values.duration import DAY, Duration
from gdb.base.values.problems import ValueProblem
from gdb.executor.plan.plan import Compare
from gdb.functions.types import NUMBERS, TypeName
from gdb.language import syntax
from gdb.language.comparison_values import LARGEST, Side, pair
from gdb.language.constants import NotConstant, value_of
from gdb.language.name_resolution import is_id
from gdb.language.scope import Scope
from gdb.language.syntax import Comparator, Expression, walk
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value
    from gdb.executor.relational.relational_tail import Value as ParameterValue

_ANY = 1 << 62  # no difference of two values is more, and none less than its negative
_OPPOSITE = {
    Comparator.EQUAL: Comparator.UNEQUAL,
    Comparator.UNEQUAL: Comparator.EQUAL,
    Comparator.LESS: Comparator.GREATER_EQUAL,
    Comparator.LESS_EQUAL: Comparator.GREATER,
    Comparator.GREATER: Comparator.LESS_EQUAL,
    Comparator.GREATER_EQUAL: Comparator.LESS,
}
_EXACT = {  # nanoseconds that a whole number means
    TypeName.DATE: DAY,
    TypeName.DATETIME: 1_000,
}
_MIXED = set(NUMBERS)
# with which nothing is calculated here
_PLAIN = (TypeName.FLOAT, TypeName.BOOLEAN, TypeName.STRING)


@dataclass(frozen=True, slots=True)
class Compared:
    """A condition that was found to be a comparison, and what it is to the planner. kind : of its values. computed :
    they are the ranks of what expressions of the elements are, with these parameters (`computed_values`)."""

    condition: Expression
    compare: Compare
    kind: TypeName
    computed: bool = False

    def bounds(self, parameters: Mapping[str, ParameterValue]) -> tuple[int, int] | None:
        """Least and most with other values of the parameters, of the same kinds; None where that cannot be compared
        so."""
        form = None if self.computed else _form(self.condition, parameters)
        return None if form is None else form.bounds(self.kind)


def split_comparisons(
    scope: Scope, conditions: Iterable[Expression]
) -> tuple[tuple[Compared, ...], list[Expression]]:
    """The comparisons among some conditions, and the other conditions. Reads both columns of each."""
    found: list[Compared] = []
    rest: list[Expression] = []
    for condition in conditions:
        one = _compared(scope, condition)
        if one is None:
            rest.append(condition)
        else:
            found.append(one)
    return tuple(found), rest


def _compared(scope: Scope, condition: Expression) -> Compared | None:
    form = _form(condition, scope.parameters)
    if form is None:
        return None
    left, right = sides = form.left, form.right
    kinds = _kind(scope, left), _kind(scope, right)
    kind = kinds[0] if kinds[0] is kinds[1] else TypeName.FLOAT
    if kind not in (TypeName.INTEGER, *_EXACT, *_PLAIN) or (
        kind is TypeName.FLOAT and set(kinds) - _MIXED
    ):
        return None
    bounds = form.bounds(kind)
    if bounds is None:
        return None
    values = pair(
        *(scope, sides, kinds),
        calculated=form.calculated,
        unequal=form.operator is Comparator.UNEQUAL,
        ordered=form.is_not_ordered,
    )
    if values is None:
        return None
    text = " ".join(scope.text[condition.place.start : condition.place.end].split())
    edges = left.element.kind == "edge", right.element.kind == "edge"
    inside = form.operator is not Comparator.UNEQUAL
    ends = left.element.index, right.element.index
    return Compared(condition, Compare(*ends, *edges, *bounds, *values, text, inside), kind)


def _kind(scope: Scope, side: Side) -> TypeName:
    """The kind of one side."""
    if side.itself:
        return TypeName.INTEGER
    if side.key is None:
        return scope.id_type(side.element, side.element.place).kind
    return scope.property_type(side.element, side.key).kind


# ---- the form of a comparison --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Linear:
    """The sum of some sides and constants, less others.

    calculated : it is not one side alone. turned : a side was subtracted or negated on the way.
    """

    plus: tuple[Side, ...] = ()
    minus: tuple[Side, ...] = ()
    constants: tuple[tuple[int, int | float | Duration], ...] = ()  # with their sign
    calculated: bool = True
    turned: bool = False

    def and_(self, other: _Linear) -> _Linear:
        return _Linear(
            self.plus + other.plus,
            self.minus + other.minus,
            self.constants + other.constants,
            turned=self.turned or other.turned,
        )

    def negated(self) -> _Linear:
        constants = tuple((-sign, value) for sign, value in self.constants)
        return _Linear(self.minus, self.plus, constants, turned=self.has_sides)

    @property
    def has_sides(self) -> bool:
        return bool(self.plus or self.minus)

    @property
    def is_exact(self) -> bool:
        """Whether no float is added to a property."""
        beside = self.has_sides or len(self.constants) > 1
        return not (beside and any(isinstance(value, float) for _, value in self.constants))


@dataclass(frozen=True, slots=True)
class _Form:
    """first operator second, of two elements' sides: of their difference, that of `left` is subtracted. negated : NOT
    was written before it."""

    operator: Comparator
    first: _Linear
    second: _Linear
    left: Side
    right: Side
    negated: bool

    @property
    def is_not_ordered(self) -> bool:
        """Whether it is NOT of an order, which differs from the opposite order beside NaN."""
        return self.negated and self.operator not in (Comparator.EQUAL, Comparator.UNEQUAL)

    @property
    def calculated(self) -> bool:
        return self.first.calculated or self.second.calculated

    def bounds(self, kind: TypeName) -> tuple[int, int] | None:
        """What right - left is within if and only if the comparison holds (of <>, if it does not); None where the
        sides do not add up so, or might overflow."""
        than = self._than(kind)
        if than is None or (self.is_not_ordered and than != than):
            return None
        return _bounds(self.operator, than)

    def _than(self, kind: TypeName) -> Fraction | int | float | None:
        """What right - left is compared with."""
        if not self.calculated:
            return 0
        constants = [*self.second.constants, *self.first.negated().constants]
        if kind is TypeName.INTEGER:
            return self._number(constants)
        if kind not in _EXACT or not (_is_later(self.first) and _is_later(self.second)):
            return None
        total, size, unit = 0, 0, _EXACT[kind]
        for sign, value in constants:
            if not isinstance(value, Duration) or value.months:
                return None
            if kind is TypeName.DATE and value.length % DAY:
                return None  # dates leave out the rest of a day
            length = value.days * DAY + value.length
            total, size = total + sign * length, size + abs(value.days) * DAY + abs(value.length)
        return Fraction(total, unit) if size <= LARGEST * _EXACT[TypeName.DATETIME] else None

    def _number(
        self, constants: list[tuple[int, int | float | Duration]]
    ) -> Fraction | int | float | None:
        for side in (self.first, self.second):
            size = 0
            for _, value in side.constants:
                if isinstance(value, Duration):
                    return None
                size += abs(value) if isinstance(value, int) else 0
            if side.has_sides and size > LARGEST:
                return None
        numbers = [sign * value for sign, value in constants if not isinstance(value, Duration)]
        (alone,) = numbers if len(numbers) == 1 else (0,)
        if isinstance(alone, float) and not math.isfinite(alone):
            return alone
        return sum((Fraction(number) for number in numbers), Fraction())


def _is_later(side: _Linear) -> bool:
    """Whether it is one property, and durations that are added to it or subtracted."""
    return len(side.plus) == 1 and not side.minus and not side.turned


def _form(condition: Expression, parameters: Mapping[str, ParameterValue]) -> _Form | None:
    negated = isinstance(condition, syntax.Not)
    comparison = condition.operand if isinstance(condition, syntax.Not) else condition
    if not isinstance(comparison, syntax.Comparison):
        return None
    operator = _OPPOSITE[comparison.operator] if negated else comparison.operator
    match comparison.left, comparison.right:
        case syntax.ElementReference(kind="vertex"), syntax.ElementReference(kind="vertex"):
            return (
                _same(comparison.left, comparison.right) if operator is Comparator.EQUAL else None
            )
    first = _linear(comparison.left, parameters)
    second = _linear(comparison.right, parameters)
    if first is None or second is None or not (first.is_exact and second.is_exact):
        return None
    whole = first.and_(second.negated())
    if len(whole.plus) != 1 or len(whole.minus) != 1:
        return None
    (right,), (left,) = whole.plus, whole.minus
    if left.element == right.element:
        return None
    return _Form(operator, first, second, left, right, negated)


def _same(a: syntax.ElementReference, b: syntax.ElementReference) -> _Form | None:
    """That two vertices are one."""
    if a == b:
        return None
    left, right = Side(a, None, itself=True), Side(b, None, itself=True)
    first, second = (_Linear((side,), calculated=False) for side in (left, right))
    return _Form(Comparator.EQUAL, first, second, left, right, False)


def _linear(expression: Expression, parameters: Mapping[str, ParameterValue]) -> _Linear | None:
    """A sum of sides and constants; None for anything else."""
    constant = _constant(expression, parameters)
    if isinstance(constant, (int, float, Duration)) and not isinstance(constant, bool):
        return _Linear(constants=((1, constant),))
    match expression:
        case syntax.Property(subject=syntax.ElementReference() as element, key=key):
            return _Linear((Side(element, key),), calculated=False)
        case syntax.Call(arguments=(syntax.ElementReference() as element,)) if is_id(expression):
            return _Linear((Side(element, None),), calculated=False)
        case syntax.Negative(operand=operand):
            inner = _linear(operand, parameters)
            return inner.negated() if inner is not None and inner.has_sides else None
        case syntax.Arithmetic(first=first, rest=rest):
            total = _linear(first, parameters)
            for sign, operand in rest:
                inner = _linear(operand, parameters)
                if total is None or inner is None or sign not in "+-":
                    return None
                total = total.and_(inner if sign == "+" else inner.negated())
                if not total.is_exact:
                    return None
            return total if total is not None and total.has_sides else None
        case _:
            return None  # also constants that fail


def _bounds(operator: Comparator, than: Fraction | int | float) -> tuple[int, int]:
    """Within which a whole number lies that compares so with another; for <> as for =."""
    if isinstance(than, float):  # an infinity, or what nothing compares with
        if math.isnan(than):
            return 1, 0
        than = math.copysign(2 * _ANY, than)
    down, up = math.floor(than), math.ceil(than)
    match operator:
        case Comparator.LESS:
            found = -_ANY, up - 1
        case Comparator.LESS_EQUAL:
            found = -_ANY, down
        case Comparator.GREATER:
            found = down + 1, _ANY
        case Comparator.GREATER_EQUAL:
            found = up, _ANY
        case _:
            found = up, down
    least, most = (min(max(bound, -_ANY - 1), _ANY + 1) for bound in found)
    return least, most


# ---- constants -----------------------------------------------------------------------------------


def _constant(expression: Expression, parameters: Mapping[str, ParameterValue]) -> Value:
    """The value of an expression that mentions no element; None where it is null, fails, or is none of those that are
    known here: what it is then is left to the tail."""
    calls = (
        part.function.text.lower() for part in walk(expression) if isinstance(part, syntax.Call)
    )
    if any(name != "duration" for name in calls):
        return None
    try:
        return value_of(expression, parameters)
    except (ValueProblem, NotConstant):
        return None

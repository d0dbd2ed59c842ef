"""Comparisons of two elements by a property of each, made ready to be tested while matching: `a.age < b.age`,
`f.time - e.time <= 86400`.

Each side becomes an array by vid or edge id: whole numbers, dates and datetimes as they are stored, floats by their
rank among those of both sides. What calculates with more than a whole number, mentions a parameter or might overflow
stays in the tail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gdb.executor.plan import MISSING, Compare
from gdb.language.scope import Scope
from gdb.language.syntax import (
    Arithmetic,
    Comparator,
    Comparison,
    Element,
    Expression,
    Literal,
    Negative,
    Property,
)
from gdb.language.types import Kind, Type
from gdb.storage.adjacency import I64
from gdb.storage.model import Column

_LARGEST = 1 << 61  # of values and constants; their differences are below twice that
_ANY = 1 << 62
_TIMES = (Kind.DATE, Kind.DATETIME)


@dataclass(frozen=True, slots=True)
class _Linear:
    """plus - minus + constant; calculated : it was not one property alone."""

    plus: tuple[Property, ...]
    minus: tuple[Property, ...]
    constant: int
    calculated: bool

    def less(self, other: _Linear) -> _Linear:
        return _Linear(
            self.plus + other.minus,
            self.minus + other.plus,
            self.constant - other.constant,
            self.calculated or other.calculated,
        )


def compared(
    scope: Scope, conditions: Iterable[Expression]
) -> tuple[tuple[Compare, ...], list[Expression]]:
    """The comparisons among some conditions, and the other conditions. Reads both columns of each."""
    found: list[Compare] = []
    rest: list[Expression] = []
    for condition in conditions:
        compare = _compare(scope, condition)
        if compare is None:
            rest.append(condition)
        else:
            found.append(compare)
    return tuple(found), rest


def _compare(scope: Scope, condition: Expression) -> Compare | None:
    if not isinstance(condition, Comparison) or condition.operator is Comparator.UNEQUAL:
        return None
    first, second = _linear(condition.left), _linear(condition.right)
    if first is None or second is None:
        return None
    whole = first.less(second)
    if len(whole.plus) != 1 or len(whole.minus) != 1 or abs(whole.constant) > _LARGEST:
        return None
    (right,), (left,) = whole.plus, whole.minus
    one, other = left.subject, right.subject
    if not isinstance(one, Element) or not isinstance(other, Element) or one == other:
        return None
    types = scope.property_type(one, left.key), scope.property_type(other, right.key)
    values = _values(scope, (left, right), types, calculated=whole.calculated)
    if values is None:
        return None
    least, most = _bounds(condition.operator, -whole.constant)
    text = " ".join(scope.text[condition.place.start : condition.place.end].split())
    edges = one.kind == "edge", other.kind == "edge"
    return Compare(one.index, other.index, *edges, least, most, *values, text)


def _bounds(operator: Comparator, than: int) -> tuple[int, int]:
    """Within which a difference lies that compares so with a number."""
    match operator:
        case Comparator.LESS:
            return -_ANY, than - 1
        case Comparator.LESS_EQUAL:
            return -_ANY, than
        case Comparator.GREATER:
            return than + 1, _ANY
        case Comparator.GREATER_EQUAL:
            return than, _ANY
        case _:
            return than, than


def _linear(expression: Expression) -> _Linear | None:
    """A sum of properties and whole numbers; None for anything else."""
    match expression:
        case Property(subject=Element()):
            return _Linear((expression,), (), 0, calculated=False)
        case Literal(value=value) if type(value) is int:
            return _Linear((), (), value, calculated=True)
        case Negative(operand=operand):
            inner = _linear(operand)
            return None if inner is None else _Linear((), (), 0, calculated=True).less(inner)
        case Arithmetic(first=first, rest=rest):
            total = _linear(first)
            for sign, operand in rest:
                inner = _linear(operand)
                if total is None or inner is None or sign not in "+-":
                    return None
                nothing = _Linear((), (), 0, calculated=True)
                total = total.less(inner if sign == "-" else nothing.less(inner))
            return None if total is None else _Linear(total.plus, total.minus, total.constant, True)
        case _:
            return None


# ---- values --------------------------------------------------------------------------------------


def _values(
    scope: Scope, sides: tuple[Property, Property], types: tuple[Type, Type], *, calculated: bool
) -> tuple[I64, I64] | None:
    """The values of both sides; None where they cannot be whole numbers that compare as the properties do."""
    kind = types[0].kind
    if types[1].kind is not kind or types[0].item is not None:
        return None
    if kind is Kind.INTEGER or (kind in _TIMES and not calculated):
        left, right = (_whole(scope, side) for side in sides)
        return None if left is None or right is None else (left, right)
    return _ranks(scope, sides) if kind is Kind.FLOAT and not calculated else None


def _parts(scope: Scope, side: Property) -> tuple[int, list[tuple[int, int, int, Column]]]:
    """The number of vids, or of edge ids, and (first, end, row of the first, column) of each run of them."""
    element, key, snapshot = side.subject, side.key.text, scope.snapshot
    assert isinstance(element, Element)
    found: list[tuple[int, int, int, Column]] = []
    if element.kind == "edge":
        admitted = scope.types(element.index)
        for type_ in snapshot.edge_types:
            column = snapshot.edge_column(type_.name, key) if type_.name in admitted else None
            if column is not None:
                end = type_.first_eid + type_.edge_count
                found.append((type_.first_eid, end, 0, column))
        return snapshot.edge_count, found
    for number in scope.groups(element.index):
        column, row = snapshot.vertex_column(number, key), 0
        for first, end in snapshot.groups[number].ranges:
            if column is not None:
                found.append((first, end, row, column))
            row += end - first
    return snapshot.vertex_count, found


def _whole(scope: Scope, side: Property) -> I64 | None:
    """Whole numbers; None where one is too large to calculate with."""
    count, parts = _parts(scope, side)
    values = np.full(count, MISSING, np.int64)
    for first, end, row, column in parts:
        some = column.values[row : row + end - first].astype(np.int64)
        valid = _valid(column, row, end - first)
        if (valid & ((some > _LARGEST) | (some < -_LARGEST))).any():
            return None
        values[first:end] = np.where(valid, some, MISSING)
    return values


def _ranks(scope: Scope, sides: tuple[Property, Property]) -> tuple[I64, I64] | None:
    """The place of each float among the distinct ones of both sides; None where one is not a number."""
    floats = []
    for side in sides:
        count, parts = _parts(scope, side)
        values, valid = np.zeros(count, np.float64), np.zeros(count, np.bool_)
        for first, end, row, column in parts:
            values[first:end] = column.values[row : row + end - first]
            valid[first:end] = _valid(column, row, end - first)
        floats.append((values, valid))
    every = np.concatenate([values[valid] for values, valid in floats])
    if np.isnan(every).any():
        return None
    known = np.unique(every)
    left, right = (
        np.where(valid, np.searchsorted(known, values), MISSING).astype(np.int64)
        for values, valid in floats
    )
    return left, right


def _valid(column: Column, row: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if column.valid is None:
        return np.ones(count, np.bool_)
    return column.valid[row : row + count]

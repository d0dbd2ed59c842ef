"""Conditions that a property of a vertex equals a constant, or one of several: looked up by value, as those with values
of rows are (`gdb.physical.rows.row_look_ups`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.functions.types import TypeName
from gdb.language import syntax
from gdb.language.constants import written_list
from gdb.language.syntax import Comparator, Expression, Name
from gdb.storage.graph.value_index import Wanted

if TYPE_CHECKING:
    from gdb.language.scope import Scope
    from gdb.storage.graph.adjacency import I64

_PLAIN = (TypeName.INTEGER, TypeName.FLOAT, TypeName.STRING, TypeName.BOOLEAN)


def looked_up(scope: Scope, groups: Sequence[int], conditions: Sequence[Expression]) -> I64 | None:
    """The vids of some groups that satisfy all conditions, ascending; None where one of these is no equality.

    Raises
    ------
    NotSupported : a property is of several types that have no common one.
    """
    found: I64 | None = None
    for condition in conditions:
        sides = _sides(condition, scope)
        if sides is None:
            return None
        element, key, values = sides
        if scope.property_type(element, key).kind not in _PLAIN:
            return None
        both = scope.snapshot.holders(groups, key.text, Wanted(values))
        if both is None:
            return None
        vids = (both[1] if len(both[1]) < 2 else np.unique(both[1])).astype(np.int64)
        found = vids if found is None else np.intersect1d(found, vids, assume_unique=True)
    return found


def is_equality(condition: Expression, scope: Scope) -> bool:
    """Whether a condition is one."""
    return _sides(condition, scope) is not None


def _sides(
    condition: Expression, scope: Scope
) -> tuple[syntax.ElementReference, Name, Sequence[object]] | None:
    """A property of an element, and the constants that it may equal."""
    values: Sequence[object] | None
    match condition:
        case syntax.Comparison(operator=Comparator.EQUAL, left=left, right=right):
            subject, other = (left, right) if isinstance(left, syntax.Property) else (right, left)
            values = written_list(syntax.ListLiteral((other,), other.place), scope)
        case syntax.In(item=subject, list=several):
            values = written_list(several, scope)
        case _:
            return None
    match subject:
        case syntax.Property(
            subject=syntax.ElementReference(kind="vertex") as element, key=key
        ) if values is not None:
            return element, key, values
    return None

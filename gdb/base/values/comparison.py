"""Equality, order and grouping of values.

These are three questions in the language. `equal` and `less` and so on are those of expressions: they know null
(None), which is neither equal nor different. `sort_key` puts all values into one order, for ORDER BY, min and max.
`group_key` is for DISTINCT and grouping, where null is the same as null, and NaN as NaN.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.allowance import here, paced
from gdb.base.values import times
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

Key: TypeAlias = tuple[object, ...]
_KEY, _POINTER, _ITEM = 56, 8, 120  # bytes of a key's tuple, of an item in it, of one in a set

# ---- equality ------------------------------------------------------------------------------------


def equal(a: Value, b: Value) -> bool | None:
    """a = b; None where a null decides.

    Examples
    --------
    >>> equal(1, 1.0), equal(1, "1"), equal([1, None], [1, 2]), equal([1, None], [2, None])
    (True, False, None, False)
    """
    if a is None or b is None:
        return None
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b  # Python takes True for 1
    if isinstance(a, (int, float, str)):
        return a == b
    if isinstance(a, list):
        return _equal_lists(a, b) if isinstance(b, list) else False
    if isinstance(a, dict):
        return _equal_maps(a, b) if isinstance(b, dict) else False
    if isinstance(a, (NodeValue, RelationshipValue)):
        return a is b
    return type(a) is type(b) and a == b


def _equal_lists(a: Sequence[Value], b: Sequence[Value]) -> bool | None:
    if len(a) != len(b):
        return False
    result: bool | None = True
    for left, right in paced(zip(a, b, strict=True), len(a)):
        same = equal(left, right)
        if same is False:
            return False  # whatever the nulls are
        if same is None:
            result = None
    return result


def _equal_maps(a: dict[str, Value], b: dict[str, Value]) -> bool | None:
    if a.keys() != b.keys():
        return False
    return _equal_lists(list(a.values()), [b[key] for key in a])


# ---- comparison ----------------------------------------------------------------------------------


def compare(a: Value, b: Value) -> float | None:
    """Below 0 where a < b, 0 where they are equal, above 0 where a > b; None where they cannot be compared; NaN where
    every comparison is false because it involves a NaN."""
    if type(a) is int and type(b) is int:  # the usual case first
        return a - b
    if isinstance(a, bool) or isinstance(b, bool):
        return a - b if isinstance(a, bool) and isinstance(b, bool) else None
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if a < b:
            return -1
        return 0 if a == b else 1 if a > b else math.nan
    if isinstance(a, str) and isinstance(b, str):
        return -1 if a < b else int(a > b)
    if isinstance(a, list) and isinstance(b, list):
        return _compare_lists(a, b)
    if times.is_temporal(a) and times.is_temporal(b):
        return _compare_times(a, b)
    return None


def _compare_lists(a: Sequence[Value], b: Sequence[Value]) -> float | None:
    """By the first items that differ, else by length."""
    for left, right in paced(zip(a, b, strict=False), len(a)):
        order = compare(left, right)
        if order is None and equal(left, right):
            continue  # maps and elements have no order, yet these are the same
        if order != 0:
            return order
    return len(a) - len(b)


def _compare_times(a: Value, b: Value) -> float | None:
    if times.less(a, b):
        return -1
    after = times.less(b, a)
    if after is None:
        return None
    return 1 if after else 0


def less(a: Value, b: Value) -> bool | None:
    """a < b"""
    order = compare(a, b)
    return None if order is None else order < 0


def less_equal(a: Value, b: Value) -> bool | None:
    """a <= b"""
    order = compare(a, b)
    return None if order is None else order <= 0


def greater(a: Value, b: Value) -> bool | None:
    """a > b"""
    order = compare(a, b)
    return None if order is None else order > 0


def greater_equal(a: Value, b: Value) -> bool | None:
    """a >= b"""
    order = compare(a, b)
    return None if order is None else order >= 0


# ---- order ---------------------------------------------------------------------------------------


# The types as ORDER BY puts them; NaN and null come after all others.
_MAP, _NODE, _RELATIONSHIP, _LIST, _PATH, _TEMPORAL, _STRING, _BOOLEAN, _NUMBER, _NAN, _NULL = (
    range(11)
)


def sort_key(value: Value) -> Key:
    """A key that puts all values into one ascending order: maps, nodes, relationships, lists, paths, temporal values,
    strings, booleans, numbers, NaN, null.

    Examples
    --------
    >>> sorted([None, 1, "a", [2], [1], True], key=sort_key)
    [[1], [2], 'a', True, 1, None]
    """
    if value is None:
        return (_NULL,)
    if isinstance(value, bool):
        return (_BOOLEAN, value)
    if isinstance(value, (int, float)):
        return (_NUMBER, value) if value == value else (_NAN,)
    if isinstance(value, str):
        return (_STRING, value)
    if isinstance(value, list):
        here().make(_KEY + _POINTER * len(value), "keys of lists")
        return (_LIST, tuple(sort_key(item) for item in paced(value, len(value))))
    if isinstance(value, dict):
        return _map_key(value)
    return _element_key(value)


def _map_key(value: dict[str, Value]) -> Key:
    here().make(_KEY + 2 * _POINTER * len(value), "keys of maps")
    keys = sorted(value)
    return (
        _MAP,
        len(keys),
        tuple(keys),
        tuple(sort_key(value[key]) for key in paced(keys, len(keys))),
    )


def _element_key(value: Value) -> Key:
    match value:
        case NodeValue():
            # Ids are numbers in one space and strings in another, and Python does not compare those.
            return (_NODE, value.id_space, isinstance(value.id, str), value.id)
        case RelationshipValue():
            return (_RELATIONSHIP, value.id)
        case PathValue():
            nodes = tuple(_element_key(node) for node in value.nodes)
            edges = tuple(_element_key(edge) for edge in value.relationships)
            return (_PATH, len(value), nodes, edges)
        case _:
            return (_TEMPORAL, *times.order_key(value))


# ---- grouping ------------------------------------------------------------------------------------


def group_key(value: Value) -> Hashable:
    """A key that two values share where DISTINCT takes them for the same: 1 and 1.0, null and null, NaN and NaN; not
    true and 1."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return (_BOOLEAN, value)  # the hash of True is that of 1
    if isinstance(value, (int, float)):
        return value if value == value else (_NAN,)
    if isinstance(value, list):
        here().make(_KEY + _POINTER * len(value), "keys of lists")
        return (_LIST, *map(group_key, paced(value, len(value))))
    if isinstance(value, dict):
        here().make(_KEY + _ITEM * len(value), "keys of maps")
        items = paced(value.items(), len(value))
        return (_MAP, frozenset((key, group_key(item)) for key, item in items))
    if isinstance(value, (NodeValue, RelationshipValue, PathValue)):
        return value
    return times.group_key(value)

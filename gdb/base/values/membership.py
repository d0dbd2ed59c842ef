"""IN: whether an item equals one of a list.

A list that is gone through again, the same object, gets a set of its items, which is kept until the run of the query
ends. What a set cannot answer stays a list that is gone through: lists and maps, for a null in one of them leaves the
answer open, and temporal values, whose equality is not that of their keys.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from gdb.base.allowance import Remembered, here, paced
from gdb.base.values.comparison import equal, group_key
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.naming import refusal

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

_KEYED = (bool, int, float, str, NodeValue, RelationshipValue, PathValue)
"""Types of values that are equal to another one exactly if the keys of both are (`group_key`), and to none of another
type; but for NaN."""
_ITEM = 120  # bytes of an item in a set
SHORT = 16
"""Items up to which a list is gone through each time."""
MOST = 4
"""Lists of a run that are known at once."""


def is_contained(item: Value, values: Value) -> bool | None:
    """item IN values: true where one equals it, else null where one might.

    Raises
    ------
    ValueProblem : `values` is no list. OutOfBudget, Cancelled, QueryTimeout.
    """
    if values is None:
        return None
    if not isinstance(values, list):
        raise refusal("IN", "a list on its right", values)
    if len(values) > SHORT:
        members = _known(values)
        if members is not None:
            return members.find(item)
    return _any_equal(item, values)


class ListMembers:
    """The items of a list, for look-ups. Raises OutOfBudget, Cancelled, QueryTimeout."""

    __slots__ = ("_known", "_missing", "_others", "count")

    def __init__(self, values: Sequence[Value]) -> None:
        known: set[Hashable] = set()
        self._others: list[Value] = []
        self._missing: bool | None = False  # the answer where none equals an item
        for value in paced(values, len(values)):
            if value is None:
                self._missing = None
            elif not isinstance(value, _KEYED):
                self._others.append(value)
            elif value == value:  # not NaN
                known.add(group_key(value))
        self._known, self.count = known, len(values)

    def find(self, item: Value) -> bool | None:
        """item IN the list."""
        if item is None:
            return None if self.count else False
        if isinstance(item, _KEYED):  # a NaN equals nothing
            return True if item == item and group_key(item) in self._known else self._missing
        found = _any_equal(item, self._others)
        return self._missing if found is False else found


def _any_equal(item: Value, values: Sequence[Value]) -> bool | None:
    result: bool | None = False
    for value in paced(values, len(values)):
        same = equal(item, value)
        if same:
            return True
        if same is None:
            result = None
    return result


def _known(values: list[Value]) -> ListMembers | None:
    """The look-up of a list that comes again; None where it comes for the first time, or where there is no memory for
    one."""
    allowance = here()
    kept = allowance.remembered
    if kept is None:
        return None
    one = kept.get(id(values))
    if one is None:
        while len(kept) >= MOST:
            allowance.forget(next(iter(kept)))
        kept[id(values)] = Remembered(values, None, 0)
        return None
    if isinstance(one.made, ListMembers):
        return one.made
    size = _ITEM * len(values)
    if allowance.made + allowance.kept + size >= allowance.limit:
        return None
    made = ListMembers(values)
    allowance.keep(size, "look-ups of lists")
    kept[id(values)] = Remembered(values, made, size)
    return made

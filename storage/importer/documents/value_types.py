"""The types of a document's values where bad elements are skipped: each must go with those before it."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.records import dataclass, field, replace

from ...columns.model import LIST_OF, ROUNDED, Item, Kind, PropertyValue, is_exact, named
from ...columns.python_columns import shown
from ..properties import Owner, Properties
from ..report import Fault
from .elements import Edge, Node

_KINDS: dict[type, Kind] = {bool: "bool", int: "int64", float: "float64", str: "string"}
_CURE = "Give values of one type, for example texts, or give some of them another name."


class _Misfit(Exception):
    """A value does not go with those before it; the message says why, a verb first."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known of a property. kind : of its values, or of their items; None where none has one.

    lists : whether its values are lists; None before the first. rounds : whether one holds an integer that is no float
    without loss.
    """

    kind: Kind | None = None
    lists: bool | None = None
    rounds: bool = False

    def with_value(self, value: PropertyValue) -> _Seen:
        """The same once a value is there as well. Raises _Misfit."""
        alike = self.lists is False and _KINDS.get(type(value)) == self.kind
        if alike and (not isinstance(value, int) or is_exact(value)):  # most often
            return self
        if self.lists not in (None, isinstance(value, list)):
            raise _Misfit(
                "is no list as those before it"
                if self.lists
                else "is a list, and none is before it"
            )
        seen = replace(self, lists=isinstance(value, list))
        for item in value if isinstance(value, list) else [value]:
            assert item is not None
            why = seen.why_not(item)
            if why:
                raise _Misfit(why if item is value else f"holds {shown(item)}, which {why}")
            seen = seen.with_item(item)
        return seen

    def why_not(self, item: Item) -> str:
        """Why an item does not go with those that are there, "" where it does."""
        own = _KINDS[type(item)]
        numbers = {own, self.kind} <= {"int64", "float64"}
        if self.kind is not None and own != self.kind and not numbers:
            return f"is none of the {named(self.kind)} before it"
        if own == "float64" and self.rounds:
            return f"is a float, beside {ROUNDED}"
        if self.kind == "float64" and isinstance(item, int) and not is_exact(item):
            return f"is {ROUNDED}, beside floats"
        return ""

    def with_item(self, item: Item) -> _Seen:
        own = _KINDS[type(item)]
        rounds = self.rounds or (isinstance(item, int) and not is_exact(item))
        return replace(self, kind="float64" if self.kind == "float64" else own, rounds=rounds)

    def column_kind(self) -> Kind | None:
        """The kind of a column of these values; None where all are empty lists."""
        return None if self.kind is None else LIST_OF[self.kind] if self.lists else self.kind


@dataclass(slots=True)
class ValueTypes:
    """The types of what a document holds so far, beside those of the graph and of the files before it."""

    properties: Properties
    _seen: dict[tuple[Owner, str], _Seen] = field(default_factory=dict)

    def fault(self, element: Node | Edge, owners: Sequence[Owner]) -> Fault | None:
        """Take in the values of an element, unless one does not go with those before it under one of its owners."""
        found: dict[tuple[Owner, str], _Seen] = {}
        for key, value in element.values.items():
            if value is None:
                continue
            for owner in owners:
                try:
                    found[owner, key] = self._with_value(owner, key, value)
                except _Misfit as why:
                    reason = f"{element.name}: {key!r} is {shown(value)}, which {why}"
                    return Fault(reason, _CURE)
        self._seen.update(found)
        return None

    def _with_value(self, owner: Owner, key: str, value: PropertyValue) -> _Seen:
        before = self._seen.get((owner, key), _Seen())
        seen = before.with_value(value)
        kind = seen.column_kind()
        if seen is before or kind is None:
            return seen
        if self.properties.refuses(owner, key, kind, rounds=seen.rounds):
            known = self.properties.kind_of(owner, key)
            where = "in the graph or in another file"
            raise _Misfit(f"does not go with the values of type {known} {where}")
        return seen

"""Static types: the kind of a value, as far as the text of a query shows it, for the checks before anything runs.

`gdb.functions.types` knows more, of a query whose properties were looked up in a store; here a
property may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from gdb.records import dataclass


class Kind(StrEnum):
    """The kind of a value, in the user's words."""

    VALUE = "a value"  # nothing is known
    NULL = "null"
    NODE = "a node"
    RELATIONSHIP = "a relationship"
    PATH = "a path"
    INTEGER = "an integer"
    FLOAT = "a float"
    STRING = "a string"
    BOOLEAN = "a boolean"
    TEMPORAL = "a date or time"
    DURATION = "a duration"
    MAP = "a map"
    LIST = "a list"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a value; `item` of a list's items. An optional match may still make it null."""

    kind: Kind
    item: Known | None = None

    def may_be(self, kinds: Iterable[Kind]) -> bool:
        """Whether it can be of one of these kinds; null and what is not known can be anything."""
        return self.kind in (Kind.VALUE, Kind.NULL) or self.kind in kinds

    @property
    def items(self) -> Known:
        """What is known of its items."""
        return self.item or VALUE

    def __str__(self) -> str:
        if self.item is None or self.item.kind in (Kind.VALUE, Kind.NULL):
            return str(self.kind)
        several = f"{self.item.kind.partition(' ')[2]}s"
        return f"a list of {'dates or times' if self.item.kind is Kind.TEMPORAL else several}"


VALUE, NULL = Known(Kind.VALUE), Known(Kind.NULL)
NODE, RELATIONSHIP, PATH = Known(Kind.NODE), Known(Kind.RELATIONSHIP), Known(Kind.PATH)
INTEGER, FLOAT, STRING = Known(Kind.INTEGER), Known(Kind.FLOAT), Known(Kind.STRING)
BOOLEAN, MAP, LIST = Known(Kind.BOOLEAN), Known(Kind.MAP), Known(Kind.LIST)
TEMPORAL, DURATION = Known(Kind.TEMPORAL), Known(Kind.DURATION)

ELEMENTS = (Kind.NODE, Kind.RELATIONSHIP)
NUMBERS = (Kind.INTEGER, Kind.FLOAT)


def list_of(item: Known) -> Known:
    """The type of lists with items of that type."""
    return Known(Kind.LIST, item)


def common(several: Iterable[Known]) -> Known:
    """What is known of a value that is one of several; null beside another kind adds nothing.

    Examples
    --------
    >>> common([INTEGER, NULL]) == INTEGER
    True
    >>> common([INTEGER, STRING]) == VALUE
    True
    """
    kinds = set(several)
    if len(kinds) > 1:
        kinds.discard(NULL)
    if len(kinds) == 1:
        return kinds.pop()
    if kinds and all(known.kind is Kind.LIST for known in kinds):
        return LIST
    return VALUE

"""Types of values as a query names them, and the tests that do: `x IS :: LIST<INTEGER NOT NULL>`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.language.syntax import Expression, Place

NormalForm: TypeAlias = OneOf["NFC", "NFD", "NFKC", "NFKD"]
NAMES = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), "BOOLEAN"),
    **dict.fromkeys(("STRING", "VARCHAR"), "STRING"),
    **dict.fromkeys(("INTEGER", "INT", "SIGNED INTEGER", "INTEGER64", "INT64"), "INTEGER"),
    **dict.fromkeys(("FLOAT", "FLOAT64"), "FLOAT"),
    "DATE": "DATE",
    **dict.fromkeys(("LOCAL TIME", "TIME WITHOUT TIMEZONE"), "LOCAL TIME"),
    **dict.fromkeys(("ZONED TIME", "TIME WITH TIMEZONE"), "ZONED TIME"),
    **dict.fromkeys(("LOCAL DATETIME", "TIMESTAMP WITHOUT TIMEZONE"), "LOCAL DATETIME"),
    **dict.fromkeys(("ZONED DATETIME", "TIMESTAMP WITH TIMEZONE"), "ZONED DATETIME"),
    "DURATION": "DURATION",
    **dict.fromkeys(("MAP", "ANY MAP"), "MAP"),
    **dict.fromkeys(("NODE", "ANY NODE", "VERTEX", "ANY VERTEX"), "NODE"),
    **dict.fromkeys(("RELATIONSHIP", "ANY RELATIONSHIP", "EDGE", "ANY EDGE"), "RELATIONSHIP"),
    "PATH": "PATH",
    "NULL": "NULL",
    "NOTHING": "NOTHING",
    **dict.fromkeys(("PROPERTY VALUE", "ANY PROPERTY VALUE"), "PROPERTY VALUE"),
    **dict.fromkeys(("ANY", "ANY VALUE"), "ANY"),
}
"""The types without parts, as they may be written, and as they are printed."""


@dataclass(frozen=True, slots=True)
class OneType:
    """name : one of the values of NAMES, or LIST. nullable : whether null is of it. items : of a list."""

    name: str
    nullable: bool = True
    items: ValueType | None = None

    def __str__(self) -> str:
        inner = "" if self.items is None else f"<{self.items}>"
        return self.name + inner + " NOT NULL" * (not self.nullable)


@dataclass(frozen=True, slots=True)
class ValueType:
    """One of several types: INTEGER | FLOAT."""

    alternatives: tuple[OneType, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.alternatives))


@dataclass(frozen=True, slots=True)
class IsTyped:
    """operand IS [NOT] :: type"""

    operand: Expression
    type: ValueType
    negated: bool
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class IsNormalized:
    """operand IS [NOT] form NORMALIZED"""

    operand: Expression
    form: NormalForm
    negated: bool
    place: Place = field(compare=False)

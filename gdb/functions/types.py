"""Types of values, and SQL with its type: what the translation of expressions works on.

A property has one type wherever a query means it (the store's columns are typed), so that every expression has a type
before it runs, and what Cypher decides value by value (`1 = 'a'` is false, `1 < 'a'` is null) is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.base.sql import exp
    from gdb.executor.relational.relational_tail import Value
    from gdb.storage.columns.model import Kind as StoreKind


class TypeName(StrEnum):
    """The type of a value, in the user's words."""

    INTEGER = "an integer"
    FLOAT = "a float"
    BOOLEAN = "a boolean"
    STRING = "a string"
    DATE = "a date"
    DATETIME = "a datetime"
    DURATION = "a duration"
    NULL = "null"
    NODE = "a node"
    RELATIONSHIP = "a relationship"
    LIST = "a list"


@dataclass(frozen=True, slots=True)
class Type:
    """`item` is the type of a list's items (NULL where it has none), else None."""

    kind: TypeName
    item: TypeName | None = None

    def __str__(self) -> str:
        return self.kind if self.item is None else f"{self.kind}, each item {self.item}"


INTEGER, FLOAT, BOOLEAN = Type(TypeName.INTEGER), Type(TypeName.FLOAT), Type(TypeName.BOOLEAN)
STRING, NULL = Type(TypeName.STRING), Type(TypeName.NULL)
DATE, DATETIME, DURATION = Type(TypeName.DATE), Type(TypeName.DATETIME), Type(TypeName.DURATION)
NODE, RELATIONSHIP = Type(TypeName.NODE), Type(TypeName.RELATIONSHIP)

NUMBERS = (TypeName.INTEGER, TypeName.FLOAT)
TIMES = (TypeName.DATE, TypeName.DATETIME, TypeName.DURATION)
SCALARS = (TypeName.INTEGER, TypeName.FLOAT, TypeName.BOOLEAN, TypeName.STRING, *TIMES)
# but "any": what mentions such a property runs over rows (`Scope.property_type`)
OF_STORE: dict[StoreKind, Type] = {
    "int64": INTEGER,
    "float64": FLOAT,
    "bool": BOOLEAN,
    "string": STRING,
    "date": DATE,
    "datetime": DATETIME,
    "duration": DURATION,
    "int64[]": Type(TypeName.LIST, TypeName.INTEGER),
    "float64[]": Type(TypeName.LIST, TypeName.FLOAT),
    "bool[]": Type(TypeName.LIST, TypeName.BOOLEAN),
    "string[]": Type(TypeName.LIST, TypeName.STRING),
    "date[]": Type(TypeName.LIST, TypeName.DATE),
    "datetime[]": Type(TypeName.LIST, TypeName.DATETIME),
    "duration[]": Type(TypeName.LIST, TypeName.DURATION),
}
_SQL = {
    TypeName.INTEGER: "BIGINT",
    TypeName.FLOAT: "DOUBLE",
    TypeName.BOOLEAN: "BOOLEAN",
    TypeName.STRING: "VARCHAR",
    TypeName.DATE: "DATE",
    TypeName.DATETIME: "TIMESTAMP",
    TypeName.DURATION: "BIGINT",  # microseconds, see `Column.in_sql`
    TypeName.NULL: "BIGINT",
}


@dataclass(frozen=True, slots=True)
class Constant:
    """The value of an expression that is a literal or a parameter."""

    value: Value


@dataclass(frozen=True, slots=True)
class Typed:
    """SQL for DuckDB and the type of its values."""

    sql: exp.Expr
    type: Type
    constant: Constant | None = field(default=None)

    @property
    def kind(self) -> TypeName:
        """The kind of its type."""
        return self.type.kind

    @property
    def is_number(self) -> bool:
        """Whether it is an integer or a float."""
        return self.kind in NUMBERS

    @property
    def is_null(self) -> bool:
        """Whether it is null in every row."""
        return self.kind is TypeName.NULL


def sql_type(type_: Type) -> str:
    """The name of a type in DuckDB."""
    if type_.kind is TypeName.LIST and type_.item is not None:
        return _SQL[type_.item] + "[]"
    return _SQL[type_.kind]


def in_columns(value: Value) -> bool:
    """Whether a parameter's value means in DuckDB what it means in the language. A datetime with a zone does not, and
    DuckDB has no times of day, nanoseconds and months."""
    match value:
        case list() | tuple():
            return all(map(in_columns, value))
        case datetime():
            return value.tzinfo is None
        case None | bool() | int() | float() | str() | date() | timedelta() | Mapping():
            return True
    return False


def type_of(value: Value) -> Type | None:
    """The type of a parameter or literal; None for a map, and for a list of unlike values."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return INTEGER
        case float():
            return FLOAT
        case str():
            return STRING
        case datetime():  # before date, which it is too
            return DATETIME
        case date():
            return DATE
        case timedelta():
            return DURATION
        case Sequence():
            kinds = {t.kind if (t := type_of(item)) else TypeName.LIST for item in value} - {
                TypeName.NULL
            }
            if len(kinds) > 1 or not kinds <= set(SCALARS):
                return None
            return Type(TypeName.LIST, kinds.pop() if kinds else TypeName.NULL)
    return None


def common_kind(kinds: Sequence[TypeName] | set[TypeName]) -> TypeName | None:
    """The one kind that holds scalar values of all kinds; NULL for no kinds, None where there is none."""
    distinct = set(kinds)
    if not distinct:
        return TypeName.NULL
    if distinct <= set(NUMBERS) and len(distinct) == 2:
        return TypeName.FLOAT
    return distinct.pop() if len(distinct) == 1 and distinct <= set(SCALARS) else None


def alike(left: TypeName, right: TypeName, equality: bool) -> bool:
    """Whether values of two kinds can be compared: for equality, or for order, which durations have not."""
    if left in NUMBERS and right in NUMBERS:
        return True
    return left is right and (equality or (left in SCALARS and left is not TypeName.DURATION))

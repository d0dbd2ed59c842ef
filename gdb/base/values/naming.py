"""Names of value types, in messages and for `valueType`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.base.allowance import paced
from gdb.base.values import temporal
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.problems import ValueProblem

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

_ORDER = (
    *(
        "NOTHING",
        "NULL",
        "BOOLEAN",
        "STRING",
        "INTEGER",
        "FLOAT",
        "DATE",
        "LOCAL TIME",
        "ZONED TIME",
    ),
    *(
        "LOCAL DATETIME",
        "ZONED DATETIME",
        "DURATION",
        "NODE",
        "RELATIONSHIP",
        "MAP",
        "LIST",
        "PATH",
    ),
)
"""The types in the order in which `valueType` has those of a list's items, which is Neo4j's."""
_PLACES = {name: place for place, name in enumerate(_ORDER)}
_SHOWN = {"INTEGER": "an integer", "NULL": "null"}


def kind(value: Value) -> str:
    """The type's name in capitals, as in "INTEGER"; of null it is "NULL".

    Examples
    --------
    >>> kind(True), kind(1), kind([])
    ('BOOLEAN', 'INTEGER', 'LIST')
    """
    match value:
        case None:
            return "NULL"
        case bool():  # before int, its base class in Python
            return "BOOLEAN"
        case int():
            return "INTEGER"
        case float():
            return "FLOAT"
        case str():
            return "STRING"
        case list():
            return "LIST"
        case dict():
            return "MAP"
        case NodeValue():
            return "NODE"
        case RelationshipValue():
            return "RELATIONSHIP"
        case PathValue():
            return "PATH"
        case _:
            return temporal.kind(value)


def type_phrase(value: Value) -> str:
    """The type with its article, as in "an integer"."""
    name = kind(value)
    return _SHOWN.get(name, f"a {name.lower()}")


def refusal(what: str, takes: str, value: Value) -> ValueProblem:
    """The problem of a function or operator `what` that takes `takes` and got `value`."""
    return ValueProblem("type", f"{what} takes {takes}, and this is {type_phrase(value)}.")


def value_type(value: Value) -> str:
    """What valueType() says, as in "LIST<INTEGER NOT NULL> NOT NULL"."""
    if value is None:
        return "NULL"
    if not isinstance(value, list):
        return f"{kind(value)} NOT NULL"
    found = {value_type(item) for item in paced(value, len(value))}
    if "NULL" in found and len(found) > 1:  # a type that admits null says it of itself
        found = {name.removesuffix(" NOT NULL") for name in found if name != "NULL"}
    inner = " | ".join(sorted(found, key=_place)) or "NOTHING"
    return f"LIST<{inner}> NOT NULL"


def _place(name: str) -> tuple[list[int], str]:
    """The place of a type's name among others; lists are in the order of the types of their items."""
    plain = name.replace(" NOT NULL", "").replace(">", "").replace("<", " | ")
    return [_PLACES[one] for one in plain.split(" | ")], name

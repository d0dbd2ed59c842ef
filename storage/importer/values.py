"""What type the texts of a CSV column have, as conditions for DuckDB.

DuckDB's own casts are too kind for data that must come back as it was: they round '1.5' to an
integer, and read '1_000' and '0x1F'.
"""

from __future__ import annotations

from gdb.storage import temporal
from gdb.storage.engine import SQL_TYPES
from gdb.storage.model import Kind

INTEGER = r"\s*[+-]?[0-9]+\s*"
_NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_NO_NUMBER = r"\s*[+-]?(nan|NaN|NAN|inf|Inf|INF|[iI]nfinity|INFINITY)\s*"
# a leading zero (a postcode, a phone number) is text that must come back as it was
_CODE = r"\s*([+][0-9]|-?0[0-9]).*"
INFERRED: tuple[Kind, ...] = ("int64", "float64", "bool")


def _is(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, '{pattern}')"


def value(text: str, kind: Kind) -> str:
    """The value of a text column, NULL where it does not fit; empty text is NULL but for strings."""
    match kind:
        case "string":
            return text
        case "date" | "datetime" | "duration":
            return temporal.read_sql(text, kind)
        case _:
            return f"TRY_CAST(nullif({text}, '') AS {SQL_TYPES[kind]})"


def number(value: str, kind: Kind) -> str:
    """What a column of the kind holds of a value that is no string."""
    match kind:
        case "date":
            return f"{value} - DATE '1970-01-01'"
        case "datetime":
            return f"epoch_us({value})"
        case _:
            return value


def misfit(text: str, kind: Kind) -> str:
    """Where a text is no value of a declared kind."""
    none = f"{value(text, kind)} IS NULL"
    wrong = {
        "int64": f"NOT {_is(text, INTEGER)} OR {none}",
        "float64": f"NOT ({_is(text, _NUMBER)} OR {_is(text, _NO_NUMBER)}) OR {none}"
        f" OR (isinf({value(text, kind)}) AND {_is(text, _NUMBER)})",
        "string": "false",
    }.get(kind, none)
    return f"{text} <> '' AND ({wrong})"


def surprise(text: str, kind: Kind) -> str:
    """Where a text keeps an undeclared column from being of a kind."""
    extra = {
        "int64": f"{_is(text, _CODE)}",
        "float64": f"{_is(text, _CODE)}",
        "bool": f"lower({text}) NOT IN ('true', 'false')",
    }.get(kind, "false")
    return f"({misfit(text, kind)}) OR ({text} <> '' AND {extra})"


def is_digits(text: str) -> str:
    """Where a text is an integer of any length."""
    return _is(text, INTEGER)


def is_no_number(text: str) -> str:
    """Where a text is a NaN or an infinity, which alone make no column of numbers."""
    return _is(text, _NO_NUMBER)

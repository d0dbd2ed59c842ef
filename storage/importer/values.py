"""What type the texts of a CSV column have, as conditions for DuckDB.

DuckDB's own casts are too kind for data that must come back as it was: they round '1.5' to an
integer, and read '1_000' and '0x1F'.
"""

from __future__ import annotations

import re

from gdb.storage import temporal
from gdb.storage.engine import SQL_TYPES
from gdb.storage.kinds import EXACT
from gdb.storage.model import ITEM_OF, Kind

INTEGER = r"\s*[+-]?[0-9]+\s*"
_NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_NO_NUMBER = r"\s*[+-]?(nan|NaN|NAN|inf|Inf|INF|[iI]nfinity|INFINITY)\s*"
# a leading zero (a postcode, a phone number) is text that must come back as it was
_CODE = r"\s*([+][0-9]|-?0[0-9]).*"
_LONG = len(str(EXACT))  # no shorter text is an integer beyond
INFERRED: tuple[Kind, ...] = ("int64", "float64", "bool")


# the items of a list: neo4j-admin's delimiter, and the name of one in SQL
DELIMITER = ";"
_ITEM = "item"


def _split(text: str) -> str:
    return f"string_split({text}, '{DELIMITER}')"


def _each(items: str, text: str) -> str:
    """The items of a text; an empty one has none."""
    return f"CASE WHEN {text} = '' THEN [] ELSE {items} END"


def unescaped(list_: str) -> str:
    """The items of a list of strings as an export wrote them, see `escaped`."""
    plain = f"replace(replace(replace({_ITEM}, '\\s', ';'), '\\e', ''), '\\b', '\\')"
    return f"list_transform({list_}, lambda {_ITEM}: {plain})"


def escaped(list_: str) -> str:
    """The items of a list of strings as an export writes them: with \\s for the delimiter, \\b for a backslash, and
    \\e for an empty item, so that a list of one is not an empty list."""
    plain = f"replace(replace({_ITEM}, '\\', '\\b'), ';', '\\s')"
    return (
        f"list_transform({list_}, lambda {_ITEM}: CASE {_ITEM} WHEN '' THEN '\\e' ELSE {plain} END)"
    )


def joined(list_: str, kind: Kind) -> str:
    """A list as one text."""
    item = ITEM_OF[kind]
    if item == "string":
        items = escaped(list_)
    else:
        items = f"list_transform({list_}, lambda {_ITEM}: {temporal.written_sql(_ITEM, item)})"
    return f"array_to_string({items}, '{DELIMITER}')"


def _is(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, '{pattern}')"


def value(text: str, kind: Kind) -> str:
    """The value of a text column, NULL where it does not fit; empty text is NULL but for strings."""
    if kind in ITEM_OF:
        of_item = value(_ITEM, ITEM_OF[kind])
        return _each(f"list_transform({_split(text)}, lambda {_ITEM}: {of_item})", text)
    match kind:
        case "string" | "any":
            return text
        case "date" | "datetime" | "duration":
            return temporal.read_sql(text, kind)
        case _:
            return f"TRY_CAST(nullif({text}, '') AS {SQL_TYPES[kind]})"


def number(value: str, kind: Kind) -> str:
    """What a column of the kind holds of a value that is no string and no list."""
    match kind:
        case "date":
            return f"{value} - DATE '1970-01-01'"
        case "datetime":
            return f"epoch_us({value})"
        case _:
            return value


def misfit(text: str, kind: Kind) -> str:
    """Where a text is no value of a declared kind."""
    if kind in ITEM_OF:
        item = ITEM_OF[kind]
        empty = "false" if item == "string" else f"{_ITEM} = ''"
        wrong = f"lambda {_ITEM}: {empty} OR ({misfit(_ITEM, item)})"
        return f"{text} <> '' AND len(list_filter({_split(text)}, {wrong})) > 0"
    none = f"{value(text, kind)} IS NULL"
    wrong = {
        "int64": f"NOT {_is(text, INTEGER)} OR {none}",
        "float64": f"NOT ({_is(text, _NUMBER)} OR {_is(text, _NO_NUMBER)}) OR {none}"
        f" OR (isinf({value(text, kind)}) AND {_is(text, _NUMBER)})",
        "string": "false",
        "any": "false",  # DuckDB cannot tell, see `Table.reject_misread`
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


def is_rounded(text: str) -> str:
    """Where a text is an integer that no float is exactly, as far as is known (`gdb.storage.kinds`)."""
    # few texts are that long; all others are told by their length
    whole = f"TRY_CAST({text} AS BIGINT)"
    inside = f"{whole} BETWEEN {-EXACT} AND {EXACT}"
    return f"length({text}) >= {_LONG} AND {is_digits(text)} AND NOT coalesce({inside}, false)"


def is_text_of(text: str, kind: Kind) -> bool:
    """Whether a text would be read as a number or a boolean, in Python; False for other kinds."""
    match kind:
        case "int64" | "float64" if re.fullmatch(_CODE, text):
            return False
        case "int64":
            return bool(re.fullmatch(INTEGER, text)) and -(1 << 63) <= int(text) < 1 << 63
        case "float64":
            return bool(re.fullmatch(f"{_NUMBER}|{_NO_NUMBER}", text))
        case "bool":
            return text.lower() in ("true", "false")
    return False


def is_no_number(text: str) -> str:
    """Where a text is a NaN or an infinity, which alone make no column of numbers."""
    return _is(text, _NO_NUMBER)

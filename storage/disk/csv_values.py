"""The type of the texts of a CSV column, as conditions for DuckDB.

DuckDB's own casts are too kind for data that must come back as it was: they round '1.5' to an
integer, and read '1_000' and '0x1F'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gdb.base.sql import (
    between,
    binary,
    call,
    cast,
    chosen,
    equal,
    exp,
    is_null,
    joined,
    negated,
    over_items,
    part_of,
    unequal,
    value_of,
)

from ..columns import temporal
from ..columns.model import EXACT, ITEM_OF, Kind
from .duckdb_engine import SQL_TYPES

if TYPE_CHECKING:
    from gdb.base.sql import Part

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


def _split(text: Part) -> exp.Expr:
    return call("string_split", text, value_of(DELIMITER))


def _of_items(items: Part, body: exp.Expr) -> exp.Expr:
    return call("list_transform", items, over_items(_ITEM, body))


def _each(items: exp.Expr, text: Part) -> exp.Expr:
    """The items of a text; an empty one has none."""
    return chosen((equal(text, value_of("")), value_of([])), default=items)


def _replaced(text: Part, *changes: tuple[str, str]) -> exp.Expr:
    """A text with some texts for others, one change after the other."""
    found = part_of(text)
    for old, new in changes:
        found = call("replace", found, value_of(old), value_of(new))
    return found


def unescaped(items: Part) -> exp.Expr:
    """The items of a list of strings as an export wrote them, see `escaped`."""
    return _of_items(items, _replaced(_ITEM, ("\\s", ";"), ("\\e", ""), ("\\b", "\\")))


def escaped(items: Part) -> exp.Expr:
    """The items of a list of strings as an export writes them: with \\s for the delimiter, \\b for a backslash, and
    \\e for an empty item, so that a list of one is not an empty list."""
    plain = _replaced(_ITEM, ("\\", "\\b"), (";", "\\s"))
    return _of_items(items, chosen((equal(_ITEM, value_of("")), value_of("\\e")), default=plain))


def unbracketed(text: Part) -> exp.Expr:
    """A list that is written `[a,b]` as `escaped` items with the delimiter between; [] is an empty text.

    Kuzu writes items as they are: a text with a comma in it cannot be distinguished from two."""
    inside = call("regexp_replace", text, value_of(r"^\s*\[([\s\S]*)\]\s*$"), value_of(r"\1"))
    return _replaced(inside, ("\\", "\\b"), (";", "\\s"), (",", DELIMITER))


def as_text(items: Part, kind: Kind) -> exp.Expr:
    """A list as one text."""
    item = ITEM_OF[kind]
    if item == "string":
        texts = escaped(items)
    else:
        texts = _of_items(items, temporal.written_sql(_ITEM, item))
    return call("array_to_string", texts, value_of(DELIMITER))


def _is(text: Part, pattern: str) -> exp.Expr:
    return call("regexp_full_match", text, value_of(pattern))


def value(text: Part, kind: Kind) -> exp.Expr:
    """The value of a text column, NULL where it does not fit; empty text is NULL but for strings."""
    if kind in ITEM_OF:
        return _each(_of_items(_split(text), value(_ITEM, ITEM_OF[kind])), text)
    match kind:
        case "string" | "any":
            return part_of(text)
        case "date" | "datetime" | "duration":
            return temporal.read_sql(text, kind)
        case _:
            return cast(call("nullif", text, value_of("")), SQL_TYPES[kind], attempt=True)


def number(value: exp.Expr, kind: Kind) -> exp.Expr:
    """What a column of the kind holds of a value that is no string and no list."""
    match kind:
        case "date":
            return binary(exp.Sub, value, cast(value_of("1970-01-01"), "DATE"))
        case "datetime":
            return call("epoch_us", value)
        case _:
            return value


def misfit(text: Part, kind: Kind) -> exp.Expr:
    """Where a text is no value of a declared kind."""
    if kind in ITEM_OF:
        item = ITEM_OF[kind]
        wrong = misfit(_ITEM, item)
        if item != "string":
            wrong = joined(exp.Or, [equal(_ITEM, value_of("")), wrong])
        found = call("len", call("list_filter", _split(text), over_items(_ITEM, wrong)))
        return _not_empty_and(text, binary(exp.GT, found, value_of(0)))
    return _not_empty_and(text, _wrong(text, kind))


def _not_empty_and(text: Part, test: exp.Expr) -> exp.Expr:
    """Where a text is not empty, and a test holds."""
    return joined(exp.And, [unequal(text, value_of("")), test])


def _wrong(text: Part, kind: Kind) -> exp.Expr:
    """Where a text that is not empty is no value of a kind that has no items."""
    match kind:
        case "string" | "any":
            return value_of(False)  # DuckDB cannot check any, see `Table.reject_misread`
        case "int64":
            return joined(exp.Or, [negated(_is(text, INTEGER)), is_null(value(text, kind))])
        case "float64":
            finite, other = _is(text, _NUMBER), _is(text, _NO_NUMBER)
            too_large = joined(exp.And, [call("isinf", value(text, kind)), finite])
            neither = negated(joined(exp.Or, [finite, other]))
            return joined(exp.Or, [neither, is_null(value(text, kind)), too_large])
        case _:
            return is_null(value(text, kind))


def surprise(text: Part, kind: Kind) -> exp.Expr:
    """Where a text keeps an undeclared column from being of a kind."""
    match kind:
        case "int64" | "float64":
            odd = _is(text, _CODE)
        case "bool":
            words = [value_of(word) for word in ("true", "false")]
            odd = negated(exp.In(this=call("lower", text), expressions=words))
        case _:
            odd = value_of(False)
    return joined(exp.Or, [misfit(text, kind), _not_empty_and(text, odd)])


def is_digits(text: Part) -> exp.Expr:
    """Where a text is an integer of any length."""
    return _is(text, INTEGER)


def is_rounded(text: Part) -> exp.Expr:
    """Where a text is an integer that no float is exactly, as far as is known (`gdb.storage.columns.kinds`)."""
    # few texts are that long; the length decides for all others
    whole = cast(text, "BIGINT", attempt=True)
    inside = between(whole, value_of(-EXACT), value_of(EXACT))
    beyond = negated(call("coalesce", inside, value_of(False)))
    long = binary(exp.GTE, call("length", text), value_of(_LONG))
    return joined(exp.And, [long, is_digits(text), beyond])


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


def is_no_number(text: Part) -> exp.Expr:
    """Where a text is a NaN or an infinity, which alone make no column of numbers."""
    return _is(text, _NO_NUMBER)

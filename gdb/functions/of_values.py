"""The functions of any value, conversions, and the functions of lists."""

from __future__ import annotations

from collections.abc import Callable

from gdb.base.sql import call, cast, exp, is_null, negated
from gdb.base.values import conversion, lists, numbers
from gdb.base.values.kinds import Value
from gdb.base.values.naming import value_type
from gdb.functions import types
from gdb.functions.function import Function, Guarded, Made, ToSql, function
from gdb.functions.sql_pieces import (
    LONGEST_LIST,
    all_of,
    compared,
    null_where,
    number,
    slice_of,
    strict_kind,
    string,
)
from gdb.functions.types import Type, Typed, TypeName

# ---- any value -----------------------------------------------------------------------------------


def _coalesce(*values: Typed) -> Made:
    candidates = [value for value in values if not value.is_null]
    if not candidates:
        return Typed(exp.Null(), types.NULL)
    if strict_kind(values) is None or len({value.type for value in candidates}) > 1:
        return None  # a column has one type
    if not (candidates[0].kind in types.SCALARS or candidates[0].kind is TypeName.LIST):
        return None
    return Typed(call("coalesce", *(value.sql for value in candidates)), candidates[0].type)


def _exists(value: Typed) -> Made:
    if value.is_null:
        return Typed(exp.false(), types.BOOLEAN)
    return Typed(negated(is_null(value.sql)), types.BOOLEAN)


# ---- conversion ----------------------------------------------------------------------------------

_WHOLE = r"^[+-]?[0-9]{1,18}$"


def _to_integer(value: Typed) -> Made:
    if value.kind is TypeName.INTEGER:
        return value
    if value.kind is TypeName.FLOAT:
        nan = exp.If(this=call("isnan", value.sql.copy()), true=exp.Null())
        whole = cast(call("trunc", value.sql), "BIGINT")
        return Typed(exp.Case(ifs=[nan], default=whole), types.INTEGER)
    if value.kind is TypeName.STRING:
        plain = call("regexp_matches", value.sql.copy(), string(_WHOLE))
        return Guarded(plain, Typed(cast(value.sql, "BIGINT", attempt=True), types.INTEGER))
    return None


def _to_float(value: Typed) -> Made:
    return Typed(cast(value.sql, "DOUBLE"), types.FLOAT) if value.kind in types.NUMBERS else None


def _to_string(value: Typed) -> Made:
    if value.kind is TypeName.STRING:
        return value
    text = cast(value.sql, "VARCHAR")
    if value.kind in (TypeName.INTEGER, TypeName.BOOLEAN, TypeName.DATE):
        return Typed(text, types.STRING)
    if value.kind is TypeName.DATETIME:  # seconds that are 0 are left out
        dashed = call("replace", text, string(" "), string("T"))
        return Typed(call("regexp_replace", dashed, string(":00$"), string("")), types.STRING)
    return None


def _to_boolean(value: Typed) -> Made:
    if value.kind is TypeName.BOOLEAN:
        return value
    if value.kind is TypeName.INTEGER:
        return Typed(compared(exp.NEQ, value.sql, number(0)), types.BOOLEAN)
    return None


def _three(
    name: str, kind: str, convert: Callable[[Value], Value], doc: str, sql: ToSql
) -> tuple[Function, ...]:
    """The function itself, ...OrNull, ...List."""
    return (
        function(f"{name}(value :: ANY) :: {kind}", convert, doc, sql),
        function(
            f"{name}OrNull(value :: ANY) :: {kind}",
            conversion.or_null(convert),
            f"{name}, and null instead of an error",
        ),
        function(
            f"{name}List(values :: LIST) :: LIST<{kind}>",
            conversion.of_list(f"{name}List", convert),
            f"{name} item by item, and null instead of an error",
        ),
    )


# ---- lists ---------------------------------------------------------------------------------------


def _item(value: Typed) -> Type:
    return Type(value.type.item or TypeName.NULL)


def _end(place: int) -> ToSql:
    def make(value: Typed) -> Made:
        if value.kind is not TypeName.LIST:
            return None
        if _item(value) == types.NULL:
            return Typed(exp.Null(), types.NULL)
        return Typed(call("list_extract", value.sql, number(place)), _item(value))

    return make


def _tail(value: Typed) -> Made:
    if value.kind is not TypeName.LIST:
        return None
    return Typed(slice_of(value.sql, number(1), None), value.type)


def _reverse(value: Typed) -> Made:
    return (
        Typed(call("list_reverse", value.sql), value.type) if value.kind is TypeName.LIST else None
    )


def _size(value: Typed) -> Made:
    """In code points, as Python counts; DuckDB's len() counts what one sees as one character as one."""
    if value.kind is TypeName.STRING:
        return Typed(call("length", value.sql), types.INTEGER)
    return Typed(call("len", value.sql), types.INTEGER) if value.kind is TypeName.LIST else None


def _is_empty(value: Typed) -> Made:
    found = _size(value)
    if not isinstance(found, Typed):
        return None
    return Typed(compared(exp.EQ, found.sql, number(0)), types.BOOLEAN)


def _range(start: Typed, stop: Typed, step: Typed | None = None) -> Made:
    parts = [start, stop] if step is None else [start, stop, step]
    if any(part.kind is not TypeName.INTEGER for part in parts):
        return None
    made = call("generate_series", *(part.sql.copy() for part in parts))
    found = Typed(
        null_where([part.sql for part in parts], made), Type(TypeName.LIST, TypeName.INTEGER)
    )
    # a step of 0 is an error, and so is a list that is too long
    stride = number(1) if step is None else step.sql
    span = exp.Sub(
        this=cast(stop.sql.copy(), "DOUBLE"), expression=cast(start.sql.copy(), "DOUBLE")
    )
    length = exp.Div(this=exp.Paren(this=span), expression=cast(stride.copy(), "DOUBLE"))
    short = compared(exp.LT, length, number(float(LONGEST_LIST)))
    return Guarded(all_of(compared(exp.NEQ, stride, number(0)), short), found)


ROWS = (
    function(
        "coalesce(value :: ANY, ...) :: ANY",
        lists.coalesce,
        "the first value that is not null; the arguments after it are not evaluated",
        _coalesce,
        strict=False,
    ),
    function(
        "nullIf(value :: ANY, other :: ANY) :: ANY",
        lists.null_if,
        "null where both are equal, else the first",
        strict=False,
    ),
    function(
        "exists(value :: ANY) :: BOOLEAN",
        lambda value: value is not None,
        "whether it is not null; of a pattern whether it is found",
        _exists,
        strict=False,
    ),
    function("valueType(value :: ANY) :: STRING", value_type, "the name of its type", strict=False),
    function(
        "timestamp() :: INTEGER",
        lists.timestamp,
        "milliseconds since 1970, the same in the whole query",
    ),
    function(
        "randomUUID() :: STRING",
        lists.random_uuid,
        "a random UUID, different in each call",
        varies=True,
    ),
    *_three(
        *("toInteger", "INTEGER", conversion.to_integer),
        *("of a number without its fraction; null of a string that is not a number", _to_integer),
    ),
    *_three(
        *("toFloat", "FLOAT", conversion.to_float),
        *("a number as a float; null of a string that is not a number", _to_float),
    ),
    *_three(
        *("toString", "STRING", conversion.to_string),
        *("a number, boolean or time as text", _to_string),
    ),
    *_three(
        *("toBoolean", "BOOLEAN", conversion.to_boolean),
        *("of 'true' and 'false', else null; of an integer whether it is not 0", _to_boolean),
    ),
    function(
        "size(of :: STRING | LIST) :: INTEGER",
        lists.size,
        "the number of items, or of characters",
        _size,
        checked=True,
    ),
    function(
        "isEmpty(of :: STRING | LIST | MAP) :: BOOLEAN",
        lists.is_empty,
        "whether nothing is in it",
        _is_empty,
    ),
    function(
        "head(values :: LIST) :: ANY", lists.head, "the first item; null of an empty list", _end(1)
    ),
    function(
        "last(values :: LIST) :: ANY", lists.last, "the last item; null of an empty list", _end(-1)
    ),
    function("tail(values :: LIST) :: LIST", lists.tail, "all items but the first", _tail),
    function("reverse(of :: STRING | LIST) :: ANY", lists.reversed_, "in reverse order", _reverse),
    function(
        "range(first :: INTEGER, last :: INTEGER, step? :: INTEGER) :: LIST<INTEGER>",
        numbers.integer_list,
        "the integers from the first to the last, both in it",
        _range,
    ),
)
"""One row a function."""

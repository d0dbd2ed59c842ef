"""Functions as SQL that gives exactly what `gdb.values` gives; what is not here runs over rows.

Null in, null out, but for coalesce. What is right for some values alone is guarded (`sql.guarded`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlglot import exp

from gdb.chain.sql import guarded, null_where, number, strict_kind
from gdb.language.types import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    NULL,
    NUMBERS,
    SCALARS,
    STRING,
    Kind,
    Type,
    Typed,
    alike,
    call,
    cast,
    is_null,
    null_or_false,
    operand,
)

Made: TypeAlias = "Typed | None"
_WHITE = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"
_INTEGER = r"^[+-]?[0-9]{1,18}$"


def applied(name: str, arguments: Sequence[Typed]) -> Typed | None:
    """A function of some arguments; None where it is not for columns."""
    name = {"upper": "toupper", "lower": "tolower", "ceiling": "ceil"}.get(name, name)
    if name == "coalesce":
        return _coalesce(arguments)
    make = _FUNCTIONS.get((name, len(arguments)))
    if make is None:
        return None
    if any(argument.is_null for argument in arguments):
        return Typed(exp.Null(), NULL)
    return make(*arguments)


def _coalesce(arguments: Sequence[Typed]) -> Made:
    kind = strict_kind(arguments)
    given = [argument for argument in arguments if not argument.is_null]
    if not given:
        return Typed(exp.Null(), NULL)
    if kind not in SCALARS:
        return None
    return Typed(call("coalesce", *(argument.sql for argument in given)), given[0].type)


# ---- lists ---------------------------------------------------------------------------------------


def item_at(values: exp.Expr, index: exp.Expr) -> exp.Expr:
    """values[index], counted from 0, from the end where negative; null outside."""
    low = exp.GTE(this=operand(index), expression=number(0))
    after = exp.Add(this=operand(index.copy()), expression=number(1))
    place = exp.Case(ifs=[exp.If(this=low, true=after)], default=index.copy())
    return call("list_extract", values, place)


def slice_of(values: exp.Expr, start: exp.Expr | None, stop: exp.Expr | None) -> exp.Expr:
    """values[start..stop], counted from 0, from the end where negative; null where one of them is."""
    size = call("len", values.copy())
    bounds = [bound for bound in (start, stop) if bound is not None]
    first = number(0) if start is None else _from_front(start, size)
    last = size.copy() if stop is None else _from_front(stop, size)
    begin = exp.Add(this=operand(first), expression=number(1))
    cut = call("list_slice", values.copy(), begin, last)
    return null_where([values, *bounds], cut)


def _from_front(bound: exp.Expr, size: exp.Expr) -> exp.Expr:
    """Of a bound that may count from the end, the place from the front, at least 0."""
    behind = exp.Add(this=operand(bound.copy()), expression=size.copy())
    negative = exp.If(this=exp.LT(this=operand(bound.copy()), expression=number(0)), true=behind)
    return call("greatest", exp.Case(ifs=[negative], default=bound.copy()), number(0))


def within(item: Typed, values: Typed) -> exp.Expr:
    """item IN values, a list that may hold nulls."""
    assert values.type.item is not None
    held = values.type.item
    empty = exp.EQ(this=call("len", values.sql.copy()), expression=number(0))
    ifs = [exp.If(this=empty, true=exp.false())]
    if item.is_null or held is Kind.NULL:
        return null_where([values.sql], exp.Case(ifs=ifs, default=exp.Null()))
    ifs.append(exp.If(this=is_null(item.sql.copy()), true=exp.Null()))
    if alike(item.kind, held, True):
        there: exp.Expr = call("list_contains", values.sql.copy(), item.sql.copy())
        if item.kind is Kind.FLOAT:
            nan = exp.Not(this=call("isnan", item.sql.copy()))
            there = exp.And(this=there, expression=nan)
        ifs.append(exp.If(this=there, true=exp.true()))
    fewer = exp.LT(
        this=call("list_count", values.sql.copy()), expression=call("len", values.sql.copy())
    )
    ifs.append(exp.If(this=fewer, true=exp.Null()))
    return null_where([values.sql], exp.Case(ifs=ifs, default=exp.false()))


def _item(value: Typed) -> Type:
    return Type(value.type.item or Kind.NULL)


def _end(place: int) -> Callable[[Typed], Made]:
    def make(value: Typed) -> Made:
        if value.kind is not Kind.LIST:
            return None
        if _item(value) == NULL:
            return Typed(exp.Null(), NULL)
        return Typed(call("list_extract", value.sql, number(place)), _item(value))

    return make


def _tail(value: Typed) -> Made:
    if value.kind is not Kind.LIST:
        return None
    return Typed(slice_of(value.sql, number(1), None), value.type)


def _reverse(value: Typed) -> Made:
    return Typed(call("list_reverse", value.sql), value.type) if value.kind is Kind.LIST else None


def _size(value: Typed) -> Made:
    if value.kind not in (Kind.STRING, Kind.LIST):
        return None
    return Typed(call("len", value.sql), INTEGER)


def _empty(value: Typed) -> Made:
    found = _size(value)
    if found is None:
        return None
    return Typed(exp.EQ(this=found.sql, expression=number(0)), BOOLEAN)


LONGEST_LIST = 10_000
"""What a list of range() may go through: DuckDB makes those of 2,048 rows at once, and no budget counts them."""


def _range(start: Typed, stop: Typed, step: Typed | None = None) -> Made:
    given = [start, stop] if step is None else [start, stop, step]
    if any(part.kind is not Kind.INTEGER for part in given):
        return None
    # in HUGEINT, in which no difference overflows
    first, last = (cast(operand(part.sql.copy()), "HUGEINT") for part in (start, stop))
    length = call("abs", exp.Sub(this=last, expression=first))
    short = exp.LTE(this=length, expression=number(LONGEST_LIST))
    made = guarded(short, call("generate_series", *(part.sql.copy() for part in given)))
    if step is not None:
        made = guarded(exp.NEQ(this=operand(step.sql), expression=number(0)), made)
    return Typed(null_where([part.sql for part in given], made), Type(Kind.LIST, Kind.INTEGER))


# ---- numbers -------------------------------------------------------------------------------------


def _of_number(make: Callable[[Typed], Typed]) -> Callable[[Typed], Made]:
    return lambda value: make(value) if value.kind in NUMBERS else None


def _whole(function: str) -> Callable[[Typed], Made]:
    def make(value: Typed) -> Typed:
        found = call(function, cast(value.sql, "DOUBLE"))  # + 0.0: no -0.0
        return Typed(exp.Add(this=found, expression=cast(number(0), "DOUBLE")), FLOAT)

    return _of_number(make)


def _float(value: Typed) -> Typed:
    return Typed(cast(value.sql, "DOUBLE"), FLOAT)


def _sqrt(value: Typed) -> Typed:
    root = call("sqrt", cast(value.sql, "DOUBLE"))
    test = exp.GTE(this=operand(value.sql.copy()), expression=number(0))
    return Typed(guarded(test, root), FLOAT)


def _sign(value: Typed) -> Typed:
    return Typed(cast(call("sign", value.sql), "BIGINT"), INTEGER)


def _to_integer(value: Typed) -> Made:
    if value.kind is Kind.INTEGER:
        return value
    if value.kind is Kind.FLOAT:
        whole = cast(call("trunc", value.sql), "BIGINT")
        nan = exp.If(this=call("isnan", value.sql.copy()), true=exp.Null())
        return Typed(exp.Case(ifs=[nan], default=whole), INTEGER)
    if value.kind is Kind.STRING:
        plain = call("regexp_matches", value.sql.copy(), exp.Literal.string(_INTEGER))
        return Typed(guarded(plain, cast(value.sql, "BIGINT")), INTEGER)
    return None


def _to_string(value: Typed) -> Made:
    if value.kind is Kind.STRING:
        return value
    if value.kind in (Kind.INTEGER, Kind.BOOLEAN):
        return Typed(cast(value.sql, "VARCHAR"), STRING)
    return None


# ---- texts ---------------------------------------------------------------------------------------


def _ascii(value: exp.Expr) -> exp.Expr:
    """Whether a text has nothing but ASCII: as many bytes as characters."""
    return exp.EQ(this=call("strlen", value.copy()), expression=call("length", value.copy()))


def _of_ascii(function: str) -> Callable[[Typed], Made]:
    def make(value: Typed) -> Made:
        if value.kind is not Kind.STRING:
            return None
        return Typed(guarded(_ascii(value.sql), call(function, value.sql)), STRING)

    return make


def _trimmed(function: str) -> Callable[[Typed], Made]:
    def make(value: Typed) -> Made:
        if value.kind is not Kind.STRING:
            return None
        # Python's white space in ASCII has four more, which no text has
        odd = call("regexp_matches", value.sql.copy(), exp.Literal.string(r"[\x1c-\x1f]"))
        test = exp.And(this=operand(_ascii(value.sql)), expression=exp.Not(this=odd))
        white = exp.Var(this=f"({_WHITE})")
        return Typed(guarded(test, call(function, value.sql, white)), STRING)

    return make


def _natural(value: exp.Expr, sql: exp.Expr) -> exp.Expr:
    return guarded(exp.GTE(this=operand(value.copy()), expression=number(0)), sql)


def _left(text: Typed, length: Typed) -> Made:
    if (text.kind, length.kind) != (Kind.STRING, Kind.INTEGER):
        return None
    return Typed(_natural(length.sql, call("substring", text.sql, number(1), length.sql)), STRING)


def _right(text: Typed, length: Typed) -> Made:
    if (text.kind, length.kind) != (Kind.STRING, Kind.INTEGER):
        return None
    size = call("length", text.sql.copy())
    begin = exp.Sub(this=size, expression=call("least", length.sql.copy(), size.copy()))
    cut = call("substring", text.sql, exp.Add(this=operand(begin), expression=number(1)))
    return Typed(_natural(length.sql, null_where([text.sql, length.sql], cut)), STRING)


def _substring(text: Typed, start: Typed, length: Typed | None = None) -> Made:
    whole = [start] if length is None else [start, length]
    if text.kind is not Kind.STRING or any(part.kind is not Kind.INTEGER for part in whole):
        return None
    begin = exp.Add(this=operand(start.sql), expression=number(1))
    given = [] if length is None else [length.sql.copy()]
    cut = call("substring", text.sql, begin, *given)
    for part in whole:
        cut = _natural(part.sql, cut)
    return Typed(null_where([text.sql, *(part.sql for part in whole)], cut), STRING)


def _replace(text: Typed, search: Typed, by: Typed) -> Made:
    if {text.kind, search.kind, by.kind} != {Kind.STRING}:
        return None
    test = exp.NEQ(this=operand(search.sql.copy()), expression=exp.Literal.string(""))
    return Typed(guarded(test, call("replace", text.sql, search.sql, by.sql)), STRING)


def _split(text: Typed, by: Typed) -> Made:
    if {text.kind, by.kind} != {Kind.STRING}:
        return None
    test = exp.NEQ(this=operand(by.sql.copy()), expression=exp.Literal.string(""))
    parts = guarded(test, call("string_split", text.sql.copy(), by.sql.copy()))
    return Typed(null_where([text.sql, by.sql], parts), Type(Kind.LIST, Kind.STRING))


def _nan(value: Typed) -> Made:
    if value.kind is Kind.INTEGER:
        return Typed(null_or_false(value.sql), BOOLEAN)
    return Typed(call("isnan", value.sql), BOOLEAN) if value.kind is Kind.FLOAT else None


_FUNCTIONS: dict[tuple[str, int], Callable[..., Made]] = {
    ("size", 1): _size,
    ("isempty", 1): _empty,
    ("head", 1): _end(1),
    ("last", 1): _end(-1),
    ("tail", 1): _tail,
    ("reverse", 1): _reverse,
    ("range", 2): _range,
    ("range", 3): _range,
    ("abs", 1): _of_number(lambda value: Typed(call("abs", value.sql), value.type)),
    ("sign", 1): _of_number(_sign),
    ("ceil", 1): _whole("ceil"),
    ("floor", 1): _whole("floor"),
    ("sqrt", 1): _of_number(_sqrt),
    ("tofloat", 1): _of_number(_float),
    ("isnan", 1): _nan,
    ("tointeger", 1): _to_integer,
    ("tostring", 1): _to_string,
    ("toupper", 1): _of_ascii("upper"),
    ("tolower", 1): _of_ascii("lower"),
    ("trim", 1): _trimmed("trim"),
    ("ltrim", 1): _trimmed("ltrim"),
    ("rtrim", 1): _trimmed("rtrim"),
    ("left", 2): _left,
    ("right", 2): _right,
    ("substring", 2): _substring,
    ("substring", 3): _substring,
    ("replace", 3): _replace,
    ("split", 2): _split,
}

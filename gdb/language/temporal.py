"""The functions date(), localdatetime() and duration(), and the texts of their values, as SQL. A datetime with a zone
has no column, so datetime() is for rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gdb.errors import TypeProblem
from gdb.language.nodes import exp
from gdb.language.report import problem
from gdb.language.syntax import Call
from gdb.language.types import (
    DATE,
    DATETIME,
    DURATION,
    TIMES,
    Constant,
    Kind,
    Type,
    Typed,
    call,
    cast,
    operand,
    sql_type,
)
from gdb.storage import temporal

if TYPE_CHECKING:
    from gdb.language.scalar import Translator
    from gdb.storage.model import Kind as StoreKind

ZONE = re.compile(r"Z$|\]$|T.*[+-]\d", re.IGNORECASE)
FUNCTIONS: dict[str, tuple[StoreKind, Type, tuple[Kind, ...]]] = {
    "date": ("date", DATE, (Kind.DATE, Kind.DATETIME)),
    "localdatetime": ("datetime", DATETIME, (Kind.DATE, Kind.DATETIME)),
    "duration": ("duration", DURATION, (Kind.DURATION,)),
}
"""Name -> what it makes, and of which kinds beside texts."""


def made(name: str, expression: Call, value: Typed, translator: Translator) -> Typed:
    """SQL of date(x), localdatetime(x) or duration(x); x is not null.

    A text must be known before the query runs: so it is read once, by our own rules, and no row can fail.

    Raises
    ------
    TypeProblem : x is of another kind, or a text that is no such value.
    """
    kind, type_, takes = FUNCTIONS[name]
    place, called = expression.arguments[0].place, f"{expression.function.text}()"
    if value.kind in takes:
        same = value.kind is type_.kind
        return value if same else Typed(cast(value.sql, sql_type(type_)), type_)
    text = value.constant.value if value.constant else None
    if not isinstance(text, str):
        named = " or ".join(["a text that stands in the query", *takes])
        what = f"{value.kind} of the graph" if value.kind is Kind.STRING else value.kind
        raise problem(
            TypeProblem,
            translator.scope.text,
            place,
            f"{called} takes {named}, and this is {what}.",
        )
    try:
        if kind == "datetime" and ZONE.search(text):
            raise ValueError(text)
        found = temporal.parse(text, kind)
    except ValueError:
        raise problem(
            TypeProblem,
            translator.scope.text,
            place,
            f"{text[:40]!r} is no {kind}.",
            temporal.CURES[kind],
        ) from None
    return Typed(translator.parameters.add(found, type_), type_, Constant(found))


def text_of(value: Typed) -> exp.Expr:
    """The text of a value that is no element and no list."""
    if value.kind not in TIMES:
        return cast(value.sql, "VARCHAR")
    import sqlglot

    (kind,) = (kind for kind, type_, _ in FUNCTIONS.values() if type_.kind is value.kind)
    written = sqlglot.parse_one(temporal.written_sql("x", kind), dialect="duckdb")
    text = written.transform(
        lambda node: operand(value.sql.copy()) if isinstance(node, exp.Column) else node
    )
    if value.kind is Kind.DATETIME:  # the language leaves out seconds that are 0
        return call("regexp_replace", text, exp.Literal.string(":00$"), exp.Literal.string(""))
    return text

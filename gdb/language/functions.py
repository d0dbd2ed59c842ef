"""The functions of the language: their names, how many arguments they take, and their SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gdb.errors import NameProblem, NotSupported, SyntaxProblem, TypeProblem
from gdb.language.nodes import exp
from gdb.language.report import problem
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Call, Expression, Place, walk
from gdb.language.temporal import text_of
from gdb.language.types import (
    FLOAT,
    INTEGER,
    NULL,
    NUMBERS,
    SCALARS,
    STRING,
    Kind,
    Type,
    Typed,
    call,
    cast,
    common_kind,
    sql_type,
)

AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", "collect"})

_ARGUMENTS: dict[str, tuple[int, int]] = {
    "id": (1, 1),
    "elementid": (1, 1),
    "labels": (1, 1),
    "type": (1, 1),
    "coalesce": (1, 100),
    "abs": (1, 1),
    "sign": (1, 1),
    "ceil": (1, 1),
    "floor": (1, 1),
    "sqrt": (1, 1),
    "toupper": (1, 1),
    "tolower": (1, 1),
    "trim": (1, 1),
    "size": (1, 1),
    "tostring": (1, 1),
    "date": (1, 1),
    "localdatetime": (1, 1),
    "duration": (1, 1),
}
OF_ELEMENTS = ("id", "elementid", "labels", "type")
_SPELT = {
    "toupper": "toUpper",
    "tolower": "toLower",
    "tostring": "toString",
    "elementid": "elementId",
}
_ALIASES = {"upper": "toupper", "lower": "tolower"}
_INSTEAD = {
    "properties": "Return the node itself.",
    "keys": "See db.schema().",
    "nodes": "Name the nodes of the pattern.",
    "relationships": "Name the relationships of the pattern.",
    "length": "Name the relationships of the pattern.",
    "startnode": "Name the node in the pattern.",
    "endnode": "Name the node in the pattern.",
    "exists": "For a property write IS NOT NULL.",
    "shortestpath": "Write each length as a query of its own.",
    **dict.fromkeys(
        (
            *("tointeger", "tofloat", "toboolean", "round", "rand", "range", "split", "replace"),
            *("substring", "left", "right", "reverse", "head", "last", "tail", "exp", "log"),
            *("time", "localtime", "point", "timestamp", "stdev"),
            *(
                "percentilecont",
                "percentiledisc",
                "percentile_cont",
                "percentile_disc",
                "ltrim",
                "rtrim",
                "log10",
                "sin",
                "cos",
            ),
        ),
        "Compute it in Python from the rows.",
    ),
}


def known(expression: Call, text: str) -> str:
    """The function's name in lower case.

    Raises
    ------
    NotSupported, NameProblem : gdb has not this function, or nobody has.
    """
    name = expression.function.text.lower()
    name = _ALIASES.get(name, name)
    if name in AGGREGATES or name in _ARGUMENTS:
        return name
    shown, place = expression.function.text, expression.function.place
    if name in _INSTEAD:
        raise not_supported(text, place, f"{shown}() is", _INSTEAD[name])
    names = [_SPELT.get(known_name, known_name) for known_name in (*AGGREGATES, *_ARGUMENTS)]
    cure = did_you_mean(shown, sorted(names)) or f"There are {', '.join(sorted(names))}."
    raise problem(NameProblem, text, place, f"there is no function '{shown}'.", cure)


def has_aggregate(expression: Expression) -> bool:
    """Whether an aggregate stands anywhere in the expression."""
    return any(is_aggregate(part) for part in walk(expression))


def is_aggregate(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function.text.lower() in AGGREGATES


def ignores_repeats(expression: Expression) -> bool:
    """Whether an aggregate is the same however often each value occurs."""
    if not isinstance(expression, Call):
        return False
    return expression.distinct or expression.function.text.lower() in ("min", "max")


def check_arguments(expression: Call, name: str, text: str) -> None:
    """Refuse a wrong number of arguments, DISTINCT and *."""
    if expression.star or expression.distinct:
        what = "*" if expression.star else "DISTINCT"
        raise problem(
            SyntaxProblem, text, expression.place, f"{expression.function.text}() takes no {what}."
        )
    low, high = _ARGUMENTS[name]
    if not low <= len(expression.arguments) <= high:
        takes = "one value" if high == 1 else "one value or more"
        raise problem(
            SyntaxProblem,
            text,
            expression.place,
            f"{expression.function.text}() takes {takes}, not {len(expression.arguments)}.",
        )


def not_supported(text: str, place: Place, what: str, instead: str) -> NotSupported:
    return problem(NotSupported, text, place, f"{what} not supported yet.", instead)


# ---- scalar functions ----------------------------------------------------------------------------


def apply(name: str, expression: Call, arguments: Sequence[Typed], text: str) -> Typed:
    """SQL of a scalar function whose number of arguments was checked; null of null."""
    if name == "coalesce":
        return _coalesce(expression, arguments, text)
    value = arguments[0]
    if value.is_null:
        return Typed(exp.Null(), NULL)
    takes, result = _SCALAR[name]
    if value.kind not in takes:
        named = " or ".join(takes)
        raise problem(
            TypeProblem,
            text,
            expression.arguments[0].place,
            f"{expression.function.text}() takes {named}, and this is {value.kind}.",
        )
    return result(value)


def _coalesce(expression: Call, arguments: Sequence[Typed], text: str) -> Typed:
    given = [argument for argument in arguments if not argument.is_null]
    if any(argument.kind is Kind.LIST for argument in given):
        raise not_supported(text, expression.place, "coalesce() of lists is", "Use its items.")
    types = {argument.type for argument in given}
    common = common_kind({argument.kind for argument in given})
    if len(types) != 1 and common is None:
        kinds = ", ".join(argument.kind for argument in given)
        raise problem(
            TypeProblem,
            text,
            expression.place,
            f"coalesce() takes values of one type, and these are {kinds}.",
        )
    if not given:
        return Typed(exp.Null(), NULL)
    type_ = types.pop() if len(types) == 1 else Type(common or Kind.NULL)
    return Typed(call("coalesce", *(argument.sql for argument in given)), type_)


def _function(function: str, type_: Type | None = None) -> Callable[[Typed], Typed]:
    return lambda value: Typed(call(function, value.sql), type_ or value.type)


def _of_float(function: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(call(function, cast(value.sql, "DOUBLE")), FLOAT)


def _sign(value: Typed) -> Typed:
    return Typed(cast(call("sign", value.sql), "BIGINT"), INTEGER)


_TEXT = (Kind.STRING,)
_SHOWN = tuple(kind for kind in SCALARS if kind is not Kind.FLOAT)
_SCALAR: dict[str, tuple[tuple[Kind, ...], Callable[[Typed], Typed]]] = {
    "abs": (NUMBERS, _function("abs")),
    "sign": (NUMBERS, _sign),
    "ceil": (NUMBERS, _of_float("ceil")),
    "floor": (NUMBERS, _of_float("floor")),
    "sqrt": (NUMBERS, _of_float("sqrt")),
    "toupper": (_TEXT, _function("upper")),
    "tolower": (_TEXT, _function("lower")),
    "trim": (_TEXT, _function("trim")),
    "size": ((Kind.STRING, Kind.LIST), _function("len", INTEGER)),
    # DuckDB writes floats otherwise than the language does
    "tostring": (_SHOWN, lambda value: Typed(text_of(value), STRING)),
}


# ---- aggregates ----------------------------------------------------------------------------------


def aggregate(expression: Call, argument: Typed | None, text: str) -> Typed:
    """SQL of an aggregate over its argument; None for count(*)."""
    name = expression.function.text.lower()
    if argument is None:
        return Typed(exp.Count(this=exp.Star()), INTEGER)
    if name == "count":
        return Typed(_aggregated("count", argument, expression.distinct), INTEGER)
    if name == "collect":
        return _collect(expression, argument, text)
    if argument.is_null:
        return Typed(exp.Literal.number(0), INTEGER) if name == "sum" else Typed(exp.Null(), NULL)
    takes = NUMBERS if name in ("sum", "avg") else SCALARS
    if argument.kind not in takes:
        what = "numbers" if takes is NUMBERS else "numbers, strings, booleans, dates and times"
        raise problem(
            TypeProblem,
            text,
            expression.place,
            f"{name}() takes {what}, and this is {argument.kind}.",
        )
    sql = _aggregated(name, argument, expression.distinct)
    if name == "sum":  # DuckDB: a HUGEINT, and null of no rows
        total = cast(sql, sql_type(argument.type))
        return Typed(call("coalesce", total, exp.Literal.number(0)), argument.type)
    return Typed(sql, FLOAT if name == "avg" else argument.type)


def _aggregated(function: str, argument: Typed, distinct: bool) -> exp.Expr:
    inner = exp.Distinct(expressions=[argument.sql]) if distinct else argument.sql
    return call(function, inner)


def _collect(expression: Call, argument: Typed, text: str) -> Typed:
    if argument.kind in (Kind.NODE, Kind.RELATIONSHIP, Kind.LIST):
        raise not_supported(
            text,
            expression.place,
            f"collecting {argument.kind.removeprefix('a ')}s is",
            "Collect an id() or a property.",
        )
    if argument.is_null:
        return Typed(cast(exp.Array(expressions=[]), "BIGINT[]"), Type(Kind.LIST, Kind.NULL))
    gathered = exp.Filter(
        this=_aggregated("list", argument, expression.distinct),
        expression=exp.Where(
            this=exp.Not(this=exp.Is(this=argument.sql.copy(), expression=exp.Null()))
        ),
    )
    empty = exp.Array(expressions=[])
    return Typed(call("coalesce", gathered, empty), Type(Kind.LIST, argument.kind))

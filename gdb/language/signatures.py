"""The functions of the language: how many arguments they take, and what the text alone tells of their results.

What they compute is in `gdb.values.library`; this table is for the checks before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gdb.language.kinds import (
    BOOLEAN,
    DURATION,
    ELEMENTS,
    FLOAT,
    INTEGER,
    LIST,
    MAP,
    NODE,
    RELATIONSHIP,
    STRING,
    TEMPORAL,
    VALUE,
    Kind,
    Known,
    list_of,
)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function. name : as messages write it. least, most : how many arguments; most None has no bound.

    result : what is known of its value. takes : the kinds of its first argument where another is refused before the
    query runs; empty where only running tells.
    """

    name: str
    least: int
    most: int | None
    result: Known = VALUE
    takes: tuple[Kind, ...] = ()


def _several(
    names: str, least: int, most: int | None, result: Known = VALUE
) -> Iterator[Signature]:
    return (Signature(name, least, most, result) for name in names.split())


def _temporal() -> Iterator[Signature]:
    """The constructors, each with its dotted forms."""
    for name in ("date", "time", "localtime", "localdatetime", "datetime"):
        yield Signature(name, 0, 1, TEMPORAL)
        for clock in ("transaction", "statement", "realtime"):
            yield Signature(f"{name}.{clock}", 0, 1, TEMPORAL)
        yield Signature(f"{name}.truncate", 1, 3, TEMPORAL)
    yield Signature("datetime.fromepoch", 1, 2, TEMPORAL)
    yield Signature("datetime.fromepochmillis", 1, 1, TEMPORAL)
    yield Signature("duration", 1, 1, DURATION)
    for name in ("between", "inMonths", "inDays", "inSeconds"):
        yield Signature(f"duration.{name}", 2, 2, DURATION)


def _of_graph() -> Iterator[Signature]:
    path, relationship = (Kind.PATH,), (Kind.RELATIONSHIP,)
    with_keys = (*ELEMENTS, Kind.MAP)
    yield Signature("id", 1, 1, takes=ELEMENTS)  # an id of a store may be a string
    yield Signature("elementId", 1, 1, STRING, ELEMENTS)
    yield Signature("labels", 1, 1, list_of(STRING), (Kind.NODE,))
    yield Signature("type", 1, 1, STRING, relationship)
    yield Signature("keys", 1, 1, list_of(STRING), with_keys)
    yield Signature("properties", 1, 1, MAP, with_keys)
    yield Signature("startNode", 1, 1, NODE, relationship)
    yield Signature("endNode", 1, 1, NODE, relationship)
    yield Signature("length", 1, 1, INTEGER, path)
    yield Signature("path_length", 1, 1, INTEGER, path)
    yield Signature("nodes", 1, 1, list_of(NODE), path)
    yield Signature("relationships", 1, 1, list_of(RELATIONSHIP), path)
    yield Signature("rels", 1, 1, list_of(RELATIONSHIP), path)
    yield Signature("elements", 1, 1, LIST, path)
    yield from _several("ALL_DIFFERENT SAME", 2, None, BOOLEAN)


def _of_values() -> Iterator[Signature]:
    for name, result in (
        ("toInteger", INTEGER),
        ("toFloat", FLOAT),
        ("toString", STRING),
        ("toBoolean", BOOLEAN),
    ):
        yield Signature(name, 1, 1, result)
        yield Signature(f"{name}OrNull", 1, 1, result)
        yield Signature(f"{name}List", 1, 1, list_of(result))
    yield Signature("size", 1, 1, INTEGER, (Kind.STRING, Kind.LIST))
    yield from _several("isEmpty exists", 1, 1, BOOLEAN)
    yield from _several("head last reverse", 1, 1)
    yield Signature("tail", 1, 1, LIST)
    yield Signature("coalesce", 1, None)
    yield Signature("nullIf", 2, 2)
    yield Signature("valueType", 1, 1, STRING)
    yield Signature("timestamp", 0, 0, INTEGER)
    yield Signature("randomUUID", 0, 0, STRING)
    yield Signature("range", 2, 3, list_of(INTEGER))


def _of_strings() -> Iterator[Signature]:
    yield from _several("left right", 2, 2, STRING)
    yield Signature("substring", 2, 3, STRING)
    yield Signature("replace", 3, 3, STRING)
    yield Signature("split", 2, 2, list_of(STRING))
    yield Signature("normalize", 1, 2, STRING)
    yield from _several("trim btrim ltrim rtrim", 1, 2, STRING)
    yield from _several("toUpper upper toLower lower", 1, 1, STRING)
    yield from _several("char_length character_length", 1, 1, INTEGER)
    yield from _several("contains startsWith endsWith", 2, 2, BOOLEAN)


def _of_numbers() -> Iterator[Signature]:
    yield Signature("abs", 1, 1)
    yield Signature("sign", 1, 1, INTEGER)
    yield Signature("isNaN", 1, 1, BOOLEAN)
    yield Signature("round", 1, 3, FLOAT)
    yield Signature("atan2", 2, 2, FLOAT)
    yield from _several("power mod", 2, 2)
    yield from _several("ceil ceiling floor sqrt exp log ln log10 degrees radians", 1, 1, FLOAT)
    yield from _several("sin cos tan cot asin acos atan sinh cosh tanh haversin", 1, 1, FLOAT)
    yield from _several("e pi rand", 0, 0, FLOAT)


def _by_name(*several: Iterator[Signature]) -> Mapping[str, Signature]:
    return {signature.name.lower(): signature for room in several for signature in room}


FUNCTIONS = _by_name(_temporal(), _of_graph(), _of_values(), _of_strings(), _of_numbers())
"""By name in lower case: the language does not tell ABS from abs."""

AGGREGATES: Mapping[str, Signature] = _by_name(
    iter((Signature("count", 1, 1, INTEGER), Signature("collect", 1, 1, LIST))),
    _several("sum avg min max", 1, 1),
    _several("stDev stDevP", 1, 1, FLOAT),
    _several("percentileCont percentileDisc percentile_cont percentile_disc", 2, 2),
)
RANDOM = frozenset({"rand", "randomuuid"})
"""Functions that give another value for each row; an aggregate over them would mean nothing."""

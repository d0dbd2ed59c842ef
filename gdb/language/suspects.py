"""Search for the place in the query of an error that has none: one of values in columns, which hold no query text."""

from __future__ import annotations

from collections.abc import Iterator

from gdb.errors import ArgumentProblem, QueryError
from gdb.language.clauses import Match, Query, Return
from gdb.language.report import problem
from gdb.language.syntax import Arithmetic, Call, Expression, Negative, PathPattern, Place, walk


def locate_failure(query: Query, failed: QueryError) -> QueryError:
    """The error with the place of the calculation that can fail so; where there are several, of all from
    the first to the last of them, and where there is none, of the last clause.

    query : MATCH and RETURN.
    """
    places = [part.place for part in _parts(query) if _may_fail(part, failed)]
    places = sorted(places, key=lambda place: place.start) or [query.parts[0][-1].place]
    place = Place(places[0].start, max(place.end for place in places))
    return problem(type(failed), query.text, place, failed.message, failed.cure)


def _may_fail(part: Expression, failed: QueryError) -> bool:
    divides = isinstance(part, Arithmetic) and any(sign in "/%" for sign, _ in part.rest)
    if "divided by zero" in failed.message:
        return divides
    if isinstance(failed, ArgumentProblem):
        return isinstance(part, Call)
    return isinstance(part, (Arithmetic, Negative, Call))


def _parts(query: Query) -> Iterator[Expression]:
    for clause in query.parts[0]:
        several: list[Expression | None] = []
        match clause:
            case Match(patterns=patterns, where=where):
                several = [*(one for pattern in patterns for one in _inside(pattern)), where]
            case Return(items=items, order=order):
                several = [item.expression for item in items]
                several += [item.expression for item in order]
        for expression in several:
            if expression is not None:
                yield from walk(expression)


def _inside(pattern: PathPattern) -> Iterator[Expression | None]:
    for part in pattern.parts:
        yield from (value for _, value in part.properties)
        yield part.where

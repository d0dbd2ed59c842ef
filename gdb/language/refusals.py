"""Queries that `binder.bind` cannot make one pattern and one tail of, and the errors that say so, with the place."""

from __future__ import annotations

from collections.abc import Iterable, Set

from gdb.errors import NotSupported
from gdb.language import syntax
from gdb.language.clauses import Match
from gdb.language.dynamic_labels import HasNamed
from gdb.language.existence import is_edge_test
from gdb.language.mentioned_names import asks
from gdb.language.name_resolution import conjuncts
from gdb.language.report import beyond_pattern
from gdb.language.syntax import Expression, PathMode, PathPattern, walk
from gdb.language.value_types import IsNormalized, IsTyped

_KINDS: dict[type[Expression], str] = {
    syntax.MapLiteral: "a map as a value is",
    syntax.MapProjection: "a map as a value is",
    IsTyped: "a test of the type is",
    HasNamed: "a label that a value names is",
    IsNormalized: "IS NORMALIZED is",
    syntax.ListComprehension: "a list comprehension is",
    syntax.Reduce: "reduce() is",
    syntax.PatternComprehension: "a pattern inside an expression is",
    syntax.PatternTest: "a pattern inside an expression is",
}


def check(text: str, matches: Iterable[Match]) -> None:
    """Refuse what patterns and their conditions have that one compiled pattern has not.

    Raises
    ------
    NotSupported : with the place.
    """
    for match in matches:
        for path in match.patterns:
            _check_path(text, path)
            for element in path.parts:
                for _, value in element.properties:
                    check_expression(text, value)
        for condition in () if match.where is None else conjuncts(match.where):
            if not is_edge_test(condition):  # which belongs to the query graph
                check_expression(text, condition, _lengths(condition))


def check_expression(
    text: str, expression: Expression, known: Set[Expression] = frozenset()
) -> None:
    """Refuse an expression in which there is a part that cannot be translated; known : parts that need not be."""
    for part in walk(expression):
        found = None if part in known else untranslatable_part(part)
        if found is not None:
            raise beyond_pattern(text, part.place, found)


def untranslatable_part(part: Expression) -> str | None:
    """What the part is; None if it can be translated."""
    match part:
        case syntax.Subquery(kind=kind):
            return f"{kind} {{ }} is"
        case syntax.Quantified(quantifier=quantifier):
            return f"{quantifier}() is"
        case _:
            return _KINDS.get(type(part))


def _lengths(condition: Expression) -> frozenset[Expression]:
    """The maps of duration({hours: 24}) in a comparison: which `element_comparisons.py` leaves alone."""
    inner = condition.operand if isinstance(condition, syntax.Not) else condition
    if not isinstance(inner, syntax.Comparison):
        return frozenset()
    calls = (part for part in walk(inner) if isinstance(part, syntax.Call))
    durations = (call for call in calls if call.function.text.lower() == "duration")
    return frozenset(part for call in durations for part in call.arguments)


def refused_by_text(text: str, matches: Iterable[Match], behind: Iterable[Expression]) -> bool:
    """Whether the text alone keeps a query from being one compiled pattern and its tail, whatever the graph. behind :
    the expressions of the tail."""
    try:
        check(text, matches)
    except NotSupported:
        return True
    return any(map(asks, behind))


def _check_path(text: str, path: PathPattern) -> None:
    place = path.nodes[0].place.to(path.nodes[-1].place)
    for relationship in path.relationships:
        if relationship.length is not None:
            several = relationship.repeated is not None
            what = f"{'a quantified path pattern' if several else 'a relationship of variable length'} is"
            raise beyond_pattern(text, relationship.place, what)
    if path.selector is not None or path.mode is not PathMode.TRAIL:
        raise beyond_pattern(text, place, "a path selector is")
    if path.name is not None:
        raise beyond_pattern(text, path.name.place, "a name for a whole path is")
    for part in path.parts:
        if part.given is not None:
            what = "a parameter for a whole property map is"
            raise beyond_pattern(text, part.given.place, what)
        if part.where is not None:
            raise beyond_pattern(text, part.where.place, "WHERE inside a pattern is")

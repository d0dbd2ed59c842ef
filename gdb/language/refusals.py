"""Queries that `binder.bind` cannot make one pattern and one tail of, and the errors that say so, with the place."""

from __future__ import annotations

from collections.abc import Iterable, Set

from gdb.errors import NotSupported
from gdb.language.clauses import Match
from gdb.language.dynamic_labels import HasNamed
from gdb.language.existence import is_edge_test
from gdb.language.name_resolution import conjuncts
from gdb.language.report import problem
from gdb.language.syntax import (
    Call,
    Comparison,
    Expression,
    ListComprehension,
    MapLiteral,
    MapProjection,
    NodePattern,
    Not,
    PathMode,
    PathPattern,
    PatternComprehension,
    PatternTest,
    Quantified,
    Reduce,
    RelationshipPattern,
    Subquery,
    walk,
)
from gdb.language.value_types import IsNormalized, IsTyped

_HOPS = "Write each relationship out, one query for each length."
_PARAMETER = "Pass the list as a $parameter."
_IN_MATCH = "Write it in MATCH, separated by a comma."
_KINDS: dict[type[Expression], tuple[str, str]] = {
    MapLiteral: ("maps as values are", "Return the values as columns."),
    MapProjection: ("maps as values are", "Return the values as columns."),
    IsTyped: ("a test of the type is", "Compare valueType() in Python."),
    HasNamed: ("a label that a value names is", "Write its name."),
    IsNormalized: ("IS NORMALIZED is", "Test it in Python."),
    ListComprehension: ("a list comprehension is", _PARAMETER),
    Reduce: ("reduce() is", _PARAMETER),
    PatternComprehension: ("a pattern inside an expression is", _IN_MATCH),
    PatternTest: ("a pattern inside an expression is", _IN_MATCH),
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
        found = None if part in known else refused(part)
        if found is not None:
            what, instead = found
            raise problem(NotSupported, text, part.place, f"{what} not supported yet.", instead)


def refused(part: Expression) -> tuple[str, str] | None:
    """What the part is, and what to write instead; None if it can be translated."""
    match part:
        case Subquery(kind=kind):
            instead = "Write its pattern in MATCH, with RETURN DISTINCT or count(DISTINCT ...)."
            return f"{kind} {{ }} is", instead
        case Quantified(quantifier=quantifier):
            return f"{quantifier}() is", "Use IN to look into a list."
        case _:
            return _KINDS.get(type(part))


def _lengths(condition: Expression) -> frozenset[Expression]:
    """The maps of duration({hours: 24}) in a comparison: which `element_comparisons.py` leaves alone."""
    inner = condition.operand if isinstance(condition, Not) else condition
    if not isinstance(inner, Comparison):
        return frozenset()
    calls = (part for part in walk(inner) if isinstance(part, Call))
    durations = (call for call in calls if call.function.text.lower() == "duration")
    return frozenset(part for call in durations for part in call.arguments)


def _check_path(text: str, path: PathPattern) -> None:
    place = path.nodes[0].place.to(path.nodes[-1].place)
    for relationship in path.relationships:
        if relationship.length is not None:
            what = "a relationship of variable length is no part of one compiled pattern."
            raise problem(NotSupported, text, relationship.place, what, _HOPS)
    if path.selector is not None or path.mode is not PathMode.TRAIL:
        what = "a path selector is no part of one compiled pattern."
        raise problem(NotSupported, text, place, what, _HOPS)
    if path.name is not None:
        what = "a name for a whole path is no part of one compiled pattern."
        instead = "Name its nodes and relationships instead."
        raise problem(NotSupported, text, path.name.place, what, instead)
    for element in path.parts:
        _check_element(text, element)


def _check_element(text: str, element: NodePattern | RelationshipPattern) -> None:
    if element.given is not None:
        what = "a parameter for a whole property map is not supported yet."
        instead = "Write {key: $value} for each key."
        raise problem(NotSupported, text, element.given.place, what, instead)
    if element.where is not None:
        what = "WHERE inside a pattern is not supported yet."
        instead = "Write WHERE after the last pattern."
        raise problem(NotSupported, text, element.where.place, what, instead)

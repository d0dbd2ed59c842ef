"""What `binder.bind` cannot make one pattern and one tail of, and how it says so, with the place."""

from __future__ import annotations

from collections.abc import Iterator, Set

from gdb.errors import NotSupported
from gdb.language.clauses import Clause, Match, Query, Return, Simple
from gdb.language.existence import is_edge_test
from gdb.language.named_by import HasNamed
from gdb.language.report import problem
from gdb.language.resolve import conjuncts
from gdb.language.syntax import (
    Call,
    Comparison,
    Expression,
    ListComprehension,
    Literal,
    MapLiteral,
    MapProjection,
    NodePattern,
    Not,
    Parameter,
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
_ONE_MATCH = "Write all patterns in one MATCH, separated by commas, and RETURN."
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


def refuse_clauses(query: Query) -> NotSupported:
    """The error for a query that is not MATCH and RETURN, at the first clause that is something else."""
    if len(query.parts) > 1:
        what, place = "UNION", query.parts[1][0].place
    else:
        clause = _first_other(query.parts[0])
        what, place = _shown(clause), clause.place
    return problem(NotSupported, query.text, place, f"{what} is not supported yet.", _ONE_MATCH)


def _first_other(clauses: tuple[Clause, ...]) -> Clause:
    for number, clause in enumerate(clauses):
        plain = isinstance(clause, Match) and not clause.optional
        if not plain and (not number or not isinstance(clause, Return)):
            return clause
    return clauses[-1]


def _shown(clause: Clause) -> str:
    if isinstance(clause, Match):
        return "OPTIONAL MATCH" if clause.optional else "MATCH without RETURN"
    if isinstance(clause, Return):
        return "RETURN without MATCH"
    return type(clause).__name__.removesuffix("Subquery").removesuffix("Procedure").upper()


def check(query: Simple) -> None:
    """Refuse what patterns and expressions have that the binder has not.

    Raises
    ------
    NotSupported : with the place.
    """
    for match in query.matches:
        for path in match.patterns:
            _check_path(query.text, path)
    for expression in _expressions(query):
        check_expression(query.text, expression)
    for condition in _conditions(query):
        check_expression(query.text, condition, _lengths(condition))
    for count in (query.returning.skip, query.returning.limit):
        if count is not None and not isinstance(count, (Literal, Parameter)):
            raise problem(
                NotSupported,
                query.text,
                count.place,
                "a calculated SKIP or LIMIT is not supported yet.",
                "Pass the number as a $parameter.",
            )


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


def _conditions(query: Simple) -> Iterator[Expression]:
    """Of WHERE; a pattern in it that belongs to the query graph is none."""
    for match in query.matches:
        if match.where is not None:
            yield from (part for part in conjuncts(match.where) if not is_edge_test(part))


def _lengths(condition: Expression) -> frozenset[Expression]:
    """The maps of duration({hours: 24}) in a comparison: what `compared.py` cannot do with them, no one can."""
    inner = condition.operand if isinstance(condition, Not) else condition
    if not isinstance(inner, Comparison):
        return frozenset()
    calls = (part for part in walk(inner) if isinstance(part, Call))
    durations = (call for call in calls if call.function.text.lower() == "duration")
    return frozenset(part for call in durations for part in call.arguments)


def _expressions(query: Simple) -> Iterator[Expression]:
    """All that is to be translated besides the conditions."""
    for match in query.matches:
        for path in match.patterns:
            for element in _elements(path):
                yield from (value for _, value in element.properties)
    yield from (item.expression for item in query.returning.items)
    yield from (item.expression for item in query.returning.order)


def _elements(path: PathPattern) -> list[NodePattern | RelationshipPattern]:
    return [*path.nodes, *path.relationships]


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
    for element in _elements(path):
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

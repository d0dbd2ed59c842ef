"""Several MATCH are one pattern, also through a WITH that only passes names on.

    MATCH (a)-->(b) WITH a, b WHERE a.x > 1 MATCH (b)-->(c)
    MATCH (a)-->(b) WHERE a.x > 1 MATCH (b)-->(c)

Then those whose patterns are of single relationships, and share a name, become one clause, which knows which of its
patterns were together: relationships differ within one MATCH.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gdb.language import clauses
from gdb.language.clauses import Clause, Query
from gdb.language.mentioned_names import all_expressions, inside_conditions, of_pattern, of_query
from gdb.language.syntax import Connected, Connective, Expression, PathMode, PathPattern, Variable
from gdb.logical.operators import names_after
from gdb.query_graph import MatchMode
from gdb.records import replace


def merge_matches(query: Query, mode: MatchMode) -> Query:
    """See the module. mode : of a MATCH that names none."""
    parts = tuple(tuple(one_pattern(_passed(side), mode)) for side in query.parts)
    return query if parts == query.parts else replace(query, parts=parts)


def one_pattern(side: Sequence[Clause], mode: MatchMode) -> list[Clause]:
    """The clauses, in which several MATCH in a row are one where they can be."""
    found: list[Clause] = []
    for clause in side:
        before = found[-1] if found else None
        if (
            isinstance(clause, clauses.Match)
            and isinstance(before, clauses.Match)
            and _goes_on(before, clause, mode)
        ):
            found[-1] = _one(before, clause)
        else:
            found.append(clause)
    return found


def _one(first: clauses.Match, second: clauses.Match) -> clauses.Match:
    of = (*(k for k, _ in first.numbered), *(1 + max(first.of, default=0) for _ in second.patterns))
    where = first.where if second.where is None else _both(first.where, second.where)
    return replace(first, patterns=(*first.patterns, *second.patterns), where=where, of=of)


def _goes_on(first: clauses.Match, second: clauses.Match, mode: MatchMode) -> bool:
    names = _names(first)
    same = (second.mode or mode) == (first.mode or mode)
    shares = all(names & of_pattern(path) for path in second.patterns)
    plain = _plain(first, mode) and _plain(second, mode)
    if not (same and shares and plain) or names & _relationships(second):
        return False
    return not _takes_over(first, second) and not _draws(all_expressions(first))


def _draws(expressions: Iterable[Expression]) -> bool:
    """Whether one of some expressions is a random value, which is drawn for each row before another MATCH alone."""
    from gdb.language.random_values import is_random  # here: few queries have several patterns

    return any(map(is_random, expressions))


def _takes_over(first: clauses.Match, second: clauses.Match) -> bool:
    """Whether the second MATCH binds what a pattern or subquery in a condition of the first has a name of its own for:
    `MATCH (a) WHERE EXISTS { (a)-->(b) } MATCH (a)<--(b)`."""
    new = {*names_after(second, ())} - {*names_after(first, ())}
    return not new.isdisjoint(inside_conditions(first))


def _plain(clause: clauses.Match, default: MatchMode) -> bool:
    """Whether a MATCH consists of single relationships and keeps to the rule that these differ, or to none."""
    mode = clause.mode or default
    if clause.optional or mode.nodes_differ or mode.distinct or mode.induced:
        return False
    return all(map(_single, clause.patterns))


def _single(path: PathPattern) -> bool:
    plain = path.name is None and path.selector is None and path.mode is PathMode.TRAIL
    return plain and all(one.length is None for one in path.relationships)


def _names(clause: clauses.Match) -> frozenset[str]:
    return frozenset[str]().union(*map(of_pattern, clause.patterns))


def _relationships(clause: clauses.Match) -> set[str]:
    every = [one for path in clause.patterns for one in path.relationships]
    return {one.variable.text for one in every if one.variable is not None}


# ---- WITH that passes on -------------------------------------------------------------------------


def _passed(side: Sequence[Clause]) -> list[Clause]:
    """The clauses without each WITH that only passes on."""
    found: list[Clause] = []
    visible: set[str] | None = set()  # None: not known
    for place, clause in enumerate(side):
        before = found[-1] if found else None
        if (
            isinstance(clause, clauses.With)
            and isinstance(before, clauses.Match)
            and not before.optional
            and visible is not None
            and _only_passes_on(clause, visible, side[place + 1 :])
        ):
            if clause.where is not None:
                found[-1] = replace(before, where=_both(before.where, clause.where))
            continue
        found.append(clause)
        visible = _after(visible, clause)
    return found


def _after(visible: set[str] | None, clause: Clause) -> set[str] | None:
    """The names behind a clause."""
    match clause:
        case clauses.Match():
            return None if visible is None else visible | _names(clause)
        case clauses.Unwind(variable=variable):
            return None if visible is None else visible | {variable.text}
        case clauses.With(projection=projection) if not projection.everything:
            return {item.name for item in projection.items}
        case _:
            return None


def _only_passes_on(clause: clauses.With, visible: set[str], rest: Sequence[Clause]) -> bool:
    """Whether the rows stay the same, and none of the names that end here comes again."""
    projection = clause.projection
    if projection.distinct or projection.order:
        return False
    if clause.where is not None and _draws([clause.where]):
        return False
    if projection.skip is not None or projection.limit is not None:
        return False
    for item in projection.items:
        if not isinstance(item.expression, Variable) or item.expression.name != item.name:
            return False
    if projection.everything:
        return True
    ended = visible - {item.name for item in projection.items}
    return not ended or not (_takes_everything(rest) or ended & set(_all_names(rest)))


def _takes_everything(side: Sequence[Clause]) -> bool:
    """Whether names that are not mentioned reach the answer, or might."""
    for clause in side:
        match clause:
            case clauses.With(projection=projection) | (clauses.Return() as projection):
                return projection.everything
            case clauses.Match() | clauses.Unwind():
                continue
            case _:
                return True
    return True


def _all_names(side: Sequence[Clause]) -> Iterator[str]:
    """The names that clauses mention or give."""
    yield from of_query(Query("", (tuple(side),)))
    for clause in side:
        match clause:
            case clauses.Unwind(variable=variable) | clauses.LoadCsv(variable=variable):
                yield variable.text
            case clauses.With(projection=projection) | (clauses.Return() as projection):
                yield from (item.name for item in projection.items)
            case clauses.CallProcedure(yields=yields):
                yield from (alias.text for _, alias in yields or ())
            case clauses.CallSubquery(query=query):
                yield from (name for part in query.parts for name in _all_names(part))


def _both(first: Expression | None, second: Expression) -> Expression:
    """The conjunction of two conditions."""
    if first is None:
        return second
    return Connected(Connective.AND, (first, second), second.place)

"""What the clauses behind a clause ask of its rows: which names, which properties, and whether each row is asked for or
only how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gdb.language.aggregation import is_aggregate
from gdb.language.clauses import CallSubquery, Clause, Match, Query, Return, Unwind, With
from gdb.language.mentions import mentioned, of_pattern, of_query
from gdb.language.rebuild import rebuilt
from gdb.language.resolve import properties
from gdb.language.syntax import Call, Expression, Literal, Variable, walk

_WEIGHED = ("count", "sum", "min", "max")
"""The aggregates that take a row which stands for several."""
_OF_KINDS = ("min", "max")
"""Those of them to which it does not matter how many."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of the rows of a clause.

    live : the names that may be asked for; None for all of them. present : those of them of which no more is asked
        than whether they are null.
    wishes : the properties asked for as far as the first clause that projects, by name and key.
    numbers : each row is not asked for, only how many equal ones there are. once : nor how many; only which there are.
    """

    live: frozenset[str] | None
    present: frozenset[str] = frozenset()
    wishes: frozenset[tuple[str, str]] = frozenset()
    numbers: bool = False
    once: bool = False


def demands(clauses: Sequence[Clause]) -> list[Demand]:
    """For each clause what those behind it ask of its rows. That is said by the clauses up to the next one that
    projects, behind which other names stand, and by the next one that puts equal rows together or leaves rows out."""
    found: list[Demand] = []
    end, equals = len(clauses), (False, False)
    for k in range(len(clauses) - 1, -1, -1):
        found.append(_demanded(clauses[k + 1 : end + 1], equals))
        projection = _projection(clauses[k])
        if projection is not None:
            end, equals = k, _of_equals(projection, equals)
    return found[::-1]


def _demanded(clauses: Sequence[Clause], equals: tuple[bool, bool]) -> Demand:
    live = _live(clauses)
    if live is None:
        return Demand(None, wishes=_wishes(clauses))
    present = live - of_query(Query("", (tuple(_without_counts(clauses)),)))
    return Demand(live, present, _wishes(clauses), *equals)


def pruned(clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses, in which WITH passes nothing on that nobody asks for."""
    found: list[Clause] = []
    behind: list[Clause] = []  # up to the next one that projects, the last one first
    for clause in reversed(clauses):
        if isinstance(clause, With):
            clause = _pruned(clause, _live(behind[::-1]))
        if _projection(clause) is not None:
            behind = []
        behind.append(clause)
        found.append(clause)
    return found[::-1]


def named(clause: Match) -> frozenset[str]:
    """The names that a MATCH gives its elements, or that the rows have."""
    return frozenset(name for path in clause.patterns for name in of_pattern(path))


def _live(clauses: Sequence[Clause]) -> frozenset[str] | None:
    """The names that some clauses may ask for; None for all."""
    for clause in clauses:
        projection = _projection(clause)
        if projection is not None:
            if projection.everything:
                return None
            break
        if isinstance(clause, CallSubquery):
            return None
    return of_query(Query("", (tuple(clauses),)))


def _projection(clause: Clause) -> Return | None:
    match clause:
        case With(projection=projection):
            return projection
        case Return():
            return clause
        case _:
            return None


def _parts(projection: Return) -> list[Expression]:
    """Its expressions."""
    items = [item.expression for item in projection.items]
    return items + [item.expression for item in projection.order]


def _wishes(clauses: Sequence[Clause]) -> frozenset[tuple[str, str]]:
    found: list[Expression] = []
    for clause in clauses:
        match clause:
            case Match(where=where) if where is not None:
                found.append(where)
            case Unwind(list=values):
                found.append(values)
        projection = _projection(clause)
        if projection is not None:
            found += _parts(projection)
            break
    return properties(found)


def _without_counts(clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses without the names of which the first projection asks only how many are not null."""

    def one(part: Expression) -> Expression | None:
        match part:
            case Call(function=function, arguments=(Variable(),), distinct=False):
                return Literal(1, part.place) if function.text.lower() == "count" else None
        return None

    found = list(clauses)
    for k, clause in enumerate(clauses):
        projection = _projection(clause)
        if projection is None:
            continue
        items = [replace(i, expression=rebuilt(i.expression, one)) for i in projection.items]
        order = [replace(i, expression=rebuilt(i.expression, one)) for i in projection.order]
        made = replace(projection, items=tuple(items), order=tuple(order))
        found[k] = replace(clause, projection=made) if isinstance(clause, With) else made
        break
    return found


def _of_equals(projection: Return, behind: tuple[bool, bool]) -> tuple[bool, bool]:
    """Whether equal rows end in an aggregate that takes them together, or in DISTINCT, before any is given out or left
    out; and whether it does not matter there how many they are. behind : the same of the clauses behind."""
    calls = [p for e in _parts(projection) for p in walk(e) if is_aggregate(p)]
    if calls:
        return all(map(_weighed, calls)), all(map(_of_kinds, calls))
    if projection.distinct:
        return True, True
    if projection.skip is not None or projection.limit is not None:
        return False, False
    return behind


def _weighed(call: Expression) -> bool:
    return isinstance(call, Call) and (call.distinct or call.function.text.lower() in _WEIGHED)


def _of_kinds(call: Expression) -> bool:
    return isinstance(call, Call) and (call.distinct or call.function.text.lower() in _OF_KINDS)


def _pruned(clause: With, live: frozenset[str] | None) -> With:
    projection = clause.projection
    every = [p for e in _parts(projection) for p in walk(e)]
    if (
        live is None
        or projection.distinct
        or projection.everything
        or any(map(is_aggregate, every))
    ):
        return clause
    asked = [item.expression for item in projection.order]
    asked += [] if clause.where is None else [clause.where]
    live = live.union(*map(mentioned, asked))
    items = tuple(
        item
        for item in projection.items
        if item.name in live or not isinstance(item.expression, Variable)
    )
    return replace(clause, projection=replace(projection, items=items))

"""The logical operators: what a query does, one step after the other.

A plan is a sequence of operators for each side of UNION. Each operator takes the rows of the one before it, and the
first takes one row without names. The clauses that only find, make or change something are operators as they were read;
WITH, RETURN and CALL { } consist of several steps and are taken apart (`gdb.logical.build`).

How the rows are made is not said here: over columns (`gdb.physical.columns`), over rows (`gdb.physical.rows`), or first
one, then the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import is_
from typing import TypeAlias

from gdb.language import clauses
from gdb.language.hidden_names import HIDDEN, is_hidden
from gdb.language.mentioned_names import all_expressions, expressions
from gdb.language.quantified_patterns import group_names
from gdb.language.syntax import (
    Call,
    Expression,
    NodePattern,
    PathPattern,
    Place,
    RelationshipPattern,
    Variable,
)
from gdb.records import dataclass, field

MADE = f"{HIDDEN}#"
"""The prefix of generated names: of a key, an aggregate, what rows are sorted by."""
Names: TypeAlias = tuple[str, ...]
"""The names of rows, in the order in which they came."""


@dataclass(frozen=True, slots=True)
class Column:
    """A name, and the expression that gives its value."""

    name: str
    expression: Expression

    @property
    def passes_on(self) -> bool:
        """Whether it is a name of the rows before, unchanged."""
        return isinstance(self.expression, Variable) and self.expression.name == self.name


@dataclass(frozen=True, slots=True)
class Project:
    """The columns of each row, all computed from the row before; of the other names none is left."""

    columns: tuple[Column, ...]
    place: Place = field(compare=False)

    @property
    def narrows(self) -> bool:
        """Whether it only leaves names out."""
        return all(column.passes_on for column in self.columns)


@dataclass(frozen=True, slots=True)
class Gathered:
    """A name, and the aggregate of a group that gives its value."""

    name: str
    call: Call


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row for each group of rows whose keys are equal; without keys one row, also of no rows.

    rest : names whose value in the first row each group keeps. Later expressions use only what is the same in
        all rows of a group.
    """

    keys: tuple[Column, ...]
    calls: tuple[Gathered, ...]
    rest: Names
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Argument:
    """Each row with names of the row that the plan began with: behind an Aggregate, whose row may come of no rows.

    It is only in the plan of a subquery, which runs for one row at a time.
    """

    names: Names
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Distinct:
    """The first of the rows that are equal in some names."""

    names: Names
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Sort:
    """All rows, in order; what is equal keeps its order."""

    keys: tuple[clauses.SortItem, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Limit:
    """The rows behind the first `skip`, and no more than `limit` of them."""

    skip: Expression | None
    limit: Expression | None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which a condition is true."""

    condition: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """Each row with each of those that a plan makes of it.

    sees : the names of the row that the plan begins with. brings : those that it gives; none where it does not end with
        RETURN, and then the row stays as it is. optional : a row for which it makes none gets nulls.
    """

    plan: Plan
    sees: Names
    brings: Names
    returns: bool
    optional: bool
    place: Place = field(compare=False)


Operator: TypeAlias = (
    clauses.Match
    | clauses.Unwind
    | Project
    | Aggregate
    | Argument
    | Distinct
    | Sort
    | Limit
    | Filter
    | Apply
    | clauses.CallProcedure
    | clauses.LoadCsv
    | clauses.Finish
    | clauses.Create
    | clauses.BulkCreate
    | clauses.Set
    | clauses.Remove
    | clauses.Delete
    | clauses.Merge
    | clauses.Foreach
)
Operators: TypeAlias = tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a query does.

    text : of the query, for errors. sides : of UNION; one where there is none. all : for each UNION whether it is UNION
    ALL. start : the names of the rows that it begins with. returns : whether its rows are an answer; else its last
    operator has written, or is a CALL, or FINISH, and its rows are unused.
    """

    text: str = field(compare=False)
    sides: tuple[Operators, ...]
    all: tuple[bool, ...]
    start: Names
    returns: bool

    @property
    def names(self) -> Names:
        """The names of the answer's columns."""
        return behind(self.sides[0], self.start)


def unless_same(before: Operators, found: list[Operator]) -> Operators:
    """What a pass made of operators: `before` itself where it changed none, which `is` then shows."""
    if len(before) == len(found) and all(map(is_, before, found)):
        return before
    return tuple(found)


def expressions_of(operator: Operator) -> Iterator[Expression]:
    """What it computes of its rows; not what is written in its patterns, or in the plan of an Apply."""
    match operator:
        case Project(columns=columns):
            yield from (column.expression for column in columns)
        case Aggregate(keys=keys, calls=calls):
            yield from (key.expression for key in keys)
            yield from (gathered.call for gathered in calls)
        case Sort(keys=sorts):
            yield from (item.expression for item in sorts)
        case Filter(condition=condition):
            yield condition
        case Argument() | Distinct() | Limit() | Apply():
            pass  # LIMIT names nothing of a row
        case _:
            yield from expressions(operator)


def every_expression(operator: Operator) -> Iterator[Expression]:
    """What is written in it: as `expressions_of`, and what is in the patterns of a MATCH, and behind SKIP and LIMIT."""
    match operator:
        case clauses.Match():
            yield from all_expressions(operator)
        case Limit(skip=skip, limit=limit):
            yield from (one for one in (skip, limit) if one is not None)
        case _:
            yield from expressions_of(operator)


def writes(plan: Plan) -> bool:
    """Whether a plan changes the graph."""
    return any(
        writes(operator.plan)
        if isinstance(operator, Apply)
        else isinstance(operator, clauses.WRITING)
        for operators in plan.sides
        for operator in operators
    )


# ---- names ---------------------------------------------------------------------------------------


def behind(operators: Operators, names: Names) -> Names:
    """The names behind some operators. names : before them."""
    found = dict.fromkeys(names)
    for operator in operators:
        follow(operator, found)
    return tuple(found)


def names_after(operator: Operator, names: Names) -> Names:
    """The names behind an operator. names : before it."""
    found = dict.fromkeys(names)
    follow(operator, found)
    return tuple(found)


def follow(operator: Operator, names: dict[str, None]) -> None:
    """Make the names before an operator those behind it, in place: a query may have tens of thousands of both. Hidden
    names end with their operator."""
    match operator:
        case clauses.Match(patterns=patterns):
            nodes = [part for pattern in patterns for part in pattern.nodes]
            between = [part for pattern in patterns for part in pattern.relationships]
            paths = [pattern.name.text for pattern in patterns if pattern.name is not None]
            groups = [name.text for one in between if one.repeated for name, _ in group_names(one)]
            _join(names, [*_variables([*nodes, *between]), *groups, *paths])
        case clauses.Create(patterns=patterns):
            _join(names, [name for pattern in patterns for name in _named(pattern)])
        case clauses.BulkCreate(nodes=nodes, relationships=relationships):
            _join(names, [*nodes, *relationships])
        case clauses.Merge(pattern=pattern):
            _join(names, _named(pattern))
        case Apply(brings=brings):
            _join(names, brings)
        case Argument(names=of_start):
            names.update(dict.fromkeys(of_start))
        case clauses.Unwind(variable=variable):
            names.pop(variable.text, None)  # it becomes the last one
            names[variable.text] = None
        case clauses.LoadCsv(variable=variable):
            names[variable.text] = None
        case clauses.CallProcedure(yields=yields):
            names.update((alias.text, None) for _, alias in yields or ())
        case Project(columns=columns):
            names.clear()
            names.update((column.name, None) for column in columns)
        case Aggregate(keys=keys, calls=calls, rest=rest):
            names.clear()
            names.update(dict.fromkeys(key.name for key in keys))
            names.update(dict.fromkeys(call.name for call in calls))
            names.update(dict.fromkeys(rest))
        case clauses.Finish():
            names.clear()


def _named(pattern: PathPattern) -> list[str]:
    """What the user named in a pattern: nodes, relationships, the path."""
    named = _variables([*pattern.nodes, *pattern.relationships])
    return named if pattern.name is None else [*named, pattern.name.text]


def _variables(parts: list[NodePattern | RelationshipPattern]) -> list[str]:
    return [part.variable.text for part in parts if part.variable is not None]


def _join(names: dict[str, None], more: Sequence[str]) -> None:
    for name in more:
        if not is_hidden(name):
            names[name] = None

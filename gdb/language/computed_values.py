"""Equalities of what is computed of one vertex each, between parts of a pattern that no edge joins:
`MATCH (a:P), (b:Q) WHERE toLower(a.name) = toLower(b.name)`.

Each side is evaluated over all vertices that its query vertex may be, by DuckDB, and taken by its rank among the values
of both sides, so that the planner matches the parts by them (`gdb.planner.equal_values`) and no other pair is tried.
What fails for some vertex is left to the pairs: perhaps none of them comes to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.sql import (
    aliased,
    binary,
    call,
    cast,
    column_of,
    dense_rank,
    exp,
    is_there,
    negated,
    select,
    united,
    value_of,
    written,
)
from gdb.errors import Cancelled, GdbError, NotSupported, OutOfBudget, QueryTimeout
from gdb.executor.plan.plan import MISSING, Compare
from gdb.functions.types import NUMBERS, Typed, TypeName
from gdb.language import syntax
from gdb.language.canonical import canonical
from gdb.language.comparison_values import Ranks, kept_for
from gdb.language.element_columns import ElementColumns, Parameters
from gdb.language.element_comparisons import Compared
from gdb.language.mentioned_names import asks
from gdb.language.name_resolution import elements, parameters
from gdb.language.random_values import is_random
from gdb.language.syntax import Comparator, ElementReference, Expression, walk
from gdb.language.translator import Translator
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.sql import Part
    from gdb.executor.relational.arrow import Array
    from gdb.language.scope import Scope

_PLAIN = (int, float, str, type(None))
_KINDS = (*NUMBERS, TypeName.STRING, TypeName.BOOLEAN)


def split_equalities(
    scope: Scope, conditions: Iterable[Expression]
) -> tuple[tuple[Compared, ...], list[Expression]]:
    """The equalities among some conditions that are between two parts of the pattern, each side computed of one vertex,
    and the other conditions. Evaluates both sides of each over all vertices."""
    parts = scope.parts()
    found: list[Compared] = []
    rest: list[Expression] = []
    for condition in conditions:
        sides = _sides(condition)
        one = None
        if sides is not None and parts[sides[0].vertex] != parts[sides[1].vertex]:
            one = _compared(scope, condition, sides)
        if one is None:
            rest.append(condition)
        else:
            found.append(one)
    return tuple(found), rest


@dataclass(frozen=True, slots=True)
class _Computed:
    """An expression of the properties of one vertex."""

    expression: Expression
    element: ElementReference

    @property
    def vertex(self) -> int:
        return self.element.index


def _sides(condition: Expression) -> tuple[_Computed, _Computed] | None:
    """Both sides of an equality, each computed of one vertex; None for anything else."""
    if not isinstance(condition, syntax.Comparison) or condition.operator is not Comparator.EQUAL:
        return None
    left, right = _computed(condition.left), _computed(condition.right)
    if left is None or right is None or left.vertex == right.vertex:
        return None
    return left, right


def _computed(expression: Expression) -> _Computed | None:
    if asks(expression) or is_random(expression):
        return None
    parts = [*walk(expression)]
    if any(isinstance(part, syntax.HasLabels) for part in parts):
        return None
    mentioned = {*elements(expression)}
    if len(mentioned) != 1:
        return None
    (element,) = mentioned
    # of an element itself, its id and its labels there are no columns
    alone = sum(isinstance(part, ElementReference) for part in parts)
    read = sum(
        isinstance(part, syntax.Property) and isinstance(part.subject, ElementReference)
        for part in parts
    )
    return _Computed(expression, element) if element.kind == "vertex" and alone == read else None


def _compared(
    scope: Scope, condition: Expression, sides: tuple[_Computed, _Computed]
) -> Compared | None:
    names = sorted({name for name, _ in parameters(condition)})
    given = [(name, scope.parameters.get(name)) for name in names]
    if any(not isinstance(value, _PLAIN) for _, value in given):
        return None
    try:
        if names:
            ranks = _rank(scope, sides)
        else:
            key = tuple(
                (canonical(one.expression, {}, lambda _: "x"), scope.groups(one.vertex))
                for one in sides
            )
            ranks = kept_for(scope, Ranks, ("computed", key), lambda: _rank(scope, sides))
    except (Cancelled, QueryTimeout, OutOfBudget):
        raise
    except GdbError:  # it is not for columns, or fails for some vertex
        return None
    text = " ".join(scope.text[condition.place.start : condition.place.end].split())
    if given:  # what is kept of a plan is found by its text
        text = f"{text} with {', '.join(f'${name} = {value!r}' for name, value in given)}"
    ends = sides[0].vertex, sides[1].vertex
    compare = Compare(*ends, False, False, 0, 0, ranks.left, ranks.right, text)
    return Compared(condition, compare, TypeName.INTEGER, computed=True)


def _rank(scope: Scope, sides: tuple[_Computed, _Computed]) -> Ranks:
    """The ranks of both sides' values. Raises QueryError, RunError: they have no columns, or fail for some vertex."""
    from gdb.executor.conditions.predicates import vertex_rows  # here and below: needs DuckDB
    from gdb.executor.relational import arrow, relational

    values, count = Parameters(), scope.snapshot.vertex_count
    typed: list[Typed] = []
    tables: list[Array | None] = []
    for one in sides:
        groups = scope.groups(one.vertex)
        columns = ElementColumns(scope, values, (), len(groups) > 1)
        typed.append(Translator(scope, columns, values).translate(one.expression))
        tables.append(vertex_rows(scope.snapshot, groups, columns.keys))
    kinds = {one.kind for one in typed}
    if not kinds <= {*_KINDS} or (len(kinds) > 1 and not kinds <= {*NUMBERS}):
        # of unlike kinds none are equal, but computing one may fail
        raise NotSupported("values of these kinds have no ranks.")
    ranks = np.full(2 * count, MISSING, np.int64)
    left, right = tables
    if left is not None and right is not None:
        floats = TypeName.FLOAT in kinds
        queries = [_numbered(one, k, k * count, floats) for k, one in enumerate(typed)]
        tests, order = [is_there("v")], [column_of("v")]
        if floats:
            tests.append(negated(call("isnan", "v")))
            order.append(column_of("w"))
        ranked: list[Part] = ["place", aliased(dense_rank(order), "rank")]
        sql = written(select(ranked, united(*queries, every=True), where=tests))
        answer = relational.query({"side0": left, "side1": right}, sql, values.used(sql))
        for chunk in answer.iter_chunks():
            places, found = (arrow.int64_values(arrow.child(chunk, k))[0] for k in (0, 1))
            ranks[places] = found
    nothing = np.zeros(0, np.int64)
    return Ranks(ranks[:count], ranks[count:], (nothing, nothing))


def _numbered(typed: Typed, side: int, first: int, floats: bool) -> exp.Query:
    """The places of one side's vertices from `first` on, and their values: with `floats` the nearest float, and the
    whole number, for integers equal floats exactly."""
    place = aliased(binary(exp.Add, "element", value_of(first)), "place")
    if not floats:
        return select([place, aliased(typed.sql, "v")], f"side{side}")
    nearest = binary(exp.Add, cast(typed.sql, "DOUBLE"), value_of(0.0))  # of -0.0 too
    whole = cast(typed.sql.copy(), "HUGEINT", attempt=typed.kind is TypeName.FLOAT)
    return select([place, aliased(nearest, "v"), aliased(whole, "w")], f"side{side}")

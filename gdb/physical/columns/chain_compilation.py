"""From operators to a chain: each operator makes a relation of the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from gdb.base.sql import (
    aliased,
    binary,
    call,
    cast,
    chosen,
    exp,
    is_null,
    named_rows,
    row_number,
    rows_of,
    select,
    value_of,
    written,
)
from gdb.errors import LimitExceeded, QueryError
from gdb.functions.types import INTEGER, Type, TypeName
from gdb.imports import deferred
from gdb.language.clauses import Match, Unwind
from gdb.language.hidden_names import is_hidden
from gdb.language.scope import Scope
from gdb.language.syntax import Arithmetic, Negative, walk
from gdb.logical import operators
from gdb.logical.needed_properties import Demand, demands_around
from gdb.logical.operators import Names, Operators, Plan
from gdb.physical.columns import column_projection
from gdb.physical.columns.expression_translation import ChainTranslator, integers_of
from gdb.physical.columns.looked_columns import RelationColumns, looked_up, settle_embeddings
from gdb.physical.columns.relation import UNIT, Builder, Held, Relation, outputs, select_columns
from gdb.physical.columns.steps import Chain
from gdb.physical.columns.unions import distinct, union_of
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.base.sql import Part
    from gdb.executor.relational.relational_tail import Value
    from gdb.physical.columns import applied
    from gdb.physical.rows.run_context import RowContext
else:
    applied = deferred("gdb.physical.columns.applied")  # few queries have a subquery

LONGEST_SPAN = 10_000_000
"""Integers that UNWIND makes of one range() in DuckDB, whose answers and numbers of rows no budget counts."""


EVERY_ROW = (1 << 62) - 1
"""A LIMIT that leaves out nothing, which DuckDB moves no condition over."""


@dataclass(frozen=True, slots=True)
class NotForColumns:
    """why : a plan is not for columns. reached : the place of the operator that is not; in a UNION of some side."""

    why: str
    reached: int


def compiled(context: RowContext, plan: Plan, values: Mapping[str, Value]) -> Chain | NotForColumns:
    """A plan as a chain, or why it is none.

    Parameters
    ----------
    context : of the run that may follow; only the names of its snapshot are read.
    values : of the parameters, as the caller gave them.
    """
    from gdb.physical.columns.column_matching import compile_match  # a tail has no MATCH

    scope = Scope(context.text, context.graph.snapshot, values)
    builder = Builder(scope, context, compile_match, over)
    try:
        return _compiled(builder, plan)
    except (QueryError, LimitExceeded) as refused:
        return NotForColumns(refused.message, builder.reached)
    except RecursionError as error:
        return NotForColumns(f"too deep for columns: {error}", builder.reached)


def _compiled(builder: Builder, plan: Plan) -> Chain:
    if not plan.returns:
        raise builder.refuse(plan.sides[0][-1].place, "a query without RETURN is")
    alone = len(plan.sides) == 1
    found = [over(builder, side, plan.names, UNIT, answers=alone) for side in plan.sides]
    sql, types = answer(found[0], plan.names) if alone else _united(builder, plan, found)
    made, text = outputs(plan.names, types), written(sql)
    steps, used = tuple(builder.steps), builder.parameters.used(text)
    return Chain(steps, text, used, made, tuple(types), builder.ownership)


def answer(relation: Relation, names: Names) -> tuple[exp.Query, list[Type]]:
    """The SELECT of some names of a relation as o0, o1, ... in its order, and their types."""
    columns = [aliased(relation.names[name].column, f"o{k}") for k, name in enumerate(names)]
    sql = select(columns, relation.from_, order=relation.ways or relation.sorted)
    return sql, [relation.names[name].type for name in names]


def _united(
    builder: Builder, plan: Plan, found: Sequence[Relation]
) -> tuple[exp.Query, list[Type]]:
    """The SELECT of UNION, and the types of its columns."""
    union, types = union_of(builder, plan, found)
    if not union.order:
        assert isinstance(union.source, exp.Query)
        return union.source, types
    if not all(plan.all):
        place = plan.sides[1][0].place
        union = distinct(builder, union, operators.Distinct(plan.names, place))
    return answer(union, plan.names)


def over(
    builder: Builder, side: Operators, names: Names, start: Relation, *, answers: bool = True
) -> Relation:
    """The relation that some operators make of one. names : the columns of the answer. answers : its rows are the
    answer, and nothing else is made of them.

    Raises
    ------
    QueryError : they are not for columns.
    """
    relation = start
    builder.all_needed()
    limit: operators.Limit | None = None  # done with the Sort before it
    demanded = demands_around(side, names)
    for place, (operator, (before, demand)) in enumerate(
        zip(side, pairwise(demanded), strict=True)
    ):
        builder.pulse()
        builder.reached = place
        if builder.alone and not isinstance(operator, (operators.Project, operators.Aggregate)):
            relation = settle_embeddings(builder, relation, before)
        match operator:
            case Match():
                relation = builder.matched(relation, operator, demand)
            case Unwind():
                relation = _unwound(builder, relation, operator, demand)
            case operators.Project():
                relation = column_projection.compile_project(builder, relation, operator, demand)
            case operators.Aggregate():
                relation = column_projection.compile_aggregate(builder, relation, operator, demand)
            case operators.Distinct():
                relation = distinct(builder, relation, operator)
            case operators.Filter():
                from gdb.physical.columns.pattern_columns import PatternColumns

                if _computes(side[:place]):
                    relation = _computed_first(relation)
                relation = PatternColumns(builder, relation).filtered([operator.condition])
            case operators.Sort():
                after = side[place + 1] if place + 1 < len(side) else None
                limit = after if isinstance(after, operators.Limit) else None
                behind = side[place + 1 + (limit is not None) :]
                last = answers and all(
                    isinstance(one, (operators.Project, operators.Filter)) for one in behind
                )
                relation = column_projection.compile_sort(builder, relation, operator, limit, last)
            case operators.Limit():
                if operator is not limit:
                    relation = column_projection.compile_limit(builder, relation, operator)
            case operators.Apply():
                relation = applied.compile_apply(builder, relation, operator, demand)
            case operators.Argument():
                relation = applied.compile_argument(builder, relation, operator)
            case _:
                raise builder.refuse(operator.place, f"{type(operator).__name__} is")
        relation = relation.only(demand.live)
        if not demand.ordered:
            relation = relation.unordered()
        if builder.ownership is not None:
            with_limit = isinstance(operator, operators.Sort) and limit is not None
            relation = owned(builder, relation, operator, demand, whole=not with_limit)
    for name in names if side else ():
        builder.check_measured(relation.names.get(name), side[-1].place)
    builder.reached = len(side)
    return builder.expanded(relation)


def _computes(before: Operators) -> bool:
    """Whether the operators directly before a condition compute what may fail for some row."""
    for operator in reversed(before):
        if not isinstance(operator, (operators.Project, operators.Aggregate, operators.Distinct)):
            return False
        every = (part for one in operators.expressions_of(operator) for part in walk(one))
        if any(isinstance(part, (Arithmetic, Negative)) for part in every):
            return True
    return False


def _computed_first(relation: Relation) -> Relation:
    """The same rows, computed before a condition on them: DuckDB would test it first, and hide the error of a row that
    fails it."""
    if not isinstance(relation.source, exp.Query):
        return relation
    every = select(relation.columns, relation.from_, limit=EVERY_ROW)
    return replace(relation, source=every)


def owned(
    builder: Builder, relation: Relation, operator: object, demand: Demand, whole: bool = True
) -> Relation:
    """The relation that an operator made, and what it took, noted. whole : not the order alone of a Sort that is done
    with the LIMIT behind it."""
    ownership = builder.ownership
    assert ownership is not None
    if ownership.apart and whole:
        if builder.alone:
            relation = settle_embeddings(builder, relation, demand)
        with builder.asking():
            relation = builder.as_table(relation)
        ownership.tables.append((id(operator), relation.table, relation.weight))
    ownership.own(builder.steps, operator)
    return relation


# ---- UNWIND -------------------------------------------------------------------------


def _unwound(builder: Builder, relation: Relation, clause: Unwind, demand: Demand) -> Relation:
    """UNWIND: a row for each item. They keep the order of the items, except behind rows in no order."""
    ordered = demand.ordered and bool(relation.order)
    first = demand.ordered and relation.source is None
    if (span := integers_of(clause.list, builder.scope.parameters)) is not None:
        if len(span) > LONGEST_SPAN:
            raise builder.refuse(clause.place, "so long a range is")
        return _counted(builder, relation, clause, span, first, ordered)
    # here: only lists with a pattern in them need it
    from gdb.physical.columns.pattern_columns import PatternColumns

    pattern_columns = PatternColumns(builder, relation)
    (expression,) = pattern_columns.answered([clause.list])
    relation = pattern_columns.relation
    columns = RelationColumns(builder, relation.names)
    typed = ChainTranslator(builder, columns).typed(expression)
    if typed.kind in (TypeName.NODE, TypeName.RELATIONSHIP):
        raise builder.refuse(clause.place, f"UNWIND of {typed.kind} is")
    item, sql = typed.type, typed.sql
    if typed.kind is TypeName.LIST:
        item = Type(typed.type.item or TypeName.NULL)
    elif typed.is_null:
        sql = cast(value_of([]), "BIGINT[]")
    else:
        sql = chosen((is_null(sql), value_of([])), default=exp.Array(expressions=[sql]))
    relation, source = looked_up(builder, relation, columns)
    column, place = builder.fresh("u"), builder.fresh("n") if ordered else None
    made: list[Part] = [aliased(call("unnest", sql), column)]
    if place is not None:
        listed = builder.fresh("u")
        source = rows_of(select_columns([*relation.columns, aliased(sql, listed)], source))
        made = [
            aliased(call("unnest", listed), column),
            aliased(call("generate_subscripts", listed, value_of(1)), place),
        ]
    inner = select_columns([*relation.columns, *made], source)
    return _with_items(builder, relation, clause, inner, Held(column, item), first, place)


def _counted(
    builder: Builder, relation: Relation, clause: Unwind, span: range, first: bool, ordered: bool
) -> Relation:
    """UNWIND of the integers of a range(), which are made one after the other and never form a list."""
    builder.rows = max(builder.rows, len(span))
    column, series = builder.fresh("u"), builder.fresh("g")
    bounds = (span.start, span[-1], span.step) if span else (1, 0, 1)
    # written out: with parameters DuckDB makes a list of all
    made = named_rows(call("generate_series", *map(value_of, bounds)), series, [column])
    columns: list[Part] = [*relation.columns, column]
    place = builder.fresh("n") if ordered else None
    if place is not None:
        # -1 - x, not -x, which the least integer has not
        falling = binary(exp.Sub, value_of(-1), column)
        columns.append(aliased(column if span.step > 0 else falling, place))
    inner = select_columns(columns, relation.from_, made)
    return _with_items(builder, relation, clause, inner, Held(column, INTEGER), first, place)


def _with_items(
    builder: Builder,
    relation: Relation,
    clause: Unwind,
    inner: exp.Query,
    item: Held,
    first: bool,
    place: str | None,
) -> Relation:
    """The relation whose rows `inner` selects, with what UNWIND names. first : their order is that of the items, and
    needed. place : the column of it that the items of each row are ascending in, where the rows before have an order
    that is needed."""
    name = clause.variable.text
    names = {n: h for n, h in relation.names.items() if n != name and not is_hidden(n)}
    names[name] = item
    found = replace(relation, source=inner, names=names)
    if place is not None:
        return replace(found, hidden=(*found.hidden, place), order=(*found.order, place))
    if not first:
        return found
    number = builder.fresh("n")
    sql = select_columns([*found.columns, aliased(row_number(), number)], inner)
    return replace(found, source=sql, hidden=(number,), order=(number,))

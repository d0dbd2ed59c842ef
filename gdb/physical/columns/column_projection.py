"""Project, Aggregate, Sort and Limit of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import (
    aliased,
    call,
    column_of,
    counted,
    cut,
    exp,
    row_number,
    rows_of,
    select,
    value_of,
    way,
)
from gdb.functions.library import AGGREGATES
from gdb.functions.types import SCALARS, TypeName
from gdb.language.clauses import SortItem
from gdb.language.mentioned_names import asks
from gdb.language.syntax import Call, ElementReference, Expression, Variable, rebuilt
from gdb.logical.needed_properties import Demand
from gdb.logical.operators import Aggregate, Column, Limit, Project, Sort
from gdb.physical.columns import per_rows
from gdb.physical.columns.expression_translation import ChainTranslator
from gdb.physical.columns.looked_columns import RelationColumns, looked_up, stored_columns
from gdb.physical.columns.relation import Builder, Held, Relation, cuts, select_columns
from gdb.physical.columns.unions import first_rows
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.sql import Part
    from gdb.language.element_columns import What


MOST_LISTED = 500_000
"""Values of a range() that an aggregate gathers in a list: some 200 bytes each, which no budget counts."""


# ---- row by row ----------------------------------------------------------------------------------


def compile_project(
    builder: Builder, relation: Relation, operator: Project, demand: Demand
) -> Relation:
    """The columns of each row.

    Raises
    ------
    QueryError : here and below: it is not for columns.
    """
    columns = operator.columns
    if all(isinstance(column.expression, Variable) for column in columns):
        return replace(relation, names=dict(_passed_on(builder, relation, columns)))
    relation, expressions = _answered(builder, relation, [column.expression for column in columns])
    sources = RelationColumns(builder, relation.names)
    translator = ChainTranslator(builder, sources)
    names: dict[str, Held] = {}
    made: list[Part] = []
    for column, expression in zip(columns, expressions, strict=True):
        held, sql = _hold(translator, expression)
        kept = _stored(builder, relation, expression, column.name, demand)
        names[column.name] = replace(held, stored=kept)
        made += [aliased(sql, held.column), *kept.values()]
    relation, source = looked_up(builder, relation, sources)
    origins = {h.element: h.origin for h in relation.names.values() if h.element is not None}
    names = {
        n: h if h.element is None else replace(h, origin=origins.get(h.element))
        for n, h in names.items()
    }
    return replace(relation, source=select_columns([*made, *relation.kept], source), names=names)


def _passed_on(
    builder: Builder, relation: Relation, columns: Sequence[Column]
) -> list[tuple[str, Held]]:
    """Columns that are names of the rows: nothing is computed for them."""
    found: list[tuple[str, Held]] = []
    for column in columns:
        assert isinstance(column.expression, Variable)
        held = relation.names[column.expression.name]
        builder.check_measured(held, column.expression.place)
        found.append((column.name, held))
    return found


def _stored(
    builder: Builder, relation: Relation, expression: Expression, name: str, demand: Demand
) -> dict[tuple[What, str | None], str]:
    """Columns of an element that later operators need, where they exist."""
    if not isinstance(expression, Variable):
        return {}
    return stored_columns(builder, relation.names[expression.name], name, demand)


def _answered(
    builder: Builder, relation: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, Sequence[Expression]]:
    """The relation with a name for each pattern in some expressions, and these with the names."""
    if not any(map(asks, expressions)):
        return relation, expressions
    # here: only expressions with a pattern need it
    from gdb.physical.columns.pattern_columns import (
        PatternColumns,  # a tail has no such pattern, and need not wait for it
    )

    columns = PatternColumns(builder, relation)
    answered = columns.answered(expressions)
    return columns.relation, answered


def _hold(translator: ChainTranslator, expression: Expression) -> tuple[Held, exp.Expr]:
    """The column of a name for an expression, and its SQL."""
    builder, typed = translator.builder, translator.typed(expression)
    column = builder.fresh("e")
    if typed.kind in (TypeName.NODE, TypeName.RELATIONSHIP):
        known = translator.names[expression.name] if isinstance(expression, Variable) else None
        if known is None or known.element is None:
            raise builder.refuse(expression.place, f"{typed.kind} of this kind is")
        return Held(column, typed.type, known.element, known.origin), typed.sql
    return Held(column, typed.type), typed.sql


# ---- groups --------------------------------------------------------------------------------------


def compile_aggregate(
    builder: Builder, relation: Relation, operator: Aggregate, demand: Demand
) -> Relation:
    """A row for each group, in the order of their first rows where the rows have one that is needed."""
    if operator.rest:
        raise builder.refuse(operator.place, "what is beside an aggregate here is")
    in_order = demand.ordered and bool(operator.keys)
    if in_order:
        relation = builder.in_one_order(relation)
    keys = [key.expression for key in operator.keys]
    calls = [gathered.call for gathered in operator.calls]
    relation, answered = _answered(builder, relation, [*keys, *calls])
    keys, calls = (
        [*answered[: len(keys)]],
        [c for c in answered[len(keys) :] if isinstance(c, Call)],
    )
    columns = RelationColumns(builder, relation.names)
    translator = ChainTranslator(builder, columns)
    names: dict[str, Held] = {}
    made: list[Part] = []
    groups: list[exp.Expr] = []
    carried: list[Part] = []
    for key, expression in zip(operator.keys, keys, strict=True):
        held, sql = _hold(translator, expression)
        names[key.name] = held
        groups.append(sql)
        made.append(aliased(sql, held.column))
        if builder.alone:  # there will be nothing to look it up in
            taken = _stored(builder, relation, expression, key.name, demand)
            kept = {wanted: builder.fresh("v") for wanted in taken}
            names[key.name] = replace(held, stored=kept)
            carried += [aliased(call("any_value", taken[k]), kept[k]) for k in kept]
    if relation.weight is not None and not all(map(translator.weighs, calls)):
        relation = builder.expanded(relation)
    for gathered, of in zip(operator.calls, calls, strict=True):
        if builder.rows > MOST_LISTED and AGGREGATES[of.function.text.lower()].listed:
            # DuckDB would make a list of them that no budget counts
            raise builder.refuse(of.place, "an aggregate of so many values is")
        typed = translator.aggregated(of, groups, relation.ways, relation.weight)
        column = builder.fresh("a")
        names[gathered.name] = Held(column, typed.type)
        made.append(aliased(typed.sql, column))
    if not keys:  # aggregates of null alone leave none, and there is one row all the same
        made.append(aliased(counted(), builder.fresh("a")))
    order = first_rows(builder, relation) if in_order else {}
    made += [aliased(sql, column) for column, sql in order.items()]
    relation, source = looked_up(builder, relation, columns)
    if translator.before:
        source = rows_of(select([exp.Star(), *translator.before], source))
    builder.all_needed()
    numbers: list[exp.Expr] = [value_of(k + 1) for k in range(len(keys))]
    per = relation.per
    if per is None:
        sql = select([*made, *carried], source, group=numbers)
        return Relation(sql, names, tuple(order), tuple(order))
    sql = select([*made, *carried, per.column], source, group=[*numbers, column_of(per.column)])
    found = Relation(sql, names, tuple(order), tuple(order), per=per)
    return found if keys else per_rows.one_of_each(builder, found, [*made, *carried], source)


# ---- order ---------------------------------------------------------------------------------------


def compile_sort(
    builder: Builder, relation: Relation, operator: Sort, limit: Limit | None, last: bool
) -> Relation:
    """The rows in their order, numbered; equal ones in the order in which they came. limit : what of them is left out
    at once. last : only the answer needs the order, no later operator, and the rows need no numbers."""
    relation = relation if limit is None else builder.expanded(relation)
    relation, keys = _answered(builder, relation, [item.expression for item in operator.keys])
    sources = RelationColumns(builder, relation.names)
    translator = ChainTranslator(builder, sources)
    sorts = [_sort(translator, key) for key in keys]
    relation, source = looked_up(builder, relation, sources)
    keyed = [builder.fresh("s") for _ in sorts]
    inner = [aliased(sql, name) for sql, name in zip(sorts, keyed, strict=True)]
    ways = tuple(_way(name, item) for name, item in zip(keyed, operator.keys, strict=True))
    ways += relation.ways
    before, rest = relation.order, relation.unordered().hidden
    columns = [*relation.unordered().columns]
    names = relation.names
    sql = select_columns([*columns, *before, *inner], source)
    number = builder.fresh("n")
    if limit is not None and relation.per is not None:
        every = dict.fromkeys([*columns, *before, *keyed])
        sql = per_rows.limited_per(builder, relation.per, [*every], sql, ways, limit, number)
    elif limit is not None:  # the order of a subquery is not promised, only which rows it has
        sql = cut(sql, ways, *cuts(builder, limit))
    if limit is not None:
        names = {n: replace(held, origin=None) for n, held in names.items()}
    builder.all_needed()
    relation = replace(relation, source=sql, names=names, order=())
    if last:
        return replace(relation, hidden=(*rest, *before, *keyed), sorted=ways)
    if limit is None or relation.per is None:
        sql = select_columns([*columns, aliased(row_number(ways), number)], sql)
    return replace(relation, source=sql, hidden=(*rest, number), order=(number,))


def _way(name: str, item: SortItem) -> exp.Expr:
    first = item.descending if item.nulls_first is None else item.nulls_first
    return way(name, descending=item.descending, nulls_first=first)


def _sort(translator: ChainTranslator, expression: Expression) -> exp.Expr:
    builder, typed = translator.builder, translator.typed(expression)
    if typed.kind is TypeName.NODE:
        element = rebuilt(expression, translator._resolved)
        assert isinstance(element, ElementReference)
        groups = builder.scope.groups(element.index)
        stored = builder.scope.snapshot.groups
        if len({stored[group].id_space for group in groups}) > 1:
            raise builder.refuse(expression.place, "an order of such nodes is")
        typed = translator.columns.identity(element, expression.place)
    if not (typed.kind in SCALARS or typed.is_null):
        raise builder.refuse(expression.place, f"an order of {typed.kind} is")
    return typed.sql


def compile_limit(builder: Builder, relation: Relation, operator: Limit) -> Relation:
    """The rows that SKIP and LIMIT leave. Of rows in no order any, and no more of them are matched than it takes."""
    skip, limit = cuts(builder, operator)
    relation = builder.expanded(relation)
    if relation.per is not None:
        builder.all_needed()
        some = relation.per, relation.columns, relation.from_, relation.ways, operator
        sql = per_rows.limited_per(builder, *some, builder.fresh("n"))
        return replace(relation, source=sql)
    sql = cut(select_columns(relation.columns, relation.from_), relation.ways, skip, limit)
    names = {n: replace(held, origin=None) for n, held in relation.names.items()}
    relation = replace(relation, source=sql, names=names)
    if not relation.order and limit is not None:
        return builder.limited(relation, limit)
    builder.all_needed()
    return relation

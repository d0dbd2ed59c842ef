"""From clauses to a chain: each clause makes a relation of the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from gdb.chain.asking import Asked
from gdb.chain.columns import RelationColumns, looked_up
from gdb.chain.liveness import demands, pruned
from gdb.chain.matching import matched
from gdb.chain.projecting import projected
from gdb.chain.relation import UNIT, Builder, Held, Relation, selected
from gdb.chain.steps import Chain
from gdb.chain.translate import ChainTranslator, integers_of
from gdb.errors import LimitExceeded, NotSupported
from gdb.executor.tail import Output
from gdb.functions.types import INTEGER, NULL, Kind, Type, written
from gdb.language.clauses import CallSubquery, Clause, Match, Query, Return, Unwind, With
from gdb.language.report import problem

if TYPE_CHECKING:
    from gdb.executor.tail import Value
    from gdb.rows.context import Context


LONGEST_SPAN = 10_000_000
"""Integers that UNWIND makes of one range() in DuckDB, whose answers and numbers of rows no budget counts."""


def compiled(context: Context, query: Query, values: Mapping[str, Value]) -> Chain:
    """A query that reads, as a chain.

    Parameters
    ----------
    context : of the run that may follow; only the names of its snapshot are read.
    values : of the parameters, as the caller gave them.

    Raises
    ------
    QueryError : mostly NotSupported: it is not for columns; the message says why.
    """
    builder = Builder(context, values)
    try:
        return _compiled(builder, query)
    except (RecursionError, LimitExceeded) as error:
        place = query.parts[0][0].place
        raise problem(NotSupported, query.text, place, f"too deep for columns: {error}") from None


def _compiled(builder: Builder, query: Query) -> Chain:
    found = [_clauses(builder, clauses, UNIT) for clauses in query.parts]
    first = found[0]
    if len(found) == 1:
        columns = [f"{held.column} AS o{k}" for k, held in enumerate(first.names.values())]
        sql = f"SELECT {', '.join(columns)} FROM {first.from_}"
        if first.order is not None:
            sql += f" ORDER BY {first.order}"
        types = [held.type for held in first.names.values()]
    else:
        sql, types = _united(builder, query, found)
    outputs = tuple(
        Output(name, _KINDS.get(type_.kind, "value"), Kind.DURATION in (type_.kind, type_.item))
        for name, type_ in zip(first.names, types, strict=True)
    )
    builder.scope.warn_of_unknown_names()
    warnings = tuple(builder.scope.warnings)
    return Chain(tuple(builder.steps), sql, builder.used(sql), outputs, warnings, tuple(types))


_KINDS: Mapping[Kind, OneOf["node", "relationship"]] = {
    Kind.NODE: "node",
    Kind.RELATIONSHIP: "relationship",
}


def _united(builder: Builder, query: Query, found: Sequence[Relation]) -> tuple[str, list[Type]]:
    """The SELECT of UNION, and the types of its columns."""
    names, place = list(found[0].names), query.parts[1][0].place
    types: list[Type] = []
    for name in names:
        several = {side.names[name].type for side in found} - {NULL}
        if len(several) > 1:
            raise builder.refuse(place, f"UNION of several types of '{name}' is")
        types.append(several.pop() if several else NULL)
    sides = []
    for side in found:
        columns = [
            f"{'NULL' if side.names[name].type == NULL else side.names[name].column} AS o{k}"
            for k, name in enumerate(names)
        ]
        sides.append(f"SELECT {', '.join(columns)} FROM {side.from_}")
    sql = sides[0]
    for every, other in zip(query.all, sides[1:], strict=True):
        sql = f"{sql} {'UNION ALL' if every else 'UNION'} {other}"
    return sql, types


def _clauses(builder: Builder, clauses: Sequence[Clause], start: Relation) -> Relation:
    """The relation that some clauses, of which the last is RETURN, make of one."""
    relation, clauses = start, pruned(clauses)
    builder.all_needed()
    for clause, demand in zip(clauses, demands(clauses), strict=True):
        builder.context.pulse()
        match clause:
            case Match():
                relation = matched(builder, relation, clause, demand)
            case Unwind():
                relation = _unwound(builder, relation, clause)
            case With(projection=projection, where=where):
                relation = projected(builder, relation, projection, where)
            case Return():
                relation = projected(builder, relation, clause, None)
            case CallSubquery():
                relation = _called(builder, relation, clause)
            case _:
                raise builder.refuse(clause.place, f"{type(clause).__name__} is")
        if isinstance(clause, Return):
            relation = builder.expanded(relation)
        elif demand.live is not None:
            relation = relation.only(demand.live)
    if not isinstance(clauses[-1], Return):
        raise builder.refuse(clauses[-1].place, "a query without RETURN is")
    return relation


def _unwound(builder: Builder, relation: Relation, clause: Unwind) -> Relation:
    """UNWIND: a row for each item; rows keep the order of the items."""
    if (span := integers_of(clause.list, builder.context.plain)) is not None:
        if len(span) > LONGEST_SPAN:
            raise builder.refuse(clause.place, "so long a range is")
        return _counted(builder, relation, clause, span)
    asked = Asked(builder, relation)
    (expression,) = asked.answered([clause.list])
    relation = asked.relation
    columns = RelationColumns(builder, relation.names)
    typed = ChainTranslator(builder, columns).typed(expression)
    if typed.kind in (Kind.NODE, Kind.RELATIONSHIP):
        raise builder.refuse(clause.place, f"UNWIND of {typed.kind} is")
    item, sql = typed.type, written(typed.sql)
    if typed.kind is Kind.LIST:
        item = Type(typed.type.item or Kind.NULL)
    elif typed.is_null:
        sql = "CAST([] AS BIGINT[])"
    else:
        sql = f"CASE WHEN {sql} IS NULL THEN [] ELSE [{sql}] END"
    relation, source = looked_up(builder, relation, columns)
    column = builder.fresh("u")
    inner = selected([*relation.columns, f"unnest({sql}) AS {column}"], source)
    return _with_items(builder, relation, clause, inner, Held(column, item))


def _counted(builder: Builder, relation: Relation, clause: Unwind, span: range) -> Relation:
    """UNWIND of the integers of a range(), which are made one after the other and never stand in a list."""
    column, series = builder.fresh("u"), builder.fresh("g")
    bounds = (span.start, span[-1], span.step) if span else (1, 0, 1)
    # written out: with parameters DuckDB makes a list of all
    values = ", ".join(map(str, bounds))
    source = f"{relation.from_}, generate_series({values}) AS {series}({column})"
    inner = selected([*relation.columns, column], source)
    return _with_items(builder, relation, clause, inner, Held(column, INTEGER))


def _with_items(
    builder: Builder, relation: Relation, clause: Unwind, inner: str, held: Held
) -> Relation:
    """The relation whose rows `inner` selects, with what UNWIND names."""
    name = clause.variable.text
    names = {n: h for n, h in relation.names.items() if n != name and not n.startswith(" ")}
    names[name] = held
    rest = tuple(hidden for hidden in relation.hidden if hidden != relation.order)
    found = replace(relation, source=inner, table=False, names=names, hidden=rest, order=None)
    if relation.order is None and relation != UNIT:
        return found
    number = builder.fresh("n")
    sql = selected([*found.columns, f"row_number() OVER () AS {number}"], f"({inner})")
    return replace(found, source=sql, hidden=(*rest, number), order=number)


def _called(builder: Builder, relation: Relation, clause: CallSubquery) -> Relation:
    """CALL { } of a query that sees nothing of the rows: run once, and joined with all of them."""
    query = clause.query
    first = query.parts[0][0]
    sees = clause.imports or (clause.imports is None and isinstance(first, With))
    sees = sees and not _takes_nothing(relation)
    if sees or clause.optional or len(query.parts) > 1:
        raise builder.refuse(clause.place, "a CALL { } that sees the rows, or with UNION, is")
    inner = _clauses(builder, query.parts[0], UNIT)
    columns = [*relation.columns, *inner.columns]
    sql = selected(columns, f"{relation.from_}, {inner.from_}")
    return replace(relation, source=sql, table=False, names={**relation.names, **inner.names})


def _takes_nothing(relation: Relation) -> bool:
    return not relation.names

"""LIMIT and aggregates without keys over the rows of a subquery that runs for all rows at once (`Per`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import (
    aliased,
    binary,
    chosen,
    column_of,
    equal,
    exp,
    is_there,
    left_joined,
    row_number,
    select,
    value_of,
)
from gdb.physical.columns.relation import Builder, Per, Relation, cuts, select_columns
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.sql import Part, Rows
    from gdb.logical.operators import Limit


def limited_per(
    builder: Builder,
    per: Per,
    columns: Sequence[str],
    rows: Rows,
    ways: Sequence[exp.Expr],
    limit: Limit,
    place: str,
) -> exp.Query:
    """The columns of the rows that SKIP and LIMIT leave of those of each number, and the place of each among them,
    from 1 on, under the name `place`. ways : their order."""
    skip, most = cuts(builder, limit)
    numbered = row_number(ways, [column_of(per.column)])
    tests: list[exp.Expr] = []
    if skip:  # without it DuckDB keeps the first rows of each number instead of sorting all
        tests.append(binary(exp.GT, place, value_of(skip)))
    if most is not None:
        tests.append(binary(exp.LTE, place, value_of(skip + most)))
    source = select_columns([*columns, aliased(numbered, place)], rows)
    return select_columns([*columns, place], source, where=tests)


def one_of_each(
    builder: Builder, relation: Relation, made: Sequence[Part], rows: exp.Expr
) -> Relation:
    """A relation of groups without keys, one of each number that has rows: also of the others. made : what the groups
    have, of `rows`."""
    per = relation.per
    assert per is not None
    table = builder.as_table(relation).table
    there, other = builder.fresh("b"), builder.fresh("n")
    columns = [column for column in relation.columns if column != per.column]
    more = [aliased(per.column, other), aliased(value_of(True), there)]
    found = select_columns([*columns, *more], table)
    copies = [part.copy() if isinstance(part, exp.Expr) else part for part in made]
    instead = {column: builder.fresh("z") for column in columns}
    empty = select_columns(
        [aliased(column, name) for column, name in instead.items()],
        select(copies, rows.copy(), where=[value_of(False)]),
    )
    renamed = {column: builder.fresh("a") for column in columns}
    values = [
        aliased(chosen((is_there(there), column_of(c)), default=column_of(instead[c])), renamed[c])
        for c in columns
    ]
    joins: list[tuple[Rows, exp.Expr]] = [
        (found, equal(per.column, other)),
        (empty, value_of(True)),
    ]
    sql = select([*values, per.column], left_joined(per.table, joins))
    names = {
        name: replace(held, column=renamed[held.column], origin=None)
        for name, held in relation.names.items()
    }
    return replace(relation, source=sql, names=names, hidden=(), order=())

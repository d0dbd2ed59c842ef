"""SQL for DuckDB: trees of sqlglot's nodes, which its generator writes. Nothing else makes a text that is SQL.

So names are quoted where that must be, and values are literals or parameters. Where an expression is expected, a `str`
is the name of a column; where rows are, that of a table. The nodes are made directly, which takes a third of the time
of sqlglot's fluent builders, and one node may occur in several places: `written` reads from the root down, and changes
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from gdb.imports import deferred

if TYPE_CHECKING:
    from sqlglot import exp as exp
else:
    # the largest of all imports: a query that needs only the number of embeddings has no SQL
    exp = deferred("sqlglot.expressions")

Value: TypeAlias = "int | float | bool | str | Sequence[Value] | Mapping[str, Value] | None"
"""What may be written as a literal."""
Part: TypeAlias = "str | exp.Expr"
"""An expression; a name is a column's."""
Rows: TypeAlias = "str | exp.Expr"
"""The operand of FROM: a SELECT, what `rows_of` gives; a name is a table's."""

_DEPTH = "depth"
_DEEPEST = 8  # SELECTs, one in the other, that are written at once
_MADE_UP = re.compile(r"[a-z][0-9]+")  # c0, r12: no word of SQL


def written(tree: exp.Expr) -> str:
    """The text of a statement or an expression, as DuckDB reads it."""
    return tree.sql(dialect="duckdb", comments=False, copy=False)


def listed(parts: Sequence[Part]) -> str:
    """The text of expressions with commas between them: no statement, but what a relation's `project` takes."""
    return ", ".join(written(part_of(one)) for one in parts)


class SqlText:
    """A tree whose text is written on first use: what is answered in another way is never written."""

    __slots__ = ("_text", "_tree")

    def __init__(self, tree: exp.Expr) -> None:
        self._tree = tree
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            self._text = written(self._tree)
        return self._text


# ---- names and values ----------------------------------------------------------------------------


def name_of(text: str) -> exp.Identifier:
    """A name: in quotes, unless it is one of those that we make up."""
    return exp.Identifier(this=text, quoted=_MADE_UP.fullmatch(text) is None)


def column_of(name: str, of: str | None = None) -> exp.Column:
    """A column. of : the table, or the struct, that has it."""
    if of is None:
        return exp.Column(this=name_of(name))
    return exp.Column(this=name_of(name), table=name_of(of))


def part_of(part: Part) -> exp.Expr:
    # a name alone is written in half the time of a Column
    """An expression of SQL; a name becomes a column."""
    return name_of(part) if isinstance(part, str) else part


def parameter_of(name: str = "") -> exp.Expr:
    """$name, or the next ?"""
    return exp.Placeholder(this=name) if name else exp.Placeholder()


def value_of(value: Value) -> exp.Expr:
    """A value as a literal: a list as [...], a mapping as {'key': ...}."""
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.true() if value else exp.false()
        case int() if value < 0:
            return exp.Neg(this=exp.Literal.number(-value))
        case int():
            return exp.Literal.number(value)
        case float():
            return cast(exp.Literal.string(repr(value)), "DOUBLE")
        case str():
            return _string(value)
        case Mapping():
            entries = [
                exp.PropertyEQ(this=exp.Identifier(this=key, quoted=True), expression=value_of(one))
                for key, one in value.items()
            ]
            return exp.Struct(expressions=entries)
    return exp.Array(expressions=[value_of(one) for one in value])


def _string(value: str) -> exp.Expr:
    """A string; DuckDB reads no NUL in a statement."""
    first, *more = [exp.Literal.string(one) for one in value.split("\0")]
    if not more:
        return first
    return exp.Paren(this=pasted(first, *(call("concat", _nul(), one) for one in more)))


def _nul() -> exp.Expr:
    return call("chr", value_of(0))


# ---- expressions ---------------------------------------------------------------------------------


@cache
def _atoms() -> tuple[type[exp.Expr], ...]:
    return (
        exp.Column,
        exp.Identifier,
        exp.Paren,
        exp.Func,
        exp.Placeholder,
        exp.Null,
        exp.Boolean,
        exp.Literal,
        exp.Case,
    )


def operand(part: Part) -> exp.Expr:
    """In parentheses, unless it needs none."""
    sql = part_of(part)
    # AND is a Func to sqlglot
    alone = isinstance(sql, _atoms()) and not isinstance(sql, exp.Connector)
    return sql if alone else exp.Paren(this=sql)


def call(function: str, *arguments: Part) -> exp.Expr:
    """function(arguments...), unchanged."""
    return exp.Anonymous(this=function, expressions=[part_of(one) for one in arguments])


def cast(sql: Part, to: str, *, attempt: bool = False) -> exp.Expr:
    """attempt : null where it cannot be, instead of an error."""
    made = exp.TryCast if attempt else exp.Cast
    return made(this=part_of(sql), to=type_of(to))


@cache
def type_of(name: str) -> exp.DataType:
    """A type of DuckDB by its name, which sqlglot reads as a text of its own."""
    return exp.DataType.build(name, dialect="duckdb")


def is_null(sql: Part) -> exp.Expr:
    """sql IS NULL."""
    return exp.Is(this=operand(sql), expression=exp.Null())


def negated(sql: Part) -> exp.Expr:
    """NOT sql."""
    return exp.Not(this=operand(sql))


def is_there(sql: Part) -> exp.Expr:
    """Whether it is not null."""
    return negated(is_null(sql))


def joined(node: type[exp.And] | type[exp.Or], parts: Sequence[exp.Expr]) -> exp.Expr:
    """The parts joined by AND or OR as a balanced tree: a thousand of them are ten deep."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    left, right = joined(node, parts[:half]), joined(node, parts[half:])
    return node(this=operand(left), expression=operand(right))


def binary(node: type[exp.Binary], left: Part, *rights: Part) -> exp.Expr:
    """left node right node ..., from the left: a chain, which the generator writes without recursion."""
    found = operand(left)
    for right in rights:
        found = node(this=found, expression=operand(right))
    return found


def equal(left: Part, right: Part) -> exp.Expr:
    """left = right."""
    return binary(exp.EQ, left, right)


def unequal(left: Part, right: Part) -> exp.Expr:
    """left <> right."""
    return binary(exp.NEQ, left, right)


def between(part: Part, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Whether low <= it <= high."""
    return exp.Between(this=operand(part), low=operand(low), high=operand(high))


def pasted(*texts: Part) -> exp.Expr:
    """Strings, one behind the other."""
    return binary(exp.DPipe, *texts)


def chosen(*branches: tuple[exp.Expr, exp.Expr], default: exp.Expr | None = None) -> exp.Expr:
    """CASE WHEN the first of a pair THEN the second ... ELSE default END"""
    ifs = [exp.If(this=test, true=value) for test, value in branches]
    return exp.Case(ifs=ifs, default=default)


def counted() -> exp.Expr:
    """count(*)"""
    return exp.Count(this=exp.Star())


def aliased(sql: Part, name: str) -> exp.Expr:
    """... AS name"""
    return exp.Alias(this=part_of(sql), alias=name_of(name))


def over_items(name: str, body: exp.Expr) -> exp.Expr:
    """lambda name: body"""
    return exp.Lambda(this=body, expressions=[name_of(name)])


def row_number(order: Sequence[exp.Expr] = (), by: Sequence[exp.Expr] = ()) -> exp.Expr:
    """row_number() OVER (PARTITION BY ... ORDER BY ...)"""
    window = exp.Window(this=call("row_number"), partition_by=[*by], over="OVER")
    if order:
        window.set("order", exp.Order(expressions=[*order]))
    return window


def dense_rank(order: Sequence[exp.Expr]) -> exp.Expr:
    """dense_rank() OVER (ORDER BY ...)"""
    return exp.Window(this=call("dense_rank"), order=exp.Order(expressions=[*order]), over="OVER")


def way(sql: Part, *, descending: bool = False, nulls_first: bool = False) -> exp.Expr:
    """How ORDER BY says it."""
    return exp.Ordered(this=part_of(sql), desc=descending, nulls_first=nulls_first)


# ---- rows ----------------------------------------------------------------------------------------


def rows_of(rows: Rows) -> exp.Expr:
    """The tree as an operand of FROM."""
    if isinstance(rows, str):
        return exp.Table(this=name_of(rows))
    if isinstance(rows, (exp.Table, exp.Paren, exp.Subquery)):
        return rows
    if isinstance(rows, exp.Func):
        return exp.Table(this=rows)
    # What is deep inside is written now, as the generator recurses.
    depth = 1 + max((one.meta_get(_DEPTH, 0) for one in _inside(rows)), default=0)
    if depth > _DEEPEST:
        return exp.Paren(this=exp.Var(this=written(rows)))
    found = exp.Paren(this=rows)  # which is written in less time than a Subquery
    found.meta[_DEPTH] = depth
    return found


def _extended(source: Rows, arg: str, value: object) -> exp.Expr:
    """Rows with an alias, or with joins."""
    rows = rows_of(source)
    if isinstance(rows, exp.Paren):
        depth, rows = rows.meta_get(_DEPTH, 0), exp.Subquery(this=rows.this)
        rows.meta[_DEPTH] = depth
    rows.set(arg, value)
    return rows


def _inside(query: exp.Expr) -> list[exp.Expr]:
    """The operands of FROM."""
    places = [query.args.get("from_"), *(query.args.get("joins") or ())]
    return [place.this for place in places if place is not None]


def named_rows(rows: Rows, name: str, columns: Sequence[str] = ()) -> exp.Expr:
    """... AS name(columns)"""
    names = [name_of(column) for column in columns]
    return _extended(rows, "alias", exp.TableAlias(this=name_of(name), columns=names))


def left_joined(source: Rows, others: Sequence[tuple[Rows, exp.Expr]]) -> exp.Expr:
    """Rows, and what is LEFT JOINed to them: each with its condition."""
    rows = rows_of(source)
    if not others:
        return rows
    made = [exp.Join(this=rows_of(other), side="LEFT", on=on) for other, on in others]
    return _extended(rows, "joins", [*(rows.args.get("joins") or ()), *made])


def select(
    columns: Sequence[Part],
    *rows: Rows,
    where: Sequence[exp.Expr] = (),
    group: Sequence[exp.Expr] = (),
    order: Sequence[exp.Expr] = (),
    limit: int | exp.Expr | None = None,
    offset: int = 0,
    distinct: bool = False,
) -> exp.Query:
    """A SELECT. rows : of all of them the product. where : all of it holds."""
    found = exp.Select(expressions=[part_of(one) for one in columns])
    if distinct:
        found.set("distinct", exp.Distinct())
    if rows:
        first, *others = [rows_of(one) for one in rows]
        found.set("from_", exp.From(this=first))
        if others:
            found.set("joins", [exp.Join(this=one) for one in others])
    if where:
        found.set("where", exp.Where(this=joined(exp.And, where)))
    if group:
        found.set("group", exp.Group(expressions=[*group]))
    return cut(found, order, offset, limit)


def cut(
    query: exp.Query,
    order: Sequence[exp.Expr] = (),
    offset: int = 0,
    limit: int | exp.Expr | None = None,
) -> exp.Query:
    """A SELECT with its ORDER BY, OFFSET and LIMIT."""
    if order:
        query.set("order", exp.Order(expressions=[*order]))
    if limit is not None:
        most = value_of(limit) if isinstance(limit, int) else limit
        query.set("limit", exp.Limit(expression=most))
    if offset:
        query.set("offset", exp.Offset(expression=value_of(offset)))
    return query


def everything(*rows: Rows, where: Sequence[exp.Expr] = ()) -> exp.Query:
    """SELECT *"""
    return select([exp.Star()], *rows, where=where)


def united(first: exp.Query, second: exp.Query, *, every: bool) -> exp.Query:
    """UNION. every : ALL"""
    return exp.Union(this=first, expression=second, distinct=not every)


def read_by(function: str, *arguments: exp.Expr, **options: Value | exp.Expr) -> exp.Expr:
    """Rows that a function of DuckDB reads: function(arguments, option=value)."""
    named = [
        exp.EQ(
            this=exp.Var(this=key), expression=one if isinstance(one, exp.Expr) else value_of(one)
        )
        for key, one in options.items()
    ]
    return exp.Anonymous(this=function, expressions=[*arguments, *named])


def described(query: exp.Expr) -> exp.Expr:
    """The names and types of what a SELECT gives, as rows."""
    return exp.Subquery(this=exp.Describe(this=query))


# ---- other statements ----------------------------------------------------------------------------


def created(table: str, query: exp.Expr, *, replace: bool = False) -> exp.Expr:
    """CREATE TEMPORARY TABLE table AS query"""
    return _create(exp.Table(this=name_of(table)), query, replace)


def created_empty(table: str, columns: Mapping[str, str]) -> exp.Expr:
    """CREATE TEMPORARY TABLE table (columns). columns : their types by name."""
    of = [exp.ColumnDef(this=name_of(name), kind=type_of(kind)) for name, kind in columns.items()]
    return _create(exp.Schema(this=exp.Table(this=name_of(table)), expressions=of), None, False)


def _create(of: exp.Expr, query: exp.Expr | None, replace: bool) -> exp.Expr:
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    return exp.Create(
        this=of, kind="TABLE", replace=replace, expression=query, properties=temporary
    )


def inserted(table: str, query: exp.Expr) -> exp.Expr:
    """INSERT INTO table query."""
    return exp.Insert(this=exp.Table(this=name_of(table)), expression=query)


def deleted(table: str, where: exp.Expr) -> exp.Expr:
    """DELETE FROM table WHERE where."""
    return exp.Delete(this=exp.Table(this=name_of(table)), where=exp.Where(this=where))


def dropped(table: str) -> exp.Expr:
    """DROP TABLE table."""
    return exp.Drop(tables=[exp.Table(this=name_of(table))], kind="TABLE")


def copied(query: exp.Expr, path: str, **options: Value) -> exp.Expr:
    """COPY query TO path"""
    params = [
        exp.CopyParameter(this=exp.Var(this=key), expression=value_of(one))
        for key, one in options.items()
    ]
    return exp.Copy(
        this=exp.Subquery(this=query), kind=False, files=[exp.Literal.string(path)], params=params
    )


def assigned(setting: str, value: Value) -> exp.Expr:
    """SET GLOBAL setting = value"""
    to = exp.EQ(this=column_of(setting), expression=value_of(value))
    return exp.Set(expressions=[exp.SetItem(this=to, kind="GLOBAL")])

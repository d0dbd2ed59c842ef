"""Typed translation for a chain: what `gdb.language.scalar` knows, and more of it, as far as DuckDB gives exactly what
the reference evaluator gives (`gdb.evaluator`).

Where the two differ for some values alone (texts beyond ASCII in toUpper), the SQL raises an error for these, and the
query runs over rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING

from sqlglot import exp

from gdb.chain import library
from gdb.chain.columns import RelationColumns
from gdb.chain.relation import Builder
from gdb.chain.sql import chosen, strict_kind
from gdb.language import functions
from gdb.language.comparisons import compare, null
from gdb.language.rebuild import rebuilt
from gdb.language.refusals import refused
from gdb.language.scalar import Translator
from gdb.language.syntax import (
    Call,
    Case,
    Comparator,
    Element,
    Expression,
    In,
    Index,
    IsNull,
    ListLiteral,
    Literal,
    Parameter,
    Place,
    Slice,
    Variable,
    walk,
)
from gdb.language.types import (
    BOOLEAN,
    INTEGER,
    NULL,
    SCALARS,
    Kind,
    Type,
    Typed,
    call,
    cast,
    is_null,
    operand,
    sql_type,
    type_of,
    written,
)
from gdb.values.numbers import integers
from gdb.values.problems import ValueProblem

if TYPE_CHECKING:
    from gdb.executor.tail import Value

_LARGEST = (
    10_000  # nodes of SQL: some operands are written several times, those inside them more often
)
_TAKEN = (bool, int, float, str, date)


MOST_GROWING = 8


def integers_of(values: Expression, parameters: Mapping[str, object]) -> range | None:
    """The integers of a call of range() whose arguments are literals or parameters; None for anything else."""
    if not isinstance(values, Call) or values.function.text.lower() != "range":
        return None
    given: list[int] = []
    for argument in values.arguments:
        value: object = None
        if isinstance(argument, Literal):
            value = argument.value
        elif isinstance(argument, Parameter):
            value = parameters.get(argument.name)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        given.append(value)
    try:
        return integers(*given) if 2 <= len(given) <= 3 else None
    except ValueProblem:  # rows tell what is wrong, and where
        return None


class ChainTranslator(Translator):
    """Translates expressions over the names of a relation."""

    def __init__(self, builder: Builder, columns: RelationColumns) -> None:
        super().__init__(builder.scope, columns, builder.parameters)
        self.builder, self.names = builder, columns.names

    def typed(self, expression: Expression) -> Typed:
        """SQL and type of an expression of the query.

        Raises
        ------
        QueryError : NotSupported and others: it is not for columns, or wrong.
        """
        self._check(expression)
        return self.translate(rebuilt(expression, self._resolved))

    def _check(self, expression: Expression) -> None:
        """Refuse what no columns have, before its names are looked for."""
        for part in walk(expression):
            if isinstance(part, Call) and part.function.text.lower() == "replace":
                self._grows(part.place, 3)
            span = integers_of(part, self.builder.context.plain)
            if span is not None and len(span) > library.LONGEST_LIST:
                # DuckDB would make it before it looks at a guard
                raise self.builder.refuse(part.place, "so long a list is")
            known = isinstance(part, (Case, Index, Slice)) or self._measure(part) is not None
            found = None if known else refused(part)
            if found is not None:
                raise self.builder.refuse(part.place, found[0])

    def _concatenated(self, left: Typed, right: Typed, at: Place, after: Place) -> Typed:
        self._grows(after)
        return super()._concatenated(left, right, at, after)

    def _grows(self, place: Place, weight: int = 1) -> None:
        """Note what makes a string longer than its parts. Many of them, one on top of the other, may make it longer
        than there is memory, and no budget counts strings of DuckDB's rows."""
        self.builder.growing += weight
        if self.builder.growing > MOST_GROWING:
            raise self.builder.refuse(place, "a query that joins and replaces so often is")

    def tested(self, expression: Expression) -> str:
        """The SQL of a condition."""
        self._check(expression)
        return written(self.condition(rebuilt(expression, self._resolved)))

    def _measure(self, part: Expression) -> Variable | None:
        """The name whose column is the value of length(path) or size(relationships)."""
        match part:
            case Call(function=function, arguments=(Variable() as of,)):
                held = self.names.get(of.name)
                if held is not None and held.measured == function.text.lower():
                    return of
        return None

    def _resolved(self, part: Expression) -> Expression | None:
        measure = self._measure(part)
        if measure is not None:
            return measure
        if not isinstance(part, Variable):
            return None
        held = self.names.get(part.name)
        if held is not None and held.measured:
            path = held.measured == "length"
            what = "a name for a whole path" if path else "a list of relationships"
            raise self.builder.refuse(part.place, f"{what}, but for its {held.measured}, is")
        if held is None:
            raise self.builder.refuse(part.place, f"'{part.name}' as a name of its own is")
        if held.element is None:
            return part
        return Element(held.element.kind, held.element.index, part.place)

    def translate(self, expression: Expression) -> Typed:
        found = self._translated(expression)
        if sum(1 for _ in islice(found.sql.walk(), _LARGEST)) == _LARGEST:
            raise self.builder.refuse(expression.place, "so large an expression is")
        if Kind.DURATION in (found.kind, found.type.item):
            raise self.builder.refuse(expression.place, "a duration is")
        return found

    def _translated(self, expression: Expression) -> Typed:
        match expression:
            case Variable(name=name):
                held = self.names[name]
                if held.type == NULL:
                    return Typed(exp.Null(), NULL)
                return Typed(exp.column(held.column), held.type)
            case Case():
                return self._case(expression)
            case Index(subject=subject, index=index):
                return self._index(self.translate(subject), self.translate(index), expression.place)
            case Slice():
                return self._slice(expression)
            case IsNull(operand=inner, negated=negated):
                value = self.translate(inner)
                sql = exp.true() if value.is_null else is_null(value.sql)
                return Typed(exp.Not(this=operand(sql)) if negated else sql, BOOLEAN)
            case _:
                return super().translate(expression)

    # ---- values ----------------------------------------------------------------------------------

    def _given(self, value: Value, place: Place) -> Typed:
        items = value if isinstance(value, (list, tuple)) else [value]
        if isinstance(value, Mapping) or not all(i is None or isinstance(i, _TAKEN) for i in items):
            raise self.builder.refuse(place, "this kind of parameter is")
        if {int, float} <= {type(item) for item in items}:
            raise self.builder.refuse(place, "a list of integers and floats is")
        type_ = type_of(value)
        if type_ is None or Kind.DURATION in (type_.kind, type_.item):
            raise self.builder.refuse(place, "this kind of parameter is")
        return self._constant(value)

    def _list(self, expression: ListLiteral) -> Typed:
        items = [self.translate(item) for item in expression.items]
        kind = self.kind_of_all(items, expression.place)
        if kind not in (*SCALARS, Kind.NULL):
            raise self.builder.refuse(expression.place, f"a list of which an item is {kind} is")
        type_ = Type(Kind.LIST, kind)
        return Typed(cast(exp.Array(expressions=[i.sql for i in items]), sql_type(type_)), type_)

    def kind_of_all(self, values: Sequence[Typed], place: Place) -> Kind:
        """The one kind of some values, nulls aside: an integer is no float here, as it would become one."""
        kind = strict_kind(values)
        if kind is None:
            raise self.builder.refuse(place, "a value that may be of several types is")
        return kind

    def _case(self, expression: Case) -> Typed:
        values = [self.translate(value) for _, value in expression.branches]
        if expression.default is not None:
            values.append(self.translate(expression.default))
        kind = self.kind_of_all(values, expression.place)
        types = {value.type for value in values if not value.is_null}
        if len(types) > 1 or kind in (Kind.NODE, Kind.RELATIONSHIP):
            raise self.builder.refuse(expression.place, f"CASE that gives {kind} is")
        tests = [self._when(expression, when) for when, _ in expression.branches]
        ifs = [exp.If(this=t, true=v.sql) for t, v in zip(tests, values, strict=False)]
        default = values[-1].sql if expression.default is not None else exp.Null()
        type_ = types.pop() if types else NULL
        return Typed(exp.Case(ifs=ifs, default=default), type_)

    def _when(self, expression: Case, when: Expression) -> exp.Expr:
        if expression.subject is None:
            return self._boolean(when, "CASE").sql
        left, right = self.translate(expression.subject), self.translate(when)
        if Kind.LIST in (left.kind, right.kind):
            raise self.builder.refuse(when.place, "CASE of a list is")
        return compare(Comparator.EQUAL, left, right).sql

    # ---- lists -----------------------------------------------------------------------------------

    def _index(self, subject: Typed, index: Typed, place: Place) -> Typed:
        if subject.is_null and index.kind in (Kind.INTEGER, Kind.NULL):
            return Typed(exp.Null(), NULL)
        if subject.kind is not Kind.LIST or index.kind not in (Kind.INTEGER, Kind.NULL):
            raise self.builder.refuse(place, "an index of anything but a list is")
        item = subject.type.item
        if item in (None, Kind.NULL) or index.is_null:
            return Typed(exp.Null(), NULL)
        return Typed(library.item_at(subject.sql, index.sql), Type(item or Kind.NULL))

    def _slice(self, expression: Slice) -> Typed:
        subject = self.translate(expression.subject)
        given = (expression.start, expression.stop)
        bounds = [None if part is None else self.translate(part) for part in given]
        kinds = {bound.kind for bound in bounds if bound is not None}
        if subject.is_null or Kind.NULL in kinds:
            return Typed(exp.Null(), NULL)
        if subject.kind is not Kind.LIST or not kinds <= {Kind.INTEGER}:
            raise self.builder.refuse(expression.place, "a slice of anything but a list is")
        start, stop = (None if bound is None else bound.sql for bound in bounds)
        return Typed(library.slice_of(subject.sql, start, stop), subject.type)

    def _in(self, test: In) -> Typed:
        values = self._constant_list(test.list)
        if values is not None and all(v is None or isinstance(v, _TAKEN) for v in values):
            return super()._in(test)
        item, within = self.translate(test.item), self.translate(test.list)
        if within.is_null:
            return null()
        if item.kind is Kind.LIST or within.kind is not Kind.LIST:
            raise self.builder.refuse(test.place, "IN of this kind is")
        return Typed(library.within(item, within), BOOLEAN)

    # ---- numbers, texts and functions ------------------------------------------------------------

    def _call(self, expression: Call) -> Typed:
        name = expression.function.text.lower()
        if name in functions.AGGREGATES:
            return self.aggregate(expression)
        if name in functions.OF_ELEMENTS:
            return super()._call(expression)
        if expression.star or expression.distinct:
            raise self.builder.refuse(expression.place, f"{name}() like this is")
        arguments = [self.translate(argument) for argument in expression.arguments]
        found = library.applied(name, arguments)
        if found is None:
            shown = expression.function.text
            given = ", ".join(argument.kind for argument in arguments)
            raise self.builder.refuse(expression.place, f"{shown}() of {given or 'nothing'} is")
        return found

    def weighs(self, expression: Call) -> bool:
        """Whether an aggregate takes rows that stand for several (`aggregated`, weight)."""
        name = expression.function.text.lower()
        if expression.star or expression.distinct or name in ("count", "min", "max"):
            return True
        if name != "sum" or len(expression.arguments) != 1:
            return False
        argument = self.typed(expression.arguments[0])
        return argument.is_null or argument.kind is Kind.INTEGER

    def _weighted(self, name: str, argument: Typed | None, weight: str) -> Typed:
        """count() or sum() of rows that stand for `weight` each."""
        if argument is None:
            gathered = f"sum({weight})"
        elif name == "count":
            there = written(operand(argument.sql))
            gathered = f"sum({weight}) FILTER (WHERE {there} IS NOT NULL)"
        else:
            gathered = f"sum(CAST({written(argument.sql)} AS HUGEINT) * {weight})"
        return Typed(chosen(f"coalesce(CAST({gathered} AS BIGINT), 0)"), INTEGER)

    def aggregated(self, expression: Call, order: str | None, weight: str | None = None) -> Typed:
        """SQL of an aggregate. order : the column by which collect() is to gather. weight : that of how many rows
        each stands for, where the aggregate takes that (`weighs`)."""
        name = expression.function.text.lower()
        if name not in functions.AGGREGATES:
            raise self.builder.refuse(expression.place, f"{name}() is")
        if weight is not None and expression.star:
            return self._weighted(name, None, weight)
        if expression.star:
            return functions.aggregate(expression, None, self.scope.text)
        if len(expression.arguments) != 1:
            raise self.builder.refuse(expression.place, f"{name}() like this is")
        argument = self.typed(expression.arguments[0])
        if weight is not None and name in ("count", "sum") and not expression.distinct:
            return self._weighted(name, argument, weight)
        if name in ("sum", "avg") and argument.kind is Kind.FLOAT and not expression.distinct:
            function = "fsum" if name == "sum" else "favg"
            sql = call(function, argument.sql)
            zero = cast(_zero(), "DOUBLE")
            # of no value at all the sum is the integer 0, and a column has one type
            return Typed(call("coalesce", sql, zero) if name == "sum" else sql, argument.type)
        found = functions.aggregate(expression, argument, self.scope.text)
        if name == "collect" and not argument.is_null and order is not None:
            if expression.distinct:
                raise self.builder.refuse(expression.place, "collect(DISTINCT) of sorted rows is")
            gathered = (
                f"list({written(argument.sql)} ORDER BY {order}) "
                f"FILTER (WHERE {written(operand(argument.sql.copy()))} IS NOT NULL)"
            )
            kind = sql_type(found.type)
            return Typed(chosen(f"coalesce({gathered}, CAST([] AS {kind}))"), found.type)
        return found


def _zero() -> exp.Expr:
    return exp.Literal.number(0)

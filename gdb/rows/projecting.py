"""WITH and RETURN over rows: items, grouping, DISTINCT, ORDER BY, SKIP and LIMIT.

Grouping is implicit: the items without an aggregate are the keys. An aggregate inside a larger expression gets a hidden
name, under which its value stands in the row that the rest of the expression is computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gdb.errors import TypeProblem
from gdb.functions.library import AGGREGATES
from gdb.language.aggregation import is_aggregate
from gdb.language.clauses import Return, ReturnItem, SortItem
from gdb.language.rebuild import rebuilt
from gdb.language.report import problem
from gdb.language.syntax import Call, Expression, Name, Variable, walk
from gdb.rows.pattern import HIDDEN
from gdb.rows.subqueries import compiled
from gdb.values.comparison import Key, group_key, sort_key
from gdb.values.problems import ValueProblem

if TYPE_CHECKING:
    from gdb.rows.context import Context
    from gdb.values.aggregates import Gathering
    from gdb.values.kinds import Row, Value


@dataclass(frozen=True, slots=True)
class Projected:
    """names : of the columns. rows : each with the row that it came from (of a group the first), which ORDER BY and
    WHERE may look at."""

    names: tuple[str, ...]
    rows: list[tuple[Row, Row]]


def projected(
    context: Context, projection: Return, names: Sequence[str], rows: Sequence[Row]
) -> Projected:
    """The rows of WITH or RETURN. names : the variables before it.

    Raises
    ------
    TypeProblem : SKIP or LIMIT is no whole number.
    """
    return _Projection(context, projection, names).run(rows)


def enough(context: Context, projection: Return) -> int:
    """How many rows WITH or RETURN with a LIMIT takes, those that it skips among them. Raises as `projected`."""
    skip, limit = _Projection(context, projection, ()).cut()
    return skip + (limit or 0)


class _Projection:
    def __init__(self, context: Context, projection: Return, names: Sequence[str]) -> None:
        self.context, self.projection = context, projection
        place = projection.place
        items = list(projection.items)
        if projection.everything:
            items = [ReturnItem(Variable(n, place), Name(n, place), n) for n in names] + items
        self.items = items
        self.names = tuple(item.name for item in items)

    def run(self, rows: Sequence[Row]) -> Projected:
        skip, limit = self.cut()
        expressions = [item.expression for item in self.items]
        expressions += [item.expression for item in self.projection.order]
        if any(is_aggregate(part) for e in expressions for part in walk(e)):
            found = self._grouped(rows)
        else:
            found = self._plain(rows, self.items, self.projection.order)
        if self.projection.distinct:
            found = _distinct(found)
        if self.projection.order:
            found = self._sorted(found)
        stop = None if limit is None else skip + limit
        kept = found[skip:stop]
        return Projected(self.names, [(row, before) for row, before, _ in kept])

    def cut(self) -> tuple[int, int | None]:
        """The values of SKIP and LIMIT."""
        skip = self._number(self.projection.skip, "SKIP") or 0
        return skip, self._number(self.projection.limit, "LIMIT")

    def _plain(
        self, rows: Sequence[Row], items: Sequence[ReturnItem], order: Sequence[SortItem]
    ) -> list[_Made]:
        expressions = [*(item.expression for item in items), *(item.expression for item in order)]
        prepared, functions = compiled(self.context, expressions)
        prepared.fill(rows)
        values = list(zip((item.name for item in items), functions[: len(items)], strict=True))
        sorts = functions[len(items) :]
        found: list[_Made] = []
        for number, row in enumerate(rows):
            if number % 1024 == 0:
                self.context.pulse()
            made = {name: value(row) for name, value in values}
            keys: list[Value] = []
            if sorts:
                both = {**row, **made}
                keys = [sort(both) for sort in sorts]
            found.append((made, row, keys))
        return found

    def _grouped(self, rows: Sequence[Row]) -> list[_Made]:
        aggregates: list[Call] = []

        def hidden(part: Expression) -> Expression | None:
            if not is_aggregate(part):
                return None
            if part not in aggregates:
                aggregates.append(part)
            return Variable(f"{HIDDEN}a{aggregates.index(part)}", part.place)

        items = [replace(i, expression=rebuilt(i.expression, hidden)) for i in self.items]
        order = [
            replace(i, expression=rebuilt(i.expression, hidden)) for i in self.projection.order
        ]
        keys = [
            after.expression
            for before, after in zip(self.items, items, strict=True)
            if before.expression == after.expression
        ]
        return self._plain(self._groups(rows, keys, aggregates), items, order)

    def _groups(
        self, rows: Sequence[Row], keys: Sequence[Expression], aggregates: Sequence[Call]
    ) -> list[Row]:
        """The first row of each group, with the values of the aggregates."""
        evaluator = self.context.evaluator
        inner = [argument for call in aggregates for argument in call.arguments]
        prepared, functions = compiled(self.context, [*keys, *inner])
        prepared.fill(rows)
        of_key, rest = functions[: len(keys)], iter(functions[len(keys) :])
        arguments = [[next(rest) for _ in call.arguments] for call in aggregates]
        groups: dict[Hashable, tuple[Row, list[Gathering]]] = {}
        if not keys and not rows:
            groups[()] = ({}, [_made(call) for call in aggregates])
        for number, row in enumerate(rows):
            if number % 1024 == 0:
                self.context.pulse()
            key = tuple(group_key(value(row)) for value in of_key)
            if key not in groups:
                groups[key] = (row, [_made(call) for call in aggregates])
            states = groups[key][1]
            for call, state, values in zip(aggregates, states, arguments, strict=True):
                try:
                    state.add(*[value(row) for value in values])
                except ValueProblem as found:
                    raise evaluator.located(found, call.place) from None
        grouped: list[Row] = []
        for first, states in groups.values():
            made = dict(first)
            for number, (call, state) in enumerate(zip(aggregates, states, strict=True)):
                try:
                    made[f"{HIDDEN}a{number}"] = state.result()
                except ValueProblem as found:
                    raise evaluator.located(found, call.place) from None
            grouped.append(made)
        return grouped

    def _sorted(self, found: list[_Made]) -> list[_Made]:
        for number, item in reversed(list(enumerate(self.projection.order))):
            nulls_first = item.descending if item.nulls_first is None else item.nulls_first
            found = sorted(found, key=_by(number), reverse=item.descending)
            if nulls_first != item.descending:
                found = sorted(found, key=_null_last(number, nulls_first))
        return found

    def _number(self, given: Expression | None, clause: str) -> int | None:
        """The value of SKIP or LIMIT."""
        if given is None:
            return None
        value = self.context.evaluator.compiled(given)({})
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise problem(
                TypeProblem,
                self.context.text,
                given.place,
                f"{clause} takes a whole number, 0 or more, and this is {str(value)[:40]!r}.",
                detail="NegativeIntegerArgument" if type(value) is int else "InvalidArgumentType",
            )
        return value


_Made = tuple["Row", "Row", "list[Value]"]


def _made(call: Call) -> Gathering:
    """An aggregate for one group."""
    return AGGREGATES[call.function.text.lower()].over(call.distinct)


def _by(number: int) -> Callable[[_Made], Key]:
    return lambda made: sort_key(made[2][number])


def _null_last(number: int, nulls_first: bool) -> Callable[[_Made], bool]:
    return lambda made: (made[2][number] is None) != nulls_first


def _distinct(found: Sequence[_Made]) -> list[_Made]:
    """The first of equal rows."""
    seen: set[Hashable] = set()
    kept = []
    for made in found:
        key = tuple(group_key(value) for value in made[0].values())
        if key not in seen:
            seen.add(key)
            kept.append(made)
    return kept

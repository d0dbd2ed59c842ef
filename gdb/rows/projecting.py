"""WITH and RETURN over rows: items, grouping, DISTINCT, ORDER BY, SKIP and LIMIT.

Grouping is implicit: the items without an aggregate are the keys. An aggregate inside a larger expression gets a hidden
name, under which its value stands in the row that the rest of the expression is computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gdb.allowance import paced
from gdb.errors import TypeProblem
from gdb.functions.library import AGGREGATES
from gdb.language.aggregation import is_aggregate
from gdb.language.clauses import Return, ReturnItem, SortItem
from gdb.language.hidden import HIDDEN
from gdb.language.rebuild import rebuilt
from gdb.language.report import problem
from gdb.language.syntax import Call, Expression, Name, Variable, walk
from gdb.rows.batches import FIRST, MOST, Parts
from gdb.rows.subqueries import compiled
from gdb.values.aggregates import KEY, Gathering
from gdb.values.comparison import Key, group_key, sort_key
from gdb.values.problems import ValueProblem
from gdb.values.sizes import Growing, Pile
from gdb.values.sorting import in_order

if TYPE_CHECKING:
    from gdb.rows.context import Context
    from gdb.values.aggregates import Gathering
    from gdb.values.kinds import Row, Value


_GROUP, _STATE = 200, 160  # bytes of a group, and of an aggregate in it, without what they keep


def enough(context: Context, projection: Return) -> int:
    """How many rows WITH or RETURN with a LIMIT takes, those that it skips among them. Raises as `projected`."""
    skip, limit = Projection(context, projection, ()).cut()
    return skip + (limit or 0)


class Projection:
    """WITH or RETURN. names : of its columns.

    known : the variables before it.
    """

    def __init__(self, context: Context, projection: Return, known: Sequence[str]) -> None:
        self.context, self.projection = context, projection
        place = projection.place
        items = list(projection.items)
        if projection.everything:
            items = [ReturnItem(Variable(n, place), Name(n, place), n) for n in known] + items
        self.items = items
        self.names = tuple(item.name for item in items)

    def made(self, parts: Parts) -> Iterator[list[tuple[Row, Row]]]:
        """The rows, each with the one that it came from (of a group the first), which WHERE may look at.

        Raises
        ------
        TypeProblem : SKIP or LIMIT is no whole number.
        """
        skip, limit = self.cut()
        stop = None if limit is None else skip + limit
        expressions = [item.expression for item in self.items]
        expressions += [item.expression for item in self.projection.order]
        if any(is_aggregate(part) for e in expressions for part in walk(e)):
            found = self._grouped(parts)
        else:
            found = self._plain(parts, self.items, self.projection.order)
        if self.projection.distinct:
            found = self._distinct(found)
        if self.projection.order:
            found = self._sorted(found, stop)
        for some in _cut(found, skip, stop):
            yield [(row, before) for row, before, _ in some]

    def cut(self) -> tuple[int, int | None]:
        """The values of SKIP and LIMIT."""
        skip = self._number(self.projection.skip, "SKIP") or 0
        return skip, self._number(self.projection.limit, "LIMIT")

    def _plain(
        self, parts: Parts, items: Sequence[ReturnItem], order: Sequence[SortItem]
    ) -> Iterator[list[_Made]]:
        expressions = [*(item.expression for item in items), *(item.expression for item in order)]
        prepared, functions = compiled(self.context, expressions)
        values = list(zip((item.name for item in items), functions[: len(items)], strict=True))
        sorts = functions[len(items) :]
        allowance = self.context.allowance
        for rows in parts:
            prepared.fill(rows)
            found: list[_Made] = []
            turn = Growing(allowance, "rows").turn
            for row in rows:
                made = {name: value(row) for name, value in values}
                keys: list[Value] = []
                if sorts:
                    both = {**row, **made}
                    keys = [sort(both) for sort in sorts]
                found.append((made, row, keys))
                turn(found)
            yield found

    def _grouped(self, parts: Parts) -> Iterator[list[_Made]]:
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
        groups = self._groups(parts, keys, aggregates)
        return self._plain(groups, items, order)

    def _groups(
        self, parts: Parts, keys: Sequence[Expression], aggregates: Sequence[Call]
    ) -> Parts:
        """The first row of each group, with the values of the aggregates."""
        evaluator, allowance = self.context.evaluator, self.context.allowance
        inner = [argument for call in aggregates for argument in call.arguments]
        prepared, functions = compiled(self.context, [*keys, *inner])
        of_key, rest = functions[: len(keys)], iter(functions[len(keys) :])
        arguments = [[next(rest) for _ in call.arguments] for call in aggregates]
        groups: dict[Hashable, tuple[Row, list[Gathering]]] = {}
        pile, kept = Pile(allowance, "the groups of an aggregate"), 0
        for rows in parts:
            prepared.fill(rows)
            turn = Growing(allowance, "the values of an aggregate").turn
            for row in rows:
                key = tuple([group_key(value(row)) for value in of_key])
                before = allowance.kept
                found = groups.get(key)
                if found is None:
                    pile.row(row)
                    pile.count(_GROUP + _STATE * len(aggregates))
                    found = groups[key] = (row, [_made(call) for call in aggregates])
                for call, state, values in zip(aggregates, found[1], arguments, strict=True):
                    try:
                        state.add(*[value(row) for value in values])
                    except ValueProblem as refused:
                        raise evaluator.located(refused, call.place) from None
                kept += allowance.kept - before
                turn(None)
        if not keys and not groups:
            groups[()] = ({}, [_made(call) for call in aggregates])
        yield from self._results(groups, aggregates)
        allowance.kept -= kept

    def _results(
        self, groups: dict[Hashable, tuple[Row, list[Gathering]]], aggregates: Sequence[Call]
    ) -> Parts:
        made: list[Row] = []
        for first, states in groups.values():
            row = dict(first)
            for number, (call, state) in enumerate(zip(aggregates, states, strict=True)):
                try:
                    row[f"{HIDDEN}a{number}"] = state.result()
                except ValueProblem as refused:
                    raise self.context.evaluator.located(refused, call.place) from None
            made.append(row)
            if len(made) >= MOST:
                yield made
                made = []
            self.context.allowance.tick(len(states))
        if made:
            yield made

    def _distinct(self, parts: Iterator[list[_Made]]) -> Iterator[list[_Made]]:
        """The first of equal rows."""
        pile = Pile(self.context.allowance, "the rows of DISTINCT")
        seen: set[Hashable] = set()
        for found in parts:
            kept = []
            for made in paced(found, len(found)):
                key = tuple([group_key(value) for value in made[0].values()])
                if key not in seen:
                    pile.several(made[0].values(), KEY)
                    seen.add(key)
                    kept.append(made)
            yield kept
        pile.clear()

    def _sorted(self, parts: Iterator[list[_Made]], stop: int | None) -> Iterator[list[_Made]]:
        """All rows in order; of those that a LIMIT drops no more than a few are kept at a time."""
        allowance = self.context.allowance
        pile = Pile(allowance, "the rows of ORDER BY")
        kept: list[_Made] = []
        most = None if stop is None else 2 * stop + FIRST
        level = allowance.made
        for found in parts:
            pile.batch(found, allowance.made - level)
            kept += found
            if most is not None and len(kept) > most:
                kept = self._ordered(kept)[:stop]
                pile.clear()
                pile.batch(kept, 0)
            allowance.made = level
        kept = self._ordered(kept)
        for start in range(0, len(kept), MOST):
            yield kept[start : start + MOST]
        pile.clear()

    def _ordered(self, found: list[_Made]) -> list[_Made]:
        for number, item in reversed(list(enumerate(self.projection.order))):
            nulls_first = item.descending if item.nulls_first is None else item.nulls_first
            found = in_order(found, _by(number), descending=item.descending)
            if nulls_first != item.descending:
                found = in_order(found, _null_last(number, nulls_first))
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


def _cut(parts: Iterator[list[_Made]], skip: int, stop: int | None) -> Iterator[list[_Made]]:
    """The rows from `skip` to `stop`; no batch is made beyond."""
    place = 0
    for some in parts:
        first = max(skip - place, 0)
        last = None if stop is None else max(stop - place, 0)
        place += len(some)
        yield some[first:last]
        if stop is not None and place >= stop:
            return

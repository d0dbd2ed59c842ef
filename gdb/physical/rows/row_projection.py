"""Project, Aggregate, Distinct, Sort, Limit and Filter over rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, cast

from gdb.base.allowance import paced
from gdb.base.values.aggregates import KEY, Gathering
from gdb.base.values.comparison import Key, group_key, sort_key
from gdb.base.values.problems import ValueProblem
from gdb.base.values.sizes import Growing, Pile
from gdb.base.values.sorting import in_order
from gdb.functions.library import AGGREGATES
from gdb.language.clauses import SortItem
from gdb.language.report import row_count
from gdb.language.syntax import Call, Expression
from gdb.logical.operators import Aggregate, Distinct, Filter, Limit, Names, Project, Sort
from gdb.physical.rows.batches import FIRST, MOST, Parts
from gdb.physical.rows.subqueries import Prepared, compile_expressions
from gdb.physical.rows.visible_names import visible

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext

_GROUP, _STATE = 200, 160  # bytes of a group, and of an aggregate in it, without what they keep
_Sorted = tuple["Row", "list[Value]"]
_ALIKE: Sequence[set[type]] = (
    {int},
    {str},
)  # the types of values that are their own sort keys, none of them null


# ---- row by row ----------------------------------------------------------------------------------


def project(context: RowContext, operator: Project, parts: Parts) -> Parts:
    """The columns of each row."""
    names = [column.name for column in operator.columns]
    if operator.narrows:
        for rows in parts:
            yield [{name: row[name] for name in names} for row in rows]
        return
    prepared, functions = compile_expressions(
        context, [column.expression for column in operator.columns]
    )
    values = list(zip(names, functions, strict=True))
    for rows in parts:
        prepared.fill(rows)
        found: list[Row] = []
        turn = Growing(context.allowance, "rows").turn
        for row in rows:
            found.append({name: value(row) for name, value in values})
            turn(found)
        yield found


def satisfying(context: RowContext, operator: Filter, parts: Parts) -> Parts:
    """The rows for which the condition is true."""
    prepared = Prepared(context, [operator.condition])
    test = context.evaluator.condition(prepared.expressions[0])
    for rows in parts:
        prepared.fill(rows)
        answers = map(test, paced(rows, len(rows)))
        kept = [row for row, answer in zip(rows, answers, strict=True) if answer is True]
        yield [visible(row) for row in kept] if prepared.questions else kept


# ---- groups --------------------------------------------------------------------------------------


def aggregate(context: RowContext, operator: Aggregate, parts: Parts) -> Parts:
    """A row for each group, in the order of their first rows."""
    return _Aggregation(context, operator).aggregate(parts)


class _Aggregation:
    def __init__(self, context: RowContext, operator: Aggregate) -> None:
        self.context, self.operator = context, operator
        self.calls = [gathered.call for gathered in operator.calls]
        keys = [key.expression for key in operator.keys]
        inner = [argument for call in self.calls for argument in call.arguments]
        self.prepared, functions = compile_expressions(context, [*keys, *inner])
        rest = iter(functions[len(keys) :])
        names = [key.name for key in operator.keys]
        self.keys = list(zip(names, functions[: len(keys)], strict=True))
        self.arguments = [[next(rest) for _ in call.arguments] for call in self.calls]

    def aggregate(self, parts: Parts) -> Parts:
        evaluator, allowance = self.context.evaluator, self.context.allowance
        groups: dict[Hashable, tuple[Row, list[Gathering]]] = {}
        pile, kept = Pile(allowance, "the groups of an aggregate"), 0
        for rows in parts:
            self.prepared.fill(rows)
            turn = Growing(allowance, "the values of an aggregate").turn
            for row in rows:
                values = [value(row) for _, value in self.keys]
                key = tuple([group_key(value) for value in values])
                before = allowance.kept
                found = groups.get(key)
                if found is None:
                    found = groups[key] = self._begun(row, values)
                    pile.row(found[0])
                    pile.count(_GROUP + _STATE * len(self.calls))
                for call, state, arguments in zip(
                    self.calls, found[1], self.arguments, strict=True
                ):
                    try:
                        state.add(*[argument(row) for argument in arguments])
                    except ValueProblem as refused:
                        raise evaluator.located(refused, call.place) from None
                kept += allowance.kept - before
                turn(None)
        if not self.keys and not groups:
            groups[()] = ({}, [gathering(call) for call in self.calls])
        yield from self._results(groups)
        allowance.kept -= kept

    def _begun(self, row: Row, values: Sequence[Value]) -> tuple[Row, list[Gathering]]:
        """A group whose first row is this one."""
        group = dict(zip([name for name, _ in self.keys], values, strict=True))
        group |= {name: row[name] for name in self.operator.rest}
        return group, [gathering(call) for call in self.calls]

    def _results(self, groups: dict[Hashable, tuple[Row, list[Gathering]]]) -> Parts:
        made: list[Row] = []
        for group, states in groups.values():
            for gathered, state in zip(self.operator.calls, states, strict=True):
                try:
                    group[gathered.name] = state.result()
                except ValueProblem as refused:
                    place = gathered.call.place
                    raise self.context.evaluator.located(refused, place) from None
            made.append(group)
            if len(made) >= MOST:
                yield made
                made = []
            self.context.allowance.tick(len(states))
        if made:
            yield made


def gathering(call: Call) -> Gathering:
    """An aggregate for one group."""
    return AGGREGATES[call.function.text.lower()].over(call.distinct)


def distinct(context: RowContext, names: Names, parts: Parts, what: str) -> Parts:
    """The first of the rows that are equal in some names. what : they are called in an error."""
    pile = Pile(context.allowance, what)
    seen: set[Hashable] = set()
    for rows in parts:
        kept = []
        for row in paced(rows, len(rows)):
            key = tuple([group_key(row[name]) for name in names])
            if key not in seen:
                pile.several([row[name] for name in names], KEY)
                seen.add(key)
                kept.append(row)
        yield kept
    pile.clear()


def distinct_rows(context: RowContext, operator: Distinct, parts: Parts) -> Parts:
    """The first of equal rows."""
    return distinct(context, operator.names, parts, "the rows of DISTINCT")


# ---- order ---------------------------------------------------------------------------------------


def sort(context: RowContext, operator: Sort, parts: Parts, limit: Limit | None) -> Parts:
    """All rows in order; of those that a LIMIT behind it drops no more than a few are kept at a time."""
    allowance = context.allowance
    prepared, functions = compile_expressions(context, [item.expression for item in operator.keys])
    pile = Pile(allowance, "the rows of ORDER BY")
    kept: list[_Sorted] = []
    stop = None if limit is None else bounds(context, limit)[1]
    most = None if stop is None else 2 * stop + FIRST
    for rows in parts:
        prepared.fill(rows)
        level = allowance.made
        found: list[_Sorted] = []
        turn = Growing(allowance, "what rows are sorted by").turn
        for row in rows:
            found.append((row, [key(row) for key in functions]))
            turn(found)
        pile.batch(found, allowance.made - level)
        kept += found
        if most is not None and len(kept) > most:
            kept = _ordered(operator.keys, kept)[:stop]
            pile.clear()
            pile.batch(kept, 0)
        allowance.made = level
    kept = _ordered(operator.keys, kept)
    for start in range(0, len(kept), MOST):
        yield [row for row, _ in kept[start : start + MOST]]
    pile.clear()


def _ordered(keys: Sequence[SortItem], found: list[_Sorted]) -> list[_Sorted]:
    for number, item in reversed(list(enumerate(keys))):
        nulls_first = item.descending if item.nulls_first is None else item.nulls_first
        alike = {type(values[number]) for _, values in found} in _ALIKE
        key = _itself(number) if alike else _by(number)
        found = in_order(found, key, descending=item.descending)
        if not alike and nulls_first != item.descending:
            found = in_order(found, _null_last(number, nulls_first))
    return found


def ordered(
    keys: Sequence[SortItem], functions: Sequence[Callable[[Row], Value]], rows: list[Row]
) -> list[Row]:
    """A few rows in order. functions : the values of the keys."""
    found = [(row, [value_of(row) for value_of in functions]) for row in rows]
    return [row for row, _ in _ordered(keys, found)]


def _by(number: int) -> Callable[[_Sorted], Key]:
    return lambda made: sort_key(made[1][number])


def _itself(number: int) -> Callable[[_Sorted], Key]:
    return cast("Callable[[_Sorted], Key]", lambda made: made[1][number])


def _null_last(number: int, nulls_first: bool) -> Callable[[_Sorted], bool]:
    return lambda made: (made[1][number] is None) != nulls_first


# ---- SKIP and LIMIT ------------------------------------------------------------------------------


def bounds(context: RowContext, operator: Limit) -> tuple[int, int | None]:
    """The numbers of the first row, and of the one behind the last; None where there is none.

    Raises
    ------
    TypeProblem : SKIP or LIMIT is no whole number.
    """
    skip = _number(context, operator.skip, "SKIP") or 0
    limit = _number(context, operator.limit, "LIMIT")
    return skip, None if limit is None else skip + limit


def limit_rows(context: RowContext, operator: Limit, parts: Parts) -> Parts:
    """The rows that SKIP and LIMIT leave; no batch is made beyond."""
    skip, stop = bounds(context, operator)
    place = 0
    for some in parts:
        first = max(skip - place, 0)
        last = None if stop is None else max(stop - place, 0)
        place += len(some)
        yield some[first:last]
        if stop is not None and place >= stop:
            return


def _number(context: RowContext, expression: Expression | None, clause: str) -> int | None:
    """The value of SKIP or LIMIT."""
    if expression is None:
        return None
    value = context.evaluator.compiled(expression)({})
    return row_count(value, context.text, expression.place, clause)

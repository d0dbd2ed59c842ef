"""List comprehensions, quantifiers and reduce: what is evaluated once for each item of a list.

The loop's variable shadows one of the row. The row is copied once for each loop, not for each item: nothing keeps it
beyond the item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.values.naming import type_phrase
from gdb.base.values.sizes import Growing
from gdb.physical.evaluator.logic import quantify_list

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.base.values.kinds import Row, Value
    from gdb.language.syntax import Place, Quantifier
    from gdb.physical.evaluator.context import Compiled, Condition, Context

ListOf: TypeAlias = "Callable[[Row], Sequence[Value] | None]"
"""What a loop runs over: a list, or the integers of range(), without making a list of them; None for null."""


def items(values: Compiled, context: Context, place: Place) -> ListOf:
    """The list that an expression gives.

    Raises
    ------
    TypeProblem : when the row gives no list.
    """

    def evaluate(row: Row) -> list[Value] | None:
        found = values(row)
        if found is None or isinstance(found, list):
            return found
        context.refuse(place, f"this must be a list, and it is {type_phrase(found)}.")

    return evaluate


def comprehension(
    name: str,
    values: ListOf,
    where: Condition | None,
    result: Compiled | None,
    allowance: Allowance,
) -> Compiled:
    """[name IN values WHERE where | result]"""

    def evaluate(row: Row) -> Value:
        found = values(row)
        if found is None:
            return None
        made: list[Value] = []
        inner, turn = dict(row), Growing(allowance, "a list comprehension").turn
        for item in found:
            inner[name] = item
            if where is None or where(inner):
                made.append(item if result is None else result(inner))
            turn(made)
        return made

    return evaluate


def quantifier(
    kind: Quantifier,
    name: str,
    values: ListOf,
    where: Condition,
    allowance: Allowance,
) -> Condition:
    """all(name IN values WHERE where), and so on."""

    def answers(found: Sequence[Value], row: Row) -> Iterator[bool | None]:
        inner, turn = dict(row), Growing(allowance, f"{kind}()").turn
        for item in found:
            inner[name] = item
            yield where(inner)
            turn(None)

    def evaluate(row: Row) -> bool | None:
        found = values(row)
        return None if found is None else quantify_list(kind, answers(found, row))

    return evaluate


def reduction(
    total: str, initial: Compiled, name: str, values: ListOf, result: Compiled, allowance: Allowance
) -> Compiled:
    """reduce(total = initial, name IN values | result)"""

    def evaluate(row: Row) -> Value:
        found = values(row)
        if found is None:
            return None
        inner, turn = dict(row), Growing(allowance, "reduce()").turn
        value = initial(row)
        for item in found:
            inner[total], inner[name] = value, item
            value = result(inner)
            turn(value)
        return value

    return evaluate


def first_there(values: Sequence[Compiled]) -> Compiled:
    """coalesce(): arguments after the first value that is not null are not evaluated."""

    def evaluate(row: Row) -> Value:
        for value in values:
            found = value(row)
            if found is not None:
                return found
        return None

    return evaluate

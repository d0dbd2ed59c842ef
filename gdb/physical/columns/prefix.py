"""The choice of the operators of a plan that run over columns: all of them, or the first ones; the others continue
with their rows.

What only rows can do (a function without SQL, a write, FOREACH) mostly comes after a MATCH and an aggregate,
DISTINCT or LIMIT, which leave few rows of many. Up to the last of these that columns can do, the plan is a chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import GdbError
from gdb.language.clauses import Match, Unwind
from gdb.language.syntax import Variable
from gdb.logical import operators
from gdb.logical.needed_properties import demands
from gdb.logical.operators import Column, Operators, Plan, behind
from gdb.physical.rows.batches import MOST, Batches
from gdb.physical.rows.values import taken
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.base.values.kinds import Value as Dynamic
    from gdb.executor.relational.arrow import Array
    from gdb.executor.relational.relational_tail import Output, Value
    from gdb.physical.columns.steps import Chain
    from gdb.physical.rows.run_context import RowContext

_FEWER = (operators.Aggregate, operators.Distinct, operators.Limit)
_READING = (Match, Unwind, operators.Project, operators.Filter, operators.Sort, *_FEWER)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first operators of a plan, compiled, and the plan of those that are left."""

    operators: Operators
    chain: Chain
    rest: Plan


def prefix(context: RowContext, plan: Plan, values: Mapping[str, Value]) -> Prefix | None:
    """The most operators of a plan from its begin that are worth a chain; None where there are none.

    plan : not for columns as a whole. values : of the parameters, as the caller gave them.
    """
    if len(plan.sides) > 1:
        return None
    (side,) = plan.sides
    names = plan.names if plan.returns else ()
    demanded = demands(side, names)
    ends = _ends(side)
    if not ends:
        return None
    from gdb.functions.types import TypeName  # here: runs over rows alone need no SQL
    from gdb.physical.columns.chain_compilation import NotForColumns, compiled

    while ends:
        end = ends.pop()
        first, rest = side[:end], side[end:]
        known = behind(first, ())
        live = [name for name in known if name in demanded[end - 1].live] or [*known[:1]]
        place = first[-1].place
        kept = operators.Project(tuple(Column(name, Variable(name, place)) for name in live), place)
        begins = Plan(plan.text, ((*first, kept),), (), (), returns=True)
        found = compiled(context, begins, values)
        if isinstance(found, NotForColumns):
            ends = [one for one in ends if one <= found.reached]
        elif not any(type_.kind is TypeName.DURATION for type_ in found.types):
            # a duration over columns is one number
            return Prefix(first, found, replace(plan, sides=(rest,), start=tuple(live)))
    return None


def _ends(side: Operators) -> list[int]:
    """How many operators of a side a chain may be worth."""
    found: list[int] = []
    matched = fewer = False
    for place, operator in enumerate(side[:-1], 1):
        if not isinstance(operator, _READING):
            break
        matched = matched or isinstance(operator, Match)
        fewer = matched and (fewer or isinstance(operator, _FEWER))
        if fewer and not isinstance(operator, (Match, Unwind)):
            found.append(place)
    return found


def run_prefix(context: RowContext, prefix_run: Prefix) -> Batches | GdbError:
    """The rows of the first operators; the error where columns gave up, as they do at a division by zero.

    Raises
    ------
    GdbError : as `attempted`.
    """
    from gdb.physical.columns.chain_run import try_chain  # here: runs over rows alone need no SQL

    made = try_chain(context, prefix_run.chain)
    if isinstance(made, GdbError):
        return made
    names = tuple(output.name for output in made.outputs)
    return Batches(names, _batches(context, made.outputs, made.table))


# ---- rows ----------------------------------------------------------------------------------------


def _batches(context: RowContext, outputs: Sequence[Output], table: Array) -> Iterator[list[Row]]:
    from gdb.executor.relational import arrow  # here: it imports nanoarrow

    names = [output.name for output in outputs]
    for some in arrow.pieces(table, MOST):
        columns = [
            _values(context, output, arrow.child(some, k)) for k, output in enumerate(outputs)
        ]
        context.pulse()
        yield [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(context: RowContext, output: Output, array: Array) -> list[Dynamic]:
    """A column as values of the language."""
    from gdb.executor.relational import arrow  # here: it imports nanoarrow

    if output.kind == "value":
        return [taken(value) for value in arrow.to_list(array)]
    numbers, valid = arrow.int64_values(array)
    known = numbers if valid is None else numbers[valid]
    graph = context.graph
    made: list[Dynamic]
    if output.kind == "node":
        made = [*graph.nodes(known.astype(np.uint32))]
    else:
        made = [*graph.relationships(known)]
    if valid is None:
        return made
    filled = iter(made)
    return [next(filled) if there else None for there in valid.tolist()]

"""The first clauses of a query over columns, where the rest of it is for rows.

What one clause needs of Python (a function of dynamic types, a subquery for each row, a change of the graph) is no
reason to run the clauses before it there: up to the last WITH that groups its rows, or leaves some out, they run as a
chain, and rows go on from what it gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gdb.chain.compile import compiled
from gdb.chain.liveness import demands
from gdb.chain.run import attempted
from gdb.chain.steps import Chain
from gdb.errors import GdbError, QueryError
from gdb.functions.types import Kind
from gdb.language.aggregation import is_aggregate
from gdb.language.clauses import Clause, Match, Query, Return, ReturnItem, Unwind, With
from gdb.language.syntax import Name, Variable, walk
from gdb.rows.batches import MOST, Batches
from gdb.rows.values import taken

if TYPE_CHECKING:
    from gdb.executor.arrow import Array
    from gdb.executor.tail import Output, Value
    from gdb.rows.context import Context
    from gdb.values.kinds import Row
    from gdb.values.kinds import Value as Dynamic


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first clauses of a query, compiled, and the query that is left."""

    clauses: tuple[Clause, ...]
    chain: Chain
    rest: Query


def prefix(context: Context, query: Query, values: Mapping[str, Value]) -> Prefix | None:
    """The longest part of a query from its begin that is worth a chain; None where there is none.

    query : not for columns as a whole. values : of the parameters, as the caller gave them.
    """
    if len(query.parts) > 1:
        return None
    (clauses,) = query.parts
    for place in reversed(_ends(clauses)):
        before, rest = clauses[: place + 1], clauses[place + 1 :]
        asked = Query(query.text, ((*before, _passed_on(before[-1], rest)),))
        try:
            chain = compiled(context, asked, values)
        except QueryError:
            continue
        if any(type_.kind is Kind.DURATION for type_ in chain.types):
            continue  # over columns it is one number
        return Prefix(before, chain, replace(query, parts=(rest,)))
    return None


def begun(context: Context, found: Prefix, memory: int | None) -> Batches | None:
    """The rows of the first clauses; None where columns gave up, as they do at a division by zero.

    Raises
    ------
    GdbError : as `attempted`.
    """
    made = attempted(context, found.chain, memory)
    if isinstance(made, GdbError):
        return None
    answer = made.answer
    names = tuple(output.name for output in answer.outputs)
    return Batches(names, _batches(context, answer.outputs, answer.table))


# ---- which clauses -------------------------------------------------------------------------------


def _ends(clauses: Sequence[Clause]) -> list[int]:
    """The places of each WITH up to which a chain may be worth it."""
    found: list[int] = []
    matched = False
    for place, clause in enumerate(clauses[:-1]):
        if not isinstance(clause, (Match, Unwind, With)):
            break
        matched = matched or isinstance(clause, Match)
        if matched and isinstance(clause, With) and _fewer(clause.projection):
            found.append(place)
    return found


def _fewer(projection: Return) -> bool:
    """Whether a projection groups its rows, or leaves some out."""
    if projection.distinct or projection.limit is not None:
        return True
    return any(is_aggregate(part) for i in projection.items for part in walk(i.expression))


def _passed_on(last: Clause, rest: Sequence[Clause]) -> Return:
    """RETURN of the names that the rest may ask for."""
    assert isinstance(last, With)
    place, live = last.place, demands((last, *rest))[0].live
    if last.projection.everything:
        return Return(place, distinct=False, everything=True, items=())
    names = [item.name for item in last.projection.items]
    kept = [name for name in names if live is None or name in live] or names[:1]
    items = tuple(ReturnItem(Variable(name, place), Name(name, place), name) for name in kept)
    return Return(place, distinct=False, everything=False, items=items)


# ---- rows ----------------------------------------------------------------------------------------


def _batches(context: Context, outputs: Sequence[Output], table: Array) -> Iterator[list[Row]]:
    from gdb.executor import arrow

    names = [output.name for output in outputs]
    for some in arrow.pieces(table, MOST):
        columns = [
            _values(context, output, arrow.child(some, k)) for k, output in enumerate(outputs)
        ]
        context.pulse()
        yield [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(context: Context, output: Output, array: Array) -> list[Dynamic]:
    """A column as values of the language."""
    from gdb.executor import arrow

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

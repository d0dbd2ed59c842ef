"""Answers of a pattern inside an expression for all rows at once, without listing its embeddings: for which rows there
is one, or how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.values.elements import NodeValue
from gdb.physical import counting
from gdb.physical.rows.component import ComponentRun
from gdb.physical.rows.expand import expand_component
from gdb.records import replace
from gdb.storage.graph.adjacency import I64, U32

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.physical.rows.pattern import Pattern
    from gdb.physical.rows.run_context import RowContext

FEW = 64
"""Rows for which a pattern of one relationship is read in the rows of its nodes."""


def numbers(
    context: RowContext, pattern: Pattern, rows: Sequence[Row], *, exact: bool
) -> I64 | None:
    """How many embeddings a pattern has at each row, i64[rows]; without `exact` 1 for any number of them.

    None where that is not for the executors alone: a path of variable length whose number matters, or with more of a
    pattern around it; several components, a relationship or nothing that the rows bind, a condition on more than one
    element.
    """
    if pattern.variants:
        return None
    if pattern.long and not exact:
        # machine code of its own
        from gdb.physical.rows.path_answers import reached

        return reached(context, pattern, rows)
    components = pattern.components()
    if pattern.long or pattern.routes or len(components) > 1:
        return None
    if pattern.mode.nodes_differ or pattern.mode.distinct or pattern.mode.induced:
        return None
    (component,) = components
    names = [name for name in component.vertices if name in rows[0]]
    own = {*component.vertices, *component.edges}
    reach = {*own, *rows[0]}
    conditions = [replace(c, names=c.names & reach) for c in pattern.conditions]
    alone = all(c.names <= own and c.names - {*names} and not c.random for c in conditions)
    if not names or not alone or any(name in rows[0] for name in component.edges):
        return None
    run = ComponentRun(context, pattern, component)
    if len(run.pushable(conditions, names)) < len(conditions):
        return None
    found = np.zeros(len(rows), np.int64)
    there = [k for k, row in enumerate(rows) if all(_there(row, name) for name in names)]
    if not there:
        return found
    columns = [_vids(context, [rows[k] for k in there], name) for name in names]
    snapshot, options = context.graph.snapshot, context.options
    if not conditions and len(there) <= FEW:  # a plan takes longer to make than these to be read
        few = expand_component(snapshot, pattern, component, dict(zip(names, columns, strict=True)))
        if few is not None:
            each = np.bincount(few[2], minlength=len(there))
            found[there] = each if exact else np.minimum(each, 1)
            context.embeddings += int(found.sum())
            return found
    distinct, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
    bound = {name: np.unique(column) for name, column in zip(names, columns, strict=True)}
    graph, left = run.graph(conditions, bound, sure=True)
    if left:
        return None
    vertices = [component.vertices.index(name) for name in names]
    ask = counting.at_rows
    at, many = ask(graph, snapshot, options, vertices, [*distinct], numbers=exact)
    each = np.zeros(distinct.shape[1], np.int64)
    each[at] = many
    context.embeddings += int(many.sum())
    found[there] = each[place.reshape(-1)]
    return found


def _there(row: Row, name: str) -> bool:
    value = row[name]
    return isinstance(value, NodeValue) and not value.deleted


def _vids(context: RowContext, rows: Sequence[Row], name: str) -> U32:
    nodes = [value for row in rows for value in [row[name]] if isinstance(value, NodeValue)]
    return context.graph.vids(nodes)

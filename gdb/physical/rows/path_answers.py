"""Answers of a pattern predicate of one relationship of variable length for all rows at once: from which of their nodes
a path leads to a node as the pattern wants it. Neither paths nor pairs of their ends become rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.values.elements import NodeValue
from gdb.errors import NotSupported, QueryError
from gdb.executor.cpu.path_ends import distinct_ends
from gdb.executor.walk import steps
from gdb.physical.rows.component import admitted_edges, candidates
from gdb.physical.rows.expand import places_labelled
from gdb.physical.rows.path_questions import conditions_of
from gdb.physical.rows.pattern import Condition
from gdb.physical.walk_ends import Walks
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.physical.rows.pattern import Pattern, RowEdge
    from gdb.physical.rows.run_context import RowContext
    from gdb.storage.graph.adjacency import I64, U32


def reached(context: RowContext, pattern: Pattern, rows: Sequence[Row]) -> I64 | None:
    """1 for the rows at which a path of the pattern begins or ends, else 0, i64[rows].

    None where the pattern is more than a relationship of variable length with an end that the rows have, or has a
    condition on more than its other end, or one that needs dynamic types.
    """
    edge, *more = pattern.edges.values()
    if more or not edge.once or edge.name in rows[0] or len(pattern.vertices) > len({*edge.ends}):
        return None
    bound = [end for end in dict.fromkeys(edge.ends) if end in rows[0]]
    reach = {*pattern.vertices, edge.name, *rows[0]}
    conditions = [replace(c, names=c.names & reach) for c in pattern.conditions]
    free = {*edge.ends} - {*bound}
    if not bound or not all(c.names and c.names <= free for c in conditions):
        return None
    try:
        return _reached(context, pattern, edge, rows, bound, conditions)
    except (QueryError, NotSupported):  # rows say what is wrong, if anything is
        return None


def _reached(
    context: RowContext,
    pattern: Pattern,
    edge: RowEdge,
    rows: Sequence[Row],
    bound: Sequence[str],
    conditions: Sequence[Condition],
) -> I64 | None:
    allowed, left = admitted_edges(context, pattern, edge)
    if left:
        return None
    snapshot = context.graph.snapshot
    found = np.zeros(len(rows), np.int64)
    places, vids = _bound(context, pattern, rows, bound)
    if not len(places):
        return found
    over = steps(snapshot, edge.types, edge.direction, allowed)
    wants = edge.left in bound, edge.left not in bound
    walks = Walks(snapshot, conditions_of(context), edge, over, *wants, once=True)
    if len(vids) == len({*edge.ends}):
        begin, end = vids[edge.left], vids[edge.right]
        pairs, place = np.unique(np.stack([begin, end]), axis=1, return_inverse=True)
        question = replace(walks.question(pairs[0].astype(np.int64), over), goals=pairs[1])
        there, _ = distinct_ends(question, walks.conditions)
        met = np.zeros(pairs.shape[1], np.int64)
        met[there] = 1
        found[places] = met[place.reshape(-1)]
        return found
    (name,) = bound
    (other,) = {*edge.ends} - {name}
    mine = np.unique(vids[name]).astype(np.int64)
    others = candidates(context, pattern, other, conditions)
    ends = walks.between(mine, others) if walks.wants_left else walks.between(others, mine)
    side = ends.left if walks.wants_left else ends.right
    assert side is not None
    found[places] = np.isin(vids[name].astype(np.int64), side)
    context.embeddings += len(side)
    return found


def _bound(
    context: RowContext, pattern: Pattern, rows: Sequence[Row], names: Collection[str]
) -> tuple[I64, Mapping[str, U32]]:
    """The places of the rows whose nodes are there and have the labels of the pattern, and their vids by name."""
    places = [k for k, row in enumerate(rows) if all(_there(row, name) for name in names)]
    at, vids = np.array(places, np.int64), dict[str, "U32"]()
    for name in names:
        nodes = [value for k in places for value in [rows[k][name]] if isinstance(value, NodeValue)]
        vids[name] = context.graph.vids(nodes)
    for name in names:
        kept = places_labelled(context.graph.snapshot, pattern.parts.accepted[name], vids[name])
        at, vids = at[kept], {one: column[kept] for one, column in vids.items()}
    return at, vids


def _there(row: Row, name: str) -> bool:
    value = row[name]
    return isinstance(value, NodeValue) and not value.deleted

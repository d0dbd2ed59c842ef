"""Counts of one relationship by the kinds of what it binds: the types of relationships, and the label sets of nodes.

A query that shows no more than labels and types needs a row for each kind, with the number of its embeddings, and no
row for each embedding. How many there are of the kinds of one end follows from the degrees; mostly the other end of a
type has one kind alone, so that nothing else is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gdb.executor.plan.embeddings import Embeddings
from gdb.query_graph import DIFFERENT_EDGES, REPEATABLE_ELEMENTS
from gdb.storage.format.direction import Direction
from gdb.storage.graph.vid_ranges import vids_of

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Tail
    from gdb.language.scope import Scope
    from gdb.query_graph import QueryGraph
    from gdb.storage.graph.adjacency import I64, Adjacency
    from gdb.storage.graph.snapshot import Snapshot
    from gdb.storage.graph.vertices import I32

MOST_GROUPS = 1024  # label sets of a graph: there are as many numbers as pairs of them
PIECE = 1 << 20  # rows and neighbours that are looked at at once, but for a longer row


def suits(graph: QueryGraph, tail: Tail, scope: Scope) -> bool:
    """Whether the embeddings of a query graph are counted so for a tail."""
    if not tail.kinds or len(graph.vertices) != 2 or len(graph.edges) != 1:
        return False
    (edge,) = graph.edges
    more = graph.apart, graph.negated, graph.compared, graph.optional
    free = all(one.allowed is None and not one.predicate for one in (*graph.vertices, edge))
    plain = graph.mode in (DIFFERENT_EDGES, REPEATABLE_ELEMENTS) and not edge.exists
    few = len(scope.snapshot.groups) <= MOST_GROUPS
    return plain and free and few and not any(more) and edge.source != edge.target


def counts_by_kind(
    graph: QueryGraph, scope: Scope, pulse: Callable[[], object]
) -> tuple[Embeddings, I64]:
    """A row for each kind, of a node of each label set and a relationship of the type, and the number of the embeddings
    of that kind, i64[rows].

    pulse : called between pieces of `PIECE` neighbours; it may raise.
    """
    (edge,), snapshot, types = graph.edges, scope.snapshot, scope.types(0)
    admitted = np.zeros((len(snapshot.groups),) * 2, np.bool_)
    admitted[np.ix_(scope.groups(edge.source), scope.groups(edge.target))] = True
    rows, eids, numbers = list[list[int]](), list[int](), list[int]()
    for kind in snapshot.edge_types:
        if kind.name not in types or not kind.edge_count:
            continue
        found = np.where(admitted, _by_groups(snapshot, kind.name, edge.direction, pulse), 0)
        for groups in np.argwhere(found).tolist():
            members = [snapshot.groups[group].ranges[0][0] for group in groups]
            rows.append(members if edge.source == 0 else members[::-1])
            eids.append(kind.first_eid)
            numbers.append(int(found[tuple(groups)]))
    vids = np.array(rows, np.uint32).reshape(-1, 2)
    return Embeddings(vids, np.array(eids, np.int64).reshape(-1, 1)), np.array(numbers, np.int64)


def _by_groups(
    snapshot: Snapshot, name: str, direction: Direction, pulse: Callable[[], object]
) -> I64:
    """How many relationships of a type lead from one group to another, i64[groups, groups]."""
    view, count = snapshot.adjacency((name,), direction), len(snapshot.groups)
    froms = _of_rows(snapshot, view, pulse)
    tos = froms
    if direction is not Direction.ANY:
        tos = _of_rows(snapshot, snapshot.adjacency((name,), direction.flipped), pulse)
    if np.count_nonzero(froms) <= 1 or np.count_nonzero(tos) <= 1:
        return (
            np.outer(froms != 0, tos) if np.count_nonzero(froms) <= 1 else np.outer(froms, tos != 0)
        )
    found = np.zeros(count * count, np.int64)
    for groups, cut in _pieces(snapshot, view, pulse):
        targets = snapshot.groups_of(np.ascontiguousarray(view.neighbours[cut[0] : cut[-1]]))
        sources = np.repeat(groups, cut[1:] - cut[:-1])
        found += np.bincount(sources.astype(np.int64) * count + targets, minlength=count * count)
    return found.reshape(count, count)


def _of_rows(snapshot: Snapshot, view: Adjacency, pulse: Callable[[], object]) -> I64:
    """The degrees of each group's vertices in a view, added up, i64[groups]."""
    found: I64 = np.zeros(len(snapshot.groups), np.int64)
    if len(found) == 1:
        found[0] = len(view.neighbours)
        return found
    for groups, cut in _pieces(snapshot, view, pulse):
        np.add.at(found, groups, cut[1:] - cut[:-1])
    return found


def _pieces(
    snapshot: Snapshot, view: Adjacency, pulse: Callable[[], object]
) -> Iterator[tuple[I32, I64]]:
    """The groups of the vertices of some rows, i32[n], and where these begin and end, i64[n + 1]: of all rows of a
    view, `PIECE` rows and neighbours at a time, or one row that is longer."""
    begin = 0
    while begin < view.rows:
        pulse()
        most = min(begin + PIECE, view.rows)
        end = (
            int(np.searchsorted(view.offsets[: most + 1], view.offsets[begin] + PIECE, "right")) - 1
        )
        end = max(end, begin + 1)
        first, length, _ = view.intervals_of(begin, end)
        runs = zip(first.tolist(), (first + length).tolist(), strict=True)
        vids = vids_of(tuple((start, stop) for start, stop in runs))
        yield snapshot.groups_of(vids), view.offsets[begin : end + 1]
        begin = end

"""Counts of one relationship by the kinds of what it binds: the types of relationships, and the label sets of nodes.

A query that shows no more than labels and types needs a row for each kind, with the number of its embeddings, and no
row for each embedding. How many there are of the kinds of one end follows from the degrees; mostly the other end of a
type has one kind alone, so that nothing else is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.executor.plan.embeddings import Embeddings
from gdb.query_graph import DIFFERENT_EDGES, REPEATABLE_ELEMENTS
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Tail
    from gdb.query_graph import QueryGraph, QueryVertex
    from gdb.storage.graph.adjacency import I64, Adjacency
    from gdb.storage.graph.snapshot import Snapshot

MOST_GROUPS = 1024  # label sets of a graph: there are as many numbers as pairs of them
PIECE = 1 << 20  # neighbours that are looked at at once


def suits(graph: QueryGraph, tail: Tail, snapshot: Snapshot) -> bool:
    """Whether the embeddings of a query graph are counted so for a tail."""
    if not tail.kinds or len(graph.vertices) != 2 or len(graph.edges) != 1:
        return False
    if len(snapshot.groups) > MOST_GROUPS:
        return False
    (edge,) = graph.edges
    more = graph.apart, graph.negated, graph.compared, graph.optional
    free = all(one.allowed is None and not one.predicate for one in (*graph.vertices, edge))
    plain = graph.mode in (DIFFERENT_EDGES, REPEATABLE_ELEMENTS) and not edge.exists
    return plain and free and not any(more) and edge.source != edge.target


def counts_by_kind(graph: QueryGraph, snapshot: Snapshot) -> tuple[Embeddings, I64]:
    """A row for each kind, of a node of each label set and a relationship of the type, and the number of the embeddings
    of that kind, i64[rows]."""
    (edge,), groups = graph.edges, snapshot.groups
    admitted = np.zeros((len(groups), len(groups)), np.bool_)
    left, right = (_admitted(graph.vertices[v], snapshot) for v in (edge.source, edge.target))
    admitted[np.ix_(left, right)] = True
    vids, eids, numbers = list[tuple[int, int]](), list[int](), list[int]()
    for kind in snapshot.edge_types:
        if (edge.types and kind.name not in edge.types) or not kind.edge_count:
            continue
        found = np.where(admitted, _by_groups(snapshot, kind.name, edge.direction), 0)
        for one, other in np.argwhere(found).tolist():
            ends = {edge.source: one, edge.target: other}
            vids.append((_member(snapshot, ends[0]), _member(snapshot, ends[1])))
            eids.append(kind.first_eid)
            numbers.append(int(found[one, other]))
    made = np.array(vids, np.uint32).reshape(-1, 2), np.array(eids, np.int64).reshape(-1, 1)
    return Embeddings(*made), np.array(numbers, np.int64)


def _admitted(vertex: QueryVertex, snapshot: Snapshot) -> list[int]:
    """The groups whose labels a query vertex admits."""
    return [
        number
        for number, group in enumerate(snapshot.groups)
        if all(any(label in group.labels for label in term) for term in vertex.labels)
    ]


def _member(snapshot: Snapshot, group: int) -> int:
    return snapshot.groups[group].ranges[0][0]


def _by_groups(snapshot: Snapshot, type: str, direction: Direction) -> I64:
    """How many relationships of a type lead from one group to another, i64[groups, groups]."""
    view, count = snapshot.adjacency((type,), direction), len(snapshot.groups)
    froms = _of_rows(snapshot, view)
    tos = froms
    if direction is not Direction.ANY:
        tos = _of_rows(snapshot, snapshot.adjacency((type,), direction.flipped))
    found = np.zeros((count, count), np.int64)
    if np.count_nonzero(froms) <= 1 or np.count_nonzero(tos) <= 1:
        place, other = np.flatnonzero(froms), np.flatnonzero(tos)
        found[np.ix_(place, other)] = tos[other] if len(place) == 1 else froms[place][:, None]
        return found
    vids = view.vids()
    step = max(PIECE // max(int(view.max_degree), 1), 1)
    for begin in range(0, view.rows, step):
        cut = view.offsets[begin : begin + step + 1]
        sources = np.repeat(snapshot.groups_of(vids[begin : begin + step]), cut[1:] - cut[:-1])
        targets = snapshot.groups_of(np.ascontiguousarray(view.neighbours[cut[0] : cut[-1]]))
        pairs = sources.astype(np.int64) * count + targets
        found += np.bincount(pairs, minlength=count * count).reshape(count, count)
    return found


def _of_rows(snapshot: Snapshot, view: Adjacency) -> I64:
    """The degrees of each group's vertices in a view, added up, i64[groups]."""
    if len(snapshot.groups) == 1:
        return np.array([len(view.neighbours)], np.int64)
    found: I64 = np.zeros(len(snapshot.groups), np.int64)
    if view.rows:
        np.add.at(found, snapshot.groups_of(view.vids()), view.offsets[1:] - view.offsets[:-1])
    return found

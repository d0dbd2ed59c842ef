"""A pattern of one relationship at nodes that the rows have: its edges are read in the rows of these nodes.

To match it over the whole graph would put the partitions of base and delta together first, after every commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gdb.storage.graph.ascending import expanded

if TYPE_CHECKING:
    from gdb.physical.rows.pattern import Accepted, Component, Pattern
    from gdb.storage.graph.adjacency import I64, U32
    from gdb.storage.graph.snapshot import Snapshot

MOST = 1 << 12
"""Edges at the nodes of the rows up to which they are listed; conditions on the other ends are tested on each."""


def expand_component(
    snapshot: Snapshot,
    pattern: Pattern,
    component: Component,
    vids: Mapping[str, U32],
    most: int | None = None,
) -> tuple[Mapping[str, U32], Mapping[str, I64], I64] | None:
    """The embeddings of a component for rows: vertices and edges by name, and the place of the row, [n] each.

    vids : what the rows bind vertices to, u32[rows] each. most : embeddings that suffice, those of the first rows; None
    for all. None where the component is more than one relationship, binds none of its ends, or where these have very
    many.
    """
    mode = pattern.mode
    if len(component.edges) != 1 or mode.nodes_differ or mode.distinct or mode.induced:
        return None
    edge = pattern.edges[component.edges[0]]
    bound = [end for end in edge.ends if end in vids]
    if not bound or len(set(edge.ends)) != len(component.vertices):
        return None
    if len(bound) == 2:
        ends = vids[edge.left], vids[edge.right]
        at, eids = snapshot.between(*ends, edge.types, edge.direction)
        found = {name: column[at] for name, column in vids.items()}
    else:
        (name,) = bound
        direction = edge.direction if name == edge.left else edge.direction.flipped
        other = edge.right if name == edge.left else edge.left
        one = len(vids[name]) == 1
        distinct, row_of = vids[name], None
        if not one:
            distinct, row_of = np.unique(vids[name], return_inverse=True)
        if snapshot.degrees(distinct, edge.types, direction) > MOST:
            return None
        of, others, eids = snapshot.incident(distinct, edge.types, direction)
        # labels first: each row gets as many as suffice of what is left
        kept = _all_labelled(snapshot, pattern, {name: distinct[of], other: others})
        if kept is not None:
            of, others, eids = of[kept], others[kept], eids[kept]
        if row_of is None:
            return {name: distinct[of], other: others}, {edge.name: eids}, of
        at, place = _rows_of(of, row_of.reshape(-1), len(distinct), most)
        found = {name: distinct[of[place]], other: others[place]}
        return found, {edge.name: eids[place]}, at
    kept = _all_labelled(snapshot, pattern, found)
    if kept is None:
        return found, {edge.name: eids}, at
    return {n: column[kept] for n, column in found.items()}, {edge.name: eids[kept]}, at[kept]


def _all_labelled(snapshot: Snapshot, pattern: Pattern, columns: Mapping[str, U32]) -> I64 | None:
    """The places at which all vertices have their labels; None where none needs any."""
    accepted = {name: pattern.parts.accepted[name] for name in columns}
    if not any(one.terms for one in accepted.values()):
        return None
    kept: I64 | None = None
    for name, column in columns.items():
        some = places_labelled(snapshot, accepted[name], column if kept is None else column[kept])
        kept = some if kept is None else kept[some]
    return kept


def _rows_of(of: I64, row_of: I64, count: int, most: int | None) -> tuple[I64, I64]:
    """Each row with each edge of its vertex: the places of both. of : the number of the vertex of each edge; row_of :
    that of each row. most : as `expand_component`."""
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=count)) if count else np.zeros(0, np.int64)
    degrees = np.diff(ends, prepend=0)
    if most is not None:
        row_of = row_of[: int(np.searchsorted(np.cumsum(degrees[row_of]), most)) + 1]
    at, places = expanded((ends - degrees)[row_of], ends[row_of])
    return at, order[places]


def places_labelled(snapshot: Snapshot, accepted: Accepted, vids: U32) -> I64:
    """The places of the vertices that have some labels."""
    of_group = [accepted[group.labels] for group in snapshot.groups] if accepted.terms else []
    if all(of_group):
        return np.arange(len(vids), dtype=np.int64)
    found: I64 = np.array(of_group, np.bool_)[snapshot.groups_of(vids)].nonzero()[0]
    return found

"""Rows of a pattern that is one relationship: its edges in the order of their ids, without a nest.

The edges of a type lie in the order of their sources, and so do their properties. Read in that order the columns of a
query need no copy, and no pair of vertices is looked up. Floor: 12 bytes an edge (its target and its id).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32, Adjacency
from gdb.storage.graph.intervals import of_vids

from ..plan.embeddings import Embeddings, Wanted
from ..plan.plan import BindEdge, Candidates, Extend, Plan, Rules, Scan

if TYPE_CHECKING:
    from ..plan.source import GraphSource
    from ..work.scheduler import Watch

BLOCK = 1 << 18
"""Edges that are read at a time."""
LEAST = 1 << 14
"""Edges of the pattern's types below which the nest is as quick."""


def is_edge_scan(plan: Plan) -> bool:
    """Whether the embeddings of a plan for rows are the directed edges of some types between its candidates."""
    match plan.phases:
        case (
            Scan(rules=Rules((), (), ())),
            Extend(steps=(step,)),
            BindEdge(differs=(), above=()) as bound,
        ):
            pass
        case _:
            return False
    plain = not (plan.counting or plan.ranked or plan.terms or plan.optional or plan.twins)
    alone = plan.vertices == 2 and plan.edges == 1 and step.rules == Rules()
    directed = plan.views[bound.view].direction is not Direction.ANY
    return plain and alone and directed and plan.extended is None and plan.multiplicity == 1


def deliver_edges(
    plan: Plan,
    graph: GraphSource,
    wanted: Wanted,
    watch: Watch,
    deliver: Callable[[Embeddings], None],
) -> bool:
    """Deliver the embeddings of a plan for rows in blocks; whether that was done. It is not where a nest is to run: for
    other plans, few edges, types without a direction, or some rows."""
    if watch.limit is not None:
        return False
    bound, lists = plan.phases[-1], _lists(plan, graph)
    if lists is None:
        return False
    assert isinstance(bound, BindEdge)
    adjacency, eids = lists
    source, target = bound.source, bound.target
    if plan.views[bound.view].direction is Direction.IN:
        source, target = target, source
    for rows, begin, end in _blocks(adjacency, plan.candidates[source]):
        if not watch.going():
            break
        low, high = int(adjacency.offsets[begin]), int(adjacency.offsets[end])
        targets, ids = adjacency.neighbours[low:high], eids[low:high]
        keep = _among(targets, plan.candidates[target])
        if bound.allowed is not None:
            keep = _both(keep, np.isin(ids, bound.allowed, assume_unique=True))
        vids = np.empty((len(ids), len(wanted.vertices)), np.uint32)
        for k, v in enumerate(wanted.vertices):
            own = targets
            if v == source:
                own = np.repeat(rows, np.diff(adjacency.offsets[begin : end + 1]))
            vids[:, k] = own
        if keep is not None:
            vids, ids = vids[keep], ids[keep]
        if len(ids):
            deliver(Embeddings(vids, ids[:, None][:, : len(wanted.edges)], kept=wanted))
    return True


def _lists(plan: Plan, graph: GraphSource) -> tuple[Adjacency, I64] | None:
    """The lists of the edges of such a plan by source, and their edges' ids."""
    bound = plan.phases[-1]
    if not is_edge_scan(plan) or not isinstance(bound, BindEdge):
        return None
    types = plan.views[bound.view].types
    if len(types) > 1:  # their lists are merged, as the nest needs them and not this
        return None
    lists = graph.adjacency(types, Direction.OUT)
    if len(lists.neighbours) < LEAST:
        return None
    eids = graph.eids(types, Direction.OUT)
    once = int(eids[-1]) - int(eids[0]) == len(eids) - 1
    return (lists, eids) if once else None  # of a type without a direction each is there twice


def _blocks(adjacency: Adjacency, among: Candidates) -> Iterator[tuple[U32, int, int]]:
    """Rows of the lists, one after the other and of candidates alone: their vids, the first row, and that behind the
    last one."""
    for first, length, row in zip(
        adjacency.first.tolist(), adjacency.length.tolist(), adjacency.row.tolist(), strict=True
    ):
        for low, high in _runs(among, first, first + length):
            begin, stop = row + low - first, row + high - first
            while begin < stop:
                most = int(adjacency.offsets[begin]) + BLOCK
                end = int(np.searchsorted(adjacency.offsets[: stop + 1], most, "right")) - 1
                end = min(max(end, begin + 1), stop)
                vid = first + begin - row
                yield np.arange(vid, vid + end - begin, dtype=np.uint32), begin, end
                begin = end


def _runs(among: Candidates, low: int, high: int) -> Iterator[tuple[int, int]]:
    """The vids of candidates in [low, high), in runs."""
    if among.allowed is None:
        for start, stop in among.ranges:
            if max(start, low) < min(stop, high):
                yield max(start, low), min(stop, high)
        return
    allowed = among.allowed[
        np.searchsorted(among.allowed, low) : np.searchsorted(among.allowed, high)
    ]
    runs = of_vids(allowed)
    for start, length in zip(runs.first.tolist(), runs.length.tolist(), strict=True):
        yield start, start + length


def _among(vids: U32, candidates: Candidates) -> npt.NDArray[np.bool_] | None:
    """Which vids are candidates; None: all."""
    if candidates.allowed is not None:
        allowed = candidates.allowed
        if not len(allowed):
            return np.zeros(len(vids), np.bool_)
        place = np.minimum(np.searchsorted(allowed, vids), len(allowed) - 1)
        found: npt.NDArray[np.bool_] = allowed[place] == vids
        return found
    keep: npt.NDArray[np.bool_] | None = None
    for start, stop in candidates.ranges:
        inside = (vids >= start) & (vids < stop)
        keep = inside if keep is None else keep | inside
    if keep is None:
        return np.zeros(len(vids), np.bool_)
    return None if keep.all() else keep


def _both(
    keep: npt.NDArray[np.bool_] | None, other: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    return other if keep is None else keep & other

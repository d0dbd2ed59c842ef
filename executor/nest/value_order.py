"""Rows of a view in the order of a value of their edges, and the ends of edges by edge id: what windows read.

Both are made when a plan first needs them, and kept as long as the view, the longest unused given up first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from gdb.base import waiting
from gdb.base.once import MadeOnce, MadeWithin
from gdb.records import dataclass
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32, Adjacency

from ..plan.plan import MISSING, Compare, ViewSpec
from ..plan.source import GraphSource
from .nest import WithinBounds
from .windows import Orders

MOST_KEPT = 1 << 30  # bytes for one view; rows that would take more are not ordered
_SAMPLE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """The edges of each row of a view by their value, then by their place in the row.

    values, eids : i64[m] for the positions of the view. source : the values by edge id that they were ordered by.
    """

    values: I64
    eids: I64
    source: I64

    @property
    def bytes(self) -> int:
        """Bytes of the ordered values and edge ids, without `source`."""
        return self.values.nbytes + self.eids.nbytes


class _Kept:
    """What was made of one view. ends : by edge id the neighbour that the edge leads to, u32[edges]."""

    def __init__(self, _: Adjacency) -> None:
        self.orders: MadeWithin[int, Ordered] = MadeWithin()
        self.ends: U32 | None = None
        self.lock = waiting.Lock()


_of_views = MadeOnce(_Kept)


def order_rows(view: Adjacency, eids: I64, values: I64) -> Ordered:
    """The rows of a view by values of their edges, i64 by edge id; equal questions share one answer.

    Cost: sorting all edges of the view, about 0.3 microseconds for each.
    """
    make = partial(waiting.aside, len(eids), partial(_order, view, eids, values))
    # it holds the values, so that none else has their address
    return _of_views.of(view).orders.of(id(values), make, MOST_KEPT)


def _order(view: Adjacency, eids: I64, values: I64) -> Ordered:
    rows = np.repeat(np.arange(view.rows), np.diff(view.offsets))
    there = values[eids]
    order = np.lexsort((there, rows))
    return Ordered(there[order], np.ascontiguousarray(eids[order], np.int64), values)


def ends(view: Adjacency, eids: I64, edges: int) -> U32:
    """For each edge id the neighbour that it leads to in a view, u32[edges]; 0 for edges of others."""
    kept = _of_views.of(view)
    with kept.lock:
        if kept.ends is None:
            found = np.zeros(max(edges, 1), np.uint32)
            found[eids] = view.neighbours
            kept.ends = found
        return kept.ends


def orders(
    compares: Sequence[Compare],
    specs: Sequence[ViewSpec],
    back: tuple[int, ...],
    last: tuple[int, ...],
    graph: GraphSource,
) -> Orders:
    """What the pass knows of some comparisons and views."""
    directed = {t.name: t.directed for t in graph.edge_types}
    other = tuple(
        back[k] if _has_order(spec, directed, graph) else -1 for k, spec in enumerate(specs)
    )
    arrays: dict[int, int] = {}
    sides = tuple(
        (
            arrays.setdefault(id(c.left_values), len(arrays)),
            arrays.setdefault(id(c.right_values), len(arrays)),
        )
        for c in compares
    )
    return Orders(other, last, sides, partial(_share, compares))


def _has_order(spec: ViewSpec, directed: dict[str, bool], graph: GraphSource) -> bool:
    """Whether every edge of a view is in one row only, and they are not too many."""
    types = [directed.get(name, True) for name in spec.types] if spec.types else directed.values()
    if spec.direction is Direction.ANY or not all(types):
        return False
    return 16 * len(graph.adjacency(spec.types, spec.direction).neighbours) <= MOST_KEPT


def _share(compares: Sequence[Compare], windows: tuple[WithinBounds, ...]) -> float:
    """What part of all edges some windows leave, from a sample of the values of each level."""
    held = np.ones(_SAMPLE, np.bool_)
    for window in windows:
        compare = compares[window.number]
        left = _drawn(compare.left_values, window.left)
        right = _drawn(compare.right_values, window.right)
        difference = right - left
        held &= (left != MISSING) & (right != MISSING)
        held &= (difference >= compare.least) & (difference <= compare.most)
    return float(held.sum()) / _SAMPLE


def _drawn(values: I64, level: int) -> I64:
    """Values at random, the same in each call for one level; with none of them, missing ones."""
    if not len(values):
        return np.full(_SAMPLE, MISSING, np.int64)
    return values[np.random.default_rng(level).integers(len(values), size=_SAMPLE)]

"""Candidates and bounds that a run is given instead of its plan's: what a prepared statement needs when the values of
its parameters change.

Phases, nest and tables of the stage stay, and so do the workers that wait with it; only what is made of the candidates
(the roots, lists and bitsets) is made again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gdb.storage.graph.adjacency import I64, U32

from ..plan.source import GraphSource
from ..work.scheduler import Weights
from .prepare import Prepared, roots_among
from .tables import bitset

_ONE = Weights(np.ones(1, np.int64))
_FEW = 64  # members that are put into a bitset one by one


class Bindings:
    """Other candidates of some query vertices and edges, in place of those that the plan has for them, and other bounds
    of comparisons.

    vertices : query vertex -> vids, u32[k] ascending, within the ranges of the plan's. edges : query edge -> edge
        ids, i64[k] ascending. bounds : number of a comparison of the plan -> least and most.
    stages : what was made of a stage with them, by its address.
    """

    __slots__ = ("bounds", "edges", "stages", "vertices")

    def __init__(
        self,
        vertices: Mapping[int, U32],
        edges: Mapping[int, I64],
        bounds: Mapping[int, tuple[int, int]],
    ) -> None:
        self.vertices, self.edges, self.bounds = vertices, edges, bounds
        self.stages: dict[int, Prepared] = {}

    def stage(self, stage: Prepared, graph: GraphSource) -> Prepared:
        """The stage with these candidates; it shares the waiting workers. `graph` keeps the stage alive."""
        made = self.stages.get(id(stage))
        if made is None:
            made = self.stages[id(stage)] = rebind_stage(stage, self, graph)
        return made


def rebind_stage(stage: Prepared, bindings: Bindings, graph: GraphSource) -> Prepared:
    """The prepared stage with what depends on the candidates and bounds made anew."""
    vertices, edges = bindings.vertices, bindings.edges
    plan, first = stage.plan, stage.tables.vertex_columns[0]
    roots, weights, work, units = stage.roots, stage.weights, stage.work, stage.units
    if first in vertices:
        roots = vertices[first]
        if len(roots) == 1:  # whether it has neighbours shows soon enough
            weights, work, units = _ONE, 1, {1: [(0, 1)]}
        else:
            roots, weights = roots_among(plan, stage.views, roots)
            work, units = weights.total, {}
    elif any(plan.candidates[v].count == 0 and len(vertices[v]) for v in vertices):
        # with the plan's own candidates there was nothing to begin with
        roots, weights = roots_among(plan, stage.views, plan.candidates[first].vids())
        work, units = weights.total, {}
    lists = list(stage.lists)
    for place, v in enumerate(stage.tables.lists):
        if v in vertices:
            lists[place] = roots if v == first else vertices[v]
    bits = list(stage.bit_sets)
    for place, k in enumerate(stage.tables.bit_sets):
        if k in vertices:
            bits[place] = bitset_of(vertices[k], stage.vids)
        elif -1 - k in edges:
            bits[place] = bitset_of(edges[-1 - k], graph.edge_count)
    bounds = stage.bounds
    if bindings.bounds:
        bounds = bounds.copy()
        for number, (least, most) in bindings.bounds.items():
            bounds[number] = least, most
    return Prepared(  # not `replace`, which takes as long as all the rest
        plan,
        stage.nest,
        stage.tables,
        stage.views,
        stage.specs,
        stage.eids,
        tuple(bits),
        tuple(lists),
        roots,
        weights,
        work,
        stage.vids,
        stage.restricted,
        stage.values,
        bounds,
        stage.orders,
        stage.idle,
        units,
    )


def bitset_of(members: U32 | I64, size: int) -> npt.NDArray[np.uint8]:
    """As `tables.bitset`; a few members cost nothing that grows with `size` but untouched memory."""
    if len(members) > _FEW:
        return bitset(members, size)
    bits = np.zeros(size // 8 + 1, np.uint8)
    for member in members.tolist():
        bits[member >> 3] |= 1 << (member & 7)
    return bits

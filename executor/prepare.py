"""From a plan to what both generic kernels take: nest, tables, and the arrays behind the tables'
numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdb.executor import nest_passes
from gdb.executor.nest import LoopNest, lower
from gdb.executor.plan import BindEdge, Eliminate, Extend, Plan, Scan, ViewSpec, verify
from gdb.executor.source import GraphSource
from gdb.executor.tables import Tables, bitset, encode
from gdb.storage.adjacency import I64, U32, Adjacency


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A stage ready to launch.

    views, eids : one for each of the plan's views; eids is None where no edge is bound through the
        view.
    bit_sets, lists : arrays for `tables.bit_sets` and `tables.lists`.
    roots : what level 0 loops over, u32[r] ascending; weights : estimated work of each root,
        i64[r].
    """

    plan: Plan
    nest: LoopNest
    tables: Tables
    views: tuple[Adjacency, ...]
    specs: tuple[ViewSpec, ...]
    eids: tuple[I64 | None, ...]
    bit_sets: tuple[npt.NDArray[np.uint8], ...]
    lists: tuple[U32, ...]
    roots: U32
    weights: I64

    @property
    def bytes(self) -> int:
        """Bytes that a device must hold to run this stage."""
        arrays: list[npt.NDArray[np.generic]] = [*self.bit_sets, *self.lists, self.roots]
        for view in {id(v): v for v in self.views}.values():
            arrays += [view.first, view.length, view.row, view.offsets, view.neighbours]
        return sum(a.nbytes for a in arrays) + sum(e.nbytes for e in self.eids if e is not None)


def loop_nest(plan: Plan, graph: GraphSource) -> LoopNest:
    """The improved nest of a plan (what EXPLAIN shows)."""
    ends = tuple(_end(graph.adjacency(w.types, w.direction.flipped)) for w in plan.views)
    return nest_passes.improve(lower(plan, ends), plan.notes.switched_off)


def prepare(plan: Plan, graph: GraphSource) -> Prepared:
    """Everything that a launch needs, in host memory; partitions stay where they are (mapped
    files)."""
    verify(plan)
    views = tuple(graph.adjacency(w.types, w.direction) for w in plan.views)
    nest = loop_nest(plan, graph)
    bound = {p.view for p in plan.phases if isinstance(p, BindEdge)}
    eids = tuple(
        graph.eids(w.types, w.direction) if i in bound else None for i, w in enumerate(plan.views)
    )
    roots, weights = _roots(plan, views)
    members = {
        v: roots if v == plan.order[0] else plan.candidates[v].vids() for v in _scanned(plan)
    }
    sizes = tuple(len(members.get(v, ())) for v in range(plan.vertices))
    tables = encode(nest, plan, views, sizes)
    allowed = {p.edge: p.allowed for p in plan.phases if isinstance(p, BindEdge)}
    bit_sets = tuple(
        _edge_bits(allowed[-1 - k], graph.edge_count)
        if k < 0
        else bitset(plan.candidates[k].vids(), graph.vertex_count)
        for k in tables.bit_sets
    )
    lists = tuple(members[v] for v in tables.lists)
    return Prepared(plan, nest, tables, views, plan.views, eids, bit_sets, lists, roots, weights)


def _end(view: Adjacency) -> int:
    """The largest vid that has a row, + 1."""
    return int(view.first[-1]) + int(view.length[-1]) if len(view.first) else 0


def _edge_bits(allowed: I64 | None, size: int) -> npt.NDArray[np.uint8]:
    return bitset(np.zeros(0, np.int64) if allowed is None else allowed, size)


def _scanned(plan: Plan) -> list[int]:
    return [p.vertex for p in plan.phases if isinstance(p, Scan)]


def _roots(plan: Plan, views: tuple[Adjacency, ...]) -> tuple[U32, I64]:
    """Candidates of the first vertex that have a row in every view read from it, and their degrees
    there."""
    first = plan.order[0]
    roots = plan.candidates[first].vids()
    weights = np.ones(roots.shape, np.int64)
    for w in sorted(_views_from(plan, first)):
        degrees = views[w].degrees_of(roots)
        kept = degrees > 0
        roots, weights = roots[kept], (weights + degrees)[kept]
    return np.ascontiguousarray(roots), weights


def _views_from(plan: Plan, vertex: int) -> set[int]:
    found: set[int] = set()
    for phase in plan.phases:
        match phase:
            case Extend(steps=steps):
                found |= {s.view for s in steps if s.source == vertex}
            case Eliminate(view=w, arcs=arcs):
                found |= {w for a in arcs if a.source == vertex}
            case _:
                pass
    return found

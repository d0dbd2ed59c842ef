"""From a plan to what both generic kernels take: nest, tables, and the arrays behind the tables'
numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.base import usage
from gdb.imports import deferred
from gdb.records import dataclass, field, replace
from gdb.storage.disk.arrays import filed
from gdb.storage.graph.adjacency import I64, U32, Adjacency
from gdb.storage.graph.degree_order import ranked_graph

from ..plan.plan import BindEdge, Eliminate, Extend, Plan, Scan, ViewSpec
from ..plan.source import GraphSource
from ..plan.valid_plans import verify
from ..work.scheduler import CANDIDATES, Weights, units
from . import counted_tail, passes
from .encoding import encode
from .nest import EdgeLevel, Level, LoopNest, Node, Order, SetOp, VertexLevel, lower
from .tables import Tables, bitset
from .views import Views

if TYPE_CHECKING:
    from . import value_order
    from .bindings import Bindings
    from .by_edge import ByEdge
    from .value_order import Ordered
else:
    value_order = deferred("gdb.executor.nest.value_order")


Ways = tuple[tuple[ViewSpec, ...], tuple[int, ...]]


# not frozen: each query makes one, and a frozen one takes four times as long to make
@dataclass(slots=True, eq=False)
class Prepared:
    """A stage ready to launch, any number of times.

    specs, views, eids : the plan's views, then those of the same edges from the other end, where the tail has trees;
        those that the CPU does not read are opened when something else reads them. eids is None where no edge is bound
        through the view.
    bit_sets, lists : arrays for `tables.bit_sets` and `tables.lists`.
    roots : what level 0 loops over, u32[r] ascending; weights : estimated work of each root; work : their sum.
    vids : number of data vertices.
    restricted : some list is cut at a bound vertex.
    values : of each comparison of the plan those of its left and its right side; bounds : of their differences,
        i64[comparisons, 2].
    orders : for `tables.orders`.
    idle : for each backend what waits to be used again, its workers or stages.
    spent : seconds that it has taken on each GPU, by ordinal. runs : the seconds of the quickest run there with one
        kernel or the other, as `gdb.executor.gpu.special.Race` keeps them.
    read : the arrays of the graph among all these.
    blocks : how many of the views, the last, are blocks of others (`gdb.executor.nest.vid_ranges`).
    by_edge : once that was looked for, the stage as a sum over edges, or None (`gdb.executor.nest.by_edge`).
    streamed : on a GPU nothing but the rows of its roots is in page-locked memory; passes, which this describes, copy
        the others from the graph's own arrays (`gdb.executor.gpu.parts`). None of any other stage.
    """

    plan: Plan
    nest: LoopNest
    tables: Tables
    views: Sequence[Adjacency]
    specs: tuple[ViewSpec, ...]
    eids: tuple[I64 | None, ...]
    bit_sets: tuple[npt.NDArray[np.uint8], ...]
    lists: tuple[U32, ...]
    roots: U32
    weights: Weights
    work: int
    vids: int
    restricted: bool
    values: tuple[tuple[I64, I64], ...]
    bounds: I64
    orders: tuple[Ordered, ...] = ()
    idle: dict[str, list[object]] = field(default_factory=lambda: {"cpu": [], "gpu": []})
    units: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    spent: dict[int, float] = field(default_factory=dict)
    runs: dict[object, float] = field(default_factory=dict)
    read: tuple[usage.Sized | None, ...] = ()
    blocks: int = 0
    by_edge: list[ByEdge | None] = field(default_factory=list)
    streamed: object = None

    @property
    def bytes(self) -> int:
        """Bytes that a device holds where it runs this stage with the whole graph."""
        arrays: list[npt.NDArray[np.generic]] = [*self.bit_sets, *self.lists, self.roots]
        for view in {id(v): v for v in self.views}.values():
            arrays += view.arrays
        arrays += {id(some): some for both in self.values for some in both}.values()
        return sum(a.nbytes for a in arrays) + sum(e.nbytes for e in self.eids if e is not None)

    @property
    def kept_bytes(self) -> int:
        """Bytes of memory that this stage keeps besides the graph and its values, waiting workers included."""
        own: list[npt.NDArray[np.generic]] = [*self.bit_sets, *self.lists, self.roots]
        waiting = [getattr(worker, "bytes", 0) for known in self.idle.values() for worker in known]
        return sum(array.nbytes for array in own) + self.weights.nbytes + sum(waiting)

    def leave_graph(self) -> None:
        """Hold the graph no more: from now on what the CPU reads is all that there is."""
        if isinstance(self.views, Views):
            self.views.leave()

    def cut(self, workers: int) -> list[tuple[int, int]]:
        """The work units for so many workers, kept."""
        if workers not in self.units:
            self.units[workers] = units(self.weights, workers)
        return self.units[workers]


def both_ways(plan: Plan) -> Ways:
    """The plan's views and what they are from the other end; for each the number of its other end's."""
    specs, back = list(plan.views), list[int]()
    numbers = {spec: k for k, spec in enumerate(specs)}
    for spec in plan.views:
        other = ViewSpec(spec.types, spec.direction.flipped)
        if other not in numbers:
            numbers[other] = len(specs)
            specs.append(other)
        back.append(numbers[other])
    back += (numbers[ViewSpec(spec.types, spec.direction.flipped)] for spec in specs[len(back) :])
    return tuple(specs), tuple(back)


def numbered_graph(plan: Plan, graph: GraphSource) -> GraphSource:
    """The graph in the numbering that the plan needs."""
    return _numbering(plan)(graph)


def _numbering(plan: Plan) -> Callable[[GraphSource], GraphSource]:
    """`numbered_graph` of a plan, which it does not hold."""
    if not plan.ranked:
        return lambda graph: graph
    types = [view.types for view in plan.views]
    return lambda graph: ranked_graph(graph, types)


def loop_nest(
    plan: Plan, graph: GraphSource, *, windows: bool = False, ways: Ways | None = None
) -> LoopNest:
    """The improved nest of a plan (what EXPLAIN shows). windows : it is for the CPU's kernel, where rows may be read in
    the order of a value, and no loop need be left to be shared by warps. ways : its `both_ways`, where they are known.
    """
    graph = plan.over(graph)
    specs, back = ways or both_ways(plan)
    nest, known = _lowered(plan, graph), None
    if windows and plan.compares:
        known = value_order.orders(plan.compares, specs, back, _ends(specs, graph), graph)
    tail = plan.tail if windows or not plan.without_loops else 0
    return passes.improve(nest, plan.notes.switched_off, back=back, tail=tail, orders=known)


def _lowered(plan: Plan, graph: GraphSource) -> LoopNest:
    of = numbered_graph(plan, graph)
    return lower(plan, lambda view: _last(plan.views[view], of))


def _ends(specs: tuple[ViewSpec, ...], graph: GraphSource) -> tuple[int, ...]:
    """For each view the largest vid that is a neighbour in it, + 1."""
    return tuple(_last(spec, graph) for spec in specs)


def _last(spec: ViewSpec, graph: GraphSource) -> int:
    """The largest vid that is a neighbour in a view, + 1."""
    return _end(graph.adjacency(spec.types, spec.direction.flipped))


def entangled_vertices(plan: Plan, graph: GraphSource) -> frozenset[tuple[int, int]] | None:
    """Pairs of query vertices that have to differ and for which alone the last `plan.tail` vertices cannot
    be counted without loops; None where they cannot for another reason."""
    nest = passes.fuse(_lowered(plan, graph))
    found = counted_tail.entangled_levels(nest, both_ways(plan)[1], plan.tail)
    if found is None:
        return None
    vertex = [x.vertex if isinstance(x, VertexLevel) else -1 for x in nest.levels]
    pairs = {(min(vertex[a], vertex[b]), max(vertex[a], vertex[b])) for a, b in found}
    return frozenset(pairs)


def prepare(plan: Plan, graph: GraphSource, *, windows: bool = False) -> Prepared:
    """Everything that a launch needs, in host memory; partitions stay where they are (mapped
    files). windows : as for `loop_nest`."""
    verify(plan)
    graph = plan.over(graph)
    ways = both_ways(plan)
    nest = loop_nest(plan, graph, windows=windows, ways=ways)
    source, graph = graph, numbered_graph(plan, graph)
    specs = ways[0] if nest.has_trees or nest.has_windows else plan.views
    views = Views(specs, source, _numbering(plan))
    bound = {x.view for x in nest.levels if isinstance(x, EdgeLevel)}
    eids = tuple(
        graph.eids(w.types, w.direction) if i in bound else None for i, w in enumerate(specs)
    )
    roots, weights = roots_of(plan, views)
    members = {
        v: roots if v == plan.order[0] else plan.candidates[v].vids() for v in _scanned(plan)
    }
    sizes = tuple(len(members.get(v, ())) for v in range(plan.vertices))
    tables = encode(nest, plan, views, sizes)
    allowed = {p.edge: p.allowed for p in plan.every if isinstance(p, BindEdge)}
    bit_sets = tuple(
        _edge_bits(allowed[-1 - k], graph.edge_count)
        if k < 0
        else bitset(plan.candidates[k].vids(), graph.vertex_count)
        for k in tables.bit_sets
    )
    lists = tuple(
        members[v]
        if v >= 0
        else value_order.ends(views[-1 - v], _known(eids[-1 - v]), graph.edge_count)
        for v in tables.lists
    )
    sides = tuple((c.left_values, c.right_values) for c in plan.compares)
    for k in tables.views:
        views[k]  # opened while the graph is here
    own = replace(plan, stages={})  # not the one that keeps this, or both would outlive their users
    return Prepared(
        *(own, nest, tables, views, specs, eids, bit_sets, lists, roots, weights),
        *(
            weights.total,
            graph.vertex_count,
            any(_cuts(x) for x in (*nest.levels, *nest.sets, *nest.tail)),
        ),
        sides,
        np.array([(c.least, c.most) for c in plan.compares], np.int64).reshape(-1, 2),
        tuple(
            value_order.order_rows(views[w], _known(eids[w]), sides[n][side])
            for w, n, side in tables.orders
        ),
        read=(*(array for view in views.opened for array in view.arrays), *eids),
    )


def _known(eids: I64 | None) -> I64:
    assert eids is not None
    return eids


def _end(view: Adjacency) -> int:
    """The largest vid that has a row, + 1."""
    return int(view.first[-1]) + int(view.length[-1]) if len(view.first) else 0


def _edge_bits(allowed: I64 | None, size: int) -> npt.NDArray[np.uint8]:
    return bitset(np.zeros(0, np.int64) if allowed is None else allowed, size)


def _scanned(plan: Plan) -> list[int]:
    return [p.vertex for p in plan.every if isinstance(p, Scan)]


def roots_of(plan: Plan, views: Sequence[Adjacency]) -> tuple[U32, Weights]:
    """Candidates of the first vertex that have a row in every view read from it, and their degrees
    there."""
    needed = (replace(plan, optional=()) if plan.optional else plan).order
    if any(plan.candidates[v].count == 0 for v in needed):  # nothing matches: read nothing
        return np.zeros(0, np.uint32), Weights(np.zeros(0, np.int64))
    first = needed[0]
    candidates, reads = plan.candidates[first], _from_shortest(plan, views)
    if candidates.allowed is not None or not reads:
        return roots_among(plan, views, candidates.vids())
    roots, weights = _in_ranges(views[reads[0]], candidates.ranges)
    if len(reads) > 1:
        return _present(views, reads[1:], roots, weights.each)
    return filed(np.ascontiguousarray(roots), CANDIDATES, usage.room()), weights


def _in_ranges(view: Adjacency, ranges: Sequence[tuple[int, int]]) -> tuple[U32, Weights]:
    """The vids of the rows in some ranges, ascending and disjoint, and their degrees."""
    found = [rows for low, high in ranges if len(range(*(rows := view.rows_between(low, high))))]
    if len(found) == 1:
        ((begin, end),) = found
        return view.vids(begin, end), Weights.of_rows(view.offsets[begin : end + 1])
    roots, each = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)]
    for begin, end in found:
        roots.append(view.vids(begin, end))
        each.append(np.diff(view.offsets[begin : end + 1]) + 1)
    return np.concatenate(roots), Weights(np.concatenate(each))


def roots_among(plan: Plan, views: Sequence[Adjacency], roots: U32) -> tuple[U32, Weights]:
    """Those of some vids, u32[r] ascending, and their degrees."""
    return _present(views, _from_shortest(plan, views), roots, np.ones(roots.shape, np.int64))


def _present(
    views: Sequence[Adjacency], reads: Sequence[int], roots: U32, weights: I64
) -> tuple[U32, Weights]:
    """Those of some vids that have rows in views, with their degrees there added to the weights."""
    for w in reads:
        places, degrees = views[w].present(roots)
        roots, weights = roots[places], weights[places] + degrees
    room = usage.room()
    roots = np.ascontiguousarray(roots)
    return filed(roots, CANDIDATES, room), Weights(filed(weights, CANDIDATES, room))


def _from_shortest(plan: Plan, views: Sequence[Adjacency]) -> list[int]:
    """The views read from the first vertex, the shortest first: what has no row there is not looked up in others."""
    return sorted(views_from(plan, plan.order[0]), key=lambda w: (views[w].rows, w))


def views_from(plan: Plan, vertex: int) -> set[int]:
    """The views that phases read from a query vertex."""
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


def _cuts(part: Level | SetOp | Node) -> bool:
    match part:
        case VertexLevel(cut=cut) | SetOp(cut=cut):
            return bool(cut.below or cut.above)
        case Node(order=order):
            return order is not Order.NONE
        case _:
            return False


def stage(
    plan: Plan, graph: GraphSource, bindings: Bindings | None = None, *, windows: bool = False
) -> Prepared:
    """The plan's stage, prepared once for each plan and graph and kept as long as the plan; with other
    candidates where they are given. windows : as for `loop_nest`."""
    graph = plan.over(graph)
    key = id(graph), windows and (plan.has_compares or plan.without_loops)
    known = plan.stages.get(key)
    if known is None or known[0] is not graph:
        known = plan.stages[key] = (graph, usage.unread(prepare)(plan, graph, windows=windows))
    prepared = known[1]
    assert isinstance(prepared, Prepared)
    usage.read_all(prepared.read)
    return prepared if bindings is None else bindings.stage(prepared, graph)


def needs_no_roots(plan: Plan, memory: int | None, *, shared: bool = False) -> bool:
    """Whether a plan on the CPU may be without the loop whose roots are shared: by the processes of a cluster
    (`shared`), or by the passes in which a graph is gone over that does not fit a budget (`memory`, bytes)."""
    return not plan.without_loops or (memory is None and not shared)


def between(prepared: Prepared, start: int, end: int) -> Prepared:
    """The part of a stage whose roots are those from one place to another."""
    if (start, end) == (0, len(prepared.roots)):
        return prepared
    return of_roots(prepared, slice(start, end))


def of_roots(prepared: Prepared, which: slice | I64 | npt.NDArray[np.bool_]) -> Prepared:
    """The part of a stage that has some of its roots, by their places, or a mark for each."""
    roots, weights = prepared.roots[which], prepared.weights.part(which)
    return replace(
        prepared,
        roots=roots,
        weights=weights,
        work=weights.total,
        lists=tuple(roots if one is prepared.roots else one for one in prepared.lists),
        idle={"cpu": prepared.idle["cpu"], "gpu": []},
        units={},
        by_edge=[],
    )

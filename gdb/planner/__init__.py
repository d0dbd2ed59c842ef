"""The planner: a query graph in, a plan out, through the passes named in `PASSES`.

Each pass may be switched off by name (`plan(..., switched_off={"symmetry"})`); the answer stays the
same. The nest passes of `gdb.executor.nest_passes` take part in the same list.
"""

from __future__ import annotations

from gdb.errors import LimitExceeded
from gdb.executor import nest_passes
from gdb.executor.plan import Notes, Plan, Twin, verify
from gdb.planner import cost
from gdb.planner.decompose import Decomposition, decompose
from gdb.planner.distinct import conditions, surely_different, with_twins_bound
from gdb.planner.order import components, independent_last, matching_order, written_order
from gdb.planner.phases import build
from gdb.planner.resolve import PlannerSource, Resolved, resolve
from gdb.planner.symmetry import MAX_TWINS, Symmetry, break_symmetry, parallel_twins, twins
from gdb.query_graph import QueryGraph

PASSES = ("decompose", "order", "symmetry", "patterns", *nest_passes.PASSES)


def plan(
    graph: QueryGraph,
    source: PlannerSource,
    *,
    counting: bool,
    switched_off: frozenset[str] = frozenset(),
) -> Plan:
    """The plan of a query graph over a snapshot.

    Parameters
    ----------
    counting : only the number of embeddings is wanted.
    switched_off : names from `PASSES` to leave out. SUBGRAPHS needs its restrictions, so there
        "symmetry" stays on.

    Raises
    ------
    LimitExceeded : SUBGRAPHS of a pattern whose automorphisms take too long to find.
    """
    query = resolve(graph, source)
    parts = decompose(query)
    if "decompose" in switched_off:
        everything = frozenset(range(len(query.candidates)))
        parts = Decomposition(everything, frozenset(), frozenset(), frozenset())
    order = written_order(query) if "order" in switched_off else matching_order(query, parts)
    if counting and not graph.mode.induced and not {"order", "formulas"} & switched_off:
        order = independent_last(query, order)
    parallel = parallel_twins(query) if graph.mode.distinct else {}
    broken, copies = _symmetry(query, order, counting, switched_off)
    phases, views = build(
        query,
        order,
        parts,
        with_twins_bound(conditions(query, parallel), copies),
        parallel,
        broken.restrictions,
        patterns="patterns" not in switched_off,
    )
    notes = Notes(
        core=tuple(sorted(parts.core)),
        forest=tuple(sorted(parts.forest)),
        leaves=tuple(sorted(parts.leaves)),
        components=components(query),
        automorphisms=broken.multiplicity,
        restrictions=broken.restrictions,
        estimates=cost.estimates(query, order),
        warnings=_warnings(query),
        switched_off=switched_off,
    )
    names = tuple(v.name or f"_{k}" for k, v in enumerate(graph.vertices))
    multiplicity = broken.multiplicity if counting and not graph.mode.distinct else 1
    return verify(
        Plan(
            len(graph.vertices),
            len(graph.edges),
            views,
            query.candidates,
            phases,
            multiplicity,
            copies,
            counting,
            names,
            notes,
        )
    )


def _symmetry(
    query: Resolved, order: tuple[int, ...], counting: bool, switched_off: frozenset[str]
) -> tuple[Symmetry, tuple[Twin, ...]]:
    """The restrictions, and for rows the twins that they leave out. Too many twins: rather no
    restrictions."""
    distinct = query.graph.mode.distinct
    if "symmetry" in switched_off and not distinct:
        return Symmetry(), ()
    try:
        broken = break_symmetry(query, order, lambda u, v: surely_different(query, u, v))
        if distinct or counting:
            return broken, ()
        if broken.multiplicity > MAX_TWINS:
            return Symmetry(), ()
        return broken, twins(query, broken)
    except LimitExceeded:
        if distinct:
            raise
        return Symmetry(), ()


def _warnings(query: Resolved) -> tuple[str, ...]:
    parts = components(query)
    if parts < 2:
        return ()
    return (f"the pattern has {parts} unconnected parts: a cross product",)

"""The planner: a query graph in, a plan out, through the passes named in `PASSES`.

Each pass may be switched off by name (`plan(..., switched_off={"symmetry"})`); the answer stays the
same. The nest passes of `gdb.executor.nest.passes` take part in the same list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gdb.base import usage
from gdb.base.machine.cores import cores
from gdb.errors import LimitExceeded
from gdb.executor.nest import passes
from gdb.executor.plan.plan import Eliminate, Extend, Notes, Plan, Scan, Twin
from gdb.executor.plan.valid_plans import verify
from gdb.imports import deferred
from gdb.language.hidden_names import is_hidden
from gdb.planner import cost
from gdb.planner.decompose import Decomposition, decompose
from gdb.planner.distinct import (
    ModeConditions,
    conditions,
    may_repeat,
    surely_different,
    with_twins_bound,
)
from gdb.planner.optional import with_optional
from gdb.planner.order import (
    components,
    independent_last,
    matching_order,
    spine_order,
    written_order,
)
from gdb.planner.phases import build
from gdb.planner.problem import Problem, conditions_of, problem_of
from gdb.planner.resolved_graph import PlannerSource, Resolved, resolve
from gdb.planner.structure import (
    EFFORT,
    LONGER_FROM,
    SURE_FOREST,
    Effort,
    by_structure,
    forest,
    is_forest,
)
from gdb.planner.symmetry import MAX_TWINS, Symmetry, break_symmetry, parallel_twins, twins
from gdb.query_graph import QueryGraph
from gdb.records import replace
from gdb.storage.graph.degree_order import ranked_graph

if TYPE_CHECKING:
    from gdb.planner import equal_values, sampled_order
    from gdb.planner.extended_graph import ExtendedGraph
    from gdb.planner.sampled_order import Sampled
else:
    sampled_order = deferred("gdb.planner.sampled_order")
    equal_values = deferred("gdb.planner.equal_values")

PASSES = (
    "equalities",
    "decompose",
    "order",
    "statistics",
    "symmetry",
    "orientation",
    "patterns",
    "implied",
    "structure",
    "forests",
    "differences",
    "coincidences",
    *passes.PASSES,
)

LEAST_SAMPLED = 9  # vertices; smaller patterns are planned by degrees (`gdb.planner.moments`)
MOST_RANKED_BYTES = 256 << 20  # of neighbours renumbered; above, the lists stay as they are
_WITHOUT_DIFFERENCES = {"differences", "branches", "fuse", "count_last", "formulas", "trees"}
_WITHOUT_COINCIDENCES = {"coincidences", "order", "count_last", "formulas", "each_edge"}
_WITHOUT_FORESTS = {"forests", "order", "fuse", "count_last", "formulas", "trees"}
_WITHOUT_STRUCTURE = {"structure", "order", "symmetry", "fuse", "count_last", "formulas", "trees"}


@usage.unread
def plan(
    graph: QueryGraph,
    source: PlannerSource,
    *,
    counting: bool,
    switched_off: frozenset[str] = frozenset(),
    effort: Effort = EFFORT,
    few: bool = False,
    root: int | None = None,
) -> Plan:
    """The plan of a query graph over a snapshot.

    Parameters
    ----------
    counting : only the number of embeddings is wanted.
    effort : from when on, and how long, better ways to count are looked for.
    few : only some rows are wanted, so matching begins where embeddings are dense.
    root : with `counting`, the number of embeddings is wanted for each data vertex of this query vertex, which
        becomes the first loop; without, whether there is any. It has no optional parts.
    switched_off : names from `PASSES` to leave out. SUBGRAPHS needs its restrictions, so there
        "symmetry" stays on.

    Raises
    ------
    LimitExceeded : SUBGRAPHS of a pattern whose automorphisms take too long to find.
    """
    query = resolve(graph, source)
    if graph.compared and "equalities" not in switched_off:
        counts = [some.count for some in query.candidates]
        joined = equal_values.joined_by_values(graph, source, counts)
        if joined is not None:
            off = switched_off | {"equalities", "orientation"}
            made = plan(
                *joined, counting=counting, switched_off=off, effort=effort, few=few, root=root
            )
            return _extended(made, joined[1], switched_off)
    parts = decompose(query)
    if "decompose" in switched_off:
        everything = frozenset(range(len(query.candidates)))
        parts = Decomposition(everything, frozenset(), frozenset(), frozenset())
    parallel = parallel_twins(query) if graph.mode.distinct else {}
    held = conditions(query, parallel)
    tails = counting and not graph.mode.induced and not {"order", "formulas"} & switched_off
    sampled = None
    if _is_large(query) and not {"order", "statistics"} & switched_off:
        sampled = sampled_order.sampled_order(
            query,
            parts,
            held.vertices,
            counting=counting,
            tails=tails,
            few=few,
            root=root,
            effort=effort,
        )
    if sampled is not None:
        order = sampled.order
    elif root is not None or "order" not in switched_off:
        order = matching_order(query, parts, root)
    else:
        order = written_order(query)
    if tails and sampled is None:
        order = independent_last(query, order, root)
    # what maps the pattern onto itself need not map an optional part onto itself
    broken, copies = Symmetry(), tuple[Twin, ...]()
    if not graph.optional:
        broken, copies = _symmetry(query, order, counting, switched_off, few, root)
    by_degree = counting and "orientation" not in switched_off
    matched, expected = query, None
    if root is not None and not counting and sampled is None and "statistics" not in switched_off:
        # here: few patterns are tested for existence
        from gdb.planner.arc_consistency import semi_joined

        matched = semi_joined(query, held, order)
    if sampled is not None:
        expected = sampled.estimates
        if not by_degree or not _gains_by_rank(query, broken):
            matched = replace(query, candidates=sampled.candidates)
    found = _assembled(
        matched,
        order,
        parts,
        with_twins_bound(held, copies),
        broken,
        switched_off,
        parallel,
        counting=counting,
        expected=expected,
        tail=0 if sampled is None else sampled.tail,
    )
    multiplicity = broken.multiplicity if counting and not graph.mode.distinct else 1
    found = verify(replace(found, multiplicity=multiplicity, twins=copies))
    too_many = False
    if sampled is not None:
        too_many = sampled.too_many and not graph.mode.distinct and _is_plain(found)
        notes = replace(found.notes, steps=sampled.steps, too_many=too_many, cut=sampled.cut)
        found = replace(found, notes=notes)
    if graph.optional:
        return with_optional(found, graph, source, ordered="order" not in switched_off)

    def make(graph: QueryGraph, root: int | None) -> Plan:
        return plan(
            graph, source, counting=True, switched_off=switched_off, effort=effort, root=root
        )

    def coinciding(first: Plan) -> Plan:
        if not (held.edges or held.apart) or _WITHOUT_COINCIDENCES & switched_off:
            return first
        from gdb.planner.coincidences import by_coincidences  # here: few patterns need it

        return by_coincidences(first, query, held, source, make, effort, root)

    if root is not None:
        found = replace(found, ranked=False)  # its vertices are shown
        if counting:
            found = coinciding(found)
        if counting and found.vertices == 1:
            # what is counted without a loop is counted for no vertex
            off = found.notes.switched_off | {"count_last"}
            found = replace(found, notes=replace(found.notes, switched_off=off), stages={})
        return found

    def arrange(problem: Problem, order: tuple[int, ...], broken: Symmetry, tail: int) -> Plan:
        conditions = conditions_of(problem.apart)
        parts = decompose(problem.query)
        return _assembled(
            problem.query,
            order,
            parts,
            conditions,
            broken,
            switched_off,
            {},
            counting=True,
            tail=tail,
        )

    whole = None
    forests = tails and not too_many and not graph.mode.distinct
    if forests and not _WITHOUT_FORESTS & switched_off and is_forest(query, held):
        free, spine = found, spine_order(query, parts, order)
        if (
            broken.restrictions or spine != order
        ):  # restrictions would join vertices that no edge does
            free = arrange(Problem(query, frozenset()), spine, Symmetry(), 0)
        whole = forest(free, source)
        if whole is not None and (whole.notes.steps or 0.0) <= SURE_FOREST:
            return whole
    if sampled is not None:
        if not (sampled.samples is None or _WITHOUT_DIFFERENCES & switched_off or too_many):
            found = _with_terms(found, query, sampled, broken, arrange, effort)
        if found.notes.cut and (found.notes.steps or 0.0) < LONGER_FROM:
            found = replace(found, notes=replace(found.notes, cut=False))
    elif counting and not _WITHOUT_STRUCTURE & switched_off:
        found = by_structure(
            found,
            lambda: problem_of(query, conditions(query, {})),
            source,
            arrange,
            effort,
            hubs_first="orientation" not in switched_off,
            divisor=broken.multiplicity if graph.mode.distinct else 1,
        )
    if counting and not _WITHOUT_STRUCTURE & switched_off and not too_many:
        found = coinciding(found)
    if whole is not None and (found.notes.steps or 0.0) > cores() * (whole.notes.steps or 0.0):
        return whole
    return found


def _extended(made: Plan, graph: ExtendedGraph, switched_off: frozenset[str]) -> Plan:
    """A plan, and its terms, that runs over more than the graph that is given."""
    terms = tuple((factor, _extended(term, graph, switched_off)) for factor, term in made.terms)
    notes = replace(made.notes, switched_off=switched_off)
    return replace(made, extended=graph, further=graph.further, terms=terms, notes=notes)


def _with_terms(
    plan_before: Plan,
    query: Resolved,
    sampled: Sampled,
    broken: Symmetry,
    arrange: Callable[[Problem, tuple[int, ...], Symmetry, int], Plan],
    effort: Effort,
) -> Plan:
    """The plan without conditions that make it dearer than what they leave out."""
    problem = problem_of(query, conditions(query, {}))
    if problem is None or sampled.samples is None:
        return plan_before
    from gdb.planner.differences import terms  # compiles kernels

    order = frozenset(broken.restrictions)
    apart = problem.apart - {(min(p), max(p)) for p in order}
    smaller = replace(problem, apart=apart, order=order)
    known, cut = terms(smaller, sampled.samples, plan_before.order, effort)
    cut = cut or sampled.cut
    if known is None:
        return replace(plan_before, notes=replace(plan_before.notes, cut=cut))
    steps, all_terms = known
    plans = []
    for term in all_terms:
        restrictions = replace(broken, restrictions=tuple(sorted(term.problem.order)))
        plan = arrange(term.problem, term.order, restrictions, term.tail)
        notes = replace(plan.notes, steps=term.steps)
        plan = replace(plan, multiplicity=plan_before.multiplicity, ranked=False, notes=notes)
        plans.append((term.factor, plan))
    plan = plans[0][1]
    notes = replace(plan.notes, steps=steps, estimates=sampled.estimates, cut=cut)
    return verify(replace(plan, notes=notes, terms=tuple(plans[1:])))


def _is_large(query: Resolved) -> bool:
    """Whether the order of a pattern is found by samples (`sampled_order`), not by degrees."""
    return len(query.candidates) >= LEAST_SAMPLED


def _is_plain(plan: Plan) -> bool:
    """Whether embeddings are what edges, candidates and differing vertices say: nothing else leaves any out."""
    return all(isinstance(phase, Scan | Extend | Eliminate) for phase in plan.phases)


@usage.unread
def estimates(graph: QueryGraph, source: PlannerSource) -> tuple[float, ...]:
    """Expected number of partial embeddings after each vertex of the plan that lists them: what its notes say, without
    the plan."""
    query = resolve(graph, source)
    parts = decompose(query)
    held = conditions(query, {}).vertices
    sampled = None
    if _is_large(query):
        sampled = sampled_order.sampled_order(
            query, parts, held, counting=False, tails=False, few=False
        )
    if sampled is not None:
        return sampled.estimates
    return cost.estimates(query, matching_order(query, parts))


def _assembled(
    query: Resolved,
    order: tuple[int, ...],
    parts: Decomposition,
    found: ModeConditions,
    broken: Symmetry,
    switched_off: frozenset[str],
    parallel: dict[int, int],
    *,
    counting: bool,
    tail: int = 0,
    expected: tuple[float, ...] | None = None,
) -> Plan:
    """The plan of a matching order. expected : partial embeddings after each vertex, where they were sampled."""
    phases, views = build(
        query,
        order,
        parts,
        found,
        parallel,
        broken.restrictions,
        patterns="patterns" not in switched_off,
        implied="implied" not in switched_off,
    )
    pieces = components(query)
    notes = Notes(
        core=tuple(sorted(parts.core)),
        forest=tuple(sorted(parts.forest)),
        leaves=tuple(sorted(parts.leaves)),
        components=pieces,
        automorphisms=broken.multiplicity,
        restrictions=broken.restrictions,
        estimates=cost.estimates(query, order) if expected is None else expected,
        warnings=_warnings(pieces),
        switched_off=switched_off,
        several=may_repeat(query),
    )
    plan = Plan(
        len(query.candidates),
        len(query.edges),
        views,
        query.candidates,
        phases,
        multiplicity=broken.multiplicity,
        counting=counting,
        names=tuple(_shown(v.name, k) for k, v in enumerate(query.graph.vertices)),
        notes=notes,
        tail=tail,
    )
    by_degree = counting and "orientation" not in switched_off
    by_degree = by_degree and not plan.bound_edges and not plan.compares
    return verify(replace(plan, ranked=by_degree and _gains_by_rank(query, broken)))


def _shown(name: str | None, vertex: int) -> str:
    """A query vertex as EXPLAIN shows it."""
    return f"_{vertex}" if not name or is_hidden(name) else name


def _gains_by_rank(query: Resolved, broken: Symmetry) -> bool:
    """Whether every vertex of the graph may be matched by every query vertex, restrictions compare them,
    and their vids do not lie by degree."""
    everyone = ((0, query.source.vertex_count),)
    free = all(c.allowed is None and c.ranges == everyone for c in query.candidates)
    if not (free and broken.restrictions):
        return False
    views = {e.spec(v) for e in query.edges for v in (e.source, e.target)}
    size = 4 * sum(query.shape(spec).edges for spec in views)
    if size > MOST_RANKED_BYTES:
        return False
    return not ranked_graph(query.source, (spec.types for spec in views)).ordered


def _symmetry(
    query: Resolved,
    order: tuple[int, ...],
    counting: bool,
    switched_off: frozenset[str],
    few: bool,
    root: int | None,
) -> tuple[Symmetry, tuple[Twin, ...]]:
    """The restrictions, and for rows the twins that they leave out. Too many twins: rather no
    restrictions."""
    distinct = query.graph.mode.distinct
    if "symmetry" in switched_off and not distinct:
        return Symmetry(), ()
    try:
        broken = break_symmetry(
            query,
            order,
            lambda u, v: surely_different(query, u, v),
            hubs_first="orientation" not in switched_off and (few or not query.is_clique),
            fixed=() if root is None else (root,),
        )
        if distinct or counting:
            return broken, ()
        if broken.multiplicity > MAX_TWINS:
            return Symmetry(), ()
        return broken, twins(query, broken)
    except LimitExceeded:
        if distinct:
            raise
        return Symmetry(), ()


def _warnings(pieces: int) -> tuple[str, ...]:
    if pieces < 2:
        return ()
    return (f"the pattern has {pieces} unconnected parts: a cross product",)

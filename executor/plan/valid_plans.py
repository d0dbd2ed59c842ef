"""The verifier of plans: the table that says what a valid plan is."""

from __future__ import annotations

from gdb.errors import InternalError
from gdb.records import dataclass, field

from .plan import (
    Apart,
    Between,
    BindEdge,
    Compare,
    Eliminate,
    Extend,
    OptionalPart,
    Phase,
    Plan,
    Scan,
)


def _flow(phase: Phase) -> tuple[set[int], set[int]]:
    """Vertices that a phase reads from before it, and those that it binds."""
    match phase:
        case Scan(vertex=v, rules=r):
            return set(r.reads()), {v}
        case Extend(steps=steps):
            binds = {s.vertex for s in steps}
            reads = {s.source for s in steps}
            earlier: set[int] = set()
            for s in steps:
                reads |= s.rules.reads() - earlier
                earlier.add(s.vertex)
            return reads, binds
        case Eliminate(arcs=arcs):
            return {u for a in arcs for u in (a.source, a.target)}, set()
        case BindEdge(source=s, target=t) | Between(source=s, target=t):
            return {s, t}, set()
        case Apart(a=a, b=b, c=c, d=d):
            return {a, b, c, d}, set()
        case Compare():
            return phase.vertices, set()


def verify(plan: Plan) -> Plan:
    """Return the plan, or raise InternalError unless every phase reads only what is bound and
    everything is bound once.

    Runs between planner passes, so that a bad pass fails at the pass.
    """
    if plan.terms and not plan.counting:
        raise _invalid(plan, "rows cannot be corrected by terms")
    for _, term in plan.terms:
        verify(term)
    if plan.optional and not plan.counting:
        raise _invalid(plan, "rows have optional parts")
    found = _Bound()
    _verify_part(plan, OptionalPart(plan.phases, plan.optional), found)
    if found.vertices != set(range(plan.vertices)):
        raise _invalid(plan, "not every query vertex is bound")
    if found.matched != set(range(plan.edges)):
        raise _invalid(plan, "not every query edge is matched")
    return plan


@dataclass(slots=True)
class _Bound:
    """What some phases bind, and the query edges that they match."""

    vertices: set[int] = field(default_factory=set)
    edges: set[int] = field(default_factory=set)
    matched: set[int] = field(default_factory=set)


def _verify_part(plan: Plan, part: OptionalPart, bound: _Bound) -> None:
    """Verify phases under what is bound around them, and add what they bind; no part sees what another beside it
    binds."""
    for phase in part.phases:
        _verify_phase(plan, phase, bound)
    around = _Bound({*bound.vertices}, {*bound.edges}, {*bound.matched})
    for inner in part.parts:
        own = _Bound({*around.vertices}, {*around.edges}, {*around.matched})
        _verify_part(plan, inner, own)
        binds = own.vertices - around.vertices
        if not binds or binds & bound.vertices:
            raise _invalid(plan, f"an optional part binds {sorted(binds)}")
        bound.vertices |= own.vertices
        bound.edges |= own.edges
        bound.matched |= own.matched


def _verify_phase(plan: Plan, phase: Phase, bound: _Bound) -> None:
    reads, binds = _flow(phase)
    if not reads <= bound.vertices:
        raise _invalid(plan, f"{phase} reads unbound vertices {sorted(reads - bound.vertices)}")
    if binds & bound.vertices:
        raise _invalid(plan, f"{phase} binds {sorted(binds & bound.vertices)} twice")
    bound.vertices |= binds
    match phase:
        case Extend(pattern=p, steps=steps):
            if not 0 <= p <= 7:
                raise _invalid(plan, f"{phase} has matching pattern {p}")
            if not len(binds) == len(steps) > 0:
                raise _invalid(plan, f"{phase} binds twice")
            bound.matched |= {s.edge for s in steps}
        case Eliminate(arcs=arcs):
            bound.matched |= {a.edge for a in arcs}
        case BindEdge(edge=e, differs=d, above=a):
            if e in bound.edges:
                raise _invalid(plan, f"{phase} binds edge {e} twice")
            if not {*d, *a} <= bound.edges:
                raise _invalid(plan, f"{phase} reads unbound edges")
            bound.edges.add(e)
            bound.matched.add(e)
        case Compare():
            if not phase.edges <= bound.edges:
                raise _invalid(plan, f"{phase} reads unbound edges")
        case _:
            pass


def _invalid(plan: Plan, what: str) -> InternalError:
    return InternalError(
        f"The planner made an invalid plan: {what}. Plan: {plan.phases}", "Please report it."
    )

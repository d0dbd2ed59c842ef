"""Counts of one relationship: a nest that only adds up the lengths of its roots' rows counts the elements of these,
whose number is known when it is prepared."""

from __future__ import annotations

from .demands import Demand, chain
from .nest import VertexLevel
from .prepare import Prepared, views_from


def sum_of_degrees(prepared: Prepared) -> int | None:
    """What a counting nest counts, where that is the sum of its roots' degrees in one view; None where it is not.

    for a in candidates(a): n += |N(a)|
    """
    nest, plan = prepared.nest, prepared.plan
    if len(nest.levels) != 2 or plan.optional or nest.parts or prepared.blocks:
        return None
    first, second = nest.levels
    found = None if "degrees" in plan.notes.switched_off else chain(nest)
    if found is None or not isinstance(first, VertexLevel) or first.checks or first.cut.bits >= 0:
        return None
    if len(found.ends) != 1 or found.path or not isinstance(second, VertexLevel):
        return None
    (end,), views = found.ends, views_from(plan, plan.order[0])
    if len(views) != 1 or end.lo > 0 or end.hi < prepared.vids:
        return None
    (view,) = views
    if end != Demand(frozenset({(view, 0)}), lo=end.lo, hi=end.hi):  # it demands something else
        return None
    if not (prepared.views[view].simple or second.each):
        return None
    return prepared.work - len(prepared.roots)  # each root weighs one more than its degree

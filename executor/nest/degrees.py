"""Counts of one relationship: a nest that only adds up the lengths of its roots' rows counts the elements of these,
whose number is known when it is prepared."""

from __future__ import annotations

from .nest import Formula, Kind, Slice, VertexLevel
from .prepare import Prepared


def sum_of_degrees(prepared: Prepared) -> int | None:
    """What a counting nest counts, where that is the sum of its roots' degrees in one view; None where it is not.

    for a in candidates(a): n += |N(a)|
    """
    nest, plan = prepared.nest, prepared.plan
    if not nest.counting or nest.loops != 1 or len(nest.levels) != 2 or len(nest.tail) != 1:
        return None
    first, level = nest.levels
    (node,) = nest.tail
    if plan.optional or nest.parts or nest.around or "degrees" in plan.notes.switched_off:
        return None
    if not isinstance(first, VertexLevel) or not isinstance(level, VertexLevel):
        return None
    if (
        first.checks
        or first.cut.bits >= 0
        or level.checks
        or level.differs
        or level.anti
        or level.sources
    ):
        return None
    if node.levels != (1,) or node.parent >= 0 or node.free or node.formula is not Formula.POWER:
        return None
    if (
        level.base.kind is not Kind.ROW
        or level.base.b != 0
        or not _is_whole(level.cut, prepared.vids)
    ):
        return None
    # each root weighs one more than its degrees in all views that are read from it
    views = {step.view for phase in plan.phases for step in getattr(phase, "steps", ())}
    view = prepared.views[level.base.a]
    if views != {level.base.a} or prepared.blocks or not (view.simple or level.each):
        return None
    return prepared.work - len(prepared.roots)


def _is_whole(cut: Slice, vids: int) -> bool:
    """Whether a slice leaves nothing of a row out."""
    return cut.lo <= 0 and cut.hi >= vids and cut.bits < 0 and not cut.below and not cut.above

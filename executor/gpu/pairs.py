"""Matching patterns where rows are written: whether the last two loops of a nest may run as one, over pairs
(`kernels/pairs.cuh`; geneva-tpds §5.2 to §5.4)."""

from __future__ import annotations

from gdb.records import replace

from ..nest.nest import Kind, LoopNest, Operand, VertexLevel
from ..nest.prepare import Prepared
from .layout import Pairs


def find(prepared: Prepared) -> Pairs:
    """How the last two loops may run as one; nothing where they may not: the second list depends on the first vertex
    by more than their order, or matching patterns are switched off."""
    nest = prepared.nest
    if nest.counting or len(nest.levels) < 3 or "patterns" in prepared.plan.notes.switched_off:
        return Pairs(0)
    first, second = nest.levels[-2:]
    if not isinstance(first, VertexLevel) or not isinstance(second, VertexLevel):
        return Pairs(0)
    k = len(nest.levels) - 2
    # the planner puts the later vertex above the earlier one
    if k in second.cut.below or second.checks:
        return Pairs(0)
    if second.base == Operand(Kind.ROW, second.base.a, k) or any(s.depth == k for s in nest.sets):
        return Pairs(0)
    found = Pairs.TOGETHER
    if k in second.cut.above:
        found |= Pairs.ABOVE
    if Pairs.ABOVE in found and _same_list(prepared, nest, first, second):
        found |= Pairs.SAME
    return found


def _same_list(prepared: Prepared, nest: LoopNest, first: VertexLevel, second: VertexLevel) -> bool:
    """Whether both loop over one list without duplicates, but for their order."""
    k = len(nest.levels) - 2
    cut = replace(second.cut, above=tuple(x for x in second.cut.above if x != k))
    simple = first.base.kind is not Kind.ROW or prepared.views[first.base.a].simple
    return first.base == second.base and first.cut == cut and simple

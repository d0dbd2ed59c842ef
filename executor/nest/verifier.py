"""The verifier of nests: invariants that hold for every nest, checked between the passes."""

from __future__ import annotations

from gdb.errors import InternalError

from .nest import UNBOUNDED, Kind, LoopNest, VertexLevel
from .optional_parts import are_whole, first_loops


def verify(nest: LoopNest) -> LoopNest:
    """Return the nest, or raise InternalError unless every set and level that is read is there
    before it is read."""

    if nest.around:
        _verify_branches(nest)
    ready: dict[int, int] = {}
    for k, op in enumerate(nest.sets):
        if op.slot != k:
            raise _invalid(nest, f"set {k} is stored in slot {op.slot}")
        for operand in (op.left, op.right):
            if operand.kind is Kind.ROW and not 0 <= operand.b <= op.depth:
                raise _invalid(nest, f"set {k} reads level {operand.b} at {op.depth}")
            if operand.kind is Kind.SET and ready.get(operand.a, UNBOUNDED) > op.depth:
                raise _invalid(nest, f"set {k} reads set {operand.a} before it is computed")
        if any(b > op.depth for b in (*op.cut.below, *op.cut.above)):
            raise _invalid(nest, f"set {k} is cut by a later level")
        ready[k] = op.depth
    for k, level in enumerate(nest.levels):
        late = {r for r in level.reads() if r > k}
        if late:
            raise _invalid(nest, f"level {k} reads later levels {sorted(late)}")
        if isinstance(level, VertexLevel) and level.apart:
            raise _invalid(
                nest, f"the edges of level {k} are to differ, and are not counted together"
            )
        base = level.base if isinstance(level, VertexLevel) else None
        if base is not None and base.kind is Kind.SET and ready.get(base.a, UNBOUNDED) >= k:
            raise _invalid(nest, f"level {k} loops over set {base.a} before it is computed")
    loops = nest.loops
    if any(op.depth >= loops for op in nest.sets):
        raise _invalid(nest, "a set depends on a counted level")
    counted = sorted(k for n in nest.tail for k in n.levels)
    if counted != list(range(loops, len(nest.levels))):
        raise _invalid(nest, "the tail is not the last levels")
    if nest.parts and not are_whole(nest):
        raise _invalid(nest, "an optional part is no loop and no tree")
    for k, node in enumerate(nest.tail):
        if not (node.parent == -1 or node.parent > k):
            raise _invalid(nest, f"tail node {k} comes after its parent")
    return nest


def _verify_branches(nest: LoopNest) -> None:
    if len(nest.around) != nest.loops or not nest.counting:
        raise _invalid(nest, "not every loop has a place")
    if any(up >= k or (k > 0 and up < 0) for k, up in enumerate(nest.around)):
        raise _invalid(nest, "a loop is not in one before it")
    for k, node in enumerate(nest.tail):
        if not 0 <= node.inside < nest.loops:
            raise _invalid(nest, f"tail node {k} is in no loop")
        if node.parent >= 0 and nest.tail[node.parent].inside != node.inside:
            raise _invalid(nest, f"tail node {k} is in another loop than its parent")
    paths = nest.paths
    for k, up in enumerate(nest.around[1:], 1):
        if up not in paths[k - 1]:
            raise _invalid(nest, f"loop {k} in loop {up} is not in preorder")
    for number, first in first_loops(nest).items():
        own = [k for k, level in enumerate(nest.levels) if level.part == number]
        if not all(first in paths[k] for k in own):
            raise _invalid(nest, f"part {number} is not all in loop {first}")
    for k, level in enumerate(nest.levels):
        astray = level.reads() - paths[k]
        if astray:
            raise _invalid(nest, f"level {k} reads {sorted(astray)}, which are not around it")


def _invalid(nest: LoopNest, what: str) -> InternalError:
    return InternalError(f"A pass made an invalid nest: {what}. Nest: {nest}", "Please report it.")

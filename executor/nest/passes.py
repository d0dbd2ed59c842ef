"""Passes over the loop nest, each a function from nest to nest; any but `materialise` may be left
out.

Code motion and sharing of set operations follow the thesis (§1.5, §1.7: lift what does not depend
on the inner loop), counting of the last levels GraphPi and the thesis ch. 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.records import replace

from .branches import branch
from .counted_tail import grow
from .interface_caches import cache
from .nest import (
    EdgeLevel,
    Kind,
    Level,
    LoopNest,
    Member,
    Op,
    Operand,
    SetOp,
    VertexLevel,
)
from .optional_parts import is_optional
from .verifier import verify

if TYPE_CHECKING:
    from .windows import Orders


def fuse(nest: LoopNest) -> LoopNest:
    """Eliminations of a level become sources of its candidate set: intersect instead of test
    (worst-case optimal join).

    before: for c in N(b): if c in N(a): ...        after: for c in N(b) & N(a): ...
    """
    if not any(level.checks for level in nest.levels):
        return nest
    return replace(nest, levels=tuple(_fused(k, level) for k, level in enumerate(nest.levels)))


def _fused(k: int, level: Level) -> Level:
    if isinstance(level, EdgeLevel) or level.base.kind in (Kind.LIST, Kind.END):
        return level
    sources, anti, checks = list(level.sources), list(level.anti), []
    for check in level.checks:
        ordinary = isinstance(check, Member) and check.target == k and check.source < k
        if ordinary and isinstance(check, Member) and check.least == 1 and check.most > 1 << 60:
            sources.append(Operand(Kind.ROW, check.view, check.source))
        elif ordinary and isinstance(check, Member) and check.most == 0:
            anti.append(Operand(Kind.ROW, check.view, check.source))
        else:
            checks.append(check)
    return replace(level, sources=tuple(sources), anti=tuple(anti), checks=tuple(checks))


def materialise(nest: LoopNest, *, early: bool = True) -> LoopNest:
    """Turn sources into set operations; with `early` (code motion) each runs at the first level
    that has its operands and equal ones are computed once.

    before: for c in N(a): for d in N(a) & N(b) & N(c)     after: s0 = N(a) & N(b); for c in N(a):
    s1 = s0 & N(c)
    """
    if not any(isinstance(x, VertexLevel) and (x.sources or x.anti) for x in nest.levels):
        return nest
    made: list[SetOp] = []
    levels = tuple(
        _materialised(nest, k, made, early, around) for k, around in enumerate(nest.arounds)
    )
    order = sorted(range(len(made)), key=lambda i: (made[i].depth, i))
    slot = {old: new for new, old in enumerate(order)}
    sets = tuple(_renamed(made[old], new, slot) for new, old in enumerate(order))
    return replace(nest, levels=tuple(_rebased(x, slot) for x in levels), sets=sets)


def _materialised(
    nest: LoopNest, k: int, operations: list[SetOp], early: bool, around: int
) -> Level:
    level = nest.levels[k]
    if isinstance(level, EdgeLevel) or not (level.sources or level.anti):
        return level
    rows = sorted((level.base, *level.sources), key=lambda o: o.b)
    chain = [(Op.INTERSECT, o) for o in rows[1:]]
    chain += [(Op.DIFFERENCE, o) for o in sorted(level.anti, key=lambda o: o.b)]
    chain.sort(key=lambda pair: pair[1].b)
    left = rows[0]
    for op, right in chain:
        depth = max(left.b if left.kind is Kind.ROW else operations[left.a].depth, right.b)
        depth = depth if early else around
        below = tuple(b for b in level.cut.below if b <= depth)
        above = tuple(b for b in level.cut.above if b <= depth)
        cut = replace(level.cut, below=below, above=above)
        optional = is_optional(nest, k, depth)
        left = _emit(
            operations, SetOp(len(operations), depth, left, op, right, cut, optional), early
        )
    return replace(level, base=left, sources=(), anti=())


def _emit(operations: list[SetOp], op: SetOp, share: bool) -> Operand:
    if share:
        for other in operations:
            same = (op.depth, op.left, op.right) == (other.depth, other.left, other.right)
            same = same and op.optional == other.optional
            if same and (op.op, op.cut) == (other.op, other.cut):
                return Operand(Kind.SET, other.slot)
    operations.append(op)
    return Operand(Kind.SET, op.slot)


def _renamed(op: SetOp, slot: int, slots: dict[int, int]) -> SetOp:
    left = Operand(Kind.SET, slots[op.left.a]) if op.left.kind is Kind.SET else op.left
    return replace(op, slot=slot, left=left)


def _rebased(level: Level, slots: dict[int, int]) -> Level:
    if isinstance(level, VertexLevel) and level.base.kind is Kind.SET:
        return replace(level, base=Operand(Kind.SET, slots[level.base.a]))
    return level


PASSES: tuple[str, ...] = (
    "windows",
    "fuse",
    "each_edge",
    "count_last",
    "formulas",
    "trees",
    "branches",
    "caches",
    "motion",
    "reached",  # not a pass over the nest: trees may be counted from a leaf on the CPU (`cpu.trees.fold_reached`)
    "local",  # not a pass over the nest: a backend counts the end of it in bits (`demands`)
    "supports",  # not a pass over the nest: a GPU counts it by the supports of edges (`by_edge`)
    "degrees",  # not a pass over the nest: the CPU adds up no lengths that it knows (`degrees`)
)


def improve(
    nest: LoopNest,
    switched_off: frozenset[str] = frozenset(),
    *,
    back: tuple[int, ...] = (),
    tail: int = 0,
    orders: Orders | None = None,
) -> LoopNest:
    """All passes in order, the verifier after each.

    switched_off : names of passes to leave out.
    back : for each view the one of the same edges from their other ends; () leaves "trees" out.
    tail : how many levels the planner wants counted, 0 for as many as can be.
    orders : what is known of rows in the order of values; None leaves "windows" out.
    """
    nest = verify(nest)
    if orders is not None and not nest.parts and "windows" not in switched_off:
        from .windows import windows  # here: only plans that compare edges need it

        nest = verify(windows(nest, orders))
    if "fuse" not in switched_off:
        nest = _verified(nest, fuse(nest))
    edges = nest.counting and any(isinstance(level, EdgeLevel) for level in nest.levels)
    if edges and "each_edge" not in switched_off:
        from .each_edge import alike_edges, each_edge  # here: most plans bind no edges

        nest = _verified(nest, each_edge(nest, back))
        alike = alike_edges(nest, back)
    else:
        alike = nest
    if "count_last" not in switched_off:
        nest = _verified(nest, _grown((alike, nest), switched_off, back, tail))
    nest = _verified(nest, branch(nest, apart="branches" not in switched_off))
    if "caches" not in switched_off:
        nest = _verified(nest, cache(nest))
    return _verified(nest, materialise(nest, early="motion" not in switched_off))


def _grown(
    nests: tuple[LoopNest, LoopNest],
    switched_off: frozenset[str],
    back: tuple[int, ...],
    tail: int,
) -> LoopNest:
    """The first of two nests with its tail, where that counts together all levels whose edges have to differ; else the
    second one."""
    trees = bool(back) and not {"trees", "fuse"} & switched_off
    how = {"formulas": "formulas" not in switched_off, "sink": "branches" not in switched_off}
    alike, nest = nests
    if alike is not nest:
        grown = grow(alike, back, trees=trees, wanted=tail, **how)
        if not any(isinstance(level, VertexLevel) and level.apart for level in grown.levels):
            return grown
    return grow(nest, back, trees=trees, wanted=tail, **how)


def _verified(before: LoopNest, nest: LoopNest) -> LoopNest:
    """What a pass made, verified. A nest that it left as it was has been."""
    return nest if nest is before else verify(nest)

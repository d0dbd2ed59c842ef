"""Passes over the loop nest, each a function from nest to nest; any but `materialise` may be left
out.

Code motion and sharing of set operations follow the thesis (§1.5, §1.7: lift what does not depend
on the inner loop), counting of the last levels GraphPi and the thesis ch. 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gdb.executor.nest import (
    EdgeLevel,
    Formula,
    Group,
    Kind,
    Level,
    LoopNest,
    Member,
    Op,
    Operand,
    SetOp,
    Slice,
    VertexLevel,
    verify,
)


def fuse(nest: LoopNest) -> LoopNest:
    """Eliminations of a level become sources of its candidate set: intersect instead of test
    (worst-case optimal join).

    before: for c in N(b): if c in N(a): ...        after: for c in N(b) & N(a): ...
    """
    return replace(nest, levels=tuple(_fused(k, level) for k, level in enumerate(nest.levels)))


def _fused(k: int, level: Level) -> Level:
    if isinstance(level, EdgeLevel) or level.base.kind is Kind.LIST:
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
    made: list[SetOp] = []
    levels = tuple(_materialised(k, level, made, early) for k, level in enumerate(nest.levels))
    order = sorted(range(len(made)), key=lambda i: (made[i].depth, i))
    slot = {old: new for new, old in enumerate(order)}
    sets = tuple(_renamed(made[old], new, slot) for new, old in enumerate(order))
    return replace(nest, levels=tuple(_rebased(x, slot) for x in levels), sets=sets)


def _materialised(k: int, level: Level, made: list[SetOp], early: bool) -> Level:
    if isinstance(level, EdgeLevel) or not (level.sources or level.anti):
        return level
    rows = sorted((level.base, *level.sources), key=lambda o: o.b)
    chain = [(Op.INTERSECT, o) for o in rows[1:]]
    chain += [(Op.DIFFERENCE, o) for o in sorted(level.anti, key=lambda o: o.b)]
    chain.sort(key=lambda pair: pair[1].b)
    left = rows[0]
    for op, right in chain:
        depth = max(left.b if left.kind is Kind.ROW else made[left.a].depth, right.b)
        depth = depth if early else k - 1
        below = tuple(b for b in level.cut.below if b <= depth)
        above = tuple(b for b in level.cut.above if b <= depth)
        cut = replace(level.cut, below=below, above=above)
        left = _emit(made, SetOp(len(made), depth, left, op, right, cut), early)
    return replace(level, base=left, sources=(), anti=())


def _emit(made: list[SetOp], op: SetOp, share: bool) -> Operand:
    if share:
        for other in made:
            if replace(op, slot=other.slot) == other:
                return Operand(Kind.SET, other.slot)
    made.append(op)
    return Operand(Kind.SET, op.slot)


def _renamed(op: SetOp, slot: int, slots: dict[int, int]) -> SetOp:
    left = Operand(Kind.SET, slots[op.left.a]) if op.left.kind is Kind.SET else op.left
    return replace(op, slot=slot, left=left)


def _rebased(level: Level, slots: dict[int, int]) -> Level:
    if isinstance(level, VertexLevel) and level.base.kind is Kind.SET:
        return replace(level, base=Operand(Kind.SET, slots[level.base.a]))
    return level


def count_last(nest: LoopNest, *, formulas: bool = True) -> LoopNest:
    """Count the last level instead of looping over it; with `formulas` also alike and independent
    levels before it.

    before: for a: for b in N(a): for c in N(a) - b: n += 1     after: for a: n += |N(a)| * (|N(a)|
    - 1)
    before: for c in s0: for d in s1 - c: n += 1                after: n += |s0| * |s1| - |s0 & s1|
    """
    if not nest.counting or not nest.levels:
        return nest
    groups = [Group(len(nest.levels) - 1, 1, Formula.POWER)]
    if formulas:
        while groups[0].first > 0:
            joined = _with_previous(nest, groups)
            if joined is None:
                break
            groups = joined
    return replace(nest, groups=tuple(groups))


def _with_previous(nest: LoopNest, groups: list[Group]) -> list[Group] | None:
    """The groups with the level before them taken in, or None where it cannot be."""
    at = groups[0].first - 1
    level = nest.levels[at]
    if any(op.depth == at for op in nest.sets) or (isinstance(level, VertexLevel) and level.checks):
        return None
    readers = [k for k in range(at + 1, len(nest.levels)) if at in nest.levels[k].reads()]
    if any(not _countable(nest.levels[k]) for k in range(at + 1, len(nest.levels))):
        return None
    if not readers:
        return [Group(at, 1, Formula.POWER), *groups]
    head = groups[0]
    if readers != list(range(head.first, head.first + head.size)):
        return None
    formula = _alike(nest, at, head)
    if formula is not None:
        return [Group(at, head.size + 1, formula), *groups[1:]]
    if head.size == 1 and head.formula is Formula.POWER and _only_differ(nest, at):
        return [Group(at, 1, Formula.PAIR), *groups]
    return None


def _only_differ(nest: LoopNest, at: int) -> bool:
    """Whether levels `at` and `at + 1` are vertices that depend on one another by being different
    and no more."""
    first, last = nest.levels[at], nest.levels[at + 1]
    if isinstance(first, EdgeLevel) or isinstance(last, EdgeLevel):
        return False
    return at in last.differs and at not in replace(last, differs=()).reads()


def _countable(level: Level) -> bool:
    return isinstance(level, EdgeLevel) or not level.checks


def _alike(nest: LoopNest, at: int, head: Group) -> Formula | None:
    """The formula by which level `at` and group `head` count together, if they have the same
    candidates."""
    members = range(at, head.first + head.size)
    levels = [nest.levels[k] for k in members]
    outside: set[tuple[Operand, Slice, tuple[int, ...]]] = set()
    relations: set[Formula] = set()
    for k, level in zip(members, levels, strict=True):
        if isinstance(level, EdgeLevel):
            return None
        earlier = set(range(at, k))
        if earlier <= set(level.differs):
            relations |= {Formula.FALLING} if earlier else set()
        elif earlier <= set(level.cut.below) or earlier <= set(level.cut.above):
            relations.add(Formula.BINOMIAL)
        else:
            return None
        cut = replace(
            level.cut,
            below=tuple(b for b in level.cut.below if b < at),
            above=tuple(b for b in level.cut.above if b < at),
        )
        outside.add((level.base, cut, tuple(d for d in level.differs if d < at)))
    return relations.pop() if len(outside) == len(relations) == 1 else None


NestPass = Callable[[LoopNest], LoopNest]
PASSES: tuple[str, ...] = ("fuse", "motion", "count_last", "formulas")


def improve(nest: LoopNest, switched_off: frozenset[str] = frozenset()) -> LoopNest:
    """All passes in order, the verifier after each; `switched_off` names passes to leave out."""
    nest = verify(nest)
    if "fuse" not in switched_off:
        nest = verify(fuse(nest))
    nest = verify(materialise(nest, early="motion" not in switched_off))
    if "count_last" not in switched_off:
        nest = verify(count_last(nest, formulas="formulas" not in switched_off))
    return nest

"""Levels of a nest in another order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gdb.records import replace

from .nest import Check, EdgeLevel, Level, LoopNest, Member, PairsApart, WithinBounds


def renumber_level(level: Level, at: dict[int, int]) -> Level:
    """A level that reads each level by its new number."""

    def all_of(levels: Iterable[int]) -> tuple[int, ...]:
        return tuple(at[k] for k in levels)

    checks = tuple(_check_renumbered(check, at) for check in level.checks)
    if isinstance(level, EdgeLevel):
        return replace(
            level,
            source=at[level.source],
            target=at.get(level.target, -1),
            differs=all_of(level.differs),
            above=all_of(level.above),
            checks=checks,
            windows=tuple(replace(w, left=at[w.left], right=at[w.right]) for w in level.windows),
        )
    cut = replace(level.cut, below=all_of(level.cut.below), above=all_of(level.cut.above))
    base, *others = (
        replace(o, b=at.get(o.b, -1)) for o in (level.base, *level.sources, *level.anti)
    )
    return replace(
        level,
        base=base,
        cut=cut,
        differs=all_of(level.differs),
        apart=all_of(level.apart),
        checks=checks,
        sources=tuple(others[: len(level.sources)]),
        anti=tuple(others[len(level.sources) :]),
    )


def reorder_nest(nest: LoopNest, order: Sequence[int]) -> LoopNest:
    """A nest without sets and tail with its levels in another order, in which none reads a later one."""
    at = {old: new for new, old in enumerate(order)}
    return replace(nest, levels=tuple(renumber_level(nest.levels[old], at) for old in order))


def _check_renumbered(check: Check, at: dict[int, int]) -> Check:
    match check:
        case Member(source=s, target=t):
            return replace(check, source=at[s], target=at[t])
        case PairsApart(a=a, b=b, c=c, d=d):
            return replace(check, a=at[a], b=at[b], c=at[c], d=at[d])
        case WithinBounds(left=left, right=right):
            return replace(check, left=at[left], right=at[right])

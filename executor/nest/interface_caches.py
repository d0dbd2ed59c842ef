"""Caches by interface: a count that depends on few of the vertices around it is kept for when these come again.

What a loop counts, or the trees of the tail within one, depends on the levels that it reads. Where the loops around
bind others as well, the same ones come again and again with the same count, which a small direct-mapped table then
gives (Kalinsky, Etsion, Kimelfeld: Flexible Caching in Trie Joins, EDBT 2017). A vertex that has only to
be another one than some within matters where it may be one of their candidates at all; all that may not are as one.
"""

from __future__ import annotations

from gdb.records import replace

from .branches import in_order, levels_of
from .nest import UNBOUNDED, Cache, EdgeLevel, Kind, Level, LoopNest, Member, Stranger
from .optional_parts import trees

MOST_GROUPS = 4  # of trees in one loop that are kept apart
MOST_KEYS = 8  # levels that one cache reads; more seldom come again


def cache(nest: LoopNest) -> LoopNest:
    """The nest with a cache for each loop, and for trees of the tail in one loop, that do not read all loops around
    them. Trees that are kept by different levels are kept apart.

    before: for a: for b in N(a): for c in N(b): for d in N(c): n += 1
    after:  for a: for b in N(a): for c in N(b): n += kept by c (for d in N(c): n += 1)
    """
    if not nest.counting or nest.loops < 2:
        return nest
    arounds, paths = nest.arounds, nest.paths
    found = []
    for k in range(1, nest.loops):
        inside = {m for m, path in enumerate(paths) if k in path}
        found.append(_cache(nest, k, False, inside, paths[arounds[k]]))
    caches = [one for one in found if one is not None]
    order: list[tuple[int, ...]] = []
    within = sorted(trees(nest.tail), key=lambda nodes: arounds[levels_of(nest, nodes)[0]])
    for d in range(nest.loops):
        own = [nodes for nodes in within if arounds[levels_of(nest, nodes)[0]] == d]
        kept, others = _groups(nest, d, own, paths[d]) if d else ([], own)
        for one, some in kept:
            order += some
            caches.append(replace(one, until=sum(len(nodes) for nodes in order)))
        order += others
    return replace(nest, tail=tuple(in_order(nest, order)), caches=tuple(caches))


def _groups(
    nest: LoopNest, level: int, own: list[tuple[int, ...]], path: frozenset[int]
) -> tuple[list[tuple[Cache, list[tuple[int, ...]]]], list[tuple[int, ...]]]:
    """The trees in one loop that are kept by the same levels, each group with its cache, and all others.

    Trees that are counted as fast as a cache is looked up go with some that are kept by all that they read.
    """
    kept: dict[Cache, list[tuple[int, ...]]] = {}
    quick: list[tuple[int, ...]] = []
    others: list[tuple[int, ...]] = []
    for nodes in own:
        levels = levels_of(nest, nodes)
        if len(nodes) == 1 and all(_is_quick(nest.levels[m]) for m in levels):
            quick.append(nodes)
            continue
        one = _cache(nest, level, True, {*levels}, path)
        if one is None or (one not in kept and len(kept) == MOST_GROUPS):
            others.append(nodes)
        else:
            kept.setdefault(one, []).append(nodes)
    for nodes in quick:
        read = {r for m in levels_of(nest, nodes) for r in nest.levels[m].reads()}
        host = next((one for one in kept if read - {*levels_of(nest, nodes)} <= {*one.keys}), None)
        (kept[host] if host is not None else others).append(nodes)
    return list(kept.items()), others


def _is_quick(level: Level) -> bool:
    """Whether a leaf is counted by the length of a row, which takes no longer than a look-up in a cache."""
    if isinstance(level, EdgeLevel):
        return not level.checks and not level.windows
    return level.base.kind is Kind.ROW and not (level.checks or level.sources or level.anti)


def _cache(
    nest: LoopNest, level: int, tail: bool, inside: set[int], path: frozenset[int]
) -> Cache | None:
    """The cache of what some levels count, None where they read all loops around them, or too many."""
    keys: set[int] = set()
    apart: dict[int, list[Member] | None] = {}
    for k in inside:
        read, differs = _reads(nest.levels[k])
        keys |= read - inside
        for other in differs - inside:
            tests = apart.setdefault(other, [])
            row = _row(nest.levels[k], inside)
            if row is None or tests is None:
                apart[other] = None
            else:
                tests.append(Member(row[0], row[1], other, 1, UNBOUNDED))
    keys |= {other for other, tests in apart.items() if tests is None}
    strangers = tuple(
        Stranger(other, tuple(dict.fromkeys(tests)))
        for other, tests in sorted(apart.items())
        if tests is not None and other not in keys
    )
    if path <= keys or len(keys) + len(strangers) > MOST_KEYS:
        return None
    return Cache(level, tail, tuple(sorted(keys)), strangers)


def _reads(level: Level) -> tuple[set[int], set[int]]:
    """The levels whose binding a level's count depends on, and those that it has only to differ from."""
    if isinstance(level, EdgeLevel):
        return level.reads(), set()
    differs = {*level.differs}
    return replace(level, differs=()).reads(), differs


def _row(level: Level, inside: set[int]) -> tuple[int, int] | None:
    """A row known outside, as view and level, that contains all candidates of a level; None where there is none."""
    if isinstance(level, EdgeLevel):
        return None
    for one in (level.base, *level.sources):
        if one.kind is Kind.ROW and one.b not in inside:
            return one.a, one.b
    return None

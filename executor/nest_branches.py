"""Loops that branch: what falls apart under the loops around it is counted apart and multiplied.

A level depends on those that it reads, through edges, restrictions, differences and comparisons. Under a bound level
the levels that are left may fall apart into groups none of which reads another; each gets a loop nest of its own there,
and so does each tree of the tail, which is counted in the innermost loop that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdb.executor.nest import Formula, LoopNest, Node
from gdb.executor.nest_order import renumbered
from gdb.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Part:
    """What is placed as a whole: a loop, or a tree of the tail (its nodes, `loop` -1). reads : the loops that it
    does."""

    loop: int
    nodes: tuple[int, ...]
    reads: frozenset[int]


def branch(nest: LoopNest) -> LoopNest:
    """The nest with loops, and trees of the tail, side by side where neither reads the other.

    before: for a: for b in N(a): for c in N(a) & N(b): for d in N(a): for e in N(a) & N(d): n += 1
    after:  for a: n += (count of b, c) * (count of d, e)
    """
    if not nest.counting or nest.loops < 1:
        return nest
    parts = [_Part(k, (), _reads(nest, (k,))) for k in range(1, nest.loops)]
    parts += [_Part(-1, nodes, _reads(nest, levels_of(nest, nodes))) for nodes in trees(nest)]
    placed: list[tuple[_Part, int]] = [(_Part(0, (), frozenset()), -1)]
    _place(parts, 0, placed)
    around = {part.loop: up for part, up in placed if part.loop >= 0}
    inside = {part.nodes: up for part, up in placed if part.loop < 0}
    last = nest.loops - 1
    if all(up == k - 1 for k, up in around.items()) and all(up == last for up in inside.values()):
        return nest
    return _renumbered(nest, around, inside)


def _reads(nest: LoopNest, levels: Sequence[int]) -> frozenset[int]:
    """The loops that some levels read."""
    found = {r for k in levels for r in nest.levels[k].reads()}
    return frozenset(r for r in found - {*levels} if r < nest.loops)


def trees(nest: LoopNest) -> list[tuple[int, ...]]:
    """The nodes of each tree of the tail; two levels that only have to differ are one."""
    members: list[list[int]] = []
    whole = True
    for k, node in enumerate(nest.tail):
        if whole:
            members.append([])
        members[-1].append(k)
        halved = node.formula is Formula.PAIR and len(members[-1]) == 1
        whole = node.parent < 0 and not halved
    return [tuple(nodes) for nodes in members]


def levels_of(nest: LoopNest, nodes: Sequence[int]) -> list[int]:
    """The levels of some nodes of the tail."""
    return [k for n in nodes for k in nest.tail[n].levels]


def in_order(nest: LoopNest, chosen: Sequence[tuple[int, ...]]) -> list[Node]:
    """The nodes of the tail with its trees in another order."""
    tail: list[Node] = []
    for nodes in chosen:
        shift = len(tail) - nodes[0]
        for k in nodes:
            node = nest.tail[k]
            tail.append(replace(node, parent=node.parent + shift if node.parent >= 0 else -1))
    return tail


def _place(parts: Sequence[_Part], up: int, placed: list[tuple[_Part, int]]) -> None:
    """Place parts in loop `up`, each with the loop that it is in; loops come in preorder."""
    for group in _groups(parts):
        loops = [part for part in group if part.loop >= 0]
        if not loops:
            placed += [(part, up) for part in group]
            continue
        first = loops[0]
        placed.append((first, up))
        _place([part for part in group if part is not first], first.loop, placed)


def _groups(parts: Sequence[_Part]) -> list[list[_Part]]:
    """The parts in groups none of which reads another, each in the order of `parts`; those of few loops first, as one
    that counts nothing ends what is around it."""
    group = {part.loop: {part.loop} for part in parts if part.loop >= 0}
    for part in parts:
        joined = {part.loop} if part.loop >= 0 else set()
        joined.update(*(group[r] for r in part.reads if r in group))
        if part.loop >= 0:
            joined |= group[part.loop]
        for loop in joined:
            group[loop] = joined
    found: dict[int, list[_Part]] = {}
    alone: list[list[_Part]] = []
    for part in parts:
        own = [part.loop] if part.loop >= 0 else [r for r in part.reads if r in group]
        if own:
            found.setdefault(id(group[own[0]]), []).append(part)
        else:
            alone.append([part])
    return alone + sorted(found.values(), key=lambda some: sum(part.loop >= 0 for part in some))


def _renumbered(
    nest: LoopNest, around: dict[int, int], inside: dict[tuple[int, ...], int]
) -> LoopNest:
    """The nest with its loops in the order of `around`, loop -> the loop around it, and the trees of the tail in the
    order of the loops that they are in."""
    at = {old: new for new, old in enumerate(around)}
    at |= {k: k for k in range(nest.loops, len(nest.levels))}
    levels = [renumbered(nest.levels[old], at) for old in at]
    placed = sorted(inside, key=lambda nodes: at[inside[nodes]])
    lies_in = [at[inside[nodes]] for nodes in placed for _ in nodes]
    tail = in_order(nest, placed)
    tail = [replace(node, inside=up) for node, up in zip(tail, lies_in, strict=True)]
    return replace(
        nest,
        levels=tuple(levels),
        tail=tuple(tail),
        around=tuple(at[up] if up >= 0 else -1 for up in around.values()),
    )

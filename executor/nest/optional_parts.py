"""Optional parts of a nest: what of it counts at least one.

A part is OPTIONAL MATCH: its count is a factor of what is around it, and one where there is no match. So all of it has
to stay together: in one loop, or in one tree of the tail.
"""

from __future__ import annotations

from collections.abc import Sequence

from .nest import Formula, LoopNest, Node


def trees(tail: Sequence[Node]) -> list[tuple[int, ...]]:
    """The nodes of each tree of a tail; two levels that only have to differ are one."""
    found: list[list[int]] = []
    whole = True
    for k, node in enumerate(tail):
        if whole:
            found.append([])
        found[-1].append(k)
        halved = node.formula is Formula.PAIR and len(found[-1]) == 1
        whole = node.parent < 0 and not halved
    return [tuple(nodes) for nodes in found]


def part_of_node(nest: LoopNest, node: Node) -> int:
    """The optional part that a node of the tail belongs to, 0 for none."""
    return nest.levels[node.levels[0]].part


def are_whole(nest: LoopNest) -> bool:
    """Whether each optional part has a loop, or is one tree of the tail with no part in it."""
    looped = {level.part for level in nest.levels[: nest.loops]}
    if not {*nest.parts} - {0} <= looped:
        return False
    own = [part_of_node(nest, nest.tail[nodes[-1]]) for nodes in trees(nest.tail)]
    return all(own.count(part) == 1 for part in {*own} - looped - {0})


def first_loops(nest: LoopNest) -> dict[int, int]:
    """For each optional part that has loops the first of them, in which all of it is."""
    found: dict[int, int] = {}
    for k, level in enumerate(nest.levels[: nest.loops]):
        if level.part:
            found.setdefault(level.part, k)
    return found


def ends_of_trees(nest: LoopNest) -> dict[int, int]:
    """For each node of the tail whose tree is an optional part the last node of that tree."""
    looped = first_loops(nest)
    found: dict[int, int] = {}
    for nodes in trees(nest.tail):
        part = part_of_node(nest, nest.tail[nodes[-1]])
        if part and part not in looped:
            found |= dict.fromkeys(nodes, nodes[-1])
    return found


def is_optional(nest: LoopNest, level: int, around: int) -> bool:
    """Whether what level `around` is bound to counts even where there is nothing for `level`, which reads it: it is of
    an optional part that the other is not in. Not for an `around` of -1."""
    if not nest.parts or around < 0:
        return False
    part, outer = nest.levels[level].part, nest.levels[around].part
    within = {0}
    while outer:
        within.add(outer)
        outer = nest.parts[outer - 1]
    return part not in within

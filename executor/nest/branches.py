"""Loops that branch: independent parts under the loops around them are counted apart and multiplied.

A level depends on those that it reads, through edges, restrictions, differences and comparisons. Under a bound level
the levels that are left may fall apart into groups that do not read one another; each gets a loop nest of its own
there, and so does each tree of the tail, which is counted in the innermost loop that it reads. An optional part is
placed as a whole, in one loop of its own or as one tree.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdb.records import dataclass, quick, replace

from .level_order import renumber_level
from .nest import LoopNest, Node
from .optional_parts import trees


@quick
@dataclass(frozen=True, slots=True)
class _Piece:
    """What is placed as a whole: a loop, a tree of the tail (its nodes, `loop` -1), or an optional part (`own`, its
    pieces). reads : the loops around it that it does. part : the optional part that a loop or a tree is of."""

    loop: int
    nodes: tuple[int, ...]
    reads: frozenset[int]
    part: int = 0
    own: tuple[_Piece, ...] = ()

    @property
    def loops(self) -> frozenset[int]:
        """The loops in it."""
        inner = (one.loops for one in self.own)
        return frozenset[int]().union(*inner) | ({self.loop} if self.loop >= 0 else set())


def branch(nest: LoopNest, *, apart: bool = True) -> LoopNest:
    """The nest with loops, and trees of the tail, side by side where neither reads the other.

    apart : False nests what need not be side by side: all but optional parts; each of these begins in the last loop
        of what is around it.

    before: for a: for b in N(a): for c in N(a) & N(b): for d in N(a): for e in N(a) & N(d): n += 1
    after:  for a: n += (count of b, c) * (count of d, e)
    """
    if not nest.counting or nest.loops < 1 or not (apart or nest.parts):
        return nest
    pieces = [_Piece(k, (), _reads(nest, (k,)), nest.levels[k].part) for k in range(1, nest.loops)]
    pieces = _gathered(nest, pieces + _trees(nest), 0)
    placed: list[tuple[_Piece, int]] = [(_Piece(0, (), frozenset()), -1)]
    _place(pieces, 0, placed, apart)
    around = {piece.loop: up for piece, up in placed if piece.loop >= 0}
    inside = {piece.nodes: up for piece, up in placed if piece.loop < 0}
    last = nest.loops - 1
    chained = all(up == k - 1 for k, up in around.items())
    if not nest.parts and chained and all(up == last for up in inside.values()):
        return nest
    return _renumbered(nest, around, inside)


def _reads(nest: LoopNest, levels: Sequence[int]) -> frozenset[int]:
    """The loops that some levels read."""
    found = {r for k in levels for r in nest.levels[k].reads()}
    return frozenset(r for r in found - {*levels} if r < nest.loops)


def _trees(nest: LoopNest) -> list[_Piece]:
    """The trees of the tail; two levels that only have to differ are one."""
    return [
        _Piece(
            *(-1, nodes, _reads(nest, levels_of(nest, nodes))),
            nest.levels[nest.tail[nodes[0]].levels[0]].part,
        )
        for nodes in trees(nest.tail)
    ]


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


def _gathered(nest: LoopNest, pieces: Sequence[_Piece], part: int) -> list[_Piece]:
    """The pieces of an optional part, or with 0 of none, those of each part in it put together."""
    found = [piece for piece in pieces if piece.part == part]
    for number, around in enumerate(nest.parts, 1):
        if around == part:
            own = _gathered(nest, pieces, number)
            reads = frozenset[int]().union(*(one.reads for one in own))
            loops = frozenset[int]().union(*(one.loops for one in own))
            found.append(_Piece(-1, (), reads - loops, number, tuple(own)))
    return found


def _place(
    pieces: Sequence[_Piece], up: int, placed: list[tuple[_Piece, int]], apart: bool
) -> None:
    """Place pieces in loop `up`, each with the loop that it is in; loops come in preorder."""
    for group in _groups(pieces) if apart else _chained(pieces):
        loops = [piece for piece in group if piece.loop >= 0]
        if loops:
            first = loops[0]
            placed.append((first, up))
            _place([piece for piece in group if piece is not first], first.loop, placed, apart)
            continue
        for piece in group:
            if piece.own:
                _place_part(piece, up, placed, apart)
            else:
                placed.append((piece, up))


def _place_part(piece: _Piece, up: int, placed: list[tuple[_Piece, int]], apart: bool) -> None:
    """Place an optional part: all of it is in its first loop, where it has one."""
    loops = [one for one in piece.own if one.loop >= 0]
    if not loops:
        placed += [(one, up) for one in piece.own]
        return
    first = loops[0]
    placed.append((first, up))
    _place([one for one in piece.own if one is not first], first.loop, placed, apart)


def _chained(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """The pieces as one group as long as there are loops, then each as its own."""
    if any(piece.loop >= 0 for piece in pieces):
        return [list(pieces)]
    return [[piece] for piece in pieces]


def _groups(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """The pieces in groups that do not read one another, each in the order of `pieces`; those of few loops first, as
    one that counts nothing ends what is around it."""
    group = {piece.loop: {piece.loop} for piece in pieces if piece.loop >= 0}
    for piece in pieces:
        joined = {piece.loop} if piece.loop >= 0 else set()
        joined.update(*(group[r] for r in piece.reads if r in group))
        if piece.loop >= 0:
            joined |= group[piece.loop]
        for loop in joined:
            group[loop] = joined
    found: dict[int, list[_Piece]] = {}
    alone: list[list[_Piece]] = []
    for piece in pieces:
        own = [piece.loop] if piece.loop >= 0 else [r for r in piece.reads if r in group]
        if own:
            found.setdefault(id(group[own[0]]), []).append(piece)
        else:
            alone.append([piece])
    return alone + sorted(found.values(), key=lambda some: sum(piece.loop >= 0 for piece in some))


def _renumbered(
    nest: LoopNest, around: dict[int, int], inside: dict[tuple[int, ...], int]
) -> LoopNest:
    """The nest with its loops in the order of `around`, loop -> the loop around it, and the trees of the tail in the
    order of the loops that they are in."""
    at = {old: new for new, old in enumerate(around)}
    at |= {k: k for k in range(nest.loops, len(nest.levels))}
    levels = [renumber_level(nest.levels[old], at) for old in at]
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

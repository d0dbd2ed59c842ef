"""Passes of a stage over ranges of vids: one level is bound to the vids of a range only, and the rows that are read
from there are in memory meanwhile.

A nest reads the rows of its first level in order, but those of the others in any order, again and again: where they do
not fit in memory, each read may be one of the disk, or through the link to a GPU. Bound to a range, a level reads few
rows, which fit. What the nest finds is the union, and what it counts the sum, over all ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np

from gdb.base.budget import Budget
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64, Adjacency
from gdb.storage.graph.row_blocks import Side, block, size_of, sizes_of

from ..table_fields import NodeField
from .encoding import encode
from .nest import (
    EdgeLevel,
    Kind,
    Level,
    LoopNest,
    Member,
    Node,
    Operand,
    Order,
    Slice,
    VertexLevel,
)
from .prepare import Prepared, between

MOST_PASSES = 64  # on a GPU each of them is a bit of a work unit's mask
ROW = 8  # bytes of a row of a block beside its neighbours
_ALL = (0, 1 << 32)
_VIDS = 1 << 16  # that are looked at at once
_SIDES = {Order.NONE: Side.BOTH, Order.BELOW: Side.BELOW, Order.ABOVE: Side.ABOVE}


def is_sum(nest: LoopNest, level: int) -> bool:
    """Whether what a nest finds is a sum over the vids that a level is bound to, each for itself: an optional part that
    has none in a range would count one there."""
    if level < 1 or nest.around or nest.parts:
        return False
    if level < nest.loops:
        return True
    return any(n.levels == (level,) and n.parent < 0 for n in nest.tail)


def bindable(prepared: Prepared) -> list[int]:
    """The levels that passes may bind."""
    levels = enumerate(prepared.nest.levels)
    return [k for k, x in levels if isinstance(x, VertexLevel) and is_sum(prepared.nest, k)]


def describe_passes(prepared: Prepared, level: int, count: int) -> str:
    """What EXPLAIN says of a stage that runs in passes."""
    bound = prepared.nest.levels[level]
    assert isinstance(bound, VertexLevel)
    name = prepared.plan.names[bound.vertex]
    return f"in {count} passes, each over a part of {name}, whose rows are resident meanwhile"


@dataclass(frozen=True, slots=True)
class Reads:
    """What a nest reads because of a level, and which side of each row counts.

    rows : by view, where the rows of the level's vertices are read. columns : by view, where of rows of other vertices
        the part is read that the level is bound to, and nothing else.
    """

    rows: Mapping[int, Side]
    columns: Mapping[int, Side]


def reads(prepared: Prepared) -> Iterator[tuple[int, int, Side]]:
    """What a stage reads of rows: the view, the level whose vertex has the row, and the side of it that counts."""
    yield from direct_reads(prepared)
    for node in prepared.nest.tail:
        if is_pushed_to(prepared, node):
            yield node.back, node.levels[0], _SIDES[node.order].across


def is_pushed_to(prepared: Prepared, node: Node) -> bool:
    """Whether the vertices of a node add to those that its parent is reached at: of their rows the part is read that
    the parent's level is bound to."""
    return node.parent >= 0 and prepared.tables.is_pushed(node.parent)


def direct_reads(prepared: Prepared) -> Iterator[tuple[int, int, Side]]:
    """As `reads`, without what is read of a node's rows because it is pushed to its parent (`is_pushed_to`)."""
    nest, nodes = prepared.nest, prepared.tables.nodes
    for one in nest.levels:
        if isinstance(one, EdgeLevel):
            yield one.view, one.source, Side.BOTH
            continue
        yield from _of(one.base, one.cut)
        for check in one.checks:
            if isinstance(check, Member):
                yield check.view, check.source, Side.BOTH
    for op in nest.sets:
        yield from _of(op.left, op.cut)
        yield from _of(op.right, op.cut)
    for c, node in enumerate(nest.tail):
        if node.parent < 0:
            continue
        if not is_pushed_to(prepared, node) or nodes[node.parent, NodeField.PUSHER] != c:
            yield node.view, nest.tail[node.parent].levels[0], _SIDES[node.order]


def _of(operand: Operand, cut: Slice) -> Iterator[tuple[int, int, Side]]:
    if operand.kind is Kind.ROW:
        yield operand.a, operand.b, _side(cut, operand.b)


def reads_of(prepared: Prepared, level: int) -> Reads:
    """What a stage reads because of a level."""
    rows, columns = dict[int, Side](), dict[int, Side]()
    for view, source, side in reads(prepared):
        if source == level:
            rows[view] = side if rows.get(view, side) == side else Side.BOTH
    for node in _children(prepared.nest, level):
        if is_pushed_to(prepared, node):
            side = _SIDES[node.order].across
            columns[node.back] = side if columns.get(node.back, side) == side else Side.BOTH
    return Reads(rows, columns)


@dataclass(frozen=True, slots=True)
class Passes:
    """level : that is bound. reads : because of it. marks : the first vid of each pass, and the end of the last."""

    level: int
    reads: Reads
    marks: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.marks) - 1

    def stage(self, prepared: Prepared, number: int, budget: Budget) -> Prepared:
        """The stage of a pass, whose blocks are accounted for."""
        vids, views = (self.marks[number], self.marks[number + 1]), prepared.views
        rows = {k: _rows(views[k], vids, side, budget) for k, side in self.reads.rows.items()}
        columns = {
            k: _columns(prepared, k, vids, side, budget) for k, side in self.reads.columns.items()
        }
        return bound_stage(prepared, self.level, vids, rows, columns)

    def describe(self, prepared: Prepared) -> str:
        """A line of EXPLAIN."""
        return describe_passes(prepared, self.level, len(self))


def columns_bytes(prepared: Prepared, found: Reads) -> int:
    """Bytes that each block of columns takes whatever range it is of: where each row begins."""
    return sum(ROW * (prepared.views[k].rows + 1) for k in found.columns)


def marks_of(prepared: Prepared, found: Reads, room: int) -> list[int]:
    """Where passes begin and end so that the blocks of each have room, beside `columns_bytes`."""
    ends = [*range(0, prepared.vids, _VIDS), prepared.vids]
    return cut_by_size(
        (_sizes(prepared, found, vids) for vids in pairwise(ends)), room, MOST_PASSES
    )


def cut_by_size(sizes: Iterable[I64], room: int, most: int) -> list[int]:
    """Where ranges of items begin and end, each as long as the sum of its sizes is at most `room`; an item that is
    larger is a range of its own. More than `most` ranges are not looked for.

    sizes : of the items, in pieces, i64[items].
    """
    marks, used, begin = [0], 0, 0
    for piece in sizes:
        end = begin + len(piece)
        total = np.cumsum(piece)
        at = 0
        while len(marks) <= most + 1:
            before = int(total[at - 1]) if at else 0
            fit = int(np.searchsorted(total, before + room - used, side="right"))
            if begin + fit >= end:
                used += int(total[-1]) - before
                break
            at = fit if begin + fit > marks[-1] else fit + 1
            marks.append(begin + at)
            used = 0
            if begin + at >= end:
                break
        begin = end
    return marks if marks[-1] == begin else [*marks, begin]


def _sizes(prepared: Prepared, found: Reads, vids: tuple[int, int]) -> I64:
    """Bytes that each vid of a range adds to the blocks, i64[vids]."""
    sizes = np.zeros(vids[1] - vids[0], np.int64)
    whole = [(prepared.views[k], side, ROW) for k, side in found.rows.items()]
    whole += [(_across(prepared, k), side.across, 0) for k, side in found.columns.items()]
    for view, side, each in whole:
        present = view.rows_of(np.arange(*vids, dtype=np.uint32)) >= 0
        sizes[present] += each + 4 * sizes_of(view, side, view.rows_between(*vids))
    return sizes


def _rows(view: Adjacency, vids: tuple[int, int], side: Side, budget: Budget) -> Adjacency:
    rows = view.rows_between(*vids)
    return block(view, rows, _ALL, size_of(view, side, rows), budget, side)


def _columns(
    prepared: Prepared, k: int, vids: tuple[int, int], side: Side, budget: Budget
) -> Adjacency:
    view, other = prepared.views[k], _across(prepared, k)
    size = size_of(other, side.across, other.rows_between(*vids))
    return block(view, (0, view.rows), vids, size, budget, side)


def _across(prepared: Prepared, k: int) -> Adjacency:
    """The edges of view k from their other ends."""
    spec = prepared.specs[k]
    flipped = spec.types, spec.direction.flipped
    specs = [(other.types, other.direction) for other in prepared.specs]
    return prepared.views[specs.index(flipped)]


def _side(cut: Slice, level: int) -> Side:
    if level in cut.below:
        return Side.BELOW
    return Side.ABOVE if level in cut.above else Side.BOTH


def _children(nest: LoopNest, level: int) -> Iterator[Node]:
    """The nodes of the tail below that of a level."""
    for node in nest.tail:
        if node.parent >= 0 and nest.tail[node.parent].levels[0] == level:
            yield node


def bound_stage(
    prepared: Prepared,
    level: int,
    vids: tuple[int, int],
    rows: Mapping[int, Adjacency],
    columns: Mapping[int, Adjacency],
) -> Prepared:
    """The stage with a level bound to a range of vids.

    rows, columns : for each view of `reads_of` what is read of it in this range. A view that lacks here is read itself.
    """
    views, specs, eids = list(prepared.views), list(prepared.specs), list(prepared.eids)
    numbers: list[dict[int, int]] = []
    for blocks in (rows, columns):
        numbers.append({view: len(views) + k for k, view in enumerate(blocks)})
        views += blocks.values()
        specs += [prepared.specs[view] for view in blocks]
        eids += [None for _ in blocks]
    nest = _bound(prepared.nest, level, vids, *numbers)
    sizes = dict(zip(prepared.tables.lists, map(len, prepared.lists), strict=True))
    vertices = range(prepared.plan.vertices)
    tables = encode(nest, prepared.plan, tuple(views), tuple(sizes.get(v, 0) for v in vertices))
    whole = replace(
        prepared,
        nest=nest,
        tables=tables,
        views=tuple(views),
        specs=tuple(specs),
        eids=tuple(eids),
        blocks=len(rows) + len(columns),
        idle={"cpu": [], "gpu": []},
        units={},
    )
    if level == 0:
        first, last = np.searchsorted(prepared.roots, vids).tolist()
        return between(whole, first, last)
    cut = _cut_of(nest, level)
    start = np.searchsorted(prepared.roots, vids[0], "right") if 0 in cut.below else 0
    end = np.searchsorted(prepared.roots, vids[1]) if 0 in cut.above else len(prepared.roots)
    return between(whole, int(start), max(int(start), int(end)))


def _cut_of(nest: LoopNest, level: int) -> Slice:
    one = nest.levels[level]
    return one.cut if isinstance(one, VertexLevel) else Slice()


def _bound(
    nest: LoopNest,
    level: int,
    vids: tuple[int, int],
    rows: Mapping[int, int],
    columns: Mapping[int, int],
) -> LoopNest:
    def operand(one: Operand) -> Operand:
        read = one.kind is Kind.ROW and one.b == level
        return replace(one, a=rows.get(one.a, one.a)) if read else one

    def loop(k: int, one: Level) -> Level:
        if isinstance(one, EdgeLevel):
            return one
        cut = one.cut
        if k == level:
            low, high = max(cut.lo, vids[0]), min(cut.hi, vids[1])
            cut = replace(cut, lo=low, hi=max(low, high))
        checks = tuple(
            replace(check, view=rows.get(check.view, check.view))
            if isinstance(check, Member) and check.source == level
            else check
            for check in one.checks
        )
        return replace(one, base=operand(one.base), cut=cut, checks=checks)

    def node(one: Node) -> Node:
        if one.parent < 0 or nest.tail[one.parent].levels[0] != level:
            return one
        view, back = rows.get(one.view, one.view), columns.get(one.back, one.back)
        return replace(one, view=view, back=back)

    return replace(
        nest,
        levels=tuple(loop(k, one) for k, one in enumerate(nest.levels)),
        sets=tuple(replace(op, left=operand(op.left), right=operand(op.right)) for op in nest.sets),
        tail=tuple(map(node, nest.tail)),
    )

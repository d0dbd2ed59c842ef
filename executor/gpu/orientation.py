"""The lower side of a view: of each row the neighbours below its own vid.

Where vertices are numbered by degree and every list of a nest is cut below the vertex whose row it is (triangles and
cliques under restrictions), nothing else is read: half of the view, and of a hub hardly anything (the orientation of
triangle counting).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.base.once import MadeOnce
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import U32, Adjacency
from gdb.storage.graph.row_blocks import Side, sizes_of

from ..nest.nest import Kind, LoopNest, Operand, Order, SetOp, Slice, VertexLevel
from ..nest.prepare import Prepared
from ..table_fields import NodeField, Role
from .pinned import READERS

_BLOCK = 1 << 21  # neighbours looked at at once: bounds the temporary arrays


def reads_lower_sides(prepared: Prepared) -> bool:
    """Whether a stage reads from every row only the neighbours below its vertex, in views where each relationship is in
    the rows of both ends."""
    both = all(s.direction is Direction.ANY for s in prepared.specs)
    if not both or any(view.loops for view in prepared.views):
        return False
    if (prepared.tables.nodes[:, NodeField.ROLE] == Role.PUSHED).any():
        return False
    return _cuts_below(prepared.nest)


def _cuts_below(nest: LoopNest) -> bool:
    for level in nest.levels:
        if not isinstance(level, VertexLevel) or level.checks:
            return False
        if not all(_is_below(o, level.cut) for o in (level.base, *level.sources, *level.anti)):
            return False
    if not all(_is_below(o, s.cut) for s in nest.sets for o in _operands(s)):
        return False
    return all(node.parent < 0 or node.order is Order.BELOW for node in nest.tail)


def _operands(found: SetOp) -> tuple[Operand, Operand]:
    return found.left, found.right


def _is_below(operand: Operand, cut: Slice) -> bool:
    return operand.kind is not Kind.ROW or operand.b in cut.below


def lower_side(view: Adjacency) -> Adjacency:
    """The view with nothing in its rows but the neighbours below their own vids; made once. A row may be empty."""
    return _sides.of(view)


def _kept(view: Adjacency, first: int, last: int, vids: U32) -> npt.NDArray[np.bool_]:
    """Which neighbours of the rows [first, last) are below."""
    lengths = np.diff(view.offsets[first : last + 1])
    part = view.neighbours[view.offsets[first] : view.offsets[last]]
    kept: npt.NDArray[np.bool_] = part < np.repeat(vids[first:last], lengths)
    return kept


def _cuts(view: Adjacency) -> list[tuple[int, int]]:
    """Ranges of rows of about `_BLOCK` neighbours."""
    marks = np.arange(0, len(view.neighbours) + _BLOCK, _BLOCK)
    cuts = np.unique(np.searchsorted(view.offsets, marks).clip(0, view.rows))
    return [(int(a), int(b)) for a, b in pairwise(np.unique([0, *cuts.tolist(), view.rows]))]


def _side(view: Adjacency) -> Adjacency:
    degrees = sizes_of(view, Side.BELOW)
    vids, offsets = view.vids(), np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    neighbours = np.empty(int(offsets[-1]), np.uint32)

    def fill(first: int, last: int) -> None:
        part = view.neighbours[view.offsets[first] : view.offsets[last]]
        kept = part[_kept(view, first, last, vids)]
        neighbours[offsets[first] : offsets[last]] = kept

    _each(view, fill)
    return Adjacency(
        view.types,
        view.direction,
        view.first,
        view.length,
        view.row,
        offsets,
        neighbours,
        view.simple,
        view.loops,
        int(degrees.max(initial=0)),
    )


def _each(view: Adjacency, work: object) -> None:
    assert callable(work)
    with waiting.Pool(READERS, thread_name_prefix="gdb-read") as pool:
        cuts = _cuts(view)
        list(pool.map(work, [a for a, _ in cuts], [b for _, b in cuts]))


_sides: MadeOnce[Adjacency, Adjacency] = MadeOnce(_side)

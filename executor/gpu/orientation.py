"""The lower side of a view: of each row the neighbours below its own vid.

Where vertices are numbered by degree and every list of a nest is cut below the vertex whose row it is (triangles and
cliques under restrictions), nothing else is read: half of the view, and of a hub hardly anything (the orientation of
triangle counting).
"""

from __future__ import annotations

from gdb.base.once import MadeOnce
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import Adjacency
from gdb.storage.graph.row_blocks import below

from ..nest.nest import Kind, LoopNest, Operand, Order, SetOp, Slice, VertexLevel
from ..nest.prepare import Prepared
from ..table_fields import NodeField, Role


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


_sides: MadeOnce[Adjacency, Adjacency] = MadeOnce(below)

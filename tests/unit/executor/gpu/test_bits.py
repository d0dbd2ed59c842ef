"""Nests that a GPU counts in bits over a neighbourhood, and the tables of their kernels."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from gdb.executor.gpu import bits, layout, local, matrices, special
from gdb.executor.gpu.bits import Bits
from gdb.executor.gpu.stage import SHARED, Share, Stage
from gdb.executor.nest.nest import Order
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.query_graph import DIFFERENT_NODES, SUBGRAPHS
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import Adjacency
from tests.support.small_graph import SmallGraph
from tests.unit.executor.nest.test_neighbourhood import (
    NEAR_CLIQUES,
    Pairs,
    clique,
    dense,
    question,
    stage,
)

ROOM = 6 << 10
# no vertex is next to all others, so that some loop is outside of the neighbourhood (q19 of `../shared/peers`)
OUTSIDE: Pairs = (
    (0, 1),
    (0, 2),
    (0, 3),
    (0, 4),
    (0, 5),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (2, 3),
    (2, 4),
    (2, 6),
    (3, 5),
    (3, 6),
    (4, 5),
    (4, 6),
    (5, 6),
)


def found(
    pairs: Pairs, *off: str, room: int = ROOM, graph: SmallGraph | None = None
) -> Bits | None:
    prepared, _ = stage(question(pairs, DIFFERENT_NODES), graph or dense(20, 0.6), *off)
    return bits.find(prepared, room)


def test_near_cliques_are() -> None:
    made = found(NEAR_CLIQUES["7-clique less four"])
    assert made is not None
    part = made.part
    assert part.frame < part.first < part.last
    assert part.last - part.first == bits.LOOPS - 1
    assert made.words == layout.BITS_MOST
    assert made.views == (part.view,)


def test_what_is_not() -> None:
    assert found(clique(3)) is None  # each row would be read once
    assert found(((0, 1), (1, 2), (2, 3), (0, 3))) is None  # in no one list
    assert found(NEAR_CLIQUES["6-clique less one"], "local") is None
    assert found(NEAR_CLIQUES["6-clique less one"], graph=dense(60, 0.1)) is None  # few in common
    assert found(NEAR_CLIQUES["6-clique less one"], room=1024) is None


def test_sets_take_the_room_that_there_is() -> None:
    whole, half = (found(NEAR_CLIQUES["6-clique less one"], room=n) for n in (ROOM, 3 << 10))
    assert whole is not None
    assert half is not None
    assert 0 < half.words < whole.words
    for made, room in ((whole, ROOM), (half, 3 << 10)):
        assert made.own_words * 4 <= room
        assert made.words % 4 == made.head % 4 == made.own_words % 4 == 0


def test_a_vertex_that_may_be_no_neighbour_has_a_row() -> None:
    made = found(OUTSIDE)
    assert made is not None
    assert made.outside
    for op, row in zip(made.part.operations, made.operations(), strict=True):
        inside = row[layout.OperationField.OUTSIDE] < 0
        assert inside or (op.level, made.part.relations[op.relation].view) in made.outside
    assert any(row[layout.OperationField.OUTSIDE] >= 0 for row in made.operations()) == bool(
        made.outside
    )


def test_a_stage_has_one_of_both() -> None:
    """A local graph where the end lies in one short list, bits where it does not, and room for what it has."""
    for pairs in NEAR_CLIQUES.values():
        prepared, _ = stage(question(pairs, SUBGRAPHS), dense(20, 0.6))
        placed = Stage(prepared, Share(0), NO_COLUMNS)
        placed.shape(SHARED // 2)
        assert placed.shared <= SHARED
        assert (placed.local is not None) == (local.find(prepared) is not None)
        assert placed.local is None or placed.bits is None
        source = special.source_of(placed)
        assert ("#define SPECIAL_BITS\n" in source) == (placed.bits is not None)


def test_the_order_to_the_frame_is_kept() -> None:
    prepared, _ = stage(question(clique(5), SUBGRAPHS), dense(20, 0.6))
    made = bits.find(prepared, ROOM)
    assert made is not None
    assert made.part.order is not Order.NONE


# ---- matrices ----------------------------------------------------------------------------------------


def view(graph: SmallGraph) -> Adjacency:
    return graph.adjacency(("R",), Direction.ANY)


def test_matrices_lie_one_behind_another() -> None:
    of = view(dense(150, 0.5))
    at, words = matrices.layout_of(of, 1 << 20)
    sizes = np.diff(of.offsets)
    each = sizes * (-(-sizes // 128) * 4)
    assert (at % 4 == 0).all()
    assert at[0] >= 2 * of.rows
    assert (np.diff(at) == each[:-1]).all()
    assert words == at[-1] + each[-1]


def test_where_not_all_fit_the_densest_stay() -> None:
    of = view(dense(150, 0.5))
    whole = matrices.layout_of(of, 1 << 20)[1]
    at, words = matrices.layout_of(of, 2 * whole)
    assert 0 < (at >= 0).sum() < of.rows
    assert words <= whole // 2
    starts = np.sort(at[at >= 0])
    assert len(np.unique(starts)) == len(starts)


def test_a_neighbourhood_that_is_too_large_has_none() -> None:
    n = 70
    graph = SmallGraph([()] * n, [("R", 0, x) for x in range(1, n)] + [("R", 1, 2)], frozenset("R"))
    with patch.object(layout, "BITS_MOST", 2):
        at, _ = matrices.layout_of(view(graph), 1 << 20)
    assert at[0] == -1
    assert (at[1:3] >= 0).all()

"""The end of a counting nest that the CPU counts in bits, as tables (`gdb.executor.nest.neighbourhood` says what they
mean); `bitmaps` says how the kernel makes and reads the rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gdb.records import dataclass
from gdb.storage.graph.adjacency import I64

from ..nest.neighbourhood import LocalPart, Relation, build, common, counted_chain, first_inside
from ..nest.nest import Order
from ..nest.prepare import Prepared
from .address import OP, ST, B, E, R

COMMON = 4.0  # neighbours that two adjacent vertices have in common, in the mean: with fewer, rows are read too seldom
LEAST = 2  # loops below the frame: with fewer a row of bits would be made to be read once


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Where the local part of a nest begins, and its tables.

    frame, view, order, first, loops : as in a `LocalPart`.
    levels : i64[levels, ...], the set that each level loops over and its operations. skip : of each set of the nest 1
        where nothing reads it when the rest is counted in bits.
    """

    frame: int
    view: int
    order: Order
    first: int
    loops: int
    relations: I64
    operations: I64
    levels: I64
    ends: I64
    starts: I64
    sets: int
    skip: I64


def find(prepared: Prepared) -> Neighbourhood | None:
    """The neighbourhood in which the end of a nest can be counted; None where there is none, or too little in it."""
    known = counted_chain(prepared)
    if known is None:
        return None
    levels = len(known.loops) + len(known.path)
    for frame in range(max(levels - LEAST, 0)):
        best: tuple[int, int] | None = None
        for view in {view for end in known.ends for view, level in end.rows if level == frame}:
            first = first_inside(known, frame, view)
            adjacency = prepared.views[view]
            if first is not None and adjacency.simple and common.of(adjacency) >= COMMON:
                best = min(best or (first, view), (first, view))
        if best is not None:
            return _tables(build(prepared, known, frame, best[1], best[0]))
    return None


def _tables(part: LocalPart) -> Neighbourhood:
    """A local part as tables."""
    depths = [part.depth(op) for op in part.operations]
    spans = [
        (int(np.searchsorted(depths, k)), int(np.searchsorted(depths, k, side="right")))
        for k in range(part.last + 1)
    ]
    sets = [0] * part.first + list(part.bases)
    levels = [(at, *span, 0, 0, 0) for at, span in zip(sets, spans, strict=True)]
    return Neighbourhood(
        *(part.frame, part.view, part.order, part.first, part.loops),
        _table((_with_whole(part, relation) for relation in part.relations), R.N),
        _table(part.operations, OP.N),
        _table(levels, B.N),
        _table(part.ends, E.N),
        _table(part.starts, ST.N),
        part.sets,
        np.array([*part.skip, False], np.int64),
    )


def _with_whole(part: LocalPart, relation: Relation) -> tuple[int, ...]:
    """The table row of a relation: with the relation whose rows contain its rows, -1 for none."""
    whole = Relation(relation.view)
    is_part = relation == whole._replace(order=relation.order) != whole and relation.view >= 0
    known = is_part and whole in part.relations
    return *relation, part.relations.index(whole) if known else -1


def _table(rows: Iterable[tuple[int, ...]], fields: int) -> I64:
    found = [[int(x) for x in row] for row in rows]
    return np.array(found or [[0] * fields], np.int64).reshape(-1, fields)

"""A stage in parts, where the query's host memory has no room for what of its graph has none on the device.

A count that runs in passes (`unit_passes.py`), and reads nothing but the rows of roots and of the vids of a pass, is
cut at its roots: the rows of a part's roots are in page-locked memory, and each pass copies its own from the graph's
arrays, which are read in order, from the disk where they must be.

Of any other stage each level whose rows are read is bound to a part of the vids at a time, the first as well, and what
is read from there is copied to memory of the query's budget (`gdb.executor.nest.vid_ranges`); the stage of such a part
reads these blocks and nothing else of the graph, so that they fit the device. What the stage finds is the union, and
what it counts the sum, over all combinations of parts. (Blocks as in SGSI, §6.1.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64, U32, Adjacency
from gdb.storage.graph.row_blocks import rows_of_vids

from ..nest.prepare import Prepared, between, of_roots
from ..nest.vid_ranges import (
    MOST_PASSES,
    ROW,
    Passes,
    Reads,
    bindable,
    columns_bytes,
    cut_by_size,
    describe_passes,
    direct_reads,
    is_pushed_to,
    marks_of,
    reads_of,
)
from ..work.scheduler import Budget
from . import layout, residency, unit_passes
from .residency import Split
from .units import PART

_BESIDE = 16  # one part in so many of a device's room is not for blocks, and two where rows are on their way from it
LONGEST = layout.LOCAL_MOST  # list that a kernel looks at as a local graph
_AT_ONCE = 1 << 16  # roots that are looked at at once
_MOST_PARTS = 64
_FEW = 8  # roots between which parts are, without a copy of the others
# bytes of a root and of a work unit beside its row, and how many bytes of its local graph's rows have one of marks
_OF_ROOT, _OF_UNIT, _OF_MARK = 32, 12, 32
# one part in so many of what is left of a budget is held back for work units and warps, and two where page-locked
# blocks are larger than what lies there (`memory.locked_bytes`)
SPARED = 8


@dataclass(frozen=True, slots=True)
class Parts:
    """What a stage runs in, on each of its devices.

    streamed : its passes, where it runs with some of the roots of `short` at a time, by the first and the end, `roots`;
    and for itself with those of `long`, whose lists are longer than a local graph, if there are any: for these it reads
    the `rows` of these vids, u32[n].
    passes : where it does not, those of one level within those of another. Without either it runs whole.
    """

    streamed: Split | None = None
    short: Prepared | None = None
    roots: Sequence[tuple[int, int]] = ()
    long: Prepared | None = None
    rows: U32 | None = None
    passes: Sequence[Passes] = ()


def find(
    prepared: Prepared, budget: Budget, most: int, devices: int = 1, *, tallied: bool = False
) -> Parts:
    """The parts that a stage runs in.

    most : bytes of the views that may lie on each of the `devices`, which hold as much of the budget each. tallied :
    counts are added up for each vertex.
    """
    if budget.limit is None:
        return Parts()
    left = (budget.left or 0) // devices
    if residency.locked_bytes(prepared, most) <= left:
        return Parts()
    streamed = residency.streamed(prepared, most)
    # rows of bits are those of one device, for one count
    if streamed is not None and not ((devices > 1 or tallied) and unit_passes.keeps_rows(prepared)):
        found = _streamed_parts(prepared, streamed, left - 2 * left // SPARED, most)
        if found is not None:
            return found
    return Parts(passes=_passes(prepared, left, most))


def _streamed_parts(prepared: Prepared, streamed: Split, room: int, most: int) -> Parts | None:
    """The parts of a stage that is cut at its roots, each in `room` bytes of the host's memory; None where there are
    too many, or the rows for long lists have no room."""
    places = _long_lists(prepared, streamed)
    short, long, rows = prepared, None, np.zeros(0, np.uint32)
    if len(places):
        long = of_roots(prepared, places)
        view, least = streamed.views[0], min(room, most, residency.MOST)
        if 4 * _length(view, long.roots) > least:
            return None
        rows = _near(long, streamed)
        each = residency.row_bytes(split=prepared.restricted)
        if 4 * _length(view, rows) + each * (len(rows) + 1) > least:
            return None
    if len(places) > _FEW:  # they would be the ends of too many parts
        others = np.ones(len(prepared.roots), np.bool_)
        others[places] = False
        short, places = of_roots(prepared, others), places[:0]
    cuts = cut_by_size(_host_bytes(short, streamed, most), room, _MOST_PARTS)
    ends = np.unique(np.concatenate([cuts, places, places + 1])).tolist()
    ranges = [part for part in pairwise(ends) if part[0] not in places]
    return Parts(streamed, short, ranges, long, rows) if len(ranges) <= _MOST_PARTS else None


def _long_lists(prepared: Prepared, streamed: Split) -> I64:
    """The places of roots whose lists are too long for a local graph, where passes keep rows of bits, i64[n]."""
    view, roots = streamed.views[0], prepared.roots
    if not unit_passes.keeps_rows(prepared) or view.max_degree <= LONGEST:
        return np.zeros(0, np.int64)
    found = list[I64]()
    for begin in range(0, len(roots), _AT_ONCE):
        rows = view.rows_of(roots[begin : begin + _AT_ONCE])
        lengths = view.offsets[rows + 1] - view.offsets[rows]
        found.append(begin + np.flatnonzero(lengths > LONGEST))
    return np.concatenate(found)


def parts_of(
    prepared: Prepared, found: Parts, ordinal: int, budget: Budget
) -> Iterator[tuple[Prepared, Budget]]:
    """The stage, or the parts that it runs in, each with the budget of its run: what a part takes from that is given
    back when the next is made.

    Raises
    ------
    Cancelled, QueryTimeout, StoreError : as `gdb.storage.graph.row_blocks.block`.
    """
    for part, account in _each(prepared, found, ordinal, budget):
        try:
            yield part, account
        finally:  # what waits there to run it again holds it, and memory of the device
            if part is not prepared:
                part.idle["gpu"].clear()


def _each(
    prepared: Prepared, found: Parts, ordinal: int, budget: Budget
) -> Iterator[tuple[Prepared, Budget]]:
    if found.streamed is not None and found.short is not None:
        for roots in found.roots:
            with budget.part() as account:
                yield _streamed(found.short, roots, found.streamed), account
        if found.long is not None:
            with budget.part() as account:
                yield _with_long_lists(found.long, found, account), account
    elif found.passes:
        for part, account in _bound(prepared, found.passes, budget):
            yield _alone(part, len(prepared.views), ordinal), account
    else:
        yield prepared, budget


def describe_parts(prepared: Prepared, budget: Budget, most: int) -> list[str]:
    """What EXPLAIN says of a stage that runs in parts; nothing of another. Arguments as for `parts_of`."""
    parts = find(prepared, budget, most)
    if parts.streamed is not None:
        found = parts.streamed
        return [
            f"memory: {budget.limit:,} bytes, in which it runs in {len(parts.roots):,} parts, "
            "each with some of its roots",
            f"GPU memory: {found.resident:,} bytes of the graph at a time",
            f"  {describe_passes(prepared, found.level, len(found.passes))}",
        ]
    if not parts.passes:
        return []
    number = math.prod(map(len, parts.passes))
    return [
        f"memory: {budget.limit:,} bytes, in which the graph is read in {number:,} parts at most",
        *(f"  {one.describe(prepared)}" for one in parts.passes),
    ]


def _host_bytes(prepared: Prepared, found: Split, most: int) -> Iterator[I64]:
    """Bytes of the host's memory that each root takes, in pieces, i64[roots]."""
    view, roots = found.views[0], prepared.roots
    if not len(roots):
        return
    row = residency.row_bytes(split=prepared.restricted and not found.lower)
    beside = _OF_ROOT * len(roots) > most // _BESIDE  # then these are not on the device
    before = int(view.rows_of(roots[:1])[0]) - 1
    for begin in range(0, len(roots), _AT_ONCE):
        rows = view.rows_of(roots[begin : begin + _AT_ONCE])
        ends = view.offsets[rows + 1]
        # rows between those of roots are there as well
        size = 4 * np.diff(ends, prepend=view.offsets[before + 1])
        size += row * np.diff(rows, prepend=before)
        lengths = ends - view.offsets[rows]
        if unit_passes.keeps_rows(prepared):
            local = unit_passes.local_bytes(lengths)
            size += local + local // _OF_MARK + 8
        if beside:
            size += _OF_ROOT + _OF_UNIT * (lengths // PART)
        before = int(rows[-1])
        yield size


def _length(view: Adjacency, vids: U32) -> int:
    """How many neighbours the rows of some vids have; each has a row."""
    rows = view.rows_of(vids)
    return int((view.offsets[rows + 1] - view.offsets[rows]).sum())


def _near(prepared: Prepared, streamed: Split) -> U32:
    """The vids of the roots of a stage and of what lies in their lists, as far as they have rows, u32[n] ascending."""
    view, roots = streamed.views[0], prepared.roots
    at = view.rows_of(roots).tolist()
    lists = [view.neighbours[view.offsets[row] : view.offsets[row + 1]] for row in at]
    vids = np.unique(np.concatenate([roots, *lists]))
    return vids[view.rows_of(vids) >= 0]


def _with_long_lists(prepared: Prepared, found: Parts, budget: Budget) -> Prepared:
    """A stage over the rows of its roots and of what lies in these, and nothing else of the graph: all that is bound to
    a vertex lies in the list of the root."""
    assert found.streamed is not None
    assert found.rows is not None
    view = rows_of_vids(found.streamed.views[0], found.rows, budget)
    return replace(_apart(prepared), views=(view,) * len(prepared.views))


def _streamed(prepared: Prepared, roots: tuple[int, int], passes: Split) -> Prepared:
    """The part of a stage with some of its roots."""
    return replace(_apart(between(prepared, *roots)), streamed=passes)


def _apart(part: Prepared) -> Prepared:
    """A part that uses nothing of another run, whose seconds count for no other, and that is no sum over edges."""
    return replace(part, idle={"cpu": [], "gpu": []}, units={}, runs={}, by_edge=[None])


def _passes(prepared: Prepared, left: int, most: int) -> list[Passes]:
    """For each level whose rows are read its passes, in so many bytes of the host's memory; none where the stage cannot
    run in parts: what it takes too much of is said where that is taken."""
    found = _levels(prepared)
    blocks = sum(len(known.rows) + len(known.columns) for known in found.values())
    too_many = len(prepared.views) + blocks > layout.MAX_VIEWS
    if not found or too_many or any(e is not None for e in prepared.eids):
        return []
    room = _room(prepared, found.values(), left, min(most, residency.MOST))
    made = list[Passes]()
    for level, known in found.items():
        marks = marks_of(prepared, known, room // len(found)) if room > 0 else []
        if not 2 <= len(marks) <= MOST_PASSES + 1:
            return []
        made.append(Passes(level, known, tuple(marks)))
    # a block of columns is made from a whole view: these change least often
    return sorted(made, key=lambda one: not one.reads.columns)


def _room(prepared: Prepared, found: Iterable[Reads], left: int, most: int) -> int:
    """Bytes of host memory that the blocks of a part may take, beside where the rows of columns begin: `left` of the
    query's is free, and `most` of the device's, where each row, of one neighbour at least, takes more."""
    most -= -(-most // _BESIDE) * (1 if prepared.nest.counting else 3)
    fixed = sum(columns_bytes(prepared, known) for known in found)
    each = residency.row_bytes(split=prepared.restricted)
    there = (most - fixed * each // ROW) * (ROW + 4) // (each + 4)
    return min(left - left // SPARED - fixed, there)


def _levels(prepared: Prepared) -> dict[int, Reads]:
    """The levels that passes bind, so that nothing is read of a whole view; none where that cannot be."""
    if prepared.tables.loops == 0:
        return {}
    found = {level: reads_of(prepared, level) for level in (0, *bindable(prepared))}
    found = {level: known for level, known in found.items() if known.rows or known.columns}
    none, nest = Reads({}, {}), prepared.nest
    for view, level, _ in direct_reads(prepared):
        if view not in found.get(level, none).rows:
            return {}
    for node in nest.tail:
        if is_pushed_to(prepared, node):
            (level, *_) = nest.tail[node.parent].levels
            if node.back not in found.get(level, none).columns:
                return {}
    return found


def _bound(
    prepared: Prepared, passes: Sequence[Passes], budget: Budget
) -> Iterator[tuple[Prepared, Budget]]:
    if not passes:
        yield prepared, budget
        return
    first, *others = passes
    for number in range(len(first)):
        with budget.part() as account:
            bound = first.stage(prepared, number, account)
            if len(bound.roots):
                yield from _bound(bound, others, account)


def _alone(part: Prepared, wholes: int, ordinal: int) -> Prepared:
    """A part without the whole views, which are the first of its own, and not read. It runs once: no
    kernel is compiled for it, and it is no sum over edges."""
    views = [_without_rows(view) for view in part.views[:wholes]]
    views += part.views[wholes:]
    return replace(_apart(part), views=tuple(views), spent={ordinal: -math.inf})


def _without_rows(view: Adjacency) -> Adjacency:
    none = np.zeros(0, np.uint32)
    return replace(
        view, first=none, length=none, row=none, offsets=np.zeros(1, np.int64), neighbours=none
    )

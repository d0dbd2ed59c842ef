"""Residency of a stage's graph in device memory: the split of views into rows that are resident and rows that are read
in place, and the account of one query on one device. Nothing here needs a device.

A view that does not fit its share of the device is a table from row to place: the range of rows that saves most reads
lies in device memory, and the whole view in page-locked memory of the host, which kernels read through the link
(zero-copy). Where vertices are in degree order, such a range is a good choice: GCSM measured that 5 % of the vertices
take over 80 % of the accesses.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from gdb.errors import DeviceError, OutOfBudget, QueryError
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64, Adjacency
from gdb.storage.graph.row_blocks import Side

from ..nest.prepare import Prepared
from ..nest.vid_ranges import MOST_PASSES, describe_passes, reads
from ..nest.visits import GAIN, readers, visits_to_rows
from . import orientation, unit_passes

F64 = npt.NDArray[np.float64]

LEAST = 64 << 20
"""Bytes: the smallest `gpu_memory` of a query."""
MOST = sys.maxsize
"""Bytes of a query's views in device memory; tests and measurements make it small to meet rows in every place."""
SPARED = 16  # of what is free on a device this part is left to others, where a query gives no `gpu_memory`
OWN_SHARE = (
    4  # of a query's device memory at most this part is for its work units and candidate lists,
)
WARP_SHARE = 4  # and this part is held back for its warps, before views are split
OFFSETS_SHARE = (
    2  # the offsets of all rows are resident where they take at most this part of a view's room
)
FAR = 1 << 30  # bytes of warps' buffers in page-locked memory, where not one has room on the device
WINDOWS = 256  # places at which the resident rows may begin that are compared
LINE = 64  # neighbours that a visit of a row reads in the time that it takes to come to it


class NoRoom(OutOfBudget, DeviceError):
    """A stage has no room on a device: it needs more than the query's share of what is free there now, or more of the
    host's memory than the query has for what stays there. Where no device was named, the CPU is the cure."""


class Room:
    """The account of a query on one device.

    limit : bytes that it may hold there. used : bytes accounted for.
    requested : what the caller gave as `gpu_memory`, None for a share of what is free.
    """

    __slots__ = ("limit", "requested", "used")

    def __init__(self, limit: int, requested: int | None = None) -> None:
        self.limit, self.requested, self.used = limit, requested, 0

    @property
    def left(self) -> int:
        """Bytes that may still be taken."""
        return max(self.limit - self.used, 0)

    def take(self, size: int, what: str) -> None:
        """Account for `size` bytes of device memory before they are allocated.

        Raises
        ------
        OutOfBudget : they pass the limit; NoRoom, if that is a share of what is free.
        """
        if self.used + size > self.limit:
            limit = "its gpu_memory" if self.requested is not None else "the GPU's free memory"
            raise (OutOfBudget if self.requested is not None else NoRoom)(
                f"The query needs {self.used + size:,} bytes of GPU memory with {what}, "
                f"over {limit} of {self.limit:,}.",
                'Raise gpu_memory=, add a LIMIT, return count(*), or use device="cpu".',
            )
        self.used += size


def check_gpu_memory(requested: int) -> int:
    """A `gpu_memory` that a caller gave.

    Raises
    ------
    QueryError : it is less than `LEAST`.
    """
    if requested < LEAST:
        raise QueryError(
            f"gpu_memory= is {requested:,} bytes; a query on a GPU needs at least {LEAST:,} (64 MiB).",
            'Give more, or use device="cpu".',
        )
    return requested


@dataclass(frozen=True, slots=True)
class Extent:
    """What of a view is resident: the neighbours of the rows [first, last), which are at the positions [start, end);
    their splits; and the offsets of all rows, or of these."""

    first: int
    last: int
    start: int
    end: int
    all_offsets: bool

    @property
    def rows(self) -> int:
        """Number of rows that are resident."""
        return self.last - self.first


def row_bytes(*, split: bool) -> int:
    """Bytes of a row beside its neighbours: its offset, and its split where the view has them."""
    return 16 if split else 8


def view_bytes(view: Adjacency, *, split: bool) -> int:
    """Bytes of a whole view in device memory."""
    small = view.first.nbytes + view.length.nbytes + view.row.nbytes
    return small + view.neighbours.nbytes + row_bytes(split=split) * (view.rows + 1)


def extent_bytes(view: Adjacency, extent: Extent, *, split: bool) -> int:
    """Bytes of device memory that an extent takes."""
    offsets = view.rows + 1 if extent.all_offsets else extent.rows + 1
    size = 4 * (extent.end - extent.start) + (8 * extent.rows if split else 0)
    return size + 8 * offsets if extent.rows or extent.all_offsets else 0


def extent(view: Adjacency, room: int, value: F64 | None, *, split: bool) -> Extent:
    """The rows of a view that are worth most of all that follow one another and take at most `room` bytes of device
    memory. The offsets of all rows are worth more than rows: each spares a read of every row that is not there.

    value : what each row saves if it is resident, f64[rows]; None: the first rows save most.
    """
    all_offsets = 8 * (view.rows + 1) <= room // OFFSETS_SHARE
    each = 8 * (split + (not all_offsets))
    left = room - 8 * (view.rows + 1) if all_offsets else room - 8
    if not view.rows or left <= 0:
        return Extent(0, 0, 0, 0, all_offsets)
    sizes = each * np.arange(view.rows + 1, dtype=np.int64) + 4 * view.offsets
    firsts = np.zeros(1, np.int64)
    if value is not None:
        marks = np.linspace(0, int(sizes[-1]), WINDOWS)
        firsts = np.unique(np.searchsorted(sizes, marks).clip(0, view.rows - 1))
    lasts = np.searchsorted(sizes, sizes[firsts] + left, side="right") - 1
    best = 0
    if value is not None:
        total = np.concatenate([[0.0], np.cumsum(value)])
        best = int(np.argmax(total[lasts] - total[firsts]))
    first, last = int(firsts[best]), int(lasts[best])
    return Extent(first, last, int(view.offsets[first]), int(view.offsets[last]), all_offsets)


@dataclass(frozen=True, slots=True)
class Pass:
    """A run in which one level is bound to the vids [lo, hi) only, whose rows are the extent; an empty one where a
    single row is too large."""

    lo: int
    hi: int
    extent: Extent


@dataclass(frozen=True, slots=True)
class Split:
    """What of a stage's views is resident.

    views : those that are placed; where only their lower sides are read and the whole would not fit, these sides.
    lower : whether that is so. extents : of each view, None where it is whole. resident : bytes in device memory.
    streamed : bytes of the rest, which kernels read through the link wherever they come to it.
    level, splits, passes : where the stage runs once for each part of a level's vids, these, and whether the splits of
        their rows are resident; extents are those of the first.
    """

    views: tuple[Adjacency, ...]
    lower: bool
    extents: tuple[Extent | None, ...]
    resident: int
    streamed: int
    level: int = -1
    splits: bool = False
    passes: tuple[Pass, ...] = ()

    @property
    def cold(self) -> bool:
        """Whether some rows are read through the link."""
        return any(found is not None for found in self.extents)


def split_views(prepared: Prepared, room: int) -> Split:
    """The resident rows of a stage's views, with `room` bytes in device memory for them: everything, or of each view a
    part by its size.

    Raises
    ------
    NoRoom : it is streamed, and its passes have no room any more.
    """
    if isinstance(prepared.streamed, Split):
        if prepared.streamed.resident > room:
            raise NoRoom(
                f"The query needs passes over parts of its graph, for which {room:,} bytes of GPU memory are left.",
                'Raise gpu_memory=, end other programs on the GPU, or use device="cpu".',
            )
        return prepared.streamed
    room, views, restricted = min(room, MOST), tuple(prepared.views), prepared.restricted
    eids = sum({id(e): e.nbytes for e in prepared.eids if e is not None}.values())
    total = _size(views, split=restricted) + eids
    if total <= room:
        return Split(views, False, (None,) * len(views), total, 0)
    lower, views = _sides(prepared)
    if lower:
        total = _size(views, split=False)
        if total <= room:
            return Split(views, True, (None,) * len(views), total, 0)
    # edge ids are read in place whole: they are looked at for what is found, not on the way to it
    splits = restricted and not lower
    every, found = _size(views, split=splits), dict[int, Extent]()
    visits = [visits_to_rows(prepared, k) for k in range(len(views))]
    for view, often in zip(views, visits, strict=True):
        if id(view) not in found:
            share = room * view_bytes(view, split=splits) // max(every, 1)
            value = None if lower else _value(view, often)
            found[id(view)] = extent(view, share, value, split=splits)
    distinct = {id(view): view for view in views}
    resident = sum(extent_bytes(distinct[k], e, split=splits) for k, e in found.items())
    if len(distinct) == 1 and not eids and prepared.nest.counting:
        (view,), (best,) = distinct.values(), found.values()
        passes = _passes(prepared, view, best, visits[0], room, split=splits)
        _, splits, several = passes
        if several:
            resident = max(extent_bytes(view, p.extent, split=splits) for p in several)
            extents = (several[0].extent,) * len(views)
            return Split(views, lower, extents, resident, total - resident, *passes)
    return Split(views, lower, tuple(found[id(v)] for v in views), resident, total - resident)


def _sides(prepared: Prepared) -> tuple[bool, tuple[Adjacency, ...]]:
    """Whether a stage that does not fit reads but the lower sides of its views, and what is placed then."""
    if prepared.restricted and orientation.reads_lower_sides(prepared):
        return True, tuple(map(orientation.lower_side, prepared.views))
    return False, tuple(prepared.views)


def streamed(prepared: Prepared, room: int) -> Split | None:
    """As `split_views`, of a stage that runs in passes whatever they cost, so that nothing but the rows of its roots is
    read in place, where their lists are no longer than a local graph; None where that cannot be."""
    room = min(room, MOST)
    if any(e is not None for e in prepared.eids) or not unit_passes.reads_no_other_rows(prepared):
        return None
    lower, views = _sides(prepared)
    if len({id(view) for view in views}) > 1:
        return None
    view, split = views[0], prepared.restricted and not lower
    visits = visits_to_rows(prepared, 0)
    level, splits, passes = _passes(prepared, view, None, visits, room, split=split)
    if not passes or any(one.extent.rows == 0 for one in passes):
        return None
    resident = max(extent_bytes(view, one.extent, split=splits) for one in passes)
    extents, rest = (passes[0].extent,) * len(views), _size(views, split=split) - resident
    return Split(views, lower, extents, resident, rest, level, splits, passes)


def locked_bytes(prepared: Prepared, room: int) -> int:
    """Bytes of page-locked memory that a stage takes for its graph, of whose views `room` bytes may lie on the device;
    0 where all fit there."""
    room, split = min(room, MOST), prepared.restricted
    eids = sum({id(e): e.nbytes for e in prepared.eids if e is not None}.values())
    if _size(tuple(prepared.views), split=split) + eids <= room:
        return 0
    lower, views = _sides(prepared)
    if lower and _size(views, split=False) <= room:
        return 0
    each = row_bytes(split=split and not lower)
    return eids + sum(
        v.neighbours.nbytes + each * (v.rows + 1) for v in {id(v): v for v in views}.values()
    )


def _passes(
    prepared: Prepared,
    view: Adjacency,
    best: Extent | None,
    visits: dict[int, F64],
    room: int,
    *,
    split: bool,
) -> tuple[int, bool, tuple[Pass, ...]]:
    """The level, whether the splits of its rows are resident, and its passes, where they are expected to take less time
    than reads through the link; else none.

    view : what is placed. best : what would be resident without passes; None: there is no other way. visits : see
    `visits_to_rows`.
    """
    level = unit_passes.level_of(prepared)
    if level not in visits:
        return -1, split, ()
    split = split and any(k == level and side is not Side.BOTH for _, k, side in reads(prepared))
    all_visits, kept = visits, 0.0
    if unit_passes.keeps_rows(prepared):  # then no level further in reads a row
        visits = {level: visits[level]}
        expected = prepared.plan.notes.estimates[level + 1 : level + 2]
        kept = min((*expected, float(len(view.neighbours))))
    found = list[Extent]()
    both = {all_: _windows(view, room, split=split, all_offsets=all_) for all_ in (True, False)}
    several = [(all_offsets, windows) for all_offsets, windows in both.items() if windows]
    if best is None and len(several) == 1:  # then it matters not what it costs
        ((_, found),) = several
        several = []
    sizes = np.diff(view.offsets) if several else np.zeros(0, np.int64)
    cheapest = float("inf")
    for all_offsets, windows in several:
        each = unit_passes.READ * (1 if all_offsets else 2)
        row = each + 4 * unit_passes.BYTE * sizes
        later = sum(float((often * row).sum()) for k, often in visits.items() if k > level)
        pairs, size = unit_passes.root_visits(prepared, view, _ends(prepared, view, windows))
        moved = size + 4 * len(view.neighbours) + (0 if all_offsets else 8 * view.rows)
        marked = unit_passes.mark_bits(prepared, len(windows), len(view.neighbours))
        moved += 0 if all_offsets or marked.starts else unit_passes.OFFSET * pairs
        cost = later + pairs * unit_passes.VISIT + 2 * kept * unit_passes.READ
        cost += moved * unit_passes.BYTE + len(windows) * unit_passes.PASS
        if cost < cheapest:
            cheapest, found = cost, windows
    if not found:
        return -1, split, ()
    if best is not None:
        each = unit_passes.READ * (1 if best.all_offsets else 2)
        row = each + 4 * unit_passes.BYTE * sizes
        row[best.first : best.last] = 0.0
        stay = sum(float((often * row).sum()) for often in all_visits.values())
        if cheapest > GAIN * (stay + len(prepared.roots) * each):
            return -1, split, ()
    ends = _ends(prepared, view, found).tolist()
    fitting = (w if w.rows else replace(w, last=w.first, end=w.start) for w in found)
    return level, split, tuple(Pass(*p) for p in zip([0, *ends], ends, fitting, strict=False))


def _ends(prepared: Prepared, view: Adjacency, windows: list[Extent]) -> I64:
    """Where the range of vids of each window's rows ends, i64[windows]."""
    vids = view.vids()
    return np.array([*(int(vids[w.first]) for w in windows[1:]), prepared.vids], np.int64)


def _windows(view: Adjacency, room: int, *, split: bool, all_offsets: bool) -> list[Extent]:
    """Extents that fit, one after another, over all rows; empty for a row that does not fit. None at all where they
    would be too many, or the offsets of all rows take more than their part.

    split, all_offsets : whether the splits of their rows and the offsets of all rows are resident.
    """
    fixed = 8 * (view.rows + 1) if all_offsets else 8
    each = 8 * (split + (not all_offsets))
    left = room - fixed
    sizes = each * np.arange(view.rows + 1, dtype=np.int64) + 4 * view.offsets
    if left <= 0 or (all_offsets and fixed > room // OFFSETS_SHARE):
        return []
    if int(sizes[-1]) > MOST_PASSES * left:
        return []
    found, first = list[Extent](), 0
    while first < view.rows:
        last = int(np.searchsorted(sizes, sizes[first] + left, side="right")) - 1
        start, end = int(view.offsets[first]), int(view.offsets[last])
        found.append(Extent(first, last, start, end, all_offsets))
        first = max(last, first + 1)
    return found if len(found) <= MOST_PASSES else []


def _size(views: tuple[Adjacency, ...], *, split: bool) -> int:
    return sum(view_bytes(v, split=split) for v in {id(v): v for v in views}.values())


def _value(view: Adjacency, visits: dict[int, F64]) -> F64 | None:
    """About how much each row of a view saves if it is resident, f64[rows]: its visits, times what one costs."""
    if not visits:
        return None
    value: F64 = sum(visits.values(), np.zeros(view.rows))
    return value * (1 + np.diff(view.offsets) / LINE)


def read_in_place(prepared: Prepared, found: Split) -> tuple[int, int]:
    """About how many rows kernels come to that are not resident, each as often as they come to it, and the bytes of all
    of them: what goes through the link at most, for of a long row that is searched only a part is read.

    Cost: some passes over the rows of each view.
    """
    rows = size = 0.0
    for k, (view, part) in enumerate(zip(found.views, found.extents, strict=True)):
        if part is None:
            continue
        visits = visits_to_rows(prepared, k)
        if 0 in readers(prepared, k) and not found.passes:
            once = np.isin(view.vids(), prepared.roots).astype(np.float64)
            visits[0] = visits[0] + once if 0 in visits else once
        often = np.zeros(view.rows)
        bits = found.passes and unit_passes.keeps_rows(prepared)
        for level, times in visits.items():
            often += 0 if level == found.level or bits else times
        often[part.first : part.last] = 0.0 if not found.passes else often[part.first : part.last]
        each = 4 * np.diff(view.offsets) + (0 if part.all_offsets else 16)
        if found.passes:
            ends = np.array([one.hi for one in found.passes], np.int64)
            pairs, length = unit_passes.root_visits(prepared, view, ends)
            marked = unit_passes.mark_bits(prepared, len(ends), len(view.neighbours))
            offset = 0 if part.all_offsets or marked.starts else unit_passes.OFFSET
            rows, size = rows + pairs, size + length + pairs * offset
        rows, size = rows + float(often.sum()), size + float((often * each).sum())
    return round(rows), round(size)


def describe_residency(prepared: Prepared, room: int) -> list[str]:
    """What is resident and what is streamed, in lines for EXPLAIN."""
    found = split_views(prepared, room)
    sides = " (lower sides)" if found.lower else ""
    if not found.cold:
        return [f"GPU memory: {found.resident:,} bytes of the graph{sides}, all of it resident"]
    lines = [
        f"GPU memory: {found.resident:,} bytes of the graph{sides} resident, "
        f"{found.streamed:,} read in place through the link"
    ]
    rows, size = read_in_place(prepared, found)
    reads = [f"  about {rows:,} rows of {size:,} bytes in all are read so"] if rows else []
    if found.passes:
        lines.append(f"  {describe_passes(prepared, found.level, len(found.passes))}")
        return lines + reads
    seen: set[int] = set()
    for view, spec, part in zip(found.views, prepared.specs, found.extents, strict=True):
        if part is not None and id(view) not in seen:
            seen.add(id(view))
            types = "|".join(spec.types) or "all types"
            lines.append(
                f"  {types} {spec.direction}: rows {part.first:,} to {part.last:,} of {view.rows:,}, "
                f"{part.end - part.start:,} of {len(view.neighbours):,} neighbours"
            )
    return lines + reads

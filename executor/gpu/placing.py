"""A stage's graph on its device: views whole, or split between device memory and page-locked memory of the host
(`residency.py` says how), values and edge ids; the table with the addresses of all of it, for the kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gdb.records import dataclass
from gdb.storage.graph.adjacency import I64, Adjacency, Places
from gdb.storage.graph.row_blocks import split_positions

from ..nest.nest import VertexLevel
from ..nest.prepare import Prepared
from ..table_fields import ValueField, ViewField
from ..work.scheduler import Budget
from . import compiler, layout, memory, pinned, render, residency, unit_passes
from .layout import PlaceField
from .memory import Block, DeviceArray, HostArray
from .own_arrays import Borrowed
from .pinned import LockedCopy
from .residency import Extent, Pass, Room


def missing_bytes(prepared: Prepared, ordinal: int) -> int:
    """Bytes of a stage's graph that do not lie on a device yet."""
    there = sum(a.nbytes for a in lasting(prepared) if memory.RESIDENTS.has(a, ordinal))
    return max(prepared.bytes - there, 0)


def lasting(prepared: Prepared) -> list[HostArray]:
    """Arrays of a stage that outlive the query: those of the snapshot's partitions, and values of its elements."""
    found: list[HostArray] = [e for e in prepared.eids if e is not None]
    for view in prepared.views:
        found += [view.first, view.length, view.row, view.offsets, view.neighbours]
    found += [side for sides in prepared.values for side in sides]
    return list({id(a): a for a in found}.values())


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A pass of a stage: its number, the vids [lo, hi) that its level is bound to, the table of views for it,
    i64[views, len(ViewField)], and what is copied before: address on the device, address in page-locked memory, bytes;
    or address on the device, and what lies in other memory of the host."""

    number: int
    lo: int
    hi: int
    views: I64
    copies: list[tuple[int, int, int]]
    sends: list[tuple[int, HostArray]]

    @property
    def bytes(self) -> int:
        """That are copied before."""
        return sum(size for *_, size in self.copies) + sum(a.nbytes for _, a in self.sends)


def ends_last(turns: list[Turn]) -> list[Turn]:
    """Passes in an order with the two first and last that copy most: a run goes through them in the order opposite to
    that of the run before, and what lies on the device then need not be copied."""
    if len(turns) < 3:
        return turns
    *others, second, first = sorted(turns, key=lambda turn: turn.bytes)
    return [first, *sorted(others, key=lambda turn: turn.number), second]


class Placed:
    """The graph of a prepared stage on device `ordinal`, which must be current when it is placed.

    split : which rows are resident. rows_of_a_pass : where the neighbours of each pass lie, with `turns`. kept : what
    must live as long as kernels read it. moved_bytes : what placing it copied to the device.

    Of a stage that is streamed, page-locked memory has the rows of its roots, and nothing else of the graph.
    """

    def __init__(self, prepared: Prepared, ordinal: int, budget: Budget, room: Room) -> None:
        self.prepared, self.ordinal = prepared, ordinal
        self._budget, self._room = budget, room
        self.kept: list[DeviceArray | LockedCopy] = []
        self.moved_bytes = 0
        self._splits: dict[int, DeviceArray | LockedCopy] = {}  # by the view's id
        self._place_of = np.zeros(len(PlaceField), np.int64)  # of the view that was split last

    def place(self, most: int) -> I64:
        """Copy to the device what is resident and not there yet, at most `most` bytes; the table of views, i64[views,
        len(ViewField)].

        Raises
        ------
        OutOfBudget : page-locked memory for the rest passes the query's host memory.
        """
        self.split = residency.split_views(self.prepared, most)
        self._room.take(self.split.resident, "its graph")
        rows = [self._view_row(k) for k in range(len(self.prepared.views))]
        return np.array(rows, np.int64).reshape(-1, len(ViewField))

    @property
    def cold(self) -> bool:
        """Whether the kernels must look for rows in two memories."""
        return self.split.cold

    def values(self) -> I64:
        """The table of comparisons, whose arrays are placed, i64[comparisons, len(ValueField)]."""
        prepared = self.prepared
        table = np.zeros((len(prepared.values), len(ValueField)), np.int64)
        for row, sides, bounds in zip(table, prepared.values, prepared.bounds, strict=True):
            row[: ValueField.LEAST] = [
                self._anywhere(side, "values that it compares") for side in sides
            ]
            row[ValueField.LEAST :] = bounds
        return table

    def splits_of(self, k: int) -> Callable[[Places, Places], I64]:
        """A function that gives ViewField.SPLIT of some rows of view k, as positions of the stage's own view, i64[n];
        several threads may call it at once, with what `Adjacency.rows_at` gives."""
        view = self.prepared.views[k]
        if self.split.lower:
            own, lower = view.offsets, self.split.views[k].offsets
            return lambda rows, after: own[rows] + lower[after] - lower[rows]
        if self.prepared.streamed is not None:
            splits = split_positions(view)
            return lambda rows, _: splits[rows]
        found = self._splits[id(view)]
        if isinstance(found, LockedCopy):
            whole: I64 = found.block.array((view.rows,), np.int64)
        else:
            whole = pinned.download(found, np.int64)
        return lambda rows, _: whole[rows]

    # ---- passes ------------------------------------------------------------------------------------

    def turns(self, views: I64) -> list[Turn]:
        """What changes from pass to pass of a stage that runs in several; nothing where it runs once. All passes use
        the same device memory.

        views : the table of views.
        """
        several = self.split.passes
        if not several:
            return []
        extents = [one.extent for one in several]
        rows = max(e.rows for e in extents)
        most = max(e.end - e.start for e in extents)
        self.rows_of_a_pass = self._keep(memory.empty((max(most, 1),), np.uint32))
        at = {ViewField.NEIGHBOURS: self.rows_of_a_pass.data.ptr}
        if not extents[0].all_offsets:
            at[ViewField.OFFSETS] = self._own(rows + 1, np.int64)
        if self.split.splits:
            at[ViewField.SPLIT] = self._own(rows, np.int64)
        lo, hi = self._bound() if self.prepared.streamed is not None else (0, self.prepared.vids)
        some = [k for k, one in enumerate(several) if one.lo < hi and one.hi > lo]
        # where nothing is to be done one pass finds that out
        return ends_last([self._turn(views, k, several[k], at) for k in some or [0]])

    def _bound(self) -> tuple[int, int]:
        """The range of vids that the level of the passes may be bound to, of these roots."""
        roots, level = self.prepared.roots, self.prepared.nest.levels[self.split.level]
        assert isinstance(level, VertexLevel)
        lo = int(roots[0]) + 1 if level.cut.above else 0
        return lo, int(roots[-1]) if level.cut.below else self.prepared.vids

    def _own(self, count: int, dtype: type[np.generic]) -> int:
        """Address of device memory for so many elements."""
        return self._keep(memory.empty((max(count, 1),), dtype)).data.ptr

    def _turn(self, views: I64, number: int, one: Pass, at: dict[ViewField, int]) -> Turn:
        """A pass. at : of each column that changes where its device memory begins."""
        extent, row = one.extent, views[0].copy()
        place, copies = self._place_of.copy(), list[tuple[int, int, int]]()
        sends = list[tuple[int, HostArray]]()
        cold = {
            ViewField.NEIGHBOURS: place[PlaceField.COLD],
            ViewField.OFFSETS: place[PlaceField.COLD_OFFSETS],
            ViewField.SPLIT: place[PlaceField.COLD_SPLIT],
        }
        ranges = {
            ViewField.NEIGHBOURS: (extent.start, extent.end, 4),
            ViewField.OFFSETS: (extent.first, extent.last + 1 if extent.rows else extent.first, 8),
            ViewField.SPLIT: (extent.first, extent.last, 8),
        }
        for column, address in at.items():
            start, stop, size = ranges[column]
            row[column] = address - start * size
            if stop > start and self.prepared.streamed is not None:
                sends.append((address, self._arrays[column][start:stop]))
            elif stop > start:
                source = int(cold[column]) + start * size
                copies.append((address, source, (stop - start) * size))
        place[PlaceField.START], place[PlaceField.SIZE] = extent.start, extent.end - extent.start
        if ViewField.OFFSETS in at:
            place[PlaceField.ROW], place[PlaceField.ROWS] = extent.first, extent.rows
        if ViewField.SPLIT in at:
            place[PlaceField.SPLIT_ROW], place[PlaceField.SPLIT_ROWS] = extent.first, extent.rows
        elif self.split.lower:
            place[PlaceField.SPLIT_ROW : PlaceField.SPLIT_ROWS + 1] = place[
                PlaceField.ROW : PlaceField.ROWS + 1
            ]
            row[ViewField.SPLIT] = row[ViewField.OFFSETS] + 8
        row[ViewField.PLACE] = self._keep(memory.upload(place)).data.ptr
        return Turn(number, one.lo, one.hi, np.tile(row, (len(views), 1)), copies, sends)

    def mark(self, job: I64, units: int, view: I64) -> None:
        """Write the mark of each of so many work units of a job.

        view : its row of the table of views, none of whose rows are resident.
        """
        ends = np.array([one.hi for one in self.split.passes], np.int64)
        cut = unit_passes.marks_of(self.prepared, ends, len(self.split.views[0].neighbours))
        marks, bits = np.int64(job[layout.Job.MARKS]), (layout.Job.PASS_BITS, layout.Job.START_BITS)
        job[[*bits, layout.Job.CUTS]] = cut[5:8]
        blocks = min(-(-units // layout.BLOCK_THREADS), 1 << 16)
        names = (layout.Job.ROOTS, layout.Job.UNIT_ROOTS, layout.Job.FIRST_UNIT)
        arguments = (memory.upload(view), *(np.int64(job[name]) for name in names))
        kernel = compiler.generic(self.ordinal, render.MARK, cold=True)
        last = np.int64(units), memory.upload(cut), marks
        kernel((blocks,), (layout.BLOCK_THREADS,), (*arguments, *last))

    # ---- views -------------------------------------------------------------------------------------

    def _view_row(self, k: int) -> list[int]:
        """Row of the view table."""
        view, eids, extent = self.split.views[k], self.prepared.eids[k], self.split.extents[k]
        row = [0] * len(ViewField)
        row[ViewField.INTERVALS] = len(view.first)
        for column, array in (
            (ViewField.FIRST, view.first),
            (ViewField.LENGTH, view.length),
            (ViewField.ROW, view.row),
        ):
            row[column] = self._resident(array)
        if len(view.first):
            row[ViewField.FIRST0] = int(view.first[0])
            row[ViewField.LENGTH0] = int(view.length[0])
            row[ViewField.ROW0] = int(view.row[0])
        if extent is not None:
            self._split_rows(row, view, extent)
            if eids is not None:
                row[ViewField.EIDS] = self._locked(eids).address
            return row
        row[ViewField.OFFSETS] = self._resident(view.offsets)
        row[ViewField.NEIGHBOURS] = self._resident(view.neighbours)
        if eids is not None:
            row[ViewField.EIDS] = self._resident(eids)
        if self.prepared.restricted and len(view.first):
            if self.split.lower:
                row[ViewField.SPLIT] = row[ViewField.OFFSETS] + 8  # a row is split at its end
                return row
            split = self._keep(self._whole_split(view, row))
            self._splits[id(view)] = split
            row[ViewField.SPLIT] = split.data.ptr
        return row

    def _split_rows(self, row: list[int], view: Adjacency, extent: Extent) -> None:
        """The columns of a view whose rows in an extent are resident."""
        if self.prepared.streamed is not None:
            self._stream_rows(row, view, extent)
            return
        cold = self._locked(view.neighbours), self._locked(view.offsets)
        place = np.zeros(len(PlaceField), np.int64)
        place[PlaceField.COLD], place[PlaceField.COLD_OFFSETS] = (one.address for one in cold)
        row[ViewField.OFFSETS], row[ViewField.NEIGHBOURS] = cold[1].address, cold[0].address
        split: LockedCopy | None = None
        if self.prepared.restricted and view.rows and not self.split.lower:
            split = self._splits[id(view)] = self._cold_split(view, row, place)
            place[PlaceField.COLD_SPLIT] = row[ViewField.SPLIT] = split.address
        self._place_of = place
        first, last = (0, view.rows) if extent.all_offsets else (extent.first, extent.last)
        if self.split.passes and not extent.all_offsets:
            last = first  # the passes have memory of their own
        if last > first:
            place[PlaceField.ROW], place[PlaceField.ROWS] = first, last - first
            row[ViewField.OFFSETS] = self._part(view.offsets, cold[1], first, last + 1)
        resident = extent.rows and not self.split.passes
        if resident:
            place[PlaceField.START], place[PlaceField.SIZE] = (
                extent.start,
                extent.end - extent.start,
            )
            bounds = extent.start, extent.end
            row[ViewField.NEIGHBOURS] = self._part(view.neighbours, cold[0], *bounds)
        if split is not None and resident:
            place[PlaceField.SPLIT_ROW], place[PlaceField.SPLIT_ROWS] = extent.first, extent.rows
            row[ViewField.SPLIT] = self._part(
                view.offsets, split, extent.first, extent.last, "splits"
            )
        if self.split.lower and view.rows:
            place[PlaceField.SPLIT_ROW : PlaceField.SPLIT_ROWS + 1] = place[
                PlaceField.ROW : PlaceField.ROWS + 1
            ]
            place[PlaceField.COLD_SPLIT] = cold[1].address + 8
            row[ViewField.SPLIT] = row[ViewField.OFFSETS] + 8
        row[ViewField.PLACE] = self._keep(memory.upload(place)).data.ptr

    def _stream_rows(self, row: list[int], view: Adjacency, extent: Extent) -> None:
        """The columns of a view whose rows of roots are in page-locked memory, such that positions and numbers of rows
        are those of the whole view, and whose others come by passes."""
        ends = view.rows_of(self.prepared.roots[[0, -1]])
        first, last = int(ends[0]), int(ends[-1]) + 1
        start, end = int(view.offsets[first]), int(view.offsets[last])
        parts: list[HostArray] = [
            view.offsets[first : last + 1],
            view.neighbours[start:end],
        ]
        self._arrays: dict[ViewField, HostArray] = {
            ViewField.OFFSETS: view.offsets,
            ViewField.NEIGHBOURS: view.neighbours,
        }
        if self.prepared.restricted and not self.split.lower:
            self._arrays[ViewField.SPLIT] = split_positions(view)
            parts.insert(1, self._arrays[ViewField.SPLIT][first:last])
        own = self._rows_of_roots = Borrowed(
            sum(part.nbytes for part in parts), self._budget, "the rows of its roots"
        )
        at = [own.put(part) for part in parts]
        place = np.zeros(len(PlaceField), np.int64)
        row[ViewField.OFFSETS] = place[PlaceField.COLD_OFFSETS] = at[0] - 8 * first
        row[ViewField.NEIGHBOURS] = place[PlaceField.COLD] = at[-1] - 4 * start
        if len(parts) > 2:
            row[ViewField.SPLIT] = place[PlaceField.COLD_SPLIT] = at[1] - 8 * first
        if extent.all_offsets:
            place[PlaceField.ROWS] = view.rows
            row[ViewField.OFFSETS] = self._resident(view.offsets)
        if self.split.lower:
            place[PlaceField.SPLIT_ROWS] = place[PlaceField.ROWS]
            place[PlaceField.COLD_SPLIT] = place[PlaceField.COLD_OFFSETS] + 8
            row[ViewField.SPLIT] = row[ViewField.OFFSETS] + 8
        self._place_of = place
        row[ViewField.PLACE] = self._keep(memory.upload(place)).data.ptr

    def _part(
        self, array: HostArray, locked: LockedCopy, start: int, stop: int, what: str = ""
    ) -> int:
        """Address of a device copy of the elements [start, stop) that lie in page-locked memory, such that their
        numbers are its indices.

        array : what they are the elements of, or by `what` were made of, whose elements are as large.
        """

        def make() -> DeviceArray:
            copy = memory.empty((stop - start,), array.dtype.type)
            memory.to_device(copy.data.ptr, locked.address + start * array.itemsize, copy.nbytes)
            self.moved_bytes += copy.nbytes
            return copy

        name = f"{what} {start} {stop}"
        made = self._keep(memory.RESIDENTS.made_of(array, self.ordinal, name, make))
        return made.data.ptr - start * array.itemsize

    def _whole_split(self, view: Adjacency, row: list[int]) -> DeviceArray:
        """ViewField.SPLIT of a view that is resident, made on the device when first needed."""

        def make() -> DeviceArray:
            split = memory.empty((view.rows,), np.int64)
            self._fill_split(view, row, split.data.ptr, cold=False)
            return split

        return memory.RESIDENTS.made_of(view.neighbours, self.ordinal, "split", make)

    def _cold_split(self, view: Adjacency, row: list[int], place: I64) -> LockedCopy:
        """The same of a view in page-locked memory, made there by the device."""

        def make(block: Block) -> None:
            table = list(row)
            placed = memory.upload(place)
            table[ViewField.PLACE] = placed.data.ptr
            self._fill_split(view, table, block.address, cold=True)
            memory.settle()

        return self._hold(
            pinned.CACHE.made_of(view.neighbours, "split", 8 * view.rows, make, self._budget)
        )

    def _fill_split(self, view: Adjacency, row: list[int], address: int, *, cold: bool) -> None:
        blocks = min(-(-view.rows // layout.BLOCK_THREADS), 1 << 16)
        table = memory.upload(np.array(row, np.int64))
        arguments = (table, np.int64(view.rows), np.int64(address))
        kernel = compiler.generic(self.ordinal, render.SPLIT, cold=cold)
        kernel((blocks,), (layout.BLOCK_THREADS,), arguments)

    # ---- arrays ------------------------------------------------------------------------------------

    def _anywhere(self, array: HostArray, what: str) -> int:
        """Address of an array that outlives the query, on the device where there is room for it."""
        if self.cold or array.nbytes > self._room.left // 2:
            return self._locked(array).address
        self._room.take(array.nbytes, what)
        return self._resident(array)

    def _resident(self, array: HostArray) -> int:
        """Address of the device's copy of an array that outlives the query."""
        if not memory.RESIDENTS.was_used(array, self.ordinal):  # also what was copied ahead
            self.moved_bytes += array.nbytes
        made = memory.RESIDENTS.made_of(array, self.ordinal, "", lambda: pinned.upload(array))
        return self._keep(made).data.ptr

    def _locked(self, array: HostArray) -> LockedCopy:
        return self._hold(pinned.CACHE.copy_of(array, self._budget))

    def _hold(self, locked: LockedCopy) -> LockedCopy:
        self.kept.append(locked)
        return locked

    def _keep(self, array: DeviceArray) -> DeviceArray:
        self.kept.append(array)
        return array

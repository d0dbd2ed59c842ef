"""What one thread needs to run the kernel: its state, buffers and scratch, and the host addresses of
the graph. Workers wait with their stage and are used again, so that a small query allocates nothing.
"""

from __future__ import annotations

import threading
import weakref

import numpy as np
import numpy.typing as npt

from gdb.executor.cpu import address, kernel
from gdb.executor.cpu.address import compiled, load_i64, load_u32, store_i64
from gdb.executor.cpu.sets import lower_bound
from gdb.executor.prepare import Prepared
from gdb.executor.tables import NodeField, Role
from gdb.storage.adjacency import I64, U32, Adjacency

_splits_lock = threading.Lock()
_splits: weakref.WeakKeyDictionary[Adjacency, I64] = weakref.WeakKeyDictionary()


def _split(
    first: int, length: int, row: int, intervals: int, offsets: int, near: int, out: int
) -> None:
    for k in range(intervals):
        vid, at = load_u32(first, k), load_u32(row, k)
        for i in range(load_u32(length, k)):
            start, end = load_i64(offsets, at + i), load_i64(offsets, at + i + 1)
            store_i64(out, at + i, lower_bound(near, start, end, vid + i))


_fill_split = compiled(_split, entry=True)


def split(view: Adjacency) -> I64:
    """For each row the position of its first neighbour that is not below the row's own vid,
    i64[rows]; computed once for each view."""
    with _splits_lock:  # workers hold its address, so there must never be two
        found = _splits.get(view)
        if found is not None:
            return found
        found = np.empty(max(view.rows, 1), np.int64)
        _fill_split(
            view.first.ctypes.data,
            view.length.ctypes.data,
            view.row.ctypes.data,
            len(view.first),
            view.offsets.ctypes.data,
            view.neighbours.ctypes.data,
            found.ctypes.data,
        )
        _splits[view] = found
    return found


class Worker:
    """State and buffers of one thread; the kernel goes on from them at every launch.

    Parameters
    ----------
    capacity : rows that its output buffer holds.
    """

    def __init__(self, prepared: Prepared, capacity: int) -> None:
        tables = prepared.tables
        n = max(len(tables.levels), 1)
        self.prepared, self.capacity = prepared, 1 if tables.counting else capacity
        self.kept: list[npt.NDArray[np.generic]] = []
        self.control = np.zeros(address.CONTROL, np.int64)
        self.v, self.address, self.position, self.end, self.start = np.zeros((5, n), np.int64)
        arrays = (
            *(tables.levels, tables.sets, tables.refs, tables.checks, tables.nodes),
            *self._graph(),
            self.v,
            np.zeros(max(len(tables.sets), 1), np.int64),
            np.empty(tables.buffer, np.uint32),
            np.zeros(n, np.int64),
            *(self._marks(), self._states()),
        )
        self.kept += arrays
        self.pointers = np.array([x.ctypes.data for x in arrays], np.int64)
        self.out_vids = np.empty((max(len(tables.vertex_columns), 1), self.capacity), np.uint32)
        self.out_eids = np.empty((max(len(tables.edge_columns), 1), self.capacity), np.int64)
        state = (self.address, self.position, self.start, self.end)
        self.state = tuple(x.ctypes.data for x in (self.control, *state))
        self.out = (self.out_vids.ctypes.data, self.out_eids.ctypes.data)

    def _zeros(self, size: int, dtype: type[np.generic]) -> int:
        self.kept.append(np.zeros(size, dtype))
        return int(self.kept[-1].ctypes.data)

    def _graph(self) -> tuple[I64, I64, I64, I64]:
        """Views, whether each is simple, lists, bitsets: addresses of what `prepared` keeps."""
        prepared = self.prepared
        views = np.zeros((max(len(prepared.views), 1), address.N_VIEW), np.int64)
        for i, view in enumerate(prepared.views):
            views[i] = _view_row(view, prepared.eids[i], restricted=prepared.restricted)
        simple = np.array([int(v.simple) for v in prepared.views] or [1], np.int64)
        lists = [(x.ctypes.data, len(x)) for x in prepared.lists]
        bits = [b.ctypes.data for b in prepared.bit_sets]
        return (
            views,
            simple,
            np.array(lists or [(0, 0)], np.int64).reshape(-1, 2),
            np.array(bits or [0], np.int64),
        )

    def _marks(self) -> I64:
        marks = self.prepared.tables.marks
        table = np.zeros((max(len(marks), 1), address.N_MARK), np.int64)
        for i in range(len(marks)):
            table[i, address.M_BYTES] = self._zeros(self.prepared.vids, np.uint8)
        return table

    def _states(self) -> I64:
        nodes = self.prepared.tables.nodes
        table = np.zeros((max(len(nodes), 1), address.N_STATE), np.int64)
        for i, role in enumerate(nodes[:, NodeField.ROLE].tolist()):
            if role == Role.MARK:
                table[i, address.Q_SCRATCH] = self._zeros(self.prepared.vids, np.uint8)
            elif role in (Role.INNER, Role.PUSHED):
                table[i, address.Q_SCRATCH] = self._zeros(self.prepared.vids, np.int64)
            if role == Role.PUSHED:
                table[i, address.Q_TOUCHED] = self._zeros(self.prepared.vids, np.uint32)
        return table

    def reset(self) -> None:
        """Forget what was counted and found. Marks stay: stamps tell whether they hold."""
        self.control[address.TOTAL] = self.control[address.ROWS] = 0

    def begin(self, start: int, end: int) -> None:
        """Stand before the roots [start, end)."""
        self.control[address.DEPTH] = 0
        self.control[address.ENTERING] = 1
        self.address[0] = self.prepared.roots.ctypes.data
        self.position[0] = self.start[0] = start
        self.end[0] = end

    def run(self, budget: int) -> int:
        """Launch for a step budget; the status."""
        t = self.prepared.tables
        control, at, position, start, end = self.state
        kernel.run(
            *(self.pointers.ctypes.data, t.loops, len(t.nodes), t.counting),
            *(control, at, position, start, end),
            *(*self.out, self.capacity, budget),
        )
        return int(self.control[address.STATUS])

    @property
    def rows(self) -> int:
        return int(self.control[address.ROWS])

    def taken(self) -> tuple[U32, I64]:
        """The buffered rows, u32[columns, n] and i64[columns, n]; the buffer is empty then."""
        n = self.rows
        self.control[address.ROWS] = 0
        eids = self.out_eids[:, :n] if self.prepared.tables.edge_columns else self.out_eids[:0, :n]
        return self.out_vids[:, :n].copy(), eids.copy()


def scratch_bytes(prepared: Prepared) -> int:
    """Bytes that one worker needs besides its row buffer."""
    roles = prepared.tables.nodes[:, NodeField.ROLE].tolist()
    each = {Role.MARK: 1, Role.INNER: 8, Role.PUSHED: 12}
    vids = len(prepared.tables.marks) + sum(each.get(Role(r), 0) for r in roles)
    return 4 * prepared.tables.buffer + prepared.vids * vids


def _view_row(view: Adjacency, eids: I64 | None, *, restricted: bool) -> list[int]:
    has = len(view.first) > 0
    return [
        view.first.ctypes.data,
        view.length.ctypes.data,
        view.row.ctypes.data,
        len(view.first),
        view.offsets.ctypes.data,
        view.neighbours.ctypes.data,
        0 if eids is None else eids.ctypes.data,
        *((int(view.first[0]), int(view.length[0]), int(view.row[0])) if has else (0, 0, 0)),
        split(view).ctypes.data if restricted and has else 0,
    ]

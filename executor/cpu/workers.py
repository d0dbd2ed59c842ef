"""The workers, what one thread needs to run the kernel: its state, buffers and scratch, and the host addresses of
the graph. Workers wait with their stage and are used again, so that a small query allocates nothing.
"""

from __future__ import annotations

import math
from itertools import count
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base.budget import Budget
from gdb.errors import InternalError
from gdb.storage.disk.arrays import LARGE, LAZY, placed, sparse
from gdb.storage.graph.adjacency import I64, U32, Adjacency
from gdb.storage.graph.row_blocks import split_positions
from gdb.storage.graph.row_loops import at_of

from ..nest.prepare import Prepared
from ..plan.embeddings import NO_COLUMNS, Embeddings, Wanted
from ..table_fields import (
    CacheField,
    LevelField,
    StrangerField,
    ValueField,
)
from ..work.place import END, KEPT, POSITION, ROWS, Place
from . import address, kernel, neighbourhood_tables
from .caches import FIRST_SLOTS, SharedCounts
from .look_ahead import rows_ahead, table_of
from .neighbourhood_tables import Neighbourhood
from .nodes import scratch_of_nodes
from .turns import Unit

Item = TypeVar("Item", bound=np.generic)

# A neighbourhood is counted in bits where its rows fit the cache that a core has for itself: so many i64 (2 MiB); and
# where a row has at most so many words for each element of the list that it replaces, in the mean: many short lists, of
# the vertices that a hub has, are not worth it.
ROOM = 1 << 18
WORDS_AN_ELEMENT = 4
_LINE = 64  # bytes of a line of the processor's cache
_PLACE = [address.DEPTH, address.ENTERING, address.JOINED, address.TOTAL]
CACHES_BYTES = 1 << 25  # that the caches of counts of a run may grow to
MOST_SLOTS = 1 << 16  # of one
WORKERS = "workers"  # what memory is for
_WIPED = 256  # bytes that are wiped in the time in which one bit is found and cleared


def _lists_of(view: Adjacency) -> tuple[int, int, int, int, int, int]:
    """The addresses of a view's arrays, in the order in which the kernel has them, and its intervals."""
    return (
        at_of(view.first),
        at_of(view.length),
        at_of(view.row),
        len(view.first),
        at_of(view.offsets),
        at_of(view.neighbours),
    )


class Worker:
    """State and buffers of one thread; the kernel goes on from them at every launch.

    Parameters
    ----------
    capacity : rows that its output buffer holds.
    wanted : the columns that are written, or the vertex whose distinct values are.
    slots : that each cache of counts may grow to, a power of 2; None: as many as fit.
    sample : it takes few of the steps of the stage, over lists: nothing is counted in bits. room : i64 for rows of
        bits. budget : by which its arrays are placed; None: in memory. shared : what another worker of the same run
        keeps, to be shared; None: its own.
    """

    def __init__(
        self,
        prepared: Prepared,
        capacity: int,
        wanted: Wanted = NO_COLUMNS,
        slots: int | None = None,
        room: int | None = None,
        *,
        sample: bool = False,
        budget: Budget | None = None,
        shared: SharedCounts | None = None,
    ) -> None:
        tables = prepared.tables
        self.room = ROOM if room is None else room
        self._budget, self._sample = None if budget is None else budget.part(), sample
        self._ample = self._budget is None or self._budget.limit is None
        n = max(len(tables.levels), 1)
        self.prepared, self.wanted = prepared, wanted
        self.slots = slots or slots_within(prepared, CACHES_BYTES)
        self.capacity = 1 if tables.counting else capacity
        self.kept: list[npt.NDArray[np.generic]] = []
        self.control = np.zeros(address.CONTROL, np.int64)
        self.counted = 0  # before what is in `control`
        self.loops = np.zeros((ROWS, n), np.int64)
        self.v, self.position, self.end, sums, products, self.address, self.start = self.loops
        self.bound = np.zeros(n, np.int64)  # how often each level was bound
        written = tables.written(wanted)
        self.columns, self.once, self.levels = written.columns, written.once, written.levels
        views, simple, self.lists, self.bits = self._graph()
        self.values = self._values()
        marks, states = self._scratch()
        ahead = self._ahead(written.levels)
        arrays = (
            *(written.levels, tables.sets, tables.refs, tables.checks, tables.nodes),
            *(views, simple, self.lists, self.bits),
            self.v,
            np.zeros(max(len(tables.sets), 1), np.int64),
            self._placed(tables.buffer, np.uint32),
            np.zeros(n, np.int64),
            *(marks, states, self.bound),
            *(self.values, self._orders()),
            *(sums, products, ahead),
            *self._caches(shared),
        )
        self.kept += arrays
        in_bits = self._local(None if sample else neighbourhood_tables.find(prepared))
        differing = np.zeros((len(tables.refs), address.D.N), np.int64)
        self.kept.append(differing)
        self.pointers = np.array([*(at_of(x) for x in arrays), in_bits, at_of(differing)], np.int64)
        self.seen = self._placed(prepared.vids // 8 + 1 if self.once >= 0 else 0, np.uint8)
        vertices, edges = len(self.columns.vertices), len(self.columns.edges)
        vids = self._placed(vertices * self.capacity, np.uint32, least=LAZY)
        eids = self._placed(edges * self.capacity, np.int64, least=LAZY)
        self.out_vids = vids.reshape(vertices, self.capacity)
        self.out_eids = eids.reshape(edges, self.capacity)
        # whether some of it lies in files: these are the run's
        self.filed = self._is_filed() or self._shared.filed
        self._budget = None
        state = (self.address, self.position, self.start, self.end)
        a, b, c, d, e = (at_of(x) for x in (self.control, *state))
        self.state = (a, b, c, d, e)
        self.out = (at_of(self.out_vids), at_of(self.out_eids), self.capacity)
        self.fixed = (at_of(self.pointers), tables.loops, len(tables.nodes), tables.counting)
        self.own = self.distinct = (self.once, at_of(self.seen))
        self.root_address = at_of(prepared.roots)
        # a copy of a single root, at an address that is known
        self.only_root = np.zeros(1, np.uint32)
        self.only_address = at_of(self.only_root)

    def _placed(
        self, count: int, dtype: type[Item], *, least: int | None = None
    ) -> npt.NDArray[Item]:
        """Zeros in memory, or in a temporary file where the budget has no room for them. least : where few of them are
        touched, the bytes from which they are small pages, each made when it is."""
        if self._sample or (least is not None and self._ample):
            return sparse(count, dtype, least or LARGE)
        return placed(count, dtype, WORKERS, self._budget)

    def _is_filed(self) -> bool:
        """Whether some of its arrays lie in temporary files."""
        return self._budget is not None and bool(self._budget.filed)

    def is_for(self, capacity: int, wanted: Wanted, slots: int, room: int) -> bool:
        """Whether it is of this capacity, so many slots and so much room, and writes what is wanted."""
        own = self.capacity == capacity and self.slots == slots and self.room == room
        return own and (self.wanted is wanted or self.wanted == wanted)

    @property
    def bytes(self) -> int:
        """Bytes of its buffers and scratch."""
        own = sum(array.nbytes for array in self.kept)
        used = self._shared.masks[: len(self.prepared.tables.caches)] + 1
        own += 8 * int((used * _slot_widths(self.prepared)).sum())
        return own + self.seen.nbytes + self.out_vids.nbytes + self.out_eids.nbytes

    def count_into(self, tallies: I64 | None) -> None:
        """Count also for each vertex of the first loop, into i64[vids] that all workers share: no vertex is in
        the units of two; None: only the sum."""
        self.distinct = self.own if tallies is None else (0, at_of(tallies))

    def attach(self, prepared: Prepared) -> None:
        """Go over to the same stage with other candidates or bounds."""
        if prepared is self.prepared:
            return
        self.prepared, roots = prepared, prepared.roots
        if roots.shape[0] == 1:
            self.only_root[0], self.root_address = roots[0], self.only_address
        else:
            self.root_address = at_of(roots)
        for k, members in enumerate(prepared.lists):
            at = self.root_address if members is roots else at_of(members)
            self.lists[k, 0], self.lists[k, 1] = at, len(members)
        for k, bits in enumerate(prepared.bit_sets):
            self.bits[k] = at_of(bits)
        if len(prepared.bounds):
            self.values[:, ValueField.LEAST :] = prepared.bounds

    def _graph(self) -> tuple[I64, I64, I64, I64]:
        """Views, whether each is simple, lists, bitsets: addresses of what `prepared` keeps."""
        prepared = self.prepared
        views = np.zeros((max(len(prepared.views), 1), address.N_VIEW), np.int64)
        # to look for where the rows of a sample are split costs less than to split all
        whole = 0 if self._sample else len(prepared.views) - prepared.blocks
        simple = np.zeros(len(views), np.int64)
        for i in prepared.tables.views:
            view = prepared.views[i]
            views[i] = view_row(
                view, prepared.eids[i], restricted=i < whole and prepared.restricted
            )
            simple[i] = view.simple
        lists = [(at_of(x), len(x)) for x in prepared.lists]
        bits = [at_of(b) for b in prepared.bit_sets]
        return (
            views,
            simple,
            np.array(lists or [(0, 0)], np.int64).reshape(-1, 2),
            np.array(bits or [0], np.int64),
        )

    def _values(self) -> I64:
        """The table of comparisons."""
        prepared = self.prepared
        table = np.zeros((max(len(prepared.values), 1), len(ValueField)), np.int64)
        for k, sides in enumerate(prepared.values):
            table[k, : ValueField.LEAST] = [at_of(side) for side in sides]
            table[k, ValueField.LEAST :] = prepared.bounds[k]
        return table

    def _ahead(self, levels: I64) -> I64:
        """The table of the rows that are looked ahead at; the loops that have some are flagged in the table of
        levels."""
        rows = rows_ahead(self.prepared)
        for k, of_level in enumerate(rows):
            if of_level:
                levels[k, LevelField.FLAGS] |= address.AHEAD
        return table_of(rows)

    def _orders(self) -> I64:
        """The table of orders."""
        rows = [[at_of(a) for a in (x.values, x.eids, x.source)] for x in self.prepared.orders]
        return np.array(rows or [[0, 0, 0]], np.int64).reshape(-1, address.OR.N)

    def _caches(self, shared: SharedCounts | None) -> tuple[I64, I64]:
        """The tables of caches and of strangers."""
        tables = self.prepared.tables
        caches = np.zeros((max(len(tables.caches), 1), address.K.N), np.int64)
        caches[: len(tables.caches), : len(CacheField)] = tables.caches
        strangers = np.zeros((max(len(tables.strangers), 1), address.X.N), np.int64)
        strangers[: len(tables.strangers), : len(StrangerField)] = tables.strangers
        widths, few = _slot_widths(self.prepared).tolist(), min(self.slots, FIRST_SLOTS)
        self.caches = caches
        if shared is not None:
            self.share(shared)
            return caches, strangers
        masks, first = np.full(len(caches), few - 1), np.zeros(few * sum(widths), np.int64)
        # small pages, each there when it is touched: of large ones most of the first run was making them
        more = self._placed(self.slots * sum(widths), np.int64, least=LARGE)
        runs = count(1)
        self.share(SharedCounts(masks, first, more, runs, next(runs), self._is_filed()))
        return caches, strangers

    @property
    def shared(self) -> SharedCounts:
        """What the caches keep, as of the run that it is in."""
        return self._shared._replace(run=int(self.caches[0, address.K.RUN]))

    def share(self, shared: SharedCounts) -> None:
        """Keep counts where another worker of the run does."""
        self._shared = shared
        mask, few, more = at_of(shared.masks), at_of(shared.few), at_of(shared.more)
        for k, width in enumerate(_slot_widths(self.prepared).tolist()):
            own = mask + 8 * k, self.slots - 1, few, more
            self.caches[k, address.K.MASK : address.K.RUN] = own
            few += 8 * min(self.slots, FIRST_SLOTS) * width
            more += 8 * self.slots * width
        self.caches[:, address.K.RUN] = shared.run

    def _scratch(self) -> tuple[I64, I64]:
        """The tables of marks and of states. What they name, numbers of a width for each vid, is one block: the system
        gives a large one as pages that are not there before they are touched, in one call."""
        marks, nodes = len(self.prepared.tables.marks), len(self.prepared.tables.nodes)
        own = np.zeros((max(marks, 1), address.M.N), np.int64)
        states = np.zeros((max(nodes, 1), address.Q.N), np.int64)
        wanted = [(own, i, address.M.BYTES, 1, 0, self.prepared.vids) for i in range(marks)]
        wanted += [(states, *one) for one in scratch_of_nodes(self.prepared, ample=self._ample)]
        sizes = [-(-(high - low) * width // _LINE) * _LINE for *_, width, low, high in wanted]
        block = self._placed(sum(sizes) + _LINE, np.uint8)
        self.kept.append(block)
        at = -(-at_of(block) // _LINE) * _LINE
        for (table, i, column, width, low, _), size in zip(wanted, sizes, strict=True):
            table[i, column] = at - width * low
            at += size
        return own, states

    def _local(self, local: Neighbourhood | None) -> int:
        """The address of the table of what is counted in bits, 0 where nothing is."""
        self.local: I64 | None = None
        if local is None:
            return 0
        most, words = self.prepared.vids, words_of(self.prepared, local)
        room = room_of(self.prepared, local, self.room)
        places = min(most + 1, room // len(local.relations) + 1)
        rows, sets = self._placed(room, np.int64), np.empty(local.sets * words + 1, np.int64)
        made = np.zeros(places * len(local.relations), np.uint8)
        place, vids = self._placed(most, np.uint32), np.empty(places, np.uint32)
        counts = np.zeros(local.sets, np.int64)
        levels = local.levels.copy()
        self.local = table = np.zeros(address.G.N, np.int64)
        tables = (local.relations, local.operations, levels, local.ends, local.starts, local.skip)
        arrays = (*tables, rows, made, place, vids, sets, counts)
        self.kept += (*arrays, table)
        at = [at_of(x) for x in arrays]
        relations, operations, loops, ends, starts, skip, *scratch = at
        table[: address.G.ON] = (
            *(local.frame, local.view, local.order, local.first, len(levels) - 1, local.loops),
            *(relations, len(local.relations), operations, loops, ends, len(local.ends)),
            *(starts, len(local.starts), *scratch[4:], skip),
        )
        table[address.G.ROWS :] = (*scratch[:4], room, places, WORDS_AN_ELEMENT)
        return at_of(table)

    def reset(self) -> None:
        """Forget what was counted and found. Marks stay: stamps decide whether they are valid."""
        self.counted = 0
        self.control[address.TOTAL] = self.control[address.ROWS] = 0
        self.bound.fill(0)
        if len(self.prepared.tables.caches):
            self.caches[:, address.K.RUN] = next(self._shared.runs)
            self.caches[:, address.K.ASKED : address.K.TOTAL] = 0

    def unsee(self, values: U32) -> None:
        """Forget the distinct values that were found, u32[n], which are all; where they are few, one by one."""
        if _WIPED * len(values) < len(self.seen):
            self.seen[values >> np.uint32(3)] = 0
        else:
            self.seen.fill(0)

    def begin(self, start: int, end: int) -> None:
        """Move before the roots [start, end)."""
        self.control[address.DEPTH] = self.control[address.JOINED] = 0
        self.control[address.ENTERING] = 1
        self.address[0] = self.root_address
        self.position[0] = self.start[0] = start
        self.end[0] = end

    def stand_at(self, unit: Unit) -> None:
        """Move to the beginning of a unit."""
        if unit.place is None:
            self.begin(unit.start, unit.end)
        else:
            self.go_on(unit.place)

    def put_aside(self) -> Place:
        """Its position, with what it counted there; its rows stay in its buffer. Not for a worker that counts in bits:
        no other could find its rows of bits again."""
        if self.pointers[address.P.LOCAL]:
            raise InternalError("A worker that counts in bits was put aside.", "Please report it.")
        depth, entering, joined, total = self.control[_PLACE].tolist()
        self.control[address.TOTAL] = 0
        return Place(self.loops[:KEPT].copy(), depth, entering, joined, total)

    def give(self, *, half: bool, roots: bool = False) -> Place | None:
        """Give another worker of the stage what is left of the loops that it can go on with; this one goes on with the
        elements that they are bound to, and what is below. None where nothing is left of them.

        half : only the later half of what is left of the outermost unfinished loop. roots : of the first loop alone.
        """
        last = min(self._open(), 0) if roots else self._open()
        left = np.flatnonzero(self.position[: last + 1] < self.end[: last + 1])
        if not len(left):
            return None
        place = Place(self.loops[:KEPT].copy(), last, 0, 0, 0)
        if half:
            place.depth = k = int(left[0])
            place.loops[POSITION, k] = self.end[k] = (self.position[k] + self.end[k]) // 2
            place.loops[END, :k] = place.loops[POSITION, :k]
        else:
            self.end[: last + 1] = self.position[: last + 1]
        self.caches[:, address.K.SLOT] = (
            0  # the loops that are open do not count all of it any more
        )
        return place

    def _open(self) -> int:
        """The innermost of the loops around its position with whose further elements another worker can go on: no
        loop inside a product that is under way, nor one over bits. -1 where there is none."""
        depth, entering = self.control[[address.DEPTH, address.ENTERING]].tolist()
        if depth >= self.prepared.tables.loops:
            return -1
        around, joins = self.levels[:, [LevelField.AROUND, LevelField.JOINS]].T.tolist()
        last = k = around[depth] if entering else depth
        while k > 0:
            k = around[k]
            last = k if joins[k] else last
        if self.local is not None and self.local[address.G.ON]:
            last = min(last, int(self.local[address.G.FIRST]) - 1)
        return int(last)

    def go_on(self, place: Place) -> None:
        """Move to where a worker of this stage was put aside, or gave something away."""
        self.counted += int(self.control[address.TOTAL])
        self.control[_PLACE] = place.depth, place.entering, place.joined, place.total
        self.loops[:KEPT] = place.loops
        self.address[0] = self.root_address
        self.caches[:, address.K.SLOT] = 0  # loops that are open were entered elsewhere
        kernel.rebind(*self.fixed[:1], *self.state[:2], at_of(self.start))

    def run(self, budget: int) -> int:
        """Launch for a step budget; the status."""
        kernel.run(*self.fixed, *self.state, *self.out, budget, *self.distinct)
        return int(self.control[address.STATUS])

    @property
    def spent(self) -> int:
        """Steps, of all its launches."""
        return int(self.control[address.SPENT])

    @property
    def total(self) -> int:
        """What it counted."""
        return self.counted + int(self.control[address.TOTAL])

    @property
    def rows(self) -> int:
        """Rows in its output buffer."""
        return int(self.control[address.ROWS])

    def taken(self) -> Embeddings:
        """The buffered rows, whose memory the next launch overwrites; the buffer is empty then."""
        n = self.rows
        self.control[address.ROWS] = 0
        return Embeddings(self.out_vids[:, :n].T, self.out_eids[:, :n].T, kept=self.columns)

    def taken_once(self) -> U32:
        """The buffered distinct values, u32[n], whose memory the next launch overwrites; the buffer is
        empty then."""
        n = self.rows
        self.control[address.ROWS] = 0
        return self.out_vids[0, :n]


def _slot_widths(prepared: Prepared) -> I64:
    """Numbers in a slot of each cache: run, count, key."""
    fields = prepared.tables.caches
    keys = fields[:, CacheField.KEY_END] - fields[:, CacheField.KEY]
    strangers = fields[:, CacheField.STRANGER_END] - fields[:, CacheField.STRANGER]
    return np.asarray(2 + keys + strangers, np.int64)


def slots_within(prepared: Prepared, most: int) -> int:
    """The most slots of each cache, a power of 2, that take at most so many bytes; at least one."""
    if not len(prepared.tables.caches):
        return 1
    each = 8 * int(_slot_widths(prepared).sum())
    return min(MOST_SLOTS, 1 << max(most // max(each, 1), 1).bit_length() - 1)


def words_of(prepared: Prepared, neighbourhood: Neighbourhood) -> int:
    """Words of the longest set of positions that is ever counted in bits: one row for each position fits `ROOM`."""
    longest = min(prepared.views[neighbourhood.view].max_degree, math.isqrt(64 * ROOM))
    return longest // 64 + 1


def room_of(prepared: Prepared, neighbourhood: Neighbourhood, most: int) -> int:
    """i64 for the rows of bits of one worker: as many as are ever used, at most so many."""
    rows = len(neighbourhood.relations) * (prepared.vids + 1)
    return min(most, rows * words_of(prepared, neighbourhood)) + 1


def slot_bytes(prepared: Prepared, slots: int) -> int:
    """Bytes of the caches of counts of the workers of a run, each of so many slots."""
    return 8 * slots * int(_slot_widths(prepared).sum())


def scratch_bytes(prepared: Prepared, room: int | None = None) -> int:
    """Bytes that one worker needs besides its row buffer and what it shares; room : i64 for rows of bits."""
    own = len(prepared.tables.marks) * prepared.vids + 4 * prepared.tables.buffer
    own += sum(width * (high - low) for *_, width, low, high in scratch_of_nodes(prepared))
    found = neighbourhood_tables.find(prepared)
    if found is None:
        return own
    most = room_of(prepared, found, ROOM if room is None else room)
    return own + 8 * most + 4 * prepared.vids


def view_row(view: Adjacency, eids: I64 | None, *, restricted: bool) -> list[int]:
    """The row of a view in the kernel's table of views, N_VIEW integers: addresses of its arrays and of the edge
    ids, 0 without them; its first interval; address of the splits of its rows where the plan has restrictions."""
    has = len(view.first) > 0
    return [
        *_lists_of(view),
        0 if eids is None else at_of(eids),
        *((int(view.first[0]), int(view.length[0]), int(view.row[0])) if has else (0, 0, 0)),
        at_of(split_positions(view)) if restricted and has else 0,
        0,  # all of it lies in one memory
    ]

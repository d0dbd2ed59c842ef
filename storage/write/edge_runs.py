"""Edges on their way into a store: pieces in the order of arrival, sorted by distribution where memory is short.

Source: Knuth, The Art of Computer Programming, volume 3, §5.4 (external sorting). A run that is too large to be sorted
at once is dealt out to buckets, ranges of keys chosen from a sample, and each bucket is sorted in turn as the run was:
dealt out again if it is still too large. A run that fits is a bucket of itself, so that small and large graphs go the
same way and give the same bytes.

Pieces stay in memory until the `Room` that they share is used up; then all of them go to scratch files.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.base.budget import Budget
from gdb.records import dataclass, field

from ..columns.model import I64, U8, Bools, Column, Kind, Values
from ..disk.arrays import LEAST_FILED, Shelf, joined, unset
from ..disk.scratch import Scratch
from ..graph import pcsr
from ..graph.pcsr import U64
from ..graph.sorting import ascending

Array = npt.NDArray[np.generic]
_Place = tuple[int, np.dtype[np.generic], int]  # of an array in a scratch file: start, type, length

PIECE = 1 << 20  # edges that are read, numbered and dealt out at a time
PIECE_BYTES = 1 << 25  # of them that are joined to one piece
# of these that are numbered at once: what is made of them on the way stays in the cache
BLOCK = 1 << 16
LEAST_BUCKET = 4 << 20  # bytes that are worth a bucket
MOST_BUCKETS = 64  # into which a run is dealt out at once: each piece is cut into as many
SAMPLE = 1 << 16  # keys by which buckets are chosen
FULL = 0.8  # of what fits: a bucket has no more than its share of the sample says, or hardly
_UNLIMITED = 1 << 62


class Scratches(Protocol):
    """The maker of scratch files: `gdb.storage.disk.files.Files`."""

    def scratch(self) -> Scratch:
        """A new scratch file, gone when it is closed."""


@dataclass(frozen=True, slots=True, eq=False)
class RunPiece:
    """Some edges: keys, u64[m], and columns of m values beside them; keys are u64[0] where only columns matter."""

    keys: U64
    columns: dict[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return next((len(column) for column in self.columns.values()), len(self.keys))

    @property
    def nbytes(self) -> int:
        """Bytes of its keys and columns."""
        return self.keys.nbytes + sum(column.nbytes for column in self.columns.values())

    def part(self, begin: int, end: int) -> RunPiece:
        """The edges from one place to another."""
        columns = {key: column.part(begin, end) for key, column in self.columns.items()}
        return RunPiece(self.keys[begin:end], columns)

    def take(self, rows: I64) -> RunPiece:
        """The edges at some places."""
        return RunPiece(self.keys[rows], {key: c.take(rows) for key, c in self.columns.items()})


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """A piece in a scratch file: the place of each of its arrays, None where a column has none."""

    length: int
    keys: _Place
    columns: dict[str, tuple[Kind, list[_Place | None]]]

    def __len__(self) -> int:
        return self.length


class Room:
    """The memory that edges may take while they are written.

    Parameters
    ----------
    files : the maker of scratch files.
    budget : bytes that the whole work may take; None for no bound.
    check : called before each piece that is dealt out, also in other threads; what it raises stops the work.
    folder : of the files that columns lie in which have no room; None where all have.

    `pending` bytes are for pieces that wait, `bucket` for the keys and values that are sorted at once: sorting and
    writing them, while the next ones are sorted, takes about ten times as much.
    """

    def __init__(
        self,
        files: Scratches,
        budget: int | None = None,
        check: Callable[[], None] = lambda: None,
        folder: Path | None = None,
    ) -> None:
        self.files, self.check = files, check
        self._columns = _UNLIMITED if budget is None or folder is None else budget // 16
        self._shelf = Shelf(Budget(), "columns of nodes", folder)
        self.pending = _UNLIMITED if budget is None else budget // 10
        self.bucket = _UNLIMITED if budget is None else max(budget // 32, LEAST_BUCKET)
        self.lock = waiting.Lock()
        self._held = 0
        self._holders: weakref.WeakSet[Pieces] = weakref.WeakSet()

    def hold(self, pieces: Pieces, size: int) -> None:
        """So many bytes more wait in memory; where that is too much, all that waits is laid down."""
        self._holders.add(pieces)
        self._held += size
        if self._held > self.pending:
            for each in list(self._holders):
                each.lay_down()

    def filed(self, column: Column) -> Column:
        """A column of nodes, which stays: itself as long as there is room, else its arrays are in a temporary file.

        Raises
        ------
        OutOfBudget, StorePermissionError, StoreError : the disk is full, for one.
        """
        if column.nbytes < LEAST_FILED or self._shelf.holds(column.values):
            return column
        if column.nbytes <= self._columns:
            self._columns -= column.nbytes
            return column
        arrays = [a if a is None else self._put(a) for a in column.arrays]
        self.cool()
        return _column(column.kind, arrays)

    def _put(self, array: Array) -> Array:
        whole = np.ascontiguousarray(array)
        return self._shelf.put(whole.view(np.uint8)).view(whole.dtype)

    def cool(self) -> None:
        """Columns in temporary files were read, and the next one needs the memory."""
        self._shelf.cool()

    def release(self, size: int) -> None:
        """So many bytes wait no more."""
        self._held -= size


class Run(Protocol):
    """Edges that can be gone through, more than once, a piece at a time."""

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces, at most."""
        ...

    def __len__(self) -> int:
        """How many keys there are, at most."""
        ...

    def __iter__(self) -> Iterator[RunPiece]: ...

    def sample(self) -> U64:
        """Keys from all parts of it: some ten thousands, or all."""
        ...


class Pieces:
    """A run that grows. Threads may fill several in one room."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._found: list[RunPiece | _Stored] = []
        self._scratch: Scratch | None = None
        self._held, self._length, self._nbytes = 0, 0, 0

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces."""
        return self._nbytes

    def __len__(self) -> int:
        return self._length

    def add(self, piece: RunPiece) -> None:
        """Take a piece; its arrays must not change afterwards."""
        if not len(piece):
            return
        size = piece.nbytes
        with self.room.lock:
            self._found.append(piece)
            self._length += len(piece)
            self._nbytes += size
            self._held += size
            self.room.hold(self, size)

    def lay_down(self) -> None:
        """Put what is in memory into the scratch file."""
        with self.room.lock:
            if not self._held:
                return
            if self._scratch is None:
                self._scratch = self.room.files.scratch()
            for k, piece in enumerate(self._found):
                if isinstance(piece, RunPiece):
                    self._found[k] = _stored(piece, self._scratch)
            self.room.release(self._held)
            self._held = 0

    def __iter__(self) -> Iterator[RunPiece]:
        """The pieces, small ones together."""
        some, count, size = list[RunPiece](), 0, 0
        for k in range(len(self._found)):
            some.append(self.piece(k))
            count += len(some[-1])
            size += some[-1].nbytes
            # few are not worth going through by themselves, unless their texts are long
            if count >= PIECE >> 3 or size >= PIECE_BYTES:
                yield _joined(some)
                some, count, size = [], 0, 0
        if some:
            yield _joined(some)

    def sample(self) -> U64:
        """About SAMPLE of the keys, evenly from all pieces, in no order."""
        step = max(1, len(self) // SAMPLE)
        found = [np.zeros(0, np.uint64)]
        for piece in list(self._found):
            keys = piece.keys if isinstance(piece, RunPiece) else self._read(piece.keys)
            found.append(cast(U64, keys)[::step].copy())  # a view would hold the whole piece
        return np.concatenate(found)

    def close(self) -> None:
        """Give back what it takes, memory and disk."""
        with self.room.lock:
            self.room.release(self._held)
            self._held, self._found = 0, []
            if self._scratch is not None:
                self._scratch.close()

    def piece(self, k: int) -> RunPiece:
        """The k-th piece that was added."""
        piece = self._found[k]
        if isinstance(piece, RunPiece):
            return piece
        columns = {
            key: _column(kind, [p if p is None else self._read(p) for p in places])
            for key, (kind, places) in piece.columns.items()
        }
        return RunPiece(cast(U64, self._read(piece.keys)), columns)

    def _read(self, place: _Place) -> Array:
        at, dtype, length = place
        found = unset(length, dtype.type)
        assert self._scratch is not None
        self._scratch.read(at, cast(U8, found.view(np.uint8)))
        return found


def _column(kind: Kind, arrays: Sequence[Array | None]) -> Column:
    """The inverse of `Column.arrays`."""
    values, offsets, valid, inner = arrays
    numbers = cast(I64 | None, offsets), cast(Bools | None, valid), cast(I64 | None, inner)
    return Column(kind, cast(Values, values), *numbers)


def _stored(piece: RunPiece, scratch: Scratch) -> _Stored:
    def place(array: Array) -> _Place:
        whole = np.ascontiguousarray(array)
        return scratch.append(whole.view(np.uint8).data), whole.dtype, len(whole)

    columns = {
        key: (column.kind, [None if a is None else place(a) for a in column.arrays])
        for key, column in piece.columns.items()
    }
    return _Stored(len(piece), place(piece.keys), columns)


def _joined(pieces: Sequence[RunPiece]) -> RunPiece:
    """Pieces of the same columns, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    columns = {key: Column.concat([p.columns[key] for p in pieces]) for key in pieces[0].columns}
    return RunPiece(joined([piece.keys for piece in pieces], np.uint64), columns)


# ---- sorting ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Turned:
    """A run under other keys.

    turn : from u64[m] to u64[m], or to at most fold * m where there are no columns. columns : whether they go along.
    """

    run: Run
    turn: Callable[[U64], U64]
    fold: int = 1
    columns: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of keys and columns, or 8 for each key where it has no columns."""
        return self.run.nbytes if self.columns else 8 * len(self)

    def __len__(self) -> int:
        return self.fold * len(self.run)

    def __iter__(self) -> Iterator[RunPiece]:
        for piece in self.run:
            turned, at = np.empty(self.fold * len(piece.keys), np.uint64), 0
            for begin in range(0, len(piece.keys), BLOCK):
                some = self.turn(piece.keys[begin : begin + BLOCK])
                turned[at : at + len(some)] = some
                at += len(some)
            yield RunPiece(turned[:at], piece.columns if self.columns else {})

    def sample(self) -> U64:
        """A sample of the run's keys, turned."""
        return self.turn(self.run.sample())


def order_edges(run: Run, room: Room) -> Iterator[RunPiece]:
    """The edges by key, those of one key as they arrived, in pieces that fit the room's `bucket`. All edges of a key
    are in one piece, however many they are.

    Cost: where the run does not fit, it is written to scratch files and read again, once for each factor of
    `MOST_BUCKETS`.
    """
    bounds = np.zeros(0, np.uint64)
    if run.nbytes > room.bucket:
        count = min(MOST_BUCKETS, int(run.nbytes / (FULL * room.bucket)) + 1)
        keys = np.sort(run.sample())
        bounds = np.unique(keys[np.arange(1, count) * len(keys) // count])
        bounds = bounds[bounds > keys[0]]  # a bucket of nothing would leave the rest as it was
    if not len(bounds):
        yield _sorted(run)
        return
    buckets = [Pieces(room) for _ in range(len(bounds) + 1)]
    try:
        for piece in run:
            room.check()
            dealt = _sorted_piece(piece)
            cuts = [0, *np.searchsorted(dealt.keys, bounds).tolist(), len(dealt.keys)]
            for bucket, begin, end in zip(buckets, cuts, cuts[1:], strict=False):
                bucket.add(dealt.part(begin, end))
        for bucket in buckets:
            yield from order_edges(bucket, room)
            bucket.close()
    finally:
        for bucket in buckets:
            bucket.close()


def _sorted(run: Run) -> RunPiece:
    """All edges of a run by key, in one piece."""
    keys, at = unset(len(run), np.uint64), 0
    columns = list[dict[str, Column]]()
    for piece in run:
        keys[at : at + len(piece.keys)] = piece.keys
        at += len(piece.keys)
        if piece.columns:
            columns.append(dict(piece.columns))
    keys = keys[:at]
    if not columns:
        return RunPiece(ascending(keys))
    order = _order(keys)
    taken = dict[str, Column]()
    for key in list(columns[0]):  # one after the other, so that only one of them is there twice
        taken[key] = Column.concat([some.pop(key) for some in columns]).take(order)
    return RunPiece(keys[order], taken)


def _sorted_piece(piece: RunPiece) -> RunPiece:
    if piece.columns:
        return piece.take(_order(piece.keys))
    keys = joined([piece.keys], np.uint64)
    keys.sort()
    return RunPiece(keys)


def _order(keys: U64) -> I64:
    """The stable order of keys, i64[m]."""
    return pcsr.order_of((keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32))


class Ahead:
    """The items of an iterator; the next one is made, in a thread, while the caller uses the last one."""

    def __init__(self, items: Iterator[RunPiece]) -> None:
        self._items, self._pool = items, waiting.Pool(1)
        self._next: Future[RunPiece | None] = self._pool.submit(next, items, None)

    def __iter__(self) -> Iterator[RunPiece]:
        while (item := waiting.result(self._next)) is not None:
            self._next = self._pool.submit(next, self._items, None)
            yield item

    def close(self) -> None:
        """Begin no more; waits for what has begun."""
        self._pool.shutdown(cancel_futures=True)

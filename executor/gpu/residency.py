"""What of a stage's graph lies in device memory: the split of views into rows that are resident and rows that are read
in place, and the account of one query on one device. Nothing here needs a device.

A view that does not fit its share of the device is a table from row to place: a range of rows, from the first on (the
most frequent, where vertices stand in degree order), lies in device memory, and the whole view in page-locked memory of
the host, which kernels read through the link (zero-copy). GCSM measured that 5 % of the vertices take over 80 % of the
accesses.
"""

from __future__ import annotations

import bisect
import sys

from gdb.errors import OutOfBudget, QueryError
from gdb.executor.prepare import Prepared
from gdb.records import dataclass
from gdb.storage.adjacency import Adjacency

LEAST = 64 << 20
"""Bytes: the smallest `gpu_memory` of a query."""
MOST = sys.maxsize
"""Bytes of a query's views in device memory; tests and measurements make it small to meet rows in every place."""
SPARED = 16  # of what is free on a device this part is left to others, where a query gives no `gpu_memory`
OWN_SHARE = (
    4  # of a query's device memory at most this part is for its work units and candidate lists,
)
WARP_SHARE = 4  # and this part is held back for its warps, before views are split


class Room:
    """The account of a query on one device.

    limit : bytes that it may hold there. used : bytes accounted for.
    asked : what the caller gave as `gpu_memory`, None for a share of what is free.
    """

    __slots__ = ("asked", "limit", "used")

    def __init__(self, limit: int, asked: int | None = None) -> None:
        self.limit, self.asked, self.used = limit, asked, 0

    @property
    def left(self) -> int:
        """Bytes that may still be taken."""
        return max(self.limit - self.used, 0)

    def take(self, size: int, what: str) -> None:
        """Account for `size` bytes of device memory before they are allocated.

        Raises
        ------
        OutOfBudget : they pass the limit.
        """
        if self.used + size > self.limit:
            limit = "its gpu_memory" if self.asked is not None else "the GPU's free memory"
            raise OutOfBudget(
                f"The query needs {self.used + size:,} bytes of GPU memory with {what}, "
                f"over {limit} of {self.limit:,}.",
                'Raise gpu_memory=, add a LIMIT, ask for count(*), or use device="cpu".',
            )
        self.used += size


def checked(asked: int) -> int:
    """A `gpu_memory` that a caller gave.

    Raises
    ------
    QueryError : it is less than `LEAST`.
    """
    if asked < LEAST:
        raise QueryError(
            f"gpu_memory= is {asked:,} bytes; a query on a GPU needs at least {LEAST:,} (64 MiB).",
            'Give more, or use device="cpu".',
        )
    return asked


@dataclass(frozen=True, slots=True)
class Extent:
    """The rows [0, rows) of a view, whose neighbours stand at the positions [0, end)."""

    rows: int
    end: int


def row_bytes(*, split: bool) -> int:
    """Bytes of a row beside its neighbours: its offset, and its split where the view has them."""
    return 16 if split else 8


def view_bytes(view: Adjacency, *, split: bool) -> int:
    """Bytes of a whole view in device memory."""
    small = view.first.nbytes + view.length.nbytes + view.row.nbytes
    return small + view.neighbours.nbytes + row_bytes(split=split) * (view.rows + 1)


def extent(view: Adjacency, room: int, *, split: bool) -> Extent:
    """The longest prefix of a view's rows that takes at most `room` bytes of device memory."""
    each = row_bytes(split=split)

    def size(rows: int) -> int:
        return each * (rows + 1) + 4 * int(view.offsets[rows])

    rows = bisect.bisect_right(range(1, view.rows + 1), room, key=size)
    return Extent(rows, int(view.offsets[rows]) if rows else 0)


@dataclass(frozen=True, slots=True)
class Split:
    """What of a stage's views is resident.

    extents : of each view by its place among the stage's, None where it is whole. resident : bytes in device memory.
    streamed : bytes of rows that are read through the link, each time that a warp comes to them.
    """

    extents: tuple[Extent | None, ...]
    resident: int
    streamed: int

    @property
    def cold(self) -> bool:
        """Whether some rows are read through the link."""
        return any(found is not None for found in self.extents)


def split(prepared: Prepared, room: int) -> Split:
    """Which rows of a stage's views are resident, of which `room` bytes may lie in device memory: everything, or of
    each view a part by its size."""
    room = min(room, MOST)
    views = {id(view): view for view in prepared.views}
    sizes = {key: view_bytes(v, split=prepared.restricted) for key, v in views.items()}
    eids = {id(e): e.nbytes for e in prepared.eids if e is not None}
    total = sum(sizes.values()) + sum(eids.values())
    if total <= room:
        return Split((None,) * len(prepared.views), total, 0)
    # edge ids are read in place whole: they are looked at for what is found, not on the way to it
    all_views = sum(sizes.values())
    found = {
        key: extent(view, room * sizes[key] // max(all_views, 1), split=prepared.restricted)
        for key, view in views.items()
    }
    each = row_bytes(split=prepared.restricted)
    resident = sum(each * (e.rows + 1) + 4 * e.end for e in found.values() if e.rows)
    return Split(tuple(found[id(v)] for v in prepared.views), resident, total - resident)


def described(prepared: Prepared, room: int) -> list[str]:
    """What is resident and what is streamed, in lines for EXPLAIN."""
    found = split(prepared, room)
    if not found.cold:
        return [f"GPU memory: {found.resident:,} bytes of the graph, all of it resident"]
    lines = [
        f"GPU memory: {found.resident:,} bytes of the graph resident, {found.streamed:,} read in place through the link"
    ]
    seen: set[int] = set()
    for view, spec, part in zip(prepared.views, prepared.specs, found.extents, strict=True):
        if part is not None and id(view) not in seen:
            seen.add(id(view))
            types = "|".join(spec.types) or "all types"
            lines.append(
                f"  {types} {spec.direction}: the first {part.rows:,} of {view.rows:,} rows, "
                f"{part.end:,} of {len(view.neighbours):,} neighbours"
            )
    return lines

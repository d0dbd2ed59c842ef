"""The edges of one type in the order of their ids, where those of a base and of a delta lie together: which edge has a
number, and which edges a vertex has, found in the rows of the base without putting its parts together with the delta.

An edge's *origin* is its rank in the base, or the number of edges there and its place among those that were added. By
(source, target) they are in the order of numbers; of equal ones those of the base come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np

from gdb.base import usage
from gdb.base.once import cached_property
from gdb.records import dataclass, quick

from ..columns.model import I64, U32
from ..format.direction import Direction
from .ascending import expanded
from .delta import TypeDelta
from .pcsr import U64, Part, keys_of

Side: TypeAlias = Literal["left", "right"]
_SIDES = {Direction.OUT: (0,), Direction.IN: (1,), Direction.ANY: (0, 1)}  # of a key
FEW = 16
"""Keys up to which each is searched for by itself."""


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Incident:
    """Edges at some vertices. at : i64[n], the place of the vertex; others : u32[n], the other end of each edge;
    origins : i64[n]."""

    at: I64
    others: U32
    origins: I64


class EdgeOrder:
    """See the module.

    part : of the base, by direction (an undirected type has one for ANY). slots : the positions of an undirected type
    whose neighbour is not below the row's vid, by rank. count : edges of the base.
    """

    def __init__(
        self,
        part: Callable[[Direction], Part],
        slots: Callable[[], I64],
        changes: TypeDelta,
        count: int,
    ) -> None:
        self._part, self._slots, self._changes, self._count = part, slots, changes, count
        self._forward = Direction.OUT if changes.directed else Direction.ANY

    # ---- numbers ---------------------------------------------------------------------------------

    @cached_property
    def _before(self) -> I64:
        """Of each edge that was added how many of the base, without those removed, come before it, i64[d]."""
        found = positions(self._part(self._forward), self._changes.keys, "right")
        if not self._changes.directed:
            found = np.searchsorted(self._slots(), found).astype(np.int64)
        return found - np.searchsorted(self._changes.removed, found)

    @cached_property
    def _added(self) -> I64:
        """The numbers of the edges that were added, ascending."""
        return self._before + np.arange(len(self._before))

    @cached_property
    def _kept_before(self) -> I64:
        """How many edges of the base are left before each one that was removed, ascending."""
        removed = self._changes.removed
        return removed - np.arange(len(removed))

    def origins(self, numbers: I64) -> I64:
        """The origin of each number, i64[n]."""
        added = np.searchsorted(self._added, numbers)
        kept = numbers - added
        found: I64 = kept + np.searchsorted(self._kept_before, kept, "right")
        if len(self._added):
            hit = self._added[np.minimum(added, len(self._added) - 1)] == numbers
            found = np.where(hit, self._count + added, found)
        return found

    def numbers(self, origins: I64) -> I64:
        """The number of each origin, i64[n]; of edges that are there."""
        if not len(origins):  # else all that was added would be numbered
            return origins
        if not len(self._changes.removed) and not len(self._changes.keys):
            return origins
        kept = origins - self._changes.removed.searchsorted(origins)
        found: I64 = kept + self._before.searchsorted(kept, "right")
        if len(self._added):
            place = np.minimum(np.maximum(origins - self._count, 0), len(self._added) - 1)
            found = np.where(origins >= self._count, self._added[place], found)
        return found

    def alive(self, origins: I64) -> I64:
        """The places of the origins that were not removed."""
        removed = self._changes.removed
        if not len(removed):
            return np.arange(len(origins))
        at = np.minimum(removed.searchsorted(origins), len(removed) - 1)
        left: I64 = (removed[at] != origins).nonzero()[0]
        return left

    # ---- at vertices -----------------------------------------------------------------------------

    def between(self, sources: U32, targets: U32) -> tuple[I64, I64]:
        """The edges from each source to its target, of an undirected type those between both: the place of the pair,
        and the origin; i64[n] each."""
        if not self._changes.directed:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        keys = keys_of(sources, targets)
        part = self._part(self._forward)
        at, ranks = expanded(*_spans(part, keys))
        if len(ranks):
            if not self._changes.directed:
                ranks = np.searchsorted(self._slots(), ranks).astype(np.int64)
            alive = self.alive(ranks)
            at, ranks = at[alive], ranks[alive]
        if not len(self._changes.keys):
            return at, ranks
        low, high = (self._changes.keys.searchsorted(keys, side) for side in ("left", "right"))
        of_added, added = expanded(low, high)
        if not len(added):
            return at, ranks
        return np.concatenate([at, of_added]), np.concatenate([ranks, self._count + added])

    def count_between(self, source: int, target: int) -> int:
        """How many edges `between` finds for one pair."""
        if not self._changes.directed:
            source, target = min(source, target), max(source, target)
        part, count, changes = self._part(self._forward), 0, self._changes
        if len(part.intervals):
            low, high = _row(part, source)
            inside, wanted = part.neighbours[low:high], np.uint32(target)
            first = low + int(inside.searchsorted(wanted))
            count = low + int(inside.searchsorted(wanted, "right")) - first
            if count and len(changes.removed):
                ranks = np.arange(first, first + count, dtype=np.int64)
                if not changes.directed:
                    ranks = np.searchsorted(self._slots(), ranks).astype(np.int64)
                count = len(self.alive(ranks))
        if len(changes.keys):
            key = np.uint64(source << 32 | target)
            low, high = (int(changes.keys.searchsorted(key, side)) for side in ("left", "right"))
            count += high - low
        return count

    def degrees(self, vids: U32, side: Direction) -> I64:
        """How many edges of the base each vertex has, i64[n]; those that were removed count."""
        part = self._part(self._side(side))
        if len(vids) == 1 and len(part.intervals):
            first, last = _row(part, int(vids[0]))
            return np.array((last - first,), np.int64)
        if len(vids) <= FEW:
            low, high = _rows(part, vids.astype(np.uint64) << np.uint64(32))
            return high - low
        return part.adjacency((), side).degrees_of(vids)

    def incident(self, vids: U32, side: Direction) -> Incident:
        """The edges at vertices, which are ascending and distinct: those that leave them (OUT), or arrive (IN); all of
        an undirected type, a loop once."""
        part = self._part(self._side(side))
        if len(vids) == 1 and len(part.intervals):
            low, high = _row(part, int(vids[0]))
            at, places = np.zeros(high - low, np.int64), np.arange(low, high)
            others = part.neighbours[low:high]
        else:
            at, places = expanded(*_rows(part, vids.astype(np.uint64) << np.uint64(32)))
            others = part.neighbours[places]
        usage.read(others)
        ranks = places if self._side(side) is Direction.OUT else self._ranks(part, vids[at], places)
        found = Incident(at, others, ranks)
        if len(self._changes.removed):
            alive = self.alive(ranks)
            found = Incident(at[alive], others[alive], ranks[alive])
        return _together([found, *self._added_at(vids, side)])

    def _side(self, side: Direction) -> Direction:
        return side if self._changes.directed else Direction.ANY

    def _ranks(self, part: Part, vids: U32, places: I64) -> I64:
        """The ranks of edges at places of a part that is not the forward one, whole rows of it: of equal edges the
        first is the first in both."""
        if not len(places):
            return places
        others = part.neighbours[places]
        run = _places_among_equal(keys_of(vids, others))
        if self._changes.directed:
            return positions(self._part(Direction.OUT), keys_of(others, vids), "left") + run
        keys = keys_of(np.minimum(vids, others), np.maximum(vids, others))
        slots = positions(part, keys, "left") + run
        return np.searchsorted(self._slots(), slots).astype(np.int64)

    def _added_at(self, vids: U32, side: Direction) -> Iterator[Incident]:
        """Those of the edges that were added, none of the parts empty."""
        keys = self._changes.keys
        if not len(keys) or not len(vids):
            return
        ends = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
        sides = _SIDES[self._side(side)]
        for mine in sides:
            own, others = ends[mine], ends[1 - mine]
            at = vids.searchsorted(own)
            hit = vids.take(at, mode="clip") == own
            if mine and len(sides) > 1:
                hit &= own != others
            places = hit.nonzero()[0]
            if len(places):
                yield Incident(at[places], others[places], self._count + places)


def _together(parts: Sequence[Incident]) -> Incident:
    """At least one part, and others behind it, as one."""
    if len(parts) == 1:
        return parts[0]
    return Incident(
        np.concatenate([one.at for one in parts]),
        np.concatenate([one.others for one in parts]),
        np.concatenate([one.origins for one in parts]),
    )


def _places_among_equal(keys: U64) -> I64:
    """The place of each of some ascending keys among those that are equal to it, i64[n]."""
    first = np.zeros(len(keys), np.int64)
    begins = (keys[1:] != keys[:-1]).nonzero()[0] + 1
    if len(begins) == len(keys) - 1:  # none is equal to another
        return first
    first[begins] = begins
    found: I64 = np.arange(len(keys)) - np.maximum.accumulate(first)
    return found


def positions(part: Part, keys: U64, side: Side) -> I64:
    """The positions of keys among those of a part, or their insertion points, i64[n]: a search in the row of each."""
    return _searched(part, *_rows(part, keys), keys.astype(np.uint32), side)


def _spans(part: Part, keys: U64) -> tuple[I64, I64]:
    """The positions of keys among those of a part: half-open ranges, i64[n] each."""
    low, high = _rows(part, keys)
    targets = keys.astype(np.uint32)
    if len(keys) == 1:
        ((begin, end),) = zip(low.tolist(), high.tolist(), strict=True)
        inside = part.neighbours[begin:end]
        low = begin + inside.searchsorted(targets)
        return low, begin + inside.searchsorted(targets, "right")
    low = _searched(part, low, high, targets, "left")
    return low, _searched(part, low, high, targets, "right")


def _rows(part: Part, keys: U64) -> tuple[I64, I64]:
    """Where the rows of keys begin and end; where there is none, both are where it would be."""
    index = part.intervals
    if not len(index):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    if len(keys) <= FEW:
        found = [_row(part, key >> 32) for key in keys.tolist()]
        bounds = np.array(found, np.int64).reshape(-1, 2)
        return bounds[:, 0], bounds[:, 1]
    vids = (keys >> np.uint64(32)).astype(np.int64)
    at = index.first.searchsorted(vids, "right").astype(np.int64) - 1
    inside = np.maximum(at, 0)
    steps, length = vids - index.first[inside], index.length[inside].astype(np.int64)
    row = index.row[inside].astype(np.int64) + np.minimum(np.maximum(steps, 0), length)
    there = (at >= 0) & (steps < length)
    low: I64 = part.offsets[row]
    high: I64 = part.offsets[np.minimum(row + there, len(part.offsets) - 1)]
    return low, np.where(there, high, low)


def _row(part: Part, vid: int) -> tuple[int, int]:
    """The same for the row of one vertex."""
    index = part.intervals
    place = int(index.first.searchsorted(np.uint32(vid), "right")) - 1
    if place < 0:
        low = int(part.offsets[int(index.row[0])])
        return low, low
    step, length = vid - int(index.first[place]), int(index.length[place])
    row = int(index.row[place]) + min(step, length)
    low = int(part.offsets[row])
    return low, int(part.offsets[row + 1]) if step < length else low


def _searched(part: Part, low: I64, high: I64, targets: U32, side: Side) -> I64:
    """The positions of targets among the neighbours in half-open ranges, or their insertion points, i64[n]."""
    if len(targets) <= FEW:  # steps of all at once cost more than a search for each
        rows = zip(low.tolist(), high.tolist(), targets, strict=True)
        found = [a + int(part.neighbours[a:b].searchsorted(target, side)) for a, b, target in rows]
        return np.array(found, np.int64)
    while (open_ := low < high).any():
        middle = (low + high) >> 1
        there = part.neighbours[np.minimum(middle, len(part.neighbours) - 1)]
        behind = open_ & ((there < targets) if side == "left" else (there <= targets))
        low, high = np.where(behind, middle + 1, low), np.where(open_ & ~behind, middle, high)
    return low

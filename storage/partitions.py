"""The edges of a snapshot: parts, their unions, and edge ids.

A relationship of one type and direction is a part as it lies on disk. One of several types, or
without direction, is the union of parts: their keys (see `gdb.storage.pcsr`) sorted together. The
edge ids of positions are not stored: those of a forward part are its positions, and those of the
others follow from it by one stable sort.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from gdb.storage import intervals, pcsr
from gdb.storage.adjacency import Adjacency, Direction
from gdb.storage.manifest import MANIFEST, TypeRecord
from gdb.storage.model import I64, U32
from gdb.storage.pcsr import Part
from gdb.storage.segment import Segments, damaged

I32 = npt.NDArray[np.int32]
Types = tuple[str, ...]


class Partitions:
    """All edge types of a snapshot. Not thread-safe: the snapshot holds a lock around it.

    Parameters
    ----------
    types : as in the manifest, by name; their edge ids follow one another.
    segments : the files.
    vertex_count : of the snapshot.
    """

    def __init__(
        self, types: tuple[TypeRecord, ...], segments: Segments, vertex_count: int
    ) -> None:
        self._vertex_count = vertex_count
        self._types = {record.name: record for record in types}
        self._order = types
        self._segments = segments
        self._parts: dict[tuple[str, Direction], Part] = {}
        self._adjacency: dict[tuple[Types, Direction], Adjacency] = {}
        self._eids: dict[tuple[Types, Direction], I64] = {}
        self._canonical: dict[str, I64] = {}

    def adjacency(self, types: Types, direction: Direction) -> Adjacency:
        """See `gdb.storage.snapshot.Snapshot.adjacency`."""
        key = self._known(types), direction
        if key not in self._adjacency:
            self._adjacency[key] = self._united(*key)
        return self._adjacency[key]

    def eids(self, types: Types, direction: Direction) -> I64:
        """See `gdb.storage.snapshot.Snapshot.eids`."""
        key = self._known(types), direction
        if key not in self._eids:
            found = self._united_eids(*key)
            found.flags.writeable = False  # it is shared
            self._eids[key] = found
        return self._eids[key]

    def ends(self, eids: I64) -> tuple[I32, U32, U32]:
        """See `gdb.storage.snapshot.Snapshot.edge_ends`."""
        firsts = np.array([record.first_eid for record in self._order], np.int64)
        numbers = (np.searchsorted(firsts, eids, side="right") - 1).astype(np.int32)
        sources = np.zeros(eids.shape[0], np.uint32)
        targets = np.zeros(eids.shape[0], np.uint32)
        for number in np.unique(numbers).tolist():
            record = self._order[number]
            mine = np.flatnonzero(numbers == number)
            at = eids[mine] - record.first_eid
            part = self.part(record.name, Direction.OUT)
            if not record.directed:
                at = self._canonical_slots(record.name)[at]
            rows = np.searchsorted(part.offsets, at, side="right") - 1
            index = part.intervals
            sources[mine] = intervals.vids_of_rows(index.first, index.row, rows)
            targets[mine] = part.neighbours[at]
        return numbers, sources, targets

    def part(self, name: str, direction: Direction) -> Part:
        """The part of one type; an undirected type has one for every direction."""
        record = self._types[name]
        stored = direction if record.directed else Direction.ANY
        if (name, stored) not in self._parts:
            self._parts[name, stored] = _read(record, stored, self._segments, self._vertex_count)
        return self._parts[name, stored]

    def _known(self, types: Types) -> Types:
        """The types that exist, sorted; all where none is asked for."""
        return tuple(sorted(set(types) & set(self._types))) if types else tuple(sorted(self._types))

    def _sources(self, types: Types, direction: Direction) -> list[tuple[str, Direction]]:
        """The parts that a union consists of."""
        found: list[tuple[str, Direction]] = []
        for name in types:
            if direction is Direction.ANY and self._types[name].directed:
                found += [(name, Direction.OUT), (name, Direction.IN)]
            else:
                found.append((name, direction))
        return found

    def _keys(self, types: Types, direction: Direction) -> list[pcsr.U64]:
        """The keys of each source; a directed self-loop is left out of its second one."""
        found: list[pcsr.U64] = []
        for name, side in self._sources(types, direction):
            keys = pcsr.keys_of_part(self.part(name, side))
            if side is Direction.IN and direction is Direction.ANY:
                keys = keys[_no_loop(keys)]
            found.append(keys)
        return found

    def _united(self, types: Types, direction: Direction) -> Adjacency:
        sources = self._sources(types, direction)
        if len(sources) == 1:
            return self.part(*sources[0]).adjacency(types, direction)
        keys = np.concatenate([np.zeros(0, np.uint64), *self._keys(types, direction)])
        keys.sort()
        return pcsr.build(keys).adjacency(types, direction)

    def _united_eids(self, types: Types, direction: Direction) -> I64:
        sources = self._sources(types, direction)
        if len(sources) == 1:
            return self._part_eids(*sources[0])
        keys, eids = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
        for (name, side), mine in zip(sources, self._keys(types, direction), strict=True):
            own = self._part_eids(name, side)
            if side is Direction.IN and direction is Direction.ANY:
                own = own[_no_loop(pcsr.keys_of_part(self.part(name, side)))]
            keys.append(mine)
            eids.append(own)
        united = np.concatenate(keys)
        # The order of `_united`, since equal keys are the same to it.
        order = pcsr.order_of((united >> np.uint64(32)).astype(np.uint32), united.astype(np.uint32))
        return np.concatenate(eids)[order]

    def _part_eids(self, name: str, direction: Direction) -> I64:
        record = self._types[name]
        if not record.directed:
            return record.first_eid + self._symmetric_ranks(name)
        forward = self.part(name, Direction.OUT)
        if direction is Direction.OUT:
            return record.first_eid + np.arange(record.edge_count, dtype=np.int64)
        # Forward positions by (source, target), stably by target: the order of the backward part.
        return record.first_eid + pcsr.stable_order(forward.neighbours)

    def _canonical_slots(self, name: str) -> I64:
        """The positions of an undirected type where the neighbour is not below the row's vid."""
        if name not in self._canonical:
            part = self.part(name, Direction.ANY)
            found = np.flatnonzero(part.neighbours >= _rows(part)).astype(np.int64)
            if found.shape[0] != self._types[name].edge_count:
                self._asymmetric(name)
            self._canonical[name] = found
        return self._canonical[name]

    def _symmetric_ranks(self, name: str) -> I64:
        """For each position of an undirected type the rank of its edge's canonical slot."""
        part, canonical = self.part(name, Direction.ANY), self._canonical_slots(name)
        ranks = np.empty(part.neighbours.shape[0], np.int64)
        ranks[canonical] = np.arange(canonical.shape[0])
        rows = _rows(part)
        other = np.flatnonzero(part.neighbours < rows)
        # The k-th slot (larger, smaller) is the twin of the k-th canonical slot that is no loop,
        # these sorted stably by their larger end.
        twins = canonical[part.neighbours[canonical] != rows[canonical]]
        if twins.shape[0] != other.shape[0]:
            self._asymmetric(name)
        ranks[other] = ranks[twins[pcsr.stable_order(part.neighbours[twins])]]
        return ranks

    def _asymmetric(self, name: str) -> NoReturn:
        """Refuse an undirected type with an edge that only one of its ends knows."""
        file = self._segments[self._types[name].parts[0].segments[0].file].name
        raise damaged(self._segments.files.where, file, f"is not symmetric (type {name})")


def _read(record: TypeRecord, direction: Direction, segments: Segments, vertex_count: int) -> Part:
    where = segments.files.where
    for part in record.parts:
        if part.direction is direction:
            opened = [segments[s.file] for s in part.segments]
            return pcsr.read(part, opened, where, vertex_count)
    raise damaged(where, MANIFEST, f"has no part {direction} of {record.name}")


def _rows(part: Part) -> U32:
    """The vid of the row of each position, u32[m]."""
    return np.repeat(part.intervals.vids(), np.diff(part.offsets))


def _no_loop(keys: pcsr.U64) -> npt.NDArray[np.bool_]:
    different: npt.NDArray[np.bool_] = (keys >> np.uint64(32)) != (keys & np.uint64(0xFFFFFFFF))
    return different

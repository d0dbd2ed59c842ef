"""The edges of a snapshot: parts, their unions, and edge ids; the base's and those of the delta as one.

A relationship of one type and direction is a part as it lies on disk. One of several types, or
without direction, is the union of parts, merged row by row. The edge ids of positions are not stored:
those of a forward part are its positions, and those of the others follow from it in one pass.

Where the delta changes a type, its parts are merged with those of the base on first use, and its edges are numbered
anew in the order of the new forward part; among equal edges those of the base come first.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from gdb.base import usage, waiting

from ..columns.model import I64, U32, Column, Kind, wider
from ..disk.files import MANIFEST
from ..format.direction import Direction
from ..format.invariants import DIRECTIONS, EDGE_COUNTS
from ..format.manifest import Manifest, TypeRecord
from ..format.segment import damaged
from ..format.segments import Segments
from . import pcsr, property_columns
from .adjacency import Adjacency, Shape
from .delta import TypeDelta, patched
from .pcsr import Part
from .splice import splice_part, turn_keys

if TYPE_CHECKING:
    from .edge_order import EdgeOrder
    from .edge_stream import EdgePiece

I32 = npt.NDArray[np.int32]
Types = tuple[str, ...]

_WORTH = 4
"""Base and delta are merged once a fourth of a column has been read."""


class EdgeType(NamedTuple):  # a commit makes all of them anew, and these are made quickest
    """An edge type; its edges have the ids first_eid .. first_eid + edge_count - 1.

    keys : property key -> kind.
    """

    name: str
    directed: bool
    edge_count: int
    first_eid: int
    keys: Mapping[str, Kind]


def _edge_type_of(record: TypeRecord | None, changes: TypeDelta | None, name: str) -> EdgeType:
    """A type whose edge ids begin with 0."""
    kinds: dict[str, Kind] = {}
    count = 0
    if record is not None:
        kinds |= {key: column.kind for key, column in record.columns.items()}
        count += record.edge_count
    if changes is not None:
        count += len(changes.keys) - len(changes.removed)
        new = [(key, column.kind) for key, column in changes.columns.items()]
        new += [(key, patch.column.kind) for key, patch in changes.patches.items()]
        for key, kind in new:
            kinds[key] = wider(kinds.get(key), kind)
    directed = record.directed if record is not None else changes is None or changes.directed
    return EdgeType(name, directed, count, 0, kinds)


class Partitions:
    """All edge types of a snapshot. Not thread-safe: the snapshot holds a lock around it.

    Parameters
    ----------
    records : the base's types, by name.
    deltas : what the delta changes, by name.
    segments : the files.
    vertex_count : of the base.
    before : those of an earlier snapshot; what was read of the same base is not read again.
    """

    def __init__(
        self,
        records: tuple[TypeRecord, ...],
        deltas: Mapping[str, TypeDelta],
        segments: Segments,
        vertex_count: int,
        before: Partitions | None = None,
    ) -> None:
        self._base, self._deltas = records, deltas
        self._vertex_count = vertex_count
        self._segments = segments
        kept = before if before is not None and self._same_base(before) else None
        self._records: Mapping[str, TypeRecord] = (
            {record.name: record for record in records} if kept is None else kept._records
        )
        self.types = tuple(self._edge_types(kept))
        self._types = {one.name: one for one in self.types}
        self.edge_count = sum(one.edge_count for one in self.types)
        self._stored: dict[tuple[str, Direction], Part] = {} if kept is None else kept._stored
        self._stored_slots: dict[str, I64] = {} if kept is None else kept._stored_slots
        self._stored_columns: dict[tuple[str, str], Column] = (
            {} if kept is None else kept._stored_columns
        )
        self._parts: dict[tuple[str, Direction], Part] = {}
        self._orders: dict[str, EdgeOrder] = {}
        self._columns: dict[tuple[str, str], Column] = {}
        self._adjacency: dict[tuple[Types, Direction], Adjacency] = {}
        self._eids: dict[tuple[Types, Direction], I64] = {}

    def _edge_types(self, before: Partitions | None) -> Iterator[EdgeType]:
        """All types by name, their edge ids one after the other. before : of the same base."""
        first = 0
        for name in sorted(self._records.keys() | self._deltas.keys()):
            changes = self._deltas.get(name)
            found = None if before is None else before._types.get(name)
            if found is None or before is None or before._deltas.get(name) is not changes:
                found = _edge_type_of(self._records.get(name), changes, name)
            if found.first_eid != first:
                found = EdgeType(name, found.directed, found.edge_count, first, found.keys)
            yield found
            first += found.edge_count

    def fits(self, manifest: Manifest, deltas: Mapping[str, TypeDelta], segments: Segments) -> bool:
        """Whether the edges of another state are these: many commits change vertices alone."""
        same = self._base is manifest.types and self._deltas is deltas
        return same and self._segments.records == segments.records

    def _same_base(self, before: Partitions) -> bool:
        """Whether an earlier snapshot has the same types in the same files."""
        records = self._base
        if records is before._base and self._segments.records == before._segments.records:
            return True
        files = {s.file for record in records for part in record.parts for s in part.segments}
        files |= {record.file for record in records if record.columns}
        return before._base == records and self._segments.shares(before._segments, files)

    def edge_type(self, name: str) -> EdgeType | None:
        """A type, None where there is none of that name."""
        return self._types.get(name)

    def adjacency(self, types: Types, direction: Direction) -> Adjacency:
        """See `gdb.storage.graph.snapshot.Snapshot.adjacency`."""
        key = self.known(types), direction
        if key not in self._adjacency:
            found = waiting.aside(self.edge_count, lambda: self._united(*key))
            self._adjacency[key] = found
            usage.opened(found)
        return self._adjacency[key]

    def shape(self, types: Types, direction: Direction) -> Shape:
        """See `gdb.storage.graph.snapshot.Snapshot.shape`."""
        known = self.known(types)
        sources = self.sources(known, direction)
        if len(sources) == 1 and (known, direction) not in self._adjacency:
            (name, side) = sources[0]
            record, changes = self._records.get(name), self._deltas.get(name)
            side = side if self._types[name].directed else Direction.ANY
            if record is not None and (
                changes is None or not len(changes.keys) + len(changes.removed)
            ):
                for part in record.parts:
                    if part.direction is side:
                        return Shape(part.rows, part.edges, part.simple, part.loops)
        return self.adjacency(types, direction).shape

    def eids(self, types: Types, direction: Direction) -> I64:
        """See `gdb.storage.graph.snapshot.Snapshot.eids`."""
        key = self.known(types), direction
        if key not in self._eids:
            found = waiting.aside(self.edge_count, lambda: self._united_eids(*key))
            found.flags.writeable = False  # it is shared
            self._eids[key] = found
        return self._eids[key]

    def ends(self, eids: I64) -> tuple[I32, U32, U32]:
        """See `gdb.storage.graph.snapshot.Snapshot.edge_ends`."""
        firsts = np.array([one.first_eid for one in self.types], np.int64)
        numbers = (np.searchsorted(firsts, eids, side="right") - 1).astype(np.int32)
        sources = np.zeros(eids.shape[0], np.uint32)
        targets = np.zeros(eids.shape[0], np.uint32)
        for number in np.unique(numbers).tolist():
            mine = np.flatnonzero(numbers == number)
            keys = self._keys_of(self.types[number], eids[mine])
            sources[mine], targets[mine] = keys >> np.uint64(32), keys.astype(np.uint32)
        return numbers, sources, targets

    def _keys_of(self, record: EdgeType, eids: I64) -> pcsr.U64:
        """The keys of edges of a type, u64[n]; the parts of base and delta are not put together for it."""
        origins = self.order(record.name).origins(eids - record.first_eid)
        base, changes = self.base_count(record.name), self._deltas.get(record.name)
        stored = self.keys_at(record.name, record.directed, origins[origins < base])
        keys = np.empty(len(eids), np.uint64)
        keys[origins < base] = stored
        if changes is not None:
            keys[origins >= base] = changes.keys[origins[origins >= base] - base]
        usage.read(keys)
        return keys

    def part(self, name: str, direction: Direction) -> Part:
        """The part of one type; an undirected type has one for every direction."""
        side = direction if self._types[name].directed else Direction.ANY
        if (name, side) not in self._parts:
            make = partial(self._part, name, side)
            self._parts[name, side] = waiting.aside(self._types[name].edge_count, make)
        return self._parts[name, side]

    def _part(self, name: str, side: Direction) -> Part:
        stored, changes = self.stored(name, side), self._deltas.get(name)
        if changes is not None and len(changes.keys) + len(changes.removed):
            stored = self._changed(stored, changes, side)
        return stored

    def column(self, name: str, key: str) -> Column | None:
        """A property of all edges of a type in the order of their ids; None where it has none."""
        if name not in self._types or key not in self._types[name].keys:
            return None
        if (name, key) not in self._columns:
            make = partial(self._column, name, key)
            self._columns[name, key] = waiting.aside(self._types[name].edge_count, make)
        return self._columns[name, key]

    def values(self, name: str, key: str, numbers: I64) -> Column | None:
        """A property of some edges of a type, by their ids without the first of the type; None where it has none. Of
        few edges base and delta are not put together for it."""
        changes, kind = self._deltas.get(name), self._types[name].keys.get(key)
        if kind is None:
            return None
        many = _WORTH * len(numbers) >= self._types[name].edge_count
        if changes is None or many or (name, key) in self._columns:
            whole = self.column(name, key)
            assert whole is not None
            usage.read(*whole.arrays)
            return whole.take(numbers)
        origins, base = self.order(name).origins(numbers), self.base_count(name)
        mine, others = np.flatnonzero(origins < base), np.flatnonzero(origins >= base)
        stored, added = self.stored_column(name, key), changes.columns.get(key)
        found = Column.nulls(kind, len(mine)) if stored is None else stored.take(origins[mine])
        if kind == "any":  # before a patch makes floats of integers
            found = found.as_any()
        patch = changes.patches.get(key)
        if patch is not None:
            found = patched(found, patch.of_rows(origins[mine]))
        new = None if added is None else added.take(origins[others] - base)
        both = Column.stacked([found, new], [len(mine), len(others)], kind)
        usage.read(*both.arrays)
        return both.take(np.argsort(np.concatenate([mine, others]), kind="stable"))

    def _column(self, name: str, key: str) -> Column:
        stored, changes = self.stored_column(name, key), self._deltas.get(name)
        if changes is not None:
            record, kind = self._records.get(name), self._types[name].keys[key]
            counts = [0 if record is None else record.edge_count, len(changes.keys)]
            if stored is None:
                stored = Column.nulls(kind, counts[0])
            if kind == "any":  # before a patch makes floats of integers
                stored = stored.as_any()
            both = [patched(stored, changes.patches.get(key)), changes.columns.get(key)]
            stored = Column.stacked(both, counts, kind).take(self._every(name))
        assert stored is not None
        return stored

    def pieces(self, name: str, most: int) -> Iterator[EdgePiece]:
        """See `gdb.storage.graph.edge_stream.pieces`; nothing of it is kept."""
        from . import edge_stream  # here: only copies and compaction need it

        return edge_stream.pieces(
            self._records.get(name),
            self._deltas.get(name),
            self._types[name].keys,
            lambda key: self._read_column(name, key),
            self._segments,
            self._vertex_count,
            most,
        )

    def handles(self, name: str, numbers: I64) -> I64:
        """What edges of a type keep as long as a transaction: the rank of one of the base, -1 - serial of one that was
        added; i64[n]. numbers : their ids without the first of the type."""
        if name not in self._deltas:
            return numbers
        return self.called(name, self.order(name).origins(numbers))

    def called(self, name: str, origins: I64) -> I64:
        """The handles of edges by their origins (`gdb.storage.graph.edge_order`), i64[n]."""
        changes = self._deltas.get(name)
        if changes is None:
            return origins
        base, found = self.base_count(name), origins.copy()
        added = (origins >= base).nonzero()[0]
        if len(added):
            found[added] = -1 - changes.serials[origins[added] - base]
        return found

    def numbers(self, name: str, handles: I64) -> I64:
        """The inverse of `handles`: -1 where there is no such edge any more."""
        changes = self._deltas.get(name)
        if changes is None:
            return handles
        origins = np.where(handles < 0, -1, handles)
        by_serial = np.argsort(changes.serials)
        serials, added = changes.serials[by_serial], np.flatnonzero(handles < 0)
        if len(serials):
            at = np.searchsorted(serials, -1 - handles[added])
            hit = serials[np.minimum(at, len(serials) - 1)] == -1 - handles[added]
            origins[added[hit]] = self.base_count(name) + by_serial[at[hit]]
        order = self.order(name)
        found = np.full(len(handles), -1, np.int64)
        there = np.flatnonzero((origins >= 0) & (origins < self.base_count(name) + len(serials)))
        there = there[order.alive(origins[there])]
        found[there] = order.numbers(origins[there])
        return found

    def base_count(self, name: str) -> int:
        """How many edges of a type the base has."""
        record = self._records.get(name)
        return 0 if record is None else record.edge_count

    # ---- base and delta --------------------------------------------------------------------------

    def stored(self, name: str, side: Direction) -> Part:
        """The part of the base; an empty one where the base has no such type."""
        if (name, side) not in self._stored:
            record = self._records.get(name)
            self._stored[name, side] = (
                pcsr.build(np.zeros(0, np.uint64))
                if record is None
                else _read(record, side, self._segments, self._vertex_count)
            )
        return self._stored[name, side]

    def stored_slots(self, name: str) -> I64:
        """The positions of an undirected type in the base where the neighbour is not below the row's vid."""
        if name not in self._stored_slots:
            found = _canonical(self.stored(name, Direction.ANY))
            record = self._records.get(name)
            if record is not None and len(found) != record.edge_count:
                self._asymmetric(name)
            self._stored_slots[name] = found
        return self._stored_slots[name]

    def keys_at(self, name: str, directed: bool, ranks: I64) -> pcsr.U64:
        """The keys of edges of the base by rank, u64[n]."""
        if directed:
            return pcsr.keys_at(self.stored(name, Direction.OUT), ranks)
        if not len(ranks):
            return ranks.astype(np.uint64)
        return pcsr.keys_at(self.stored(name, Direction.ANY), self.stored_slots(name)[ranks])

    def _changed(self, stored: Part, changes: TypeDelta, side: Direction) -> Part:
        removed = self.keys_at(changes.name, changes.directed, changes.removed)
        try:
            return splice_part(stored, turn_keys(removed, side), turn_keys(changes.keys, side))
        except KeyError:  # read from the forward part, or from one half of a symmetric one
            self._asymmetric(changes.name, DIRECTIONS)

    def order(self, name: str) -> EdgeOrder:
        """The edges of a type in the order of their ids."""
        if name not in self._orders:
            from .edge_order import EdgeOrder  # here: only edges by their ends need it

            changes = self._deltas.get(name) or TypeDelta(name, self._types[name].directed)
            # a circle would hold the base's files until garbage is collected
            own = weakref.proxy(self)
            slots = partial(Partitions.stored_slots, own, name)
            part = partial(Partitions.stored, own, name)
            self._orders[name] = EdgeOrder(part, slots, changes, self.base_count(name))
        return self._orders[name]

    def _every(self, name: str) -> I64:
        """The origin of each edge of a type, i64[edges]."""
        return self.order(name).origins(np.arange(self._types[name].edge_count, dtype=np.int64))

    def stored_column(self, name: str, key: str) -> Column | None:
        """A property of the base's edges by rank; None where it has none."""
        if (name, key) not in self._stored_columns:
            column = self._read_column(name, key)
            if column is None:
                return None
            self._stored_columns[name, key] = column
        return self._stored_columns[name, key]

    def _read_column(self, name: str, key: str) -> Column | None:
        record = self._records.get(name)
        if record is None or key not in record.columns:
            return None
        file, where = self._segments[record.file], self._segments.files.where
        return property_columns.read(record.columns[key], file, record.edge_count, where)

    # ---- unions ----------------------------------------------------------------------------------

    def known(self, types: Types) -> Types:
        """The given types that exist, sorted; all types where none is given."""
        return tuple(sorted(set(types) & set(self._types))) if types else tuple(sorted(self._types))

    def sources(self, types: Types, direction: Direction) -> list[tuple[str, Direction]]:
        """The parts that a union of known types consists of."""
        found: list[tuple[str, Direction]] = []
        for name in types:
            if direction is Direction.ANY and self._types[name].directed:
                found += [(name, Direction.OUT), (name, Direction.IN)]
            else:
                found.append((name, direction))
        return found

    def _united(self, types: Types, direction: Direction) -> Adjacency:
        sources = self.sources(types, direction)
        if len(sources) == 1:
            return self.part(*sources[0]).adjacency(types, direction)
        if not sources:
            return pcsr.build(np.zeros(0, np.uint64)).adjacency(types, direction)
        whole = self.part(*sources[0])
        for name, side in sources[1:]:
            second = side is Direction.IN and direction is Direction.ANY
            whole = pcsr.unite_parts(whole, self.part(name, side), without_loops=second)
        return whole.adjacency(types, direction)

    def _united_eids(self, types: Types, direction: Direction) -> I64:
        sources = self.sources(types, direction)
        if not sources:
            return np.zeros(0, np.int64)
        whole, eids = self.part(*sources[0]), self._part_eids(*sources[0])
        for name, side in sources[1:]:  # in the order of `_united`
            second = side is Direction.IN and direction is Direction.ANY
            more = self.part(name, side), self._part_eids(name, side)
            whole, eids = pcsr.united_eids((whole, eids), more, without_loops=second)
        return eids

    def _part_eids(self, name: str, direction: Direction) -> I64:
        from . import row_loops  # brings the compiler

        record = self._types[name]
        if not record.directed:
            part = self.part(name, Direction.ANY)
            found = row_loops.symmetric_eids(pcsr.lists(part), record.first_eid, record.edge_count)
            if found is None:
                self._asymmetric(name)
            return found
        forward = self.part(name, Direction.OUT)
        if direction is Direction.OUT:
            return record.first_eid + np.arange(record.edge_count, dtype=np.int64)
        backward = pcsr.lists(self.part(name, Direction.IN))
        found = row_loops.backward_eids(backward, forward.neighbours, record.first_eid)
        if found is None:
            self._asymmetric(name, DIRECTIONS)
        return found

    def _asymmetric(self, name: str, invariant: str = EDGE_COUNTS.name) -> NoReturn:
        """Refuse a type with an edge that only one of its ends knows."""
        record = self._records.get(name)
        file = MANIFEST if record is None else self._segments[record.parts[0].segments[0].file].name
        raise damaged(
            self._segments.files.where, file, f"is not symmetric (type {name})", invariant
        )


def _read(record: TypeRecord, direction: Direction, segments: Segments, vertex_count: int) -> Part:
    from . import part_reading  # here: many processes read no edges

    for part in record.parts:
        if part.direction is direction:
            try:
                return part_reading.read(part, segments, vertex_count)
            except Exception:  # as in `Segments.several`
                segments.settle()
                raise
    where = segments.files.where
    raise damaged(where, MANIFEST, f"has no part {direction} of {record.name}")


def _rows(part: Part) -> U32:
    """The vid of the row of each position, u32[m]."""
    return np.repeat(part.intervals.vids(), np.diff(part.offsets))


def _canonical(part: Part) -> I64:
    return np.flatnonzero(part.neighbours >= _rows(part)).astype(np.int64)

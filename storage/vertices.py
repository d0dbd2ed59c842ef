"""The vertices of a snapshot: groups, their ids and properties, the base's and those of the delta as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdb.base import usage
from gdb.errors import ImportFailed
from gdb.storage import ids, intervals, properties, readable, value_index
from gdb.storage.delta import Delta, NewVertices, Patch, Ranges, lengths_of, patched, visible
from gdb.storage.files import MANIFEST
from gdb.storage.ids import IdIndex
from gdb.storage.invariants import INDEX_LENGTHS, NEW_IDS
from gdb.storage.manifest import GroupRecord, Manifest, SpaceRecord
from gdb.storage.model import I64, U32, Column, Kind, wider
from gdb.storage.segment import SectionKind, Segments, compare, damaged
from gdb.storage.value_index import Indexes, Wanted
from gdb.storage.vid_ranges import inside, rows_in, vids_at, vids_of

I32 = npt.NDArray[np.int32]
GroupKey = tuple[tuple[str, ...], str]


_WORTH = 4
"""Base and delta are put together once a fourth of a column is asked for."""


@dataclass(frozen=True, slots=True)
class VertexGroup:
    """All vertices with exactly these labels whose ids are of this id space.

    labels : sorted.
    ranges : their vids, half-open, ascending; a vertex's row in the group's columns is its place in the concatenation
        of these.
    keys : property key -> kind.
    """

    labels: tuple[str, ...]
    id_space: str
    ranges: Ranges
    count: int
    keys: Mapping[str, Kind]


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """A part of a group that is stored together. ranges : its vertices that are still there."""

    number: int  # of the group of the base, -1 in the delta
    base: GroupRecord | None
    new: NewVertices | None
    ranges: Ranges
    patches: Mapping[str, Patch]

    @property
    def stored(self) -> Ranges:
        """Its vertices, also those removed again: one for each row."""
        if self.new is not None:
            return self.new.ranges
        assert self.base is not None
        return self.base.ranges

    @property
    def whole(self) -> bool:
        """Whether none was removed."""
        return self.ranges is self.stored


class Vertices:
    """All vertex groups of a snapshot. Not thread-safe: the snapshot holds a lock around it.

    before : those of an earlier snapshot of the same base; what was read of the base is not read again.
    """

    def __init__(
        self,
        manifest: Manifest,
        delta: Delta,
        segments: Segments,
        before: Vertices | None = None,
    ) -> None:
        self._segments, self._delta = segments, delta
        self._where = segments.files.where
        self._stored_vids = manifest.vertex_count
        record = manifest.delta
        self._delta_file = MANIFEST if record is None else manifest.name_of(record.file)
        read = {record.file for record in manifest.groups} | {s.file for s in manifest.spaces}
        same = (
            before is not None
            and (before._records, before._spaces) == (manifest.groups, manifest.spaces)
            and segments.shares(before._segments, read)
        )
        self._records: tuple[GroupRecord, ...] = manifest.groups
        self._spaces: tuple[SpaceRecord, ...] = manifest.spaces
        kept = before if same else None
        self._stored: dict[tuple[int, str | None], Column] = {} if kept is None else kept._stored
        self._indexes: dict[str, IdIndex] = {} if kept is None else kept._indexes
        self._are_ids: dict[tuple[int, str], bool] = {} if kept is None else kept._are_ids
        self._by_value: Indexes = Indexes() if kept is None else kept._by_value
        self._columns: dict[tuple[int, str | None], Column | None] = {}
        self._spans: dict[int, I64] = {}  # by group: where ranges of its pieces begin, and which
        kinds = {new.id_space: new.ids.kind for new in reversed(delta.added)}
        kinds |= {space.name: space.kind for space in self._spaces}
        self.spaces: Mapping[str, Kind] = dict(sorted(kinds.items()))
        self._grown = {new.id_space for new in delta.added}
        self._new_indexes: dict[str, IdIndex] = {}
        pieces = _pieces(self._records, delta)
        self._pieces = tuple(tuple(found) for found in pieces.values())
        self.groups = tuple(
            self._group(key, found) for key, found in zip(pieces, self._pieces, strict=True)
        )
        self.labels = tuple(sorted({label for group in self.groups for label in group.labels}))
        starts = sorted((r[0], n) for n, group in enumerate(self.groups) for r in group.ranges)
        self._range_start = np.array([start for start, _ in starts], np.int64)
        self._range_group = np.array([number for _, number in starts], np.int32)

    def _group(self, key: GroupKey, pieces: Sequence[_Piece]) -> VertexGroup:
        ranges = intervals.merged([r for piece in pieces for r in piece.ranges])
        kinds: dict[str, Kind] = {}
        for piece in pieces:
            kept: dict[str, Kind] = {}
            if piece.base is not None:
                kept |= {name: record.kind for name, record in piece.base.columns.items()}
            if piece.new is not None:
                kept |= {name: column.kind for name, column in piece.new.columns.items()}
            for name, patch in piece.patches.items():
                kept[name] = wider(kept.get(name), patch.column.kind)
            for name, kind in kept.items():
                kinds[name] = wider(kinds.get(name), kind)
        return VertexGroup(*key, ranges, sum(stop - start for start, stop in ranges), kinds)

    def fits(self, manifest: Manifest, delta: Delta, segments: Segments) -> bool:
        """Whether the vertices of another state are these: most commits change edges alone."""
        mine = self._delta
        return (
            (mine.dead is delta.dead and mine.added is delta.added)
            and (mine.patches is delta.patches and mine.vertices == delta.vertices)
            and (self._records is manifest.groups and self._spaces is manifest.spaces)
            and self._segments.records == segments.records
        )

    # ---- rows ------------------------------------------------------------------------------------

    def groups_of(self, vids: U32) -> I32:
        """The number of each vid's group, i32[n]."""
        if len(self.groups) == 1:
            return np.zeros(vids.shape[0], np.int32)
        return self._range_group[np.searchsorted(self._range_start, vids, side="right") - 1]

    def group_rows(self, vids: U32, group: int) -> I64:
        """The row of each vid in the group's columns, i64[n]; all must be of the group."""
        return rows_in(self.groups[group].ranges, vids)

    # ---- columns ---------------------------------------------------------------------------------

    def column(self, group: int, key: str | None) -> Column | None:
        """A property (None: the ids) of all vertices of a group, by row; None where it has none."""
        place = group, key
        if place not in self._columns:
            self._columns[place] = self._assembled(group, key)
        return self._columns[place]

    def _assembled(self, group: int, key: str | None) -> Column | None:
        if key is not None and key not in self.groups[group].keys:
            return None
        found: list[Column] = []
        for piece in self._pieces[group]:
            column = self._of_piece(piece, key, group)
            kept = None if piece.whole else rows_in(piece.stored, vids_of(piece.ranges))
            found.append(column if kept is None else column.take(kept))
        return Column.concat(found)

    def _of_piece(self, piece: _Piece, key: str | None, group: int) -> Column:
        stored: Column | None = None
        if piece.base is not None:
            count = int(lengths_of(piece.base.ranges)[-1])
            stored = self._of_base(piece.number, piece.base, key)
        else:
            assert piece.new is not None
            count = len(piece.new.ids)
            stored = piece.new.ids if key is None else piece.new.columns.get(key)
        if key is None:
            assert stored is not None
            return stored
        kind = self.groups[group].keys[key]
        if stored is None:
            stored = Column.nulls(kind, count)
        if kind == "any":  # before a patch makes floats of integers: each value keeps its type
            stored = stored.as_any()
        return patched(stored, piece.patches.get(key))

    def _of_base(self, number: int, base: GroupRecord, key: str | None) -> Column | None:
        """A column of a group of the base as it is stored; None where it has none."""
        record = base.ids if key is None else base.columns.get(key)
        place = number, key
        if record is not None and place not in self._stored:
            count = int(lengths_of(base.ranges)[-1])
            file = self._segments[base.file]
            self._stored[place] = properties.read(record, file, count, self._where)
        return self._stored.get(place)

    def values(self, group: int, key: str | None, vids: U32) -> Column | None:
        """A property (None: the ids) of some vertices of a group; None where it has none. For few vertices base and
        delta are not put together, and how many were removed does not matter."""
        if (group, key) in self._columns or _WORTH * len(vids) >= self.groups[group].count:
            whole = self.column(group, key)
            usage.read(*(() if whole is None else whole.arrays))
            return None if whole is None else whole.take(self.group_rows(vids, group))
        if key is not None and key not in self.groups[group].keys:
            return None
        pieces = self._pieces[group]
        if len(pieces) == 1:
            return self._taken(pieces[0], key, group, vids)
        of = self._pieces_of(group, vids)
        found: list[Column] = []
        places: list[I64] = []
        for number in np.unique(of).tolist():
            mine = np.flatnonzero(of == number)
            found.append(self._taken(pieces[number], key, group, vids[mine]))
            places.append(mine)
        order = np.argsort(np.concatenate(places), kind="stable")
        return Column.concat(found).take(order)

    def _pieces_of(self, group: int, vids: U32) -> I64:
        """The place of each vid's piece among those of the group, i64[n]."""
        if group not in self._spans:
            pieces = self._pieces[group]
            starts = sorted((r[0], k) for k, piece in enumerate(pieces) for r in piece.stored)
            self._spans[group] = np.array(starts, np.int64).reshape(-1, 2)
        spans = self._spans[group]
        of: I64 = spans[np.searchsorted(spans[:, 0], vids, side="right") - 1, 1]
        return of

    def _taken(self, piece: _Piece, key: str | None, group: int, vids: U32) -> Column:
        """A property of some vertices of a piece, as a column of the group has them."""
        rows = rows_in(piece.stored, vids)
        if piece.base is not None:
            stored = self._of_base(piece.number, piece.base, key)
        else:
            assert piece.new is not None
            stored = piece.new.ids if key is None else piece.new.columns.get(key)
        kind = None if key is None else self.groups[group].keys[key]
        taken = Column.nulls(kind or "int64", len(rows)) if stored is None else stored.take(rows)
        usage.read(*taken.arrays)
        if kind == "any":  # before a patch makes floats of integers: each value keeps its type
            taken = taken.as_any()
        patch = None if key is None else piece.patches.get(key)
        if patch is None:
            return taken
        return patched(taken, patch.of_rows(rows))

    # ---- by value --------------------------------------------------------------------------------

    def can_hold(self, group: int, key: str, wanted: Wanted) -> bool:
        """Whether `holders` gives the answer for a property of a group."""
        kind = self.groups[group].keys.get(key)
        return kind is None or value_index.can_hold(kind, wanted)

    def holders(self, group: int, key: str, wanted: Wanted) -> tuple[I64, U32]:
        """Which of the wanted values vertices of a group have, and the vids that have them; i64[n], u32[n]."""
        found = [
            (np.zeros(0, np.int64), np.zeros(0, np.uint32)),
            *(self._holders(piece, key, wanted) for piece in self._pieces[group]),
        ]
        places, vids = (np.concatenate(both) for both in zip(*found, strict=True))
        alive = ~self._delta.is_dead(vids)
        return (places, vids) if alive.all() else (places[alive], vids[alive])

    def _holders(self, piece: _Piece, key: str, wanted: Wanted) -> tuple[I64, U32]:
        if piece.new is not None:
            column = piece.new.columns.get(key)
            if column is None:
                return np.zeros(0, np.int64), np.zeros(0, np.uint32)
            places, rows = value_index.found(column, wanted, None)
            return places, vids_at(piece.new.ranges, rows)
        assert piece.base is not None
        places, rows = self._rows_of_base(piece.number, piece.base, key, wanted)
        patch = piece.patches.get(key)
        if patch is not None:
            left = np.isin(rows, patch.rows, invert=True)
            at, changed = value_index.found(patch.column, wanted, None)
            places = np.concatenate([places[left], at])
            rows = np.concatenate([rows[left], patch.rows[changed]])
        return places, vids_at(piece.base.ranges, rows)

    def _rows_of_base(
        self, number: int, base: GroupRecord, key: str, wanted: Wanted
    ) -> tuple[I64, I64]:
        column = self._of_base(number, base, key)
        if column is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if not self._was_id(number, base, key):
            return self._by_value.found((number, key), column, wanted)
        places, values = wanted.user_ids()
        space = next(one for one in self._spaces if one.name == base.id_space)
        vids = self._find_in(self.index(space), space.kind, values)
        there = np.flatnonzero((vids >= 0) & inside(base.ranges, vids))
        return places[there], rows_in(base.ranges, vids[there].astype(np.uint32))

    def named(self, group: int, wanted: Wanted) -> tuple[I64, U32]:
        """Which of the wanted values are ids of vertices of a group, and their vids; i64[n], u32[n]."""
        places, values = wanted.user_ids()
        vids = self.find(self.groups[group].id_space, values)
        there = np.flatnonzero(vids >= 0)
        there = there[self.groups_of(vids[there].astype(np.uint32)) == group]
        return places[there], vids[there].astype(np.uint32)

    # ---- user ids --------------------------------------------------------------------------------

    def is_id(self, group: int, key: str) -> bool:
        """Whether a property is the user's id of each vertex of a group, as an import makes of a named :ID column. The
        columns of the base are compared once."""
        return all(self._is_id(piece, key) for piece in self._pieces[group])

    def _is_id(self, piece: _Piece, key: str) -> bool:
        if key in piece.patches:
            return False
        if piece.base is None:
            return piece.new is not None and _same(piece.new.columns.get(key), piece.new.ids)
        return self._was_id(piece.number, piece.base, key)

    def _was_id(self, number: int, base: GroupRecord, key: str) -> bool:
        """`is_id` of a group of the base as it is stored."""
        place, record = (number, key), base.columns.get(key)
        if place not in self._are_ids:
            alike = record is not None and record.kind == base.ids.kind
            self._are_ids[place] = alike and _same(
                self._of_base(number, base, key), self._of_base(number, base, None)
            )
        return self._are_ids[place]

    def user_ids(self, vids: U32) -> list[int | str]:
        """The user id of each vid; 0 for one that is no more."""
        found = np.zeros(vids.shape[0], np.object_)
        numbers = self.groups_of(vids) if len(self.groups) else np.zeros(vids.shape[0], np.int32)
        gone = self._delta.is_dead(vids)
        for group in np.unique(numbers[~gone]).tolist():
            mine = np.flatnonzero((numbers == group) & ~gone)
            column = self.values(group, None, vids[mine])
            assert column is not None
            found[mine] = column.to_list()
        result: list[int | str] = found.tolist()
        return result

    def find(self, space: str, wanted: I64 | Sequence[int | str]) -> I64:
        """The vid of each id of a space, -1 where there is none; i64[n]."""
        kind, found = self.spaces.get(space), None
        if kind is None:
            return np.full(len(wanted), -1, np.int64)
        for record in self._spaces:
            if record.name == space:
                found = self._find_in(self.index(record), kind, wanted)
        if found is None:
            found = np.full(len(wanted), -1, np.int64)
        if len(self._delta.dead):
            known = np.maximum(found, 0).astype(np.uint32)
            found[self._delta.is_dead(known) & (found >= 0)] = -1
        if space in self._grown:
            left = np.flatnonzero(found < 0)
            asked = (
                wanted[left]
                if isinstance(wanted, np.ndarray)
                else [wanted[k] for k in left.tolist()]
            )
            if len(left):
                found[left] = self._find_in(self._new_index(space), kind, asked)
        return found

    def free_ids(self, space: str) -> Iterator[int]:
        """Integers that no vertex of a space has as its id (`ids.free_integers`); the space's ids are no strings."""
        indexes = [self.index(record) for record in self._spaces if record.name == space]
        if space in self._grown:
            indexes.append(self._new_index(space))
        largest = max(map(self._largest, indexes), default=-1)
        return ids.free_integers((self._alive(one) for one in indexes), largest)

    def _alive(self, index: IdIndex) -> I64:
        """The ids of vertices that are still there, i64[n] ascending."""
        keys = index.keys.view(np.int64)
        return keys if not len(self._delta.dead) else keys[~self._delta.is_dead(index.vids)]

    def _largest(self, index: IdIndex) -> int:
        """The largest id of a vertex that is still there; -1 where there is none."""
        stop, length = len(index.keys), 1
        while stop > 0:
            start = max(stop - length, 0)
            alive = np.flatnonzero(~self._delta.is_dead(index.vids[start:stop]))
            if len(alive):
                return int(index.keys[start + alive[-1]])
            stop, length = start, 4 * length
        return -1

    def _find_in(self, index: IdIndex, kind: Kind, wanted: I64 | Sequence[int | str]) -> I64:
        if isinstance(wanted, np.ndarray):
            if kind == "int64":
                return ids.find_integers(index, wanted)
            return np.full(wanted.shape[0], -1, np.int64)
        if len(wanted) == 1 and kind == "int64" and type(wanted[0]) is int:
            known = -(1 << 63) <= wanted[0] < 1 << 63
            vid = ids.find_integer(index, wanted[0]) if known else -1
            return np.array((vid,), np.int64)
        found = np.full(len(wanted), -1, np.int64)
        if kind == "string":
            texts = [(n, value) for n, value in enumerate(wanted) if isinstance(value, str)]
            if texts:
                found[[n for n, _ in texts]] = ids.find_strings(
                    index, [value for _, value in texts], self.user_ids
                )
            return found
        numbers = [
            (n, value)
            for n, value in enumerate(wanted)
            if isinstance(value, int) and -(1 << 63) <= value < 1 << 63
        ]
        if numbers:
            asked = np.array([value for _, value in numbers], np.int64)
            found[[n for n, _ in numbers]] = ids.find_integers(index, asked)
        return found

    def index(self, space: SpaceRecord) -> IdIndex:
        """The index of an id space of the base; CorruptStore where it cannot be used."""
        if space.name not in self._indexes:
            file = self._segments[space.file]
            keys = (
                file.i64(space.section, SectionKind.ID_KEYS, space.count)
                if space.kind == "int64"
                else file.u64(space.section, SectionKind.ID_KEYS, space.count)
            )
            vids = file.u32(space.section + 1, SectionKind.ID_VIDS, space.count)
            if keys.shape[0] != space.count or vids.shape[0] != space.count:
                how = "holds an index of another length"
                raise damaged(self._where, file.name, how, INDEX_LENGTHS.name)
            index = IdIndex(keys, vids)
            compare(self._where, file.name, readable.INDEX, (index, self._stored_vids))
            self._indexes[space.name] = index
        return self._indexes[space.name]

    def _new_index(self, space: str) -> IdIndex:
        """The index of what the delta added, without what it removed again."""
        if space not in self._new_indexes:
            own, vids = [], []
            for new in self._delta.added:
                if new.id_space == space:
                    mine = vids_of(new.ranges)
                    alive = np.flatnonzero(~self._delta.is_dead(mine))
                    own.append(new.ids.take(alive))
                    vids.append(mine[alive])
            try:
                index = ids.build(Column.concat(own), np.concatenate(vids), space)
            except ImportFailed:  # no transaction adds one that is there
                raise damaged(self._where, self._delta_file, "adds an id twice", NEW_IDS) from None
            self._new_indexes[space] = index
        return self._new_indexes[space]


def _pieces(records: Sequence[GroupRecord], delta: Delta) -> dict[GroupKey, list[_Piece]]:
    """The pieces of each group that has any vertex."""
    found: dict[GroupKey, list[_Piece]] = {}
    for number, record in enumerate(records):
        ranges = _left(record.ranges, delta)
        patches = delta.patches.get(number, {})
        if ranges:
            piece = _Piece(number, record, None, ranges, patches)
            found.setdefault((record.labels, record.id_space), []).append(piece)
    for new in delta.added:
        ranges = _left(new.ranges, delta)
        if ranges:
            found.setdefault(new.key, []).append(_Piece(-1, None, new, ranges, {}))
    return found


def _left(ranges: Ranges, delta: Delta) -> Ranges:
    """The ranges without what was removed; the same object where nothing was."""
    left = visible(ranges, delta.dead) if len(delta.dead) else ranges
    return ranges if left == ranges else left


def _same(column: Column | None, ids: Column | None) -> bool:
    """Whether a property holds exactly these ids."""
    if column is None or ids is None or column.kind != ids.kind or len(column) != len(ids):
        return False
    if column.valid is not None and not column.valid.all():
        return False
    first = slice(0, 64)  # nearly every other property differs here
    if not np.array_equal(column.values[first], ids.values[first]):
        return False
    if (
        column.offsets is not None
        and ids.offsets is not None
        and not np.array_equal(column.offsets, ids.offsets)
    ):
        return False
    return np.array_equal(column.values, ids.values)

"""The vertices of a snapshot: groups, their ids and properties, the base's and those of the delta as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gdb.base import usage
from gdb.base.once import cached_property
from gdb.errors import CorruptStore, ImportFailed

from ..columns.model import I64, INT64, U32, Column, Kind
from ..disk.files import MANIFEST
from ..format.invariants import INDEX_LENGTHS, NEW_IDS
from ..format.manifest import GroupRecord, Manifest, SpaceRecord
from ..format.sections import SectionKind
from ..format.segment import compare, damaged
from ..format.segments import Segments
from . import ids, property_columns, section_checks, value_index
from .ascending import place_of
from .delta import Delta, lengths_of, patched
from .ids import Added, IdIndex, are_same
from .value_index import Indexes, Wanted
from .vertex_pieces import Piece, VertexGroup, groups_of
from .vid_ranges import Extent, by_number, vids_of

I32 = npt.NDArray[np.int32]
_NO_KEYS, _NO_VIDS = np.zeros(0, np.int64), np.zeros(0, np.uint32)

_WORTH = 4
"""Base and delta are merged once a fourth of a column has been read."""


class Vertices:
    """All vertex groups of a snapshot. Not thread-safe: the snapshot holds a lock around it.

    before : those of an earlier snapshot of the same base; what was read of the base is not read again.
    follows : whether the delta was made of theirs in this process.
    """

    def __init__(
        self,
        manifest: Manifest,
        delta: Delta,
        segments: Segments,
        before: Vertices | None = None,
        *,
        follows: bool = False,
    ) -> None:
        self._segments, self._delta = segments, delta
        self._manifest, self._stored_vids = manifest, manifest.vertex_count
        self._records: tuple[GroupRecord, ...] = manifest.groups
        self._spaces: tuple[SpaceRecord, ...] = manifest.spaces
        kept = None if before is None or not self._same_base(before) else before
        self._stored: dict[tuple[int, str | None], Column] = {} if kept is None else kept._stored
        self._indexes: dict[str, IdIndex] = {} if kept is None else kept._indexes
        self._are_ids: dict[tuple[int, str], bool] = {} if kept is None else kept._are_ids
        self.by_value: Indexes = Indexes() if kept is None else kept.by_value
        self._columns: dict[tuple[int, str | None], Column | None] = {}
        self._spans: dict[int, I64] = {}  # by group: where ranges of its pieces begin, and which
        alike = kept is not None and kept._delta.added is delta.added
        self.spaces: Mapping[str, Kind] = (
            kept.spaces if kept is not None and alike else self._all_spaces()
        )
        self.groups: tuple[VertexGroup, ...]
        self._grown: set[str] = (
            kept._grown if kept is not None and alike else {new.id_space for new in delta.added}
        )
        self._new_indexes: dict[str, Added] = {}
        if kept is not None and alike and kept._delta.dead is delta.dead:  # values alone changed
            self.groups = tuple([group.patched(delta.patches) for group in kept.groups])
            self._spans = kept._spans
        else:
            self.groups = groups_of(manifest.groups, delta, () if kept is None else kept.groups)
        self._starts: tuple[I64, I32] | None = None
        if kept is not None:
            self._keep(kept)
            if follows:
                self._new_indexes |= kept._new_indexes

    @property
    def _where(self) -> str:
        """The store, for errors."""
        return self._segments.files.where

    @property
    def _delta_file(self) -> str:
        """The file that the delta is in, for errors."""
        record = self._manifest.delta
        return MANIFEST if record is None else self._manifest.name_of(record.file)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All labels, ascending."""
        return tuple(sorted({label for group in self.groups for label in group.labels}))

    def _same_base(self, before: Vertices) -> bool:
        """Whether an earlier snapshot has the same groups and ids in the same files."""
        records, spaces = self._records, self._spaces
        unchanged = records is before._records and spaces is before._spaces
        if unchanged and self._segments.records is before._segments.records:
            return True
        read = {record.file for record in records} | {space.file for space in spaces}
        same = (before._records, before._spaces) == (records, spaces)
        return same and self._segments.shares(before._segments, read)

    def _all_spaces(self) -> Mapping[str, Kind]:
        """The id spaces, and the kind of the ids of each."""
        kinds = {new.id_space: new.ids.kind for new in reversed(self._delta.added)}
        kinds |= {space.name: space.kind for space in self._spaces}
        return dict(sorted(kinds.items()))

    def _keep(self, before: Vertices) -> None:
        """Take over what an earlier snapshot has made of groups that are the same."""
        if before._columns:
            numbers = {id(group): number for number, group in enumerate(before.groups)}
            same = {
                numbers[id(group)]: number
                for number, group in enumerate(self.groups)
                if id(group) in numbers
            }
            for (group, key), column in [*before._columns.items()]:
                if group in same:
                    self._columns[same[group], key] = column
        if before._starts is not None and _extents(self.groups) == _extents(before.groups):
            self._starts = before._starts

    def _stored_starts(self) -> tuple[I64, I32]:
        """Where ranges of stored vertices begin, ascending, and the group of each."""
        if self._starts is None:
            pairs = sorted((r[0], n) for n, extent in _extents(self.groups) for r in extent.ranges)
            starts = np.array([start for start, _ in pairs], np.int64)
            self._starts = starts, np.array([number for _, number in pairs], np.int32)
        return self._starts

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
        starts, numbers = self._stored_starts()
        return numbers[starts.searchsorted(vids, "right") - 1]

    def group_rows(self, vids: U32, group: int) -> I64:
        """The row of each vid in the group's columns, i64[n]; all must be of the group."""
        return self.groups[group].extent.rows(vids)

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
        for piece in self.groups[group].pieces:
            column = self._of_piece(piece, key, group)
            kept = None if piece.whole else piece.stored.rows(vids_of(piece.ranges))
            found.append(column if kept is None else column.take(kept))
        return Column.concat(found)

    def _of_piece(self, piece: Piece, key: str | None, group: int) -> Column:
        stored = self.stored_of(piece, key)
        if key is None:
            assert stored is not None
            return stored
        kind = self.groups[group].keys[key]
        if stored is None:
            stored = Column.nulls(kind, piece.stored.count)
        if kind == "any":  # before a patch makes floats of integers: each value keeps its type
            stored = stored.as_any()
        return patched(stored, piece.patches.get(key))

    def stored_of(self, piece: Piece, key: str | None) -> Column | None:
        """A column of a piece without what was changed of it; None where it has none."""
        if piece.base is not None:
            return self._of_base(piece.number, piece.base, key)
        assert piece.new is not None
        return piece.new.ids if key is None else piece.new.columns.get(key)

    def _of_base(self, number: int, base: GroupRecord, key: str | None) -> Column | None:
        """A column of a group of the base as it is stored; None where it has none."""
        record = base.ids if key is None else base.columns.get(key)
        place = number, key
        if record is not None and place not in self._stored:
            count = int(lengths_of(base.ranges)[-1])
            file = self._segments[base.file]
            self._stored[place] = property_columns.read(record, file, count, self._where)
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
        pieces = self.groups[group].pieces
        if len(pieces) == 1:
            return self._taken(pieces[0], key, group, vids)
        of = self._pieces_of(group, vids)
        if len(vids) == 1:
            return self._taken(pieces[of.item(0)], key, group, vids)
        found: list[Column] = []
        places: list[I64] = []
        for number in np.unique(of).tolist():
            mine = (of == number).nonzero()[0]
            found.append(self._taken(pieces[number], key, group, vids[mine]))
            places.append(mine)
        order = np.argsort(np.concatenate(places), kind="stable")
        return Column.concat(found).take(order)

    def _pieces_of(self, group: int, vids: U32) -> I64:
        """The place of each vid's piece among those of the group, i64[n]."""
        if group not in self._spans:
            pieces = self.groups[group].pieces
            starts = sorted(
                (r[0], k) for k, piece in enumerate(pieces) for r in piece.stored.ranges
            )
            self._spans[group] = np.array(starts, np.int64).reshape(-1, 2)
        spans = self._spans[group]
        of: I64 = spans[np.searchsorted(spans[:, 0], vids, side="right") - 1, 1]
        return of

    def _taken(self, piece: Piece, key: str | None, group: int, vids: U32) -> Column:
        """A property of some vertices of a piece, as a column of the group has them."""
        rows, stored = piece.stored.rows(vids), self.stored_of(piece, key)
        kind = None if key is None else self.groups[group].keys[key]
        taken = Column.nulls(kind or "int64", len(rows)) if stored is None else stored.take(rows)
        usage.read(*taken.arrays)
        if kind == "any":  # before a patch makes floats of integers: each value keeps its type
            taken = taken.as_any()
        patch = None if key is None else piece.patches.get(key)
        if patch is None or not len((mine := patch.of_rows(rows)).rows):
            return taken
        whole = len(mine.rows) == len(rows) and mine.column.kind == kind
        return mine.column if whole else patched(taken, mine)

    # ---- by value --------------------------------------------------------------------------------

    def can_hold(self, group: int, key: str, wanted: Wanted) -> bool:
        """Whether `holders` gives the answer for a property of a group."""
        kind = self.groups[group].keys.get(key)
        return kind is None or value_index.can_hold(kind, wanted)

    def holders(self, group: int, key: str, wanted: Wanted) -> tuple[I64, U32]:
        """Which of the wanted values vertices of a group have, and the vids that have them; i64[n], u32[n]."""
        pieces = self.groups[group].pieces
        if len(pieces) == 1:
            places, vids = self._holders(pieces[0], key, wanted)
        else:
            found = [self._holders(piece, key, wanted) for piece in pieces]
            places, vids = (np.concatenate(both) for both in zip(*found, strict=True))
        if len(vids) and len(self._delta.dead):
            gone = self._delta.is_dead(vids)
            return places[~gone], vids[~gone]
        return places, vids

    def one_named(self, group: int, key: str | None, value: int) -> int | None:
        """The vid that `holders` (of None `named`) finds for one integer, -1 where it finds none; None where there are
        several, or it is not known that the property is the user's id in the base."""
        found = -1
        for piece in self.groups[group].pieces:
            vid = self._one_in(piece, key, value)
            if vid is None or (vid >= 0 and found >= 0):
                return None
            found = max(found, vid)
        return found

    def _one_in(self, piece: Piece, key: str | None, value: int) -> int | None:
        """As `one_named`, in a piece of the group."""
        if piece.new is not None:
            column = piece.new.ids if key is None else piece.new.columns.get(key)
            if column is None:
                return -1
            if column.kind != "int64" or column.valid is not None or value not in INT64:
                return None
            if len(rows := (column.values == value).nonzero()[0]) > 1:
                return None
            vid = piece.stored.vid(rows.item(0)) if len(rows) else -1
        else:
            base = piece.base
            index = None if base is None else self._indexes.get(base.id_space)
            if base is None or index is None or base.ids.kind != "int64":
                return None
            if key is not None and (
                key in piece.patches or not self._are_ids.get((piece.number, key), False)
            ):
                return None
            vid = ids.find_integer(index, value)
            if vid >= 0 and not piece.stored.holds(vid):
                return -1
        return vid if vid >= 0 and place_of(self._delta.dead.data, vid) < 0 else -1

    def _holders(self, piece: Piece, key: str, wanted: Wanted) -> tuple[I64, U32]:
        if piece.new is not None:
            column = piece.new.columns.get(key)
            if column is None:
                return np.zeros(0, np.int64), np.zeros(0, np.uint32)
            places, rows = value_index.find_values(column, wanted, None)
            return places, piece.stored.vids(rows)
        assert piece.base is not None
        patch = piece.patches.get(key)
        if patch is None and self._was_id(piece.number, piece.base, key):
            return self._named_in(piece, piece.base, wanted)
        places, rows = self._rows_of_base(piece, piece.base, key, wanted)
        if patch is not None:
            left = np.isin(rows, patch.rows, invert=True)
            at, changed = value_index.find_values(patch.column, wanted, None)
            places = np.concatenate([places[left], at])
            rows = np.concatenate([rows[left], patch.rows[changed]])
        return places, piece.stored.vids(rows)

    def _rows_of_base(
        self, piece: Piece, base: GroupRecord, key: str, wanted: Wanted
    ) -> tuple[I64, I64]:
        column = self._of_base(piece.number, base, key)
        if column is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if not self._was_id(piece.number, base, key):
            return self.by_value.found((piece.number, key), column, wanted)
        places, vids = self._named_in(piece, base, wanted)
        return places, piece.stored.rows(vids)

    def _named_in(self, piece: Piece, base: GroupRecord, wanted: Wanted) -> tuple[I64, U32]:
        """Which of the wanted values are ids in a piece of the base, and their vids."""
        for space in self._spaces:
            if space.name == base.id_space:
                break
        if space.kind == "int64" and (value := wanted.one_integer) is not None:
            vid = ids.find_integer(self.index(space), value)
            there = 1 if vid >= 0 and piece.stored.holds(vid) else 0
            return np.zeros(there, np.int64), np.array((vid,)[:there], np.uint32)
        places, values = wanted.user_ids()
        vids = ids.find(self.index(space), space.kind, values, self.user_ids)
        found = ((vids >= 0) & piece.stored.has(vids)).nonzero()[0]
        return places[found], vids[found].astype(np.uint32)

    def named(self, group: int, wanted: Wanted) -> tuple[I64, U32]:
        """Which of the wanted values are ids of vertices of a group, and their vids; i64[n], u32[n]."""
        places, values = wanted.user_ids()
        vids = self.find(self.groups[group].id_space, values)
        there = (vids >= 0).nonzero()[0]
        there = there[self.groups_of(vids[there].astype(np.uint32)) == group]
        return places[there], vids[there].astype(np.uint32)

    # ---- user ids --------------------------------------------------------------------------------

    def is_id(self, group: int, key: str) -> bool:
        """Whether a property is the user's id of each vertex of a group, as an import makes of a named :ID column. The
        columns of the base are compared once."""
        return all(self._is_id(piece, key) for piece in self.groups[group].pieces)

    def _is_id(self, piece: Piece, key: str) -> bool:
        if key in piece.patches:
            return False
        if piece.base is None:
            return piece.new is not None and are_same(piece.new.columns.get(key), piece.new.ids)
        return self._was_id(piece.number, piece.base, key)

    def _was_id(self, number: int, base: GroupRecord, key: str) -> bool:
        """`is_id` of a group of the base as it is stored."""
        place, record = (number, key), base.columns.get(key)
        if place not in self._are_ids:
            alike = record is not None and record.kind == base.ids.kind
            self._are_ids[place] = alike and are_same(
                self._of_base(number, base, key), self._of_base(number, base, None)
            )
        return self._are_ids[place]

    def user_ids(self, vids: U32) -> list[int | str]:
        """The user id of each vid; 0 for one that is no more."""
        found = np.zeros(vids.shape[0], np.object_)
        left = (~self._delta.is_dead(vids)).nonzero()[0]
        for group, mine in by_number(self.groups_of(vids[left])) if len(left) else ():
            column = self.values(group, None, vids[left[mine]])
            assert column is not None
            found[left[mine]] = column.to_list()
        result: list[int | str] = found.tolist()
        return result

    def find(self, space: str, wanted: I64 | Sequence[int | str]) -> I64:
        """The vid of each id of a space, -1 where there is none; i64[n]."""
        kind, found = self.spaces.get(space), None
        if kind is None:
            return np.full(len(wanted), -1, np.int64)
        for record in self._spaces:
            if record.name == space:
                found = ids.find(self.index(record), kind, wanted, self.user_ids)
        if found is None:
            found = np.full(len(wanted), -1, np.int64)
        if len(self._delta.dead):
            known = np.maximum(found, 0).astype(np.uint32)
            found[self._delta.is_dead(known) & (found >= 0)] = -1
        if space in self._grown:
            left = (found < 0).nonzero()[0]
            values = (
                wanted[left]
                if isinstance(wanted, np.ndarray)
                else [wanted[k] for k in left.tolist()]
            )
            if len(left):
                found[left] = ids.find(self._new_index(space), kind, values, self.user_ids)
        return found

    def free_ids(self, space: str) -> Iterator[int]:
        """Integers that no vertex of a space has as its id (`ids.free_ids`); the space's ids are no strings."""
        return ids.free_ids(self.indexes(space), self._delta.is_dead)

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
            compare(self._where, file.name, section_checks.INDEX, (index, self._stored_vids))
            self._indexes[space.name] = index
        return self._indexes[space.name]

    def indexes(self, space: str) -> list[IdIndex]:
        """The indexes of an id space: of the base, also of vertices that were removed, and of what was added."""
        found = [self.index(record) for record in self._spaces if record.name == space]
        return [*found, self._new_index(space)] if space in self._grown else found

    def _new_index(self, space: str) -> IdIndex:
        """The index of what the delta added, without what it removed again."""
        delta, known = self._delta, self._new_indexes.get(space)
        stop, dead = self._stored_vids + delta.vertices, delta.dead
        if known is None or known.stop != stop or known.dead is not dead:
            index = None if known is None else self._index_after(known, space)
            if index is None:
                index = self._index_of(space, 0, IdIndex(_NO_KEYS, _NO_VIDS))
            if index is None:  # no transaction adds one that is there
                raise self._twice()
            self._new_indexes[space] = known = Added(index, stop, dead)
        return known.index

    def _index_after(self, known: Added, space: str) -> IdIndex | None:
        """That of an earlier delta, which this one was made of, with what was added and without what was removed
        since."""
        index = known.index
        if known.dead is not self._delta.dead:
            gone = self._delta.is_dead(index.vids)
            if gone.any():
                index = IdIndex(index.keys[~gone], index.vids[~gone])
        return self._index_of(space, known.stop, index)

    def _index_of(self, space: str, first: int, index: IdIndex) -> IdIndex | None:
        """An index with the ids of the vertices that were added from a vid on; None where one is there already."""
        own, several = [], []
        for new in self._delta.added:
            if new.id_space == space and new.ranges and new.ranges[-1][1] > first:
                vids = vids_of(tuple((max(a, first), b) for a, b in new.ranges if b > first))
                alive = (~self._delta.is_dead(vids)).nonzero()[0]
                own.append(new.ids.take(alive + len(new.ids) - len(vids)))
                several.append(vids[alive])
        if not own:
            return index
        try:
            return ids.extend_index(index, Column.concat(own), np.concatenate(several), space)
        except ImportFailed:
            raise self._twice() from None

    def _twice(self) -> CorruptStore:
        return damaged(self._where, self._delta_file, "adds an id twice", NEW_IDS)


def _extents(groups: Sequence[VertexGroup]) -> list[tuple[int, Extent]]:
    """The vertices of each piece, behind the number of its group."""
    return [(k, piece.stored) for k, group in enumerate(groups) for piece in group.pieces]

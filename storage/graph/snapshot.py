"""One committed state of a graph, read in place by planner, executors and the public API.

A snapshot never changes. Files are mapped and verified when they are first touched; what has to be
computed (unions, edge ids) is computed once. Any number of threads may read it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gdb.base import usage, waiting
from gdb.errors import StoreError
from gdb.records import dataclass

from ..columns.model import I64, U32, Column, Kind
from ..disk import lost_pages
from ..disk.files import Files
from ..disk.pins import Pin
from ..format.direction import Direction
from ..format.manifest import Manifest
from ..format.manifest_head import More
from ..format.segment import need
from ..format.segments import Segments
from . import delta as deltas
from . import incidence, intervals
from .adjacency import Adjacency, Shape
from .delta import Delta
from .edge_stream import EdgePiece
from .partitions import EdgeType, Partitions
from .value_index import Wanted
from .vertex_pieces import VertexGroup
from .vertices import I32, Vertices
from .vid_ranges import vids_of

if TYPE_CHECKING:
    from ..checking.check import Report
    from ..disk.steps import Steps
    from ..format.delta_parts import DeltaParts
    from .single_look_ups import HolderLookUp, IdLookUp, ValueLookUp

__all__ = ["EdgeType", "PartStats", "Snapshot", "StoreStats", "VertexGroup"]


@dataclass(frozen=True, slots=True)
class PartStats:
    """One direction of an edge-label partition; bytes without properties."""

    type: str
    direction: Direction
    rows: int
    intervals: int
    edges: int
    bytes: int
    segments: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds. `bytes` counts all its files, `parts` are by type and direction; `changes` is the size of the
    delta, what was changed since these were written: vertices, edges and values; `packed`: they are written in packed
    sections."""

    version: int
    vertices: int
    edges: int
    bytes: int
    files: int
    parts: tuple[PartStats, ...]
    changes: int = 0
    packed: bool = False


T = TypeVar("T")
NO_MORE = More(0, 0)
_NO_PLACES, _NO_VIDS = np.zeros(0, np.int64), np.zeros(0, np.uint32)


class Snapshot:
    """See the module. Made by `gdb.storage.write.store.Store.snapshot`."""

    def __init__(
        self,
        files: Files,
        manifest: Manifest,
        more: More = NO_MORE,
        before: Snapshot | None = None,
        delta: Delta | None = None,
        pins: Sequence[Pin] | None = None,
    ) -> None:
        """more : what the store has on disk beside the files that the manifest names. before : an earlier snapshot of
        the same store; what both have is not read again. delta : instead of the manifest's, made of that of
        `before`. pins : what keeps its files on disk; None: what keeps those of `before`."""
        self.manifest = manifest
        self.files = files
        # the manifest's file, and its bytes up to the record that made this state: nothing changes them any more
        self.written: tuple[bytearray, int] | None = None
        self.parts: DeltaParts | None = None  # its delta, as it was written
        self.version = manifest.version
        self._more = more
        self._lock = waiting.Lock()
        # of a state whose delta is known nothing is read but the files
        self._segments: Segments = (
            before._segments
            if before is not None
            and delta is not None
            and manifest.files is before.manifest.files
            and (pins is None or pins is before.pins)
            else Segments(
                files,
                manifest.files,
                manifest.inline,
                None if before is None else before._segments,
                pins,
                anew=False,
            )
        )
        self.delta = deltas.read(manifest, self._segments) if delta is None else delta
        known = None if before is None else before._vertices
        if known is None or not known.fits(manifest, self.delta, self._segments):
            follows = delta is not None
            known = Vertices(manifest, self.delta, self._segments, known, follows=follows)
        self._vertices: Vertices = known
        edges = None if before is None else before.partitions
        if edges is None or not edges.fits(manifest, self.delta.types, self._segments):
            edges = Partitions(
                manifest.types, self.delta.types, self._segments, manifest.vertex_count, edges
            )
        self.partitions: Partitions = edges
        self.vertex_count = manifest.vertex_count + self.delta.vertices
        self.edge_types = self.partitions.types
        self.edge_count = self.partitions.edge_count
        self.groups = self._vertices.groups

    @property
    def pins(self) -> Sequence[Pin]:
        """What keeps its files on disk, as long as anything of it may be read."""
        return self._segments.pins

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels of vertices, ascending."""
        return self._vertices.labels

    @property
    def schema(self) -> Hashable:
        """A key of the labels, types, properties and their kinds: equal where two snapshots have the same."""
        kinds = self._vertices.spaces
        groups = [
            (one.labels, kinds[one.id_space], *one.keys.items()) for one in self._vertices.groups
        ]
        types = [(one.name, one.directed, *one.keys.items()) for one in self.edge_types]
        return tuple(groups), tuple(types)

    def edge_type(self, name: str) -> EdgeType | None:
        """An edge type, None where there is none of that name."""
        return self.partitions.edge_type(name)

    def look(self) -> None:
        """To be called before what reads outside of `reading`: whether files that it reads in place were cut short
        meanwhile, or are not those that were committed.

        Raises
        ------
        CorruptStore : one was, or is not.
        """
        self._segments.look()
        self._segments.settle()

    def reading(self) -> lost_pages.watched:
        """A block around the work of a query.

        Raises
        ------
        CorruptStore : at its begin, if files were cut short; at its end, if pages of files that it reads could not be
            had meanwhile, or files hold other bytes than were committed.
        """
        self._segments.look()
        return lost_pages.watched(self.look_at_all, self._segments.look_at_bytes)

    def read_at_once(self, read: Callable[[], T]) -> T | None:
        """As a block of `reading` around a few reads, in which Ctrl-C may strike; None before the first such block in a
        process."""
        self._segments.look()
        return lost_pages.watched_at_once(read, self.look_at_all, self._segments.look_at_bytes)

    def look_at_all(self) -> None:
        """As `look`, at all files that are mapped, also at pages that could not be read."""
        self._segments.look(every=True)

    def look_at_rows(self) -> None:
        """To be called before rows are given out while the query goes on. Raises as `reading` at its end."""
        if lost_pages.happened():
            self.look_at_all()
        self._segments.look_at_bytes(at_once=True)

    # ---- edges ----------------------------------------------------------------------------------

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """Neighbour lists of the given types (() = all types; unknown ones are ignored).

        The same object for the same question. One type in one direction is read in place; a union
        costs a sort of its edges once.
        """
        with self._lock:
            found = self.partitions.adjacency(types, direction)
        usage.read(*found.arrays)
        return found

    def shape(self, types: tuple[str, ...], direction: Direction) -> Shape:
        """How large that adjacency is; of one type in one direction of the base nothing is read for it."""
        with self._lock:
            return self.partitions.shape(types, direction)

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        """The edge id of every position of that adjacency, i64[m], read-only."""
        with self._lock:
            found = self.partitions.eids(types, direction)
        usage.read(found)
        return found

    def edge_ends(self, eids: I64) -> tuple[I32, U32, U32]:
        """Of each edge: the number of its type in `edge_types`, source and target vid; [n] each.

        The source of an undirected edge is its smaller vid.
        """
        if eids.shape[0]:
            known = int(eids.min()) >= 0 and int(eids.max()) < self.edge_count
            need(known, "an edge id is out of range")
        with self._lock:
            return self.partitions.ends(eids)

    def edge_handles(self, type: str, eids: I64) -> I64:
        """What edges of one type are called as long as a transaction lasts, see `Partitions.handles`; i64[n]."""
        first = next(one.first_eid for one in self.edge_types if one.name == type)
        with self._lock:
            return self.partitions.handles(type, eids - first)

    def edges_called(self, type: str, handles: I64) -> I64:
        """The ids of edges of one type by their handles, -1 where there is no such edge; i64[n]."""
        first = next((one.first_eid for one in self.edge_types if one.name == type), 0)
        with self._lock:
            numbers = self.partitions.numbers(type, handles)
        return np.where(numbers < 0, -1, numbers + first)

    def edge_column(self, type: str, key: str) -> Column | None:
        """A property of all edges of a type in the order of their ids; None where there is none."""
        with self._lock:
            return _noted(self.partitions.column(type, key))

    def edge_values(self, type: str, key: str, eids: I64) -> Column | None:
        """A property of some edges of one type; None where the type has none. Of few edges this costs less than
        `edge_column`."""
        first = next(one.first_eid for one in self.edge_types if one.name == type)
        with self._lock:
            return self.partitions.values(type, key, eids - first)

    def incident(
        self, vids: U32, types: tuple[str, ...], direction: Direction
    ) -> tuple[I64, U32, I64]:
        """The edges of some types (() = all) at vertices, which are ascending and distinct: the place of the vertex,
        the other end, the edge's id; [n] each. In ANY a loop is one edge. Costs what the vertices have."""
        with self._lock:
            return incidence.incident(self.partitions, vids, types, direction)

    def handles_at(self, vids: U32) -> list[tuple[str, I64]]:
        """The handles (`Partitions.handles`) of all edges at vertices, which are ascending and distinct, by type; each
        edge once."""
        with self._lock:
            return [*incidence.handles(self.partitions, vids)]

    def degrees(self, vids: U32, types: tuple[str, ...], direction: Direction) -> int:
        """About how many edges `incident` gives: what was changed since the base was written is not counted."""
        with self._lock:
            return incidence.degrees(self.partitions, vids, types, direction)

    def between(
        self, sources: U32, targets: U32, types: tuple[str, ...], direction: Direction
    ) -> tuple[I64, I64]:
        """The edges of some types (() = all) from each source to its target (OUT), back (IN), or both (ANY): the place
        of the pair, and the edge's id; i64[n] each. A search for each pair, whatever the vertices have."""
        with self._lock:
            return incidence.between(self.partitions, sources, targets, types, direction)

    def count_between(
        self, source: int, target: int, types: tuple[str, ...], direction: Direction
    ) -> int:
        """How many edges `between` finds for one pair; no arrays are made."""
        with self._lock:
            return incidence.count_between(self.partitions, source, target, types, direction)

    def edge_pieces(self, type: str, most: int) -> Iterator[EdgePiece]:
        """All edges of one type in the order of their ids, about `most` at a time: for a single scan that needs no
        neighbour lists."""
        return self.partitions.pieces(type, most)

    # ---- vertices -------------------------------------------------------------------------------

    def label_ranges(self, label: str) -> tuple[tuple[int, int], ...]:
        """The vids that have a label: half-open ranges, ascending, none touching; () if unknown."""
        return intervals.merge_ranges(
            [r for group in self.groups if label in group.labels for r in group.ranges]
        )

    def vids(self) -> U32:
        """Those of all vertices, u32[n] ascending: of vertices that were deleted there are none."""
        return vids_of(intervals.merge_ranges([r for g in self.groups for r in g.ranges]))

    def groups_of(self, vids: U32) -> I32:
        """The number of each vid's group, i32[n]."""
        return self._vertices.groups_of(vids)

    def group_rows(self, vids: U32, group: int) -> I64:
        """The row of each vid in the group's columns, i64[n]; all must be of the group."""
        return self._vertices.group_rows(vids, group)

    def group_vids(self, group: int) -> U32:
        """The vid of each row of the group's columns, u32[count], ascending."""
        return vids_of(self.groups[group].ranges)

    def vertex_column(self, group: int, key: str) -> Column | None:
        """A property of all vertices of a group, by group row; None where it has none."""
        with self._lock:
            return _noted(self._vertices.column(group, key))

    def vertex_values(self, group: int, key: str | None, vids: U32) -> Column | None:
        """A property (None: the user ids) of some vertices of a group, u32[n]; None where it has none. Where few are
        taken this costs less than `vertex_column`, which puts base and delta together."""
        with self._lock:
            return self._vertices.values(group, key, vids)

    def holders(
        self, groups: Iterable[int], key: str | None, wanted: Wanted
    ) -> tuple[I64, U32] | None:
        """The vertices of some groups whose property `key` (None: the user's id) is one of the wanted values.

        Returns
        -------
        The place of the value, i64[n], and the vid of the vertex, u32[n]; a pair for each vertex. None where a column
        has values that have to be compared one by one: times and lists, which are wanted as well.

        Cost: a search for each value, once an index was made (`value_index.Indexes`); nothing is listed.
        """
        found: list[tuple[I64, U32]] = []
        with self._lock:
            for group in groups:
                if key is None:
                    found.append(self._vertices.named(group, wanted))
                elif self._vertices.can_hold(group, key, wanted):
                    found.append(self._vertices.holders(group, key, wanted))
                else:
                    return None
        if len(found) == 1:
            return found[0]
        places, vids = zip(*found, strict=True) if found else ((_NO_PLACES,), (_NO_VIDS,))
        return np.concatenate(places), np.concatenate(vids)

    def one_named(self, group: int, key: str | None, value: int) -> int | None:
        """As `holders` of one integer: the vid, -1 where there is none; None where `holders` is to find it.
        No arrays are made."""
        return self._vertices.one_named(group, key, value)

    # ---- user ids -------------------------------------------------------------------------------

    def id_column(self, group: int) -> Column:
        """The user ids of a group, by group row."""
        with self._lock:
            column = _noted(self._vertices.column(group, None))
        assert column is not None
        return column

    def is_id(self, group: int, key: str) -> bool:
        """Whether a property of a group is the user's id of each of its vertices."""
        with self._lock:
            return self._vertices.is_id(group, key)

    def ids_of(self, group: int) -> I64 | list[str]:
        """The user ids of a group, by group row: i64[count], or strings."""
        column = self.id_column(group)
        if column.offsets is None:
            return column.values.astype(np.int64, copy=False)
        return [str(value) for value in column.to_list()]

    def user_ids(self, vids: U32) -> list[int | str]:
        """The user id of each vid."""
        with self._lock:
            return self._vertices.user_ids(vids)

    def find(self, user_id: int | str, id_space: str | None = None) -> int | None:
        """The vid of a user id, None where there is none.

        Raises
        ------
        StoreError : no id space is given and several have this id.
        """
        found: dict[str, int] = {}
        with self._lock:
            for name in self._vertices.spaces:
                if id_space is None or name == id_space:
                    vid = int(self._vertices.find(name, [user_id])[0])
                    if vid >= 0:
                        found[name] = vid
        if len(found) > 1:
            raise StoreError(
                f"The id {user_id!r} exists in the id spaces {', '.join(map(repr, found))}.",
                "Say which one.",
            )
        return next(iter(found.values()), None)

    def find_many(self, user_ids: I64 | Sequence[int | str], id_space: str = "") -> I64:
        """The vid of each user id of one id space, -1 where there is none; i64[n]."""
        with self._lock:
            return self._vertices.find(id_space, user_ids)

    def id_look_up(self, groups: Iterable[int]) -> IdLookUp | None:
        """The look-up of a vertex of some groups by its integer id; see `IdLookUp.of`."""
        from .single_look_ups import IdLookUp  # here: only statements that come again need it

        with self._lock:
            return IdLookUp.of(self._vertices, [self.groups[number] for number in groups])

    def holder_look_up(self, group: int, key: str) -> HolderLookUp | None:
        """The look-up of the vertices of a group that have a value of a property; see `HolderLookUp.of`."""
        from .single_look_ups import HolderLookUp  # here: only statements that come again need it

        with self._lock:
            return HolderLookUp.of(self._vertices, group, key)

    def value_look_up(self, group: int, key: str | None) -> ValueLookUp | None:
        """The look-up of a property (None: the id) of a vertex of a group; see `ValueLookUp.of`."""
        from .single_look_ups import ValueLookUp  # here: only statements that come again need it

        with self._lock:
            return ValueLookUp.of(self._vertices, group, key)

    def free_ids(self, id_space: str) -> Iterator[int]:
        """Integers that no vertex of an id space has as its id: those after the largest id, then from 0 those between.
        The ids of the space are integers, or it has none."""
        with self._lock:
            return self._vertices.free_ids(id_space)

    @property
    def id_spaces(self) -> Mapping[str, Kind]:
        """The id spaces, ascending, and the kind of their ids."""
        return self._vertices.spaces

    # ---- the whole ------------------------------------------------------------------------------

    def stats(self) -> StoreStats:
        """Sizes, from the manifest alone; parts are those of the base."""
        parts = tuple(
            PartStats(
                record.name,
                part.direction,
                part.rows,
                part.intervals,
                part.edges,
                part.bytes,
                len(part.segments),
            )
            for record in self.manifest.types
            for part in record.parts
        )
        size = sum(record.length for record in self.manifest.files)
        size += self._more.bytes
        files = len(self.manifest.files) + self._more.files
        vertices = sum(group.count for group in self.groups)
        return StoreStats(
            self.version,
            vertices,
            self.edge_count,
            size,
            files,
            parts,
            self.delta.size,
            self.manifest.packed,
        )

    def check(self, steps: Steps | None = None) -> Report:
        """Read every file anew, and compare every invariant; see `gdb.storage.checking.check`.

        Raises
        ------
        CorruptStore : what is wrong; its `faults` are all that was found. Cancelled.
        """
        from ..checking.check import check  # that module reads stores
        from ..disk.steps import Steps

        report = check(self.files, steps or Steps("check"), self.manifest)
        report.raise_faults()
        return report


def _noted(column: Column | None) -> Column | None:
    """A column that a query reads."""
    if column is not None:
        usage.read(*column.arrays)
    return column

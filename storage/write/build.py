"""Tables to store: renumber, build the parts, write segments, commit.

`write_spools` makes a graph the content of the store, all or nothing. Edges are not held as a whole: see
`gdb.storage.write.edge_runs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import numpy as np

from gdb.base import forks
from gdb.errors import ImportFailed
from gdb.records import replace

from ..columns.model import I64, U32, Column, EdgeTable, VertexTable
from ..format.direction import Direction
from ..format.manifest import ColumnRecord, GroupRecord, Manifest, SpaceRecord, TypeRecord
from ..format.manifest_head import next_version
from ..format.sections import Section, SectionKind
from ..format.segment_writer import SegmentWriter
from ..graph import ids, pcsr, property_columns
from ..graph.snapshot import Snapshot
from .column_spool import ColumnSpool
from .edge_runs import Room, RunPiece
from .edge_spool import Sorts, Spool, missing, shares_of
from .narrowing import AS_THEY_ARE, Kinds
from .renumber import Numbering, genmap
from .snapshot_tables import read_edges, read_vertices
from .store import Store

Progress = Callable[[str, float], None]
U64 = pcsr.U64
MOST_VERTICES = (1 << 32) - 2  # a vid is u32, and its end must be one too


def rewrite(
    store: Store,
    snapshot: Snapshot,
    progress: Progress | None = None,
    budget: int | None = None,
    packed: bool | None = None,
    kinds: Kinds = AS_THEY_ARE,
) -> Snapshot:
    """Write what a snapshot holds, in one commit; for other arguments and errors see `write_spools`.

    budget : see `gdb.storage.write.edge_runs.Room`. kinds : of properties that are written with other ones.
    """
    with store.writer():
        snapshot.look()
        room = Room(store.files, budget, folder=store.path)
        vertices, rows = read_vertices(snapshot)
        vertices = kinds.vertices(vertices)
        spools = dict[str, Spool]()
        for table in read_edges(snapshot, rows):
            if progress is not None:
                progress("reading", 0.0)
            spool_table(spools, kinds.of_edges(table), room)
        return write_spools(store, vertices, spools, progress=progress, packed=packed, room=room)


def spool_table(spools: dict[str, Spool], table: EdgeTable, room: Room) -> None:
    """Add a table of edges to those of its type. Raises ImportFailed."""
    check_text(*table.columns)
    spool_of(spools, table.type, table.directed, room).add_table(table)


def spool_of(spools: dict[str, Spool], name: str, directed: bool, room: Room) -> Spool:
    """The spool of a type, a new one where there is none. Raises ImportFailed."""
    check_text(name)
    spool = spools.setdefault(name, Spool(name, directed, room))
    if spool.directed != directed:
        raise ImportFailed(
            f"the edge type {name!r} is directed in one place and undirected in another",
            "Import it under two names.",
        )
    return spool


def write_spools(
    store: Store,
    vertices: tuple[VertexTable, ...],
    spools: Mapping[str, Spool],
    *,
    progress: Progress | None = None,
    segment_edges: int = pcsr.SEGMENT_EDGES,
    written: Callable[[Mapping[str, int]], None] | None = None,
    packed: bool | None = None,
    room: Room | None = None,
) -> Snapshot:
    """Replace the content of the store by some vertices and by edges that are spooled, by type; these are used up.

    Parameters
    ----------
    progress : called with the name of the step and the part of it done, 0 to 1. What it raises
        aborts the write and leaves the store as it was.
    segment_edges : most neighbours in one segment.
    packed : in packed sections, now and when it is written anew; None as the store is.
    written : called before the commit with the number of edges of each type that join the same two vertices as another
    one, not counting the first. What it raises aborts the write.
    room : of the columns of vertices; None for enough.

    Raises
    ------
    ImportFailed : the tables contradict themselves (an id twice, an edge without its end, ...).
    ReadOnlyError, StoreLocked, ClosedError, StorePermissionError, StoreError : the store cannot be
        written.

    Cost: two sorts of the edges of each type, those of a type while the one before is written. Memory about 60 bytes
    for each vertex, beside the tables, and for the edges what their room says; with room for all of them that is about
    60 bytes for each edge of the largest type.
    """
    report = progress or (lambda step, done: None)
    report("checking", 0.0)
    count = sum(len(table) for table in vertices)
    if count > MOST_VERTICES:
        raise ImportFailed(f"{count:,} vertices are more than a store can hold", "")
    for table in vertices:
        check_text(*table.labels, table.id_space, *table.columns)
    types = [spools[name] for name in sorted(spools)]
    for spool in types:
        if spool.highest >= count:
            raise missing(spool.name)
    with store.writer(), ExitStack() as stack:
        for spool in types:
            stack.callback(spool.close)
        current = store.snapshot().manifest
        packed = current.packed if packed is None else packed
        version = next_version(current.version)
        with written_or_removed(store, version, packed=packed) as writer:
            room = room or Room(store.files)
            builder = _Builder(vertices, types, writer, report, segment_edges, stack, room)
            manifest = replace(builder.run(version), packed=packed)
            if written is not None:
                written(builder.repeats)
            report("committing", 0.0)
            return store.commit(manifest)


@contextmanager
def written_or_removed(
    store: Store, version: int, *, packed: bool = False
) -> Iterator[SegmentWriter]:
    """A writer of the segments of a commit; an error before the commit removes them."""
    writer = SegmentWriter(store.files, version, packed=packed)
    born = forks.generation()
    try:
        yield writer
    except BaseException:
        if born != forks.generation():
            raise  # a child that was forked inside: the files are the parent's, as is the thread that writes them
        writer.close()
        current = {record.name for record in store.snapshot().manifest.files}
        for name in writer.created:
            if name not in current:  # else the switch was made, and only its sync failed
                with suppress(Exception):
                    store.files.unlink(name)
        raise


class _Builder:
    """One run of `write_spools`: the tables, their numbering, and the writer.

    room : of columns. later : what is to be closed when all is written. repeats : see `write_spools`.
    """

    def __init__(
        self,
        vertices: tuple[VertexTable, ...],
        types: list[Spool],
        writer: SegmentWriter,
        report: Progress,
        segment_edges: int,
        later: ExitStack,
        room: Room,
    ) -> None:
        self._vertices, self._types, self._later, self._room = vertices, types, later, room
        self.repeats: dict[str, int] = {}
        self._begun = list[Sorts]()
        # of edges, in both directions
        self._done, self._slots = (0, max(1, 2 * sum(map(len, types))))
        self._writer, self._report, self._segment_edges = writer, report, segment_edges
        members: dict[tuple[tuple[str, ...], str], list[int]] = {}
        for number, table in enumerate(vertices):
            if len(table):
                key = tuple(sorted(set(table.labels))), table.id_space
                members.setdefault(key, []).append(number)
        self._keys, self._members = list(members), list(members.values())
        self._starts = np.cumsum([0, *(len(table) for table in vertices)])
        self._count = int(self._starts[-1])

    def run(self, version: int) -> Manifest:
        self._report("numbering vertices", 0.0)
        numbering = self._number()
        self._begin(0, numbering.vids)  # while the vertices are written
        groups, spaces = self._write_vertices(numbering)
        types: list[TypeRecord] = []
        first_eid = 0
        for number, edge_type in enumerate(self._types):
            self._report("writing edges", self._done / self._slots)
            self._begin(number, numbering.vids)
            follow = partial(self._follow, number, numbering.vids)
            types.append(self._write_type(self._begun[number], first_eid, follow))
            first_eid += len(edge_type)
            self._begun[number].close()
            edge_type.close()
        self._writer.finish()
        return Manifest(
            version,
            self._count,
            first_eid,
            tuple(self._writer.records),
            groups,
            tuple(types),
            spaces,
        )

    def _begin(self, number: int, vids: U32) -> None:
        """Begin to sort the edges of a type, unless that was done."""
        for spool in self._types[len(self._begun) : number + 1]:
            self._begun.append(Sorts(spool, vids))
            self._later.callback(self._begun[-1].close)

    def _follow(self, number: int, vids: U32) -> None:
        """Begin to sort the type behind one, if both take no more together than one that is sorted at once may take."""
        pair = self._types[number : number + 2]
        slots = sum(spool.nbytes * (1 if spool.directed else 2) for spool in pair)
        if slots <= pair[0].room.bucket:
            self._begin(number + 1, vids)

    def _number(self) -> Numbering:
        groups = np.zeros(self._count, np.int64)
        for group, tables in enumerate(self._members):
            for table in tables:
                groups[self._starts[table] : self._starts[table + 1]] = group
        shares, degrees = shares_of(self._types, self._count)
        labels = tuple(frozenset(key[0]) for key in self._keys)
        order = self._by_id()
        if order is None:
            return genmap(groups, labels, shares, degrees)
        shares.bits = shares.bits[order]
        found = genmap(groups, labels, shares, degrees[order])
        vids = np.empty_like(found.vids)
        vids[order] = found.vids
        return replace(found, vids=vids)

    def _by_id(self) -> I64 | None:
        """The vertices, each group's in the order of their ids where these are integers, i64[n]; None where they are
        in it. So vertices of one degree are numbered alike in whatever order an import met them."""
        order: I64 | None = None
        for tables in self._members:
            ids = [self._vertices[table].ids for table in tables]
            numbers = [own for own in ids if isinstance(own, np.ndarray)]
            if len(numbers) < len(ids):
                continue
            values = numbers[0] if len(numbers) == 1 else np.concatenate(numbers)
            if (values[1:] > values[:-1]).all():
                continue
            parts = [np.arange(self._starts[t], self._starts[t + 1]) for t in tables]
            rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
            if order is None:
                order = np.arange(self._count, dtype=np.int64)
            order[rows] = rows[pcsr.stable_order(values)]
        return order

    # ---- vertices -------------------------------------------------------------------------------

    def _write_vertices(
        self, numbering: Numbering
    ) -> tuple[tuple[GroupRecord, ...], tuple[SpaceRecord, ...]]:
        groups: list[GroupRecord] = []
        spaces: dict[str, list[tuple[Column, U32]]] = {}
        for done, (number, ranges) in enumerate(
            zip(numbering.order, numbering.ranges, strict=True)
        ):
            self._report("writing vertices", done / len(numbering.order))
            tables = [self._vertices[t] for t in self._members[number]]
            vids = np.concatenate(
                [
                    numbering.vids[self._starts[t] : self._starts[t + 1]]
                    for t in self._members[number]
                ]
            )
            rows = pcsr.stable_order(vids)
            labels, space = self._keys[number]
            own = _concat_ids([ids.column_of(t.ids) for t in tables], space).take(rows)
            spaces.setdefault(space, []).append((own, vids[rows]))
            columns, counts = [t.columns for t in tables], [len(t) for t in tables]
            taken = dict[str, Column]()
            for key in _appended(columns, counts, str(labels)):
                # one after the other: all of them may be more than there is room for
                column = _stacked(columns, counts, key, str(labels)).take(rows)
                taken[key] = self._room.filed(column)
                self._room.cool()
            file, (own_record, *_), records = self._place_columns(own, taken)
            groups.append(GroupRecord(labels, space, ranges, file, own_record, records))
        return tuple(groups), tuple(self._write_space(n, spaces[n]) for n in sorted(spaces))

    def _place_columns(
        self, own: Column | None, columns: dict[str, Column]
    ) -> tuple[int, list[ColumnRecord], dict[str, ColumnRecord]]:
        sections: list[Section] = []
        records: list[ColumnRecord] = []
        for column in [*([own] if own is not None else []), *columns.values()]:
            record, added = property_columns.sections_of(column, len(sections))
            records.append(record)
            sections.extend(added)
        place = self._writer.place(sections)
        records = [property_columns.move_record(record, place.section) for record in records]
        named = dict(zip(columns, records[len(records) - len(columns) :], strict=True))
        return place.file, records, named

    def _write_space(self, name: str, parts: list[tuple[Column, U32]]) -> SpaceRecord:
        column = _concat_ids([ids_part for ids_part, _ in parts], name)
        index = ids.build(column, np.concatenate([vids for _, vids in parts]), name)
        place = self._writer.place(
            [
                Section(SectionKind.ID_KEYS, index.keys, counted=True),
                Section(SectionKind.ID_VIDS, index.vids, counted=True),
            ]
        )
        return SpaceRecord(name, column.kind, len(column), place.file, place.section)

    # ---- edges ----------------------------------------------------------------------------------

    def _write_type(self, sorts: Sorts, first_eid: int, follow: Callable[[], None]) -> TypeRecord:
        """follow : called before the last part is written."""
        spool, parts = sorts.spool, list[pcsr.Written]()
        kinds = spool.kinds
        columns = ColumnSpool(kinds, spool.room)
        count = len(spool)
        slots = count if spool.directed else 2 * count - spool.loops
        for number, (direction, pieces) in enumerate(sorts):
            if direction is not Direction.OUT:
                follow()
            keys = self._keys_of(pieces, None if number else columns)
            if direction is not None:
                parts.append(self._write_part(keys, slots, direction))
            else:
                for _ in keys:
                    pass
        again = parts[0].repeats
        self.repeats[spool.name] = (
            again if spool.directed else (again + parts[0].repeated_loops) // 2
        )
        file, records = self._write_columns(columns) if kinds else (-1, {})
        return TypeRecord(
            spool.name,
            spool.directed,
            first_eid,
            count,
            tuple(part.record for part in parts),
            file,
            records,
        )

    def _keys_of(
        self, pieces: Iterable[RunPiece], columns: ColumnSpool | None = None
    ) -> Iterator[U64]:
        """The keys of pieces that have any; their columns go elsewhere."""
        for piece in pieces:
            if len(piece.keys):
                if columns is not None:
                    columns.add(piece.columns)
                yield piece.keys
                self._done += len(piece.keys)
                self._report("writing edges", min(1.0, self._done / self._slots))

    def _write_part(self, keys: Iterable[U64], total: int, direction: Direction) -> pcsr.Written:
        return pcsr.write(keys, total, direction, self._writer, self._segment_edges)

    def _write_columns(self, columns: ColumnSpool) -> tuple[int, dict[str, ColumnRecord]]:
        records, sections = columns.sections()
        place = self._writer.place(sections)
        if self._writer.pending:
            self._later.callback(columns.close)
        else:
            columns.close()
        moved = {
            key: property_columns.move_record(record, place.section)
            for key, record in records.items()
        }
        return place.file, moved


def check_text(*texts: str) -> None:
    """Refuse names that cannot be UTF-8. Raises ImportFailed."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ImportFailed(
                f"the name {text!r} is not valid Unicode", "Repair the input."
            ) from None


def _appended(tables: list[dict[str, Column]], counts: list[int], owner: str) -> list[str]:
    """The properties of several tables, by name."""
    for table, count in zip(tables, counts, strict=True):
        for key, column in table.items():
            if len(column) != count:
                raise ImportFailed(
                    f"the property {key!r} of {owner} has {len(column)} values for {count} rows"
                )
    return sorted({key for table in tables for key in table})


def _stacked(tables: list[dict[str, Column]], counts: list[int], key: str, owner: str) -> Column:
    """A column of several tables, one under the other; null where a table lacks it."""
    columns = [table.get(key) for table in tables]
    kind = next(column.kind for column in columns if column is not None)
    try:
        return Column.stacked(columns, counts, kind)
    except ImportFailed as error:
        raise ImportFailed(f"the property {key!r} of {owner}: {error.reason}", error.cure) from None


def _concat_ids(columns: list[Column], space: str) -> Column:
    kinds = {column.kind for column in columns}
    if len(kinds) > 1:
        raise ImportFailed(
            f"the id space {space!r} would hold both numbers and strings as vertex ids",
            "Import one of them with another id_space.",
        )
    return Column.concat(columns)

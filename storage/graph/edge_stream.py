"""The edges of one type, base and delta as one, a piece at a time: what writes a store anew reads them so.

A query needs whole neighbour lists (`gdb.storage.graph.partitions`); a single scan of all edges needs only one segment
of a part at a time, and the delta's changes at that place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gdb.records import dataclass

from ..columns.model import I64, Column, Kind
from ..format.direction import Direction
from ..format.invariants import EDGE_COUNTS
from ..format.manifest import TypeRecord
from ..format.segment import damaged
from ..format.segments import Segments
from . import pcsr
from .delta import Patch, TypeDelta, patched
from .pcsr import U64

_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class EdgePiece:
    """Some edges in the order of their ids: keys `source << 32 | target`, u64[m] ascending, and columns of m values."""

    keys: U64
    columns: dict[str, Column]


def pieces(
    record: TypeRecord | None,
    changes: TypeDelta | None,
    kinds: Mapping[str, Kind],
    stored: Callable[[str], Column | None],
    segments: Segments,
    vertex_count: int,
    most: int,
) -> Iterator[EdgePiece]:
    """All edges of a type.

    Parameters
    ----------
    record : of the base, None where it has no such type. changes : None where there are none.
    kinds : of the properties. stored : gives a property of the base's edges by rank. vertex_count : of the base.
    most : edges of the base in a piece.

    Raises
    ------
    CorruptStore : a part that would do harm, or that one of two ends does not know.

    Cost: the memory of one segment's row lengths, and of its neighbours where they are packed; of columns what `stored`
    takes.
    """
    columns = {key: stored(key) for key in kinds}
    rank = added = 0
    for keys in _keys(record, segments, vertex_count, most):
        found = EdgePiece(
            keys, {k: _part(c, rank, len(keys), kinds[k]) for k, c in columns.items()}
        )
        if changes is not None:
            # an added edge follows the equal edges of the base, which may go on in the next piece
            end = int(np.searchsorted(changes.keys, keys[-1], side="left"))
            found = _merged(found, changes, kinds, rank, added, end)
            added = end
        rank += len(keys)
        yield found
    if changes is not None and added < len(changes.keys):
        none = {key: Column.nulls(kind, 0) for key, kind in kinds.items()}
        rest = EdgePiece(np.zeros(0, np.uint64), none)
        yield _merged(rest, changes, kinds, rank, added, len(changes.keys))


def _keys(
    record: TypeRecord | None, segments: Segments, vertex_count: int, most: int
) -> Iterator[U64]:
    """The keys of the base's edges, ascending."""
    if record is None:
        return
    part = record.parts[0]  # forward, or both
    count, last = 0, -1
    for segment in part.segments:
        file = segments[segment.file]
        # the rows have no name, so that they are gone when the next segment is read
        for keys in pcsr.read_segment(segment, file, segments.files.where).keys(most):
            falls = (keys[1:] < keys[:-1]).any() or int(keys[0]) < last
            last = int(keys[-1])
            beyond = last >> 32 >= vertex_count or int((keys & _LOW).max()) >= vertex_count
            if falls or beyond:
                how = (
                    "has rows that are not sorted" if falls else "names a vertex that is not there"
                )
                raise damaged(segments.files.where, file.name, how)
            if part.direction is Direction.ANY:
                keys = keys[keys >> np.uint64(32) <= keys & _LOW]
            count += len(keys)
            if len(keys):
                yield keys
    if count != record.edge_count:
        name = segments[part.segments[0].file].name
        how = f"is not symmetric (type {record.name})"
        raise damaged(segments.files.where, name, how, EDGE_COUNTS.name)


def _part(column: Column | None, begin: int, count: int, kind: Kind) -> Column:
    return Column.nulls(kind, count) if column is None else column.part(begin, begin + count)


def _merged(
    base: EdgePiece, changes: TypeDelta, kinds: Mapping[str, Kind], rank: int, begin: int, end: int
) -> EdgePiece:
    """Edges of the base from a rank on, without those that were removed and with new values, and with some added."""
    count = len(base.keys)
    gone = changes.removed[slice(*np.searchsorted(changes.removed, (rank, rank + count)))] - rank
    kept = np.delete(np.arange(count, dtype=np.int64), gone)
    added = changes.keys[begin:end]
    at = np.searchsorted(base.keys[kept], added, side="right")
    order = np.insert(kept, at, count + np.arange(len(added), dtype=np.int64))
    keys = np.concatenate([base.keys, added])[order]
    columns: dict[str, Column] = {}
    for key, kind in kinds.items():
        stored = base.columns[key]
        if kind == "any":  # before a patch makes floats of integers
            stored = stored.as_any()
        patch, own = changes.patches.get(key), changes.columns.get(key)
        parts = [
            Column.nulls(kind, 0),  # the kind is that of the whole type, whatever is in this piece
            patched(stored, None if patch is None else _of_ranks(patch, rank, rank + count)),
            None if own is None else own.part(begin, end),
        ]
        columns[key] = Column.stacked(parts, [0, count, len(added)], kind).take(order)
    return EdgePiece(keys, columns)


def _of_ranks(patch: Patch, begin: int, end: int) -> Patch | None:
    """The part of a patch for some ranks; None where it is empty."""
    first, last = np.searchsorted(patch.rows, (begin, end)).tolist()
    rows: I64 = patch.rows[first:last] - begin
    return Patch(rows, patch.column.part(first, last)) if last > first else None

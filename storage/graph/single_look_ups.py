"""Look-ups of one vertex at a time in a snapshot: all is bound but which vertex, so that no arrays are made.

What a prepared statement looks up again and again: a vertex by its id, and a property of a vertex.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from ..columns.model import INT64, Column, Kind, PropertyValue
from .ascending import place_of
from .ids import SHORT, hash_one

if TYPE_CHECKING:
    from .delta import Patch
    from .ids import IdIndex
    from .value_index import Indexes
    from .vertex_pieces import VertexGroup
    from .vertices import Vertices
    from .vid_ranges import Extent

MOST_RANGES = 1 << 12
"""Ranges of vids that are listed for look-ups: more are those of a graph with very many holes."""
_KINDS = ("int64", "float64", "bool", "string")  # whose values are made one by one here
_FEW = 16  # vertices with one value
Reader: TypeAlias = "Callable[[int], PropertyValue]"
"""What reads the value of a vid."""


class IdLookUp:
    """The vertex of an integer id among some groups of one id space."""

    __slots__ = ("_bounds", "_indexes")

    def __init__(self, indexes: Sequence[IdIndex], bounds: Sequence[int]) -> None:
        """bounds : of the ranges of vids of the groups' vertices that are still there, ascending."""
        # items of a view are read in half of the time that NumPy's take
        self._indexes = [(one.keys.data, one.vids.data) for one in indexes]
        self._bounds = bounds

    @classmethod
    def of(cls, vertices: Vertices, groups: Sequence[VertexGroup]) -> IdLookUp | None:
        """The look-up; None where ids are strings, of several spaces, or the vids have many holes."""
        spaces = {group.id_space for group in groups}
        if len(spaces) != 1 or vertices.spaces[(space := spaces.pop())] != "int64":
            return None
        ranges = sorted(r for group in groups for r in group.ranges)
        if len(ranges) > MOST_RANGES:
            return None
        return cls(vertices.indexes(space), [bound for both in ranges for bound in both])

    def find(self, wanted: int) -> int:
        """The vid, -1 where there is none."""
        for keys, vids in self._indexes:
            at = place_of(keys, wanted)
            if at >= 0 and bisect_right(self._bounds, vids[at]) % 2:
                return vids[at]
        return -1


class HolderLookUp:
    """The vertices of one group whose integer or string property has a value, by the index of its column."""

    __slots__ = ("_bounds", "_column", "_indexes", "_name", "_stored")

    def __init__(
        self,
        indexes: Indexes,
        name: tuple[int, str],
        column: Column,
        stored: Extent,
        bounds: Sequence[int],
    ) -> None:
        """name : of the column among the indexes. stored : the vertices of its rows. bounds : see `IdLookUp`."""
        self._indexes, self._name, self._column = indexes, name, column
        self._stored, self._bounds = stored, bounds

    @classmethod
    def of(cls, vertices: Vertices, group: int, key: str) -> HolderLookUp | None:
        """The look-up; None where the values lie in several columns, are of another kind, or the vids have many
        holes."""
        known = vertices.groups[group]
        if len(known.pieces) != 1 or len(known.ranges) > MOST_RANGES:
            return None
        (piece,) = known.pieces
        column = (
            None if piece.base is None or key in piece.patches else vertices.stored_of(piece, key)
        )
        if (
            column is None
            or column.kind not in ("int64", "string")
            or column.kind != known.keys[key]
        ):
            return None
        bounds = [bound for both in known.ranges for bound in both]
        return cls(vertices.by_value, (piece.number, key), column, piece.stored, bounds)

    @property
    def type(self) -> type:
        """Of the values that it looks up."""
        return str if self._column.offsets is not None else int

    def find(self, wanted: int | str) -> list[int] | None:
        """The vids, ascending; None where there is no index yet, or perhaps many have the value."""
        index, column = self._indexes.made(self._name), self._column
        if index is None:
            return None
        text = b""
        if isinstance(wanted, str):
            text = wanted.encode()
            if len(text) >= SHORT:
                return None
            wanted = hash_one(text)
        elif wanted not in INT64:
            return []
        keys, found = index.keys, list[int]()
        # of another type they would all be converted
        at, count = int(keys.searchsorted(keys.dtype.type(wanted))), len(keys)
        for place in range(at, min(at + _FEW + 1, count)):
            if keys.item(place) != wanted:
                break
            if place == at + _FEW:
                return None
            row = index.rows.item(place)
            if column.offsets is not None:  # hashes may collide
                first, end = column.offsets.item(row), column.offsets.item(row + 1)
                if column.values[first:end].tobytes() != text:
                    continue
            vid = self._stored.vid(row)
            if bisect_right(self._bounds, vid) % 2:
                found.append(vid)
        return sorted(found)


class GroupLookUp:
    """The group of a vertex that is of one of some groups."""

    __slots__ = ("_groups", "_starts")

    def __init__(self, starts: Sequence[int], groups: Sequence[int]) -> None:
        """starts : of the ranges of vids, ascending. groups : their numbers."""
        self._starts, self._groups = starts, groups

    @classmethod
    def of(cls, groups: Mapping[int, VertexGroup]) -> GroupLookUp | None:
        """The look-up among groups by number; None where the vids have many holes."""
        ranges = [(k, group.ranges) for k, group in groups.items()]
        if sum(len(own) for _, own in ranges) > MOST_RANGES:
            return None
        every = sorted((first, k) for k, own in ranges for first, _ in own)
        return cls([first for first, _ in every], [k for _, k in every])

    def find(self, vid: int) -> int:
        """Its number."""
        return self._groups[bisect_right(self._starts, vid) - 1]


class ValueLookUp:
    """A property (or the id) of a vertex of one group.

    kind : of its values. value : that of a vid of the group, None where it has none.
    """

    __slots__ = ("kind", "value")

    def __init__(self, kind: Kind, value: Reader) -> None:
        self.kind, self.value = kind, value

    @classmethod
    def of(cls, vertices: Vertices, group: int, key: str | None) -> ValueLookUp | None:
        """The look-up; None where values are of a kind that is not made one by one, or the vids have many holes."""
        known = vertices.groups[group]
        kind = vertices.spaces[known.id_space] if key is None else known.keys.get(key)
        if kind is None or kind not in _KINDS:
            return None
        readers: list[tuple[int, Reader]] = []
        for piece in known.pieces:
            column = vertices.stored_of(piece, key)
            patch = None if key is None else piece.patches.get(key)
            columns = column, None if patch is None else patch.column
            if {one.kind for one in columns if one is not None} - {kind} or len(
                piece.stored.ranges
            ) > MOST_RANGES:
                return None
            row = 0
            for first, end in piece.stored.ranges:
                readers.append((first, _reader(column, patch, row - first)))
                row += end - first
        if len(readers) == 1:
            return cls(kind, readers[0][1])
        readers.sort(key=itemgetter(0))
        starts = [first for first, _ in readers]

        def value(vid: int) -> PropertyValue:
            return readers[bisect_right(starts, vid) - 1][1](vid)

        return cls(kind, value)


def _reader(column: Column | None, patch: Patch | None, shift: int) -> Reader:
    """What reads the values of a range of vids. shift : from a vid to its row."""
    stored = _nulls if column is None else _stored(column, shift)
    if patch is None:
        return stored
    rows, changed = patch.rows.data, _stored(patch.column, 0)

    def value(vid: int) -> PropertyValue:
        row = vid + shift
        at = bisect_left(rows, row)
        return changed(at) if at < len(rows) and rows[at] == row else stored(vid)

    return value


def _nulls(_: int) -> None:
    return None


def _stored(column: Column, shift: int) -> Reader:
    """What reads the values of a column, as `Column.to_list` has them. shift : from its argument to the row."""
    values = column.values.data
    if column.offsets is not None:
        offsets = column.offsets.data

        def read(vid: int) -> PropertyValue:
            row = vid + shift
            return str(values[offsets[row] : offsets[row + 1]], "utf-8")

    elif column.kind == "bool":

        def read(vid: int) -> PropertyValue:
            return values[vid + shift] != 0

    else:

        def read(vid: int) -> PropertyValue:
            value: int | float = values[vid + shift]
            return value

    if column.valid is None:
        return read
    valid, known = column.valid.data, read
    return lambda vid: known(vid) if valid[vid + shift] else None

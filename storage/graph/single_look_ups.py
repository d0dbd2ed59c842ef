"""Look-ups of one vertex at a time in a snapshot: all is bound but which vertex, so that no arrays are made.

What a prepared statement looks up again and again: a vertex by its id, and a property of a vertex.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..columns.model import INT64, Column, Kind, PropertyValue
from .ascending import place_of
from .ids import SHORT, find_integer, hash_one

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


class IdLookUp:
    """The vertex of an integer id among some groups of one id space."""

    __slots__ = ("_bounds", "_indexes")

    def __init__(self, indexes: Sequence[IdIndex], bounds: Sequence[int]) -> None:
        """bounds : of the ranges of vids of the groups' vertices that are still there, ascending."""
        self._indexes, self._bounds = indexes, bounds

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
        for index in self._indexes:
            vid = find_integer(index, wanted)
            if vid >= 0 and bisect_right(self._bounds, vid) % 2:
                return vid
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
        key: int | str | np.uint64 = wanted
        if isinstance(wanted, str):
            text = wanted.encode()
            if len(text) >= SHORT:
                return None
            key = np.uint64(hash_one(text))
        elif wanted not in INT64:
            return []
        keys, found = index.keys, list[int]()
        at, count = int(keys.searchsorted(key)), len(keys)
        for place in range(at, min(at + _FEW + 1, count)):
            if keys[place] != key:
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


class ValueLookUp:
    """A property (or the id) of a vertex of one group."""

    __slots__ = ("_rows", "_starts", "kind")

    def __init__(
        self, kind: Kind, rows: Sequence[tuple[int, int, Column | None, Patch | None]]
    ) -> None:
        """rows : for each range of vids, ascending: its first vid, the row of that, their column and patch."""
        self.kind = kind
        self._starts = [first for first, *_ in rows]
        self._rows = rows

    @classmethod
    def of(cls, vertices: Vertices, group: int, key: str | None) -> ValueLookUp | None:
        """The look-up; None where values are of a kind that is not made one by one, or the vids have many holes."""
        known = vertices.groups[group]
        kind = vertices.spaces[known.id_space] if key is None else known.keys.get(key)
        if kind is None or kind not in _KINDS:
            return None
        rows: list[tuple[int, int, Column | None, Patch | None]] = []
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
                rows.append((first, row, column, patch))
                row += end - first
        return cls(kind, sorted(rows, key=lambda one: one[0]))

    def values(self, vids: Sequence[int]) -> list[PropertyValue]:
        """The values of some vertices of the group, None where one has none."""
        if len(self._rows) == 1:
            first, begin, column, patch = self._rows[0]
            if patch is None and column is not None and column.valid is None:
                item, shift = column.values.item, begin - first
                if self.kind in ("int64", "float64"):  # most often, and quickest
                    return [item(vid + shift) for vid in vids]
                return [_value(column, vid + shift) for vid in vids]
        return [self._value_of(vid) for vid in vids]

    def _value_of(self, vid: int) -> PropertyValue:
        place = bisect_right(self._starts, vid) - 1 if len(self._starts) > 1 else 0
        first, begin, column, patch = self._rows[place]
        row = begin + vid - first
        if patch is not None:
            at = place_of(patch.rows, row)
            if at >= 0:
                return _value(patch.column, at)
        return None if column is None else _value(column, row)


def _value(column: Column, row: int) -> PropertyValue:
    """One value, as `Column.to_list` has it."""
    if column.valid is not None and not column.valid[row]:
        return None
    if column.offsets is not None:
        first, end = column.offsets.item(row), column.offsets.item(row + 1)
        return column.values[first:end].tobytes().decode()
    value: int | float = column.values.item(row)
    return value != 0 if column.kind == "bool" else value

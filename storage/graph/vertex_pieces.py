"""The vertex groups of a snapshot, and the pieces that each is stored in: the base's, and what a delta added to it.

A commit changes few of them. Those that it leaves as they were are taken from the snapshot before, and what costs more
with each vertex that was removed, the ranges of those that are left, is made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gdb.base.once import cached_property
from gdb.records import dataclass, quick

from ..columns.model import U32, Kind, wider
from ..format.manifest import GroupRecord
from . import intervals
from .delta import Delta, NewVertices, Patch, Ranges, visible
from .vid_ranges import Extent

GroupKey = tuple[tuple[str, ...], str]
_NO_PATCHES: Mapping[str, Patch] = {}


class Piece:
    """A part of a group that is stored together.

    number : of the group of the base, -1 in the delta. stored : its vertices, also those removed again: one for each
    row. count : of those that are still there. patches : new values of the base's properties.
    """

    def __init__(
        self,
        number: int,
        base: GroupRecord | None,
        new: NewVertices | None,
        stored: Extent,
        dead: U32,
        patches: Mapping[str, Patch],
        count: int | None = None,
    ) -> None:
        self.number, self.base, self.new, self.stored = number, base, new, stored
        self.patches, self._dead = patches, dead
        self.count = stored.count - stored.among(dead) if count is None else count

    @property
    def whole(self) -> bool:
        """Whether none was removed."""
        return self.count == self.stored.count

    @cached_property
    def ranges(self) -> Ranges:
        """The vids of those that are still there."""
        return self.stored.ranges if self.whole else visible(self.stored.ranges, self._dead)

    def after(self, dead: U32, patches: Mapping[str, Patch]) -> Piece:
        """The piece with other changes; itself where these are the same."""
        if dead is self._dead:
            return self.patched(patches)
        return Piece(self.number, self.base, self.new, self.stored, dead, patches)

    def patched(self, patches: Mapping[str, Patch]) -> Piece:
        """The piece with other patches; itself where these are the same."""
        if patches is self.patches:
            return self
        known = self._dead, patches, self.count
        return Piece(self.number, self.base, self.new, self.stored, *known)

    def has_kinds_of(self, other: Piece) -> bool:
        """Whether it is another state of the same piece, with properties of the same kinds."""
        if self.base is not other.base or self.new is not other.new:
            return False
        mine, known = self.patches, other.patches
        if mine is known or len(mine) != len(known):
            return mine is known
        for name, patch in mine.items():
            old = known.get(name)
            if old is None or old.column.kind != patch.column.kind:
                return False
        return True


@quick
@dataclass(frozen=True, eq=False)
class VertexGroup:
    """All vertices with exactly these labels whose ids are of this id space.

    labels : sorted. keys : property key -> kind. pieces : none of them empty.
    """

    labels: tuple[str, ...]
    id_space: str
    count: int
    keys: Mapping[str, Kind]
    pieces: tuple[Piece, ...]

    @cached_property
    def ranges(self) -> Ranges:
        """Their vids, half-open, ascending; a vertex's row in the group's columns is its place in the concatenation of
        these."""
        return intervals.merge_ranges([r for piece in self.pieces for r in piece.ranges])

    @cached_property
    def extent(self) -> Extent:
        """The same, for look-ups."""
        return Extent(self.ranges)

    def patched(self, patches: Mapping[int, Mapping[str, Patch]]) -> VertexGroup:
        """The group with other patches, by the number of the group of the base; itself where these are the same."""
        pieces = [piece.patched(patches.get(piece.number, _NO_PATCHES)) for piece in self.pieces]
        return _group((self.labels, self.id_space), pieces, self)


def groups_of(
    records: Sequence[GroupRecord], delta: Delta, before: Iterable[VertexGroup] = ()
) -> tuple[VertexGroup, ...]:
    """The groups that have any vertex. before : those of an earlier snapshot of the same base."""
    earlier: dict[GroupKey, VertexGroup] = {}
    known: dict[int, Piece] = {}
    for group in before:
        earlier[group.labels, group.id_space] = group
        for piece in group.pieces:
            known[id(piece.base or piece.new)] = piece
    found: dict[GroupKey, list[Piece]] = {}
    for number, record in enumerate(records):
        patches = delta.patches.get(number, _NO_PATCHES)
        old = known.get(id(record))
        if old is None:
            old = Piece(number, record, None, Extent(record.ranges), delta.dead, patches)
        if (piece := old.after(delta.dead, patches)).count:
            found.setdefault((record.labels, record.id_space), []).append(piece)
    for new in delta.added:
        old = known.get(id(new))
        if old is None:
            old = Piece(-1, None, new, Extent(new.ranges), delta.dead, _NO_PATCHES)
        if (piece := old.after(delta.dead, _NO_PATCHES)).count:
            found.setdefault(new.key, []).append(piece)
    return tuple([_group(key, pieces, earlier.get(key)) for key, pieces in found.items()])


def _group(key: GroupKey, pieces: Sequence[Piece], before: VertexGroup | None) -> VertexGroup:
    """The group of some pieces; the one before where they are the same."""
    if before is not None and len(before.pieces) == len(pieces):
        # loops: each small commit comes here for each group
        same, alike, count = True, True, 0
        for piece, old in zip(pieces, before.pieces, strict=True):
            same = same and piece is old
            alike = alike and (piece is old or piece.has_kinds_of(old))
            count += piece.count
        if same:
            return before
        if alike:
            return VertexGroup(*key, count, before.keys, tuple(pieces))
    kinds: dict[str, Kind] = {}
    count = 0
    for piece in pieces:
        count += piece.count
        kept: dict[str, Kind] = {}
        if piece.base is not None:
            for name, record in piece.base.columns.items():
                kept[name] = record.kind
        if piece.new is not None:
            for name, column in piece.new.columns.items():
                kept[name] = column.kind
        for name, patch in piece.patches.items():
            if kept.get(name) != patch.column.kind:
                kept[name] = wider(kept.get(name), patch.column.kind)
        for name, kind in kept.items():
            if kinds.setdefault(name, kind) != kind:
                kinds[name] = wider(kinds[name], kind)
    return VertexGroup(*key, count, kinds, tuple(pieces))

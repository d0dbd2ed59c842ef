"""Changes of a store, collected as a delta (`graph.delta`); `commit` makes them its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from gdb.errors import ChangeRefused
from gdb.records import replace

from ..columns.kinds import fitted
from ..columns.model import I64, U32, Column, Kind, named
from ..format.direction import Direction
from ..graph import intervals
from ..graph.ascending import distinct, last_places, merged_order, unite_ascending
from ..graph.delta import Delta, NewVertices, Patch, TypeDelta, appended, overlay, patched, visible
from ..graph.edge_order import EdgeOrder
from ..graph.ids import first_known
from ..graph.pcsr import U64, keys_of
from ..graph.snapshot import Snapshot
from ..graph.vid_ranges import by_number
from .build import MOST_VERTICES
from .collected import Collected, Columns, Mark, NewGroup

_FIRST = np.zeros(1, np.int64)


class Changes:
    """What a transaction has changed so far; the store is as it was until `commit`. One thread at a time.

    snapshot : the committed state that it starts from. seen : the graph with the changes when it was last looked at.
    widens : whether a property that is given values of another kind becomes one of the kind "any" (while a query's
        changes are brought in); else they are refused.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.base = snapshot
        self._delta = snapshot.delta
        self._collected: Collected | None = None  # not yet in the delta
        self.seen = snapshot
        self._next_serial = 0
        self.widens = False

    @property
    def delta(self) -> Delta:
        """All changes; setting it drops all others."""
        if self._collected is not None:
            before, self._collected = self.mark(), None
            try:
                if before.calls:
                    self.add_groups(before.collected.groups() if before.collected else ())
            except BaseException:
                self.restore(before)
                raise
        return self._delta

    @delta.setter
    def delta(self, delta: Delta) -> None:
        self._delta, self._collected = delta, None

    @property
    def view(self) -> Snapshot:
        """The graph with the changes."""
        if self.seen.delta is not self.delta:
            before = self.base
            self.seen = Snapshot(before.files, before.manifest, before=before, delta=self.delta)
        return self.seen

    def mark(self) -> Mark:
        """What has been changed until now, for `restore`."""
        return Mark(self._delta, self._collected, len(self._collected or ()))

    def restore(self, mark: Mark) -> None:
        """Drop what was changed since."""
        self._delta, self._collected = mark.delta, mark.collected
        if self._collected is not None:
            self._collected.cut(mark.calls)

    # ---- vertices --------------------------------------------------------------------------------

    def find(self, wanted: I64 | Sequence[int | str], id_space: str) -> U32:
        """The vids of ids, u32[n].

        Raises
        ------
        ChangeRefused : there is no such vertex.
        """
        found = self.view.find_many(wanted, id_space)
        if (missing := found < 0).any():
            row = int(missing.argmax())
            inside = f" in the id space {id_space!r}" if id_space else ""
            value = int(wanted[row]) if isinstance(wanted, np.ndarray) else wanted[row]
            raise ChangeRefused(
                f"there is no node with the id {value!r}{inside} (row {row})",
                "Add it first, with add_nodes().",
            )
        return found.astype(np.uint32)

    def find_ends(
        self, starts: I64 | Sequence[str], ends: I64 | Sequence[str], spaces: tuple[str, str]
    ) -> tuple[U32, U32]:
        """The vids of both ends of edges, u32[n] each, by ids of two id spaces. Raises as `find`."""
        if (
            isinstance(starts, np.ndarray)
            and isinstance(ends, np.ndarray)
            and len(set(spaces)) == 1
        ):
            found = self.view.find_many(np.concatenate((starts, ends)), spaces[0])
            if not (found < 0).any():
                vids = found.astype(np.uint32)
                return vids[: len(starts)], vids[len(starts) :]
        return self.find(starts, spaces[0]), self.find(ends, spaces[1])

    def add_vertices(
        self,
        labels: tuple[str, ...],
        id_space: str,
        ids: Column,
        columns: Columns,
        rows: I64 | None = None,
    ) -> U32:
        """Add vertices; their vids. rows : i64[n], by which errors call them; None as they are.

        Raises
        ------
        ChangeRefused : an id is there already, or of another kind than the id space's; a property is of another type.
        """
        (vids,) = self.add_groups([NewGroup(labels, id_space, ids, columns, rows)])
        return vids

    def collect_vertices(
        self, labels: tuple[str, ...], id_space: str, ids: Column, columns: Columns
    ) -> None:
        """As `add_vertices`; of many calls in a row none costs more for the groups that there are."""
        if self._collected is None:
            self._collected = Collected(self.view)
        if not self._collected.add(labels, id_space, ids, columns):
            self.add_vertices(labels, id_space, ids, columns)

    def add_groups(self, several: Sequence[NewGroup]) -> list[U32]:
        """As `add_vertices`, of several groups, whose keys are distinct, for about the cost of one."""
        self._check_new_ids(several)
        view, first = self.view, self.base.manifest.vertex_count
        start, added = first + self.delta.vertices, list(self.delta.added)
        known = {(g.labels, g.id_space): n for n, g in enumerate(view.groups)}
        places = {old.key: k for k, old in enumerate(added)}
        found = []
        for new in several:
            key, ids, count = new.key, new.ids, len(new.ids)
            if start + count > MOST_VERTICES:
                raise ChangeRefused(f"{start + count:,} nodes are more than a store can hold")
            columns = self._fitted_vertices(view, known.get(key), new)
            place = places.get(key)
            if place is None:
                added.append(NewVertices(*key, ((start, start + count),), ids, columns))
            else:
                old = added[place]
                ranges = intervals.merge_ranges([*old.ranges, (start, start + count)])
                # what vertices had that are no more may be of other kinds
                alive = visible(old.ranges, self.delta.dead)
                both = appended([old.columns if alive else {}, columns], [len(old.ids), count])
                added[place] = NewVertices(*key, ranges, Column.concat([old.ids, ids]), both)
            found.append(np.arange(start, start + count, dtype=np.uint32))
            start += count
        delta = self.delta
        if start > first + delta.vertices:
            kept = delta.patches, delta.types, delta.rewrites
            self.delta = Delta(start - first, delta.dead, tuple(added), *kept)
        return found

    def _check_new_ids(self, groups: Sequence[NewGroup]) -> None:
        of_space: dict[str, list[Column]] = {}
        for new in groups:
            of_space.setdefault(new.id_space, []).append(new.ids)
        for space, several in of_space.items():
            kind = self.view.id_spaces.get(space, several[0].kind)
            other = next((ids.kind for ids in several if ids.kind != kind), kind)
            if kind != other:
                raise ChangeRefused(
                    f"the ids of the id space {space!r} are {named(kind)}, not {named(other)}",
                    "Give ids of that kind, or another id_space.",
                )
            ids = several[0] if len(several) == 1 else Column.concat(several)
            wanted: I64 | list[str] = (
                ids.values.astype(np.int64, copy=False)
                if kind == "int64"
                else [str(value) for value in ids.to_list()]
            )
            found = self.view.find_many(wanted, space)
            row = first_known(found, wanted)
            if row is not None:
                how, cure = "is there already", "Use set_nodes() to change it."
                if found[row] < 0:
                    how, cure = "is given twice", "Give each node an id of its own."
                raise ChangeRefused(f"a node with the id {ids.to_list()[row]!r} {how}", cure)

    def set_vertices(self, vids: U32, columns: Columns) -> None:
        """Set properties of vertices; of one that is named twice the last value holds. Null takes a property away.

        Raises
        ------
        ChangeRefused : a property is of another type.
        """
        if len(vids) == 1:
            return self._set_group(int(self.view.groups_of(vids)[0]), vids, columns, _FIRST)
        rows, last = last_places(vids)
        vids, view = rows.astype(np.uint32), self.view
        for group, mine in by_number(view.groups_of(vids)):
            taken = {key: column.take(last[mine]) for key, column in columns.items()}
            self._set_group(group, vids[mine], taken, last[mine])

    def _set_group(self, group: int, vids: U32, columns: Columns, rows: I64) -> None:
        """The same for vertices of one group of the view, vids ascending and distinct; rows : by which errors call
        them."""
        view = self.view
        own = view.groups[group]
        columns = self._fitted(columns, own.keys, partial(view.vertex_column, group), rows)
        delta = self.delta  # what does not fit may have changed it
        patches, added = dict(delta.patches), delta.added
        pieces = own.pieces
        if len(vids) == 1 and len(pieces) > 1:
            pieces = tuple([piece for piece in pieces if piece.stored.holds(vids.item(0))])
        for piece in pieces if columns else ():
            if len(pieces) == 1:
                rows, new = piece.stored.rows(vids), columns
            else:
                mine = piece.stored.has(vids).nonzero()[0]
                if not len(mine):
                    continue
                rows = piece.stored.rows(vids[mine])
                new = {name: column.take(mine) for name, column in columns.items()}
            if piece.new is None:
                of = dict(patches.get(piece.number, {}))
                for name, column in new.items():
                    of[name] = overlay(of.get(name), Patch(rows, column))
                patches[piece.number] = of
            else:
                changed = dict(piece.new.columns)
                for name, column in new.items():
                    nulls = Column.nulls(column.kind, len(piece.new.ids))
                    changed[name] = patched(changed.get(name, nulls), Patch(rows, column))
                whole = replace(piece.new, columns=changed)
                added = tuple([whole if one is piece.new else one for one in added])
        kept = delta.types, delta.rewrites
        self.delta = Delta(delta.vertices, delta.dead, added, patches, *kept)

    def remove_vertices(self, vids: U32, *, detach: bool) -> None:
        """Remove vertices; with `detach` their edges as well.

        Raises
        ------
        ChangeRefused : one of them has edges, and `detach` is not given.
        """
        vids = distinct(vids)
        for name, directed in self.types():
            ranks, places = self.incident(name, directed, vids)
            if len(ranks) + len(places) and not detach:
                raise ChangeRefused(
                    f"a node that is to be removed has relationships ({name})",
                    "Remove them first, or give detach=True.",
                )
            self._drop(name, ranks, places)
        self.drop_vertices(vids)

    def drop_vertices(self, vids: U32) -> None:
        """Remove vertices that have no edges."""
        if len(vids):
            old, dead = self.delta, unite_ascending(self.delta.dead, distinct(vids))
            self.delta = Delta(old.vertices, dead, old.added, old.patches, old.types, old.rewrites)

    # ---- edges -----------------------------------------------------------------------------------

    def add_edges(
        self, name: str, directed: bool, sources: U32, targets: U32, columns: Columns
    ) -> I64:
        """Add edges of a type; their handles (`Partitions.handles`), i64[n].

        Raises
        ------
        ChangeRefused : the type is directed otherwise; a property is of another type.
        """
        known = self.directed(name)
        if known is not None and known != directed:
            raise ChangeRefused(
                f"the relationships of type {name!r} are {'un' * directed}directed",
                f"Give directed={known}, or another type.",
            )
        if known is None:
            self._put(TypeDelta(name, directed))
        columns = self._fitted_edges(name, columns)
        old = self._type(name, directed)
        new = _keys(directed, sources, targets)
        order = merged_order(old.keys, new)
        keys = np.concatenate([old.keys, new])
        taken: dict[str, Column] = {}
        if old.columns or columns:
            both = appended([old.columns, columns], [len(old.keys), len(sources)])
            taken = {key: column.take(order) for key, column in both.items()}
        first = max(int(old.serials.max(initial=-1)) + 1, self._next_serial)
        fresh = first + np.arange(len(sources), dtype=np.int64)
        self._next_serial = first + len(sources)
        serials = np.concatenate([old.serials, fresh])[order]
        self._put(TypeDelta(name, directed, keys[order], taken, old.removed, old.patches, serials))
        return -1 - fresh

    def remove_named_edges(self, name: str, handles: I64) -> None:
        """Remove single edges of a type, by their handles."""
        self._drop(name, *self._named(name, handles))

    def set_named_edges(self, name: str, handles: I64, columns: Columns) -> None:
        """Set properties of single edges of a type, by their distinct handles. Null takes one away."""
        columns = self._fitted_edges(name, columns)
        old = self._type(name, self._directed(name))
        ranks, places = self._named(name, handles)
        of_rank = np.flatnonzero(handles >= 0)
        of_rank = of_rank[np.argsort(handles[of_rank], kind="stable")]
        of_place = np.argsort(old.serials[places], kind="stable")
        by_serial = np.flatnonzero(handles < 0)
        by_serial = by_serial[np.argsort(-1 - handles[by_serial], kind="stable")]
        patches, values = dict(old.patches), dict(old.columns)
        for key, column in columns.items():
            if len(ranks):
                patches[key] = overlay(patches.get(key), Patch(ranks, column.take(of_rank)))
            if len(places):
                stored = values.get(key, Column.nulls(column.kind, len(old.keys)))
                turned = np.empty(len(places), np.int64)
                turned[of_place] = by_serial
                values[key] = patched(stored, Patch(places, column.take(turned)))
        self._put(replace(old, patches=patches, columns=values))

    def _named(self, name: str, handles: I64) -> tuple[I64, I64]:
        """Ranks in the base and places in the delta of handles, both ascending."""
        old, ranks = self._type(name, self._directed(name)), handles[handles >= 0]
        places = np.zeros(0, np.int64)
        if len(ranks) < len(handles):
            places = np.isin(old.serials, -1 - handles[handles < 0]).nonzero()[0]
        ranks.sort()
        return ranks, places

    def remove_edges(self, name: str, sources: U32, targets: U32) -> int:
        """Remove all edges of a type between pairs of vertices; how many there were."""
        directed = self._directed(name)
        keys = np.unique(_keys(directed, sources, targets))
        ranks, places, *_ = self._between(name, directed, keys)
        self._drop(name, ranks, places)
        return len(ranks) + len(places)

    def set_edges(self, name: str, sources: U32, targets: U32, columns: Columns) -> int:
        """Set properties of all edges of a type between pairs of vertices; how many there are. Null takes one away."""
        directed = self._directed(name)
        columns = self._fitted_edges(name, columns)
        keys, last = last_places(_keys(directed, sources, targets))
        ranks, places, of_rank, of_place = self._between(name, directed, keys)
        old = self._type(name, directed)
        patches, values = dict(old.patches), dict(old.columns)
        for key, column in columns.items():
            if len(ranks):
                patches[key] = overlay(patches.get(key), Patch(ranks, column.take(last[of_rank])))
            if len(places):
                stored = values.get(key, Column.nulls(column.kind, len(old.keys)))
                values[key] = patched(stored, Patch(places, column.take(last[of_place])))
        self._put(replace(old, patches=patches, columns=values))
        return len(ranks) + len(places)

    def types(self) -> list[tuple[str, bool]]:
        """The edge types of the graph with the changes, and whether they are directed."""
        found = {one.name: one.directed for one in self.delta.types.values()}
        return sorted({**found, **{one.name: one.directed for one in self.base.edge_types}}.items())

    def directed(self, name: str) -> bool | None:
        """Whether a type of the graph with the changes is directed; None where there is no such type."""
        known = self.base.edge_type(name) or self.delta.types.get(name)
        return None if known is None else known.directed

    def _directed(self, name: str) -> bool:
        if (known := self.directed(name)) is not None:
            return known
        raise ChangeRefused(f"there is no relationship type {name!r}", "See db.schema().")

    def _type(self, name: str, directed: bool) -> TypeDelta:
        return self.delta.types.get(name) or TypeDelta(name, directed)

    def _put(self, changes: TypeDelta) -> None:
        self.delta = self.delta.with_type(changes)

    def _drop(self, name: str, ranks: I64, places: I64) -> None:
        """Remove edges of the base and of the delta."""
        if not len(ranks) + len(places):
            return
        old = self._type(name, self._directed(name))
        removed, rest = unite_ascending(old.removed, ranks), (old.patches, old.serials)
        if not len(places):
            self._put(TypeDelta(*(name, old.directed, old.keys, old.columns), removed, *rest))
            return
        kept = np.delete(np.arange(len(old.keys), dtype=np.int64), places)
        values = {key: column.take(kept) for key, column in old.columns.items()}
        serials = old.serials[kept]
        self._put(
            replace(old, keys=old.keys[kept], columns=values, removed=removed, serials=serials)
        )

    def _between(self, name: str, directed: bool, keys: U64) -> tuple[I64, I64, I64, I64]:
        """The edges with some keys, u64[n] distinct: ranks in the base, places in the delta, both ascending; for each
        of both the number of its key."""
        partitions = self.base.partitions
        part = partitions.stored(name, Direction.OUT if directed else Direction.ANY)
        adjacency = part.adjacency((name,), Direction.OUT)
        rows = adjacency.rows_of((keys >> np.uint64(32)).astype(np.uint32))
        ranks: list[I64] = [np.zeros(0, np.int64)]
        of_rank: list[I64] = [np.zeros(0, np.int64)]
        for k in np.flatnonzero(rows >= 0).tolist():
            start, stop = part.offsets[rows[k]], part.offsets[rows[k] + 1]
            inside, target = part.neighbours[start:stop], np.uint32(keys[k] & np.uint64(0xFFFFFFFF))
            first, end = (int(np.searchsorted(inside, target, side)) for side in ("left", "right"))
            ranks.append(np.arange(start + first, start + end, dtype=np.int64))
            of_rank.append(np.full(end - first, k, np.int64))
        found, numbers = np.concatenate(ranks), np.concatenate(of_rank)
        if not directed:
            found = np.searchsorted(partitions.stored_slots(name), found).astype(np.int64)
        old = self._type(name, directed)
        there = ~np.isin(found, old.removed)
        order = np.argsort(found[there], kind="stable")
        by_key = np.argsort(keys, kind="stable")
        at = np.minimum(np.searchsorted(keys[by_key], old.keys), max(len(keys) - 1, 0))
        hit = keys[by_key][at] == old.keys if len(keys) else np.zeros(len(old.keys), np.bool_)
        places = np.flatnonzero(hit).astype(np.int64)
        return found[there][order], places, numbers[there][order], by_key[at[places]]

    def incident(self, name: str, directed: bool, vids: U32) -> tuple[I64, I64]:
        """The edges of a type at some vertices, u32[n] ascending: ranks in the base, places in the delta; ascending."""
        partitions = self.base.partitions
        count = partitions.base_count(name)
        parts = partial(partitions.stored, name), partial(partitions.stored_slots, name)
        order = EdgeOrder(*parts, self._type(name, directed), count)
        sides = (Direction.OUT, Direction.IN) if directed else (Direction.ANY,)
        every: I64 = np.concatenate([order.incident(vids, side).origins for side in sides])
        origins = distinct(every)
        at = int(origins.searchsorted(count))
        return origins[:at], origins[at:] - count

    def edges(
        self, name: str, directed: bool, ranks: I64, places: I64
    ) -> tuple[U64, dict[str, Column]]:
        """Keys and properties of edges of the base and of the delta."""
        old, partitions = self._type(name, directed), self.base.partitions
        record = next((r for r in self.base.manifest.types if r.name == name), None)
        stored = {} if record is None else record.columns
        base: dict[str, Column] = {}
        for key in {*stored, *old.patches}:
            column = partitions.stored_column(name, key)
            if column is None:
                count = 0 if record is None else record.edge_count
                column = Column.nulls(old.patches[key].column.kind, count)
            base[key] = patched(column, old.patches.get(key)).take(ranks)
        added = {key: column.take(places) for key, column in old.columns.items()}
        keys = partitions.keys_at(name, directed, ranks)
        both = appended([base, added], [len(ranks), len(places)])
        return np.concatenate([keys, old.keys[places]]), both

    # ---- types of properties ---------------------------------------------------------------------

    def _fitted_vertices(
        self, view: Snapshot, number: int | None, new: NewGroup
    ) -> dict[str, Column]:
        """Columns of vertices that are added to a group of the view, None for a new one."""
        if number is None:
            return self._fitted(new.columns, {}, lambda name: None, new.rows)
        present = partial(view.vertex_column, number)
        return self._fitted(new.columns, view.groups[number].keys, present, new.rows)

    def _fitted_edges(self, name: str, columns: Columns) -> dict[str, Column]:
        if not columns:
            return {}
        known = self.view.edge_type(name)
        kinds = {} if known is None else known.keys
        present = partial(self.view.edge_column, name)
        return self._fitted(columns, kinds, present, None)

    def _fitted(
        self,
        columns: Columns,
        kinds: Mapping[str, Kind],
        present: Callable[[str], Column | None],
        rows: I64 | None,
    ) -> dict[str, Column]:
        found = fitted(columns, kinds, present, widens=self.widens, rows=rows)
        for key, column in found.items():
            # the store knows one kind of lists in base and delta (docs/FORMAT.md)
            if column.kind == "float64[]" and kinds.get(key, "float64[]") != "float64[]":
                self.delta = replace(self.delta, rewrites=True)
        return found


def _keys(directed: bool, sources: U32, targets: U32) -> U64:
    if directed:
        return keys_of(sources, targets)
    return keys_of(np.minimum(sources, targets), np.maximum(sources, targets))

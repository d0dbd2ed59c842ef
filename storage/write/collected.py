"""Vertices that a transaction adds call by call, collected until the graph is read.

The graph with the changes costs something for each of its groups when it is made. A thousand calls of new label sets
are therefore brought in together, as the groups of one call (`Changes.add_groups`). Collected is what surely can be
added; all else is left to `Changes.add_vertices`, which raises the errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ..columns.kinds import inexact, is_empty
from ..columns.model import I64, WIDER, Column, Kind
from ..graph.delta import Delta, appended
from ..graph.snapshot import Snapshot
from ..graph.vertex_pieces import GroupKey
from .build import MOST_VERTICES

Columns: TypeAlias = Mapping[str, Column]
MOST = 1 << 16
"""Vertices that are collected: their ids are kept as Python's objects."""


class NewGroup(NamedTuple):
    """Vertices that are added. rows : i64[n], by which errors call them; None as they are."""

    labels: tuple[str, ...]
    id_space: str
    ids: Column
    columns: Columns
    rows: I64 | None = None

    @property
    def key(self) -> GroupKey:
        """That of its group."""
        return tuple(sorted(set(self.labels))), self.id_space


class Collected:
    """See the module. view : the graph that they are added to."""

    def __init__(self, view: Snapshot) -> None:
        self._view = view
        self._of_view = {(group.labels, group.id_space): group.keys for group in view.groups}
        self._parts: list[NewGroup] = []
        self._count = 0
        # These may also know what was taken out again: what they do not know is new.
        self._ids: dict[str, set[int | str]] = {}
        self._kinds: dict[GroupKey, dict[str, Kind]] = {}
        self._id_kinds: dict[str, Kind] = {}

    def __len__(self) -> int:
        """The number of calls."""
        return len(self._parts)

    def add(self, labels: tuple[str, ...], id_space: str, ids: Column, columns: Columns) -> bool:
        """Collect vertices; False where it is not certain that they can be added, or where they are too many.

        Cost: what the vertices take, whatever the number of groups.
        """
        count = self._count + len(ids)
        if count > min(MOST, MOST_VERTICES - self._view.vertex_count):
            return False
        key = tuple(sorted(set(labels))), id_space
        new = self._new_ids(id_space, ids)
        kinds = dict(self._kinds.get(key) or self._of_view.get(key, {}))
        fitted = _fitted(columns, kinds)
        if new is None or fitted is None:
            return False
        self._ids.setdefault(id_space, set()).update(new)
        self._id_kinds[id_space] = ids.kind
        self._kinds[key] = kinds
        self._count = count
        self._parts.append(NewGroup(labels, id_space, ids, fitted))  # last: Ctrl-C may come between
        return True

    def cut(self, length: int) -> None:
        """Take all calls but the first ones out again."""
        del self._parts[length:]

    def groups(self) -> list[NewGroup]:
        """The vertices by their groups, whose keys are distinct."""
        of_key: dict[GroupKey, list[NewGroup]] = {}
        for part in self._parts:
            of_key.setdefault(part.key, []).append(part)
        return [_joined(key, parts) for key, parts in of_key.items()]

    def _new_ids(self, space: str, ids: Column) -> set[int | str] | None:
        """The ids, if all are of the kind of their space, and new; else None."""
        known = self._id_kinds.get(space) or self._view.id_spaces.get(space, ids.kind)
        if ids.kind != known:
            return None
        values: list[int | str]
        wanted: I64 | list[int | str]
        if ids.kind == "int64":
            wanted = ids.values.astype(np.int64, copy=False)
            values = wanted.tolist()
        else:
            wanted = values = [str(value) for value in ids.to_list()]
        found = set(values)
        if len(found) < len(values) or not found.isdisjoint(self._ids.get(space, ())):
            return None
        return None if (self._view.find_many(wanted, space) >= 0).any() else found


class Mark(NamedTuple):
    """What a transaction had changed at some time: a delta, and so many calls that were collected."""

    delta: Delta
    collected: Collected | None
    calls: int


def _fitted(columns: Columns, kinds: dict[str, Kind]) -> dict[str, Column] | None:
    """Columns as the kinds that their properties have, which new ones are added to; None where they may not fit."""
    found: dict[str, Column] = {}
    for name, column in columns.items():
        if is_empty(column):
            continue
        kind = kinds.setdefault(name, column.kind)
        if WIDER.get(column.kind) == kind and inexact(column) is None:
            column = column.as_floats()
        if not name or column.kind != kind or kind == "any":
            return None
        found[name] = column
    return found


def _joined(key: GroupKey, parts: Sequence[NewGroup]) -> NewGroup:
    if len(parts) == 1:
        return parts[0]
    columns = appended([part.columns for part in parts], [len(part.ids) for part in parts])
    return NewGroup(*key, Column.concat([part.ids for part in parts]), columns)

"""Vertices that get labels, or lose some: they move to other groups, with their properties and edges.

All that move at once are taken out of the graph once and added once, whatever the number of groups that they come from
and go to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gdb.records import dataclass

from ..columns.model import I64, U32, Column
from ..graph.pcsr import U64
from ..graph.vertex_pieces import GroupKey
from ..graph.vid_ranges import by_number
from .collected import NewGroup
from .transaction import Changes

Move = tuple[U32, frozenset[str], frozenset[str]]
"""Vertices, the labels that they get, and those that they lose."""


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Vertices whose labels changed, so their vids too: before, after, u32[n]; edge handles by type, i64[k]."""

    before: U32
    after: U32
    edges: Mapping[str, tuple[I64, I64]]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Vertices of one group that go to one other. called : as errors call each."""

    vids: U32
    group: int
    key: GroupKey
    called: I64


def relabel(changes: Changes, moves: Sequence[Move]) -> Moved | None:
    """Move the vertices of all moves, each of them in one only; None where none of them changes.

    Raises
    ------
    ChangeRefused : a property is of another type under the new labels.
    """
    parts = _parts(changes, moves)
    if not parts:
        return None
    edges: list[tuple[str, bool, U64, dict[str, Column]]] = []
    handles: dict[str, tuple[I64, I64]] = {}
    vids = np.concatenate([part.vids for part in parts])
    order = np.argsort(vids)
    before = vids[order]
    for name, directed in changes.types():
        ranks, places = changes.incident(name, directed, before)
        if len(ranks) + len(places):
            edges.append((name, directed, *changes.edges(name, directed, ranks, places)))
            serials = changes.delta.types[name].serials[places] if len(places) else places
            handles[name] = (np.concatenate([ranks, -1 - serials]), ranks[:0])
    rounds = _rounds(changes, parts)
    changes.remove_vertices(before, detach=True)
    after = np.zeros(len(vids), np.uint32)
    for groups, own in rounds:
        for part, made in zip(own, changes.add_groups(groups), strict=True):
            after[part] = made
    after = after[order]

    def now(ends: U32) -> U32:
        at = np.minimum(np.searchsorted(before, ends), len(before) - 1)
        return np.where(before[at] == ends, after[at], ends).astype(np.uint32)

    for name, directed, keys, values in edges:
        sources, targets = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
        new = changes.add_edges(name, directed, now(sources), now(targets), values)
        handles[name] = (handles[name][0], new)
    return Moved(before, after, handles)


def _parts(changes: Changes, moves: Sequence[Move]) -> list[_Part]:
    groups, found = changes.view.groups, list[_Part]()
    for several, add, remove in moves:
        vids, first = np.unique(several, return_index=True)
        for number, mine in by_number(changes.view.groups_of(vids)):
            own = groups[number]
            labels = tuple(sorted((set(own.labels) | add) - remove))
            if labels != own.labels:
                found.append(_Part(vids[mine], number, (labels, own.id_space), first[mine]))
    return found


def _rounds(changes: Changes, parts: Sequence[_Part]) -> list[tuple[list[NewGroup], list[slice]]]:
    """What is added, with its places among all that move: vertices of several groups that go to the same one are added
    one after the other, all others at once."""
    view, at = changes.view, 0
    rounds: list[tuple[list[NewGroup], list[slice]]] = []
    times: dict[GroupKey, int] = {}
    for part in parts:
        rows = view.group_rows(part.vids, part.group)
        ids = view.id_column(part.group).take(rows)
        columns = {
            key: column.take(rows)
            for key in view.groups[part.group].keys
            if (column := view.vertex_column(part.group, key)) is not None
        }
        turn = times.get(part.key, 0)
        times[part.key] = turn + 1
        if turn == len(rounds):
            rounds.append(([], []))
        rounds[turn][0].append(NewGroup(*part.key, ids, columns, part.called))
        rounds[turn][1].append(slice(at, at + len(part.vids)))
        at += len(part.vids)
    return rounds

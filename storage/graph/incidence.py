"""The edges at some vertices, found in their rows (`gdb.storage.graph.edge_order`): for a few vertices, as long as the
partitions of base and delta are not merged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..columns.model import I64, U32
from ..format.direction import Direction
from .ascending import distinct
from .partitions import Partitions, Types


def incident(
    partitions: Partitions, vids: U32, types: Types, direction: Direction
) -> tuple[I64, U32, I64]:
    """See `gdb.storage.graph.snapshot.Snapshot.incident`."""
    at, others, eids = [np.zeros(0, np.int64)], [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)]
    sources = [*partitions.sources(partitions.known(types), direction)]
    if len(sources) == 1:
        ((name, side),) = sources
        found = partitions.order(name).incident(vids, side)
        return found.at, found.others, _eids(partitions, name, found.origins)
    for name, side in sources:
        found = partitions.order(name).incident(vids, side)
        twice = side is Direction.IN and direction is Direction.ANY  # a loop leaves and arrives
        kept = np.flatnonzero(found.others != vids[found.at]) if twice else slice(None)
        at.append(found.at[kept])
        others.append(found.others[kept])
        eids.append(_eids(partitions, name, found.origins[kept]))
    return np.concatenate(at), np.concatenate(others), np.concatenate(eids)


def handles(partitions: Partitions, vids: U32) -> Iterator[tuple[str, I64]]:
    """See `gdb.storage.graph.snapshot.Snapshot.handles_at`."""
    for name in partitions.known(()):
        sides = partitions.sources((name,), Direction.ANY)
        found = [partitions.order(name).incident(vids, side).origins for _, side in sides]
        origins = distinct(np.concatenate(found))
        if len(origins):
            yield name, partitions.called(name, origins)


def degrees(partitions: Partitions, vids: U32, types: Types, direction: Direction) -> int:
    """See `gdb.storage.graph.snapshot.Snapshot.degrees`."""
    sources = partitions.sources(partitions.known(types), direction)
    return sum(int(partitions.order(name).degrees(vids, side).sum()) for name, side in sources)


def between(
    partitions: Partitions, sources: U32, targets: U32, types: Types, direction: Direction
) -> tuple[I64, I64]:
    """See `gdb.storage.graph.snapshot.Snapshot.between`."""
    at, eids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for name, side in partitions.sources(partitions.known(types), direction):
        ends = (targets, sources) if side is Direction.IN else (sources, targets)
        places, origins = partitions.order(name).between(*ends)
        if side is Direction.IN and direction is Direction.ANY:
            kept = np.flatnonzero(sources[places] != targets[places])
            places, origins = places[kept], origins[kept]
        at.append(places)
        eids.append(_eids(partitions, name, origins))
    return np.concatenate(at), np.concatenate(eids)


def count_between(
    partitions: Partitions, source: int, target: int, types: Types, direction: Direction
) -> int:
    """See `gdb.storage.graph.snapshot.Snapshot.count_between`."""
    count = 0
    for name, side in partitions.sources(partitions.known(types), direction):
        if side is not Direction.IN:
            count += partitions.order(name).count_between(source, target)
        elif direction is not Direction.ANY or source != target:  # a loop leaves and arrives
            count += partitions.order(name).count_between(target, source)
    return count


def _eids(partitions: Partitions, name: str, origins: I64) -> I64:
    record = partitions.edge_type(name)
    first = 0 if record is None else record.first_eid
    return partitions.order(name).numbers(origins) + first

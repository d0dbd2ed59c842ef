"""The size of a graph in three formats: the measure of geneva-tpds §8.2 (Table 2), without properties.

Plain CSR and hash-PCSR are computed, interval-PCSR is what lies on disk. All count 4-byte vids; CSR
is given 4-byte offsets too, the smallest that it can have, and no edge labels, which it would need.
"""

from __future__ import annotations

import numpy as np

from gdb.records import dataclass
from gdb.storage.columns.model import I64, EdgeTable
from gdb.storage.format.direction import Direction
from gdb.storage.graph import intervals
from gdb.storage.graph.snapshot import Snapshot, StoreStats
from tests.support.graph_tables import GraphTables

WORD = 4
HASH_WORDS = 32  # of GSI's table for each vertex of a partition: 30 of them empty


@dataclass(frozen=True, slots=True)
class PartIntervals:
    """Intervals of one part when vertices keep the order of the input, and after GENMAP."""

    type: str
    direction: Direction
    rows: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of the three formats, and the intervals of each part."""

    csr: int
    interval_pcsr: int
    hash_pcsr: int
    parts: tuple[PartIntervals, ...]

    @property
    def over_csr(self) -> float:
        """Interval-PCSR relative to CSR: the paper has 1.02 to 1.23."""
        return self.interval_pcsr / self.csr

    @property
    def saved(self) -> float:
        """What interval-PCSR saves of hash-PCSR: the paper has 0.83 on average."""
        return 1 - self.interval_pcsr / self.hash_pcsr


def sizes(tables: GraphTables, snapshot: Snapshot) -> Sizes:
    """Measure `snapshot`, which was written from `tables`."""
    stats = snapshot.stats()
    return Sizes(
        csr_bytes(stats),
        interval_pcsr_bytes(stats),
        hash_pcsr_bytes(stats),
        intervals_of(tables, stats),
    )


def csr_bytes(stats: StoreStats) -> int:
    """One CSR of all types; another for the way back where a type is directed."""
    backward = [part.edges for part in stats.parts if part.direction is Direction.IN]
    forward = [part.edges for part in stats.parts if part.direction is not Direction.IN]
    offsets = (stats.vertices + 1) * (2 if backward else 1)
    return WORD * (offsets + sum(forward) + sum(backward))


def interval_pcsr_bytes(stats: StoreStats) -> int:
    """Interval indexes, offsets and neighbours of all parts, as they lie on disk."""
    return sum(part.bytes for part in stats.parts)


def hash_pcsr_bytes(stats: StoreStats) -> int:
    """32 words for each vertex of each part, and the neighbours."""
    return WORD * sum(HASH_WORDS * part.rows + part.edges for part in stats.parts)


def intervals_of(tables: GraphTables, stats: StoreStats) -> tuple[PartIntervals, ...]:
    """Intervals of each part under the input's own vertex order, and as stored."""
    by_type: dict[str, list[EdgeTable]] = {}
    for table in tables.edges:
        by_type.setdefault(table.type, []).append(table)
    found: list[PartIntervals] = []
    for part in stats.parts:
        sources = [table.sources for table in by_type[part.type]]
        targets = [table.targets for table in by_type[part.type]]
        ends = {Direction.OUT: sources, Direction.IN: targets, Direction.ANY: sources + targets}
        before = _intervals(np.concatenate(ends[part.direction]))
        found.append(PartIntervals(part.type, part.direction, part.rows, before, part.intervals))
    return tuple(found)


def _intervals(vertices: I64) -> int:
    return len(intervals.of_vids(np.unique(vertices).astype(np.uint32)))

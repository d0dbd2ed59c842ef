"""Questions to the walkers, paths of variable length from given vertices, and their answers.

`gdb.executor.cpu.walkers` lists and counts such paths, `gdb.executor.cpu.shortest_paths` finds shortest ones. What they
mean is defined by the plain walk in tests/oracles/walks.py, against which they are tested.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.records import dataclass, field, replace
from gdb.storage.columns.model import offsets_of_lengths, places
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32, Adjacency

from .cpu import paths
from .nest.tables import bitset
from .work.scheduler import Budget

if TYPE_CHECKING:
    from .plan.source import GraphSource

U8 = npt.NDArray[np.uint8]


class Differ(IntEnum):
    """What may not repeat within one path."""

    NOTHING = paths.ANYTHING  # a walk
    EDGES = paths.EDGES_DIFFER  # a trail
    VERTICES = paths.VERTICES_DIFFER  # an acyclic path


class Taken(StrEnum):
    """Which of the paths between two ends: that many, shorter ones first, or all that are shortest."""

    FIRST = "first"
    SHORTEST = "shortest"


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Over which edges paths may go, from a vertex on, and from their ends back.

    view, eids : lists of neighbours, and the edge id of each, i64[m]. back, back_eids : the same from the other end.
    sides : whether an edge is in the row of one of its ends, of both, or that depends (`paths.ONE_SIDE`, ...).
    allowed : a bit for each edge id, None where all may be used.
    """

    view: Adjacency
    eids: I64
    back: Adjacency
    back_eids: I64
    sides: int
    allowed: U8 | None = None

    def admits(self, eid: int) -> bool:
        """Whether `allowed` has an edge."""
        return self.allowed is None or bool(self.allowed[eid >> 3] >> (eid & 7) & 1)

    @property
    def flipped(self) -> Steps:
        """The same edges, followed from the other end."""
        ends = self.back, self.back_eids, self.view, self.eids
        return Steps(*ends, self.sides, self.allowed)


def steps(
    graph: GraphSource, types: tuple[str, ...], direction: Direction, allowed: I64 | None = None
) -> Steps:
    """The edges of some types (() = all; unknown ones are ignored) in a direction.

    allowed : the ids of those that may be used, None for all.
    """
    named = [t for t in graph.edge_types if not types or t.name in types]
    bits = None if allowed is None else bitset(allowed, graph.edge_count)
    if not named:
        nothing, none = _nothing(direction), np.zeros(0, np.int64)
        return Steps(nothing, none, nothing, none, paths.ONE_SIDE)
    kinds = {t.directed and direction is not Direction.ANY for t in named}
    sides = paths.MIXED_SIDES
    if len(kinds) == 1:
        sides = paths.ONE_SIDE if True in kinds else paths.BOTH_SIDES
    back = direction.flipped
    return Steps(
        *(graph.adjacency(types, direction), graph.eids(types, direction)),
        *(graph.adjacency(types, back), graph.eids(types, back)),
        *(sides, bits),
    )


def _nothing(direction: Direction) -> Adjacency:
    """Lists of neighbours where nothing has any."""
    none = np.zeros(0, np.uint32)
    return Adjacency((), direction, none, none, none, np.zeros(1, np.int64), none, True, False, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Paths of `low` to `high` edges (None: any number) that begin at the vertex of each row.

    vids, edges : how many vertices and edges the graph has. starts : u32[rows].
    goals : the vertex at which each row's paths must end, u32[rows]; None for any.
    used : the edges that row r's paths may not use are used[used_at[r]:used_at[r + 1]]; i64, i64[rows + 1].
    ends : a bit for each vid, whether paths may end there; None for all.
    """

    steps: Steps
    vids: int
    edges: int
    starts: U32
    low: int
    high: int | None
    differ: Differ
    goals: U32 | None = None
    used_at: I64 | None = None
    used: I64 | None = None
    ends: U8 | None = None

    @property
    def rows(self) -> int:
        """Number of rows, which is that of starts."""
        return len(self.starts)

    @property
    def impossible(self) -> bool:
        """Whether no path can be as long as it must."""
        return self.high is not None and self.high < self.low

    @property
    def reachable(self) -> bool:
        """Whether distances alone determine where paths end: see `gdb.executor.cpu.reach`."""
        trail = self.differ is Differ.EDGES and self.steps.sides == paths.MIXED_SIDES
        return self.low == 0 or (self.low == 1 and not trail)

    def of_rows(self, rows: I64) -> Question:
        """The question of some rows, in that order."""
        goals = None if self.goals is None else self.goals[rows]
        found = replace(self, starts=self.starts[rows], goals=goals)
        if self.used_at is None or self.used is None:
            return found
        counts = np.diff(self.used_at)[rows]
        at = offsets_of_lengths(counts)
        used = self.used[places(self.used_at[rows], counts, at)]
        return replace(found, used_at=at, used=used)

    @property
    def flipped(self) -> Question:
        """The same paths from their goals to their starts."""
        assert self.goals is not None
        return replace(self, steps=self.steps.flipped, starts=self.goals, goals=self.starts)


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Paths that were found, in no promised order.

    rows : the row that each is of, i64[n]. ends : u32[n].
    offsets : path k has the edges eids[offsets[k]:offsets[k + 1]], in its order; i64[n + 1], i64[].
    """

    rows: I64
    ends: U32
    offsets: I64
    eids: I64

    @property
    def lengths(self) -> I64:
        """Number of edges of each path, i64[n]."""
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(one.nbytes for one in (self.rows, self.ends, self.offsets, self.eids))

    def renumbered(self, rows: I64) -> Paths:
        """With other numbers of rows: rows[k] instead of k."""
        return replace(self, rows=rows[self.rows])

    def turned(self, ends: U32) -> Paths:
        """The same paths from end to start; they end at ends[k], u32[n]."""
        lengths = self.lengths
        last = np.repeat(self.offsets[1:] - 1 + self.offsets[:-1], lengths)
        return replace(self, ends=ends, eids=self.eids[last - np.arange(len(self.eids))])


def together(parts: list[Paths]) -> Paths:
    """Several tables of paths as one."""
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
    return Paths(
        np.concatenate([np.zeros(0, np.int64), *(part.rows for part in parts)]),
        np.concatenate([np.zeros(0, np.uint32), *(part.ends for part in parts)]),
        offsets_of_lengths(lengths),
        np.concatenate([np.zeros(0, np.int64), *(part.eids for part in parts)]),
    )


@dataclass(slots=True)
class PathBound:
    """A bound on a walk by one thread, which is then left. most : paths. short : or after one launch, about 10 ms.
    found : paths so far. cut : whether it was left."""

    most: int
    short: bool
    found: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which conditions a walk goes on.

    look : called about every 10 ms, by any thread; raises to stop it (Cancelled, QueryTimeout).
    budget : bytes that may be held. threads : 0 for all cores. bound : of a walk that lists paths; None for all of
    them.
    """

    look: Callable[[], None]
    budget: Budget = field(default_factory=Budget)
    threads: int = 0
    bound: PathBound | None = None

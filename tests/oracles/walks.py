"""Paths of variable length in plain Python: the definition that the walkers in machine code are held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gdb.executor.walk import Differ, Taken

Path = tuple[int, ...]
"""The edge ids of a path."""
Steps = dict[int, list[tuple[int, int]]]
"""Of each vertex the edges that may be followed from it: edge id and where it leads."""


@dataclass(frozen=True)
class Walk:
    """The question of one row. goal : None for any. used : edges that may not be used. ends : where paths may end,
    None for anywhere."""

    steps: Steps
    start: int
    low: int
    high: int | None
    differ: Differ
    goal: int | None = None
    used: frozenset[int] = frozenset()
    ends: frozenset[int] | None = None

    def every(self) -> Iterator[tuple[Path, int]]:
        """All paths and where they end, shorter ones first."""
        level: list[tuple[Path, Path]] = [((), (self.start,))]
        depth = 0
        while level and (self.high is None or depth <= self.high):
            following: list[tuple[Path, Path]] = []
            for path, visited in level:
                if depth >= self.low and self._ends(visited[-1]):
                    yield path, visited[-1]
                for eid, vid in self.steps.get(visited[-1], []):
                    if not self._repeats(path, visited, eid, vid):
                        following.append(((*path, eid), (*visited, vid)))
            level, depth = following, depth + 1

    def _ends(self, vid: int) -> bool:
        if self.goal is not None:
            return vid == self.goal
        return self.ends is None or vid in self.ends

    def _repeats(self, path: Path, visited: Path, eid: int, vid: int) -> bool:
        if eid in self.used:
            return True
        if self.differ is Differ.EDGES:
            return eid in path
        return self.differ is Differ.VERTICES and vid in visited

    def taken(self, taken: Taken, count: int) -> list[Path]:
        """Of all paths in order of length those that are taken; which of equally long ones is not promised."""
        found = [path for path, _ in self.every()]
        if taken is Taken.SHORTEST:
            return [path for path in found if len(path) == len(found[0])]
        return found[:count]

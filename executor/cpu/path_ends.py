"""The distinct ends of the paths of each row, for any bounds of their lengths.

Where distances alone determine it (`Question.reachable`), a breadth-first search finds it. Else, with a least length of
two and more, short paths are tallied; of longer ones a search finds the vertices that paths of any length lead to, and
for each of these it is seen whether there is one as long as it must be, shorter ones first, up to the first.
"""

from __future__ import annotations

import numpy as np

from gdb.records import replace
from gdb.storage.graph.adjacency import I64, U32

from ..nest.tables import bitset
from ..walk import Conditions, Question, Taken
from . import shortest_paths, walkers

TALLIED = 4
"""The length up to which all paths are gone along where distances do not determine their ends."""


def distinct_ends(
    question: Question, conditions: Conditions, most: int | None = None
) -> tuple[I64, U32]:
    """Where the paths of each row end: row, end, no two alike; i64[n], u32[n].

    most : no more than so many ends of a row are needed.

    Raises
    ------
    OutOfBudget; what `conditions.look` raises.
    """
    if question.impossible or not question.rows:
        return np.zeros(0, np.int64), np.zeros(0, np.uint32)
    if question.goals is not None:
        rows = _to_goals(question, conditions)
        return rows, question.goals[rows]
    if question.reachable:
        return walkers.reach_ends(question, conditions, most=most)
    if question.high is not None and question.high <= TALLIED:
        return walkers.tally_ends(question, conditions)[:2]
    rows, ends = walkers.reach_ends(replace(question, low=0), conditions)
    pairs = replace(question.of_rows(rows), goals=ends, ends=None)
    found = _to_goals(pairs, conditions)
    return rows[found], ends[found]


def _to_goals(question: Question, conditions: Conditions) -> I64:
    """The rows from whose start a path leads to their goal, i64[n]."""
    if question.rows == 1 or question.used_at is not None or not question.reachable:
        found = shortest_paths.select_paths(question, Taken.FIRST, 1, conditions)
        return np.unique(found.rows)
    assert question.goals is not None
    if len(np.unique(question.goals)) < len(np.unique(question.starts)):
        question = question.flipped  # one search for each vertex of the side that has fewer
    starts, goals = question.starts, question.goals
    assert goals is not None
    sources, place = np.unique(starts, return_inverse=True)
    ends = bitset(np.unique(goals).astype(np.int64), question.vids)
    search = replace(question, starts=sources, goals=None, ends=ends)
    rows, last = walkers.reach_ends(search, conditions)
    met = rows * question.vids + last.astype(np.int64)
    return np.flatnonzero(np.isin(place.reshape(-1) * question.vids + goals.astype(np.int64), met))

"""Questions to the walkers that a relationship of variable length is, and what answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.base import usage
from gdb.executor.cpu import shortest_paths, walkers
from gdb.executor.walk import Conditions, Differ, PathBound, Paths, Question, Taken, steps
from gdb.executor.work.scheduler import Budget
from gdb.language.syntax import PathMode, Selector

if TYPE_CHECKING:
    from gdb.physical.rows.pattern import RowEdge
    from gdb.physical.rows.run_context import RowContext
    from gdb.storage.format.direction import Direction
    from gdb.storage.graph.adjacency import I64, U32
    from gdb.storage.graph.snapshot import Snapshot

_DIFFER = {
    PathMode.WALK: Differ.NOTHING,
    PathMode.TRAIL: Differ.EDGES,
    PathMode.ACYCLIC: Differ.VERTICES,
}


def conditions_of(context: RowContext, bound: PathBound | None = None) -> Conditions:
    """Under which conditions a query's walks go on: they may hold what rows and patterns leave of its budget."""
    options, allowance = context.options, context.allowance
    budget = Budget(options.memory, cure=allowance.cure)
    if options.memory is not None:
        whole = usage.budget(options.memory)
        budget.used = min(allowance.made + allowance.kept + whole.used, options.memory)
    return Conditions(context.pulse, budget, options.threads, bound)


def differ_of(mode: PathMode) -> Differ:
    """What a path mode keeps from repeating."""
    return _DIFFER[mode]


def followed(question: Question, row: int, eids: I64) -> int | None:
    """The vid where a row's path of these edges ends, one after the other from its start; None where it is no answer.

    eids : i64[n], in the order of the path.
    """
    low, high = question.low, question.high
    if len(eids) < low or (high is not None and len(eids) > high):
        return None
    if question.differ is not Differ.NOTHING and len(np.unique(eids)) < len(eids):
        return None
    if question.used_at is not None and question.used is not None:
        used = question.used[question.used_at[row] : question.used_at[row + 1]]
        if np.isin(eids, used).any():
            return None
    vids, view = [int(question.starts[row])], question.steps.view
    for eid in eids.tolist():
        (at,) = view.rows_of(np.array(vids[-1:], np.uint32))
        begin, end = (int(view.offsets[at]), int(view.offsets[at + 1])) if at >= 0 else (0, 0)
        places = np.flatnonzero(question.steps.eids[begin:end] == eid)
        if not len(places) or not question.steps.admits(eid):
            return None
        vids.append(int(view.neighbours[begin + places[0]]))
    if question.differ is Differ.VERTICES and len({*vids}) < len(vids):
        return None
    if question.goals is not None and vids[-1] != question.goals[row]:
        return None
    return vids[-1]


def question_of(
    snapshot: Snapshot, edge: RowEdge, direction: Direction, starts: U32, goals: U32 | None
) -> Question:
    """The paths of a relationship of variable length without conditions. starts : where they begin, u32[rows]. goals :
    where they end, u32[rows], None for anywhere. direction : from the starts on."""
    assert edge.length is not None
    low, high, over = edge.length.low, edge.length.high, steps(snapshot, edge.types, direction)
    vids, edges = snapshot.vertex_count, snapshot.edge_count
    return Question(over, vids, edges, starts, low, high, differ_of(edge.mode), goals)


def paths_of(edge: RowEdge, question: Question, conditions: Conditions) -> Paths:
    """The paths that a relationship of variable length is. Raises as `walkers.list_paths`."""
    selector = edge.selector
    if selector is not None:
        return shortest_paths.select_paths(question, taken_by(selector), selector.count, conditions)
    if question.goals is not None:
        return shortest_paths.to_goals(question, conditions)
    return walkers.list_paths(question, conditions)


def number_of_paths(edge: RowEdge, question: Question, conditions: Conditions) -> int | None:
    """How many paths `paths_of` gives; None where it has to list them."""
    if edge.selector is not None or question.goals is not None:
        return None
    numbers: list[int] = walkers.count_paths(question, conditions)[1].tolist()
    return sum(numbers)


def taken_by(selector: Selector) -> Taken:
    """Which paths a selector takes."""
    return Taken.SHORTEST if selector.kind == "ALL SHORTEST" else Taken.FIRST

"""Steps of a pattern's program that follow the paths of a relationship of variable length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.executor.cpu.path_ends import distinct_ends
from gdb.executor.walk import PathBound
from gdb.physical.rows.number_graph import node_of
from gdb.physical.rows.path_questions import (
    conditions_of,
    number_of_paths,
    paths_of,
    question_of,
)

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.executor.walk import Question
    from gdb.physical.rows.pattern import RowEdge
    from gdb.physical.rows.run_context import RowContext


class PathSteps:
    """Rows extended by the paths of a relationship of variable length.

    forward : they begin at its left end. closed : the row has both ends. listed : what the paths go along is needed.
    """

    def __init__(self, edge: RowEdge, forward: bool, closed: bool, listed: bool) -> None:
        self._edge, self._forward, self._closed, self._listed = edge, forward, closed, listed
        self._begin, self._end = edge.ends if forward else edge.ends[::-1]

    def step(self, context: RowContext, rows: list[Row]) -> list[Row] | None:
        """A step of a program."""
        if self._edge.once:
            return self._reached(context, rows)
        bound = PathBound(context.graph.most, short=True)
        conditions = conditions_of(context, bound)
        paths = paths_of(self._edge, self._question(context, rows), conditions)
        if bound.cut:
            return None
        context.embeddings += len(paths.rows)
        graph, name, end = context.graph, self._edge.name, self._end
        order = range(len(paths.rows))
        places, ends = paths.rows.tolist(), graph.nodes(paths.ends)
        if len(rows) > 1:
            order = np.argsort(paths.rows, kind="stable").tolist()
        if not self._listed:
            return [{**rows[places[k]], end: ends[k]} for k in order]
        cut, edges = paths.offsets.tolist(), graph.relationships(paths.eids)
        made = list["Row"]()
        for k in order:
            mine = edges[cut[k] : cut[k + 1]]
            if not self._forward:
                mine.reverse()
            found = mine[0] if self._edge.alone else graph.listed(mine)
            made.append({**rows[places[k]], name: found, end: ends[k]})
        return made

    def _reached(self, context: RowContext, rows: list[Row]) -> list[Row] | None:
        """The rows with each node at which a path ends, once."""
        graph = context.graph
        most = graph.most + 1
        at, ends = distinct_ends(self._question(context, rows), conditions_of(context), most)
        if len(at) > graph.most:
            return None
        context.embeddings += len(at)
        order = np.argsort(at, kind="stable")
        places, nodes = at[order].tolist(), graph.nodes(ends[order])
        return [{**rows[k], self._end: node} for k, node in zip(places, nodes, strict=True)]

    def count(self, context: RowContext, rows: list[Row]) -> int | None:
        """How many rows `step` makes."""
        question = self._question(context, rows)
        found = number_of_paths(self._edge, question, conditions_of(context))
        if found is None:
            listed = self.step(context, rows)
            return None if listed is None else len(listed)
        context.embeddings += found
        return found

    def _question(self, context: RowContext, rows: Sequence[Row]) -> Question:
        graph, edge = context.graph, self._edge
        starts = graph.vids([node_of(row, self._begin) for row in rows])
        goals = graph.vids([node_of(row, self._end) for row in rows]) if self._closed else None
        direction = edge.direction if self._forward else edge.direction.flipped
        return question_of(graph.snapshot, edge, direction, starts, goals)

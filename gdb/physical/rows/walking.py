"""Relationships of variable length over rows: all rows at once are handed to the walkers of `gdb.executor.cpu`.

A path is a trail unless the pattern says otherwise: no relationship twice, none that the clause uses elsewhere.
Conditions on its relationships become a set of edges that it may use, before it is walked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.values.elements import NodeValue, RelationshipValue
from gdb.base.values.sizes import POINTER, Pile
from gdb.errors import TypeProblem
from gdb.executor.cpu.path_ends import distinct_ends
from gdb.executor.nest.tables import bitset
from gdb.executor.walk import (
    PathBound,
    Paths,
    Question,
    steps,
    together,
)
from gdb.language.hidden_names import is_hidden
from gdb.language.mentioned_names import mentioned
from gdb.language.report import problem
from gdb.physical.rows.component import admitted_edges, candidates
from gdb.physical.rows.path_questions import conditions_of, differ_of, followed, paths_of
from gdb.physical.rows.pattern import Pattern, RowEdge
from gdb.records import replace
from gdb.storage.columns.model import offsets_of_lengths
from gdb.storage.graph.adjacency import I64, U32
from gdb.storage.graph.ascending import expanded

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.batches import Few
    from gdb.physical.rows.run_context import Numbered, RowContext

_CHUNK = 1 << 14  # paths that are made into values between two looks at the clock
_EDGES = 1 << 18  # and edges of these


class Walk:
    """Extends rows by every path of an edge with one bound end.

    others : names of relationships that a path may not use. bound : the names that rows have. few : where only some
    paths are wanted. once : of all paths of a row between two nodes one is enough, and rows do not get what it goes
    along.
    """

    def __init__(
        self,
        context: RowContext,
        pattern: Pattern,
        edge: RowEdge,
        others: Sequence[str],
        bound: frozenset[str],
        few: Few | None = None,
        *,
        once: bool = False,
    ) -> None:
        assert edge.length is not None
        self.context, self.edge, self.others, self.bound = context, edge, others, bound
        self.few, self.once = few, once
        self.graph, self.snapshot = context.graph, context.graph.snapshot
        self.forward = edge.left in bound
        self.begin, self.end = edge.ends if self.forward else edge.ends[::-1]
        self.pattern, self.target = pattern, pattern.vertices[self.end]
        self.conditions = conditions_of(context)
        allowed, left = admitted_edges(context, pattern, edge)
        direction = edge.direction if self.forward else edge.direction.flipped
        self.steps = steps(self.snapshot, edge.types, direction, allowed)
        self.tests = [context.evaluator.condition(c) for c in left]
        self.mentions = frozenset(name for c in left for name in mentioned(c)) - {edge.name}
        self.known: dict[int, bool] = {}

    def rows(self, table: Sequence[Numbered]) -> Iterator[Numbered]:
        """The rows with each path; made on demand."""
        for _, row in table:
            if not isinstance(row[self.begin], NodeValue):
                raise problem(
                    *(TypeProblem, self.context.text, self.edge.place),
                    f"'{self.begin}' is no node here, so that no path begins at it.",
                )
        bound = self.end in self.bound
        rows = [one for one in table if not bound or isinstance(one[1][self.end], NodeValue)]
        if not rows:
            return iter(())
        if self.edge.name in self.bound and self.edge.selector is None:
            return self._rows_of(self._along(rows), rows)
        if self.once:
            return self._reached(rows)
        few = self.few
        if few is not None and (few.ends or len(table) == 1):  # those of later rows may be missing
            cut = PathBound(few.most, short=few.ends)
            self.conditions = conditions_of(self.context, cut)
        found = self._extended(rows)
        if few is not None and self.conditions.bound is not None:
            few.cut = few.cut or self.conditions.bound.cut
        return found

    def _extended(self, rows: Sequence[Numbered]) -> Iterator[Numbered]:
        question = self._question(rows)
        if not self.tests:
            return self._rows_of(self._paths(question), rows)
        if self.mentions & rows[0][1].keys():  # what may be used is another for each row
            parts = [self._tested(question, k, row) for k, (_, row) in enumerate(rows)]
            return self._rows_of(together(parts), rows)
        return self._rows_of(self._paths(self._admitted(question, rows[0][1])), rows)

    # ---- where paths end --------------------------------------------------------------------------

    def _reached(self, rows: Sequence[Numbered]) -> Iterator[Numbered]:
        """The rows with each node at which a path of theirs ends, once."""
        few = self.few
        most = None if few is None or not (few.ends or len(rows) == 1) else few.most + 1
        question = self._question(rows)
        if self.tests and self.mentions & rows[0][1].keys():  # what may be used is another for each
            parts = [
                (np.full(len(ends), k, np.int64), ends)
                for k, row in enumerate(rows)
                for _, ends in [self._ends(self._admitted_of(question, k, row[1]), most)]
            ]
            at = np.concatenate([part[0] for part in parts])
            ends = np.concatenate([part[1] for part in parts])
        else:
            question = self._admitted(question, rows[0][1]) if self.tests else question
            at, ends = self._ends(question, most)
        if few is not None and len(at) > few.most:
            few.cut = True
        self.context.embeddings += len(at)
        return self._rows_to(at, ends, rows)

    def _ends(self, question: Question, most: int | None) -> tuple[I64, U32]:
        return distinct_ends(question, self.conditions, most)

    def _rows_to(self, at: I64, ends: U32, rows: Sequence[Numbered]) -> Iterator[Numbered]:
        """The rows at some places, each with the node of a vid."""
        order = np.argsort(at, kind="stable")
        missing: Row = {} if is_hidden(self.edge.name) else {self.edge.name: None}
        for start in range(0, len(order), _CHUNK):
            self.context.pulse()
            some = order[start : start + _CHUNK]
            nodes = self.graph.nodes(ends[some])
            for place, node in zip(at[some].tolist(), nodes, strict=True):
                number, row = rows[place]
                yield number, {**row, **missing, self.end: node}

    # ---- paths that the rows have -------------------------------------------------------------------

    def _along(self, rows: Sequence[Numbered]) -> Paths:
        """The paths of the relationships that the rows have under the name of the edge: each is followed, not found
        among all paths."""
        question, found = self._question(rows), []
        for number, (_, row) in enumerate(rows):
            value = row[self.edge.name]
            several = value if isinstance(value, list) else [value]
            listed = [one for one in several if isinstance(one, RelationshipValue)]
            if len(listed) != len(several) or any(one.deleted for one in listed):
                continue
            eids = self.graph.eids(listed if self.forward else listed[::-1])
            if self.tests:
                self.known = {}  # what may be used may be another for each row
                if not self._pass(eids, row).all():
                    continue
            end = followed(question, number, eids)
            if end is not None:
                mine = np.array([end], np.uint32), np.array([0, len(eids)], np.int64)
                found.append(Paths(np.array([number], np.int64), *mine, eids))
        return together(found)

    # ---- the question ----------------------------------------------------------------------------

    def _question(self, rows: Sequence[Numbered]) -> Question:
        length, snapshot = self.edge.length, self.snapshot
        assert length is not None
        ends, cut = None, self.conditions.bound
        # the vids of a label cost more than a bound's few paths
        tries = (cut is not None and cut.short) or (self.once and self.few is not None)
        if self.end not in self.bound and self.target.labels and not tries:
            vids = candidates(self.context, self.pattern, self.end, ())
            ends = None if vids is None else bitset(vids, snapshot.vertex_count)
        question = Question(
            *(self.steps, snapshot.vertex_count, snapshot.edge_count),
            *(self.graph.vids(self._nodes(rows, self.begin)), length.low, length.high),
            differ_of(self.edge.mode),
            goals=self.graph.vids(self._nodes(rows, self.end)) if self.end in self.bound else None,
            ends=ends,
        )
        used = [self._used(row) for _, row in rows] if self.others else []
        if not any(used):
            return question
        counts = np.array([len(one) for one in used], np.int64)
        return replace(
            question,
            used_at=offsets_of_lengths(counts),
            used=self.graph.eids([one for some in used for one in some]),
        )

    def _nodes(self, rows: Sequence[Numbered], name: str) -> list[NodeValue]:
        return [node for _, row in rows if isinstance(node := row[name], NodeValue)]

    def _used(self, row: Row) -> list[RelationshipValue]:
        """The relationships that the clause uses elsewhere."""
        found: list[RelationshipValue] = []
        for name in self.others:
            value = row[name]
            several = value if isinstance(value, list) else [value]
            found += [one for one in several if isinstance(one, RelationshipValue)]
        return found

    def _paths(self, question: Question) -> Paths:
        return paths_of(self.edge, question, self.conditions)

    # ---- conditions that need the evaluator ------------------------------------------------------

    def _tested(self, question: Question, number: int, row: Row) -> Paths:
        """The paths of one row, whose conditions name what the row has."""
        found = self._paths(self._admitted_of(question, number, row))
        return found.renumbered(np.array([number], np.int64))

    def _admitted_of(self, question: Question, number: int, row: Row) -> Question:
        """The question of one row, as `_admitted`."""
        self.known = {}
        return self._admitted(question.of_rows(np.array([number], np.int64)), row)

    def _admitted(self, question: Question, row: Row) -> Question:
        """The question whose steps are those that satisfy the conditions, as far as paths may come to them."""
        view, eids, bits = self.steps.view, self.steps.eids, self.steps.allowed
        seen = np.zeros(question.vids, np.bool_)
        level, depth = np.unique(question.starts), 0
        while len(level) and (question.high is None or depth < question.high):
            seen[level] = True
            at = view.rows_of(level)
            at = at[at >= 0]
            _, places = expanded(view.offsets[at], view.offsets[at + 1])
            if bits is not None:
                places = places[(bits[eids[places] >> 3] >> (eids[places] & 7)) & 1 == 1]
            passed = self._pass(eids[places], row)
            level = np.unique(view.neighbours[places[passed]])
            level, depth = level[~seen[level]], depth + 1
        allowed = np.array([eid for eid, passes in self.known.items() if passes], np.int64)
        mine = replace(self.steps, allowed=bitset(allowed, question.edges))
        return replace(question, steps=mine)

    def _pass(self, eids: I64, row: Row) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each edge satisfies the conditions, bool[n]."""
        wanted = eids.tolist()
        new = np.array(sorted({eid for eid in wanted if eid not in self.known}), np.int64)
        for start in range(0, len(new), _CHUNK):
            self.context.pulse()
            some = new[start : start + _CHUNK]
            for eid, one in zip(some.tolist(), self.graph.relationships(some), strict=True):
                inner = {**row, self.edge.name: one}
                self.known[eid] = all(test(inner) is True for test in self.tests)
        return np.array([self.known[eid] for eid in wanted], np.bool_)

    # ---- rows ------------------------------------------------------------------------------------

    def _rows_of(self, paths: Paths, rows: Sequence[Numbered]) -> Iterator[Numbered]:
        """The rows with a list of relationships and the node at the end."""
        order = np.argsort(paths.rows, kind="stable")
        pile = Pile(self.context.allowance, "the paths that it found")
        try:
            pile.count(paths.nbytes + order.nbytes)
            yield from self._in_order(paths, order, rows)
        finally:
            pile.clear()

    def _in_order(self, paths: Paths, order: I64, rows: Sequence[Numbered]) -> Iterator[Numbered]:
        """The rows of some paths, a few paths and so many edges at a time."""
        name, make = self.edge.name, self.context.allowance.make
        # of a list, and of the path that is made of it
        each = POINTER * (3 if self.pattern.routes else 1)
        edges = paths.lengths[order].cumsum()
        start = 0
        while start < len(order):
            self.context.pulse()
            most = int(edges[start - 1] if start else 0) + _EDGES
            end = min(start + _CHUNK, max(int(edges.searchsorted(most)), start + 1))
            some, start = order[start:end], end
            counts = paths.lengths[some]
            make(each * int(counts.sum()), "the paths that it found")
            _, at = expanded(paths.offsets[some], paths.offsets[some + 1])
            relationships = self.graph.relationships(paths.eids[at])
            nodes = self.graph.nodes(paths.ends[some])
            begin = 0
            for place, count, node in zip(
                paths.rows[some].tolist(), counts.tolist(), nodes, strict=True
            ):
                number, row = rows[place]
                mine: list[Value] = [*relationships[begin : begin + count]]
                begin += count
                if not self.forward:
                    mine.reverse()
                found: Value = mine[0] if self.edge.alone else mine
                if name not in self.bound or row[name] == found:
                    yield number, {**row, name: found, self.end: node}

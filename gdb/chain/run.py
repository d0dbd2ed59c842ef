"""The run of a chain: its steps, one after the other, in one connection."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gdb import counting
from gdb.chain.steps import Chain, Found, Looked, Made
from gdb.errors import NotSupported
from gdb.executor import arrow
from gdb.executor import run as executor
from gdb.executor.embeddings import Embeddings, Wanted, unbound_edges
from gdb.executor.relational import Session
from gdb.executor.tail import ColumnRef, TailResult, gather
from gdb.rows.component import question

if TYPE_CHECKING:
    from gdb.executor.arrow import Array
    from gdb.query_graph import QueryGraph
    from gdb.rows.context import Context
    from gdb.storage.model import I64


@dataclass(slots=True)
class Ran:
    """The answer. lines : what each step did, for PROFILE."""

    answer: TailResult
    lines: list[str] = field(default_factory=list)


def ran(context: Context, chain: Chain, memory: int | None, profile: bool = False) -> Ran:
    """Run a chain.

    memory : bytes for DuckDB before it spills. profile : whether rows are counted for `Ran.lines`.

    Raises
    ------
    NotSupported : a condition turned out not to be for columns.
    GdbError : what a run over rows is to decide: a division by zero, a number that is too large.
    Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    lines: list[str] = []
    with Session(memory, context.cancel, context.deadline) as session:
        run = _Run(context, session)
        for step in chain.steps:
            context.pulse()
            begin = time.monotonic()
            match step:
                case Made():
                    session.table(step.name, step.sql, step.parameters)
                case Found():
                    run.find(step)
                case Looked():
                    run.look(step)
            if profile:
                seconds = time.monotonic() - begin
                rows = session.count(step.name)
                lines.append(f"{step.name}: {_shown(step)}, {rows:,} rows, {seconds * 1e3:.1f} ms")
        context.pulse()
        begin = time.monotonic()
        table = session.answer(chain.sql, chain.parameters)
        if profile:
            lines.append(f"answer: {len(table):,} rows, {(time.monotonic() - begin) * 1e3:.1f} ms")
    return Ran(TailResult(chain.outputs, table), lines)


def _shown(step: Made | Found | Looked) -> str:
    if isinstance(step, Looked):
        keys = ", ".join(ref.key or ref.what for ref in step.columns)
        return f"look up {keys} of {step.table}"
    return step.what or "rows kept"


class _Run:
    def __init__(self, context: Context, session: Session) -> None:
        self.context, self.session = context, session
        self.snapshot = context.graph.snapshot
        self._known: dict[tuple[str, str], I64] = {}

    def _values(self, table: str, column: str) -> I64:
        place = table, column
        if place not in self._known:
            self._known[place] = self.session.distinct(table, column)
        return self._known[place]

    # ---- patterns --------------------------------------------------------------------------------

    def find(self, step: Found) -> None:
        component = step.component
        bound = {name: self._values(*place) for name, place in step.bound.items()}
        names = list(step.columns)
        if any(not len(values) for values in bound.values()):
            self.session.taken(step.name, self._none(step))
            return
        graph, left = question(
            self.context,
            step.pattern,
            component,
            step.conditions,
            {n: v.astype(np.uint32) for n, v in bound.items() if n in component.vertices},
            {n: v for n, v in bound.items() if n in component.edges},
            names,
        )
        if left:
            raise NotSupported("a condition of a pattern asks for values of any type.")
        if step.number is None:
            self.session.taken(step.name, self._embeddings(step, graph, names))
        else:
            self.session.taken(step.name, self._numbers(step, graph, step.number))

    def _numbers(self, step: Found, graph: QueryGraph, column: str) -> Array:
        """How many embeddings there are, in all or for each data vertex of the one that is wanted."""
        options = self.context.options
        if not step.columns:
            many = counting.total(graph, self.snapshot, options)
            self.context.embeddings += many
            numbers = arrow.int64_array(np.full(1 if many else 0, many, np.int64))
            return arrow.struct_array([column], [numbers], len(numbers))
        ((name, _),) = step.columns.items()
        root = step.component.vertices.index(name)
        some, found = counting.tallied(graph, self.snapshot, options, root)
        self.context.embeddings += int(found.sum())
        refs = self._refs(step)
        gathered = gather(refs, some, self.snapshot)
        children = [arrow.child(gathered, k) for k in range(len(refs))]
        names = [*(ref.name for ref in refs), column]
        return arrow.struct_array(names, [*children, arrow.int64_array(found)], len(found))

    def _refs(self, step: Found) -> list[ColumnRef]:
        """The columns of a step's table that are taken from embeddings."""
        vertices, edges = step.component.vertices, step.component.edges
        return [
            *(
                ColumnRef(c, "vertex", vertices.index(n))
                for n, c in step.columns.items()
                if n in vertices
            ),
            *(ColumnRef(c, "edge", edges.index(n)) for n, c in step.columns.items() if n in edges),
            *step.values,
        ]

    def _embeddings(self, step: Found, graph: QueryGraph, names: Sequence[str]) -> Array:
        from gdb.planner import plan

        component = step.component
        vertices = {n: component.vertices.index(n) for n in names if n in component.vertices}
        edges = {n: component.edges.index(n) for n in names if n in component.edges}
        once = next(iter(vertices.values())) if step.once else None
        off = frozenset({"symmetry"}) if step.once else frozenset[str]()
        made = plan(graph, self.snapshot, counting=False, switched_off=off)
        wanted = Wanted(tuple(sorted(vertices.values())), tuple(sorted(edges.values())), once)

        kept = partial(gather, self._refs(step), snapshot=self.snapshot)
        found = executor.rows(made, self.snapshot, self.context.options, wanted, kept)
        self.context.embeddings += found.rows
        return arrow.chunks_array(found.parts)

    def _none(self, step: Found) -> Array:
        """The table of a component without embeddings."""
        nothing = np.zeros((0, len(step.component.vertices)), np.uint32)
        edges = unbound_edges(0, len(step.component.edges))
        found = gather(self._refs(step), Embeddings(nothing, edges), self.snapshot)
        if step.number is None:
            return found
        names = [*(ref.name for ref in self._refs(step)), step.number]
        children = [arrow.child(found, k) for k in range(len(names) - 1)]
        empty = arrow.int64_array(np.zeros(0, np.int64))
        return arrow.struct_array(names, [*children, empty], 0)

    # ---- values ----------------------------------------------------------------------------------

    def look(self, step: Looked) -> None:
        values = self._values(step.table, step.column)
        if step.columns[0].element == "vertex":
            vids = values.astype(np.uint32)[:, np.newaxis]
            some = Embeddings(vids, unbound_edges(len(values), 0))
        else:
            empty = np.zeros((len(values), 0), np.uint32)
            some = Embeddings(empty, values[:, np.newaxis])
        gathered = gather(step.columns, some, self.snapshot)
        children = [arrow.child(gathered, k) for k in range(len(step.columns))]
        names = [step.key, *(ref.name for ref in step.columns)]
        keys = arrow.int64_array(values)
        self.session.taken(step.name, arrow.struct_array(names, [keys, *children], len(values)))

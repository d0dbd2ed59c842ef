"""The run of a chain: its steps, one after the other, in one connection."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import (
    Cancelled,
    CountOverflow,
    DeviceError,
    GdbError,
    NotSupported,
    OutOfBudget,
    QueryTimeout,
)
from gdb.executor import run as executor
from gdb.executor.plan.embeddings import Embeddings, Wanted, unbound_edges
from gdb.executor.relational import arrow
from gdb.executor.relational.relational import Session
from gdb.executor.relational.relational_tail import ColumnRef, TailResult, gather, with_durations
from gdb.physical import counting
from gdb.physical.columns.semi_joins import holders
from gdb.physical.columns.steps import CUT, Chain, FirstRows, Found, Looked, Made, Step, Walked
from gdb.physical.columns.walked import Members, walk_step
from gdb.physical.meter import ANSWER, Figures, Meter
from gdb.physical.row_graph import plan_from_rows
from gdb.physical.rows.component import ComponentRun

if TYPE_CHECKING:
    from gdb.executor.relational.arrow import Array
    from gdb.physical.rows.run_context import RowContext
    from gdb.query_graph import QueryGraph
    from gdb.storage.graph.adjacency import I64, U32


_log = logging.getLogger("gdb")
STARTED = 32
"""Bytes of a value that a pattern starts from, until its vertices are found."""
DENSE = 16
"""Vertices that are more than this part of all are looked up in an array of all."""
FIRST, TIMES_MORE = 512, 8
"""Where LIMIT is to be filled, the rows of each part that are found at first, and how many times more after that."""


def ran(context: RowContext, chain: Chain) -> TailResult:
    """Run a chain. Where the context has a meter, each step is measured.

    Raises
    ------
    NotSupported : a condition turned out not to be for columns.
    GdbError : what a run over rows is to decide: a division by zero, a number that is too large.
    Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    allowance = context.allowance
    with Session(context.options.memory, allowance.cancel, allowance.deadline) as session:
        # nothing is joined with the only table of a chain, whose rows are read once
        run = _ColumnsRun(context, session, in_place=len(chain.steps) == 1)
        for step in chain.steps:
            run.step(step)
        context.pulse()
        table = run_last_select(session, chain, context.meter)
    return TailResult(chain.outputs, with_durations(table, chain.outputs))


def run_last_select(session: Session, chain: Chain, meter: Meter | None) -> Array:
    """The last SELECT of a chain whose steps have run, and the rows of its operators."""
    if meter is None or chain.ownership is None:
        return session.answer(chain.sql, chain.parameters)
    own = meter.step(ANSWER)
    with meter.during(own):
        table = session.answer(chain.sql, chain.parameters)
    own.rows = len(table)
    for operator, name, weight in chain.ownership.tables:
        many = session.count(name) if weight is None else session.weight(name, weight)
        meter.operators.setdefault(operator, Figures()).rows = many
    return table


def over_embeddings(relation: Array, chain: Chain, session: Session, meter: Meter) -> TailResult:
    """Run the chain of one pattern's tail (`gdb.physical.tail.TailCompiler.by_operator`), each step measured.

    relation : the embeddings. Raises as `ran`.
    """
    session.taken("embeddings", relation)
    for step in chain.steps:
        assert isinstance(step, Made)
        run_metered(meter, session, step, partial(session.run, step.sql, step.parameters))
    table = run_last_select(session, chain, meter)
    return TailResult(chain.outputs, with_durations(table, chain.outputs))


def try_chain(context: RowContext, chain: Chain) -> TailResult | GdbError:
    """As `ran`; an error that a run over rows is to decide is given back, not raised.

    Raises
    ------
    GdbError : Cancelled, QueryTimeout, OutOfBudget, DeviceError, CountOverflow, which rows would not mend.
    """
    try:
        return ran(context, chain)
    except (Cancelled, QueryTimeout, OutOfBudget, DeviceError, CountOverflow):
        raise
    except GdbError as error:
        _log.info("a chain gave up: %s", error)
        return error


def run_metered(meter: Meter, session: Session, step: Step, run: Callable[[], None]) -> None:
    """Run a step, and note its rows, its time and the bytes that DuckDB holds more after it."""
    own, held = meter.step(step.name), session.memory_in_use()
    with meter.during(own):
        run()
    own.rows = session.count(step.name)
    own.hold(max(session.memory_in_use() - held, 0) or None)


class _ColumnsRun:
    def __init__(self, context: RowContext, session: Session, *, in_place: bool) -> None:
        self.context, self.session = context, session
        self._take = session.read_in_place if in_place else session.taken
        self.snapshot = context.graph.snapshot
        self._known: dict[tuple[str, tuple[str, ...]], list[I64]] = {}
        self._listed: dict[str, int] = {}  # rows before those that lead to nothing are left out

    def step(self, step: Step, most: int | None = None) -> None:
        """Run a step. most : rows that suffice of a part."""
        self.context.pulse()
        meter = self.context.meter
        if meter is None or isinstance(step, FirstRows):
            self._step(step, most)
        else:
            run_metered(meter, self.session, step, lambda: self._step(step, most))

    def _step(self, step: Step, most: int | None) -> None:
        match step:
            case Made() if most is not None:
                self.session.run(step.cut, {**step.parameters, CUT: most})
            case Made():
                self.session.run(step.sql, step.parameters)
            case Found():
                self.find(step, most)
            case Walked():
                members = Members(self.context, self.values)
                self._take(step.name, walk_step(self.context, self.session, members, step))
            case Looked():
                self.look(step)
            case FirstRows():
                self._few(step)

    def _few(self, few: FirstRows) -> None:
        most, whole = max(FIRST, 2 * few.enough), False
        while True:
            whole = True
            for step in few.steps:
                part = isinstance(step, Made | Found) and step.part
                self.step(step, most if part else None)
                whole = whole and not (part and self._made(step.name) >= most)
            if whole or self.session.count(few.name) >= few.enough:
                return
            most *= TIMES_MORE
            for step in few.steps:
                self.session.drop(step.name)
                self._known = {k: v for k, v in self._known.items() if k[0] != step.name}

    def _made(self, name: str) -> int:
        """The rows that a step has listed."""
        listed = self._listed.get(name)
        return self.session.count(name) if listed is None else listed

    def values(self, table: str, column: str) -> I64:
        """The distinct values of a column, ascending, looked up once."""
        (found,) = self._rows(table, (column,))
        return found

    def _rows(self, table: str, columns: tuple[str, ...]) -> list[I64]:
        """The distinct values of one column, ascending, or of several together; without null."""
        place = table, columns
        if place not in self._known:
            self._known[place] = self.session.distinct(table, columns)
        return self._known[place]

    # ---- patterns --------------------------------------------------------------------------------

    def find(self, step: Found, most: int | None) -> None:
        component = step.component
        bound = {name: self.values(*place) for name, place in step.bound.items()}
        for name, sought in step.sought.items():
            held = holders(self.session, self.snapshot, sought)
            if held is not None:
                bound[name] = held
        if any(not len(values) for values in bound.values()):
            self._take(step.name, self._none(step))
            return
        graph, left = ComponentRun(self.context, step.pattern, component).graph(
            step.conditions,
            {n: v.astype(np.uint32) for n, v in bound.items() if n in component.vertices},
            {n: v for n, v in bound.items() if n in component.edges},
            wanted=step.columns.keys(),
            sure=True,
        )
        if left:
            raise NotSupported("a condition of a pattern needs values of any type.")
        if step.beside:
            self._take(step.name, self._scanned(step, graph, most))
        elif step.number is None and not step.once:
            self._take(step.name, self._embeddings(step, graph, most))
        else:
            self._take(step.name, self._numbers(step, graph))

    def _bound(self, step: Found) -> tuple[list[int], list[U32]]:
        """The query vertices that the rows bind, and the vids of the distinct rows, u32[n] each."""
        vertices = step.component.vertices
        names = [name for name in vertices if name in step.bound]
        if not names:
            return [], []
        table = step.bound[names[0]][0]  # all are columns of one relation
        if len(names) > 1:
            several = math.prod(len(self.values(table, step.bound[name][1])) for name in names)
            most, allowance = min(self.session.count(table), several), self.context.allowance
            level = allowance.made
            allowance.make(STARTED * most * len(names), "the rows that a pattern starts from")
            allowance.made = level
        columns = self._rows(table, tuple(step.bound[name][1] for name in names))
        return [vertices.index(n) for n in names], [c.astype(np.uint32) for c in columns]

    def _numbers(self, step: Found, graph: QueryGraph) -> Array:
        """How many embeddings there are, in all or for each value of what is wanted, or of what there is one."""
        options, vertices = self.context.options, step.component.vertices
        wanted = [vertices.index(name) for name in step.columns]
        if not wanted:
            many = counting.total(graph, self.snapshot, options)
            numbers = np.full(1 if many else 0, many, np.int64)
            vids = np.zeros((len(numbers), len(vertices)), np.uint32)
        elif len(wanted) == 1 and not step.bound:
            found, numbers = counting.at_vertex(graph, self.snapshot, options, wanted[0])
            vids = np.broadcast_to(found[:, np.newaxis], (len(found), len(vertices)))
        else:
            bound, columns = self._bound(step)
            ask = partial(counting.at_rows, numbers=not step.once)
            rows, numbers = ask(graph, self.snapshot, options, bound, columns)
            vids = np.zeros((len(rows), len(vertices)), np.uint32)
            for vertex, column in zip(bound, columns, strict=True):
                vids[:, vertex] = column[rows]
        self.context.embeddings += int(numbers.sum())
        some = Embeddings(vids, unbound_edges(len(vids), len(step.component.edges)))
        return self._numbered(step, some, numbers)

    def _numbered(self, step: Found, some: Embeddings, numbers: I64) -> Array:
        """The table of a step, with the number of each row where that is needed."""
        refs = self._refs(step)
        found = gather(refs, some, self.snapshot)
        if step.number is None:
            return found
        children = [arrow.child(found, k) for k in range(len(refs))]
        names = [*(ref.name for ref in refs), step.number]
        return arrow.struct_array(names, [*children, arrow.int64_array(numbers)], len(numbers))

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

    def _embeddings(self, step: Found, graph: QueryGraph, most: int | None) -> Array:
        few = most is not None
        made, source = plan_from_rows(graph, self.snapshot, *self._bound(step), few=few)
        component, names = step.component, step.columns
        vertices = (component.vertices.index(n) for n in names if n in component.vertices)
        edges = (component.edges.index(n) for n in names if n in component.edges)
        wanted = Wanted(tuple(sorted(vertices)), tuple(sorted(edges)))
        kept = partial(gather, self._refs(step), snapshot=self.snapshot)
        found = executor.rows(
            *(made, source, self.context.options, wanted, kept, most),
            spill=arrow.move_to_files,
            size_of=lambda _, some: arrow.own_bytes(some),
        )
        self.context.embeddings += found.rows
        return arrow.chunks_array(found.parts)

    # ---- patterns at single vertices -------------------------------------------------------------

    def _scanned(self, step: Found, graph: QueryGraph, most: int | None) -> Array:
        """The table of a step that lists single vertices, with columns of what is matched beside them."""
        made, source = plan_from_rows(graph, self.snapshot, [], [], few=most is not None)
        found = executor.rows(
            *(made, source, self.context.options, Wanted((0,)), lambda some: some.vertex(0).copy()),
            *(most, None, lambda vids, _: vids),  # each vertex once: no rows are held
        )
        self.context.embeddings += found.rows
        self._listed[step.name] = found.rows
        vids = np.sort(np.concatenate(found.parts))
        for one in step.beside:
            if one.held:
                vids, _ = self._beside(one, vids)
        numbers = {
            one.number: self._beside(one, vids) for one in step.beside if one.number is not None
        }
        some = Embeddings(vids[:, np.newaxis], unbound_edges(len(vids), 0))
        refs = self._refs(step)
        table = gather(refs, some, self.snapshot)
        children = [arrow.child(table, k) for k in range(len(refs))]
        for there, many in numbers.values():
            column = _at(vids, there, many, self.snapshot.vertex_count)
            children.append(arrow.int64_array(column, column > 0))
        return arrow.struct_array([*(r.name for r in refs), *numbers], children, len(vids))

    def _beside(self, step: Found, vids: U32) -> tuple[U32, I64]:
        """Those of some vertices, ascending, that a pattern matches at, and how many embeddings it has there."""
        meter = self.context.meter
        if meter is None:
            return self._matched_at(step, vids)
        own = meter.step(step.name)
        with meter.during(own):
            found = self._matched_at(step, vids)
        own.rows = len(found[0])
        return found

    def _matched_at(self, step: Found, vids: U32) -> tuple[U32, I64]:
        (name,) = step.bound
        component, options = step.component, self.context.options
        run, root = (
            ComponentRun(self.context, step.pattern, component),
            component.vertices.index(name),
        )
        graph, left = run.graph(step.conditions, {name: vids}, wanted=(name,), sure=True)
        if left:
            raise NotSupported("a condition of a pattern needs values of any type.")
        if step.once:
            found = counting.with_any(graph, self.snapshot, options, root)
            numbers = np.ones(len(found), np.int64)
        else:
            found, numbers = counting.at_vertex(graph, self.snapshot, options, root)
        self.context.embeddings += int(numbers.sum())
        return found, numbers

    def _none(self, step: Found) -> Array:
        """The table of a component without embeddings."""
        nothing = np.zeros((0, len(step.component.vertices)), np.uint32)
        edges = unbound_edges(0, len(step.component.edges))
        return self._numbered(step, Embeddings(nothing, edges), np.zeros(0, np.int64))

    # ---- values ----------------------------------------------------------------------------------

    def look(self, step: Looked) -> None:
        values = self.values(step.table, step.column)
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
        self._take(step.name, arrow.struct_array(names, [keys, *children], len(values)))


def _at(vids: U32, there: U32, many: I64, vertices: int) -> I64:
    """The numbers of some vertices, 0 where there is none. there, many : those that have one, of so many vertices."""
    if DENSE * len(vids) < vertices:
        column = np.zeros(len(vids), np.int64)
        column[np.searchsorted(vids, there)] = many
        return column
    every = np.zeros(vertices, np.int64)
    every[there] = many
    found: I64 = every[vids]
    return found

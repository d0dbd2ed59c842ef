"""Embeddings of the components of a pattern for a batch of rows, whatever the rows are kept as.

A component is matched for all rows at once; what is found are places of rows beside places of embeddings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from gdb.language.hidden_names import is_hidden
from gdb.physical.rows.component import ComponentRun, Table
from gdb.physical.rows.distinct_paths import rivals
from gdb.physical.rows.expand import expand_component, places_labelled
from gdb.physical.rows.row_look_ups import equality, seek
from gdb.storage.graph.adjacency import I64, U32

if TYPE_CHECKING:
    from collections.abc import Sized

    from gdb.physical.rows.batches import Few
    from gdb.physical.rows.pattern import Component, Condition, Pattern, RowEdge
    from gdb.physical.rows.row_look_ups import ValuesOf
    from gdb.physical.rows.run_context import RowContext

Rows = TypeVar("Rows", bound="Sized")

SHORT = 4
"""The length up to which paths are listed before what they must differ from is matched."""


class ComponentMatching(ABC, Generic[Rows]):
    """A MATCH over a batch of rows, while its parts are bound one after the other; a subclass knows what rows are.

    bound : the names that rows have so far. waiting : conditions that are not tested yet.
    """

    def __init__(
        self,
        context: RowContext,
        pattern: Pattern,
        known: frozenset[str],
        few: Few | None,
        unbound: dict[Component, Table],
        whole: bool = False,
    ) -> None:
        """whole : whether the rows get all relationships, also those that nothing names."""
        self.context, self.pattern = context, pattern
        self.few, self.unbound, self.whole = few, unbound, whole
        self.bound = set(known)
        self.waiting = list(pattern.conditions)
        self.parts = pattern.parts
        self.reach = self.parts.names | known  # what a condition can mean; others are inside
        self.checks_edges = self.parts.checks_edges

    # ---- the rows --------------------------------------------------------------------------------

    @abstractmethod
    def _values_of(self, table: Rows) -> ValuesOf:
        """What an expression is for each row."""

    @abstractmethod
    def _vids(self, table: Rows, name: str) -> U32:
        """The vids of a node that the rows have, u32[rows]."""

    @abstractmethod
    def _eids(self, table: Rows, name: str) -> I64:
        """The ids of a relationship that the rows have, i64[rows]."""

    @abstractmethod
    def _equalities(self, component: Component, found: Table, table: Rows) -> list[tuple[I64, I64]]:
        """Columns to join on that come from conditions `x = y`, where one side is the component's and the other the
        rows'."""

    # ---- components ------------------------------------------------------------------------------

    def _next(self, components: Sequence[Component], long: Sequence[RowEdge]) -> Component | None:
        """The component to match now; None where a path is to be walked first."""
        if not components:
            return None
        if len(components) == 1 and not long:
            return components[0]
        for component in components:
            if self.bound & {*component.vertices, *component.edges}:
                return component
        before = self._before_once(components, long)
        if before is not None:
            return before
        if any(edge.selector is None and self._may_walk(edge) for edge in long):
            return None
        # one that a path leads to is reached by it, and matched as bound; of those that begin it, one whose paths can
        # be walked at once, then one that is named
        ends = {end for edge in long for end in edge.ends}
        return min(
            components,
            key=lambda c: (
                *(not c.edges and bool(ends & set(c.vertices)), -len(c.edges)),
                not any(
                    self._needs(edge) <= {*c.vertices}
                    for edge in long
                    if {*edge.ends} & {*c.vertices}
                ),
                not self._is_named(c),
            ),
        )

    def _needs(self, edge: RowEdge) -> frozenset[str]:
        """The names that are not bound yet and that the conditions of a path's relationships mention."""
        return (edge.mentions & self.reach) - self.bound

    def _may_walk(self, edge: RowEdge) -> bool:
        """Whether the paths of an edge can be walked now: an end is bound, and all that its conditions mention."""
        return not self.bound.isdisjoint(edge.ends) and not self._needs(edge)

    def _before_once(
        self, components: Sequence[Component], long: Sequence[RowEdge]
    ) -> Component | None:
        """A component to match before paths if one path between two nodes is enough: relationships that these must
        differ from, or an end that a value names."""
        for edge in long:
            if edge.once and self.bound.intersection(edge.ends):
                names = {*edge.ends}
                if self._may_wait(edge):
                    names |= {one.name for one in rivals(self.pattern, edge)}
                for component in components:
                    if names & {*component.edges}:
                        return component
                    if names & {*component.vertices} and self._is_named(component):
                        return component
        return None

    def _may_wait(self, edge: RowEdge) -> bool:
        """Whether the paths of an edge are found after all that they must differ from: not short ones, and not in a
        run that tries few rows."""
        assert edge.length is not None
        tries = self.few is not None and self.few.ends
        return not tries and (edge.length.high is None or edge.length.high > SHORT)

    def _once(self, edge: RowEdge) -> bool:
        """Whether of the paths of an edge one is enough, now that all is bound that they must differ from."""
        return edge.once and all(one.name in self.bound for one in rivals(self.pattern, edge))

    def _is_named(self, component: Component) -> bool:
        """Whether a value of the rows names a node of a component."""
        unbound = self.reach - self.bound
        found = (equality(condition, component.vertices) for condition in self.waiting)
        return any(one is not None and not one.mentions & unbound for one in found)

    def _own(self, component: Component, held: Collection[str]) -> list[Condition]:
        """The conditions that the elements of a component decide, at least one of them free of the rows."""
        names = {*component.vertices, *component.edges}
        free = names - self.bound - {*held}
        own = [(c, c.names & self.reach) for c in self.waiting if not c.random]
        return [c for c, mentioned in own if mentioned <= names and mentioned & free]

    def _find_embeddings(
        self, component: Component, table: Rows, chunk: int
    ) -> tuple[Table, Iterator[tuple[I64, I64]]]:
        """Embeddings of a component, and which of them go with which rows: the places of both, i64[n] at most `chunk`
        at a time."""
        graph, most = self.context.graph, None if self.few is None else self.few.most
        known = self.bound, self.reach, len(table), self._values_of(table)
        sought = seek(self.context, self.pattern, component, self.waiting, *known)
        starts = np.arange(len(table), dtype=np.int64) if sought is None else sought.rows
        vids: dict[str, U32] = {}
        for name in component.vertices:
            if name in self.bound:
                vids[name] = self._vids(table, name)[starts]
        if sought is not None:
            vids |= sought.vids
            answered = set(map(id, sought.answered))
            self.waiting = [c for c in self.waiting if id(c) not in answered]
        if len(component.vertices) == len(vids) and not component.edges and len(vids) == 1:
            some, every = self._alone(component, vids, sought is not None)
            return some, _pieces(starts[every], every, chunk)
        if not self.bound & {*component.edges}:
            near = expand_component(graph.snapshot, self.pattern, component, vids, most)
            if near is not None:
                vertices, edges, at = near
                self._enough(len(at))
                self.context.embeddings += len(at)
                every = np.arange(len(at), dtype=np.int64)
                return Table(vertices, edges, len(at), ()), _pieces(starts[at], every, chunk)
        eids = {
            name: self._eids(table, name)[starts] for name in component.edges if name in self.bound
        }
        found = self._matched(component, vids, eids)
        pairs: list[tuple[I64, I64]] = [
            (found.vertices[name].astype(np.int64), mine.astype(np.int64))
            for name, mine in vids.items()
        ]
        pairs += [(found.edges[name], mine) for name, mine in eids.items()]
        pairs += [
            (inner, outer[starts]) for inner, outer in self._equalities(component, found, table)
        ]
        places = joins(len(starts), found.count, pairs, chunk)
        return found, ((starts[at], of) for at, of in places)

    def _matched(
        self, component: Component, vids: Mapping[str, U32], eids: Mapping[str, I64]
    ) -> Table:
        """Embeddings of a component by the executors; once for all batches of rows, where rows bind nothing of it."""
        own = self._own(component, vids)
        found = self.unbound.get(component)
        if found is None:
            found = ComponentRun(self.context, self.pattern, component).table(
                own,
                {name: np.unique(values) for name, values in vids.items()},
                {name: np.unique(values) for name, values in eids.items()},
                [c for c in self.waiting if c not in own],
                [*vids.values()],
                None if self.few is None else self.few.most,
                {*eids, *self._asked_edges(component)},
            )
            if not vids and not eids:
                self.unbound[component] = found
        self._enough(found.count)
        self.waiting = [c for c in self.waiting if c not in own or c in found.left]
        return found

    def _enough(self, count: int) -> None:
        """Note that there may be more embeddings than were found."""
        if self.few is not None and count >= self.few.most:
            self.few.cut = True

    def _alone(
        self, component: Component, vids: Mapping[str, U32], known: bool
    ) -> tuple[Table, I64]:
        """The embeddings of one vertex that the rows have, or name by a value, and which of them its labels leave,
        i64[n]. known : all have these labels."""
        (name,) = component.vertices
        every = np.arange(len(vids[name]), dtype=np.int64)
        if not known:
            snapshot, accepted = self.context.graph.snapshot, self.parts.accepted[name]
            every = places_labelled(snapshot, accepted, vids[name])
        self.context.embeddings += len(every)
        return Table(vids, {}, len(vids[name]), ()), every

    def _fresh(self, component: Component) -> list[str]:
        """The elements of a component that rows get: not those that they have, nor relationships that nothing can
        mention any more."""
        names = [name for name in component.vertices if name not in self.bound]
        return names + self._asked_edges(component) if component.edges else names

    def _asked_edges(self, component: Component) -> list[str]:
        edges = [name for name in component.edges if name not in self.bound]
        if self.whole or self.checks_edges:
            return edges
        return asked_edges(self.pattern, edges, self.waiting)


def asked_edges(pattern: Pattern, edges: Iterable[str], waiting: Iterable[Condition]) -> list[str]:
    """Those of some relationships that have a name, are in a path, or are mentioned by conditions that wait."""
    mentioned = {name for condition in waiting for name in condition.names}
    mentioned |= {name for route in pattern.routes for name in route.edges}
    return [name for name in edges if not is_hidden(name) or name in mentioned]


def _pieces(at: I64, of: I64, chunk: int) -> Iterator[tuple[I64, I64]]:
    """The same numbers of both, at most `chunk` at a time, those of `at` ascending."""
    if len(at) > 1 and np.any(at[1:] < at[:-1]):  # found type by type, or value by value
        order = np.argsort(at, kind="stable")
        at, of = at[order], of[order]
    for start in range(0, max(len(at), 1), chunk):
        yield at[start : start + chunk], of[start : start + chunk]


def joins(
    rows: int, found: int, pairs: Sequence[tuple[I64, I64]], size: int
) -> Iterator[tuple[I64, I64]]:
    """The pairs (row, embedding) that agree in all columns, ascending by row, some `size` at a time: of each pair of
    columns, the values of the embeddings, i64[found], and of the rows, i64[rows]. Without columns all pairs."""
    order, low = np.arange(found), np.zeros(rows, np.int64)
    counts = np.full(rows, found, np.int64)
    if pairs:
        codes = np.zeros(found + rows, np.int64)
        for inner, outer in pairs:
            _, one = np.unique(np.concatenate([inner, outer]), return_inverse=True)
            _, codes = np.unique(codes * (int(one.max(initial=0)) + 1) + one, return_inverse=True)
        inner, outer = codes[:found], codes[found:]
        order = np.argsort(inner, kind="stable")
        low = np.searchsorted(inner[order], outer, side="left")
        counts = np.searchsorted(inner[order], outer, side="right") - low
    ends = np.cumsum(counts)
    total = int(ends[-1]) if rows else 0
    for start in range(0, total, size):
        places = np.arange(start, min(start + size, total))
        at = np.searchsorted(ends, places, side="right")
        yield at, order[low[at] + places - (ends - counts)[at]]

"""MATCH over arrays: the rows that have an embedding, and columns of what it binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.language.hidden_names import is_hidden
from gdb.physical.arrays.array_table import ArrayColumn, ArrayTable, Edges, Nodes, NotForArrays
from gdb.physical.rows.component_matching import ComponentMatching
from gdb.physical.rows.row_matching import sides_of

if TYPE_CHECKING:
    from gdb.physical.arrays.array_table import ArrayExpressions
    from gdb.physical.rows.component import Table
    from gdb.physical.rows.pattern import Component, Pattern
    from gdb.physical.rows.row_look_ups import ValuesOf
    from gdb.storage.columns.model import I64, U32
    from gdb.storage.graph.snapshot import Snapshot

_CHUNK = 1 << 20


def match_rows(
    expressions: ArrayExpressions, pattern: Pattern, table: ArrayTable
) -> tuple[I64, ArrayTable]:
    """The rows that MATCH makes of some rows: the place of the row that each extends, i64[n] ascending, and these.

    Raises
    ------
    NotForArrays : the pattern has paths, or a condition on an element and a row that is not an equality.
    GdbError : as `gdb.physical.rows.row_matching`.
    """
    return _ArrayMatching(expressions, pattern, table).run(table)


class _ArrayMatching(ComponentMatching[ArrayTable]):
    def __init__(self, expressions: ArrayExpressions, pattern: Pattern, table: ArrayTable) -> None:
        if pattern.variants:
            raise NotForArrays
        super().__init__(expressions.context, pattern, frozenset(table.columns), None, {})
        self.expressions = expressions

    def run(self, table: ArrayTable) -> tuple[I64, ArrayTable]:
        if self.pattern.routes or self.parts.long or self.checks_edges:
            raise NotForArrays
        for name in self.bound & {*self.pattern.vertices, *self.pattern.edges}:
            if not isinstance(table.columns[name], (Nodes, Edges)):
                raise NotForArrays
        at, table = self._filtered(np.arange(len(table), dtype=np.int64), table)
        components = [*self.parts.components]
        while components:
            component = self._next(components, ())
            assert component is not None
            components = [other for other in components if other is not component]
            at, table = self._joined(component, at, table)
        shown = {name: one for name, one in table.columns.items() if not is_hidden(name)}
        return at, ArrayTable(len(table), shown)

    def _joined(self, component: Component, at: I64, table: ArrayTable) -> tuple[I64, ArrayTable]:
        found, places = self._find_embeddings(component, table, _CHUNK)
        allowance = self.context.allowance
        rows, of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for some, mine in places:
            allowance.pulse()
            allowance.make(some.nbytes + mine.nbytes, "rows")
            rows.append(some)
            of.append(mine)
        # beside the pieces: both arrays, and the columns of the rows
        fresh = sum(4 if name in found.vertices else 8 for name in self._fresh(component))
        width = 16 + fresh + sum(4 if isinstance(c, Nodes) else 8 for c in table.columns.values())
        allowance.make(width * sum(map(len, rows)), "rows")
        kept, embeddings = np.concatenate(rows), np.concatenate(of)
        more: dict[str, ArrayColumn] = {}
        snapshot = self.context.graph.snapshot
        for name in self._fresh(component):
            if name in found.vertices:
                more[name] = Nodes(found.vertices[name][embeddings])
            else:
                more[name] = edges_of(snapshot, found.edges[name][embeddings])
        self.bound |= {*component.vertices, *component.edges}
        return self._filtered(at[kept], table.take(kept).with_columns(more))

    def _filtered(self, at: I64, table: ArrayTable) -> tuple[I64, ArrayTable]:
        """The rows that satisfy the conditions that can be tested now."""
        ready = [c for c in self.waiting if c.names & self.reach <= self.bound]
        self.waiting = [c for c in self.waiting if c not in ready]
        for condition in ready:
            kept = self.expressions.true_at(condition.expression, table)
            at, table = at[kept], table.take(kept)
        return at, table

    # ---- the rows --------------------------------------------------------------------------------

    def _values_of(self, table: ArrayTable) -> ValuesOf:
        return lambda expression: self.expressions.of(expression, table).looked_up

    def _vids(self, table: ArrayTable, name: str) -> U32:
        return table.nodes(name)

    def _eids(self, table: ArrayTable, name: str) -> I64:
        found = table.columns[name]
        assert isinstance(found, Edges)
        return self.context.graph.snapshot.edges_called(found.type, found.handles)

    def _equalities(
        self, component: Component, found: Table, table: ArrayTable
    ) -> list[tuple[I64, I64]]:
        inside = self.reach & ({*component.vertices, *component.edges} - self.bound)
        if len(table) > 1 and found.count > 1:
            for one in self.waiting:
                if sides_of(one, self.reach, inside, self.bound) is not None:
                    raise NotForArrays
        return []


def edges_of(snapshot: Snapshot, eids: I64) -> Edges:
    """A column of relationships by their ids. Raises NotForArrays: they are of several types."""
    if not len(eids):
        return Edges("", eids)
    numbers = snapshot.edge_ends(eids)[0]
    if numbers.min() != numbers.max():
        raise NotForArrays
    name = snapshot.edge_types[int(numbers[0])].name
    return Edges(name, snapshot.edge_handles(name, eids))

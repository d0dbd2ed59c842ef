"""MERGE over arrays: one row of each key is matched, all at once; of those that find nothing the first makes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.language.clauses import SetAll, SetProperty
from gdb.physical.arrays.array_changes import reads
from gdb.physical.arrays.array_matching import match_rows
from gdb.physical.arrays.array_table import ArrayColumn, ArrayTable, Edges, Nodes, NotForArrays
from gdb.physical.rows.merging import Merging
from gdb.physical.rows.row_look_ups import code_values
from gdb.storage.graph.ascending import expanded, numbered

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.language.clauses import Merge
    from gdb.physical.arrays.array_changes import ArrayChanges, Assigned
    from gdb.storage.columns.model import I64


def merge_rows(changes: ArrayChanges, clause: Merge, table: ArrayTable) -> ArrayTable:
    """The rows with what MERGE found for each, or made where there was none.

    Raises
    ------
    NotForArrays : what one row does may make another row's key match; a key is NaN.
    GdbError : as `gdb.physical.rows.merging`.
    """
    if clause.pattern.name is not None or any(
        part.given is not None or part.named for part in clause.pattern.parts
    ):
        raise NotForArrays
    merging = Merging(changes.context, clause, tuple(table.columns))
    elements = {n for n, column in table.columns.items() if isinstance(column, Nodes | Edges)}
    if not merging.independent or elements & (merging.reread or set()):
        raise NotForArrays
    return _ArrayMerging(changes, merging, table).run()


class _ArrayMerging:
    def __init__(self, changes: ArrayChanges, merging: Merging, table: ArrayTable) -> None:
        self.changes, self.merging, self.table = changes, merging, table
        self.values = {
            name: changes.expressions.of(expression, table)
            for name, (_, expression) in zip(merging.hidden, merging.keys, strict=True)
        }
        self._refuse_null()
        names = merging.pattern.names
        self.own = [name for name in names if name not in table.columns]

    def run(self) -> ArrayTable:
        pulse = self.changes.context.pulse  # between steps that go through all rows
        first, of = self._numbered()
        pulse()
        bound = {name: self.table.columns[name].take(first) for name in self.merging.bound}
        hidden = {name: values.take(first) for name, values in self.values.items()}
        keys = ArrayTable(len(first), {**bound, **hidden})
        number, found = match_rows(self.changes.expressions, self.merging.pattern, keys)
        pulse()
        count = np.bincount(number, minlength=len(first))
        new = np.flatnonzero(count == 0)
        new = new[np.argsort(first[new])]  # in the order of rows
        place = np.cumsum(count) - count
        place[new] = len(number) + np.arange(len(new))
        count[new] = 1
        pulse()
        rows, embeddings = expanded(place[of], (place + count)[of])
        pulse()
        made = np.zeros(len(self.table), np.bool_)
        made[first[new]] = True
        merged = self.table.take(rows)
        sets = self._sets(merged, made[rows])
        pulse()
        added = self.changes.create([self.merging.keyed], keys.take(new)) if len(new) else None
        pulse()
        more: dict[str, ArrayColumn] = {}
        for name in self.own:
            several = [one.columns[name] for one in (found, added) if one is not None]
            more[name] = _concatenated(several).take(embeddings)
        merged = merged.with_columns(more)
        for at, assigned in sets:
            self.changes.assign(assigned, merged.take(at))
        return merged

    def _sets(
        self, merged: ArrayTable, made: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> list[tuple[I64, dict[str, Assigned]]]:
        """What ON CREATE and ON MATCH set, and in which rows: computed before anything is written. A row finds what an
        earlier one made."""
        clause, keys = self.merging.clause, list[str]()
        found: list[tuple[I64, dict[str, Assigned]]] = []
        for items, at in (
            (clause.on_create, np.flatnonzero(made)),
            (clause.on_match, np.flatnonzero(~made)),
        ):
            if items and len(at):
                elements = {name: Nodes(np.zeros(0, np.uint32)) for name in self.own}
                table = merged.take(at).with_columns(elements)
                assigned = self.changes.assigned(items, table)
                if not {*assigned} <= {*self.own}:
                    raise NotForArrays  # of what the rows have the last row's value holds
                found.append((at, assigned))
                keys += [key for own in assigned.values() for key in own]
        every = (
            item.value
            for item in (*clause.on_create, *clause.on_match)
            if isinstance(item, SetProperty | SetAll)
        )
        if any(key in keys for one in every for _, key in reads(one, merged)):
            raise NotForArrays
        return found

    def _refuse_null(self) -> None:
        if not any(type(None) in values.types for values in self.values.values()):
            return
        every = zip(*(values.items for values in self.values.values()), strict=True)
        rows: list[Row] = [
            {**dict.fromkeys(self.merging.bound, True), **dict(zip(self.values, key, strict=True))}
            for key in every
            if None in key
        ]
        self.merging.refuse_null(rows)

    def _numbered(self) -> tuple[I64, I64]:
        """The first row of each distinct key, i64[k], and for each row the number of its key, i64[n]."""
        columns: list[I64] = []
        for values in self.values.values():
            keys = values.looked_up
            if not isinstance(keys, np.ndarray):
                keys = code_values(keys)[1]
                if len(keys) and keys.min() < 0:
                    raise NotForArrays
            columns.append(keys)
        columns += [self._bound(name) for name in self.merging.bound]
        if not columns:
            zeros = np.zeros(len(self.table), np.int64)
            return zeros[:1], zeros
        codes = columns[0]
        for other in columns[1:]:
            codes, other = numbered(codes)[1], numbered(other)[1]
            codes = codes * (int(other.max(initial=0)) + 1) + other
        return numbered(codes)

    def _bound(self, name: str) -> I64:
        return self.table.nodes(name).astype(np.int64)


def _concatenated(several: Sequence[ArrayColumn]) -> ArrayColumn:
    first, *others = several
    if not others:
        return first
    (other,) = others
    match first, other:
        case Nodes(), Nodes():
            return Nodes(np.concatenate([first.vids, other.vids]))
        case Edges(), Edges():
            type_ = first.type if len(first.handles) else other.type
            return Edges(type_, np.concatenate([first.handles, other.handles]))
    raise NotForArrays

"""Nodes whose id is there already: left out, or their properties written over those that the graph holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gdb.records import dataclass

from ..columns.kinds import is_empty, joined
from ..columns.model import I64, Bools, Column, VertexTable
from .load_options import OnDuplicate
from .properties import Source
from .report import FileReport
from .spaces import Ids, Space, firsts, join_ids, some_ids

Found = tuple[VertexTable, Source]


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """Values for vertices that are there.

    rows : i64[k], theirs in the whole graph, each once. table : k vertices with the values.
    """

    rows: I64
    table: VertexTable


def sorted_out(
    found: Sequence[Found], space: Space, choice: OnDuplicate, report: FileReport
) -> tuple[list[Found], list[tuple[Update, Source]]]:
    """The vertices of one file that are new, each id once, and what is to be written over others.

    "skip" keeps the first vertex of each id, and "update" the last one.
    """
    ids = found[0][0].ids
    for table, _ in found[1:]:
        ids = join_ids(ids, table.ids)
    rows = space.find(ids, report)
    kept = _last(ids) if choice == "update" else _first(ids)
    new: list[Found] = []
    updates: list[tuple[Update, Source]] = []
    begin = 0
    for table, source in found:
        part = slice(begin, begin + len(table))
        begin += len(table)
        new.append(_taken(table, source, np.flatnonzero(kept[part] & (rows[part] < 0))))
        if choice == "update":
            known = np.flatnonzero(kept[part] & (rows[part] >= 0))
            values, where = _taken(table, source, known)
            updates.append((Update(rows[part][known], values), where))
    return new, updates


def _first(ids: Ids) -> Bools:
    """True at the first occurrence of an id."""
    kept = np.zeros(len(ids), np.bool_)
    if isinstance(ids, list):
        kept[list(dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True)).values())] = 1
    else:
        kept[firsts(ids)] = True
    return kept


def _last(ids: Ids) -> Bools:
    """True at the last occurrence of an id."""
    return _first(ids[::-1])[::-1]


def _taken(table: VertexTable, source: Source, rows: I64) -> Found:
    """Some rows of a table, and their places."""
    if len(rows) == len(table):
        return table, source
    columns = {key: column.take(rows) for key, column in table.columns.items()}
    taken = VertexTable(table.labels, table.id_space, some_ids(table.ids, rows), columns)
    return taken, source.taken(rows)


def update_table(table: VertexTable, rows: I64, values: VertexTable) -> VertexTable:
    """A table with the values of some vertices written over its rows (i64[k]); labels and other properties stay."""
    columns = dict(table.columns)
    for key, column in values.columns.items():
        held = _over(columns.get(key), len(table), rows, column)
        if held is not None:
            columns[key] = held
    return VertexTable(table.labels, table.id_space, table.ids, columns)


def _over(old: Column | None, count: int, rows: I64, new: Column) -> Column | None:
    """A column of `count` values, None for nulls, with others at some rows; None where there is no value."""
    held = None if old is None or is_empty(old) else old
    updates = None if is_empty(new) else new
    if held is None and updates is None:
        return old
    if held is not None and updates is not None:
        held, updates = _alike(held, updates)
    kind = (held or updates or new).kind
    at = np.arange(count)
    at[rows] = count + np.arange(len(rows))
    return Column.stacked([held, updates], [count, len(rows)], kind).take(at)


def _alike(one: Column, other: Column) -> tuple[Column, Column]:
    """Both as columns of one kind."""
    kind = joined(one.kind, other.kind)
    if kind is None:
        return one.as_any(), other.as_any()
    first, second = (each if each.kind == kind else each.as_floats() for each in (one, other))
    return first, second

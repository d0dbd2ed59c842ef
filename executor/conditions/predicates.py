"""Predicates on one element, evaluated once over the columns of its label (design.md §3).

What passes comes back as vids or edge ids, which the executor uses as the candidate set of that query vertex or edge.
A simple condition is a test (`gdb.executor.conditions.masks`), which NumPy evaluates over the columns in place: some
microseconds where the columns are small, and where they are large no slower than DuckDB, which took up to four times as
long for comparisons of numbers and as long for searching texts (a million and four million values, two threads). For
any other condition one DuckDB query reads the columns of all groups of vertices (or edge types) in place, a chunk for
each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.base.sql import select, written
from gdb.storage.columns.model import Column, Kind
from gdb.storage.graph.adjacency import I64, U32
from gdb.storage.graph.vid_ranges import vids_of

from . import masks

if TYPE_CHECKING:
    from gdb.base.sql import exp
    from gdb.storage.graph.snapshot import Snapshot

    from ..relational import arrow
    from ..relational.relational_tail import Value
    from .masks import Test


def tested_vertices(snapshot: Snapshot, groups: Sequence[int], test: Test) -> U32:
    """The vertices of some groups for which a test of their properties is true.

    Parameters
    ----------
    groups : indexes into snapshot.groups. A group without a key has null there.

    Returns
    -------
    vids, u32[k] ascending.
    """
    keys = masks.keys_of(test)
    found = [np.zeros(0, np.uint32)]
    for number in groups:
        group = snapshot.groups[number]
        columns = {key: snapshot.vertex_column(number, key) for key in keys}
        rows = masks.passing(test, columns, sum(stop - start for start, stop in group.ranges))
        found.append(_at_rows(group.ranges, rows))
    return found[1] if len(found) == 2 else np.sort(np.concatenate(found))


def _at_rows(ranges: Sequence[tuple[int, int]], rows: I64) -> U32:
    """The vids at some rows of the concatenation of ranges, ascending."""
    if len(ranges) != 1:
        starts = np.array([start for start, _ in ranges], np.int64)
        lengths = np.array([stop - start for start, stop in ranges], np.int64)
        ends = np.cumsum(lengths)
        at = np.searchsorted(ends, rows, side="right")
        vids = rows + (starts - (ends - lengths))[at]
    else:
        vids = rows + ranges[0][0]
    return vids.astype(np.uint32)


def tested_edges(snapshot: Snapshot, types: Sequence[str], test: Test) -> I64:
    """The edges of some types (() for all) for which a test of their properties is true; as `tested_vertices`.

    Returns
    -------
    edge ids, i64[k] ascending.
    """
    keys = masks.keys_of(test)
    found = [np.zeros(0, np.int64)]
    for type_ in snapshot.edge_types:
        if not types or type_.name in types:
            columns = {key: snapshot.edge_column(type_.name, key) for key in keys}
            found.append(masks.passing(test, columns, type_.edge_count) + type_.first_eid)
    return found[1] if len(found) == 2 else np.concatenate(found)


def asking(condition: exp.Expr) -> str:
    """The SELECT of the elements that satisfy a condition."""
    return written(select(["element"], "elements", where=[condition]))


def matching_vertices(
    snapshot: Snapshot,
    groups: Sequence[int],
    keys: Mapping[str, str],
    sql: str,
    parameters: Mapping[str, Value],
) -> U32:
    """The vertices of some groups that satisfy a condition on their properties.

    Parameters
    ----------
    groups : indexes into snapshot.groups.
    keys : column name in the condition -> property key. A group without the key has null there; a key that is int64 in
        one of the groups and float64 in another is float64 in all.
    sql : what `asking` makes of the condition over those names, which must be true (not null) for a vertex to pass.
    parameters : prepared parameters of the condition, without the dollar sign.

    Returns
    -------
    vids, u32[k] ascending.

    Raises
    ------
    QueryError, RunError : as `relational.query`; also where a key has kinds without a common one.
    """
    parts = _vertex_parts(snapshot, groups)
    return _passing(parts, keys, sql, parameters).astype(np.uint32)


def vertex_rows(
    snapshot: Snapshot, groups: Sequence[int], keys: Mapping[str, str]
) -> arrow.Array | None:
    """The vertices of some groups, in the column "element", with columns of their properties, as `matching_vertices`
    has them; None where there are none."""
    return _rows(_vertex_parts(snapshot, groups), keys)


def _vertex_parts(snapshot: Snapshot, groups: Sequence[int]) -> list[_Part]:
    parts: list[_Part] = []
    for number in groups:
        group = snapshot.groups[number]
        elements = vids_of(group.ranges).astype(np.int64)
        parts.append((elements, group.keys, partial(snapshot.vertex_column, number)))
    return parts


def matching_edges(
    snapshot: Snapshot,
    types: Sequence[str],
    keys: Mapping[str, str],
    sql: str,
    parameters: Mapping[str, Value],
) -> I64:
    """The edges of some types (() for all) that satisfy a condition on their properties; as `matching_vertices`.

    Returns
    -------
    edge ids, i64[k] ascending.
    """
    parts: list[_Part] = []
    for type_ in snapshot.edge_types:
        if not types or type_.name in types:
            first, count = type_.first_eid, type_.edge_count
            elements = np.arange(first, first + count, dtype=np.int64)
            parts.append((elements, type_.keys, partial(snapshot.edge_column, type_.name)))
    return _passing(parts, keys, sql, parameters)


_Part: TypeAlias = tuple[I64, Mapping[str, Kind], Callable[[str], Column | None]]
"""Elements, i64[n], the keys that some of them have, and what gives their column of a key."""


def _passing(
    parts: Sequence[_Part], keys: Mapping[str, str], sql: str, parameters: Mapping[str, Value]
) -> I64:
    """The elements whose row satisfies the condition, i64[k] ascending."""
    from ..relational import arrow, relational  # what NumPy evaluates needs no DuckDB

    rows = _rows(parts, keys)
    if rows is None:
        return np.zeros(0, np.int64)
    answer = relational.query({"elements": rows}, sql, parameters)
    found = [arrow.int64_values(arrow.child(chunk, 0))[0] for chunk in answer.iter_chunks()]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _rows(parts: Sequence[_Part], keys: Mapping[str, str]) -> arrow.Array | None:
    """The elements and their columns, a chunk for each part that has elements; None where none has."""
    from ..relational import arrow, lookup  # here: it imports nanoarrow

    kinds = {
        name: lookup.common_kind((has[key] for _, has, _ in parts if key in has), key)
        for name, key in keys.items()
    }
    chunks = [
        _chunk(elements, {name: column_of(key) for name, key in keys.items()}, kinds)
        for elements, _, column_of in parts
        if len(elements)
    ]
    return arrow.chunks_array(chunks) if chunks else None


def _chunk(
    elements: I64, columns: Mapping[str, Column | None], kinds: Mapping[str, Kind | None]
) -> arrow.Array:
    """The rows of one group or type; the same types in all chunks."""
    from ..relational import arrow, lookup  # here: it imports nanoarrow

    names, children = ["element"], [arrow.int64_array(elements)]
    for name, column in columns.items():
        kind = kinds[name]
        if kind is None:
            child = arrow.null_array(len(elements))
        else:
            known = Column.nulls(kind, len(elements)) if column is None else column
            child = arrow.column_array(lookup.widen(known, kind).in_sql())
        names.append(name)
        children.append(child)
    return arrow.struct_array(names, children, len(elements))

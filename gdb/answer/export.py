"""An answer as an Arrow table for the world outside: the user's column names, entities as structs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.answer.cells import NULL, STRING, Shape, Single, built, shape_of
from gdb.answer.entities import python_values
from gdb.base import usage
from gdb.base.once import MadeOnce
from gdb.errors import TypeProblem
from gdb.executor.relational import arrow, lookup
from gdb.executor.relational.arrow import I64, Array, Flags
from gdb.executor.relational.relational_tail import Output
from gdb.storage.columns.model import Kind
from gdb.storage.columns.slices import Slice

if TYPE_CHECKING:
    from gdb.answer.entities import PropertyValue
    from gdb.storage.columns.model import Column
    from gdb.storage.graph.snapshot import Snapshot

_PIECE = 1 << 16
"""Values whose types are looked at in one step."""


def export_answer(outputs: Sequence[Output], table: Array, snapshot: Snapshot | None) -> Array:
    """The answer with its names and entities; columns of plain values are shared, not copied.

    A node is struct(id, labels, properties), a relationship struct(type, start, end, properties);
    `properties` is a struct of every key that any node (relationship) of the graph has. A key with values of several
    types becomes strings: texts as they are, times as in ISO 8601, the others as Cypher writes them; one whose values
    the store keeps with their types is of the type that all of the graph's have in common (`gdb.answer.cells`).
    """
    chunks = list(table.iter_chunks()) or [arrow.empty_chunk(table)]
    columns = [
        _exported_column(output, [arrow.child(chunk, index) for chunk in chunks], snapshot)
        for index, output in enumerate(outputs)
    ]
    names = [output.name for output in outputs]
    return arrow.chunks_array(
        [
            arrow.struct_array(names, [column[number] for column in columns], len(chunk))
            for number, chunk in enumerate(chunks)
        ]
    )


def _exported_column(
    output: Output, chunks: Sequence[Array], snapshot: Snapshot | None
) -> Sequence[Array]:
    """One column, in the same chunks and of one type in all of them."""
    if snapshot is None or output.kind == "value":
        return chunks
    build = _node_structs if output.kind == "node" else _relationship_structs
    shapes = _shapes.of(snapshot).of(snapshot, output.kind == "node")
    ids = _id_kind(snapshot)
    return [build(snapshot, *_numbers(chunk), ids, shapes) for chunk in chunks]


class _Shapes:
    """The shapes of properties that are kept with their types, each found once for a snapshot: all pieces of a stream
    have the same types, whatever values they have."""

    def __init__(self, _: Snapshot) -> None:
        self._found: dict[tuple[bool, str], Shape] = {}

    def of(self, snapshot: Snapshot, nodes: bool) -> dict[str, Shape]:
        """By key. nodes : of nodes, else of relationships."""
        owners = snapshot.groups if nodes else snapshot.edge_types
        kinds = _found([one.keys for one in owners])
        mixed = sorted(key for key in kinds if "any" in kinds[key])
        for key in mixed:
            if (nodes, key) not in self._found:
                self._found[nodes, key] = _shape(_columns(snapshot, nodes, key))
        return {key: self._found[nodes, key] for key in mixed}


_shapes = MadeOnce(_Shapes)


def _columns(snapshot: Snapshot, nodes: bool, key: str) -> Iterator[Column | None]:
    if nodes:
        for number, group in enumerate(snapshot.groups):
            if key in group.keys:
                yield snapshot.vertex_column(number, key)
    else:
        for type_ in snapshot.edge_types:
            yield snapshot.edge_column(type_.name, key)


def _shape(columns: Iterable[Column | None]) -> Shape:
    """The shape of all values of columns, looked at piece by piece."""
    found: Shape = NULL
    exact = True  # all integers are floats
    for column in columns:
        for begin, end in usage.paced(0 if column is None else len(column), _PIECE):
            assert column is not None
            values = python_values(Slice(column, begin, end))
            exact = exact and all(float(v) == v for v in values if type(v) is int)
            found = _both(found, shape_of(values), exact=exact)
    return found


def _both(one: Shape, other: Shape, *, exact: bool) -> Shape:
    if NULL in (one, other) or one == other:
        return one if other == NULL else other
    numbers = Single("int64"), Single("float64")
    return numbers[1] if exact and one in numbers and other in numbers else STRING


def _values(snapshot: Snapshot, nodes: bool, numbers: I64, key: str) -> list[PropertyValue | None]:
    """A property that is kept with its types."""
    if nodes:
        held = lookup.vertex_property(snapshot, numbers.astype(np.uint32), key, "any")
    else:
        held = lookup.edge_property(snapshot, numbers, key, "any")
    return python_values(held)


def _typed(
    snapshot: Snapshot, nodes: bool, numbers: I64, shapes: Mapping[str, Shape]
) -> dict[str, Array]:
    values = {key: _values(snapshot, nodes, numbers, key) for key in shapes}
    return {key: built(shape, values[key]) for key, shape in shapes.items() if values[key]}


def _numbers(chunk: Array) -> tuple[I64, Flags | None]:
    """vids or edge ids with their validity; a null's number is 0."""
    numbers, valid = arrow.int64_values(chunk)
    return (numbers, None) if valid is None else (np.where(valid, numbers, 0), valid)


def _node_structs(
    snapshot: Snapshot,
    numbers: I64,
    valid: Flags | None,
    ids: Kind,
    shapes: Mapping[str, Shape],
) -> Array:
    vids = numbers.astype(np.uint32)
    lengths, labels = lookup.vertex_labels(snapshot, vids)
    properties = {
        key: lookup.vertex_property(snapshot, vids, key, kind)
        for key, kind in _kinds([group.keys for group in snapshot.groups]).items()
        if key not in shapes
    }
    typed = _typed(snapshot, True, numbers, shapes)
    fields = {
        "id": arrow.column_array(lookup.vertex_ids(snapshot, vids, ids)),
        "labels": arrow.list_array(lengths, arrow.column_array(labels)),
        "properties": _struct(properties, typed, len(vids)),
    }
    return arrow.struct_array(list(fields), list(fields.values()), len(vids), valid)


def _relationship_structs(
    snapshot: Snapshot,
    eids: I64,
    valid: Flags | None,
    ids: Kind,
    shapes: Mapping[str, Shape],
) -> Array:
    _, sources, targets = snapshot.edge_ends(eids)
    properties = {
        key: lookup.edge_property(snapshot, eids, key, kind)
        for key, kind in _kinds([type_.keys for type_ in snapshot.edge_types]).items()
        if key not in shapes
    }
    typed = _typed(snapshot, False, eids, shapes)
    fields = {
        "type": arrow.column_array(lookup.edge_types(snapshot, eids)),
        "start": arrow.column_array(lookup.vertex_ids(snapshot, sources, ids)),
        "end": arrow.column_array(lookup.vertex_ids(snapshot, targets, ids)),
        "properties": _struct(properties, typed, len(eids)),
    }
    return arrow.struct_array(list(fields), list(fields.values()), len(eids), valid)


def _struct(columns: Mapping[str, Slice | None], typed: Mapping[str, Array], length: int) -> Array:
    """Columns as one struct; where there are none, null: an empty struct is more than files of Parquet can hold."""
    known = {
        key: arrow.column_array(column) for key, column in columns.items() if column is not None
    }
    known |= typed
    if not known:
        return arrow.null_array(length)
    return arrow.struct_array(sorted(known), [known[key] for key in sorted(known)], length)


def _id_kind(snapshot: Snapshot) -> Kind:
    """The kind that user ids have in all chunks of all answers: strings where any of the graph is one."""
    kinds = {snapshot.id_column(group).kind for group in range(len(snapshot.groups))}
    return "int64" if kinds <= {"int64"} else "string"


def _kinds(available: Iterable[Mapping[str, Kind]]) -> dict[str, Kind]:
    """Every key with a kind that holds all its values and that Arrow has: strings where they differ in more than int or
    float."""
    return {key: _widest(kinds, key) for key, kinds in sorted(_found(available).items())}


def _found(available: Iterable[Mapping[str, Kind]]) -> dict[str, set[Kind]]:
    """Every key with its kinds."""
    found: dict[str, set[Kind]] = {}
    for keys in available:
        for key, kind in keys.items():
            found.setdefault(key, set()).add(kind)
    return found


def _widest(kinds: set[Kind], key: str) -> Kind:
    try:
        kind = lookup.common_kind(kinds, key)
    except TypeProblem:
        return "string"
    return "string" if kind is None else kind

"""An answer as an Arrow table for the world outside: the user's column names, entities as structs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import TypeProblem
from gdb.executor.relational import arrow, lookup
from gdb.executor.relational.arrow import I64, Array, Flags
from gdb.executor.relational.relational_tail import Output
from gdb.storage.columns.model import Kind
from gdb.storage.columns.slices import Slice

if TYPE_CHECKING:
    from gdb.storage.graph.snapshot import Snapshot


def export_answer(outputs: Sequence[Output], table: Array, snapshot: Snapshot | None) -> Array:
    """The answer with its names and entities; columns of plain values are shared, not copied.

    A node is struct(id, labels, properties), a relationship struct(type, start, end, properties);
    `properties` is a struct of every key that any node (relationship) of the graph has. A key with values of
    several types becomes strings: texts as they are, times as in ISO 8601, the others as Cypher writes them.
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
    ids = _id_kind(snapshot)
    return [build(snapshot, *_numbers(chunk), ids) for chunk in chunks]


def _numbers(chunk: Array) -> tuple[I64, Flags | None]:
    """vids or edge ids with their validity; a null's number is 0."""
    numbers, valid = arrow.int64_values(chunk)
    return (numbers, None) if valid is None else (np.where(valid, numbers, 0), valid)


def _node_structs(snapshot: Snapshot, numbers: I64, valid: Flags | None, ids: Kind) -> Array:
    vids = numbers.astype(np.uint32)
    lengths, labels = lookup.vertex_labels(snapshot, vids)
    properties = {
        key: lookup.vertex_property(snapshot, vids, key, kind)
        for key, kind in _kinds([group.keys for group in snapshot.groups]).items()
    }
    fields = {
        "id": arrow.column_array(lookup.vertex_ids(snapshot, vids, ids)),
        "labels": arrow.list_array(lengths, arrow.column_array(labels)),
        "properties": _struct(properties, len(vids)),
    }
    return arrow.struct_array(list(fields), list(fields.values()), len(vids), valid)


def _relationship_structs(snapshot: Snapshot, eids: I64, valid: Flags | None, ids: Kind) -> Array:
    _, sources, targets = snapshot.edge_ends(eids)
    properties = {
        key: lookup.edge_property(snapshot, eids, key, kind)
        for key, kind in _kinds([type_.keys for type_ in snapshot.edge_types]).items()
    }
    fields = {
        "type": arrow.column_array(lookup.edge_types(snapshot, eids)),
        "start": arrow.column_array(lookup.vertex_ids(snapshot, sources, ids)),
        "end": arrow.column_array(lookup.vertex_ids(snapshot, targets, ids)),
        "properties": _struct(properties, len(eids)),
    }
    return arrow.struct_array(list(fields), list(fields.values()), len(eids), valid)


def _struct(columns: Mapping[str, Slice | None], length: int) -> Array:
    """Columns as one struct; where there are none, null: an empty struct is more than some readers take."""
    known = {
        key: arrow.column_array(column) for key, column in columns.items() if column is not None
    }
    if not known:
        return arrow.null_array(length)
    return arrow.struct_array(list(known), list(known.values()), length)


def _id_kind(snapshot: Snapshot) -> Kind:
    """The kind that user ids have in all chunks of all answers: strings where any of the graph is one."""
    kinds = {snapshot.id_column(group).kind for group in range(len(snapshot.groups))}
    return "int64" if kinds <= {"int64"} else "string"


def _kinds(available: Iterable[Mapping[str, Kind]]) -> dict[str, Kind]:
    """Every key with a kind that holds all its values and that Arrow has: strings where they differ in more than int or
    float."""
    found: dict[str, set[Kind]] = {}
    for keys in available:
        for key, kind in keys.items():
            found.setdefault(key, set()).add(kind)
    return {key: _widest(kinds, key) for key, kinds in sorted(found.items())}


def _widest(kinds: set[Kind], key: str) -> Kind:
    try:
        kind = lookup.common_kind(kinds, key)
    except TypeProblem:
        return "string"
    return "string" if kind is None or kind == "any" else kind

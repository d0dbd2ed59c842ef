"""An answer as an Arrow table for the world outside: the user's column names, entities as structs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import TypeProblem
from gdb.executor import arrow, lookup
from gdb.executor.arrow import I64, Array, Flags
from gdb.executor.tail import Output
from gdb.storage.model import Column, Kind

if TYPE_CHECKING:
    from gdb.storage.snapshot import Snapshot


def exported(outputs: Sequence[Output], table: Array, snapshot: Snapshot | None) -> Array:
    """The answer with its names and entities; columns of plain values are shared, not copied.

    A node is struct(id, labels, properties), a relationship struct(type, start, end, properties);
    `properties` is a struct of every key that any node (relationship) of the graph has. A key with values of
    several types becomes strings.
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
    numbers, valid = _joined([arrow.int64_values(chunk) for chunk in chunks])
    build = _node_structs if output.kind == "node" else _relationship_structs
    whole = build(snapshot, numbers, valid)
    ends = np.cumsum([len(chunk) for chunk in chunks]).tolist()
    return [
        arrow.sliced(whole, end - len(chunk), end) for chunk, end in zip(chunks, ends, strict=True)
    ]


def _joined(parts: Sequence[tuple[I64, Flags | None]]) -> tuple[I64, Flags | None]:
    """Numbers of all chunks with their validity; a null's number is 0."""
    numbers = np.concatenate([values for values, _ in parts])
    if all(valid is None for _, valid in parts):
        return numbers, None
    flags = np.concatenate(
        [np.ones(len(values), np.bool_) if valid is None else valid for values, valid in parts]
    )
    return np.where(flags, numbers, 0), flags


def _node_structs(snapshot: Snapshot, numbers: I64, valid: Flags | None) -> Array:
    vids = numbers.astype(np.uint32)
    lengths, labels = lookup.vertex_labels(snapshot, vids)
    properties = {
        key: lookup.vertex_property(snapshot, vids, key, kind)
        for key, kind in _kinds([group.keys for group in snapshot.groups]).items()
    }
    fields = {
        "id": arrow.column_array(_id_column(snapshot.user_ids(vids))),
        "labels": arrow.list_array(lengths, arrow.column_array(labels)),
        "properties": _struct(properties, len(vids)),
    }
    return arrow.struct_array(list(fields), list(fields.values()), len(vids), valid)


def _relationship_structs(snapshot: Snapshot, eids: I64, valid: Flags | None) -> Array:
    _, sources, targets = snapshot.edge_ends(eids)
    properties = {
        key: lookup.edge_property(snapshot, eids, key, kind)
        for key, kind in _kinds([type_.keys for type_ in snapshot.edge_types]).items()
    }
    fields = {
        "type": arrow.column_array(lookup.edge_types(snapshot, eids)),
        "start": arrow.column_array(_id_column(snapshot.user_ids(sources))),
        "end": arrow.column_array(_id_column(snapshot.user_ids(targets))),
        "properties": _struct(properties, len(eids)),
    }
    return arrow.struct_array(list(fields), list(fields.values()), len(eids), valid)


def _struct(columns: Mapping[str, Column | None], length: int) -> Array:
    """Columns as one struct; where there are none, null: an empty struct is more than some readers take."""
    known = {
        key: arrow.column_array(column) for key, column in columns.items() if column is not None
    }
    if not known:
        return arrow.null_array(length)
    return arrow.struct_array(list(known), list(known.values()), length)


def _id_column(ids: Sequence[int | str]) -> Column:
    """User ids; numbers and strings together become strings."""
    if any(isinstance(value, str) for value in ids):
        return Column.from_list([str(value) for value in ids], "string")
    return Column.from_list(ids, "int64")


def _kinds(available: Iterable[Mapping[str, Kind]]) -> dict[str, Kind]:
    """Every key with a kind that holds all its values: strings where they differ in more than int or float."""
    found: dict[str, set[Kind]] = {}
    for keys in available:
        for key, kind in keys.items():
            found.setdefault(key, set()).add(kind)
    return {key: _widest(kinds, key) for key, kinds in sorted(found.items())}


def _widest(kinds: set[Kind], key: str) -> Kind:
    try:
        return lookup.common_kind(kinds, key) or "string"
    except TypeProblem:
        return "string"

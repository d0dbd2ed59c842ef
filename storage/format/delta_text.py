"""The JSON of a delta, which each small commit writes: the bytes of `gdb.storage.format.manifest.JSON`, without its
type test of every part.
"""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring

from .manifest import AddedEdges, AddedVertices, ColumnRecord, DeltaRecord, PatchRecord


def text_of(delta: DeltaRecord) -> bytes:
    """The inverse of `gdb.storage.format.manifest.delta_of`."""
    groups = [f'"{number}":{_patches(of)}' for number, of in delta.patches.items()]
    return (
        f'{{"file":{delta.file},"vertices":{delta.vertices},'
        f'"dead":{delta.dead},"dead_count":{delta.dead_count},'
        f'"added":[{",".join([_vertices(one) for one in delta.added])}],'
        f'"patches":{{{",".join(groups)}}},'
        f'"types":[{",".join([_edges(one) for one in delta.types])}]}}'
    ).encode()


def _vertices(one: AddedVertices) -> str:
    labels = ",".join(map(encode_basestring, one.labels))
    ranges = ",".join([f"[{start},{stop}]" for start, stop in one.ranges])
    return (
        f'{{"labels":[{labels}],"id_space":{encode_basestring(one.id_space)},"ranges":[{ranges}],'
        f'"ids":{_column(one.ids)},"columns":{_columns(one.columns)}}}'
    )


def _edges(one: AddedEdges) -> str:
    return (
        f'{{"name":{encode_basestring(one.name)},"directed":{"true" if one.directed else "false"},'
        f'"keys":{one.keys},"count":{one.count},"columns":{_columns(one.columns)},'
        f'"removed":{one.removed},"removed_count":{one.removed_count},'
        f'"patches":{_patches(one.patches)}}}'
    )


def _patches(of: Mapping[str, PatchRecord]) -> str:
    if not of:  # nearly always, of edges
        return "{}"
    every = [
        f'{encode_basestring(key)}:{{"rows":{one.rows},"count":{one.count},'
        f'"column":{_column(one.column)}}}'
        for key, one in of.items()
    ]
    return f"{{{','.join(every)}}}"


def _columns(of: Mapping[str, ColumnRecord]) -> str:
    if not of:
        return "{}"
    return (
        f"{{{','.join([f'{encode_basestring(key)}:{_column(one)}' for key, one in of.items()])}}}"
    )


def _column(one: ColumnRecord) -> str:
    return (
        f'{{"kind":"{one.kind}","values":{one.values},"offsets":{one.offsets},"valid":{one.valid}}}'
    )

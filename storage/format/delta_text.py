"""The JSON of a delta, which each small commit writes: the bytes of `gdb.storage.format.manifest.JSON`, without its
type test of every part.
"""

from __future__ import annotations

from collections.abc import Mapping

from .manifest import JSON, AddedEdges, DeltaRecord


def text_of(delta: DeltaRecord) -> bytes:
    """The inverse of `gdb.storage.format.manifest.delta_of`."""
    types = ",".join(map(_of_type, delta.types))
    return (
        f'{{"file":{delta.file},"vertices":{delta.vertices},'
        f'"dead":{delta.dead},"dead_count":{delta.dead_count},"added":{_json(delta.added)},'
        f'"patches":{_json(delta.patches)},"types":[{types}]}}'
    ).encode()


def _of_type(one: AddedEdges) -> str:
    return (
        f'{{"name":{JSON.encode(one.name)},"directed":{"true" if one.directed else "false"},'
        f'"keys":{one.keys},"count":{one.count},"columns":{_json(one.columns)},'
        f'"removed":{one.removed},"removed_count":{one.removed_count},'
        f'"patches":{_json(one.patches)}}}'
    )


def _json(value: Mapping[int, object] | Mapping[str, object] | tuple[object, ...]) -> str:
    if not value:  # nearly always
        return "[]" if isinstance(value, tuple) else "{}"
    return JSON.encode(value)

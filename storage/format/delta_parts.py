"""A delta as sections of a segment, part by part, and what the manifest says of them; each small commit writes it.

A commit changes few parts: the others, whose sections, records and texts stay the same, are those of the commit before.
The texts are the bytes of `gdb.storage.format.manifest.JSON`, without its type test of every part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Generic, TypeVar

from gdb.records import dataclass, quick

from .manifest import AddedEdges, AddedVertices, ColumnRecord, DeltaRecord, PatchRecord
from .sections import Section

Record = TypeVar("Record", covariant=True)


@dataclass(slots=True, eq=False)
class DeltaPart(Generic[Record]):
    """Some of a delta.

    of : what the sections were made of, which nothing changes: of the same with the same `first` they are the same.
    first : the number of the first of the sections. text : of the record.
    words : what the journal says of sections that stay as they are, once it was needed.
    """

    of: object
    first: int
    sections: Sequence[Section]
    record: Record
    text: str
    words: bytes = b""


@quick
@dataclass(frozen=True, slots=True, eq=False)
class DeltaParts:
    """A delta in parts: the vids that are no more, vertices that were added, patches by group, and edge types.

    file : the number of their file in the manifest. vertices : vids that the delta adds.
    """

    file: int
    vertices: int
    dead: DeltaPart[int]
    added: Sequence[DeltaPart[AddedVertices]]
    groups: Mapping[int, DeltaPart[dict[str, PatchRecord]]]
    types: Sequence[DeltaPart[AddedEdges]]

    @property
    def every(self) -> list[DeltaPart[object]]:
        """All parts, in the order of their sections."""
        return [self.dead, *self.added, *self.groups.values(), *self.types]

    @property
    def sections(self) -> list[Section]:
        """Those of all parts."""
        return [section for part in self.every for section in part.sections]

    @property
    def record(self) -> DeltaRecord:
        """What the manifest says of it."""
        return DeltaRecord(
            self.file,
            self.vertices,
            self.dead.first,
            self.dead.record,
            tuple([part.record for part in self.added]),
            {number: part.record for number, part in self.groups.items()},
            tuple([part.record for part in self.types]),
        )

    @property
    def text(self) -> bytes:
        """The inverse of `gdb.storage.format.manifest.delta_of`."""
        groups = [f'"{number}":{part.text}' for number, part in self.groups.items()]
        return (
            f'{{"file":{self.file},"vertices":{self.vertices},'
            f'"dead":{self.dead.first},"dead_count":{self.dead.record},'
            f'"added":[{",".join([part.text for part in self.added])}],'
            f'"patches":{{{",".join(groups)}}},'
            f'"types":[{",".join([part.text for part in self.types])}]}}'
        ).encode()


def text_of_vertices(one: AddedVertices) -> str:
    """The JSON of vertices that were added."""
    labels = ",".join(map(encode_basestring, one.labels))
    ranges = ",".join([f"[{start},{stop}]" for start, stop in one.ranges])
    return (
        f'{{"labels":[{labels}],"id_space":{encode_basestring(one.id_space)},"ranges":[{ranges}],'
        f'"ids":{_column(one.ids)},"columns":{_columns(one.columns)}}}'
    )


def text_of_edges(one: AddedEdges) -> str:
    """The JSON of the changes of an edge type."""
    return (
        f'{{"name":{encode_basestring(one.name)},"directed":{"true" if one.directed else "false"},'
        f'"keys":{one.keys},"count":{one.count},"columns":{_columns(one.columns)},'
        f'"removed":{one.removed},"removed_count":{one.removed_count},'
        f'"patches":{text_of_patches(one.patches)}}}'
    )


def text_of_patches(of: Mapping[str, PatchRecord]) -> str:
    """The JSON of patches by property."""
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

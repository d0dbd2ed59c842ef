"""The manifest: one small file that says which files the store consists of (docs/FORMAT.md).

A commit writes and syncs segment files, then a manifest under another name, and renames it into
place (design.md §2, *Commit*). Whatever the current manifest does not name is a stray of a killed
writer and is ignored.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

from gdb.base import digests
from gdb.errors import NotAStore, StoreError, StoreVersionError
from gdb.records import dataclass, quick, replace

from ..columns.model import Kind
from ..disk.checksum import DIGEST_BYTES, LARGE_DIGITS, digest
from ..disk.file_names import SEGMENT_NAME, looks_like_store
from ..disk.files import MANIFEST, Files
from . import manifest_checks
from .direction import Direction
from .invariants import MANIFEST_SEAL, MANIFEST_TEXT, Contradiction, Fails
from .json_fields import Fields, Json
from .manifest_head import (
    FORMAT,
    HEAD,
    JOURNAL_FROM,
    MAGIC,
    MOST_BYTES,
    MOST_VERSION,
    SECTOR,
    length_in,
    most_bytes,
)
from .section_owners import format_of, has_large_files
from .segment import FileRecord, Inside, damaged

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@quick
@dataclass(frozen=True, slots=True)
class ColumnRecord:
    """A column's kind and the numbers of its sections in the file of its owner; -1 = none."""

    kind: Kind
    values: int
    offsets: int
    valid: int


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A vertex group: see `gdb.storage.graph.snapshot.VertexGroup`. `file` holds ids and columns."""

    labels: tuple[str, ...]
    id_space: str
    ranges: tuple[tuple[int, int], ...]
    file: int
    ids: ColumnRecord
    columns: dict[str, ColumnRecord]


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A piece of a part: its first section (of five), and the rows and positions that it covers.

    A long row may begin in one segment and go on in the next: then the next one's first row is the
    last row of this one.
    """

    file: int
    section: int
    first_row: int
    rows: int
    first_edge: int
    edges: int


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One direction of an edge-label partition; `--` is that of an undirected type."""

    direction: Direction
    rows: int
    edges: int
    intervals: int
    simple: bool
    loops: bool
    max_degree: int
    bytes: int
    segments: tuple[SegmentRecord, ...]


@dataclass(frozen=True, slots=True)
class TypeRecord:
    """An edge type. `file` holds its columns, -1 where it has none."""

    name: str
    directed: bool
    first_eid: int
    edge_count: int
    parts: tuple[PartRecord, ...]
    file: int
    columns: dict[str, ColumnRecord]


@dataclass(frozen=True, slots=True)
class SpaceRecord:
    """An id space and the sorted index of its ids (two sections)."""

    name: str
    kind: Kind
    count: int
    file: int
    section: int


@quick
@dataclass(frozen=True, slots=True)
class PatchRecord:
    """New values of a property: the section of their rows, how many they are, and their column."""

    rows: int
    count: int
    column: ColumnRecord


@quick
@dataclass(frozen=True, slots=True)
class AddedVertices:
    """Vertices of one group that were added: see `gdb.storage.graph.delta.NewVertices`."""

    labels: tuple[str, ...]
    id_space: str
    ranges: tuple[tuple[int, int], ...]
    ids: ColumnRecord
    columns: dict[str, ColumnRecord]


@quick
@dataclass(frozen=True, slots=True)
class AddedEdges:
    """Changes of one edge type: see `gdb.storage.graph.delta.TypeDelta`; `keys` and `removed` are sections."""

    name: str
    directed: bool
    keys: int
    count: int
    columns: dict[str, ColumnRecord]
    removed: int
    removed_count: int
    patches: dict[str, PatchRecord]


@quick
@dataclass(frozen=True, slots=True)
class DeltaRecord:
    """What was changed since the base was written: see `gdb.storage.graph.delta`. All its sections are in one file.

    file : the last of the manifest's, or the number after it: the segment in the manifest itself.
    vertices : vids that it adds after those of the base. dead : section of the vids that are no more.
    patches : group of the base -> property -> new values.
    """

    file: int
    vertices: int
    dead: int
    dead_count: int
    added: tuple[AddedVertices, ...]
    patches: dict[int, dict[str, PatchRecord]]
    types: tuple[AddedEdges, ...]


@quick
@dataclass(frozen=True, slots=True)
class Manifest:
    """All that a snapshot needs to know before it opens a file; all but `delta` and `inline` describes the base.

    inline : the sections of a small delta, None: it has a file of its own.
    journal : whether records may follow it, see `gdb.storage.format.journal`.
    packed : the base is written with packed sections, now and whenever it is written anew.
    """

    version: int = 0
    vertex_count: int = 0
    edge_count: int = 0
    files: tuple[FileRecord, ...] = ()
    groups: tuple[GroupRecord, ...] = ()
    types: tuple[TypeRecord, ...] = ()
    spaces: tuple[SpaceRecord, ...] = ()
    delta: DeltaRecord | None = None
    inline: Inside | None = None
    journal: bool = False
    packed: bool = False

    @property
    def base_files(self) -> tuple[FileRecord, ...]:
        """The files without that of a delta."""
        return self.files if self.delta is None else self.files[: self.delta.file]

    def length_of(self, file: int) -> int:
        """The bytes of a file, by its number; Fails where there is none."""
        if file == len(self.files) and self.inline is not None:
            return len(self.inline.bytes)
        if not 0 <= file < len(self.files):
            raise Fails(f"there is no file {file}")
        return self.files[file].length

    def name_of(self, file: int) -> str:
        """The name of a file, by its number."""
        return self.files[file].name if file < len(self.files) else MANIFEST


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest file: head, JSON body, the segment inside, BLAKE2b-128 of all. Whole sectors where
    records may follow."""
    members = {name: getattr(manifest, name) for name in _OWN}
    if manifest.packed:  # what is not says nothing, as in the formats before
        members["packed"] = True
    if manifest.delta is not None:
        members["delta"] = manifest.delta
    body = f"{JSON.encode(members)[:-1]},{_base_text(manifest)[1:]}".encode()
    inline = b"" if manifest.inline is None else manifest.inline.bytes
    sectors = 0
    if manifest.journal:
        size = HEAD.size + len(body) + len(inline) + DIGEST_BYTES
        sectors = -(-size // SECTOR)
        body += b" " * (sectors * SECTOR - size)
    sealed = HEAD.pack(MAGIC, format_of(manifest), sectors, len(body)) + body + inline
    if len(sealed) + DIGEST_BYTES > MOST_BYTES:
        raise StoreError(
            f"The store would have a manifest of {len(sealed):,} bytes, more than {MOST_BYTES:,}.",
            "Have fewer labels, types, properties and id spaces: a value that differs from node to node is no name.",
        )
    return sealed + digest(sealed)


def _members(record: DataclassInstance) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


_OWN = ("version", "vertex_count", "edge_count", "files")
_BASE = ("groups", "types", "spaces")
_last: tuple[list[object], str] = ([], "")  # members of a base, and their text


def _base_text(manifest: Manifest) -> str:
    """The members that only a new base changes, as JSON; kept from commit to commit."""
    global _last
    members = [getattr(manifest, name) for name in _BASE]
    known, text = _last
    if len(known) != len(members) or any(a is not b for a, b in zip(known, members, strict=True)):
        text = JSON.encode(dict(zip(_BASE, members, strict=True)))
        _last = members, text
    return text


JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_members)


def decode(raw: bytes, where: str) -> Manifest:
    """The manifest in the bytes of a manifest file; records behind it are not looked at.

    Raises
    ------
    CorruptStore : the bytes are not what was written, or contradict themselves.
    StoreVersionError : they are of a newer format.
    """
    raw = raw[: length_in(raw)]
    sealed, seal = raw[:-DIGEST_BYTES], raw[-DIGEST_BYTES:]
    if len(sealed) < HEAD.size or digest(sealed) != seal:
        raise damaged(
            where, MANIFEST, "does not hold the bytes that were committed", MANIFEST_SEAL.name
        )
    magic, version, sectors, length = HEAD.unpack_from(sealed)
    if magic != MAGIC:
        raise damaged(where, MANIFEST, "is not a manifest", MANIFEST_TEXT.name)
    if version > FORMAT:  # every format keeps head and seal, so that this is no guess
        raise StoreVersionError(
            f"The store {where} has format {version}; this gdb reads up to format {FORMAT}.",
            "Install a newer gdb-embedded.",
        )
    body, inline = sealed[HEAD.size : HEAD.size + length], sealed[HEAD.size + length :]
    known = 1 <= version <= FORMAT and (version >= JOURNAL_FROM or not sectors)
    if not known or len(body) < length or (inline and version == 1):
        raise damaged(where, MANIFEST, "has no valid head", MANIFEST_TEXT.name)
    try:
        held = Inside(raw=inline) if inline else None
        found = replace(_manifest(_Fields(cast(Json, json.loads(body))), held), journal=sectors > 0)
        if version == 1 and found.delta is not None:
            raise ValueError("a delta in format 1")
        if version < 5 and has_large_files(found):
            raise ValueError(f"a checksum of {LARGE_DIGITS} digits in format {version}")
        if version < 3 <= format_of(replace(found, packed=False)):
            raise ValueError(f"values of any type in format {version}")
        if version < 4 and found.packed:
            raise ValueError(f"packed sections in format {version}")
    except (ValueError, RecursionError) as error:
        raise damaged(
            where, MANIFEST, f"cannot be understood ({error})", MANIFEST_TEXT.name
        ) from None
    try:
        manifest_checks.in_manifest(found)
    except Contradiction as error:
        how = f"contradicts itself ({error})"
        raise damaged(where, MANIFEST, how, error.invariant) from None
    return found


def read(files: Files) -> tuple[bytes, Manifest]:
    """The current manifest and its bytes.

    Raises
    ------
    NotAStore : the folder has no manifest and nothing else of a store.
    CorruptStore : the manifest is missing beside segments, or damaged.
    """
    try:
        raw = files.read(MANIFEST, most_bytes)
    except FileNotFoundError:
        if looks_like_store(files.names()):
            raise damaged(files.where, MANIFEST, "is missing", MANIFEST_SEAL.name) from None
        raise NotAStore(
            f"The folder {files.where} is no store of gdb: it has no file {MANIFEST}.",
            "Give the folder of a store, or a new name to create one.",
        ) from None
    return raw, decode(raw, files.where)


def commit(files: Files, manifest: Manifest, *, new_names: bool = True) -> bytes:
    """Make `manifest` the current one; its files must have been written and synced. Its bytes.

    new_names : whether it names a file that the current one does not.
    """
    raw = encode(manifest)
    name = f"manifest-{manifest.version:08d}-{digests.token_hex(4)}.tmp"
    out = files.create(name)
    try:
        out.write(raw)
        out.fsync()  # protects the manifest's bytes: a rename may reach the disk before them
    finally:
        out.close()
    if new_names:
        files.fsync_dir()  # protects the names of the segments before they are needed
    files.rename(name, MANIFEST)
    files.fsync_dir()  # protects the switch itself: after this success may be reported
    return raw


class _Fields(Fields):
    """The members that only a manifest has."""

    __slots__ = ()

    def columns(self, key: str) -> dict[str, ColumnRecord]:
        found = self.get(key, dict)
        "".join(found).encode("utf-8")  # a key with half a character could not be shown
        return {name: _column(_Fields(value)) for name, value in found.items()}

    def patches_here(self) -> dict[str, PatchRecord]:
        """All members, as patches."""
        return {
            key: PatchRecord(at.number("rows"), at.number("count"), _column(at.one("column")))
            for key, at in self.all().items()
        }

    def ranges(self, key: str) -> tuple[tuple[int, int], ...]:
        found = []
        for value in self.get(key, list):
            match value:
                case [int(start), int(stop)] if 0 <= start < stop < 1 << 32:
                    found.append((start, stop))
                case _:
                    raise ValueError(f"{key} is out of range")
        return tuple(found)


def _manifest(at: _Fields, inline: Inside | None) -> Manifest:
    return Manifest(
        version=at.number("version", below=MOST_VERSION),
        vertex_count=at.number("vertex_count"),
        edge_count=at.number("edge_count"),
        files=at.each("files", _file),
        groups=at.each("groups", _group),
        types=at.each("types", _type),
        spaces=at.each("spaces", _space),
        delta=_delta(at.one("delta")) if at.has("delta") else None,
        inline=inline,
        packed=at.has("packed") and at.flag("packed"),
    )


def delta_of(text: bytes) -> DeltaRecord:
    """The delta that a JSON text describes; ValueError where it is none."""
    return _delta(_Fields(cast(Json, json.loads(text))))


def _delta(at: _Fields) -> DeltaRecord:
    return DeltaRecord(
        file=at.number("file"),
        vertices=at.number("vertices"),
        dead=at.number("dead"),
        dead_count=at.number("dead_count"),
        added=at.each("added", _added_vertices),
        patches={_group_number(k): v.patches_here() for k, v in at.named("patches").items()},
        types=at.each("types", _added_edges),
    )


def _group_number(key: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]{0,9}", key):  # int() takes more than is written
        raise ValueError(f"{key!r} is no number of a group")
    return int(key)


def _added_vertices(at: _Fields) -> AddedVertices:
    return AddedVertices(
        labels=at.texts("labels"),
        id_space=at.text("id_space"),
        ranges=at.ranges("ranges"),
        ids=_column(at.one("ids")),
        columns=at.columns("columns"),
    )


def _added_edges(at: _Fields) -> AddedEdges:
    return AddedEdges(
        name=at.text("name"),
        directed=at.flag("directed"),
        keys=at.number("keys"),
        count=at.number("count"),
        columns=at.columns("columns"),
        removed=at.number("removed"),
        removed_count=at.number("removed_count"),
        patches=at.one("patches").patches_here(),
    )


def _file(at: _Fields) -> FileRecord:
    name = at.text("name")
    if not SEGMENT_NAME.fullmatch(name):  # a name is never a way out of the folder
        raise ValueError("a file has an impossible name")
    return FileRecord(name, at.number("length"), at.text("digest"))


def _column(at: _Fields) -> ColumnRecord:
    return ColumnRecord(
        at.kind("kind"), at.number("values"), at.number("offsets", -1), at.number("valid", -1)
    )


def _group(at: _Fields) -> GroupRecord:
    return GroupRecord(
        labels=at.texts("labels"),
        id_space=at.text("id_space"),
        ranges=at.ranges("ranges"),
        file=at.number("file"),
        ids=_column(at.one("ids")),
        columns=at.columns("columns"),
    )


def _segment(at: _Fields) -> SegmentRecord:
    members = ("file", "section", "first_row", "rows", "first_edge", "edges")
    return SegmentRecord(*map(at.number, members))


def _part(at: _Fields) -> PartRecord:
    return PartRecord(
        direction=Direction(at.text("direction")),
        rows=at.number("rows"),
        edges=at.number("edges"),
        intervals=at.number("intervals"),
        simple=at.flag("simple"),
        loops=at.flag("loops"),
        max_degree=at.number("max_degree"),
        bytes=at.number("bytes"),
        segments=at.each("segments", _segment),
    )


def _type(at: _Fields) -> TypeRecord:
    return TypeRecord(
        name=at.text("name"),
        directed=at.flag("directed"),
        first_eid=at.number("first_eid"),
        edge_count=at.number("edge_count"),
        parts=at.each("parts", _part),
        file=at.number("file", -1),
        columns=at.columns("columns"),
    )


def _space(at: _Fields) -> SpaceRecord:
    where = map(at.number, ("count", "file", "section"))
    return SpaceRecord(at.text("name"), at.kind("kind"), *where)

"""A store taken apart and sealed again: whatever its numbers say, its checksums verify.

Written from docs/FORMAT.md with struct and json alone, so that no check of `gdb.storage` comes between a
test and the nonsense that it wants to write.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Path_: TypeAlias = tuple[str | int, ...]  # the members on the way to a value of the body

MANIFEST = "MANIFEST"
HEAD = struct.Struct("<8sIIQ")  # of the manifest: magic, format, 0, length of the body
HEADER = struct.Struct("<8sIIQ40x")  # of a segment file: magic, format, sections, length
ENTRY = struct.Struct("<IIQQI4x")  # kind, bytes per item, offset, length, code


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a file's table of sections."""

    kind: int
    item: int
    offset: int
    length: int
    code: int


def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def body_of(folder: Path) -> Json:
    """The JSON of the manifest."""
    raw = (folder / MANIFEST).read_bytes()
    found: Json = json.loads(raw[HEAD.size : HEAD.size + HEAD.unpack_from(raw)[3]])
    return found


def inside_of(folder: Path) -> bytes:
    """The segment file that lies in the manifest; b"" where there is none."""
    raw = (folder / MANIFEST).read_bytes()
    return raw[HEAD.size + HEAD.unpack_from(raw)[3] : -16]


def segments(folder: Path) -> list[tuple[str, bytes]]:
    """All segment files and their bytes; the one in the manifest goes by the manifest's name."""
    found = [(path.name, path.read_bytes()) for path in sorted(folder.glob("seg-*"))]
    inside = inside_of(folder)
    return [*found, (MANIFEST, inside)] if inside else found


def name_of(body: Json, file: int) -> str:
    """The name of a file, by its number in the manifest."""
    files = list_at(body, ("files",))
    return MANIFEST if file == len(files) else str(value_at(files[file], ("name",)))


def format_of(folder: Path) -> int:
    """The format that the manifest says."""
    return int(HEAD.unpack_from((folder / MANIFEST).read_bytes())[1])


def seal(folder: Path, body: bytes, head: bytes | None = None, inside: bytes | None = None) -> None:
    """Make `body` the manifest's, under a checksum that fits; with the head and the segment that it has, or others."""
    inside = inside_of(folder) if inside is None else inside
    sealed = (head or HEAD.pack(b"gdb.man\n", format_of(folder), 0, len(body))) + body + inside
    (folder / MANIFEST).write_bytes(sealed + digest(sealed))


def seal_json(folder: Path, body: Json, inside: bytes | None = None) -> None:
    text = json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()
    seal(folder, text, inside=inside)


def seal_file(folder: Path, name: str, content: bytes) -> None:
    """Write other bytes into a segment file, and pin them in the manifest."""
    if name == MANIFEST:
        seal_json(folder, body_of(folder), content)
        return
    (folder / name).write_bytes(content)
    body = body_of(folder)
    assert isinstance(body, dict)
    assert isinstance(body["files"], list)
    for record in body["files"]:
        assert isinstance(record, dict)
        if record["name"] == name:
            record["length"], record["digest"] = len(content), digest(content).hex()
    seal_json(folder, body)


def entries(content: bytes) -> list[Entry]:
    """The table of sections of a segment file."""
    count = HEADER.unpack_from(content)[2]
    return [Entry(*ENTRY.unpack_from(content, HEADER.size + n * ENTRY.size)) for n in range(count)]


def places(value: Json, at: Path_ = ()) -> Iterator[tuple[Path_, Json]]:
    """Every value of a JSON text that holds no others, and the way to it."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*at, key))
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from places(member, (*at, number))
    else:
        yield at, value


def value_at(body: Json, at: Path_) -> Json:
    """The value at one place."""
    for step in at:
        if isinstance(body, dict) and isinstance(step, str):
            body = body[step]
        else:
            assert isinstance(body, list)
            assert isinstance(step, int)
            body = body[step]
    return body


def list_at(body: Json, at: Path_) -> list[Json]:
    """The list at one place."""
    found = value_at(body, at)
    assert isinstance(found, list)
    return found


def changed(body: Json, at: Path_, value: Json) -> Json:
    """A copy of the body with another value at one place."""
    if not at:
        return value
    step = at[0]
    if isinstance(body, dict) and isinstance(step, str):
        return {k: changed(v, at[1:], value) if k == step else v for k, v in body.items()}
    assert isinstance(body, list)
    return [changed(v, at[1:], value) if n == step else v for n, v in enumerate(body)]


def without(body: Json, at: Path_) -> Json:
    """A copy of the body that lacks one member."""
    step, rest = at[0], at[1:]
    if isinstance(body, dict) and isinstance(step, str):
        if not rest:
            return {k: v for k, v in body.items() if k != step}
        return {k: without(v, rest) if k == step else v for k, v in body.items()}
    assert isinstance(body, list)
    if not rest:
        return [v for n, v in enumerate(body) if n != step]
    return [without(v, rest) if n == step else v for n, v in enumerate(body)]


def restore(base: Path, work: Path) -> None:
    """Make `work` a fresh copy of `base`."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work)

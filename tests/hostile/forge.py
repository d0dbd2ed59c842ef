"""Forged stores: an honest store with some numbers, names and bytes of it changed, under checksums that are right.

Written from docs/FORMAT.md, as `tests.corrupt.sealed`; what that lacks are the records of a journal.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np

import gdb
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.write import commit
from gdb.storage.write.store import Store
from tests.corrupt import sealed, stores
from tests.corrupt.broken import rebuilt
from tests.corrupt.sealed import ENTRY, HEAD, HEADER, Json, Path_
from tests.support.graph_tables import GraphTables, write_graph

SECTOR, SEAL = 512, 16
PACKED_DELTA, LARGE = "a packed base and a delta", "a large packed base"
KINDS = (*stores.STORES, PACKED_DELTA, LARGE)


# ---- honest ones -----------------------------------------------------------------------------------------


def write(folder: Path, kind: str, seed: int = 1) -> None:
    """Write an honest store of one of `KINDS`."""
    if kind == PACKED_DELTA:
        stores.write(folder, seed, name=stores.PACKED)
        with (
            patch.object(commit, "MOST_INLINE", 0),
            gdb.connect(folder) as db,
            db.transaction() as tx,
        ):
            stores._change(tx, stores.graph(seed))
    elif kind == LARGE:
        store = Store.open(folder, create=True)
        write_graph(store, _large(seed), packed=True)
        store.close()
    else:
        stores.write(folder, seed, name=kind)


def _large(seed: int) -> GraphTables:
    """What packs well: bytes that say much more when they are unpacked."""
    count = 60_000
    ends = np.arange(2 * count, dtype=np.int64) % count
    columns = {key: Column("int64", np.full(count, seed)) for key in ("age", "size")}
    people = VertexTable(("Person",), "", np.arange(count) * 3 + 10, columns)
    weight = {"since": Column("int64", np.full(2 * count, 1960))}
    return GraphTables(
        (people,), (EdgeTable("KNOWS", True, ends, (ends + 1 + ends // 2) % count, weight),)
    )


# ---- a store taken apart ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Parts:
    """A store: its manifest, the segment inside that, the payloads of the records behind it, and its files, each by its
    name in the manifest."""

    format: int
    sectors: int
    body: Json
    inside: bytes
    records: list[bytes]
    files: dict[str, bytes]
    head: dict[str, int] = field(default_factory=dict)  # other values of the head's members

    @classmethod
    def read(cls, folder: Path) -> Parts:
        raw = (folder / "MANIFEST").read_bytes()
        _, version, sectors, length = HEAD.unpack_from(raw)
        end = sectors * SECTOR if sectors else len(raw)
        body = json.loads(raw[HEAD.size : HEAD.size + length])
        inside = raw[HEAD.size + length : end - SEAL]
        files = {path.name: path.read_bytes() for path in sorted(folder.glob("seg-*"))}
        return cls(version, sectors, body, inside, list(_payloads(raw[end:])), files)

    def write(self, folder: Path) -> None:
        """Under checksums that are right."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        pinned = sealed.value_at(self.body, ("files",)) if _has(self.body, "files") else []
        for record in pinned if isinstance(pinned, list) else []:
            kept = self.files.get(str(record.get("name"))) if isinstance(record, dict) else None
            if kept is not None:
                assert isinstance(record, dict)
                record["digest"] = sealed.digest(kept).hex()
                record.setdefault("length", len(kept))
        body = json.dumps(self.body, separators=(",", ":")).encode()
        sectors = 0
        if self.sectors:
            size = HEAD.size + len(body) + len(self.inside) + SEAL
            sectors = -(-size // SECTOR)
            body += b" " * (sectors * SECTOR - size)
        told = {"format": self.format, "sectors": sectors, "length": len(body)} | self.head
        raw = HEAD.pack(b"gdb.man\n", told["format"], told["sectors"], told["length"]) + body
        raw += self.inside
        raw += sealed.digest(raw)
        for number, payload in enumerate(self.records, 1):
            raw = _sealed(raw, payload, number)
        (folder / "MANIFEST").write_bytes(raw + bytes(SECTOR if self.sectors else 0))


def _payloads(raw: bytes) -> list[bytes]:
    found, at = list[bytes](), 0
    while at + SECTOR <= len(raw) and any(raw[at : at + SECTOR]):
        (count,) = struct.unpack_from("<I", raw, at + 4)
        inside = [raw[k + 4 : k + SECTOR - SEAL] for k in range(at, at + count * SECTOR, SECTOR)]
        found.append(b"".join(inside))
        at += count * SECTOR
    return found


def _sealed(raw: bytes, payload: bytes, number: int) -> bytes:
    size = SECTOR - SEAL - 4
    for at in range(0, max(len(payload), 1), size):
        raw += struct.pack("<I", number) + payload[at : at + size].ljust(size, b"\0")
        raw += sealed.digest(raw)
    return raw


def _has(body: Json, key: str) -> bool:
    return isinstance(body, dict) and key in body


# ---- changes of it ---------------------------------------------------------------------------------------

NUMBERS = (
    *(0, 1, 2, 3, -1, 4, 5, 39, 40, 41, 63, 64, 127, 128, 254, 255, 256, 299, 300, 600, 4095, 4096),
    *(65535, 65536, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, 1 << 40),
    *((1 << 48) - 1, 1 << 48, 1 << 53, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64),
)
TEXTS = (
    *("", "a", "x" * 5000, "\0", "\n", "ä", "\ud800", "`", "'", "->", "<-", "--", "int64", "any"),
    *("float64", "string", "bool", "date", "datetime", "duration", "int64[]", "string[]", "bool[]"),
    *("../../etc/passwd", "seg-00000001-0000-00000000.gdb", "Person", "age", "KNOWS", ":ID"),
)

Change = Callable[[Parts, Parts, random.Random], str]


def _other(value: Json, rng: random.Random) -> Json:
    """A value in the place of another, mostly of its type."""
    if rng.random() < 0.05:
        any_: tuple[Json, ...] = (None, True, 1.5, [], {}, "x", 7, [[]], float("1e300"))
        return rng.choice(any_)
    match value:
        case bool():
            return not value
        case int():
            return rng.choice((value + rng.choice((-1, 1, 2, -2, 64)), rng.choice(NUMBERS)))
        case str():
            return rng.choice(TEXTS)
        case _:
            return rng.choice(NUMBERS)


def _member(parts: Parts, other: Parts, rng: random.Random) -> str:
    at, value = rng.choice(list(sealed.places(parts.body)))
    changed = _other(value, rng)
    parts.body = sealed.changed(parts.body, at, changed)
    return f"{at}: {value!r:.40} -> {changed!r:.40}"


def _members_alike(parts: Parts, other: Parts, rng: random.Random) -> str:
    """The same number in several places: what one check compares with the other."""
    found = [(at, value) for at, value in sealed.places(parts.body) if type(value) is int]
    _, old = rng.choice(found)
    new = rng.choice((old + 1, old - 1, old * 2, rng.choice(NUMBERS)))
    for at, value in found:
        if value == old:
            parts.body = sealed.changed(parts.body, at, new)
    return f"every {old} -> {new}"


def _lists(value: Json, at: Path_ = ()) -> list[Path_]:
    found: list[Path_] = []
    if isinstance(value, (dict, list)) and value and at:
        found.append(at)
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, member in members:
        found += _lists(member, (*at, key))
    return found


def _tree(parts: Parts, other: Parts, rng: random.Random) -> str:
    """A list or an object that is cut, doubled, turned round, taken from elsewhere or left out."""
    at = rng.choice(_lists(parts.body))
    value = sealed.value_at(parts.body, at)
    how = rng.choice(("cut", "doubled", "turned", "of another", "out", "elsewhere"))
    if how == "out":
        parts.body = sealed.without(parts.body, at)
        return f"{at} left out"
    if how == "elsewhere":
        value = sealed.value_at(parts.body, rng.choice(_lists(parts.body)))
    elif how == "of another":
        try:
            value = sealed.value_at(other.body, at)
        except (KeyError, IndexError, AssertionError):
            value = []
    elif isinstance(value, list):
        value = {"cut": value[:-1], "doubled": value + value[-1:], "turned": value[::-1]}[how]
    elif isinstance(value, dict):
        items = list(value.items())
        few = {"cut": items[:-1], "turned": items[::-1]}
        value = dict(few.get(how, [*items, *((f"{key}2", one) for key, one in items)]))
    parts.body = sealed.changed(parts.body, at, json.loads(json.dumps(value)))
    return f"{at} {how}"


def _segments(parts: Parts) -> list[str]:
    return [*parts.files, *(["inside"] if parts.inside else [])]


def _content(parts: Parts, name: str) -> bytes:
    return parts.inside if name == "inside" else parts.files[name]


def _put(parts: Parts, name: str, content: bytes) -> None:
    if name == "inside":
        parts.inside = content
        return
    if len(content) != len(parts.files[name]):
        for record in sealed.list_at(parts.body, ("files",)):
            if isinstance(record, dict) and record.get("name") == name:
                record["length"] = len(content)
    parts.files[name] = content


def _table(parts: Parts, other: Parts, rng: random.Random) -> str:
    """A number of a header or of a table of sections."""
    if not _segments(parts):
        return _member(parts, other, rng)
    name = rng.choice(_segments(parts))
    content = bytearray(_content(parts, name))
    if rng.random() < 0.2:
        at, code = rng.choice(((8, "<I"), (12, "<I"), (16, "<Q"), (24, "<Q")))
    else:
        entry = rng.randrange(max(HEADER.unpack_from(content)[2], 1))
        place, code = rng.choice(
            ((0, "<I"), (4, "<I"), (8, "<Q"), (16, "<Q"), (24, "<I"), (28, "<I"))
        )
        at = HEADER.size + entry * ENTRY.size + place
    (old,) = struct.unpack_from(code, content, at)
    new = rng.choice((old + 1, old - 1, old + 64, rng.choice(NUMBERS))) % (
        1 << (32, 64)[code == "<Q"]
    )
    struct.pack_into(code, content, at, new)
    _put(parts, name, bytes(content))
    return f"{name[:12]} at {at}: {old} -> {new}"


def _item(parts: Parts, other: Parts, rng: random.Random) -> str:
    """An item of a section."""
    if not _segments(parts):
        return _member(parts, other, rng)
    name = rng.choice(_segments(parts))
    content = bytearray(_content(parts, name))
    full = [entry for entry in sealed.entries(bytes(content)) if entry.length]
    if not full:
        return _member(parts, other, rng)
    entry = rng.choice(full)
    size = 8 if entry.code else entry.item
    count = entry.length // size
    at = rng.choice((0, count - 1, rng.randrange(count), min(rng.randrange(8), count - 1)))
    place = entry.offset + at * size
    old = int.from_bytes(content[place : place + size], "little")
    near = rng.choice((-1, 1, 2, 40, 64, 128))
    new = rng.choice(
        (old + near, rng.choice(NUMBERS), rng.getrandbits(64), old ^ 1 << rng.randrange(8 * size))
    )
    content[place : place + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    _put(parts, name, bytes(content))
    return f"{name[:12]} kind {entry.kind} code {entry.code} item {at}: {old} -> {new}"


def _section(parts: Parts, other: Parts, rng: random.Random) -> str:
    """A section that is cut, longer, turned round, of zeros, or another of its file's."""
    if not _segments(parts):
        return _member(parts, other, rng)
    name = rng.choice(_segments(parts))
    content = _content(parts, name)
    table = sealed.entries(content)
    number = rng.randrange(len(table))
    entry = table[number]
    raw = content[entry.offset : entry.offset + entry.length]
    size = 8 if entry.code else entry.item
    like = [one for one in table if one.item == entry.item]
    fellow = rng.choice(like)
    items = [raw[at : at + size] for at in range(0, len(raw), size)]
    rng.shuffle(items)
    how = rng.choice(("cut", "empty", "longer", "doubled", "zeros", "ones", "fellow", "shuffled"))
    changed = {
        "cut": raw[: -size or None],
        "empty": b"",
        "longer": raw + rng.choice((bytes(size), b"\xff" * size, raw[:size])),
        "doubled": raw + raw,
        "zeros": bytes(len(raw)),
        "ones": b"\xff" * len(raw),
        "fellow": content[fellow.offset : fellow.offset + fellow.length],
        "shuffled": b"".join(items),
    }[how]
    _put(parts, name, rebuilt(content, {number: changed}))
    return f"{name[:12]} section {number} (kind {entry.kind}, code {entry.code}) {how}"


def _file(parts: Parts, other: Parts, rng: random.Random) -> str:
    """The content of another file, of this store or of another."""
    if not parts.files:
        return _member(parts, other, rng)
    name = rng.choice(list(parts.files))
    source = rng.choice([*parts.files.values(), *other.files.values(), parts.inside or b"", b""])
    _put(parts, name, source)
    return f"{name[:12]} is another file"


def _head(parts: Parts, other: Parts, rng: random.Random) -> str:
    member = rng.choice(("format", "sectors", "length"))
    width = 64 if member == "length" else 32
    parts.head[member] = rng.choice((*range(6), *NUMBERS)) % (1 << width)
    return f"head {member} = {parts.head[member]}"


def _record(parts: Parts, other: Parts, rng: random.Random) -> str:
    """A record that has other bytes, is gone, is there twice, or is of another store."""
    if not parts.records:
        return _item(parts, other, rng)
    number = rng.randrange(len(parts.records))
    payload = bytearray(parts.records[number])
    how = rng.choice(("number", "number", "number", "bytes", "gone", "twice", "other", "text"))
    if how == "gone":
        del parts.records[number]
    elif how == "twice":
        parts.records.insert(number, bytes(payload))
    elif how == "other" and other.records:
        parts.records[number] = rng.choice(other.records)
    elif how == "text":
        begin = payload.find(b"{")
        at = rng.randrange(begin, min(begin + 900, len(payload)))
        payload[at : at + 1] = rng.choice((b"9", b"[", b'"', b"0", b"}", b"-", b",", b"\xff"))
        parts.records[number] = bytes(payload)
    else:
        wide = rng.random() < 0.5
        size, most = (8, 16 + 40 * 8) if wide else (4, 16)
        at = rng.randrange(0, most, size) if how == "number" else rng.randrange(len(payload) - 8)
        value = rng.choice(NUMBERS) % (1 << 8 * size)
        payload[at : at + size] = value.to_bytes(size, "little")
        parts.records[number] = bytes(payload)
    return f"record {number}: {how}"


Mix = tuple[tuple[Change, int], ...]
ALL: Mix = (
    *((_member, 5), (_members_alike, 3), (_tree, 3), (_table, 3), (_item, 5), (_section, 4)),
    *((_file, 1), (_head, 1), (_record, 2)),
)
# what is compared only when it is touched: such stores are opened
TOUCHED: Mix = ((_item, 6), (_section, 2), (_record, 2))


def forge(base: Path, fellow: Path, work: Path, rng: random.Random) -> str:
    """Make `work` a forged copy of a store; what was changed. fellow : another store, to take things from."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work)
    parts, other = Parts.read(base), Parts.read(fellow)
    changes, weights = zip(*rng.choice((ALL, TOUCHED)), strict=True)
    told = []
    for change in rng.choices(changes, weights, k=rng.choice((1, 1, 1, 2, 3))):
        try:
            told.append(change(parts, other, rng))
        except (KeyError, IndexError, ValueError, TypeError, AssertionError, struct.error):
            told.append("nothing")  # what an earlier change left has no such place
    parts.write(work)
    return "; ".join(told)

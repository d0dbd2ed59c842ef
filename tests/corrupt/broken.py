"""For every invariant of `gdb.storage.checking.check` one store that breaks it, under checksums that fit where it is
not about these. Written from docs/FORMAT.md, as `tests.corrupt.sealed`."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.corrupt import damages, delta, sealed
from tests.corrupt.sealed import ENTRY, HEAD, HEADER, Entry, Json, Path_
from tests.corrupt.stores import BASE, INSIDE, JOURNAL, PACKED

PAGE, PAGE_FROM, SMALL = 4096, 65536, 64


@dataclass(frozen=True, slots=True)
class Broken:
    """name : of the invariant. store : which of `stores.STORES` is damaged. apply : does it."""

    name: str
    store: str
    apply: Callable[[Path], None]


def cases() -> tuple[Broken, ...]:
    """One for each invariant, in no order."""
    return (*_of_manifests(), *_of_files(), *_of_columns(), *_of_edges(), *_of_ids(), *_of_deltas())


# ---- ways to change a store ------------------------------------------------------------------------------


def body(*pairs: tuple[Path_, Json]) -> Callable[[Path], None]:
    """Other values at some places of the manifest."""

    def apply(folder: Path) -> None:
        found = sealed.body_of(folder)
        for at, value in pairs:
            found = sealed.changed(found, at, value)
        sealed.seal_json(folder, found)

    return apply


def more(at: Path_, by: int = 1) -> Callable[[Path], None]:
    """Another number at a place of the manifest."""
    return lambda folder: body((at, number(folder, at) + by))(folder)


def number(folder: Path, at: Path_) -> int:
    found = sealed.value_at(sealed.body_of(folder), at)
    assert isinstance(found, int)
    return found


def bytes_at(
    find: Callable[[Path], tuple[str, Entry]], at: int, raw: bytes
) -> Callable[[Path], None]:
    """Other bytes in a section; a place below 0 is counted from its end."""

    def apply(folder: Path) -> None:
        name, entry = find(folder)
        content = dict(sealed.segments(folder))[name]
        place = entry.offset + (at if at >= 0 else entry.length + at)
        sealed.seal_file(folder, name, content[:place] + raw + content[place + len(raw) :])

    return apply


def of_kind(kind: int, code: int = 0) -> Callable[[Path], tuple[str, Entry]]:
    """The first section of a kind that has anything in it."""

    def find(folder: Path) -> tuple[str, Entry]:
        for name, content in sealed.segments(folder):
            for entry in sealed.entries(content):
                if entry.kind == kind and entry.length and entry.code == code:
                    return name, entry
        raise AssertionError(f"no section of kind {kind}")

    return find


def of_column(*at: str | int) -> Callable[[Path], tuple[str, Entry]]:
    """The section that a place of the manifest names."""

    def find(folder: Path) -> tuple[str, Entry]:
        found = sealed.body_of(folder)
        owner = at[:1] if at[0] == "delta" else at[:2]
        name = sealed.name_of(found, number(folder, (*owner, "file")))
        return name, sealed.entries(dict(sealed.segments(folder))[name])[number(folder, at)]

    return find


def rebuilt(content: bytes, others: Mapping[int, bytes]) -> bytes:
    """A segment file with other bytes as some of its sections, laid out anew."""
    table = sealed.entries(content)
    magic, version, count, _ = HEADER.unpack_from(content)
    raws = [others.get(n, content[e.offset : e.offset + e.length]) for n, e in enumerate(table)]
    head, tail = b"", b""
    begin = at = HEADER.size + ENTRY.size * count
    for entry, raw in zip(table, raws, strict=True):
        alignment = PAGE if len(raw) >= PAGE_FROM else SMALL
        start = -(-at // alignment) * alignment
        head += ENTRY.pack(entry.kind, entry.item, start, len(raw), entry.code)
        tail = tail.ljust(start - begin, b"\0") + raw
        at = start + len(raw)
    return HEADER.pack(magic, version, count, at) + head + tail


def resized(
    find: Callable[[Path], tuple[str, Entry]], by: Callable[[bytes], bytes]
) -> Callable[[Path], None]:
    """Another content of a section, of any length."""

    def apply(folder: Path) -> None:
        name, entry = find(folder)
        content = dict(sealed.segments(folder))[name]
        place = sealed.entries(content).index(entry)
        other = by(content[entry.offset : entry.offset + entry.length])
        sealed.seal_file(folder, name, rebuilt(content, {place: other}))

    return apply


def unsealed(find: Callable[[Path], tuple[Path, int]]) -> Callable[[Path], None]:
    """One bit of a file turned round, whose checksum stays."""

    def apply(folder: Path) -> None:
        path, at = find(folder)
        raw = bytearray(path.read_bytes())
        raw[at] ^= 1
        path.write_bytes(raw)

    return apply


def sampled(kind: str, number: int = 0) -> Callable[[Path], None]:
    """One of the damages of a delta."""

    def apply(folder: Path) -> None:
        [one for one in delta.nonsense(folder) if one.kind == kind][number].apply(folder)

    return apply


# ---- the cases -------------------------------------------------------------------------------------------

FIRST: Path_ = ("types", 0, "parts", 0)  # KNOWS, forward
AGE: Path_ = ("groups", 0, "columns", "age")


def _of_manifests() -> tuple[Broken, ...]:
    return (
        Broken("manifest seal", BASE, unsealed(lambda folder: (folder / "MANIFEST", 99))),
        Broken("manifest text", BASE, body((("version",), "1"))),
        Broken("files", BASE, _one_name),
        Broken("vids", BASE, more(("vertex_count",))),
        Broken("groups", BASE, body((("groups", 0, "labels"), ["Young", "Person"]))),
        Broken("id spaces", BASE, more(("spaces", 0, "count"), -1)),
        Broken("column sections", BASE, body(((*AGE, "offsets"), 0))),
        Broken("edge ids", BASE, more(("types", 1, "first_eid"))),
        Broken("parts", BASE, body(((*FIRST, "direction"), "<-"))),
        Broken("segments", BASE, more((*FIRST, "segments", 1, "first_edge"))),
        Broken("delta", INSIDE, more(("delta", "vertices"))),
        Broken("room", BASE, body((("groups", 0, "file"), 99))),
        Broken("oldest format", BASE, _newer_format),
        Broken("versions", BASE, more(("version",), -1)),
        Broken("group order", BASE, _swapped_groups),
        Broken("journal", JOURNAL, unsealed(lambda f: (f / "MANIFEST", damages.ends_of_records(f)[0] + 9))),
        Broken("journal end", JOURNAL, unsealed(lambda f: (f / "MANIFEST", damages.ends_of_records(f)[-1] + 9))),
    )  # fmt: skip


def _one_name(folder: Path) -> None:
    name = sealed.value_at(sealed.body_of(folder), ("files", 0, "name"))
    body((("files", 1, "name"), name))(folder)


def _newer_format(folder: Path) -> None:
    text = sealed.json.dumps(sealed.body_of(folder)).encode()
    sealed.seal(folder, text, HEAD.pack(b"gdb.man\n", sealed.format_of(folder) + 1, 0, len(text)))


def _swapped_groups(folder: Path) -> None:
    one, other = sealed.list_at(sealed.body_of(folder), ("groups",))
    body((("groups",), [other, one]))(folder)


def _of_files() -> tuple[Broken, ...]:
    values = of_kind(16)
    return (
        Broken("checksums", BASE, unsealed(lambda f: (f / values(f)[0], values(f)[1].offset))),
        Broken("section tables", BASE, _in_header(16, b"\1")),
        Broken("section owners", BASE, body(((*AGE, "valid"), -1))),
        Broken("zeros", BASE, _in_header(40, b"\1")),
        Broken("packing", BASE, _in_header(8, b"\2")),
        Broken("sections", BASE, body(((*AGE, "values"), 99))),
        Broken("packed sections", PACKED, bytes_at(of_kind(16, 1), -8, b"\1")),
    )


def _in_header(at: int, raw: bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        name, content = sealed.segments(folder)[0]
        sealed.seal_file(folder, name, content[:at] + raw + content[at + len(raw) :])

    return apply


def _of_columns() -> tuple[Broken, ...]:
    name: Path_ = ("groups", 0, "columns", "name")
    return (
        Broken("column lengths", BASE, bytes_at(of_column(*name, "offsets"), -8, struct.pack("<q", 1))),
        Broken("validity", INSIDE, bytes_at(of_column("delta", "added", 0, "columns", "age", "valid"), 0, b"\xff")),
        Broken("times", INSIDE, _added("born", struct.pack("<i", 2932897))),
        Broken("offsets", BASE, bytes_at(of_column(*name, "offsets"), 24, struct.pack("<q", -1))),
        Broken("booleans", BASE, bytes_at(of_column("groups", 0, "columns", "tall", "values"), 0, b"\2")),
        Broken("texts", BASE, bytes_at(of_column(*name, "values"), 0, b"\xff")),
        Broken("any values", INSIDE, _added("free", b"Z")),
    )  # fmt: skip


def _added(key: str, raw: bytes) -> Callable[[Path], None]:
    """Another first value of a property of the first group of added vertices that has it."""

    def apply(folder: Path) -> None:
        for at, _ in sealed.places(sealed.body_of(folder)):
            if at[:2] == ("delta", "added") and at[3:] == ("columns", key, "values"):
                return bytes_at(of_column(*at), 0, raw)(folder)
        raise AssertionError(f"nothing added has the property {key}")

    return apply


def _of_edges() -> tuple[Broken, ...]:
    return (
        Broken("segment rows", BASE, bytes_at(of_kind(3), 0, b"\7")),
        Broken("intervals", BASE, more((*FIRST, "intervals"))),
        Broken("row lengths", BASE, more((*FIRST, "max_degree"))),
        Broken("ends exist", BASE, bytes_at(of_kind(5), 200, struct.pack("<I", 40))),
        Broken("rows ascend", BASE, bytes_at(of_kind(5), 0, struct.pack("<I", 39))),
        Broken("part flags", BASE, _other_loops),
        Broken("part bytes", BASE, more((*FIRST, "bytes"))),
        Broken("shortest runs", BASE, _two_runs),
        Broken("packed spans", PACKED, _wider_span),
        Broken("edges of --", BASE, _one_edge_more),
        Broken("both directions", BASE, _one_sided),
        Broken("live ends", INSIDE, sampled("edges of a vertex that is no more", 0)),
    )


def _other_loops(folder: Path) -> None:
    flag = sealed.value_at(sealed.body_of(folder), (*FIRST, "loops"))
    body(*((("types", 0, "parts", n, "loops"), not flag) for n in (0, 1)))(folder)


def _two_runs(folder: Path) -> None:
    """The first run of vids as two."""
    name, content, at = _segment(folder, 0)
    first, length = (_items(content, at + n) for n in (0, 1))
    assert length[0] > 1
    firsts = struct.pack(f"<{len(first) + 1}I", first[0], first[0] + 1, *first[1:])
    lengths = struct.pack(f"<{len(first) + 1}I", 1, length[0] - 1, *length[1:])
    sealed.seal_file(folder, name, rebuilt(content, {at: firsts, at + 1: lengths}))


def _segment(folder: Path, type_: int) -> tuple[str, bytes, int]:
    """The last segment of the first part of a type: its file, what that holds, and its first section."""
    at: Path_ = ("types", type_, "parts", 0, "segments")
    found = sealed.body_of(folder)
    place: Path_ = (*at, len(sealed.list_at(found, at)) - 1)
    name = sealed.name_of(found, number(folder, (*place, "file")))
    return name, dict(sealed.segments(folder))[name], number(folder, (*place, "section"))


def _items(content: bytes, section: int) -> list[int]:
    entry = sealed.entries(content)[section]
    return list(struct.unpack_from(f"<{entry.length // 4}I", content, entry.offset))


def _wider_span(folder: Path) -> None:
    """A packed section whose largest neighbour would be one more."""
    name, entry = of_kind(5, 2)(folder)
    content = dict(sealed.segments(folder))[name]
    (span,) = struct.unpack_from("<Q", content, entry.offset + 16)
    bytes_at(of_kind(5, 2), 16, struct.pack("<Q", span + 1))(folder)


def _one_edge_more(folder: Path) -> None:
    counts: tuple[Path_, ...] = (("types", 2, "edge_count"), ("edge_count",))
    body(*((at, number(folder, at) + 1) for at in counts))(folder)


def _one_sided(folder: Path) -> None:
    """The last edge of LIKES to the next vertex, for its source alone."""
    name, content, at = _segment(folder, 1)
    neighbours = _items(content, at + 4)
    neighbours[-1] += 1
    raw = struct.pack(f"<{len(neighbours)}I", *neighbours)
    sealed.seal_file(folder, name, rebuilt(content, {at + 4: raw}))


def _of_ids() -> tuple[Broken, ...]:
    vids = of_kind(33)
    return (
        Broken("index lengths", BASE, resized(vids, lambda raw: raw[:-4])),
        Broken("index vids", BASE, bytes_at(vids, 0, struct.pack("<I", 40))),
        Broken("index order", BASE, bytes_at(of_kind(32), 0, struct.pack("<q", 1 << 40))),
        Broken("index complete", BASE, resized(vids, lambda raw: raw[4:8] + raw[:4] + raw[8:])),
    )


def _of_deltas() -> tuple[Broken, ...]:
    return (
        Broken("delta lengths", INSIDE, more(("delta", "dead_count"))),
        Broken("dead vids", INSIDE, bytes_at(of_kind(48), 0, struct.pack("<I", 1 << 20))),
        Broken("patched rows", INSIDE, bytes_at(of_kind(49), 0, struct.pack("<q", -1))),
        Broken("ranks", INSIDE, bytes_at(of_kind(51), 0, struct.pack("<q", -1))),
        Broken("added edges", INSIDE, bytes_at(of_kind(50), 0, struct.pack("<Q", 1 << 63))),
        Broken("one kind", INSIDE, sampled("properties of other kinds than the base's")),
        Broken("new ids", INSIDE, sampled("an id twice")),
    )

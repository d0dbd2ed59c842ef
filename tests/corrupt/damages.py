"""Every damage that is tried on a store, by kind.

Three families. *Bytes* and *files*: what a disk, a file system or a person does; the checksums tell. *Nonsense*:
a number that contradicts the rest of the store, under checksums that fit; only the store's own rules tell.
What contradicts nothing is not tried, for no reader could see it: another property value, a validity bit, the
end of one string moved into the next, int64 read as float64, the texts of any read as strings.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

from tests.corrupt import delta, sealed
from tests.corrupt.damage import Damage, of_file, of_manifest
from tests.corrupt.sealed import ENTRY, HEAD, HEADER, Entry, Json

SAMPLED_BYTES = 10_000  # of the sections that hold data
# What a number of the manifest is replaced by, beside its neighbours and its double.
NUMBERS: tuple[Json, ...] = (
    0, 1, 7, -1, -2, 255, 256, 4096, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 62) - 1,
    1 << 62, (1 << 63) - 1, 1 << 63, 10**30, True, 1.5, 1e300, "1", "", None, [], {},
)  # fmt: skip
TEXTS: tuple[Json, ...] = (
    "",
    "x",
    "\ud800",
    "->",
    "<-",
    "--",
    "int64",
    "float64",
    "string",
    "bool",
    "any",
    5,
    None,
)
END_LOST = "the end of the journal lost"  # as by a power cut: the store is as it was earlier
INDEX_KINDS = {1: "interval index", 2: "interval index", 3: "row lengths", 4: "row lengths", 32: "id index",
               33: "id index"}  # fmt: skip


def all_damages(base: Path, stale: Path, seed: int) -> list[Damage]:
    """Every damage of the store `base`; `stale` is an older state of it. The same for the same seed."""
    rng = random.Random(seed)
    if ends_of_records(base):  # what lies before them is tried on the other stores
        return [*_bytes(base, rng), *_files(base, stale)]
    return [
        *_bytes(base, rng),
        *_files(base, stale),
        *_manifest_nonsense(base, rng),
        *_table_nonsense(base, rng),
        *_section_nonsense(base, rng),
        *(delta.nonsense(base) if delta.has_delta(sealed.body_of(base)) else ()),
    ]


def segments_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("seg-*"))


# ---- bytes ------------------------------------------------------------------------------------------


def _bytes(base: Path, rng: random.Random) -> Iterator[Damage]:
    raw = (base / "MANIFEST").read_bytes()
    records = min(ends_of_records(base), default=len(raw))
    for at in range(len(raw)):
        kind = "manifest, all bytes" if at < records else "journal, all bytes"
        yield _flip(kind, "MANIFEST", at, rng)
    data: list[tuple[str, int]] = []
    for name in segments_of(base):
        content = (base / name).read_bytes()
        table = sealed.entries(content)
        owner = ["padding"] * len(content)
        head = HEADER.size + ENTRY.size * len(table)
        owner[:head] = ["header and table of sections"] * head
        for entry in table:
            kind = INDEX_KINDS.get(entry.kind, "data")
            owner[entry.offset : entry.offset + entry.length] = [kind] * entry.length
        for at, kind in enumerate(owner):
            if kind == "data":
                data.append((name, at))
            else:
                yield _flip(f"{kind}, all bytes", name, at, rng)
    for _ in range(SAMPLED_BYTES):
        name, at = rng.choice(data)
        yield _flip("data, 10,000 bytes", name, at, rng)


def _flip(kind: str, name: str, at: int, rng: random.Random) -> Damage:
    mask = rng.choice((1, 2, 4, 8, 16, 32, 64, 128, 255, rng.randrange(1, 256)))

    def apply(folder: Path) -> None:
        with open(folder / name, "r+b") as file:
            file.seek(at)
            old = file.read(1)[0]
            file.seek(at)
            file.write(bytes((old ^ mask,)))

    return Damage(kind, f"{name}: byte {at} ^ {mask}", apply)


# ---- files ------------------------------------------------------------------------------------------


def _files(base: Path, stale: Path) -> Iterator[Damage]:
    names = ["MANIFEST", *segments_of(base)]
    older = ["MANIFEST", *segments_of(stale)]
    for name in names:
        length = (base / name).stat().st_size
        yield Damage("missing", name, lambda f, n=name: (f / n).unlink())
        ends = ends_of_records(base) if name == "MANIFEST" else []
        for size in sorted({*range(0, length, max(1, length // 40)), 1, 8, 24, 64, length - 1}):
            kind = END_LOST if ends and size >= ends[0] else "truncated"
            yield Damage(kind, f"{name} to {size}", lambda f, n=name, s=size: os.truncate(f / n, s))
        for size in (1, 16, 4096):
            yield Damage(
                "grown",
                f"{name} by {size}",
                lambda f, n=name, s=size + length: os.truncate(f / n, s),
            )
        for size in (512, 4096):
            for at in range(0, length, size):
                yield Damage(
                    END_LOST if _ends_in(ends, at, at + size) else "zeroed sector",
                    f"{name} at {at}",
                    lambda f, n=name, a=at, s=size: _zero(f / n, a, s),
                )
        for other in older:
            yield Damage(
                "stale but valid copy",
                f"{name} <- {other}",
                lambda f, n=name, o=other: (f / n).write_bytes((stale / o).read_bytes()),
            )
        for other in names:
            if name < other:
                yield Damage(
                    "swapped", f"{name} and {other}", lambda f, a=name, b=other: _swap(f, a, b)
                )
        yield Damage("a folder in its place", name, lambda f, n=name: _folder(f / n))
        yield Damage("a pipe in its place", name, lambda f, n=name: _pipe(f / n))
        yield Damage("a link to nowhere in its place", name, lambda f, n=name: _link(f / n))
    for name in ("writer.lock", "readers.lock"):
        yield Damage(
            "lock files", f"{name} missing", lambda f, n=name: (f / n).unlink(missing_ok=True)
        )
        yield Damage(
            "lock files", f"{name} rubbish", lambda f, n=name: (f / n).write_bytes(b"\xff" * 99)
        )


def ends_of_records(folder: Path) -> list[int]:
    """Where the manifest of a store with a journal ends, and each of its records; none where there are no records."""
    raw = (folder / "MANIFEST").read_bytes()
    ends = [512 * HEAD.unpack_from(raw)[2]]
    while 0 < ends[-1] < len(raw):
        ends.append(ends[-1] + 512 * struct.unpack_from("<I", raw, ends[-1] + 4)[0])
    return ends if len(ends) > 1 else []


def _ends_in(ends: list[int], start: int, stop: int) -> bool:
    """Whether nothing is left of the records behind the one in which lost bytes begin."""
    behind = [end for end in ends if end > start]
    return bool(ends) and start >= ends[0] and (stop >= ends[-1] or stop <= behind[0] == ends[-1])


def _zero(path: Path, at: int, size: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at : at + size] = bytes(len(raw[at : at + size]))
    path.write_bytes(raw)


def _swap(folder: Path, one: str, other: str) -> None:
    (folder / one).rename(folder / "spare")
    (folder / other).rename(folder / one)
    (folder / "spare").rename(folder / other)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


# ---- nonsense in the manifest -----------------------------------------------------------------------


def _manifest_nonsense(base: Path, rng: random.Random) -> Iterator[Damage]:
    body = sealed.body_of(base)
    numbers: list[sealed.Path_] = []
    for at, value in sealed.places(body):
        where = "/".join(map(str, at))
        if type(value) is int:
            numbers.append(at)
            tried = {repr(v): v for v in (*NUMBERS, value - 1, value + 1, 2 * value, value + 64)}
            tried.pop(repr(value), None)
            for other in tried.values():
                yield of_manifest(
                    "number in the manifest",
                    f"{where} = {other!r}",
                    sealed.changed(body, at, other),
                )
        elif type(value) is bool:
            # a type that only the delta has may as well be directed
            turned = at[:2] == ("delta", "types") and not value
            for other in (1, None) if turned else (not value, 1, None):
                yield of_manifest(
                    "flag in the manifest", f"{where} = {other!r}", sealed.changed(body, at, other)
                )
        elif (
            (at[0] != "delta" and at[-1] == "id_space")
            or at[-1] in ("kind", "direction", "digest")
            or at[0] == "files"
        ):
            for other in TEXTS:
                alike = {repr(other), repr(value)} == {"'int64'", "'float64'"}
                if other != value and not alike and (value, other) != ("any", "string"):
                    yield of_manifest(
                        "text in the manifest",
                        f"{where} = {other!r}",
                        sealed.changed(body, at, other),
                    )
        else:
            for other in ("\ud800", 5, None, []):  # another name is another graph, no contradiction
                yield of_manifest(
                    "text in the manifest", f"{where} = {other!r}", sealed.changed(body, at, other)
                )
        if "labels" not in at:  # fewer labels are another graph, no contradiction
            yield of_manifest("left out of the manifest", where, sealed.without(body, at))
    yield from _moved(body)
    for _ in range(1000):
        one, other = rng.sample(numbers, 2)
        values = [rng.choice((rng.choice(NUMBERS[:16]), rng.randrange(700))) for _ in range(2)]
        both = sealed.changed(sealed.changed(body, one, values[0]), other, values[1])
        # `version` alone contradicts nothing, and is no part of an answer
        yield of_manifest(
            "two numbers in the manifest", f"{one} = {values[0]}, {other} = {values[1]}", both
        )
    text = sealed.json.dumps(body).encode()
    for what, raw in {
        "empty": b"", "null": b"null", "a list": b"[]", "no members": b"{}", "cut": text[:-1],
        "two": text * 2, "deep": b"[" * 100_000, "not UTF-8": text.replace(b"KNOWS", b"\xff\xfe"),
        "long number": b"9" * 10_000, "NaN": text.replace(b'"version": 1', b'"version": NaN'),
    }.items():  # fmt: skip
        yield Damage("no JSON of ours in the manifest", what, lambda f, r=raw: sealed.seal(f, r))
    own = sealed.format_of(base)
    for field, head in {
        "magic": HEAD.pack(b"gdb.seg\n", own, 0, len(text)), "format 0": HEAD.pack(b"gdb.man\n", 0, 0, len(text)),
        "format 99": HEAD.pack(b"gdb.man\n", 99, 0, len(text)), "short": HEAD.pack(b"gdb.man\n", own, 0, 5),
        "long": HEAD.pack(b"gdb.man\n", own, 0, 1 << 60), "none": b"",
        "format 1": HEAD.pack(b"gdb.man\n", 1, 0, len(text)),
    }.items():  # fmt: skip
        yield Damage(
            "head of the manifest", field, lambda f, h=head: sealed.seal(f, text, h or b"x")
        )


def _moved(body: Json) -> Iterator[Damage]:
    """Records swapped, repeated and left out."""
    lists: list[sealed.Path_] = [
        ("files",),
        ("groups",),
        ("types",),
        ("spaces",),
        *delta.lists_of(body),
    ]
    for number in range(len(sealed.list_at(body, ("types",)))):
        parts: sealed.Path_ = ("types", number, "parts")
        lists.append(parts)
        lists += [(*parts, k, "segments") for k in range(len(sealed.list_at(body, parts)))]
    for at in lists:
        found = sealed.list_at(body, at)
        for n in range(len(found)):
            where = "/".join(map(str, at))
            less, twice = [*found[:n], *found[n + 1 :]], [*found[: n + 1], *found[n:]]
            yield of_manifest(
                "record left out, twice, moved",
                f"{where} without {n}",
                sealed.changed(body, at, less),
            )
            yield of_manifest(
                "record left out, twice, moved",
                f"{where} twice {n}",
                sealed.changed(body, at, twice),
            )
            if n:
                swapped = list(found)
                swapped[n - 1], swapped[n] = swapped[n], swapped[n - 1]
                yield of_manifest(
                    "record left out, twice, moved",
                    f"{where} swaps {n}",
                    sealed.changed(body, at, swapped),
                )


# ---- nonsense in segment files ----------------------------------------------------------------------


def _table_nonsense(base: Path, rng: random.Random) -> Iterator[Damage]:
    values = (0, 1, 2, 3, 5, 16, 17, 18, 32, 33, 64, 255, (1 << 31), (1 << 32) - 1)
    wide = (*values, 1 << 32, (1 << 63) - 64, 1 << 63, (1 << 64) - 64, (1 << 64) - 1)
    for name, content in sealed.segments(base):
        magic, version, count, length = HEADER.unpack_from(content)
        for value in (*values, count - 1, count + 1):
            if value != count:
                yield of_file(
                    "number in a header",
                    name,
                    content,
                    0,
                    HEADER.pack(magic, version, value, length),
                )
            if value != version:
                yield of_file(
                    "number in a header", name, content, 0, HEADER.pack(magic, value, count, length)
                )
        for value in (*wide, length - 1, length + 1):
            yield of_file(
                "number in a header", name, content, 0, HEADER.pack(magic, version, count, value)
            )
        yield of_file(
            "number in a header",
            name,
            content,
            0,
            HEADER.pack(b"gdb.man\n", version, count, length),
        )
        table = sealed.entries(content)
        for number, entry in enumerate(table):
            at = HEADER.size + number * ENTRY.size
            for changed in _entries(entry, table, values, wide, rng):
                packed = ENTRY.pack(
                    changed.kind, changed.item, changed.offset, changed.length, changed.code
                )
                yield of_file("number in a table of sections", name, content, at, packed)


def _entries(
    entry: Entry,
    table: list[Entry],
    narrow: tuple[int, ...],
    wide: tuple[int, ...],
    rng: random.Random,
) -> Iterator[Entry]:
    """The entry with one number changed."""
    place = rng.choice(table).offset
    old = (entry.kind, entry.item, entry.offset, entry.length, entry.code)
    near = {-64, -8, -4, -1, 1, 4, 8, 64}
    tried = [narrow, narrow, (*wide, place), wide, narrow]
    for field in range(5):
        around = {old[field] + step for step in near} if field in (2, 3) else set()
        for value in sorted({*tried[field], *around} - {old[field]}):
            if 0 <= value < 1 << (64 if field in (2, 3) else 32):
                numbers = list(old)
                numbers[field] = value
                yield Entry(*numbers)


SECTIONS = {1: ("interval first", "I"), 2: ("interval length", "I"), 3: ("row lengths", "B"), 4: ("long rows", "I"),
            5: ("neighbours", "I"), 16: ("values", "B"), 17: ("string offsets", "q"), 32: ("id keys", "Q"),
            19: ("list offsets", "q"), 33: ("id vids", "I"), delta.DEAD: ("dead vids", "I"),
            delta.PATCHED: ("patched rows", "q"), delta.ADDED: ("added keys", "Q"),
            delta.REMOVED: ("removed ranks", "q")}  # fmt: skip


def _section_nonsense(base: Path, rng: random.Random) -> Iterator[Damage]:
    columns = _columns(base)
    changes = delta.Delta(base) if delta.has_delta(sealed.body_of(base)) else None
    for name, content in sealed.segments(base):
        for number, entry in enumerate(sealed.entries(content)):
            if entry.kind == 18 or not entry.length:
                continue
            what, code = SECTIONS[entry.kind]
            kind, is_id = columns.get((name, number), ("", False))
            if entry.code:
                yield from _packed_nonsense(name, content, entry, is_id, rng)
                continue
            if entry.kind == 16:
                yield from _value_nonsense(name, content, entry, kind, is_id, rng)
                continue
            items = list(
                struct.unpack_from(f"<{entry.length // entry.item}{code}", content, entry.offset)
            )
            chosen = [*rng.sample(range(len(items)), min(len(items), 25)), 0, len(items) - 1]
            for at in sorted(set(chosen)):
                for value in _others(items, at, entry.item):
                    if entry.kind in (17, 19) and not is_id and not _contradicts(items, at, value):
                        continue
                    kept = value if code == "q" else value % (1 << 8 * entry.item)
                    other = [*items[:at], kept, *items[at + 1 :]]
                    own = changes is not None and entry.kind >= delta.DEAD
                    if own and not changes.contradicts(number, entry.kind, other):
                        continue
                    raw = struct.pack(f"<{code}", kept)
                    yield of_file(
                        f"nonsense: {what}", name, content, entry.offset + at * entry.item, raw
                    )
            shuffled = items[:]
            rng.shuffle(shuffled)
            for order in (items[::-1], shuffled):
                if order != items:
                    raw = struct.pack(f"<{len(order)}{code}", *order)
                    yield of_file(f"nonsense: {what}", name, content, entry.offset, raw)


def _packed_nonsense(
    name: str, content: bytes, entry: Entry, is_id: bool, rng: random.Random
) -> Iterator[Damage]:
    """Other words in a packed section. What its parts hold may be another value, which contradicts nothing: of columns
    but ids only the words before and behind the parts are changed."""
    what, count = SECTIONS[entry.kind][0], entry.length // 8
    words = list(struct.unpack_from(f"<{count}Q", content, entry.offset))
    head = 5 if entry.code == 2 else 2  # in these small stores sections have one part
    checked = is_id or entry.kind not in (16, 17, 19)
    places = range(count) if checked else [*range(head), count - 1]
    for at in places:
        near = {words[at] + step for step in (-1, 1, 2, 64)}
        others = {0, 1, 2, 255, 1 << 16, 1 << 31, 1 << 32, (1 << 48) - 1, 1 << 63, (1 << 64) - 1}
        flips = {words[at] ^ 1 << rng.randrange(64) for _ in range(8)}
        for value in sorted((near | others | flips) - {words[at]}):
            if 0 <= value < 1 << 64:
                raw, place = struct.pack("<Q", value), entry.offset + 8 * at
                yield of_file(f"nonsense: packed {what}", name, content, place, raw)


def _contradicts(offsets: list[int], at: int, value: int) -> bool:
    """Whether string offsets cannot be right; that of ASCII strings may end anywhere between its neighbours."""
    changed = [*offsets[:at], value, *offsets[at + 1 :]]
    return changed[0] != 0 or changed[-1] != offsets[-1] or changed != sorted(changed)


def _others(items: list[int], at: int, item: int) -> list[int]:
    """What stands in the place of an item: its neighbours in value, and the ends of its range."""
    top = 1 << 8 * item
    near = [items[at] + step for step in (-1, 1, 2, 40)]
    far = [0, 1, 39, 40, 41, 255, top // 2 - 1, top // 2, top - 2, top - 1]
    if item == 8:
        far = [0, 1, -1, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63)]
        near = [value for value in near if value < 1 << 63] if items[at] < 1 << 63 else []
        far += [value % top for value in far[-1:]] if items[at] >= 1 << 63 else []
    found = {v for v in (*near, *far) if item == 8 or 0 <= v < top}
    return sorted(found - {items[at]})


def _columns(base: Path) -> dict[tuple[str, int], tuple[str, bool]]:
    """Of the sections of columns: the column's kind, and whether it holds ids."""
    body = sealed.body_of(base)
    found: dict[tuple[str, int], tuple[str, bool]] = {}
    for at, kind in sealed.places(body):
        if at[0] in ("groups", "types", "delta") and at[-1] == "kind":
            owner = at[:1] if at[0] == "delta" else at[:2]
            file = sealed.value_at(body, (*owner, "file"))
            assert isinstance(file, int)
            name = sealed.name_of(body, file)
            for member in ("values", "offsets"):
                section = sealed.value_at(body, (*at[:-1], member))
                assert isinstance(section, int)
                if section >= 0:
                    # of the ids of the delta there is no index that could tell
                    found[name, section] = str(kind), at[2] == "ids" and at[0] != "delta"
    return found


def _value_nonsense(
    name: str, content: bytes, entry: Entry, kind: str, is_id: bool, rng: random.Random
) -> Iterator[Damage]:
    """Bytes that no value of the kind has: a bool of 2, text that is not UTF-8, a day after the last.

    is_id : of vertices with an index, which tells of another text too.
    """
    old = content[entry.offset : entry.offset + entry.length]
    text = (0x80, 0xC0, 0xFF, 0xE4)
    texts = dict.fromkeys(("string", "string[]", "any"), text)
    bad = {"bool": (2, 128, 255), **texts}.get(kind, ())
    tried = [(at, bytes((value,))) for at in rng.sample(range(entry.length), min(entry.length, 25))
             for value in bad]  # fmt: skip
    if kind == "date":
        days = (-(1 << 31), -719_163, 2_932_897, (1 << 31) - 1)
        tried = [(at, struct.pack("<i", day)) for at in range(0, entry.length, 4) for day in days]
    if kind == "any":  # a null has no text, so that the first byte is the letter of a type
        for new in (b"?", b"x", b"S"):
            yield of_file(f"nonsense: {kind} values", name, content, entry.offset, new)
    for at, new in tried:
        changed = old[:at] + new + old[at + len(new) :]
        if is_id or kind not in texts or not _is_text(changed):
            yield of_file(f"nonsense: {kind} values", name, content, entry.offset + at, new)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def remove(path: Path) -> None:
    """Forget a folder, whatever was made of it."""
    shutil.rmtree(path, ignore_errors=True)

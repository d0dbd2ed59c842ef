"""Nonsense in segment files: numbers in their headers, tables and sections that contradict the rest of the store."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

from tests.corrupt import delta, sealed
from tests.corrupt.damage import Damage, of_file
from tests.corrupt.sealed import ENTRY, HEADER, Entry


def table_nonsense(base: Path, rng: random.Random) -> Iterator[Damage]:
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


def section_nonsense(base: Path, rng: random.Random) -> Iterator[Damage]:
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
                    own = changes if entry.kind >= delta.DEAD else None
                    if own is not None and not own.contradicts(number, entry.kind, other):
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
    """The values that replace an item: its neighbours in value, and the ends of its range."""
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
                    # the ids of the delta have no index that could detect it
                    found[name, section] = str(kind), at[2] == "ids" and at[0] != "delta"
    return found


def _value_nonsense(
    name: str, content: bytes, entry: Entry, kind: str, is_id: bool, rng: random.Random
) -> Iterator[Damage]:
    """Bytes that no value of the kind has: a bool of 2, text that is not UTF-8, a day after the last.

    is_id : of vertices with an index, which detects another text too.
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

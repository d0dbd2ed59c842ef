"""A store read by the text of docs/FORMAT.md alone: shares no code with `gdb.storage`."""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path

from blake3 import blake3

from tests.oracles.unpacking import unpacked_numbers, unpacked_rows


class PlainStore:
    def __init__(self, folder: Path) -> None:
        raw = (folder / "MANIFEST").read_bytes()
        magic, version, sectors, length = struct.unpack_from("<8sIIQ", raw)
        assert magic == b"gdb.man\n"
        assert version >= 4 or not sectors
        self.format = version
        whole = raw
        raw = raw[: 512 * sectors or None]
        inside = raw[24 + length : -16]
        assert version >= 2 or not inside
        assert hashlib.blake2b(raw[:-16], digest_size=16).digest() == raw[-16:]
        self.body = json.loads(raw[24 : 24 + length])
        assert version >= 2 or "delta" not in self.body
        self.files: list[bytes] = []
        self.codes = Counter[tuple[int, int]]()  # kind and code of the sections that were read
        for file in self.body["files"]:
            content = (folder / file["name"]).read_bytes()
            assert len(content) == file["length"]
            if len(file["digest"]) == 64:
                assert version >= 5
                assert blake3(content).hexdigest() == file["digest"]
            else:
                assert hashlib.blake2b(content, digest_size=16).hexdigest() == file["digest"]
            self.files.append(content)
        if inside:
            self.files.append(inside)
        self.records = 0
        if sectors:
            self._follow(whole, len(raw))
        for content in self.files:
            magic, version, count, length = struct.unpack_from("<8sIIQ", content)
            assert (magic, length) == (b"gdb.seg\n", len(content))
            codes = [struct.unpack_from("<I", content, 88 + 32 * n)[0] for n in range(count)]
            assert version == (2 if any(codes) else 1)
            assert not any(codes) or self.body["packed"] is True
            assert content[24:64] == bytes(40)
        large = any(len(file["digest"]) == 64 for file in self.body["files"])
        assert (self.format == 5) == large
        if not large:
            assert (self.format == 4) == (sectors > 0 or "packed" in self.body)

    def _follow(self, file: bytes, at: int) -> None:
        """Put the state after the last record in the place of the manifest's own delta."""
        delta, old = self.body["delta"], list[tuple[int, int, bytes]]()
        last = self.files[delta["file"]]
        for number in range(struct.unpack_from("<I", last, 12)[0]):
            kind, item, offset, size = struct.unpack_from("<IIQQ", last, 64 + 32 * number)
            old.append((kind, item, last[offset : offset + size]))
        base = len(self.body["files"]) - (delta["file"] < len(self.body["files"]))
        assert base == delta["file"]
        while any(file[at + 496 : at + 512]):
            payload, count = b"", struct.unpack_from("<I", file, at + 4)[0]
            for begin in range(at, at + 512 * count, 512):
                end = begin + 496
                assert struct.unpack_from("<I", file, begin) == (self.records + 1,)
                assert hashlib.blake2b(file[:end], digest_size=16).digest() == file[end : end + 16]
                payload += file[begin + 4 : end]
            _, sections, text = struct.unpack_from("<IIQ", payload)
            new, place = list[tuple[int, int, bytes]](), 16 + 32 * sections + text
            for number in range(sections):
                kind, item, head, tail, more = struct.unpack_from(
                    "<IIQQQ", payload, 16 + 32 * number
                )
                had = b""
                if head + tail:
                    *same, had = old[number]
                    assert same == [kind, item]
                    assert head + tail <= len(had)
                middle = payload[place : place + more]
                new.append((kind, item, had[:head] + middle + had[len(had) - tail :]))
                place += more
            delta = json.loads(payload[16 + 32 * sections : 16 + 32 * sections + text])
            assert delta["file"] == base
            assert payload[place:] == bytes(len(payload) - place)
            assert len(payload) - place < 492
            old, at, self.records = new, at + 512 * count, self.records + 1
        if self.records:
            self.body["version"] += self.records
            self.body["delta"] = delta
            self.files[base:] = [_segment(old)]

    def section(
        self, file: int, number: int, kind: int, code: str, rows: list[int] | None = None
    ) -> list[int]:
        """rows : the lengths of the rows of neighbours."""
        content = self.files[file]
        at = 64 + 32 * number
        found, item, offset, length, how, zero = struct.unpack_from("<IIQQII", content, at)
        assert (found, zero) == (kind, 0)
        assert item == struct.calcsize(f"<{code}")
        assert offset % (4096 if length >= 65536 else 64) == 0
        self.codes[kind, how] += 1
        if not how:
            return list(struct.unpack_from(f"<{length // item}{code}", content, offset))
        words = list(struct.unpack_from(f"<{length // 8}Q", content, offset))
        assert length % 8 == words[-1] == 0
        if how == 2:
            assert rows is not None
            return unpacked_rows(words, rows)
        assert how == 1
        raw = [value % 256**item for value in unpacked_numbers(words)]
        unsigned = b"".join(value.to_bytes(item, "little") for value in raw)
        return list(struct.unpack(f"<{len(raw)}{code}", unsigned))

    def column(self, file: int, record: dict[str, object], count: int) -> list[object]:
        kind = str(record["kind"])
        sections = {name: int(str(record[name])) for name in ("values", "offsets", "valid")}
        if kind.endswith("[]"):
            cuts = self.section(file, sections["offsets"], 19, "q")
            own = {"kind": kind[:-2], "values": sections["values"], "valid": -1}
            items = self.column(file, {**own, "offsets": sections["offsets"] + 1}, cuts[-1])
            lists: list[object] = [items[a:b] for a, b in itertools.pairwise(cuts)]
            return self.known(file, sections["valid"], lists, count)
        code = {"float64": "d", "date": "i"}.get(kind, "q")
        code = "B" if kind in ("bool", "string", "any") else code
        values: list[object] = list(self.section(file, sections["values"], 16, code))
        if kind == "bool":
            values = [bool(v) for v in values]
        if kind == "date":
            values = [date(1970, 1, 1) + timedelta(days=int(str(v))) for v in values]
        if kind in ("datetime", "duration"):
            start = datetime(1970, 1, 1) if kind == "datetime" else timedelta(0)
            values = [start + timedelta(microseconds=int(str(v))) for v in values]
        if kind in ("string", "any"):
            data = bytes(int(str(v)) for v in values)
            ends = self.section(file, sections["offsets"], 17, "q")
            texts = [data[a:b] for a, b in itertools.pairwise(ends)]
            values = [of_any_type(t) if kind == "any" and t else t.decode() for t in texts]
        return self.known(file, sections["valid"], values, count)

    def known(self, file: int, valid: int, values: list[object], count: int) -> list[object]:
        """The values with their nulls."""
        if valid >= 0:
            bits = self.section(file, valid, 18, "B")
            values = [v if bits[n // 8] >> (n % 8) & 1 else None for n, v in enumerate(values)]
        assert len(values) == count
        return values

    def part(self, record: dict[str, object]) -> list[tuple[int, int]]:
        """(row vid, neighbour) of each position."""
        found: list[tuple[int, int]] = []
        segments = record["segments"]
        assert isinstance(segments, list)
        for segment in segments:
            file, at = segment["file"], segment["section"]
            first = self.section(file, at, 1, "I")
            length = self.section(file, at + 1, 2, "I")
            vids = [f + k for f, n in zip(first, length, strict=True) for k in range(n)]
            long = iter(self.section(file, at + 3, 4, "I"))
            lengths = [next(long) if n == 255 else n for n in self.section(file, at + 2, 3, "B")]
            assert len(vids) == len(lengths) == segment["rows"]
            neighbours = iter(self.section(file, at + 4, 5, "I", lengths))
            assert len(found) == segment["first_edge"]
            found += [
                (v, next(neighbours)) for v, n in zip(vids, lengths, strict=True) for _ in range(n)
            ]
            assert len(found) == segment["first_edge"] + segment["edges"]
        return found


def _segment(sections: list[tuple[int, int, bytes]]) -> bytes:
    """A segment file with these sections: kind, bytes of an item, content."""
    table, body, at = b"", b"", 64 + 32 * len(sections)
    for kind, item, content in sections:
        start = -(-at // 64) * 64
        table += struct.pack("<IIQQ8x", kind, item, start, len(content))
        body += bytes(start - at) + content
        at = start + len(content)
    return struct.pack("<8sIIQ40x", b"gdb.seg\n", 1, len(sections), at) + table + body


def of_any_type(text: bytes) -> object:
    """A value of a column of the kind any: of Python where that has the type, else the letter and the parts."""
    letter, rest = text[:1].decode(), text[1:]
    match letter:
        case "b":
            return {b"0": False, b"1": True}[rest]
        case "i":
            return int(rest)
        case "f":
            assert len(rest) == 16
            return struct.unpack(">d", bytes.fromhex(rest.decode()))[0]
        case "s":
            return rest.decode()
        case "l":
            items: list[object] = []
            while rest:
                length, _, rest = rest.partition(b":")
                items.append(of_any_type(rest[: int(length)]))
                rest = rest[int(length) :]
            return items
        case "N":
            days, nanoseconds, offset, zone = rest.split(b",")
            return letter, int(days), int(nanoseconds), int(offset), zone.decode()
    assert letter in "DtTnP"
    return letter, *map(int, rest.split(b","))


def string_key(text: str) -> int:
    data, mask = text.encode(), (1 << 64) - 1
    h = len(data) + sum(
        (b + 1) * pow(0x9E3779B97F4A7C15, i + 1, 1 << 64) for i, b in enumerate(data)
    )
    h &= mask
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & mask
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & mask
    return h ^ (h >> 31)

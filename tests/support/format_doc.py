"""The worked example of docs/FORMAT.md: a tiny store, its bytes as tables, and a store made from these tables alone.

`UPDATE_DOCS=1 pytest tests/project/test_format_doc.py` writes the tables anew; read the difference then.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import gdb

FORMAT = Path(__file__).parents[2] / "docs" / "FORMAT.md"
EXAMPLE = re.compile(r"(?<=<!-- example -->\n).*?(?=<!-- end -->)", re.DOTALL)
RANDOM = "12345678"
"""The random digits of the segment file's name."""
WIDTH = 112  # characters of a line of JSON

SECTIONS = (
    ("`ids` of the group", "q"),
    ("property `id`", "q"),
    ("property `name`, values", "s"),
    ("property `name`, offsets", "q"),
    ("id index of the space `Person`, keys", "q"),
    ("id index of the space `Person`, vids", "I"),
    ("`->`, interval first", "I"),
    ("`->`, interval length", "I"),
    ("`->`, row lengths", "B"),
    ("`->`, long rows", "I"),
    ("`->`, neighbours", "I"),
    ("`<-`, interval first", "I"),
    ("`<-`, interval length", "I"),
    ("`<-`, row lengths", "B"),
    ("`<-`, long rows", "I"),
    ("`<-`, neighbours", "I"),
    ("property `since` of the edges", "q"),
)
"""What each section of the segment file is, and the format of its items (`s` : a text)."""


@dataclass(frozen=True)
class Example:
    """The two files of the store, and the name of the second."""

    manifest: bytes
    name: str
    segment: bytes


def write(folder: Path) -> Example:
    """The store that the page shows, in a folder that does not exist yet.

    The four random bytes of names must be RANDOM.
    """
    folder.mkdir()
    nodes, edges = folder / "people.csv", folder / "knows.csv"
    nodes.write_text("id,name\n7,Ann\n9,Bob\n", encoding="utf-8")
    edges.write_text("source,target,since\n7,9,2001\n", encoding="utf-8")
    with gdb.connect(folder / "store") as db:
        db.load(nodes={"Person": nodes}, edges={"KNOWS:Person:Person": edges})
    (segment,) = (folder / "store").glob("seg-*.gdb")
    return Example((folder / "store" / "MANIFEST").read_bytes(), segment.name, segment.read_bytes())


def tables(example: Example) -> str:
    """The bytes of both files, as the page shows them."""
    manifest, segment = example.manifest, example.segment
    (length,) = struct.unpack_from("<Q", manifest, 16)
    head = [
        (0, manifest[:8], "magic"),
        (8, manifest[8:12], "format 1"),
        (12, manifest[12:16], "no records may follow"),
        (16, manifest[16:24], f"length of the body: {length:,}"),
        (24 + length, manifest[24 + length :], "checksum of all bytes before it"),
    ]
    count, size = struct.unpack_from("<IQ", segment, 12)
    file_head = [
        (0, segment[:8], "magic"),
        (8, segment[8:12], "format 1: no section is packed"),
        (12, segment[12:16], f"{count} sections"),
        (16, segment[16:24], f"length of the file: {size:,}"),
        (24, segment[24:64], "zeros"),
    ]
    return "\n".join(
        [
            "",
            "**`MANIFEST`**",
            "",
            *_rows("| offset | bytes | meaning |", (_bytes(*row) for row in head)),
            "",
            "The body begins at offset 24. The file has it on one line, without spaces outside of names:",
            "",
            "```json",
            _pretty(json.loads(manifest[24 : 24 + length])),
            "```",
            "",
            f"**`{example.name}`**",
            "",
            *_rows("| offset | bytes | meaning |", (_bytes(*row) for row in file_head)),
            "",
            "The table of sections begins at offset 64: one entry of 32 bytes for each row below, all of code 0. "
            f"Entry 2, at offset 128, is `{segment[128:160].hex(' ')}`.",
            "The column *bytes* shows the bytes at the section's offset. Between the sections are zeros.",
            "",
            *_rows(
                "| section | kind | item | offset | length | bytes | meaning |", _sections(segment)
            ),
            "",
            "",
        ]
    )


def rebuilt(text: str) -> Example:
    """The files, made from the tables of the page alone."""
    found = EXAMPLE.search(text)
    assert found is not None
    before, _, after = found[0].partition("**`seg-")
    body = json.loads(re.findall(r"```json\n(.*?)```", before, re.DOTALL)[0])
    *head, (_, digest) = _pieces(before)
    encoded = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    manifest = b"".join(piece for _, piece in head) + encoded + digest
    name = "seg-" + after.partition("`")[0]
    content = b"".join(piece for _, piece in _pieces(after))
    sections = re.findall(
        r"^\| \d+ \| (\d+) \| (\d) \| (\d+) \| (\d+) \| `?([\da-f ]*)`? \|", after, re.MULTILINE
    )
    for kind, item, offset, length, _ in sections:
        content += struct.pack("<IIQQII", *map(int, (kind, item, offset, length)), 0, 0)
    for _, _, offset, _, piece in sections:
        content = content.ljust(int(offset), b"\0") + bytes.fromhex(piece)
    return Example(manifest, name, content)


def _pieces(text: str) -> list[tuple[int, bytes]]:
    rows = re.findall(r"^\| ([\d,]+) \| `([\da-f ]+)`(?: \* (\d+))? \|", text, re.MULTILINE)
    return [
        (int(at.replace(",", "")), bytes.fromhex(piece) * int(times or 1))
        for at, piece, times in rows
    ]


def _rows(head: str, rows: Iterator[Sequence[str]]) -> list[str]:
    rule = "|---" * (head.count("|") - 1) + "|"
    return [head, rule, *(f"| {' | '.join(row)} |" for row in rows)]


def _bytes(offset: int, content: bytes, meaning: str) -> tuple[str, str, str]:
    """A run of zeros is shown as one byte and a factor."""
    many = len(content) > 16 and not any(content)
    shown = f"`00` * {len(content)}" if many else f"`{content.hex(' ')}`"
    return f"{offset:,}", shown, meaning


def _sections(segment: bytes) -> Iterator[tuple[str, ...]]:
    for number, (what, code) in enumerate(SECTIONS):
        kind, item, offset, length = struct.unpack_from("<IIQQ", segment, 64 + 32 * number)
        content = segment[offset : offset + length]
        values = (
            [content.decode()]
            if code == "s"
            else struct.unpack(f"<{length // struct.calcsize(code)}{code}", content)
        )
        shown = ", ".join(map(str, values)) or "none"
        cells = map(str, (number, kind, item, offset, length))
        yield *cells, f"`{content.hex(' ')}`" if content else "", f"{what}: {shown}"


def _pretty(value: object, indent: int = 0) -> str:
    """JSON with a line for each member of what does not fit on one line."""
    short = json.dumps(value, ensure_ascii=False)
    if (indent and len(short) + indent <= WIDTH) or not isinstance(value, (dict, list)):
        return short
    begin, end = "{}" if isinstance(value, dict) else "[]"
    items = (
        [f"{json.dumps(key)}: {_pretty(one, indent + 2)}" for key, one in value.items()]
        if isinstance(value, dict)
        else [_pretty(one, indent + 2) for one in value]
    )
    blank = " " * (indent + 2)
    return f"{begin}\n{blank}" + f",\n{blank}".join(items) + f"\n{' ' * indent}{end}"

"""Every damage that is tried on a store, by kind.

Three families. *Bytes* and *files*: what a disk, a file system or a person does; the checksums detect it. *Nonsense*:
a number that contradicts the rest of the store, under checksums that fit; only the store's own rules detect it.
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

from tests.corrupt import delta, sealed, segments
from tests.corrupt.damage import Damage, of_manifest
from tests.corrupt.sealed import ENTRY, HEAD, HEADER, Json

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
SECTOR = 512
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
        *segments.table_nonsense(base, rng),
        *segments.section_nonsense(base, rng),
        *(delta.nonsense(base) if delta.has_delta(sealed.body_of(base)) else ()),
    ]


def segments_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("seg-*"))


# ---- bytes ------------------------------------------------------------------------------------------


def _bytes(base: Path, rng: random.Random) -> Iterator[Damage]:
    raw = (base / "MANIFEST").read_bytes()
    ends = ends_of_records(base) or [len(raw)]
    for at in range(ends[-1]):
        kind = "manifest, all bytes" if at < ends[0] else "journal, all bytes"
        yield _flip(kind, "MANIFEST", at, rng)
    zeros = range(ends[-1], len(raw))
    for at in sorted({*zeros[:SECTOR], *zeros[::97]}):
        yield _flip("zeros behind the journal", "MANIFEST", at, rng)
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
    ends = [SECTOR * HEAD.unpack_from(raw)[2]]
    while ends[-1] and any(raw[ends[-1] : ends[-1] + SECTOR]):
        ends.append(ends[-1] + SECTOR * struct.unpack_from("<I", raw, ends[-1] + 4)[0])
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
        one, second = rng.sample(numbers, 2)
        values = [rng.choice((rng.choice(NUMBERS[:16]), rng.randrange(700))) for _ in range(2)]
        both = sealed.changed(sealed.changed(body, one, values[0]), second, values[1])
        # `version` alone contradicts nothing, and is no part of an answer
        yield of_manifest(
            "two numbers in the manifest", f"{one} = {values[0]}, {second} = {values[1]}", both
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


def remove(path: Path) -> None:
    """Forget a folder, whatever was made of it."""
    shutil.rmtree(path, ignore_errors=True)

"""Nonsense that only a delta can hold: what it says of the base, and of itself, under checksums that fit.

What makes another delta is not tried, for no reader could see it: another patched row, another removed edge, an edge
between other vertices that are there, one vertex more that is no more where it had no edge.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

from tests.corrupt import sealed
from tests.corrupt.damage import Damage, of_file, of_manifest
from tests.corrupt.sealed import Json, Path_

DEAD, PATCHED, ADDED, REMOVED = 48, 49, 50, 51
GROUPS = ("-1", "2", "99", "x", "", "1.5", "1e0", " 0", "00", "+0", "1_0", "٠")  # there are 0 and 1


class Delta:
    """A store's delta, as far as the text of the format defines what contradicts what."""

    def __init__(self, base: Path) -> None:
        self.body = sealed.body_of(base)
        self.name = sealed.name_of(self.body, self._number("delta", "file"))
        self.content = dict(sealed.segments(base))[self.name]
        self.entries = sealed.entries(self.content)
        self.total = self._number("vertex_count") + self._number("delta", "vertices")
        self.dead = set(self.items(self._number("delta", "dead"), "I"))
        self._limits: dict[int, int] = {}  # section -> what its numbers are below
        self._undirected: set[int] = set()  # sections of the keys of undirected types
        counts = {str(_at(t, "name")): _at(t, "edge_count") for t in self._list("types")}
        for at, value in sealed.places(self.body, ()):
            match at:
                case ("delta", "patches", str(group), str(), "rows"):
                    ranges = sealed.list_at(self.body, ("groups", int(group), "ranges"))
                    self._limits[_int(value)] = _length(ranges)
                case ("delta", "types", int(n), *_, "rows" | "removed"):
                    name = str(self._value("delta", "types", n, "name"))
                    self._limits[_int(value)] = _int(counts.get(name, 0))
                case ("delta", "types", int(n), "keys"):
                    if not self._value("delta", "types", n, "directed"):
                        self._undirected.add(_int(value))

    def contradicts(self, number: int, kind: int, items: list[int]) -> bool:
        """Whether a section of kind 48 to 51 cannot hold these."""
        if kind == DEAD:
            return True  # whatever else is there: every existing vertex has an edge
        if kind == ADDED:
            ends = [(key >> 32, key & 0xFFFFFFFF) for key in items]
            turned = number in self._undirected and any(a > b for a, b in ends)
            there = all(v < self.total and v not in self.dead for pair in ends for v in pair)
            return turned or not there or items != sorted(items)
        inside = all(0 <= item < self._limits[number] for item in items)
        return not inside or items != sorted(set(items))

    def items(self, number: int, code: str) -> list[int]:
        """A section of the delta's file."""
        entry = self.entries[number]
        return list(
            struct.unpack_from(f"<{entry.length // entry.item}{code}", self.content, entry.offset)
        )

    def vids(self, added: int) -> list[int]:
        """Of one list of added vertices."""
        ranges = sealed.list_at(self.body, ("delta", "added", added, "ranges"))
        return [vid for pair in ranges for vid in range(_int(_at(pair, 0)), _int(_at(pair, 1)))]

    def _list(self, *at: str | int) -> list[Json]:
        return sealed.list_at(self.body, at)

    def _value(self, *at: str | int) -> Json:
        return sealed.value_at(self.body, at)

    def _number(self, *at: str | int) -> int:
        return _int(self._value(*at))


def nonsense(base: Path) -> Iterator[Damage]:
    """Of a store that has a delta."""
    delta = Delta(base)
    yield from _left_out(delta)
    yield from _of_other_groups(delta)
    yield from _exchanged(delta)
    yield from _ids(delta)
    yield from _dead(delta)
    if delta.name == sealed.MANIFEST:
        yield from _inside(delta)


def _left_out(delta: Delta) -> Iterator[Damage]:
    """Whole members, whose sections then belong to no member."""
    kind = "part of the delta left out"
    yield of_manifest(kind, "delta", sealed.without(delta.body, ("delta",)))
    for at in _records(delta.body, ("delta",)):
        yield of_manifest(kind, "/".join(map(str, at)), sealed.without(delta.body, at))


def _records(body: Json, at: Path_) -> Iterator[Path_]:
    """The places of columns and patches that their owner would be whole without."""
    found = sealed.value_at(body, at)
    if isinstance(found, dict):
        for key in found:
            if at[-1] in ("columns", "patches") or (at[1:2] == ("patches",) and len(at) == 3):
                yield (*at, key)
            yield from _records(body, (*at, key))
    elif isinstance(found, list):
        for number in range(len(found)):
            yield from _records(body, (*at, number))


def _of_other_groups(delta: Delta) -> Iterator[Damage]:
    """Patches of a group that there is not, or that is named as no group is."""
    at: Path_ = ("delta", "patches")
    patches = sealed.value_at(delta.body, at)
    assert isinstance(patches, dict)
    for name in GROUPS:
        other: Json = {name if key == "0" else key: value for key, value in patches.items()}
        yield of_manifest("patches of no group", repr(name), sealed.changed(delta.body, at, other))


def _exchanged(delta: Delta) -> Iterator[Damage]:
    """Two properties with each other's values, where the base's are of other kinds."""
    for at in {at[:-1] for at in _records(delta.body, ("delta",))}:
        members = sealed.value_at(delta.body, at)
        assert isinstance(members, dict)
        for one, other in itertools.combinations(sorted(members), 2):
            if at != ("delta", "patches") and _differ(delta, at, one, other):
                swapped = {**members, one: members[other], other: members[one]}
                yield of_manifest(
                    "properties of other kinds than the base's",
                    f"{'/'.join(map(str, at))}: {one} and {other}",
                    sealed.changed(delta.body, at, swapped),
                )


def _differ(delta: Delta, at: Path_, one: str, other: str) -> bool:
    """Whether one of the properties would be of a kind that it cannot have; int64 may be beside float64,
    and any beside all."""
    known = _kinds_of_base(delta, at)
    kinds = {name: _kind_in(sealed.value_at(delta.body, (*at, name))) for name in (one, other)}
    pairs = {known.get(one): kinds[other], known.get(other): kinds[one]}
    numbers = {"int64", "float64"}
    return any(
        base is not None and new not in (base, "any") and {base, new} != numbers
        for base, new in pairs.items()
    )


def _kinds_of_base(delta: Delta, at: Path_) -> dict[str, str]:
    """The kinds of the properties that the base has beside those at a place of the delta."""
    body, owner = delta.body, at[:3]
    where: Path_ | None = ("groups", int(at[2])) if at[1] == "patches" else None
    wanted = sealed.value_at(body, owner)
    for place, name in (("groups", "labels"), ("types", "name")):
        for number, record in enumerate(sealed.list_at(body, (place,))):
            if at[1] != "patches" and _at(record, name) == _member(wanted, name):
                where = place, number
    if where is None:
        return {}
    columns = sealed.value_at(body, (*where, "columns"))
    assert isinstance(columns, dict)
    return {key: _kind_in(record) for key, record in columns.items()}


def _ids(delta: Delta) -> Iterator[Damage]:
    """Two vertices with one id."""
    for number, added in enumerate(sealed.list_at(delta.body, ("delta", "added"))):
        ids = _at(added, "ids")
        values, offsets = _int(_at(ids, "values")), _int(_at(ids, "offsets"))
        entry = delta.entries[values]
        if offsets >= 0:
            cuts = list(itertools.pairwise(delta.items(offsets, "q")))
        else:
            cuts = [(n, n + 8) for n in range(0, entry.length, 8)]
        texts = [delta.content[entry.offset + a : entry.offset + b] for a, b in cuts]
        there = [n for n, vid in enumerate(delta.vids(number)) if vid not in delta.dead]
        others = [texts[n] for n in there]
        if offsets < 0:
            others.append(struct.pack("<q", 31))  # of the base
        for n in there:
            for other in others:
                if other != texts[n] and len(other) == len(texts[n]):
                    at = entry.offset + cuts[n][0]
                    yield of_file("an id twice", delta.name, delta.content, at, other)


def _dead(delta: Delta) -> Iterator[Damage]:
    """Each vertex that is there, as one that is no more in the place of another."""
    entry = delta.entries[_int(sealed.value_at(delta.body, ("delta", "dead")))]
    for vid in sorted(set(range(delta.total)) - delta.dead):
        items = sorted({*sorted(delta.dead)[1:], vid})
        raw = struct.pack(f"<{len(items)}I", *items)
        yield of_file(
            "edges of a vertex that is no more", delta.name, delta.content, entry.offset, raw
        )


def _inside(delta: Delta) -> Iterator[Damage]:
    """The segment in the manifest cut short and grown."""
    content = delta.content
    for size in (0, 1, 63, 64, len(content) // 2, len(content) - 64, len(content) - 1):
        yield _in_manifest(delta, f"{size} bytes of it", content[:size])
    for more in (b"\0", bytes(64), content):
        yield _in_manifest(delta, f"{len(more)} bytes behind it", content + more)
    alone = sealed.without(delta.body, ("delta",))
    yield of_manifest("segment in the manifest", "and no delta", alone)


def _in_manifest(delta: Delta, what: str, inside: bytes) -> Damage:
    return Damage(
        "segment in the manifest",
        what,
        lambda folder: sealed.seal_json(folder, delta.body, inside),
    )


def has_delta(body: Json) -> bool:
    return isinstance(body, dict) and "delta" in body


def lists_of(body: Json) -> list[Path_]:
    """The lists of records that a delta has."""
    return [("delta", "added"), ("delta", "types")] if has_delta(body) else []


def _at(record: Json, member: str | int) -> Json:
    return sealed.value_at(record, (member,))


def _member(record: Json, member: str) -> Json:
    return record.get(member) if isinstance(record, dict) else None


def _int(value: Json) -> int:
    assert isinstance(value, int)
    return value


def _length(ranges: list[Json]) -> int:
    return sum(_int(_at(pair, 1)) - _int(_at(pair, 0)) for pair in ranges)


def _kind_in(record: Json) -> str:
    """The kind of a column, or of a patch's."""
    column = _member(record, "column")
    return str(_at(record if column is None else column, "kind"))

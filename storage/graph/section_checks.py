"""Checks that a file's contents are safe to use, made when it is first read.

They do for the files what `gdb.storage.format.manifest_checks` does for the manifest: they reject contents that were
wrong when their checksum was made, before a compiled kernel or Arrow reads where a number points.
"""

from __future__ import annotations

import codecs
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.base import usage, waiting
from gdb.records import replace

from ..columns import temporal
from ..columns.model import I64, ITEM_OF, U32, Column, Kind
from ..disk.arrays import read_ahead
from ..format.invariants import Compared, expect
from ..format.section_owners import count_of
from ..format.segment import compare

if TYPE_CHECKING:
    from ..format.manifest import ColumnRecord, Manifest
    from .delta import Delta, TypeDelta
    from .ids import IdIndex
    from .pcsr import Part

_CHUNK = 1 << 20  # items looked at in one step: bounds the memory beside the map
_PACED = 1 << 22  # neighbours between two looks at whether the query goes on
# the least and the most of what Python knows
_TIMES: dict[Kind, tuple[int, int]] = {
    "date": (temporal.FIRST_DAY, temporal.LAST_DAY),
    "datetime": (temporal.FIRST_INSTANT, temporal.LAST_INSTANT),
    "duration": (-temporal.LONGEST, temporal.LONGEST),
}
_NUMBERS: set[Kind] = {
    "int64",
    "float64",
}  # a property of both is float64, one that is any beside others is any

MANY_ROWS = 1 << 16
"""Rows of a part, above which machine code is worth its loading."""

PartIn: TypeAlias = "tuple[Part, int]"
"""A part, or some rows of one (`_pieces`), and the number of vertices that there are."""
IndexIn: TypeAlias = "tuple[IdIndex, int]"
DeltaIn: TypeAlias = "tuple[Delta, Manifest]"


def _row_lengths(subject: PartIn) -> None:
    part, _ = subject
    if len(part.offsets) > 1:
        if len(part.offsets) > MANY_ROWS:
            from .edge_loops import lengths_of  # brings the compiler

            least, most = lengths_of(part.offsets)
        else:
            lengths = part.offsets[1:] - part.offsets[:-1]
            least, most = int(lengths.min()), int(lengths.max())
        agrees = least >= 1 and most == part.max_degree
        expect(agrees, "has rows of other lengths than the manifest says")


def _ends_exist(subject: PartIn) -> None:
    part, vertex_count = subject
    if len(part.offsets) > 1:
        last = int(part.intervals.first[-1]) + int(part.intervals.length[-1])
        near, end = part.neighbours, int(part.offsets[-1])
        known = last <= vertex_count and all(
            int(near[begin : min(begin + _PACED, end)].max()) < vertex_count
            for begin in range(int(part.offsets[0]), end, _PACED)
        )
        expect(known, "names a vertex that does not exist")


def _rows_sorted(subject: PartIn) -> None:
    """Whether every row ascends, and strictly where the part is said to be simple."""
    part, _ = subject
    neighbours, offsets = part.neighbours, part.offsets
    if len(offsets) > MANY_ROWS:
        from .edge_loops import rows_ascend  # brings the compiler

        ascend = rows_ascend(offsets, neighbours, strictly=part.simple)
        expect(ascend, "has rows that are not sorted")
        return
    for begin in range(int(offsets[0]) + 1, int(offsets[-1]), _CHUNK):
        here = neighbours[begin : min(begin + _CHUNK, int(offsets[-1]))]
        before = neighbours[begin - 1 : begin - 1 + here.shape[0]]
        falls = here <= before if part.simple else here < before
        # Only the first entry of a row may be below the one before it.
        first, last = np.searchsorted(offsets, (begin, begin + here.shape[0]))
        falls[offsets[first:last] - begin] = False
        expect(not falls.any(), "has rows that are not sorted")


def _pieces(part: Part) -> Iterator[Part]:
    """Some rows of a part after the other, of about `_PACED` neighbours: its offsets of these alone. What follows is
    read from the disk meanwhile."""
    cuts, offsets = _rows_between(part.offsets), part.offsets
    for first, last in cuts:
        ahead = int(offsets[last]), min(int(offsets[last]) + _PACED, len(part.neighbours))
        read_ahead(part.neighbours, *ahead)
        yield replace(part, offsets=offsets[first : last + 1])


def _rows_between(offsets: I64) -> Iterator[tuple[int, int]]:
    """Ranges of rows of about `_PACED` neighbours."""
    first = 0
    for _, end in usage.paced(int(offsets[-1]), _PACED):
        last = int(np.searchsorted(offsets, end))
        if last > first:
            yield first, last
        first = last


ROWS_SORTED: Compared[PartIn] = Compared(
    "rows ascend",
    "The vids of rows ascend, and in each row those of the neighbours, strictly where the part is simple.",
    _rows_sorted,
)
LENGTHS: tuple[Compared[PartIn], ...] = (
    Compared("row lengths", "No row is empty, and the longest is as long as the manifest says.", _row_lengths),
)  # fmt: skip
ENDS_EXIST: Compared[PartIn] = Compared(
    "ends exist", "Every row and every neighbour of the base is below vertex_count.", _ends_exist
)
# O(rows + edges), without a copy of the neighbours; may be compared piece by piece
ROWS: tuple[Compared[PartIn], ...] = (
    ENDS_EXIST,
    ROWS_SORTED,
)  # fmt: skip
PART = (*LENGTHS, *ROWS)


def _dead(subject: DeltaIn) -> None:
    delta, manifest = subject
    total = manifest.vertex_count + delta.vertices
    there = _distinct(delta.dead.astype(np.int64), total)
    expect(there, "removes vertices that are not there")


def _patched_rows(subject: DeltaIn) -> None:
    delta, manifest = subject
    for number, patches in delta.patches.items():
        count = count_of(manifest.groups[number].ranges)
        there = all(_distinct(patch.rows, count) for patch in patches.values())
        expect(there, "changes vertices that are not there")


def _ranks(subject: DeltaIn) -> None:
    delta, manifest = subject
    counts = {record.name: record.edge_count for record in manifest.types}
    for name, edges in delta.types.items():
        ranks = [edges.removed, *(patch.rows for patch in edges.patches.values())]
        there = all(_distinct(some, counts.get(name, 0)) for some in ranks)
        expect(there, "changes edges that are not there")


def _added_keys(subject: DeltaIn) -> None:
    delta, manifest = subject
    for edges in delta.types.values():
        _added(edges, delta, manifest.vertex_count + delta.vertices)


def _added(edges: TypeDelta, delta: Delta, total: int) -> None:
    first, last = edges.keys >> np.uint64(32), edges.keys & np.uint64(0xFFFFFFFF)
    falls = (edges.keys[1:] < edges.keys[:-1]).any()
    turned = not edges.directed and (first > last).any()
    expect(not falls and not turned, "adds edges out of order")
    ends = np.concatenate([first, last]).astype(np.uint32)
    there = not len(ends) or (int(ends.max()) < total and not delta.is_dead(ends).any())
    expect(there, "adds edges to vertices that are not there")


def _one_kind(subject: DeltaIn) -> None:
    found = [kinds - {"any"} for kinds in _kinds(*subject).values()]
    one = all(len(kinds) <= 1 or kinds == _NUMBERS for kinds in found)
    expect(one, "holds a property of two kinds")


# O(the delta's size)
DELTA: tuple[Compared[DeltaIn], ...] = (
    Compared("dead vids", "The vids that were removed ascend, each once, and exist.", _dead),
    Compared("patched rows", "The rows of vertices with new values ascend, each once, and exist.", _patched_rows),
    Compared(
        "ranks", "The ranks of edges that were removed or have new values ascend, each once, and exist.", _ranks
    ),
    Compared(
        "added edges",
        "Added edges ascend, of an undirected type with the smaller end first, and join vertices that are there.",
        _added_keys,
    ),
    Compared(
        "one kind", "A property is of one kind in base and delta, or of two that one type holds.", _one_kind
    ),
)  # fmt: skip


def _kinds(delta: Delta, manifest: Manifest) -> dict[tuple[object, str], set[Kind]]:
    """The kinds that each property of each vertex group and edge type has in the base and in the delta. What vertices
    had that are no more does not count: a group that begins anew may have other kinds."""
    found: dict[tuple[object, str], set[Kind]] = defaultdict(set)

    def note(owner: object, columns: Mapping[str, Column | ColumnRecord]) -> None:
        for key, column in columns.items():
            found[owner, key].add(column.kind)

    for number, group in enumerate(manifest.groups):
        if not _all_in(group.ranges, delta.dead):
            patches = delta.patches.get(number, {})
            note((group.labels, group.id_space), group.columns)
            note((group.labels, group.id_space), {k: p.column for k, p in patches.items()})
    for added in delta.added:
        if not _all_in(added.ranges, delta.dead):
            note(added.key, added.columns)
    for record in manifest.types:
        note(record.name, record.columns)
    for name, edges in delta.types.items():
        note(name, edges.columns)
        note(name, {key: patch.column for key, patch in edges.patches.items()})
    return found


def _all_in(ranges: Sequence[tuple[int, int]], vids: U32) -> bool:
    """Whether all of the ranges are among vids, u32[n] ascending, distinct."""
    inside = sum(int(np.diff(np.searchsorted(vids, pair))[0]) for pair in ranges)
    return inside == count_of(ranges)


def _distinct(numbers: I64, below: int) -> bool:
    """Whether numbers ascend, each once, within 0 .. below."""
    inside = not len(numbers) or 0 <= int(numbers[0]) <= int(numbers[-1]) < below
    return inside and not bool((np.diff(numbers) <= 0).any())


def _index_order(subject: IndexIn) -> None:
    keys = subject[0].keys
    expect(not (keys[1:] < keys[:-1]).any(), "has ids that are not sorted")


def _index_vids(subject: IndexIn) -> None:
    index, vertex_count = subject
    known = not index.vids.shape[0] or int(index.vids.max()) < vertex_count
    expect(known, "names a vertex that does not exist")


# O(n)
INDEX: tuple[Compared[IndexIn], ...] = (
    Compared("index vids", "Every vid of an index of ids is below vertex_count.", _index_vids),
    Compared("index order", "The keys of an index of ids ascend.", _index_order),
)


def compare_rows(where: str, name: str, part: Part, vertex_count: int) -> None:
    """Raise CorruptStore unless `ROWS` hold of a part; on all cores, or few where a budget bounds what is read at
    once."""

    def check(some: Part) -> None:
        compare(where, name, ROWS, (some, vertex_count))

    for _ in waiting.within_budget(check, _pieces(part)):
        pass


def _times(column: Column) -> None:
    values, kind = column.values, column.kind
    if column.items is not None:
        _times(column.items)
    elif kind in _TIMES:
        known = values if column.valid is None else values[column.valid]
        first, last = _TIMES[kind]
        inside = not len(known) or first <= int(known.min()) <= int(known.max()) <= last
        expect(inside, f"holds what is no {kind}")


def _offsets(column: Column) -> None:
    for offsets, what in (
        (column.inner, "strings that do not follow one another"),
        (
            column.offsets,
            "lists that end before they begin"
            if column.items is not None
            else "strings that do not follow one another",
        ),
    ):
        if offsets is not None:
            expect(not (offsets[1:] < offsets[:-1]).any(), f"holds {what}")


def _booleans(column: Column) -> None:
    values = column.values
    if (ITEM_OF.get(column.kind) or column.kind) == "bool" and values.shape[0]:
        expect(int(values.max()) <= 1, "holds a bool that is neither true nor false")


def _texts(column: Column) -> None:
    texts = column if column.items is None else column.items
    expect(_is_text(texts), "holds strings that are not UTF-8")


def _coded(column: Column) -> None:
    expect(column.kind != "any" or _is_coded(column), "holds texts that are no values")


# O(n + bytes); Arrow's readers compare none of this
COLUMN: tuple[Compared[Column], ...] = (
    Compared("times", "Dates, datetimes and durations are within the years 1 to 9999, and 2^63 microseconds.", _times),
    Compared("offsets", "The offsets of texts and lists ascend.", _offsets),
    Compared("booleans", "A boolean is 0 or 1.", _booleans),
    Compared("texts", "Texts are UTF-8, and each begins with a character.", _texts),
    Compared("any values", "Each text of the kind `any` is that of a value.", _coded),
)  # fmt: skip


def _is_coded(column: Column) -> bool:
    """Whether each text of the kind "any" is of a value."""
    try:
        column.to_list()
    except ValueError:
        return False
    return True


def _is_text(column: Column) -> bool:
    values, offsets = column.values, column.offsets
    if offsets is None or not values.shape[0] or int(values.max()) < 0x80:
        return True
    if ((values[offsets[offsets < values.shape[0]]] & 0xC0) == 0x80).any():
        return False  # a string begins inside a character
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for begin in range(0, values.shape[0], _CHUNK):
            decoder.decode(values[begin : begin + _CHUNK].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True

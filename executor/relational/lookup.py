"""From vids and edge ids to columns: properties, user ids, labels and types, looked up in the snapshot.

A query vertex may hold vertices of several groups, each with its own property columns; a query edge,
edges of several types. `*_property` takes each value from the column of its own group or type; int64 and
float64 columns of one key widen to float64, all beside one of the kind "any" to that. Where the elements are rows of
one column that follow one another, as in a scan of a label or of a type, their values are left where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from gdb.base import usage, waiting
from gdb.base.once import MadeOnce
from gdb.errors import TypeProblem
from gdb.storage.columns.model import ITEM_OF, TEXT_KINDS, Column, Item, Kind
from gdb.storage.columns.python_columns import column_of
from gdb.storage.columns.slices import Slice, follow_one_another
from gdb.storage.graph.ascending import expanded

if TYPE_CHECKING:
    from gdb.storage.graph.snapshot import Snapshot

I64: TypeAlias = npt.NDArray[np.int64]
U32: TypeAlias = npt.NDArray[np.uint32]


def common_kind(kinds: Iterable[Kind], key: str) -> Kind | None:
    """The one kind that holds values of all `kinds`; None for no kinds.

    Raises
    ------
    TypeProblem : one key holds, say, numbers in one place and strings in another.
    """
    found = sorted(set(kinds))
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    if "any" in found:
        return "any"
    if found == ["float64", "int64"]:
        return "float64"
    raise TypeProblem(
        f"property {key!r} is {' and '.join(found)} in different parts of the graph.",
        "Name a label or relationship type in the pattern, so that only one of them is meant.",
    )


def vertex_property(
    snapshot: Snapshot, vids: U32, key: str, kind: Kind | None = None
) -> Slice | None:
    """Property `key` of each vid, null where it has none; None where no vertex of the graph has the key."""
    if kind is None:
        kind = common_kind((group.keys[key] for group in snapshot.groups if key in group.keys), key)
    if kind is None:
        return None
    lying = _lying(snapshot, vids, key, kind)
    if lying is not None:
        return lying
    whole = _by_vid(snapshot, key, kind, len(vids))
    if whole is not None:
        return Slice.of(whole.take(vids.astype(np.int64)))
    groups = snapshot.groups_of(vids)
    present = _present(groups)
    if len(present) == 1:
        own = snapshot.vertex_values(present[0], key, vids)
        return Slice.of(Column.nulls(kind, len(vids)) if own is None else widen(own, kind))
    pieces = _pieces(groups, lambda group, rows: snapshot.vertex_values(group, key, vids[rows]))
    return _assemble(pieces, len(vids), kind)


def edge_property(
    snapshot: Snapshot, eids: I64, key: str, kind: Kind | None = None
) -> Slice | None:
    """Property `key` of each edge id, null where it has none; None where no edge of the graph has the key."""
    if kind is None:
        kind = common_kind(
            (type_.keys[key] for type_ in snapshot.edge_types if key in type_.keys), key
        )
    if kind is None:
        return None
    if follow_one_another(eids):
        number, last = edge_type_numbers(snapshot, eids[[0, -1]]).tolist()
        type_ = snapshot.edge_types[number]
        if number == last and type_.keys.get(key) == kind:
            column = snapshot.edge_column(type_.name, key)
            if column is not None:
                begin = int(eids[0]) - type_.first_eid
                return Slice(column, begin, begin + len(eids))

    def values(number: int, rows: I64) -> Column | None:
        return snapshot.edge_values(snapshot.edge_types[number].name, key, eids[rows])

    return _assemble(_pieces(edge_type_numbers(snapshot, eids), values), len(eids), kind)


def edge_type_numbers(snapshot: Snapshot, eids: I64) -> I64:
    """Index into snapshot.edge_types of each edge id, i64[n]."""
    firsts = np.array([type_.first_eid for type_ in snapshot.edge_types], np.int64)
    return np.searchsorted(firsts, eids, side="right").astype(np.int64) - 1


def vertex_ids(snapshot: Snapshot, vids: U32, kind: Kind | None = None) -> Slice:
    """The user's id of each vid: all numbers, or all strings, as `kind` or as they are.

    Raises
    ------
    TypeProblem : some are numbers and some strings, and no kind is given.
    """
    lying = _lying(snapshot, vids, None, kind)
    if lying is not None:
        return lying
    whole = None if kind is None else _by_vid(snapshot, None, kind, len(vids))
    if whole is not None:
        return Slice.of(whole.take(vids.astype(np.int64)))
    groups = snapshot.groups_of(vids)
    pieces = _pieces(groups, lambda group, rows: snapshot.vertex_values(group, None, vids[rows]))
    kinds = {column.kind for _, column in pieces} if kind is None else {kind}
    if len(kinds) > 1:
        raise TypeProblem(
            "id() would mix numbers and strings here.",
            "Name a label in the pattern whose nodes have ids of one kind.",
        )
    return _assemble(pieces, len(vids), kinds.pop() if kinds else "int64")


def ids_by_vid(snapshot: Snapshot) -> I64:
    """The user's id of every vid, i64[vids], the same array for the same snapshot; anything for vertices whose ids are
    strings."""
    whole = _by_vid(snapshot, None, "int64", snapshot.vertex_count)
    return np.zeros(0, np.int64) if whole is None else whole.values.astype(np.int64, copy=False)


def _lying(snapshot: Snapshot, vids: U32, key: str | None, kind: Kind | None) -> Slice | None:
    """Property `key` (None: the user's ids) of each vid where these are rows of one group that follow one another and
    its column is of the kind (None: of whichever it is); else None."""
    if not follow_one_another(vids):
        return None
    group, last = snapshot.groups_of(vids[[0, -1]]).tolist()
    if group != last:
        return None
    begin, end = snapshot.group_rows(vids[[0, -1]], group).tolist()
    if end - begin != len(vids) - 1:  # of another group are some between them
        return None
    column = snapshot.id_column(group) if key is None else snapshot.vertex_column(group, key)
    if column is None or kind not in (None, column.kind):
        return None
    return Slice(column, begin, end + 1)


# ---- columns by vid --------------------------------------------------------------------------------


class _Wholes:
    """The columns of one snapshot that are kept by vid, and how many values were read from the others."""

    def __init__(self, _: Snapshot) -> None:
        self.columns: dict[tuple[str | None, Kind], Column] = {}
        self.looked_up: dict[tuple[str | None, Kind], int] = {}
        self.lock = waiting.Lock()


_wholes = MadeOnce(_Wholes)
_WORTH = 4  # a column is laid out by vid once a fourth of its values was read


def _by_vid(snapshot: Snapshot, key: str | None, kind: Kind, count: int) -> Column | None:
    """Property `key` (None: the user's ids) of all vertices in the order of vids; None while too few values were
    read to make it worth while, and where it is made of texts or lists and not all vertices are of one group."""
    if kind in TEXT_KINDS or kind in ITEM_OF:
        groups = snapshot.groups
        if len(groups) != 1 or groups[0].ranges != ((0, snapshot.vertex_count),):
            return None
    wholes, place = _wholes.of(snapshot), (key, kind)
    whole = wholes.columns.get(place)
    if whole is None:
        # a number that another thread overwrites makes it no dearer than one read more
        wholes.looked_up[place] = read = wholes.looked_up.get(place, 0) + count
        if _WORTH * read < snapshot.vertex_count:
            return None
        with wholes.lock:
            if place not in wholes.columns:
                make = partial(_laid_out, snapshot, key, kind)
                wholes.columns[place] = waiting.aside(snapshot.vertex_count, make)
            whole = wholes.columns[place]
    usage.read(*whole.arrays)
    return whole


@usage.unread  # what it makes is read
def _laid_out(snapshot: Snapshot, key: str | None, kind: Kind) -> Column:
    """All groups' columns as one by vid; the column itself where there is one group, without a copy."""
    columns = [
        snapshot.id_column(number) if key is None else snapshot.vertex_column(number, key)
        for number in range(len(snapshot.groups))
    ]
    ends = [stop for group in snapshot.groups for _, stop in group.ranges]
    if len(columns) == 1 and columns[0] is not None and len(columns[0]) == max(ends):
        return widen(columns[0], kind)
    whole = Column.nulls(kind, max(ends, default=0))
    valid = np.zeros(len(whole), np.bool_)
    for group, column in zip(snapshot.groups, columns, strict=True):
        if column is None or (column.kind != kind and (column.kind, kind) != ("int64", "float64")):
            continue  # of another kind: no vertex of this group is read
        values, row = widen(column, kind).values, 0
        for start, stop in group.ranges:
            end = row + stop - start
            whole.values[start:stop] = values[row:end]
            valid[start:stop] = True if column.valid is None else column.valid[row:end]
            row = end
    return Column(kind, whole.values, None, None if valid.all() else valid)


def vertex_labels(snapshot: Snapshot, vids: U32) -> tuple[I64, Column]:
    """The labels of each vid: how many (i64[n]), and all of them one after the other."""
    counts = np.array([len(group.labels) for group in snapshot.groups], np.int64)
    names = [label for group in snapshot.groups for label in group.labels]
    if not names:
        return np.zeros(len(vids), np.int64), strings([])
    groups = snapshot.groups_of(vids).astype(np.int64)
    lengths = counts[groups]
    first = (np.cumsum(counts) - counts)[groups]
    _, places = expanded(first, first + lengths)
    return lengths, strings(names).take(places)


def edge_types(snapshot: Snapshot, eids: I64) -> Column:
    """The type's name of each edge id."""
    return strings([type_.name for type_ in snapshot.edge_types]).take(
        edge_type_numbers(snapshot, eids)
    )


def strings(values: Sequence[str]) -> Column:
    """A string column without nulls, also of no rows."""
    return column_of(values, "string")


def widen(column: Column, kind: Kind) -> Column:
    """The column as `kind`: int64 becomes float64 where needed, and everything can become a string, or any.

    Raises
    ------
    TypeProblem : any other change of kind.
    """
    if column.kind == kind:
        return column
    if kind == "string":
        texts = [None if value is None else _text(value) for value in column.to_list()]
        return column_of(texts, "string")
    if kind == "any":
        return column.as_any()
    if (column.kind, kind) != ("int64", "float64"):
        raise TypeProblem(f"a property is {column.kind} where {kind} was expected.")
    return Column("float64", column.values.astype(np.float64), None, column.valid)


def _text(value: Item | list[Item]) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_text, value))}]"
        case bool():
            return str(value).lower()
        case date() | timedelta():
            # here: only temporal values need it
            from gdb.base.values.temporal_python import moment_text

            return moment_text(value)
        case float():
            # here: at the start it would load the arithmetic of rows
            from gdb.base.values.arithmetic import as_text

            return as_text(value)
        case _:
            return str(value)


def _present(numbers: npt.NDArray[np.signedinteger]) -> list[int]:
    """The distinct values of a small range of numbers >= 0, ascending, in O(n)."""
    if len(numbers) == 1:
        return [int(numbers[0])]
    present: list[int] = np.bincount(numbers).nonzero()[0].tolist() if len(numbers) else []
    return present


def _pieces(
    numbers: npt.NDArray[np.signedinteger], values: Callable[[int, I64], Column | None]
) -> list[tuple[I64, Column]]:
    """The places of each number, and the values there, where it has any."""
    found: list[tuple[I64, Column]] = []
    for number in _present(numbers):
        rows = np.flatnonzero(numbers == number)
        if (column := values(number, rows)) is not None:
            found.append((rows, column))
    return found


def _assemble(pieces: list[tuple[I64, Column]], length: int, kind: Kind) -> Slice:
    """One column of `length` rows from pieces that know their rows; rows of no piece are null."""
    if len(pieces) == 1 and len(pieces[0][0]) == length:
        return Slice.of(widen(pieces[0][1], kind))
    joined = Column.concat([*(widen(column, kind) for _, column in pieces), Column.nulls(kind, 1)])
    # row -> its place in the pieces laid end to end
    places = np.full(length, len(joined) - 1, np.int64)
    begin = 0
    for rows, _ in pieces:
        places[rows] = np.arange(begin, begin + len(rows))
        begin += len(rows)
    return Slice.of(joined.take(places))

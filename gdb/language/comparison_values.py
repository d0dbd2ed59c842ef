"""Properties of elements as whole numbers by vid or edge id, which compare as the properties do.

Whole numbers, dates and datetimes are taken as they are stored, without a copy where one column has them all; floats,
texts, and whole numbers that are beside floats or too large to calculate with are taken by their rank among those of
both sides. The arrays are kept as long as the snapshot, so that queries share them, on a GPU as well.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base.once import MadeOnce, MadeWithin
from gdb.executor.plan.plan import MISSING
from gdb.functions.types import TypeName
from gdb.language.scope import Scope
from gdb.language.syntax import ElementReference, Name
from gdb.records import dataclass
from gdb.storage.columns.model import Column
from gdb.storage.graph.adjacency import I64

if TYPE_CHECKING:
    from gdb.storage.graph.snapshot import Snapshot

F64: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

LARGEST = 1 << 61
"""Of values and constants that are calculated with; their differences are at most twice that."""
MOST_KEPT = 1 << 30  # bytes of the arrays that are kept for a snapshot
_HALF = 1 << 63  # one more than the largest whole number


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a property of an element, with no key its id, or the element `itself`."""

    element: ElementReference
    key: Name | None
    itself: bool = False


def pair(
    scope: Scope,
    sides: tuple[Side, Side],
    kinds: tuple[TypeName, TypeName],
    *,
    calculated: bool,
    unequal: bool,
    ordered: bool,
) -> tuple[I64, I64] | None:
    """The values of both sides by vid or edge id, i64, within `LARGEST`; `MISSING` for null, and for NaN where that
    makes the comparison false.

    calculated : their differences matter, and not only which is larger. unequal : they must differ. ordered : a
    NaN is to be neither less nor more than anything.

    Returns
    -------
    None where there are no such values: some are too large to calculate with, or a NaN is to be `ordered`.
    """
    if not {TypeName.FLOAT, TypeName.STRING} & set(kinds):
        first, second = (_whole(scope, side) for side in sides)
        if first.is_small and second.is_small:
            return first.values, second.values
        if calculated:
            return None
    ranks = _ranked(scope, sides, kinds)
    if not ranks.has_nan:
        return ranks.left, ranks.right
    if ordered:
        return None
    return ranks.apart() if unequal else (ranks.left, ranks.right)


# ---- what is kept --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Integers:
    """Whole numbers by vid or edge id, `MISSING` for none. is_small : all are within `LARGEST`. is_own : they are no
    stored column."""

    values: I64
    is_small: bool
    is_own: bool

    @property
    def bytes(self) -> int:
        return self.values.nbytes if self.is_own else 0


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """The ranks of the values of both sides by vid or edge id, `MISSING` for null and for NaN. nan : where those are,
    i64[k] for each side."""

    left: I64
    right: I64
    nan: tuple[I64, I64]

    @property
    def bytes(self) -> int:
        """What they take."""
        return self.left.nbytes + (0 if self.right is self.left else self.right.nbytes)

    @property
    def has_nan(self) -> bool:
        """Whether any value is NaN."""
        return any(len(places) for places in self.nan)

    def apart(self) -> tuple[I64, I64]:
        """The same, but that a NaN is equal to nothing."""
        left, right = self.left.copy(), self.right.copy()
        left[self.nan[0]], right[self.nan[1]] = -1, -2
        return left, right


Made = TypeVar("Made", _Integers, Ranks)


def _nothing(_: Snapshot) -> MadeWithin[Hashable, _Integers | Ranks]:
    return MadeWithin()


_of_snapshots = MadeOnce(_nothing)


def kept_for(scope: Scope, kind: type[Made], key: Hashable, make: Callable[[], Made]) -> Made:
    """What is made of the scope's snapshot, once for a key."""
    found = _of_snapshots.of(scope.snapshot).of((kind, key), make, MOST_KEPT)
    assert isinstance(found, kind)
    return found


def _place(scope: Scope, side: Side) -> Hashable:
    """By what the values of a side are known in a snapshot."""
    element, key = side.element, None if side.key is None else side.key.text
    if side.itself:
        return "itself", element.kind
    if element.kind == "edge":
        return "edge", None if key is None else scope.types(element.index), key
    return "vertex", None if key is None else scope.groups(element.index), key


def _whole(scope: Scope, side: Side) -> _Integers:
    return kept_for(scope, _Integers, _place(scope, side), lambda: _read_whole(scope, side))


def _ranked(scope: Scope, sides: tuple[Side, Side], kinds: tuple[TypeName, TypeName]) -> Ranks:
    key = tuple(_place(scope, side) for side in sides)
    return kept_for(scope, Ranks, key, lambda: _rank(scope, sides, kinds))


# ---- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The vids or edge ids [first, end), whose values are in a column from `row` on."""

    first: int
    end: int
    row: int
    column: Column

    @property
    def valid(self) -> Flags:
        count = self.end - self.first
        if self.column.valid is None:
            return np.ones(count, np.bool_)
        return self.column.valid[self.row : self.row + count]

    @property
    def values(self) -> npt.NDArray[np.generic]:
        return self.column.values[self.row : self.row + self.end - self.first]


def _parts(scope: Scope, side: Side) -> tuple[int, list[_Part]]:
    """The number of vids, or of edge ids, and where their values are."""
    element, snapshot = side.element, scope.snapshot
    key = "" if side.key is None else side.key.text
    found: list[_Part] = []
    if element.kind == "edge":
        admitted = scope.types(element.index)
        for type_ in snapshot.edge_types:
            column = snapshot.edge_column(type_.name, key) if type_.name in admitted else None
            if column is not None:
                end = type_.first_eid + type_.edge_count
                found.append(_Part(type_.first_eid, end, 0, column))
        return snapshot.edge_count, found
    for number in scope.groups(element.index):
        column, row = snapshot.vertex_column(number, key), 0
        for first, end in snapshot.groups[number].ranges:
            if column is not None:
                found.append(_Part(first, end, row, column))
            row += end - first
    return snapshot.vertex_count, found


def _read_whole(scope: Scope, side: Side) -> _Integers:
    if side.itself:
        return _Integers(np.arange(scope.snapshot.vertex_count, dtype=np.int64), True, True)
    if side.key is None:
        return _ids(scope, side.element)
    count, parts = _parts(scope, side)
    if len(parts) == 1:
        (part,) = parts
        stored = part.column.values
        plain = part.column.valid is None and stored.dtype == np.int64
        if plain and (part.first, part.end, part.row) == (0, count, 0):
            return _Integers(np.ascontiguousarray(stored, np.int64), _is_small(stored), False)
    values, small = np.full(count, MISSING, np.int64), True
    for part in parts:
        some, valid = part.values.astype(np.int64), part.valid
        small &= _is_small(some[valid])
        values[part.first : part.end] = np.where(valid, some, MISSING)
    return _Integers(values, small, True)


def _is_small(values: npt.NDArray[np.generic]) -> bool:
    return not len(values) or (int(values.min()) >= -LARGEST and int(values.max()) <= LARGEST)


def _ids(scope: Scope, element: ElementReference) -> _Integers:
    if element.kind == "edge":
        return _Integers(np.arange(scope.snapshot.edge_count, dtype=np.int64), True, True)
    from gdb.executor.relational.lookup import ids_by_vid  # here: only comparisons of ids need it

    ids = ids_by_vid(scope.snapshot)
    return _Integers(ids, _is_small(ids), False)


# ---- ranks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """Numbers by vid or edge id: the nearest float of each, and what it lacks where that is none; valid : not null."""

    nearest: F64
    lacks: I64
    valid: Flags


def _rank(scope: Scope, sides: tuple[Side, Side], kinds: tuple[TypeName, TypeName]) -> Ranks:
    if kinds[0] is TypeName.STRING:
        return _rank_texts(scope, sides)
    left, right = (_numbers(scope, *one) for one in zip(sides, kinds, strict=True))
    alike = _place(scope, sides[0]) == _place(scope, sides[1])
    known = [left] if alike else [left, right]
    nearest = np.concatenate([one.nearest for one in known])
    lacks = np.concatenate([one.lacks for one in known])
    valid = np.concatenate([one.valid for one in known])
    nan = np.isnan(nearest) & valid
    there = np.flatnonzero(valid & ~nan)
    ranks = np.full(len(nearest), MISSING, np.int64)
    ranks[there] = _dense(nearest[there], lacks[there])
    first = ranks[: len(left.valid)]
    places = np.flatnonzero(nan)
    if alike:
        return Ranks(first, first, (places, places))
    n = len(first)
    return Ranks(first, ranks[n:], (places[places < n], places[places >= n] - n))


def _dense(nearest: F64, lacks: I64) -> I64:
    """The place of each number among the distinct ones, by the first array, then by the second."""
    if not lacks.any():
        return np.unique(nearest, return_inverse=True)[1].astype(np.int64)
    order = np.lexsort((lacks, nearest))
    sorted_, rest = nearest[order], lacks[order]
    new = np.ones(len(order), np.int64)
    new[1:] = (sorted_[1:] != sorted_[:-1]) | (rest[1:] != rest[:-1])
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(new)
    return ranks


def _numbers(scope: Scope, side: Side, kind: TypeName) -> _Numbers:
    if side.key is None:
        ids = _ids(scope, side.element).values
        return _Numbers(ids.astype(np.float64), _lacking(ids), np.ones(len(ids), np.bool_))
    count, parts = _parts(scope, side)
    values = np.zeros(count, np.float64 if kind is TypeName.FLOAT else np.int64)
    valid = np.zeros(count, np.bool_)
    for part in parts:
        values[part.first : part.end] = part.values
        valid[part.first : part.end] = part.valid
    lacks = (
        np.zeros(count, np.int64) if kind is TypeName.FLOAT else _lacking(values.astype(np.int64))
    )
    return _Numbers(values.astype(np.float64), lacks, valid)


def _lacking(whole: I64) -> I64:
    """What the nearest float of each whole number lacks. To compare the floats, then this, is to compare exactly:
    rounding changes no order, and numbers with one nearest float differ by what this differs by."""
    nearest = whole.astype(np.float64)
    beyond = nearest >= _HALF
    lacks = whole - np.where(beyond, 0, nearest).astype(np.int64)
    lacks[beyond] = whole[beyond] - (_HALF - 1) - 1
    return lacks


def _rank_texts(scope: Scope, sides: tuple[Side, Side]) -> Ranks:
    """By DuckDB, which sorts texts by their bytes, as Unicode is sorted."""
    from gdb.executor.relational import arrow, relational  # needs DuckDB

    chunks, begin, counts = [], 0, []
    alike = _place(scope, sides[0]) == _place(scope, sides[1])
    for side in sides[:1] if alike else sides:
        count, parts = _parts(scope, side)
        for part in parts:
            places = np.arange(begin + part.first, begin + part.end, dtype=np.int64)
            texts = part.column.part(part.row, part.row + part.end - part.first)
            columns = [arrow.int64_array(places), arrow.column_array(texts)]
            chunks.append(arrow.struct_array(["place", "text"], columns, len(places)))
        begin += count
        counts.append(count)
    ranks = np.full(begin, MISSING, np.int64)
    if chunks:
        sql = "SELECT place, dense_rank() OVER (ORDER BY text) AS rank FROM texts WHERE text IS NOT NULL"
        answer = relational.query({"texts": arrow.chunks_array(chunks)}, sql, {})
        for chunk in answer.iter_chunks():
            found = [arrow.int64_values(arrow.child(chunk, k))[0] for k in (0, 1)]
            ranks[found[0]] = found[1]
    none = np.zeros(0, np.int64)
    first = ranks[: counts[0]]
    return Ranks(first, first if alike else ranks[counts[0] :], (none, none))

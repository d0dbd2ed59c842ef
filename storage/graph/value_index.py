"""Rows of a column by value: equality look-ups of a batch of values, through an index or in one pass over the column.

The index is the values ascending beside their rows (of texts their hashes, as in `gdb.storage.graph.ids`). Equality is
that of openCypher: 1 = 1.0, NaN and null equal nothing, values of different types differ.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gdb.base import usage, waiting
from gdb.base.once import cached_property
from gdb.records import dataclass

from ..columns.model import I64, INT64, U32, Column, Kind, from_strings
from .ascending import expanded
from .ids import hash_strings
from .pcsr import stable_order

U64 = npt.NDArray[np.uint64]
Keys = npt.NDArray[np.int64 | np.uint64 | np.float64 | np.uint8 | np.int32]
Found: TypeAlias = tuple[I64, I64]
"""Places of wanted values, and rows of a column that hold them: i64[n] each."""

_LOW, _HIGH = INT64.start, INT64.stop
_EXACT = 1 << 53
_INT: set[type] = {int}
FEW = 4
"""Values up to which a column is compared with each of them: more are looked up by a search for each row."""
MOST_INDEXED = 1 << 25
"""Values of a column up to which an index of it is kept, 12 bytes each."""
_PASSES = 2
"""Look-ups of few values that pass over a column before an index of it is made."""
_NONE: Found = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts as a column has them. places : their places among the wanted values, i64[n]; column : n texts, none null;
    hashes : of each, u64[n]."""

    places: I64
    column: Column
    hashes: U64


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """keys : the values of a column ascending, of texts their hashes, without nulls and NaN; rows : u32[n], of each."""

    keys: Keys
    rows: U32


class Wanted:
    """Distinct values that are looked up: numbers, texts and booleans. What is none of these equals no value of a plain
    column; `others` are the places of those that can be in a column of values of any type."""

    def __init__(self, values: Sequence[object] | I64) -> None:
        """values : an array where all are integers."""
        self._given = values
        self._types = _INT if isinstance(values, np.ndarray) else {*map(type, values)}

    def __len__(self) -> int:
        return len(self._given)

    @cached_property
    def values(self) -> Sequence[object]:
        """The values one by one."""
        given = self._given
        return cast("list[object]", given.tolist()) if isinstance(given, np.ndarray) else given

    @cached_property
    def plain(self) -> bool:
        """Whether all are numbers, texts, booleans or null."""
        return self._types <= {int, float, str, bool, type(None)}

    @property
    def one_integer(self) -> int | None:
        """The integer that is wanted, where it is one and nothing else is."""
        if self._types != _INT or len(self.values) != 1:
            return None
        (value,) = self.values
        return value if isinstance(value, int) else None

    @cached_property
    def integers(self) -> tuple[I64, Keys]:
        """Places and values of what an integer can equal."""
        if self._types == _INT:
            try:
                return np.arange(len(self)), np.asarray(self._given, np.int64)
            except OverflowError:
                pass
        pairs = [
            (place, int(value))
            for place, value in enumerate(self.values)
            if (type(value) is int or (type(value) is float and value.is_integer()))
            and _LOW <= value < _HIGH
        ]
        return _arrays(pairs, np.int64)

    @cached_property
    def floats(self) -> tuple[I64, Keys]:
        """Places and values of what a float can equal."""
        pairs = []
        for place, value in enumerate(self.values):
            if type(value) is float and not math.isnan(value):
                pairs.append((place, value + 0.0))
            elif type(value) is int and (abs(value) <= _EXACT or _is_float(value)):
                pairs.append((place, float(value)))
        return _arrays(pairs, np.float64)

    @cached_property
    def booleans(self) -> tuple[I64, Keys]:
        """Places and values of the booleans."""
        pairs = [(k, int(v)) for k, v in enumerate(self.values) if type(v) is bool]
        return _arrays(pairs, np.uint8)

    @cached_property
    def texts(self) -> Texts:
        """The strings that can be stored."""
        return _texts((k, v) for k, v in enumerate(self.values) if type(v) is str)

    @cached_property
    def coded(self) -> Texts:
        """The texts that the values have in a column of the kind "any": of a number both of integer and of float."""
        from ..columns.any_values import text_of  # here: only columns of any type need it

        found: list[tuple[int, str]] = []
        for place, value in enumerate(self.values):
            if type(value) is int and not _LOW <= value < _HIGH:
                continue
            if type(value) in (bool, str, int) or (type(value) is float and value == value):
                found.append((place, text_of(value)))
            if type(value) is int and (abs(value) <= _EXACT or _is_float(value)):
                found.append((place, text_of(float(value))))
            if type(value) is float and value.is_integer() and _LOW <= value < _HIGH:
                found.append((place, text_of(int(value))))
            if value == 0 and type(value) in (int, float):
                found += [(place, text_of(zero)) for zero in (0.0, -0.0)]
        return _texts(dict.fromkeys(found))

    def user_ids(self) -> tuple[I64, Sequence[int | str] | I64]:
        """Places and values of what can be a user's id, an array where all are integers."""
        if self._types == _INT:  # most often: not through `cached_property`
            try:
                return np.arange(len(self)), np.asarray(self._given, np.int64)
            except OverflowError:
                pass
        places, values = self.integers
        numbers = values.astype(np.int64, copy=False)
        texts = [(k, v) for k, v in enumerate(self.values) if type(v) is str]
        if not texts:
            return places, numbers
        found: list[int | str] = [*numbers.tolist(), *(v for _, v in texts)]
        return np.concatenate([places, np.array([k for k, _ in texts], np.int64)]), found


def _is_float(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _arrays(
    pairs: Sequence[tuple[int, float]], dtype: type[np.int64 | np.float64 | np.uint8]
) -> tuple[I64, Keys]:
    places = np.array([place for place, _ in pairs], np.int64)
    return places, np.array([value for _, value in pairs], dtype)


def _texts(pairs: Iterable[tuple[int, str]]) -> Texts:
    kept = [(place, text) for place, text in pairs if _storable(text)]
    column = from_strings([text for _, text in kept])
    return Texts(np.array([k for k, _ in kept], np.int64), column, _hashes(column))


def _storable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _hashes(column: Column) -> U64:
    assert column.offsets is not None
    return hash_strings(column.values.astype(np.uint8, copy=False), column.offsets)


# ---- the index -------------------------------------------------------------------------------------


def can_hold(kind: Kind, wanted: Wanted) -> bool:
    """Whether `find_values` gives the answer for columns of a kind: its values, or those that are wanted, are plain."""
    return kind in _PLAIN or wanted.plain


_PLAIN = ("int64", "float64", "bool", "string")
_INDEXED = (*_PLAIN, "any")


def index_of(column: Column) -> Index:
    """The index of a column of a plain kind or of texts; one sort."""
    keys: Keys = column.values if column.offsets is None else _hashes(column)
    kept = column.valid
    if column.kind == "float64":
        numbers = ~np.isnan(keys)
        kept = numbers if kept is None else kept & numbers
    rows = None if kept is None or kept.all() else np.flatnonzero(kept)
    keys = keys if rows is None else keys[rows]
    if column.kind == "float64":
        order = np.argsort(keys, kind="stable")
    elif column.offsets is None:
        order = stable_order(keys.astype(np.int64, copy=False))
    else:
        order = stable_order(keys.astype(np.uint64, copy=False))
    places = order if rows is None else rows[order]
    return Index(keys[order], places.astype(np.uint32))


class Indexes:
    """The indexes of columns that never change, each made when it is worth it. Not thread-safe."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str], Index] = {}
        self._passes: dict[tuple[int, str], int] = {}

    def made(self, name: tuple[int, str]) -> Index | None:
        """The index of a column, where it was made."""
        return self._made.get(name)

    def found(self, name: tuple[int, str], column: Column, wanted: Wanted) -> Found:
        """As `find_values`. name : of the column, always the same one."""
        if name not in self._made and len(column) <= MOST_INDEXED and column.kind in _INDEXED:
            self._passes[name] = self._passes.get(name, 0) + 1
            if len(wanted) > FEW or self._passes[name] > _PASSES:
                usage.read(*column.arrays)
                make = partial(index_of, column)
                self._made[name] = waiting.aside(len(column), make)
        if name not in self._made:
            usage.read(*column.arrays)
        return find_values(column, wanted, self._made.get(name))


def find_values(column: Column, wanted: Wanted, index: Index | None) -> Found:
    """Which of the wanted values a column holds, and in which rows; through its index, or in one pass."""
    match column.kind:
        case "string":
            return _found_texts(column, wanted.texts, index)
        case "any":
            return _found_texts(column, wanted.coded, index)
        case "int64":
            places, keys = wanted.integers
        case "float64":
            places, keys = wanted.floats
        case "bool":
            places, keys = wanted.booleans
        case _:  # times and lists: no plain value equals one
            return _NONE
    if not len(places):
        return _NONE
    at, rows = _scanned(column.values, keys) if index is None else _searched(index, keys)
    if index is None and column.valid is not None:
        known = column.valid[rows]
        at, rows = at[known], rows[known]
    return places[at], rows


def _found_texts(column: Column, texts: Texts, index: Index | None) -> Found:
    if not len(texts.places):
        return _NONE
    if index is not None:
        at, rows = _searched(index, texts.hashes)
    elif len(texts.places) <= FEW:
        return _compared_texts(column, texts)
    else:
        at, rows = _scanned(_hashes(column), texts.hashes)
        if column.valid is not None:
            known = column.valid[rows]
            at, rows = at[known], rows[known]
    same = _same_texts(column.take(rows), texts.column.take(at))
    return texts.places[at[same]], rows[same]


def _same_texts(one: Column, other: Column) -> npt.NDArray[np.bool_]:
    """Which of n pairs of texts are the same, bool[n]: hashes may collide."""
    if len(one) == 1:
        return np.array([one.values.tobytes() == other.values.tobytes()])
    assert one.offsets is not None
    assert other.offsets is not None
    if np.array_equal(one.offsets, other.offsets) and np.array_equal(one.values, other.values):
        return np.ones(len(one), np.bool_)
    pairs = zip(_bytes(one), _bytes(other), strict=True)
    return np.fromiter((a == b for a, b in pairs), np.bool_, len(one))


def _bytes(column: Column) -> list[bytes]:
    assert column.offsets is not None
    data, bounds = column.values.tobytes(), column.offsets.tolist()
    return [data[a:b] for a, b in itertools.pairwise(bounds)]


def _compared_texts(column: Column, texts: Texts) -> Found:
    """Each text with those of its length, byte for byte from the last one on, where most texts differ."""
    assert column.offsets is not None
    starts, lengths = column.offsets[:-1], column.offsets[1:] - column.offsets[:-1]
    at, found_rows = [], []
    for number, text in enumerate(_bytes(texts.column)):
        rows = np.flatnonzero(lengths == len(text))
        if column.valid is not None:
            rows = rows[column.valid[rows]]
        for k in range(len(text) - 1, -1, -1):
            rows = rows[column.values[starts[rows] + k] == text[k]]
            if not len(rows):
                break
        at.append(np.full(len(rows), texts.places[number]))
        found_rows.append(rows)
    return np.concatenate(at), np.concatenate(found_rows)


def _searched(index: Index, keys: Keys) -> Found:
    """Places of keys, and rows of the index that have them."""
    if len(keys) == 1:
        (key,) = keys
        first, end = index.keys.searchsorted(key), index.keys.searchsorted(key, "right")
        found = index.rows[first:end].astype(np.int64)
        return np.zeros(found.shape[0], np.int64), found
    low = np.searchsorted(index.keys, keys, "left")
    usage.pulse()
    high = np.searchsorted(index.keys, keys, "right")
    usage.pulse()
    at, places = expanded(low, high)
    return at, index.rows[places].astype(np.int64)


def _scanned(values: Keys, keys: Keys) -> Found:
    """The same in one pass over the values. Several of the keys may be alike (hashes)."""
    if len(keys) <= FEW:
        several = [np.flatnonzero(values == key) for key in keys]
        at = np.repeat(np.arange(len(keys)), [len(rows) for rows in several])
        return at, np.concatenate(several)
    near = _candidates(values, keys)
    values = values if near is None else values[near]
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    low = np.searchsorted(ascending, values, "left")
    counts = np.searchsorted(ascending, values, "right") - low
    rows = np.flatnonzero(counts)
    of_rows = rows if near is None else near[rows]
    if counts.max(initial=0) <= 1:
        return order[low[rows]], of_rows
    at, places = expanded(low[rows], low[rows] + counts[rows])
    return order[places], of_rows[at]


_MIXED = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: Knuth, TAOCP 3, 6.4


def _candidates(values: Keys, keys: Keys) -> I64 | None:
    """The rows of whole numbers that may be among the keys: one in sixteen of the others is with them. They are
    found by a table of bits, since a search for each of many values costs ten times as much. None for other numbers."""
    if values.dtype.itemsize < 8 or values.dtype.kind == "f":
        return None
    shift = np.uint64(64 - max(len(keys).bit_length() + 4, 8))
    table = np.zeros(1 << (64 - int(shift)), np.bool_)
    table[(keys.view(np.uint64) * _MIXED) >> shift] = True
    return np.flatnonzero(table[(values.view(np.uint64) * _MIXED) >> shift])

"""Graphs as tables: what an import hands to the store, and what the store hands back.

A `Column` has Arrow's memory layout (design.md §2, *Properties*), so that DuckDB and the user's
data frame read it in place. Vertex and edge tables are a graph before its vertices are numbered: edges
name their ends by row number.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeGuard, Union, cast

import numpy as np
import numpy.typing as npt

from gdb.errors import ImportFailed
from gdb.records import dataclass, field, quick

if TYPE_CHECKING:
    from gdb.base.values.temporal import Temporal

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.int64 | np.uint32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Values = npt.NDArray[np.int32 | np.int64 | np.float64 | np.uint8]

SingleKind = Literal["int64", "float64", "bool", "string", "date", "datetime", "duration", "any"]
ListKind = Literal[
    "int64[]", "float64[]", "bool[]", "string[]", "date[]", "datetime[]", "duration[]"
]
Kind = SingleKind | ListKind
Item = Union[int, float, bool, str, date, timedelta, "Temporal"]
"""A datetime is a date; only columns of the kind "any" have values of the language's own temporal types."""
PropertyValue = Item | list[Item] | None
FIRST_KINDS: tuple[Kind, ...] = ("int64", "float64", "bool", "string")
"""The kinds that stores and exports of format 1 may hold (docs/FORMAT.md)."""
SECOND_KINDS: tuple[Kind, ...] = (*FIRST_KINDS, "date", "datetime", "duration")
"""The kinds that those of format 2 may hold, and lists of these."""
SINGLE_KINDS: tuple[Kind, ...] = (*SECOND_KINDS, "any")
TEXT_KINDS: tuple[Kind, ...] = ("string", "any")
"""Those whose values are texts, laid end to end."""
LIST_OF: dict[Kind, Kind] = {
    "int64": "int64[]",
    "float64": "float64[]",
    "bool": "bool[]",
    "string": "string[]",
    "date": "date[]",
    "datetime": "datetime[]",
    "duration": "duration[]",
}
ITEM_OF: dict[Kind, Kind] = {list_: item for item, list_ in LIST_OF.items()}
"""The kind of a list -> the kind of its items."""
WIDER: dict[Kind, Kind] = {"int64": "float64", "int64[]": "float64[]"}
"""The kind that a property gets whose values are of both, where that loses none of them
(`gdb.storage.columns.kinds`)."""
KINDS: tuple[Kind, ...] = (*SINGLE_KINDS, *ITEM_OF)
INT64 = range(-(1 << 63), 1 << 63)  # what an integer of 64 bits can be
EXACT = 1 << 53  # integers up to this are floats without loss
ROUNDED = "an integer beyond 2**53, where floats round"
_NAMES: dict[Kind, str] = {
    "int64": "integers",
    "float64": "floats",
    "bool": "booleans",
    "any": "values of any type",
}

DTYPES: dict[Kind, type[np.int32 | np.int64 | np.float64 | np.uint8]] = {
    "int64": np.int64,
    "float64": np.float64,
    "bool": np.uint8,
    "string": np.uint8,
    "date": np.int32,
    "datetime": np.int64,
    "duration": np.int64,
    "any": np.uint8,
}
"""Of the values of single kinds; those of a list are its items'."""
_AT_ONCE = 1 << 18  # bytes of texts that are gathered at once
_IN_SQL: dict[Kind, Kind] = {"duration": "int64", "duration[]": "int64[]", "any": "string"}
# what NumPy makes Python objects of
_TIMES: dict[Kind, str] = {
    "date": "datetime64[D]",
    "datetime": "datetime64[us]",
    "duration": "timedelta64[us]",
}


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One property of n elements.

    kind : type of the values.
    values : i64[n] or f64[n]; bool: u8[n] of 0 and 1; string: the UTF-8 of all, u8[bytes]; date: i32[n], days since
        1970-01-01; datetime: i64[n], microseconds since then, without a zone; duration: i64[n], microseconds;
        any: the texts of values of all types (`gdb.storage.columns.any_values`), as strings;
        lists: the values of all their items, as of a column of those, none of them null.
    offsets : i64[n + 1] into `values` for texts, into the items for lists, None otherwise.
    valid : bool[n], False where the value is null; None where no value is.
    inner : of lists of strings, the offsets of the items; else None.
    bits : `valid` as Arrow has it, u8[at least n / 8], the first row in the lowest bit, where a file has it so; else
        None.
    """

    kind: Kind
    values: Values
    offsets: I64 | None = None
    valid: Bools | None = None
    inner: I64 | None = None
    bits: U8 | None = None

    @property
    def items(self) -> Column | None:
        """The items of all lists, end to end; None where the values are no lists."""
        item = ITEM_OF.get(self.kind)
        return None if item is None else Column(item, self.values, self.inner)

    @classmethod
    def of_lists(cls, items: Column, offsets: I64, valid: Bools | None = None) -> Column:
        """Lists of the items between each offset and the next, i64[n + 1]; no item is null."""
        return cls(LIST_OF[items.kind], items.values, offsets, valid, items.offsets)

    def __len__(self) -> int:
        return int(self.values.shape[0] if self.offsets is None else self.offsets.shape[0] - 1)

    @property
    def arrays(self) -> tuple[Values, I64 | None, Bools | None, I64 | None]:
        """What it consists of, in the order of its fields; without `bits`, which say the same as `valid`."""
        return self.values, self.offsets, self.valid, self.inner

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays, in memory or mapped."""
        return sum(array.nbytes for array in self.arrays if array is not None)

    def part(self, begin: int, end: int) -> Column:
        """The values from one row to another; they are not copied."""
        valid = None if self.valid is None else self.valid[begin:end]
        if self.offsets is None:
            return Column(self.kind, self.values[begin:end], None, valid)
        first, last = int(self.offsets[begin]), int(self.offsets[end])
        offsets = self.offsets[begin : end + 1] - first
        if self.items is not None:
            return Column.of_lists(self.items.part(first, last), offsets, valid)
        return Column(self.kind, self.values[first:last], offsets, valid)

    def take(self, rows: I64) -> Column:
        """The values at `rows` (i64[k], that order, repeats allowed), a column of k values."""
        valid = None if self.valid is None else self.valid[rows]
        if self.offsets is None:
            return Column(self.kind, self.values[rows], None, valid)
        if rows.shape[0] == 1 and self.kind in TEXT_KINDS:
            return self._one_text(rows[0], valid)
        starts = self.offsets[:-1][rows]
        lengths = self.offsets[1:][rows] - starts
        offsets = offsets_of_lengths(lengths)
        if self.items is not None:
            items = self.items.take(places(starts, lengths, offsets))
            return Column.of_lists(items, offsets, valid)
        return Column(self.kind, _gathered(self.values, starts, offsets), offsets, valid)

    def _one_text(self, row: np.int64, valid: Bools | None) -> Column:
        """The text of one row, copied."""
        assert self.offsets is not None
        first, end = self.offsets[row], self.offsets[row + 1]
        offsets = np.zeros(2, np.int64)
        offsets[1] = end - first
        return Column(self.kind, self.values[first:end].copy(), offsets, valid)

    def to_list(self) -> list[PropertyValue]:
        """The values as Python objects, None where null; of the kind "any" as values of the language."""
        found: list[PropertyValue]
        if self.items is not None and self.offsets is not None:
            items: list[Item] = [item for item in self.items.to_list() if _is_item(item)]
            found = [items[a:b] for a, b in pairwise(self.offsets.tolist())]
        elif self.kind == "any":
            return _decoded(self)
        elif self.offsets is not None:
            found = cast("list[PropertyValue]", _strings(self.values.view(np.uint8), self.offsets))
        elif self.kind == "bool":
            found = self.values.astype(np.bool_).tolist()
        elif self.kind in _TIMES:
            found = self.values.astype(np.int64, copy=False).view(_TIMES[self.kind]).tolist()
        else:
            found = self.values.tolist()
        if self.valid is not None:
            for row in np.flatnonzero(~self.valid).tolist():
                found[row] = None
        return found

    @classmethod
    def nulls(cls, kind: Kind, count: int) -> Column:
        """A column of `count` nulls."""
        valid = np.zeros(count, np.bool_)
        if kind in TEXT_KINDS:
            return cls(kind, np.zeros(0, np.uint8), np.zeros(count + 1, np.int64), valid)
        if kind in ITEM_OF:
            return cls.of_lists(cls.nulls(ITEM_OF[kind], 0), np.zeros(count + 1, np.int64), valid)
        return cls(kind, np.zeros(count, DTYPES[kind]), None, valid)

    @classmethod
    def concat(cls, columns: Sequence[Column]) -> Column:
        """The columns one after the other; int64 beside float64 widens to float64 (that this loses nothing is the
        caller's care, see `gdb.storage.columns.kinds`), so do lists, all beside any to that.

        Raises
        ------
        ImportFailed : other kinds are mixed.
        """
        if len(columns) == 1:
            return columns[0]
        kind, plain = columns[0].kind, True
        for c in columns:
            plain = plain and c.kind == kind and c.valid is None and c.offsets is None
        if plain:  # most often, and quickest
            every: Values = np.concatenate([c.values for c in columns])
            return cls(kind, every.astype(DTYPES[kind], copy=False))
        kind = common_kind([c.kind for c in columns])
        if kind == "any":
            columns = [c.as_any() for c in columns]
        valid: Bools | None = None
        if any(c.valid is not None for c in columns):
            valid = np.concatenate(
                [np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in columns]
            )
        lengths = [c.offsets[1:] - c.offsets[:-1] for c in columns if c.offsets is not None]
        offsets = offsets_of_lengths(np.concatenate(lengths)) if lengths else None
        items = [c.items for c in columns if c.items is not None]
        if items and offsets is not None:
            return cls.of_lists(cls.concat(items), offsets, valid)
        values: Values = np.concatenate([c.values for c in columns])
        return cls(kind, values.astype(DTYPES[kind], copy=False), offsets, valid)

    @classmethod
    def stacked(cls, columns: Sequence[Column | None], counts: Sequence[int], kind: Kind) -> Column:
        """The columns one after the other, nulls of a kind where there is none; `counts` are their lengths.

        Raises
        ------
        ImportFailed : other kinds are mixed.
        """
        return cls.concat(
            [
                cls.nulls(kind, count) if column is None else column
                for column, count in zip(columns, counts, strict=True)
            ]
        )

    def as_floats(self) -> Column:
        """Integers, or lists of them, as floats: the nearest ones beyond 2**53."""
        values = self.values.astype(np.float64)
        return Column(WIDER[self.kind], values, self.offsets, self.valid)

    def as_any(self) -> Column:
        """The same values, of the same types, as a column of the kind "any"."""
        if self.kind == "any":
            return self
        if self.kind != "string" or self.offsets is None:
            return coded(self.to_list(), self.valid)
        tagged = np.insert(self.values, self.offsets[:-1], ord("s"))
        return Column("any", tagged, self.offsets + np.arange(len(self) + 1), self.valid)

    def in_sql(self) -> Column:
        """The column as DuckDB is given it: a duration as microseconds, int64; any as its texts.

        DuckDB's INTERVAL takes a month as 30 days, and leaves DuckDB as nanoseconds; 64 bits of these hold 292 years.
        """
        kind = _IN_SQL.get(self.kind)
        if kind is None:
            return self
        return Column(kind, self.values, self.offsets, self.valid, None, self.bits)


def from_strings(values: Sequence[str], valid: Bools | None = None) -> Column:
    """A string column; one join and one encoding where all is ASCII.

    Raises
    ------
    UnicodeEncodeError (a ValueError) : a value holds a lone surrogate.
    """
    joined = "".join(values)
    if len(values) == 1:
        data = joined.encode()
        return Column("string", np.frombuffer(data, np.uint8), np.array((0, len(data))), valid)
    if joined.isascii():
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        data = joined.encode("ascii")
    else:
        encoded = [v.encode("utf-8") for v in values]
        lengths = np.fromiter(map(len, encoded), np.int64, len(values))
        data = b"".join(encoded)
    return Column("string", np.frombuffer(data, np.uint8), offsets_of_lengths(lengths), valid)


def coded(values: Sequence[PropertyValue], valid: Bools | None = None) -> Column:
    """A column of the kind "any". valid : bool[n], False where a value is None; None where none is.

    Raises
    ------
    ValueError : a value is none that a property can have.
    """
    from .any_values import text_of  # only columns of the kind "any" need it

    made = from_strings(["" if value is None else text_of(value) for value in values], valid)
    return Column("any", made.values, made.offsets, valid)


def _gathered(values: Values, starts: I64, offsets: I64) -> Values:
    """The bytes of texts that begin at `starts`, end to end, as `offsets` say; some texts at a time, as the place of
    each byte takes eight."""
    begin, count = 0, len(starts)
    if count == 1:
        return values[starts[0] : starts[0] + offsets[1]].copy()
    found: Values = np.empty(int(offsets[-1]), values.dtype)
    while begin < count:
        first = int(offsets[begin])
        end = int(offsets.searchsorted(first + _AT_ONCE, "right")) - 1
        if end <= begin:  # one long text
            end = begin + 1
            length = int(offsets[end]) - first
            found[first : first + length] = values[starts[begin] : starts[begin] + length]
        else:
            own = offsets[begin : end + 1]
            shift: I64 = starts[begin:end] - own[:-1]
            at = np.arange(first, int(own[-1])) + shift.repeat(own[1:] - own[:-1])
            found[first : int(own[-1])] = values[at]
        begin = end
    return found


def offsets_of_lengths(lengths: I64) -> I64:
    """Where each of the pieces laid end to end begins, and the end; i64[n + 1]."""
    offsets = np.zeros(lengths.shape[0] + 1, np.int64)
    lengths.cumsum(out=offsets[1:])
    return offsets


def places(starts: I64, lengths: I64, offsets: I64) -> I64:
    """Where the pieces from `starts` on lie, one after the other, each `lengths` long; offsets : of these lengths."""
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def named(kind: Kind) -> str:
    """The values of a kind."""
    return _NAMES.get(kind, f"{kind}s" if kind in SINGLE_KINDS else f"lists ({kind})")


def is_exact(number: int) -> bool:
    """Whether an integer is a float without loss."""
    return -EXACT <= number <= EXACT


def common_kind(kinds: Sequence[Kind]) -> Kind:
    """The kind that holds values of all `kinds`.

    Raises
    ------
    ImportFailed : there is none.
    """
    distinct = set(kinds)
    if len(distinct) == 1:
        return kinds[0]
    if "any" in distinct:
        return "any"
    for kind, wide in WIDER.items():
        if distinct == {kind, wide}:
            return wide
    raise ImportFailed(
        f"one property holds values of the types {', '.join(sorted(distinct))}",
        "Give all of them one type, for example string.",
    )


def wider(old: Kind | None, new: Kind) -> Kind:
    """The kind of a property that has both; they were made to fit when they were committed."""
    if old is None or "any" in (old, new):
        return "any" if old else new
    return new if WIDER.get(old) == new else old


def _decoded(column: Column) -> list[PropertyValue]:
    from .any_values import value_of  # here: only columns of any type need it

    assert column.offsets is not None
    texts = _strings(column.values.view(np.uint8), column.offsets)
    if column.valid is None:
        return [value_of(text) for text in texts]
    pairs = zip(texts, column.valid.tolist(), strict=True)
    return [value_of(text) if known else None for text, known in pairs]


def _is_item(value: PropertyValue) -> TypeGuard[Item]:
    return value is not None and not isinstance(value, list)


_MANY = 64  # strings that are worth one decoding of all
_SHORT = 64  # bytes: longer strings are cut one by one in no more time


def _strings(data: npt.NDArray[np.uint8], offsets: I64) -> list[str]:
    """The strings between the offsets, i64[n + 1]."""
    count = len(offsets) - 1
    if count == 1:
        return [str(data[offsets[0] : offsets[1]].data, "utf-8")]
    if count >= _MANY and offsets[-1] - offsets[0] <= _SHORT * count:
        body = data[offsets[0] : offsets[-1]]
        if not (body == 0).any():
            return _split(body, offsets)
    held, bounds = data.tobytes(), offsets.tolist()
    if held.isascii():
        text = held.decode("ascii")
        return [text[a:b] for a, b in pairwise(bounds)]
    return [held[a:b].decode("utf-8") for a, b in pairwise(bounds)]


def _split(body: npt.NDArray[np.uint8], offsets: I64) -> list[str]:
    """The strings of bytes without a zero: decoded at once, and split at zeros that are put between them."""
    zeros = offsets[1:-1] - offsets[0] + np.arange(len(offsets) - 2)
    kept = np.ones(len(body) + len(zeros), np.bool_)
    kept[zeros] = False
    joined = np.zeros(len(kept), np.uint8)
    joined[kept] = body
    return joined.tobytes().decode("utf-8").split("\0")


@dataclass(frozen=True, slots=True, eq=False)
class VertexTable:
    """Vertices with the same labels and id space.

    labels : any order, no repeats; () = no label.
    id_space : the ids are unique within it, across tables.
    ids : i64[n], or n strings.
    columns : property key -> column of n values.
    """

    labels: tuple[str, ...]
    id_space: str
    ids: I64 | list[str]
    columns: dict[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTable:
    """Edges of one type.

    sources, targets : i64[m] or u32[m], rows in the concatenation of the graph's vertex tables.
    columns : property key -> column of m values.
    """

    type: str
    directed: bool
    sources: Rows
    targets: Rows
    columns: dict[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.sources.shape[0])

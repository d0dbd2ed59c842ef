"""Graphs as tables: what an import hands to the store, and what the store hands back.

A `Column` has Arrow's memory layout (design.md §2, *Properties*), so that DuckDB and the user's
data frame read it in place; a `GraphTables` is a whole graph before vertices are numbered: edges
name their ends by row number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from gdb.errors import ImportFailed
from gdb.storage import temporal

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Values = npt.NDArray[np.int32 | np.int64 | np.float64 | np.uint8]

Kind = Literal["int64", "float64", "bool", "string", "date", "datetime", "duration"]
Scalar = int | float | bool | str | date | timedelta | None  # a datetime is a date
FIRST_KINDS: tuple[Kind, ...] = ("int64", "float64", "bool", "string")
"""What stores and exports of format 1 may hold (docs/FORMAT.md)."""
KINDS: tuple[Kind, ...] = (*FIRST_KINDS, "date", "datetime", "duration")

DTYPES: dict[Kind, type[np.int32 | np.int64 | np.float64 | np.uint8]] = {
    "int64": np.int64,
    "float64": np.float64,
    "bool": np.uint8,
    "string": np.uint8,
    "date": np.int32,
    "datetime": np.int64,
    "duration": np.int64,
}
# what NumPy makes Python objects of
_TIMES: dict[Kind, str] = {
    "date": "datetime64[D]",
    "datetime": "datetime64[us]",
    "duration": "timedelta64[us]",
}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One property of n elements.

    kind : type of the values.
    values : i64[n] or f64[n]; bool: u8[n] of 0 and 1; string: the UTF-8 of all, u8[bytes]; date: i32[n], days since
        1970-01-01; datetime: i64[n], microseconds since then, without a zone; duration: i64[n], microseconds.
    offsets : i64[n + 1] into `values` for strings, None otherwise.
    valid : bool[n], False where the value is null; None where no value is.
    """

    kind: Kind
    values: Values
    offsets: I64 | None = None
    valid: Bools | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0] if self.offsets is None else self.offsets.shape[0] - 1)

    def take(self, rows: I64) -> Column:
        """The values at `rows` (i64[k], that order, repeats allowed), a column of k values."""
        valid = None if self.valid is None else self.valid[rows]
        if self.offsets is None:
            return Column(self.kind, self.values[rows], None, valid)
        starts, lengths = self.offsets[:-1][rows], np.diff(self.offsets)[rows]
        offsets = offsets_of_lengths(lengths)
        at = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Column(self.kind, self.values[at], offsets, valid)

    def to_list(self) -> list[Scalar]:
        """The values as Python objects, None where null."""
        found: list[Scalar]
        if self.offsets is not None:
            found = list(_strings(self.values.tobytes(), self.offsets))
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
    def from_list(cls, values: Sequence[Scalar], kind: Kind | None = None) -> Column:
        """A column of Python values; ints beside floats widen to float64.

        Without `kind` it is found from the values (nothing but nulls: string).

        Raises
        ------
        ImportFailed : the kinds have no common type, or a value does not fit its type.
        """
        kind = kind or _kind_of(values)
        nulls = np.fromiter((v is None for v in values), np.bool_, len(values))
        valid = ~nulls if nulls.any() else None
        try:
            if kind == "string":
                return from_strings(["" if v is None else str(v) for v in values], valid)
            filled = [0 if v is None else _number(v) for v in values]
            return cls(kind, np.array(filled, DTYPES[kind]), None, valid)
        except (OverflowError, ValueError, TypeError) as error:
            raise ImportFailed(
                f"a value does not fit the type {kind} ({error})",
                "Declare the column as string or float.",
            ) from None

    @classmethod
    def nulls(cls, kind: Kind, count: int) -> Column:
        """A column of `count` nulls."""
        offsets = np.zeros(count + 1, np.int64) if kind == "string" else None
        values = np.zeros(0 if kind == "string" else count, DTYPES[kind])
        return cls(kind, values, offsets, np.zeros(count, np.bool_))

    @classmethod
    def concat(cls, columns: Sequence[Column]) -> Column:
        """The columns one after the other; int64 beside float64 widens to float64.

        Raises
        ------
        ImportFailed : other kinds are mixed.
        """
        if len(columns) == 1:
            return columns[0]
        kind = common_kind([c.kind for c in columns])
        valid: Bools | None = None
        if any(c.valid is not None for c in columns):
            valid = np.concatenate(
                [np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in columns]
            )
        values: Values = np.concatenate([c.values for c in columns])
        values = values.astype(DTYPES[kind], copy=False)
        if kind != "string":
            return cls(kind, values, None, valid)
        lengths = [np.diff(c.offsets) for c in columns if c.offsets is not None]
        return cls(kind, values, offsets_of_lengths(np.concatenate(lengths)), valid)

    def in_sql(self) -> Column:
        """The column as DuckDB is given it: a duration as microseconds, int64.

        Its own INTERVAL takes 30 days for a month, and leaves it in nanoseconds, of which 64 bits hold 292 years.
        """
        if self.kind != "duration":
            return self
        return Column("int64", self.values, None, self.valid)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Arrow's PyCapsule interface; bool becomes bits, all else goes without a copy."""
        import nanoarrow as na  # only who exports needs it

        types = {
            "int64": na.int64(),
            "float64": na.float64(),
            "bool": na.bool_(),
            "string": na.large_string(),
            "date": na.date32(),
            "datetime": na.timestamp("us"),
            "duration": na.duration("us"),
        }
        valid = None if self.valid is None else np.packbits(self.valid, bitorder="little")
        values = (
            np.packbits(self.values.astype(np.bool_), bitorder="little")
            if self.kind == "bool"
            else self.values
        )
        data = [values] if self.offsets is None else [self.offsets, values]
        array = na.c_array_from_buffers(types[self.kind], len(self), [valid, *data])
        capsules: tuple[object, object] = array.__arrow_c_array__(requested_schema)
        return capsules


def from_strings(values: Sequence[str], valid: Bools | None = None) -> Column:
    """A string column; one join and one encoding where all is ASCII.

    Raises
    ------
    UnicodeEncodeError (a ValueError) : a value holds a lone surrogate.
    """
    joined = "".join(values)
    if joined.isascii():
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        data = joined.encode("ascii")
    else:
        encoded = [v.encode("utf-8") for v in values]
        lengths = np.fromiter(map(len, encoded), np.int64, len(values))
        data = b"".join(encoded)
    return Column("string", np.frombuffer(data, np.uint8), offsets_of_lengths(lengths), valid)


def offsets_of_lengths(lengths: I64) -> I64:
    """Where each of the pieces laid end to end begins, and the end; i64[n + 1]."""
    offsets = np.zeros(lengths.shape[0] + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def common_kind(kinds: Sequence[Kind]) -> Kind:
    """The kind that holds values of all `kinds`.

    Raises
    ------
    ImportFailed : there is none.
    """
    distinct = set(kinds)
    if len(distinct) == 1:
        return kinds[0]
    if distinct == {"int64", "float64"}:
        return "float64"
    raise ImportFailed(
        f"one property holds values of the types {', '.join(sorted(distinct))}",
        "Give all of them one type, for example string.",
    )


def _kind_of(values: Sequence[Scalar]) -> Kind:
    kinds: dict[type, Kind] = {
        bool: "bool",
        int: "int64",
        float: "float64",
        str: "string",
        datetime: "datetime",
        date: "date",
        timedelta: "duration",
    }
    found: list[Kind] = []
    for seen in set(map(type, values)) - {type(None)}:
        kind = next((kinds[base] for base in seen.__mro__ if base in kinds), None)
        if kind is None:
            raise ImportFailed(
                f"a property value of the Python type {seen.__name__} cannot be stored",
                "Use int, float, bool, str, date, datetime, timedelta or None.",
            )
        found.append(kind)
    return common_kind(found) if found else "string"


def _number(value: int | float | bool | str | date | timedelta) -> int | float | str:
    """A value as its column has it."""
    match value:
        case datetime():
            return temporal.instant_of(value)
        case date():
            return temporal.day_of(value)
        case timedelta():
            return temporal.length_of(value)
    return value


def _strings(data: bytes, offsets: I64) -> list[str]:
    bounds = offsets.tolist()
    if data.isascii():
        text = data.decode("ascii")
        return [text[a:b] for a, b in pairwise(bounds)]
    return [data[a:b].decode("utf-8") for a, b in pairwise(bounds)]


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

    sources, targets : i64[m], rows in the concatenation of the graph's vertex tables.
    columns : property key -> column of m values.
    """

    type: str
    directed: bool
    sources: I64
    targets: I64
    columns: dict[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.sources.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class GraphTables:
    """A whole graph; edge tables of one type must agree on `directed`, and are appended."""

    vertices: tuple[VertexTable, ...] = ()
    edges: tuple[EdgeTable, ...] = ()

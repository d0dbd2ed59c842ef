"""Tables whose columns have types, in Parquet files and in memory: the kind of each type, and where a value is lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.sql import (
    aliased,
    between,
    binary,
    call,
    cast,
    chosen,
    created,
    exp,
    is_null,
    is_there,
    joined,
    named_rows,
    negated,
    over_items,
    part_of,
    select,
    unequal,
    value_of,
)
from gdb.errors import ImportFailed
from gdb.records import dataclass, replace

from ..columns import temporal
from ..columns.arrow_arrays import PERIODS, PERIODS_CURE, extension_of, is_numeric
from ..columns.model import ITEM_OF, LIST_OF, TEXT_KINDS, Kind
from ..columns.pandas_index import LEFT_OUT
from ..disk.duckdb_engine import SQL_TYPES
from .header import Field, as_text, parse_header
from .layout import Layout
from .places import Places, RecordPlace
from .tables import Table

if TYPE_CHECKING:
    from nanoarrow.c_schema import CSchema

    from gdb.base.sql import Part

Read: TypeAlias = "Callable[[Part], exp.Expr]"
"""SQL of a value, from that of a column."""
Schema = tuple[list[str], list[str]]
"""Names and DuckDB types of columns; for durations the unit, see `duration_of`."""


@dataclass(frozen=True, slots=True)
class _Type:
    """How a column of a DuckDB type is read.

    kind : of its values. read : SQL of the value of a column. lost : where that would be another value; None for
        nowhere. shown : SQL of what DuckDB can write as a text.
    """

    kind: Kind
    read: Read = part_of
    lost: Read | None = None
    shown: Read = part_of


def _instants(read: Read, cut: Read | None = None) -> _Type:
    """cut : where a part of an instant is lost."""

    def lost(value: Part) -> exp.Expr:
        # an infinity has no number, and would be read as null
        inside = call("coalesce", temporal.is_instant(read(value)), value_of(False))
        wrong = negated(inside)
        if cut is not None:
            wrong = joined(exp.Or, [wrong, cut(value)])
        return joined(exp.And, [is_there(value), wrong])

    return _Type("datetime", read, lost)


_FIRST, _LAST = "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"  # in 64 bits of microseconds


def _coarse_instants(type: str) -> _Type:
    """Instants of a type that goes further than microseconds do. They are compared first: a cast beyond them, also
    TRY_CAST and one to a text, is an internal error of DuckDB."""

    def read(value: Part) -> exp.Expr:
        bounds = [cast(value_of(bound), type) for bound in (_FIRST, _LAST)]
        return chosen((between(value, *bounds), cast(value, "TIMESTAMP")))

    return replace(_instants(read), shown=read)


def _by_nanoseconds(value: Part) -> exp.Expr:
    microseconds = binary(exp.IntDiv, call("epoch_ns", value), value_of(1000))
    return call("make_timestamp", microseconds)


def _has_nanoseconds(value: Part) -> exp.Expr:
    return unequal(binary(exp.Mod, call("epoch_ns", value), value_of(1000)), value_of(0))


def _by_microseconds(value: Part) -> exp.Expr:
    return call("make_timestamp", call("epoch_us", value))


def _durations(per_second: int) -> _Type:
    up, down = max(1_000_000 // per_second, 1), max(per_second // 1_000_000, 1)

    def length(value: Part) -> exp.Expr:
        longer = binary(exp.Mul, cast(value, "HUGEINT"), value_of(up))
        return binary(exp.IntDiv, longer, value_of(down))

    def lost(value: Part) -> exp.Expr:
        below = unequal(binary(exp.Mod, value, value_of(down)), value_of(0))
        beyond = binary(exp.GT, call("abs", length(value)), value_of(temporal.LONGEST))
        return joined(exp.Or, [below, beyond])

    return _Type("duration", lambda value: cast(length(value), "BIGINT"), lost)


def _length(value: Part) -> exp.Expr:
    """Microseconds of an INTERVAL; NULL where it has more than 64 bits of them."""
    return call("try", call("epoch_us", value))


def _is_no_length(value: Part) -> exp.Expr:
    """Where an INTERVAL has months, or is beyond the durations of a column."""
    parts = [call("datepart", value_of(part), value) for part in ("month", "year")]
    bounds = value_of(-temporal.LONGEST), value_of(temporal.LONGEST)
    inside = call("coalesce", between(_length(value), *bounds), value_of(False))
    wrong = joined(exp.Or, [*(unequal(part, value_of(0)) for part in parts), negated(inside)])
    return joined(exp.And, [is_there(value), wrong])


_MICROSECONDS = "DURATION us"
# Parquet has no durations but of milliseconds; Arrow writes them as integers and says so beside the schema
_DURATIONS = {"tDs": "DURATION s", "tDm": "DURATION ms", "tDu": _MICROSECONDS, "tDn": "DURATION ns"}
_TYPES: dict[str, _Type] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), _Type("int64")),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER"), _Type("int64")),
    **dict.fromkeys(("FLOAT", "DOUBLE"), _Type("float64")),
    "BOOLEAN": _Type("bool"),
    '"NULL"': _Type("string"),
    "VARCHAR": _Type("string"),
    "ANY": _Type("any"),
    "DATE": _Type("date", lost=lambda value: negated(temporal.is_day(value))),
    "TIMESTAMP": _instants(part_of),
    "TIMESTAMP_S": _coarse_instants("TIMESTAMP_S"),
    "TIMESTAMP_MS": _coarse_instants("TIMESTAMP_MS"),
    "TIMESTAMP_NS": _instants(_by_nanoseconds, _has_nanoseconds),
    "TIMESTAMP WITH TIME ZONE": _instants(_by_microseconds),
    "TIMESTAMPTZ_NS": _instants(_by_nanoseconds, _has_nanoseconds),
    "INTERVAL": _Type("duration", _length, _is_no_length),
    "DURATION s": _durations(1),
    "DURATION ms": _durations(1000),
    _MICROSECONDS: _durations(1_000_000),
    "DURATION ns": _durations(1_000_000_000),
}
_TEXT = _Type("string")
TOO_FAR = (
    "Years are 1 to 9999, and a duration is 64 bits of microseconds: leave out rows with others, or cast their column"
    " to texts."
)
"""The cure where DuckDB's reader cannot make microseconds of a value, and so names no row."""


def _type(name: str) -> _Type | None:
    """How a type is read, also as a list; None for what becomes text."""
    if not name.endswith("[]"):
        return _TYPES.get(name)
    item = _TYPES.get(name.removesuffix("[]"))
    if item is None:
        return None
    read, item_lost, shown = item.read, item.lost, item.shown

    def lost(value: Part) -> exp.Expr:
        tests = [is_null("x"), *([] if item_lost is None else [item_lost("x")])]
        found = call("list_filter", value, over_items("x", joined(exp.Or, tests)))
        return binary(exp.GT, call("len", found), value_of(0))

    return _Type(
        LIST_OF[item.kind],
        lambda value: call("list_transform", value, over_items("x", read("x"))),
        lost,
        lambda value: call("list_transform", value, over_items("x", shown("x"))),
    )


_NO_PROPERTY = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "GEOMETRY", "VARIANT")


def typed_layout(schema: Schema, columns: Sequence[str] | None, file: str) -> Layout:
    """The layout of a table; `columns` are its header fields instead of its names. file : its name in errors.

    Raises
    ------
    ImportFailed : it holds what cannot be stored.
    """
    wrong = partial(ImportFailed, file=file)
    names, types = schema
    if columns is not None:
        names = _named(names, columns, wrong)
    fields, warnings = parse_header(names, wrong)
    _refuse_nested(schema, fields, wrong)
    typed: list[Field] = []
    for name, type, field in zip(names, types, fields, strict=True):
        held = _declared_type(type, field)
        kind = (_type(held) or _TEXT).kind
        if _type(held) is None and field.role != "IGNORE":
            warnings.append(as_text(name, type))
        if field.kind not in (None, kind):
            raise wrong(
                f"column {name!r} is declared {field.kind} and holds {type}",
                f"Name it without a type, or cast it to {SQL_TYPES[field.kind or kind]}.",
            )
        typed.append(replace(field, kind=kind))
    return Layout("", 0, typed, warnings, True)


def _named(
    names: list[str], columns: Sequence[str], wrong: Callable[[str, str], ImportFailed]
) -> list[str]:
    """Header fields instead of the names of a table; those that are left out need none."""
    if len(columns) == len(names):
        return list(columns)
    kept = [name for name in names if name != LEFT_OUT]
    if len(columns) != len(kept):
        raise wrong(f"has {len(kept)} columns, {len(columns)} are named", "Name every column.")
    following = iter(columns)
    return [name if name == LEFT_OUT else next(following) for name in names]


def kinds_of(schema: Schema) -> list[tuple[Kind, str]]:
    """The kinds of columns; of one that is stored as text, as no property can be of its type, also the type."""
    return [((_type(type) or _TEXT).kind, "" if _type(type) else type) for type in schema[1]]


def _refuse_nested(
    schema: Schema, fields: Sequence[Field], wrong: Callable[[str, str], ImportFailed]
) -> None:
    for name, type, field in zip(*schema, fields, strict=False):  # a caller compares their numbers
        if field.role == "IGNORE":
            continue
        nested = type.endswith("]") and _type(type) is None
        if nested or type.startswith(_NO_PROPERTY):
            raise wrong(
                f"column {name!r} is of type {type}, which no property can be",
                "Use numbers, booleans, strings, dates and times, or lists of one of these.",
            )


def duration_of(field: CSchema) -> str:
    """How we call the type of a field that is a duration or a list of them, else ""."""
    if field.format not in ("+l", "+L"):
        return _DURATIONS.get(field.format, "")
    item = duration_of(field.child(0))
    return item and item + "[]"


_READ = ("arrow.bool8",)  # types stored as numbers that DuckDB reads


def refuse_extension(field: CSchema, file: str) -> None:
    """Refuse a column of a type that a library added to Arrow and stores as numbers, which mean something else then, as
    those of a period of pandas.

    Raises
    ------
    ImportFailed : it is one, or a list or a dictionary of them.
    """
    inner = field
    while inner.dictionary is not None or inner.format in ("+l", "+L"):
        inner = inner.child(0) if inner.dictionary is None else inner.dictionary
    name = extension_of(inner)
    if not name or name in _READ or not is_numeric(inner.format):
        return
    if name == PERIODS:
        reason = f"column {field.name!r} holds periods of pandas, which no property can be"
        raise ImportFailed(reason, PERIODS_CURE, file=file)
    cure = "Cast it to numbers, booleans, strings, dates or times."
    reason = f"column {field.name!r} is of the type {name}, which no property can be"
    raise ImportFailed(reason, cure, file=file)


def _declared_type(type: str, field: Field) -> str:
    """The type of a column whose field may say that its integers are microseconds, or its texts of any type."""
    if (type, field.kind) == ("VARCHAR", "any"):
        return "ANY"
    microseconds = (type, field.kind) in (("BIGINT", "duration"), ("BIGINT[]", "duration[]"))
    return type.replace("BIGINT", _MICROSECONDS) if microseconds else type


class TypedTable(Table, ABC):
    """The rows of a table: as `Table`, but its columns have types. Errors report a row by its number."""

    types: list[_Type]

    def _read(self) -> None:
        self.places = _Rows(self.path, "", 0, False)
        schema = self._schema()
        fields, types = self.layout.fields, schema[1]
        if any(field.kind != "string" for field in fields):  # else they are to be texts
            wrong = partial(ImportFailed, file=str(self.path))
            columns = zip(fields, *schema, strict=False)  # their number is checked below
            typed = [column for column in columns if column[0].kind != "string"]
            names_and_types = [name for _, name, _ in typed], [type for *_, type in typed]
            _refuse_nested(names_and_types, [field for field, *_ in typed], wrong)
        if len(types) != len(fields):
            raise self._wrong(f"has {len(types)} columns instead of {len(fields)}")
        self.types = [
            _type(_declared_type(type, field)) or _TEXT
            for type, field in zip(types, fields, strict=True)
        ]
        for field, type, read in zip(fields, types, self.types, strict=True):
            kind = read.kind
            if field.role != "IGNORE" and field.kind != kind:
                raise self._wrong(
                    f"column {field.name or field.role!r} is {kind}, not {field.kind}"
                )
            if field.role == "TYPE" and kind in ITEM_OF:
                cure = "A relationship has one type: give a column of texts."
                raise ImportFailed("the column of types holds lists", cure, file=str(self.path))
            if field.role in ("ID", "START_ID", "END_ID") and kind not in ("int64", "string"):
                raise ImportFailed(
                    f"the column of ids {field.name or field.role!r} holds {type}",
                    "Cast it to BIGINT or VARCHAR; a data frame has DOUBLE where ids are missing: drop these rows."
                    if kind == "float64"
                    else "Cast it to BIGINT or VARCHAR.",
                    file=str(self.path),
                )
        names = [f"c{i}" for i in range(len(fields))]
        kept: list[Part] = [
            name if read.lost else aliased(cast(name, SQL_TYPES[read.kind]), name)
            for name, read in zip(names, self.types, strict=True)
        ]
        record = aliased(binary(exp.Add, "row", value_of(1)), "record")
        self._make(
            lambda rows: created(
                "t", select([record, *kept], named_rows(rows, "p", [*names, "row"]))
            )
        )
        for i, (field, read) in enumerate(zip(fields, self.types, strict=True)):
            if read.lost and field.role != "IGNORE":
                what = f"{field.name!r} cannot be stored as {read.kind}:"
                cure = (
                    "Years are 1 to 9999; parts of a microsecond, months of a duration and nulls"
                    " in a list are not kept."
                )
                self.reject(i, read.lost(f"c{i}"), what, cure)
        self.reject_misread()

    @abstractmethod
    def _schema(self) -> Schema: ...

    @abstractmethod
    def _make(self, of: Callable[[exp.Expr], exp.Expr]) -> None:
        """Run the statement of the columns of the table, and behind them the number of the row, from 0."""

    def text(self, i: int) -> exp.Expr:
        """Column i cast to VARCHAR, in SQL; a list of labels as `a;b`."""
        if self.layout.fields[i].role == "LABEL" and self.types[i].kind == "string[]":
            return call("array_to_string", f"c{i}", value_of(";"))
        return cast(self.types[i].shown(f"c{i}"), "VARCHAR")

    def missing(self, i: int) -> exp.Expr:
        """Whether a row has no value in column i, in SQL: only of a text the empty one is none."""
        return super().missing(i) if self.types[i].kind in TEXT_KINDS else is_null(f"c{i}")

    def length(self, i: int) -> exp.Expr | None:
        """Bytes of a value of column i, in SQL: UTF-8 of a text, about 8 an item of a list; None for fixed widths."""
        kind = self.types[i].kind
        if kind in TEXT_KINDS:
            return call("strlen", self.text(i))
        if kind not in ITEM_OF:
            return None
        if ITEM_OF[kind] in TEXT_KINDS:
            each = binary(exp.Add, call("strlen", cast("x", "VARCHAR")), value_of(8))
            return call("list_sum", call("list_transform", f"c{i}", over_items("x", each)))
        return binary(exp.Mul, value_of(8), call("len", f"c{i}"))

    def value(self, i: int, kind: Kind) -> exp.Expr:
        """Column i as values of a kind, in SQL: without a cast where it has that kind already."""
        if self.layout.fields[i].kind != kind:
            return super().value(i, kind)
        return self.types[i].read(f"c{i}")

    def _wrong(self, reason: str) -> ImportFailed:
        return ImportFailed(reason, "Take the whole export anew.", file=str(self.path))


@dataclass(slots=True)
class _Rows(Places):
    """The rows of a table with types: their numbers, from 1; they have no text."""

    def of_rows(self, wanted: Collection[int]) -> dict[int, RecordPlace]:
        return {row: RecordPlace(row, "") for row in wanted}

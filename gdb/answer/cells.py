"""Python values as Arrow columns: what a result of rows is for the world outside.

====================================  ==========================================================================
values of a column                    Arrow
====================================  ==========================================================================
null                                  null
bool, int, float, str                 bool, int64, float64, large_string; integers beside floats: float64, exactly
date, datetime, time, timedelta       date32, timestamp[us], time64[us], duration[us]
datetime with a zone                  timestamp[us, UTC]: the instant, without the zone
list                                  large_list of what its items are
map                                   struct of all keys that a map of the column has, also of none
Node                                  struct(id, labels, properties), as `gdb.answer.export` has it
Relationship                          struct(type, start, end, properties), as `gdb.answer.export` has it
Path                                  struct(nodes, relationships)
all else, and values of unlike types  large_string: a string as it is, all else as `entities.literal` writes it
====================================  ==========================================================================

What Arrow or its readers have no type for is a string: a Duration (P1M2DT3S), a time with an offset, nanoseconds, years
beyond 1 to 9999. The properties of elements are null where none of the column has any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np

from gdb.answer.entities import Element, Node, Path, Relationship, literal
from gdb.errors import ImportFailed
from gdb.executor.relational import arrow
from gdb.executor.relational.arrow import Array, Flags
from gdb.records import dataclass
from gdb.storage.columns import temporal
from gdb.storage.columns.model import DTYPES, Column, PropertyValue
from gdb.storage.columns.python_columns import column_of

if TYPE_CHECKING:
    from gdb.answer.rows import Kinds
    from gdb.storage.columns.model import Kind as StoreKind

Cells: TypeAlias = Sequence[object]
# fmt: off
Kind: TypeAlias = Literal[
    "null", "bool", "int64", "float64", "string", "date", "datetime", "instant", "time", "duration"
]
# fmt: on


@dataclass(frozen=True, slots=True)
class Single:
    """Values without parts. instant : a datetime with a zone."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of items of one shape."""

    items: Shape


@dataclass(frozen=True, slots=True)
class Records:
    """Maps, nodes, relationships or paths, by the shapes of their fields."""

    fields: Mapping[str, Shape]


Shape: TypeAlias = Single | Lists | Records
NULL, STRING = Single("null"), Single("string")
_PLAIN: tuple[Kind, ...] = ("bool", "int64", "float64", "string", "date", "datetime", "duration")
_OF_STORE: Mapping[str, Shape] = {
    **{kind: Single(kind) for kind in _PLAIN},
    **{f"{kind}[]": Lists(Single(kind)) for kind in _PLAIN},
}


def table_of(
    names: Sequence[str], columns: Sequence[Cells], count: int, kinds: Kinds | None = None
) -> Array:
    """The columns, each of `count` values, as one struct array. kinds : of columns that are null in every row."""
    return _table(names, columns, _shapes(columns, kinds), count)


def batches_of(
    names: Sequence[str],
    columns: Sequence[Cells],
    count: int,
    size: int,
    kinds: Kinds | None = None,
) -> Iterator[Array]:
    """As `table_of`, in struct arrays of at most `size` rows, all of the same type."""
    shapes = _shapes(columns, kinds)
    for start in range(0, count, size):
        some = [column[start : start + size] for column in columns]
        yield _table(names, some, shapes, min(size, count - start))


def _table(
    names: Sequence[str], columns: Sequence[Cells], shapes: Sequence[Shape], count: int
) -> Array:
    arrays = [built(shape, cells) for shape, cells in zip(shapes, columns, strict=True)]
    return arrow.struct_array(names, arrays, count)


# ---- what a column holds ---------------------------------------------------------------------------


def _shapes(columns: Sequence[Cells], kinds: Kinds | None) -> list[Shape]:
    """The shapes of columns. kinds : called where the values do not show all of one."""
    found = [shape_of(column) for column in columns]
    if kinds is None or not any(shape in (NULL, Lists(NULL)) for shape in found):
        return found
    return [_known(shape, kind) for shape, kind in zip(found, kinds(), strict=True)]


def _known(shape: Shape, kind: StoreKind | None) -> Shape:
    """A shape without values, by the kind of its column."""
    of = None if kind is None else _OF_STORE.get(kind)
    return of if of is not None and shape in (NULL, Lists(NULL)) else shape


def shape_of(cells: Cells) -> Shape:
    """The shape that holds all the values, None among them."""
    there = [cell for cell in cells if cell is not None]
    kinds = set(map(type, there))
    if not kinds:
        return NULL
    if kinds <= {list, tuple}:
        return Lists(shape_of(_items(there)))
    if kinds == {dict}:
        return _map_shape(there)
    if kinds == {Node}:
        return _node_shape(there)
    if kinds == {Relationship}:
        return _relationship_shape(there)
    if kinds == {Path}:
        nodes, relationships = (_items(_column(there, name)) for name in ("nodes", "relationships"))
        parts = {
            "nodes": Lists(_node_shape(nodes)),
            "relationships": Lists(_relationship_shape(relationships)),
        }
        return Records(parts)
    return Single(_kind(kinds, there))


def _kind(kinds: set[type], there: Cells) -> Kind:
    if kinds == {bool}:
        return "bool"
    if kinds == {float}:
        return "float64"
    if kinds == {int} and _are_int64(cast("Sequence[int]", there)):
        return "int64"
    if kinds == {int, float} and all(map(_is_float, there)):
        return "float64"
    if kinds == {date}:
        return "date"
    if kinds == {datetime}:
        zoned = {cell.tzinfo is not None for cell in there if isinstance(cell, datetime)}
        return "string" if len(zoned) > 1 else "instant" if True in zoned else "datetime"
    if kinds == {time} and all(isinstance(cell, time) and cell.tzinfo is None for cell in there):
        return "time"
    if kinds == {timedelta} and all(map(_is_length, there)):
        return "duration"
    return "string"


def _are_int64(numbers: Sequence[int]) -> bool:
    return min(numbers) >= -(2**63) and max(numbers) < 2**63


def _is_float(cell: object) -> bool:
    """Whether a number is one that a float can be."""
    try:
        return isinstance(cell, float) or (isinstance(cell, int) and float(cell) == cell)
    except OverflowError:
        return False


def _is_length(cell: object) -> bool:
    return isinstance(cell, timedelta) and abs(temporal.length_of(cell)) <= temporal.LONGEST


def _map_shape(maps: Cells) -> Records:
    keys: set[str] = set().union(*(map_ for map_ in maps if isinstance(map_, Mapping)))
    return Records({key: shape_of(_column(maps, key)) for key in sorted(keys)})


def _properties_shape(elements: Cells) -> Shape:
    """As `gdb.answer.export` has it: null where there are none, which every file format can hold."""
    found = _map_shape(_column(elements, "properties"))
    return found if found.fields else NULL


def _node_shape(nodes: Cells) -> Records:
    properties = _properties_shape(nodes)
    ids = _id_shape(_column(nodes, "id"))
    return Records({"id": ids, "labels": Lists(STRING), "properties": properties})


def _relationship_shape(relationships: Cells) -> Records:
    ids = _id_shape([*_column(relationships, "start"), *_column(relationships, "end")])
    properties = _properties_shape(relationships)
    return Records({"type": STRING, "start": ids, "end": ids, "properties": properties})


def _id_shape(ids: Cells) -> Shape:
    """As `gdb.answer.export` has it: strings where any is one."""
    return Single("int64") if all(isinstance(id_, int) for id_ in ids) else STRING


def _items(lists: Cells) -> list[object]:
    return [item for list_ in lists if isinstance(list_, (list, tuple)) for item in list_]


def _column(cells: Cells, name: str) -> list[object]:
    """One field of each; all are maps, or all elements."""
    first = next((cell for cell in cells if cell is not None), None)
    if isinstance(first, Mapping) and not isinstance(first, Element):
        maps = cast("Sequence[Mapping[str, object] | None]", cells)
        return [None if map_ is None else map_.get(name) for map_ in maps]
    return [None if cell is None else getattr(cell, name) for cell in cells]


# ---- the arrays ------------------------------------------------------------------------------------


def built(shape: Shape, cells: Cells) -> Array:
    """The values as an array of the shape."""
    match shape:
        case Single(kind):
            return _single(kind, cells)
        case Lists(items):
            lengths = [len(c) if isinstance(c, (list, tuple)) else 0 for c in cells]
            inner = built(items, _items(cells))
            return arrow.list_array(np.array(lengths, np.int64), inner, _valid(cells))
        case Records(fields):
            columns = [built(part, _column(cells, name)) for name, part in fields.items()]
            return arrow.struct_array(list(fields), columns, len(cells), _valid(cells))


def _single(kind: Kind, cells: Cells) -> Array:
    match kind:
        case "null":
            return arrow.null_array(len(cells))
        case "string":
            return arrow.column_array(_texts(cells))
        case "bool" | "int64" | "float64":
            numbers = [0 if cell is None else cell for cell in cells]
            return arrow.column_array(
                Column(kind, np.array(numbers, DTYPES[kind]), None, _valid(cells))
            )
        case "instant":
            instants = [temporal.instant_of(c) if isinstance(c, datetime) else 0 for c in cells]
            return arrow.times_array(np.array(instants, np.int64), _valid(cells), "instant")
        case "time":
            clock = [_of_midnight(c) if isinstance(c, time) else 0 for c in cells]
            return arrow.times_array(np.array(clock, np.int64), _valid(cells), "time")
        case _:
            plain = cast("Sequence[PropertyValue]", cells)  # `_kind` has seen all of them
            return arrow.column_array(column_of(plain, kind))


def _texts(cells: Cells) -> Column:
    """Strings as they are, all else as it is written; what is no valid Unicode becomes question marks."""
    texts = [cell if cell is None or isinstance(cell, str) else literal(cell) for cell in cells]
    try:
        return column_of(texts, "string")
    except (ImportFailed, UnicodeEncodeError):
        mended = [text and text.encode("utf-8", "replace").decode() for text in texts]
        return column_of(mended, "string")


def _of_midnight(value: time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def _valid(cells: Cells) -> Flags | None:
    """bool[n], False where a value is null; None where none is."""
    there = np.array([cell is not None for cell in cells], np.bool_)
    return None if there.all() else there

"""The arguments of a transaction's methods as columns: lists, arrays of NumPy, arrays and tables of Arrow.

One mechanism for all of its methods: `given_nodes` and `given_relationships` say which rows are meant and what values
they get. What no column can hold is refused with the parameter's name, the row, from 0, and the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gdb.errors import ChangeRefused, ImportFailed, TypeProblem
from gdb.records import dataclass, replace
from gdb.storage.columns.arrow_arrays import Arrow, is_arrow
from gdb.storage.columns.model import Column, Kind, named
from gdb.storage.columns.numpy_arrays import Unfit, is_numeric, of_numpy
from gdb.storage.columns.plain_values import plain_values
from gdb.storage.columns.python_columns import column_of

if TYPE_CHECKING:
    from gdb.storage.columns.arrow_arrays import ArrowArray, ArrowStream
    from gdb.storage.columns.model import PropertyValue
    from gdb.storage.importer.header import Field

    class Arrayed(Protocol):
        """A pandas Series or Index, ..."""

        def __array__(self) -> npt.NDArray[np.generic]: ...


Values: TypeAlias = (
    "Sequence[object] | npt.NDArray[np.generic] | ArrowArray | ArrowStream | Arrayed"
)
Ids: TypeAlias = Values
"""All integers, or all strings."""
Properties: TypeAlias = "Mapping[str, Values] | None"

_EMPTY = "Every row needs one."


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """What a change is about.

    ids : one column for nodes, two (starts, ends) for relationships; int64 or string, no nulls. properties : values of
    as many rows.
    """

    ids: tuple[Column, ...]
    properties: dict[str, Column]

    def __len__(self) -> int:
        return len(self.ids[0])


def given_nodes(
    ids: Ids,
    properties: Properties = None,
    *,
    values: bool = True,
    new: bool = False,
    needed: bool = False,
) -> ChangeRows:
    """Nodes by their ids, and values for each.

    ids : or a table, whose columns are the ids and the values.
    values : whether values are wanted; otherwise no other column of a table is looked at.
    new : a table's column of ids is a property of its name as well, as `load` has it.
    needed : without a table there are `properties`.

    Raises
    ------
    TypeProblem, ChangeRefused
    """
    found, fields = _rows({"the ids": ids}, properties, ("ID",), values=values, needed=needed)
    if not new:
        return found
    (column,) = found.ids
    if column.offsets is not None and not np.diff(column.offsets).all():
        row = int(np.flatnonzero(np.diff(column.offsets) == 0)[0])
        raise ChangeRefused(f"the ids: the id in row {row} is empty", _EMPTY)
    own = {fields[0].name: column} if fields and fields[0].name else {}
    return ChangeRows(found.ids, {**own, **found.properties})


def given_relationships(
    starts: Ids,
    ends: Ids | None,
    properties: Properties = None,
    *,
    values: bool = True,
    needed: bool = False,
) -> ChangeRows:
    """Relationships by both ends of each, and values; `starts` may be a table of all of these."""
    ends_of, roles = {"the starts": starts, "the ends": ends}, ("START_ID", "END_ID")
    return _rows(ends_of, properties, roles, values=values, needed=needed)[0]


def name_of(text: str) -> str:
    """A label, type or property's name, which is a text.

    Raises
    ------
    TypeProblem : it is none, or empty.
    """
    if not isinstance(text, str) or not text:
        raise TypeProblem(f"a label, type or property is named by a text, not {text!r}.")
    return _valid(text)


def space_of(text: str) -> str:
    """The name of an id space, which is a text, and may be empty.

    Raises
    ------
    TypeProblem : it is none.
    """
    if not isinstance(text, str):
        raise TypeProblem(f"an id space is named by a text, not {text!r}.")
    return _valid(text)


def _valid(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TypeProblem(f"the name {text!r} is not valid Unicode.") from None
    return text


def _rows(
    by_name: Mapping[str, Ids | None],
    properties: Properties,
    roles: tuple[str, ...],
    *,
    values: bool,
    needed: bool,
) -> tuple[ChangeRows, list[Field]]:
    """The rows, and of a table the fields of its ids."""
    (name, first), *others = by_name.items()
    try:
        opened = _opened(first)
    except Unfit as problem:
        raise _refused(name, problem) from problem.__cause__
    if isinstance(opened, Arrow) and opened.is_table:
        behind = [properties, *(other for _, other in others)]
        if any(each is not None and not (isinstance(each, dict) and not each) for each in behind):
            raise TypeProblem("a table holds ends and properties itself; give nothing behind it.")
        return _of_table(opened, first.__class__.__name__, roles, values=values)
    if any(other is None for _, other in others):
        raise TypeProblem("ends are a list or an array, unless starts is a table of both.")
    if needed and properties is None:
        raise TypeProblem(f"properties are a dict by name, unless {name.split()[1]} is a table.")
    ids = [_as_ids(name, _column(name, opened))]
    ids += [_as_ids(name, _column(name, other)) for name, other in others]
    count = len(ids[0])
    if len(ids[-1]) != count:
        raise ChangeRefused(f"there are {count} starts and {len(ids[-1])} ends")
    columns = {
        name_of(key): _column(f"the property {key!r}", own) for key, own in _items(properties)
    }
    for key, column in columns.items():
        if len(column) != count:
            raise ChangeRefused(f"the property {key!r} has {len(column)} values for {count} rows")
    return ChangeRows(tuple(ids), columns), []


def _items(properties: Properties) -> list[tuple[str, Values]]:
    if properties is None:
        return []
    if not isinstance(properties, Mapping):
        kind = properties.__class__.__name__
        raise TypeProblem(f"properties are a dict of lists or arrays by name, not {kind}.")
    return sorted((name_of(key), values) for key, values in properties.items())


# ---- tables --------------------------------------------------------------------------------------


def _of_table(
    table: Arrow, name: str, roles: tuple[str, ...], *, values: bool
) -> tuple[ChangeRows, list[Field]]:
    fields = _fields(table, name, roles, values=values)
    at = [next(i for i, field in enumerate(fields) if field.role == role) for role in roles]
    own = [i for i, field in enumerate(fields) if values and not field.role]
    try:
        columns = table.columns([*at, *own])
    except Unfit as problem:
        raise _refused(_of_column(problem.name) if problem.name else name, problem) from None
    typed = [
        _declared(_of_column(table.names[i]), column, fields[i].kind)
        for i, column in zip([*at, *own], columns, strict=True)
    ]
    ids = [
        _as_ids(_of_column(table.names[i]), column) for i, column in zip(at, typed, strict=False)
    ]
    properties = {
        name_of(fields[i].name): column for i, column in zip(own, typed[len(at) :], strict=True)
    }
    return ChangeRows(tuple(ids), dict(sorted(properties.items()))), [fields[i] for i in at]


def _of_column(name: str) -> str:
    return f"the column {name!r}"


def _fields(table: Arrow, name: str, roles: tuple[str, ...], *, values: bool) -> list[Field]:
    """What the columns of a table are, by their names, as for an import."""
    from gdb.storage.importer.header import assume_roles, parse_header  # here: only headers need it

    edges = len(roles) > 1
    try:
        plain, warnings = parse_header(
            table.names, lambda reason, cure: ImportFailed(reason, cure, file=name)
        )
    except ImportFailed as error:
        raise ChangeRefused(error.message.rstrip("."), error.cure) from error
    if len(plain) < len(roles):
        raise ChangeRefused(f"{name}: has no column for each of {', '.join(roles)}", "Add them.")
    fields = assume_roles(plain, edges=edges)
    for field in fields:
        if field.role not in ("", "IGNORE", *roles) or field.space is not None:
            raise ChangeRefused(
                f"{name}: has a column of the role {field.role}"
                + (f" that names an id space, {field.space!r}" if field.space else ""),
                "Labels, type and id space are arguments; leave them out of the table.",
            )
        if values and not field.role and not field.name:
            raise ChangeRefused(f"{name}: has a column without a name", "Name it.")
    missing = set(roles) - {field.role for field in fields}
    if missing:
        raise ChangeRefused(f"{name}: has no column of the role {min(missing)}", "Name it so.")
    if edges and not all(field.known for field in fields):
        warnings = [
            "the first two columns were taken for the ends (name them :START_ID and :END_ID)"
        ]
    if warnings:  # there is no report that would hold them
        raise ChangeRefused(f"{name}: {warnings[0]}", "Rename or cast the columns first.")
    return fields


def _declared(what: str, column: Column, kind: Kind | None) -> Column:
    """A column as the kind that its header names: integers may be microseconds, texts those of any type."""
    if kind in (None, column.kind) or not len(column):
        return column
    match column.kind, kind:
        case "int64", "duration":
            return Column("duration", column.values, None, column.valid)
        case "int64[]", "duration[]":
            return Column("duration[]", column.values, column.offsets, column.valid)
        case "string", "any":
            # here: only columns of any type need it
            from gdb.storage.columns.any_values import misread

            for row, why in misread(column.to_list()).items():
                raise ChangeRefused(f"{what}: is declared any: {why} (row {row})")
            return replace(column, kind="any")
    raise ChangeRefused(
        f"{what}: is declared {kind} and holds {named(column.kind)}",
        "Name it without a type, or cast it.",
    )


# ---- columns -------------------------------------------------------------------------------------


def _as_ids(what: str, column: Column) -> Column:
    """A column of ids: integers or strings, and no null."""
    if not len(column):
        return Column("int64", np.zeros(0, np.int64))
    if column.valid is not None:
        row = int(np.flatnonzero(~column.valid)[0])
        raise ChangeRefused(f"{what}: the id in row {row} is empty", _EMPTY)
    if column.kind not in ("int64", "string"):
        raise TypeProblem(
            f"{what} are all integers or all strings, not {named(column.kind)}.", "Cast them first."
        )
    return column


def _column(what: str, source: object) -> Column:
    """Values of one parameter, which errors call `what`."""
    try:
        if isinstance(source, list):
            return _of_list(source)
        match _opened(source):
            case Arrow() as arrow if arrow.is_table:
                raise Unfit("a table or struct, where one column is wanted", "Give a column of it.")
            case Arrow() as arrow:
                return arrow.column()
            case np.ndarray() as array if array.ndim == 0:
                raise Unfit("an array of 0 dimensions", "Give it one.")
            case np.ndarray() as array:
                return of_numpy(array) if is_numeric(array) else _of_list(array.tolist())
            case str() | bytes() | bytearray():
                pass
            case Sequence() as values:
                return _of_list(values)
    except Unfit as problem:
        raise _refused(what, problem) from problem.__cause__
    except ImportFailed as error:  # of a list's values
        raise ChangeRefused(f"{what}: {error.reason}", error.cure) from None
    raise TypeProblem(f"{what}: a list or an array is wanted, not {source.__class__.__name__}.")


def _refused(what: str, problem: Unfit) -> ChangeRefused:
    if problem.row is None:
        return ChangeRefused(f"{what}: {problem.reason}", problem.cure)
    value = problem.value if len(problem.value) <= 80 else problem.value[:77] + "..."
    where = f"the value {value} (row {problem.row})" if value else f"row {problem.row}"
    return ChangeRefused(f"{what}: {where} {problem.reason}", problem.cure)


def _opened(values: object) -> object:
    """What hands out arrays, as Arrow's or NumPy's; all else as it is."""
    if isinstance(values, (list, np.ndarray, Arrow)):
        return values
    if is_arrow(values):
        try:
            return Arrow(values)
        except ImportError as error:  # pandas makes its arrays by pyarrow
            if not hasattr(values, "columns") and hasattr(values, "__array__"):
                return _as_array(values)
            reason = f"what cannot be read as Arrow ({error})"
            raise Unfit(reason, "Install what is missing.") from error
    if not isinstance(values, Sequence) and hasattr(values, "__array__"):
        return _as_array(values)
    return values


def _as_array(values: object) -> npt.NDArray[np.generic]:
    dtype = getattr(values, "dtype", None)
    try:
        # of a type that is not NumPy's the values are taken as they are: a null would become NaN
        return np.asarray(values) if isinstance(dtype, np.dtype) else np.asarray(values, object)
    except MemoryError:
        raise
    except Exception as error:  # whatever the library raises that makes it
        raise Unfit(f"what NumPy cannot read ({error})", "Copy it to an array of NumPy.") from error


# ---- Python's values -----------------------------------------------------------------------------


def _of_list(values: Sequence[object]) -> Column:
    # which refuses what is no value
    return column_of(cast("Sequence[PropertyValue]", plain_values(values)))

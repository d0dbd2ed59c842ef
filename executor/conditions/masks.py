"""Simple conditions on the properties of one element, evaluated by NumPy over the columns in place.

A condition is a tree of the classes below. What it gives for each row is true, false or null; a `Mask` holds where it
is true and where it is null. The meaning is that of `gdb.physical.evaluator`: integers and floats are compared exactly,
a NaN equals nothing, texts are in the order of their code points, which is that of their UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.base.machine.cores import cores
from gdb.errors import InternalError
from gdb.records import dataclass, replace
from gdb.storage.columns.model import I64, Column, Kind

from . import text_masks

Bools: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.int64 | np.float64 | np.int32 | np.uint8]

CHUNK = 1 << 17  # rows at a time: what is made of them stays in the cache, and small
_SEVERAL_FROM = 1 << 20  # rows that several threads share

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
TextOperator: TypeAlias = Literal["STARTS WITH", "ENDS WITH", "CONTAINS"]

_UFUNCS: Mapping[Operator, Callable[..., Bools]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


# ---- what a condition is made of ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant, as a column of its kind has it: a bool as 0 or 1, a date in days, a datetime or a duration in
    microseconds, a string as UTF-8. Not null."""

    kind: Kind
    value: int | float | bytes


@dataclass(frozen=True, slots=True)
class Known:
    """The same for all rows; None is null."""

    answer: bool | None


@dataclass(frozen=True, slots=True)
class Holds:
    """A property of booleans."""

    key: str


@dataclass(frozen=True, slots=True)
class Missing:
    """key IS NULL"""

    key: str


@dataclass(frozen=True, slots=True)
class Unlike:
    """What a comparison of values of unlike kinds gives: null where one of the properties is null, else `answer`."""

    answer: bool | None
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """key operator right, where right is a constant or the name of another key; both are numbers, or both of one kind,
    and of two keys not strings."""

    operator: Operator
    key: str
    right: Fixed | str


@dataclass(frozen=True, slots=True)
class Text:
    """key STARTS WITH text, and so on, of a key of strings."""

    operator: TextOperator
    key: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Within:
    """key IN values, at least one, all comparable with the key; with `or_null`, a null is among them as well."""

    key: str
    values: tuple[Fixed, ...]
    or_null: bool


@dataclass(frozen=True, slots=True)
class Both:
    """All of the tests, which are at least one."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of the tests, which are at least one."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """NOT test"""

    test: Test


Test: TypeAlias = (
    Known | Holds | Missing | Unlike | Compared | Text | Within | Both | Either | Negated
)
Rows: TypeAlias = "Mapping[str, Column | None]"
"""Some rows of the columns that a test names; None is a key that they have not."""


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """true : bool[n]. null : bool[n], nowhere true with `true`; None where nothing is null."""

    true: Bools
    null: Bools | None


def keys_of(test: Test) -> frozenset[str]:
    """The keys of the columns that a test reads."""
    match test:
        case Known():
            return frozenset()
        case Compared(key=key, right=str() as other):
            return frozenset((key, other))
        case Unlike(keys=keys):
            return frozenset(keys)
        case Both(tests=tests) | Either(tests=tests):
            return frozenset().union(*map(keys_of, tests))
        case Negated(test=inner):
            return keys_of(inner)
        case _:
            return frozenset((test.key,))


# ---- evaluating it ----------------------------------------------------------------------------------


def passing(test: Test, columns: Rows, count: int) -> I64:
    """The rows, of `count`, for which a test is true, i64[k] ascending.

    columns : one for each of `keys_of(test)`, of `count` values, or None.
    """

    def of(start: int) -> I64:
        stop = min(start + CHUNK, count)
        some = {key: _part(column, start, stop) for key, column in columns.items()}
        rows = np.flatnonzero(evaluate(test, some, stop - start).true)
        return rows + start if start else rows

    starts = range(0, count, CHUNK)
    if len(starts) < 2:
        return of(0) if starts else np.zeros(0, np.int64)
    if count < _SEVERAL_FROM:
        return np.concatenate([of(start) for start in starts])
    # NumPy lets other threads run while it is at work
    with waiting.Pool(min(cores(), len(starts))) as pool:
        return np.concatenate(list(pool.map(of, starts)))


def _part(column: Column | None, start: int, stop: int) -> Column | None:
    """Rows of a column; the texts of all stay, and the offsets with them."""
    if column is None or (start == 0 and stop == len(column)):
        return column
    valid = None if column.valid is None else column.valid[start:stop]
    if column.offsets is None:
        return Column(column.kind, column.values[start:stop], None, valid)
    return replace(column, offsets=column.offsets[start : stop + 1], valid=valid)


def evaluate(test: Test, rows: Rows, count: int) -> Mask:
    """What a test gives for each of `count` rows."""
    match test:
        case Known(answer=answer):
            return _all(answer, count)
        case Both(tests=tests):
            return reduce(_and, (evaluate(part, rows, count) for part in tests))
        case Either(tests=tests):
            return reduce(_or, (evaluate(part, rows, count) for part in tests))
        case Negated(test=inner):
            return _not(evaluate(inner, rows, count))
        case Missing(key=key):
            column = rows[key]
            if column is None:
                return _all(True, count)
            return _all(False, count) if column.valid is None else Mask(~column.valid, None)
        case Unlike(answer=answer, keys=keys):
            return _beside([rows[key] for key in keys], _all(answer, count))
        case Compared(right=str() as other):
            return _compared_columns(test.operator, rows[test.key], rows[other], count)
        case _:
            column = rows[test.key]
            if column is None:
                return _all(None, count)
            return _beside([column], _of_column(test, column))


def _of_column(test: Holds | Compared | Text | Within, column: Column) -> Mask:
    """The answer for each row as if its value were not null."""
    match test:
        case Holds():
            return Mask(column.values != 0, None)
        case Compared(operator=operator, right=Fixed() as right):
            return Mask(_compare_with_constant(operator, column, right), None)
        case Text(operator=operator, text=text):
            return Mask(text_masks.test_texts(operator, column, text), None)
        case Within(values=values, or_null=or_null):
            true = _within(column, values)
            return Mask(true, ~true if or_null else None)
    raise InternalError(f"a mask of {test} was requested.")


# ---- true, false and null ---------------------------------------------------------------------------


def _all(answer: bool | None, count: int) -> Mask:
    null = np.ones(count, np.bool_) if answer is None else None
    return Mask(np.full(count, answer is True), null)


def _beside(columns: Sequence[Column | None], answer: Mask) -> Mask:
    """The answer, null where one of the columns is."""
    for column in columns:
        if column is None:
            return _all(None, len(answer.true))
        if column.valid is not None:
            null = ~column.valid
            null = null if answer.null is None else null | answer.null
            answer = Mask(answer.true & column.valid, null)
    return answer


def _not(one: Mask) -> Mask:
    return Mask(~one.true if one.null is None else ~(one.true | one.null), one.null)


def _and(one: Mask, other: Mask) -> Mask:
    """Null where one is null and the other not false."""
    null = _both_ways(one, other)
    return Mask(one.true & other.true, null)


def _both_ways(one: Mask, other: Mask) -> Bools | None:
    if one.null is None and other.null is None:
        return None
    if one.null is None:
        return other.null & one.true if other.null is not None else None
    if other.null is None:
        return one.null & other.true
    return (one.null & (other.true | other.null)) | (other.null & one.true)


def _or(one: Mask, other: Mask) -> Mask:
    """Null where one is null and the other not true."""
    true = one.true | other.true
    nulls = [mask.null for mask in (one, other) if mask.null is not None]
    return Mask(true, reduce(np.logical_or, nulls) & ~true if nulls else None)


# ---- comparisons ------------------------------------------------------------------------------------


def _compare_with_constant(operator: Operator, column: Column, right: Fixed) -> Bools:
    """Each value of a column with a constant."""
    if isinstance(right.value, bytes):
        return text_masks.compare_texts(_UFUNCS[operator], column, right.value)
    return compare_with_number(operator, column.kind, column.values, right.value)


def compare_with_number(
    operator: Operator, kind: Kind, values: Numbers, number: int | float
) -> Bools:
    """Each value of a kind of numbers with a constant, exactly, also an integer with a float."""
    comparison = _as_column(operator, kind, number)
    if isinstance(comparison, bool):
        return np.full(len(values), comparison)
    operator, bound = comparison
    return _UFUNCS[operator](values, bound)


def _as_column(
    operator: Operator, kind: Kind, value: int | float
) -> tuple[Operator, int | float] | bool:
    """The equivalent comparison with a number of the column's own kind; or the answer for all."""
    if kind == "int64" and isinstance(value, float):
        return _among_integers(operator, value)
    if kind == "float64" and isinstance(value, int):
        near = float(value)
        if near == value:  # Python compares exactly
            return operator, near
        match operator:
            case "=" | "<>":
                return operator == "<>"
            case "<" | "<=":
                return ("<=" if near < value else "<"), near
            case _:
                return (">" if near < value else ">="), near
    return operator, value


def _among_integers(operator: Operator, value: float) -> tuple[Operator, int] | bool:
    """int64 operator float."""
    if value != value:
        return operator == "<>"
    if value in (np.inf, -np.inf):
        return operator in (("<>", "<", "<=") if value > 0 else ("<>", ">", ">="))
    whole = int(value // 1)
    if whole == value:
        return operator, whole
    match operator:
        case "=" | "<>":
            return operator == "<>"
        case "<" | "<=":
            return "<=", whole
        case _:
            return ">", whole


def _compared_columns(
    operator: Operator, left: Column | None, right: Column | None, count: int
) -> Mask:
    if left is None or right is None:
        return _all(None, count)
    if left.kind == right.kind:
        true = _UFUNCS[operator](left.values, right.values)
    elif left.kind == "int64":
        true = _compare_integers_with_float(operator, left.values, right.values)
    else:
        turned: Operator = _TURNED[operator]
        true = _compare_integers_with_float(turned, right.values, left.values)
    return _beside([left, right], Mask(true, None))


_TURNED: Mapping[Operator, Operator] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}


def swapped(operator: Operator) -> Operator:
    """The operator that says the same with its sides exchanged."""
    return _TURNED[operator]


def _compare_integers_with_float(operator: Operator, whole: Numbers, real: Numbers) -> Bools:
    """int64 operator float64, exactly: where an integer as a float is the other float, as integers."""
    near = whole.astype(np.float64)
    tied = near == real
    above = tied & (real >= 2.0**63)  # only here a float is no int64
    tied &= ~above
    exact = np.where(tied, real, 0.0).astype(np.int64)
    less: Bools = (near < real) | above | (tied & (whole < exact))
    same: Bools = tied & (whole == exact)
    match operator:
        case "=":
            return same
        case "<>":
            return ~same
        case "<":
            return less
        case "<=":
            return less | same
        case ">":
            return ~(less | same | np.isnan(real))
        case ">=":
            return ~(less | np.isnan(real))


# ---- IN ---------------------------------------------------------------------------------------------

_FEW = 4  # values that are compared one by one
_WIDE = 1 << 16  # a table is made where the last integer exceeds the first by less than this


def _within(column: Column, values: Sequence[Fixed]) -> Bools:
    """Whether each value of a column equals one of the constants."""
    found = [value.value for value in values if isinstance(value.value, bytes)]
    if found:
        each = (text_masks.compare_texts(np.equal, column, text) for text in found)
        return reduce(np.logical_or, each)
    bounds = [
        _as_column("=", column.kind, value.value)
        for value in values
        if not isinstance(value.value, bytes)
    ]
    numbers = sorted({pair[1] for pair in bounds if not isinstance(pair, bool)})
    if column.kind == "int64":
        numbers = [number for number in numbers if -(1 << 63) <= number < 1 << 63]
    if len(numbers) <= _FEW:
        none = np.zeros(len(column), np.bool_)
        return reduce(np.logical_or, (column.values == number for number in numbers), none)
    known = np.array(numbers, column.values.dtype)
    if column.kind != "float64" and numbers[-1] - numbers[0] < _WIDE:
        return _in_table(known, column.values)
    at = np.searchsorted(known, column.values)
    np.minimum(at, len(known) - 1, out=at)
    same: Bools = known[at] == column.values
    return same


def _in_table(known: Numbers, values: Numbers) -> Bools:
    """Whether each integer is one of some that lie close together, ascending."""
    low, high = known[0], known[-1]
    table = np.zeros(int(high) - int(low) + 1, np.bool_)
    table[known - low] = True
    found = np.clip(values, low, high)
    inside: Bools = found == values
    found -= low
    inside &= table[found]
    return inside

"""The parameters of a query: their checks, and what of their values a prepared statement depends on."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, cast

import numpy as np

from gdb.errors import NameProblem, TypeProblem
from gdb.language.hidden_names import parameter_shown
from gdb.storage.columns import temporal
from gdb.storage.columns.model import INT64

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value


def checked_parameters(parameters: Mapping[str, object] | None) -> dict[str, Value]:
    """The parameters of a query as plain Python values; NumPy scalars and tuples are converted. A datetime keeps its
    zone. Dates, times and durations of `gdb.base.values`, as results hold them, stay what they are.

    Raises
    ------
    TypeProblem : not a mapping of names to numbers, booleans, strings, dates and times, None or lists and dicts of
        these.
    """
    if parameters is None:
        return {}
    if not isinstance(parameters, (dict, Mapping)):
        raise TypeProblem(
            f"parameters must be a dict, not {type(parameters).__name__}.",
            'Write them as {"age": 30} for $age.',
        )
    checked: dict[str, Value] = {}
    for name, value in parameters.items():
        if not isinstance(name, str):
            raise TypeProblem(f"the name of a parameter must be a string, not {name!r}.")
        if name.startswith("$"):
            raise NameProblem(
                f"the parameter {name!r} is named with its dollar sign.", f"Use {name[1:]!r}."
            )
        try:
            checked[name] = _checked_value(name, value)
        except RecursionError:
            raise TypeProblem(
                f"parameter {parameter_shown(name)} is nested too deeply, or holds itself.",
                "Flatten it.",
            ) from None
    return checked


def _checked_value(name: str, value: object) -> Value:
    if type(value) is int and value in INT64:
        return value
    if type(value) is str and value.isascii():
        return value
    if isinstance(value, (list, tuple)):
        return _checked_list(name, value)
    if isinstance(value, (dict, Mapping)) and not _is_element(value):
        return _checked_map(name, value)
    if value is None or isinstance(value, (bool, str)):
        return _checked_text(name, value) if isinstance(value, str) else value
    if isinstance(value, (date, timedelta, np.datetime64, np.timedelta64)):
        return _checked_time(name, value)
    if isinstance(value, numbers.Integral):
        if int(value) not in INT64:
            many = int(value).bit_length()
            shown = f"{value}" if many < 1000 else f"a number of {many:,} bits"
            raise TypeProblem(
                f"parameter {parameter_shown(name)} holds {shown}, which does not fit 64 bits.",
                "Pass it as a float or a string.",
            )
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, time) or type(value).__module__.startswith("gdb.base.values."):
        return _checked_other_time(name, value)
    if type(value).__name__ == "MaskedConstant":  # NumPy's missing value
        return None
    plain = getattr(value, "item", None)  # a NumPy boolean or string
    if callable(plain) and getattr(value, "ndim", None) == 0:
        return _checked_value(name, plain())
    raise TypeProblem(
        f"parameter {parameter_shown(name)} is of the Python type {type(value).__name__}.",
        "Parameters are numbers, booleans, strings, dates and times, None, and lists and dicts of these.",
    )


def _is_element(value: object) -> bool:
    """Whether it is a node or relationship of an answer, which is a mapping, but no map."""
    return type(value).__module__ == "gdb.answer.entities"


def _checked_list(name: str, values: Sequence[object]) -> list[Value]:
    """Each item checked; of many plain ones, and of maps of these, which batches are made of, all at once."""
    if _plain(values):
        return list(cast("Sequence[Value]", values))
    columns = _columns_of(values)
    if columns is not None and all(map(_plain, columns.values())):
        from gdb.base.values.map_columns import MapColumns  # here: few queries have a table

        maps = map(dict.copy, cast("Sequence[dict[str, object]]", values))
        return cast("list[Value]", MapColumns(maps, columns))
    return [_checked_value(name, item) for item in values]


_PLAIN = frozenset({int, str, float, bool, type(None)})


def _plain(values: Sequence[object]) -> bool:
    """Whether all values are of plain classes, and can be kept."""
    classes = set(map(type, values))
    if not classes <= _PLAIN or not classes:
        return False
    if int in classes:
        whole = [one for one in values if type(one) is int] if len(classes) > 1 else values
        numbers = cast("Sequence[int]", whole)
        if min(numbers) not in INT64 or max(numbers) not in INT64:
            return False
    if str in classes:
        several = [one for one in values if type(one) is str] if len(classes) > 1 else values
        return _valid_texts(cast("Sequence[str]", several))
    return True


def _valid_texts(texts: Sequence[str]) -> bool:
    if all(map(str.isascii, texts)):
        return True
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _columns_of(values: Sequence[object]) -> Mapping[str, Sequence[object]] | None:
    """The values of maps that all have the same keys, a list for each key; else None."""
    if set(map(type, values)) != {dict}:
        return None
    maps = cast("Sequence[dict[str, object]]", values)
    keys = tuple(maps[0])
    if {*map(len, maps)} != {len(keys)} or not set(map(type, keys)) <= {str}:
        return None
    if not _valid_texts(keys):
        return None
    try:
        return {key: list(map(itemgetter(key), maps)) for key in keys}
    except KeyError:
        return None


def _checked_map(name: str, value: Mapping[object, object]) -> Value:
    found: dict[str, Value] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeProblem(
                f"a key in parameter {parameter_shown(name)} is {key!r}, and keys are strings."
            )
        if not key.isascii():
            _checked_text(name, key)
        plain = type(item) is int and item in INT64
        found[key] = cast("int", item) if plain else _checked_value(name, item)
    return found


def _checked_time(name: str, time: date | timedelta | np.datetime64 | np.timedelta64) -> Value:
    """As Python's own date, datetime or timedelta; None for NaT."""
    if time != time:
        return None
    _refuse_rounding(name, time)
    value: object = time
    if isinstance(time, (np.datetime64, np.timedelta64)):
        value = temporal.of_numpy(time)
    try:
        match value:
            case datetime() if value.tzinfo is not None and value.utcoffset() is not None:
                moment = datetime.combine(value.date(), value.time(), value.tzinfo)
                return _checked_other_time(name, moment.replace(fold=value.fold))
            case datetime():
                return temporal.EPOCH + timedelta(microseconds=temporal.instant_of(value))
            case date():
                return date.fromordinal(value.toordinal())
            case timedelta() if abs(temporal.length_of(value)) <= temporal.LONGEST:
                return timedelta(microseconds=temporal.length_of(value))
            case timedelta():  # longer than columns hold, but not than the language has
                from gdb.base.values.temporal_python import from_python

                return cast("Value", from_python(value))
    except OverflowError:
        pass
    raise TypeProblem(
        f"parameter {parameter_shown(name)} holds {value}, which cannot be kept.",
        "Years are 1 to 9999, in UTC; gdb.Date, gdb.LocalDateTime and gdb.DateTime have others.",
    )


def _refuse_rounding(name: str, time: date | timedelta | np.datetime64 | np.timedelta64) -> None:
    """Refuse what has more than microseconds, and lengths of months of NumPy, which are no number of days."""
    if isinstance(time, np.timedelta64) and np.datetime_data(time)[0] in ("Y", "M"):
        raise TypeProblem(
            f"parameter {parameter_shown(name)} holds {time}, and how long that is depends on the date.",
            "Pass gdb.Duration(months=...).",
        )
    exact = True
    if isinstance(time, (np.datetime64, np.timedelta64)):
        exact = temporal.is_exact(time)
    else:  # of pandas, whose classes are derived from those of Python
        exact = not (getattr(time, "nanosecond", 0) or getattr(time, "nanoseconds", 0))
    if not exact:
        raise TypeProblem(
            f"parameter {parameter_shown(name)} holds {time}, which has more than microseconds, or more of them than"
            " 64 bits hold.",
            "Round it, or pass gdb.LocalDateTime, gdb.DateTime or gdb.Duration, which have nanoseconds.",
        )


def _checked_other_time(name: str, value: object) -> Value:
    """A datetime with a zone, a time of day, or a date, time or duration of `gdb.base.values`."""
    from gdb.base.values.problems import ValueProblem
    from gdb.base.values.temporal import DateTime
    from gdb.base.values.temporal_python import from_python
    from gdb.base.values.zones import zone_named

    try:
        time = from_python(value)
        if isinstance(time, DateTime) and time.zone:
            zone_named(time.zone)
    except ValueProblem as problem:
        message = f"{problem.message[:1].lower()}{problem.message[1:]}"
        raise TypeProblem(
            f"parameter {parameter_shown(name)} holds {value}: {message}", problem.cure
        ) from None
    return cast("Value", value)


def _checked_text(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TypeProblem(
            f"parameter {parameter_shown(name)} is not valid Unicode: it holds a lone surrogate."
        ) from None
    return str(value)


def kind_of(value: Value) -> Hashable:
    """What of a parameter's value decides on types and SQL: among values of one kind, a query is understood only
    once."""
    if isinstance(value, float):
        return "a number" if value == value else "not a number"
    if isinstance(value, (list, tuple)):
        columns = getattr(value, "columns", None)  # of `MapColumns`
        if columns is not None:
            return "a table", frozenset((key, _kinds(own)) for key, own in columns.items())
        alike = {*map(type, value)} in _SHAPED
        kinds = tuple(kind_of(item) for item in (value[:1] if alike else value))
        return ("a list", frozenset(kinds) if len(set(kinds)) <= 1 else kinds)
    if isinstance(value, dict):
        return "a map", frozenset((key, kind_of(item)) for key, item in value.items())
    if isinstance(value, datetime) and value.tzinfo is not None:
        return "a datetime with a zone"
    return value.__class__.__name__


_SHAPED = ({int}, {str}, {bool}, {type(None)})


def _kinds(values: Sequence[object]) -> frozenset[Hashable]:
    """The kinds of plain values."""
    classes = {*map(type, values)}
    found: set[Hashable] = {one.__name__ for one in classes if one is not float}
    if float in classes:
        found |= {kind_of(one) for one in values if type(one) is float}
    return frozenset(found)

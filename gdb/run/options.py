"""Options of a query, and their checks: match modes, memory sizes, times, parameters."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from gdb import limits
from gdb.base.budget import LEAST, Defaults, size_in
from gdb.errors import (
    NameProblem,
    NotAStore,
    OutOfBudget,
    QueryError,
    TypeProblem,
)
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    INDUCED,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
)
from gdb.storage.columns import temporal

if TYPE_CHECKING:
    from gdb.executor.cluster.cluster import Cluster
    from gdb.executor.relational.relational_tail import Value
    from gdb.storage.importer.load_options import LoadOptions

MATCH_MODES: dict[str, MatchMode] = {
    "DIFFERENT EDGES": DIFFERENT_EDGES,
    "DIFFERENT RELATIONSHIPS": DIFFERENT_EDGES,
    "DIFFERENT NODES": DIFFERENT_NODES,
    "REPEATABLE ELEMENTS": REPEATABLE_ELEMENTS,
    "SUBGRAPHS": SUBGRAPHS,
    "INDUCED": INDUCED,
}

_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_INT64 = range(-(2**63), 2**63)


def match_mode(text: str) -> MatchMode:
    """The mode that `match=` names, in upper or lower case.

    Raises
    ------
    NameProblem : there is no such mode.
    """
    if not isinstance(text, str):
        raise TypeProblem(f"match= takes a text, not {type(text).__name__}.", _known_modes())
    name = " ".join(text.upper().split())
    if name in MATCH_MODES:
        return MATCH_MODES[name]
    hint = _meant(name, MATCH_MODES) or _known_modes()
    raise NameProblem(f"there is no match mode {text!r}.", hint)


def _meant(name: str, choices: Iterable[str]) -> str:
    """The question whether the nearest choice is meant; "" where none is near."""
    import difflib  # of a wrong name alone

    close = difflib.get_close_matches(name, [*choices], 1)
    return f"Did you mean {close[0]!r}?" if close else ""


def _known_modes() -> str:
    return f"Use one of {', '.join(map(repr, MATCH_MODES))}."


def one_of(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse an argument that is none of its choices.

    Raises
    ------
    NameProblem : with the choice that was probably meant.
    """
    if isinstance(value, str) and value in choices:
        return
    hint = _meant(str(value), choices) or f"Use one of {', '.join(map(repr, choices))}."
    raise NameProblem(f"{name}={value!r} is not a choice.", hint)


def check_load(given: LoadOptions) -> None:
    """Refuse an option of an import that is none of its choices. Raises NameProblem, TypeProblem."""
    from gdb.storage.importer.load_options import load_options

    for name, option in load_options().items():
        value = getattr(given, name)
        if option.choices and (value is not None or option.default is not None):
            one_of(name, value, option.choices)
    choice_or_none("packed", given.packed)


def choice_or_none(name: str, value: bool | None) -> bool | None:
    """An argument that is True, False, or None to leave things as they are. Raises TypeProblem."""
    if value is not None and not isinstance(value, bool):
        raise TypeProblem(
            f"{name}= takes True, False or None, not {value!r}.", "Give one of these."
        )
    return value


def memory_bytes(memory: int | str | None, default: int | None = None) -> int | None:
    """A memory budget of a query in bytes, see `byte_count`; the default where none is given, None for no budget.

    Raises
    ------
    OutOfBudget : it is below `gdb.base.budget.LEAST`.
    """
    if memory is None:
        return default
    size = byte_count("memory", memory)
    if size < LEAST:
        raise OutOfBudget(
            f"memory={memory!r} is below the {LEAST >> 20} MiB that a query needs at least.",
            f'Give memory="{LEAST >> 20}MiB" or more.',
        )
    return size


def gpu_memory_bytes(given: int | str | None, default: int | None) -> int | None:
    """A budget of each GPU's memory in bytes, see `byte_count`; the default where none is given.

    Raises
    ------
    QueryError : it is less than what a query needs.
    """
    if given is None:
        return default
    from gdb.executor.gpu.residency import checked

    return checked(byte_count("gpu_memory", given))


def budgets(memory: int | str | None, gpu_memory: int | str | None) -> Defaults:
    """The budgets of a database's queries that are given none of their own. Raises as the two above."""
    return Defaults(memory_bytes(memory), gpu_memory_bytes(gpu_memory, None))


def cluster(on: object) -> Cluster:
    """The processes that `on=` names. Raises as `gdb.executor.cluster.cluster.cluster_of`."""
    from gdb.executor.cluster.cluster import cluster_of

    return cluster_of(on)


def import_memory(memory: int | str | None) -> int:
    """The memory that an import or a compaction may take, in bytes; None for half of what the machine, or the control
    group of the process, has."""
    return half_of_memory() if memory is None else byte_count("memory", memory)


@cache
def half_of_memory() -> int:
    """Bytes: half of what the machine, or the control group of the process, had when this was first called."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # there is no such group, or it has no limit
        most = min(most, int(_GROUP_LIMIT.read_text(encoding="ascii")))
    return most // 2


def query_text(text: object) -> None:
    """Refuse what is no text. Raises TypeProblem."""
    if not isinstance(text, str):
        raise TypeProblem(f"a query is a text, not {type(text).__name__}.")


def byte_count(name: str, value: int | str) -> int:
    """An argument in bytes: a number of bytes, or a text such as "8GB", "512 MiB".

    Raises
    ------
    QueryError, TypeProblem : it is neither.
    """
    cure = 'Use bytes, as in 8_000_000_000, or a text, as in "8GB".'
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeProblem(
            f"{name}= takes a number of bytes or a text, not {type(value).__name__}.", cure
        )
    size = value if isinstance(value, int) else size_in(value)
    if size is None:
        raise QueryError(f"{name}={value!r} is not a size.", cure)
    if not 1 <= size < 2**63:
        raise QueryError(f"{name}={value!r} is not a possible number of bytes.", cure)
    return int(size)


def timeout_seconds(
    timeout: float | None, given: Mapping[str, float] = limits.NONE
) -> float | None:
    """A time limit in seconds, `MAX_SECONDS` where none is given, of the database or else of `gdb.limits`; None for
    none.

    Raises
    ------
    QueryError, TypeProblem : it is no positive number.
    """
    if timeout is None:
        return given.get("MAX_SECONDS", limits.MAX_SECONDS)
    if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real):
        raise TypeProblem(f"timeout= takes seconds, not {type(timeout).__name__}.")
    seconds = float(timeout)
    if math.isnan(seconds) or seconds <= 0:
        raise QueryError(
            f"timeout={timeout!r} is not a time above 0.", "Use seconds, as in timeout=60."
        )
    return None if math.isinf(seconds) else seconds


def own_limits(given: Mapping[str, float] | None) -> dict[str, float]:
    """The limits that a database has of its own.

    Raises
    ------
    NameProblem : there is no such limit. TypeProblem, QueryError : it is no number from 1.
    """
    if given is not None and not isinstance(given, Mapping):
        raise TypeProblem(
            f"limits= takes a dict, not {type(given).__name__}.",
            'Write it as {"MAX_DEPTH": 200}.',
        )
    for name, value in (given or {}).items():
        one_of("limits", name, limits.NAMES)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeProblem(
                f"the limit {name} is a number, not {type(value).__name__}.",
                "Give a whole number, or of MAX_SECONDS seconds.",
            )
        if not value > 0 or (name != "MAX_SECONDS" and value != int(value)):
            raise QueryError(f"{value!r} is no limit {name}.", "Give a whole number from 1.")
    return dict(given or {})


def thread_count(threads: int) -> int:
    """A number of threads; 0 for one on each core.

    Raises
    ------
    QueryError, TypeProblem : it is no number of threads.
    """
    # int is named here, and dict below, because asking an abstract class takes a microsecond
    if isinstance(threads, bool) or not isinstance(threads, (int, numbers.Integral)):
        raise TypeProblem(f"threads= takes a whole number, not {type(threads).__name__}.")
    if not 0 <= threads <= 4096:
        raise QueryError(f"threads={threads} is not between 0 (all cores) and 4096.")
    return int(threads)


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
        checked[name] = _checked_value(name, value)
    return checked


def _checked_value(name: str, value: object) -> Value:
    if type(value) is int and value in _INT64:
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
        if int(value) not in _INT64:
            raise TypeProblem(
                f"parameter ${name} holds {value}, which does not fit 64 bits.",
                "Pass it as a float or a string.",
            )
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, time) or type(value).__module__.startswith("gdb.base.values."):
        return _checked_other_time(name, value)
    plain = getattr(value, "item", None)  # a NumPy boolean or string
    if callable(plain) and getattr(value, "ndim", None) == 0:
        return _checked_value(name, plain())
    raise TypeProblem(
        f"parameter ${name} is a {type(value).__name__}.",
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
    if columns is not None and all(map(_plain, columns)):
        return [dict(one) for one in cast("Sequence[dict[str, Value]]", values)]
    return [_checked_value(name, item) for item in values]


def _plain(values: Sequence[object]) -> bool:
    """Whether all values are of one plain class, and can be kept."""
    classes = set(map(type, values))
    if classes == {int}:
        whole = cast("Sequence[int]", values)
        return min(whole) in _INT64 and max(whole) in _INT64
    if classes == {str}:
        return all(map(str.isascii, cast("Sequence[str]", values)))
    return classes in ({float}, {bool}, {type(None)})


def _columns_of(values: Sequence[object]) -> list[list[object]] | None:
    """The values of maps that all have the same keys in the same order, a list for each key; else None."""
    if set(map(type, values)) != {dict}:
        return None
    maps = cast("Sequence[dict[object, object]]", values)
    shapes = set(map(tuple, maps))
    keys = next(iter(shapes))
    if len(shapes) > 1 or not set(map(type, keys)) <= {str}:
        return None
    return [[one[key] for one in maps] for key in keys]


def _checked_map(name: str, value: Mapping[object, object]) -> Value:
    found: dict[str, Value] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeProblem(f"a key in parameter ${name} is {key!r}, and keys are strings.")
        plain = type(item) is int and item in _INT64
        found[key] = cast("int", item) if plain else _checked_value(name, item)
    return found


def _checked_time(name: str, given: date | timedelta | np.datetime64 | np.timedelta64) -> Value:
    """As Python's own date, datetime or timedelta; None for NaT."""
    if given != given:
        return None
    value: object = given
    if isinstance(given, (np.datetime64, np.timedelta64)):
        value = temporal.of_numpy(given)
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
    except OverflowError:
        pass
    raise TypeProblem(
        f"parameter ${name} holds {value}, which cannot be kept.",
        "Years are 1 to 9999, in UTC, and durations are at most 292,000 years.",
    )


def _checked_other_time(name: str, value: object) -> Value:
    """A datetime with a zone, a time of day, or a date, time or duration of `gdb.base.values`."""
    from gdb.base.values.problems import ValueProblem
    from gdb.base.values.temporal_python import from_python

    try:
        from_python(value)
    except ValueProblem as problem:
        message = f"{problem.message[:1].lower()}{problem.message[1:]}"
        raise TypeProblem(f"parameter ${name} holds {value}: {message}", problem.cure) from None
    return cast("Value", value)


def _checked_text(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TypeProblem(
            f"parameter ${name} is not valid Unicode: it holds a lone surrogate."
        ) from None
    return str(value)


def kind_of(value: Value) -> Hashable:
    """What of a parameter's value decides on types and SQL: among values of one kind, a query is understood only
    once."""
    if isinstance(value, float):
        return "a number" if value == value else "not a number"
    if isinstance(value, (list, tuple)):
        alike = _one_shape(value)
        kinds = tuple(kind_of(item) for item in (value[:1] if alike else value))
        return ("a list", frozenset(kinds) if len(set(kinds)) <= 1 else kinds)
    if isinstance(value, dict):
        return "a map", frozenset((key, kind_of(item)) for key, item in value.items())
    if isinstance(value, datetime) and value.tzinfo is not None:
        return "a datetime with a zone"
    return value.__class__.__name__


_SHAPED = {int, str, bool, type(None)}


def _one_shape(values: Sequence[Value]) -> bool:
    """Whether all values are of one kind, as the classes of many plain ones, or of maps of these, show at once."""
    classes = set(map(type, values))
    if len(classes) > 1:
        return False
    if classes <= _SHAPED:
        return True
    columns = _columns_of(values)
    if columns is None:
        return False
    several = [set(map(type, column)) for column in columns]
    return all(len(some) == 1 and some <= _SHAPED for some in several)


def import_root(path: str | os.PathLike[str] | None) -> Path | None:
    """The folder in which all imported files must lie, resolved; None for any. Raises TypeProblem, NotAStore."""
    if path is None:
        return None
    root = folder(path).resolve()
    if not root.is_dir():
        raise NotAStore(
            f"import_root={str(root)!r} is no folder.", "Make it, or name another import_root=."
        )
    return root


def _is_path(text: str) -> bool:
    """Whether the operating system can be given a text as a path: half a character is in none."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def folder(path: str | os.PathLike[str]) -> Path:
    """The folder that a user names. Raises TypeProblem, NotAStore."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeProblem(f"the path of a store is a text, not {path.__class__.__name__}.")
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text or not _is_path(text):
        raise NotAStore(
            f"{text!r} is not the name of a folder.", "Give a path, or None for a graph in memory."
        )
    return Path(text)

"""Options of a query and of a database, and their checks: match modes, memory sizes, times, folders."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gdb import limits
from gdb.base import budget
from gdb.errors import NameProblem, NotAStore, OutOfBudget, QueryError, TypeProblem
from gdb.language.suggest import did_you_mean
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    INDUCED,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
)
from gdb.records import dataclass, quick

if TYPE_CHECKING:
    from gdb.executor.cluster.cluster import Cluster
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


@dataclass(frozen=True, slots=True)
class Settings:
    """What a database was opened with. mode : of a MATCH that names none. import_root : where files that are read must
    lie, None for any. limits : see `gdb.limits`, those that are others here. budgets : of a query that names none."""

    mode: MatchMode
    import_root: Path | None
    limits: Mapping[str, float]
    budgets: budget.Defaults


@quick
@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How one query runs, as its caller says it: one record for every way to run one.

    device : "auto", "cpu", "cuda", "cuda:N", or several GPUs: "cuda:0,1". memory, gpu_memory : bytes, or as in "8GB";
        None for the database's. timeout : seconds; None for the database's. match : mode of a MATCH that names none;
        None for the database's. threads : 0 for one on each core. on : other processes that share the work.
    """

    device: str = "auto"
    memory: int | str | None = None
    gpu_memory: int | str | None = None
    timeout: float | None = None
    match: str | None = None
    threads: int = 0
    on: object = None


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
    hint = did_you_mean(name, MATCH_MODES, quoted=True) or _known_modes()
    raise NameProblem(f"there is no match mode {text!r}.", hint)


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
    hint = (
        did_you_mean(str(value), choices, quoted=True)
        or f"Use one of {', '.join(map(repr, choices))}."
    )
    raise NameProblem(f"{name}={value!r} is not a choice.", hint)


def check_load(options: LoadOptions) -> None:
    """Refuse an option of an import that is none of its choices. Raises NameProblem, TypeProblem."""
    from gdb.storage.importer.load_options import load_options  # here: queries never need it

    for name, option in load_options().items():
        value = getattr(options, name)
        if option.choices and (value is not None or option.default is not None):
            one_of(name, value, option.choices)
        elif name == "packed":
            choice_or_none(name, options.packed)
        elif value is not None or option.default is not None:
            _check_kind(name, option.kinds, value)
    if options.ends is not None and len(options.ends) != 2:
        raise TypeProblem(f"ends= takes two texts, not {options.ends!r}.", "Name both id spaces.")
    if options.max_errors < 0:
        raise QueryError(f"max_errors={options.max_errors} is below 0.", "Give a number from 0.")


def check_load_calls(rejects_file: object, progress: object, cancel: object) -> None:
    """Refuse what is no path, no function or no event. Raises TypeProblem."""
    if rejects_file is not None and not isinstance(rejects_file, (str, os.PathLike)):
        raise TypeProblem(f"rejects_file= takes a path, not {rejects_file!r}.")
    if progress is not None and not callable(progress):
        raise TypeProblem(f"progress= takes a function, not {progress!r}.")
    if cancel is not None and not callable(getattr(cancel, "is_set", None)):
        raise TypeProblem(f"cancel= takes a threading.Event, not {cancel!r}.")


_WORDS = {bool: "True or False", int: "a whole number", str: "a text", list: "a list of texts"}


def _check_kind(name: str, kinds: Sequence[type], value: object) -> None:
    """Refuse a value of an option that is of no kind it takes. Raises TypeProblem."""
    fits = isinstance(value, (os.PathLike, *kinds) if str in kinds else (*kinds,))
    if list in kinds:
        fits = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    elif isinstance(value, bool):
        fits = bool in kinds
    if not fits:
        takes = " or ".join(dict.fromkeys(_WORDS[kind] for kind in kinds))
        raise TypeProblem(f"{name}= takes {takes}, not {value!r}.")


def truth(name: str, value: bool) -> bool:
    """An argument that is True or False. Raises TypeProblem."""
    if not isinstance(value, bool):
        raise TypeProblem(f"{name}= takes True or False, not {value!r}.", "Give one of these.")
    return value


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
    if size < budget.LEAST:
        raise OutOfBudget(
            f"memory={memory!r} is below the {budget.LEAST >> 20} MiB that a query needs at least.",
            f'Give memory="{budget.LEAST >> 20}MiB" or more.',
        )
    return size


def gpu_memory_bytes(value: int | str | None, default: int | None) -> int | None:
    """A budget of each GPU's memory in bytes, see `byte_count`; the default where none is given.

    Raises
    ------
    QueryError : it is less than what a query needs.
    """
    if value is None:
        return default
    from gdb.executor.gpu.residency import check_gpu_memory  # here: only with gpu_memory=

    return check_gpu_memory(byte_count("gpu_memory", value))


def budgets(memory: int | str | None, gpu_memory: int | str | None) -> budget.Defaults:
    """The budgets of a database's queries that are given none of their own. Raises as the two above."""
    return budget.Defaults(memory_bytes(memory), gpu_memory_bytes(gpu_memory, None))


def cluster(on: object) -> Cluster:
    """The processes that `on=` names. Raises as `gdb.executor.cluster.cluster.cluster_of`."""
    from gdb.executor.cluster.cluster import cluster_of  # here: only with on=

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
    size = value if isinstance(value, int) else budget.size_in(value)
    if size is None:
        raise QueryError(f"{name}={value!r} is not a size.", cure)
    if not 1 <= size < 2**63:
        raise QueryError(f"{name}={value!r} is not a possible number of bytes.", cure)
    return int(size)


def timeout_seconds(timeout: float | None, own: Mapping[str, float] = limits.NONE) -> float | None:
    """A time limit in seconds, `MAX_SECONDS` where none is given, of the database or else of `gdb.limits`; None for
    none.

    Raises
    ------
    QueryError, TypeProblem : it is no positive number.
    """
    if timeout is None:
        return own.get("MAX_SECONDS", limits.MAX_SECONDS)
    if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real):
        raise TypeProblem(f"timeout= takes seconds, not {type(timeout).__name__}.")
    seconds = float(timeout)
    if math.isnan(seconds) or seconds <= 0:
        raise QueryError(
            f"timeout={timeout!r} is not a time above 0.", "Use seconds, as in timeout=60."
        )
    return None if math.isinf(seconds) else seconds


def own_limits(values: Mapping[str, float] | None) -> dict[str, float]:
    """The limits that a database has of its own.

    Raises
    ------
    NameProblem : there is no such limit. TypeProblem, QueryError : it is no number from 1.
    """
    if values is not None and not isinstance(values, Mapping):
        raise TypeProblem(
            f"limits= takes a dict, not {type(values).__name__}.",
            'Write it as {"MAX_DEPTH": 200}.',
        )
    for name, value in (values or {}).items():
        if name not in limits.NAMES:
            cure = did_you_mean(str(name), limits.NAMES, quoted=True)
            cure = cure or f"There are {', '.join(limits.NAMES)}."
            raise NameProblem(f"there is no limit {name!r}.", cure)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeProblem(
                f"the limit {name} is a number, not {type(value).__name__}.",
                "Give a whole number, or of MAX_SECONDS seconds.",
            )
        if name == "MAX_SECONDS" and not 0 < value < math.inf:
            raise QueryError(f"{value!r} is no limit {name}.", "Give a number above 0.")
        if name != "MAX_SECONDS" and not (1 <= value < math.inf and value == int(value)):
            raise QueryError(f"{value!r} is no limit {name}.", "Give a whole number from 1.")
    return dict(values or {})


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


def import_root(path: str | os.PathLike[str] | None) -> Path | None:
    """The folder in which all imported files must lie, resolved; None for any. Raises TypeProblem, NotAStore."""
    if path is None:
        return None
    if not isinstance(path, (str, os.PathLike)):
        raise TypeProblem(f"import_root= takes a path, not {type(path).__name__}.")
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
    """The folder that a user names, absolute: a store stays the one that was opened where the process changes its
    working folder. Links and ".." in it are left to the operating system. Raises TypeProblem, NotAStore."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeProblem(f"the path of a store is a text, not {path.__class__.__name__}.")
    text = os.fspath(path)
    unusable = not isinstance(text, str) or not text or "\0" in text or not _is_path(text)
    # ":memory:" is a database in memory in SQLite and DuckDB; here it would make a folder that stays
    if unusable or text == ":memory:":
        raise NotAStore(
            f"{text!r} is not the name of a folder.", "Give a path, or None for a graph in memory."
        )
    try:
        return Path(text).absolute()
    except FileNotFoundError:  # of os.getcwd
        raise NotAStore(
            f"{text!r} is a relative path, and the working folder of the process is gone.",
            "Give an absolute path, or change to a folder that is there.",
        ) from None

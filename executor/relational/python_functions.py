"""Functions of Python that SQL may call (`gdb.functions.python_definitions`), and which of them a DuckDB has.

A function is made known to a DuckDB when a query first mentions it. It gets the values of one row at a time: integers,
floats, booleans, strings, and lists of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from gdb.records import dataclass

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NOT_IN_COLUMNS = "not in columns"
"""In the text of the error that SQL raises where a value is of another type than its column: rows have it."""
_CALL = re.compile(r"\bpy_\w+\(", re.IGNORECASE)  # no text of the user is in SQL


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """name : as SQL calls it. takes, gives : types of DuckDB. nulls : it is called for null as well, which else gives
    null."""

    name: str
    apply: Callable[..., object]
    takes: tuple[str, ...]
    gives: str
    nulls: bool = False


_DEFINED: dict[str, PythonFunction] = {}


def define_function(function: PythonFunction) -> None:
    """Let SQL mention a function. Two of one name are one."""
    _DEFINED.setdefault(function.name, function)


def called_functions(sql: str) -> frozenset[str]:
    """The names of the functions that a text calls."""
    return frozenset(found[:-1].lower() for found in _CALL.findall(sql))


def make_known(names: frozenset[str], connection: DuckDBPyConnection) -> None:
    """Make functions known to a DuckDB that does not know them yet."""
    from duckdb.func import FunctionNullHandling as OfNull  # translation alone needs no DuckDB

    for name in names:
        one = _DEFINED[name]
        connection.create_function(
            name,
            _called(one),
            list(one.takes),
            one.gives,
            null_handling=OfNull.SPECIAL if one.nulls else OfNull.DEFAULT,
            side_effects=False,
        )


def _called(function: PythonFunction) -> Callable[..., Any]:
    """The function as DuckDB calls it: of so many arguments, without annotations, which DuckDB would evaluate, and with
    a text for NaN, which DuckDB would take for null."""
    apply, floats = function.apply, function.gives.startswith("DOUBLE")

    def call(*arguments: Any) -> Any:
        found = apply(*arguments)
        if floats:
            if isinstance(found, list):
                return ["nan" if item != item else item for item in found]
            return found if found == found else "nan"  # None == None
        return found

    names = [f"a{number}" for number in range(len(function.takes))]
    parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call

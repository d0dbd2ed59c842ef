"""The Python definition of a function inside SQL: DuckDB calls it for the rows that come to it.

So a row whose value no SQL is exact for costs a microsecond, and does not move the others out of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import call, exp
from gdb.executor.relational.python_functions import PythonFunction, define_function
from gdb.functions import static_kinds, types
from gdb.functions.function import Function
from gdb.functions.types import Type, Typed, TypeName, sql_type

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

_CODES = {TypeName.INTEGER: "i", TypeName.FLOAT: "f", TypeName.BOOLEAN: "b", TypeName.STRING: "s"}
"""The kinds that are the same in Python and in DuckDB."""
_SCALARS = {
    static_kinds.INTEGER: types.INTEGER,
    static_kinds.FLOAT: types.FLOAT,
    static_kinds.BOOLEAN: types.BOOLEAN,
    static_kinds.STRING: types.STRING,
}
_LISTS = {static_kinds.list_of(item): Type(TypeName.LIST, of.kind) for item, of in _SCALARS.items()}
_RESULTS = _SCALARS | _LISTS


def call_python(
    name: str,
    apply: Callable[..., Value],
    takes: Sequence[str],
    gives: str,
    arguments: Sequence[exp.Expr],
    nulls: bool = False,
) -> exp.Expr:
    """A call of a Python function from SQL. name : no other function has it. takes, gives : types of DuckDB. nulls :
    it is called for null as well."""
    full = f"py_{name.replace('.', '_').lower()}"
    define_function(PythonFunction(full, apply, tuple(takes), gives, nulls))
    return call(full, *arguments)


def of_row(row: Function, arguments: Sequence[Typed], result: Type | None = None) -> Typed | None:
    """The Python definition for some arguments; None where their types, or the result's, are not alike in both.

    result : its type, where the signature does not say it.
    """
    if row.varies or not arguments:
        return None
    if any(argument.is_null for argument in arguments):
        return Typed(exp.Null(), types.NULL)
    type_ = result or _RESULTS.get(row.signature.result)
    codes = [_code(argument.type) for argument in arguments]
    if type_ is None or _code(type_) is None or None in codes:
        return None
    name = f"{row.name}_{'_'.join(code or '' for code in codes)}"
    takes = [sql_type(argument.type) for argument in arguments]
    sql = call_python(name, row.apply, takes, sql_type(type_), [one.sql for one in arguments])
    return Typed(sql, type_)


def _code(type_: Type) -> str | None:
    if type_.kind is TypeName.LIST:
        item = _CODES.get(type_.item or TypeName.NULL)
        return None if item is None else f"l{item}"
    return _CODES.get(type_.kind)

"""Definitions of functions and aggregates of the language: one row holds all that any layer knows of one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from gdb.functions import static_kinds
from gdb.functions.static_kinds import Kind, Known
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.sql import exp
    from gdb.base.values.aggregates import Gathering
    from gdb.base.values.kinds import Value
    from gdb.functions.types import Typed

Apply: TypeAlias = "Callable[..., Value]"
"""The meaning: the value for these arguments, which come one by one. Raises ValueProblem."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """SQL that is the function where `test` is true; where it is false, the Python definition is called for that row.

    test : null only where an argument is null.
    """

    test: exp.Expr
    value: Typed


Made: TypeAlias = "Typed | Guarded | None"
ToSql: TypeAlias = "Callable[..., Made]"
"""SQL for arguments, none of them null throughout; None where it has none for values of these types."""

GatheredSql: TypeAlias = "Callable[..., Typed | None]"
"""SQL of an aggregate: of its argument, whether each value counts once, and further arguments."""

_KINDS = {"ANY": static_kinds.VALUE, **{kind.name: Known(kind) for kind in Kind}}
_SIGNATURE = re.compile(r"([\w.]+)\((.*)\) :: (.+)")
_LIST = re.compile(r"LIST<(.+)>")


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """name, takes : as the signature has them. optional : it may be left out."""

    name: str
    takes: tuple[Kind, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """name : as messages write it. least, most : how many arguments; most None has no bound. result : what is known of
    the value."""

    text: str
    name: str
    parameters: tuple[FunctionParameter, ...]
    least: int
    most: int | None
    result: Known

    @classmethod
    def of(cls, text: str) -> Signature:
        """Read a signature.

        Examples
        --------
        >>> one = Signature.of("left(text :: STRING, length? :: INTEGER) :: STRING")
        >>> one.name, one.least, one.most, str(one.result)
        ('left', 1, 2, 'a string')
        """
        found = _SIGNATURE.fullmatch(text)
        assert found is not None, text
        name, inside, result = found.groups()
        written = [part for part in inside.split(", ") if part]
        several = written[-1:] == ["..."]
        parameters = tuple(_parameter(part) for part in written if part != "...")
        least = sum(not one.optional for one in parameters)
        most = None if several else len(parameters)
        return cls(text, name, parameters, least, most, _known(result))


def _parameter(text: str) -> FunctionParameter:
    name, _, takes = text.partition(" :: ")
    several = tuple(known.kind for part in takes.split(" | ") for known in _one_of(part))
    return FunctionParameter(name.removesuffix("?"), several, name.endswith("?"))


def _one_of(text: str) -> tuple[Known, ...]:
    return (static_kinds.INTEGER, static_kinds.FLOAT) if text == "NUMBER" else (_known(text),)


def _known(text: str) -> Known:
    inner = _LIST.fullmatch(text)
    if inner is not None:
        return static_kinds.list_of(_known(inner[1]))
    return static_kinds.VALUE if text == "NUMBER" else _KINDS[text]


@dataclass(frozen=True, slots=True)
class _Row:
    signature: Signature

    @property
    def name(self) -> str:
        return self.signature.name


@dataclass(frozen=True, slots=True)
class Function(_Row):
    """A function that takes values and gives one.

    apply : its Python definition, which is what it means.
    doc : one line for people.
    sql : what columns have for it (`gdb.functions.column_functions`); None: nothing but the Python definition.
    strict : it is null where any argument is, and `sql` never gets one.
    checked : a first argument of another kind is refused before the query runs.
    varies : it gives another value each time, so an aggregate over it would mean nothing.
    """

    apply: Apply
    doc: str
    sql: ToSql | None = None
    strict: bool = True
    checked: bool = False
    varies: bool = False

    @property
    def takes(self) -> tuple[Kind, ...]:
        """The kinds of the first argument; empty where they are known only at run time."""
        return self.signature.parameters[0].takes if self.checked else ()


def function(
    signature: str,
    apply: Apply,
    doc: str,
    sql: ToSql | None = None,
    *,
    strict: bool = True,
    checked: bool = False,
    varies: bool = False,
) -> Function:
    """A row. strict : `apply` never gets a null either."""
    made = null_of_null(apply) if strict else apply
    return Function(Signature.of(signature), made, doc, sql, strict, checked, varies)


def null_of_null(apply: Apply) -> Apply:
    """The function that is null where any of its arguments is."""

    def applied(*arguments: Value) -> Value:
        for argument in arguments:
            if argument is None:
                return None
        return apply(*arguments)

    return applied


@dataclass(frozen=True, slots=True)
class AggregateFunction(_Row):
    """What gathers the values of a group's rows.

    begin : makes one for a group; what it gathers is what the aggregate means. It is a function of its own also where
        a class would do: columns need none of these classes, which are imported when rows gather.
    sql : of its argument and whether each value counts once; None where it has none for values of this type.
    repeats : whether it shows how often a value occurs. repeated : its SQL has the argument several times.
    listed : its SQL makes lists of all values that no budget counts.
    """

    begin: Callable[[], Gathering]
    doc: str
    sql: GatheredSql | None = None
    repeats: bool = True
    repeated: bool = False
    listed: bool = False

    @property
    def takes(self) -> tuple[Kind, ...]:
        """Empty: an aggregate checks its arguments when it runs."""
        return ()

    def over(self, distinct: bool) -> Gathering:
        """A new one for a group; with `distinct` each value counts once."""
        # here: columns need no aggregates in Python
        from gdb.base.values.aggregates import DistinctValues

        gathering = self.begin()
        return DistinctValues(gathering) if distinct else gathering


def aggregate(
    signature: str,
    begin: Callable[[], Gathering],
    doc: str,
    sql: GatheredSql | None = None,
    *,
    repeats: bool = True,
    repeated: bool = False,
    listed: bool = False,
) -> AggregateFunction:
    """A row."""
    return AggregateFunction(Signature.of(signature), begin, doc, sql, repeats, repeated, listed)

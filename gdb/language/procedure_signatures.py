"""Procedures, which CALL calls: what they take and give, and how that is written.

    my.cities(name :: STRING?, id :: INTEGER) :: (city :: STRING, code :: INTEGER?)

Types are those of openCypher: ANY, STRING, INTEGER, FLOAT (takes an integer and makes a float of it), NUMBER, BOOLEAN,
MAP, LIST, LIST OF type, NODE, RELATIONSHIP, PATH, DATE, TIME, LOCALTIME, DATETIME, LOCALDATETIME, DURATION. One that
may be null ends with a question mark. `:: ()` and `:: VOID` give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.errors import SyntaxProblem
from gdb.functions.static_kinds import VALUE, Kind, Known
from gdb.imports import deferred
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.values import naming
    from gdb.base.values.kinds import Value
    from gdb.storage.graph.snapshot import Snapshot
else:
    naming = deferred("gdb.base.values.naming")

_KINDS: dict[str, tuple[Kind, ...]] = {
    "ANY": (),
    "STRING": (Kind.STRING,),
    "INTEGER": (Kind.INTEGER,),
    "FLOAT": (Kind.FLOAT, Kind.INTEGER),
    "NUMBER": (Kind.INTEGER, Kind.FLOAT),
    "BOOLEAN": (Kind.BOOLEAN,),
    "MAP": (Kind.MAP,),
    "LIST": (Kind.LIST,),
    "NODE": (Kind.NODE,),
    "RELATIONSHIP": (Kind.RELATIONSHIP,),
    "PATH": (Kind.PATH,),
    **dict.fromkeys(("DATE", "TIME", "LOCALTIME", "DATETIME", "LOCALDATETIME"), (Kind.TEMPORAL,)),
    "DURATION": (Kind.DURATION,),
}
_PART = re.compile(r"\s*(?:(?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)|(?P<sign>::|[(),?]))\s*")
_WRITTEN = "Write it as in: my.cities(name :: STRING) :: (city :: STRING, code :: INTEGER?)."


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of an argument or an output. item : of a LIST OF something."""

    name: str
    nullable: bool = False
    item: FieldType | None = None

    def __str__(self) -> str:
        of = "" if self.item is None else f" OF {self.item}"
        return f"{self.name}{of}{'?' * self.nullable}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of values that it takes; empty for all."""
        return _KINDS[self.name]

    @property
    def known(self) -> Known:
        """What is known of a value that has it."""
        if self.name == "FLOAT":
            return Known(Kind.FLOAT)
        if len(self.kinds) != 1:
            return VALUE
        return Known(self.kinds[0], None if self.item is None else self.item.known)

    def fits(self, value: Value) -> bool:
        """Whether a value has it."""
        kind = kind_of(value)
        if kind is Kind.NULL:
            return self.nullable
        if self.kinds and kind not in self.kinds:
            return False
        return self.item is None or (isinstance(value, list) and all(map(self.item.fits, value)))

    def coerced(self, value: Value) -> Value:
        """A value that fits, as one of it: FLOAT makes floats of integers."""
        if self.name == "FLOAT" and isinstance(value, int):
            return float(value)
        if self.item is not None and isinstance(value, list):
            return [self.item.coerced(item) for item in value]
        return value


@dataclass(frozen=True, slots=True)
class Field:
    """An argument or an output."""

    name: str
    type: FieldType

    def __str__(self) -> str:
        return f"{self.name} :: {self.type}"


@dataclass(frozen=True, slots=True)
class ProcedureSignature:
    """What a procedure takes and gives."""

    name: str
    arguments: tuple[Field, ...]
    outputs: tuple[Field, ...]

    def __str__(self) -> str:
        takes, gives = (", ".join(map(str, some)) for some in (self.arguments, self.outputs))
        return f"{self.name}({takes}) :: ({gives})"


Answers: TypeAlias = "Callable[[Snapshot, Sequence[object]], Iterable[object]]"


@dataclass(frozen=True, slots=True, eq=False)
class Procedure:
    """A procedure. answers : from the graph as the query sees it and the arguments, as Python has them, to rows: each a
    list or tuple with the outputs in order, or a dict by their names."""

    signature: ProcedureSignature
    answers: Answers
    help: str = ""


def kind_of(value: Value) -> Kind:
    """The kind of a value."""
    return Kind.__members__.get(naming.kind(value), Kind.TEMPORAL)


def signature(text: str) -> ProcedureSignature:
    """Read a signature.

    Raises
    ------
    SyntaxProblem : it is none.

    Examples
    --------
    >>> str(signature("a.b(x::INTEGER?)::(y :: LIST OF STRING)"))
    'a.b(x :: INTEGER?) :: (y :: LIST OF STRING)'
    """
    return _ProcedureReader(text).whole()


class _ProcedureReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[str] = []
        at = 0
        while at < len(text):
            found = _PART.match(text, at)
            if found is None:
                raise self.wrong(f"{text[at:][:20]!r} is no part of one")
            self.parts.append(found["word"] or found["sign"])
            at = found.end()
        self.parts.reverse()

    def whole(self) -> ProcedureSignature:
        name = self.word("a name")
        arguments = self.fields()
        self.sign("::")
        if self.parts and self.parts[-1].upper() == "VOID":
            self.parts.pop()
            outputs: tuple[Field, ...] = ()
        else:
            outputs = self.fields()
        if self.parts:
            raise self.wrong(f"{self.parts[-1]!r} follows its end")
        for some in (arguments, outputs):
            names = [field.name for field in some]
            if len(set(names)) < len(names):
                raise self.wrong("a name occurs twice")
        return ProcedureSignature(name, arguments, outputs)

    def fields(self) -> tuple[Field, ...]:
        self.sign("(")
        found: list[Field] = []
        while not (self.parts and self.parts[-1] == ")"):
            if found:
                self.sign(",")
            name = self.word("a name")
            self.sign("::")
            found.append(Field(name, self.type()))
        self.sign(")")
        return tuple(found)

    def type(self) -> FieldType:
        name, item = self.word("a type").upper(), None
        if name not in _KINDS:
            raise self.wrong(f"there is no type {name!r}")
        if name == "LIST" and self.parts and self.parts[-1].upper() == "OF":
            self.parts.pop()
            item = self.type()
            if item.nullable:  # behind LIST OF X the mark is the list's
                return FieldType(name, True, FieldType(item.name, False, item.item))
        nullable = bool(self.parts) and self.parts[-1] == "?"
        if nullable:
            self.parts.pop()
        return FieldType(name, nullable, item)

    def word(self, what: str) -> str:
        if not self.parts or not (self.parts[-1][0].isalpha() or self.parts[-1][0] == "_"):
            raise self.wrong(f"{what} is missing")
        return self.parts.pop()

    def sign(self, sign: str) -> None:
        if not self.parts or self.parts.pop() != sign:
            raise self.wrong(f"{sign!r} is missing")

    def wrong(self, why: str) -> SyntaxProblem:
        return SyntaxProblem(
            f"{self.text[:200]!r} is no signature of a procedure: {why}.", _WRITTEN
        )

"""The values that COPY is written with: literals and parameters, checked where they are written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias, TypeVar

from gdb.errors import NameProblem, QueryError, TypeProblem
from gdb.language.report import problem
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import (
    Expression,
    ListLiteral,
    Literal,
    MapLiteral,
    Negative,
    Parameter,
    Place,
)
from gdb.records import dataclass
from gdb.run.request import Request

ParameterValue: TypeAlias = object
"""The value of an option or a parameter."""
Kind = TypeVar("Kind", bound=QueryError)


@dataclass(frozen=True, slots=True)
class CopyValues:
    """Reads the values of one COPY. text : of the query, for errors."""

    request: Request
    text: str

    def problem(self, kind: type[Kind], place: Place, message: str, cure: str = "") -> Kind:
        """An error with its place in the query."""
        return problem(kind, self.text, place, message, cure)

    def value(self, expression: Expression) -> ParameterValue:
        """A value that is written out, or a parameter.

        Raises
        ------
        TypeProblem : it is calculated. NameProblem : the parameter has no value.
        """
        match expression:
            case Literal(value=value):
                return value
            case Negative(operand=Literal(value=int() | float() as number)):
                return -number
            case ListLiteral(items=items):
                return [self.value(item) for item in items]
            case MapLiteral(entries=entries):
                return {key.text: self.value(value) for key, value in entries}
            case Parameter(name=name, place=place):
                return self._parameter(name, place)
        cure = "Calculate it before, and give a $parameter."
        message = "COPY takes values as they are."
        raise self.problem(TypeProblem, expression.place, message, cure)

    def _parameter(self, name: str, place: Place) -> ParameterValue:
        given = self.request.parameters
        if name not in given:
            message = f"there is no value for the parameter ${name}."
            cure = did_you_mean(name, given, "$") or f'Give {{"{name}": ...}}.'
            detail = "MissingParameter"
            raise problem(NameProblem, self.text, place, message, cure, detail=detail)
        value: ParameterValue = given[name]
        return list(value) if isinstance(value, tuple) else value

    def path(self, expression: Expression, what: str) -> str:
        """The path of a file, also as a `file://` address. what : takes it, for an error. Raises TypeProblem."""
        value = self.value(expression)
        if not isinstance(value, str):
            message = f"{what}, a string, and this is {str(value)[:40]!r}."
            raise self.problem(TypeProblem, expression.place, message)
        return value.removeprefix("file://")

    def options(
        self, expression: Expression | None, known: Collection[str], statement: str, example: str
    ) -> dict[str, ParameterValue]:
        """The map of OPTIONS. known : the names that there are. statement, example : for errors.

        Raises
        ------
        TypeProblem : it is no map. NameProblem : an option that is not there.
        """
        if expression is None:
            return {}
        value = self.value(expression)
        if not isinstance(value, Mapping):
            cure = f"As in OPTIONS {example}."
            raise self.problem(TypeProblem, expression.place, "OPTIONS takes a map.", cure)
        for name in value:
            if name not in known:
                cure = did_you_mean(str(name), known) or f"There are {', '.join(known)}."
                message = f"{statement} has no option '{name}'."
                raise self.problem(NameProblem, expression.place, message, cure)
        return {str(name): one for name, one in value.items()}

"""The context that all parts of the evaluator share: the query's text, its parameters, and the places of errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeAlias

from gdb.base.values.kinds import Row, Value
from gdb.base.values.problems import EntityDeleted, ValueProblem
from gdb.errors import ArgumentProblem, ArithmeticProblem, DeletedProblem, QueryError, TypeProblem
from gdb.language.report import problem
from gdb.language.syntax import Variable
from gdb.records import dataclass, field, quick

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.language.clauses import Query
    from gdb.language.syntax import Expression, PathPattern, Place

Compiled: TypeAlias = Callable[[Row], Value]
Condition: TypeAlias = "Callable[[Row], bool | None]"


class Subqueries(Protocol):
    """What answers the patterns and queries inside an expression."""

    def matches(
        self, pattern: PathPattern, where: Expression | None, row: Row, *, once: bool = False
    ) -> Iterator[Row]:
        """The rows that extend `row` by the pattern's variables, one for each match. once : it matters only whether
        there is one."""
        ...

    def rows(self, query: Query, row: Row, *, once: bool = False) -> Iterable[Row]:
        """The rows of a query that may name what is in `row`; of a bare MATCH query, its matches. once :
        see `matches`."""
        ...


@dataclass(frozen=True, slots=True)
class Answered(Variable):
    """A part of an expression whose value most rows have under a name. missing : the value for a row that has none."""

    missing: Compiled = field(compare=False)


@quick
@dataclass(frozen=True, slots=True)
class Context:
    """text : of the query, for errors. subqueries : None where the query has none."""

    text: str
    parameters: Mapping[str, Value]
    subqueries: Subqueries | None
    allowance: Allowance

    def located(self, error: ValueProblem, place: Place) -> QueryError:
        """The error of the query that a refusing value at this place is."""
        message = error.message
        if not message[1:2].isupper():  # it follows a colon; IN and COUNT stay as they are
            message = message[:1].lower() + message[1:]
        return problem(_class_of(error), self.text, place, message, error.cure)

    def refuse(self, place: Place, message: str, cure: str = "") -> NoReturn:
        """Raise a TypeProblem at this place."""
        raise problem(TypeProblem, self.text, place, message, cure)


def _class_of(error: ValueProblem) -> type[QueryError]:
    if isinstance(error, EntityDeleted):
        return DeletedProblem
    match error.kind:
        case "type":
            return TypeProblem
        case "argument":
            return ArgumentProblem
        case "arithmetic":
            return ArithmeticProblem

"""The state of the checks at one place of a query: the names in scope with what is known of them, and what may be
written there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from gdb.errors import NameProblem, QueryError, SyntaxProblem, TypeProblem
from gdb.functions.static_kinds import Kind, Known
from gdb.language.hidden_names import is_hidden
from gdb.language.report import located_message, problem
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Expression, Name, Parameter, Place
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.language.clauses import Clause
    from gdb.language.procedure_signatures import Procedure
    from gdb.language.syntax import Subquery

Problem = TypeVar("Problem", bound=QueryError)
OfSubquery: TypeAlias = "Callable[[Subquery, Frame], Known]"


class Aggregates(Enum):
    """Whether an aggregate is allowed at a place."""

    NOWHERE = auto()
    HERE = auto()
    INSIDE = auto()  # the place is inside of one


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """What all of a query shares.

    parameters : the names that have a value; None where they are not known yet.
    subquery : checks EXISTS, COUNT and COLLECT { }, whose clauses are inside an expression.
    procedures : those that there are; None where they are not known yet.
    alone : the clause that is the whole query, where there is one.
    pulse : called now and then; what it raises ends the check.
    """

    text: str
    parameters: Collection[str] | None
    subquery: OfSubquery
    procedures: Mapping[str, Procedure] | None = None
    alone: Clause | None = None
    warnings: list[str] = field(default_factory=list)
    pulse: Callable[[], object] | None = None


@dataclass(slots=True)
class Frame:
    """The variables of one place. names : those that WITH may drop, in the order in which they came.

    around : the scope around a subquery or a comprehension: it stays visible whatever WITH does.
    looked_up : where the caller needs it, gathers the names that were looked up here.
    dropped : names that a WITH before did not pass on.
    aggregates : whether an expression may have an aggregate.
    grouped : behind a projection that puts rows together its items, where `around` is what was before it; else None.
    """

    query: QueryFacts
    names: dict[str, Known]
    around: Frame | None = None
    looked_up: set[str] | None = None
    dropped: frozenset[str] = frozenset()
    aggregates: Aggregates = Aggregates.NOWHERE
    grouped: frozenset[Expression] | None = None

    def inner(self, names: dict[str, Known] | None = None) -> Frame:
        """A frame inside this one, which sees it; an aggregate is nowhere allowed there."""
        inside = self.aggregates is Aggregates.INSIDE
        allowed = Aggregates.INSIDE if inside else Aggregates.NOWHERE
        return Frame(self.query, {} if names is None else names, self, aggregates=allowed)

    def of_subquery(self, expression: Expression) -> Frame:
        """What a pattern or a subquery in an expression of this frame sees: behind a projection that groups rows none
        of the names before it, unless the expression is one of its columns."""
        if self.around is None or (self.grouped is not None and expression in self.grouped):
            return self
        if self.grouped is not None:
            before = self.around
            gone = (before.dropped | before.names.keys()) - self.names.keys()
            return replace(self, around=before.around, dropped=frozenset(gone), grouped=None)
        around = self.around.of_subquery(expression)
        return self if around is self.around else replace(self, around=around)

    def after(self, names: dict[str, Known]) -> Frame:
        """The frame behind a WITH that passes on these names."""
        gone = (self.dropped | self.names.keys()) - names.keys()
        return Frame(self.query, names, self.around, dropped=frozenset(gone))

    def with_aggregates(self, allowed: Aggregates) -> Frame:
        """The same names, at a place where aggregates are allowed or not."""
        return replace(self, aggregates=allowed)

    def chain(self) -> Iterator[Frame]:
        """This frame, and those around it from the inside to the outside."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.around

    def find(self, name: str) -> Known | None:
        """What is known of a variable; None where there is none."""
        for frame in self.chain():
            if frame.looked_up is not None:
                frame.looked_up.add(name)
            if name in frame.names:
                return frame.names[name]
        return None

    def visible(self) -> dict[str, Known]:
        """All variables, those around first."""
        found: dict[str, Known] = {}
        for frame in reversed(list(self.chain())):
            found.update(frame.names)
        return {name: value for name, value in found.items() if not is_hidden(name)}

    def need(self, name: str, place: Place) -> Known:
        """What is known of a variable.

        Raises
        ------
        NameProblem : there is none of this name.
        """
        known = self.find(name)
        if known is None:
            raise self.undefined(name, place)
        return known

    def bring(self, name: Name, value: Known) -> None:
        """Add a new variable.

        Raises
        ------
        SyntaxProblem : the name is in use.
        """
        if self.find(name.text) is not None:
            raise self.taken(name)
        self.names[name.text] = value

    def parameter(self, parameter: Parameter) -> None:
        """Refuse a parameter that has no value."""
        parameters = self.query.parameters
        if parameters is not None and parameter.name not in parameters:
            cure = did_you_mean(parameter.name, parameters, "$")
            cure = cure or f'Pass parameters={{"{parameter.name}": ...}}.'
            message = f"the parameter ${parameter.name} has no value."
            raise self.problem(NameProblem, parameter.place, "MissingParameter", message, cure)

    def expect(
        self, value: Known, kinds: Collection[Kind], place: Place, rule: str, cure: str = ""
    ) -> None:
        """Refuse a value that is surely of none of some kinds. rule : what is allowed, as a main clause.

        Raises
        ------
        TypeProblem : it is of another kind.
        """
        if not value.may_be(kinds):
            raise self.misfit(place, f"{rule}, and this is {value}.", cure)

    def warn(self, place: Place, message: str) -> None:
        """Warn of something that is allowed and surely not meant."""
        self.query.warnings.append(located_message(self.query.text, place, message))

    # ---- errors -----------------------------------------------------------------------------------

    def problem(
        self, kind: type[Problem], place: Place, detail: str, message: str, cure: str = ""
    ) -> Problem:
        """An error with its place in the text. detail : the openCypher TCK's name of it."""
        return problem(kind, self.query.text, place, message, cure, detail=detail)

    def not_allowed(self, place: Place, detail: str, message: str, cure: str = "") -> SyntaxProblem:
        """The error of what the language does not allow here; otherwise as `problem`."""
        return self.problem(SyntaxProblem, place, detail, message, cure)

    def undefined(self, name: str, place: Place) -> NameProblem:
        """The error of a variable that is not there."""
        known = [known for known in self.visible() if known.isidentifier()]  # no "count(*)"
        cure = ""
        if any(name in frame.dropped for frame in self.chain()):
            passed = f"only {', '.join(known)}" if 0 < len(known) <= 8 else "others only"
            cure = f"The WITH before passes on {passed}: add {name} to it."
        cure = cure or did_you_mean(name, known)
        if not cure and 0 < len(known) <= 8:
            cure = f"There {'is' if len(known) == 1 else 'are'} {', '.join(known)}."
        message = f"there is no variable '{name}' here."
        cure = cure or "Name it in a pattern, or pass it on with WITH; write a string in quotes."
        return self.problem(NameProblem, place, "UndefinedVariable", message, cure)

    def taken(self, name: Name, cure: str = "Give it a name of its own.") -> SyntaxProblem:
        """The error of a name that is in use."""
        message = f"'{name.text}' is already the name of {self.shown(name.text)}."
        return self.not_allowed(name.place, "VariableAlreadyBound", message, cure)

    def conflict(self, name: Name, wanted: str) -> SyntaxProblem:
        """The error of a variable where another kind of element must be."""
        message = f"'{name.text}' is {self.shown(name.text)}, and here it would be {wanted}."
        cure = "Give it a name of its own."
        return self.not_allowed(name.place, "VariableTypeConflict", message, cure)

    def misfit(self, place: Place, message: str, cure: str = "") -> TypeProblem:
        """A value of the wrong kind."""
        return self.problem(TypeProblem, place, "InvalidArgumentType", message, cure)

    def shown(self, name: str) -> str:
        """What is known of a variable, to be read."""
        known = self.find(name)
        return str(known) if known is not None else str(Kind.VALUE)

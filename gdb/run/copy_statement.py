"""COPY: a query that imports files, as `Database.load` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from gdb.answer.result import Result
from gdb.answer.rows import RowAnswer
from gdb.answer.summary import Effects, Summary
from gdb.errors import ChangeRefused, ImportFailed, NameProblem, QueryError, TypeProblem
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
from gdb.storage.importer.load_options import load_options, respelt

if TYPE_CHECKING:
    from gdb.language.clauses import Copy, Query
    from gdb.run.request import Clock, Load, Request
    from gdb.storage.importer.report import LoadReport

ParameterValue: TypeAlias = object
"""The value of an option or a parameter."""

_SHOWN = 10  # skipped lines that are reported


def run_copy(request: Request, query: Query, copy: Copy, clock: Clock) -> Result:
    """Run COPY.

    Raises
    ------
    ChangeRefused : inside a transaction. NameProblem, TypeProblem : it says what `Database.load` does not take.
    GdbError : as `Database.load`.
    """
    load = request.load
    if load is None:
        raise ChangeRefused(
            "COPY is a commit of its own, and cannot be part of a transaction",
            "Run it with Database.execute, before or after.",
        )
    arguments = {**_arguments(request, query, copy), "cancel": request.cancel}
    report = clock.step("run", lambda: _loaded(load, arguments, query, copy))
    request.outcome.committed = True
    effects = Effects()
    effects.nodes_created, effects.relationships_created = report.vertices, report.edges
    skipped = [f"skipped {r.file}:{r.line}: {r.reason}" for r in report.rejected]
    if len(skipped) > _SHOWN:
        skipped[_SHOWN:] = [f"... and {len(skipped) - _SHOWN:,} more skipped lines"]
    summary = Summary(clock.seconds, "cpu", 0, effects=effects)
    return Result(RowAnswer([], []), warnings=(*report.warnings, *skipped), summary=summary)


def _loaded(
    load: Load, arguments: Mapping[str, ParameterValue], query: Query, copy: Copy
) -> LoadReport:
    try:
        return load(**arguments)
    except QueryError as error:  # of an argument
        place = copy.place if copy.options is None else copy.options.place
        message, cure = respelt(error.message, _entry), respelt(error.cure, _option)
        raise problem(type(error), query.text, place, message, cure) from None
    except ImportFailed as error:
        cure = respelt(error.cure, _option)
        raise ImportFailed(
            error.reason, cure, file=error.file, line=error.line, text=error.text
        ) from None


def _entry(name: str, value: str) -> str:
    """An option as an entry of the map that OPTIONS takes."""
    words = {"True": "true", "False": "false", "None": "null", "": "..."}
    plain = value.startswith(("[", "("))
    text = value.replace("(", "[").replace(")", "]") if plain else f"'{value}'"
    return f"{name}: {words.get(value, text)}"


def _option(name: str, value: str) -> str:
    return f"OPTIONS {{{_entry(name, value)}}}"


def _arguments(request: Request, query: Query, copy: Copy) -> dict[str, ParameterValue]:
    """What `Database.load` is given."""
    sources = [_source(request, query, one) for one in copy.sources]
    found: dict[str, ParameterValue] = {}
    if copy.options is not None:
        found = _options(request, query, copy.options)
    if copy.what == "graph":
        return {**found, "source": sources}
    key = "nodes" if copy.what == "nodes" else "edges"
    twice = "label" if copy.what == "nodes" else "type"
    if copy.name is not None and twice in found:
        message = f"the {twice} is in the pattern and in OPTIONS."
        raise problem(TypeProblem, query.text, copy.place, message, "Write it once.")
    found[key] = sources if copy.name is None else {copy.name.text: sources}
    if copy.ends is not None:
        if "ends" in found:
            message = "the ends are in the pattern and in OPTIONS."
            raise problem(TypeProblem, query.text, copy.place, message, "Write them once.")
        ends = tuple(end.text for end in copy.ends)
        found[key] = {("" if copy.name is None else copy.name.text, *ends): sources}
    if copy.what == "relationships":
        if "directed" in found:
            message, cure = "an arrow says whether they are directed.", "Write -[:T]-> or -[:T]-."
            raise problem(TypeProblem, query.text, copy.place, message, cure)
        found["directed"] = copy.directed
    return found


def _source(request: Request, query: Query, expression: Expression) -> str:
    value = value_of(request, query, expression)
    if not isinstance(value, str):
        message = f"FROM takes the path of a file, a string, and this is {str(value)[:40]!r}."
        raise problem(TypeProblem, query.text, expression.place, message)
    return value.removeprefix("file://")


def _options(request: Request, query: Query, expression: Expression) -> dict[str, ParameterValue]:
    value = value_of(request, query, expression)
    if not isinstance(value, Mapping):
        message, cure = "OPTIONS takes a map.", "As in OPTIONS {delimiter: ';', header: true}."
        raise problem(TypeProblem, query.text, expression.place, message, cure)
    known = load_options()
    found = {str(name): option for name, option in value.items() if option is not None}
    for name, option in found.items():
        if name not in known:
            cure = did_you_mean(name, known) or f"There are {', '.join(known)}."
            message = f"COPY has no option '{name}'."
            raise problem(NameProblem, query.text, expression.place, message, cure)
        if type(option) not in known[name].kinds or not _of_texts(option):
            kinds = " or ".join(_KINDS[kind] for kind in known[name].kinds)
            message = f"the option '{name}' takes {kinds}, and this is {str(option)[:40]!r}."
            raise problem(TypeProblem, query.text, expression.place, message)
    ends = found.get("ends")
    if isinstance(ends, list):
        if len(ends) != 2:
            message = f"the option 'ends' takes two id spaces, and these are {len(ends)}."
            raise problem(TypeProblem, query.text, expression.place, message)
        found["ends"] = tuple(ends)
    return found


_KINDS = {str: "a string", bool: "true or false", list: "a list of strings", int: "an integer"}


def _of_texts(option: ParameterValue) -> bool:
    return not isinstance(option, list) or all(isinstance(item, str) for item in option)


def value_of(request: Request, query: Query, expression: Expression) -> ParameterValue:
    """A value that is written out, or a parameter."""
    match expression:
        case Literal(value=value):
            return value
        case Negative(operand=Literal(value=int() | float() as number)):
            return -number
        case ListLiteral(items=items):
            return [value_of(request, query, item) for item in items]
        case MapLiteral(entries=entries):
            return {key.text: value_of(request, query, value) for key, value in entries}
        case Parameter(name=name, place=place):
            return _parameter(request, query, name, place)
    message, cure = "COPY takes values as they are.", "Calculate it before, and give a $parameter."
    raise problem(TypeProblem, query.text, expression.place, message, cure)


def _parameter(request: Request, query: Query, name: str, place: Place) -> ParameterValue:
    if name not in request.parameters:
        message = f"there is no value for the parameter ${name}."
        cure = did_you_mean(name, request.parameters, "$") or f'Give {{"{name}": ...}}.'
        raise problem(NameProblem, query.text, place, message, cure, detail="MissingParameter")
    value: ParameterValue = request.parameters[name]
    return list(value) if isinstance(value, tuple) else value

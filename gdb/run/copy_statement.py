"""COPY: a query that imports files, as `Database.load` does, or writes rows to files (`gdb.run.writing_files`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdb.answer.result import Result
from gdb.answer.rows import RowAnswer
from gdb.answer.summary import Effects, Summary
from gdb.errors import Cancelled, ChangeRefused, ImportFailed, NotSupported, QueryError, TypeProblem
from gdb.language.clauses import Copy
from gdb.language.report import problem
from gdb.run.copy_values import CopyValues, ParameterValue
from gdb.run.interrupt import CancelOrOver
from gdb.storage.importer.load_options import load_options, respelt

if TYPE_CHECKING:
    from gdb.language.clauses import Query
    from gdb.language.syntax import Expression
    from gdb.run.request import Load, QueryRun
    from gdb.storage.importer.report import LoadReport

_SHOWN = 10  # skipped lines that are reported


def run_copy(run: QueryRun, query: Query) -> Result:
    """Run COPY; of EXPLAIN its plan.

    Raises
    ------
    ChangeRefused : files are imported inside a transaction. NotSupported : an import has no plan.
    GdbError : as `Database.load`, and as `gdb.run.writing_files.copied_to`.
    """
    if isinstance(query.copying, Copy):
        if query.explain:
            raise NotSupported("COPY has no plan.", "Run it with execute().")
        return _imported(run, query, query.copying)
    from gdb.run import writing_files

    if query.explain:
        return Result.of_lines("plan", writing_files.plan_of(run, query))
    return writing_files.copied_to(run, query)


def _imported(run: QueryRun, query: Query, copy: Copy) -> Result:
    request, load, clock = run.request, run.request.load, run.clock
    if load is None:
        raise ChangeRefused(
            "COPY is a commit of its own, and cannot be part of a transaction",
            "Run it with Database.execute, before or after.",
        )
    cancel = CancelOrOver(clock.over)
    arguments = {**_arguments(CopyValues(request, query.text), copy), "cancel": cancel}
    try:
        report = clock.step("run", lambda: _loaded(load, arguments, query, copy))
    except Cancelled as error:
        if not error.committed and not request.cancel.is_set():
            clock.check()  # raises where the time is over
        raise
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


def _arguments(values: CopyValues, copy: Copy) -> dict[str, ParameterValue]:
    """The arguments of `Database.load`."""
    sources = [values.path(one, "FROM takes the path of a file") for one in copy.sources]
    found: dict[str, ParameterValue] = {}
    if copy.options is not None:
        found = _options(values, copy.options)
    if copy.what == "graph":
        return {**found, "source": sources}
    key = "nodes" if copy.what == "nodes" else "edges"
    twice = "label" if copy.what == "nodes" else "type"
    if copy.name is not None and twice in found:
        message = f"the {twice} is in the pattern and in OPTIONS."
        raise values.problem(TypeProblem, copy.place, message, "Write it once.")
    found[key] = sources if copy.name is None else {copy.name.text: sources}
    if copy.ends is not None:
        if "ends" in found:
            message = "the ends are in the pattern and in OPTIONS."
            raise values.problem(TypeProblem, copy.place, message, "Write them once.")
        ends = tuple(end.text for end in copy.ends)
        found[key] = {("" if copy.name is None else copy.name.text, *ends): sources}
    if copy.what == "relationships":
        if "directed" in found:
            message, cure = "an arrow says whether they are directed.", "Write -[:T]-> or -[:T]-."
            raise values.problem(TypeProblem, copy.place, message, cure)
        found["directed"] = copy.directed
    return found


def _options(values: CopyValues, expression: Expression) -> dict[str, ParameterValue]:
    known, example = load_options(), "{delimiter: ';', header: true}"
    given = values.options(expression, known, "COPY", example)
    found = {name: option for name, option in given.items() if option is not None}
    for name, option in found.items():
        if type(option) not in known[name].kinds or not _of_texts(option):
            kinds = " or ".join(_KINDS[kind] for kind in known[name].kinds)
            message = f"the option '{name}' takes {kinds}, and this is {str(option)[:40]!r}."
            raise values.problem(TypeProblem, expression.place, message)
    ends = found.get("ends")
    if isinstance(ends, list):
        if len(ends) != 2:
            message = f"the option 'ends' takes two id spaces, and these are {len(ends)}."
            raise values.problem(TypeProblem, expression.place, message)
        found["ends"] = tuple(ends)
    return found


_KINDS = {str: "a string", bool: "true or false", list: "a list of strings", int: "an integer"}


def _of_texts(option: ParameterValue) -> bool:
    return not isinstance(option, list) or all(isinstance(item, str) for item in option)

"""The check of a whole query before anything runs: names, kinds, aggregates, and what each clause may say beyond what
the parser lets through.

The clauses are read in order, each with the variables that it sees. What is found wrong is an error with its place in
the text; `detail` is its name in the openCypher TCK. What is known only at run time (the type of a property) is not
checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from gdb.errors import LimitExceeded, NameProblem, SyntaxProblem
from gdb.functions import static_kinds
from gdb.functions.static_kinds import Kind, Known, list_of
from gdb.imports import deferred
from gdb.language import clauses
from gdb.language.checks.expression_checks import check_patterns, condition, known
from gdb.language.checks.frame import Frame, QueryFacts
from gdb.language.checks.pattern_checks import bind
from gdb.language.checks.projection_checks import check_return, one_column, passed_on, same_columns
from gdb.language.clauses import WRITING, Clause, Query, imports_names
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Parameter, Subquery

if TYPE_CHECKING:
    from gdb.language.checks import write_checks
    from gdb.language.procedure_signatures import Procedure, ProcedureSignature
else:
    write_checks = deferred("gdb.language.checks.write_checks")


def check(
    query: Query,
    parameters: Collection[str] | None,
    procedures: Mapping[str, Procedure] | None = None,
    pulse: Callable[[], object] | None = None,
) -> tuple[str, ...]:
    """Check a parsed query; its warnings, one sentence each, with line and column.

    Parameters
    ----------
    parameters : the names that have a value; None where they are not known yet, then any name is allowed.
    procedures : those that there are; None in the same way.
    pulse : called now and then while a long query is checked; what it raises ends the check.

    Raises
    ------
    NameProblem, TypeProblem, SyntaxProblem : with the place in the query.
    LimitExceeded : it is nested too deeply.
    """
    if parameters is not None and query.constants:
        parameters = {*parameters, *query.constants}
    facts = QueryFacts(query.text, parameters, _subquery, procedures, query.alone, pulse=pulse)
    outside = Frame(facts, {})
    try:
        _sides(query, outside, lambda _: outside.after({}))
    except RecursionError:
        cure = "Leave out parentheses, or split it."
        raise LimitExceeded("the query is nested too deeply.", cure) from None
    return tuple(facts.warnings)


# ---- queries -------------------------------------------------------------------------------------


def _sides(query: Query, frame: Frame, start: Callable[[Clause], Frame]) -> dict[str, Known]:
    """Check all sides of a UNION; the columns. start : the frame in front of a side that begins with this clause."""
    first: dict[str, Known] | None = None
    for side in query.parts:
        found = _clauses(side, start(side[0]))
        if first is not None:
            same_columns(first, found, side[-1].place, frame)
        first = found if first is None else first
    return first or {}


def _clauses(side: tuple[Clause, ...], frame: Frame) -> dict[str, Known]:
    """Check one side; its columns."""
    for clause in side:
        if frame.query.pulse is not None:
            frame.query.pulse()
        if isinstance(clause, clauses.Return):
            return check_return(clause, frame)
        if isinstance(clause, clauses.CallProcedure) and clause is frame.query.alone:
            return _procedure(clause, frame)
        frame = _clause(clause, frame)
    end = side[-1]
    if isinstance(end, clauses.CallProcedure) and _gives_rows(end, frame):
        raise _misplaced(end, frame, "the query ends without a result.", "Add RETURN.")
    return {}


def _misplaced(clause: Clause, frame: Frame, message: str, cure: str) -> SyntaxProblem:
    return frame.not_allowed(clause.place, "InvalidClauseComposition", message, cure)


# ---- clauses -------------------------------------------------------------------------------------


def _clause(clause: Clause, frame: Frame) -> Frame:
    """Check one clause; the frame behind it."""
    match clause:
        case clauses.Match(patterns=patterns, where=where):
            bind(patterns, frame)
            check_patterns(patterns, frame)
            if where is not None:
                condition(where, frame)
        case clauses.Unwind(list=of, variable=variable):
            frame.bring(variable, known(of, frame).items)
        case clauses.With():
            return passed_on(clause, frame)
        case clauses.CallSubquery():
            _call(clause, frame)
        case clauses.CallProcedure():
            _procedure(clause, frame)
        case clauses.LoadCsv(source=source, variable=variable, headers=headers):
            frame.expect(known(source, frame), (Kind.STRING,), source.place, "FROM takes a string")
            frame.bring(variable, static_kinds.MAP if headers else list_of(static_kinds.STRING))
        case clauses.Create(patterns=patterns):
            write_checks.create(patterns, frame)
        case clauses.BulkCreate():  # its patterns were checked when they were read
            frame.names.update(dict.fromkeys(clause.nodes, static_kinds.NODE))
            frame.names.update(dict.fromkeys(clause.relationships, static_kinds.RELATIONSHIP))
        case clauses.Merge():
            write_checks.merge(clause, frame)
        case clauses.Set():
            write_checks.set_(clause, frame)
        case clauses.Remove():
            write_checks.remove(clause, frame)
        case clauses.Delete():
            write_checks.delete(clause, frame)
        case clauses.Foreach():
            _foreach(clause, frame)
        case clauses.Return():
            check_return(clause, frame)
    return frame


def _foreach(clause: clauses.Foreach, frame: Frame) -> None:
    inner, items = frame.inner(), known(clause.list, frame).items
    inner.bring(clause.variable, items)
    for part in clause.clauses:
        inner = _clause(part, inner)


def _call(clause: clauses.CallSubquery, frame: Frame) -> None:
    """Check CALL { }, and add its columns to the frame."""
    found = _imported(clause, frame)
    for name in found:
        if frame.find(name) is not None:
            place = clause.query.parts[0][-1].place
            message = f"CALL returns '{name}', which is already the name of {frame.shown(name)}."
            cure = "Name the column otherwise with AS."
            raise frame.not_allowed(place, "VariableAlreadyBound", message, cure)
    frame.names.update(found)


def _imported(clause: clauses.CallSubquery, frame: Frame) -> dict[str, Known]:
    query, imports = clause.query, clause.imports
    if imports is None:  # the older form: the first WITH of each side says what it takes
        return _sides(query, frame, partial(_importing, frame))
    taken = frame.visible()
    if [name.text for name in imports] != ["*"]:
        taken = {name.text: frame.need(name.text, name.place) for name in imports}
    imported = Frame(frame.query, taken)
    return _sides(query, frame, lambda _: imported.inner())


def _importing(frame: Frame, clause: Clause) -> Frame:
    return Frame(frame.query, frame.visible() if imports_names(clause) else {})


def _subquery(subquery: Subquery, frame: Frame) -> Known:
    """Check EXISTS, COUNT and COLLECT { }; what is known of the value."""
    _refuse_writing(subquery.query, frame, subquery.kind)
    found = _sides(subquery.query, frame, lambda _: frame.inner())
    if subquery.kind == "COLLECT":
        return list_of(one_column(found, subquery.place, frame))
    return static_kinds.BOOLEAN if subquery.kind == "EXISTS" else static_kinds.INTEGER


def _refuse_writing(query: Query, frame: Frame, kind: str) -> None:
    for side in query.parts:
        for clause in side:
            if isinstance(clause, clauses.Finish):
                raise _misplaced(clause, frame, f"FINISH ends no {kind} {{ }}.", "Write RETURN.")
            if isinstance(clause, WRITING):
                raise _misplaced(clause, frame, f"{kind} {{ }} only reads.", "Write before it.")
            if isinstance(clause, clauses.CallSubquery):
                _refuse_writing(clause.query, frame, kind)


# ---- procedures ----------------------------------------------------------------------------------


def _procedure(clause: clauses.CallProcedure, frame: Frame) -> dict[str, Known]:
    """Check a CALL, and add what it brings to the frame; that.

    Raises
    ------
    NameProblem : there is no such procedure, parameter or output. SyntaxProblem : it takes another number of arguments,
        gives rows and has no YIELD, or a name is taken. TypeProblem : an argument is of a kind that it never takes.
    """
    given = [known(argument, frame) for argument in clause.arguments or ()]
    procedures = frame.query.procedures
    signature = None
    if procedures is not None:
        found = procedures.get(clause.name.text)
        if found is None:
            raise _unknown(clause, frame)
        signature = found.signature
        _check_arguments(clause, signature, given, frame)
    brought = _brought(clause, signature, frame)
    frame.names.update(brought)
    if clause.where is not None:
        condition(clause.where, frame)
    return brought


def _gives_rows(clause: clauses.CallProcedure, frame: Frame) -> bool:
    """Whether the procedure gives anything, as far as is known."""
    found = (frame.query.procedures or {}).get(clause.name.text)
    return found is not None and bool(found.signature.outputs)


def _unknown(clause: clauses.CallProcedure, frame: Frame) -> NameProblem:
    name = clause.name.text
    cure = did_you_mean(name, frame.query.procedures or ())
    return frame.problem(
        NameProblem,
        clause.name.place,
        "ProcedureNotFound",
        f"there is no procedure '{name}'.",
        cure or "CALL dbms.procedures() lists those that there are.",
    )


def _check_arguments(
    clause: clauses.CallProcedure, signature: ProcedureSignature, kinds: list[Known], frame: Frame
) -> None:
    fields = signature.arguments
    if clause.arguments is None:
        if frame.query.alone is not clause:
            raise frame.not_allowed(
                clause.place,
                "InvalidArgumentPassingMode",
                "a procedure among other clauses needs its arguments.",
                f"Write CALL {signature.name}(...).",
            )
        for field in fields:
            frame.parameter(Parameter(field.name, clause.place))
        return
    if len(kinds) != len(fields):
        values = "value" if len(fields) == 1 else "values"
        raise frame.not_allowed(
            clause.place,
            "InvalidNumberOfArguments",
            f"{signature.name}() takes {len(fields)} {values}, not {len(kinds)}.",
            f"It is {signature}.",
        )
    for field, argument, value in zip(fields, clause.arguments, kinds, strict=True):
        if field.type.kinds:
            rule = f"{signature.name}() takes {field}"
            frame.expect(value, field.type.kinds, argument.place, rule)


def _brought(
    clause: clauses.CallProcedure, signature: ProcedureSignature | None, frame: Frame
) -> dict[str, Known]:
    outputs = {} if signature is None else {f.name: f.type.known for f in signature.outputs}
    found: dict[str, Known] = {}
    if clause.yields is None:
        if clause.everything or frame.query.alone is clause:
            found = outputs
        elif outputs:
            raise frame.not_allowed(
                clause.place,
                "InvalidClauseComposition",
                f"{clause.name.text}() gives {', '.join(outputs)}, and nothing says which of it goes on.",
                "Write YIELD and the names behind it, or YIELD * for all.",
            )
        for name in found:
            if frame.find(name) is not None:
                message = f"'{name}' is already the name of {frame.shown(name)}."
                cure = f"Write YIELD {name} AS another name."
                raise frame.not_allowed(clause.place, "VariableAlreadyBound", message, cure)
    for item, alias in clause.yields or ():
        if signature is not None and item.text not in outputs:
            cure = (
                did_you_mean(item.text, outputs) or f"It gives {', '.join(outputs) or 'nothing'}."
            )
            message = f"{clause.name.text}() gives no '{item.text}'."
            raise frame.problem(NameProblem, item.place, "UndefinedVariable", message, cure)
        if alias.text in found or frame.find(alias.text) is not None:
            raise frame.taken(alias)
        found[alias.text] = outputs.get(item.text, static_kinds.VALUE)
    return found

"""CALL of a procedure: it exists, takes these arguments, and gives what YIELD names."""

from __future__ import annotations

from gdb.errors import NameProblem, SyntaxProblem
from gdb.functions.static_kinds import VALUE, Known
from gdb.language.checks_expressions import condition, known
from gdb.language.checks_frame import Frame
from gdb.language.clauses import CallProcedure
from gdb.language.procedure_signatures import ProcedureSignature
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Expression, Parameter


def procedure(clause: CallProcedure, frame: Frame) -> dict[str, Known]:
    """Check a CALL, and add what it brings to the frame; that.

    Raises
    ------
    NameProblem : there is no such procedure, parameter or output. SyntaxProblem : it takes another number of arguments,
        gives rows and has no YIELD, or a name is taken. TypeProblem : an argument is of a kind that it never takes.
    """
    arguments = [known(argument, frame) for argument in clause.arguments or ()]
    procedures = frame.facts.procedures
    signature = None
    if procedures is not None:
        found = procedures.get(clause.name.text)
        if found is None:
            raise _unknown(clause, frame)
        signature = found.signature
        _check_arguments(clause, signature, arguments, frame)
    brought = _brought(clause, signature, frame)
    frame.names.update(brought)
    if clause.where is not None:
        condition(clause.where, frame)
    return brought


def gives_rows(clause: CallProcedure, frame: Frame) -> bool:
    """Whether the procedure gives anything, as far as is known."""
    found = (frame.facts.procedures or {}).get(clause.name.text)
    return found is not None and bool(found.signature.outputs)


def _unknown(clause: CallProcedure, frame: Frame) -> NameProblem:
    name = clause.name.text
    cure = did_you_mean(name, frame.facts.procedures or ())
    return frame.problem(
        NameProblem,
        clause.name.place,
        "ProcedureNotFound",
        f"there is no procedure '{name}'.",
        cure or "CALL dbms.procedures() lists those that there are.",
    )


def _check_arguments(
    clause: CallProcedure, signature: ProcedureSignature, kinds: list[Known], frame: Frame
) -> None:
    fields = signature.arguments
    if clause.arguments is None:
        if frame.facts.alone is not clause:
            raise frame.problem(
                SyntaxProblem,
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
        raise frame.problem(
            SyntaxProblem,
            clause.place,
            "InvalidNumberOfArguments",
            f"{signature.name}() takes {len(fields)} {values}, not {len(kinds)}.",
            f"It is {signature}.",
        )
    arguments: tuple[Expression, ...] = clause.arguments
    for field, argument, value in zip(fields, arguments, kinds, strict=True):
        if field.type.kinds and not value.may_be(field.type.kinds):
            message = f"{signature.name}() takes {field}, and this is {value}."
            raise frame.misfit(argument.place, message)


def _brought(
    clause: CallProcedure, signature: ProcedureSignature | None, frame: Frame
) -> dict[str, Known]:
    outputs = {} if signature is None else {f.name: f.type.known for f in signature.outputs}
    found: dict[str, Known] = {}
    if clause.yields is None:
        if clause.everything or frame.facts.alone is clause:
            found = outputs
        elif outputs:
            raise frame.problem(
                SyntaxProblem,
                clause.place,
                "InvalidClauseComposition",
                f"{clause.name.text}() gives {', '.join(outputs)}, and nothing says which of it goes on.",
                "Write YIELD and the names behind it, or YIELD * for all.",
            )
        for name in found:
            if frame.find(name) is not None:
                message = f"'{name}' is already the name of {frame.shown(name)}."
                cure = f"Write YIELD {name} AS another name."
                raise frame.problem(
                    SyntaxProblem, clause.place, "VariableAlreadyBound", message, cure
                )
    for item, alias in clause.yields or ():
        if signature is not None and item.text not in outputs:
            cure = (
                did_you_mean(item.text, outputs) or f"It gives {', '.join(outputs) or 'nothing'}."
            )
            message = f"{clause.name.text}() gives no '{item.text}'."
            raise frame.problem(NameProblem, item.place, "UndefinedVariable", message, cure)
        if alias.text in found or frame.find(alias.text) is not None:
            raise frame.taken(alias)
        found[alias.text] = outputs.get(item.text, VALUE)
    return found

"""CALL of a procedure over rows: its arguments for each row, and the rows that it gives, as values of the language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.answer.entities import Node, Path, Relationship
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.problems import ValueProblem
from gdb.errors import ArgumentProblem, GdbError, TypeProblem
from gdb.language.clauses import CallProcedure
from gdb.language.procedure_signatures import Field, Procedure, kind_of
from gdb.language.report import problem
from gdb.physical.rows.batches import Parts, expand_rows
from gdb.physical.rows.subqueries import Prepared, compile_expressions
from gdb.physical.rows.values import UserValues, taken
from gdb.physical.rows.visible_names import visible

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext


def call_procedure(context: RowContext, clause: CallProcedure, parts: Parts) -> Parts:
    """Each row with each of the rows that the procedure gives for it. Where it brings nothing, the rows as they are.

    clause : as `gdb.logical.build` has it, with all arguments and outputs.

    Raises
    ------
    TypeProblem : an argument, or what the procedure gives, is of another type than its signature says.
    ArgumentProblem : the procedure failed.
    """
    procedure = context.procedures[clause.name.text]
    assert clause.arguments is not None
    assert clause.yields is not None
    brings = {alias.text: item.text for item, alias in clause.yields}
    prepared, functions = compile_expressions(context, clause.arguments)

    def expand(filled: Row) -> Iterable[Row]:
        values, row = [function(filled) for function in functions], visible(filled)
        answers = _answers(context, clause, procedure, values)
        if brings:
            return (
                {**row, **{name: one[item] for name, item in brings.items()}} for one in answers
            )
        for _ in answers:
            context.allowance.tick()
        return [row]

    made = expand_rows(context.allowance, parts, expand, prepared.fill)
    return made if clause.where is None else _kept(context, clause, made)


def _kept(context: RowContext, clause: CallProcedure, parts: Parts) -> Parts:
    assert clause.where is not None
    prepared = Prepared(context, [clause.where])
    test = context.evaluator.condition(prepared.expressions[0])
    for rows in parts:
        prepared.fill(rows)
        yield [visible(row) for row in rows if test(row) is True]


def _answers(
    context: RowContext, clause: CallProcedure, procedure: Procedure, values: Sequence[Value]
) -> Iterable[Mapping[str, Value]]:
    """The rows of one call."""
    cells, to_python = [], UserValues()
    for k, (field, value) in enumerate(zip(procedure.signature.arguments, values, strict=True)):
        if not field.type.fits(value):
            place = clause.place if clause.arguments is None else clause.arguments[k].place
            raise problem(
                *(TypeProblem, context.text, place),
                f"{clause.name.text}() takes {field}, and this is {kind_of(value)}.",
            )
        cells.append(to_python.cell(field.type.coerced(value)))
    try:
        for answer in procedure.answers(context.graph.snapshot, cells):
            yield _answer(context, clause, procedure.signature.outputs, answer)
    except GdbError:
        raise
    except Exception as error:
        raise problem(
            *(ArgumentProblem, context.text, clause.place),
            f"the procedure {clause.name.text} failed: {type(error).__name__}: {error}.",
        ) from error


def _answer(
    context: RowContext, clause: CallProcedure, outputs: Sequence[Field], answer: object
) -> Mapping[str, Value]:
    """One row that the procedure gave, by output."""
    names = [field.name for field in outputs]
    match answer:
        case dict() if answer.keys() == set(names):
            cells = [answer[name] for name in names]
        case list() | tuple() if len(answer) == len(names):
            cells = list(answer)
        case _:
            raise problem(
                *(TypeProblem, context.text, clause.place),
                f"the procedure {clause.name.text} gave {answer!r:.100}, and a row of it is ({', '.join(names)}).",
            )
    found: dict[str, Value] = {}
    for field, cell in zip(outputs, cells, strict=True):
        try:
            value = _value(context, cell)
        except ValueProblem as error:
            raise problem(TypeProblem, context.text, clause.place, error.message) from None
        if not field.type.fits(value):
            raise problem(
                *(TypeProblem, context.text, clause.place),
                f"the procedure {clause.name.text} gave {cell!r:.100} as {field}.",
            )
        found[field.name] = field.type.coerced(value)
    return found


def _value(context: RowContext, cell: object) -> Value:
    """What a procedure gave as a value of the query; nodes and relationships are those of its graph.

    Raises
    ------
    ValueProblem : the language, or the graph, has no such value.
    """
    match cell:
        case Node():
            vid = context.graph.snapshot.find(cell.id, cell.id_space)
            if vid is None:
                raise ValueProblem("type", f"the graph has no node {cell.id!r}.")
            return context.graph.nodes(np.array([vid], np.uint32))[0]
        case Relationship():
            if not 0 <= cell.id < context.graph.snapshot.edge_count:
                raise ValueProblem("type", f"the graph has no relationship {cell.id!r}.")
            return context.graph.relationships(np.array([cell.id], np.int64))[0]
        case Path():
            nodes = [_value(context, node) for node in cell.nodes]
            between = [_value(context, one) for one in cell.relationships]
            return PathValue(
                tuple(one for one in nodes if isinstance(one, NodeValue)),
                tuple(one for one in between if isinstance(one, RelationshipValue)),
            )
        case list() | tuple():
            return [_value(context, item) for item in cell]
        case dict():
            return {str(key): _value(context, item) for key, item in cell.items()}
        case _:
            return taken(cell)

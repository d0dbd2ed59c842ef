"""The labels and types that expressions name: `SET n:$(names)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gdb.base.values.problems import ValueProblem
from gdb.errors import TypeProblem
from gdb.language.report import problem
from gdb.physical.evaluator.access import label_names

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.language.syntax import Expression
    from gdb.physical.rows.run_context import RowContext


def names_of(context: RowContext, several: Sequence[Expression]) -> Callable[[Row], list[str]]:
    """The function from a row to all names that some expressions give, each a string or a list of strings. It raises
    QueryErrors with the place of what names nothing."""
    evaluator = context.evaluator
    functions = [(evaluator.compiled(one), one.place) for one in several]

    def of(row: Row) -> list[str]:
        found: list[str] = []
        for function, place in functions:
            try:
                names = label_names(function(row))
            except ValueProblem as wrong:
                raise evaluator.located(wrong, place) from None
            if names is None:
                cure = "Write coalesce(name, 'Other'), or leave the row out."
                message = "a label or type is named by null."
                raise problem(TypeProblem, context.text, place, message, cure)
            found += names
        return found

    return of

"""Operators as EXPLAIN shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from gdb.language.name_text import name_text
from gdb.language.printer import clause_text, expression_text, sort_text
from gdb.language.syntax import Expression
from gdb.logical import operators
from gdb.logical.operators import MADE, Column, Operator, Plan

_MADE = re.compile(f"`{MADE}([a-z]+[0-9]+)`")


Note: TypeAlias = Callable[[Operator], tuple[str, Iterable[str]]]
"""The note at the end of an operator's line, and the lines below it."""


def _nothing(_: Operator) -> tuple[str, Iterable[str]]:
    return "", ()


def plan_lines(plan: Plan, note: Note = _nothing, indent: str = "") -> Iterator[str]:
    """One line for each operator, the first one first; what is done for each row is indented."""
    for number, side in enumerate(plan.sides):
        if number:
            yield f"{indent}Union{' all' * plan.all[number - 1]}"
        for operator in side:
            yield from _operator_lines(operator, note, indent)


def _operator_lines(operator: Operator, note: Note, indent: str) -> Iterator[str]:
    """The line of an operator, and those of what it does for each row."""
    behind, below = note(operator)
    yield indent + _MADE.sub(r"#\1", operator_text(operator)) + behind
    yield from (f"{indent}  {line}" for line in below)
    if isinstance(operator, operators.Apply):
        yield from plan_lines(operator.plan, note, indent + "  ")


def operator_text(operator: Operator) -> str:
    """The line of EXPLAIN for one operator, without its inputs."""
    match operator:
        case operators.Project(columns=columns):
            return _line("Project", map(_column, columns))
        case operators.Aggregate(keys=keys, calls=calls):
            groups = ", ".join(map(_column, keys))
            by = f" by {groups}" if groups else ""
            made = ", ".join(
                f"{expression_text(one.call)} AS {name_text(one.name)}" for one in calls
            )
            return f"Aggregate{by}" + (f": {made}" if made else "")
        case operators.Argument(names=names):
            return _line("Argument", map(name_text, names))
        case operators.Distinct(names=names):
            return _line("Distinct", map(name_text, names))
        case operators.Sort(keys=keys):
            return _line("Sort", map(sort_text, keys))
        case operators.Limit(skip=skip, limit=limit):
            return _line("Limit", _cut(skip, limit))
        case operators.Filter(condition=condition):
            return f"Filter {expression_text(condition)}"
        case operators.Apply(sees=sees, optional=optional):
            return _line(f"Apply{' optional' * optional}", map(name_text, sees))
        case _:
            return clause_text(operator)


def _line(word: str, parts: Iterator[str] | map[str]) -> str:
    return " ".join([word, ", ".join(parts)]).rstrip()


def _column(column: Column) -> str:
    if column.passes_on:
        return name_text(column.name)
    return f"{expression_text(column.expression)} AS {name_text(column.name)}"


def _cut(skip: Expression | None, limit: Expression | None) -> Iterator[str]:
    if limit is not None:
        yield expression_text(limit)
    if skip is not None:
        yield f"skip {expression_text(skip)}"

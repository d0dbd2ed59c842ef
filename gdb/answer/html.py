"""An answer as HTML, for notebooks: a table of its first rows, and a drawing where it has nodes and relationships."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from gdb.answer import table
from gdb.answer.answer_elements import elements_of
from gdb.answer.drawing.drawing import MOST, small
from gdb.answer.rows import LineAnswer

if TYPE_CHECKING:
    from gdb.answer.result import Result

_LONGEST = 100  # characters of a cell; the others are shown by pointing at it
_LONGEST_TITLE = 2000
_ROWS = 3000  # of a result that is looked through for nodes and relationships
_RIGHT, _LEFT = ' style="text-align: right"', ' style="text-align: left"'


def html_of(result: Result) -> str:
    """The first rows of a result, the types of their values, how many rows it has, and its warnings; all lines of a
    plan."""
    below = [*map(table.warning, result.warnings)]
    if not result.columns:
        return "".join(map(_paragraph, [str(result.summary), *below]))
    if isinstance(result.answer, LineAnswer):
        plan = escape("\n".join(table.plan_lines(result)))
        return f"<pre>{plan}</pre>" + "".join(map(_paragraph, below))
    rows = result.head()
    below = [table.footer(result, len(rows)), *below]
    texts = rows_as_html(result.columns, rows) + "".join(map(_paragraph, below))
    return texts + _drawing(result)


def _drawing(result: Result) -> str:
    """The drawing of a result whose nodes and relationships are few, and are in its first rows."""
    if len(result) > _ROWS:
        return ""
    found = elements_of(result.head(_ROWS), MOST)
    drawing = small(found)
    return "" if drawing is None else drawing.svg


def rows_as_html(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; numbers to the right."""
    types = table.types_of(len(columns), rows)
    sides = [
        _RIGHT if table.is_numeric([row[place] for row in rows]) else _LEFT
        for place in range(len(columns))
    ]
    head = "".join(
        f"<th{side}>{_text(name)}<br/><small>{_text(kind)}</small></th>"
        for name, kind, side in zip(columns, types, sides, strict=True)
    )
    body = "".join(f"<tr>{_cells(row, sides)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: Sequence[object], sides: Sequence[str]) -> str:
    return "".join(
        f"<td{side}{_title(text)}>{_text(text)}</td>"
        for text, side in zip(map(table.cell, row), sides, strict=True)
    )


def _text(text: str) -> str:
    """A text, cut where it is long, for HTML."""
    text = table.printable(text)
    return escape(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _title(text: str) -> str:
    return f' title="{escape(text[:_LONGEST_TITLE])}"' if len(text) > _LONGEST else ""


def _paragraph(text: str) -> str:
    return f"<p><small>{escape(text)}</small></p>"

"""Rows without the names that the library gives to what a pattern does not name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.language.hidden_names import HIDDEN, is_hidden

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row


def visible(row: Row) -> Row:
    """The row without what the user did not name; a copy."""
    for name in row:
        if name.startswith(HIDDEN):
            return {name: value for name, value in row.items() if not name.startswith(HIDDEN)}
    return dict(row)


def visible_rows(rows: list[Row]) -> list[Row]:
    """Rows of the same names without what the user did not name; the rows themselves where he named all."""
    return list(map(visible, rows)) if rows and any(map(is_hidden, rows[0])) else rows

"""Tables of measurements: columns with units, cells that are numbers, and their Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column.

    Parameters
    ----------
    name : what the column holds.
    unit : of its numbers, "" for counts, ratios and text.
    decimals : digits behind the point of its floats; None shows three significant digits.
    """

    name: str
    unit: str = ""
    decimals: int | None = None

    def heading(self) -> str:
        """The name, and the unit in brackets."""
        return f"{self.name} ({self.unit})".strip() if self.unit else self.name

    def shown(self, number: int | float) -> str:
        """A number as the column shows it: integers whole, floats by `decimals`."""
        if isinstance(number, int):
            return f"{number:,}"
        return figures(number) if self.decimals is None else f"{number:,.{self.decimals}f}"


Header: TypeAlias = tuple[str | Column, ...]
"""Columns of a table; text is a column without a unit."""


@dataclass(frozen=True, slots=True)
class Over:
    """A value known to be above `bound`: a run that was stopped at its limit, or a ratio to one."""

    bound: int | float


@dataclass(frozen=True, slots=True)
class Wrong:
    """A value measured for an answer that differs from the others'; no comparison counts it."""

    value: int | float


Cell: TypeAlias = int | float | str | Over | Wrong | None
"""A number in the unit of its column, text, a special value, or None for nothing."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, one for each column; `caption` is a sentence above the table."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    @staticmethod
    def of(
        columns: Iterable[str | Column], rows: Iterable[Sequence[Cell]], caption: str = ""
    ) -> Table:
        """A table from its header, where text is a column without a unit, and its rows.

        Raises
        ------
        ValueError : two columns share a name, a row has not one cell for each column, or a number is infinite or NaN.
        """
        header = tuple(Column(one) if isinstance(one, str) else one for one in columns)
        body = tuple(tuple(_checked(cell) for cell in row) for row in rows)
        if len({column.name for column in header}) < len(header):
            raise ValueError(f"a name comes twice: {[column.name for column in header]}")
        for row in body:
            if len(row) != len(header):
                raise ValueError(f"{len(row)} cells for {len(header)} columns: {row}")
        return Table(header, body, caption)

    def position(self, name: str) -> int:
        """The place of the column with a name. Raises KeyError where there is none."""
        for k, column in enumerate(self.columns):
            if column.name == name:
                return k
        raise KeyError(f"no column {name!r} in {[column.name for column in self.columns]}")

    def markdown(self) -> str:
        """The table in columns of equal width, numbers to the right, below its caption."""
        lines = "\n".join(self._lines())
        return f"{self.caption}\n\n{lines}" if self.caption else lines

    def line(self, row: int) -> str:
        """The Markdown of one row; -1 is the last."""
        return self._lines()[2:][row]

    def _lines(self) -> list[str]:
        header = [column.heading() for column in self.columns]
        cells = [
            [_shown(c, of) for c, of in zip(row, self.columns, strict=True)] for row in self.rows
        ]
        right = [
            bool(cells) and all(_stands_right(row[k]) for row in self.rows)
            for k in range(len(header))
        ]
        widths = [
            max(3, len(name), *(len(row[k]) for row in cells), 0) for k, name in enumerate(header)
        ]

        def line(row: Sequence[str]) -> str:
            padded = (
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(row, widths, right, strict=True)
            )
            return f"| {' | '.join(padded)} |"

        rule = (
            f"{'-' * (width - 1)}:" if to_right else "-" * width
            for width, to_right in zip(widths, right, strict=True)
        )
        return [line(header), f"| {' | '.join(rule)} |", *map(line, cells)]


def _checked(cell: Cell) -> Cell:
    """A float rounded to six significant digits: more are noise of the clock."""
    match cell:
        case bool():
            raise ValueError("a cell is a number, text or None, not a truth value")
        case float():
            return _finite(cell)
        case Over(bound=float(bound)):
            return Over(_finite(bound))
        case Wrong(value=float(value)):
            return Wrong(_finite(value))
        case _:
            return cell


def _finite(number: float) -> float:
    rounded = float(f"{number:.6g}")
    if rounded - rounded != 0:
        raise ValueError(f"a cell holds {number}: write None or Over(limit)")
    return rounded


def _shown(cell: Cell, column: Column) -> str:
    match cell:
        case None:
            return ""
        case str():
            return cell
        case Over(bound=bound):
            return f"> {column.shown(bound)}"
        case Wrong(value=value):
            return f"{column.shown(value)} wrong"
        case _:
            return column.shown(cell)


def _stands_right(cell: Cell) -> bool:
    return not isinstance(cell, (str, Wrong)) or cell in ("", "-")


def figures(number: float) -> str:
    """A number with three significant digits, never in powers of ten."""
    if number < 0:
        return f"-{figures(-number)}"
    if number >= 100:
        return f"{number:,.0f}"
    if number == 0:
        return "0"
    places = 2
    while number < 10 ** (2 - places) and places < 9:
        places += 1
    return f"{number:.{places}f}" if number < 10 else f"{number:.1f}"


# ---- JSON ----------------------------------------------------------------------------------------


def to_json(table: Table) -> dict[str, object]:
    """The table as JSON holds it: columns without empty fields, special cells as objects."""
    columns = []
    for column in table.columns:
        found: dict[str, object] = {"name": column.name}
        if column.unit:
            found["unit"] = column.unit
        if column.decimals is not None:
            found["decimals"] = column.decimals
        columns.append(found)
    rows = [[_cell_to_json(cell) for cell in row] for row in table.rows]
    return {"caption": table.caption, "columns": columns, "rows": rows}


def from_json(value: Mapping[str, object]) -> Table:
    """The table that `to_json` wrote. Raises ValueError where the object is no table."""
    match value:
        case {"caption": str(caption), "columns": list(columns), "rows": list(rows)}:
            header = [_column_from_json(column) for column in columns]
            body = [[_cell_from_json(cell) for cell in row] for row in rows]
            return Table.of(header, body, caption)
        case _:
            raise ValueError(f"not a table: it has {', '.join(map(str, value))}")


def _cell_to_json(cell: Cell) -> object:
    match cell:
        case Over(bound=bound):
            return {"over": bound}
        case Wrong(value=value):
            return {"wrong": value}
        case _:
            return cell


def _cell_from_json(value: object) -> Cell:
    match value:
        case {"over": int() | float() as bound}:
            return Over(bound)
        case {"wrong": int() | float() as found}:
            return Wrong(found)
        case None | int() | float() | str():
            return value
        case _:
            raise ValueError(f"not a cell: {value!r}")


def _column_from_json(value: object) -> Column:
    match value:
        case {"name": str(name), **rest}:
            unit, decimals = rest.get("unit", ""), rest.get("decimals")
            if isinstance(unit, str) and (decimals is None or isinstance(decimals, int)):
                return Column(name, unit, decimals)
    raise ValueError(f"not a column: {value!r}")

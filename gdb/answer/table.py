"""Tables of text: aligned columns under their names, for a terminal, for `print`, and in Markdown.

Written by hand, and the only one: a column is as wide as its characters are on a terminal, long tables are written
block by block without being held, and what a cell contains never steers the terminal. The libraries that print tables
(rich, tabulate) hold all rows, and are larger than the rest of the shell.
"""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from html import escape
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from gdb.answer.entities import literal
from gdb.answer.rows import LineAnswer
from gdb.answer.summary import counted, duration_text
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.answer.result import Result

_BLOCK = 1000  # rows aligned with one another; a longer answer is written block by block, not held
_LEAST = 6  # a column is not cut below this many places
_GAP = "  "


def table_text(result: Result) -> str:
    """The first rows of a result, the types of their values, and how many rows it has; all lines of a plan."""
    if not result.columns:
        return str(result.summary)
    if isinstance(result.answer, LineAnswer):
        return "\n".join([*plan_lines(result), *map(warning, result.warnings)])
    rows = result.head()
    width = shutil.get_terminal_size().columns
    types = types_of(len(result.columns), rows) if rows else None
    lines = table(result.columns, rows, width, types=types)
    return "\n".join([*lines, f"({footer(result, len(rows))})", *map(warning, result.warnings)])


def plan_lines(result: Result) -> list[str]:
    """The lines of a plan, uncut."""
    return [printable(str(line)) for (line,) in result]


def footer(result: Result, count: int) -> str:
    """How many rows there are, and how long they took. count : of rows that are shown."""
    spent = result.summary.total_seconds
    text = counted(len(result), "row")
    text += f" in {duration_text(spent)}" if spent else ""
    return text if count == len(result) else f"{text}, the first {count} shown"


def warning(text: str) -> str:
    """A warning as it is printed below an answer."""
    return f"warning: {text}"


# ---- types ---------------------------------------------------------------------------------------

_TYPES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    str: "string",
    dict: "map",
    tuple: "list",
    timedelta: "duration",
    type(None): "null",
}


def types_of(count: int, rows: Sequence[Sequence[object]]) -> list[str]:
    """The types of the values in each of `count` columns, as Cypher calls them; "any" where they differ."""
    return [_type_of([row[place] for row in rows]) for place in range(count)]


def _type_of(values: Iterable[object]) -> str:
    found = {_type_name(value) for value in values if value is not None}
    if found == {"integer", "float"}:
        return "number"
    return found.pop() if len(found) == 1 else "any" if found else "null"


def _type_name(value: object) -> str:
    match value:
        case datetime():
            return "local datetime" if value.tzinfo is None else "datetime"
        case time():
            return "local time" if value.tzinfo is None else "time"
        case date():
            return "date"
        case _:
            return _TYPES.get(type(value), type(value).__name__.lower())


# ---- lines ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Style:
    """The lines of a table.

    row : before, between and behind the cells of a row. top, under, bottom : the same of a rule above the names, under
    them and below the rows, and what fills it; None where there is none. With a rule below the rows each block of them
    is a table of its own. least : places of a column at least. sides : whether a colon in the rule under the names
    marks the columns of numbers. escaped : the text of a cell as the format writes it.
    """

    row: tuple[str, str, str]
    under: tuple[str, str, str, str]
    top: tuple[str, str, str, str] | None = None
    bottom: tuple[str, str, str, str] | None = None
    least: int = 0
    sides: bool = False
    escaped: Callable[[str], str] = str


def _in_markdown(text: str) -> str:
    return escape(text.replace("\\", "\\\\").replace("|", "\\|"), quote=False)


PLAIN = Style(("", _GAP, ""), ("", _GAP, "", "-"))
BOX = Style(
    ("│ ", " │ ", " │"),
    ("├─", "─┼─", "─┤", "─"),
    ("┌─", "─┬─", "─┐", "─"),
    ("└─", "─┴─", "─┘", "─"),
)
MARKDOWN = Style(
    *(("| ", " | ", " |"), ("| ", " | ", " |", "-")), least=3, sides=True, escaped=_in_markdown
)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    width: int | None = None,
    *,
    types: Sequence[str] | None = None,
    style: Style = PLAIN,
    right: Sequence[bool] | None = None,
) -> Iterator[str]:
    """Aligned columns under their names; cut cells end in an ellipsis.

    width : places, to which the lines are cut; None cuts nothing. types : what is written under the names. right : the
    columns that are aligned to the right; None: those of numbers.
    """
    source = iter(rows)
    block = [*islice(source, _BLOCK)]
    head = [[style.escaped(printable(name)) for name in columns], *([types] if types else [])]
    right = right or [is_numeric([row[place] for row in block]) for place in range(len(columns))]
    natural = [max(style.least, *map(places, texts)) for texts in zip(*head, strict=True)]
    begins = True
    while begins or block:
        cells = [[style.escaped(cell(value)) for value in row] for row in block]
        for row in cells:
            natural = [max(most, places(text)) for most, text in zip(natural, row, strict=True)]
        widths = natural if width is None else fitted(natural, width, style)
        shown = [
            _line(texts, widths, right, style) for texts in [*(head if begins else ()), *cells]
        ]
        if begins:
            shown.insert(len(head), _rule(style.under, widths, right if style.sides else ()))
        if style.top is not None:
            shown.insert(0, _rule(style.top, widths))
        if style.bottom is not None:
            shown.append(_rule(style.bottom, widths))
        yield from (cut(line, width) for line in shown)
        block = [*islice(source, _BLOCK)]
        begins = style.bottom is not None and bool(block)


def fitted(natural: Sequence[int], width: int, style: Style = PLAIN) -> list[int]:
    """Widths that fit in `width` with what is between them; the widest columns give first, to the least."""
    left, gap, end = map(len, style.row)
    room = width - left - end - gap * (len(natural) - 1)
    if sum(natural) <= room:
        return list(natural)
    low, high = _LEAST, max(natural)
    while low < high:  # the largest cap that still fits
        middle = (low + high + 1) // 2
        if sum(min(most, middle) for most in natural) <= room:
            low = middle
        else:
            high = middle - 1
    widths = [min(most, low) for most in natural]
    spare = room - sum(widths)
    for place, most in enumerate(natural):
        if spare > 0 and widths[place] < most:
            widths[place] += 1
            spare -= 1
    return widths


def cell(value: object) -> str:
    """A value as one line of text, as Cypher writes it; only strings have no quotes."""
    return printable(value if isinstance(value, str) else literal(value))


def places(text: str) -> int:
    """How many places of a terminal the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_places, text))


def cut(text: str, width: int | None) -> str:
    """The text in at most `width` places; what was cut ends in an ellipsis."""
    if width is None or places(text) <= width:
        return text
    kept: list[str] = []
    room = width - 1
    for character in text:
        room -= _places(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…"


def _places(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], style: Style) -> str:
    padded = []
    for text, most, to_right in zip(cells, widths, right, strict=True):
        shown = cut(text, most)
        fill = " " * (most - places(shown))
        padded.append(fill + shown if to_right else shown + fill)
    left, gap, end = style.row
    return f"{left}{gap.join(padded)}{end}".rstrip()


def _rule(
    parts: tuple[str, str, str, str], widths: Sequence[int], right: Sequence[bool] = ()
) -> str:
    left, gap, end, fill = parts
    lines = [fill * most for most in widths]
    lines = [f"{line[1:]}:" if side else line for line, side in zip_longest(lines, right)]
    return f"{left}{gap.join(lines)}{end}"


def is_numeric(values: Sequence[object]) -> bool:
    """Whether all values are numbers or null, and one is a number: such a column is aligned to the right."""
    kinds = {type(value) for value in values} - {type(None)}
    return bool(kinds) and kinds <= {int, float}


def printable(text: str) -> str:
    """Line breaks and other control characters escaped: data must not steer the terminal."""
    if text.isprintable():
        return text
    return "".join(
        character
        if unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        and character not in _STEERING
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


_STEERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # turn text around

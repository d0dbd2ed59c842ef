"""Rows of an answer as text: a table for people, CSV and JSON for programs.

Pure: values in, lines out.
"""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from enum import StrEnum
from itertools import islice
from typing import TypeAlias

from gdb.answer.entities import Node, Path, Relationship, literal
from gdb.storage.formulas import guarded
from gdb.storage.temporal import text_of

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_BLOCK = 1000  # rows aligned with one another; a longer answer is written block by block, not held
_LEAST = 6  # a column is not cut below this many places
_GAP = "  "


class Format(StrEnum):
    """What an answer looks like."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"


def lines(
    format: Format,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    width: int | None,
    *,
    guard: bool = False,
) -> Iterator[str]:
    """The answer as lines without their ends.

    Parameters
    ----------
    rows : each as long as `columns`.
    width : places of the terminal, to which a table is cut; None cuts nothing.
    guard : in CSV, an apostrophe before texts that spreadsheets would take for formulas.
    """
    match format:
        case Format.TABLE:
            return table(columns, rows, width)
        case Format.CSV:
            return csv_lines(columns, rows, guard=guard)
        case Format.JSON:
            return json_lines(columns, rows)
        case Format.JSONL:
            return records(columns, rows)


# ---- table ---------------------------------------------------------------------------------------


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], width: int | None = None
) -> Iterator[str]:
    """Aligned columns under their names; numbers to the right; cut cells end in an ellipsis."""
    source = iter(rows)
    block = [*islice(source, _BLOCK)]
    names = [_printable(name) for name in columns]
    right = [_is_numeric([row[place] for row in block]) for place in range(len(names))]
    natural = [places(name) for name in names]
    first = True
    while first or block:
        cells = [[cell(value) for value in row] for row in block]
        for row in cells:
            natural = [max(most, places(text)) for most, text in zip(natural, row, strict=True)]
        widths = natural if width is None else fitted(natural, width)
        if first:
            yield _line(names, widths, right, width)
            yield cut(_GAP.join("-" * most for most in widths), width)
            first = False
        for row in cells:
            yield _line(row, widths, right, width)
        block = [*islice(source, _BLOCK)]


def fitted(natural: Sequence[int], width: int) -> list[int]:
    """Widths that fit in `width` with the gaps; the widest columns give first, to the least."""
    room = width - len(_GAP) * (len(natural) - 1)
    if sum(natural) <= room:
        return list(natural)
    low, high = _LEAST, max(natural)
    while low < high:  # the largest cap that still fits
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high)
            if sum(min(most, middle) for most in natural) <= room
            else (low, middle - 1)
        )
    widths = [min(most, low) for most in natural]
    spare = room - sum(widths)
    for place, most in enumerate(natural):
        if spare > 0 and widths[place] < most:
            widths[place] += 1
            spare -= 1
    return widths


def cell(value: object) -> str:
    """A value as one line of text, as Cypher writes it; only strings stand without quotes."""
    return _printable(value if isinstance(value, str) else literal(value))


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


def _line(
    cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], width: int | None
) -> str:
    padded = []
    for text, most, to_right in zip(cells, widths, right, strict=True):
        shown = cut(text, most)
        fill = " " * (most - places(shown))
        padded.append(fill + shown if to_right else shown + fill)
    return cut(_GAP.join(padded).rstrip(), width)


def _is_numeric(values: Sequence[object]) -> bool:
    kinds = {type(value) for value in values} - {type(None)}
    return bool(kinds) and kinds <= {int, float}


def _printable(text: str) -> str:
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


# ---- CSV and JSON --------------------------------------------------------------------------------


def csv_lines(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, guard: bool = False
) -> Iterator[str]:
    """RFC 4180 with a line of names; null is an empty field; line breaks are kept, in quotes."""
    yield _csv_line([guarded(name) for name in columns] if guard else columns)
    for row in rows:
        yield _csv_line([_csv_cell(value, guard) for value in row])


def _csv_cell(value: object, guard: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return guarded(value) if guard else value
    return literal(value)


def _csv_line(cells: Sequence[str]) -> str:
    held = io.StringIO()
    csv.writer(held, lineterminator="").writerow(cells)
    return held.getvalue()


def json_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """One array, each row an object on a line of its own."""
    held = "["
    for record in records(columns, rows):
        if held != "[":
            yield held + ","
        held = f"[{record}" if held == "[" else f" {record}"
    yield held + "]"


def records(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Each row an object on a line of its own (JSON Lines); no rows are no lines."""
    for row in rows:
        record = {name: as_json(value) for name, value in zip(columns, row, strict=True)}
        yield json.dumps(record, ensure_ascii=False, allow_nan=False)


def as_json(value: object) -> Json:
    """The value as JSON has it; nodes, relationships, paths and maps are objects, times their ISO 8601 texts.

    NaN and infinities, which JSON lacks, are null.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Node():
            node: dict[str, Json] = {"id": value.id, "labels": [*value.labels]}
            if value.id_space:
                node["id_space"] = value.id_space
            return {**node, "properties": _object(value.properties)}
        case Relationship():
            return {
                "type": value.type,
                "start": value.start,
                "end": value.end,
                "properties": _object(value.properties),
            }
        case Path():
            return {"nodes": as_json(value.nodes), "relationships": as_json(value.relationships)}
        case list() | tuple():
            return [as_json(held) for held in value]
        case Mapping():
            return _object(value)
        case date() | time() | timedelta():
            return text_of(value)
        case _:
            return str(value)


def _object(values: Mapping[str, object]) -> dict[str, Json]:
    return {key: as_json(value) for key, value in values.items()}

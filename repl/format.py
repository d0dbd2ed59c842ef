"""Rows of an answer as text: a table for people (`gdb.answer.table`), CSV and JSON for programs.

Pure: values in, lines out.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from enum import StrEnum
from typing import TypeAlias

from gdb.answer.entities import Node, Path, Relationship, literal
from gdb.answer.table import table
from gdb.storage.formulas import guarded
from gdb.storage.temporal import text_of

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


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

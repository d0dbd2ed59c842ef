"""Rows of an answer as text: tables for people (`gdb.answer.table`), CSV, JSON and others for programs.

Pure: values in, lines out.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeAlias, cast

from gdb.answer.entities import Node, Path, Relationship, literal, quoted
from gdb.answer.table import BOX, MARKDOWN, cell, places, printable, table
from gdb.base.values.duration import Duration
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
from gdb.errors import NotSupported
from gdb.language.name_text import value_text
from gdb.records import dataclass
from gdb.storage.copies.formulas import guarded

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


Rows: TypeAlias = Iterable[Sequence[object]]

_QUOTE = '"'
_IN_QUOTES = re.compile(r'[",\r\n]').search


class Format(StrEnum):
    """What an answer looks like."""

    TABLE = "table"
    BOX = "box"
    MARKDOWN = "markdown"
    LINE = "line"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    HTML = "html"
    INSERT = "insert"

    @property
    def for_people(self) -> bool:
        """Whether a person reads it: then more than the rows is printed."""
        return self in (Format.TABLE, Format.BOX, Format.LINE)


@dataclass(frozen=True, slots=True)
class Look:
    """width : places of the terminal, to which a table is cut; None cuts nothing.

    guard : in CSV, an apostrophe before texts that spreadsheets would take for formulas.
    """

    width: int | None = None
    guard: bool = False


def lines(
    format: Format, columns: Sequence[str], rows: Rows, width: int | None, *, guard: bool = False
) -> Iterator[str]:
    """The answer as lines without their ends; rows : each as long as `columns`. The others are those of `Look`."""
    return _WRITERS[format](columns, rows, Look(width, guard))


# ---- tables --------------------------------------------------------------------------------------


def value_lines(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Each value on a line of its own behind its name, whole; a blank line between rows."""
    names = [printable(name) for name in columns]
    most = max(map(places, names), default=0)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, value in zip(names, row, strict=True):
            yield f"{' ' * (most - places(name))}{name} = {cell(value)}"


def html_lines(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """A table element; all texts are escaped."""
    yield "<table>"
    yield _html("th", [printable(name) for name in columns])
    for row in rows:
        yield _html("td", [cell(value) for value in row])
    yield "</table>"


def _html(tag: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(text)}</{tag}>' for text in texts)}</tr>"


# ---- Cypher --------------------------------------------------------------------------------------


def insert_lines(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """A CREATE statement for each row: a node with its labels and properties, the other columns as properties of a node
    `:Row`; nulls are left out.

    Raises
    ------
    NotSupported : a value is no property of a node and no node: a relationship, a path, a map, or a list that holds one
        of these, a node, a list or null.
    """
    for row in rows:
        plain, nodes = {}, []
        for name, value in zip(columns, row, strict=True):
            if isinstance(value, Node):
                nodes.append(pasted(value))
            elif value is not None:
                plain[name] = _stored(name, value)
        made = [f"(:Row {pasted(plain)})"] if plain or not nodes else []
        yield f"CREATE {', '.join([*made, *nodes])};"


def _stored(name: str, value: object) -> object:
    """A value that a node can have as its property; NotSupported for another. name : of its column."""
    items = value if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if isinstance(item, (Relationship, Path)):
            raise NotSupported(
                "a relationship or a path cannot be written as CREATE of one row.",
                "Return properties: RETURN a.name, r.since, b.name; or use `.mode json`.",
            )
        if item is None or isinstance(item, (Mapping, list, tuple)):
            within = "" if items is not value else "a list that holds "
            kind = "null" if item is None else "a node" if isinstance(item, Node) else ""
            kind = kind or ("a map" if isinstance(item, Mapping) else "a list")
            raise NotSupported(
                f"column '{name}' has {within}{kind}, which no property can be.",
                "Return the parts as columns of their own: RETURN m.a, m.b; or use `.mode json`.",
            )
    return value


_CONSTRUCTORS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((Duration, timedelta), "duration"),
    (LocalDateTime, "localdatetime"),
    (DateTime, "datetime"),
    (LocalTime, "localtime"),
    (Time, "time"),
    (Date, "date"),
)


def pasted(value: object) -> str:
    """A value as Cypher that makes it again: times by their functions, a node as a pattern without its id."""
    match value:
        case Node():
            labels = "".join(f":{quoted(label)}" for label in value.labels)
            properties = pasted(dict(value.properties)) if value.properties else ""
            return f"({' '.join(filter(None, [labels, properties]))})"
        case Mapping():
            return "{" + ", ".join(f"{quoted(k)}: {pasted(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return f"[{', '.join(map(pasted, value))}]"
        case float() if not math.isfinite(value):
            return value_text(value)
    function = _constructor(value)
    return f"{function}('{literal(value)}')" if function else literal(value)


def _constructor(value: object) -> str:
    match value:
        case datetime():
            return "localdatetime" if value.tzinfo is None else "datetime"
        case time():
            return "localtime" if value.tzinfo is None else "time"
        case date():
            return "date"
    return next((name for kinds, name in _CONSTRUCTORS if isinstance(value, kinds)), "")


# ---- CSV and JSON --------------------------------------------------------------------------------


def csv_lines(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, guard: bool = False
) -> Iterator[str]:
    """RFC 4180 with a line of names; null is an empty field, an empty text is `""`; line breaks are kept, in quotes."""
    # here: at the start it would load the arithmetic of rows
    from gdb.base.values.arithmetic import as_text

    def field(value: object) -> str:
        if value is None:
            return ""
        if type(value) in (int, float):  # as `literal` does, and quicker
            return as_text(cast("int | float", value))
        text = value if isinstance(value, str) else literal(value)
        if guard and text is value:
            text = guarded(text)
        return f'"{text.replace(_QUOTE, _QUOTE * 2)}"' if not text or _IN_QUOTES(text) else text

    yield ",".join(map(field, columns))
    for row in rows:
        yield ",".join(map(field, row))


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
            return literal(value)
        case _:
            return str(value)


def _object(values: Mapping[str, object]) -> dict[str, Json]:
    return {key: as_json(value) for key, value in values.items()}


_WRITERS: dict[Format, Callable[[Sequence[str], Rows, Look], Iterator[str]]] = {
    Format.TABLE: lambda columns, rows, look: table(columns, rows, look.width),
    Format.BOX: lambda columns, rows, look: table(columns, rows, look.width, style=BOX),
    Format.MARKDOWN: lambda columns, rows, look: table(columns, rows, style=MARKDOWN),
    Format.LINE: lambda columns, rows, look: value_lines(columns, rows),
    Format.CSV: lambda columns, rows, look: csv_lines(columns, rows, guard=look.guard),
    Format.JSON: lambda columns, rows, look: json_lines(columns, rows),
    Format.JSONL: lambda columns, rows, look: records(columns, rows),
    Format.HTML: lambda columns, rows, look: html_lines(columns, rows),
    Format.INSERT: lambda columns, rows, look: insert_lines(columns, rows),
}

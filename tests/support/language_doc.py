"""Reads docs/LANGUAGE.md: its queries with what they give, and its tables of calls.

A fenced block marked `cypher` is a query. A Markdown table behind it is its result, a block marked `text` its error,
anything else says nothing of the result. A first line `// {"name": ...}` holds parameters. The block behind the comment
`<!-- graph -->` makes the graph that all others run on, each a new one. In a table whose first column is headed
`call`, or `call, x from LIST`, each row has an expression and, in backquotes, its value.

`UPDATE_DOCS=1 pytest tests/project/test_language_doc.py` writes what comes out; read the difference then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import gdb
from gdb.base.values.temporal_python import from_python
from gdb.errors import GdbError
from gdb.functions.function import AggregateFunction, Function
from gdb.functions.library import AGGREGATES, sections

Listed: TypeAlias = Function | AggregateFunction

LANGUAGE = Path(__file__).parents[2] / "docs" / "LANGUAGE.md"
_BLOCK = re.compile(r"(<!-- graph -->\n\n)?^```cypher\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"\n((?:\|.*\n)+)")
_ERROR = re.compile(r"\n```text\n(.*?)```\n", re.DOTALL)
_CALLS = re.compile(
    r"^\| call(?:, x from (?P<over>[^|]+))? \|.*\n\|[-|]+\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE
)


@dataclass(frozen=True)
class Example:
    """A query of the document. line : of the document. shown : the table or error behind it; empty for none. at : where
    that the text shows."""

    line: int
    query: str
    shown: str
    at: tuple[int, int]
    is_graph: bool = False

    @property
    def parameters(self) -> dict[str, object]:
        first = self.query.partition("\n")[0]
        return json.loads(first.removeprefix("//")) if first.startswith("// {") else {}

    def __str__(self) -> str:
        return f"line {self.line}"


@dataclass(frozen=True)
class Call:
    """A row of a table of calls. value : None where it says no certain one."""

    line: int
    query: str
    value: str | None
    at: tuple[int, int]

    def __str__(self) -> str:
        return f"line {self.line}"


def examples(text: str) -> list[Example]:
    found = []
    for block in _BLOCK.finditer(text):
        behind = _TABLE.match(text, block.end()) or _ERROR.match(text, block.end())
        shown, at = (behind[1], behind.span(1)) if behind else ("", (block.end(), block.end()))
        line = text.count("\n", 0, block.start()) + 1
        found.append(Example(line, block[2].strip(), shown, at, block[1] is not None))
    return found


def calls(text: str) -> Iterator[Call]:
    for table in _CALLS.finditer(text):
        over = table["over"]
        begin = f"UNWIND {over.strip().strip('`')} AS x " if over else ""
        at = table.start("rows")
        for row in table["rows"].splitlines(keepends=True):
            cells = list(re.finditer(r"(?<=\|)((?:\\\||[^|\n])*)(?=\|)", row))
            expression = unescaped(cells[0][1].strip().strip("`").strip())
            value = cells[1][1].strip()
            span = at + cells[1].start(), at + cells[1].end()
            known = unescaped(value.strip("`")) if value.startswith("`") or not value else None
            line = text.count("\n", 0, at) + 1
            yield Call(line, f"{begin}RETURN {expression} AS value", known, span)
            at += len(row)


def opened(text: str) -> gdb.Database:
    """A new graph in memory, as the document defines it."""
    db = gdb.connect()
    for example in examples(text):
        if example.is_graph:
            db.execute(example.query)
    return db


def answer(db: gdb.Database, example: Example) -> str:
    """What should follow an example: its table, its error, or nothing where it has no columns."""
    try:
        found = db.execute(example.query, example.parameters, device="cpu")
    except GdbError as error:
        return f"{type(error).__name__}: {error}\n"
    rows = [" | ".join(f"`{escaped(rendered(cell))}`" for cell in row) for row in found]
    if "ORDER BY" not in example.query:
        rows.sort()
    if not found.columns:
        return ""
    head = " | ".join(escaped(name) for name in found.columns)
    lines = [head, "|".join("---" for _ in found.columns), *rows]
    return "".join(f"| {line} |\n" if "---" not in line else f"|{line}|\n" for line in lines)


def value(db: gdb.Database, call: Call) -> str:
    """What a call gives, as text."""
    return rendered(db.execute(call.query, device="cpu").scalar())


def rendered(value: object) -> str:
    """A value as the language writes it."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
        case list():
            return f"[{', '.join(map(rendered, value))}]"
        case dict():
            return f"{{{', '.join(f'{key}: {rendered(item)}' for key, item in value.items())}}}"
        case int() | float() | gdb.Node() | gdb.Relationship() | gdb.Path():
            return str(value)
    return str(from_python(value))


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def unescaped(text: str) -> str:
    return text.replace("\\|", "|")


def all_functions(text: str) -> str:
    """The tables of all functions and aggregates, as the registry has them, and their index.

    text : of the page, whose sections the index links to.
    """
    aggregates = ("Aggregates", tuple(AGGREGATES.values()))
    tables: tuple[tuple[str, tuple[Listed, ...]], ...] = (aggregates, *sections())
    lines: list[str] = []
    for title, rows in tables:
        lines += [f"| {title[0].lower()}{title[1:]} | |", "|---|---|"]
        for row in rows:
            signature = row.signature.text.replace("|", "\\|")
            lines.append(f"| `{signature}` | {row.doc} |")
        lines.append("")
    return "\n".join([*lines, "### Index of functions", "", *_index(text)])


def _index(text: str) -> list[str]:
    """All functions by their first letter, each linked to the section of the page that shows it."""
    functions = text.partition("\n## Functions\n")[2].partition("\n### All functions\n")[0]
    shown = [part.partition("\n") for part in functions.split("\n### ")[1:]]
    letters: dict[str, list[str]] = {}
    for name in sorted((row.name for row in (*AGGREGATES.values(), *_all())), key=str.lower):
        call = re.compile(rf"(?<![\w.]){re.escape(name)}\(")
        headings = (heading for heading, _, body in shown if call.search(body))
        heading = next(headings, "All functions")
        anchor = heading.lower().replace(",", "").replace(" ", "-")
        letters.setdefault(name[0].upper(), []).append(f"[`{name}`](#{anchor})")
    rows = [f"| {letter} | {', '.join(links)} |" for letter, links in letters.items()]
    return ["| | |", "|---|---|", *rows]


def _all() -> Iterator[Function]:
    return (row for _, rows in sections() for row in rows)


ALL_FUNCTIONS = re.compile(r"(?<=### All functions\n\n).*?(?=\n\n## )", re.DOTALL)

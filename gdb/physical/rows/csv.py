"""LOAD CSV: the lines of a file as lists of strings, or with headers as maps."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import unquote, urlparse

from gdb.errors import ArgumentProblem, GdbError, TypeProblem
from gdb.language.report import problem
from gdb.physical.rows.batches import Parts, expand_rows
from gdb.storage.disk.opening import opened_below

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.language.clauses import LoadCsv
    from gdb.physical.rows.run_context import RowContext

_LONGEST = 1 << 24
_FAULTS = {
    "unexpected end of data": ("a quoted field is not closed", "Close its quote."),
    "expected after": (
        "text follows the closing quote of a field",
        "Double a quote inside of one.",
    ),
}
"""What the messages of the module csv mean, by a part of them, and the cure."""


class _BadLine(Exception):
    """A line that would be read as something else than it says. line : its number, from 1."""

    def __init__(self, line: int, reason: str, cure: str) -> None:
        super().__init__(reason)
        self.line, self.reason, self.cure = line, reason, cure


def load_rows(context: RowContext, clause: LoadCsv, parts: Parts) -> Parts:
    """Each row with each line of the file that LOAD CSV reads for it; raises as `load_lines`."""
    name = clause.variable.text

    def expand(row: Row) -> Iterable[Row]:
        return ({**row, name: line} for line in load_lines(context, clause, row))

    return expand_rows(context.allowance, parts, expand)


def load_lines(context: RowContext, clause: LoadCsv, row: Row) -> Iterator[Value]:
    """The lines of the file that a row names. An empty field is null in a map, where the header's names identify it.

    Raises
    ------
    TypeProblem : the name is no string. ArgumentProblem : the file cannot be read, or may not be; a quote is not
        closed, or the header gives a field no name, or two of them one name.
    """
    source = context.evaluator.compiled(clause.source)(row)
    if not isinstance(source, str):
        raise problem(
            *(TypeProblem, context.text, clause.source.place), "a file is named by a string."
        )
    path = _path(context, clause, source)
    try:
        with _opened(path, context.import_root) as file:
            yield from _lines(context, clause, _records(file, clause.terminator))
    except _BadLine as error:
        raise problem(
            *(ArgumentProblem, context.text, clause.source.place),
            f"the file {_shown_source(source, path)}, line {error.line}: {error.reason}.",
            error.cure,
        ) from None
    except GdbError:  # QueryTimeout is an OSError as well
        raise
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a null byte in its name
        reason = getattr(error, "strerror", None) or str(error)
        raise problem(
            *(ArgumentProblem, context.text, clause.source.place),
            f"the file {_shown_source(source, path)} cannot be read: {reason}.",
        ) from None


def _opened(path: Path, root: Path | None) -> TextIO:
    """Below a root from the root on and through no link: another may have been put there since it was checked."""
    if root is None and not path.is_file() and path.exists():  # a pipe would hang
        raise ValueError("it is no plain file")
    at: Path | int = path if root is None else opened_below(root, path)
    return open(at, newline="", encoding="utf-8-sig")


def _text_lines(file: TextIO) -> Iterator[str]:
    """The lines of a file. ValueError : one is too long to be held."""
    while line := file.readline(_LONGEST):
        if len(line) >= _LONGEST and not line.endswith("\n"):
            raise ValueError(f"a line has more than {_LONGEST:,} characters")
        yield line


def _records(file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a file, each with the number of its first line. Raises _BadLine: one is no CSV."""
    reader = csv.reader(_text_lines(file), delimiter=delimiter, strict=True)
    begin = 1
    try:
        for fields in reader:
            yield begin, fields
            begin = reader.line_num + 1
    except csv.Error as error:
        text = str(error)
        known = next((fault for part, fault in _FAULTS.items() if part in text), None)
        raise _BadLine(begin, *(known or (f"{text} (or a quote is not closed)", ""))) from None


def _lines(
    context: RowContext, clause: LoadCsv, records: Iterator[tuple[int, list[str]]]
) -> Iterator[Value]:
    header, names = next(records, (1, [])) if clause.headers else (1, None)
    nameless = [] if names is None else _nameless(header, names)
    for number, (begin, fields) in enumerate(records):
        if number % 4096 == 0:
            context.pulse()
        if not fields:
            continue
        if names is None:
            found: list[Value] = [field if field else None for field in fields]
            yield found
        else:
            lost = fields[len(names) :] or [fields[i] for i in nameless if i < len(fields)]
            if any(lost):
                reason = "it has a field in a column that the header gives no name"
                raise _BadLine(begin, reason, "Name all columns in the header.")
            line: dict[str, Value] = dict.fromkeys(names)
            line |= {k: v if v else None for k, v in zip(names, fields, strict=False)}
            yield line


def _nameless(line: int, names: list[str]) -> list[int]:
    """The columns without a name, where there are several; then they may hold nothing.

    Raises
    ------
    _BadLine : two columns have one name.
    """
    counts = Counter(names)
    double = next((name for name, times in counts.items() if name and times > 1), None)
    if double is not None:
        reason = f"the header names {counts[double]} columns {double!r}"
        cure = "Give each a name of its own, or leave WITH HEADERS out for lists of fields."
        raise _BadLine(line, reason, cure)
    return [i for i, name in enumerate(names) if not name] if counts[""] > 1 else []


def _shown_source(source: str, path: Path) -> str:
    """The name as it was given, and the file that it means where that is another."""
    return repr(source) if str(path) in source else f"{source!r} ({path})"


def _path(context: RowContext, clause: LoadCsv, source: str) -> Path:
    """The file that is meant. Where there is an import root, a `file:` address counts from it, as in Neo4j, and so
    does a relative path; an absolute path is what it is, and has to lie inside."""
    parts = urlparse(source)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        raise problem(
            *(ArgumentProblem, context.text, clause.source.place),
            f"LOAD CSV reads files of this machine, and {source!r} is elsewhere.",
            "Download it first.",
        )
    path = Path(unquote(parts.path) if parts.scheme else source)
    root = context.import_root
    if root is None:
        return path
    if parts.scheme and path.anchor:
        path = path.relative_to(path.anchor)
    try:
        path = (root / path).resolve()  # a path that is absolute stays what it is
        inside = path.is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that none can have
        inside = False
    if not inside:
        raise problem(
            *(ArgumentProblem, context.text, clause.source.place),
            f"the file {source!r} lies outside of the import root {str(root)!r}.",
            "Copy it there, or open the database with another import_root.",
        )
    return path

"""Sections of the results: a report, its program, date, machine and versions, in one JSON file each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report import table as tables
from benchmarks.report.machine import Machine
from benchmarks.report.table import Table

FOLDER = Path(__file__).resolve().parents[1] / "results"
_ROW_DEPTH = 4
"""Depth in a file at which a value takes one line: a row or a column of a table."""
_LINE = 100


@dataclass(frozen=True, slots=True)
class Report:
    """What a program measured: a paragraph on what and how, tables, and notes (sentences, shown as a list)."""

    introduction: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(introduction: str, tables: Iterable[Table], notes: Iterable[str] = ()) -> Report:
        """A report from any sequences."""
        return Report(introduction, tuple(tables), tuple(notes))

    def markdown(self) -> str:
        """The introduction, the tables below their captions, and the notes."""
        parts = [self.introduction, *(table.markdown() for table in self.tables)]
        parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Section:
    """A report and its circumstances.

    Parameters
    ----------
    title : the heading, which also names the file.
    program : the file that measured, below benchmarks/ ("storage/statements.py").
    date : of the day, in UTC, as ISO 8601 writes it.
    versions : of Python and of the distributions that took part, by name.
    """

    title: str
    program: str
    date: str
    machine: Machine
    versions: dict[str, str]
    report: Report

    @property
    def room(self) -> str:
        """The folder of the program."""
        return self.program.partition("/")[0]

    def where(self) -> str:
        """Date, machine, versions and program in one line."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        module = self.program.removesuffix(".py").replace("/", ".")
        command = f"`python -m benchmarks.{module}`"
        return f"{self.date}; {self.machine.sentence()}; {versions}; {command}."

    def markdown(self) -> str:
        """The section of the page."""
        return f"### {self.title}\n\n{self.where()}\n\n{self.report.markdown()}\n"


def anchor(title: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def file_of(title: str, folder: Path) -> Path:
    """The file of a section."""
    return folder / f"{anchor(title)}.json"


def read_all(folder: Path = FOLDER) -> dict[str, Section]:
    """Every section of a folder, by title."""
    found = (read(path) for path in sorted(folder.glob("*.json")))
    return {section.title: section for section in found}


def read(path: Path) -> Section:
    """The section of a file.

    Raises
    ------
    ValueError : the file is no section, or has the name of another.
    """
    try:
        section = from_json(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if file_of(section.title, path.parent) != path:
        raise ValueError(
            f"{path}: the section {section.title!r} belongs in {anchor(section.title)}.json"
        )
    return section


def write(section: Section, folder: Path = FOLDER) -> None:
    """Write or replace the file of a section.

    Raises
    ------
    ValueError : another program wrote a section of this title.
    """
    path = file_of(section.title, folder)
    if path.exists() and (other := read(path).program) != section.program:
        raise ValueError(
            f"{path} is of {other}: give the section of {section.program} another title"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(section), encoding="utf-8")


def text_of(section: Section) -> str:
    """The file of a section: JSON, a line for each row."""
    value = {
        "title": section.title,
        "program": section.program,
        "date": section.date,
        "machine": asdict(section.machine),
        "versions": section.versions,
        "introduction": section.report.introduction,
        "tables": [tables.to_json(table) for table in section.report.tables],
        "notes": list(section.report.notes),
    }
    return f"{_dumped(value, 0)}\n"


def _dumped(value: object, depth: int) -> str:
    whole = json.dumps(value, ensure_ascii=False)
    if depth >= _ROW_DEPTH or (depth > 0 and len(whole) <= _LINE):
        return whole
    inner, outer = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    match value:
        case dict():
            parts = [f"{json.dumps(k)}: {_dumped(v, depth + 1)}" for k, v in value.items()]
            return f"{{{inner}{f',{inner}'.join(parts)}{outer}}}"
        case list():
            return f"[{inner}{f',{inner}'.join(_dumped(v, depth + 1) for v in value)}{outer}]"
        case _:
            return whole


def from_json(value: object) -> Section:
    """The section that `text_of` wrote. Raises ValueError where a field is absent or of another type."""
    match value:
        case {
            "title": str(title),
            "program": str(program),
            "date": str(date),
            "machine": dict(machine),
            "versions": dict(versions),
            "introduction": str(introduction),
            "tables": list(rows),
            "notes": list(notes),
        }:
            report = Report.of(introduction, map(tables.from_json, rows), map(str, notes))
            names = {str(name): str(version) for name, version in versions.items()}
            return Section(title, program, date, _machine(machine), names, report)
        case _:
            raise ValueError("not a section of the results")


def _machine(value: Mapping[str, object]) -> Machine:
    match value:
        case {
            "processor": str(processor),
            "cores": int(cores),
            "memory_gib": int(memory),
            "gpu": str() | None as gpu,
            "system": str(system),
            "loop_us": int() | None as loop,
        }:
            return Machine(processor, cores, memory, gpu, system, loop)
        case _:
            raise ValueError(f"not a machine: {dict(value)}")

"""The report of an import: counts, rejected rows, and a readable text."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Literal

from gdb.errors import ImportFailed, LinesSkipped
from gdb.records import dataclass, field

LOUD = 0.01  # more than this share of skipped rows is worth a warning


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a line: why, the cure, and the number of the column where it is, from 1 (None: the line)."""

    reason: str
    cure: str = ""
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that was skipped: numbers of line and column from 1 (column None: the whole line), its text and why."""

    file: str
    line: int
    column: int | None
    reason: str
    text: str


@dataclass(slots=True)
class FileReport:
    """One input file: its format, rows read and lines skipped."""

    file: str
    format: str
    rows: int = 0
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(slots=True)
class LoadReport:
    """The result of `Database.load`.

    vertices, edges : added to the graph. updated : vertices whose properties were written over.
    multi_edges : edges beyond the first between two vertices of one type;
    self_loops : edges from a vertex to itself; both are counted whether kept or dropped.
    """

    files: list[FileReport] = field(default_factory=list)
    vertices: int = 0
    edges: int = 0
    updated: int = 0
    multi_edges: int = 0
    self_loops: int = 0
    dropped: frozenset[str] = frozenset()
    seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows taken from all files; rejected ones are not counted."""
        return sum(f.rows for f in self.files)

    @property
    def rejected(self) -> list[Rejected]:
        """The rejected rows of all files that are listed, in the order of the files."""
        return [r for f in self.files for r in f.rejected]

    def __str__(self) -> str:
        lines = [f"{f.file}: {f.rows:,} rows ({f.format})" + self._skipped(f) for f in self.files]
        lines.append(
            f"added {self.vertices:,} nodes and {self.edges:,} relationships in {self.seconds:.1f} s"
        )
        if self.updated:
            lines.append(f"updated {self.updated:,} nodes")
        for name, count in (("multi-edges", self.multi_edges), ("self-loops", self.self_loops)):
            if count:
                fate = "dropped" if name in self.dropped else "kept"
                lines.append(f"{name}: {count:,} {fate}")
        lines += [
            f"skipped {r.file}:{r.line}: {r.reason}: {r.text[:80]!r}" for r in self.rejected[:10]
        ]
        if len(self.rejected) > 10:
            lines.append(
                f"... and {len(self.rejected) - 10:,} more skipped lines (report.rejected)"
            )
        return "\n".join([*lines, *(f"WARNING: {w}" for w in self.warnings)])

    @staticmethod
    def _skipped(file: FileReport) -> str:
        return f", {len(file.rejected):,} skipped" if file.rejected else ""


@dataclass(slots=True)
class Rejects:
    """Decides about bad lines: raise at the first, or list them up to `most`."""

    mode: Literal["raise", "skip"]
    most: int
    count: int = 0

    @property
    def shown(self) -> int:
        """How many bad lines are looked at at most: one more than may be skipped."""
        return 1 if self.mode == "raise" else self.most + 1

    def add(self, report: FileReport, line: int, text: str, fault: Fault) -> None:
        """Reject a line.

        Raises
        ------
        ImportFailed : in mode "raise", or beyond the most lines that may be skipped.
        """
        if self.mode == "raise":
            cure = fault.cure or 'Mend the line, or pass on_error="skip".'
            raise ImportFailed(fault.reason, cure, file=report.file, line=line, text=text)
        self.count += 1
        if self.count > self.most:
            raise ImportFailed(
                f"{fault.reason}; more than {self.most:,} lines are wrong",
                "Mend the file, or raise max_errors=.",
                file=report.file,
                line=line,
                text=text,
            )
        report.rejected.append(Rejected(report.file, line, fault.column, fault.reason, text))


@contextmanager
def written_rejects(report: LoadReport, path: Path | None) -> Iterator[None]:
    """Write what is skipped in the block as a CSV file, also where the block ends with an error; None writes nothing.

    Raises
    ------
    ImportFailed : there is something at `path`, or it cannot be written.
    """
    if path is None:
        yield
        return
    with _reported(path):  # made first, so that a wrong name raises before the work
        stream = path.open("x", encoding="utf-8", errors="replace", newline="")
    try:
        yield
    finally:
        with _reported(path), stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([each.name for each in fields(Rejected)])
            writer.writerows(astuple(rejected) for rejected in report.rejected)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into ours."""
    try:
        yield
    except FileExistsError:
        raise ImportFailed(
            "is there already", "Name a new file for the skipped lines.", file=str(path)
        ) from None
    except OSError as error:
        raise ImportFailed(
            f"cannot be written ({error.strerror})", "Check the path.", file=str(path)
        ) from None


def loud(report: LoadReport) -> None:
    """Warn where more than 1 % of a file was skipped: in the report, and as a Python warning too."""
    for file in report.files:
        total = file.rows + len(file.rejected)
        if file.rejected and len(file.rejected) > LOUD * total:
            share = 100.0 * len(file.rejected) / total
            text = f"{file.file}: {len(file.rejected):,} of {total:,} lines ({share:.1f} %) were skipped"
            report.warnings.append(text)
            warnings.warn(text, LinesSkipped, stacklevel=2)

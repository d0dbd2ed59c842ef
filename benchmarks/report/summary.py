"""The summary of the results: each subject, ours beside the best peer, from the tables of the sections."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.report.section import Section, anchor
from benchmarks.report.table import Cell, Over, Table, figures


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the summary.

    Parameters
    ----------
    subject : what was measured.
    ours, peer : values in `unit`; a peer may be known only to be over its limit, or absent.
    name : of the best peer, "" where several were taken together or none ended.
    more : whether more is better, as of rows per second.
    section : the section that the values are from.
    """

    subject: str
    ours: float
    peer: float | Over | None
    unit: str
    name: str
    more: bool
    section: Section

    def ratio(self) -> float | Over | None:
        """How many times better than the peer: above 1 ours is quicker or smaller."""
        match self.peer:
            case None:
                return None
            case Over(bound=bound):
                return Over(bound / self.ours)
            case peer:
                return self.ours / peer if self.more else peer / self.ours

    def cells(self) -> tuple[str, str, str]:
        """Ours, the best peer and the ratio, as text: the rows of a summary have several units."""
        name = f" ({self.name})" if self.name else ""
        peer = "-" if self.peer is None else f"{_text(self.peer)} {self.unit}{name}"
        ratio = self.ratio()
        return f"{figures(self.ours)} {self.unit}", peer, "-" if ratio is None else _text(ratio)


def _text(value: float | Over) -> str:
    return f"> {figures(value.bound)}" if isinstance(value, Over) else figures(value)


def number(cell: Cell) -> float | None:
    """The number of a cell; None where it has none, is wrong, or was stopped."""
    return float(cell) if isinstance(cell, (int, float)) else None


def compared(
    subject: str,
    ours: Cell,
    peers: Mapping[str, Cell],
    unit: str,
    section: Section,
    *,
    more: bool = False,
) -> Line | None:
    """A row of one measurement; None where ours has no number."""
    mine = number(ours)
    if not mine:
        return None
    ended = {name: value for name, cell in peers.items() if (value := number(cell))}
    if ended:
        best = (max if more else min)(ended, key=lambda name: ended[name])
        return Line(subject, mine, ended[best], unit, best, more, section)
    stopped = [float(cell.bound) for cell in peers.values() if isinstance(cell, Over)]
    peer = Over(min(stopped)) if stopped else None
    return Line(subject, mine, peer, unit, "", more, section)


# ---- the shapes of tables ------------------------------------------------------------------------

Maker = Callable[[Section], Iterator[Line | None]]


def _records(table: Table) -> list[dict[str, Cell]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def engines(name: str) -> Maker:
    """A table with a row for each engine and a column for each query; ours is the last row of it, with the most
    threads. Of columns "p50" and "p99" the first counts."""

    def lines(section: Section) -> Iterator[Line | None]:
        table = section.report.tables[0]
        records = _records(table)
        ours = [row for row in records if str(row["engine"]).startswith("ours")]
        others = [row for row in records if not str(row["engine"]).startswith(("ours", "floor"))]
        for column in table.columns[1:]:
            if ours and not column.name.endswith(" p99"):
                peers = {str(row["engine"]): row[column.name] for row in others}
                subject = f"{name}: {column.name.removesuffix(' p50')}"
                yield compared(subject, ours[-1][column.name], peers, column.unit, section)

    return lines


def rows(subject: str, key: str, ours: str, peers: Mapping[str, str], table: int = 0) -> Maker:
    """A table with a row for each subject.

    Parameters
    ----------
    subject : a template with {} for the cell of the column `key`.
    ours : the column of ours.
    peers : columns of the peers that may take part, and the names that the summary gives them.
    table : the place of the table in the section.
    """

    def lines(section: Section) -> Iterator[Line | None]:
        found = section.report.tables[table]
        unit = found.columns[found.position(ours)].unit
        for row in _records(found):
            others = {name: _either(row, column) for column, name in peers.items() if column in row}
            if any(cell not in (None, "", "-") for cell in others.values()):
                yield compared(subject.format(row[key]), row[ours], others, unit, section)

    return lines


def _either(row: Mapping[str, Cell], column: str) -> Cell:
    """A cell; where nothing ran again, why not, from the column of the first run."""
    return row.get(column.replace("again", "first")) if row[column] is None else row[column]


def systems(subject: str, column: str, *, more: bool = False) -> Maker:
    """A table with a row for each system, ours first."""

    def lines(section: Section) -> Iterator[Line | None]:
        table = section.report.tables[0]
        unit = table.columns[table.position(column)].unit
        first, *rest = _records(table)
        peers = {str(r["system"]): r[column] for r in rest if "gdb" not in str(r["system"])}
        yield compared(subject, first[column], peers, unit, section, more=more)

    return lines


def statements(section: Section) -> Iterator[Line | None]:
    """A row for each statement and system, the times in the first table and the rates in the second: the largest
    graph."""
    for table, more in zip(section.report.tables, (False, True), strict=True):
        column, records = table.columns[-1], _records(table)
        for statement in dict.fromkeys(str(row["statement"]) for row in records):
            own = {r["system"]: r[column.name] for r in records if r["statement"] == statement}
            peers = {str(name): cell for name, cell in own.items() if "gdb" not in str(name)}
            yield compared(statement, own["gdb"], peers, column.unit, section, more=more)


def means(subject: str, ours: str, peers: Iterable[str]) -> Maker:
    """One row for a table: geometric means of ours and of the best peer's, over the rows where both ended."""

    def lines(section: Section) -> Iterator[Line | None]:
        table = section.report.tables[0]
        pairs = []
        for row in _records(table):
            mine = number(row[ours])
            others = [value for peer in peers if (value := number(row.get(peer)))]
            if mine and others:
                pairs.append((mine, min(others)))
        if not pairs:
            return
        own, best = (statistics.geometric_mean(values) for values in zip(*pairs, strict=True))
        unit = table.columns[table.position(ours)].unit
        title = f"{subject} (mean of {len(pairs)})"
        yield Line(title, own, best, unit, "", False, section)

    return lines


# ---- the subjects --------------------------------------------------------------------------------

_PATHS = {"kuzu": "kuzu", "ladybug": "ladybug", "DuckDB": "DuckDB"}
_LSQB = {"DuckDB, again": "DuckDB", "ladybug, again": "ladybug"}
_DUCKDB = {"DuckDB": "DuckDB"}
SUBJECTS: tuple[tuple[str, Maker], ...] = (
    ("Peers on the CPU: enron", engines("enron")),
    ("Peers on the CPU: hprd", engines("hprd")),
    ("Peers on the CPU: rmat10m", engines("rmat10m")),
    (
        "Unlabelled patterns: wiki-vote on cpu",
        means("wiki-vote on 2 CPU cores, peers on a GPU", "in all", ["gmatch", "tdfs"]),
    ),
    *(
        (f"GPU: {graph}", means(f"{graph} on a GPU", "kernel", ["best peer"]))
        for graph in ("email-Enron_l16", "wiki-Vote", "rmat10m", "rmat10m_l16")
    ),
    ("Temporal patterns", rows("temporal: {}", "pattern", "cpu", _DUCKDB)),
    ("Temporal patterns on a GPU", rows("temporal, on a GPU: {}", "pattern", "cuda", _DUCKDB)),
    (
        "Counts of each vertex",
        rows("{} of each vertex", "pattern", "counted", {"networkx": "networkx"}),
    ),
    ("LSQB: lsqb-sf0.003", rows("LSQB, small: {}", "query", "gdb, again", _LSQB)),
    (
        "LSQB: a generated graph",
        rows("LSQB, 25 million relationships: {}", "query", "gdb, again", _LSQB),
    ),
    ("Paths of variable length", rows("{}, random graph", "query", "gdb", _PATHS)),
    ("Paths of variable length", rows("{}, R-MAT", "query", "gdb", _PATHS, table=1)),
    ("Several clauses", rows("{}", "query", "columns", _DUCKDB)),
    ("Transactions", systems("commits of one relationship", "commits", more=True)),
    (
        "Bulk import, 10,000,000 relationships",
        systems("bulk import of 10,000,000 relationships", "import"),
    ),
    ("Statements", statements),
)


def lines(sections: Mapping[str, Section]) -> list[Line]:
    """All rows of the summary, from the sections by title; sections that are absent have none."""
    return [
        line
        for title, maker in SUBJECTS
        if title in sections
        for line in maker(sections[title])
        if line is not None
    ]


def table(sections: Mapping[str, Section]) -> Table:
    """The summary as a table whose subjects link to their sections."""
    return Table.of(
        ("subject", "ours", "best peer", "ratio", "date", "machine"),
        [
            (
                f"[{line.subject}](#{anchor(line.section.title)})",
                *line.cells(),
                line.section.date,
                line.section.machine.short(),
            )
            for line in lines(sections)
        ],
    )

"""The report of a graph: engines by queries, ratios, memory, loading; and which answers do not agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from benchmarks.peers.engine import FLOOR, OURS, PEERS
from benchmarks.peers.measure import Measured, Run
from benchmarks.peers.workload import POINTS, Query
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Over, Table, Wrong

Content: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]
CellOf: TypeAlias = Callable[[str, Measured], Cell]


@dataclass(slots=True)
class GraphReport:
    """All that was measured on a graph; rows are engines, for ours one for each number of threads."""

    graph: str
    sizes: str
    queries: dict[str, Query]
    cells: dict[tuple[str, str], Measured] = field(default_factory=dict)  # (row, query)
    loads: dict[str, tuple[Measured, int]] = field(default_factory=dict)  # store: bytes on disk

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(row for row, _ in self.cells))

    def value(self, row: str, query: str) -> float | None:
        """What a ratio compares: seconds, for hop2 the p50; None if there is no answer or a wrong one."""
        cell = self.cells.get((row, query))
        if cell is None or cell.outcome != "measured" or differs(self, row, query):
            return None
        return cell.p50 / 1e3 if query == "hop2" else cell.seconds


def is_ours(row: str) -> bool:
    """Whether a row is one of ours."""
    return row.startswith(OURS)


def disagreements(report: GraphReport) -> list[str]:
    """The answers that differ from those that most engines gave, or from the known count."""
    found = []
    for name, query in report.queries.items():
        common = _common(report, name)
        if common is None:
            continue
        for row in (row for row in report.rows if differs(report, row, name)):
            given = {run.count for run in _whole_runs(report, row, name)}
            said = " and ".join(f"{count:,}" for count in sorted(given))
            found.append(f"{name}: {row} says {said}; most engines {common[0]:,}")
        known = query.pattern.known if query.pattern is not None else None
        if known is not None and common[0] != known:
            found.append(f"{name}: most engines say {common[0]:,}, known is {known:,}")
    return found


def differs(report: GraphReport, row: str, query: str) -> bool:
    """Whether an answer of an engine is not the one that most engines gave."""
    common = _common(report, query)
    return any(_content(run) != common for run in _whole_runs(report, row, query))


def _common(report: GraphReport, query: str) -> Content | None:
    """The answer that most engines gave; each is heard once, ours too."""
    given = {
        (OURS if is_ours(row) else row, _content(run))
        for row in report.rows
        for run in _whole_runs(report, row, query)
    }
    return Counter(content for _, content in sorted(given)).most_common(1)[0][0] if given else None


def _whole_runs(report: GraphReport, row: str, query: str) -> list[Run]:
    """The runs of a cell that are complete: point queries may have ended before."""
    cell = report.cells.get((row, query))
    if cell is None:
        return []
    return [run for run in cell.runs if query != "hop2" or run.points == POINTS]


def _content(run: Run) -> Content:
    return run.count, tuple(sorted(run.groups.items()))


def failures(report: GraphReport) -> list[str]:
    """What failed or was stopped, with the reason."""
    named = [
        f"{query}: {row}: {cell.note}"
        for (row, query), cell in report.cells.items()
        if cell.outcome == "failed"
    ]
    named += [
        f"{query}: {row} ended a run early: {cell.note}"
        for (row, query), cell in report.cells.items()
        if cell.outcome == "measured" and cell.note
    ]
    named += [
        f"loading {store}: {load.note}"
        for store, (load, _) in report.loads.items()
        if load.outcome != "measured"
    ]
    return named


def tables(found: GraphReport) -> list[Table]:
    """All tables of a graph."""
    own = [row for row in found.rows if is_ours(row)]
    made = [_times(found), _ratios(found)]
    if own:
        first = "The first run of ours in a fresh process (it compiles; hop2: all queries):"
        above = "Ours, memory that the runs add to the resident memory after opening the store:"
        made += [
            _table(found, "s", _first_run, own, first),
            _table(found, "MiB", _above, own, above),
        ]
    peak = "Peak resident memory of the process:"
    made.append(_table(found, "MiB", _peak, found.rows, peak))
    return made + ([_loads(found)] if found.loads else [])


def report(found: GraphReport, introduction: str) -> Report:
    """All tables of a graph, its counts, and what differs or failed."""
    counts = [f"{name} {count:,}" for name, count in _counts(found).items()]
    partial = [f"{row} {most}" for row in found.rows if (most := _points(found, row)) < POINTS]
    return Report.of(
        f"{found.sizes} {introduction}",
        tables(found),
        [
            *([f"hop2, queries before the limit: {', '.join(partial)}"] if partial else []),
            f"Counts: {', '.join(counts)}",
            *(f"differs: {line}" for line in disagreements(found)),
            *(f"failed: {line}" for line in failures(found)),
        ],
    )


def _points(found: GraphReport, row: str) -> int:
    """The point queries that each run of an engine answered at least; all where there were none."""
    cell = found.cells.get((row, "hop2"))
    return min((run.points for run in cell.later), default=POINTS) if cell is not None else POINTS


def _counts(report: GraphReport) -> dict[str, int]:
    answers = {query: _common(report, query) for query in report.queries}
    return {query: answer[0] for query, answer in answers.items() if answer is not None}


def _times(found: GraphReport) -> Table:
    """Seconds; an answer that differs from the others' is marked."""
    header: list[str | Column] = ["engine"]
    for query in found.queries:
        two = [Column("hop2 p50", "ms"), Column("hop2 p99", "ms")]
        header += two if query == "hop2" else [Column(query, "s")]
    body = []
    for row in found.rows:
        line: list[Cell] = [row]
        for query in found.queries:
            cell, number = found.cells.get((row, query)), 1 + (query == "hop2")
            line += [None] * number if cell is None else _time(found, row, query, cell)
        body.append(line)
    return Table.of(
        header,
        body,
        f"Medians of the runs after the first; hop2: p50 and p99 of {POINTS} queries; `>`: stopped at this limit, "
        "`-`: not supported.",
    )


def _table(found: GraphReport, unit: str, cell_of: CellOf, rows: list[str], caption: str) -> Table:
    header: Header = ("engine", *(Column(query, unit) for query in found.queries))
    body = []
    for row in rows:
        cells = [found.cells.get((row, query)) for query in found.queries]
        named = zip(found.queries, cells, strict=True)
        body.append([row, *(None if c is None else cell_of(query, c) for query, c in named)])
    return Table.of(header, body, caption)


def _time(found: GraphReport, row: str, query: str, cell: Measured) -> list[Cell]:
    """The seconds of a query, or p50 and p99 of hop2."""
    if cell.outcome != "measured":
        return [_missing(cell)] * (1 + (query == "hop2"))
    values = [cell.p50, cell.p99] if query == "hop2" else [cell.seconds]
    return [Wrong(value) if differs(found, row, query) else value for value in values]


def _missing(cell: Measured) -> Cell:
    """Why there are no seconds."""
    match cell.outcome:
        case "unsupported":
            return "-"
        case "stopped":
            over = re.fullmatch(r"over ([\d.]+) s", cell.note)
            return Over(float(over[1])) if over else cell.note
        case _:
            return "error"


def _no_memory(cell: Measured) -> Cell:
    """Why there are no bytes."""
    return "stopped" if cell.outcome == "stopped" else _missing(cell)


def _first_run(query: str, cell: Measured) -> Cell:
    return cell.runs[0].seconds if cell.runs else _missing(cell)


def _above(query: str, cell: Measured) -> Cell:
    return round(cell.above / 2**20) if cell.runs else _no_memory(cell)


def _peak(query: str, cell: Measured) -> Cell:
    return round(cell.peak / 2**20) if cell.runs else _no_memory(cell)


def _ratios(found: GraphReport) -> Table:
    body = list[list[Cell]]()
    for row in filter(is_ours, found.rows):
        body.append([f"{row} / best peer", *(_ratio(found, row, q) for q in found.queries)])
        floor = [_over(found.value(row, q), found.value(FLOOR, q)) for q in found.queries]
        body.append([f"{row} / floor", *floor])
    best = [_best_peer(found, query)[0] for query in found.queries]
    body.append(["(the best peer)", *best])
    caption = "Ours against the quickest peer, and against the floor (below 1 is quicker):"
    return Table.of(("ratio", *found.queries), body, caption)


def _ratio(found: GraphReport, row: str, query: str) -> Cell:
    return _over(found.value(row, query), _best_peer(found, query)[1])


def _best_peer(report: GraphReport, query: str) -> tuple[str, float | None]:
    """The peer with the least value for a query; "none" if no peer was measured."""
    known = [(row, report.value(row, query)) for row in report.rows if row in PEERS]
    values = [(value, row) for row, value in known if value is not None]
    if not values:
        return "none", None
    value, row = min(values)
    return row, value


def _over(one: float | None, other: float | None) -> Cell:
    return None if one is None or not other else one / other


def _loads(found: GraphReport) -> Table:
    body: list[list[Cell]] = [
        [
            store,
            load.opened if load.outcome == "measured" else _missing(load),
            size / 1e6,
            round(load.peak / 2**20),
        ]
        for store, (load, size) in found.loads.items()
    ]
    header = ("store", Column("load", "s"), Column("disk", "MB", 1), Column("peak", "MiB"))
    return Table.of(header, body, "Loading from CSV:")

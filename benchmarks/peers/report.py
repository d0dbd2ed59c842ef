"""The tables: engines by queries, ratios, memory, loading; and which answers do not agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import results
from peers.engine import FLOOR, OURS, PEERS
from peers.measure import Measured, Run
from peers.workload import POINTS, Query

Content: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]
CellText: TypeAlias = Callable[[str, Measured], str]


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


def text(report: GraphReport) -> str:
    """All tables of a graph."""
    parts = [
        f"{report.sizes} Seconds, medians of the runs after the first; hop2: ms p50 / p99 of "
        f"{POINTS} queries; `>` stopped at this limit, `-` cannot be asked.",
        _times(report),
        "Ours against the quickest peer, and against the floor (below 1 is quicker):",
        _ratios(report),
    ]
    if any(is_ours(row) for row in report.rows):
        parts += [
            "The first run of ours in a fresh process, seconds (it compiles; hop2: all queries):",
            _table(report, _first_run, [row for row in report.rows if is_ours(row)]),
            "Ours, MiB that the runs add to the resident memory after opening the store:",
            _table(report, _above, [row for row in report.rows if is_ours(row)]),
        ]
    parts += ["Peak resident memory of the process, MiB:", _table(report, _peak, report.rows)]
    if report.loads:
        parts += ["Loading from CSV:", _loads(report)]
    counts = [f"{name} {count:,}" for name, count in _counts(report).items()]
    parts.append(f"Counts: {', '.join(counts)}.")
    for title, lines in (("Differ", disagreements(report)), ("Failed", failures(report))):
        if lines:
            parts.append(f"{title}:\n\n" + "\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts)


def _counts(report: GraphReport) -> dict[str, int]:
    answers = {query: _common(report, query) for query in report.queries}
    return {query: answer[0] for query, answer in answers.items() if answer is not None}


def _times(report: GraphReport) -> str:
    """Seconds; an answer that differs from the others' is marked."""
    body = []
    for row in report.rows:
        line = [row]
        for query in report.queries:
            cell = report.cells.get((row, query))
            mark = " wrong" if differs(report, row, query) else ""
            line.append("" if cell is None else _time(query, cell) + mark)
        body.append(line)
    return results.table(("engine", *report.queries), body)


def _table(report: GraphReport, cell: CellText, rows: list[str]) -> str:
    body = []
    for row in rows:
        cells = [report.cells.get((row, query)) for query in report.queries]
        named = zip(report.queries, cells, strict=True)
        body.append([row, *("" if c is None else cell(query, c) for query, c in named)])
    return results.table(("engine", *report.queries), body)


def _time(query: str, cell: Measured) -> str:
    if cell.outcome != "measured":
        return _missing(cell)
    if query != "hop2":
        return figures(cell.seconds)
    least = min(run.points for run in cell.later)
    partial = "" if least == POINTS else f" ({least})"
    return f"{figures(cell.p50)} / {figures(cell.p99)}{partial}"


def _missing(cell: Measured) -> str:
    match cell.outcome:
        case "unsupported":
            return "-"
        case "stopped":
            return cell.note.replace("over ", ">")
        case _:
            return "error"


def _first_run(query: str, cell: Measured) -> str:
    return figures(cell.runs[0].seconds) if cell.runs else _missing(cell)


def _above(query: str, cell: Measured) -> str:
    return f"{cell.above / 2**20:.0f}" if cell.runs else _missing(cell)


def _peak(query: str, cell: Measured) -> str:
    return f"{cell.peak / 2**20:.0f}" if cell.runs else _missing(cell)


def _ratios(report: GraphReport) -> str:
    body = []
    for row in filter(is_ours, report.rows):
        body.append([f"{row} / best peer", *(_ratio(report, row, q) for q in report.queries)])
        floor = [_over(report.value(row, q), report.value(FLOOR, q)) for q in report.queries]
        body.append([f"{row} / floor", *floor])
    best = [_best_peer(report, query)[0] for query in report.queries]
    body.append(["(the best peer)", *best])
    return results.table(("ratio", *report.queries), body)


def _ratio(report: GraphReport, row: str, query: str) -> str:
    return _over(report.value(row, query), _best_peer(report, query)[1])


def _best_peer(report: GraphReport, query: str) -> tuple[str, float | None]:
    """The peer with the least value for a query; "none" if no peer was measured."""
    known = [(row, report.value(row, query)) for row in report.rows if row in PEERS]
    values = [(value, row) for row, value in known if value is not None]
    if not values:
        return "none", None
    value, row = min(values)
    return row, value


def _over(one: float | None, other: float | None) -> str:
    return "" if one is None or not other else figures(one / other)


def _loads(report: GraphReport) -> str:
    body = [
        [
            store,
            figures(load.opened) if load.outcome == "measured" else _missing(load),
            f"{size / 1e6:.1f}",
            f"{load.peak / 2**20:.0f}",
        ]
        for store, (load, size) in report.loads.items()
    ]
    return results.table(("store", "seconds", "MB on disk", "peak MiB"), body)


def figures(number: float) -> str:
    """A number with three significant digits, never in powers of ten."""
    if number >= 100:
        return f"{number:,.0f}"
    if number <= 0:
        return "0"
    places = 2
    while number < 10 ** (2 - places) and places < 9:
        places += 1
    return f"{number:.{places}f}" if number < 10 else f"{number:.1f}"

"""The reports of programs that need a GPU, other engines or several processes, made of values that are given here."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import gdb
from benchmarks.gpu import choose_device, pattern_counts, row_listing
from benchmarks.inputs.patterns import Pattern
from benchmarks.inputs.published import Subject
from benchmarks.peers import report, workload
from benchmarks.peers.measure import Measured, Run
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Over, Table, Wrong
from benchmarks.scale import several_processes

PATTERN = Pattern("q1", (None,) * 3, ((0, 1), (1, 2), (0, 2)))


def ran(seconds: float, count: int, points: int = 0) -> Run:
    return Run(seconds, count, {}, points, 0.2, 0.4)


def test_a_comparison_of_engines() -> None:
    queries = {name: workload.queries("enron")[name] for name in ("tri", "hop2")}
    found = report.GraphReport("enron", "3 vertices.", queries)
    point = workload.POINTS
    slow = Measured("stopped", note="over 5 s")
    found.cells = {
        ("ours, 1 thread", "tri"): Measured(
            "measured", (ran(9.0, 7), ran(0.5, 7)), query_peak=5 << 20
        ),
        ("ours, 1 thread", "hop2"): Measured("measured", (ran(1.0, 4, point),)),
        ("kuzu", "tri"): Measured("measured", (ran(2.0, 7), ran(1.0, 7)), peak=3 << 20),
        ("kuzu", "hop2"): Measured("measured", (ran(1.0, 4, 453),)),
        ("duckdb", "tri"): Measured("measured", (ran(0.1, 8),)),
        ("duckdb", "hop2"): slow,
        ("igraph", "tri"): Measured("unsupported"),
        ("igraph", "hop2"): Measured("failed", note="no memory"),
    }
    whole = report.report(found, "How.")
    times, ratios, first, above, peak = whole.tables
    assert [(c.name, c.unit) for c in times.columns][1:] == [
        *(("tri", "s"), ("hop2 p50", "ms"), ("hop2 p99", "ms")),
    ]
    assert times.rows == (
        ("ours, 1 thread", 0.5, 0.2, 0.4),
        ("kuzu", 1.0, 0.2, 0.4),
        ("duckdb", Wrong(0.1), Over(5.0), Over(5.0)),
        ("igraph", "-", "error", "error"),
    )
    assert ratios.rows[0] == ("ours, 1 thread / best peer", 0.5, 1.0)
    assert first.rows == (("ours, 1 thread", 9.0, 1.0),)
    assert above.rows == (("ours, 1 thread", 5, 0),)
    assert peak.rows[1:3] == (("kuzu", 3, 0), ("duckdb", 0, "stopped"))
    assert whole.notes == (
        "hop2, queries before the limit: kuzu 453",
        "Counts: tri 7, hop2 4",
        "differs: tri: duckdb says 8; most engines 7",
        "failed: hop2: igraph: no memory",
    )


def test_counts_on_a_gpu() -> None:
    subject = Subject(PATTERN, 24, {"a": 6.0, "b": None})
    right = pattern_counts.Counted("g", subject, 24, kernel=2.0, beside=1.0, first=9.0)
    alone = pattern_counts.Counted("g", Subject(PATTERN, None, {"a": None}), 5, 2.0, 1.0, 9.0)
    failed = pattern_counts.Counted("g", subject, note="OutOfBudget: no")
    found = pattern_counts.report([right, alone, failed])
    assert found.tables[0].rows == (
        ("g", "q1", 24, 2.0, 1.0, 9.0, 6.0, "a", 3.0),
        ("g", "q1", 5, 2.0, 1.0, 9.0, None, "all stopped", None),
        ("g", "q1", None, None, None, None, 6.0, "a", None),
    )
    assert found.notes == (
        "g: 3.00 times quicker (geometric mean), ahead in 1 of 1",
        "g q1: OutOfBudget: no",
    )


def test_rows_from_a_gpu() -> None:
    listed = row_listing.Listed("paths", "host", 10, 120_000_000, 0.5, 0.01, 0.002, True)
    (row,) = row_listing.table([listed]).rows
    assert row == ("paths", "host", 10, 0.12, 0.01, 12.0, 0.002, 0.5)


def test_a_choice_that_does_not_end_has_no_regret_in_numbers() -> None:
    seconds = {"cpu first": 1.0, "cuda first": 2.0, "auto first": math.inf}
    again = {"cpu again": 1.0, "cuda again": 0.5, "auto again": 0.5}
    asked = choose_device.Asked("yeast", "q", seconds | again, {"auto first": "cuda:0"}, {3, 4})
    found = choose_device.report([asked], 2.0)
    late, quick, *_ = found.tables[0].rows
    assert late == ("yeast", "first", 1, 0, 0, "not ended", "not ended", "not ended")
    assert quick == ("yeast", "again", 1, 1, 100, 1.0, 1.0, 1.0)
    assert found.notes[-1] == "yeast q: devices disagree: {3, 4}"


# ---- several processes ---------------------------------------------------------------------------


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Report]]:
    """The sections that are saved, in place of files."""
    found: list[tuple[str, Report]] = []

    def save(program: str, title: str, one: Report, *_: str) -> None:
        assert Path(program).name == "several_processes.py"
        found.append((title, one))

    monkeypatch.setattr(page, "save", save)
    return found


def bench(tmp_path: Path, *line: str) -> several_processes.Bench:
    subject = Subject(PATTERN, None, {})
    arguments = several_processes.arguments_of(["--save", *line])
    return several_processes.Bench(gdb.connect(), arguments, tmp_path, [subject], [subject])


def test_a_run_cut_off_keeps_the_parts_before(
    saved: list[tuple[str, Report]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kills of pairs are cut off; those of one worker, and the part before, are saved."""

    def killed(
        _: object, __: object, ___: Path, runs: int, victims: int
    ) -> tuple[tuple[Cell, ...], int]:
        if victims == 2:
            raise KeyboardInterrupt
        return (victims, 4, runs, 0.4, 0.2, 10, runs, 0, 0, 0, 0), 0

    table = Table.of(("pattern",), [("q1",)])
    monkeypatch.setattr(several_processes, "shared", lambda *_: table)
    monkeypatch.setattr(several_processes, "killed", killed)
    given = bench(tmp_path, "--kills", "3", "--pairs", "2", "--workers", "4", "--threads", "1")
    assert several_processes.patterns(given) == 0
    with pytest.raises(KeyboardInterrupt):
        several_processes.kills(given)
    assert [title for title, _ in saved] == [
        *("Several processes: patterns", "Several processes: kills"),
    ]
    assert saved[0][1].tables == (table,)
    assert saved[1][1].tables[0].rows == ((1, 4, 3, 0.4, 0.2, 10, 3, 0, 0, 0, 0),)
    assert "4 processes of 1 threads" in saved[1][1].introduction


def test_no_kills_save_nothing(saved: list[tuple[str, Report]], tmp_path: Path) -> None:
    assert several_processes.kills(bench(tmp_path)) == 0
    assert not saved

"""The summary of benchmarks/RESULTS.md and the table of the README say what the sections say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.report import page, section, summary
from benchmarks.report.machine import Machine
from benchmarks.report.section import Report, Section
from benchmarks.report.table import Cell, Column, Over, Table, Wrong

SECTIONS = section.read_all()
MACHINE = Machine("A processor", 2, 24, None, "Linux", 9)


def one(title: str, table: Table, machine: Machine = MACHINE) -> dict[str, Section]:
    report = Report.of("", [table])
    return {title: Section(title, "matching/floors.py", "2026-11-21", machine, {}, report)}


def engines() -> dict[str, Section]:
    columns = (*(Column(name, "s") for name in ("tri", "c4", "k4")), Column("hop2 p50", "ms"))
    rows: list[tuple[Cell, ...]] = [
        ("ours, 1 thread", 0.9, 0.9, 0.9, 0.9, 0.9),
        ("ours, 2 threads", 0.5, 0.25, 1.0, 0.2, 0.445),
        ("one", 1.0, Over(5), Wrong(0.1), 0.1, 1),
        ("two", 2.0, Over(20), Over(5), "-", "-"),
        ("floor", 0.001, 0.1, 0.1, 0.1, 0.1),
    ]
    table = Table.of(("engine", *columns, Column("hop2 p99", "ms")), rows)
    return one("Peers on the CPU: enron", table)


def test_the_page_and_the_readme_are_current(repository: Path) -> None:
    """`make results` makes both anew."""
    text = (repository / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    assert page.page(SECTIONS) == text
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert page.with_measured(readme, SECTIONS) == readme
    assert all(f"| [{words}](benchmarks/RESULTS.md#" in readme for words in page.SHOWN.values())


def test_a_section_that_changes_changes_them(repository: Path) -> None:
    title = "Bulk import, 10,000,000 relationships"
    table = SECTIONS[title].report.tables[0]
    first, *rest = table.rows
    slower = replace(table, rows=((first[0], 2.58, *first[2:]), *rest))
    report = replace(SECTIONS[title].report, tables=(slower,))
    changed = {**SECTIONS, title: replace(SECTIONS[title], report=report)}
    assert summary.table(changed) != summary.table(SECTIONS)
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "| 2.58 s    | 1.29 s (DuckDB)" in page.with_measured(readme, changed)


@pytest.mark.parametrize(
    ("query", "peer", "ratio"),
    [
        ("tri", "1.00 s (one)", "2.00"),
        ("c4", "> 5.00 s", "> 20.0"),
        ("k4", "> 5.00 s", "> 5.00"),  # a wrong answer is none
        ("hop2", "0.100 ms (one)", "0.500"),
    ],
)
def test_the_best_peer_of_a_table_of_engines(query: str, peer: str, ratio: str) -> None:
    lines = summary.lines(engines())
    assert len(lines) == 4  # a p99 has no row
    (line,) = [line for line in lines if line.subject == f"enron: {query}"]
    assert line.cells()[1:] == (peer, ratio)


def test_a_run_that_was_stopped_the_first_time_counts() -> None:
    header: list[str | Column] = [
        "query",
        *(Column(f"{name}, {when}", "ms") for name, when in SPANS),
    ]
    rows: list[tuple[Cell, ...]] = [
        ("q1", 9.0, 2.0, Over(60_000), None, 12.0, 8.0),
        ("q2", 9.0, 2.0, Over(60_000), None, "out of memory", None),
        ("q3", Over(60_000), None, 3.0, 3.0, 3.0, 3.0),
    ]
    lines = summary.lines(one("LSQB: lsqb-sf0.003", Table.of(header, rows)))
    assert [line.cells() for line in lines] == [
        ("2.00 ms", "8.00 ms (ladybug)", "4.00"),
        ("2.00 ms", "> 60,000 ms", "> 30,000"),
    ]


SPANS = [(name, when) for name in ("gdb", "DuckDB", "ladybug") for when in ("first", "again")]


def test_a_mean_is_geometric_over_the_rows_where_both_ended() -> None:
    header = (*("pattern", Column("kernel", "ms"), Column("best peer", "ms")), "which")
    rows: list[tuple[Cell, ...]] = [
        *(("a", 1.0, 2.0, "x"), ("b", 4.0, 72.0, "x"), ("c", 9.0, None, "all stopped")),
    ]
    (line,) = summary.lines(one("GPU: wiki-Vote", Table.of(header, rows)))
    assert line.subject == "wiki-Vote on a GPU (mean of 2)"
    assert line.cells() == ("2.00 ms", "12.0 ms", "6.00")


@pytest.mark.parametrize(
    ("title", "header"),
    [
        ("LSQB: lsqb-sf0.003", ("query", "gdb, again")),
        ("Peers on the CPU: enron", ("engine", "tri")),
        ("GPU: wiki-Vote", ("kernel", "best peer")),
    ],
)
def test_a_section_without_peers_has_no_row(title: str, header: tuple[str, ...]) -> None:
    assert not summary.lines(one(title, Table.of(header, [("q1", None)])))


def test_more_is_better_for_rates() -> None:
    rows = [("gdb", 500), ("A", 1000), ("B", 100)]
    table = Table.of(("system", Column("commits", "/s")), rows)
    (line,) = summary.lines(one("Transactions", table))
    assert line.cells() == ("500 /s", "1,000 /s (A)", "0.500")


def test_date_and_machine_are_those_of_the_section() -> None:
    assert "| 2026-11-21 | 2 cores |" in summary.table(engines()).markdown()
    gpu = replace(MACHINE, gpu="NVIDIA H200", cores=16)
    (found,) = one("x", Table.of(("a",), []), gpu).values()
    assert found.machine.short() == "NVIDIA H200, 16 cores"


def test_every_link_has_its_section() -> None:
    text = page.page(SECTIONS)
    headings = [line.lstrip("# ") for line in text.splitlines() if line.startswith("##")]
    anchors = [section.anchor(heading) for heading in headings]
    assert len(anchors) == len(set(anchors))
    assert {section.anchor(line.section.title) for line in summary.lines(SECTIONS)} <= {*anchors}
    assert len(summary.lines(SECTIONS)) > 80


def test_every_subject_has_its_section() -> None:
    assert not [title for title, _ in summary.SUBJECTS if title not in SECTIONS]

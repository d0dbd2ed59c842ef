"""The summary of benchmarks/RESULTS.md and the table of the README say what the sections say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.report import results, summary

TEXT = results.RESULTS.read_text(encoding="utf-8")
SECTION = """# Results

## Peers on the CPU: enron

2026-11-21; A processor, 2 cores, 24 GiB; Python 3.11.7.

| engine          | tri    | c4    | k4         | hop2          |
| --------------- | ------ | ----- | ---------- | ------------- |
| ours, 2 threads | 0.5    | 0.25  | 1.0        | 0.200 / 0.445 |
| one             | 1.0    | >5 s  | 0.1 wrong  | 0.100 / 1     |
| two             | 2.0    | >20 s | >5 s       | -             |
| floor           | 0.001  | 0.1   | 0.1        | 0.1           |
"""


def test_it_is_current(repository: Path) -> None:
    """`python -m benchmarks.report.summary --save` writes both anew."""
    assert summary.with_summary(TEXT) == TEXT
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert summary.with_measured(readme, TEXT) == readme
    assert all(f"| [{words}](benchmarks/RESULTS.md#" in readme for words in summary.SHOWN.values())


def test_a_section_that_changes_changes_it() -> None:
    changed = TEXT.replace("| gdb         |     1.21 |", "| gdb         |     2.58 |")
    assert changed != TEXT
    assert summary.with_summary(changed) != changed


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
    (line,) = [one for one in summary.lines(SECTION) if one.subject == f"enron: {query}"]
    assert (line.peer, line.ratio) == (peer, ratio)


def test_who_saves_a_section_saves_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "RESULTS.md")
    body = results.table(("system", "commits/s"), [("gdb", 500), ("A", "1,000")])
    results.save("Transactions", body)
    text = results.RESULTS.read_text(encoding="utf-8")
    assert text.index("## Summary") < text.index("## Transactions")
    assert "| 500 /s | 1,000 /s (A) | 0.500 |" in text
    results.save("Transactions", body.replace("500", "2,000"))
    again = results.RESULTS.read_text(encoding="utf-8")
    assert again.count("## Summary") == 1
    assert [line.ratio for line in summary.lines(again)] == ["2.00"]


def test_date_and_machine_are_those_of_the_section() -> None:
    assert "| 2026-11-21 | 2 cores |" in summary.summary(SECTION)


def test_more_is_better_for_rates() -> None:
    text = (
        "# Results\n\n## Transactions\n\n2026-11-22; A, 2 cores; P.\n\n"
        "| system | commits/s |\n| --- | --- |\n| gdb | 500 |\n| A | 1,000 |\n| B | 100 |\n"
    )
    (line,) = summary.lines(text)
    assert (line.peer, line.ratio) == ("1,000 /s (A)", "0.500")


def test_every_link_has_its_section() -> None:
    anchors = {summary.anchor(title) for title in summary.sections(TEXT)}
    assert {summary.anchor(line.section) for line in summary.lines(TEXT)} <= anchors
    assert len(summary.lines(TEXT)) > 80

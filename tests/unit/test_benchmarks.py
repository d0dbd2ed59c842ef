"""What the benchmarks share, and what they claim about storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.report import results
from benchmarks.storage import size_on_disk


def test_interval_pcsr_stays_near_csr(shared_data: Path, tmp_path: Path) -> None:
    """At most 1.1 of a plain CSR that knows no labels, with 12 of them; and the paper's saving against hash-PCSR."""
    tables = size_on_disk.email_enron(12)
    measured, packed = size_on_disk.measure(tables, tmp_path / "store")
    assert measured.over_csr <= size_on_disk.MOST_OVER_CSR
    assert packed < 0.4 * measured.csr
    assert measured.saved > 0.83
    assert all(part.after < part.before / 10 for part in measured.parts)


def test_a_table_aligns_its_columns() -> None:
    lines = results.table(("name", "n"), [("a", "1,000"), ("bcdefg", 2)]).splitlines()
    assert lines == [
        "| name   |     n |",
        "| ------ | ----: |",
        "| a      | 1,000 |",
        "| bcdefg |     2 |",
    ]


def test_a_section_of_the_results_is_replaced_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "RESULTS.md")
    results.save("One", "first\n\n### part")
    results.save("Two", "second")
    results.save("One", "third")
    text = results.RESULTS.read_text()
    assert text.count("## One") == text.count("## Two") == 1
    assert "first" not in text
    assert text.index("third") < text.index("second")
    results.save("Two", "second")
    assert results.RESULTS.read_text() == text

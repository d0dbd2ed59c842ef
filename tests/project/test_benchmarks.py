"""What the benchmarks share, and what they claim about storage."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import results


@pytest.fixture
def storage_benchmark(repository: Path, shared_data: Path) -> ModuleType:
    """benchmarks/storage.py, whose name is also that of a room."""
    spec = importlib.util.spec_from_file_location(
        "storage_benchmark", repository / "benchmarks" / "storage.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_interval_pcsr_stays_near_csr(storage_benchmark: ModuleType, tmp_path: Path) -> None:
    """At most 1.1 of a plain CSR that knows no labels, with 12 of them; and the paper's saving against hash-PCSR."""
    tables = storage_benchmark.email_enron(12)
    measured, packed = storage_benchmark.measure(tables, tmp_path / "store")
    assert measured.over_csr <= storage_benchmark.MOST_OVER_CSR
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

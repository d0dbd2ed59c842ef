"""The pieces of `budgets.py` and `out_of_core.py`: what they compare, and the limits that they set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gdb
from benchmarks.inputs import patterns
from benchmarks.scale import budgets, memory_group, out_of_core_disk, page_cache
from gdb.base import budget

TRIANGLE = patterns.Pattern("tri", (None,) * 3, ((0, 1), (1, 2), (0, 2)), {"isomorphisms": 24})


@pytest.fixture(scope="module")
def clique(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 4-clique with a tail."""
    store = tmp_path_factory.mktemp("budgets") / "clique.gdb"
    lines = store.with_suffix(".txt")
    lines.write_text("0 1\n0 2\n0 3\n1 2\n1 3\n2 3\n3 4\n")
    with gdb.connect(store) as db:
        db.load(lines, format="snap", type="E", directed=False)
    return store


def compared(store: Path, pattern: patterns.Pattern, *words: str) -> budgets.Tally:
    return budgets.compared("some", store, [pattern], budgets.arguments_of([*words]))


def test_answers_of_all_modes_are_compared(clique: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LEAST", 1)
    tally = compared(clique, TRIANGLE)
    assert (tally.answers, tally.wrong, tally.left_out) == (
        dict.fromkeys((1, 4, 16, 64), 5),
        [],
        [],
    )
    # different edges, nodes, subgraphs, induced: 24, 24, 4, 24; repeatable: 24 too
    assert tally.rows == 4 * (4 * 24 + 4)
    (table,) = budgets.report([tally]).tables
    assert [row[4] for row in table.rows] == [5] * 4


def test_what_is_not_the_known_count_is_reported(clique: Path) -> None:
    wrong = patterns.Pattern("wrong", TRIANGLE.vertices, TRIANGLE.edges, {"isomorphisms": 5})
    tally = compared(clique, wrong, "--mode", "DIFFERENT NODES", "--budgets", "1")
    assert tally.wrong == ["wrong, DIFFERENT NODES, 1/1: (24,), known: 5"]


def test_a_budget_that_changes_an_answer_is_reported(
    clique: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = budgets.Budgeted.answers

    def less(
        self: budgets.Budgeted, counted: str, listed: str, mode: str, most: int, timeout: float
    ) -> budgets.Rows:
        found = answers(self, counted, listed, mode, most, timeout)
        return found[:-1] if self.part == 16 else found

    monkeypatch.setattr(budget, "LEAST", 1)
    monkeypatch.setattr(budgets.Budgeted, "answers", less)
    tally = compared(clique, TRIANGLE, "--mode", "SUBGRAPHS")
    assert tally.answers == {1: 1, 4: 1, 64: 1}
    assert tally.wrong == ["tri, SUBGRAPHS, 1/16: 3 rows of (4,), not (4,)"]


def test_pages_are_dropped_and_read(clique: Path) -> None:
    assert page_cache.size(clique) > 100
    page_cache.drop(clique)
    page_cache.warm(clique)
    assert page_cache.disk_rate(clique) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_first_answer_of_a_process(clique: Path) -> None:
    text = TRIANGLE.cypher("isomorphisms")
    found = out_of_core_disk.measured(clique, text, 1 << 20, "cpu", 0, 60.0, cold=True)
    assert found.count == 24
    assert min(found.seconds, found.again) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has memory groups")
def test_a_memory_group_counts_the_page_cache(tmp_path: Path) -> None:
    (large := tmp_path / "large").mkdir()
    (large / "file").write_bytes(bytes(64 << 20))
    reads = (
        "import pathlib, sys; from benchmarks.scale import memory_group, page_cache; "
        "large = pathlib.Path(sys.argv[2]); page_cache.PIECE = 1 << 16; "
        "page_cache.drop(large); memory_group.at(pathlib.Path(sys.argv[1])).join(); page_cache.warm(large)"
    )
    for limit in (32 << 20, 256 << 20):
        with memory_group.group() as group:
            if group is None:
                pytest.skip("no rights to make a memory group")
            group.restrict(limit)
            command = [sys.executable, "-c", reads, str(group.folder), str(large)]
            subprocess.run(command, cwd=Path(memory_group.__file__).parents[2], check=True)
            assert (group.most() <= 32 << 20) == (limit == 32 << 20)
        assert not group.folder.exists()

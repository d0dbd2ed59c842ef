"""A sample of each suite; `make unique` runs thousands of cases."""

from __future__ import annotations

from types import ModuleType

import pytest

from gdb.physical.rows import row_program
from gdb.physical.rows.object_graph import Graph
from gdb.physical.rows.row_matching import _RowMatching
from tests.fuzz import statements
from tests.fuzz.__main__ import SUITES
from tests.fuzz.cases import run
from tests.support.ways import WAYS, Way, forced


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "cases"), [("unique", 60), ("paths", 30), ("clauses", 30), ("writes", 12)]
)
def test_the_answers_are_those_of_brute_force(name: str, cases: int, way: Way) -> None:
    suite, _ = SUITES[name]
    begin = 100 * WAYS.index(way)
    with forced(way):
        tried, failures = run(suite, range(begin, begin + 1_000_000), cases)
    assert tried == cases
    assert not failures, str(failures[0])


def test_statements_that_come_again() -> None:
    tried, failures = run(statements.suite, range(1_000_000), 24)
    assert tried == 24
    assert not failures, str(failures[0])


@pytest.mark.parametrize(
    ("name", "seed", "owner", "step", "instead"),
    [
        (
            "unique",
            12,
            _RowMatching,
            "_differ",
            True,
        ),  # the relationships of two components may be one
        ("writes", 0, Graph, "_rename", None),  # relationships are lost at a node with new labels
        # paths end at nodes with other labels
        ("statements", 3, row_program, "_labelled", lambda _, rows: rows),
    ],
)
def test_a_step_left_out_is_seen(
    name: str,
    seed: int,
    owner: type | ModuleType,
    step: str,
    instead: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """seed : one that sees it."""
    suite, _ = SUITES[name]
    assert any(outcome is None for outcome in suite(seed))
    monkeypatch.setattr(owner, step, lambda *_: instead)
    with forced("operators"):  # one pattern knows no components
        assert any(outcome for outcome in suite(seed))

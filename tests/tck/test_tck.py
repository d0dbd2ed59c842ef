"""The openCypher TCK, where it lies beside the repository: what does not pass is listed in known.txt, and nothing else
is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.ways import Way
from tests.tck import scenarios
from tests.tck.scenarios import Outcome

PASSED = Outcome("a", "a/One#0 [1] x", "pass", "")
FAILED = Outcome("a", "a/One#1 [2] y", "fail", "rows [], expected [[1]]")
SKIPPED = Outcome("a", "a/One#2 [3] z", "skip", "@ignore")


@pytest.fixture(name="outcomes", scope="module")
def _outcomes() -> list[Outcome]:
    """Of all scenarios."""
    why = scenarios.absent()
    if why:
        pytest.skip(why)
    return scenarios.run(workers=1)


@pytest.mark.parametrize("way", ["columns", "rows"])
def test_nothing_else_fails_whichever_way_queries_go(way: Way) -> None:
    """A twelfth of the scenarios; `make tck WAY=columns` runs all."""
    why = scenarios.absent()
    if why:
        pytest.skip(why)
    found = scenarios.run(workers=1, way=way, each=12)
    assert scenarios.unlisted(found, scenarios.known()) == []
    assert len(found) == 166


def test_nothing_fails_that_is_not_listed(outcomes: list[Outcome]) -> None:
    assert scenarios.unlisted(outcomes, scenarios.known()) == []


def test_nothing_listed_passes(outcomes: list[Outcome]) -> None:
    """Shrink the list: UPDATE_TCK=1 make tck."""
    assert scenarios.passing(outcomes, scenarios.known()) == []


def test_all_scenarios_are_run(outcomes: list[Outcome]) -> None:
    assert len({outcome.name for outcome in outcomes}) == len(outcomes) == 1983


def test_every_reason_is_one() -> None:
    assert scenarios.UNEXPLAINED not in scenarios.known().values()


def test_the_list_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    found = [PASSED, FAILED, SKIPPED]
    path.write_text(scenarios.listed(found, {FAILED.name: "a reason", PASSED.name: "old"}))
    ignored = "the TCK itself says that it is to be ignored"
    assert scenarios.known(path) == {FAILED.name: "a reason", SKIPPED.name: ignored}


def test_what_differs_from_the_list_is_told() -> None:
    found = [PASSED, FAILED]
    assert scenarios.unlisted(found, {}) == [f"{FAILED.name}: {FAILED.why}"]
    assert scenarios.unlisted(found, {FAILED.name: "x"}) == []
    assert scenarios.passing(found, {PASSED.name: "x", FAILED.name: "x"}) == [PASSED.name]
    assert scenarios.passing(found, {"gone": "x"}) == ["gone"]

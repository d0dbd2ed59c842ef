"""A sample of each suite; `make unique` runs thousands of cases."""

import pytest

from tests.fuzz.__main__ import SUITES
from tests.fuzz.cases import run


@pytest.mark.parametrize(
    ("name", "cases"), [("unique", 300), ("paths", 150), ("clauses", 120), ("writes", 60)]
)
def test_the_answers_are_those_of_brute_force(name: str, cases: int) -> None:
    suite, _ = SUITES[name]
    tried, failures = run(suite, range(1_000_000), cases)
    assert tried == cases
    assert not failures, str(failures[0])

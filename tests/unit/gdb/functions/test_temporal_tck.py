"""What the openCypher TCK says of temporal values; the expected results are its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.temporal_cases import Case, cases, literal, run, shown

FOLDER = Path(os.environ.get("GDB_TCK", "/work/shared/tck")) / "features/expressions/temporal"
CASES = list(cases(FOLDER)) if FOLDER.is_dir() else []


@pytest.mark.skipif(not CASES, reason="the TCK is not here (GDB_TCK names its folder)")
def test_every_feature_is_read() -> None:
    assert len({case.name.partition("[")[0] for case in CASES}) == 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tck(case: Case) -> None:
    assert [shown(value) for value in run(case)] == [literal(text) for text in case.expected]

"""The openCypher TCK's scenarios: what should fail at compile time fails in parse and check, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gdb.errors import QueryError
from gdb.language.checks import check
from gdb.language.parser import parse
from gdb.language.procedure_signatures import Procedure, signature
from tests.support.gherkin import Case, read

FEATURES = Path(__file__).parents[5] / "shared" / "tck" / "features"
pytestmark = pytest.mark.skipif(not FEATURES.is_dir(), reason="the TCK is not here")
CASES = read(FEATURES) if FEATURES.is_dir() else []


def refusal(query: str, case: Case) -> QueryError | None:
    try:
        check(parse(query), case.parameters, procedures(case))
    except QueryError as error:
        return error
    return None


def procedures(case: Case) -> dict[str, Procedure]:
    """Those that a scenario brings; none of them is called."""
    found = (signature(text) for text in case.procedures)
    return {one.name: Procedure(one, lambda graph, given: ()) for one in found}


def fine() -> Iterator[tuple[Case, str]]:
    """The queries that may fail at runtime only."""
    for case in CASES:
        due = case.phase in ("compile time", "any time")
        for query in case.queries[:-1] if due else case.queries:
            yield case, query


def test_what_should_fail_fails() -> None:
    due = [case for case in CASES if case.phase == "compile time"]
    assert (len(CASES), len(due)) == (1983, 353)  # all that the README there counts
    missed = [case.name for case in due if refusal(case.queries[-1], case) is None]
    assert missed == []


def test_the_error_has_the_standards_name() -> None:
    """Where the check finds it; the parser's errors have no such name."""
    wrong = []
    for case in CASES:
        if case.phase != "compile time":
            continue
        error = refusal(case.queries[-1], case)
        if error is not None and error.detail and error.detail != case.detail:
            wrong.append(f"{case.name}: {error.detail}, not {case.detail}")
    assert wrong == []


def test_nothing_else_fails() -> None:
    alarms = []
    for case, query in fine():
        error = refusal(query, case)
        if error is not None:
            alarms.append(f"{case.name}: {error}\n{query}")
    assert alarms == []

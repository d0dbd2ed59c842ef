"""The language, case by case: tests/queries/*.txt hold a query and what must become of it."""

from __future__ import annotations

import pytest

from gdb.api.procedures import ALWAYS
from gdb.errors import GdbError, NotSupported
from gdb.language.checks import check
from gdb.language.parser import parse
from gdb.query_graph import DIFFERENT_EDGES
from tests.support import language_cases
from tests.support.binding import bind, one_pattern


def parsed(text: str) -> str:
    return language_cases.tree(parse(text))


def bound(text: str) -> str:
    return language_cases.bound(
        bind(parse(text), language_cases.snapshot(), language_cases.PARAMETERS, DIFFERENT_EDGES)
    )


def refused(text: str) -> str:
    with pytest.raises(GdbError) as caught:
        _understood(text)
    return f"{type(caught.value).__name__}: {caught.value}"


def _understood(text: str) -> None:
    """As `gdb.run.pipeline` does it: what is only not for columns runs over rows, if it passes their checks."""
    query = parse(text)
    refused = None
    check(query, language_cases.PARAMETERS, ALWAYS)
    if one_pattern(query, DIFFERENT_EDGES) is not None:
        try:
            bind(query, language_cases.snapshot(), language_cases.PARAMETERS, DIFFERENT_EDGES)
        except NotSupported as error:
            refused = error
    if refused is not None:
        raise refused


@pytest.mark.parametrize("case", language_cases.read("syntax.txt"), ids=str)
def test_syntax(case: language_cases.Case) -> None:
    language_cases.check(case, parsed)


@pytest.mark.parametrize("case", language_cases.read("bind.txt"), ids=str)
def test_bind(case: language_cases.Case) -> None:
    language_cases.check(case, bound)


@pytest.mark.parametrize("case", language_cases.read("errors.txt"), ids=str)
def test_errors(case: language_cases.Case) -> None:
    language_cases.check(case, refused)

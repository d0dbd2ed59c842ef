"""The graph of hard values, and what the tests of a file have compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from tests.conformance import corpus
from tests.conformance.ways import Runner


@pytest.fixture(scope="module")
def runs() -> list[Runner]:
    """The runners of a file, as they end."""
    return []


@pytest.fixture(scope="module")
def filled() -> Iterator[gdb.Database]:
    with gdb.connect() as made:
        corpus.fill(made)
        yield made


@pytest.fixture
def runner(filled: gdb.Database, runs: list[Runner]) -> Iterator[Runner]:
    """Runs expressions; what differs fails the test."""
    one = Runner(filled)
    runs.append(one)
    yield one
    shown = "\n".join(one.differing[:20])
    assert not one.differing, f"{len(one.differing)} differ:\n{shown}"

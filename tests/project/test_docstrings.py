"""Every `>>>` in a docstring of the library is run and gives what follows it."""

from __future__ import annotations

import doctest
import importlib
import itertools
from pathlib import Path

import pytest

import gdb

ROOMS = {"gdb": "gdb", "storage": "gdb.storage", "executor": "gdb.executor", "repl": "gdb.repl"}
REPOSITORY = Path(__file__).resolve().parents[2]
# Examples that need a GPU; tests/gpu runs what they show.
ON_A_GPU = {"gdb.api.queries.Queries.device_columns"}


def modules() -> list[str]:
    """Those with an example in their text."""
    found = []
    for room, name in ROOMS.items():
        for path in sorted((REPOSITORY / room).rglob("*.py")):
            if ">>> " in path.read_text(encoding="utf-8"):
                parts = path.relative_to(REPOSITORY / room).with_suffix("").parts
                found.append(".".join([name, *(part for part in parts if part != "__init__")]))
    return list(dict.fromkeys(one for one in found if not one.startswith("gdb.__")))


def examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return [one for one in doctest.DocTestFinder().find(module) if one.examples]


NAMES = modules()


@pytest.mark.parametrize("name", NAMES)
def test_examples_give_what_they_show(name: str) -> None:
    runner = doctest.DocTestRunner(verbose=False)
    for one in examples(name):
        if one.name not in ON_A_GPU:
            runner.run(one)
    assert runner.failures == 0
    assert runner.tries > 0


def test_no_example_is_left_out() -> None:
    """`+SKIP` would hide one."""
    found = itertools.chain.from_iterable(map(examples, NAMES))
    skipped = {
        one.name
        for one in found
        if any(doctest.SKIP in example.options for example in one.examples)
    }
    assert skipped == ON_A_GPU


def test_the_public_face_has_examples() -> None:
    found = {one.name for name in NAMES for one in examples(name)}
    assert {f"{gdb.connect.__module__}.connect", "gdb.api.queries.Queries.stream"} <= found
    assert len(found) > 30

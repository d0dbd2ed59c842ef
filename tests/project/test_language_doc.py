"""docs/LANGUAGE.md is true: every query and call in it gives what the document shows, and every function is in it."""

from __future__ import annotations

import os
import re

import pytest

from gdb import limits
from gdb.errors import SyntaxProblem
from gdb.functions.library import AGGREGATES, FUNCTIONS
from gdb.language.parser import CLAUSE_WORDS, parse
from gdb.language.printer import printed
from gdb.language.reading import MODES
from tests.support import language_doc
from tests.support.language_doc import Call, Example

TEXT = language_doc.LANGUAGE.read_text(encoding="utf-8")
EXAMPLES = language_doc.examples(TEXT)
CALLS = list(language_doc.calls(TEXT))


@pytest.mark.skipif("UPDATE_DOCS" not in os.environ, reason="UPDATE_DOCS=1 writes the results anew")
def test_update() -> None:
    found: list[tuple[tuple[int, int], str]] = []
    for example in EXAMPLES:
        if example.shown and not example.is_graph:
            with language_doc.opened(TEXT) as db:
                found.append((example.at, language_doc.answer(db, example)))
    with language_doc.opened(TEXT) as db:
        found += [
            (call.at, f" `{language_doc.escaped(language_doc.value(db, call))}` ")
            for call in CALLS
            if call.value is not None
        ]
    text = TEXT
    for (start, end), shown in sorted(found, reverse=True):
        text = text[:start] + shown + text[end:]
    text = language_doc.ALL_FUNCTIONS.sub(lambda _: language_doc.all_functions(TEXT), text)
    language_doc.LANGUAGE.write_text(text, encoding="utf-8")


def test_the_functions_are_those_of_the_registry() -> None:
    found = language_doc.ALL_FUNCTIONS.search(TEXT)
    assert found is not None
    assert found.group() == language_doc.all_functions(TEXT)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_gives_what_stands_there(example: Example) -> None:
    with language_doc.opened(TEXT) as db:
        if example.shown:
            assert language_doc.answer(db, example) == example.shown
        elif not example.is_graph:
            db.execute(example.query, example.parameters)


def test_calls_give_what_stands_there() -> None:
    with language_doc.opened(TEXT) as db:
        found = {call: language_doc.value(db, call) for call in CALLS}
    wrong = {
        f"{call}: {call.query}": value
        for call, value in found.items()
        if call.value not in (None, value)
    }
    assert wrong == {}


@pytest.mark.parametrize("one", [*EXAMPLES, *CALLS], ids=str)
def test_what_stands_there_prints_back(one: Example | Call) -> None:
    try:
        query = parse(one.query)
    except SyntaxProblem:  # one that shows an error
        assert isinstance(one, Example)
        assert one.shown.startswith("SyntaxProblem")
        return
    assert parse(printed(query)) == query


def test_there_are_many() -> None:
    assert len(EXAMPLES) > 50
    assert len(CALLS) > 90


@pytest.mark.parametrize(
    "name", [function.name for function in (*FUNCTIONS.values(), *AGGREGATES.values())]
)
def test_every_function_stands_there(name: str) -> None:
    called = [one.query for one in EXAMPLES] + [one.query for one in CALLS]
    assert any(re.search(rf"(?<![\w.]){re.escape(name)}\(", query) for query in called)


@pytest.mark.parametrize("word", [*CLAUSE_WORDS, *MODES, "UNION", "EXPLAIN", "PROFILE"])
def test_every_clause_and_mode_stands_there(word: str) -> None:
    assert word in TEXT.upper()


def test_the_limits_are_those_of_the_module() -> None:
    shown = dict(re.findall(r"^\| `(MAX_\w+)` \| ([\d,]+|none) \|", TEXT, re.MULTILINE))
    defaults = {name: getattr(limits, name) for name in limits.NAMES}
    assert shown == {n: "none" if size is None else f"{size:,}" for n, size in defaults.items()}


def test_the_index_links_functions_to_the_section_that_shows_them() -> None:
    index = TEXT.partition("### Index of functions\n")[2].partition("\n## ")[0]
    links = dict(re.findall(r"\[`([^`]+)`\]\(#([\w-]+)\)", index))
    assert set(links) == {row.name for row in (*FUNCTIONS.values(), *AGGREGATES.values())}
    assert (links["head"], links["toFloat"], links["sum"]) == (
        "of-lists",
        "conversion",
        "aggregates",
    )
    assert "all-functions" not in links.values()

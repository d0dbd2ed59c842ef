"""A sample of what `make fuzz-language` runs, and that its judge sees what it should."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import gdb
from gdb.errors import InternalError, RunError, SyntaxProblem
from tests.fuzz import language
from tests.fuzz.language import Run, misplaced, query, unlike
from tests.fuzz.people import GRAPH, PARAMETERS
from tests.fuzz.queries import Maker

ASKED = 500


@pytest.mark.parametrize("part", range(3))
def test_a_result_or_an_error_with_its_place(part: int) -> None:
    run = Run(seed=0)
    run.ask(part * ASKED // 3, ASKED // 3)
    assert run.failures == []
    answered = run.counts["valid: answered"]
    assert answered > ASKED / 3 * (1 - language.BROKEN) / 3, run.counts
    assert run.counts["compared"] > ASKED / 100


def test_a_query_is_the_same_again() -> None:
    assert query(3, 7) == query(3, 7)
    assert len({query(3, n) for n in range(100)}) > 95


def test_the_graph_is_what_the_grammar_names() -> None:
    with gdb.connect() as db:
        db.execute(GRAPH)
        assert db.execute("MATCH (:Person)-[r:KNOWS]->() RETURN count(r)", PARAMETERS).scalar() == 4


def test_many_kinds_of_clauses_are_made() -> None:
    text = " ".join(Maker(Random(n)).query() for n in range(400))
    words = "OPTIONAL UNION UNWIND CALL FOREACH MERGE DELETE REMOVE EXISTS CASE reduce shortestPath"
    assert [word for word in words.split() if word not in text] == []


# ---- the judge -----------------------------------------------------------------------------------


def test_rows_that_differ_by_the_way_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    run, text = Run(seed=0), "UNWIND [1, 2] AS x RETURN x"
    assert run._ways(text) == ""
    answers = iter(range(10))
    ask = gdb.Database.execute

    def other(db: gdb.Database, text: str, *given: Any, **options: Any) -> gdb.Result:
        return ask(db, f"{text} + {next(answers) // 3}", *given, **options)

    monkeypatch.setattr(gdb.Database, "execute", other)
    assert "has not" in run._ways(text)


def test_an_internal_error_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise InternalError("a bug")

    monkeypatch.setattr(gdb.Database, "execute", fails)
    run = Run(seed=0)
    run._db = gdb.connect()
    run.ask(0, 1)
    assert len(run.failures) == 1


def test_another_exception_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(gdb.Database, "execute", fails)
    run = Run(seed=0)
    run._db = gdb.connect()
    run.ask(0, 1)
    assert "KeyError" in run.failures[0].why


def test_a_place_outside_of_the_text_is_seen() -> None:
    assert misplaced(SyntaxProblem("x", text="ab", line=1, column=3), "ab") == ""
    assert "has 2 characters" in misplaced(SyntaxProblem("x", text="ab", line=1, column=4), "ab")
    assert "no place" in misplaced(SyntaxProblem("x"), "ab")
    assert "no place" in misplaced(RunError("x"), "ab")
    assert "there are 1 lines" in misplaced(SyntaxProblem("x", text="ab", line=2, column=1), "ab")


def test_a_query_that_prints_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unlike("RETURN 1") == ""
    assert unlike("RETURN") == ""
    monkeypatch.setattr(language, "printed", lambda _: "RETURN 2")
    assert "something else" in unlike("RETURN 1")

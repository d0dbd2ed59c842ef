"""Statements end at a semicolon that is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest

from gdb.repl import statements
from gdb.repl.statements import Statement, all_of, is_complete, split, streamed
from tests.support.effort import share


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a) RETURN ';'",
        'MATCH (a) RETURN ";"',
        r"MATCH (a) RETURN 'it\'s;'",
        "MATCH (`a;b`) RETURN 1",
        "MATCH (`a``;b`) RETURN 1",
        "MATCH (a) // one; two\nRETURN a",
        "MATCH (a) /* one;\ntwo */ RETURN a",
        "MATCH (a) WHERE a.x = .5 RETURN a",
    ],
)
def test_a_semicolon_within_is_no_end(text: str) -> None:
    assert split(text + ";") == ([Statement(text, 1)], "")
    assert not is_complete(text)


@pytest.mark.parametrize(
    "text", ["RETURN 'a;", 'RETURN "a;', "RETURN `a;", "RETURN /* a;", "RETURN 1; /* a"]
)
def test_what_is_open_is_not_complete(text: str) -> None:
    assert not is_complete(text)


@pytest.mark.parametrize(
    "text", ["", "  \n", ";", "RETURN 1;", "RETURN 1; // done", ".help", ".mode csv\n", "/* a */"]
)
def test_what_enter_runs_at_once(text: str) -> None:
    assert is_complete(text)


def test_statements_know_their_lines() -> None:
    text = "// first\nMATCH (a)\nRETURN a;\n\n.timer on\n RETURN 2;RETURN 3"
    assert all_of(text) == [
        Statement("MATCH (a)\nRETURN a", 2),
        Statement(".timer on", 5),
        Statement("RETURN 2", 6),
        Statement("RETURN 3", 6),
    ]


def test_commands_end_with_their_line_or_a_semicolon() -> None:
    assert [held.text for held in all_of(".mode csv; .schema\nRETURN 1")] == [
        ".mode csv",
        ".schema",
        "RETURN 1",
    ]


def test_a_dot_within_a_query_is_no_command() -> None:
    assert all_of("MATCH (a) RETURN a\n.name;") == [Statement("MATCH (a) RETURN a\n.name", 1)]


def test_a_semicolon_in_quotes_is_part_of_a_command() -> None:
    found = all_of(""".load 'a;b.csv' --delimiter ";"; .stats\n.mode it's; .timer on""")
    assert [statement.text for statement in found] == [
        """.load 'a;b.csv' --delimiter ";\"""",
        ".stats",
        ".mode it's",
        ".timer on",
    ]


def test_words_that_people_try_first_are_commands() -> None:
    found = all_of("help\nexit ; quit;\n:timer on\nRETURN 1")
    assert [(held.text, held.is_command) for held in found] == [
        ("help", True),
        ("exit", True),
        ("quit", True),
        (":timer on", True),
        ("RETURN 1", False),
    ]
    assert all(is_complete(text) for text in ("help", "Exit\n", "quit;", ":help"))
    assert not is_complete("helper")
    assert not is_complete("exit (a)")


TEXTS = (
    "RETURN 1;\nRETURN\n2; RETURN 3\n",
    "// c ;\n.timer on\nRETURN ';\n;' AS a; exit\nRETURN 1",
    "RETURN `;\n`;\n\n/* ;\n */ RETURN 2;;\n  .mode csv; help\nRETURN 'open ;\n x;\n",
    "",
    "\n\n",
)


@pytest.mark.parametrize("text", TEXTS)
def test_streamed_statements_are_those_of_the_whole(text: str) -> None:
    assert list(streamed(text.splitlines(keepends=True))) == all_of(text)


def test_a_statement_comes_before_the_next_is_read() -> None:
    def lines() -> Iterator[str]:
        yield "RETURN\n"
        yield "1; RETURN\n"
        raise AssertionError("a line was read too early")

    assert next(streamed(lines())) == Statement("RETURN\n1", 1)


def test_a_long_statement_is_looked_through_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    cuts: list[int] = []
    monkeypatch.setattr(
        statements,
        "_cut",
        lambda text, line=1: cuts.append(len(text)) or ([], 0),
    )
    list(streamed(["';\n"] * 10_000))
    assert sum(cuts) < 4 * 30_000


@pytest.mark.parametrize("seed", range(share(40)))
def test_a_statement_ends_where_its_pieces_say(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One match finds the end of a statement that is closed; else it is looked for piece by piece."""
    chance = Random(seed)
    signs = [
        "'",
        '"',
        "`",
        "//",
        "/*",
        "*/",
        "/",
        "\\",
        ";",
        "\n",
        "a",
        " ",
        "*",
        ".",
        "\\'",
        "'x'",
    ]
    texts = ["".join(chance.choices(signs, k=chance.randrange(40))) for _ in range(200)]
    found = [all_of(text) for text in texts]
    monkeypatch.setattr(statements, "_WHOLE", re.compile(r"(?!)"))
    assert found == [all_of(text) for text in texts]


def test_a_byte_order_mark_is_none_of_the_text() -> None:
    lines = ["\ufeffRETURN 1;\n", "RETURN '\ufeff';\n"]
    assert [(one.text, one.line) for one in streamed(lines)] == [
        ("RETURN 1", 1),
        ("RETURN '\ufeff'", 2),
    ]

"""Completion, without a terminal."""

from __future__ import annotations

import pytest

from gdb.language import functions
from gdb.repl.complete import FUNCTIONS, Names, complete

NAMES = Names(
    labels=("City", "Person", "Two words"),
    types=("KNOWS", "LIVES_IN"),
    keys=("age", "name"),
    commands={".mode": ("csv", "json", "table"), ".schema": (), ".stats": ()},
)


def texts(text: str) -> list[str]:
    return [found.text for found in complete(text, NAMES)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCH (a:", ["City", "Person", "`Two words`"]),
        ("MATCH (a:Pe", ["Person"]),
        ("MATCH (:City|pe", ["Person"]),
        ("MATCH (a)-[r:", ["KNOWS", "LIVES_IN"]),
        ("MATCH (a)-[:KNOWS|L", ["LIVES_IN"]),
        ("MATCH (a) WHERE a:Ci", ["City"]),
        ("MATCH (a) WHERE a.", ["age", "name"]),
        ("MATCH (a) RETURN a.na", ["name"]),
        ("MATCH (a {", ["age", "name"]),
        ("MATCH (a:Person {age: 1, n", ["name"]),
        ("MATCH (a {age: ", []),
        ("mat", ["MATCH"]),
        ("MATCH (person)-->(b) RETURN pers", ["person"]),
        ("MATCH (a) RETURN cou", ["count("]),
        ("MATCH (a) RETURN 1; MATCH (a:Pe", ["Person"]),
        ("MATCH (a) WHERE a.name = 'x:P", []),
        ("MATCH (a) // x:P", []),
        ("MATCH (a) RETURN a ", []),
        ("", []),
        (".s", [".schema", ".stats"]),
        (".mode ", ["csv", "json", "table"]),
        (".mode c", ["csv"]),
        (".nothing x", []),
    ],
)
def test_what_comes_next(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_candidate_replaces_the_word_before_the_cursor() -> None:
    (found,) = complete("MATCH (a:Pe", NAMES)
    assert (found.length, found.kind) == (2, "label")


def test_the_functions_are_those_of_the_language() -> None:
    known = functions.AGGREGATES | set(functions._ARGUMENTS)
    assert {name.lower() for name in FUNCTIONS} == known

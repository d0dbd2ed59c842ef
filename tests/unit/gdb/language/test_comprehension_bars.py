"""The bar of a comprehension beside those of label expressions and types in its condition."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database, errors


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with gdb.connect() as made:
        made.execute(
            "CREATE (a:S {k: 0})-[:R]->(:A {k: 1}), (a)-[:R]->(:B {k: 2}), (a)-[:R]->(:C {k: 3})"
        )
        yield made


CASES = {
    "[(a)-->(b) WHERE b:A|B | b.k]": [1, 2],
    "[(a)-->(b) WHERE b:A|B|b.k]": [1, 2],
    "[(a)-->(b) WHERE b:A|B|C | b.k]": [1, 2, 3],
    "[(a)-->(b) WHERE b:A|B AND b.k > 1 | b.k]": [2],
    "[(a)-->(b) WHERE a:S AND b:A|(B&!C) | b.k]": [1, 2],
    "[(a)-->(b) WHERE b:(A|B) | b.k]": [1, 2],
    "[(a)-->(b) WHERE b:A | b:B|A]": [True],  # the first bar can be the comprehension's
    "[(a)-->(b) WHERE b:B|C | b:C|D]": [False, True],
    "[x IN [1, 2.5, 'a'] WHERE x IS :: INTEGER | FLOAT | x]": [1, 2.5],
    "[x IN [1, 2.5, 'a'] | x IS :: INTEGER | FLOAT]": [False, True, True],
    "[x IN [y IN [a] WHERE y:S|A | y] WHERE x:A|S | x.k]": [0],
    "[x IN [a] WHERE any(y IN [x] WHERE y:A|S) | x.k]": [0],
    "[x IN [1] WHERE size([y IN [a] WHERE y:A|S | y]) = 1 | x]": [1],
    "[reduce(t = 0, x IN [1, 2] | t + x)]": [3],
}


@pytest.mark.parametrize("text", CASES)
def test_which_bar_is_the_comprehensions(db: Database, text: str) -> None:
    (found,) = db.execute(f"MATCH (a:S) RETURN {text} AS found").fetchone() or ((),)
    assert sorted(found) == CASES[text]


def test_one_bar_is_the_comprehensions(db: Database) -> None:
    with pytest.raises(errors.NameProblem, match="no variable 'B'"):
        db.execute("MATCH (a) RETURN [x IN [a] WHERE x:A|B] AS found")


def test_an_error_is_that_of_the_first_bar(db: Database) -> None:
    with pytest.raises(errors.SyntaxProblem, match=r"expected an expression, found '\|'"):
        db.execute("MATCH (a) RETURN [x IN [a] WHERE x:A| | x.k] AS found")


def test_nested_ones_are_read_a_few_times_each(db: Database) -> None:
    depth = 20
    text = "[x IN [a] WHERE x:A|S AND 0 < size(" * depth + "[1]" + ") | x]" * depth
    begun = time.monotonic()
    assert db.execute(f"MATCH (a:S) RETURN size({text})").scalar() == 1
    broken = "[x IN [a] WHERE x:A|S AND 0 < size(" * depth + "[1]" + ") | x | ]" * depth
    with pytest.raises(errors.SyntaxProblem):
        db.execute(f"MATCH (a:S) RETURN {broken}")
    assert time.monotonic() - begun < 5

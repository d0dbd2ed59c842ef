"""Northwind: twenty questions, in Cypher over the graph and in SQL over the same files, have the same answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import gdb
from tests.northwind.graph import load, tables

QUESTIONS = Path(__file__).with_name("questions.txt")


@dataclass(frozen=True)
class Question:
    title: str
    cypher: str
    sql: str

    @property
    def in_order(self) -> bool:
        return self.title.endswith("(in order)")


def read() -> list[Question]:
    blocks = re.split(r"^== ", QUESTIONS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = []
    for block in blocks:
        title, _, rest = block.partition("\n")
        cypher, _, sql = rest.partition("\n--\n")
        found.append(Question(title, cypher.strip(), sql.strip()))
    return found


@pytest.fixture(scope="module")
def shop(shared_data: Path) -> Iterator[tuple[gdb.Database, duckdb.DuckDBPyConnection]]:
    folder = shared_data / "northwind"
    if not folder.is_dir():
        pytest.skip("northwind is not here")
    source = tables(folder)
    with gdb.connect() as db:
        load(db, source)
        yield db, source


def test_all_of_it_is_there(shop: tuple[gdb.Database, duckdb.DuckDBPyConnection]) -> None:
    stats = shop[0].stats()
    assert (stats.vertices, stats.edges) == (1104, 4909)


def test_there_are_twenty() -> None:
    assert len(read()) == 20


def test_those_of_the_documentation_are_among_them(repository: Path) -> None:
    text = (repository / "docs" / "EXAMPLES.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\*\*(.*?)\*\*.*?^```cypher\n(.*?)\n```", text, re.MULTILINE | re.DOTALL)
    known = {one.title.removesuffix(" (in order)"): one.cypher for one in read()}
    assert len(shown) == 3
    assert {title: known.get(title) for title, _ in shown} == dict(shown)


@pytest.mark.parametrize("question", read(), ids=lambda one: one.title)
def test_the_answer_is_that_of_sql(
    shop: tuple[gdb.Database, duckdb.DuckDBPyConnection], question: Question
) -> None:
    db, source = shop
    found = [plain(row) for row in db.execute(question.cypher)]
    known = [plain(row) for row in source.execute(question.sql).fetchall()]
    assert known
    if not question.in_order:
        found.sort(key=rough)
        known.sort(key=rough)
    assert same(found, known), f"{found}\n{known}"


def plain(value: object) -> object:
    """Tuples as lists, all numbers as floats."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return float(value)
    return value


def same(left: object, right: object) -> bool:
    """Numbers may differ in the tenth digit: sums are in another order."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


def rough(row: object) -> str:
    """To sort by: the text with numbers of seven digits."""
    return re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.7g}", repr(row))

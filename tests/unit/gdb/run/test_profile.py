"""PROFILE: the plan, with what its run counted beside what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import pytest

import gdb
from gdb import Database, planner
from gdb.errors import CountOverflow
from gdb.executor import run
from gdb.executor.plan.plan import Plan
from gdb.executor.plan.source import GraphSource
from gdb.executor.run import Options
from gdb.planner.structure import Effort

TRIANGLE = "MATCH SUBGRAPHS (a)-[:E]-(b)-[:E]-(c)-[:E]-(a)"
HOUSE = "MATCH SUBGRAPHS (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a), (a)-[:E]-(e)-[:E]-(b)"
ALWAYS = Effort(sample_from=0, search_from=0.0, search_share=1e9, longest=5.0)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The complete graph of twelve vertices less a perfect matching."""
    file = tmp_path_factory.mktemp("profile") / "edges.txt"
    pairs = [(a, b) for b in range(12) for a in range(b) if a // 2 != b // 2]
    file.write_text("".join(f"{a} {b}\n" for a, b in pairs))
    with gdb.connect() as made:
        made.load(file, type="E", directed=False)
        yield made


def profile(db: Database, query: str) -> list[str]:
    return [str(line) for (line,) in db.execute(f"PROFILE {query}", device="cpu").fetchall()]


def counted(lines: list[str], variable: str) -> int:
    """How often the loop over a variable was bound."""
    (line,) = [x for x in lines if re.match(rf" *for {variable} in ", x)]
    return int(line.rpartition("=")[2].replace(",", ""))


def test_loops_of_rows_are_counted(db: Database) -> None:
    lines = profile(db, f"{TRIANGLE} RETURN id(a), id(b), id(c)")
    rows = len(db.execute(f"{TRIANGLE} RETURN id(a), id(b), id(c)").fetchall())
    assert rows == 160
    assert counted(lines, "a") == 12
    assert counted(lines, "b") == 60  # each edge from one end
    assert counted(lines, "c") == rows
    assert "embeddings: 160   rows: 160" in lines


def test_a_second_run_counts_anew(db: Database) -> None:
    query = f"{TRIANGLE} RETURN id(a), id(b), id(c)"
    assert [counted(profile(db, query), "b") for _ in range(2)] == [60, 60]


def test_only_what_is_looped_over_is_counted(db: Database) -> None:
    lines = profile(db, f"{TRIANGLE} RETURN count(*)")
    assert counted(lines, "a") == 12
    assert not any(re.match(" *for c in ", x) for x in lines)
    assert "embeddings: 160   rows: 1" in lines
    assert lines[-2].startswith("milliseconds: parse ")


def test_distinct_values(db: Database) -> None:
    lines = profile(db, "MATCH (a)-[:E]-(b) WHERE id(a) = 3 RETURN count(DISTINCT id(b))")
    assert counted(lines, "b") == 10


def test_terms_are_shown_and_estimates_stand_beside(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "plan", partial(planner.plan, effort=ALWAYS))
    lines = profile(db, f"{HOUSE} RETURN count(*)")
    assert any("the embeddings in which some are the same vertex" in x for x in lines)
    assert any(re.search(r"for .*:  ~12  =12$", x) for x in lines)
    assert "divided by 2: the embeddings of one subgraph" in map(str.strip, lines)


def test_a_count_that_overflows_with_terms_is_counted_without(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = db.execute(f"{HOUSE} RETURN count(*)", device="cpu").scalar()
    monkeypatch.setattr(planner, "plan", partial(planner.plan, effort=ALWAYS))
    plans: list[bool] = []
    honest = run.count

    def count(plan: Plan, graph: GraphSource, options: Options, given: object = None) -> int:
        plans.append(bool(plan.terms))
        if plan.terms:
            raise CountOverflow("too much", "ask for less")
        return honest(plan, graph, options)

    monkeypatch.setattr(run, "count", count)
    assert db.execute(f"{HOUSE}  RETURN count(*)", device="cpu").scalar() == want
    assert plans == [True, False]

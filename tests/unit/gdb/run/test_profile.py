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


# ---- what is said of each operator ---------------------------------------------------------------


@pytest.fixture
def chain() -> Iterator[Database]:
    """Thirty nodes in a row of twenty relationships and gaps."""
    with gdb.connect() as made:
        made.execute("UNWIND range(1, 30) AS i CREATE (:A {x: i})")
        made.execute("MATCH (a:A), (b:A) WHERE b.x = a.x + 1 AND a.x % 3 > 0 CREATE (a)-[:K]->(b)")
        yield made


def line_of(lines: list[str], operator: str) -> str:
    (found,) = [line for line in lines if line.lstrip().startswith(operator)]
    return found


@pytest.mark.parametrize(
    ("query", "estimate"),
    [
        ("MATCH (a:A) DETACH DELETE a", "~30 rows   =30 rows"),
        ("MATCH (a:A) CREATE (:A)", "~30 rows   =30 rows"),
        ("MATCH (a:A) REMOVE a:A", "~30 rows   =30 rows"),
    ],
)
def test_estimates_are_those_before_the_change(chain: Database, query: str, estimate: str) -> None:
    lines = profile(chain, query)
    assert [line for line in lines if "~" in line and "=" in line and "[" in line]
    for line in lines:
        if "rows on cpu]" in line:
            assert estimate in line


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("RETURN 1", "it has no MATCH"),
        ("UNWIND [1] AS x RETURN x", "it has no MATCH"),
        ("CREATE (:X)", "it has no MATCH, and it writes"),
        ("CALL db.labels()", "it has no MATCH"),
        ("MATCH (a:A) SET a.y = 1", "it is one pattern, and more than a result is made of its rows, and it writes"),
        ("MATCH (a:A) UNWIND [1, 2] AS y RETURN a, y", "it is one pattern, and more than a result"),
        ("UNWIND [1, 2] AS y MATCH (a:A) RETURN a, y", "it does not begin with its pattern"),
        ("MATCH (a:A) RETURN a UNION MATCH (a:A) RETURN a", "it is more than one pattern"),
        ("MATCH (a:A) WITH a LIMIT 3 MATCH (a)-->(b) RETURN b", "it is more than one pattern"),
        (
            "MATCH (a)((x)-[:K]->(y) WHERE x.x < 5){1,2}(b) RETURN a",
            "a quantified path pattern is no part of one compiled pattern",
        ),
        ("MATCH (a)-[:K*1..2]->(b) RETURN a", "a relationship of variable length is no part"),
    ],
)  # fmt: skip
def test_the_reason_why_it_is_not_one_pattern(chain: Database, query: str, why: str) -> None:
    first = str(chain.execute(f"EXPLAIN {query}").fetchall()[0][0])
    assert f"operator by operator, over rows: {why}" in first or why in first.partition(": ")[2]


BATCH = "UNWIND range(1, 1000) AS x CREATE (z:Z {x: x})"


def test_what_ran_over_arrays_is_shown(chain: Database) -> None:
    lines = profile(chain, BATCH)
    assert lines[0].startswith("operator by operator, over arrays: ")
    assert "[arrays on cpu]" in line_of(lines, "UNWIND")
    assert "[arrays on cpu]" in line_of(lines, "CREATE")
    lines = profile(chain, f"{BATCH} SET z:Y")
    assert lines[0].startswith("operator by operator, over arrays, then over rows: ")
    assert "[arrays on cpu]" in line_of(lines, "CREATE")
    assert "[rows on cpu]" in line_of(lines, "SET")
    lines = [
        str(line) for (line,) in chain.execute(f"EXPLAIN {BATCH} FOREACH (i IN [1] | SET z.k = i)")
    ]
    assert lines[0].startswith("operator by operator, over arrays or rows: ")
    assert "[arrays or rows on cpu]" in line_of(lines, "CREATE")
    assert "[rows on cpu]" in line_of(lines, "FOREACH")


@pytest.mark.parametrize(
    "query",
    [
        "UNWIND [1, 2] AS x CALL { CREATE (:Y) } RETURN x",
        "UNWIND [1, 2] AS x CREATE (:Y) FINISH",
        "UNWIND [1, 2] AS x CREATE (:Y)",
        "UNWIND [1, 2] AS x CALL { CREATE (y:Y) RETURN y } RETURN x",
        "UNWIND [1, 2] AS x FOREACH (i IN [1] | CREATE (:Y)) CREATE (:Y)",
    ],
)
def test_rows_that_are_written_are_counted_though_none_is_read(chain: Database, query: str) -> None:
    assert "=2 rows" in line_of(profile(chain, query), "CREATE")


def test_an_optional_match_shows_no_number_that_is_not_its_own(chain: Database) -> None:
    path = "MATCH (a:A) OPTIONAL MATCH (a)-[:K]->(b)"
    matched = line_of(profile(chain, f"{path} RETURN count(b)"), "OPTIONAL MATCH")
    assert "counted without the rows that match nothing" in matched
    assert "rows   " not in matched.partition("]")[2]
    assert "=" not in matched.partition("]")[2]
    assert "=30 rows" in line_of(profile(chain, f"{path} RETURN count(*)"), "OPTIONAL MATCH")

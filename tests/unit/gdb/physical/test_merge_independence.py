"""MERGE of all rows at once, beside MERGE of one row after the other."""

from __future__ import annotations

import random
import time
from unittest.mock import patch

import pytest

import gdb
from gdb import Database
from gdb.language.clauses import Merge
from gdb.language.parser import parse
from gdb.physical.rows.merge_independence import is_independent
from gdb.physical.rows.merging import Merging
from gdb.query_graph import DIFFERENT_EDGES, DIFFERENT_NODES, REPEATABLE_ELEMENTS, MatchMode
from gdb.run import columns_or_rows
from tests.support.effort import share

SEEDS, CLAUSES = share(3), 40

INDEPENDENT = [
    ("(:A {k: 1})", ""),
    ("(:A {k: 1})-[:T]->(:B {k: 2})", ""),
    ("(:A {k: 1})-[:T]->(:A {k: 2})", ""),
    ("(:A {k: 1})<-[:T {w: 1}]-()", ""),
    ("(a)-[:T]->(:B {k: 2})", "a"),
    ("(a)-[:T]-(:B {k: 2})", "a"),
    ("(a)-[:T]->(b)", "ab"),
    ("(:A {k: 1})-[:T]-(:B {k: 2})", ""),
    ("(:A {k: 1})-[:T]->(:A {k: 2})-[:T]->(:A {k: 3})", ""),
    ("(:A {k: 1})-[:T]->(:A {k: 2})<-[:U]-(:A {k: 3})", ""),
    ("(a)-[:T]->(:A {k: 2})-[:U]->(:A {k: 3})", "a"),
    ("(a)-[:T]->(:A {k: 2})-[:T]->(:B {k: 3})", "a"),
    ("(a)-[:T]->(:A {k: 2})-[:U]->(b)", "ab"),
]
DEPENDENT = [
    ("(:A {k: 1})-[:T]-(:A {k: 2})", ""),
    ("(a)-[:T]-(b)", "ab"),
    ("(a)-[:T]->(:A {k: 2})-[:T]->(:A {k: 3})", "a"),
    ("(:A {k: 1})-[:T]->(:A {k: 2})<-[:T]-(:A {k: 3})", ""),
    ("(:A {k: 1})-[:T]->(m)-[:U]->(:A {k: 3})", "m"),
    ("(a:A {k: 1})-[:T]->(:A {k: 2})-[:U]->(a)", ""),
]


def _independent(text: str, bound: str, undirected: str, mode: MatchMode) -> bool:
    (clause,) = parse(f"MERGE {text}").parts[0]
    assert isinstance(clause, Merge)
    return is_independent(clause.pattern, [*bound], [*undirected], mode)


@pytest.mark.parametrize(("text", "bound"), INDEPENDENT)
def test_a_row_cannot_match_what_another_one_makes(text: str, bound: str) -> None:
    assert _independent(text, bound, "", DIFFERENT_EDGES)


@pytest.mark.parametrize(("text", "bound"), DEPENDENT)
def test_a_row_may_match_what_another_one_makes(text: str, bound: str) -> None:
    assert not _independent(text, bound, "", DIFFERENT_EDGES)


def test_it_depends_on_the_mode_and_on_types_without_direction() -> None:
    assert not _independent("(:A {k: 1})-[:T]->(:A {k: 2})", "", "T", DIFFERENT_EDGES)
    assert not _independent("(:A {k: 1})-[:T]->(:B {k: 2})", "", "", DIFFERENT_NODES)
    path = "(:A {k: 1})-[:T]->(:A {k: 2})-[:T]->(:A {k: 3})"
    assert not _independent(path, "", "", REPEATABLE_ELEMENTS)


# ---- what is set of several matches --------------------------------------------------------------


@pytest.mark.parametrize("way", [None, "rows", "columns"])
@pytest.mark.parametrize("several", ["", "UNWIND [1, 2] AS i ", "UNWIND range(1, 40) AS i "])
def test_all_items_are_set_for_a_match_before_the_next(
    several: str, way: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ON MATCH SET is a SET of each row that has matched."""
    monkeypatch.setattr(columns_or_rows, "WAY", way)
    found = []
    for clause in ("ON MATCH SET", "SET"):
        with gdb.connect() as db:
            db.execute("CREATE (:C {v: 0, w: ''}), (:M), (:M), (:M)")
            items = "c.v = c.v + 1, c.w = c.w + ' ' + toString(c.v)"
            db.execute(f"{several}MATCH (c:C) MERGE (m:M) {clause} {items}")
            found.append(db.execute("MATCH (c:C) RETURN c.v, c.w").fetchall())
    last = found[0][0][0]
    assert found[0] == found[1] == [(last, "".join(f" {k}" for k in range(1, last + 1)))]


# ---- beside one row after the other --------------------------------------------------------------


def _clause(draw: random.Random) -> tuple[str, list[str]]:
    """A MERGE, and the names in it that the rows have."""
    bound: list[str] = []
    text, count = "", draw.choice((0, 1, 1, 1, 2, 2, 3))
    for k in range(count + 1):
        if count and draw.random() < 0.25:
            bound.append(f"m{len(bound)}")
            text += f"({bound[-1]})"
        else:
            label = draw.choice(("", ":A", ":A", ":B"))
            own = [f"{key}: row.{key}{k}" for key in "xy" if draw.random() < 0.6]
            text += f"(n{k}{label} {{{', '.join(own)}}})"
        if k < count:
            left, right = draw.choice((("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")))
            own_key = draw.choice(("", "", " {w: row.w}"))
            text += f"{left}[r{k}:{draw.choice('TTU')}{own_key}]{right}"
    sets = ""
    made = [f"n{k}" for k in range(count + 1) if f"(n{k}" in text]
    if made and draw.random() < 0.3:
        sets += f" ON CREATE SET {draw.choice(made)}.{draw.choice('xz')} = row.x0"
    if bound and draw.random() < 0.2:
        sets += f" ON MATCH SET {bound[0]}.z = row.y0"
    return f"MERGE {text}{sets}", bound


def _whole(db: Database) -> list[str]:
    nodes = db.execute("MATCH (n) RETURN id(n) AS n, labels(n), properties(n)").fetchall()
    edges = db.execute("MATCH (a)-[r]->(b) RETURN id(a), type(r), id(b), properties(r)").fetchall()
    return sorted(map(repr, [*nodes, *edges]))


def _merged(text: str, rows: list[dict[str, object]], *, one_by_one: bool) -> list[object]:
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 3) AS i CREATE (:A:M {i: i, x: i % 2, y: 0})")
        db.execute("MATCH (a:M {i: 0}), (b:M {i: 1}) CREATE (a)-[:T {w: 0}]->(b)-[:U {w: 1}]->(a)")
        if one_by_one:
            with patch.object(Merging, "independent", False):
                answer = db.execute(text, {"rows": rows}).fetchall()
        else:
            answer = db.execute(text, {"rows": rows}).fetchall()
        return [sorted(map(repr, answer)), _whole(db)]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_all_rows_at_once_are_as_one_after_the_other(seed: int) -> None:
    draw, at_once = random.Random(seed), 0
    for _ in range(CLAUSES):
        clause, bound = _clause(draw)
        several = draw.choice((2, 6, 12, 40))
        keys = [*(f"{key}{k}" for key in "xy" for k in range(4)), "w"]
        rows: list[dict[str, object]] = [
            {**{key: draw.choice((0, 1, 1.0, 2)) for key in keys}, "m": draw.randrange(16)}
            for _ in range(several)
        ]
        ends = ", ".join(
            f"({name}:M {{i: row.m {'/ 4' if k else '% 4'}}})" for k, name in enumerate(bound[:2])
        )
        more = ", ".join(f"({name}:M {{i: 0}})" for name in bound[2:])
        found = ", ".join(part for part in (ends, more) if part)
        match = f"MATCH {found} " if found else ""
        named = [name for name in ("n0", "n1", "n2", "n3") if f"({name}" in clause]
        asked = ", ".join([*(f"id({name})" for name in named), "row.m"])
        text = f"UNWIND $rows AS row {match}{clause} RETURN {asked}"
        with patch.object(Merging, "_merged", autospec=True, side_effect=Merging._merged) as merged:
            together = _merged(text, rows, one_by_one=False)
        at_once += merged.called
        assert together == _merged(text, rows, one_by_one=True), text
    assert at_once > CLAUSES / 8


def test_a_key_that_reads_what_the_clause_sets_is_read_row_by_row() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:N {h: 1})")
        db.execute("UNWIND [1, 2] AS i MATCH (a:N) MERGE (b:M {g: a.h}) ON CREATE SET a.h = 7")
        assert db.execute("MATCH (b:M) RETURN b.g ORDER BY b.g").fetchall() == [(1,), (7,)]


# ---- in how many steps ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "UNWIND range(1, 500) AS i MERGE (:A {k: i})-[:HAS]->(:B {g: i})",
        "UNWIND range(1, 500) AS i MERGE (:A {k: i})-[:HAS]-(:B {g: i})",
        "MATCH (a:N) MERGE (a)-[:HAS]->(:M {g: a.g})",
        "MATCH (a:N) MERGE (a)-[:HAS]->(:M {g: a.g})-[:IN]->(:L {g: a.g})",
    ],
)
def test_many_rows_are_matched_in_few_steps(text: str) -> None:
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 500) AS i CREATE (:N {g: i})")
        with patch.object(Merging, "_one", side_effect=AssertionError):
            db.execute(text)
        assert db.execute("MATCH ()-[r]->() RETURN count(r)").scalar() >= 500


def test_rows_that_are_matched_one_by_one_keep_a_timeout() -> None:
    text = "UNWIND range(1, 100000) AS i MERGE (:A {k: i})-[:T]-(:A {k: i + 1})"
    with gdb.connect() as db:
        begin = time.perf_counter()
        with pytest.raises(gdb.QueryTimeout):
            db.execute(text, timeout=0.3)
        assert time.perf_counter() - begin < 3

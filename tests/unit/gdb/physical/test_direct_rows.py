"""Rows that go straight into the answer are the rows, and the types, that DuckDB gives for the same RETURN."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gdb
from gdb import Database, errors
from gdb.executor import choose_device
from gdb.executor.cpu import launch
from gdb.executor.relational import lookup
from gdb.physical import tail
from tests.support.ways import forced

PEOPLE = """:ID,name,age:int,score:float,ok:boolean,:LABEL
{rows}
"""
KNOWS = """:START_ID,:END_ID,:TYPE,since:int,note
{rows}
"""


def _store(folder: Path, ids: str) -> Path:
    """Thirty people of four kinds, some values missing; ids are numbers or strings."""
    random = np.random.default_rng(3)
    name = (lambda k: str(k * 7)) if ids == "numbers" else (lambda k: f"né{k}")
    people = [
        f"{name(k)},{'' if k % 5 == 0 else f'n{k}'},{'' if k % 3 == 0 else k},"
        f"{'' if k % 4 == 0 else k / 2},{['true', 'false', ''][k % 3]},"
        f"{['', 'Person', 'Person;Admin', 'Admin'][k % 4]}"
        for k in range(30)
    ]
    knows = [
        f"{name(a)},{name(b)},{['KNOWS', 'LIKES'][(a + b) % 2]},{a},{'' if b % 2 else f'é{b}'}"
        for a, b in random.integers(0, 30, (90, 2)).tolist()
    ]
    (folder / "people.csv").write_text(PEOPLE.format(rows="\n".join(people)), encoding="utf-8")
    (folder / "knows.csv").write_text(KNOWS.format(rows="\n".join(knows)), encoding="utf-8")
    path = folder / f"{ids}.gdb"
    with gdb.connect(path) as db:
        db.load(nodes=folder / "people.csv", edges=folder / "knows.csv")
    return path


@pytest.fixture(scope="module", params=["numbers", "strings"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _store(tmp_path_factory.mktemp("rows"), request.param)


@pytest.fixture
def graph(store: Path) -> Iterator[Database]:
    with gdb.connect(store, read_only=True) as db:
        yield db


PATTERNS = [
    "(a)-[r]->(b)",
    "(a:Person)-[r:KNOWS]-(b)",
    "(a)--(b)--(c)",
    "(a), (b:Admin)",
    "(a:X)--(b)",
]
DIRECT = [
    "id(a), id(b)",
    "a, b",
    "a.name, b.age, a.score, b.ok, a.age",
    "labels(a), labels(b), id(a)",
    "b.name AS x, b.name AS y, id(b)",
    "DISTINCT id(a)",
    "DISTINCT a, a.name",
    "DISTINCT b.name, id(b), labels(b)",
]
AGGREGATED = [
    "count(DISTINCT id(a))",
    "count(DISTINCT b)",
    "count(DISTINCT a.name), max(a.age)",
    "DISTINCT a.name",
    "DISTINCT labels(b)",
    "a.name, min(a.score)",
    "count(DISTINCT a.age) + 1",
    "a.ok, count(DISTINCT a.name), count(*)",
    "a.age, count(*)",
    "count(*), id(b), count(*) AS n",
    "b, count(a), id(a) + 0 AS zero",
    "b, count(b)",
    "a.age, a.age AS again, count(*)",
    "a.score, count(*)",
    "count(a.age), a.age",
    "count(DISTINCT id(a)), count(DISTINCT id(b))",
]


def table(db: Database, text: str, monkeypatch: pytest.MonkeyPatch, usual: bool) -> pa.Table:
    """The answer; `usual`: every embedding goes through DuckDB."""
    with monkeypatch.context() as patch:
        if usual:
            patch.setattr(tail.TailCompiler, "_once", lambda *_: None)
            patch.setattr(tail.TailCompiler, "_direct", lambda *_: None)
            patch.setattr(tail.TailCompiler, "_tally", lambda *_: None)
        db._statements.clear()
        with forced("selects" if usual else "chosen"):
            return pa.table(db.execute(text, device="cpu"))


def rows(answer: pa.Table) -> list[str]:
    return sorted(map(repr, answer.to_pylist()))


@pytest.mark.parametrize(
    "pattern", [*PATTERNS, *(f"DIFFERENT NODES {pattern}" for pattern in PATTERNS[2:4])]
)
@pytest.mark.parametrize("returned", [*DIRECT, *AGGREGATED])
def test_an_answer_is_that_of_duckdb(
    graph: Database, pattern: str, returned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"MATCH {pattern} RETURN {returned}"
    found = table(graph, text, monkeypatch, usual=False)
    expected = table(graph, text, monkeypatch, usual=True)
    assert rows(found) == rows(expected)
    assert found.schema.types == expected.schema.types
    found.validate(full=True)


@pytest.mark.parametrize("returned", ["id(r), id(a)", "r, a", "r.note, type(r)", "r.since, b"])
def test_relationships_as_well(
    graph: Database, returned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"MATCH (a)-[r]->(b) RETURN {returned}"
    found = table(graph, text, monkeypatch, usual=False)
    expected = table(graph, text, monkeypatch, usual=True)
    assert rows(found) == rows(expected)
    assert found.schema.types == expected.schema.types


@pytest.mark.parametrize("returned", DIRECT)
def test_rows_in_many_parts_are_the_same(
    graph: Database, returned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"MATCH (a)--(b)--(c) RETURN {returned}"
    whole = table(graph, text, monkeypatch, usual=False)
    monkeypatch.setattr(launch, "ROWS", 7)
    monkeypatch.setattr(launch.deliver_rows, "__defaults__", (0, 7))
    monkeypatch.setattr(launch, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(lookup, "_WORTH", 1000)
    parts = table(graph, text, monkeypatch, usual=False)
    assert rows(parts) == rows(whole)
    assert parts.schema == whole.schema


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 29, 30, 31, 10_000])
@pytest.mark.parametrize("returned", ["id(a), id(b)", "DISTINCT id(a)", "DISTINCT a.name", "1"])
def test_a_limit_is_kept(graph: Database, returned: str, limit: int) -> None:
    text = f"MATCH DIFFERENT NODES (a)--(b)--(c) RETURN {returned}"
    everything = [repr(row) for row in graph.execute(text)]
    for _ in range(2):
        some = [repr(row) for row in graph.execute(f"{text} LIMIT {limit}")]
        assert len(some) == min(limit, len(everything))
        for row in some:
            assert row in everything
        if "DISTINCT" in returned:
            assert len(set(some)) == len(some)


def test_ids_of_two_id_spaces_are_not_one_vertex(tmp_path: Path) -> None:
    """count(DISTINCT id(x)) may be less than the number of vertices."""
    (tmp_path / "a.csv").write_text("id:ID(A),:LABEL\n1,A\n2,A\n")
    (tmp_path / "b.csv").write_text("id:ID(B),:LABEL\n1,B\n2,B\n3,B\n")
    (tmp_path / "e.csv").write_text(":START_ID(A),:END_ID(B),:TYPE\n1,1,E\n2,2,E\n1,3,E\n")
    with gdb.connect() as db:
        db.load(nodes=[tmp_path / "a.csv", tmp_path / "b.csv"], edges=tmp_path / "e.csv")
        assert db.execute("MATCH (x)--(y) RETURN count(DISTINCT id(x))").scalar() == 3
        assert db.execute("MATCH (x)--(y) RETURN count(DISTINCT x)").scalar() == 5
        assert len(db.execute("MATCH (x)--(y) RETURN DISTINCT id(x)")) == 3
        assert len(db.execute("MATCH (x)--(y) RETURN DISTINCT id(x), labels(x)")) == 5
        assert len(db.execute("MATCH (x:B)--(y) RETURN DISTINCT id(x)")) == 3


def test_nothing_of_duckdb_runs_where_the_columns_are_the_answer(
    graph: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdb.executor.relational import relational

    import_module(
        "gdb.physical.rows.row_tail"
    )  # a process that has DuckDB loads it for no first run

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("asked DuckDB")

    monkeypatch.setattr(
        choose_device, "cuda_begun", lambda: False
    )  # else the first run may be elsewhere
    monkeypatch.setattr(relational, "query", refuse)
    assert len(graph.execute("MATCH (a)--(b) RETURN id(a), a.name, labels(b)")) > 0
    assert graph.execute("MATCH (a)--(b)--(c) RETURN count(DISTINCT id(c))").scalar()
    assert len(graph.execute("MATCH (a)--(b) RETURN a.age, count(*)")) > 0
    assert len(graph.execute("MATCH (a)--(b) RETURN a.name ORDER BY a.name")) > 0  # few
    with forced("selects"), pytest.raises(errors.InternalError, match="asked DuckDB"):
        graph.execute("MATCH (a)--(b) RETURN a.name ORDER BY a.name")


def test_the_memory_of_a_part_is_used_again(graph: Database) -> None:
    """What `make` keeps of some rows must not be a view of them."""
    request = "MATCH (a)-[r]-(b) RETURN a, r, b"
    first = graph.execute(request).fetchall()
    kept = graph.execute(request)
    for _ in range(3):
        graph.execute(request)
    assert sorted(map(repr, kept.fetchall())) == sorted(map(repr, first))


def test_an_aggregate_of_what_no_node_has_is_one_row() -> None:
    """Such an aggregate is null in the SQL, where nothing else would say that all rows are one group."""
    with gdb.connect() as db:
        assert db.execute("MATCH (n) RETURN avg(n.age)").fetchall() == [(None,)]
        db.execute("CREATE (), ()")
        assert db.execute("MATCH (n) RETURN avg(n.age) - 1, max(n.x)").fetchall() == [(None, None)]


@pytest.mark.parametrize(
    "of", ["[(n)-->(m) | m.y]", "COLLECT { MATCH (n)-->(m) RETURN m.y }", "[EXISTS { (n)-->() }]"]
)
def test_unwind_of_patterns(of: str) -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:A {x: 1})-[:R]->(:C {y: true})")
        found = db.execute(f"MATCH (n:A) UNWIND {of} AS x WITH * RETURN *")
        assert found.columns == ["n", "x"]
        assert [row[1] for row in found] == [True]

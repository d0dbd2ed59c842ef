"""COPY (query) TO: rows as files."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gdb
from gdb.errors import (
    ArgumentProblem,
    ArithmeticProblem,
    ClusterError,
    FolderTaken,
    GdbError,
    NameProblem,
    QueryTimeout,
    ReadOnlyError,
    StoreError,
    SyntaxProblem,
    TypeProblem,
)
from gdb.language.parser import parse
from gdb.language.printer import printed
from tests.support.shared_store import cut_always

NUMBER = 3000
PAIRS = "MATCH (a:N)-[r]->(b) RETURN a.x AS x, b.y AS y, b.s AS s"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gdb.Database]:
    with gdb.connect(tmp_path_factory.mktemp("copy") / "graph.gdb") as db:
        db.execute(
            "UNWIND range(1, $n) AS x CREATE (:N {x: x})-[:R {w: 1.5}]->(:M {y: -x, s: 't, ' + x})",
            {"n": NUMBER},
        )
        yield db


def rows_in(pattern: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return sorted(connection.execute(f"SELECT * FROM '{pattern}'").fetchall())


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_a_folder_of_parts(db: gdb.Database, tmp_path: Path, format_: str) -> None:
    found = db.execute(
        f"COPY ({PAIRS}) TO $to OPTIONS {{format: $format, part_rows: 1000}}",
        {"to": str(tmp_path / "out"), "format": format_},
    )
    assert found.dicts() == [{"rows": NUMBER, "files": 3}]
    assert left(tmp_path) == ["out"]
    assert left(tmp_path / "out") == [f"part-{k:05}.{format_}" for k in range(3)]
    assert rows_in(tmp_path / "out" / f"*.{format_}") == sorted(db.execute(PAIRS).fetchall())


@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_one_file(db: gdb.Database, tmp_path: Path, name: str) -> None:
    query = "MATCH (a:N)-->(b) RETURN a.x % 7 AS k, count(*) AS n ORDER BY k LIMIT 5"
    assert db.execute(f"COPY ({query}) TO '{tmp_path}/{name}'").fetchall() == [(5, 1)]
    assert left(tmp_path) == [name]
    assert rows_in(tmp_path / name) == db.execute(query).fetchall()


DURATIONS = """UNWIND ['PT24H', 'PT-25H', 'PT0.000001S'] AS t WITH duration(t) AS d
    RETURN toString(d) AS s, d, [d] AS l, {a: d, b: [d]} AS m"""


def test_durations_in_csv_are_the_texts_of_to_string(db: gdb.Database, tmp_path: Path) -> None:
    db.execute(f"COPY ({DURATIONS}) TO '{tmp_path}/o.csv'")
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert lines[1:] == [
        f"{t},{t},[{t}],\"{{'a': {t}, 'b': [{t}]}}\"" for t in ("PT24H", "PT-25H", "PT0.000001S")
    ]


def test_durations_in_parquet_are_durations_for_readers_of_arrow(
    db: gdb.Database, tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    db.execute(f"COPY ({DURATIONS}) TO '{tmp_path}/o.parquet'")
    assert parquet.read_table(tmp_path / "o.parquet").to_pylist() == db.execute(DURATIONS).dicts()


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_maps_without_keys(db: gdb.Database, tmp_path: Path, format_: str) -> None:
    query = (
        "UNWIND [{}, null] AS x RETURN x, [{}] AS l, {a: {}, d: duration('PT1H')} AS m, 1 AS one"
    )
    db.execute(f"COPY ({query}) TO '{tmp_path}/o.{format_}'")
    if format_ == "csv":
        lines = (tmp_path / "o.csv").read_text().splitlines()
        assert [line.partition(",")[0] for line in lines[1:]] == ["{}", ""]
        return
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT x, l, m.a FROM '{tmp_path}/o.parquet'").fetchall()
    assert found == [("{}", ["{}"], "{}"), (None, ["{}"], "{}")]
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "o.parquet").to_pylist()
    assert table[0]["m"] == {"a": "{}", "d": timedelta(hours=1)}


def test_nodes_relationships_and_lists(db: gdb.Database, tmp_path: Path) -> None:
    db.execute(
        f"COPY (MATCH (a {{x: 7}})-[r]->(b) RETURN a, r, [1, 2] AS l) TO '{tmp_path}/o.parquet'"
    )
    ((a, r, items),) = rows_in(tmp_path / "o.parquet")
    assert (a["labels"], a["properties"]["x"]) == (["N"], 7)
    assert (r["type"], r["properties"]["w"], items) == ("R", 1.5, [1, 2])


def test_no_rows(db: gdb.Database, tmp_path: Path) -> None:
    query = f"COPY (MATCH (a:N) WHERE a.x < 0 RETURN a.x AS x) TO '{tmp_path}/o'"
    assert db.execute(query).fetchall() == [(0, 1)]
    assert rows_in(tmp_path / "o" / "*.parquet") == []


def test_a_budget_and_a_snapshot(db: gdb.Database, tmp_path: Path) -> None:
    with db.snapshot() as held:
        query = (
            f"COPY (MATCH (a:N), (b:N) WHERE a.x < 100 RETURN a.x, b.x) TO '{tmp_path}/o.parquet'"
        )
        found = held.execute(query, memory="64MB").fetchall()
    assert found == [(99 * NUMBER, 1)]
    assert len(set(rows_in(tmp_path / "o.parquet"))) == 99 * NUMBER


class Inline(Executor):
    """Runs what it is given at once. lost : number of the task that fails."""

    def __init__(self, lost: int = -1) -> None:
        self.sent, self.lost = 0, lost

    def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.sent == self.lost:
            future.set_exception(MemoryError("killed"))
        else:
            future.set_result(function(*arguments))
        self.sent += 1
        return future


def test_other_processes_find_the_rows(
    db: gdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_always(monkeypatch)
    on = Inline()
    db.execute(f"COPY ({PAIRS}) TO '{tmp_path}/o'", on=gdb.Cluster(on, 4, least=0.0))
    assert on.sent >= 4
    assert rows_in(tmp_path / "o" / "*.parquet") == sorted(db.execute(PAIRS).fetchall())
    with pytest.raises(ClusterError, match="killed"):
        db.execute(f"COPY ({PAIRS}) TO '{tmp_path}/p'", on=gdb.Cluster(Inline(2), 4, least=0.0))
    assert left(tmp_path) == ["o"]


def test_explain(db: gdb.Database, tmp_path: Path) -> None:
    query = f"COPY ({PAIRS}) TO '{tmp_path}/o'"
    lines = [line for (line,) in db.execute(f"EXPLAIN {query}")]
    assert lines[0].startswith(f"COPY TO {tmp_path}/o, a folder of parquet files")
    assert "\n".join(lines) == db.explain(query)
    assert any("loop nest" in line for line in lines)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("COPY (CREATE (a) RETURN a) TO 'o'", SyntaxProblem, "column 7: COPY ... TO takes a query"),
        ("COPY (MATCH (a)\nRETURN b) TO 'o'", NameProblem, "line 2, column 8: there is no"),
        ("COPY (MATCH (a) CALL { CREATE (b) } RETURN a) TO 'o'", ReadOnlyError, ""),
        ("COPY (MATCH (a) RETURN 1 AS x, 2 AS X) TO 'o'", SyntaxProblem, "case only"),
        ("COPY (MATCH (a) FINISH) TO 'o'", SyntaxProblem, "no columns"),
        ("COPY (MATCH (a:N) RETURN 1 / 0) TO 'o'", ArithmeticProblem, "column 26"),
        ("COPY (MATCH (a) RETURN 1) TO 7", TypeProblem, "this is '7'"),
        ("COPY (MATCH (a) RETURN 1) TO $o", NameProblem, "no value"),
        (
            "COPY (MATCH (a) RETURN 1) TO 'o.csv' OPTIONS {format: 'parquet'}",
            ArgumentProblem,
            "no parquet",
        ),
        ("COPY (MATCH (a) RETURN 1) TO 'o' OPTIONS {formt: 'csv'}", NameProblem, "mean format"),
        ("COPY (MATCH (a) RETURN 1) TO 'o' OPTIONS {part_rows: 0}", TypeProblem, "positive"),
        ("COPY (MATCH (a) RETURN 1) FROM 'o'", SyntaxProblem, "expected TO"),
        ("PROFILE COPY (MATCH (a) RETURN 1) TO 'o'", SyntaxProblem, "not profiled"),
        ("COPY (MATCH (a) RETURN 1) TO 'no/o.csv'", StoreError, "is not there"),
    ],
)
def test_mistakes_leave_nothing(
    db: gdb.Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    query: str,
    error: type[GdbError],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        db.execute(query)
    assert left(tmp_path) == []


def test_what_is_there_stays(db: gdb.Database, tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "mine").write_text("x")
    (tmp_path / "o.csv").write_text("mine")
    for name in ("o", "o.csv"):
        with pytest.raises(FolderTaken, match="exists"):
            db.execute(f"COPY ({PAIRS}) TO '{tmp_path}/{name}'")
    assert (tmp_path / "o.csv").read_text() == "mine"
    assert left(tmp_path) == ["o", "o.csv"]


def test_a_full_disk(db: gdb.Database, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        for name in ("o", "o.parquet"):
            with pytest.raises(
                StoreError, match=rf"failed on {tmp_path}/{name}: File too large\. Check"
            ):
                db.execute(f"COPY ({PAIRS}) TO '{tmp_path}/{name}'")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert left(tmp_path) == []


def test_a_timeout_leaves_nothing(db: gdb.Database, tmp_path: Path) -> None:
    query = f"COPY (MATCH (a), (b), (c) RETURN a.x, b.x, c.x) TO '{tmp_path}/o'"
    with pytest.raises(QueryTimeout):
        db.execute(query, timeout=0.3)
    assert left(tmp_path) == []


def test_an_import_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with gdb.connect(import_root=root) as db:
        db.execute("COPY (UNWIND [1, 2] AS x RETURN x) TO 'o.csv'")
        for path in ("../o.csv", f"{tmp_path}/o.csv"):
            with pytest.raises(ArgumentProblem, match="outside of the import root"):
                db.execute(f"COPY (UNWIND [1, 2] AS x RETURN x) TO '{path}'")
    assert left(root) == ["o.csv"]
    assert left(tmp_path) == ["root"]


def test_it_is_printed_as_it_was_read() -> None:
    text = "COPY (MATCH (a) RETURN a.x AS x) TO 'o' OPTIONS {format: 'csv'}"
    assert printed(parse(text.lower().replace("as x", "as x"))) == text
    assert printed(parse(f"EXPLAIN {text}")) == f"EXPLAIN {text}"

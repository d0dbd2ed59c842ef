"""Columns that stay on a GPU: what may be requested, and which ids they hold; NumPy arrays replace those of a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdb
from gdb import Database, errors
from gdb.executor import run
from gdb.executor.choose_device import Choice, choose
from gdb.executor.gpu import device
from gdb.executor.gpu.rows import Pick
from gdb.executor.nest.bindings import Bindings
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.executor.plan.plan import Plan
from gdb.executor.plan.source import GraphSource
from gdb.executor.run import Options
from gdb.run import pipeline
from gdb.storage.graph.adjacency import I64


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns as the CPU finds them."""

    def columns(
        plan: Plan,
        graph: GraphSource,
        options: Options,
        wanted: Wanted,
        picks: Sequence[Pick],
        limit: int | None,
        bindings: Bindings | None,
    ) -> list[I64]:
        def make(some: Embeddings) -> list[I64]:
            found = []
            for pick in picks:
                if pick.element == "edge":
                    found.append(some.edge(pick.index).copy())
                else:
                    assert pick.ids is not None
                    found.append(pick.ids[some.vertex(pick.index)].astype(np.int64))
            return found

        parts = run.rows(plan, graph, Options("cpu"), wanted, make, limit, bindings).parts
        return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]

    monkeypatch.setattr(run, "columns_on_gpu", columns)

    def chosen(plan: Plan, device: str, *graph: GraphSource, **how: Any) -> Choice:
        return Choice(device, "a test") if device == "cuda" else choose(plan, device, *graph, **how)

    for module in (run, pipeline):
        monkeypatch.setattr(module, "choose", chosen)


QUERIES = [
    "MATCH (a:Person)-[r]->(b) RETURN id(b), r, a",
    "MATCH (a)-[r:KNOWS]-(b)-[s]-(c) RETURN a, id(a), s, id(r), id(c)",
    "MATCH SUBGRAPHS (a)--(b)--(c), (a)--(c) RETURN id(a), b, id(c)",
    "MATCH (a)-->(b) WHERE a.age > 30 RETURN id(a), b",
    "MATCH (a)-->(b) RETURN DISTINCT b",
    "MATCH (a)-->(b) RETURN DISTINCT id(b) AS x, b",
    "MATCH (a:Nobody)-->(b) RETURN a, b",
]


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("query", QUERIES)
def test_columns_hold_what_the_rows_do(db: Database, query: str) -> None:
    for _ in range(2):  # the second time the statement is known
        found = db.device_columns(query)
        told = db.execute(query, device="cpu")
        rows = Counter(
            zip(*(np.asarray(column).tolist() for column in found.values()), strict=True)
        )
        assert rows == Counter(tuple(getattr(x, "id", x) for x in row) for row in told)
        assert [*found] == found.columns == told.columns
        assert found.rows == rows.total() == len(told)
        assert all(column.shape == (found.rows,) for column in found.values())


@pytest.mark.usefixtures("on_host")
def test_parameters_and_limits(db: Database) -> None:
    query = "MATCH (a)-->(b) WHERE id(a) = $id RETURN id(b) LIMIT 1"
    for number in (1, 2, 3):
        assert db.device_columns(query, {"id": number}).rows == 1
    assert db.device_columns(query, {"id": 99}).rows == 0


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-->(b) RETURN a.age",
        "MATCH (a)-->(b) RETURN id(a), b.name",
        "MATCH (a)-->(b) RETURN count(*)",
        "MATCH (a)-->(b) RETURN id(a), count(*)",
        "MATCH (a)-->(b) RETURN id(a) ORDER BY id(b)",
        "MATCH (a)-->(b) RETURN id(a) SKIP 1",
        "MATCH (a)-->(b) RETURN id(a) + 1",
        "MATCH (a)-->(b) RETURN labels(a)",
        "EXPLAIN MATCH (a)-->(b) RETURN id(a)",
        "PROFILE MATCH (a)-->(b) RETURN id(a)",
    ],
)
def test_nothing_else_stays_on_a_gpu(db: Database, query: str) -> None:
    with pytest.raises(errors.NotSupported, match=r"execute\(\)"):
        db.device_columns(query)


def test_strings_do_not_stay_on_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(":ID,:LABEL\nx,A\ny,A\n")
    (tmp_path / "e.csv").write_text(":START_ID,:END_ID,:TYPE\nx,y,R\n")
    with gdb.connect() as db:
        db.load(nodes=tmp_path / "n.csv", edges=tmp_path / "e.csv")
        with pytest.raises(errors.TypeProblem, match="'a' are strings"):
            db.device_columns("MATCH (a)-->(b) RETURN a")


@pytest.mark.parametrize("name", ["cpu", "auto"])
def test_a_gpu_has_to_be_meant(db: Database, name: str) -> None:
    with pytest.raises(errors.DeviceError, match=f"{name}.*cuda:N"):
        db.device_columns("MATCH (a) RETURN a", device=name)


def test_without_a_gpu(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "absence", lambda: "there is no CUDA device")
    with pytest.raises(errors.DeviceError, match="there is no CUDA device"):
        db.device_columns("MATCH (a)-->(b) RETURN a, b")

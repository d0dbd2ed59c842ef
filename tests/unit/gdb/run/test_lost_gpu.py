"""A GPU that fails while a query runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import gdb
from gdb.errors import DeviceError, LimitExceeded
from gdb.executor import choose_device, run
from gdb.run import pipeline

QUERIES = {
    "MATCH (a)-->(b) RETURN count(*)": [(3,)],
    "MATCH (a)-->(b) RETURN id(a), id(b) ORDER BY id(a), id(b)": [(1, 2), (1, 3), (2, 3)],
    "MATCH (a)-->(b) RETURN count(DISTINCT id(b))": [(2,)],
}


@pytest.fixture
def db(tmp_path: Path) -> gdb.Database:
    edges = tmp_path / "edges.csv"
    edges.write_text(":START_ID,:END_ID,:TYPE\n1,2,R\n1,3,R\n2,3,R\n")
    db = gdb.connect(tmp_path / "lost.gdb")
    db.load(edges=edges)
    return db


@pytest.fixture(params=[DeviceError("GPU 0 failed.", "."), LimitExceeded("Too many levels.", ".")])
def lost(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Exception:
    """Every query is sent to a GPU, which gives it up."""
    from gdb.executor.gpu import launch

    def choose(plan: object, device: str, *_: object, **__: object) -> choose_device.Choice:
        return choose_device.Choice("cpu" if device == "cpu" else "cuda:0", "a test")

    def fail(*_: object, **__: object) -> None:
        raise request.param

    monkeypatch.setattr(choose_device, "cuda_begun", lambda: True)  # else none is chosen first
    for module in (run, pipeline):
        monkeypatch.setattr(module, "choose", choose)
    for name in ("counts", "deliver_rows", "distinct"):
        monkeypatch.setattr(launch, name, fail)
    error: Exception = request.param
    return error


@pytest.mark.parametrize("query", QUERIES)
def test_the_cpu_answers_where_no_device_was_named(
    db: gdb.Database, lost: Exception, query: str
) -> None:
    result = db.execute(query)
    assert result.fetchall() == QUERIES[query]
    assert result.summary.device == "cpu"
    assert any("cuda:0 gave up" in text and str(lost) in text for text in result.warnings)


@pytest.mark.parametrize("query", QUERIES)
def test_a_device_that_was_named_fails(db: gdb.Database, lost: Exception, query: str) -> None:
    with pytest.raises(type(lost)):
        db.execute(query, device="cuda")

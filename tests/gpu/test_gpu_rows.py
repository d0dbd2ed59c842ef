"""Rows from the device: the same at any size of the buffers and any memory, to the host and as columns that stay."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb import Database, planner
from gdb.errors import Cancelled, DeviceError, OutOfBudget
from gdb.executor import run
from gdb.executor.gpu import launch, memory, rows, special
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.executor.run import Options
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import DIFFERENT_EDGES, DIFFERENT_NODES, MatchMode
from tests.gpu.test_gpu_executor import bag, hub_graph, pattern, staged
from tests.support.backends import rows_on_cpu, rows_on_gpu

pytestmark = pytest.mark.gpu

QUERIES = [
    "MATCH (a)-[r]->(b) RETURN id(a), id(b), r",
    "MATCH (a:A)-[r:R]->(b)-[s]-(c) RETURN id(c), s, id(a), r",
    "MATCH DIFFERENT NODES (a)-[:U]-(b)-[:U]-(c), (a)-[:U]-(c) RETURN id(a), id(b), id(c)",
    "MATCH SUBGRAPHS (a)-[:U]-(b)-[:U]-(c), (a)-[:U]-(c) RETURN a, b, c",
    "MATCH (a)-[r:R]->(b), (a)-[s:R]->(b) RETURN id(a), r, s",
    "MATCH (a:B)--(b) RETURN DISTINCT id(a)",
    "MATCH (a)-[:R]->(b)-[:R]->(c) RETURN DISTINCT b",
    "MATCH (a:A)-[:none]->(b) RETURN id(a), id(b)",
]


def watch(limit: int | None = None, cancel: threading.Event | None = None) -> Watch:
    return Watch(None, cancel, limit)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred nodes whose ids say nothing of their order; parallel relationships, loops, a hub."""
    rng = random.Random(4)
    folder = tmp_path_factory.mktemp("columns")
    names = rng.sample(range(10**12), 100)
    nodes = "".join(f"{name},{'AB'[k % 2]}\n" for k, name in enumerate(names))
    pairs = [("R", names[0], name) for name in names[:80]]
    pairs += [(rng.choice("RU"), rng.choice(names), rng.choice(names)) for _ in range(500)]
    pairs += rng.choices(pairs, k=40)
    edges = "".join(f"{a},{b},{kind}\n" for kind, a, b in pairs)
    (folder / "nodes.csv").write_text(f":ID,:LABEL\n{nodes}")
    (folder / "edges.csv").write_text(f":START_ID,:END_ID,:TYPE\n{edges}")
    with gdb.connect(folder / "g.gdb") as db:
        db.load(nodes=folder / "nodes.csv", edges=folder / "edges.csv")
    return folder / "g.gdb"


@pytest.fixture
def db(store: Path) -> Iterator[Database]:
    with gdb.connect(store, read_only=True) as opened:
        yield opened


def rows_of(found: gdb.DeviceColumns) -> Counter[tuple[int, ...]]:
    import cupy

    return Counter(
        zip(*(cupy.asnumpy(cupy.asarray(c)).tolist() for c in found.values()), strict=True)
    )


def rows_on_host(db: Database, query: str, device: str) -> Counter[tuple[int, ...]]:
    return Counter(
        tuple(getattr(cell, "id", cell) for cell in row) for row in db.execute(query, device=device)
    )


# ---- to the host -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [DIFFERENT_EDGES, DIFFERENT_NODES])
@pytest.mark.parametrize("shape", ["wedge", "triangle", "parallel", "path"])
def test_rows_with_less_and_less_memory(shape: str, mode: MatchMode) -> None:
    """With what it would like, a fourth of it, a sixteenth, ... until it is refused, never a wrong answer."""
    graph = hub_graph(7, 40, 30)
    query = pattern(shape, mode, ("R",), wanted=shape == "parallel")
    plan = planner.plan(query, graph, counting=False)
    expected = rows_on_cpu(prepare(plan, graph), watch(), Budget(), 1, 1 << 16)
    roomy = Budget()
    assert bag(rows_on_gpu(prepare(plan, graph), watch(), roomy)) == bag(expected)
    limit = roomy.used
    answered = 0
    while True:
        budget = Budget(limit)
        try:
            found = rows_on_gpu(prepare(plan, graph), watch(), budget)
        except OutOfBudget:
            break
        assert bag(found) == bag(expected)
        assert budget.used <= limit
        answered += 1
        limit //= 4
    assert answered >= 2


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("limit", [None, 1, 50, 10**6])
@pytest.mark.parametrize("shape", ["triangle", "wedge", "parallel"])
def test_twins_and_limits(
    shape: str, limit: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "LEAST_PART", 7)
    monkeypatch.setattr(launch, "TO_HOST", 4096)
    graph = hub_graph(8, 60, 60)
    query = pattern(shape, DIFFERENT_NODES, wanted=shape == "parallel")
    plan = planner.plan(query, graph, counting=False)
    edges = tuple(plan.bound_edges)
    wanted = Wanted((0, 1), edges)

    def make(some: Embeddings) -> list[tuple[int, ...]]:
        columns = [some.vertex(v).tolist() for v in (0, 1)] + [some.edge(e).tolist() for e in edges]
        return list(zip(*columns, strict=True))

    found = run.rows(plan, graph, Options("cuda", threads), wanted, make, limit)
    whole = run.rows(plan, graph, Options("cpu", 1), wanted, make)
    everything = Counter(row for part in whole.parts for row in part)
    got = Counter(row for part in found.parts for row in part)
    assert got <= everything
    assert got.total() == found.rows == min(limit or 10**9, everything.total())


@pytest.mark.parametrize("shape", ["wedge", "triangle", "parallel", "path"])
def test_distinct_values(shape: str) -> None:
    """At any level of the nest, also by a kernel of its own; nothing but marks comes back."""
    graph = hub_graph(3, 70, 60)
    query = pattern(shape, DIFFERENT_EDGES, ("R",))
    plan = planner.plan(query, graph, counting=False, switched_off=frozenset({"symmetry"}))
    prepared = prepare(plan, graph)
    expected = rows_on_cpu(prepared, watch(), Budget(), 1, 1 << 16)
    for vertex in range(plan.vertices):
        want = sorted(set(expected.vids[:, vertex].tolist()))
        for _ in range(2):
            assert launch.distinct(prepared, watch(), Budget(), vertex).tolist() == want
        if vertex != 1:
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(special, "WORTH", -1.0)
            patch.setattr(launch, "STEPS", 3)
            launch.distinct(prepared, watch(), Budget(), vertex)
            assert special.settle(180)
            assert launch.distinct(prepared, watch(), Budget(), vertex).tolist() == want


def test_a_cancel_in_the_midst() -> None:
    """What was on its way is let go, and the next query finds everything as it should be."""
    prepared = staged(pattern("path", DIFFERENT_EDGES), hub_graph(1), False)
    expected = bag(rows_on_cpu(prepared, watch(), Budget(), 1, 1 << 16))
    for _ in range(3):
        cancel = threading.Event()

        def deliver(part: Embeddings, cancel: threading.Event = cancel) -> None:
            cancel.set()

        wanted = Wanted(tuple(range(4)))
        with pytest.raises(Cancelled):
            launch.deliver_rows(
                *(prepared, watch(cancel=cancel), Budget(), wanted, deliver), capacity=100
            )
        locked = memory.LOCKED.bytes
        assert bag(rows_on_gpu(prepared, watch(), Budget(), 100)) == expected
        assert memory.LOCKED.bytes >= locked > 0


def test_a_fault_of_the_taker_is_raised() -> None:
    prepared = staged(pattern("path", DIFFERENT_EDGES), hub_graph(1), False)

    def deliver(part: Embeddings) -> None:
        raise ValueError("no more of this")

    for threads in (1, 3):
        with pytest.raises(ValueError, match="no more"):
            launch.deliver_rows(
                *(prepared, watch(), Budget(), Wanted((0, 1)), deliver), (0,), threads, 50
            )


# ---- on the device ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [64, 300, 1 << 20])
@pytest.mark.parametrize("query", QUERIES)
def test_columns_are_the_rows(
    db: Database, query: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "ON_DEVICE", size)
    found = db.device_columns(query)
    assert rows_of(found) == rows_on_host(db, query, "cpu") == rows_on_host(db, query, "cuda")
    assert found.rows == found.summary.rows == rows_of(found).total()
    assert found.columns == db.execute(query, device="cpu").columns


@pytest.mark.parametrize("limit", [0, 1, 33, 10**6])
def test_columns_with_a_limit(db: Database, limit: int) -> None:
    query = "MATCH (a)-[r]-(b) RETURN id(a), id(b)"
    everything = rows_on_host(db, query, "cpu")
    found = rows_of(db.device_columns(f"{query} LIMIT {limit}"))
    assert found <= everything
    assert found.total() == min(limit, everything.total())


@pytest.mark.parametrize("query", QUERIES)
def test_a_stream_has_the_same_rows(db: Database, query: str) -> None:
    expected = Counter(map(repr, db.execute(query, device="cpu")))
    stream = db.stream(query, device="cuda")
    assert Counter(map(repr, stream)) == expected
    assert stream.summary is not None
    assert stream.summary.device == "cuda:0"


def test_a_stream_that_is_closed_early(db: Database) -> None:
    with db.stream("MATCH (a)--(b)--(c)--(d)--(e) RETURN id(a), id(e)", device="cuda") as stream:
        next(stream.batches(100))
    assert db.execute("MATCH (a) RETURN count(*)", device="cuda").scalar() == 100


def test_columns_speak_both_protocols(db: Database) -> None:
    cupy = pytest.importorskip("cupy")
    column = db.device_columns("MATCH (a)-->(b) RETURN id(a)")["id(a)"]
    assert column.__cuda_array_interface__["typestr"] == "<i8"
    assert column.__dlpack_device__() == (2, 0)  # kDLCUDA
    assert (cupy.from_dlpack(column) == cupy.asarray(column)).all()
    try:
        import torch
    except ImportError:
        return
    assert torch.from_dlpack(column).cpu().numpy().tolist() == cupy.asnumpy(column).tolist()


def test_columns_again_are_other_memory(db: Database) -> None:
    """A later query does not write into what an earlier one gave."""
    query = "MATCH (a)-->(b) RETURN id(a), id(b)"
    first = db.device_columns(query)
    before = rows_of(first)
    for _ in range(3):
        db.device_columns("MATCH (a)-->(b) RETURN id(b), id(a)")
    assert rows_of(first) == before


def test_columns_within_a_budget(db: Database) -> None:
    query = "MATCH (a)--(b)--(c)--(d)--(e) RETURN id(a), id(b), id(c), id(d), id(e)"
    rows = db.execute(query.partition("RETURN")[0] + "RETURN count(*)", device="cpu").scalar()
    assert 40 * int(str(rows)) > 128 << 20
    with pytest.raises(OutOfBudget, match="its rows"):
        db.device_columns(query, gpu_memory="64MiB")
    assert db.device_columns(query, gpu_memory="4GB").rows == rows


def test_columns_that_do_not_fit_the_device(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "MATCH (a)-->(b) RETURN id(a), id(b)"
    monkeypatch.setattr(memory, "free_bytes", lambda _: 1 << 20)
    monkeypatch.setattr(launch, "ON_DEVICE", 4096)
    real = memory.make_room

    def full(needed: int, ordinal: int, *cure: str) -> int:
        return real(needed if not cure else 1 << 40, ordinal, *cure)

    monkeypatch.setattr(memory, "make_room", full)
    with pytest.raises(DeviceError, match="Add a LIMIT"):
        db.device_columns(query)


def test_columns_are_what_numpy_says(db: Database) -> None:
    import cupy

    found = db.device_columns("MATCH (a:A)-[r:R]->(b:B) RETURN a, r, b")
    a, r, b = (cupy.asnumpy(cupy.asarray(column)) for column in found.values())
    rows = db.execute("MATCH (a:A)-[r:R]->(b:B) RETURN id(a), id(r), id(b)").fetchall()
    told = {int(str(k)): (int(str(x)), int(str(y))) for x, k, y in rows}
    assert len(np.unique(r)) == len(r) == len(told)
    assert {int(k): (int(x), int(y)) for k, x, y in zip(r, a, b, strict=True)} == told

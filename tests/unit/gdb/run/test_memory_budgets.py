"""`memory=` of queries: the same answers at every budget, what EXPLAIN and PROFILE show of it, and what is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gdb
from gdb import Database
from gdb.base import budget
from gdb.base.budget import LEAST
from gdb.errors import OutOfBudget, QueryError, TypeProblem
from gdb.executor.cpu import ranges
from gdb.run import options
from gdb.storage.disk import arrays, scratch_folder
from tests.support.effort import PROFILE

SHAPES = {
    "triangle": "(a)-[]-(b)-[]-(c), (a)-[]-(c)",
    "rectangle": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a)",
    "diamond": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a), (a)-[]-(c)",
    "clique4": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a), (a)-[]-(c), (b)-[]-(d)",
    "house": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a), (a)-[]-(e)-[]-(b)",
    "directed": "(a)-->(b)-->(c), (a)-->(c)",
    "back and forth": "(a)-->(b)-->(a)",
}
MODES = sorted({mode: name for name, mode in options.MATCH_MODES.items()}.values())
SHARES = (1, 64) if PROFILE == "ci" else (1, 4, 16, 64)


@pytest.fixture(autouse=True)
def small_arrays_are_worth_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "LEAST_FILED", 256)
    monkeypatch.setattr(budget, "LEAST", 1)


def view_bytes(db: Database) -> int:
    """About the bytes of the view of all relationships without direction."""
    stats = db.stats()
    return 8 * (stats.edges + stats.vertices)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two types, one of them without direction, 60 nodes; parallel relationships and self-loops."""
    store = tmp_path_factory.mktemp("budgets") / "small.gdb"
    with gdb.connect(store) as db:
        for kind, directed in (("R", True), ("U", False)):
            file = store.parent / f"{kind}.txt"
            step = 7 if directed else 11
            pairs = [(k % 60, (k * step + k // 60) % 60) for k in range(240)]
            file.write_text("".join(f"{a} {b}\n" for a, b in pairs))
            db.load(file, type=kind, label="N", directed=directed)
    return store


@pytest.mark.parametrize("mode", MODES)
def test_answers_are_the_same_at_every_budget(small: Path, mode: str) -> None:
    with gdb.connect(small, read_only=True) as db:
        for name, shape in SHAPES.items():
            counted = f"MATCH {shape} RETURN count(*)"
            listed = f"MATCH {shape} RETURN id(a), id(b) ORDER BY id(a), id(b) LIMIT 5000"
            want = [db.execute(text, match=mode).fetchall() for text in (counted, listed)]
            for share in SHARES:
                with gdb.connect(small, read_only=True) as other:  # nothing is in memory yet
                    memory = max(view_bytes(db) // share, 1)
                    found = other.execute(counted, match=mode, memory=memory).fetchall()
                    assert found == want[0], (name, share)
            with gdb.connect(small, read_only=True) as other:
                rows = other.execute(listed, match=mode, memory=LEAST).fetchall()
                assert rows == want[1], name


@pytest.mark.parametrize("match", ["-[r]-", "-[r]->", "<-[r]-", "-[r:R]-", "-[r:U]-"])
def test_relationships_are_the_same_in_files(small: Path, match: str) -> None:
    """Ids of relationships, whose arrays are made for each direction."""
    text = f"MATCH (a){match}(b) RETURN id(a), id(r), id(b) ORDER BY id(a), id(r), id(b)"
    with gdb.connect(small, read_only=True) as db, gdb.connect(small, read_only=True) as other:
        want = db.execute(text).fetchall()
        assert other.execute(text, memory=LEAST).fetchall() == want
        assert len(want) > 200


@pytest.mark.parametrize("graph", ["wiki-vote/wiki-Vote.txt", "bitcoin-otc/edges.csv"])
def test_real_graphs(graph: str, shared_data: Path, tmp_path: Path) -> None:
    store, lines = tmp_path / "real.gdb", tmp_path / "edges.txt"
    text = (shared_data / graph).read_text()
    pairs = re.findall(r"^(\d+)[\t,](\d+)", text, re.MULTILINE)
    lines.write_text("".join(f"{a} {b}\n" for a, b in pairs))
    with gdb.connect(store) as db:
        db.load(lines, type="E", directed=True, packed=graph.startswith("bitcoin"))
        shapes = [SHAPES[name] for name in ("triangle", "clique4", "directed", "back and forth")]
        queries = [f"MATCH DIFFERENT NODES {shape} RETURN count(*)" for shape in shapes]
        want = [db.execute(query, device="cpu").scalar() for query in queries]
        for share in SHARES:
            with gdb.connect(store, read_only=True) as other:
                memory = view_bytes(db) // share
                found = [
                    other.execute(query, device="cpu", memory=memory).scalar() for query in queries
                ]
            assert found == want, share


@pytest.mark.parametrize("memory", [0, -1, "0", "-5MB", "a lot", "8 apples", "", 1.5, True])
def test_what_is_no_budget_is_refused(memory: object, small: Path) -> None:
    with (
        gdb.connect(small, read_only=True) as db,
        pytest.raises((QueryError, TypeProblem), match="memory="),
    ):
        db.execute("MATCH (a) RETURN count(*)", memory=memory)  # type: ignore[arg-type]


def test_below_the_least_the_error_names_it(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LEAST", LEAST)
    with gdb.connect(small, read_only=True) as db:
        for ask in (db.execute, db.explain, db.stream):
            with pytest.raises(OutOfBudget, match="1 MiB"):
                ask("MATCH (a)-->(b) RETURN count(*)", memory=LEAST - 1)
        assert db.execute("MATCH (a)-->(b) RETURN count(*)", memory=LEAST).scalar() == 710


def test_explain_and_profile_show_who_takes_it(small: Path) -> None:
    text = f"MATCH DIFFERENT NODES {SHAPES['clique4']} RETURN count(*)"
    with gdb.connect(small, read_only=True) as db:
        assert "memory:" not in db.explain(text, device="cpu")
        found = db.explain(text, device="cpu", memory="2MB")
        assert re.search(
            r"memory: 2,000,000 bytes for \d of \d+ workers of about [\d,]+ bytes", found
        )
        plain = db.execute(f"PROFILE {text}", device="cpu").fetchall()
        assert not any("memory:" in line for (line,) in plain)
        lines = [line for (line,) in db.execute(f"PROFILE {text}", device="cpu", memory="3MB")]
        (shown,) = [line for line in lines if line.startswith("memory: ")]
        assert re.search(
            r"at most [\d,]+ of 3,000,000 bytes: .*workers [\d,]+ \(\d of \d+\)", shown
        )
        rows = f"PROFILE MATCH {SHAPES['triangle']} WITH a, count(*) AS n RETURN max(n)"
        lines = [line for (line,) in db.execute(rows, device="cpu", memory="3MB")]
        assert any(line.startswith("memory: ") for line in lines)
    with gdb.connect(small, read_only=True) as db:
        lines = [line for (line,) in db.execute(f"PROFILE {text}", device="cpu", memory="100")]
        assert any("in temporary files: " in line and "workers " in line for line in lines)


def test_explain_and_profile_show_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "GAIN", float("inf"))
    text = f"MATCH DIFFERENT NODES {SHAPES['triangle']} RETURN count(*)"
    (tmp_path / "edges.txt").write_text("".join(f"{a} {b}\n" for b in range(40) for a in range(b)))
    with gdb.connect(tmp_path / "complete.gdb") as db:
        db.load(tmp_path / "edges.txt", type="R", label="N", directed=False)
        assert "passes" not in db.explain(text, device="cpu", memory="2MB")
        found = db.explain(text, device="cpu", memory="2000")
        assert re.search(r"in \d+ passes, each over a part of \w+, whose rows are resident", found)
        lines = [line for (line,) in db.execute(f"PROFILE {text}", device="cpu", memory="2000")]
        assert any("blocks of rows" in line for line in lines if line.startswith("memory: "))
        assert db.execute(text, device="cpu", memory="2000").scalar() == 40 * 39 * 38


def test_temporary_files_have_no_names(small: Path) -> None:
    with gdb.connect(small, read_only=True) as db:
        db.execute(f"MATCH {SHAPES['house']} RETURN count(*)", memory="1000").scalar()
        folder = scratch_folder.of_process()
        assert folder is not None
        assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_rows_behind_a_pattern_have_room_in_files(small: Path) -> None:
    """DuckDB sorts and groups in what is left, and spills the rest."""
    pairs = "RETURN id(a) AS a, id(c) AS c, count(*) AS n ORDER BY n DESC, a, c LIMIT 9"
    text = f"MATCH {SHAPES['diamond']} {pairs}"
    with gdb.connect(small, read_only=True) as db:
        want = db.execute(text).fetchall()
        assert db.execute(text, memory=50_000).fetchall() == want
        lines = [line for (line,) in db.execute(f"PROFILE {text}", memory=50_000)]
        assert any(re.search(r"in temporary files: .*its rows [\d,]+", line) for line in lines)
        with pytest.raises(OutOfBudget, match="its rows"):  # the answer itself is held
            db.execute(f"MATCH {SHAPES['diamond']} RETURN id(a), id(b), id(c)", memory=50_000)


@pytest.mark.parametrize(
    "text",
    [
        "UNWIND range(1, 300000) AS x RETURN x",
        "UNWIND range(1, 100000) AS x RETURN toString(x) + ' of many' AS text",
        "MATCH (a)--(b)--(c) RETURN id(a) + 1 AS a, id(b) + 1 AS b, id(c) + 1 AS c",
    ],
)
def test_answers_of_duckdb_are_counted(small: Path, text: str) -> None:
    with gdb.connect(small, read_only=True) as db:
        with pytest.raises(OutOfBudget, match="its rows"):
            db.execute(text, memory=100_000)
        assert len(db.execute(text, memory="100MB").fetchall()) > 10_000


_PEAK = """
import resource, sys, threading
import gdb

def held(what="RssAnon"):
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(what + ":"):
                return int(line.split()[1]) * 1024

store, memory = sys.argv[1:]
small = "MATCH DIFFERENT NODES (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)"
with gdb.connect() as db:  # what Python, NumPy and LLVM take
    db.execute("CREATE (:N)-[:R]->(:N)")
    db.execute(small, device="cpu").scalar()
before = held()
if memory:  # no allocation succeeds beyond the budget and 100 MB of its own
    most = held("VmData") + 1_048_576 + 100_000_000 - before
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
with gdb.connect(store, read_only=True) as db:
    print(db.execute(small, device="cpu", memory=memory or None).scalar(), held() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_arrays_of_the_graph_are_not_the_memory_of_the_process(tmp_path: Path) -> None:
    """1.2 million relationships: what stays of a query, without a budget, and with one of 1 MiB under a limit of the
    system of 100 MB above it."""
    lines, store = tmp_path / "edges.txt", tmp_path / "s.gdb"
    lines.write_text("".join(f"{k} {(k * 7919 + 1) % 300_007}\n" for k in range(1_200_000)))
    with gdb.connect(store) as db:
        db.load(lines, type="E", directed=True)
    found = []
    for memory in ("", "1MiB"):
        run = subprocess.run(
            [sys.executable, "-c", _PEAK, str(store), memory],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        found.append([int(part) for part in run.stdout.split()])
    (count, free), (again, tight) = found
    assert count == again
    assert free > 20 << 20
    assert tight < free // 2

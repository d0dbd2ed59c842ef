"""Data frames and graphs of networkx as inputs: what they become, and what they hold that cannot be stored."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.storage.write.store import Store
from tests.support.loading import load

PEOPLE = {
    "id": [1, 2, 3],
    "name": ["Ann", None, "Cid"],
    "born": [date(1815, 12, 10), date(1912, 6, 23), None],
    "for": [timedelta(days=1, microseconds=5), None, timedelta(seconds=-1)],
    "tags": [["a", "b"], [], None],
}
KNOWS = {"source": [1, 2], "target": [2, 3], "since": [1.5, None]}
TO_FRAME: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pyarrow table": pa.table,
    "pyarrow reader": lambda x: pa.table(x).to_reader(),
    "polars": pl.DataFrame,
    "pandas": lambda x: pa.table(x).to_pandas(types_mapper=pd.ArrowDtype),
    "duckdb": lambda x: duckdb.connect().from_arrow(pa.table(x)),
}


@pytest.fixture
def db() -> gdb.Database:
    return gdb.connect()


def rows(db: gdb.Database, text: str) -> list[tuple[Any, ...]]:
    return sorted(db.execute(text).fetchall(), key=repr)


def refused(db: gdb.Database, *args: Any, **options: Any) -> ImportFailed:
    with pytest.raises(ImportFailed) as caught:
        db.load(*args, **options)
    assert rows(db, "MATCH (n) RETURN n") == []
    assert caught.value.cure
    assert caught.value.file
    return caught.value


# ---- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", TO_FRAME.values(), ids=TO_FRAME.keys())
def test_tables_of_every_library(db: gdb.Database, make: Callable[[Any], Any]) -> None:
    report = db.load(nodes={"P": make(PEOPLE)}, edges={"KNOWS": make(KNOWS)})
    assert (report.vertices, report.edges) == (3, 2)
    assert [f.format for f in report.files] == ["Arrow nodes", "Arrow relationships"]
    expected = list(zip(*PEOPLE.values(), strict=True))
    found = rows(db, "MATCH (n:P) RETURN n.id, n.name, n.born, n.for, n.tags")
    assert found == sorted(expected, key=repr)
    assert rows(db, "MATCH (a)-[e:KNOWS]->(b) RETURN id(a), id(b), e.since") == [
        (1, 2, 1.5),
        (2, 3, None),
    ]


def test_types_of_arrow(db: gdb.Database) -> None:
    at = datetime(2000, 1, 2, 3, 4, 5)
    table = pa.table(
        {
            "id": pa.array(["x"], pa.string_view()),
            "u": pa.array([7], pa.uint32()),
            "d": pa.array(["y"]).dictionary_encode(),
            "s": pa.array([at], pa.timestamp("s")),
            "ms": pa.array([at], pa.timestamp("ms")),
            "ns": pa.array([at], pa.timestamp("ns")),
            "tz": pa.array([at], pa.timestamp("us", "+01:00")),
            "none": pa.nulls(1),
            "l": pa.array([[timedelta(1)]], pa.large_list(pa.duration("s"))),
        }
    )
    report = db.load(nodes=table)
    assert not report.warnings
    found = rows(db, "MATCH (n) RETURN n.id, n.u, n.d, n.s, n.ms, n.ns, n.tz, n.l")
    assert found == [("x", 7, "y", at, at, at, at, [timedelta(1)])]


def test_columns_by_neo4j_headers_or_names(db: gdb.Database) -> None:
    nodes = pa.table({"key:ID(P)": [1, 2], ":LABEL": ["A;B", "A"], "x": [1, 2]})
    edges = pa.table({":START_ID(P)": [1], ":END_ID(P)": [2], ":TYPE": ["T"]})
    db.load([nodes, edges])
    assert rows(db, "MATCH (a:B)-[:T]->(b) RETURN a.key, b.x") == [(1, 2)]
    plain = pl.DataFrame({"a": [1], "b": [2]})
    db.load(plain, columns=[":START_ID(P)", ":END_ID(P)"], type="U")
    assert rows(db, "MATCH (a)-[:U]->(b) RETURN a.key, b.key") == [(1, 2)]


def test_ends_of_two_tables_and_files_beside(db: gdb.Database, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("id\n1\n2\n")
    frame, lives = pl.DataFrame({"id": [1]}), pl.DataFrame({"source": [1], "target": [2]})
    db.load(nodes={"P": frame, "C": tmp_path / "c.csv"}, edges={"LIVES": (lives, "P", "C")})
    assert rows(db, "MATCH (a:P)-[:LIVES]->(b:C) RETURN id(a), id(b)") == [(1, 2)]


def test_a_result_is_a_table(db: gdb.Database) -> None:
    db.load(nodes={"P": pl.DataFrame(PEOPLE)})
    with gdb.connect() as other:
        other.load(nodes=db.execute("MATCH (n:P) WHERE n.id < 3 RETURN n.id AS id, n.name AS name"))
        assert rows(other, "MATCH (n) RETURN n.id, n.name") == [(1, "Ann"), (2, None)]


def test_bad_rows(db: gdb.Database) -> None:
    table = pa.table({"source": [1, None, 3], "target": [1, 2, 9]})
    error = refused(db, nodes=pa.table({"id": [1, 3]}), edges={"T": table})
    assert (error.file, error.line) == ("pyarrow.Table (T)", 2)
    assert "the start id is empty" in error.reason
    report = db.load(nodes=pa.table({"id": [1, 3]}), edges={"T": table}, on_error="skip")
    assert [r.line for r in report.rejected] == [2, 3]
    assert report.edges == 1


def test_tables_that_cannot_be_stored(db: gdb.Database) -> None:
    assert "STRUCT" in refused(db, nodes=pa.table({"id": [1], "x": [{"a": 1}]})).reason
    nanoseconds = pa.table({"id": [1], "x": pa.array([1], pa.duration("ns"))})
    assert "nanoseconds" in refused(db, nodes=nanoseconds).reason
    assert "is no table" in refused(db, nodes=pl.Series("id", [1])).reason
    assert "column of ids" in refused(db, nodes=pa.table({"id": [1.5]})).reason

    class Failing:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError("no more")

    assert "no more" in refused(db, nodes=Failing()).reason
    with pytest.raises(ImportFailed, match="is no path"):
        db.load(nodes=7)  # type: ignore[arg-type]


def test_no_pyarrow_is_needed() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import duckdb, gdb\n"
        "db = gdb.connect()\n"
        "db.load(nodes=duckdb.sql('SELECT 1 AS id, [2, 3] AS x'))\n"
        "assert db.execute('MATCH (n) RETURN n.x').scalar() == [2, 3]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- networkx --------------------------------------------------------------------------------------


def test_a_graph_with_attributes(db: gdb.Database) -> None:
    graph = nx.DiGraph()
    graph.add_node("ada", labels=["Person", "Author"], born=1815, tags=("x", "y"))
    graph.add_node("bob", label="Person", born=np.int64(1912), at=datetime(2000, 1, 1))
    graph.add_node("zoe", at=np.datetime64("2001-01-01T00:00:00.000000000"))
    graph.add_edge("ada", "bob", type="KNOWS", since=1.5, w=np.float32(0.5))
    graph.add_edge("bob", "zoe", w=2)
    report = db.load(graph, type="NEAR", label="All")
    assert (report.vertices, report.edges, report.rows) == (3, 2, 5)
    assert (report.files[0].file, report.files[0].format) == ("networkx.DiGraph", "networkx graph")
    assert rows(db, "MATCH (n) RETURN id(n), labels(n), n.born, n.tags, n.at") == [
        ("ada", ["All", "Author", "Person"], 1815, ["x", "y"], None),
        ("bob", ["All", "Person"], 1912, None, datetime(2000, 1, 1)),
        ("zoe", ["All"], None, None, datetime(2001, 1, 1)),
    ]
    assert rows(db, "MATCH (a)-[e]->(b) RETURN id(a), id(b), type(e), e.since, e.w") == [
        ("ada", "bob", "KNOWS", 1.5, 0.5),
        ("bob", "zoe", "NEAR", None, 2.0),
    ]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_the_four_classes(kind: Any) -> None:
    store = Store.open(None, create=True)
    graph = kind([(1, 2), (2, 3), (3, 3)])
    if graph.is_multigraph():
        graph.add_edge(1, 2)
        graph.add_edge(1, 3, key="ROAD")
    load(store, graph)
    snapshot = store.snapshot()
    assert [t.directed for t in snapshot.edge_types] == [graph.is_directed()] * len(
        snapshot.edge_types
    )
    _, sources, targets = snapshot.edge_ends(np.arange(snapshot.edge_count))
    ends = zip(snapshot.user_ids(sources), snapshot.user_ids(targets), strict=True)
    order = list if graph.is_directed() else sorted
    assert sorted(map(order, ends)) == sorted(map(order, graph.edges()))
    names = [t.name for t in snapshot.edge_types]
    assert names == (["EDGE", "ROAD"] if graph.is_multigraph() else ["EDGE"])


BAD_GRAPHS: list[tuple[Callable[[Any], object], str]] = [
    (lambda g: g.add_node((1, 2)), "node (1, 2) is neither"),
    (lambda g: g.add_node(1.5), "node 1.5 is neither"),
    (lambda g: g.add_node(True), "node True is neither"),
    (lambda g: g.add_node(""), "node '' is neither"),
    (lambda g: g.add_node(1 << 63), "is neither"),
    (lambda g: g.add_nodes_from(["a", 7]), "node 7 and node 'a' are named"),
    (lambda g: g.add_node("a", x={"b": 1}), "node 'a': attribute 'x' has the Python type dict"),
    (
        lambda g: g.add_node("a", x=1 << 63),
        "node 'a': attribute 'x' is 9223372036854775808, which does not fit 64 bits",
    ),
    (lambda g: g.add_node("a", x=[[1]]), "node 'a': attribute 'x' has the Python type list"),
    (lambda g: g.add_node("a", x=[None]), "node 'a': attribute 'x' has the Python type NoneType"),
    (lambda g: g.add_node("a", x=np.datetime64("2000-01-01T00:00:00.123456789")), "attribute 'x'"),
    (lambda g: g.add_node("a", x=np.datetime64("20000-01-01T00")), "attribute 'x'"),
    (lambda g: g.add_node("a", x=np.array(["NaT"], "M8[us]")), "attribute 'x'"),
    (
        lambda g: g.add_node("a", x=np.array([1], "m8[ns]")),
        "node 'a': attribute 'x' is 1 nanoseconds, which cannot be stored as duration",
    ),
    (
        lambda g: g.add_node("a", x=np.array([3], "m8[Y]")),
        "node 'a': attribute 'x' is 3 years, which is a duration without a fixed unit",
    ),
    (
        lambda g: g.add_node("a", x=pd.Timestamp(1)),
        "attribute 'x' is 1970-01-01 00:00:00.000000001",
    ),
    (lambda g: g.add_node("a", x=[pd.Timedelta(1)]), "which has parts of a microsecond"),
    (lambda g: g.add_node("a", label=7), "node 'a': attribute 'label' has the Python type int"),
    (lambda g: g.add_node("a", **{"": 7}), "node 'a': attribute ''"),
    (lambda g: g.add_node("a", x="\ud800"), "node 'a': attribute 'x'"),
    (
        lambda g: [g.add_node(f"n{i}", x="text" if i == 70 else i) for i in range(99)],
        "node 'n70': attribute 'x' is 'text'",
    ),
    (
        lambda g: g.add_edge("a", "b", x=object()),
        "edge ('a', 'b'): attribute 'x' has the Python type object",
    ),
    (
        lambda g: g.add_edge("a", "b", type=7),
        "edge ('a', 'b'): attribute 'type' has the Python type int",
    ),
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array(["2020-01-01"], "M8[ns]"), [datetime(2020, 1, 1)]),
        (np.array(["2020-01-01"], "M8[Y]"), [date(2020, 1, 1)]),
        (np.array([10**12], "m8[ps]"), [timedelta(seconds=1)]),
        (np.array([1.5, 2], "f2"), [1.5, 2.0]),
        (np.array(7), 7),
        (pd.Timestamp("2020-01-01"), datetime(2020, 1, 1)),
        (np.datetime64("NaT"), None),
        (pd.NaT, None),
        (pd.NA, None),
    ],
)
def test_attributes_of_numpy_and_pandas(db: gdb.Database, value: object, expected: object) -> None:
    graph = nx.Graph()
    graph.add_node(1, x=value)
    db.load(graph)
    assert rows(db, "MATCH (n) RETURN n.x") == [(expected,)]


@pytest.mark.parametrize(("fill", "reason"), BAD_GRAPHS)
def test_graphs_that_cannot_be_stored(
    db: gdb.Database, fill: Callable[[Any], object], reason: str
) -> None:
    graph = nx.Graph()
    fill(graph)
    assert reason in refused(db, graph).reason


def test_an_undirected_load_and_a_graph_into_a_filled_store(db: gdb.Database) -> None:
    db.load(nx.DiGraph([(1, 2)]), directed=False)
    assert rows(db, "MATCH (a)-[e]->(b) RETURN id(a)") == [(1,), (2,)]
    with pytest.raises(ImportFailed, match="node id 1 occurs twice"):
        db.load(nx.Graph([(1, 3)]))
    db.load(nx.Graph([(1, 3)]), id_space="other")
    assert db.load(nx.Graph()).vertices == 0

"""Results: rows, cursors, nodes and relationships, Arrow."""

from __future__ import annotations

import html
import pickle
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pytest

import gdb
from gdb.answer import entities
from gdb.answer.entities import Node, Path, Relationship
from gdb.answer.result import Result
from gdb.answer.rows import ColumnAnswer, RowAnswer
from gdb.answer.summary import Summary
from gdb.errors import GdbError, NotOneRow, TypeProblem
from gdb.executor.plan.embeddings import Embeddings
from gdb.executor.relational.relational_tail import ColumnRef, Output, Tail
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.store import Store
from tests.support import tails
from tests.support.graph_tables import GraphTables, write_graph


def graph() -> GraphTables:
    people = VertexTable(
        ("Person",),
        "",
        np.array([7, 8, 9]),
        {"name": column_of(["Ada", None, "Zoë"]), "age": column_of([36, 41, None])},
    )
    towns = VertexTable(
        ("Town", "Place"), "towns", ["Rome", "Oslo"], {"age": column_of([2800.5, None])}
    )
    knows = EdgeTable(
        "KNOWS",
        True,
        np.array([0, 0, 1]),
        np.array([1, 1, 2]),
        {"since": column_of([1833, 1834, None])},
    )
    near = EdgeTable("NEAR", False, np.array([4, 2]), np.array([3, 3]), {})
    return GraphTables((people, towns), (knows, near))


@pytest.fixture
def store() -> Store:
    made = Store.open(None, create=True)
    write_graph(made, graph())
    return made


@pytest.fixture
def snapshot(store: Store) -> Snapshot:
    return store.snapshot()


def all_nodes(snapshot: Snapshot) -> Result:
    vids = np.arange(snapshot.vertex_count, dtype=np.uint32).reshape(-1, 1)
    found = Embeddings(vids, np.zeros((len(vids), 0), np.int64))
    columns = (ColumnRef("c0", "vertex", 0), ColumnRef("c1", "vertex", 0, "age", "property"))
    outputs = (Output("n", "node"), Output("n.age"))
    sql = "SELECT c0 AS o0, c1 AS o1 FROM embeddings"
    return Result(
        ColumnAnswer(tails.run(Tail(columns, sql, {}, outputs), found, snapshot), snapshot)
    )


def all_relationships(snapshot: Snapshot) -> Result:
    eids = np.arange(snapshot.edge_count).reshape(-1, 1)
    found = Embeddings(np.zeros((len(eids), 0), np.uint32), eids)
    made = Tail(
        (ColumnRef("c0", "edge", 0),),
        "SELECT c0 AS o0 FROM embeddings",
        {},
        (Output("r", "relationship"),),
    )
    return Result(ColumnAnswer(tails.run(made, found, snapshot), snapshot))


def test_nodes_carry_id_labels_and_properties_without_nulls(snapshot: Snapshot) -> None:
    nodes = {node.id: node for node, _ in all_nodes(snapshot) if isinstance(node, Node)}
    assert nodes.keys() == {7, 8, 9, "Rome", "Oslo"}
    assert nodes[7].labels == ("Person",)
    assert nodes[7].properties == {"name": "Ada", "age": 36}
    assert nodes[8].properties == {"age": 41}
    assert nodes["Rome"].labels == ("Place", "Town")
    assert nodes["Rome"].properties == {"age": 2800.5}
    assert nodes["Rome"].id_space == "towns"
    assert nodes["Oslo"].properties == {}


def test_a_repeated_vid_is_one_object_in_the_order_asked(snapshot: Snapshot) -> None:
    first, second, again = entities.nodes(snapshot, np.array([3, 1, 3], np.uint32))
    assert first is again
    assert first != second


def test_relationships_carry_type_ends_and_properties(snapshot: Snapshot) -> None:
    found = [row[0] for row in all_relationships(snapshot)]
    seen = sorted(
        (r.type, *sorted((str(r.start), str(r.end))), tuple(r.properties.items()), r.directed)
        for r in found
        if isinstance(r, Relationship)
    )
    assert seen == [
        ("KNOWS", "7", "8", (("since", 1833),), True),
        ("KNOWS", "7", "8", (("since", 1834),), True),
        ("KNOWS", "8", "9", (), True),
        ("NEAR", "9", "Rome", (), False),
        ("NEAR", "Oslo", "Rome", (), False),
    ]
    directed = [r for r in found if isinstance(r, Relationship) and r.directed]
    assert {(r.start, r.end) for r in directed} == {(7, 8), (8, 9)}


def test_parallel_relationships_are_different_and_hashable(snapshot: Snapshot) -> None:
    assert len({row[0] for row in all_relationships(snapshot)}) == 5


def test_nodes_are_equal_by_id_and_id_space_alone() -> None:
    assert Node(1, ("A",), {"x": 1}) == Node(1, ("B",), {})
    assert hash(Node(1, ("A",), {"x": 1})) == hash(Node(1))
    assert Node(1) != Node(2)
    assert Node(1, id_space="a") != Node(1, id_space="b")
    assert Node(1) != Node("1")
    assert pickle.loads(pickle.dumps(Node(1, ("A",), {"x": 1}))).properties == {"x": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Node(1), "(1)"),
        (
            Node("a'b", ("A", "B"), {"x": 1.5, "y": "o'k", "z": True}),
            r"('a\'b':A:B {x: 1.5, y: 'o\'k', z: true})",
        ),
        (Node(1, ("A b", "C`")), "(1:`A b`:`C```)"),
        (Relationship(0, "K X", 0, 1, {"w": 1.5}), "(0)-[:`K X` {w: 1.5}]->(1)"),
        (Relationship(0, "T", 1, 2), "(1)-[:T]->(2)"),
        (Relationship(0, "T", 1, 2, {"w": 3}, False), "(1)-[:T {w: 3}]-(2)"),
    ],
)
def test_values_are_shown_as_in_cypher(value: Node | Relationship, text: str) -> None:
    assert str(value) == text


def test_a_repr_tells_the_class_and_the_text() -> None:
    ada, bob = Node(1, ("Person",), {"it's": 1}), Node(2)
    knows = Relationship(7, "KNOWS", 2, 1)
    assert repr(ada) == "<Node (1:Person {`it's`: 1})>"
    assert repr(knows) == "<Relationship 7 (2)-[:KNOWS]->(1)>"
    assert str(Path((ada, bob), (Relationship(7, "K X", 2, 1),))).endswith("<-[:`K X`]-(2)")
    assert repr(Path((ada, bob), (knows,))) == "<Path (1:Person {`it's`: 1})<-[:KNOWS]-(2)>"


def test_properties_are_read_by_key() -> None:
    node = Node(1, (), {"x": 1})
    assert node["x"] == 1
    assert node.get("y") is None
    assert node.get("y", 5) == 5
    with pytest.raises(KeyError):
        node["y"]


def test_the_cursor_goes_on_and_iteration_starts_anew(snapshot: Snapshot) -> None:
    result = all_nodes(snapshot)
    assert len(result) == 5
    everything = list(result)
    assert result.fetchone() == everything[0]
    assert result.fetchmany(2) == everything[1:3]
    assert result.fetchall() == everything[3:]
    assert result.fetchall() == []
    assert result.fetchone() is None
    assert list(result) == everything
    assert result.scalar() == everything[0][0]
    assert result.columns == ["n", "n.age"]


def test_single_is_the_only_row() -> None:
    assert Result(RowAnswer(["a", "b"], [(1, 2)])).single() == (1, 2)
    for rows in ([], [(1,), (2,)]):
        with pytest.raises(NotOneRow):
            Result(RowAnswer(["a"], rows)).single()


def test_a_result_outlives_its_store(tmp_path: object) -> None:
    store = Store.open(f"{tmp_path}/s.gdb", create=True)
    write_graph(store, graph())
    nodes, relationships = all_nodes(store.snapshot()), all_relationships(store.snapshot())
    store.close()
    assert len({row[0] for row in nodes} | {row[0] for row in relationships}) == 10


def empty(kinds: Sequence[Output], snapshot: Snapshot) -> Result:
    none = Embeddings(np.zeros((0, 1), np.uint32), np.zeros((0, 1), np.int64))
    made = Tail(
        (ColumnRef("c0", "vertex", 0), ColumnRef("c1", "edge", 0)),
        "SELECT c0 AS o0, c1 AS o1 FROM embeddings",
        {},
        tuple(kinds),
    )
    return Result(ColumnAnswer(tails.run(made, none, snapshot), snapshot))


def test_an_empty_result_has_columns_and_no_rows(snapshot: Snapshot) -> None:
    result = empty((Output("a", "node"), Output("r", "relationship")), snapshot)
    assert len(result) == 0
    assert list(result) == []
    assert result.scalar() is None
    assert result.fetchone() is None


# ---- Arrow ------------------------------------------------------------------------------------------


def through_arrow(result: Result) -> list[tuple[object, ...]]:
    """The rows as another program sees them that reads Arrow."""
    assert hasattr(result, "__arrow_c_stream__")
    return duckdb.connect().execute("SELECT * FROM result ORDER BY ALL").fetchall()


def test_nodes_are_structs_in_arrow(snapshot: Snapshot) -> None:
    rows = through_arrow(all_nodes(snapshot))
    by_id = {row[0]["id"]: row[0] for row in rows if isinstance(row[0], Mapping)}
    assert by_id.keys() == {"7", "8", "9", "Rome", "Oslo"}  # numbers and strings: strings
    assert by_id["7"] == {
        "id": "7",
        "labels": ["Person"],
        "properties": {"age": 36.0, "name": "Ada"},
    }
    assert by_id["Oslo"]["properties"] == {"age": None, "name": None}


def test_relationships_are_structs_in_arrow(snapshot: Snapshot) -> None:
    rows = through_arrow(all_relationships(snapshot))
    assert {
        "type": "KNOWS",
        "start": "7",
        "end": "8",
        "properties": {"since": 1834},
    } in [row[0] for row in rows]
    assert len(rows) == 5


def test_an_empty_result_has_the_same_columns_in_arrow(snapshot: Snapshot) -> None:
    result = empty((Output("a", "node"), Output("r", "relationship")), snapshot)
    relation = duckdb.connect().from_arrow(result)
    assert relation.columns == ["a", "r"]
    assert relation.fetchall() == []


def test_many_chunks_of_nodes_keep_their_rows_in_arrow(snapshot: Snapshot) -> None:
    vids = (np.arange(400_000, dtype=np.uint32) % 5).reshape(-1, 1)
    made = Tail(
        (ColumnRef("c0", "vertex", 0),),
        "SELECT c0 AS o0, c0 AS o1 FROM embeddings",
        {},
        (Output("n", "node"), Output("vid")),
    )
    found = Embeddings(vids, np.zeros((len(vids), 0), np.int64))
    result = Result(ColumnAnswer(tails.run(made, found, snapshot), snapshot))
    sql = "SELECT n.id, vid, count(*) FROM result GROUP BY ALL"
    pairs = duckdb.connect().execute(sql).fetchall()
    assert len(result) == 400_000
    ids = map(str, snapshot.user_ids(np.arange(5, dtype=np.uint32)))
    assert sorted(pairs) == sorted((id_, vid, 80_000) for vid, id_ in enumerate(ids))


def test_a_missing_library_is_named_with_the_cure(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = all_nodes(snapshot)
    for package in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)  # as if there were none
    for method, package in (
        (result.df, "pandas"),
        (result.pl, "polars"),
        (result.arrow, "pyarrow"),
    ):
        with pytest.raises(GdbError, match=f"pip install {package}"):
            method()


def test_polars_reads_a_result(snapshot: Snapshot) -> None:
    pytest.importorskip("polars")
    frame = all_nodes(snapshot).pl()
    assert frame.columns == ["n", "n.age"]
    assert frame.height == 5


def test_pyarrow_reads_a_result(snapshot: Snapshot) -> None:
    pytest.importorskip("pyarrow")
    table = all_nodes(snapshot).arrow()
    assert table.column_names == ["n", "n.age"]
    assert table.num_rows == 5
    table.validate(full=True)


FRAMES = (
    "MATCH (p:P) RETURN p.k, p.i, p.f, p.s, p.b, p.d, p.t, p.l, p.a, p.nothing",
    "MATCH (p:P) RETURN p, p.s, count(*) AS n",
    "MATCH (p:P) WHERE p.k % 60 = 1 RETURN p.i, p.f, p.b, p.l, p.t, p.d, p.s + 'a' AS s",
    "MATCH (p:P) WHERE p.k < 0 RETURN p.k, p.s",
    "MATCH (p:P) RETURN count(*)",
    "RETURN 1 AS a, 'x' AS b",
)


@pytest.mark.parametrize("text", FRAMES)
def test_a_frame_is_that_of_the_values(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that Arrow gives to pandas are what pandas makes of their values, dtypes and nulls included; and no
    memory of the graph."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from gdb.answer import frames

    rows = [
        {
            "k": k,
            "i": k if k % 3 else None,
            "f": k / 3 if k % 4 else None,
            "s": f"ß{k}" if k % 5 else None,
            "b": bool(k % 2) if k % 7 else None,
            "d": date(2024, 1, 1) + timedelta(k) if k % 8 else None,
            "t": datetime(1, 1, 1) + timedelta(k * 997, 3) if k % 9 else None,
            "l": timedelta(0, k) if k % 4 else None,
            "a": [k, 2],
        }
        for k in range(200)
    ]
    with gdb.connect() as db:
        db.execute("UNWIND $rows AS row CREATE (p:P) SET p = row", {"rows": rows})
        result = db.execute(text)
        frame = result.df()
        with monkeypatch.context() as patch:
            patch.setattr(frames, "_plain_series", lambda answer: {})
            meant = result.df()
        pandas.testing.assert_frame_equal(frame, meant, check_exact=True)
        for name in frame.columns:
            assert [type(one) for one in frame[name]] == [type(one) for one in meant[name]]
        if len(frame):
            frame.iloc[0, -1] = frame.iloc[-1, -1]
        pandas.testing.assert_frame_equal(result.df(), meant, check_exact=True)


def test_pandas_keeps_integers_beside_nulls(snapshot: Snapshot) -> None:
    pandas = pytest.importorskip("pandas")
    lines = Result.of_lines("x", ["a"])
    assert lines.df()["x"].tolist() == ["a"]
    frame = all_nodes(snapshot).df()
    assert list(frame.columns) == ["n", "n.age"]
    assert isinstance(frame["n"][0], Node)
    assert isinstance(frame, pandas.DataFrame)


@pytest.mark.parametrize("count", [-1, True, 1.0, "2"])
def test_a_number_of_rows_is_an_integer_from_0(snapshot: Snapshot, count: Any) -> None:
    result = all_nodes(snapshot)
    for few in (result.head, result.fetchmany):
        with pytest.raises(TypeProblem, match="takes an integer from 0"):
            few(count)
        assert few(0) == []
    assert len(result.fetchall()) == 5


def test_lines_become_rows() -> None:
    result = Result.of_lines("plan", ["one", "two"], Summary({"parse": 0.5, "plan": 0.25}, "", 2))
    assert result.columns == ["plan"]
    assert result.fetchall() == [("one",), ("two",)]
    assert result.summary.total_seconds == 0.75


@pytest.mark.parametrize("word", ["EXPLAIN", "PROFILE"])
@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-->(b)-->(c)-->(d) WITH a, count(*) AS n MATCH (a)-->(e) WITH e, n ORDER BY n RETURN e, n LIMIT 5",
        "CREATE (a:A) WITH a MATCH (b) WHERE b <> a SET b.x = 1 WITH DISTINCT b RETURN count(b) AS n",
    ],
)
def test_a_plan_is_shown_whole(word: str, query: str) -> None:
    with gdb.connect() as db:
        found = db.execute(f"{word} {query}")
        lines = [line for (line,) in found]
        assert str(found).splitlines()[: len(lines)] == lines
        assert f"<pre>{html.escape(chr(10).join(lines))}</pre>" in found._repr_html_()
        assert len(lines) > 10 or word == "EXPLAIN"


# ---- batches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_batches_hold_the_rows_in_their_order(snapshot: Snapshot, size: int) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    by_columns = all_nodes(snapshot)
    by_rows = Result(RowAnswer(["n", "n.age"], list(by_columns)))
    for result in (by_columns, by_rows):
        batches = [pyarrow.record_batch(batch) for batch in result.batches(size)]
        assert all(0 < batch.num_rows <= size for batch in batches)
        assert len({str(batch.schema) for batch in batches}) == 1
        whole = pyarrow.table(result)
        assert pyarrow.Table.from_batches(batches).to_pylist() == whole.to_pylist()


def test_there_are_no_batches_of_no_rows() -> None:
    assert list(Result(RowAnswer(["a"], [])).batches()) == []


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_the_size_of_a_batch_is_checked(snapshot: Snapshot, size: int) -> None:
    with pytest.raises(TypeProblem, match="size="):
        all_nodes(snapshot).batches(size)

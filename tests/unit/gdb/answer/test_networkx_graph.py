"""An answer as a graph of networkx, and back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path as Folder

import pytest

import gdb
from gdb import Database, Node, Path, Relationship
from gdb.answer.result import Result
from gdb.answer.rows import RowAnswer

networkx = pytest.importorskip("networkx")


@pytest.fixture
def people(files: Folder) -> Iterator[Database]:
    """The people of the other tests, in no id space."""
    for name in ("people.csv", "knows.csv"):
        text = (files / name).read_text(encoding="utf-8").replace("(Person)", "")
        (files / name).write_text(text, encoding="utf-8")
    with gdb.connect() as made:
        made.load(nodes=files / "people.csv", edges=files / "knows.csv")
        yield made


def everything(db: Database) -> tuple[list[object], list[object]]:
    """The nodes and relationships, their ids of edges left out."""
    nodes = [
        (n.id, n.labels, sorted(n.properties.items()))
        for (n,) in db.execute("MATCH (n) RETURN n")
        if isinstance(n, Node)
    ]
    relationships = [
        (r.type, r.start, r.end, sorted(r.properties.items()), r.directed)
        for (r,) in db.execute("MATCH ()-[r]->() RETURN r")
        if isinstance(r, Relationship)
    ]
    return sorted(nodes, key=repr), sorted(relationships, key=repr)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) RETURN a, r, b",
        "MATCH (a) WITH collect(a) AS nodes MATCH p=()-->() RETURN nodes, {path: p} AS m",
    ],
)
def test_a_loaded_graph_is_the_same(people: Database, query: str) -> None:
    graph = people.execute(query).networkx()
    assert isinstance(graph, networkx.MultiDiGraph)
    with gdb.connect() as other:
        other.load(graph)
        assert everything(other) == everything(people)


def test_properties_of_every_kind_come_back() -> None:
    with gdb.connect() as db, gdb.connect() as other:
        found = db.execute(
            "CREATE (a:A {day: date('2020-01-01'), long: duration('PT1.5S'), l: [1, 2], key: 'k'})"
            "-[r:R {key: 1, u: 2}]->(b) RETURN a, r, b"
        )
        graph = found.networkx()
        assert graph.nodes[0]["long"] == timedelta(seconds=1.5)
        assert graph.nodes[0]["day"] == date(2020, 1, 1)
        other.load(graph)
        assert everything(other) == everything(db)


def test_values_that_do_not_come_back() -> None:
    """As `Result.networkx` says."""
    with gdb.connect() as db, gdb.connect() as other:
        db.execute("CREATE (:A {t: datetime('2020-01-01T10:00+01:00')})")
        other.load(db.execute("MATCH (n) RETURN n").networkx())
        assert other.execute("MATCH (n) RETURN n.t").scalar() == datetime(2020, 1, 1, 9)
    for values in (["time('10:00')"], ["duration('P1M')"], ["1", "'s'"]):
        with gdb.connect() as db, gdb.connect() as other:
            for value in values:
                db.execute(f"CREATE (:A {{t: {value}}})")
            with pytest.raises(gdb.ImportFailed, match="attribute 't'"):
                other.load(db.execute("MATCH (n) RETURN n").networkx())


def test_attributes_are_properties_labels_and_type(people: Database) -> None:
    graph = people.execute("MATCH (a {name: 'Ada'})-[r]->(b {name: 'Bob'}) RETURN a, r").networkx()
    assert dict(graph.nodes(data=True)) == {
        1: {"name": "Ada", "age": 36, "labels": ["Person"]},
        2: {},  # an end that is not in the answer
    }
    ((start, end, key, attributes),) = graph.edges(keys=True, data=True)
    assert (start, end) == (1, 2)
    assert isinstance(key, int)
    assert attributes == {"type": "KNOWS", "since": 1833, "weight": 0.5}


def test_an_undirected_graph_is_one() -> None:
    given = networkx.MultiGraph([(1, 2), (2, 3), (1, 2)])
    with gdb.connect() as db, gdb.connect() as other:
        db.load(given, type="R")
        graph = db.execute("MATCH (a)-[r]-(b) RETURN a, r, b").networkx()
        assert type(graph) is networkx.MultiGraph
        assert graph.number_of_edges() == 3
        other.load(graph)
        count = "MATCH ()-[r]-() RETURN count(*)"
        assert other.execute(count).scalar() == db.execute(count).scalar() == 6


def test_an_undirected_relationship_beside_directed_ones_goes_both_ways() -> None:
    one, other = Relationship(0, "A", 1, 2), Relationship(1, "B", 2, 3, {}, False)
    loop = Relationship(2, "B", 3, 3, {}, False)
    graph = Result(RowAnswer(["r"], [(one,), (other,), (loop,)])).networkx()
    assert sorted(graph.edges(keys=True)) == [(1, 2, 0), (2, 3, 1), (3, 2, 1), (3, 3, 2)]


def test_elements_are_found_in_paths_lists_and_maps() -> None:
    a, b, c = Node(1), Node(2, ("B",)), Node("c")
    path = Path((a, b), (Relationship(0, "R", 1, 2),))
    graph = Result(RowAnswer(["x", "y"], [([[path]], {"k": [c, None, "text"]})])).networkx()
    assert set(graph.nodes) == {1, 2, "c"}
    assert list(graph.edges) == [(1, 2, 0)]


def test_an_answer_without_elements_is_an_empty_graph(db: Database) -> None:
    assert len(db.execute("RETURN 1 AS one").networkx()) == 0


def test_nodes_of_id_spaces_are_apart(tmp_path: Folder) -> None:
    (tmp_path / "a.csv").write_text("id:ID(A),:LABEL\n1,A\n")
    (tmp_path / "b.csv").write_text("id:ID(B),:LABEL\n1,B\n")
    (tmp_path / "e.csv").write_text(":START_ID(A),:END_ID(B),:TYPE\n1,1,E\n")
    with gdb.connect() as db:
        db.load(nodes=[tmp_path / "a.csv", tmp_path / "b.csv"], edges=tmp_path / "e.csv")
        for query in ("MATCH (a)-[r]->(b) RETURN a, r, b", "MATCH p=()-[]->() WITH p RETURN p"):
            graph = db.execute(query).networkx()
            assert list(graph.edges) == [(("A", 1), ("B", 1), 0)]
            assert graph.nodes["A", 1]["labels"] == ["A"]

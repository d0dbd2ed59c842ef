"""List properties in queries: values out, IN, size(), grouping, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np
import pytest

import gdb
from gdb import Database
from gdb.errors import NotSupported, QueryError
from gdb.language.parser import parse
from gdb.query_graph import DIFFERENT_EDGES
from gdb.storage.columns.model import EdgeTable, PropertyValue, VertexTable
from gdb.storage.columns.python_columns import column_of
from tests.support.binding import bind
from tests.support.graph_tables import GraphTables, write_graph

LISTS: dict[str, list[PropertyValue]] = {
    "i": [[1, 2], None, [], [2**63 - 1]],
    "f": [[0.5, float("nan")], [1.0], [], None],
    "b": [[True, False], None, [], [True]],
    "s": [["a", "é", ""], [], None, [""]],
    "d": [[date.min, date.max], None, [], [date(2000, 1, 1)]],
    "l": [[timedelta(1), timedelta(-1)], None, [timedelta(0)], []],
}


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    columns = {key: column_of(values) for key, values in LISTS.items()}
    half = {key: column.take(np.arange(2)) for key, column in columns.items()}
    rest = {key: column.take(np.arange(2, 4)) for key, column in columns.items()}
    graph = GraphTables(
        (
            VertexTable(("A",), "", np.arange(2), half),
            VertexTable(("B",), "", np.arange(2, 4), rest),
        ),
        (EdgeTable("R", True, np.arange(4), np.array([1, 2, 3, 0]), columns),),
    )
    with gdb.connect() as made:
        write_graph(made._store, graph)
        yield made


@pytest.mark.parametrize("key", LISTS)
def test_values_come_out_as_lists(db: Database, key: str) -> None:
    for text in (
        f"MATCH (n) RETURN id(n), n.{key}",
        f"MATCH (n) RETURN id(n), n.{key} ORDER BY id(n)",
        f"MATCH (n)-[r]->() RETURN id(n), r.{key}",
    ):
        found = dict(db.execute(text))
        assert list(map(repr, (found[number] for number in range(4)))) == list(
            map(repr, LISTS[key])
        )
    for node, relationship in db.execute("MATCH (n)-[r]->() RETURN n, r"):
        assert isinstance(node, gdb.Node)
        assert isinstance(relationship, gdb.Relationship)
        assert repr(node.get(key)) == repr(relationship.get(key))
        assert repr(node.get(key)) == repr(LISTS[key][int(node.id)])


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("1 IN n.i", [0]),
        ("2.0 IN n.i", [0]),
        ("'' IN n.s", [0, 3]),
        ("$x IN n.d", [0]),
        ("duration('PT24H') IN n.l", [0]),
        ("true IN n.b AND size(n.b) = 1", [3]),
        ("n.i IS NULL", [1]),
        ("size(n.s) = 0", [1]),
        ("NOT 'a' IN n.s", [1, 3]),
        ("'a' IN n.i", []),
        ("0.0 / 0.0 IN n.f", []),
        ("NOT null IN n.i", [2]),
    ],
)
def test_in_and_size_before_matching_and_after(
    db: Database, condition: str, ids: list[int]
) -> None:
    text = f"MATCH (n) WHERE {condition} RETURN id(n)"
    assert sorted(db.execute(text, {"x": date.max})) == [(number,) for number in ids]
    both = f"MATCH (n)-->(m) WHERE {condition} OR id(n) + id(m) < -1 RETURN id(n)"
    assert sorted(db.execute(both, {"x": date.max})) == [(number,) for number in ids]


def test_an_item_of_another_node(db: Database) -> None:
    text = "MATCH (a)-->(b) WHERE id(b) IN a.i RETURN id(a), id(b)"
    assert db.execute(text).fetchall() == [(0, 1)]


def test_distinct_and_grouping(db: Database) -> None:
    found = {repr(value): count for value, count in db.execute("MATCH (n) RETURN n.s, count(*)")}
    assert found == {"['a', 'é', '']": 1, "[]": 1, "None": 1, "['']": 1}
    assert len(db.execute("MATCH (n), (m) RETURN DISTINCT n.l")) == 4


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("MATCH (n) WHERE n.i = [1] RETURN n", NotSupported, "comparing lists"),
        ("MATCH (n {i: [1]}) RETURN n", NotSupported, "comparing lists"),
        ("MATCH (n) RETURN min(n.i)", NotSupported, "of a list is not"),
        ("MATCH (n) RETURN n.i + 1", NotSupported, "of a list is not"),
        ("MATCH (n) RETURN collect(n.i)", NotSupported, "of a list is not"),
    ],
)
def test_what_duckdb_is_not_asked(
    db: Database, text: str, error: type[QueryError], says: str
) -> None:
    query = parse(text)
    with pytest.raises(error, match=says):
        bind(query, db._store.snapshot(), {}, DIFFERENT_EDGES)
    db.execute(text)  # row by row


def test_lists_of_unlike_items_in_different_places() -> None:
    with gdb.connect() as db:
        tables = [
            VertexTable((label,), "", np.array([number]), {"x": column_of([values])})
            for number, (label, values) in enumerate([("A", [1]), ("B", ["a"])])
        ]
        write_graph(db._store, GraphTables(tuple(tables)))
        query = parse("MATCH (n) RETURN n.x")
        with pytest.raises(NotSupported, match="property x, which holds values of several types"):
            bind(query, db._store.snapshot(), {}, DIFFERENT_EDGES)
        assert sorted(db.execute("MATCH (n) RETURN n.x").fetchall(), key=str) == [(["a"],), ([1],)]
        assert db.execute("MATCH (n:B) RETURN n.x").scalar() == ["a"]
        table = db.execute("MATCH (n) RETURN n").arrow().to_pylist()
        assert sorted(row["n"]["properties"]["x"] for row in table) == ["[1]", "[a]"]


def test_arrow_and_schema(db: Database) -> None:
    table = db.execute("MATCH (n) RETURN n.i, n.s, n.l, n").arrow()
    table.validate(full=True)
    items = [str(table.schema.field(place).type.value_type) for place in range(3)]
    assert items == ["int64", "large_string", "duration[us]"]
    assert dict(db.schema().nodes[0].properties)["l"] == "duration[]"
    assert dict(db.schema().nodes[0].properties)["i"] == "int[]"

"""What users hand to a transaction: lists, arrays, columns of data frames and tables, for all of its methods alike."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdb
from gdb.api.transaction import Transaction
from tests.support.effort import share

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

# how one column may be given
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "deque": deque,
    "numpy": np.array,
    "numpy of objects": lambda values: np.array(values, object),
    "numpy texts of any length": lambda values: (
        np.array(values, np.dtypes.StringDType())
        if isinstance(values[0], str)
        else np.array(values)
    ),
    "array": pa.array,
    "slice": lambda values: pa.array([values[0], *values, values[0]]).slice(1, len(values)),
    "chunks": lambda values: pa.chunked_array(
        [pa.array(values).slice(0, 1), pa.array(values).slice(1)]
    ),
    "polars": pl.Series,
    "pandas": pd.Series,
    "pandas, as objects": lambda values: pd.Series(values, dtype=object),
    "index": pd.Index,
    "scalars": lambda values: list(np.array(values)),
}
# how a table may be
TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pyarrow": pa.table,
    "batch": pa.record_batch,
    "reader": lambda columns: pa.table(columns).to_reader(max_chunksize=1),
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pandas, picked": lambda columns: (
        pd.DataFrame(columns).sort_index(ascending=False).sort_index()
    ),
}


def three_nodes() -> gdb.Database:
    made = gdb.connect()
    with made.transaction() as tx:
        tx.add_nodes("P", [1, 2, 3], {"x": [10, 20, 30]})
        tx.add_relationships("R", [1, 2], [2, 3], {"w": [0.5, 1.5]})
    return made


@pytest.fixture
def db() -> gdb.Database:
    return three_nodes()


def content(db: gdb.Database | Transaction) -> tuple[list[Any], list[Any]]:
    nodes = "MATCH (n) RETURN id(n), labels(n), properties(n) ORDER BY toString(id(n))"
    edges = "MATCH (a)-[r]->(b) RETURN id(a), type(r), id(b), properties(r) ORDER BY id(a), id(b)"
    return db.execute(nodes).fetchall(), db.execute(edges).fetchall()


# ---- every method takes everything ---------------------------------------------------------------


@pytest.mark.parametrize("how", COLUMNS)
def test_every_method_takes_every_column(db: gdb.Database, how: str) -> None:
    c = COLUMNS[how]
    with db.transaction() as tx:
        tx.add_nodes("P", c([4, 5]), {"x": c([40, 50]), "name": c(["d", "e"])})
        tx.add_nodes("Q", c(["a", "b"]), {"f": c([0.5, 1.5]), "b": c([True, False])}, id_space="q")
        tx.set_nodes(c([1, 4]), {"x": c([11, 41])})
        tx.set_labels(c([2, 3]), add="Z")
        tx.add_relationships("R", c([4, 4]), c([5, 1]), {"w": c([2.5, 3.5])})
        tx.add_relationships("S", c(["a", "b"]), c([1, 2]), id_space=("q", ""))
        assert tx.set_relationships("R", c([1, 4]), c([2, 5]), {"w": c([7.5, 8.5])}) == 2
        assert tx.remove_relationships("R", c([2]), c([3])) == 1
        tx.remove_nodes(c([3, 5]), detach=True)
    nodes, edges = content(db)
    assert nodes == [
        (1, ["P"], {"x": 11}),
        (2, ["P", "Z"], {"x": 20}),
        (4, ["P"], {"x": 41, "name": "d"}),
        ("a", ["Q"], {"f": 0.5, "b": True}),
        ("b", ["Q"], {"f": 1.5, "b": False}),
    ]
    assert sorted(edges, key=repr) == [
        ("a", "S", 1, {}),
        ("b", "S", 2, {}),
        (1, "R", 2, {"w": 7.5}),
        (4, "R", 1, {"w": 3.5}),
    ]


@pytest.mark.parametrize("how", TABLES)
def test_every_method_takes_every_table(db: gdb.Database, how: str) -> None:
    t = TABLES[how]
    with db.transaction() as tx:
        tx.add_nodes("P", t({"x": [40, 50], ":ID": [4, 5], "name": ["d", "e"]}))
        tx.set_nodes(t({"id": [1, 4], "x": [11, 41]}))
        tx.set_labels(t({"x": [0, 0], "ID": [2, 3]}), add="Z")
        tx.add_relationships("R", t({"source": [4, 4], "target": [5, 1], "w": [2.5, 3.5]}))
        ends = t({"w": [7.5, 8.5], ":START_ID": [1, 4], ":END_ID": [2, 5]})
        assert tx.set_relationships("R", ends) == 2
        assert tx.remove_relationships("R", t({"to": [3], "from": [2], "w": [0.0]})) == 1
        tx.remove_nodes(t({"id": [3, 5], "x": [0, 0]}), detach=True)
    nodes, edges = content(db)
    assert nodes == [
        (1, ["P"], {"x": 11}),
        (2, ["P", "Z"], {"x": 20}),
        (4, ["P"], {"x": 41, "name": "d"}),
    ]
    assert edges == [(1, "R", 2, {"w": 7.5}), (4, "R", 1, {"w": 3.5})]


def test_what_only_names_rows_is_not_looked_at_further(db: gdb.Database) -> None:
    table = pa.table({"id": [1], "what": [{"a": 1}], "": [1]})
    with db.transaction() as tx:
        tx.set_labels(table, add="Z")
        tx.remove_nodes(table, detach=True)
    assert len(content(db)[0]) == 2


def test_relations_of_duckdb_and_results(db: gdb.Database) -> None:
    duckdb = pytest.importorskip("duckdb")
    with db.transaction() as tx:
        tx.add_nodes("D", duckdb.sql("SELECT 7 AS id, INTERVAL 2 DAY AS d, 'a'::ENUM('a') AS e"))
        tx.set_nodes(tx.execute("MATCH (n:P) RETURN id(n) AS id, 2 * n.x AS x"))
        ends = "MATCH (a)-[:R]->(b) RETURN id(a) AS source, id(b) AS target"
        assert tx.remove_relationships("R", tx.execute(ends)) == 2
    found = db.execute("MATCH (n) RETURN n.x, n.d, n.e ORDER BY id(n)").fetchall()
    assert found == [(k, None, None) for k in (20, 40, 60)] + [(None, timedelta(2), "a")]
    assert not content(db)[1]


def test_the_example_of_the_documentation() -> None:
    text = (Path(__file__).parents[4] / "docs" / "TRANSACTIONS.md").read_text()
    (example,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "polars" in b]
    db = gdb.connect()
    exec(example, {"db": db, "polars": pl, "pandas": pd, "numpy": np, "date": date})
    born, seen = date(1815, 12, 10), date(2024, 2, 29)
    assert content(db) == ([("ada", ["Person"], {"id": "ada", "born": born, "seen": seen})], [])


# ---- the same as load ----------------------------------------------------------------------------

FRAMES: list[Callable[[], Any]] = [
    lambda: pl.DataFrame({"id": ["a", "b"], "x": [1, None], "t": [date(2000, 1, 1), None]}),
    lambda: pl.DataFrame({"x": ["first", "is"], "y": [[1.5], []]}),
    lambda: pl.DataFrame({"id:ID": [1, 2], "n:double": [0.5, None], "skip:IGNORE": [1, 2]}),
    lambda: pd.DataFrame({"id": [1, 2], "at": pd.to_datetime(["2000-01-01T01:02:03.5", None])}),
    lambda: pd.DataFrame({":ID": ["a", "b"], "s": ["ä", None], "i": pd.array([1, None], "Int64")}),
    lambda: pa.table({"ID": [1, 2], "d": pa.array([1, None], pa.duration("ms"))}),
    lambda: pa.table({"id": [1, 2], "d:duration": [1, None], "any:any": ["i7", None]}),
    lambda: pa.table({"id": [1, 2], "z": pa.array([0, 1], pa.timestamp("us", "+01:00"))}),
]


@pytest.mark.parametrize("make", FRAMES)
def test_a_table_gives_what_load_gives(make: Callable[[], Any]) -> None:
    loaded, added = gdb.connect(), gdb.connect()
    loaded.load(nodes={"P": make()})
    with added.transaction() as tx:
        tx.add_nodes("P", make())
    assert content(added) == content(loaded)
    assert len(content(added)[0]) == 2
    assert str(added.schema()) == str(loaded.schema())


def test_the_id_is_a_property_where_load_makes_it_one(tmp_path: Any) -> None:
    (tmp_path / "p.csv").write_text("key:ID,x:int\n1,2\n")
    loaded, added = gdb.connect(), gdb.connect()
    loaded.load(nodes={"P": str(tmp_path / "p.csv")})
    with added.transaction() as tx:
        tx.add_nodes("P", pl.DataFrame({"key:ID": [1], "x": [2]}))
        tx.add_nodes("P", pl.DataFrame({":ID": [2], "x": [3]}))
        tx.set_nodes(pl.DataFrame({"other:ID": [2], "x": [4]}))
    assert content(loaded)[0] == [(1, ["P"], {"key": 1, "x": 2})]
    assert content(added)[0] == [*content(loaded)[0], (2, ["P"], {"x": 4})]


# ---- values --------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    st.lists(st.none() | st.floats(allow_nan=False), min_size=1, max_size=4),
    st.lists(st.none() | st.booleans(), min_size=1, max_size=4),
    st.lists(st.none() | st.text(max_size=15), min_size=1, max_size=4),
    st.lists(st.none() | st.dates(), min_size=1, max_size=4),
    st.lists(st.none() | st.datetimes(), min_size=1, max_size=4),
    st.lists(
        st.none() | st.timedeltas(timedelta(-(10**5)), timedelta(10**5)), min_size=1, max_size=4
    ),
    st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=4),
)


@given(VALUES, st.sampled_from(["list", "array", "slice", "chunks", "polars", "numpy of objects"]))
@settings(deadline=None, max_examples=share(150))
def test_values_come_back_as_they_were(values: list[Any], how: str) -> None:
    made = COLUMNS[how](values)
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", np.arange(len(values)), {"x": made})
        found = [row[0] for row in db.execute("MATCH (n) RETURN n.x ORDER BY id(n)").fetchall()]
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


NS = np.datetime64("2000-01-01T00:00:00.000001", "ns")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([NS, np.datetime64("NaT")]), [datetime(2000, 1, 1, microsecond=1), None]),
        ([NS, np.datetime64("NaT")], [datetime(2000, 1, 1, microsecond=1), None]),
        ([np.datetime64("2000-01-01"), None], [date(2000, 1, 1), None]),
        (np.array([10**9, "NaT"], "m8[ns]"), [timedelta(seconds=1), None]),
        ([np.timedelta64(5, "s"), None], [timedelta(seconds=5), None]),
        ([pd.Timestamp("2000-01-01"), pd.NaT], [datetime(2000, 1, 1), None]),
        ([pd.Timedelta("1s"), pd.NaT], [timedelta(seconds=1), None]),
        (pd.Series(pd.to_timedelta(["1s", None])), [timedelta(seconds=1), None]),
        (pd.to_datetime(["2000-01-01", None]), [datetime(2000, 1, 1), None]),
        (pd.Series([1, pd.NA], dtype="Int64"), [1, None]),
        (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
        (pd.array([1, None], "Int64"), [1, None]),
        ([np.int8(1), np.uint64(2)], [1, 2]),
        ([np.bool_(True), None], [True, None]),
        ([np.array([1, 2]), np.array([], int)], [[1, 2], []]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array([["a"], ["b"]]), [["a"], ["b"]]),
        (np.array([0.5, 1], np.float32), [0.5, 1.0]),
        (np.ma.array([1, 2], mask=[True, False]), [None, 2]),
        (range(2), [0, 1]),
        (pl.Series(["a", None], dtype=pl.Categorical), ["a", None]),
    ],
)
def test_values_of_libraries(values: Any, expected: list[Any]) -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [1, 2], {"x": values})
        found = [row[0] for row in db.execute("MATCH (n) RETURN n.x ORDER BY id(n)").fetchall()]
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_arrays_may_be_changed_at_once() -> None:
    ids, x = np.array([1, 2]), np.array([0.5, 1.5])
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", ids, {"x": x})
            ids[:], x[:] = 7, 7
        assert content(db)[0] == [(1, ["P"], {"x": 0.5}), (2, ["P"], {"x": 1.5})]


def test_nothing_is_no_change(db: gdb.Database) -> None:
    before = content(db)
    empty: list[Any] = [
        [],
        np.array([]),
        pl.Series([], dtype=pl.String),
        pa.chunked_array([], pa.int8()),
    ]
    frame = pl.DataFrame({"id": [], "x": []})
    with db.transaction() as tx:
        for ids in [*empty, frame]:
            tx.add_nodes("P", ids)
            tx.set_labels(ids, add="Z")
            tx.remove_nodes(ids)
        for ids in empty:
            tx.set_nodes(ids, {"x": ids})
            tx.add_relationships("R", ids, ids)
            assert tx.set_relationships("R", ids, ids, {}) == 0
            assert tx.remove_relationships("R", ids, ids) == 0
    assert content(db) == before


def test_lists_and_numpy_need_no_other_library() -> None:
    program = (
        "import sys, numpy as np, gdb\n"
        "db = gdb.connect()\n"
        "with db.transaction() as tx: tx.add_nodes('P', np.arange(3), {'x': [1, 2, 3]})\n"
        "print([m for m in ('nanoarrow', 'pyarrow', 'pandas', 'polars') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

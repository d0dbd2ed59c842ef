"""The index of a data frame: a column where it has a name, left out where it has none, wherever frames are taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.storage.columns.pandas_index import headers

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame({"id": [3, 1, 2], "x": [1, 2, 3]}).sort_values("id")
UNNAMED = {
    "sorted": FRAME,
    "filtered": FRAME[FRAME.x > 0],
    "texts": FRAME.set_index(pd.Index(["a", "b", "c"])),
    "levels": FRAME.set_index(pd.MultiIndex.from_tuples([(1, 2), (3, 4), (5, 6)])),
    "periods": FRAME.set_index(pd.period_range("2000", periods=3)),
    "intervals": FRAME.set_index(pd.interval_range(0, 3)),
    "a table of it": pa.Table.from_pandas(FRAME),
}


def loaded(db: gdb.Database, frame: Any) -> None:
    db.load(nodes={"P": frame})


def added(db: gdb.Database, frame: Any) -> None:
    with db.transaction() as tx:
        tx.add_nodes("P", frame)


def rows(db: gdb.Database) -> list[dict[str, Any]]:
    found = db.execute("MATCH (n) RETURN properties(n) ORDER BY n.id").fetchall()
    return [row for (row,) in found]


@pytest.mark.parametrize("way", [loaded, added])
@pytest.mark.parametrize("frame", UNNAMED.values(), ids=UNNAMED)
def test_an_index_without_a_name_is_no_property(
    way: Callable[[gdb.Database, Any], None], frame: Any
) -> None:
    with gdb.connect() as db:
        way(db, frame)
        assert [sorted(row) for row in rows(db)] == [["id", "x"]] * 3


@pytest.mark.parametrize("way", [loaded, added])
def test_an_index_with_a_name_is_one(way: Callable[[gdb.Database, Any], None]) -> None:
    named = FRAME.set_index(pd.MultiIndex.from_tuples([(1, 2)] * 3, names=["k", None]))
    with gdb.connect() as db:
        way(db, named)
        assert rows(db)[0] == {"id": 1, "x": 2, "k": 1}


def test_relationships_and_values_of_nodes() -> None:
    ends = pd.DataFrame({":START_ID": [1, 2], ":END_ID": [2, 1], "w": [1, 2]}, index=[5, 3])
    with gdb.connect() as db:
        db.load(edges={"K": ends}, missing_ends="create")
        with db.transaction() as tx:
            tx.add_relationships("K", ends)
            tx.set_nodes(FRAME[FRAME.id < 3])
        found = db.execute("MATCH (n)-[r]->() RETURN DISTINCT keys(n), keys(r)").fetchall()
        assert found == [(["x"], ["w"])]


def test_a_parquet_file_of_pandas(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    with gdb.connect() as db:
        db.load(nodes={"P": tmp_path / "a.parquet"})
        assert rows(db)[0] == {"id": 1, "x": 2}


def test_headers_of_the_columns_that_are_there() -> None:
    with gdb.connect() as db:
        db.load(nodes={"P": FRAME}, columns=["id", "y"])
        assert rows(db)[0] == {"id": 1, "y": 2}
    with gdb.connect() as db:
        db.load(nodes={"P": FRAME}, columns=["id", "y", "index"])
        assert rows(db)[0] == {"id": 1, "y": 2, "index": 1}
    with gdb.connect() as db, pytest.raises(ImportFailed, match="has 2 columns, 1 are named"):
        db.load(nodes={"P": FRAME}, columns=["id"])


@pytest.mark.parametrize("metadata", [b"", b"{", b"[]", b'{"index_columns": [{}], "columns": []}'])
def test_metadata_that_says_nothing(metadata: bytes) -> None:
    assert headers(["id", "__index_level_0__"], metadata) == ["id", "__index_level_0__"]

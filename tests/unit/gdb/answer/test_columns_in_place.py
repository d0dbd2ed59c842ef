"""Columns of an answer that are a store's own are given to Arrow where the store's files are mapped, and stay good."""

from __future__ import annotations

import gc
import mmap
import warnings
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pandas
import polars
import pyarrow
import pytest

import gdb
from gdb.storage.columns.model import Column

COUNT = 20_011
EDGES = 30_000


@cache
def people() -> pyarrow.Table:
    number = np.arange(COUNT)
    return pyarrow.table(
        {
            "id": number + 7,
            "x": number * 3,
            "f": number / 4,
            "s": pyarrow.array([f"é{k}" for k in range(COUNT)]),
            "b": number % 3 == 0,
            "d": pyarrow.array([date.fromordinal(700_000 + k) for k in range(COUNT)]),
            "t": pyarrow.array([datetime(2000, 1, 1) + timedelta(0, k) for k in range(COUNT)]),
            "u": pyarrow.array([timedelta(0, k) for k in range(COUNT)]),
            "l": pyarrow.array([[k, k + 1][: k % 3] for k in range(COUNT)]),
            "ls": pyarrow.array([[str(k), "ü"][: k % 3] for k in range(COUNT)]),
            "nx": pyarrow.array([None if k % 3 else k for k in range(COUNT)]),
            "ns": pyarrow.array([None if k % 5 else str(k) for k in range(COUNT)]),
        }
    )


KEYS = ("x", "f", "s", "b", "d", "t", "u", "l", "ls", "nx", "ns")
MAPPED = (
    "x",
    "f",
    "s",
    "d",
    "t",
    "u",
    "l",
    "ls",
    "nx",
    "ns",
)  # a bool is a byte in a store, a bit in Arrow
ALL = f"MATCH (n:P) RETURN id(n), {', '.join(f'n.{key}' for key in KEYS)}"


def fill(db: gdb.Database, *, packed: bool = False) -> None:
    generator = np.random.default_rng(5)
    ends = 7 + generator.integers(0, COUNT, (2, EDGES))
    edges = pyarrow.table({"source": ends[0], "target": ends[1], "w": ends[0] * 100_000 + ends[1]})
    others = pyarrow.table({"id": np.arange(10**6, 10**6 + 3001), "x": np.arange(3001) * 2})
    db.load(nodes={"P": people(), "A": others}, edges={"K": edges}, packed=packed)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in_place") / "s"
    with gdb.connect(path) as db:
        fill(db)
    return path


@pytest.fixture
def db(path: Path) -> Iterator[gdb.Database]:
    with gdb.connect(path, read_only=True) as db:
        yield db


def by_id(table: pyarrow.Table) -> list[dict[str, object]]:
    """The rows in the order of the first column, by the names without "n."."""
    names = [name.removeprefix("n.") for name in table.column_names]
    rows = table.rename_columns(names).to_pylist()
    return sorted(rows, key=lambda row: row[names[0]])


@cache
def expected() -> list[dict[str, object]]:
    table = people()
    return table.rename_columns(["id(n)", *table.column_names[1:]]).to_pylist()


Extent = tuple[int, int]


def extent(array: npt.NDArray[np.generic]) -> Extent:
    begin: int = array.__array_interface__["data"][0]
    return begin, begin + array.nbytes


def maps(column: Column) -> list[Extent]:
    """Where a column's arrays lie, those that are in a file."""
    found = [column.values, column.offsets, column.inner, column.bits]
    return [extent(array) for array in found if array is not None and _is_mapped(array)]


def _is_mapped(array: object) -> bool:
    while isinstance(array, (np.ndarray, memoryview)):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return isinstance(array, mmap.mmap)


def mapped(column: pyarrow.ChunkedArray, extents: list[Extent]) -> bool:
    """Whether all that Arrow has of a column lies there."""
    buffers = [b for chunk in column.chunks for b in chunk.buffers() if b is not None and b.size]
    assert buffers
    return all(any(a <= b.address and b.address + b.size <= z for a, z in extents) for b in buffers)


@pytest.fixture
def place(db: gdb.Database) -> dict[str, list[Extent]]:
    """Where each property of :P lies in the files."""
    snapshot = db._store.snapshot()
    (group,) = [n for n, one in enumerate(snapshot.groups) if one.labels == ("P",)]
    found: dict[str, list[Extent]] = {"id": maps(snapshot.id_column(group))}
    for key in KEYS:
        column = snapshot.vertex_column(group, key)
        assert column is not None
        found[key] = maps(column)
    column = snapshot.edge_column("K", "w")
    assert column is not None
    return {**found, "w": maps(column)}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_scan_of_a_label(
    db: gdb.Database, place: dict[str, list[Extent]], *, threads: int
) -> None:
    for _ in range(2):  # also when columns were read often enough to be laid out by vid
        table = db.execute(ALL, threads=threads).arrow()
        table.validate(full=True)
        assert by_id(table) == expected()
        assert mapped(table["id(n)"], place["id"])
        for key in MAPPED:
            assert mapped(table[f"n.{key}"], place[key]), key
        assert not mapped(table["n.b"], place["b"])


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n:P) RETURN n.x",
        "MATCH (n:P) RETURN n.x LIMIT 9000",
        "MATCH (n) WHERE n:P RETURN n.x",
    ],
)
def test_scans_of_other_forms(db: gdb.Database, place: dict[str, list[Extent]], query: str) -> None:
    table = db.execute(query).arrow()
    assert mapped(table["n.x"], place["x"])


def test_batches_and_streams(db: gdb.Database, place: dict[str, list[Extent]]) -> None:
    with db.stream(ALL) as stream:
        for found in (db.execute(ALL).batches(1000), stream.batches(1000)):
            batches = [pyarrow.record_batch(batch) for batch in found]
            assert max(map(len, batches)) == 1000
            table = pyarrow.Table.from_batches(batches)
            assert by_id(table) == expected()
            assert all(mapped(table[f"n.{key}"], place[key]) for key in MAPPED)


def test_properties_of_relationships(db: gdb.Database, place: dict[str, list[Extent]]) -> None:
    table = db.execute("MATCH ()-[k:K]->() RETURN k.w").arrow()
    assert mapped(table["k.w"], place["w"])
    both = db.execute("MATCH (a)-[k:K]->(b) RETURN k.w, id(a) AS a, id(b) AS b").arrow()
    assert both.num_rows == EDGES
    w, a, b = (both[name].to_numpy() for name in ("k.w", "a", "b"))
    assert (w == a * 100_000 + b).all()
    assert sorted(table["k.w"].to_pylist()) == sorted(both["k.w"].to_pylist())


def test_nodes_as_structs(db: gdb.Database, place: dict[str, list[Extent]]) -> None:
    table = db.execute("MATCH (n:P) RETURN n").arrow()
    table.validate(full=True)
    flat = pyarrow.table({name: table["n"].chunk(0).field(name) for name in ("id", "properties")})
    assert mapped(flat["id"], place["id"])
    rows = sorted(table["n"].to_pylist(), key=lambda row: int(row["id"]))
    for row, known in zip(rows, people().to_pylist(), strict=True):
        assert row["id"] == known["id"]
        assert {key: row["properties"][key] for key in KEYS} == {key: known[key] for key in KEYS}
    nodes = sorted((node for (node,) in db.execute("MATCH (n:P) RETURN n")), key=lambda one: one.id)
    assert [one.properties.get("nx") for one in nodes] == people()["nx"].to_pylist()


def test_every_reader_of_arrow(db: gdb.Database) -> None:
    result = db.execute(ALL)
    rows = [tuple(row.values()) for row in expected()]
    assert sorted(result.fetchall()) == rows
    frame = polars.DataFrame(result).sort("id(n)")
    assert frame.rows() == rows
    assert frame.sort("n.x")["n.nx"].null_count() == len([row for row in rows if row[10] is None])
    assert duckdb.execute("FROM result ORDER BY 1").fetchall() == rows
    assert result.df().sort_values("id(n)")["n.s"].tolist() == [row[3] for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas does not know this database
        asked = pandas.read_sql("MATCH (n:P) RETURN n.ns", db)["n.ns"].dropna()
    assert sorted(asked) == sorted(row[11] for row in rows if row[11] is not None)


def test_what_is_no_run_is_right(db: gdb.Database) -> None:
    """Rows of several groups, filtered, turned round, and below what is calculated."""
    x = {row["id(n)"]: row["x"] for row in expected()}
    x |= {10**6 + k: 2 * k for k in range(3001)}
    assert dict(db.execute("MATCH (n) RETURN id(n), n.x")) == x
    some = {k: value for k, value in x.items() if value % 5 < 4}
    assert dict(db.execute("MATCH (n) WHERE n.x % 5 < 4 RETURN id(n), n.x")) == some
    both = db.execute("MATCH (a)-[:K]->(b) RETURN id(a), a.x, id(b), b.x").fetchall()
    assert len(both) == EDGES
    assert all(x[a] == ax and x[b] == bx for a, ax, b, bx in both)
    summed = db.execute("MATCH (n:P) RETURN sum(n.x), count(n.nx), max(n.s)").single()
    rows = expected()
    assert summed == (
        sum(int(str(x[k + 7])) for k in range(COUNT)),
        len([row for row in rows if row["nx"] is not None]),
        max(str(row["s"]) for row in rows),
    )


def test_with_changes(tmp_path: Path) -> None:
    """Columns that are put together from base and delta are in memory, and right."""
    with gdb.connect(tmp_path / "s") as db:
        fill(db)
        db.execute("MATCH (n:P) WHERE n.x < 300 SET n.nx = 5, n.s = 'new'")
        db.execute("MATCH (n:P) WHERE n.x > 59000 DETACH DELETE n")
        db.execute("CREATE (:P {x: -3, s: 'last'})")
        found = {row["x"]: row for row in by_id(db.execute(ALL).arrow())}
        known = {row["x"]: row for row in expected() if row["x"] <= 59000}
        assert found.keys() == known.keys() | {-3}
        assert found[-3]["s"] == "last"
        for x, row in known.items():
            changed = {"nx": 5, "s": "new"} if x < 300 else {}
            assert found[x] == row | changed


@pytest.mark.parametrize("packed", [False, True])
def test_it_stays_good(tmp_path: Path, *, packed: bool) -> None:
    """When the files are gone, the database is closed and nothing else of it is left. Packed numbers are in memory."""
    path = tmp_path / "s"
    with gdb.connect(path) as db:
        fill(db, packed=packed)
        before = {file.name for file in path.glob("seg-*")}
        result = db.execute(ALL)
        table = result.arrow()
        batch = next(iter(db.execute("MATCH (n:P) RETURN n.s").batches(5000)))
        del result
        for _ in range(2):
            gc.collect()
            db.execute("MATCH (n:A) WHERE n.x < 9 SET n.x = 1")
            db.compact()
        assert not before & {file.name for file in path.glob("seg-*")}
    del db
    gc.collect()
    assert by_id(table) == expected()
    assert set(pyarrow.record_batch(batch).column(0).to_pylist()) <= set(people()["s"].to_pylist())


def test_in_memory() -> None:
    with gdb.connect() as db:
        fill(db)
        assert by_id(db.execute(ALL).arrow()) == expected()

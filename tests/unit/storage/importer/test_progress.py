"""An import reports the bytes that it has read, whatever the format is."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

import gdb
from gdb import LoadProgress
from gdb.storage.importer.meter import Meter

ROWS = 400_000
ENDS = "".join(f"{k % 1777}{{0}}{k % 1333}\n" for k in range(ROWS))


def snap(folder: Path) -> dict[str, object]:
    (folder / "e.txt").write_text(ENDS.format("\t") * 8)
    return {"source": folder / "e.txt"}


def packed(folder: Path) -> dict[str, object]:
    with gzip.open(folder / "e.txt.gz", "wb", 1) as out:
        out.write((ENDS.format("\t") * 8).encode())
    return {"source": folder / "e.txt.gz"}


def integers(folder: Path) -> dict[str, object]:
    (folder / "e.csv").write_text(":START_ID,:END_ID\n" + ENDS.format(",") * 4)
    return {"edges": folder / "e.csv", "missing_ends": "create"}


def reals(folder: Path) -> dict[str, object]:
    rows = "".join(f"{k % 1777},{k % 1333},{k / 8}\n" for k in range(ROWS))
    (folder / "e.csv").write_text(":START_ID,:END_ID,w:double\n" + rows)
    return {"edges": folder / "e.csv", "missing_ends": "create"}


def nodes(folder: Path) -> dict[str, object]:
    rows = "".join(f"{k},name {k}\n" for k in range(ROWS))
    (folder / "n.csv").write_text("id:ID,name\n" + rows)
    return {"nodes": folder / "n.csv"}


def parquet(folder: Path) -> dict[str, object]:
    import duckdb

    query = f"SELECT i AS id, 'name ' || i AS name, i / 8 AS w FROM range({ROWS}) AS t(i)"
    duckdb.connect().execute(f"COPY ({query}) TO '{folder / 'n.parquet'}' (FORMAT parquet)")
    return {"nodes": folder / "n.parquet"}


def graph(folder: Path) -> dict[str, object]:
    vertices = "".join(f"v {k} 0\n" for k in range(100_000))
    edges = "".join(f"e {k} {k + 1}\n" for k in range(99_999))
    (folder / "a.graph").write_text(f"t 100000 99999\n{vertices}{edges}")
    return {"source": folder / "a.graph"}


@pytest.mark.parametrize("made", [snap, packed, integers, reals, nodes, parquet, graph])
def test_every_format_tells_the_bytes_it_has_read(
    tmp_path: Path, made: Callable[[Path], dict[str, object]]
) -> None:
    found: list[LoadProgress] = []
    given = made(tmp_path)
    with gdb.connect(tmp_path / "store") as db:
        db.load(**given, progress=found.append)  # type: ignore[arg-type]
    (total,) = {at.bytes_total for at in found}
    (path,) = [p for p in tmp_path.iterdir() if p.is_file()]
    assert total == path.stat().st_size
    reading = [at for at in found if at.step == f"reading {path.name}"]
    assert len({at.bytes_read for at in reading if 0 < at.bytes_read < total}) >= 1
    assert [at.bytes_read for at in found] == sorted(at.bytes_read for at in found)
    assert reading[-1].bytes_read == total
    assert all(at.part == at.bytes_read / total for at in reading)
    assert found[-1].step == "committing"


def test_several_files_are_one_total(tmp_path: Path) -> None:
    found: list[LoadProgress] = []
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id:ID,x:double\n" + f"{ord(name[0])},1.5\n")
    with gdb.connect() as db:
        db.load(nodes=[tmp_path / "a.csv", tmp_path / "b.csv"], progress=found.append)
    size = (tmp_path / "a.csv").stat().st_size
    assert {at.bytes_total for at in found} == {2 * size}
    assert max(at.bytes_read for at in found if at.step == "reading a.csv") == size
    assert max(at.bytes_read for at in found if at.step == "reading b.csv") == 2 * size


def test_a_table_in_memory_has_no_bytes(tmp_path: Path) -> None:
    import polars as pl

    found: list[LoadProgress] = []
    with gdb.connect() as db:
        db.load(nodes={"P": pl.DataFrame({"id": [1, 2]})}, progress=found.append)
    assert {(at.bytes_read, at.bytes_total) for at in found} == {(0, 0)}


def test_a_packed_table_needs_little_memory(tmp_path: Path) -> None:
    # DuckDB's own buffers for packed files are larger than its share of a small budget
    with gzip.open(tmp_path / "n.csv.gz", "wt") as out:
        out.write("id:ID,x:double\n" + "".join(f"{k},{k / 8}\n" for k in range(100_000)))
    with gdb.connect(tmp_path / "store") as db:
        assert db.load(nodes=tmp_path / "n.csv.gz", memory="16MB").vertices == 100_000


def test_what_is_read_never_shrinks(tmp_path: Path) -> None:
    """DuckDB's share of a statement that is done may go back."""
    (tmp_path / "a").write_bytes(bytes(100))
    found: list[LoadProgress] = []
    meter = Meter(found.append, None)
    meter.measure([tmp_path / "a"])
    for part in (0.2, 0.5, 0.4, 0.6):
        meter.part(tmp_path / "a", part)
    assert [at.bytes_read for at in found] == [20, 50, 50, 60]

"""Compressed inputs: every text format from gzip and Zstandard as from plain files; cut ones and bombs are refused."""

from __future__ import annotations

import gc
import gzip
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gdb
from gdb.errors import Cancelled, ImportFailed
from gdb.storage.importer import LoadReport, compressed
from gdb.storage.write.store import Store
from tests.support.loading import load


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data).to_pybytes()
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd}
BANNER = b"%%MatrixMarket matrix coordinate integer general\n"
FORMATS = {
    "a.txt": b"# \xc3\xa4\n1 2\n\n30\t4\n",
    "a.csv": b':START_ID,:END_ID,t\n1,2,"a\nb"\n\n30,4,\xc3\xa4\n',
    "a.graph": b"t 2 1\nv 1 5 1\nv 2 5 1\ne 1 2\n",
    "a.mtx": BANNER + b"% c\n4 4 2\n1 2 5\n3 4 -6\n",
}


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


def written(folder: Path, data: bytes, name: str) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def loaded(path: Path, **options: object) -> tuple[list[object], LoadReport]:
    """All that a file makes of an empty store, to be compared."""
    store = Store.open(None, create=True)
    report = load(store, path, **options)  # type: ignore[arg-type]
    snapshot = store.snapshot()
    found: list[object] = [snapshot.labels]
    for edge_type in snapshot.edge_types:
        eids = np.arange(edge_type.first_eid, edge_type.first_eid + edge_type.edge_count)
        _, sources, targets = snapshot.edge_ends(eids)
        columns = {key: snapshot.edge_column(edge_type.name, key) for key in edge_type.keys}
        ends = snapshot.user_ids(sources), snapshot.user_ids(targets)
        values = [column.to_list() for column in columns.values() if column is not None]
        found += [
            edge_type.name,
            edge_type.directed,
            sorted(zip(*ends, *values, strict=True), key=repr),
        ]
    return found, report


def refused(path: Path, **options: object) -> ImportFailed:
    store = Store.open(None, create=True)
    with pytest.raises(ImportFailed) as caught:
        load(store, path, **options)  # type: ignore[arg-type]
    assert store.snapshot().vertex_count == 0
    assert caught.value.file == str(path)
    assert caught.value.cure
    return caught.value


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_text_format(tmp_path: Path, name: str, packer: str, end: bytes) -> None:
    data = FORMATS[name].replace(b"\n", end)
    plain, report = loaded(written(tmp_path, data, name))
    same, packed = loaded(written(tmp_path, PACKERS[packer](data), name + packer))
    assert same == plain
    assert packed.files[0].format == report.files[0].format
    assert packed.rows == report.rows > 0


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("name", FORMATS)
def test_no_file_is_left_open(tmp_path: Path, name: str, packer: str) -> None:
    path = written(tmp_path, PACKERS[packer](FORMATS[name]), name + packer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded(path)
        gc.collect()
    assert not [str(each.message) for each in caught if each.category is ResourceWarning]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("name", FORMATS)
def test_parts_that_were_packed_alone(tmp_path: Path, name: str, packer: str) -> None:
    data, pack = FORMATS[name], PACKERS[packer]
    path = written(tmp_path, pack(data[:-5]) + pack(data[-5:]), name + packer)
    assert loaded(path)[0] == loaded(written(tmp_path, data, name))[0]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize(
    ("name", "data", "bad"),
    [
        ("a.txt", b"1 2\n\n3 \xff\n5 6\n", [(3, "3 \N{REPLACEMENT CHARACTER}")]),
        ("a.csv", b"source,target\n1,2\n\n3\n5,6\n", [(4, "3")]),
        ("a.graph", b"t 2 1\nv 1 5\n\nv 2\nv 5 1\n", [(4, "v 2")]),
        ("a.mtx", BANNER + b"9 9 2\n\n1 2 3\n1 2 x\n", [(5, "1 2 x")]),
    ],
)
def test_bad_lines(
    tmp_path: Path, name: str, data: bytes, bad: list[tuple[int, str]], packer: str
) -> None:
    path = written(tmp_path, PACKERS[packer](data), name + packer)
    _, report = loaded(path, on_error="skip", format=name[2:].replace("txt", "snap"))
    assert [(r.line, r.text) for r in report.rejected] == bad


LINES = {
    "a.txt": (b"# list\n", b"%d %d\n"),
    "a.csv": (b"source,target\n", b"%d,%d\n"),
    "a.graph": (b"t 5 5\n", b"v %d %d\n"),
    "a.mtx": (BANNER + b"9 9 9\n", b"%d %d 1\n"),
}


@pytest.mark.parametrize("size", [100, 100_000])
@pytest.mark.parametrize("name", LINES)
def test_a_cut_zstandard_file(tmp_path: Path, name: str, size: int) -> None:
    """DuckDB would take what is there for all of it."""
    first, line = LINES[name]
    data = zstd(first + b"".join(line % (i, i * 7919) for i in range(size)))
    for cut in (1, 3, len(data) // 3):
        error = refused(written(tmp_path, data[:-cut], name + ".zst"))
        assert "cannot be decompressed (it ends early)" in error.reason
    error = refused(written(tmp_path, data + b"more", name + ".zst"))
    assert "something follows its last frame" in error.reason


def test_what_a_stream_of_lines_cannot_tell(tmp_path: Path) -> None:
    mixed = written(tmp_path, zstd(b"1 2\r\n3 4\n" * 9), "a.zst")
    assert "end in different ways" in refused(mixed).reason
    long = written(tmp_path, zstd(b"# " + b"x" * 5_000_000 + b"\n1 2\n"), "b.zst")
    assert "2,000,000 bytes" in refused(long, format="snap").reason


# ---- bombs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_bomb(tmp_path: Path, name: str, packer: str) -> None:
    data = FORMATS[name] + b"\n" * (1 << 20)
    path = written(tmp_path, PACKERS[packer](data), name + packer)
    assert len(data) > compressed.RATIO * path.stat().st_size
    error = refused(path, max_unpacked=1 << 16)
    assert "unpacks to more than" in error.reason
    assert "max_unpacked=" in error.cure
    assert loaded(path)[1].rows == loaded(written(tmp_path, FORMATS[name], name))[1].rows


@pytest.mark.parametrize("packer", PACKERS)
def test_a_file_below_the_ratio_is_no_bomb(tmp_path: Path, packer: str) -> None:
    data = b"".join(b"%d %d\n" % (i, i * 7919 % 100_003) for i in range(100_000))
    path = written(tmp_path, PACKERS[packer](data), "a" + packer)
    assert loaded(path, max_unpacked=1)[1].edges == 100_000


def test_a_check_can_be_cancelled(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"1 2\n" + b"\n" * (20 << 20)), "a.gz")
    cancel = threading.Event()

    def tick() -> None:
        if cancel.is_set():
            raise Cancelled("stop")
        cancel.set()

    with pytest.raises(Cancelled):
        compressed.check(path, 8 << 20, tick)


def test_a_matrix_that_asks_for_too_many_nodes(tmp_path: Path) -> None:
    path = written(tmp_path, BANNER + b"1000000 1000000 1\n1 2 3\n", "a.mtx")
    error = refused(path, max_unpacked=7_999_999)
    assert "declares 1,000,000 nodes" in error.reason
    assert "max_unpacked=" in error.cure
    assert loaded(path, max_unpacked=8_000_000)[1].vertices == 1_000_000


def test_the_limit_as_a_text(tmp_path: Path) -> None:
    path = written(tmp_path, zstd(b"1 2\n" + b"\n" * (4 << 20)), "a.zst")
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="unpacks to more than 1,048,576 bytes"):
            db.load(path, max_unpacked="1MiB")
        with pytest.raises(gdb.errors.QueryError, match="max_unpacked='much' is not a size"):
            db.load(path, max_unpacked="much")
        assert db.load(path).edges == 1

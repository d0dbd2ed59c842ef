"""Small files that unpack to much: refused early, by an error that names the option, before memory grows.

Each is loaded in a process of its own, whose highest memory (`VmHWM`) is compared with that of one that loads nothing.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gdb
from gdb.storage.columns.model import Column, offsets_of_lengths

BANNER = b"%%MatrixMarket matrix coordinate pattern general\n"
PROGRAM = """
import json, sys
import gdb
def highest():
    return next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith("VmHWM"))
given = json.loads(sys.argv[1])
gdb.connect().load(nodes=given.pop("warm"))  # all that an import needs is imported
before, error, text = highest(), "", ""
with gdb.connect(given.pop("store")) as db:
    try:
        db.load(**given)
    except gdb.errors.GdbError as raised:
        error, text = type(raised).__name__, str(raised)
print(json.dumps([error, text, (highest() - before) >> 10]))
"""


class Loaded(NamedTuple):
    """error : its class, "" for none. grown : MiB that the process took beside what it had before."""

    error: str
    text: str
    grown: int


def loaded(folder: Path, **given: object) -> Loaded:
    (folder / "warm.csv").write_text("id,s\n1,a\n")
    plain = {"store": folder / "s.gdb", "warm": folder / "warm.csv", **given}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps(plain, default=str)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not done.returncode, done.stderr
    return Loaded(*json.loads(done.stdout))


def repeated(text: str, count: int) -> pa.Array:
    """A text that is repeated, which a dictionary holds once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text]))


def dictionary(folder: Path) -> Path:
    """A text of 2,000 bytes in each of 400,000 rows: 800 MB, from 2 MB."""
    ids = pa.array(np.arange(400_000))
    table = pa.table({"id": ids, "s": repeated("x" * 2000, len(ids))})
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def prefixes(folder: Path) -> Path:
    """The same by prefixes that are shared with the text before, in one page."""
    table = pa.table({"id": pa.array(np.arange(150_000)), "s": ["x" * 2000] * 150_000})
    coded = {"s": "DELTA_BYTE_ARRAY", "id": "PLAIN"}
    pq.write_table(
        table,
        folder / "a.parquet",
        use_dictionary=False,
        column_encoding=coded,
        data_page_size=1 << 30,
        row_group_size=1 << 20,
    )
    return folder / "a.parquet"


def one_row_group(folder: Path) -> Path:
    """One row group that says itself that it unpacks to 400 MB, of a file of some kilobytes."""
    table = pa.table({"id": np.zeros(200_000, np.int64), "s": ["x" * 2000] * 200_000})
    pq.write_table(
        table,
        folder / "a.parquet",
        compression="zstd",
        use_dictionary=False,
        row_group_size=1 << 20,
    )
    return folder / "a.parquet"


def lists(folder: Path) -> Path:
    """Lists of 2,000 texts, each from a dictionary."""
    column = pa.ListArray.from_arrays(
        pa.array(np.arange(0, 400_001, 2000, dtype=np.int32)),
        repeated("y" * 2000, 400_000).cast(pa.string()),
    )
    pq.write_table(pa.table({"id": np.arange(200), "s": column}), folder / "a.parquet")
    return folder / "a.parquet"


def lines_in_gzip(folder: Path) -> Path:
    (folder / "a.txt.gz").write_bytes(gzip.compress(b"1 2\n" + b"\n" * (300 << 20), 9))
    return folder / "a.txt.gz"


def zstandard(folder: Path, name: str, pieces: list[bytes]) -> Path:
    """A file whose frame does not say what it unpacks to."""
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        for piece in pieces:
            stream.write(piece)
    (folder / name).write_bytes(out.getvalue().to_pybytes())
    return folder / name


def lines_in_zstandard(folder: Path) -> Path:
    return zstandard(folder, "a.txt.zst", [b"1 2\n", *[b"\n" * (1 << 20)] * 300])


def long_lines_in_zstandard(folder: Path) -> Path:
    """2,048 lines, as many as DuckDB has in hand, are 3.9 GB."""
    return zstandard(folder, "a.csv.zst", [b"a,b\n", *[b"x" * 1_900_000 + b"\n"] * 500])


def told_by_the_frame(folder: Path) -> Path:
    packed = pa.Codec("zstd").compress(b"1 2\n" + b"\n" * (300 << 20)).to_pybytes()
    (folder / "a.txt.zst").write_bytes(packed)
    return folder / "a.txt.zst"


BOMBS: dict[str, tuple[Callable[[Path], Path], int]] = {  # and the MiB that it may take
    "dictionary": (dictionary, 200),
    "prefixes": (prefixes, 200),
    "one row group": (one_row_group, 100),
    "lists": (lists, 300),
    "gzip": (lines_in_gzip, 100),
    "zstandard": (lines_in_zstandard, 250),
    "zstandard, long lines": (long_lines_in_zstandard, 600),
    "zstandard, said": (told_by_the_frame, 100),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_memory_grows(tmp_path: Path, name: str) -> None:
    make, most = BOMBS[name]
    path = make(tmp_path)
    assert path.stat().st_size < 3 << 20
    key = "nodes" if path.suffix == ".parquet" else "source"
    found = loaded(tmp_path, **{key: path}, memory="128MB")
    assert found.error == "ImportFailed", found.text
    assert str(path) in found.text
    assert "max_unpacked=" in found.text or "Raise memory=" in found.text
    assert found.grown < most


def test_texts_of_relationships_pass_in_parts(tmp_path: Path) -> None:
    """What may be so large is read a part at a time, and so it is sorted: 120 MB of texts."""
    ids = pa.array(np.arange(60_000))
    table = pa.table({"source": ids, "target": ids, "s": repeated("x" * 2000, len(ids))})
    pq.write_table(table, tmp_path / "a.parquet")
    found = loaded(tmp_path, edges=tmp_path / "a.parquet", memory="128MB", max_unpacked="1GB")
    assert not found.error, found.text
    assert found.grown < 600


def test_long_and_short_texts_are_gathered() -> None:
    """Some at a time; one that is longer than that by itself."""
    texts = ["", "a" * 300_000, "b", "", "é" * 10, "c" * 600_000, ""] * 3
    data = [text.encode() for text in texts]
    column = Column(
        "string",
        np.frombuffer(b"".join(data), np.uint8),
        offsets_of_lengths(np.array([len(x) for x in data], np.int64)),
    )
    rows = np.array([5, 0, 20, 6, 1, 1, 12, 4, 2], np.int64)
    assert column.take(rows).to_list() == [texts[k] for k in rows]
    assert column.take(rows[:0]).to_list() == []


def test_a_window_that_is_too_long(tmp_path: Path) -> None:
    """Of a frame whose header wants 2 GiB to be unpacked."""
    path = tmp_path / "a.txt.zst"
    path.write_bytes(bytes.fromhex("28b52ffd00a8") + bytes.fromhex("210000") + b"1 2\n")
    found = loaded(tmp_path, source=path)
    assert found.error == "ImportFailed"
    assert "needs more than 134,217,728 bytes" in found.text
    assert found.grown < 150


@pytest.mark.parametrize("name", ["a.txt", "a.graph", "a.mtx"])
def test_a_line_without_end(tmp_path: Path, name: str) -> None:
    """Of a file that takes no room on the disk."""
    begin = {"a.txt": b"1 2\n", "a.graph": b"t 1 0\nv 0 0\n", "a.mtx": BANNER + b"2 2 1\n1 1\n"}
    path = tmp_path / name
    path.write_bytes(begin[name])
    os.truncate(path, 2 << 30)
    found = loaded(tmp_path, source=path, format=name[2:].replace("txt", "snap"))
    assert found.error == "ImportFailed"
    assert "a line has more than 16,777,216 bytes" in found.text
    assert found.grown < 200


def test_load_csv_holds_no_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n")
    os.truncate(path, 1 << 30)
    with pytest.raises(gdb.errors.ArgumentProblem, match="a line has more than"):
        gdb.connect().execute("LOAD CSV FROM $path AS row RETURN count(*)", {"path": str(path)})


def test_load_csv_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(gdb.errors.ArgumentProblem, match="no plain file"):
        gdb.connect().execute(
            "LOAD CSV FROM $path AS row RETURN row", {"path": str(tmp_path / "a.csv")}
        )

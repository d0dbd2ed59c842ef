"""Lines that are longer than the reader takes: each is refused with its number, however long, and no line is lost."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.storage.importer import line_ends

LIMIT = 4_194_304


def table(folder: Path, size: int, kind: str) -> Path:
    text = "x" * size
    text = f'"{text}"' if kind == "quoted" else text
    end = "\r\n" if kind == "CR LF" else "\n"
    data = end.join(["id,name", "1,a", f"2,{text}", "3,c", "4,d", ""]).encode()
    path = folder / "people.csv"
    path.write_bytes(gzip.compress(data, 1) if kind == "gzip" else data)
    return path


@pytest.mark.parametrize("size", [5_000_000, 9_000_000, 21_000_000])
@pytest.mark.parametrize("kind", ["plain", "quoted", "CR LF", "gzip"])
def test_a_line_that_is_too_long_is_refused(tmp_path: Path, kind: str, size: int) -> None:
    path = table(tmp_path, size, kind)
    with gdb.connect() as db:
        with pytest.raises(ImportFailed) as caught:
            db.load(nodes={"P": path}, max_unpacked=1 << 30)
        assert caught.value.line == 3
        if kind != "quoted":
            assert f"Maximum line size of {LIMIT} bytes exceeded" in caught.value.reason
        report = db.load(nodes={"P": path}, on_error="skip", max_unpacked=1 << 30)
        found = db.execute("MATCH (p:P) RETURN collect(p.name)").scalar()
    assert (found, report.rows) == (["a", "c", "d"], 3)
    assert [one.line for one in report.rejected] == [3]


def test_a_line_of_the_longest_length_is_loaded(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(nodes={"P": table(tmp_path, LIMIT - 100, "plain")})
        assert db.execute("MATCH (p:P {id: 2}) RETURN size(p.name)").scalar() == LIMIT - 100


@pytest.mark.parametrize("size", [5_000_000, 9_000_000])
@pytest.mark.parametrize("packed", [False, True])
def test_the_last_line_may_be_too_long_and_have_no_end(
    tmp_path: Path, packed: bool, size: int
) -> None:
    path, data = tmp_path / "ends.csv", b"id,name\n1,a\n2," + b"y" * size
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match=r":3: Maximum line size"):
            db.load(nodes={"P": path})
        db.load(nodes={"P": path}, on_error="skip")
        assert db.execute("MATCH (p:P) RETURN collect(p.id)").scalar() == [1]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_the_ends_of_lines_are_found(
    tmp_path: Path, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_ends, "_END", 3)
    path = tmp_path / "lines"
    for lengths in ([0], [5], [4, 4, 4], [1, 9, 1], [9, 1], [1, 1, 9], [0, 0, 7, 0], [3] * 20):
        for last in (end, b""):
            path.write_bytes(end.join(b"x" * n for n in lengths) + last)
            longest = max(
                len(line) for line in path.read_bytes().splitlines(keepends=True) or [b""]
            )
            for most in range(2, 14):
                found = line_ends.has_longer_line(path, most)
                if longest > most + len(end) - 1:
                    assert found
                if longest <= most:
                    assert not found or end == b"\r\n"

"""Quotes that are not closed, and carriage returns in the middle of a line: all lines of a file are loaded or reported,
or the import ends with the place that has to be repaired."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.storage.importer import open_quotes
from gdb.storage.importer.layout import Layout
from gdb.storage.importer.load_options import OnError
from gdb.storage.importer.open_quotes import Quotes, open_quote
from gdb.storage.importer.places import left_open

pytestmark = pytest.mark.filterwarnings("ignore::gdb.errors.LinesSkipped")


def table(folder: Path, lines: int, bad: dict[int, str], packed: bool, end: str = "\n") -> Path:
    """A file of relationships, some of whose lines are others."""
    rows = (bad.get(k, f"{k},{k % 100},x{k}") for k in range(1, lines + 1))
    data = end.join(["a,b,c", *rows, ""]).encode()
    path = folder / ("k.csv.gz" if packed else "k.csv")
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(
    ("lines", "bad", "at"),
    [
        (20, {10: '10,7,"open'}, 11),
        (20, {10: '10,7,"open', 15: '15,1,"x"'}, 11),
        (20, {3: '3,"a\nb",c', 10: '10,"7'}, 12),
        (300_000, {1_000: '1000,7000,"open'}, 1_001),
        (300_000, {1_000: '1000,7000,"open', 290_000: '1,"x",y'}, 1_001),
        (300_000, {299_990: '1000,7000,"open'}, 299_991),
    ],
)
def test_lines_behind_an_open_quote_are_never_lost(
    tmp_path: Path, lines: int, bad: dict[int, str], at: int, on_error: OnError, packed: bool
) -> None:
    path = table(tmp_path, lines, bad, packed)
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="a quoted text that begins here") as caught:
            db.load(edges={"K": path}, missing_ends="create", on_error=on_error)
        assert (caught.value.file, caught.value.line) == (str(path), at)
        assert "Close the quote" in caught.value.cure
        assert db.stats().edges == 0


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("lines", [20, 300_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bad", ['7,7,"op"en', '7,7,"op"en"', 'last,1,"open'])
def test_quotes_that_are_wrong_in_their_own_line(
    tmp_path: Path, lines: int, bad: str, end: str, packed: bool
) -> None:
    at = lines if bad.startswith("last") else 7
    path = table(tmp_path, lines, {at: bad}, packed, end)
    with gdb.connect() as db:
        report = db.load(edges={"K": path}, missing_ends="create", on_error="skip")
        assert [one.line for one in report.rejected] == [at + 1]
        assert report.rows + len(report.rejected) == lines
        assert db.stats().edges == report.rows


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("lines", [20, 250_000])
def test_a_carriage_return_in_a_line_is_named(
    tmp_path: Path, lines: int, on_error: OnError, packed: bool
) -> None:
    at = lines // 2
    path = table(tmp_path, lines, {3: '3,"a\rb",c', at: f"{at},x\ry,1"}, packed)
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="outside of quotes") as caught:
            db.load(edges={"K": path}, missing_ends="create", on_error=on_error)
        assert (caught.value.line, caught.value.text) == (at + 1, f"{at},x\ry,1")
        assert "Quote the field" in caught.value.cure


def expected(data: bytes, delimiter: str) -> int:
    """The line in which the first text opens that does not end in the file; 0 for none."""
    opened, is_open = 0, False
    for number, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
        before, is_open = is_open, left_open(line + "\n", is_open, delimiter, '"', '"')
        opened = number if is_open and not before else opened
    return opened if is_open else 0


@pytest.mark.parametrize("delimiter", [",", "¦", " "])
@pytest.mark.parametrize("chunk", [1, 3, 1 << 22])
def test_chunks_and_delimiters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delimiter: str, chunk: int
) -> None:
    monkeypatch.setattr(open_quotes, "_CHUNK", chunk)
    chance, path = random.Random(chunk), tmp_path / "a.csv"
    seen = set()
    for _ in range(300):
        fields = ["a", "¢", "b", '"q"', '"q""r"', f'"x{delimiter}y"', '"x\ny"', 'i"j', ""]
        rows = [delimiter.join(chance.choices(fields, k=3)) for _ in range(chance.randrange(1, 6))]
        if chance.random() < 0.5:
            rows.insert(chance.randrange(len(rows) + 1), f'1{delimiter}"open')
        bom = b"\xef\xbb\xbf" * chance.randrange(2)
        path.write_bytes(bom + "\n".join([*rows, ""]).encode())
        wanted = expected(path.read_bytes(), delimiter)
        found = open_quote(path, Layout(delimiter, 0, [], [], False), lambda: False)
        quotes = Quotes(Layout(delimiter, 0, [], [], False))
        quotes.follow(path.read_bytes())
        first = quotes.first(path)
        assert (found and found.line) == (first and first.line)
        if wanted:
            assert found is not None
            assert found.line <= wanted
        seen.add(bool(found))
    assert seen == {False, True}


def test_escapes_before_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    how = Layout(",", 0, [], [], False, quote='"', escape="\\")
    for text, line in (('1,"a\\"b"\n', 0), ('1,"a\\\\"\n2,"x\n', 2), ('1,"a\\"\n2,b\n', 1)):
        path.write_text(text)
        found = open_quote(path, how, lambda: False)
        assert (found.line if found else 0) == line

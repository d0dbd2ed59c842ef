"""The worked example of docs/FORMAT.md: gdb writes these bytes, and reads a store made from the page alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gdb
from tests.oracles.store_reader import PlainStore
from tests.support import format_doc


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> format_doc.Example:
    random = os.urandom
    digits = bytes.fromhex(format_doc.RANDOM)
    monkeypatch.setattr(os, "urandom", lambda n: digits if n == 4 else random(n))
    return format_doc.write(tmp_path / "written")


def test_gdb_writes_the_bytes_of_the_page(written: format_doc.Example) -> None:
    text = format_doc.FORMAT.read_text(encoding="utf-8")
    wanted = format_doc.tables(written)
    if os.environ.get("UPDATE_DOCS"):
        text = format_doc.EXAMPLE.sub(lambda _: wanted, text)
        format_doc.FORMAT.write_text(text, encoding="utf-8")
    found = format_doc.EXAMPLE.search(text)
    assert found is not None
    assert found[0] == wanted


def test_the_page_shows_every_byte(written: format_doc.Example) -> None:
    assert format_doc.rebuilt(format_doc.FORMAT.read_text(encoding="utf-8")) == written


def test_a_store_made_from_the_page_is_read(tmp_path: Path) -> None:
    example = format_doc.rebuilt(format_doc.FORMAT.read_text(encoding="utf-8"))
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "MANIFEST").write_bytes(example.manifest)
    (folder / example.name).write_bytes(example.segment)

    plain = PlainStore(folder)
    assert plain.part(plain.body["types"][0]["parts"][0]) == [(0, 1)]
    with gdb.connect(folder, read_only=True) as db:
        db.check()
        query = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.id, a.name, k.since, b.id, b.name"
        assert db.execute(query).fetchall() == [(7, "Ann", 2001, 9, "Bob")]

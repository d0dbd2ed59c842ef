"""Nonsense under checksums that fit is refused, or does no harm: a sample of what `make corrupt` tries, and the
contradictions that once crashed the process, or were answered."""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gdb
from gdb.errors import CorruptStore
from gdb.storage.graph import section_checks
from tests.corrupt import damages, delta, sealed, stores, table, trial
from tests.corrupt.sealed import Path_
from tests.support.effort import share

KNOWS = "MATCH ()-[:KNOWS]->()-[:KNOWS]->() RETURN count(*)"
NAMES = "MATCH (n:Person) RETURN n.name"


@pytest.mark.parametrize(
    ("name", "each", "kinds"),
    [
        (stores.BASE, 1, 30),
        (stores.INSIDE, 1, 40),
        (stores.BESIDE, 1, 40),
        (stores.JOURNAL, share(5), 14),
        (stores.PACKED, 1, 30),
    ],
)
def test_a_sample_of_every_damage_is_detected_or_harmless(
    name: str, each: int, kinds: int, tmp_path: Path
) -> None:
    found = list(table.try_all(tmp_path, seed=7, each=each, name=name))
    print(table.table(found))
    assert len({one.kind for one in found}) > kinds
    assert [one for one in found if one.outcome in table.BAD] == []
    assert sum(one.outcome == "at use" for one in found) > len(found) // 2


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A store; what hangs is ended."""
    stores.write(path := tmp_path / "s")
    signal.alarm(60)
    yield path
    signal.alarm(0)


def section_of(folder: Path, kind: int) -> tuple[str, bytes, sealed.Entry]:
    """The first file with a section of a kind, its bytes and the section."""
    for name, content in sealed.segments(folder):
        for entry in sealed.entries(content):
            if entry.kind == kind and entry.length:
                return name, content, entry
    raise AssertionError(f"no section of kind {kind}")


def overwrite(folder: Path, kind: int, item: int, raw: bytes) -> str:
    """Put other bytes into a section, seal the store, and give the file's name."""
    name, content, entry = section_of(folder, kind)
    at = entry.offset + item * entry.item
    sealed.seal_file(folder, name, content[:at] + raw + content[at + len(raw) :])
    return name


@pytest.mark.parametrize(
    ("kind", "item", "raw", "query"),
    [
        pytest.param(5, 50, struct.pack("<I", 40), KNOWS, id="a neighbour just after the last vertex"),
        pytest.param(5, 50, struct.pack("<I", 0xFFFFFFFF), KNOWS, id="a neighbour far away"),
        pytest.param(5, 0, struct.pack("<I", 39), KNOWS, id="a row that does not ascend"),
        pytest.param(1, 0, struct.pack("<I", 30), KNOWS, id="rows that do not ascend"),
        pytest.param(2, 0, struct.pack("<I", 0xFFFFFFFF), KNOWS, id="an interval without end"),
        pytest.param(3, 0, b"\0", KNOWS, id="a row without entries"),
        pytest.param(4, 0, struct.pack("<I", 0xFFFFFFFF), KNOWS, id="a row that is too long"),
        pytest.param(17, 3, struct.pack("<q", -1), NAMES, id="a string that begins before the first"),
        pytest.param(17, 3, struct.pack("<q", 1 << 40), NAMES, id="a string that ends after the last"),
        pytest.param(33, 0, struct.pack("<I", 40), "MATCH (n:Person) WHERE id(n) = 10 RETURN n.name",
                     id="an id of no vertex"),
    ],
)  # fmt: skip
def test_numbers_that_kernels_follow_are_compared_before(
    folder: Path, kind: int, item: int, raw: bytes, query: str
) -> None:
    name = overwrite(folder, kind, item, raw)
    with gdb.connect(folder, read_only=True) as db:
        with pytest.raises(CorruptStore, match=name):
            db.execute(query).fetchall()
        with pytest.raises(CorruptStore, match=name):
            db.check()


@pytest.mark.parametrize(
    ("at", "value", "when"),
    [
        (("vertex_count",), 41, "open"),
        (("vertex_count",), (1 << 32) - 2, "open"),
        (("edge_count",), 1, "open"),
        (("types", 1, "first_eid"), 0, "open"),
        (("types", 0, "edge_count"), 601, "open"),
        (("groups", 0, "ranges", 0, 1), 25, "open"),
        (("groups", 0, "file"), 99, "open"),
        (("groups", 0, "id_space"), "no such", "open"),
        (("spaces", 0, "count"), 5, "open"),
        (("types", 0, "parts", 0, "rows"), 1 << 61, "open"),
        (("types", 0, "parts", 0, "segments", 1, "first_edge"), 0, "open"),
        (("types", 0, "parts", 0, "direction"), "<-", "open"),
        (("groups", 0, "labels", 0), "\ud800", "open"),
        (("types", 0, "parts", 0, "max_degree"), 5, "open"),
        (("types", 0, "parts", 0, "max_degree"), 541, "use"),
        (("types", 0, "parts", 0, "intervals"), 5, "use"),
        (("types", 2, "edge_count"), 89, "open"),
        (("types", 0, "parts", 0, "bytes"), 5, "check"),
        (
            ("groups", 0, "columns", "age", "valid"),
            -1,
            "check",
        ),  # nulls would be answered as numbers
        (("groups", 0, "columns", "age", "values"), 0, "open"),  # ages would be ids
    ],
)
def test_a_manifest_that_contradicts_itself_or_its_files(
    folder: Path, at: Path_, value: sealed.Json, when: str
) -> None:
    sealed.seal_json(folder, sealed.changed(sealed.body_of(folder), at, value))
    actions: dict[str, Callable[[gdb.Database], object]] = {
        "use": lambda db: db.execute(KNOWS).fetchall(),
        "check": lambda db: db.check(),
    }
    if when == "open":
        with pytest.raises(CorruptStore, match="MANIFEST"):
            gdb.connect(folder, read_only=True)
    else:
        with gdb.connect(folder, read_only=True) as db, pytest.raises(CorruptStore):
            actions[when](db)


@pytest.mark.parametrize("number", [0, 1])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder: Path, number: int) -> None:
    name = ["MANIFEST", damages.segments_of(folder)[0]][number]
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(CorruptStore, match=name), gdb.connect(folder, read_only=True) as db:
        db.check()


def test_a_bool_that_is_believed_would_be_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The row with one comparison left out: these tests can see.
    with gdb.connect(folder, read_only=True) as db:
        right = stores.answers(db)
    tried = [d for d in damages.all_damages(folder, folder, 1) if d.kind == "nonsense: bool values"]
    work = folder.with_name("work")

    def outcomes() -> Iterator[str]:
        for damage in tried[::3]:
            sealed.restore(folder, work)
            damage.apply(work)
            yield trial.outcome(work, right, special=False)[0]

    assert next(outcomes()) == "at use"
    monkeypatch.setattr(section_checks, "COLUMN", ())
    assert "wrong" in outcomes()


def test_an_interval_that_lost_its_length_is_refused(folder: Path) -> None:
    # The section of lengths is one short; what followed it moves up, so that the table is right.
    name, content, entry = section_of(folder, 2)
    number = sealed.entries(content).index(entry)
    at = sealed.HEADER.size + number * sealed.ENTRY.size
    cut = sealed.ENTRY.pack(entry.kind, entry.item, entry.offset, entry.length - 4, 0)
    sealed.seal_file(folder, name, content[:at] + cut + content[at + len(cut) :])
    with gdb.connect(folder, read_only=True) as db, pytest.raises(CorruptStore, match=name):
        db.execute(KNOWS).fetchall()


@pytest.fixture(params=[stores.INSIDE, stores.BESIDE])
def changed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A store with a delta; what hangs is ended."""
    stores.write(path := tmp_path / "s", name=request.param)
    signal.alarm(60)
    yield path
    signal.alarm(0)


def test_an_id_that_the_delta_adds_twice_is_refused(changed: Path) -> None:
    tried = [one for one in delta.nonsense(changed) if one.kind == "an id twice"]
    work = changed.with_name("work")
    for damage in tried:
        sealed.restore(changed, work)
        damage.apply(work)
        with (
            gdb.connect(work, read_only=True) as db,
            pytest.raises(CorruptStore, match=r"an id twice|a wrong index of ids"),
        ):
            db.check()
    assert len(tried) > 5


def test_a_property_of_another_kind_in_the_delta_is_refused_when_it_is_opened(
    changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "properties of other kinds than the base's"
    tried = [one for one in delta.nonsense(changed) if one.kind == kind]
    assert {one.what.split("/")[1] for one in tried} == {"added", "patches", "types"}
    work = changed.with_name("work")

    for damage in tried:
        sealed.restore(changed, work)
        damage.apply(work)
        with pytest.raises(CorruptStore, match="a property of two kinds"):
            gdb.connect(work, read_only=True)
    # The row with one comparison left out: this test can see.
    monkeypatch.setattr(section_checks, "_kinds", lambda *_: {})
    gdb.connect(work, read_only=True).close()


def test_an_edge_to_remove_that_one_end_does_not_know_is_refused(changed: Path) -> None:
    # The first row of a part is another vertex's: the parts then had other numbers of edges (IndexError).
    work, refused = changed.with_name("work"), 0
    for damage in damages.all_damages(changed, changed, 1):
        if damage.kind == "nonsense: interval first" and " at 256: " in damage.what:
            sealed.restore(changed, work)
            damage.apply(work)
            with gdb.connect(work, read_only=True) as db:
                try:
                    db.execute("MATCH (a)-[r]-(b) RETURN a, r").fetchall()
                except CorruptStore as error:
                    refused += "is not symmetric" in str(error)
    assert refused

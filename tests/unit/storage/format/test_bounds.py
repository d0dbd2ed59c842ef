"""What a store from elsewhere can make a reader read, and numbers of it that leave no room for a commit."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import gdb
from gdb.errors import CorruptStore, StoreError
from gdb.storage.columns import any_values
from gdb.storage.format import manifest, manifest_head
from gdb.storage.format.manifest_head import MOST_BYTES, MOST_RECORDS, MOST_VERSION
from tests.corrupt import sealed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with records behind its manifest."""
    with gdb.connect(path := tmp_path / "s") as db:
        for number in range(4):
            with db.transaction() as tx:
                tx.add_nodes("N", [number])
    return path


def _sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much each call reads, from now on."""
    found, real = list[int](), os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        data = real(fd, size, at)
        found.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", pread)
    return found


@pytest.mark.parametrize("head", ["a journal", "no journal", "no manifest"])
def test_a_manifest_of_20_gb_is_refused_unread(
    head: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if head == "no journal":
        shutil.rmtree(folder)
        gdb.connect(folder).close()
    elif head == "no manifest":
        (folder / "MANIFEST").write_bytes(b"")
    os.truncate(folder / "MANIFEST", 20 << 30)
    read = _sizes(monkeypatch)
    with pytest.raises(CorruptStore, match="MANIFEST has 21,474,836,480 bytes"):
        gdb.connect(folder)
    assert sum(read) < 1000


def test_a_manifest_that_grows_under_an_open_store_is_refused_unread(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gdb.connect(folder) as db:
        os.truncate(folder / "MANIFEST", 20 << 30)
        read = _sizes(monkeypatch)
        with pytest.raises(CorruptStore, match="MANIFEST has 21,474,836,480 bytes"):
            db.execute("MATCH (n) RETURN count(*)")
        assert sum(read) < 1000


def test_zeros_behind_the_records_are_read_up_to_the_bound(folder: Path) -> None:
    size = manifest_head.length_in((folder / "MANIFEST").read_bytes())
    os.truncate(folder / "MANIFEST", size + MOST_RECORDS)
    with gdb.connect(folder) as db:
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 4
    os.truncate(folder / "MANIFEST", size + MOST_RECORDS + 1)
    with pytest.raises(CorruptStore, match="by its head"):
        gdb.connect(folder)


def test_the_bound_is_by_the_head() -> None:
    def head(version: int, sectors: int, magic: bytes = b"gdb.man\n") -> bytes:
        return struct.pack("<8sIIQ", magic, version, sectors, 0)

    for version in (4, 5):
        assert manifest_head.most_bytes(head(version, 3)) == 3 * 512 + MOST_RECORDS
    assert manifest_head.most_bytes(head(4, 0xFFFFFFFF)) == MOST_BYTES + MOST_RECORDS
    others = (head(4, 0), head(3, 3), head(9, 3), head(4, 3, b"gdb.seg\n"), b"gdb", b"")
    assert {manifest_head.most_bytes(other) for other in others} == {MOST_BYTES}


def test_a_manifest_that_could_not_be_read_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "MOST_BYTES", 4000)
    with gdb.connect(folder) as db:
        with pytest.raises(StoreError, match=r"a manifest of [0-9,]+ bytes, more than 4,000"):
            _many_labels(db)
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 4
        with db.transaction() as tx:
            tx.add_nodes("N", [5])
    with gdb.connect(folder) as db:
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 5


def _many_labels(db: gdb.Database) -> None:
    with db.transaction() as tx:
        for number in range(100):
            tx.add_nodes(f"Label{number}", [100 + number])


def _many_commits(db: gdb.Database) -> None:
    for number in range(100):
        with db.transaction() as tx:
            tx.add_nodes("M", [number], {"text": ["x" * 30_000]}, id_space="m")


def _set_version(folder: Path, version: int) -> None:
    with gdb.connect(folder) as db:
        db.compact()
    body = sealed.body_of(folder)
    assert isinstance(body, dict)
    body["version"] = version
    sealed.seal_json(folder, body)


@pytest.mark.parametrize("version", [MOST_VERSION, 1 << 53, (1 << 62) - 1, 1 << 64])
def test_a_version_that_leaves_no_room_is_refused(version: int, folder: Path) -> None:
    _set_version(folder, version)
    with pytest.raises(CorruptStore, match="version is out of range"):
        gdb.connect(folder)


def test_the_last_versions_are_read_and_take_no_commit(folder: Path) -> None:
    _set_version(folder, MOST_VERSION - MOST_RECORDS - 3)
    with gdb.connect(folder) as db:
        for number in (10, 11):
            with db.transaction() as tx:
                tx.add_nodes("N", [number])
        # records behind the manifest, and then one that would have to be a manifest
        with pytest.raises(StoreError, match="takes no more commits"):
            _many_commits(db)
        with pytest.raises(StoreError, match="takes no more commits"):
            db.compact()
        found = db.execute("MATCH (n) RETURN count(*)").scalar()
    with gdb.connect(folder) as db:  # all that was acknowledged is there
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == found
        db.check()


def test_a_number_in_a_name_is_no_way_to_a_long_integer(folder: Path) -> None:
    with gdb.connect(folder) as db:
        db.compact()
    text = json.dumps(sealed.body_of(folder))
    (name,) = (path.name for path in folder.glob("seg-*"))
    sealed.seal(folder, text.replace(name, name.replace("seg-", "seg-" + "9" * 5000)).encode())
    with pytest.raises(CorruptStore, match="an impossible name"):
        gdb.connect(folder)


def _sealed(folder: Path, change: Callable[[dict[str, sealed.Json]], object]) -> None:
    body = sealed.body_of(folder)
    assert isinstance(body, dict)
    change(body)
    sealed.seal_json(folder, body)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A store without a delta."""
    with gdb.connect(path := tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("N", range(1000), {"x": [1] * 1000})
            tx.add_nodes("M", range(1000, 2000))
        db.compact(packed=True)
    return path


def test_a_section_is_not_of_two_columns(base: Path) -> None:
    # 60 bytes of the manifest each, and each one unpacked to 512 times the bytes of the section
    def again(body: dict[str, sealed.Json]) -> None:
        columns = sealed.value_at(body, ("groups", 0, "columns"))
        assert isinstance(columns, dict)
        columns.update({f"x{k}": columns["x"] for k in range(3)})

    _sealed(base, again)
    with pytest.raises(CorruptStore, match="a section has two owners"):
        gdb.connect(base)


def test_a_file_has_room_for_all_that_is_in_it(base: Path) -> None:
    (path,) = base.glob("seg-*")
    most = path.stat().st_size * 64  # each of the groups alone would fit

    def larger(body: dict[str, sealed.Json]) -> None:
        body["vertex_count"] = 2 * most
        assert isinstance(body["groups"], list)
        for number, group in enumerate(body["groups"]):
            assert isinstance(group, dict)
            group["ranges"] = [[number * most, (number + 1) * most]]
            group["columns"] = {}
        assert isinstance(body["spaces"], list)
        assert isinstance(body["spaces"][0], dict)
        body["spaces"][0]["count"] = 2 * most

    _sealed(base, larger)
    with pytest.raises(CorruptStore, match="a file is too short"):
        gdb.connect(base)


@pytest.mark.parametrize("depth", [1, 100, 20_000])
def test_a_text_of_lists_in_lists_is_no_value(depth: int) -> None:
    text = "i1"
    for _ in range(depth + 1):
        text = f"l{len(text)}:{text}"
    with pytest.raises(ValueError, match="a list holds lists"):
        any_values.value_of(text)

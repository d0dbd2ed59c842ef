"""A damaged store is refused with the name of the damaged file, or answers rightly; never wrongly.

Every file, every kind of damage: one bit, a zeroed sector, cut short, grown, an older valid copy, missing,
swapped with another. The traps are those of design.md §2.
"""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gdb.errors import CorruptStore, NotAStore
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.disk import checksum
from gdb.storage.format import segment_checksum, segment_writer
from gdb.storage.format.direction import Direction
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

MANIFEST = "MANIFEST"


def graph(seed: int) -> GraphTables:
    """Graphs of different seeds give files of the same names' order and nearly the same lengths."""
    rng = np.random.default_rng(seed)
    ends = rng.permuted(np.tile(np.arange(40), (2, 5)), axis=1)
    names = [f"v{n}" for n in range(40)]
    age = {"age": Column("int64", rng.integers(0, 90, 40)), "s": column_of(names)}
    return GraphTables(
        (VertexTable(("V",), "", names, age),),
        (
            EdgeTable("D", True, ends[0], ends[1], {"w": Column("float64", rng.random(200))}),
            EdgeTable("U", False, ends[0], ends[1]),
        ),
    )


def answer(folder: Path) -> list[object]:
    """All that a store says; also what it says must be self-consistent."""
    store = Store.open(folder, create=False, read_only=True)
    try:
        snapshot = store.snapshot()
        vids = np.arange(snapshot.vertex_count, dtype=np.uint32)
        found: list[object] = [snapshot.version, snapshot.user_ids(vids)]
        for types in (("D",), ("U",), ()):
            for direction in Direction:
                view = snapshot.adjacency(types, direction)
                found += [view.neighbours.tolist(), view.offsets.tolist(), view.vids().tolist()]
        for key in ("age", "s"):
            column = snapshot.vertex_column(0, key)
            assert column is not None
            found.append(column.to_list())
        weights = snapshot.edge_column("D", "w")
        assert weights is not None
        return [*found, weights.to_list(), snapshot.find("v7"), snapshot.find("nobody")]
    finally:
        store.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checksums: str) -> Path:
    """A store of several files, which have the checksums of small or of large ones."""
    monkeypatch.setattr(segment_writer, "PACK_BYTES", 1)
    path = tmp_path / "s"
    store = Store.open(path, create=True)
    write_graph(store, graph(1))
    store.close()
    return path


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.suffix != ".lock")


def damages(raw: bytes) -> Iterator[tuple[str, bytes]]:
    rng = random.Random(5)
    places = sorted({*range(0, len(raw), 7), *range(min(len(raw), 200)), len(raw) - 1})
    for place in places:
        changed = bytearray(raw)
        changed[place] ^= 1 << rng.randrange(8)
        yield f"bit of byte {place}", bytes(changed)
    for place in range(0, len(raw), 512):
        changed = bytearray(raw)
        changed[place : place + 512] = bytes(len(changed[place : place + 512]))
        yield f"zeros from {place}", bytes(changed)
    for length in {0, 1, 16, 40, len(raw) // 2, len(raw) - 1}:
        yield f"cut to {length}", raw[:length]
    for more in (1, 16, 4096):
        yield f"{more} bytes longer", raw + bytes(more)


def test_the_store_has_several_files(folder: Path) -> None:
    assert len(names(folder)) == 7


def test_every_damage_of_every_file_is_refused_with_its_name(folder: Path) -> None:
    right = answer(folder)
    wrong: list[str] = []
    for name in names(folder):
        raw = (folder / name).read_bytes()
        for what, changed in damages(raw):
            if changed == raw:
                continue
            (folder / name).write_bytes(changed)
            try:
                wrong.append(f"{name}, {what}: answers {answer(folder) == right}")
            except CorruptStore as error:
                if name not in str(error):
                    wrong.append(f"{name}, {what}: {error}")
        (folder / name).write_bytes(raw)
    assert wrong == []
    assert answer(folder) == right


def test_a_missing_file_is_named(folder: Path) -> None:
    for name in names(folder):
        (folder / name).rename(folder / "away")
        with pytest.raises(CorruptStore, match=name):
            answer(folder)
        with pytest.raises(CorruptStore, match=name):  # nor is a new store made over it
            Store.open(folder, create=True).snapshot().check()
        (folder / "away").rename(folder / name)


def test_swapped_files_are_refused(folder: Path) -> None:
    found = names(folder)
    for one in found:
        for other in found:
            if one < other:
                _swap(folder / one, folder / other)
                with pytest.raises(CorruptStore, match=f"{one}|{other}"):
                    answer(folder)
                _swap(folder / one, folder / other)


def _swap(one: Path, other: Path) -> None:
    spare = one.with_name("spare")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)


def test_an_older_valid_copy_of_a_segment_is_refused(folder: Path, tmp_path: Path) -> None:
    # Same length, a valid header, valid in its own time: only the pinned checksum detects it.
    old = {name: (folder / name).read_bytes() for name in names(folder)}
    write_graph(Store.open(folder, create=False), graph(2))
    refused = 0
    for name in names(folder):
        if name == MANIFEST:
            continue
        raw = (folder / name).read_bytes()
        for stale in old.values():
            if len(stale) == len(raw) and stale != raw:
                (folder / name).write_bytes(stale)
                with pytest.raises(CorruptStore, match=name):
                    answer(folder)
                refused += 1
        (folder / name).write_bytes(raw)
    assert refused > 2


def test_an_older_manifest_gives_the_older_store_or_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    before, raw = answer(folder), (folder / MANIFEST).read_bytes()
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    write_graph(Store.open(folder, create=False), graph(2))
    after = answer(folder)
    assert after != before
    (folder / MANIFEST).write_bytes(raw)  # its segments were swept
    with pytest.raises(CorruptStore, match="seg-00000001"):
        answer(folder)
    for path in kept.iterdir():
        shutil.copy(path, folder / path.name)
    assert answer(folder) == before  # the whole older state, nothing mixed


def test_a_manifest_of_another_store_is_refused(folder: Path, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "other", create=True)
    write_graph(store, graph(1))
    shutil.copy(tmp_path / "other" / MANIFEST, folder / MANIFEST)
    with pytest.raises(CorruptStore, match="seg-"):
        answer(folder)


def test_binary_rubbish_is_no_store(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(random.Random(1).randbytes(5000))
    with pytest.raises(CorruptStore, match=MANIFEST):
        Store.open(tmp_path, create=True)
    (tmp_path / MANIFEST).unlink()
    (tmp_path / "x").write_bytes(b"\0" * 100)
    with pytest.raises(NotAStore):
        Store.open(tmp_path, create=True)


def test_without_the_pinned_checksum_the_damage_would_be_answered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The row with one step left out: these tests can see.
    right = answer(folder)
    monkeypatch.setattr(segment_checksum, "verify", lambda *_: None)
    answers = 0
    for name in names(folder):
        if name == MANIFEST:
            continue
        raw = bytearray((folder / name).read_bytes())
        raw[-1] ^= 1
        (folder / name).write_bytes(bytes(raw))
        with contextlib.suppress(CorruptStore, UnicodeDecodeError, IndexError, ValueError):
            answers += answer(folder) != right
        raw[-1] ^= 1
        (folder / name).write_bytes(bytes(raw))
    assert answers


def test_a_manifest_cannot_lead_out_of_the_folder(folder: Path) -> None:
    from gdb.storage.format.manifest_head import FORMAT, HEAD, MAGIC

    raw = (folder / MANIFEST).read_bytes()
    body = raw[HEAD.size : -checksum.DIGEST_BYTES].replace(
        b"seg-00000001-0000", b"../../secret-0000"
    )
    sealed = HEAD.pack(MAGIC, FORMAT, 0, len(body)) + body
    (folder / MANIFEST).write_bytes(sealed + checksum.digest(sealed))
    with pytest.raises(CorruptStore, match="impossible name"):
        answer(folder)

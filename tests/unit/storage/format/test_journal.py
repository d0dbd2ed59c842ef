"""The journal: small commits behind the manifest, read whole or not at all; docs/FORMAT.md, *Journal*."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gdb.errors import ClosedError, CorruptStore, StoreError
from gdb.storage.columns.python_columns import column_of
from gdb.storage.copies.backup import backup
from gdb.storage.disk.checksum import DIGEST_BYTES
from gdb.storage.disk.steps import Steps
from gdb.storage.format import journal, manifest
from gdb.storage.format.manifest_head import length_in
from gdb.storage.graph.delta_sections import parts_of
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write import commit as committing
from gdb.storage.write import store as stores
from gdb.storage.write.commit import commit
from gdb.storage.write.compaction import compact
from gdb.storage.write.store import Store
from gdb.storage.write.transaction import Changes
from tests.support.journaled_stores import SECTOR, base, change, content, ended, length, read


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "PATIENCE", ())


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return tmp_path / "s"


@pytest.fixture(name="written")
def _written(folder: Path) -> dict[int, tuple[int, object]]:
    """A store with records in `folder`: for each of the last versions the length of the file, and its content."""
    store, found = base(folder), {}
    for number in range(10):
        snapshot = change(store, number)
        found[snapshot.version] = ended(folder), content(snapshot)
    store.close()
    return {version: known for version, known in found.items() if known[0] > length(folder)}


def test_from_the_third_small_commit_on_it_grows(folder: Path) -> None:
    store = base(folder)
    seen = []
    for number in range(5):
        version = change(store, number).version
        raw = (folder / "MANIFEST").read_bytes()
        seen.append((version, raw[8], length_in(raw) < len(raw)))
        assert not len(raw) % SECTOR or raw[8] < 4
    assert seen == [(2, 2, False), (3, 4, False), (4, 4, True), (5, 4, True), (6, 4, True)]


def test_every_version_is_read_by_who_opens_it_and_by_who_has_it_open(folder: Path) -> None:
    store = base(folder)
    reader = Store.open(folder, create=False, read_only=True)
    for number in range(25):
        mine = change(store, number)
        theirs = reader.snapshot()
        assert theirs.version == mine.version
        assert content(theirs) == content(mine)
        assert read(folder) == (mine.version, content(mine))
        assert reader.snapshot() is theirs
    assert reader.snapshot().stats() == store.snapshot().stats()


def test_the_text_of_a_delta_is_that_of_a_manifest(folder: Path) -> None:
    store, texts, kept = base(folder), set(), 0
    before = None
    for number in range(25):
        snapshot = change(store, number)
        record, parts = snapshot.manifest.delta, snapshot.parts
        assert parts is not None
        assert record == parts.record
        assert parts.text == manifest.JSON.encode(record).encode()
        assert manifest.delta_of(parts.text) == record
        texts.add(parts.text)
        anew = parts_of(snapshot.delta, parts.file)
        assert anew.text == parts.text
        for one, other in zip(anew.sections, parts.sections, strict=True):
            assert one.kind is other.kind
            assert np.array_equal(journal._items(one), journal._items(other))
        if before is not None:
            kept += sum(part in before for part in parts.every)
        before = parts.every
    assert len(texts) > 15
    assert kept > 25


def test_an_old_snapshot_stays_what_it_was(folder: Path) -> None:
    store = base(folder)
    kept = []
    for number in range(12):
        snapshot = change(store, number)
        kept.append((snapshot, content(snapshot)))
    for snapshot, known in kept:
        snapshot.check()
        assert content(snapshot) == known


def test_it_does_not_grow_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_BYTES", 8 * SECTOR)
    store = base(folder)
    manifests = set()
    for number in range(40):
        change(store, number)
        manifests.add((folder / "MANIFEST").read_bytes()[: length(folder)])
        assert (folder / "MANIFEST").stat().st_size - length(folder) <= 8 * SECTOR
    assert 5 < len(manifests) < 30
    assert read(folder) == (41, content(store.snapshot()))


@pytest.mark.parametrize("inline", [True, False])
def test_what_is_on_disk_is_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, inline: bool
) -> None:
    monkeypatch.setattr(committing, "MOST_INLINE", 1 << 18 if inline else 0)
    store = base(folder)
    for number in range(9):
        stats = change(store, number).stats()
        _, named = manifest.read(store.files)
        files = [folder / "MANIFEST", *(folder / record.name for record in named.files)]
        assert stats.bytes == sum(path.stat().st_size for path in files)
        assert stats.files == len(files)
    assert read(folder)[0] == store.snapshot().version


# ---- who goes on ------------------------------------------------------------------------------------


def test_who_opens_a_store_writes_a_manifest_of_its_own(folder: Path) -> None:
    store = base(folder)
    for number in range(5):
        change(store, number)
    before = (folder / "MANIFEST").read_bytes()
    other = Store.open(folder, create=False)
    change(other, 5)
    after = (folder / "MANIFEST").read_bytes()
    assert (before[8], after[8]) == (4, 2)
    assert content(other.snapshot()) == content(store.snapshot())
    for number in range(6, 12):  # by turns
        change((store, other)[number % 2], number)
        assert (folder / "MANIFEST").read_bytes()[8] == 2
        assert content(other.snapshot()) == content(store.snapshot())


def test_a_compaction_ends_it(folder: Path) -> None:
    store = base(folder)
    for number in range(6):
        change(store, number)
    known = content(store.snapshot())
    compact(store)
    assert (folder / "MANIFEST").read_bytes()[8] == 1
    assert read(folder) == (8, known)


def test_a_backup_holds_the_state_and_no_journal(folder: Path, tmp_path: Path) -> None:
    store = base(folder)
    for number in range(6):
        change(store, number)
    backup(store.snapshot(), tmp_path / "copy", Steps("backup"))
    raw = (tmp_path / "copy" / "MANIFEST").read_bytes()
    assert raw[8] == 2
    assert read(tmp_path / "copy") == (7, content(store.snapshot()))
    assert read(tmp_path / "copy") == read(folder)


def test_in_memory_it_is_the_same() -> None:
    store = base(None)
    for number in range(12):
        change(store, number)
    store.snapshot().check()
    again = Store(store.files, None, read_only=True)
    assert content(again.snapshot()) == content(store.snapshot())


def test_no_thread_of_the_writer_reads_a_record_before_it_is_safe(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = base(folder)
    for number in range(3):
        change(store, number)
    seen: list[int] = []

    def look(descriptor: int) -> None:
        seen.append(store.snapshot().version)

    monkeypatch.setattr(os, "fdatasync", look)
    versions = [change(store, number).version for number in range(3, 8)]
    assert versions == [5, 6, 7, 8, 9]
    assert seen == [4, 5, 6, 7, 8]
    assert read(folder) == (9, content(store.snapshot()))


def test_news_in_the_place_of_zeros_change_neither_length_nor_time(folder: Path) -> None:
    store = base(folder)
    for number in range(4):
        change(store, number)
    reader, path = Store.open(folder, create=False, read_only=True), folder / "MANIFEST"
    before = path.stat()
    for number in range(4, 10):
        version = change(store, number).version
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        assert reader.snapshot().version == version


@pytest.mark.parametrize("is_open", [True, False])
def test_what_is_written_while_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    store = base(folder)
    for number in range(2):
        change(store, number)
    reader = Store.open(folder, create=False, read_only=True)
    change(store, 2)  # with zeros behind it, more than one read takes
    pread, left = os.pread, list(range(3, 12))

    def and_write(descriptor: int, size: int, at: int) -> bytes:
        found = pread(descriptor, size, at)
        if size > 1000 and left:  # of the manifest, the first time
            numbers, left[:] = left[:], []
            for number in numbers:
                change(store, number)
        return found

    monkeypatch.setattr(os, "pread", and_write)
    mine = (reader if is_open else Store.open(folder, create=False)).snapshot()
    assert not left
    assert mine.version == 13
    assert content(mine) == content(store.snapshot())


@pytest.mark.parametrize("is_open", [True, False])
def test_a_sector_that_is_being_written_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    store = base(folder)
    for number in range(4):
        change(store, number)
    reader = Store.open(folder, create=False, read_only=True)
    version, before = reader.snapshot().version, (folder / "MANIFEST").read_bytes()
    change(store, 4)
    after = (folder / "MANIFEST").read_bytes()
    half = bytearray(after)
    # its end alone is there: of the checksum more than a byte, which may be 0
    half[ended(folder) - SECTOR : ended(folder) - 4] = bytes(SECTOR - 4)
    changes = iter([bytes(half), after])

    def pause(_: float) -> None:
        with (folder / "MANIFEST").open("r+b") as file:
            file.write(next(changes))

    def look() -> Snapshot:
        return (reader if is_open else Store.open(folder, create=False)).snapshot()

    monkeypatch.setattr(stores, "PATIENCE", (1.0, 1.0, 1.0))
    monkeypatch.setattr(time, "sleep", pause)
    (folder / "MANIFEST").write_bytes(half)
    assert look().version == version + 1
    assert not list(changes)
    (folder / "MANIFEST").write_bytes(before)
    assert read(folder)[0] == version


def test_a_sector_that_stays_wrong_is_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, written: dict[int, tuple[int, object]]
) -> None:
    waits = list[float]()
    monkeypatch.setattr(stores, "PATIENCE", (0.25, 0.5))
    monkeypatch.setattr(time, "sleep", waits.append)
    raw = bytearray((folder / "MANIFEST").read_bytes())
    raw[written[max(written)][0] - 1] ^= 1
    assert damaged(folder, raw)
    assert waits == [0.25, 0.5]


# ---- what a power cut leaves ------------------------------------------------------------------------


def test_a_torn_record_is_none(folder: Path, written: dict[int, tuple[int, object]]) -> None:
    raw = (folder / "MANIFEST").read_bytes()
    versions = sorted(written)
    assert len(versions) > 5
    for before, version in itertools.pairwise(versions):
        begin, end = written[before][0], written[version][0]
        for cut in range(begin, end, 37):
            (folder / "MANIFEST").write_bytes(raw[:cut])
            assert read(folder) == (before, written[before][1])
            if cut % SECTOR < SECTOR - DIGEST_BYTES:  # as a write leaves it that was cut short
                (folder / "MANIFEST").write_bytes(raw[:cut].ljust(len(raw), b"\0"))
                assert read(folder) == (before, written[before][1])
        lost = range(begin, end, SECTOR)
        for some in range(1, 1 << len(lost)):
            torn = bytearray(raw[:end])
            for k, at in enumerate(lost):
                if some >> k & 1:
                    torn[at : at + SECTOR] = bytes(SECTOR)
            (folder / "MANIFEST").write_bytes(torn)
            assert read(folder) == (before, written[before][1])


def test_behind_a_torn_record_a_manifest_is_written(
    folder: Path, written: dict[int, tuple[int, object]]
) -> None:
    last = max(written)
    os.truncate(folder / "MANIFEST", written[last][0] - SECTOR)
    store = Store.open(folder, create=False)
    assert store.snapshot().version == last - 1
    for number in range(10, 14):
        change(store, number)
    assert read(folder) == (last + 3, content(store.snapshot()))


# ---- what was damaged -------------------------------------------------------------------------------


def damaged(folder: Path, raw: bytes | bytearray) -> bool:
    (folder / "MANIFEST").write_bytes(raw)
    try:
        read(folder)
    except CorruptStore as error:
        # not a class below it, which programs do not know
        return type(error) is CorruptStore and "MANIFEST has a record" in str(error)
    return False


def test_the_bytes_of_every_record_are_guarded(
    folder: Path, written: dict[int, tuple[int, object]]
) -> None:
    raw = (folder / "MANIFEST").read_bytes()
    rng = random.Random(1)
    first = length(folder)
    for at in (*range(first, first + 200), *range(first + 200, ended(folder), 3)):
        changed = bytearray(raw)
        changed[at] ^= 1 << rng.randrange(8)
        assert damaged(folder, changed), at


def test_a_lost_sector_before_the_last_record_is_told(
    folder: Path, written: dict[int, tuple[int, object]]
) -> None:
    raw = (folder / "MANIFEST").read_bytes()
    for at in range(length(folder), written[max(written) - 1][0], SECTOR):
        changed = bytearray(raw)
        changed[at : at + SECTOR] = bytes(SECTOR)
        assert damaged(folder, changed), at


def test_a_valid_record_of_elsewhere_is_told(
    folder: Path, tmp_path: Path, written: dict[int, tuple[int, object]]
) -> None:
    """Of another place in the same file, and of the same place in the store's past."""
    raw = (folder / "MANIFEST").read_bytes()
    versions = sorted(written)
    begins = {v: written[v - 1][0] if v - 1 in written else length(folder) for v in versions}
    for one in versions:
        for other in versions:
            if one != other:
                record = raw[begins[other] : written[other][0]]
                changed = raw[: begins[one]] + record + raw[written[one][0] :]
                assert damaged(folder, changed), (one, other)
    shutil.copytree(folder, tmp_path / "past")
    store = base(tmp_path / "other")
    for number in range(10):
        change(store, number + 1)
    stale = (tmp_path / "other" / "MANIFEST").read_bytes()
    assert damaged(folder, raw[: length(folder)] + stale[length(tmp_path / "other") :])


def test_more_than_a_torn_record_is_told(
    folder: Path, written: dict[int, tuple[int, object]]
) -> None:
    raw = (folder / "MANIFEST").read_bytes()[: ended(folder)]
    torn = raw[: len(raw) - SECTOR] + bytes(SECTOR)
    assert not damaged(folder, raw + bytes(4096))
    assert not damaged(folder, torn + bytes(SECTOR))
    assert damaged(folder, raw + b"\1" * SECTOR)
    assert damaged(folder, torn + bytes(SECTOR) + b"\1" * SECTOR)


def test_nonsense_under_a_right_checksum_is_told(
    folder: Path, written: dict[int, tuple[int, object]]
) -> None:
    raw, begin = (folder / "MANIFEST").read_bytes(), length(folder)
    first = raw[begin : written[min(written)][0]]
    payload = bytearray(b"".join(first[at + 4 : at + 496] for at in range(0, len(first), SECTOR)))
    known = set()
    values = (0, 1, 2, 5, 255, 1 << 20, (1 << 31) - 1, (1 << 32) - 1)
    _, sections, _ = struct.unpack_from("<IIQ", payload)
    for at in range(0, 16 + 32 * sections, 4):
        for value in values:
            changed = bytearray(payload)
            struct.pack_into("<I", changed, at, value)
            if changed != payload:
                (folder / "MANIFEST").write_bytes(raw[:begin] + seal(raw[:begin], bytes(changed)))
                try:
                    read(folder)
                except CorruptStore:
                    known.add(at)
                else:
                    # more sectors than there are: what looks like a torn record, and was never acknowledged
                    assert (at, read(folder)[0]) == (0, min(written) - 1)
    assert known >= {0, 4, 8, *range(16, 16 + 32 * sections, 4)}


def seal(before: bytes, payload: bytes) -> bytes:
    """A record with this content, as the text of the format has it."""
    import hashlib

    found = before
    for at in range(0, len(payload), 492):
        found += struct.pack("<I", 1) + bytes(payload[at : at + 492]).ljust(492, b"\0")
        found += hashlib.blake2b(found, digest_size=16).digest()
    return found[len(before) :]


# ---- a disk that fails ------------------------------------------------------------------------------


def failing(real: Callable[..., int], number: int, *, short: bool) -> Callable[..., int]:
    def write(descriptor: int, data: memoryview, *place: int) -> int:
        if short and len(data) > 700:
            return real(descriptor, data[:700], *place)
        raise OSError(number, os.strerror(number))

    return write


@pytest.mark.parametrize("short", [True, False])
def test_a_full_disk_leaves_the_store_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    store = base(folder)
    for number in range(5):
        change(store, number)
    before = content(store.snapshot())
    with monkeypatch.context() as patched:
        for call in ("write", "pwrite"):
            patched.setattr(os, call, failing(getattr(os, call), errno.ENOSPC, short=short))
        for _ in range(2):
            with pytest.raises(StoreError, match="No space left"):
                change(store, 5)
    assert store.snapshot().version == 6
    assert read(folder) == (6, before) == (6, content(store.snapshot()))
    for number in range(6, 10):
        change(store, number)
    assert read(folder) == (10, content(store.snapshot()))


def test_after_a_failed_sync_nothing_more_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = base(folder)
    for number in range(5):
        change(store, number)

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fail)
        with pytest.raises(StoreError, match="failed to store MANIFEST"):
            change(store, 5)
    raw = (folder / "MANIFEST").read_bytes()
    with pytest.raises(ClosedError, match="takes no more writes"):
        change(store, 6)
    assert (folder / "MANIFEST").read_bytes() == raw
    assert read(folder)[0] in (6, 7)


def test_a_change_that_is_large_is_no_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = base(folder)
    for number in range(4):
        change(store, number)
    before = (folder / "MANIFEST").stat().st_ino
    with store.writer():
        changes = Changes(store.snapshot())
        changes.add_vertices(("N",), "", column_of([f"m{k}" * 9 for k in range(20_000)]), {})
        commit(store, changes)
    assert (folder / "MANIFEST").stat().st_ino != before
    assert read(folder) == (6, content(store.snapshot()))

"""Opening, locking, sweeping, and the errors of a store; across processes where that matters."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from gdb.errors import (
    ClosedError,
    CorruptStore,
    NotAStore,
    ReadOnlyError,
    StoreError,
    StoreLocked,
    StorePermissionError,
    StoreVersionError,
)
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.disk import checksum
from gdb.storage.disk.files import PosixFiles
from gdb.storage.format import manifest
from gdb.storage.format.direction import Direction
from gdb.storage.format.manifest import ColumnRecord, DeltaRecord, Manifest, PatchRecord
from gdb.storage.format.manifest_head import FORMAT
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph


@pytest.fixture
def as_user() -> Iterator[Path]:
    """A folder of a user who is not root; the process is that user meanwhile."""
    folder = Path(tempfile.mkdtemp())  # not tmp_path, whose parents are root's own
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    shutil.rmtree(folder)


def graph(count: int) -> GraphTables:
    return GraphTables((VertexTable((), "", np.arange(count)),))


def segments(path: Path) -> set[str]:
    return {p.name for p in path.iterdir() if p.suffix == ".gdb"}


@contextmanager
def other_process(path: Path, body: str) -> Iterator[None]:
    """Run `body` with an open store `s` in another process until the block ends."""
    program = (
        "import sys\n"
        "from gdb.storage.write.store import Store\n"
        f"s = Store.open({str(path)!r}, create=False)\n"
        f"{body}\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[4],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield
    finally:
        process.communicate("\n")


READ = "print('ready', flush=True); sys.stdin.readline()"
WRITE = "with s.writer():\n    print('ready', flush=True); sys.stdin.readline()"


def test_a_new_folder_becomes_an_empty_store(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "a" / "b", create=True)
    assert store.snapshot().version == store.snapshot().vertex_count == 0
    store.close()
    assert Store.open(tmp_path / "a" / "b", create=False).snapshot().version == 0


@pytest.mark.parametrize("create", [True, False])
def test_what_is_no_store_is_refused_and_untouched(tmp_path: Path, create: bool) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "letter.txt"):
        with pytest.raises(NotAStore, match=str(path)):
            Store.open(path, create=create)
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]


def test_a_missing_folder_without_create(tmp_path: Path) -> None:
    for read_only in (True, False):
        with pytest.raises(NotAStore):
            Store.open(tmp_path / "none", create=read_only, read_only=read_only)
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_is_a_store_only_with_create(tmp_path: Path) -> None:
    with pytest.raises(NotAStore):
        Store.open(tmp_path, create=False)
    Store.open(tmp_path, create=True)


def test_what_a_killed_creator_left_does_not_hinder(tmp_path: Path) -> None:
    (tmp_path / "manifest-00000000-0123abcd.tmp").write_bytes(b"half")
    (tmp_path / "writer.lock").write_bytes(b"")
    assert Store.open(tmp_path, create=True).snapshot().version == 0


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    Store.open(tmp_path, create=True).close()
    raw = bytearray((tmp_path / "MANIFEST").read_bytes()[: -checksum.DIGEST_BYTES])
    raw[8] = FORMAT + 1
    (tmp_path / "MANIFEST").write_bytes(bytes(raw) + checksum.digest(bytes(raw)))
    with pytest.raises(
        StoreVersionError, match=f"format {FORMAT + 1}; this gdb reads up to format {FORMAT}"
    ):
        Store.open(tmp_path, create=True)


def test_a_closed_or_read_only_store_takes_no_writes(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    reader = Store.open(tmp_path, create=False, read_only=True)
    with pytest.raises(ReadOnlyError):
        write_graph(reader, graph(1))
    store.close()
    store.close()
    with pytest.raises(ClosedError):
        write_graph(store, graph(1))
    with pytest.raises(ClosedError):
        store.snapshot()


def test_snapshots_do_not_change_and_the_store_moves_on(tmp_path: Path) -> None:
    store, other = (Store.open(tmp_path, create=True) for _ in range(2))
    first = write_graph(store, graph(3))
    assert other.snapshot() is other.snapshot()
    seen = other.snapshot()
    write_graph(store, graph(5))
    assert (first.vertex_count, seen.vertex_count, other.snapshot().vertex_count) == (3, 3, 5)
    # first is touched only now: its files must have stayed
    assert first.user_ids(np.arange(3, dtype=np.uint32)) == [0, 1, 2]
    assert seen.user_ids(np.arange(3, dtype=np.uint32)) == [0, 1, 2]


def test_old_segments_go_when_nobody_needs_them(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(3))
    (tmp_path / "seg-00000009-0000-00000000.gdb").write_bytes(b"of a killed writer")
    (tmp_path / "not ours.gdb").write_bytes(b"")
    gc.collect()
    snapshot = write_graph(store, graph(4))
    assert segments(tmp_path) == {"not ours.gdb"} | {f.name for f in snapshot.manifest.files}


def test_a_reader_in_another_process_keeps_old_segments(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    old = {f.name for f in write_graph(store, graph(3)).manifest.files}
    with other_process(tmp_path, READ):
        write_graph(store, graph(4))
        assert old < segments(tmp_path)
    write_graph(store, graph(5))
    assert len(segments(tmp_path)) == 1


def test_a_second_writer_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    with (
        other_process(tmp_path, WRITE),
        pytest.raises(StoreLocked, match=r"Process \d+ is writing"),
    ):
        write_graph(store, graph(1))
    write_graph(store, graph(1))  # the lock went with the process


def test_the_writer_s_lock_nests(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    with store.writer():
        write_graph(store, graph(1))
        other = Store.open(tmp_path, create=False)
        with pytest.raises(StoreLocked, match="Another Database of this process"):
            write_graph(other, graph(2))
    write_graph(other, graph(2))


def test_permissions(as_user: Path) -> None:
    path = as_user / "s"
    write_graph(Store.open(path, create=True), graph(2))
    path.chmod(0o555)
    try:
        reader = Store.open(path, create=False, read_only=True)  # as on a read-only disk
        assert reader.snapshot().user_ids(np.arange(2, dtype=np.uint32)) == [0, 1]
        with pytest.raises(StorePermissionError):
            write_graph(Store.open(path, create=False), graph(1))
        with pytest.raises(StorePermissionError):
            Store.open(path / "new" / "one", create=True)
        (path / "MANIFEST").chmod(0)
        with pytest.raises(StorePermissionError, match="MANIFEST"):
            Store.open(path, create=False)
    finally:
        path.chmod(0o755)


def test_refusals_of_the_system_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    Store.open(tmp_path, create=True).close()
    store = Store.open(tmp_path, create=False)  # which has not opened the lock's file yet
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StorePermissionError, match=r"writer\.lock"):
        write_graph(store, graph(1))


def test_a_full_disk_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(2))
    before = segments(tmp_path)

    def full(fd: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        write_graph(store, graph(3))
    monkeypatch.undo()
    assert segments(tmp_path) == before
    assert store.snapshot().vertex_count == 2
    write_graph(store, graph(3))


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:100]))
    write_graph(Store.open(tmp_path, create=True), graph(50)).check()


@pytest.mark.parametrize("call", range(1, 5))
def test_a_failed_fsync_poisons_and_is_not_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    # fsyncs of a commit: segment, manifest, folder, folder
    store = Store.open(tmp_path, create=True)
    write_graph(store, graph(1))
    calls = 0

    def fail(fd: int) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="Input/output error"):
        write_graph(store, graph(3))
    assert calls == call
    with pytest.raises(ClosedError, match="no more writes"):
        write_graph(store, graph(3))
    assert calls == call
    again = Store.open(tmp_path, create=False)
    assert again.snapshot().vertex_count == (3 if call == 4 else 1)
    again.snapshot().check()


def test_a_failed_fsync_of_what_was_found_poisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_graph(Store.open(tmp_path, create=True), graph(1))
    store = Store.open(tmp_path, create=False)

    def fail(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="Input/output error"):
        write_graph(store, graph(3))
    monkeypatch.undo()
    with pytest.raises(ClosedError, match="no more writes"):
        write_graph(store, graph(3))
    write_graph(Store.open(tmp_path, create=False), graph(3))  # the lock was given back


def test_every_fsync_stands_before_what_it_protects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path, create=True)
    log: list[str] = []
    for name in ("fsync", "rename"):
        real = getattr(os, name)

        def note(*args: object, name: str = name, real: object = real) -> object:
            where = os.readlink(f"/proc/self/fd/{args[0]}") if name == "fsync" else "manifest"
            log.append(f"{name} {Path(where).name.split('-')[0]}")
            assert callable(real)
            return real(*args)

        monkeypatch.setattr(os, name, note)
    write_graph(store, graph(3))
    folder, *parents = (path.name.split("-")[0] for path in (tmp_path, *tmp_path.parents))
    commit = [
        "fsync seg",
        "fsync manifest",
        f"fsync {folder}",
        "rename manifest",
        f"fsync {folder}",
    ]
    first = log[: -len(commit)]  # what was found may not be certain, up to a mount point
    assert log[len(first) :] == commit
    assert first == [f"fsync {name}" for name in (*parents[: len(first) - 1], folder)]
    assert len(first) > 1
    log.clear()
    write_graph(store, graph(4))
    assert log == commit


def test_maps_cannot_be_written(tmp_path: Path) -> None:
    snapshot = write_graph(Store.open(tmp_path, create=True), graph(3))
    values = snapshot.id_column(0).values
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 7


def test_a_file_of_another_length_is_never_mapped(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    door = PosixFiles(tmp_path)
    assert door.map("f", 5, "").tobytes() == b"12345"
    for length in (0, 4, 6):
        with pytest.raises(CorruptStore, match="f has 5 bytes"):
            door.map("f", length, "")
    with pytest.raises(CorruptStore, match="g is missing"):
        door.map("g", 5, "")


def test_ids_in_several_spaces(tmp_path: Path) -> None:
    tables = (
        VertexTable(("A",), "a", np.array([1, 2])),
        VertexTable(("B",), "b", np.array([2, 3])),
        VertexTable(("C",), "c", ["x", "", "é"]),
    )
    snapshot = write_graph(Store.open(None, create=True), GraphTables(tables))
    assert snapshot.find(1) is not None
    with pytest.raises(StoreError, match="'a', 'b'"):
        snapshot.find(2)
    assert snapshot.find(2, "a") != snapshot.find(2, "b")
    assert snapshot.find(3, "a") is None
    assert snapshot.find(2**70) is snapshot.find("y") is snapshot.find("\ud800") is None
    assert snapshot.find(1, "no such space") is None
    vids = snapshot.find_many(["é", "zz", "", 5, "\ud800"], "c")
    assert vids[[1, 3, 4]].tolist() == [-1, -1, -1]
    assert snapshot.user_ids(vids[[0, 2]].astype(np.uint32)) == ["é", ""]
    assert snapshot.find_many(np.array([3, 9]), "b").tolist() == [snapshot.find(3), -1]
    assert snapshot.find_many(np.array([3]), "c").tolist() == [-1]


def test_colliding_hashes_cost_a_comparison_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from gdb.storage.graph import ids

    monkeypatch.setattr(ids, "hash_strings", lambda _, offsets: np.full(len(offsets) - 1, 7, "u8"))
    names = [f"v{n}" for n in range(20)]
    snapshot = write_graph(
        Store.open(None, create=True), GraphTables((VertexTable((), "", names),))
    )
    for name in names:
        vid = snapshot.find(name)
        assert vid is not None
        assert snapshot.user_ids(np.array([vid], np.uint32)) == [name]
    assert snapshot.find("w") is None


def test_string_hashes_are_those_of_the_format() -> None:
    from gdb.storage.columns.model import from_strings
    from gdb.storage.graph.ids import hash_strings

    def plain(text: str) -> int:
        data, mask = text.encode(), (1 << 64) - 1
        h = len(data)
        for place, byte in enumerate(data):
            h += (byte + 1) * pow(0x9E3779B97F4A7C15, place + 1, 1 << 64)
        h &= mask
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & mask
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & mask
        return h ^ (h >> 31)

    texts = ["", "a", "\0", "\0\0", "ab", "ba", "é" * 40]
    column = from_strings(texts)
    assert column.offsets is not None
    found = hash_strings(column.values.astype(np.uint8), column.offsets)
    assert found.tolist() == [plain(text) for text in texts]


@pytest.mark.parametrize("key", ["00", " 0", "+0", "٠", "0_0"])
def test_a_patch_names_its_group_as_a_number_is_written(key: str) -> None:
    """int() takes more, and two keys would be one group."""
    patch = PatchRecord(0, 1, ColumnRecord("int64", 1, -1, -1))
    delta = DeltaRecord(0, 0, 2, 0, (), {0: {"x": patch}}, ())
    raw = manifest.encode(Manifest(delta=delta))
    sealed = raw[:-16].replace(b'"patches":{"0":', f'"patches":{{"{key}":'.encode())
    length = len(sealed) - 24
    sealed = sealed[:16] + length.to_bytes(8, "little") + sealed[24:]
    with pytest.raises(CorruptStore, match="no number of a group"):
        manifest.decode(sealed + checksum.digest(sealed), "x")


def test_the_shape_of_one_type_is_known_before_it_is_read(tmp_path: Path) -> None:
    ends = np.array([0, 0, 1, 2, 2]), np.array([1, 1, 2, 2, 0])
    tables = tuple(EdgeTable(name, name == "D", *ends) for name in "DU")
    graph = GraphTables((VertexTable((), "", np.arange(4)),), tables)
    write_graph(Store.open(tmp_path / "s", create=True), graph)
    for name in "DU":
        for direction in Direction:
            snapshot = Store.open(tmp_path / "s", create=False).snapshot()
            told = snapshot.shape((name,), direction)
            union = name == "D" and direction is Direction.ANY
            assert bool(snapshot.partitions._stored) == union
            view = snapshot.adjacency((name,), direction)
            assert told == (view.rows, len(view.neighbours), view.simple, view.loops)

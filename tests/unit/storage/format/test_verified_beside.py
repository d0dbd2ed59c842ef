"""Files that are verified while the query that reads them goes on: nothing is given out of one that is another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count, repeat
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import gdb
from gdb.base import forks, threads
from gdb.base.usage import Usage
from gdb.errors import Cancelled, CorruptStore, GdbError
from gdb.storage.columns.model import U8
from gdb.storage.disk import checksum
from gdb.storage.disk.files import Files, PosixFiles
from gdb.storage.format import segment_checksum, segments
from gdb.storage.format.segment import FileRecord, SegmentFile
from gdb.storage.format.segment_checksum import Comparison, compare_beside
from gdb.storage.graph import part_reading
from tests.support.random_store import random_store

COUNT, RELATIONSHIPS = 500, 4000
TRIANGLES = "MATCH (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)"
PAIRS = "MATCH (a)-[]-(b)-[]-(c) RETURN id(a), id(c)"
COMMITTED = "does not hold the bytes that were committed"


@pytest.fixture
def store(packed: bool, tmp_path: Path) -> Path:
    return random_store(tmp_path / "s", COUNT, RELATIONSHIPS, packed=packed)


@pytest.fixture(autouse=True, params=["page cache", "disk"])
def always_later(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file lies says when it is verified, and no more."""
    pages = count() if request.param == "disk" else repeat(0)
    monkeypatch.setattr(segments, "LEAST_LATER", 0)
    monkeypatch.setattr(segments, "pages_from_disk", lambda: next(pages))


@pytest.fixture
def verifying(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that verified a file."""
    found, verify = list[str](), segment_checksum.verify

    def noted(files: Files, record: FileRecord, content: U8) -> None:
        found.append(threading.current_thread().name)
        verify(files, record, content)

    monkeypatch.setattr(segment_checksum, "verify", noted)
    return found


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set, it lets the other threads begin to verify."""
    found, verify = threading.Event(), segment_checksum.verify

    def late(files: Files, record: FileRecord, content: U8) -> None:
        if threading.current_thread().name == "gdb-verify":
            assert found.wait(60)
        verify(files, record, content)

    monkeypatch.setattr(segment_checksum, "verify", late)
    return found


def harmless(data: bytearray) -> None:
    """Bytes that mean nothing: no check but the checksum sees them."""
    data[40:41] = b"\1"


def nonsense(data: bytearray) -> None:
    """Vertices that there are not."""
    half = len(data) // 2 // 4096 * 4096
    data[half : half + 2000] = b"\xff" * 2000


def headless(data: bytearray) -> None:
    data[:8] = b"\0" * 8


def damaged(file: Path, how: Callable[[bytearray], None]) -> None:
    data = bytearray(file.read_bytes())
    how(data)
    file.write_bytes(data)


def test_a_sound_file_is_verified_by_other_threads(store: Path, verifying: list[str]) -> None:
    with gdb.connect(store, read_only=True) as db:
        assert db.execute(TRIANGLES).scalar() >= 0
        assert "gdb-verify" in verifying
        before = len(verifying)
        db.execute(TRIANGLES)
        assert len(verifying) == before


def test_what_comes_from_the_disk_is_verified_while_more_comes(
    store: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[int]()

    def noted(some: Sequence[Comparison]) -> None:
        begun.append(len(some))
        compare_beside(some)

    monkeypatch.setattr(segments, "compare_beside", noted)
    monkeypatch.setattr(segments.Segments, "verify_beside", lambda _: None)  # which comes after
    with gdb.connect(store, read_only=True) as db:
        db.execute(TRIANGLES)
    assert set(begun) == (set() if "page cache" in request.node.name else {1})


@pytest.mark.parametrize("how", [harmless, nonsense, headless])
@pytest.mark.parametrize("text", [TRIANGLES, PAIRS])
def test_no_answer_of_another_file(
    text: str, how: Callable[[bytearray], None], store: Path, file: Path
) -> None:
    damaged(file, how)
    with gdb.connect(store, read_only=True) as db:
        for _ in range(2):  # also from what is kept of it
            with pytest.raises(CorruptStore, match=f"{file.name} {COMMITTED}"):
                db.execute(text)
        with (
            pytest.raises(CorruptStore, match=f"{file.name} {COMMITTED}"),
            db.stream(PAIRS) as rows,
        ):
            next(iter(rows))


def test_an_answer_waits_for_it(store: Path, go: threading.Event) -> None:
    answers = list[object]()
    with gdb.connect(store, read_only=True) as db:
        asking = threading.Thread(target=lambda: answers.append(db.execute(TRIANGLES).scalar()))
        asking.start()
        asking.join(0.5)
        assert asking.is_alive()
        assert not answers
        go.set()
        asking.join(60)
    assert len(answers) == 1


def test_a_timeout_ends_the_wait(store: Path, go: threading.Event) -> None:
    with gdb.connect(store, read_only=True) as db:
        with pytest.raises(gdb.errors.QueryTimeout):
            db.execute(TRIANGLES, timeout=0.3)
        go.set()
        assert db.execute(TRIANGLES).scalar() >= 0


class Another:
    """What a stopped query has left: a file that is not the one that was committed."""

    def settle(self) -> None:
        raise CorruptStore(COMMITTED)


@pytest.mark.parametrize("at_commit", [True, False])
def test_what_a_stopped_query_left_unverified_is_not_committed(
    at_commit: bool, store: Path
) -> None:
    def change(db: gdb.Database) -> None:
        with db.transaction() as tx:
            tx.add_nodes("X", ids=[10**6])
            db._store.snapshot()._segments._later.append(cast("SegmentFile", Another()))
            if not at_commit:
                tx.add_nodes("X", ids=[10**6 + 1])

    with gdb.connect(store) as db:
        with pytest.raises(CorruptStore, match=COMMITTED):
            change(db)
        db._store.snapshot()._segments._later.clear()
        assert not db.execute("MATCH (x:X) RETURN count(*)").scalar()


@pytest.mark.parametrize("damage", [False, True])
@pytest.mark.parametrize("name", ["_of_one_segment", "compare"])
def test_work_that_fails_says_so_of_verified_files_alone(
    name: str, damage: bool, store: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> None:
        raise ZeroDivisionError("the work's own")

    monkeypatch.setattr(part_reading, name, wrong)
    if damage:
        damaged(file, harmless)
    says = COMMITTED if damage else "the work's own"
    with gdb.connect(store, read_only=True) as db, pytest.raises(GdbError, match=says):
        db.execute(TRIANGLES)


# ---- one comparison ------------------------------------------------------------------------------


def compared(tmp_path: Path, *, equal: bool = True) -> Comparison:
    content = np.arange(100, dtype=np.uint8)
    digest = checksum.digest(content.data).hex() if equal else "0" * 32
    return Comparison(PosixFiles(tmp_path), FileRecord("seg-1", 100, digest), content)


@pytest.mark.parametrize("beside", [True, False])
def test_a_comparison(beside: bool, tmp_path: Path, verifying: list[str]) -> None:
    one, other = compared(tmp_path), compared(tmp_path, equal=False)
    if beside:
        compare_beside([one, other])
    for _ in range(2):
        one.settle()
        with pytest.raises(CorruptStore, match=COMMITTED):
            other.settle()
    assert len(verifying) == 2


def test_one_that_is_stopped_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, verify = compared(tmp_path), segment_checksum.verify

    def stopped(*_: object) -> None:
        raise Cancelled("stopped")

    monkeypatch.setattr(segment_checksum, "verify", stopped)
    with pytest.raises(Cancelled), Usage():
        one.settle()
    monkeypatch.setattr(segment_checksum, "verify", verify)
    one.settle()


def test_a_child_compares_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verifying: list[str]
) -> None:
    one = compared(tmp_path)
    one._taken.acquire()  # by a thread that is not there in the child
    monkeypatch.setattr(forks, "_generation", forks.generation() + 1)
    one.settle()
    assert verifying == [threading.current_thread().name]


def test_as_many_threads_as_cores_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most one for each file, and each goes on to the next."""
    begun, gate, verify = threading.Semaphore(0), threading.Event(), segment_checksum.verify

    def waits(*arguments: Any) -> None:
        begun.release()
        assert gate.wait(20)
        verify(*arguments)

    monkeypatch.setattr(segment_checksum, "verify", waits)
    monkeypatch.setattr(segment_checksum, "cores", lambda: 3)
    some = [compared(tmp_path) for _ in range(5)]
    compare_beside(some)
    for _ in range(3):
        assert begun.acquire(timeout=20)
    assert not begun.acquire(timeout=0.1)
    gate.set()
    for one in some:
        one.settle()


def test_no_room_for_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: threading.Thread) -> None:
        raise MemoryError

    monkeypatch.setattr(threads, "start", full)
    one = compared(tmp_path)
    compare_beside([one])
    one.settle()

"""A store that one thread closes while another begins to write: no file but its own is written to."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import gdb
from gdb.storage.disk.writer_lock import WRITER_LOCK, WriterLock


def open_files() -> list[str]:
    """The files of this process, as far as the system says."""
    found, folder = list[str](), Path("/proc/self/fd")
    for one in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError):  # that of the listing itself
            found.append(os.readlink(one))
    return found


def test_a_lock_is_not_closed_while_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of its file would be that of another one by then, which would be locked, and written to."""
    with gdb.connect(tmp_path / "s.gdb") as db:
        db.execute("CREATE (:A)")
    foreign = tmp_path / "foreign"
    foreign.write_bytes(bytes(64))
    db, names, opened = gdb.connect(tmp_path / "s.gdb"), WriterLock._names, list[int]()

    def close() -> None:
        db.close()
        opened.extend(os.open(foreign, os.O_RDWR) for _ in range(8))

    closing = threading.Thread(target=close)

    def slow(lock: WriterLock) -> int:
        monkeypatch.setattr(WriterLock, "_names", names)
        closing.start()
        closing.join(0.2)  # it waits for the lock to be taken
        return names(lock)

    monkeypatch.setattr(WriterLock, "_names", slow)
    try:
        with db.transaction():
            closing.join(10)
    except gdb.ClosedError:
        pass
    closing.join(10)
    assert not closing.is_alive()
    assert len(opened) == 8
    assert foreign.read_bytes() == bytes(64)
    for fd in opened:
        os.close(fd)
    with gdb.connect(tmp_path / "s.gdb") as db:
        assert db.execute("MATCH (a:A) RETURN count(*)").scalar() == 1


def test_a_store_that_is_closed_while_it_waits_for_the_lock_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, take = gdb.connect(tmp_path / "s.gdb"), WriterLock.take
    db.execute("CREATE (:A)")

    def late(lock: WriterLock, *, patient: bool) -> None:
        monkeypatch.setattr(WriterLock, "take", take)
        closing = threading.Thread(target=db.close)
        closing.start()
        closing.join(10)
        take(lock, patient=patient)

    monkeypatch.setattr(WriterLock, "take", late)
    with pytest.raises(gdb.ClosedError), db.transaction():
        pass
    assert not [name for name in open_files() if name == str(tmp_path / "s.gdb" / WRITER_LOCK)]
    with gdb.connect(tmp_path / "s.gdb") as other:
        other.execute("CREATE (:A)")

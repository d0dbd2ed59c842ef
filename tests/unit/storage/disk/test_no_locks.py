"""Stores on file systems that lock only what may be written, or nothing: NFS, some of FUSE."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from pathlib import Path

import pytest

import gdb
from gdb.errors import StoreError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with gdb.connect(path := tmp_path / "s") as db:
        _add(db, 1)
        db.compact()
    return path


def _add(db: gdb.Database, number: int) -> None:
    with db.transaction() as tx:
        tx.add_nodes("N", [number])


def _segments(folder: Path) -> int:
    return len(list(folder.glob("seg-*")))


def _nfs(monkeypatch: pytest.MonkeyPatch) -> None:
    """LOCK_EX only of descriptors that may write, as Linux emulates flock on NFS."""
    real = fcntl.flock

    def flock(fd: int, how: int) -> None:
        flags = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
        if how & fcntl.LOCK_EX and flags == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", flock)


def _none(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(fd: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


def test_old_files_are_swept_where_locks_need_a_file_that_may_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _nfs(monkeypatch)
    with gdb.connect(folder) as db:
        first = _segments(folder)
        for number in range(2, 6):
            _add(db, number)
            db.compact()
        assert _segments(folder) <= 2 * first
        with gdb.connect(folder, read_only=True) as reader, reader.snapshot() as held:
            _add(db, 7)
            db.compact()
            assert held.execute("MATCH (n) RETURN count(*)").scalar() == 5
    gdb.connect(folder).close()
    assert _segments(folder) == first
    assert not caplog.records


def test_files_that_may_only_be_read_there_stay_and_it_is_said_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _nfs(monkeypatch)
    real = os.open

    def read_only(path: os.PathLike[str] | str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_RDWR and "seg-" in os.fspath(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    with gdb.connect(folder) as db:
        for number in range(2, 5):
            _add(db, number)
            db.compact()
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 4
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert f"the store {folder}: old files stay" in said[0]
    assert "Copy the store to a local disk" in said[0]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_a_store_is_read_and_not_written(
    number: int, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _none(monkeypatch, number)
    caplog.set_level(logging.WARNING, "gdb")
    for read_only in (True, False):
        with gdb.connect(folder, read_only=read_only) as db:
            assert db.execute("MATCH (n) RETURN count(*)").scalar() == 1
            assert not db.check().faults
    with gdb.connect(folder) as db:
        with pytest.raises(StoreError, match=r"has no locks .*Copy the store to a local disk"):
            db.execute("CREATE (:N)")
        with pytest.raises(StoreError, match="has no locks"):
            db.compact()
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 1
    (said,) = [record.getMessage() for record in caplog.records]
    assert f"the store {folder}: its file system has no locks" in said
    with pytest.raises(StoreError, match="has no locks"):
        gdb.connect(folder.with_name("new"))

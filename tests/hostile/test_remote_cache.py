"""The cache of stores at URLs in a folder that several users name: no user reads what another one wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gdb.errors import StorePermissionError
from gdb.storage.disk.checksum import digest
from gdb.storage.disk.content_cache import ContentCache
from tests.hostile.users import NOBODY, as_root, everybodys_folder, give

CONTENT = b"\1" * 1000
NAME = digest(CONTENT).hex()


def copied() -> list[int]:
    """The copy, and how often it was fetched."""
    fetched: list[int] = []

    def fetch(take: object) -> None:
        fetched.append(1)
        assert callable(take)
        take(CONTENT)

    assert ContentCache().copy(NAME, len(CONTENT), fetch).content.tobytes() == CONTENT
    return fetched


@as_root
def test_each_user_has_a_folder_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with everybodys_folder() as folder:
        folder.chmod(0o1777)
        monkeypatch.setenv("GDB_CACHE", str(folder))
        assert copied() == [1]
        assert copied() == []
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                code = 0 if copied() == [1] and copied() == [] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert {path.name for path in folder.iterdir()} == {
            f"user-{os.geteuid()}",
            f"user-{NOBODY}",
        }


@as_root
def test_a_copy_of_another_user_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with everybodys_folder() as folder:
        monkeypatch.setenv("GDB_CACHE", str(folder))
        copied()
        copy = folder / f"user-{os.geteuid()}" / NAME
        give(copy, NOBODY)
        assert copied() == [1]
        assert copy.stat().st_uid == os.geteuid()


def test_a_copy_that_others_may_write_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GDB_CACHE", str(tmp_path))
    copied()
    (tmp_path / f"user-{os.geteuid()}" / NAME).chmod(0o666)
    assert copied() == [1]


@as_root
def test_a_folder_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with everybodys_folder() as folder:
        folder.chmod(0o1777)
        monkeypatch.setenv("GDB_CACHE", str(folder))
        (folder / f"user-{os.geteuid()}").mkdir()
        give(folder / f"user-{os.geteuid()}", NOBODY)
        with pytest.raises(StorePermissionError, match=r"belongs to the user.*GDB_CACHE"):
            ContentCache()


def test_a_folder_in_which_others_may_rename_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "open"))
    with pytest.raises(StorePermissionError, match=r"Others may write.*GDB_CACHE"):
        ContentCache()

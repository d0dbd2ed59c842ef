"""Identity of the file that a path names, queried without its times."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gdb.storage.disk import identity as identities
from gdb.storage.disk.identity import identity, identity_in
from tests.support.journaled_stores import base, change


@pytest.mark.parametrize("has_statx", [True, False])
def test_it_is_that_of_stat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_statx: bool
) -> None:
    if not has_statx:
        monkeypatch.setattr(identities, "_call", None)
    one, other = tmp_path / "é", tmp_path / "2"
    one.write_bytes(bytes(12_345))
    other.write_bytes(b"")
    assert identity(str(one)) == (identity_in(one.stat()), 12_345)
    assert identity(str(other)) == (identity_in(other.stat()), 0)
    assert identity(str(one))[0] != identity(str(other))[0]
    os.replace(other, one)
    assert identity(str(one)) == (identity_in(one.stat()), 0)
    assert identity("/dev/null")[0] == identity_in(os.stat("/dev/null"))
    with pytest.raises(FileNotFoundError) as raised:
        identity(str(other))
    assert raised.value.errno == errno.ENOENT
    with pytest.raises(NotADirectoryError):
        identity(str(one / "in a file"))


def test_small_commits_ask_for_no_times_of_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if identities._call is None:
        pytest.skip("the C library has no statx")
    store = base(tmp_path / "s")
    for number in range(4):
        change(store, number)
    stat, seen = os.stat, list[object]()

    def noted(path: str, **named: Any) -> os.stat_result:
        seen.append(path)
        return stat(path, **named)

    monkeypatch.setattr(os, "stat", noted)
    versions = [change(store, number).version for number in range(4, 10)]
    assert versions == [6, 7, 8, 9, 10, 11]
    assert not seen

"""The folder of copies by content: room, damage, processes that share it, folders that cannot be used."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gdb.errors import StoreError, StorePermissionError
from gdb.storage.disk import content_cache as caches
from gdb.storage.disk import opening
from gdb.storage.disk.checksum import Buffer, digest
from gdb.storage.disk.content_cache import ContentCache, WrongContent

Take = Callable[[Buffer], None]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GDB_CACHE_SIZE", raising=False)
    return tmp_path / "cache" / f"user-{os.geteuid()}"


class Origin:
    """Gives files of 1,000 bytes, and counts how often each is fetched."""

    def __init__(self) -> None:
        self.fetched: list[int] = []

    def fetch(self, number: int, content: bytes | None = None) -> Callable[[Take], None]:
        def fetch(take: Take) -> None:
            self.fetched.append(number)
            raw = content_of(number) if content is None else content
            for begin in range(0, len(raw), 300):
                take(raw[begin : begin + 300])

        return fetch


def content_of(number: int) -> bytes:
    return bytes([number]) * 1000


def name_of(number: int) -> str:
    return digest(content_of(number)).hex()


def copied(cache: ContentCache, number: int, origin: Origin) -> caches.Copy:
    found = cache.copy(name_of(number), 1000, origin.fetch(number))
    assert found.content.tobytes() == content_of(number)
    return found


def there(folder: Path) -> set[int]:
    return {path.read_bytes()[0] for path in folder.iterdir() if path.name != "lock"}


def used(folder: Path, number: int, seconds_ago: float) -> None:
    when = time.time() - seconds_ago
    os.utime(folder / name_of(number), (when, when))


# ---- room ---------------------------------------------------------------------------------------------------------


def test_what_was_used_longest_ago_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDB_CACHE_SIZE", "3500")
    cache, origin = ContentCache(), Origin()
    for number in (1, 2, 3):
        copied(cache, number, origin)
        used(folder, number, 100 - number)
    copied(cache, 1, origin)  # is the newest now
    copied(cache, 4, origin)
    assert there(folder) == {1, 3, 4}
    assert origin.fetched == [1, 2, 3, 4]


def test_what_is_pinned_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDB_CACHE_SIZE", "2KB")
    cache, origin = ContentCache(), Origin()
    held = copied(cache, 1, origin)
    used(folder, 1, 1000)
    copied(cache, 2, origin)
    copied(cache, 3, origin)
    assert there(folder) == {1, 3}
    also = copied(cache, 3, origin)
    with pytest.raises(StoreError, match=r"no room for a file of 1,000 bytes.*GDB_CACHE_SIZE"):
        copied(cache, 4, origin)
    assert there(folder) == {1, 3}
    del held, also
    copied(cache, 4, origin)
    assert 4 in there(folder)


def test_a_file_that_is_larger_than_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDB_CACHE_SIZE", "999")
    with pytest.raises(StoreError, match="no room"):
        copied(ContentCache(), 1, Origin())


@pytest.mark.parametrize("size", ["much", "0", "-1", "1 apple"])
def test_a_size_that_is_none(monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("GDB_CACHE_SIZE", size)
    with pytest.raises(StoreError, match="GDB_CACHE_SIZE="):
        ContentCache()


def test_files_of_others_are_no_copies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What else lies there is neither counted nor removed."""
    monkeypatch.setenv("GDB_CACHE_SIZE", "1500")
    cache = ContentCache()
    (folder / "notes.txt").write_bytes(bytes(5000))
    copied(cache, 1, Origin())
    copied(cache, 2, Origin())
    assert (folder / "notes.txt").stat().st_size == 5000


# ---- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 1000])
def test_a_damaged_copy_is_fetched_again(folder: Path, damage: bytes) -> None:
    """As a power cut may leave it."""
    cache, origin = ContentCache(), Origin()
    copied(cache, 1, origin)
    (folder / name_of(1)).unlink()
    (folder / name_of(1)).write_bytes(damage)
    copied(cache, 1, origin)
    assert origin.fetched == [1, 1]


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    cache = ContentCache()
    (tmp_path / "target").write_bytes(content_of(1))
    (folder / name_of(1)).symlink_to(tmp_path / "target")
    with pytest.raises(StoreError, match="symbolic link"):
        copied(cache, 1, Origin())


@pytest.mark.parametrize(
    "content", [b"", content_of(1)[:-1], content_of(1) + b"x", b"\2" + content_of(1)[1:]]
)
def test_what_is_not_the_content_is_not_kept(folder: Path, content: bytes) -> None:
    cache, origin = ContentCache(), Origin()
    with pytest.raises(WrongContent):
        cache.copy(name_of(1), 1000, origin.fetch(1, content))
    assert [path.name for path in folder.iterdir()] == ["lock"]
    copied(cache, 1, origin)


def test_an_origin_without_end_does_not_fill_the_disk(folder: Path) -> None:
    taken: list[int] = []

    def fetch(take: Take) -> None:
        while len(taken) < 100:
            taken.append(1)
            take(bytes(300))

    with pytest.raises(WrongContent):
        ContentCache().copy(name_of(1), 1000, fetch)
    assert len(taken) == 4


def test_a_fetch_that_fails_leaves_nothing(folder: Path) -> None:
    def fetch(take: Take) -> None:
        take(content_of(1)[:500])
        raise ConnectionError("reset")

    cache = ContentCache()
    with pytest.raises(ConnectionError):
        cache.copy(name_of(1), 1000, fetch)
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_the_folder_may_be_removed_meanwhile(folder: Path) -> None:
    cache, origin = ContentCache(), Origin()
    found = copied(cache, 1, origin)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert found.content.tobytes() == content_of(1)
    copied(cache, 1, origin)
    assert there(folder) == {1}


# ---- processes ----------------------------------------------------------------------------------------------------


def test_one_fetches_and_the_others_wait(folder: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()
    origin = Origin()

    def slow(take: Take) -> None:
        begun.set()
        go_on.wait(60.0)
        origin.fetch(1)(take)

    with ThreadPoolExecutor(4) as pool:  # threads lock as processes do: each opens the file
        first = pool.submit(ContentCache().copy, name_of(1), 1000, slow)
        begun.wait(60.0)
        others = [
            pool.submit(ContentCache().copy, name_of(1), 1000, origin.fetch(1)) for _ in range(3)
        ]
        go_on.set()
        for future in (first, *others):
            assert future.result(60.0).content.tobytes() == content_of(1)
    assert origin.fetched == [1]
    assert there(folder) == {1}


def test_a_file_that_came_before_the_lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, origin, found = ContentCache(), Origin(), ContentCache._found
    copied(cache, 1, origin)
    looks: list[int] = []

    def looked(cache: ContentCache, checksum: str, length: int, known: bool) -> object:
        looks.append(1)
        return found(cache, checksum, length, known) if len(looks) > 1 else None

    monkeypatch.setattr(ContentCache, "_found", looked)
    copied(cache, 1, origin)
    assert origin.fetched == [1]


KILLED = """
import os, signal, sys
sys.path.insert(0, os.getcwd())
from gdb.storage.disk.content_cache import ContentCache
from tests.unit.storage.disk.test_content_cache import content_of, name_of

def fetch(take):
    take(content_of(1)[:500])
    os.kill(os.getpid(), signal.SIGKILL)

ContentCache().copy(name_of(1), 1000, fetch)
"""


def test_a_process_that_is_killed_while_it_fetches(folder: Path, repository: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=repository, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in folder.glob("*.part")] == [f"{name_of(1)}.part"]
    copied(ContentCache(), 1, Origin())
    assert there(folder) == {1}


def test_the_part_of_a_killed_process_makes_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GDB_CACHE_SIZE", "1500")
    cache = ContentCache()
    (folder / f"{name_of(7)}.part").write_bytes(bytes(1000))
    copied(cache, 1, Origin())
    assert there(folder) == {1}


# ---- folders that cannot be used ----------------------------------------------------------------------------------


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, write = ContentCache(), os.write

    def full(fd: int, data: Buffer) -> int:
        if len(data) == 100:  # the last piece
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match=r"(?s)disk of the cache .* is full.*GDB_CACHE"):
        copied(cache, 1, Origin())
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_a_disk_without_room_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class Disk:
        f_bavail, f_frsize = 9, 100

    origin = Origin()
    monkeypatch.setattr(os, "statvfs", lambda _: Disk())
    monkeypatch.setenv("GDB_CACHE_SIZE", "1GB")
    with pytest.raises(StoreError, match="no room"):
        copied(ContentCache(), 1, origin)
    assert not origin.fetched


def test_a_folder_that_is_only_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is used; what is not cannot be fetched."""
    cache, origin, real = ContentCache(), Origin(), opening.opened
    copied(cache, 1, origin)

    def opened(path: Path, flags: int, mode: int = 0o644) -> int:
        if flags & (os.O_CREAT | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, mode)

    def utime(_: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(caches, "opened", opened)
    monkeypatch.setattr(os, "utime", utime)
    copied(cache, 1, origin)
    with pytest.raises(StorePermissionError, match=r"cannot be written: Read-only.*GDB_CACHE"):
        copied(cache, 2, origin)
    assert origin.fetched == [1]


def test_a_folder_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"x")
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match=r"Not a directory.*GDB_CACHE"):
        ContentCache()


def test_without_a_name_it_is_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GDB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    copied(ContentCache(), 1, Origin())
    assert there(tmp_path / "xdg" / "gdb" / "files") == {1}

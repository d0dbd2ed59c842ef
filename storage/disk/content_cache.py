"""A folder of verified copies of files, each named by its checksum: what a store at a URL is read from.

A name is the content: two stores may name files alike, a store may be moved or copied, and what is in the folder is
still right, or it is damaged, which the checksum shows. Any number of processes of one user share it:

- A file is fetched under the name `CHECKSUM.part`, which its process keeps locked meanwhile (`flock`); others that need
  the same file wait for it. Length and checksum are compared before it gets its name by a rename. A process that is
  killed leaves a part that is not locked, and the next one begins it anew.
- A file that is mapped is pinned by a shared lock (`gdb.storage.disk.pins`), as long as a snapshot may read it.
- Before a file is fetched, those that were used longest ago and are not pinned are removed, until it has room. One
  process at a time does so, under the lock of the file `lock`, and gives the part its full length before others count.
- Nothing is synced: a copy that a power cut has damaged is found by its checksum, removed, and fetched again.

Each user has a folder of their own, which no other user can write to (`gdb.base.private_folder`): a file that another
one could change after it was verified would be followed by machine code.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from gdb.base import private_folder, usage, waiting
from gdb.base.budget import size_in
from gdb.errors import Cancelled, GdbError, StoreError, StorePermissionError
from gdb.records import dataclass

from ..columns.model import U8
from . import pins
from .checksum import PINNED, Buffer, has_checksum, hasher_like
from .lost_pages import mapped
from .opening import opened

FOLDER, SIZE = "GDB_CACHE", "GDB_CACHE_SIZE"
"""Variables of the environment: the folder in which each user has one, and the bytes that this one may have."""

_LOCK, _PART = "lock", ".part"
_NAME = re.compile(rf"{PINNED}(?:\.part)?")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)

Fetch: TypeAlias = "Callable[[Callable[[Buffer], None]], None]"
"""Reads a file from where it is, and hands its bytes over, front to back."""


class WrongContent(Exception):
    """What was fetched is not the file. length : of it in bytes, or of as much as was read."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length


@dataclass(frozen=True, slots=True)
class Copy:
    """A file of the cache: its bytes, mapped read-only, and what keeps it there."""

    content: U8
    pin: pins.Pin


class ContentCache:
    """The folder of this user, made where it is missing.

    Raises
    ------
    StorePermissionError, StoreError : there is none that is this user's alone, or none can be made.
    """

    def __init__(self) -> None:
        self._names, self._most = _path(), _most()
        self._folder = Path(*self._names)
        self._make()

    def copy(self, checksum: str, length: int, fetch: Fetch) -> Copy:
        """The file of a checksum, in hex, and a length in bytes, fetched where it is not there.

        Raises
        ------
        WrongContent : what was fetched has another length or checksum.
        StoreError : the folder has no room for it, or cannot be written.
        Cancelled, QueryTimeout : the query of this thread was stopped. What `fetch` raises.

        Cost: of a file that is there, its checksum.
        """
        known = False  # whether this call has compared its checksum already
        while True:
            self._make()  # a user may remove it at any time
            found = self._found(checksum, length, known)
            if found is not None:
                return found
            stop = threading.Event()
            work = partial(self._fetched, checksum, length, fetch, stop)
            try:
                known = waiting.beside(work, "gdb-fetch", usage.pulse)
            except BaseException:
                stop.set()
                raise

    def _make(self) -> None:
        try:
            with private_folder.open_private(*self._names):
                pass
        except private_folder.NotPrivate as error:
            raise StorePermissionError(
                f"{self._folder} cannot be the cache of stores at URLs. {error}",
                f"Or name a folder of your own in the environment variable {FOLDER}.",
            ) from None
        except OSError as error:
            raise _failed(self._folder, error) from error

    # ---- what is there -----------------------------------------------------------------------------

    def _found(self, checksum: str, length: int, known: bool) -> Copy | None:
        """The copy that is there; None where there is none, or a damaged one, which is removed."""
        with self._reported():
            try:
                pin = pins.PosixPin(self._folder, checksum)
            except FileNotFoundError:
                return None
            state = os.fstat(pin.file)
            if private_folder.is_plain_and_own(state) and state.st_size == length:
                content = mapped(mmap.mmap(pin.file, length, prot=mmap.PROT_READ))
                if known or has_checksum(content.data, checksum):
                    with suppress(OSError):  # a folder that is only read has no oldest file
                        os.utime(pin.file)
                    return Copy(content, pin)
            with suppress(FileNotFoundError):
                if os.path.samestat(state, os.lstat(self._folder / checksum)):
                    os.unlink(self._folder / checksum)
        return None

    # ---- what is not -------------------------------------------------------------------------------

    def _fetched(self, checksum: str, length: int, fetch: Fetch, stop: threading.Event) -> bool:
        """Fetch a file, in a thread of its own; False where another process has done so meanwhile."""
        part = self._folder / f"{checksum}{_PART}"

        def check() -> None:
            if stop.is_set():
                raise Cancelled("The query was cancelled.")

        def look() -> None:
            check()
            if not _has_name(fd, part):
                raise BlockingIOError  # it was fetched, and is pinned under its name

        with self._reported():
            fd = opened(part, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                waiting.flock(fd, fcntl.LOCK_EX, look)
            except BlockingIOError:
                return False
            if not _has_name(fd, part):
                return False  # it was fetched, or given up, while this waited
            try:
                if (self._folder / checksum).exists():
                    return False
                self._take_room(fd, length)
                self._fill(fd, checksum, length, fetch, check)
                with self._reported():
                    os.rename(part, self._folder / checksum)
            finally:
                with suppress(OSError):  # where it was renamed there is none
                    os.unlink(part)
        finally:
            pins.unlock(fd)
        return True

    def _fill(
        self, part: int, checksum: str, length: int, fetch: Fetch, check: Callable[[], object]
    ) -> None:
        """Write what is fetched, and compare it."""
        hasher, done = hasher_like(checksum), 0

        def take(data: Buffer) -> None:
            nonlocal done
            check()
            rest = memoryview(data)
            done += len(rest)
            if done > length:
                raise WrongContent(done)
            hasher.update(rest)
            with self._reported():
                while rest:
                    rest = rest[os.write(part, rest) :]

        fetch(take)
        if done != length or hasher.hexdigest() != checksum:
            raise WrongContent(done)

    def _take_room(self, part: int, length: int) -> None:
        """Give a part its full length, once there is room for it."""
        with self._reported():
            lock = opened(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                waiting.flock(lock, fcntl.LOCK_EX)
                os.ftruncate(part, 0)
                files = sorted(self._files())
                used, disk = sum(size for _, size, _ in files), os.statvfs(self._folder)
                free = disk.f_bavail * disk.f_frsize
                most = (used + free) // 2 if self._most is None else self._most
                room = min(most - used, free)
                for _, size, name in files:
                    if room >= length:
                        break
                    room += self._removed(name) and size
                if room < length:
                    raise self._full(most, length)
                os.ftruncate(part, length)
            finally:
                pins.unlock(lock)

    def _files(self) -> Iterator[tuple[int, int, str]]:
        """Of each file when it was last used, its bytes, its name."""
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if _NAME.fullmatch(entry.name):
                        state = entry.stat(follow_symlinks=False)
                        yield state.st_mtime_ns, state.st_size, entry.name

    def _removed(self, name: str) -> bool:
        """Remove a file that no process has pinned, nor fetches; whether it is gone."""
        with pins.unpinned(self._folder, [name]) as free:
            if free:
                with suppress(FileNotFoundError):
                    os.unlink(self._folder / name)
        return free

    def _full(self, most: int, length: int) -> StoreError:
        return StoreError(
            f"The cache {self._folder} has no room for a file of {length:,} bytes: it may have {most:,}, and what else "
            "is there is in use.",
            f"Raise {SIZE}, or name a folder on a larger disk in {FOLDER}: all that open snapshots have read stays.",
        )

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Turns errors of the operating system into ours; FileNotFoundError too, since the folder was there."""
        try:
            yield
        except GdbError:  # of ours, as QueryTimeout, where a copy is read to compare its checksum
            raise
        except OSError as error:
            raise _failed(self._folder, error) from error


def _path() -> tuple[str, ...]:
    """The folder: one in whose path links may be, and the names below it."""
    stated = os.environ.get(FOLDER, "")
    if stated:  # which several users may name
        return os.path.abspath(stated), f"user-{os.geteuid()}"
    return private_folder.user_cache(), "gdb", "files"


def _most() -> int | None:
    """The bytes that the folder may have; None where nothing is said."""
    stated = os.environ.get(SIZE, "")
    found = size_in(stated) if stated else None
    if stated and (found is None or found < 1):
        raise StoreError(
            f"{SIZE}={stated!r} is no size of a cache.", 'Use bytes, or a text as in "20GB".'
        )
    return None if found is None else int(found)


def _has_name(fd: int, path: Path) -> bool:
    """Whether an open file is the one that a path names."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    return False


def _failed(folder: Path, error: OSError) -> StoreError:
    """The error for a folder that cannot be written, by what the operating system says."""
    cure = f"Name a folder of your own in the environment variable {FOLDER}."
    if error.errno in _NO_ROOM:
        return StoreError(
            f"The disk of the cache {folder} is full.",
            f"Free some of it, or name a folder on another disk in {FOLDER}.",
        )
    if error.errno in _REFUSED:
        return StorePermissionError(
            f"The cache {folder} cannot be written: {error.strerror}.", cure
        )
    return StoreError(f"The cache {folder} cannot be used: {error.strerror}.", cure)

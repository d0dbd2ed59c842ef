"""The only door to disk: everything that a store does to files goes through a `Files`.

Tests put a recording or failing `Files` under the store; `gdb.connect()` without a path puts
`gdb.storage.disk.memory_files.MemoryFiles` under it. The rules of the door (design.md §2, *Known traps*): a file is
created once, written front to back and synced, never truncated and never mapped writable, and only the manifest is
written to once it is in use, behind all that it holds; the length of a file is checked before it is mapped, because
reading a map of a truncated file kills the process; after a failed fsync nothing more is written through this door,
because the kernel may have dropped the pages that it failed to write and a second fsync would lie.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

from gdb.base import forks, waiting
from gdb.base.closing import destructor
from gdb.errors import ClosedError, CorruptStore, NotAStore, StoreError

from ..columns.model import U8
from . import pins
from .checksum import Buffer, bytes_of
from .growing_file import HEAD_BYTES, Bound, Growing, nothing_new, read_on
from .identity import Identity, identity, identity_in, links
from .lost_pages import mapped
from .mapped_file import MappedFile
from .opening import Descriptor, opened
from .os_errors import gone, translated
from .pins import Pin
from .scratch import PosixScratch, Scratch
from .writer_lock import WriterLock

MANIFEST = "MANIFEST"
TO_CHANGE = "To change it, copy it with db.backup(folder), change that, and upload it."  # at a URL


class NewFile(Protocol):
    """A file being written, front to back."""

    def write(self, data: Buffer) -> None:
        """Append bytes; all of them are written, or an error is raised."""

    def fsync(self) -> None:
        """Return when every byte written so far will survive a power cut."""

    def close(self) -> None:
        """Release the file. Does not sync: what `fsync` has not covered may be lost."""


class OpenEnd(Protocol):
    """A file that is in use, to write behind what it holds."""

    def write(self, at: int, data: bytes) -> None:
        """Put bytes in the place of zeros, or behind the end."""

    def fdatasync(self) -> None:
        """Return when every byte written so far, and the file's length, will survive a power cut."""

    def shared(self) -> bool:
        """Whether the file has other names: a copy by hard links (`cp -al`) would change with it."""

    def close(self) -> None:
        """Release the file. Does not sync."""


class Files(Protocol):
    """One flat folder of files, named without separators."""

    @property
    def where(self) -> str:
        """The folder, for messages."""

    @property
    def remote(self) -> bool:
        """Whether the files lie elsewhere, where nothing can be written, and `map` gives verified copies."""
        ...

    def names(self) -> list[str]:
        """The names of all files in the folder, ascending."""

    def create(self, name: str) -> NewFile:
        """A new file; there must be none of that name."""

    def extend(self, name: str) -> OpenEnd:
        """A file that is there, to write behind what it holds."""

    def scratch(self) -> Scratch:
        """A file for work in hand, on the same disk."""

    def read(self, name: str, bound: Bound) -> bytes:
        """The whole of a small file; FileNotFoundError, or CorruptStore where it is longer than its bound."""

    def read_again(self, name: str, bound: Bound, *, end: int | None = None) -> Growing:
        """As `read`, for a file that is read again and again: costs little while it is the same.

        end : where more may be written into it, in the place of zeros or behind them; what is before is not read again.
            None for a file that is not extended.
        """

    def unchanged(self, growing: Growing, end: int | None) -> bool:
        """Whether `read_again` would find nothing new, which last gave this; False where it has to look closer. It
        changes nothing, and may be stopped by Ctrl-C anywhere."""

    def forget(self, name: str) -> None:
        """Let the next `read_again` read it all."""

    def map(self, name: str, length: int, digest: str) -> U8:
        """The file as a read-only u8[length], not copied; CorruptStore if it is not there.

        digest : its checksum in hex. Where `remote`, the bytes are those of this checksum; else they may be others.
        """
        ...

    def rename(self, old: str, new: str) -> None:
        """Replace `new` by `old` atomically."""

    def unlink(self, name: str) -> None:
        """Remove a file. Maps of it stay readable."""

    def fsync_dir(self) -> None:
        """Return when names created, renamed and removed so far will survive a power cut."""

    def fsync_name(self) -> None:
        """Return when the way to the folder, its own name and its parents', will survive a power cut."""

    def lock_writer(self, *, patient: bool = True) -> None:
        """Become the only writer; StoreLocked where another process is. patient : wait for one that only sweeps."""

    def unlock_writer(self) -> None:
        """Release the writer's lock; does nothing where it is not held."""

    def pin(self, name: str) -> Pin:
        """Keep a file and those of its version from being swept (see `pins`); FileNotFoundError where it was."""

    def unpinned(self, names: Sequence[str]) -> AbstractContextManager[bool]:
        """True while no process pins one of these, nor can; never waits."""

    def sweeping(self) -> AbstractContextManager[bool]:
        """True while no other process sweeps, nor can; never waits."""

    def close(self) -> None:
        """Give back the writer's lock; maps stay readable, and what is pinned stays so."""


def missing(where: str, name: str) -> CorruptStore:
    """The error for a file that the manifest names and the folder lacks."""
    return _damaged(where, name, "is missing")


def wrong_length(where: str, name: str, found: int, wanted: int, at: str = "") -> CorruptStore:
    """The error for a file that was cut short or grew. at : the section in which it ends, where that is known."""
    ends = f", and ends in {at}" if at else ""
    return _damaged(where, name, f"has {found} bytes instead of {wanted}{ends}")


def too_long(where: str, name: str, found: int, most: int) -> CorruptStore:
    """The error for a file of more bytes than it says that it has."""
    return _damaged(where, name, f"has {found:,} bytes, and can have {most:,} by its head")


def _damaged(where: str, name: str, how: str) -> CorruptStore:
    return CorruptStore(
        f"The store {where} is damaged: its file {name} {how}.",
        "Restore the folder from a copy, or import the data again.",
    )


class PosixFiles:
    """A folder of a POSIX file system.

    Parameters
    ----------
    path : the folder.
    create : make it (and its parents) where it is missing. new : there must be none.

    Raises
    ------
    NotAStore : there is no such folder, or it is a file.
    StorePermissionError : the operating system refuses.
    """

    remote = False

    def __init__(self, path: Path, *, create: bool = False, new: bool = False) -> None:
        self._writer_lock = WriterLock(path)
        self._again: tuple[str, bytes, int, Identity, Growing] | None = None
        self._path = path
        self._prefix = f"{self._path}{os.sep}"
        self._poisoned = False
        self.made: list[Path] = []  # folders that were made for it, the innermost first
        with translated(str(path)):
            if create and (new or not path.exists()):
                self.made = [p for p in (path, *path.parents) if not p.exists()]
                try:
                    path.mkdir(parents=True, exist_ok=not new)
                except FileNotFoundError as error:  # as below /proc
                    raise StoreError(
                        f"The folder {path} cannot be made: {error.strerror}.",
                        "Name a folder where folders can be made.",
                    ) from None
                for folder in self.made:
                    with suppress(PermissionError):  # a folder that may be entered, not listed
                        fsync_path(folder.parent)  # protects the new folder's own name
            if not path.is_dir():
                what = "is a file, not a folder" if path.exists() else "does not exist"
                made = ", or a new name to create one" * create
                raise NotAStore(f"The store {path} {what}.", f"Give the folder of a store{made}.")
        forks.watch(self)

    @property
    def where(self) -> str:
        """The path of the folder."""
        return str(self._path)

    def names(self) -> list[str]:
        """The names of everything in the folder, folders included, ascending."""
        with translated(self.where, self._path):
            return sorted(os.listdir(self._path))

    def create(self, name: str) -> NewFile:
        """A new file, made with O_EXCL: an existing one is never truncated. StoreError where the name is taken."""
        self.check_writable()
        with translated(str(self._path / name), self._path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            return _PosixNewFile(self, name, opened(self._path / name, flags))

    def extend(self, name: str) -> OpenEnd:
        """An existing file, opened for writing only."""
        self.check_writable()
        with translated(self._prefix + name, self._path):
            return _PosixEnd(self, name, opened(self._prefix + name, os.O_WRONLY))

    def scratch(self) -> Scratch:
        """A file without a name in this folder."""
        self.check_writable()
        return PosixScratch(self._path)

    def read(self, name: str, bound: Bound) -> bytes:
        """The whole of a small file, through a descriptor that is closed again."""
        with translated(path := self._prefix + name, self._path):
            fd = opened(path, os.O_RDONLY)
            try:
                return bytes(self._begun(fd, name, bound).content)
            finally:
                os.close(fd)

    def read_again(self, name: str, bound: Bound, *, end: int | None = None) -> Growing:
        """As `Files.read_again`: the descriptor stays open between calls; inode and length show a change."""
        if self._again is not None:
            known, encoded, fd, own, growing = self._again
            try:
                now, length = identity(encoded)
                if known == name and now == own and length >= len(growing.content):
                    if length > growing.most:
                        raise too_long(self.where, name, length, growing.most)
                    if end is not None:  # zeros that were overwritten change no length
                        growing.turn += read_on(fd, growing.content, end, length, growing.most)
                    return growing
            except OSError:
                pass  # opening it will say it
            self._let_go()
        path = self._prefix + name
        with translated(path, self._path):
            # held open, so that no other file gets the number by which it is known again
            fd = opened(path, os.O_RDONLY)
            try:
                growing = self._begun(fd, name, bound)
                own = identity_in(os.fstat(fd))
                self._again = (name, os.fsencode(path), fd, own, growing)
            except BaseException:
                os.close(fd)
                raise
        return growing

    def _begun(self, fd: int, name: str, bound: Bound) -> Growing:
        """What an open file holds, up to its bound."""
        growing, length = Growing(bytearray()), os.fstat(fd).st_size
        growing.most = bound(os.pread(fd, HEAD_BYTES, 0))
        if length > growing.most:
            raise too_long(self.where, name, length, growing.most)
        read_on(fd, growing.content, 0, sys.maxsize, growing.most)
        return growing

    def unchanged(self, growing: Growing, end: int | None) -> bool:
        """As `Files.unchanged`."""
        if self._again is None or self._again[4] is not growing:
            return False
        _, encoded, fd, own, _ = self._again
        try:
            now, length = identity(encoded)
            return (
                now == own
                and length == len(growing.content)
                and (end is None or nothing_new(fd, growing, end))
            )
        except OSError:
            return False

    def forget(self, name: str) -> None:
        """Close the descriptor that `read_again` keeps of this file."""
        if self._again is not None and self._again[0] == name:
            self._let_go()

    def _let_go(self) -> None:
        """Close the file that `read_again` holds."""
        if self._again is not None:
            again, self._again = self._again, None
            os.close(again[2])

    def map(self, name: str, length: int, digest: str) -> U8:
        """A read-only map of the file, u8[length]. The length is checked before mapping."""
        with translated(str(self._path / name), self._path):
            try:
                fd = opened(self._path / name, os.O_RDONLY)
            except FileNotFoundError:
                raise gone(self._path) or missing(self.where, name) from None
            try:
                found = os.fstat(fd).st_size  # before mapping: a short map is a SIGBUS later
                if found != length or not length:
                    raise wrong_length(self.where, name, found, length)
                return mapped(MappedFile(fd, length, str(self._path / name)))
            finally:
                os.close(fd)

    def rename(self, old: str, new: str) -> None:
        """Replace `new` by `old` with rename(2); it survives a power cut once `fsync_dir` has returned."""
        self.check_writable()
        with translated(str(self._path / old), self._path):
            os.rename(self._path / old, self._path / new)

    def unlink(self, name: str) -> None:
        """Remove a file; FileNotFoundError where there is none."""
        with translated(str(self._path / name), self._path):
            os.unlink(self._path / name)

    def fsync_dir(self) -> None:
        """Sync the folder. A failure poisons the handle: nothing is written through it any more."""
        self.check_writable()
        try:
            fsync_path(self._path)
        except OSError as error:
            self.poison(self.where, error)

    def fsync_name(self) -> None:
        """Sync the folders above, up to the mount point. A failure poisons the handle."""
        self.check_writable()
        try:
            device = os.stat(self._path).st_dev
            for parent in Path(os.path.realpath(self._path)).parents:  # of a link, where it leads
                with suppress(PermissionError):  # a folder that may be entered, not listed
                    if os.stat(parent).st_dev != device:
                        return  # a disk is mounted below it, on a name that was there before
                    fsync_path(parent)
        except OSError as error:
            self.poison(self.where, error)

    def lock_writer(self, *, patient: bool = True) -> None:
        """Take the writer's lock. With `patient`, wait for a process that only sweeps, at most twice."""
        self._writer_lock.take(patient=patient)

    def unlock_writer(self) -> None:
        """Release the writer's lock, if it is held."""
        self._writer_lock.free()

    def forked(self) -> None:
        """The lock is the parent's alone. The file that `read_again` holds has no lock and no place in it; each process
        closes its own descriptor of it."""
        self._writer_lock.forked()

    def pin(self, name: str) -> Pin:
        """A shared lock on the file, see `pins`."""
        return pins.PosixPin(self._path, name)

    def unpinned(self, names: Sequence[str]) -> AbstractContextManager[bool]:
        """As `Files.unpinned`, by trying for exclusive locks on the files."""
        return pins.unpinned(self._path, names)

    def sweeping(self) -> AbstractContextManager[bool]:
        """As `Files.sweeping`, by a lock on a file of its own."""
        return pins.sweeping(self._path)

    def close(self) -> None:
        """Release the writer's lock, and the files that it and `read_again` keep open."""
        self._writer_lock.close()
        self._let_go()

    __del__ = destructor(close)  # a store that was dropped must not hold up other writers

    def sync(self, name: str) -> None:
        """Return when a file that another program wrote here will survive a power cut."""
        self.check_writable()
        with translated(str(self._path / name), self._path):
            fd = opened(self._path / name, os.O_RDONLY)
            try:
                waiting.blocking(partial(os.fsync, fd))
            except OSError as error:
                self.poison(name, error)
            finally:
                os.close(fd)

    def poison(self, what: str, error: OSError) -> NoReturn:
        """Close the door for writing, for good; but where the whole folder is gone, say that."""
        if lost := gone(self._path):
            raise lost from error
        self._poisoned = True
        raise StoreError(
            f"The disk failed to store {what}: {error.strerror}.",
            "Check the disk, then open the store again: it holds the last commit, or this one.",
        ) from error

    def check_writable(self) -> None:
        """Raise ClosedError once the disk has failed to store something."""
        if self._poisoned:
            raise ClosedError(
                f"The store {self.where} takes no more writes since the disk failed an fsync.",
                "Check the disk, then open the store again.",
            )


class _PosixOpen(Descriptor):
    """A file that is open for writing."""

    def __init__(self, files: PosixFiles, name: str, fd: int) -> None:
        super().__init__(fd)
        self._files, self._name = files, name


class _PosixNewFile(_PosixOpen):
    def write(self, data: Buffer) -> None:
        self._files.check_writable()
        rest = bytes_of(data)
        with translated(f"{self._files.where}/{self._name}"):
            while rest:
                rest = rest[os.write(self._fd, rest) :]  # one call takes at most 2 GiB

    def fsync(self) -> None:
        try:
            waiting.blocking(partial(os.fsync, self._fd))
        except OSError as error:
            self._files.poison(self._name, error)


class _PosixEnd(_PosixOpen):
    def __init__(self, files: PosixFiles, name: str, fd: int) -> None:
        super().__init__(files, name, fd)
        self._translated = translated(f"{files.where}/{name}")

    def write(self, at: int, data: bytes) -> None:
        self._files.check_writable()
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self._fd, data[done:] if done else data, at + done)
        except OSError as error:
            self._translated.raised(error)
            raise

    def fdatasync(self) -> None:
        try:
            waiting.blocking(partial(os.fdatasync, self._fd), quick=True)
        except OSError as error:
            self._files.poison(self._name, error)

    def shared(self) -> bool:
        try:
            return links(self._fd) > 1
        except OSError as error:
            self._translated.raised(error)
            raise


def fsync_path(path: Path) -> None:
    """Sync a folder: the names in it survive a power cut. OSError where the disk fails."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        waiting.blocking(partial(os.fsync, fd))
    finally:
        os.close(fd)

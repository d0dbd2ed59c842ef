"""A recording operating system: what `gdb.storage.disk.files` does to a folder, as operations of `tests.crash.disk`.

It lies below `PosixFiles`, not beside it, so that what is recorded is what a user's store does, with the folders that
are made and renamed. The real calls are made, but for fsync, which takes long and changes nothing that a
running program sees. What another program wrote (DuckDB, for an export) is recorded when it is opened to be synced.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import TypeVar
from unittest.mock import patch

from gdb.base import digests, waiting
from tests.crash.disk import (
    ROOT,
    Acknowledged,
    Created,
    Image,
    Operation,
    Removed,
    Renamed,
    Synced,
    Written,
)

T = TypeVar("T")
StrPath = str | os.PathLike[str]
# functions of the door; the caller of a sync is above them on the stack
_DOOR = {"fsync", "fdatasync", "fsync_dir", "fsync_name", "fsync_path", "sync", "_in_place"}
_open, _close, _write, _mkdir = os.open, os.close, os.write, os.mkdir
_pwrite = os.pwrite
_rename, _unlink, _rmdir = os.rename, os.unlink, os.rmdir


class Killed(BaseException):
    """The recorded process is dead; not an Exception, because nothing may survive it."""


def keep_all(site: str) -> bool:
    """No fsync is left out."""
    return False


class Recorder:
    """See the module; it records while `installed`.

    Parameters
    ----------
    root : the folder; what it holds at first is certain.
    lost : whether the fsync called at that site is left out, to prove that it is missed.
    """

    def __init__(self, root: Path, lost: Callable[[str], bool] = keep_all) -> None:
        self._root, self._lost = os.path.abspath(root), lost
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._lengths: dict[int, int] = {}
        self._descriptors: dict[int, int] = {}
        self._locks = set[int]()  # what is written into them is for a message only
        self._left = -1  # operations until the process is killed
        self._dead = False
        self.operations: list[Operation] = []
        for folder, folders, files in os.walk(self._root):
            for name in sorted([*folders, *files]):
                self._adopt(os.path.join(folder, name))
        everything = [*self._names, *self._lengths]
        self.operations += [Synced(inode, "before") for inode in everything]
        self.began = len(self.operations)

    def acknowledge(self, store: str, version: int) -> None:
        """Record that a version was acknowledged."""
        self.operations.append(Acknowledged(store, version))

    def kill_after(self, operations: int) -> None:
        """Let that many more operations happen; the next raises Killed, as does whatever comes then."""
        self._left = operations

    def revive(self) -> None:
        """Another process goes on where the killed one ended."""
        self._left, self._dead = -1, False
        self._descriptors.clear()

    @contextmanager
    def installed(self, seed: int) -> Iterator[None]:
        """Record what this process does meanwhile. The random names are those of the seed."""
        rng = Random(seed)

        def token(count: int) -> str:
            return rng.randbytes(count).hex()

        calls = {
            "open": self.open,
            "close": self.close,
            "write": self.write,
            "pwrite": self.pwrite,
            "fsync": self.fsync,
            "fdatasync": self.fsync,  # it leaves out only what no reader needs
            "mkdir": self.mkdir,
            "rename": self.rename,
            "unlink": self.unlink,
            "rmdir": self.rmdir,
        }
        with ExitStack() as stack:
            for name, call in calls.items():
                stack.enter_context(patch.object(os, name, call))
            stack.enter_context(patch.object(digests, "token_hex", token))
            stack.enter_context(patch.object(waiting, "blocking", _in_place))
            yield

    # ---- the calls of the operating system ------------------------------------------------------

    def open(
        self, path: StrPath, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        self._check_alive()
        inside = dir_fd is None and self._inside(path)
        inode = self._inode(path) if inside else None
        creates = inside and inode is None and bool(flags & os.O_CREAT)
        if creates:
            self._step()
        descriptor = _open(path, flags, mode, dir_fd=dir_fd)
        if creates:
            inode = self._created(path, is_folder=False)
        elif inside and inode is None:
            inode = self._adopt(path)
        if inode is not None:
            self._descriptors[descriptor] = inode
        return descriptor

    def close(self, descriptor: int) -> None:
        self._descriptors.pop(descriptor, None)
        _close(descriptor)

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> int:
        inode = self._descriptors.get(descriptor)
        if inode is None:
            self._check_alive()
            return _write(descriptor, data)
        self._step()
        done = _write(descriptor, data)
        self._written(inode, bytes(data[:done]), self._lengths[inode])
        return done

    def pwrite(self, descriptor: int, data: bytes | bytearray | memoryview, offset: int) -> int:
        inode = self._descriptors.get(descriptor)
        if inode is None or inode in self._locks:
            self._check_alive()
            return _pwrite(descriptor, data, offset)
        self._step()
        done = _pwrite(descriptor, data, offset)
        self._written(inode, bytes(data[:done]), offset)
        return done

    def fsync(self, descriptor: int) -> None:
        self._check_alive()
        inode = self._descriptors.get(descriptor)
        site = _site()
        if inode is not None and not self._lost(site):
            self._step()
            self.operations.append(Synced(inode, site))

    def mkdir(self, path: StrPath, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        inside = dir_fd is None and self._inside(path)
        if not inside or os.path.lexists(path):  # there, it fails and changes nothing
            self._check_alive()
            _mkdir(path, mode, dir_fd=dir_fd)
            return
        self._step()
        _mkdir(path, mode)
        self._created(path, is_folder=True)

    def rename(
        self,
        old: StrPath,
        new: StrPath,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        self._check_alive()
        inode = self._inode(old) if src_dir_fd is None and self._inside(old) else None
        if inode is None:
            _rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            return
        folder, name = self._place(old)
        other, new_name = self._place(new)
        assert folder == other, "the model knows no renames from folder to folder"
        self._step()
        _rename(old, new)
        del self._names[folder][name]
        self._names[folder][new_name] = inode
        self.operations.append(Renamed(folder, name, new_name, inode))

    def unlink(self, path: StrPath, *, dir_fd: int | None = None) -> None:
        self._check_alive()
        inode = self._inode(path) if dir_fd is None and self._inside(path) else None
        if inode is not None:
            self._step()
        _unlink(path, dir_fd=dir_fd)
        if inode is not None:
            self._removed(path, inode)

    def rmdir(self, path: StrPath, *, dir_fd: int | None = None) -> None:
        self._check_alive()
        inode = self._inode(path) if dir_fd is None and self._inside(path) else None
        if inode is not None:
            self._step()
        _rmdir(path, dir_fd=dir_fd)
        if inode is not None:
            self._removed(path, inode)

    # ---- what they mean -------------------------------------------------------------------------

    def _check_alive(self) -> None:
        if self._dead:
            raise Killed

    def _step(self) -> None:
        self._check_alive()
        if self._left == 0:
            self._dead = True
            raise Killed
        self._left -= 1

    def _inside(self, path: StrPath) -> bool:
        full = os.path.abspath(path)
        return full == self._root or full.startswith(self._root + os.sep)

    def _place(self, path: StrPath) -> tuple[int, str]:
        """The inode of the folder of a path, and its last name."""
        folder, name = os.path.split(os.path.abspath(path))
        inode = self._inode(folder)
        assert inode is not None, f"{folder} was not seen to be made"
        return inode, name

    def _inode(self, path: StrPath) -> int | None:
        """None where the recorder knows nothing of that name."""
        full = os.path.abspath(path)
        if full == self._root:
            return ROOT
        parts = os.path.relpath(full, self._root).split(os.sep)
        inode: int | None = ROOT
        for part in parts:
            inode = None if inode is None else self._names.get(inode, {}).get(part)
        return inode

    def _created(self, path: StrPath, *, is_folder: bool) -> int:
        folder, name = self._place(path)
        inode = len(self._names) + len(self._lengths)
        self._names[folder][name] = inode
        if is_folder:
            self._names[inode] = {}
        else:
            self._lengths[inode] = 0
            if name.endswith(".lock"):
                self._locks.add(inode)
        self.operations.append(Created(folder, name, inode, is_folder))
        return inode

    def _adopt(self, path: StrPath) -> int:
        """Record what is there already."""
        is_folder = os.path.isdir(path)
        inode = self._created(path, is_folder=is_folder)
        if not is_folder:
            self._written(inode, Path(path).read_bytes(), 0)
        return inode

    def _written(self, inode: int, data: bytes, offset: int) -> None:
        if data:
            self.operations.append(Written(inode, offset, data))
            self._lengths[inode] = max(self._lengths[inode], offset + len(data))

    def _removed(self, path: StrPath, inode: int) -> None:
        folder, name = self._place(path)
        del self._names[folder][name]
        self.operations.append(Removed(folder, name, inode))


def restore(image: Image, root: Path) -> None:
    """Write an image into an empty folder."""
    for folder in image.folders:
        _mkdir(root / folder)
    for path, content in image.files:
        (root / path).write_bytes(content)


@contextmanager
def no_waiting() -> Iterator[None]:
    """Let fsync return at once: the recorder notes whether it is called."""
    with (
        patch.object(os, "fsync", lambda descriptor: None),
        patch.object(os, "fdatasync", lambda descriptor: None),
    ):
        yield


def _in_place(call: Callable[[], T], **_: bool) -> T:
    """A call that the library makes on a helper thread: here, so that `_site` sees the caller."""
    return call()


def _site() -> str:
    """The caller of a sync, and the comment of that line, which says what the sync protects."""
    frame = sys._getframe(2)
    while frame.f_code.co_name in _DOOR and frame.f_back is not None:
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    code, _, comment = line.partition("#")
    where = f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
    return f"{where}: {(comment or code).strip()}"

"""A store in memory: the door of `gdb.storage.disk.files` over a dict. Nothing survives, so nothing is synced."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import numpy as np

from gdb.base import forks
from gdb.errors import StoreError, StoreLocked

from ..columns.model import U8
from .checksum import Buffer, bytes_of
from .files import NewFile, OpenEnd, missing, wrong_length
from .growing_file import Bound, Growing
from .pins import Pin
from .scratch import Scratch


class MemoryPin:
    """A pin of a file in memory."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str) -> None:
        self.name = name


class MemoryFiles:
    """See the module. Writing threads of the process exclude one another; no other process can see it."""

    remote = False

    def __init__(self) -> None:
        self._contents: dict[str, U8] = {}
        self._growing: dict[str, Growing] = {}  # of those that are read again, instead
        self._pins: weakref.WeakSet[MemoryPin] = weakref.WeakSet()
        self.forked()
        forks.watch(self)

    def forked(self) -> None:
        """A child has a copy of the parent's memory, without a writer."""
        self._writer = threading.Lock()
        self._pinning = threading.Lock()  # guards the pins

    @property
    def where(self) -> str:
        """Constant: it has no path."""
        return "in memory"

    def names(self) -> list[str]:
        """The names of all files, ascending."""
        return sorted({*self._contents, *self._growing})

    def create(self, name: str) -> NewFile:
        """A new, empty file; StoreError where the name is taken."""
        if name in self.names():
            raise StoreError(f"The file {name} exists already.")
        self._contents[name] = np.zeros(0, np.uint8)
        return _MemoryNewFile(self, name)

    def extend(self, name: str) -> OpenEnd:
        """The end of a file that was read by `read_again` before."""
        return _MemoryEnd(self._growing[name])

    def scratch(self) -> Scratch:
        """A buffer in memory: it saves no memory here."""
        return _MemoryScratch()

    def read(self, name: str, bound: Bound) -> bytes:
        """A copy of a file. `bound` is not checked: only this process writes here."""
        if name in self._growing:
            return bytes(self._growing[name].content)
        if name not in self._contents:
            raise FileNotFoundError(name)
        return self._contents[name].tobytes()

    def read_again(self, name: str, bound: Bound, *, end: int | None = None) -> Growing:
        """The content of a file, the same object at each call: what `extend` writes is in it at once."""
        if name not in self._growing:
            self._growing[name] = Growing(bytearray(self.read(name, bound)))
            del self._contents[name]
        return self._growing[name]

    def unchanged(self, growing: Growing, end: int | None) -> bool:
        """As `Files.unchanged`."""
        return growing in self._growing.values()

    def forget(self, name: str) -> None:
        """Does nothing: nothing is read twice."""

    def map(self, name: str, length: int, digest: str) -> U8:
        """The array of the file itself, u8[length], not copied; CorruptStore where missing or of another length."""
        if name not in self._contents:
            raise missing(self.where, name)
        found = self._contents[name]
        if found.shape[0] != length:
            raise wrong_length(self.where, name, found.shape[0], length)
        return found

    def put(self, name: str, content: U8) -> None:
        """Set a file's bytes; the array must not change afterwards."""
        content.flags.writeable = False
        self._contents[name] = content

    def rename(self, old: str, new: str) -> None:
        """Replace `new` by `old`."""
        self._contents[new] = self._contents.pop(old)
        self._growing.pop(new, None)

    def unlink(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._contents.pop(name, None)
        self._growing.pop(name, None)

    def fsync_dir(self) -> None:
        """Does nothing: memory survives no power cut."""

    def fsync_name(self) -> None:
        """Does nothing, as `fsync_dir`."""

    def lock_writer(self, *, patient: bool = True) -> None:
        """Become the only writing thread, without waiting; StoreLocked where another one writes."""
        if not self._writer.acquire(blocking=False):
            raise StoreLocked("This process is already writing to the store in memory.")

    def unlock_writer(self) -> None:
        """Release the writer's lock, if it is held."""
        with suppress(RuntimeError):
            self._writer.release()

    def pin(self, name: str) -> Pin:
        """Keep a file from being swept while the pin is referred to; FileNotFoundError where it is missing."""
        with self._pinning:
            if name not in self._contents:
                raise FileNotFoundError(name)
            pin = MemoryPin(name)
            self._pins.add(pin)
            return pin

    @contextmanager
    def unpinned(self, names: Sequence[str]) -> Iterator[bool]:
        """Whether no pin of this process names one of the files. New pins wait until the block ends."""
        with self._pinning:
            yield not any(pin.name in names for pin in self._pins)

    @contextmanager
    def sweeping(self) -> Iterator[bool]:
        """Always true: no other process can sweep here."""
        yield True

    def close(self) -> None:
        """Does nothing: the files live as long as the object."""


class _MemoryNewFile:
    def __init__(self, files: MemoryFiles, name: str) -> None:
        self._files, self._name = files, name
        self._bytes = bytearray()

    def write(self, data: Buffer) -> None:
        self._bytes += bytes_of(data)

    def fsync(self) -> None:
        pass

    def close(self) -> None:
        self._files.put(self._name, np.frombuffer(self._bytes, np.uint8))


class _MemoryEnd:
    """The end of a file that grows."""

    def __init__(self, growing: Growing) -> None:
        self._growing = growing

    def write(self, at: int, data: bytes) -> None:
        self._growing.put(at, data)

    def shared(self) -> bool:
        return False

    def fdatasync(self) -> None:
        pass

    def close(self) -> None:
        pass


class _MemoryScratch:
    """It saves no memory, but for what a spool of many small pieces would need beside them."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def append(self, data: Buffer) -> int:
        at = len(self._bytes)
        self._bytes += bytes_of(data)
        return at

    def read(self, at: int, out: U8) -> None:
        out[:] = np.frombuffer(self._bytes, np.uint8, len(out), at) if len(out) else out

    def close(self) -> None:
        self._bytes = bytearray()

"""A store at a URL, which fsspec reads: an object storage, a web server, another machine. It is only read.

The manifest is read once, when the store is opened, so that a connection stays at the version that it was opened at.
Segments are fetched when they are first needed, into a folder of verified copies (`gdb.storage.disk.content_cache`),
and mapped from there. Nothing at the URL can be pinned: where a writer there compacts the store and sweeps, a segment
that is not in the cache yet is gone, and an error says so.

fsspec's file systems must not be used in a forked child, so each process makes its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO, NoReturn, Protocol

from gdb.base.once import PerProcess
from gdb.errors import (
    CorruptStore,
    Fault,
    GdbError,
    NotAStore,
    ReadOnlyError,
    StoreError,
    StorePermissionError,
)
from gdb.records import dataclass

from ..columns.model import U8
from .checksum import Buffer
from .content_cache import ContentCache, Copy, WrongContent
from .files import MANIFEST, TO_CHANGE, missing, too_long
from .growing_file import HEAD_BYTES, Bound, Growing
from .pins import Pin

CHUNK = 8 << 20  # bytes of one request for a part of a segment
_FIRST = 1 << 20  # bytes of a manifest that are requested first
TRIES, PAUSE = 3, 0.2  # of a file that is fetched; seconds between two, more each time
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class Unreachable(StoreError):
    """The network, a server or its credentials fail."""


class _Absent(Exception):
    """There is no file of that name."""


class FileSystem(Protocol):
    """What is used here of `fsspec.AbstractFileSystem`."""

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        """Bytes [start, end) of a file, fewer where it ends before."""

    def open(self, path: str, mode: str, block_size: int) -> BinaryIO:
        """A file to be read."""


@dataclass(frozen=True, slots=True)
class _Remote:
    """A file system, and the folder of the store in it."""

    system: FileSystem
    folder: str


@dataclass(frozen=True, slots=True)
class _NoPin:
    """Keeps nothing: at a URL there are no locks."""

    name: str


class RemoteFiles:
    """The files of a store at a URL.

    Parameters
    ----------
    url : of its folder, as fsspec takes it. options : of its file system, as credentials (`storage_options=`).

    Raises
    ------
    StoreError : fsspec or the package of the protocol is not installed, there is no such protocol, or it refuses the
        options.
    """

    remote = True

    def __init__(self, url: str, options: Mapping[str, object] | None = None) -> None:
        self.url, self.options = url, dict(options or {})
        self._remote = PerProcess(lambda: _connected(self.url, self.options))
        self._manifest: Growing | None = None
        self._bound: Bound | None = None
        self._cache: ContentCache | None = None
        self._copies: dict[str, Copy] = {}  # by checksum, what was mapped: it stays in the cache
        self._remote.get()

    @property
    def where(self) -> str:
        """The URL, without credentials."""
        return shown(self.url)

    def names(self) -> list[str]:
        """The manifest alone: to list a folder takes a right that readers may not have."""
        return [MANIFEST]

    # ---- the manifest ------------------------------------------------------------------------------

    def read(self, name: str, bound: Bound) -> bytes:
        """The whole of a small file; NotAStore where there is none, CorruptStore where it is longer than its bound."""
        return bytes(self.read_again(name, bound).content)

    def unchanged(self, growing: Growing, end: int | None) -> bool:
        """As `Files.unchanged`: it always looks closer."""
        return False

    def read_again(self, name: str, bound: Bound, *, end: int | None = None) -> Growing:
        """What was read first: the store stays at the version that was opened, until `forget`."""
        if self._manifest is None:
            self._manifest, self._bound = Growing(bytearray(self._read(name, bound))), bound
        return self._manifest

    def forget(self, name: str) -> None:
        """Let the next `read_again` fetch the file."""
        self._manifest = None

    def _read(self, name: str, bound: Bound) -> bytes:
        """The whole of a small file, of one moment: by a single request."""
        remote = self._remote.get()
        path = f"{remote.folder}/{name}"
        try:
            with self._reported(name):
                found = remote.system.cat_file(path, 0, _FIRST)
                most = bound(found[:HEAD_BYTES])
                if len(found) == _FIRST:
                    found = remote.system.cat_file(path, 0, most + 1)
        except _Absent:
            raise NotAStore(
                f"There is no store at {self.where}: it has no file {name}.",
                "Give the URL of a store's folder; the folder may be a copy made by db.backup().",
            ) from None
        if len(found) > most:
            raise too_long(self.where, name, len(found), most)
        return found

    # ---- segments ----------------------------------------------------------------------------------

    def map(self, name: str, length: int, digest: str) -> U8:
        """A verified copy in the cache, read-only u8[length], fetched where it is not there. CorruptStore where the
        file is missing, damaged or of another length."""
        found = self._copies.get(digest)
        if found is None:
            if self._cache is None:
                self._cache = ContentCache()
            fetch = partial(self._fetch, name, length)
            try:
                found = self._copies[digest] = self._cache.copy(digest, length, fetch)
            except WrongContent as wrong:
                raise self._damaged(name, length, wrong.length) from None
            except _Absent:
                raise self._gone(name) from None
        return found.content

    def _fetch(self, name: str, length: int, take: Callable[[Buffer], None]) -> None:
        """Hand the bytes of a file over. Where the connection breaks, go on from there, `TRIES` times in all."""
        remote, done = self._remote.get(), 0
        for pause in (*(PAUSE * k for k in range(1, TRIES)), None):
            try:
                with (
                    self._reported(name),
                    remote.system.open(f"{remote.folder}/{name}", "rb", CHUNK) as file,
                ):
                    if done:
                        file.seek(done)
                    while piece := file.read(CHUNK):
                        take(piece)
                        done += len(piece)
                if done >= length:
                    return
            except Unreachable:
                if pause is None:
                    raise
            if pause is not None:
                time.sleep(pause)

    def _gone(self, name: str) -> StoreError:
        """The error for a segment that is not there."""
        if self._manifest is not None and self._bound is not None:
            with suppress(StoreError):
                if self._read(MANIFEST, self._bound) == self._manifest.content:
                    return missing(self.where, name)
        return StoreError(
            f"The file {name} of the version that is open is not at {self.where} any more: the store was compacted or "
            "replaced there.",
            "Connect to it again, which opens the newest version; files that are in the cache are not fetched again.",
        )

    def _damaged(self, name: str, wanted: int, found: int) -> CorruptStore:
        """The error for a segment that is another file than the one that was committed."""
        how = "does not hold the bytes that were committed"
        if found != wanted:
            more = "more" if found > wanted else f"{found:,} bytes"
            how = f"has {more} instead of {wanted:,} bytes"
        return CorruptStore(
            f"The store {self.where} is damaged: its file {name} {how}.",
            "Upload the file again from the store that this is a copy of.",
            (Fault("", name, how),),
        )

    @contextmanager
    def _reported(self, name: str) -> Iterator[None]:
        """Turns errors of file systems, which have many libraries below them, into ours, and _Absent."""
        where = f"{self.where}/{name}"
        try:
            yield
        except (GdbError, WrongContent):
            raise
        except _ABSENT as error:
            raise _Absent(name) from error
        except PermissionError as error:
            raise StorePermissionError(
                f"Access to {where} is refused: {_said(error)}.",
                "Check the permissions there, and the credentials: those of the environment, or storage_options=.",
            ) from error
        except Exception as error:
            raise Unreachable(
                f"{where} could not be read: {_said(error)}.",
                "Check the network, the address and the credentials (storage_options=), then run it again.",
            ) from error

    # ---- what only a writer does -------------------------------------------------------------------

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ReadOnlyError(f"The store {self.where} lies at a URL, and is only read.", TO_CHANGE)

    create = extend = scratch = rename = unlink = fsync_dir = fsync_name = lock_writer = _refuse

    def unlock_writer(self) -> None:
        """There is no writer."""

    def pin(self, name: str) -> Pin:
        """A pin that keeps nothing: at a URL there are no locks."""
        return _NoPin(name)

    @contextmanager
    def unpinned(self, names: Sequence[str]) -> Iterator[bool]:
        """False: nothing is removed."""
        yield False

    @contextmanager
    def sweeping(self) -> Iterator[bool]:
        """False: nothing is swept."""
        yield False

    def close(self) -> None:
        """Copies stay in the cache as long as a snapshot refers to them."""


def shown(url: str) -> str:
    """A URL as messages have it: without the name and password in it."""
    return _CREDENTIALS.sub("", url)


def _connected(url: str, options: Mapping[str, object]) -> _Remote:
    """The file system of a URL."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise StoreError(
            f"A store at a URL, {shown(url)}, needs the package fsspec, which is not installed.",
            'Install it: pip install fsspec (or pip install "gdb-embedded[remote]").',
        ) from None
    try:
        system, folder = url_to_fs(url, **options)
    except ImportError as error:
        cause = error if error.__cause__ is None else error.__cause__
        package = (getattr(cause, "name", None) or "fsspec").partition(".")[0]
        raise StoreError(
            f"{shown(url)} needs the package {package}, which is not installed: {error}.",
            f"Install it: pip install {package}",
        ) from None
    except Exception as error:
        raise StoreError(
            f"{shown(url)} cannot be opened: {_said(error)}.",
            "Check the URL, as in s3://bucket/folder, and storage_options=, which its protocol takes.",
        ) from error
    return _Remote(system, str(folder).rstrip("/"))


def _said(error: Exception) -> str:
    """What an error says, on one line."""
    text = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

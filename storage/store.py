"""A store: a folder (or memory) whose manifest names one committed graph.

One process writes at a time, and says so with a lock; any number of processes read. A reader that
is open keeps the files of older manifests from being deleted.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gdb.errors import ClosedError, NotAStore, ReadOnlyError, StoreError
from gdb.storage import manifest as manifests
from gdb.storage.delta import Delta
from gdb.storage.files import MANIFEST, Files, PosixFiles
from gdb.storage.manifest import Manifest
from gdb.storage.memory import MemoryFiles
from gdb.storage.segment import FileRecord, need
from gdb.storage.snapshot import Snapshot


class Store:
    """An open store; see `Store.open`. Threads may share it."""

    def __init__(self, files: Files, path: Path | None, read_only: bool) -> None:
        self.files, self.path, self.read_only = files, path, read_only
        self._closed = False
        self._lock = threading.RLock()  # guards the fields below
        self._raw = b""
        self._snapshot: Snapshot | None = None
        self._alive: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self._writing = threading.RLock()  # one writing thread of this process
        self._depth = 0
        self._writer = 0  # the thread that writes
        self._certain = False  # whether this writer has synced what it found
        self._swept: tuple[FileRecord, ...] | None = None  # beside these files there are no others

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        *,
        create: bool,
        read_only: bool = False,
        files: Files | None = None,
    ) -> Store:
        """Open a store.

        Parameters
        ----------
        path : its folder; None = a new store in memory.
        create : make an empty store where the folder is missing or empty.
        read_only : refuse to write; works on a disk that cannot be written.
        files : another door to disk (tests).

        Raises
        ------
        NotAStore : there is no store, and none may be created here.
        CorruptStore, StoreVersionError, StorePermissionError : it cannot be read.
        """
        where = None if path is None else Path(path)
        in_memory = where is None and files is None
        if files is None:
            make = create and not read_only
            files = MemoryFiles() if where is None else PosixFiles(where, create=make)
        if MANIFEST not in files.names():
            if (create and not read_only) or in_memory:
                _create(files)
            manifests.read(files)  # says what is wrong, before a lock file is made in the folder
        files.lock_reader()  # before the manifest is read: its files must stay
        store = cls(files, where, read_only)
        try:
            store.snapshot()
        except BaseException:
            store.close()
            raise
        return store

    def snapshot(self) -> Snapshot:
        """The newest committed state, also when another process committed it.

        The same object as long as nothing was committed.
        """
        with self._lock:
            self._check_open()
            try:
                raw = self.files.read_again(MANIFEST)
            except FileNotFoundError:
                raw, _ = manifests.read(self.files)  # raises what fits
            if self._snapshot is None or (raw is not self._raw and raw != self._raw):
                return self._now(raw, manifests.decode(raw, self.files.where))
            return self._snapshot

    def _now(self, raw: bytes, manifest: Manifest, delta: Delta | None = None) -> Snapshot:
        """Make that the newest state."""
        self._snapshot = Snapshot(self.files, manifest, len(raw), self._snapshot, delta)
        self._raw = raw
        self._alive.add(self._snapshot)
        return self._snapshot

    @contextmanager
    def writer(self) -> Iterator[None]:
        """Be the only writer, in this process and others. May be nested.

        Raises
        ------
        StoreLocked : another process is writing.
        ReadOnlyError, ClosedError : the store takes no writes.
        """
        self._check_open()
        if self.read_only:
            raise ReadOnlyError(
                f"The store {self.files.where} was opened read-only.",
                "Open it without read_only=True to write.",
            )
        with self._writing:
            if not self._depth:
                self.files.lock_writer()
            self._depth += 1
            self._writer = threading.get_ident()
            try:
                self._make_certain()
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self.files.unlock_writer()

    @property
    def writes_here(self) -> bool:
        """Whether this thread is the writer."""
        return self._depth > 0 and self._writer == threading.get_ident()

    def _make_certain(self) -> None:
        """Before the first write: make what was found here survive a power cut.

        Whoever made the folder or switched the manifest may have been killed before its sync. A commit
        that builds on names which a power cut takes away is lost with them.
        """
        if not self._certain:
            self.files.fsync_name()  # protects the way to the folder: its maker may have been killed
            self.files.fsync_dir()  # protects the manifest's name: segments without it are no store
            self._certain = True

    def commit(self, manifest: Manifest, delta: Delta | None = None) -> Snapshot:
        """Make `manifest` the store's state; its files must be written and synced already. delta : what it holds, where
        that is known."""
        need(self._depth > 0, "a commit without the writer's lock")
        known = {record.name for record in self.snapshot().manifest.files}
        new_names = any(record.name not in known for record in manifest.files)
        raw = manifests.commit(self.files, manifest, new_names=new_names)
        with self._lock:
            snapshot = self._now(raw, manifest, delta)
        self._sweep()
        return snapshot

    def close(self) -> None:
        """Give back locks. Arrays that were read stay valid. May be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self.files.close()

    def _sweep(self) -> None:
        """Delete files that no manifest in use names; a later commit sweeps what is left."""
        current = () if self._snapshot is None else self._snapshot.manifest.files
        if self._swept == current:
            return
        with suppress(StoreError, FileNotFoundError), self.files.alone() as alone, self._lock:
            if alone:
                kept = {r.name for snapshot in self._alive for r in snapshot.manifest.files}
                for name in manifests.strays(self.files.names(), kept):
                    self.files.unlink(name)
                if kept == {record.name for record in current}:
                    self._swept = current

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"The store {self.files.where} is closed.", "Open it again.")


def _create(files: Files) -> None:
    """Commit an empty manifest into a folder that holds nothing of anybody's."""
    names = files.names()
    if not manifests.holds_nothing_else(names):
        if not manifests.looks_like_store(names):
            raise NotAStore(
                f"The folder {files.where} is not empty and holds no store of gdb.",
                "Give a new name, or the folder of a store.",
            )
        return  # the manifest of a store is missing: reading says so
    files.lock_writer()
    try:
        if MANIFEST not in files.names():
            manifests.commit(files, Manifest())
    finally:
        files.unlock_writer()

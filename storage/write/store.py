"""A store: a folder (or memory) whose manifest names one committed graph.

One process writes at a time, and says so with a lock; any number of processes read. A snapshot keeps its files from
being deleted (`gdb.storage.disk.pins`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.base import forks, usage, waiting
from gdb.errors import ClosedError, CorruptStore, NotAStore, ReadOnlyError, StoreError
from gdb.imports import deferred

from ..disk import file_names
from ..disk.files import MANIFEST, TO_CHANGE, Files, OpenEnd, PosixFiles, missing
from ..disk.growing_file import Growing
from ..disk.pins import Pin
from ..format import manifest as manifests
from ..format.manifest import Manifest
from ..format.manifest_head import PATIENCE, More, length_in, most_bytes
from ..format.segment import FileRecord, need
from ..graph.delta import Delta
from ..graph.snapshot import Snapshot
from .sweep import Sweeper

if TYPE_CHECKING:
    from ..disk import memory_files
    from ..format import journal as journals
    from ..format.delta_parts import DeltaParts
else:
    journals, memory_files = (
        deferred("gdb.storage.format.journal"),
        deferred("gdb.storage.disk.memory_files"),
    )


class Store:
    """An open store; see `Store.open`. Threads may share it."""

    def __init__(self, files: Files, path: Path | None, read_only: bool) -> None:
        self.files, self.path, self.read_only = files, path, read_only
        self.made = False  # whether there was no store before this one
        self._closed = False
        self._lock = waiting.Lock()  # guards the fields below
        self._file: Growing | None = None  # the manifest, and its turn when it was looked at
        self._looked = 0
        self._journal: journals.Journal | None = None  # of it
        self._own = False  # whether this store wrote it, and may go on writing at its end
        self._end: OpenEnd | None = None  # that end
        self._snapshot: Snapshot | None = None
        self._no_writer()
        forks.watch(self)

    def _no_writer(self) -> None:
        self._writing = waiting.TurnLock()  # one writing thread of this process
        self._certain = False  # whether this writer has synced what it found
        self._sweeper = Sweeper(self.files)

    def forked(self) -> None:
        """The child is another process: it has no writer, and has written nothing that it could go on with. What was
        read stays, unless another thread of the parent was about to change it."""
        if self._lock.torn:
            self.files.forget(MANIFEST)
            self._file = self._journal = None
        self._let_go()
        self._no_writer()

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
        files : another door to disk: that of a URL, or of a test.

        Raises
        ------
        NotAStore : there is no store, and none may be created here.
        CorruptStore, StoreVersionError, StorePermissionError : it cannot be read.
        """
        where = None if path is None else Path(path)
        in_memory = where is None and files is None
        if files is None:
            make = create and not read_only
            files = memory_files.MemoryFiles() if where is None else PosixFiles(where, create=make)
        found, made = files.names(), False
        if MANIFEST not in found:
            if (create and not read_only) or in_memory:
                made = _create(files)
            manifests.read(files)  # says what is wrong
        store = cls(files, where, read_only)
        store.made = made
        try:
            store.snapshot()
            store._tidy(store._named, found)
        except BaseException:
            store._drop()
            raise
        return store

    def snapshot(self) -> Snapshot:
        """The newest committed state, also when another process committed it.

        The same object as long as nothing was committed.
        """
        with self._lock:
            self._check_open()
            for pause in PATIENCE:
                try:
                    return self._newest()
                except (
                    journals.Unsealed
                ):  # another process may be writing that sector this very moment
                    self.files.forget(MANIFEST)
                    self._file = None  # what was read of it is nothing to compare with
                    time.sleep(pause)
            try:
                return self._newest()
            except journals.Unsealed as error:  # the class that programs know
                raise CorruptStore(error.message, error.cure) from None

    def is_newest(self, snapshot: Snapshot) -> bool:
        """Whether `snapshot` would give this one; False also where it has to look closer, or the store is closed. It
        changes nothing, takes no lock, and may be stopped by Ctrl-C anywhere."""
        file, journal = self._file, self._journal
        end = None if journal is None or self._own else journal.end
        return (
            snapshot is self._snapshot
            and file is not None
            and file.turn == self._looked
            and self.files.unchanged(file, end)
            and snapshot is self._snapshot
            and not self._closed
        )

    def _newest(self) -> Snapshot:
        try:
            # no other store writes behind a manifest of this one's own: inode and length show all
            end = None if self._journal is None or self._own else self._journal.end
            file = self.files.read_again(MANIFEST, most_bytes, end=end)
        except NotAStore:
            raise  # of a URL
        except FileNotFoundError:
            manifests.read(self.files)  # raises what fits
            file = self.files.read_again(MANIFEST, most_bytes)
        if file is not self._file:
            return self._opened(file)
        if file.turn != self._looked and self._journal is not None:
            if self._journal.follow(file.content):
                self._now(self._journal.manifest, self._journal.more).written = (
                    file.content,
                    self._journal.end,
                )
            self._looked = file.turn
        assert self._snapshot is not None
        return self._snapshot

    def _opened(self, file: Growing) -> Snapshot:
        """The state in a manifest that is another file than the one before."""
        if self._snapshot is None or self._file is None or self._file.content != file.content:
            file, manifest, pins = self._kept(file)
            raw, journal = bytes(file.content), None
            more = More(1, len(raw))
            if manifest.journal:
                begin = raw[: length_in(raw)]
                journal = journals.Journal(self.files, manifest, begin)
                journal.follow(file.content)
                manifest, more = journal.manifest, journal.more
            end = len(raw) if journal is None else journal.end
            self._now(manifest, more, pins=pins).written = file.content, end
            self._journal = journal
        self._let_go()
        self._file, self._looked = file, file.turn
        assert self._snapshot is not None
        return self._snapshot

    def _kept(self, file: Growing) -> tuple[Growing, Manifest, Sequence[Pin]]:
        """The manifest in a file, or in the one that has taken its place: its files are pinned, and there. One that is
        missing though the manifest is the same is damage, which is reported where it is touched."""
        while True:
            manifest = manifests.decode(bytes(file.content), self.files.where)
            try:
                return file, manifest, self._pinned(manifest)
            except FileNotFoundError:
                before, file = file, self.files.read_again(MANIFEST, most_bytes)
                if file is before:
                    return file, manifest, self._pinned(manifest, lenient=True)

    def _pinned(
        self, manifest: Manifest, pins: Sequence[Pin] = (), *, lenient: bool = False
    ) -> Sequence[Pin]:
        """Pins of the files of a manifest: those that are known already, and new ones.

        Raises
        ------
        FileNotFoundError : one is missing; not if `lenient`.
        """
        now = self._snapshot
        if now is not None and manifest.files is now.manifest.files:
            return now.pins
        known = {pin.name: pin for pin in (*(() if now is None else now.pins), *pins)}
        found = []
        for name in file_names.first_of_each(record.name for record in manifest.files):
            try:
                found.append(known[name] if name in known else self.files.pin(name))
            except FileNotFoundError:
                if not lenient:
                    raise
        return found

    def _now(
        self,
        manifest: Manifest,
        more: More,
        delta: Delta | None = None,
        pins: Sequence[Pin] = (),
        seen: Snapshot | None = None,
    ) -> Snapshot:
        """Make that the newest state. pins : of its files, and others. seen : see `commit`."""
        own = self._pinned(manifest, pins, lenient=True)
        before = seen if seen is not None and seen.delta is delta else self._snapshot
        self._snapshot = Snapshot(self.files, manifest, more, before, delta, own)
        return self._snapshot

    def _let_go(self) -> None:
        """Append no more to the manifest that is."""
        self._own = False
        if self._end is not None:
            end, self._end = self._end, None
            end.close()

    @contextmanager
    def writer(self, check: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Be the only writer, in this process and others. May be nested.

        check : called now and then while another thread writes; what it raises ends the wait. A thread that has ended
        writes no more, whatever it left open.

        Raises
        ------
        StoreLocked : another process is writing.
        ReadOnlyError, ClosedError : the store takes no writes.
        """
        self._check_open()
        if self.read_only:
            raise self.read_only_error()
        writing, born = self._writing, forks.generation()
        turn = writing.take(check, self._unlock)
        try:  # from here on: Ctrl-C may strike as soon as the lock is there
            if turn.depth == 1:
                self.files.lock_writer()
            self._check_open()  # another thread may have closed it meanwhile
            self._make_certain()
            yield
            if turn.depth == 1 and born == forks.generation() and not turn.over:
                with usage.unstopped():  # or a query that has committed says that it did not
                    self._sweeper.after_writing(self._named, certain=self._own)
        finally:
            # a child that was forked inside has no part in it, nor one whose turn another thread has taken over
            if turn.depth == 1 and born == forks.generation() and not turn.over:
                self._unlock()
            writing.release(turn)

    def _unlock(self) -> None:
        """Let other processes write."""
        self.files.unlock_writer()
        if self._closed:  # the lock's file was opened again
            self.files.close()

    def read_only_error(self, why: str = "") -> ReadOnlyError:
        """What a write raises where the store is only read. why : the end of the sentence."""
        cure = TO_CHANGE if self.files.remote else "Open it without read_only=True."
        return ReadOnlyError(f"the store {self.files.where} was opened read-only{why}.", cure)

    @property
    def writes_here(self) -> bool:
        """Whether this thread is the writer, or does a part of the work of the one that is."""
        return self._writing.own() is not None

    def _make_certain(self) -> None:
        """Before the first write: make what was found here survive a power cut.

        The process that made the folder or switched the manifest may have been killed before its sync. A commit
        that builds on names which a power cut takes away is lost with them.
        """
        if not self._certain:
            self.files.fsync_name()  # protects the way to the folder: its maker may have been killed
            self.files.fsync_dir()  # protects the manifest's name: segments without it are no store
            self._certain = True

    def commit(
        self,
        manifest: Manifest,
        delta: Delta | None = None,
        parts: DeltaParts | None = None,
        seen: Snapshot | None = None,
    ) -> Snapshot:
        """Make `manifest` the store's state; its files must be written and synced already. delta, parts : what it
        holds, where that is known. seen : a graph that may have this delta already.

        Nothing stops the query of this thread in it.
        """
        with usage.unstopped():
            return self._switched(manifest, delta, parts, seen)

    def _switched(
        self,
        manifest: Manifest,
        delta: Delta | None,
        parts: DeltaParts | None,
        seen: Snapshot | None,
    ) -> Snapshot:
        need(self.writes_here, "a commit without the writer's lock")
        known = {record.name for record in self.snapshot().manifest.files}
        new_names = any(record.name not in known for record in manifest.files)
        with self._lock:
            try:
                pins = self._pinned(manifest)  # before the switch: nothing may fail behind it
            except FileNotFoundError as error:
                raise missing(self.files.where, Path(str(error.filename)).name) from None
        raw = manifests.commit(self.files, manifest, new_names=new_names)
        with self._lock:
            snapshot = self._now(manifest, More(1, len(raw)), delta, pins, seen)
            self._let_go()
            self._file, self._own = self.files.read_again(MANIFEST, most_bytes), True
            self._looked = self._file.turn
            self._journal = (
                journals.Journal(self.files, manifest, raw, parts) if manifest.journal else None
            )
            snapshot.written, snapshot.parts = (self._file.content, len(raw)), parts
        return snapshot

    @property
    def version(self) -> int:
        """That of the newest state; the writer's lock must be held since it was last read."""
        assert self.writes_here
        assert self._snapshot is not None
        return self._snapshot.version

    @property
    def wrote_last(self) -> bool:
        """Whether the newest state is this store's own commit; the writer's lock must be held."""
        return self._own

    def append(
        self,
        parts: DeltaParts,
        delta: Delta,
        seen: Snapshot | None = None,
    ) -> Snapshot | None:
        """Make a delta the store's state by a record in the journal; None where there is none that this store began, no
        room in it, or the manifest has other names (`cp -al`), under which nothing may change.

        Only the writer of a manifest appends records to it, and stops for good where one failed: what another process
        left there may be torn, or may never have reached the disk.

        Zeros are written before a record that is the first in its place, so that a disk that is full then holds none.
        seen : see `commit`. Nothing stops the query of this thread in it.
        """
        with usage.unstopped():
            return self._appended(parts, delta, seen)

    def _appended(self, parts: DeltaParts, delta: Delta, seen: Snapshot | None) -> Snapshot | None:
        need(self.writes_here, "a commit without the writer's lock")
        journal = self._journal if self._own else None
        made = None if journal is None else journal.record(parts)
        if journal is None or made is None:
            return None
        at = journal.end
        try:
            if self._end is None:
                self._end = self.files.extend(MANIFEST)
            if self._end.shared():  # a manifest of its own takes its place, and may be appended to
                end, self._end = self._end, None
                end.close()
                return None
            if made.zeros:
                self._end.write(at, bytes(len(made.raw) + made.zeros))
            self._end.write(at, made.raw)
            self._end.fdatasync()  # protects the record: after this success may be reported
        except BaseException:
            self._let_go()
            raise
        with self._lock:
            journal.accept(made)
            assert self._file is not None
            self._file.put(at, made.raw + bytes(made.zeros))
            self._looked = self._file.turn
            snapshot = self._now(journal.manifest, journal.more, delta, seen=seen)
            snapshot.written, snapshot.parts = (self._file.content, journal.end), parts
        return snapshot

    def close(self) -> None:
        """Give back locks. Arrays that were read stay valid, and snapshots. May be called again."""
        with self._lock:
            if self._closed:
                return
            named = self._named
            self._drop()  # and with it what this store needed itself
        with suppress(StoreError, FileNotFoundError):
            self._tidy(named, self.files.names())
        self.files.close()  # and what was opened for that

    @property
    def closed(self) -> bool:
        """Whether `close` was called; new snapshots and writes then raise ClosedError."""
        return self._closed

    def _drop(self) -> None:
        """Take no more, and hold no more."""
        self._closed = True
        self._let_go()
        self._snapshot = None
        self.files.close()

    @property
    def _named(self) -> tuple[FileRecord, ...]:
        """The files that the manifest names, also where records have taken the place of one of them."""
        if self._journal is not None:
            return self._journal.files
        return () if self._snapshot is None else self._snapshot.manifest.files

    def _tidy(self, named: Sequence[FileRecord], names: list[str]) -> None:
        """Sweep unless there is a writer, where files were found that the manifest does not name."""
        strays = file_names.strays(names, {record.name for record in named})
        if self.read_only or not strays or (turn := self._writing.take_free()) is None:
            return
        try:
            self._sweeper.unless_written()
        finally:
            self._writing.release(turn)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"The store {self.files.where} is closed.", "Open it again.")


def _create(files: Files) -> bool:
    """Commit an empty manifest into a folder without files of other programs; whether there was none."""
    found = files.names()
    if not file_names.holds_nothing_else(found):
        if not file_names.looks_like_store(found):
            raise NotAStore(
                f"The folder {files.where} is not empty and holds no store of gdb.",
                "Give a new name, or the folder of a store.",
            )
        return False  # the manifest of a store is missing: reading says so
    files.lock_writer()
    try:
        if MANIFEST in files.names():
            return False
        manifests.commit(files, Manifest())
        return True
    finally:
        files.unlock_writer()

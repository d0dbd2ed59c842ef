"""One committed state of a store as a value: what another process needs to read the same
(`gdb.executor.cluster.cluster`).

A state is the manifest with the records behind it that had been written by then. Later commits write behind them, or
put another manifest in their place; the files that this one names stay as long as they are pinned, which the process
that sends the state does (`gdb.storage.disk.pins`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.errors import CorruptStore, NotAStore
from gdb.records import dataclass, field

from ..disk import file_names
from ..disk.files import PosixFiles
from ..disk.remote_files import RemoteFiles
from ..format import journal as journals
from ..format import manifest as manifests
from ..format.manifest_head import More, length_in
from .snapshot import Snapshot

if TYPE_CHECKING:
    from ..disk.files import Files


@dataclass(frozen=True, slots=True)
class State:
    """location : the folder of the store, or its URL. written : its manifest, and the records behind it. options : of
    the URL's file system (`storage_options=`), which may hold credentials."""

    location: str
    written: bytes
    options: Mapping[str, object] | None = field(default=None, compare=False, repr=False)

    def at(self, location: str | None) -> State:
        """The same state where other processes find it: in another folder, or at a URL; None: where it is."""
        return self if location is None else State(location, self.written, self.options)


def state_of(snapshot: Snapshot) -> State | None:
    """The state that a snapshot shows; None where it lies on no disk: in memory, or not committed."""
    if snapshot.written is None:
        return None
    content, end = snapshot.written
    written = bytes(content[:end])
    match snapshot.files:
        case RemoteFiles(url=url, options=options):
            return State(url, written, options or None)
        case PosixFiles(where=where):
            return State(str(Path(where).absolute()), written)
    return None


def open_state(state: State) -> Snapshot:
    """The snapshot of a state, its files pinned.

    Raises
    ------
    NotAStore : there is no such folder, or the files of the state are not in it.
    CorruptStore, StorePermissionError, StoreError : it cannot be read.
    """
    files: Files
    if "://" in state.location:
        files = RemoteFiles(state.location, state.options)
    else:
        files = PosixFiles(Path(state.location), create=False)
    manifest = manifests.decode(state.written, files.where)
    more = More(1, len(state.written))
    if manifest.journal:
        journal = journals.Journal(files, manifest, state.written[: length_in(state.written)])
        try:
            journal.follow(bytearray(state.written))
        except journals.Unsealed as error:  # the class that programs know
            raise CorruptStore(error.message, error.cure) from None
        if journal.end != len(state.written):
            raise CorruptStore(
                f"The state of {files.where} that was sent is not whole.", "Run the query again."
            )
        manifest, more = journal.manifest, journal.more
    try:
        pins = [
            files.pin(name) for name in file_names.first_of_each(r.name for r in manifest.files)
        ]
    except FileNotFoundError as error:
        raise NotAStore(
            f"The store {files.where} lacks the files of the version that the query reads: {error}.",
            "Keep the store's folder where every worker reads the same files.",
        ) from None
    return Snapshot(files, manifest, more, None, None, pins)

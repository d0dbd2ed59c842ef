"""Compaction: the base of a store is written anew with its delta, within commits or when it is called for."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from functools import partial

from gdb.base import waiting
from gdb.errors import StoreError

from ..format.manifest import Manifest
from ..format.segment import FileRecord
from ..graph.snapshot import Snapshot
from .build import Progress, rewrite
from .narrowing import AS_THEY_ARE, narrower
from .store import Store
from .transaction import Changes

# A delta is read and merged by every snapshot and written by every commit: one that is larger than this, and than this
# part of the base, is written into the base instead.
MOST_CHANGES = 1 << 16
PART_OF_BASE = 0.05
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_log = logging.getLogger("gdb")


class _Stopped(Exception):
    """A caller waits for the commit."""


class Compactor:
    """Writes the graph anew within commits, when the delta of an open store has grown.

    Where that is stopped or has no room the changes are committed as a delta all the same. The next commits do not try
    again before the delta has doubled: each of them would wait as long.

    budget : memory that it may take, bytes, see `gdb.storage.write.build.rewrite`; None for no limit.
    """

    def __init__(self, budget: int | None = None) -> None:
        self._budget = budget
        self._failed_at = 0  # changes that could not be written into the base
        self._failed: tuple[FileRecord, ...] = ()  # the files of that

    def is_due(self, size: int, manifest: Manifest) -> bool:
        """Whether so many changes are too many beside the base."""
        if self._failed_at and self._failed != manifest.base_files:  # it was written anew since
            self._failed_at = 0
        base = manifest.vertex_count + manifest.edge_count
        return size > max(MOST_CHANGES, PART_OF_BASE * base, 2 * self._failed_at)

    def written(self, store: Store, changes: Changes, progress: Progress | None) -> Snapshot:
        """Write the base anew with the changes, beside the main thread. What `progress` raises stops it."""
        work = partial(rewrite, store, changes.view, progress, self._budget)
        return waiting.aside(waiting.LEAST, work)

    def committed(
        self, store: Store, changes: Changes, stopped: Callable[[], bool]
    ) -> Snapshot | None:
        """Write the base anew with the changes; None where that came to nothing, and nothing was committed."""

        def progress(step: str, done: float) -> None:
            if stopped():
                raise _Stopped

        try:
            return self.written(store, changes, progress)
        except _Stopped:
            _log.info("to write the graph anew was stopped; its changes stay a delta")
        except (StoreError, MemoryError) as error:
            cause = error.__cause__
            full = isinstance(cause, OSError) and cause.errno in _NO_ROOM
            if not (full or isinstance(error, MemoryError)):
                raise
            if store.snapshot().version != changes.base.version:
                raise  # the switch was made, and only its sync failed
            reason = str(error) or "the machine has no more memory."
            _log.warning("there is no room to write the graph anew: %s", reason)
        self._failed_at = changes.delta.size
        self._failed = changes.base.manifest.base_files
        return None


def compact(
    store: Store,
    progress: Progress | None = None,
    budget: int | None = None,
    packed: bool | None = None,
) -> Snapshot:
    """Write the base anew with all changes, and number its vertices anew. What `progress` raises stops it; the store is
    as it was. Readers are not disturbed. budget, packed : see `rewrite`. Properties get the kinds of `narrower`. What
    has no changes, and is as these and `packed` say, stays as it is."""
    with store.writer(lambda: progress and progress("waiting", 0.0)):
        snapshot = store.snapshot()
        manifest = snapshot.manifest
        snapshot.look()
        kinds = narrower(snapshot, lambda: progress and progress("reading", 0.0))
        if manifest.delta is None and packed in (None, manifest.packed) and kinds == AS_THEY_ARE:
            return snapshot
        del snapshot  # its files go with the writer's lock
        return rewrite(store, store.snapshot(), progress, budget, packed, kinds)

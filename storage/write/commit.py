"""Commit: the changes of a transaction become the store's state, at once or not at all."""

from __future__ import annotations

from collections.abc import Callable

from gdb.errors import ChangeRefused
from gdb.records import replace

from ..format.manifest_head import next_version
from ..format.segment import Inside
from ..graph import delta as deltas
from ..graph.snapshot import Snapshot
from .build import written_or_removed
from .compaction import Compactor
from .store import Store
from .transaction import Changes

# Bytes of a delta up to which it lies in a manifest: a file of its own costs two more waits for the disk.
MOST_INLINE = 1 << 18


def commit(
    store: Store,
    changes: Changes,
    compactor: Compactor | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Snapshot:
    """Make the changes the store's state, in one commit; the writer's lock must be held since they began.

    compactor : of the store, None for one without a budget. stopped : called while the graph is written anew;
    compaction ends when it returns true, and the commit goes on.

    Raises
    ------
    ChangeRefused : something else was committed since they began.
    StorePermissionError, StoreError : the store cannot be written; it is as it was.
    """
    if store.version != changes.base.version:
        raise ChangeRefused(
            "the store has changed since the transaction began",
            "Load files before or after a transaction, not inside.",
        )
    delta, manifest = changes.delta, changes.base.manifest
    if delta is changes.base.delta:
        return changes.base
    compactor = compactor or Compactor()
    if delta.rewrites:
        return compactor.written(store, changes, None)
    if compactor.is_due(delta.size, manifest) and (
        found := compactor.committed(store, changes, stopped)
    ):
        return found
    parts = deltas.parts_of(delta, len(manifest.base_files), changes.base.parts)
    if (appended := store.append(parts, delta, changes.seen)) is not None:
        return appended
    version = next_version(manifest.version)
    with written_or_removed(store, version) as writer:
        inline, sections = None, parts.sections
        if sum(section.data.nbytes for section in sections) <= MOST_INLINE:
            inline = Inside(sections)
        else:
            writer.place(sections)
            writer.finish()
        changed = replace(
            manifest,
            version=version,
            files=(*manifest.base_files, *writer.records),
            delta=parts.record,
            inline=inline,
            # a single commit leaves a store that an older gdb can read; after a second one many may follow
            journal=store.wrote_last and manifest.delta is not None,
        )
        return store.commit(changed, delta, parts, changes.seen)

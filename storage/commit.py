"""Commit: the changes of a transaction become the store's state, at once or not at all; and compaction."""

from __future__ import annotations

from dataclasses import replace

from gdb.errors import ChangeRefused
from gdb.storage import delta as deltas
from gdb.storage.build import Progress, rewrite, written_or_removed
from gdb.storage.segment import Inside
from gdb.storage.snapshot import Snapshot
from gdb.storage.store import Store
from gdb.storage.transaction import Changes

# A delta is read and merged by every snapshot and written by every commit: one that is larger than this, and than this
# part of the base, is written into the base instead.
MOST_CHANGES = 1 << 16
PART_OF_BASE = 0.05
# Bytes of a delta up to which it lies in a manifest: a file of its own costs two more waits for the disk.
MOST_INLINE = 1 << 18


def commit(store: Store, changes: Changes, progress: Progress | None = None) -> Snapshot:
    """Make the changes the store's state, in one commit; the writer's lock must be held since they began.

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
    size = manifest.vertex_count + manifest.edge_count
    if delta.size > max(MOST_CHANGES, PART_OF_BASE * size):
        return rewrite(store, changes.view, progress)
    sections, record = deltas.sections_of(delta, len(manifest.base_files))
    if (appended := store.append(record, sections, delta)) is not None:
        return appended
    version = manifest.version + 1
    with written_or_removed(store, version) as writer:
        inline = None
        if sum(section.data.nbytes for section in sections) <= MOST_INLINE:
            inline = Inside(sections)
        else:
            writer.place(sections)
            writer.finish()
        changed = replace(
            manifest,
            version=version,
            files=(*manifest.base_files, *writer.records),
            delta=record,
            inline=inline,
            # who commits once leaves what an older gdb reads; after a second time many may follow
            journal=store.wrote_last and manifest.delta is not None,
        )
        return store.commit(changed, delta, sections)


def compact(
    store: Store,
    progress: Progress | None = None,
    budget: int | None = None,
    packed: bool | None = None,
) -> Snapshot:
    """Write the base anew with all changes, and number its vertices anew. What `progress` raises stops it; the store is
    as it was. Readers are not disturbed. budget, packed : as of `write_graph`; a store that has no changes and is as
    `packed` says stays as it is."""
    with store.writer():
        manifest = store.snapshot().manifest
        if manifest.delta is None and packed in (None, manifest.packed):
            return store.snapshot()
        return rewrite(store, store.snapshot(), progress, budget, packed)

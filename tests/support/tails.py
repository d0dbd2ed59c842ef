"""The relational tail over a whole table at once."""

from __future__ import annotations

import threading

from gdb.executor.plan.embeddings import Embeddings
from gdb.executor.relational import relational_tail
from gdb.executor.relational.relational_tail import Tail, TailResult
from gdb.storage.graph.snapshot import Snapshot


def run(
    tail: Tail,
    found: Embeddings | int,
    snapshot: Snapshot,
    *,
    memory: int | None = None,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> TailResult:
    """The answer from all embeddings, or from their number (exactly where tail.count_only)."""
    parts = (
        [relational_tail.part(tail, found, snapshot)] if isinstance(found, Embeddings) else found
    )
    return relational_tail.finish(tail, parts, memory=memory, cancel=cancel, deadline=deadline)

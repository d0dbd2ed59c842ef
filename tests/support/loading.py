"""Imports into a store below the public face, options by their names."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gdb.storage import importer
from gdb.storage.importer import AnySource, Edges, LoadReport, Nodes
from gdb.storage.importer.load_options import LoadOptions
from gdb.storage.importer.meter import Progress
from gdb.storage.write.store import Store


def load(
    store: Store,
    source: AnySource | Sequence[AnySource] | None = None,
    *,
    nodes: Nodes | None = None,
    edges: Edges | None = None,
    import_root: Path | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    **options: Any,
) -> LoadReport:
    """As `gdb.storage.importer.load`; options : those of `LoadOptions`."""
    return importer.load(
        store,
        source,
        nodes=nodes,
        edges=edges,
        options=LoadOptions(**options),
        import_root=import_root,
        progress=progress,
        cancel=cancel,
    )

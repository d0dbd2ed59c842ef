"""A store of nodes :N {x} and relationships :R {w} between random ones of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gdb


def random_store(path: Path, nodes: int, relationships: int, *, packed: bool | None = None) -> Path:
    """Make it; x and id are 1, 2, ..., and so is w. packed : as `compact` has it."""
    ids = np.arange(1, nodes + 1)
    ends = np.random.default_rng(1).integers(1, nodes + 1, (2, relationships))
    with gdb.connect(path) as db:
        with db.transaction() as tx:
            tx.add_nodes("N", ids, {"x": ids})
            tx.add_relationships("R", ends[0], ends[1], {"w": np.arange(1, relationships + 1)})
        db.compact(packed=packed)
    return path

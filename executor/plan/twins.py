"""Rows that restrictions left out are written back (design.md §3: restrictions never change what a
query returns)."""

from __future__ import annotations

import numpy as np

from .embeddings import Embeddings
from .plan import Twin


def expand(table: Embeddings, twins: tuple[Twin, ...]) -> Embeddings:
    """Each row once for every automorphism in `twins`; the table itself where there are none."""
    if not twins:
        return table
    vids = np.concatenate([table.vids[:, list(t.vertices)] for t in twins])
    eids = np.concatenate([table.eids[:, list(t.edges)] for t in twins])
    return Embeddings(vids, eids)

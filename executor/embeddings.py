"""The embeddings table: what the MATCH part of a query hands to the relational part (design.md
§3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Full assignments, one per row.

    vids : u32[n, query vertices]; column k is the data vertex of query vertex k.
    eids : i64[n, query edges]; column k is the edge id of query edge k, -1 where the plan did not
        bind it.
    """

    vids: npt.NDArray[np.uint32]
    eids: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.vids.shape[0])

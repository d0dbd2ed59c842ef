"""The bound of a run over rows that another way takes over from."""

from __future__ import annotations

from gdb.records import dataclass, quick


@quick
@dataclass(frozen=True, slots=True)
class Bound:
    """Where a run over rows ends for another way.

    taken : rows that go into operators. found : embeddings of each part of a pattern for a batch.
    expected : embeddings, where they were estimated.
    """

    taken: int
    found: int
    expected: float | None = None

"""Sets of query vertices as bit masks, and the parts that they fall into."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1 << 14)
def members(mask: int) -> tuple[int, ...]:
    """The vertices of a set, ascending; kept, because the same sets come again and again."""
    return tuple(k for k in range(mask.bit_length()) if mask >> k & 1)


def components(rest: int, tied: list[int]) -> list[int]:
    """Some vertices in sets of those that `tied`, of each vertex some others, joins."""
    found = []
    while rest:
        part, new = 0, rest & -rest
        while new:
            part |= new
            joined_to = 0
            for v in members(new):
                joined_to |= tied[v]
            new = joined_to & rest & ~part
        rest &= ~part
        found.append(part)
    return found

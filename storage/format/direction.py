"""Direction of the edges in a partition."""

from __future__ import annotations

from enum import StrEnum


class Direction(StrEnum):
    """How an edge is followed from the vertex that is already known."""

    OUT = "->"
    IN = "<-"
    ANY = "--"

    @property
    def flipped(self) -> Direction:
        """The same edge seen from its other end."""
        return {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(self, self)

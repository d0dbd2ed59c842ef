"""One damage of a store, and the two ways to make nonsense under checksums that fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.corrupt import sealed
from tests.corrupt.sealed import Json


@dataclass(frozen=True, slots=True)
class Damage:
    """kind : the line of the table. apply : does it to a fresh copy of the store."""

    kind: str
    what: str
    apply: Callable[..., object]

    @property
    def exhaustive(self) -> bool:
        """Whether the kind is a damage of single bytes, which are all worth trying."""
        return self.kind.endswith(" bytes")

    @property
    def unsealed(self) -> bool:
        """Whether a checksum must detect it, before a query reads a byte of it."""
        return self.exhaustive or self.kind in ("truncated", "grown", "zeroed sector", "swapped")


def of_manifest(kind: str, what: str, body: Json) -> Damage:
    """Another body of the manifest."""
    return Damage(kind, what, lambda folder: sealed.seal_json(folder, body))


def of_file(kind: str, name: str, content: bytes, at: int, new: bytes) -> Damage:
    """Other bytes at one place of a segment file that has this content."""
    changed = content[:at] + new + content[at + len(new) :]
    what = f"{name} at {at}: {new.hex()}"
    return Damage(kind, what, lambda folder: sealed.seal_file(folder, name, changed))

"""The format (docs/FORMAT.md) of a manifest: the oldest that has all that the store uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..columns.model import FIRST_KINDS

PART_SECTIONS = 5  # of each segment of a part
SPACE_SECTIONS = 2  # of an index of ids: keys, vids

if TYPE_CHECKING:
    from .manifest import ColumnRecord, Manifest


def format_of(manifest: Manifest) -> int:
    """The oldest format that has all that the store uses, so that an older gdb reads what it can."""
    if manifest.journal or manifest.packed:
        return 4
    kinds = {column.kind for column in columns_of(manifest)}
    if "any" in kinds:
        return 3
    # a reader that knows no delta must not overlook it
    return 1 if manifest.delta is None and kinds <= set(FIRST_KINDS) else 2


def columns_of(manifest: Manifest) -> Iterator[ColumnRecord]:
    """The columns of all properties, also those of the delta."""
    owned = [group.columns for group in manifest.groups] + [t.columns for t in manifest.types]
    if manifest.delta is not None:
        owned += [added.columns for added in manifest.delta.added]
        owned += [edges.columns for edges in manifest.delta.types]
        patches = [*manifest.delta.patches.values(), *(t.patches for t in manifest.delta.types)]
        yield from (patch.column for of in patches for patch in of.values())
    yield from (column for columns in owned for column in columns.values())

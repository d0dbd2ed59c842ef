"""Relationship types as a snapshot reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..columns.model import Kind, wider
from ..format.manifest import TypeRecord
from .delta import TypeDelta


class EdgeType(NamedTuple):  # a commit makes all of them anew, and these are made quickest
    """An edge type; its edges have the ids first_eid .. first_eid + edge_count - 1.

    keys : property key -> kind.
    """

    name: str
    directed: bool
    edge_count: int
    first_eid: int
    keys: Mapping[str, Kind]


def edge_type_of(record: TypeRecord | None, changes: TypeDelta | None, name: str) -> EdgeType:
    """A type whose edge ids begin with 0."""
    kinds: dict[str, Kind] = {}
    count = 0
    if record is not None:
        kinds |= {key: column.kind for key, column in record.columns.items()}
        count += record.edge_count
    if changes is not None:
        count += len(changes.keys) - len(changes.removed)
        new = [(key, column.kind) for key, column in changes.columns.items()]
        new += [(key, patch.column.kind) for key, patch in changes.patches.items()]
        for key, kind in new:
            kinds[key] = wider(kinds.get(key), kind)
    directed = record.directed if record is not None else changes is None or changes.directed
    return EdgeType(name, directed, count, 0, kinds)

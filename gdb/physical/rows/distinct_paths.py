"""Relationships of variable length that need one path between two nodes, and relationships that a path must differ
from."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from gdb.records import replace

if TYPE_CHECKING:
    from gdb.physical.rows.pattern import Pattern, RowEdge


def alike(a: RowEdge, b: RowEdge) -> bool:
    """Whether two edges of a pattern could be the same relationship, by their types."""
    return not a.types or not b.types or bool(set(a.types) & set(b.types))


def rivals(pattern: Pattern, edge: RowEdge) -> list[RowEdge]:
    """The other edges of a pattern that must differ from those of a path."""
    if not pattern.mode.edges_differ:
        return []
    others = (e for e in pattern.edges.values() if e.name != edge.name)
    return [e for e in others if e.clause == edge.clause and alike(edge, e)]


def mark_once(pattern: Pattern, needed: Set[str]) -> None:
    """Mark the edges that need one path between two nodes (`RowEdge.once`). needed : the names of the pattern that are
    needed of its rows; rows that are alike in these may be one row."""
    for edge in pattern.long:
        if _is_once(pattern, edge, needed):
            pattern.edges[edge.name] = replace(edge, once=True)


def _is_once(pattern: Pattern, edge: RowEdge, needed: Set[str]) -> bool:
    """Whether nothing names what an edge's paths go along, and no other path must differ from them."""
    named = {*needed, *(name for condition in pattern.conditions for name in condition.names)}
    named |= {name for one in pattern.long for name in one.mentions}
    routes = [route for route in pattern.routes if edge.name in route.edges]
    if edge.selector is not None or edge.name in named:
        return False
    if any(one.name in named or (one.acyclic and len(one.edges) > 1) for one in routes):
        return False
    return all(other.length is None for other in rivals(pattern, edge))

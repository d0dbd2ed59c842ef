"""The graph as an executor reads it: the part of `gdb.storage.graph.snapshot.Snapshot` that it reads."""

from __future__ import annotations

from typing import Protocol

from gdb.storage.graph.degree_order import Numbered


class GraphSource(Numbered, Protocol):
    """A snapshot, as executors see it. Its adjacency is the same object for the same question."""

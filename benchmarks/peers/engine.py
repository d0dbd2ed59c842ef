"""What an engine must do to be compared, and the engines by name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.peers.data import GraphFiles
from benchmarks.peers.workload import Answer, Query

OURS = "ours"
FLOOR = "floor"
MODULES = {
    "ladybug": "ladybug",
    "kuzu": "kuzu",
    "duckdb": "duckdb",
    "igraph": "igraph",
    "graphblas": "graphblas",
}
DISTRIBUTIONS = {"graphblas": "python-graphblas"}
PEERS = tuple(MODULES)
WITH_STORE = frozenset({OURS, "ladybug", "kuzu", "duckdb"})


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session may use.

    Parameters
    ----------
    memory_gb : memory for engines that take a budget.
    threads : threads of ours; the peers take all cores.
    edge_labels : how ours holds an edge's label where a query tests it, "types" or "property".
    point_seconds : time after which the point queries end, though not all have run.
    """

    memory_gb: int = 8
    threads: int = 1
    edge_labels: str = "types"
    point_seconds: float = 60.0


class Session(Protocol):
    """A graph that an engine has opened."""

    def answer(self, query: Query) -> Answer | None:
        """Run a query; None if the engine cannot express it."""


class Engine(Protocol):
    """A way to load and open graphs."""

    def load(self, graph: GraphFiles, store: Path) -> None:
        """Make what `open` opens; an engine in memory makes nothing."""

    def open(self, graph: GraphFiles, store: Path, query: Query, settings: Settings) -> Session:
        """Open the graph for a query."""


def engine_of(name: str) -> Engine:
    """The engine of that name; its library is imported here and not before."""
    if name == OURS:
        from benchmarks.peers.ours import Ours

        return Ours()
    if name == FLOOR:
        from benchmarks.peers.floor import Floor

        return Floor()
    if name == "duckdb":
        from benchmarks.peers.duckdb_sql import DuckDB

        return DuckDB()
    if name in ("kuzu", "ladybug"):
        from benchmarks.peers.kuzu_cypher import Kuzu

        return Kuzu(name)
    if name == "igraph":
        from benchmarks.peers.igraph_vf2 import Igraph

        return Igraph()
    if name == "graphblas":
        from benchmarks.peers.graphblas_algebra import GraphBLAS

        return GraphBLAS()
    raise ValueError(f"there is no engine {name!r}")


def kind_of_store(query: Query, edge_labels: str) -> str:
    """Which of the three stores of ours (see `peers.ours`) a query reads."""
    if query.name == "agg":
        return "directed"
    labelled = query.pattern is not None and query.pattern.has_edge_labels
    return "typed" if labelled and edge_labels == "types" else "plain"


def bytes_below(folder: Path) -> int:
    """Bytes of all files in a folder, or of a file."""
    if folder.is_file():
        return folder.stat().st_size
    return sum(
        (Path(root) / file).lstat().st_size for root, _, files in os.walk(folder) for file in files
    )

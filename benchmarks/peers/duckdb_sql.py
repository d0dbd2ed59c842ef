"""DuckDB: every pattern as one join in plain SQL.

Table v holds the vertices, e each edge once, s each edge in both directions; all are sorted.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.peers.data import GraphFiles
from benchmarks.peers.engine import Settings
from benchmarks.peers.workload import LEAST_VALUE, Answer, Pattern, Query, grouped, two_hops

_HOP2 = """
    SELECT count(DISTINCT b.dst) FROM s a JOIN s b ON a.dst = b.src WHERE a.src = ? AND b.dst <> ?
"""
_AGG = f"""
    SELECT b.lbl, count(*) FROM v a JOIN e ON a.id = e.src JOIN v b ON b.id = e.dst
    WHERE a.val >= {LEAST_VALUE} GROUP BY 1
"""


class DuckDB:
    """Loading and opening."""

    def load(self, graph: GraphFiles, store: Path) -> None:
        """Read the CSV files into three sorted tables."""
        nodes, edges = graph.folder / "nodes.csv", graph.folder / "edges.csv"
        with duckdb.connect(store) as connection:
            connection.execute(f"CREATE TABLE v AS FROM read_csv('{nodes}') ORDER BY id")
            connection.execute(f"CREATE TABLE e AS FROM read_csv('{edges}') ORDER BY src, dst")
            connection.execute(
                "CREATE TABLE s AS (FROM e UNION ALL SELECT dst, src, lbl FROM e) ORDER BY 1, 2"
            )

    def open(
        self, graph: GraphFiles, store: Path, query: Query, settings: Settings
    ) -> DuckDBSession:
        """Open the database read-only, with the memory budget."""
        connection = duckdb.connect(store, read_only=True)
        connection.execute(f"SET memory_limit = '{settings.memory_gb}GB'")
        return DuckDBSession(connection, graph.vertices, settings.point_seconds)


class DuckDBSession:
    """An open database."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, vertices: int, point_seconds: float
    ) -> None:
        self._connection = connection
        self._vertices = vertices
        self._point_seconds = point_seconds

    def answer(self, query: Query) -> Answer | None:
        """Run a query."""
        if query.name == "hop2":
            return two_hops(self._second_neighbours, self._vertices, self._point_seconds)
        if query.name == "agg":
            return grouped(self._connection.execute(_AGG).fetchall())
        if query.pattern is None:
            return None
        rows = self._connection.execute(sql(query.pattern)).fetchall()
        return Answer(int(rows[0][0]) if query.pattern.limit is None else len(rows))

    def _second_neighbours(self, vertex: int) -> int:
        row = self._connection.execute(_HOP2, [vertex, vertex]).fetchone()
        return 0 if row is None else int(row[0])


def sql(pattern: Pattern) -> str:
    """A pattern as a join of edge tables, and of vertex tables where it has labels."""
    tables: list[str] = []
    conditions: list[str] = []
    column: dict[int, str] = {}  # where a pattern vertex is found
    for k, edge in enumerate(pattern.edges):
        tables.append(f"{'e' if edge.ascending else 's'} e{k}")
        for vertex, end in ((edge.source, f"e{k}.src"), (edge.target, f"e{k}.dst")):
            if vertex in column:
                conditions.append(f"{column[vertex]} = {end}")
            column.setdefault(vertex, end)
        if edge.label is not None:
            conditions.append(f"e{k}.lbl = {edge.label}")
    for vertex, label in enumerate(pattern.labels):
        tables.append(f"v v{vertex}")
        conditions += [f"v{vertex}.id = {column[vertex]}", f"v{vertex}.lbl = {label}"]
    conditions += [f"{column[i]} < {column[j]}" for i, j in pattern.less]
    conditions += [f"{column[i]} <> {column[j]}" for i, j in pattern.unequal()]
    source = f"FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"
    if pattern.limit is None:
        return f"SELECT count(*) {source}"
    columns = ", ".join(column[vertex] for vertex in range(pattern.size))
    return f"SELECT {columns} {source} LIMIT {pattern.limit}"

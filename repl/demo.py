"""`gdbsh demo`: the code graph of the running Python's standard library, imported and questioned.

Nothing is canned: the graph is built from the files of the machine that it runs on.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TextIO

import gdb
from gdb.answer.summary import counted
from gdb.answer.table import table

from . import codegraph

WIDTH = 110
SHOWN = 8

QUESTIONS: tuple[tuple[str, str], ...] = (
    (
        "Which modules import each other?",
        "MATCH SUBGRAPHS (a:Module)-[:IMPORTS]->(b:Module)-[:IMPORTS]->(a)\n"
        "RETURN a.name, b.name ORDER BY a.name, b.name",
    ),
    (
        "Import cycles of length 3, each once",
        "MATCH SUBGRAPHS (a:Module)-[:IMPORTS]->(b:Module)-[:IMPORTS]->(c:Module)-[:IMPORTS]->(a)\n"
        "RETURN a.name, b.name, c.name ORDER BY a.name, b.name, c.name",
    ),
    (
        "Diamond inheritance: two bases that share a base",
        "MATCH SUBGRAPHS (bottom:Class)-[:INHERITS]->(left:Class)-[:INHERITS]->(top:Class),\n"
        "      (bottom)-[:INHERITS]->(right:Class)-[:INHERITS]->(top)\n"
        "RETURN bottom.id, left.name, right.name, top.name ORDER BY bottom.id",
    ),
    (
        "The modules that most modules import",
        "MATCH (user:Module)-[:IMPORTS]->(m:Module)\n"
        "RETURN m.name, count(*) AS importers ORDER BY importers DESC, m.name",
    ),
    (
        "A method that calls a function of a module which its own module imports (5 nodes, 5 edges)",
        "MATCH (m:Module)-[:DEFINES]->(c:Class)-[:DEFINES]->(method:Function)-[:CALLS]->(f:Function),\n"
        "      (n:Module)-[:DEFINES]->(f), (m)-[:IMPORTS]->(n)\n"
        "RETURN m.name AS module, c.name AS class, method.name AS method, n.name AS imported,\n"
        "       f.name AS function ORDER BY module, class, method, imported, function",
    ),
)
COUNTED = "MATCH (a:Function)-[:CALLS]->(b:Function)-[:CALLS]->(c:Function), (a)-[:CALLS]->(c) RETURN count(*)"


def run(path: str | None, out: TextIO) -> None:
    """Build the graph, store it at `path` (None: a temporary folder) and answer the questions.

    Raises
    ------
    GdbError : the store cannot be written, or is not empty.
    """
    with tempfile.TemporaryDirectory(prefix="gdb-demo-") as folder:
        store = Path(path) if path else Path(folder) / "code.gdb"
        files = _build(Path(folder), out)
        with gdb.connect(store) as db:
            _load(db, files, out)
            for title, query in QUESTIONS:
                _ask(db, title, query, out)
            _ask(db, "How that is planned", f"EXPLAIN {COUNTED}", out, rows=40)
            _ask(db, "... and answered", COUNTED, out)
            _storage(db, out)
        if path:
            print(f"\nThe store is kept: gdbsh {path}", file=out)


def _build(folder: Path, out: TextIO) -> codegraph.Files:
    library = codegraph.standard_library()
    print(f"Reading the standard library in {library} ...", file=out, flush=True)
    began = time.perf_counter()
    graph = codegraph.build(library)
    files = codegraph.write(graph, folder)
    edges = sum(map(len, (graph.defines, graph.imports, graph.inherits, graph.calls)))
    print(
        f"{len(graph.modules):,} modules, {len(graph.classes):,} classes, "
        f"{len(graph.functions):,} functions and {edges:,} relationships written as CSV "
        f"in {time.perf_counter() - began:.1f} s",
        file=out,
    )
    return files


def _load(db: gdb.Database, files: codegraph.Files, out: TextIO) -> None:
    if db.stats().vertices:
        raise gdb.GdbError("The demo's store is not empty.", "Name a new folder.")
    report = db.load(nodes=files.nodes, edges=files.edges)
    print(
        f"imported {report.vertices:,} nodes and {report.edges:,} relationships "
        f"in {report.seconds:.1f} s\n",
        file=out,
    )
    print(db.schema(), file=out)


def _ask(db: gdb.Database, title: str, query: str, out: TextIO, rows: int = SHOWN) -> None:
    print(f"\n--- {title}\n{query};", file=out)
    began = time.perf_counter()
    result = db.execute(query)
    seconds = time.perf_counter() - began
    found = result.fetchall()
    for line in table(result.columns, found[:rows], WIDTH):
        print(line, file=out)
    more = f", {len(found) - rows:,} not shown" if len(found) > rows else ""
    print(f"({counted(len(found), 'row')} in {1000 * seconds:,.1f} ms{more})", file=out, flush=True)


def _storage(db: gdb.Database, out: TextIO) -> None:
    stats = db.stats()
    print(f"\n--- The store: {stats.bytes:,} bytes in {stats.files} files", file=out)
    columns = ["type", "direction", "rows", "intervals", "edges", "bytes"]
    rows = [(p.type, str(p.direction), p.rows, p.intervals, p.edges, p.bytes) for p in stats.parts]
    for line in table(columns, rows, WIDTH):
        print(line, file=out)

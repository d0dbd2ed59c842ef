"""Reads of a few rows from a key, beside other graph databases.

    python -m benchmarks.matching.short_reads [--nodes 5e4] [--each 10] [--system gdb ladybug ...]
        [--peer-python PATH] [--limit 300] [--save]

A graph of so many nodes, and so many relationships of each, chosen at random; each query has a key as its parameter,
another one in each run. Each system runs in a process of its own, in the first Python that has it; those that are not
installed are named and left out. A second table has what is behind a pattern of more and more embeddings, over rows and
as a SELECT. The exit code is 1 if an answer differs from ours.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import gdb
from benchmarks.peers import short_reads
from benchmarks.peers import statements as systems
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from benchmarks.storage.statements import REPOSITORY, installed
from gdb.physical.rows import row_tail
from gdb.run import columns_or_rows

EMBEDDINGS = (32, 128, 512, 1024, 2048)
BEHIND = (
    "RETURN b.id AS i, b.x AS x ORDER BY x DESC, i LIMIT 10",
    "RETURN b.x % 50 AS g, count(*) AS n, sum(b.x) AS s ORDER BY n DESC, g",
    "RETURN DISTINCT b.name AS s ORDER BY s",
    "RETURN count(b.x), avg(b.x), max(b.name)",
)
SYSTEMS = ("gdb", "ladybug", "kuzu", "NeuG", "ArcadeDB")
Found = dict[str, list[float | str]]


def run(python: str, name: str, folder: Path, nodes: int, limit: float) -> Found:
    """What one system measures, as far as it came."""
    command = [python, "-m", "benchmarks.peers.short_reads", name, str(folder), str(nodes)]
    here = folder / f"here-{name}"  # ArcadeDB writes its log where it is run
    here.mkdir()
    paths = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths}
    with (here / "out").open("w+") as out:
        try:
            subprocess.run(
                command, check=False, stdout=out, cwd=here, env=environment, timeout=limit
            )
        except subprocess.TimeoutExpired:
            print(f"    {name}: stopped after {limit:.0f} s", file=sys.stderr)
        out.seek(0)
        found: Found = {}
        for line in out:
            if line.startswith("{"):
                found |= json.loads(line)
    return found


def table(found: dict[str, Found], queries: dict[str, str]) -> Table:
    """Median and 99th percentile of each query, a pair of columns for each system."""
    columns = [Column(f"{name}, {what}", "ms") for name in found for what in ("p50", "p99")]
    rows: list[list[Cell]] = []
    for query in queries:
        cells: list[Cell] = [query]
        for one in found.values():
            times = one.get(query, [])
            cells += times[:2] if len(times) == 3 else ["-", "-"]
        rows.append(cells)
    return Table.of(("query", *columns), rows, "")


def behind() -> Table:
    """What is behind so many embeddings, as rows and as a SELECT of DuckDB: medians of ours."""
    rows: list[list[Cell]] = []
    with gdb.connect() as db, patch.object(row_tail, "MOST", max(EMBEDDINGS)):
        db.execute("UNWIND range(0, 9) AS i CREATE (:Hub {id: i})")
        for i, number in enumerate(EMBEDDINGS):
            db.execute(
                "MATCH (a:Hub {id: $i}) UNWIND range(1, $n) AS k "
                "CREATE (a)-[:KNOWS]->(:P {id: k, x: k * 7919 % 997, name: 'n' + (k % 503)})",
                {"i": i, "n": number},
            )
        for text in BEHIND:  # once before, for the first SELECT of a process loads DuckDB
            _median(db, f"MATCH (b:P) {text}", 0, "columns")
            cells: list[Cell] = [text]
            for i in range(len(EMBEDDINGS)):
                for way in (None, "columns"):
                    cells.append(
                        _median(db, f"MATCH (a:Hub {{id: $i}})-[:KNOWS]->(b) {text}", i, way)
                    )
            rows.append(cells)
    columns = [Column(f"{n:,}, {how}", "ms") for n in EMBEDDINGS for how in ("rows", "SELECT")]
    return Table.of(("behind so many embeddings", *columns), rows, "")


def _median(db: gdb.Database, text: str, key: int, way: str | None) -> float:
    spent = []
    # a text of its own each time: what is kept and bound is of one way
    text = f"{text} // {way}"
    with patch.object(columns_or_rows, "WAY", way):
        for _ in range(30):
            begin = time.perf_counter()
            db.execute(text, {"i": key} if "$i" in text else {}).fetchall()
            spent.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(spent)


def wrong(found: dict[str, Found]) -> list[str]:
    """The systems and queries whose answers are not ours."""
    own = found.get("gdb", {})
    return [
        f"{name}: {query}"
        for name, several in found.items()
        for query, one in several.items()
        if len(one) == 3 and len(own.get(query, [])) == 3 and one[2] != own[query][2]
    ]


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=float, default=5e4)
    parser.add_argument("--each", type=int, default=10, help="relationships of each node")
    parser.add_argument("--system", nargs="+", default=[*SYSTEMS], choices=SYSTEMS)
    parser.add_argument("--peer-python", action="append", default=[], help="that has more systems")
    parser.add_argument("--limit", type=float, default=300, help="seconds of one system")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args(line)
    here, absent = installed(arguments.system, arguments.peer_python)
    nodes, found = int(arguments.nodes), dict[str, Found]()
    with tempfile.TemporaryDirectory(prefix="gdb-sr-") as temporary:
        folder = Path(temporary)
        systems.data(folder, nodes, arguments.each)
        for name, python in here.items():
            found[name] = run(python, name, folder, nodes, arguments.limit)
            print(f"{name}: {found[name]}", flush=True)
    differing = wrong(found)
    reasons = [
        f"{name}, {query}: {one[0]}"
        for name, several in found.items()
        for query, one in several.items()
        if len(one) < 3
    ]
    report = Report.of(
        f"{nodes:,} nodes, {nodes * arguments.each:,} relationships. Each query has run "
        f"{short_reads.WARM} times before; {short_reads.REPEATS} runs, each with another key, rows fetched.",
        [table(found, short_reads.QUERIES), behind()],
        [*reasons, *(f"another answer than ours: {one}" for one in differing)]
        + ([f"not installed: {', '.join(absent)}"] if absent else []),
    )
    print(f"\n{report.markdown()}")
    if arguments.save:
        page.save(__file__, "Short reads", report, *systems.MODULES.values())
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

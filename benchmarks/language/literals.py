"""Texts that differ in their literals alone: each new to the process, beside one text with parameters.

    python -m benchmarks.language.literals [--nodes 1e5] [--texts 1500] [--save]

A store of n nodes and 3 n relationships in memory. Each statement is run with as many other values, written into its
text and given as parameters: microseconds for each, the mean of the runs after the first ten; and the memory that the
process holds more after the texts than before. The exit code is 1 if an answer differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

STATEMENTS = {
    "a key": "MATCH (a:P {id: %s}) RETURN a.x",
    "a property": "MATCH (a:P) WHERE a.name = %s RETURN a.x",
    "a hop from a key": "MATCH (a:P {id: %s})-[:K]->(b) RETURN b.id",
    "two hops from a key": "MATCH (a:P {id: %s})-[:K]->(b)-[:K]->(c) RETURN c.id",
    "counted": "MATCH (a:P {id: %s})-[:K]->(b) RETURN count(*)",
}


def filled(nodes: int) -> gdb.Database:
    """A store with nodes P(id, name, x) and relationships K between random ones."""
    draw, ids = np.random.default_rng(7), np.arange(nodes)
    db = gdb.connect()
    with db.transaction() as tx:
        names = [f"n{k}" for k in range(nodes)]
        tx.add_nodes("P", ids, {"id": ids, "name": names, "x": draw.integers(0, 100, nodes)})
        tx.add_relationships("K", *draw.integers(0, nodes, (2, 3 * nodes)))
    return db


def resident() -> int:
    """Bytes that the process holds."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096


def row(db: gdb.Database, text: str, values: list[object]) -> tuple[list[Cell], bool]:
    """The cells of a statement, and whether both ways give the same."""
    took, answers = [0.0, 0.0], list[list[object]]()
    before = resident()
    for way in (0, 1):
        found = list[object]()
        for number, value in enumerate(values):
            written = f"'{value}'" if isinstance(value, str) else str(value)
            begin = time.perf_counter()
            if way == 0:
                rows = db.execute(text % written).fetchall()
            else:
                rows = db.execute(text % "$v", {"v": value}).fetchall()
            took[way] += (time.perf_counter() - begin) * (number >= 10)
            found.append(sorted(rows, key=repr))
        answers.append(found)
        if way == 0:
            held = resident() - before
    each = [1e6 * seconds / (len(values) - 10) for seconds in took]
    return [*each, each[0] / each[1], held / 2**20], answers[0] == answers[1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=float, default=1e5)
    parser.add_argument("--texts", type=int, default=1500)
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    given = parser.parse_args()
    nodes, rows, wrong = int(given.nodes), list[list[Cell]](), 0
    with filled(nodes) as db:
        for name, text in STATEMENTS.items():
            keys = np.random.default_rng(3).permutation(nodes)[: given.texts].tolist()
            values = [f"n{k}" for k in keys] if "name" in text else keys
            cells, equal = row(db, text, values)
            rows.append([name, *cells])
            wrong += not equal
    columns = (
        Column("literals", "us", 1),
        Column("parameters", "us", 1),
        Column("ratio", decimals=2),
    )
    report = Report.of(
        f"{nodes:,} nodes, {3 * nodes:,} relationships; {given.texts:,} texts of each statement.",
        [Table.of(("statement", *columns, Column("held", "MiB", 1)), rows)],
        [f"{name}: `{text.replace('%s', '...')}`" for name, text in STATEMENTS.items()],
    )
    print(report.markdown())
    if given.save:
        page.save(__file__, "Texts with other literals", report)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

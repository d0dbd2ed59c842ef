"""What every clause gets: key look-ups, one nest and kept plans, also behind WITH, UNWIND, MERGE and DELETE.

    python -m benchmarks.language.clause_composition [--nodes 1e6] [--save]

A store of n nodes and 3 n relationships. Statements that touch a few rows: milliseconds, the median and the 99th
percentile of 400 runs, without the commit. Patterns written in two ways: whether EXPLAIN shows one plan, the
milliseconds of both, and their ratio. The exit code is 1 if the two ways of a pattern differ in their answer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

RUNS, PATTERN_RUNS = 400, 5
STATEMENTS = {
    "MERGE of a node": "MERGE (n:P {id: $i})",
    "UNWIND of ten maps": "UNWIND $rows AS r MATCH (n:P {id: r.id}) RETURN n.name",
    "UNWIND of ten keys": "UNWIND $ids AS i MATCH (n:P {id: i}) RETURN n.name",
    "OPTIONAL MATCH at a key": "MATCH (a:P {id: $i}) OPTIONAL MATCH (a)-[:K]->(b) RETURN a.name, collect(b.id)",
    "a count, then a MATCH": "MATCH (a:P {id: $i})-[:K]->(b) WITH a, count(b) AS n MATCH (a)-[:K]->(c) RETURN c.id, n",
    "two hops from a key": "MATCH (a:P {id: $i})-[:K]->(b)-[:K]->(c) RETURN c.id",
    "SET behind WITH": "MATCH (a:P {id: $i}) WITH a LIMIT 1 SET a.x = 1",
    "MERGE of a relationship": "MATCH (a:P {id: $i}), (b:P {id: $j}) MERGE (a)-[:K]->(b)",
    "DETACH DELETE": "MATCH (a:P {id: $k}) DETACH DELETE a",
}
PAIRS = {
    "triangle": (
        "MATCH (a)-[:K]->(b) MATCH (b)-[:K]->(c) MATCH (a)-[:K]->(c) RETURN count(*)",
        "MATCH (a)-[:K]->(b) WITH a, b MATCH (b)-[:K]->(c) MATCH (a)-[:K]->(c) RETURN count(*)",
    ),
    "window": (
        "MATCH (a)-[e:K]->(b)-[f:K]->(c) WHERE f.t >= e.t AND f.t - e.t <= 100 RETURN count(*)",
        "MATCH (a)-[e:K]->(b)-[f:K]->(c) WITH a, e, f, c WHERE f.t >= e.t AND f.t - e.t <= 100 RETURN count(*)",
    ),
    "anti-edge": (
        "MATCH (a)-[:K]->(b)-[:K]->(c) WHERE a <> c AND NOT (a)-[:K]->(c) RETURN count(*)",
        "MATCH (a)-[:K]->(b)-[:K]->(c) WITH a, b, c WHERE a <> c AND NOT (a)-[:K]->(c) RETURN count(*)",
    ),
    "anti-edge, grouped": (
        "MATCH (a)-[:K]->(b)-[:K]->(c) WHERE a <> c AND NOT (a)-[:K]->(c) RETURN a.x AS x, count(*) AS n ORDER BY x",
        "MATCH (a)-[:K]->(b)-[:K]->(c) WHERE a <> c AND NOT (a)-[:K]->(c) WITH a.x AS x, count(*) AS n RETURN x, n"
        " ORDER BY x",
    ),
}


def filled(folder: Path, nodes: int) -> gdb.Database:
    """A store with nodes P(id, name, x) and relationships K(t) between random ones."""
    draw = np.random.default_rng(7)
    db = gdb.connect(folder / "s.gdb")
    ids = np.arange(nodes)
    with db.transaction() as tx:
        names = [f"n{k}" for k in range(nodes)]
        tx.add_nodes("P", ids, {"id": ids, "name": names, "x": draw.integers(0, 100, nodes)})
        starts, ends = draw.integers(0, nodes, (2, 3 * nodes))
        tx.add_relationships("K", starts, ends, {"t": draw.integers(0, 10_000, 3 * nodes)})
    return db


def spent(db: gdb.Database, text: str, nodes: int) -> list[Cell]:
    """The cells of a statement."""
    draw, took, way = np.random.default_rng(3), list[float](), ""
    for number in range(RUNS + 20):
        i, j = (int(k) for k in draw.integers(0, nodes // 2, 2))
        ten = [int(k) for k in draw.integers(0, nodes // 2, 10)]
        values = {
            "i": i,
            "j": j,
            "k": nodes // 2 + number,
            "ids": ten,
            "rows": [{"id": k} for k in ten],
        }
        asked = {name: value for name, value in values.items() if f"${name}" in text}
        begin = time.perf_counter()
        found = db.execute(text, asked)
        found.fetchall()
        took.append(time.perf_counter() - begin - found.summary.seconds.get("commit", 0.0))
        way = found.summary.evaluator if found.summary.why else "one pattern"
    took = took[20:]
    return [1e3 * statistics.median(took), 1e3 * float(np.quantile(took, 0.99)), way]


def nests(explained: str) -> list[str]:
    """The plans of the patterns, which are below their MATCH."""
    return [line for line in explained.splitlines() if line.startswith("  ")]


def pair(db: gdb.Database, texts: tuple[str, str]) -> tuple[list[Cell], bool]:
    """The cells of a pattern that is written in two ways, and whether the answers are the same."""
    took: list[list[float]] = [[], []]
    answers = [db.execute(text).fetchall() for text in texts]
    for _ in range(PATTERN_RUNS):
        for text, seconds in zip(texts, took, strict=True):
            begin = time.perf_counter()
            db.execute(text).fetchall()
            seconds.append(time.perf_counter() - begin)
    first, second = (statistics.median(seconds) for seconds in took)
    plans = [nests(db.explain(text)) for text in texts]
    alike = "same" if plans[0] == plans[1] else "other"
    return [alike, 1e3 * first, 1e3 * second, second / first], answers[0] == answers[1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=float, default=1e6)
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    given = parser.parse_args()
    nodes, wrong = int(given.nodes), 0
    with tempfile.TemporaryDirectory() as folder, filled(Path(folder), nodes) as db:
        rows: list[list[Cell]] = [
            [name, *spent(db, text, nodes)] for name, text in STATEMENTS.items()
        ]
        pairs = list[list[Cell]]()
        for name, texts in PAIRS.items():
            cells, equal = pair(db, texts)
            pairs.append([name, *cells])
            wrong += not equal
    times = (Column("median", "ms", 3), Column("p99", "ms", 3))
    both = (Column("without WITH", "ms", 1), Column("with WITH", "ms", 1))
    report = Report.of(
        f"{nodes:,} nodes, {3 * nodes:,} relationships; times without the commit.",
        [
            Table.of(("statement", *times, "way"), rows),
            Table.of(
                ("pattern", "plan", *both, Column("ratio", decimals=2)),
                pairs,
                "Patterns in one MATCH or several, and the same with a WITH between.",
            ),
        ],
        [
            *(f"{name}: `{text}`" for name, text in STATEMENTS.items()),
            *(f"{name}: `{one}`, `{two}`" for name, (one, two) in PAIRS.items()),
        ],
    )
    print(report.markdown())
    if given.save:
        page.save(__file__, "Composition of clauses", report)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

"""How long it takes to understand a query, step by step: parse, check, bind and plan.

    python -m benchmarks.language.preparation [--repeat 200] [--save]

Two patterns over a small graph whose labels all nodes have: six relationships between six nodes, and twelve nodes in a
ring with chords; and the first with conditions, which bind evaluates over the columns. Medians of a warm process; each
text is read anew, since what was understood is kept by `db.execute`. The aim is 2 ms for the first and 10 ms for the
last. The exit code is 0 whatever comes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from gdb.language.checks import check
from gdb.language.parser import parse
from gdb.logical.planning import planned
from gdb.physical.binder import bind
from gdb.physical.one_pattern import one_pattern
from gdb.planner import plan
from gdb.query_graph import DIFFERENT_EDGES
from gdb.storage.graph.snapshot import Snapshot

NODES, DEGREE = 2000, 4
_SIX = (
    "(a:L0)-[:T]->(b:L1)-[:T]->(c:L0)-[:T]->(d:L1), (a)-[:T]->(c), (b)-[:T]->(d), (d)-[r:T]->(e:L0)"
)
QUERIES: Mapping[str, tuple[str, float]] = {
    "6 relationships": (
        f"MATCH {_SIX} RETURN a.x AS x, count(*) AS n ORDER BY n DESC LIMIT 10",
        2.0,
    ),
    "6 relationships, WHERE": (
        f"MATCH {_SIX} WHERE a.x > 10 AND b.x < c.x AND r.since >= 5 RETURN a.x AS x, count(*) AS n LIMIT 10",
        2.0,
    ),
    "12 nodes": (
        "MATCH "
        + ", ".join(f"(v{k}:L{k % 2})-[:T]->(v{(k + 1) % 12})" for k in range(12))
        + ", (v0)-[:T]->(v6), (v3)-[:T]->(v9), (v2)-[:T]->(v4) RETURN count(*)",
        10.0,
    ),
}
"""Name, text, and the milliseconds that are aimed at."""


def fill(db: gdb.Database) -> None:
    """Two labels, one type, a property on each side."""
    random = np.random.default_rng(1)
    with db.transaction() as tx:
        for k in range(2):
            ids = np.arange(k * NODES // 2, (k + 1) * NODES // 2)
            tx.add_nodes(f"L{k}", ids, {"x": random.integers(0, 100, len(ids))})
        ends = random.integers(0, NODES, (2, NODES * DEGREE))
        tx.add_relationships(
            "T", ends[0], ends[1], {"since": random.integers(0, 10, NODES * DEGREE)}
        )


def timed(work: Callable[[], object], repeat: int) -> float:
    """Milliseconds of this thread's processor time, the median: the machine may do other things as well."""
    seconds = []
    for _ in range(repeat):
        begin = time.thread_time()
        work()
        seconds.append(time.thread_time() - begin)
    return 1e3 * statistics.median(seconds)


def steps(text: str, snapshot: Snapshot, repeat: int) -> dict[str, float]:
    """Milliseconds of each step."""
    read = parse(text)
    asked = one_pattern(planned(read, {}, DIFFERENT_EDGES))
    assert asked is not None
    bound = bind(asked, snapshot, {}, DIFFERENT_EDGES)
    make = partial(plan, bound.graph, snapshot, counting=bound.tail.count_only)
    return {
        "parse": timed(lambda: parse(text), repeat),
        "check": timed(lambda: check(read, ()), repeat),
        "operators": timed(lambda: planned(read, {}, DIFFERENT_EDGES), repeat),
        "bind": timed(lambda: bind(asked, snapshot, {}, DIFFERENT_EDGES), repeat),
        "plan": timed(make, repeat),
    }


def main(line: list[str] | None = None) -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=200, help="(default: 200)")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args(line)
    rows: list[tuple[Cell, ...]] = []
    with gdb.connect() as db:
        fill(db)
        snapshot = db._store.snapshot()
        for name, (text, aim) in QUERIES.items():
            found = steps(text, snapshot, arguments.repeat)
            rows.append((name, *found.values(), sum(found.values()), aim))
    names = ("parse", "check", "operators", "bind", "plan", "in all", "aim")
    report = Report.of(
        f"Medians of {arguments.repeat}, processor time of one thread, over a graph of {NODES:,} nodes and "
        f"{NODES * DEGREE:,} relationships: the steps before a new query runs.",
        [Table.of(("query", *(Column(name, "ms") for name in names)), rows)],
    )
    print(report.markdown())
    if arguments.save:
        page.save(__file__, "Preparation of a query", report, "sqlglot", "numpy")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Seconds from before `import gdb` to the first answer in a fresh process, its kernel cached or yet to be compiled.

    python -m benchmarks.process.cold_start [--empty 3] [--warm 9] [--save]

Each process opens a store of hprd read-only and answers one query: the triangle, or a published query graph of 16
vertices; or a small store of people who know each other, and answers one of `FIRST`, which need different
modules. The kernels lie in the user's cache folder; here XDG_CACHE_HOME names one of its own, which is empty for the
processes that compile and full for the others. Python's bytecode is there, as an installation leaves it. Medians, and
the least CPU time, which other processes disturb less; the counts are compared. The exit code is 1 if a count differs,
2 if the graph is not here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import gdb
from benchmarks.inputs import graphs
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

REPOSITORY = Path(__file__).resolve().parents[2]
TRIANGLE = "MATCH DIFFERENT NODES (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)"
PEOPLE, KNOWN = 2_000, 5  # nodes, and relationships from each
FIRST = {
    "number of relationships": "MATCH (a)-[:KNOWS]->(b) RETURN count(*)",
    "node by its key": "MATCH (a:Person {id: 17}) RETURN a.age, a.name",
    "means by group": "MATCH (a:Person)-[:KNOWS]->(b) RETURN a.age, avg(b.age) AS mean ORDER BY mean, a.age LIMIT 5",
    "means over paths": "MATCH (a:Person)-->()-->(c) RETURN a.age, avg(c.age) AS mean ORDER BY mean, a.age LIMIT 5",
    "first write": f"CREATE (a:Person {{id: {PEOPLE}, age: 30}}) RETURN a.age",
}
"""What a process may be started for: counted, looked up, grouped (few rows, in Python; many, by DuckDB), written."""
_PROGRAM = """
import sys, time
start = time.perf_counter()
import gdb
imported = time.perf_counter()
db = gdb.connect(sys.argv[1], read_only=sys.argv[3] == "reads")
opened = time.perf_counter()
result = db.execute(sys.argv[2], device="cpu")
count = result.fetchall()[0][0]
end, cpu = time.perf_counter(), time.process_time()
import json
print(json.dumps({"count": count, "import": imported - start, "connect": opened - imported,
                  "execute": end - opened, "all": end - start, "cpu": cpu, "steps": dict(result.summary.seconds)}))
"""


@dataclass(frozen=True, slots=True)
class Start:
    """One fresh process: seconds of import, connect and the first execute, of its steps, and of all together; `cpu`: of
    the processor, for all threads, with the start of Python."""

    count: int
    seconds: dict[str, float]


def start(store: Path, query: str, cache: Path, *, writes: bool = False) -> Start:
    """Run one process with a cache folder."""
    own = {"XDG_CACHE_HOME": str(cache), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(store), query, "writes" if writes else "reads"],
        cwd=REPOSITORY,
        env=os.environ | own,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"the process ended with {done.returncode}: {done.stderr.strip()}")
    told = json.loads(done.stdout)
    steps = told.pop("steps")
    between = told["execute"] - sum(steps.values())
    return Start(told.pop("count"), told | steps | {"between": between})


def starts(store: Path, query: str, empty: int, warm: int) -> dict[str, list[Start]]:
    """So many processes with an empty cache folder, each with one of its own, and with the full one."""
    with tempfile.TemporaryDirectory(prefix="gdb-cache-") as temporary:
        caches = [Path(temporary) / str(k) for k in range(empty + 1)]
        compiled = [start(store, query, cache) for cache in caches]
        full = [start(store, query, caches[-1]) for _ in range(warm)]
    return {"empty": compiled[1:], "warm": full}  # the first may have written bytecode


def first_answers(folder: Path, processes: int) -> dict[str, dict[str, list[Start]]]:
    """What so many processes take for each of `FIRST`, in turns: a machine that is slower for a while is so for all."""
    store, cache, copy = folder / "people", folder / "cache", folder / "copy"
    _people(store)
    found: dict[str, dict[str, list[Start]]] = {name: {"warm": []} for name in FIRST}
    for turn in range(processes + 1):
        for name, query in FIRST.items():
            writes = query.startswith("CREATE")
            if writes:
                shutil.copytree(store, copy)
            one = start(copy if writes else store, query, cache, writes=writes)
            shutil.rmtree(copy, ignore_errors=True)
            if turn:  # the first compiles
                found[name]["warm"].append(one)
    return found


def _people(store: Path) -> None:
    """People with ages and names, each of whom knows some others."""
    ids = list(range(PEOPLE))
    people: dict[str, list[int] | list[str]] = {
        "id": ids,
        "age": [k % 80 for k in ids],
        "name": [f"p{k}" for k in ids],
    }
    sources = [k for k in ids for _ in range(KNOWN)]
    targets = [(7 * k + 13 * n * n + 1) % PEOPLE for n in range(KNOWN) for k in ids]
    with gdb.connect(store) as db:
        with db.transaction() as tx:
            tx.add_nodes("Person", ids, people)
            tx.add_relationships("KNOWS", sources, targets)
        db.compact()


def table(found: dict[str, dict[str, list[Start]]]) -> Table:
    """One row for each query and state of the cache: medians by part, and the least CPU time."""
    parts = (
        "cpu",
        "all",
        "import",
        "connect",
        "execute",
        "parse",
        "bind",
        "plan",
        "run",
        "between",
    )
    rows: list[tuple[Cell, ...]] = []
    for query, states in found.items():
        for state, several in states.items():
            if several:
                seconds = [
                    (min if part == "cpu" else statistics.median)(
                        [one.seconds.get(part, 0.0) for one in several]
                    )
                    for part in parts
                ]
                rows.append((query, state, len(several), *seconds))
    times = (Column(part, "s") for part in parts)
    return Table.of(("query", "cache", "processes", *times), rows)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    parser.add_argument("--empty", type=int, default=3, help="processes that compile (default: 3)")
    parser.add_argument("--warm", type=int, default=9, help="processes that do not (default: 9)")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Load, start processes, print."""
    arguments = arguments_of(line)
    if graphs.absent(arguments.data / "hprd" / "query_graph"):
        return 2
    first = graphs.published(arguments.data)[0]
    queries = {"triangle": TRIANGLE, first.name: first.cypher("isomorphisms")}
    with tempfile.TemporaryDirectory(prefix="gdb-cold-start-") as temporary:
        folder = (arguments.folder or Path(temporary)).absolute()
        store = graphs.loaded("hprd", folder, arguments.data)
        found = {
            name: starts(store, text, arguments.empty, arguments.warm)
            for name, text in queries.items()
        }
        measured = table(found | first_answers(Path(temporary), arguments.warm))
    report = Report.of(
        "From before `import gdb` to the first answer, a fresh process each, the files and their bytecode in memory; "
        "medians, and the least CPU time (`cpu`: all threads, from the start of Python). The first two queries run on "
        f"hprd, the others on a graph of {PEOPLE:,} nodes and {PEOPLE * KNOWN:,} relationships. `empty`: the folder of "
        "kernels is empty; parse, bind, plan and run are parts of execute, and the modules that a part is the first to "
        "need are loaded in it; `between` is loaded outside them.",
        [measured],
    )
    print(report.markdown())
    if arguments.save:
        page.save(__file__, "Cold start", report, "numpy", "llvmlite", "duckdb", "sqlglot")
    counts = [one.count for states in found[first.name].values() for one in states]
    return int(set(counts) != {first.counts["isomorphisms"]})


if __name__ == "__main__":
    sys.exit(main())

"""Relationships of variable length and shortest paths beside kuzu, ladybug and DuckDB: counts and milliseconds.

    python -m benchmarks.language.paths [--graph random rmat] [--nodes 100000] [--edges 1000000]
        [--system gdb kuzu ...] [--repeat 5] [--timeout 60] [--save]

Each system answers in a process of its own, from a store that it has loaded before, over all cores; the median of the
times after the first. kuzu and ladybug match trails (their default is walks); DuckDB has recursive queries over
its table of pairs, which keep the edges of each trail. Every answer is compared with ours. The exit code is 1 if one
differs.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Over, Table

I64 = npt.NDArray[np.int64]
STARTS, PAIRS = 1000, 100
SYSTEMS = ("gdb", "kuzu", "ladybug", "DuckDB")
CURE = "pip install kuzu ladybug"
Answer = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """cypher : for gdb. walked : for kuzu and ladybug. sql : for DuckDB, None where it has no good way. `$some` and
    `$pairs` are a list of nodes, and pairs of nodes; `each` is run for every pair instead, `$a` and `$b`; `$one` is
    the first of it."""

    name: str
    cypher: str
    walked: str
    sql: str | None
    each: bool = False


_TRAILS = """WITH RECURSIVE w(a, v, d, used) AS (
    SELECT s, t, 1, [rowid] FROM e WHERE s IN (SELECT unnest($some))
    UNION ALL SELECT a, t, d + 1, list_append(used, e.rowid) FROM w JOIN e ON e.s = w.v
    WHERE d < {most} AND NOT list_contains(used, e.rowid)) """
_ENDS = """WITH RECURSIVE w(a, v, d) AS (
    SELECT s, t, 1 FROM e WHERE s IN (SELECT unnest($some))
    UNION SELECT a, t, d + 1 FROM w JOIN e ON e.s = w.v WHERE d < {most}) """


def _walk(name: str, low: int, high: int, returned: str, sql: str, *, one: bool) -> Query:
    where = "id(a) = $one" if one else "id(a) IN $some"
    theirs = "a.id = $one" if one else "a.id IN $some"
    return Query(
        name,
        f"MATCH (a)-[:E*{low}..{high}]->(b) WHERE {where} RETURN {returned.format(id='id(b)')}",
        f"MATCH (a:N)-[:E* TRAIL {low}..{high}]->(b:N) WHERE {theirs} RETURN {returned.format(id='b.id')}",
        None if one else sql,
        one,
    )


_COUNT = _TRAILS.format(most=3) + "SELECT count(*) FROM w"
_TWO = _TRAILS.format(most=2) + "SELECT count(*) FROM w WHERE d = 2"
_DISTINCT = _ENDS.format(most=3) + "SELECT count(DISTINCT v) FROM w"
QUERIES = [
    _walk("*1..2 of 100 nodes, one by one, ids", 1, 2, "DISTINCT {id}", "", one=True),
    _walk("*1..2 of 100 nodes, one by one, count", 1, 2, "count(*)", "", one=True),
    _walk("*1..3 of 100 nodes, one by one, count", 1, 3, "count(*)", "", one=True),
    _walk("*1..3 of 100 nodes, one by one, ends", 1, 3, "count(DISTINCT b)", "", one=True),
    _walk("*1..3 of 1,000 nodes, count", 1, 3, "count(*)", _COUNT, one=False),
    _walk("*1..3 of 1,000 nodes, ends", 1, 3, "count(DISTINCT b)", _DISTINCT, one=False),
    _walk("*2..2 of 1,000 nodes, count", 2, 2, "count(*)", _TWO, one=False),
    Query(
        "shortestPath of 100 pairs, one by one",
        "MATCH p = shortestPath((a)-[:E*1..20]->(b)) WHERE id(a) = $a AND id(b) = $b RETURN length(p)",
        "MATCH (a:N)-[r:E* SHORTEST 1..20]->(b:N) WHERE a.id = $a AND b.id = $b RETURN length(r)",
        None,
        True,
    ),
    Query(
        "shortestPath of 100 pairs, at once",
        "UNWIND $pairs AS k MATCH (a), (b) WHERE id(a) = $firsts[k] AND id(b) = $seconds[k] WITH a, b"
        " MATCH p = shortestPath((a)-[:E*1..20]->(b)) RETURN sum(length(p))",
        "UNWIND $pairs AS k MATCH (a:N)-[r:E* SHORTEST 1..20]->(b:N) WHERE a.id = $firsts[k + 1]"
        " AND b.id = $seconds[k + 1] RETURN sum(length(r))",
        None,
    ),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """The values of the parameters."""

    some: list[int]
    firsts: list[int]
    seconds: list[int]


def asked(sources: I64, nodes: int) -> Asked:
    """Nodes that have an edge, and pairs of any."""
    draw = np.random.default_rng(7)
    some = draw.choice(np.unique(sources), STARTS, replace=False).tolist()
    firsts = draw.choice(np.unique(sources), PAIRS, replace=False).tolist()
    return Asked(some, firsts, draw.integers(nodes, size=PAIRS).tolist())


def made(kind: str, nodes: int, edges: int) -> I64:
    """The edges of a graph without parallel ones and loops, i64[edges, 2]."""
    draw = np.random.default_rng(3)
    if kind == "random":
        ends = draw.integers(nodes, size=(edges + edges // 8, 2))
    else:  # Chakrabarti, Zhan, Faloutsos: R-MAT (SDM 2004), with the parameters of Graph500
        bits = int(np.ceil(np.log2(nodes)))
        ends = np.zeros((2 * edges, 2), np.int64)
        for _ in range(bits):
            quarter = np.searchsorted([0.57, 0.76, 0.95], draw.random(len(ends)))
            ends = 2 * ends + np.stack([quarter >> 1, quarter & 1], axis=1)
        ends = draw.permutation(1 << bits)[ends]
        ends = ends[(ends < nodes).all(axis=1)]
    ends = ends[ends[:, 0] != ends[:, 1]]
    codes = np.unique(ends[:, 0] * nodes + ends[:, 1])
    codes = np.sort(draw.permutation(codes)[:edges])
    return np.stack([codes // nodes, codes % nodes], axis=1)


# ---- systems: each makes a function from a query to its answer ---------------------------------------

Run = Callable[[Query, dict[str, Any]], Answer]


def _gdb(folder: Path, load: bool) -> Run:
    import gdb

    db = gdb.connect(folder / "paths.gdb")
    if load:
        db.load(folder / "edges.csv", format="snap", type="E")
    return lambda query, values: _numbers(db.execute(query.cypher, values).fetchall())


def _other(module: str) -> Callable[[Path, bool], Run]:
    def start(folder: Path, load: bool) -> Run:
        engine: Any = importlib.import_module(module)
        connection = engine.Connection(engine.Database(str(folder / f"{module}.db")))
        if load:
            connection.execute("CREATE NODE TABLE N(id INT64 PRIMARY KEY)")
            connection.execute("CREATE REL TABLE E(FROM N TO N)")
            connection.execute(f"COPY N FROM '{folder / 'nodes.csv'}'")
            connection.execute(f"COPY E FROM '{folder / 'edges.csv'}' (DELIM=' ')")
        return lambda query, values: _numbers(connection.execute(query.walked, values).get_all())

    return start


def _duckdb(folder: Path, load: bool) -> Run:
    import duckdb

    connection = duckdb.connect(str(folder / "paths.duckdb"))
    if load:
        file = f"read_csv('{folder / 'edges.csv'}', delim=' ', header=false, names=['s', 't'])"
        connection.execute(f"CREATE TABLE e AS FROM {file}")

    def run(query: Query, values: dict[str, Any]) -> Answer:
        assert query.sql is not None
        return _numbers(connection.execute(query.sql, values).fetchall())

    return run


STARTED: dict[str, Callable[[Path, bool], Run]] = {
    "gdb": _gdb,
    "kuzu": _other("kuzu"),
    "ladybug": _other("ladybug"),
    "DuckDB": _duckdb,
}


def _numbers(rows: Sequence[Sequence[Any]]) -> Answer:
    return tuple(int(value) for row in rows for value in row)


# ---- measuring ---------------------------------------------------------------------------------------


def values_of(query: Query, of: Asked) -> list[dict[str, Any]]:
    """The parameters of each run of a query that is one measurement."""
    text = query.cypher
    if query.each:
        pairs = zip(of.firsts, of.seconds, strict=True)
        of_each = [{"a": a, "b": b, "one": a} for a, b in pairs]
        return [{k: v for k, v in one.items() if f"${k}" in text} for one in of_each]
    every: dict[str, Any] = {"some": of.some, "pairs": list(range(PAIRS))}
    every |= {"firsts": of.firsts, "seconds": of.seconds}
    return [{name: value for name, value in every.items() if f"${name}" in text}]


def work(system: str, folder: Path, number: int, repeat: int) -> None:
    """In a process of its own: load where no query is given, else answer it; the answer and the median as JSON."""
    if number < 0:
        STARTED[system](folder, True)
        return
    run, query = STARTED[system](folder, False), QUERIES[number]
    of = Asked(**json.loads((folder / "asked.json").read_text(encoding="utf-8")))
    seconds: list[float] = []
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        found = [run(query, values) for values in values_of(query, of)]
        seconds.append(time.perf_counter() - begin)
    total = sum(sum(answer) for answer in found)
    print(json.dumps([total, statistics.median(seconds[1:])]), flush=True)


def measured(
    system: str, folder: Path, repeat: int, timeout: float
) -> dict[int, tuple[int, float]]:
    """Of each query that was answered in time the answer, and the median of seconds."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.language.paths",
        "--work",
        system,
        "--folder",
        str(folder),
    ]
    command += ["--repeat", str(repeat)]
    subprocess.run([*command, "--number", "-1"], check=True)
    found: dict[int, tuple[int, float]] = {}
    for number, query in enumerate(QUERIES):
        if system == "DuckDB" and query.sql is None:
            continue
        try:
            ran = subprocess.run(
                [*command, "--number", str(number)],
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            print(f"{system}: {query.name}: over {timeout:g} s", file=sys.stderr)
            continue
        if ran.returncode:
            print(f"{system}: {query.name}: {ran.stderr.strip()[-300:]}", file=sys.stderr)
            continue
        total, again = json.loads(ran.stdout.splitlines()[-1])
        found[number] = total, again
    return found


def compared(kind: str, arguments: argparse.Namespace) -> tuple[Table, bool]:
    """The table of one graph, and whether all answers are equal."""
    ends = made(kind, arguments.nodes, arguments.edges)
    systems = [s for s in arguments.system if importlib.util.find_spec(s.lower()) is not None]
    with tempfile.TemporaryDirectory(prefix="gdb-paths-") as name:
        folder = Path(name)
        np.savetxt(folder / "edges.csv", ends, fmt="%d", delimiter=" ")
        np.savetxt(folder / "nodes.csv", np.unique(ends), fmt="%d")
        of = asked(ends[:, 0], arguments.nodes)
        of.seconds[:] = np.random.default_rng(8).choice(np.unique(ends), PAIRS).tolist()
        text = json.dumps({"some": of.some, "firsts": of.firsts, "seconds": of.seconds})
        (folder / "asked.json").write_text(text, encoding="utf-8")
        found = {s: measured(s, folder, arguments.repeat, arguments.timeout) for s in systems}
    rows, right = list[tuple[Cell, ...]](), True
    for number, query in enumerate(QUERIES):
        ours = found["gdb"].get(number)
        times = {s: found[s][number][1] for s in systems if number in found[s]}
        answers = {found[s][number][0] for s in systems if number in found[s]}
        right = right and len(answers) == 1
        least = arguments.timeout / (
            arguments.repeat + 1
        )  # of one that was stopped, a run on average
        tried = [s for s in systems if s != "DuckDB" or query.sql is not None]
        cells = [
            times[s] * 1e3 if s in times else Over(least * 1e3) if s in tried else None
            for s in systems
        ]
        others = [s for s in tried if s != "gdb"]
        ratio: Cell = None
        if "gdb" in times and others:
            best = min(times.get(s, least) for s in others) / times["gdb"]
            ratio = best if any(s in times for s in others) else Over(best)
        total = "differs" if len(answers) > 1 else ours[0] if ours else None
        rows.append((query.name, total, *cells, ratio))
    times_of = (Column(s, "ms") for s in systems)
    caption = f"{kind}: {len(np.unique(ends)):,} nodes, {len(ends):,} relationships."
    header: Header = (*("query", "answer"), *times_of, "times quicker than the next")
    return Table.of(header, rows, caption), right


def main(line: list[str] | None = None) -> int:
    """Load the graph, run the queries, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--graph", nargs="+", default=["random", "rmat"], choices=["random", "rmat"])
    add("--nodes", type=int, default=100_000)
    add("--edges", type=int, default=1_000_000)
    add("--system", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    add("--repeat", type=int, default=5, help="(default: 5)")
    add(
        "--timeout", type=float, default=60.0, help="seconds for all times of a query (default: 60)"
    )
    add("--save", action="store_true", help="write the section to benchmarks/results/")
    add("--folder", type=Path, help=argparse.SUPPRESS)
    add("--work", choices=SYSTEMS, help=argparse.SUPPRESS)
    add("--number", type=int, default=-1, help=argparse.SUPPRESS)
    arguments = parser.parse_args(line)
    if arguments.work:
        work(arguments.work, arguments.folder, arguments.number, arguments.repeat)
        return 0
    tables, right = [], True
    for kind in arguments.graph:
        table, same = compared(kind, arguments)
        print(f"\n{table.markdown()}", flush=True)
        tables.append(table)
        right = right and same
    if arguments.save and right:
        introduction = (
            "Trails of variable length and shortest paths: the median of "
            f"{arguments.repeat} times after the first, each system in a process of its own; a query "
            f"was stopped when {arguments.repeat + 1} runs took longer than {arguments.timeout:g} s."
        )
        report = Report.of(introduction, tables)
        page.save(__file__, "Paths of variable length", report, "duckdb", "kuzu", "ladybug")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())

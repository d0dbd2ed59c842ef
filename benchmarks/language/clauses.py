"""Queries of several clauses: counted and not listed, LIMIT, EXISTS, and a MATCH that starts from the rows of another.

    python -m benchmarks.language.clauses [--nodes 100000] [--relationships 1000000] [--runs 3] [--limit 60] [--save]

On a random graph, which is made here, each query runs in gdb over columns (as `execute` chooses), in gdb over rows
(as it does where columns cannot), and as SQL of DuckDB over a table of pairs. The exit code is 1 if answers differ; of
LIMIT only the number of rows is compared. Times are processor time of all threads. What takes longer than the limit
over rows is left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Over, Table
from gdb.errors import QueryTimeout
from gdb.run import columns_or_rows

SEED = 11
_NODES = (
    "SELECT range AS id, range % 10 AS g, range % 1000 AS k,"
    " TIMESTAMP '2024-01-01' + to_minutes(range) AS seen"
)
_WEIGHT = "(s * 7 + t) % 100 AS w"


@dataclass(frozen=True, slots=True)
class Line:
    """A query in both languages. some : LIMIT leaves open which rows."""

    name: str
    cypher: str
    sql: str
    some: bool = False


LINES = (
    Line(
        "two OPTIONAL MATCH counted",
        "MATCH (a:N) OPTIONAL MATCH (a)-->(b) OPTIONAL MATCH (a)<--(c) RETURN count(*)",
        "SELECT count(*) FROM n LEFT JOIN e ON e.s = n.id LEFT JOIN e f ON f.t = n.id",
    ),
    Line(
        "relationships of each node",
        "MATCH (a:N) OPTIONAL MATCH (a)-->(b) WITH a.g AS g, count(b) AS d RETURN g, d ORDER BY g",
        "SELECT g, count(e.t) FROM n LEFT JOIN e ON e.s = n.id GROUP BY g ORDER BY g",
    ),
    Line(
        "2-paths over WITH counted",
        "MATCH (a)-->(b) WITH a, b MATCH (b)-->(c) RETURN count(*)",
        "SELECT count(*) FROM e JOIN e f ON f.s = e.t",
    ),
    Line(
        "COUNT { } of 2-paths",
        "MATCH (a:N) WITH a.g AS g, COUNT { (a)-->()-->() } AS n RETURN g, sum(n) AS n ORDER BY g",
        """SELECT g, sum(coalesce(n, 0)) FROM n LEFT JOIN (SELECT e.s, count(*) AS n FROM e
            JOIN e f ON f.s = e.t WHERE e.rowid <> f.rowid GROUP BY e.s) c ON c.s = n.id GROUP BY g ORDER BY g""",
    ),
    Line(
        "LIMIT of a second MATCH",
        "MATCH (a)-->(b) WITH a, b MATCH (b)-->(c) RETURN id(a), id(b), id(c) LIMIT 10",
        "SELECT e.s, e.t, f.t FROM e JOIN e f ON f.s = e.t LIMIT 10",
        some=True,
    ),
    Line(
        "LIMIT of OPTIONAL MATCH",
        "MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) RETURN id(a), id(b), id(c) LIMIT 10",
        "SELECT e.s, e.t, f.t FROM e LEFT JOIN e f ON f.s = e.t LIMIT 10",
        some=True,
    ),
    Line(
        "EXISTS { } of 2-paths",
        "MATCH (a:N) WHERE EXISTS { (a)-->()-->(:M) } WITH a.g AS g RETURN g, count(*) AS n ORDER BY g",
        """SELECT g, count(*) FROM n WHERE EXISTS (FROM e JOIN e f ON f.s = e.t JOIN m ON m.id = f.t
            WHERE e.s = n.id AND e.rowid <> f.rowid) GROUP BY g ORDER BY g""",
    ),
    Line(
        "NOT of a pattern with two ends",
        "MATCH (a:M)-->(b) WITH a, b WHERE NOT (a)-->()-->(b) RETURN count(*)",
        """SELECT count(*) FROM m JOIN e ON e.s = m.id WHERE NOT EXISTS (FROM e f JOIN e g ON g.s = f.t
            WHERE f.s = e.s AND g.t = e.t AND f.rowid <> g.rowid)""",
    ),
    Line(
        "a second MATCH at two ends",
        "MATCH (a:M)-->(b) WITH a, b MATCH (a)-->(x)-->(b) RETURN count(*)",
        """SELECT count(*) FROM m JOIN e ON e.s = m.id JOIN e f ON f.s = e.s JOIN e g ON g.s = f.t
            AND g.t = e.t WHERE f.rowid <> g.rowid""",
    ),
    Line(
        "CALL that counts",
        "MATCH (a:N) CALL (a) { MATCH (a)-->(b) WHERE b.g < 5 RETURN count(b) AS d } RETURN a.g AS g, max(d) AS d "
        "ORDER BY g",
        """SELECT g, max(d) FROM n, LATERAL (SELECT count(*) AS d FROM e JOIN n b ON b.id = e.t
            WHERE e.s = n.id AND b.g < 5) GROUP BY g ORDER BY g""",
    ),
    Line(
        "CALL of the first",
        "MATCH (a:N) CALL (a) { MATCH (a)-->(b) RETURN b ORDER BY id(b) DESC LIMIT 1 } RETURN count(*), sum(id(b))",
        """SELECT count(*), sum(t)::BIGINT FROM n, LATERAL
            (SELECT t FROM e WHERE e.s = n.id ORDER BY t DESC LIMIT 1)""",
    ),
    Line(
        "COLLECT { } of three",
        "MATCH (a:N) WITH COLLECT { MATCH (a)-->(b) RETURN id(b) ORDER BY id(b) LIMIT 3 } AS l "
        "RETURN sum(size(l)), sum(l[0])",
        """SELECT sum(len(l))::BIGINT, sum(l[1])::BIGINT FROM n, LATERAL (SELECT list(t ORDER BY t) AS l FROM
            (SELECT t FROM e WHERE e.s = n.id ORDER BY t LIMIT 3))""",
    ),
    Line(
        "COUNT { } of groups",
        "MATCH (a:N) WITH COUNT { MATCH (a)-->(b) WITH DISTINCT b.g AS g RETURN g } AS n RETURN n, count(*) ORDER BY n",
        """SELECT d, count(*) FROM n, LATERAL (SELECT count(DISTINCT b.g) AS d FROM e JOIN n b ON b.id = e.t
            WHERE e.s = n.id) GROUP BY d ORDER BY d""",
    ),
    Line(
        "equal values",
        "MATCH (a:N), (b:N) WHERE a.k = b.k RETURN count(*)",
        "SELECT count(*) FROM n a JOIN n b ON a.k = b.k",
    ),
    Line(
        "equal values, each pair once",
        "MATCH (a:N), (b:N) WHERE a.k = b.k AND id(a) < id(b) RETURN count(*)",
        "SELECT count(*) FROM n a JOIN n b ON a.k = b.k AND a.id < b.id",
    ),
    Line(
        "equal values, no relationship",
        "MATCH (a:N), (b:N) WHERE a.k = b.k AND a <> b AND NOT (a)-->(b) RETURN count(*)",
        """SELECT count(*) FROM n a JOIN n b ON a.k = b.k AND a.id <> b.id
            WHERE NOT EXISTS (FROM e WHERE e.s = a.id AND e.t = b.id)""",
    ),
    Line(
        "relationships' property by group",
        "MATCH (a:N)-[r:E]->() RETURN a.g AS g, sum(r.w) AS w ORDER BY g",
        "SELECT g, sum(w)::BIGINT FROM e JOIN n ON n.id = e.s GROUP BY g ORDER BY g",
    ),
    Line(
        "first 2-paths in order",
        "MATCH (a:N)-->(b)-->(c) RETURN id(a), id(b), id(c) ORDER BY id(b) DESC, id(a), id(c) LIMIT 5",
        """SELECT e.s, e.t, f.t FROM e JOIN n ON n.id = e.s JOIN e f ON f.s = e.t
            ORDER BY e.t DESC, e.s, f.t LIMIT 5""",
    ),
    Line(
        "lists of neighbours",
        "MATCH (a:N) WITH [(a)-->(b) WHERE b.g < 5 | id(b)] AS l RETURN sum(size(l)), count(*)",
        """SELECT sum(len(l))::BIGINT, count(*) FROM n, LATERAL (SELECT coalesce(list(t), []) AS l FROM e JOIN n b
            ON b.id = e.t WHERE e.s = n.id AND b.g < 5)""",
    ),
    Line(
        "nodes by month",
        "MATCH (a:N) WHERE a.seen >= localdatetime('2024-01-31') + duration({days: 1}) "
        "RETURN date.truncate('month', a.seen) AS m, count(*) ORDER BY m",
        """SELECT date_trunc('month', seen)::DATE AS m, count(*) FROM n
            WHERE seen >= TIMESTAMP '2024-01-31' + INTERVAL 1 DAY GROUP BY m ORDER BY m""",
    ),
)


def graph(nodes: int, relationships: int) -> tuple[np.ndarray, np.ndarray]:
    """Random ends of relationships, no two of them alike and none a loop, i64[m] each."""
    chance = np.random.default_rng(SEED)
    pairs = np.unique(chance.integers(nodes * nodes, size=relationships + relationships // 10))
    pairs = chance.permutation(pairs[pairs // nodes != pairs % nodes])[:relationships]
    return pairs // nodes, pairs % nodes


def ours(folder: Path, nodes: int, ends: tuple[np.ndarray, np.ndarray]) -> gdb.Database:
    """Nodes with the label N, every hundredth M as well, a group g of ten, a key k of a thousand and a time."""
    with duckdb.connect() as maker:
        maker.execute(f"CREATE TABLE n AS {_NODES} FROM range({nodes})")
        for label, test in (("N", "<>"), ("M", "=")):
            of_label = f"FROM n WHERE id % 100 {test} 0"
            where = f"""SELECT id, g, k, strftime(seen, '%Y-%m-%dT%H:%M:%S') AS "seen:datetime" {of_label}"""
            maker.execute(f"COPY ({where}) TO '{folder / label}.csv' (header)")
        s, t = ends
        maker.register("given", {"s": s, "t": t})
        maker.execute(f"COPY (SELECT s, t, {_WEIGHT} FROM given) TO '{folder / 'E.csv'}' (header)")
    db = gdb.connect(folder / "clauses.gdb")
    db.load(nodes={"N": folder / "N.csv", "M": folder / "M.csv"}, edges={"E": folder / "E.csv"})
    db.execute("MATCH (m:M) SET m:N")
    return db


def theirs(nodes: int, ends: tuple[np.ndarray, np.ndarray]) -> duckdb.DuckDBPyConnection:
    """The same as tables."""
    db = duckdb.connect()
    s, t = ends
    db.register("given", {"s": s, "t": t})
    db.execute(f"CREATE TABLE e AS SELECT s, t, {_WEIGHT} FROM given")
    db.execute(f"CREATE TABLE n AS {_NODES} FROM range({nodes})")
    db.execute("CREATE TABLE m AS FROM n WHERE id % 100 = 0")
    return db


def timed(ask: Callable[[], list[tuple[object, ...]]], runs: int) -> tuple[list[object], float]:
    """The answer, and the median of processor seconds, of all threads, after the first time."""
    found = list[object](ask())
    seconds = []
    for _ in range(runs):
        begin = time.process_time()
        ask()
        seconds.append(time.process_time() - begin)
    return found, statistics.median(seconds)


def over_rows(db: gdb.Database, text: str, limit: float) -> tuple[list[object] | None, float]:
    """The answer over rows, from one run; None over the limit."""
    columns_or_rows.WAY = "rows"
    begin = time.process_time()
    try:
        found = list[object](db.execute(text, timeout=limit).fetchall())
        return found, time.process_time() - begin
    except QueryTimeout:
        return None, limit
    finally:
        columns_or_rows.WAY = None


def main(line: list[str] | None = None) -> int:
    """Make the graph, run the queries, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--nodes", type=int, default=100_000, help="(default: 100,000)")
    add("--relationships", type=int, default=1_000_000, help="(default: 1,000,000)")
    add("--runs", type=int, default=3, help="(default: 3)")
    add("--limit", type=float, default=60.0, help="seconds over rows (default: 60)")
    add("--save", action="store_true", help="write the section to benchmarks/results/")
    arguments = parser.parse_args(line)
    ends = graph(arguments.nodes, arguments.relationships)
    rows, wrong = list[tuple[Cell, ...]](), False
    with tempfile.TemporaryDirectory(prefix="gdb-clauses-") as folder:
        db, duck = ours(Path(folder), arguments.nodes, ends), theirs(arguments.nodes, ends)
        for one in LINES:

            def ask(one: Line = one) -> list[tuple[object, ...]]:
                return list(db.execute(one.cypher).fetchall())

            def other(one: Line = one) -> list[tuple[object, ...]]:
                return duck.execute(one.sql).fetchall()

            found, columns = timed(ask, arguments.runs)
            asked, by_rows = over_rows(db, one.cypher, arguments.limit)
            known, sql = timed(other, arguments.runs)
            several = [known, found] if asked is None else [known, found, asked]
            same = {len(x) if one.some else repr(x) for x in several}
            wrong = wrong or len(same) > 1
            slow = Over(1e3 * arguments.limit) if asked is None else 1e3 * by_rows
            verdict = "equal" if len(same) == 1 else "differs"
            rows.append((one.name, 1e3 * columns, slow, 1e3 * sql, verdict))
            print(*rows[-1], sep=" | ", flush=True)
        db.close()
    times = (Column(name, "ms") for name in ("columns", "rows", "DuckDB"))
    report = Report.of(
        f"A random graph of {arguments.nodes:,} nodes and {arguments.relationships:,} relationships, processor time: "
        f"the median of {arguments.runs} after the first; over rows run once.",
        [Table.of(("query", *times, "answers"), rows)],
        [f"{one.name}: `{one.cypher}`" for one in LINES],
    )
    print(f"\n{report.markdown()}")
    if arguments.save and not wrong:
        page.save(__file__, "Several clauses", report, "duckdb", "numpy")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""Scripts that write a graph: how long they take to understand, and to run.

    python -m benchmarks.language.write_scripts [--megabytes 3.6] [--whole 0.36] [--folder DIR] [--save]

One graph of people who know each other, written in three ways: statements one to a line, `CREATE (:Person {...});` and
`MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:KNOWS {...}]->(b);`; one CREATE of all patterns; and one
statement of a CREATE clause for each pattern. Processor seconds of this process (the machine may do other things as
well): from text to a checked logical plan, at the size that is given and at half of it (twice as long, if nothing is
quadratic); what Ctrl-C waits for at the most while it is read; and the whole run into a store on disk through the
shell's own reader. Statements commit one by one, which a disk takes long for: of those `--whole` megabytes are run. The
exit code is 1 if a store does not hold the graph that was written.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from gdb.language.checks import check
from gdb.language.parser import parse
from gdb.logical.planning import planned
from gdb.query_graph import DIFFERENT_EDGES
from gdb.repl.main import CHARACTERS
from gdb.repl.session import Session
from gdb.repl.statements import streamed
from gdb.run.query_cache import QueryCache

NAMES = ("Anna", "Ben", "Chloe", "David", "Emma", "Finn", "Greta", "Hugo")
AIM = 0.5
"""Seconds to understand 3.6 MB."""
COUNTS = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN count(*), sum(r.since), sum(a.id * b.born)"


def _person(number: int) -> str:
    name = f"{NAMES[number % len(NAMES)]}{number}"
    return f"{{id: {number}, name: '{name}', born: {1940 + number * 7 % 70}}}"


def _knows(number: int, people: int) -> tuple[int, int, int]:
    """Two people, and since when."""
    return number % people + 1, (number * 7919 + 13) % people + 1, 1990 + number % 35


def statements(characters: float) -> str:
    """A person or a relationship in each."""
    people = int(characters / 152)
    lines = [f"CREATE (:Person {_person(k)});" for k in range(1, people + 1)]
    for k in range(people):
        a, b, since = _knows(k, people)
        lines.append(
            f"MATCH (a:Person {{id: {a}}}), (b:Person {{id: {b}}}) CREATE (a)-[:KNOWS {{since: {since}}}]->(b);"
        )
    return "\n".join(lines) + "\n"


def patterns(characters: float) -> Iterator[str]:
    people = int(characters / 104)
    for k in range(1, people + 1):
        yield f"(p{k}:Person {_person(k)})"
    for k in range(people):
        a, b, since = _knows(k, people)
        yield f"(p{a})-[:KNOWS {{since: {since}}}]->(p{b})"


def one_clause(characters: float) -> str:
    return "CREATE " + ",\n  ".join(patterns(characters)) + ";\n"


def many_clauses(characters: float) -> str:
    return "\n".join(f"CREATE {one}" for one in patterns(0.93 * characters)) + ";\n"


SCRIPTS: Mapping[str, Callable[[float], str]] = {
    "statements": statements,
    "one CREATE": one_clause,
    "CREATE clauses": many_clauses,
}


def understood(text: str) -> int:
    """Cut a script into statements, and bring each to a logical plan as a database does; how many there are."""
    cache, number = QueryCache(), 0
    for statement in streamed(io.StringIO(text)):
        number += 1
        shaped = cache.shaped(statement.text)
        query = cache.parsed(statement.text if shaped is None else shaped[0])
        cache.checked(query, {} if shaped is None else shaped[1], {}, DIFFERENT_EDGES)
        cache.planned(query, {}, DIFFERENT_EDGES)
    return number


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of the process, the least of three times."""
    found = []
    for _ in range(3):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def longest_wait(text: str) -> float:
    """Processor seconds between two looks at whether reading is to go on, at the most."""
    last, longest = time.process_time(), 0.0

    def look() -> None:
        nonlocal last, longest
        now = time.process_time()
        longest, last = max(longest, now - last), now

    for statement in streamed(io.StringIO(text)):
        look()
        check(query := parse(statement.text, look), (), pulse=look)
        look()
        planned(query, {}, DIFFERENT_EDGES)
        look()
    return longest


def peak(text: str) -> float:
    """Megabytes that understanding a script takes at its peak, beside the text."""
    tracemalloc.start()
    understood(text)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 1e6


def run(text: str, folder: Path) -> tuple[float, float, int, tuple[object, ...]]:
    """Run a script into a new store as the shell does; processor seconds, seconds by the clock, how many statements,
    and what the store holds."""
    with gdb.connect(folder, limits={"MAX_QUERY_CHARACTERS": CHARACTERS}) as db:
        session = Session(db, io.StringIO(), io.StringIO())
        begin, begun, number = time.process_time(), time.perf_counter(), 0
        for statement in streamed(io.StringIO(text)):
            session.query(statement.text)
            number += 1
        spent = time.process_time() - begin, time.perf_counter() - begun
        return *spent, number, tuple(db.execute(COUNTS).fetchall()[0])


def expected(text: str) -> tuple[int, int, int]:
    """What COUNTS gives, by the functions that wrote the script."""
    people = text.count(":Person {id: ") - 2 * text.count("MATCH (a:Person")
    found = [_knows(k, people) for k in range(people)]
    products = (a * (1940 + b * 7 % 70) for a, b, _ in found)
    return people, sum(since for _, _, since in found), sum(products)


def main(line: list[str] | None = None) -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=3.6)
    parser.add_argument("--whole", type=float, default=0.36, help="megabytes of statements to run")
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: temporary)")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args(line)
    gdb.limits.MAX_QUERY_CHARACTERS = CHARACTERS
    rows, right = list[tuple[Cell, ...]](), True
    for name, write in SCRIPTS.items():
        text, half = (write(arguments.megabytes * part) for part in (1e6, 0.5e6))
        run_size = arguments.whole if write is statements else arguments.megabytes
        small = write(run_size * 1e6)
        with tempfile.TemporaryDirectory(prefix="gdb-script-", dir=arguments.folder) as folder:
            cpu, clock, number, held = run(small, Path(folder) / "store")
        right = right and held == expected(small)
        prepared = [seconds(partial(understood, one)) for one in (text, half)]
        rows.append(
            (
                name,
                len(text) / 1e6,
                *prepared,
                1e3 * longest_wait(text),
                peak(text),
                *(len(small) / 1e6, cpu, clock, 1e3 * cpu / number),
            )
        )
        print(rows[-1], file=sys.stderr)
    head = (
        *("script", Column("size", "MB", 1), Column("prepared", "s"), Column("half of it", "s")),
        *(Column("Ctrl-C waits", "ms"), Column("peak", "MB")),
        *(Column("run: size", "MB", 2), Column("run: CPU", "s"), Column("run", "s")),
        Column("CPU of a statement", "ms", 2),
    )
    report = Report.of(
        "From text to a checked logical plan, processor seconds; the memory that takes, beside the text; and a "
        "whole run into a store on disk, each statement a commit. "
        f"The aim is {AIM:g} s to prepare 3.6 MB.",
        [Table.of(head, rows)],
    )
    print(report.markdown())
    if arguments.save and right:
        page.save(__file__, "Scripts that write a graph", report, "numpy")
    if not right:
        print("a store does not hold the graph that was written", file=sys.stderr)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())

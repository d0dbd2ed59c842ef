"""Identical answers at every budget: counts and rows of patterns in all match modes, with a whole, a fourth, ... of the
graph in memory.

    python -m benchmarks.scale.budgets [--device cpu|cuda] [--graph wiki-Vote ...] [--budgets 4 16 64]
        [--pattern q1 ...] [--mode "DIFFERENT NODES" ...] [--timeout 5] [--rows 20000] [--save]

The patterns of wiki-Vote and email-Enron_l16 are q1 to q24 of `../shared/peers`, those of bitcoin-otc (with
directions) and hprd the ones whose counts are known, with the 200 published query graphs of hprd. On the CPU a budget
is `memory=` of each query, a part of the bytes of the view; on a GPU it bounds the bytes of the graph in device memory.
Each budget has its own connection, so that nothing is in memory because another query brought it there. Rows are read
from `db.stream`, where there are at most `--rows` of them. What takes longer than the timeout without a budget is left
out. The exit code is 1 if an answer differs or a query fails, 2 if there is nothing to compare.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import gdb
from benchmarks.gpu import pattern_counts
from benchmarks.inputs import graphs, patterns
from benchmarks.inputs.published import PUBLISHED, read_subjects
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Table
from gdb.base import budget
from gdb.errors import GdbError, QueryTimeout
from gdb.executor.gpu import device, memory, residency

MODES = ("DIFFERENT EDGES", "DIFFERENT NODES", "REPEATABLE ELEMENTS", "SUBGRAPHS", "INDUCED")
# the mode's name in the files of known counts
TRUTH = {words or "DIFFERENT EDGES": name for name, words in patterns.MODES.items()}
GRAPHS = ("wiki-Vote", "email-Enron_l16", "bitcoin-otc", "hprd")
SLACK = 4.0  # a query with a budget may take so many times the timeout

Rows = list[tuple[object, ...]]


@dataclass(slots=True)
class Tally:
    """What became of the answers of a graph. answers : by part of the view, how many were equal. wrong : the others,
    each in a line. left_out : patterns and modes that take too long without a budget."""

    graph: str
    view: int
    answers: dict[int, int] = field(default_factory=dict)
    rows: int = 0
    seconds: dict[int, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def stored(name: str, folder: Path, arguments: argparse.Namespace) -> Path:
    """The store of a graph."""
    if name in pattern_counts.GRAPHS:
        return pattern_counts.loaded(name, folder, arguments.data, arguments.published)
    if name != "bitcoin-otc":
        return graphs.loaded(name, folder, arguments.data)
    store = folder / "bitcoin-otc-directed.gdb"
    if not store.exists():
        columns = [":START_ID", ":END_ID", "rating:int", "time:float"]
        edges = arguments.data / "bitcoin-otc" / "edges.csv"
        with gdb.connect(store) as db:
            db.load(
                edges=edges,
                format="csv",
                type="RATED",
                label="User",
                columns=columns,
                header=False,
                missing_ends="create",
            )
    return store


def shapes(name: str, arguments: argparse.Namespace) -> list[patterns.Pattern]:
    """The patterns of a graph."""
    if name in pattern_counts.GRAPHS:
        labelled = pattern_counts.GRAPHS[name][1] > 0
        read = read_subjects(arguments.published, name, [], labelled=labelled)
        found = [one.pattern for one in read]
    else:
        found = graphs.known(name, arguments.data)
    return [one for one in found if one.name in (arguments.pattern or (one.name,))]


def texts(pattern: patterns.Pattern, *, directed: bool) -> tuple[str, str]:
    """A query that counts the embeddings of a pattern, and one that lists them."""
    counted = pattern.cypher("edge_injective")
    if directed:
        counted = counted.replace("-[]-", "-[]->")
    names = ", ".join(f"id(v{k})" for k in range(len(pattern.vertices)))
    return counted, counted.replace("count(*) AS n", names)


class Budgeted:
    """A store at one budget. part : the budget is this part of the view."""

    def __init__(self, db: gdb.Database, part: int, view: int, device: str) -> None:
        self.db, self.part, self.device = db, part, device
        self.size = max(view // part, 1)
        self.memory = self.size if part > 1 and device == "cpu" else None

    def answers(self, counted: str, listed: str, mode: str, most: int, timeout: float) -> Rows:
        """The count, and the rows behind it if there are at most so many, sorted."""
        if self.device != "cpu":
            residency.MOST = sys.maxsize if self.part == 1 else self.size
        try:
            count = self.db.execute(
                counted, device=self.device, match=mode, memory=self.memory, timeout=timeout
            ).scalar()
            if int(str(count)) > most:
                return [(count,)]
            with self.db.stream(
                listed, device=self.device, match=mode, memory=self.memory, timeout=timeout
            ) as stream:
                return [(count,), *sorted(stream)]
        finally:
            if self.device != "cpu":
                residency.MOST = sys.maxsize
                memory.KEPT.forget()


def compared(
    name: str, store: Path, chosen: Sequence[patterns.Pattern], arguments: argparse.Namespace
) -> Tally:
    """Query a graph at every budget."""
    with ExitStack() as stack:
        opened = [
            stack.enter_context(gdb.connect(store, read_only=True)) for _ in _parts(arguments)
        ]
        stats = opened[0].stats()
        tally = Tally(name, 8 * (stats.edges + stats.vertices))
        places = [
            Budgeted(db, part, tally.view, arguments.device)
            for db, part in zip(opened, _parts(arguments), strict=True)
        ]
        for pattern in chosen:
            for mode in arguments.mode:
                _compare(tally, places, pattern, mode, arguments)
            _progress(tally, pattern.name)
    return tally


def _parts(arguments: argparse.Namespace) -> list[int]:
    return [1, *sorted(part for part in arguments.budgets if part > 1)]


def _compare(
    tally: Tally,
    places: Sequence[Budgeted],
    pattern: patterns.Pattern,
    mode: str,
    arguments: argparse.Namespace,
) -> None:
    counted, listed = texts(pattern, directed=tally.graph == "bitcoin-otc")
    known = None if tally.graph == "bitcoin-otc" else pattern.counts.get(TRUTH.get(mode, ""))
    expected: Rows = []
    for place in places:
        what, begin = f"{pattern.name}, {mode}, 1/{place.part}", time.perf_counter()
        most = arguments.timeout if place.part == 1 else SLACK * arguments.timeout
        try:
            found = place.answers(counted, listed, mode, arguments.rows, most)
        except QueryTimeout:
            if place.part == 1:
                tally.left_out.append(f"{pattern.name}, {mode}")
                return
            tally.wrong.append(f"{what}: over {most:g} s")
            continue
        except GdbError as error:
            tally.wrong.append(f"{what}: {type(error).__name__}: {error}")
            continue
        spent = tally.seconds.get(place.part, 0.0) + time.perf_counter() - begin
        tally.seconds[place.part] = spent
        expected = expected or found
        if found != expected:
            tally.wrong.append(f"{what}: {len(found) - 1} rows of {found[0]}, not {expected[0]}")
        elif known not in (None, found[0][0]):
            tally.wrong.append(f"{what}: {found[0]}, known: {known}")
        else:
            tally.answers[place.part] = tally.answers.get(place.part, 0) + 1
            tally.rows += len(found) - 1


def _progress(tally: Tally, name: str) -> None:
    equal = sum(tally.answers.values())
    print(f"{tally.graph} {name}: {equal} equal, {len(tally.wrong)} not", flush=True)


def report(tallies: Sequence[Tally]) -> Report:
    """The table."""
    header: Header = (
        *("graph", "budget", Column("memory", "KB", 0), "answers", "equal"),
        *(Column("time", "s", 1), "not equal", "left out"),
    )
    rows = list[tuple[Cell, ...]]()
    for one in tallies:
        number = one.answers.get(1, 0)
        for part in sorted(one.answers):
            equal, seconds = one.answers[part], one.seconds[part]
            missed = sum(f", 1/{part}:" in line for line in one.wrong)
            size = one.view / part / 1e3 if part > 1 else None
            budget = f"1/{part}" if part > 1 else "none"
            row = (one.graph, budget, size, number, equal, seconds, missed, len(one.left_out))
            rows.append(row)
    introduction = (
        "Counts and rows of patterns in all match modes, at each budget those without one."
    )
    return Report.of(introduction, [Table.of(header, rows)])


def _wrong(tallies: Sequence[Tally]) -> Iterator[str]:
    return (f"{one.graph}: {line}" for one in tallies for line in one.wrong)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    add("--graph", nargs="+", default=list(GRAPHS), choices=GRAPHS)
    add("--budgets", nargs="+", type=int, default=[4, 16, 64], help="(default: 4 16 64)")
    add("--pattern", nargs="+", default=[], help="some patterns (default: all)")
    add("--mode", nargs="+", default=list(MODES), choices=MODES, help="(default: all)")
    add("--timeout", type=float, default=5.0, help="seconds without a budget (default: 5)")
    add("--rows", type=int, default=20_000, help="that are compared, at most (default: 20000)")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Load, compare, print."""
    arguments = arguments_of(line)
    needed = (arguments.data, arguments.published / "patterns.json")
    if graphs.absent(*needed):
        return 2
    if arguments.device != "cpu" and (missing := device.absence()) is not None:
        print(f"there is nothing to compare on: {missing}", file=sys.stderr)
        return 2
    budget.LEAST = 1  # so that small graphs do not fit either
    tallies = []
    with tempfile.TemporaryDirectory(prefix="gdb-budgets-") as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.graph:
            store = stored(name, folder, arguments)
            tallies.append(compared(name, store, shapes(name, arguments), arguments))
    wrong = list(_wrong(tallies))
    found = report(tallies)
    print("\n".join(["", found.markdown(), *wrong]))
    if arguments.save and not wrong:
        title = f"Budgets on {arguments.device}"
        page.save(__file__, title, found, "numpy", "duckdb", "cupy-cuda13x")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

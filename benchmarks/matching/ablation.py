"""Switch off each pass of the planner and the loop nest alone, and say what that costs.

    python -m benchmarks.matching.ablation [--pass symmetry ...] [--query tri ...] [--limit 20] [--runs 3]
        [--threads N] [--save]

The passes are those of `gdb.planner.PASSES`. Each run parses, plans anew and runs on the CPU, through `db.execute`; the
ratio is the median over that with all passes on. The answers must be the same (for LIMIT: as many rows). A run over the
limit is shown as `>`. Shapes and labelled patterns are those of `peers_cpu.py`, counted as embeddings; from hprd come
published query graphs. The exit code is 1 if an answer differs, 2 if the graphs are not here.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import gdb
from benchmarks.inputs import graphs
from benchmarks.peers import data, ours, workload
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Over, Table, Wrong
from gdb import planner
from gdb.errors import GdbError, QueryTimeout
from gdb.executor.plan.plan import Plan

LIMIT = 1000
OVER = "over the limit"
SHORT, MOST_RUNS = 0.3, 15  # runs of a cell go on for so many seconds, or so many times
SHAPES = ("tri", "c4", "diamond", "k4", "house")
LABELLED = ("star3", "rw6", "path5")  # path5 returns 1000 rows
PUBLISHED = ("query_dense_16_1", "query_dense_16_33", "query_dense_16_81", "query_dense_16_150")
CLIQUES = (  # two of four vertices with one in common, as homomorphisms
    "MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(a), (a)--(d)--(b), (d)--(c), (a)--(x)--(y)--(a), (a)--(z)--(x), "
    "(z)--(y) RETURN count(*)"
)
QUERIES = (*SHAPES, *LABELLED, "c4 rows", "cliques", *PUBLISHED)


@dataclass(frozen=True, slots=True)
class Question:
    """A query and the open store that it runs on."""

    name: str
    text: str
    db: gdb.Database


@dataclass(frozen=True, slots=True)
class Run:
    """One question with one pass off: the median seconds, its answer (None: over the limit), why it failed."""

    seconds: float
    answer: int | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """How each query runs: seconds at most, threads (0: all cores), runs."""

    limit: float
    threads: int
    runs: int


def questions(
    folder: Path, source: Path, names: Iterable[str], stack: ExitStack
) -> Iterator[Question]:
    """The questions by name, on the stores of enron and hprd, which the stack closes."""
    opened: dict[str, gdb.Database] = {}
    published = {p.name: p for p in graphs.published(source)}
    for name in names:
        graph = "hprd" if name in published else "enron"
        text = published[name].cypher("isomorphisms") if graph == "hprd" else shape_text(name)
        if graph not in opened:
            store = _store(graph, folder, source)
            opened[graph] = stack.enter_context(gdb.connect(store, read_only=True))
        yield Question(name, text, opened[graph])


def _store(graph: str, folder: Path, source: Path) -> Path:
    if graph == "hprd":
        return graphs.loaded(graph, folder, source)
    return ours.stored(data.made(graph, folder / graph, source))


def shape_text(name: str) -> str:
    """The query of a shape or of a labelled pattern of enron; "NAME rows" returns 1000 rows of it."""
    if name == "cliques":
        return CLIQUES
    name, _, rows = name.partition(" ")
    pattern = workload.shape(name) if name == "house" else workload.queries("enron")[name].pattern
    if pattern is None:
        raise ValueError(f"{name} is not a pattern")
    text = ours.cypher(replace(pattern, limit=LIMIT) if rows else pattern, "types")
    return text.replace("SUBGRAPHS", "DIFFERENT NODES")  # which needs its restrictions


@contextmanager
def switched_off(names: frozenset[str]) -> Iterator[list[Plan]]:
    """Leave passes out of every plan that is made meanwhile; the plans that were made."""
    whole: Callable[..., Plan] = planner.plan
    made: list[Plan] = []

    def plan(*asked: object, switched_off: frozenset[str] = frozenset(), **how: object) -> Plan:
        made.append(whole(*asked, switched_off=switched_off | names, **how))
        return made[-1]

    with patch.object(planner, "plan", plan):
        yield made


_spaces = itertools.count(1)


def answer(question: Question, off: frozenset[str], settings: Settings) -> int:
    """Parse, plan and run: the count, or the number of rows. Spaces after the text make it one that is not known."""
    text = question.text + " " * next(_spaces)
    with switched_off(off) as made:
        result = question.db.execute(
            text, device="cpu", threads=settings.threads, timeout=settings.limit
        )
    if len(made) != 1 or not off <= made[0].notes.switched_off:
        raise RuntimeError(
            "the query was not planned by gdb.planner.plan: nothing was switched off"
        )
    return len(result) if "LIMIT" in text else int(str(result.scalar()))


def measure(question: Question, off: frozenset[str], settings: Settings) -> Run:
    """The median of some runs: more of short ones, fewer where they take longer than the limit together."""
    seconds: list[float] = []
    found = set()
    while _more(seconds, settings):
        start = time.perf_counter()
        try:
            found.add(answer(question, off, settings))
        except QueryTimeout:
            return Run(time.perf_counter() - start, None, OVER)
        except GdbError as error:
            return Run(0.0, None, f"{type(error).__name__}: {error}")
        seconds.append(time.perf_counter() - start)
    return Run(statistics.median(seconds), found.pop() if len(found) == 1 else -1)


def _more(seconds: list[float], settings: Settings) -> bool:
    if len(seconds) < settings.runs:
        return sum(seconds) <= settings.limit
    return sum(seconds) < SHORT and len(seconds) < MOST_RUNS


@dataclass(frozen=True, slots=True)
class Row:
    """A question's cells: all passes on, and each pass off."""

    question: str
    whole: Run
    off: dict[str, Run]

    def differing(self) -> list[str]:
        """The passes without which the answer is another, or there is none."""
        return [
            name
            for name, cell in self.off.items()
            if cell.answer != self.whole.answer and cell.note != OVER
        ]


def table(rows: list[Row], passes: Iterable[str]) -> Table:
    """Milliseconds with all passes, and the ratios."""
    passes = list(passes)
    body = []
    for row in rows:
        whole = None if row.whole.answer is None else 1e3 * row.whole.seconds
        body.append((row.question, whole, *(_ratio(row, name) for name in passes)))
    return Table.of(("query", Column("all on", "ms", 1), *passes), body)


def _ratio(row: Row, name: str) -> Cell:
    run, base = row.off[name], row.whole
    if base.answer is None or not base.seconds:
        return None
    ratio = run.seconds / base.seconds
    if run.answer is None:
        return Over(ratio) if run.note == OVER else "error"
    return Wrong(ratio) if name in row.differing() else ratio


def report(rows: list[Row], passes: Iterable[str], settings: Settings) -> Report:
    """The table, and the answers that differ."""
    threads = "all cores" if not settings.threads else f"{settings.threads} threads"
    notes = []
    for row in rows:
        for name in row.differing():
            why = row.off[name].note or f"{row.off[name].answer} instead of {row.whole.answer}"
            notes.append(f"{row.question} without {name}: {why}")
    said = "" if notes else " The answers are the same."
    introduction = (
        "Each pass switched off alone: how many times longer than with all on (medians of "
        f"{settings.runs} runs, each planned anew, through `db.execute` on the CPU, {threads}; `>`: stopped at "
        f"{settings.limit:g} s).{said} Counts, but for `path5` and `c4 rows` (LIMIT {LIMIT})."
    )
    return Report.of(introduction, [table(rows, passes)], notes)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    passes = planner.PASSES
    add("--pass", nargs="+", dest="passes", default=list(passes), choices=passes)
    add("--query", nargs="+", default=list(QUERIES), help=f"of {', '.join(QUERIES)}, ...")
    add("--limit", type=float, default=20.0, help="seconds for each run (default: 20)")
    add("--runs", type=int, default=3, help="(default: 3)")
    add("--threads", type=int, default=0, help="(default: all cores)")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Load, measure, print."""
    arguments = arguments_of(line)
    if graphs.absent(arguments.data / "email-enron", arguments.data / "hprd" / "query_graph"):
        return 2
    settings = Settings(arguments.limit, arguments.threads, arguments.runs)
    rows = []
    with tempfile.TemporaryDirectory(prefix="gdb-ablation-") as temporary, ExitStack() as stack:
        folder = (arguments.folder or Path(temporary)).absolute()
        for question in questions(folder, arguments.data, arguments.query, stack):
            measure(
                question, frozenset(), replace(settings, runs=1)
            )  # what compiles and reads first
            whole = measure(question, frozenset(), settings)
            off = {
                name: measure(question, frozenset({name}), settings) for name in arguments.passes
            }
            rows.append(Row(question.name, whole, off))
            print(table(rows[-1:], arguments.passes).line(-1), flush=True)
    found = report(rows, arguments.passes, settings)
    print(f"\n{found.markdown()}")
    if arguments.save:
        page.save(__file__, "Ablation", found, "numpy", "llvmlite")
    return int(any(row.differing() for row in rows))


if __name__ == "__main__":
    sys.exit(main())

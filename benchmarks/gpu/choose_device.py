"""Does `device="auto"` take the quicker device? Every query on the CPU, on a GPU, and by choice.

    python -m benchmarks.gpu.choose_device [--queries 10] [--limit 2] [--sets yeast,...,rmat10m] [--raw FILE]
        [--earlier FILE ...] [--save]

The questions are those of `large_patterns.py` (rows with a LIMIT, and counts) and those of `pattern_counts.py`. Seconds
are those of `db.execute`, on the CPU, on a GPU and with "auto": the *first* time, with planning, nothing of the graph
lying on the device; and *again*, after many runs of the same query on that device (where it gets a kernel of its own,
once that is compiled); medians of five runs, the devices in turn, or of as many as there are within the limit. The
regret is the time of "auto" over that of the better device in the same state. Questions that neither device ends within
the limit are left out. --raw writes what the choice knows of each query beside the times, as JSON; --earlier takes it
into the report of a later run. The exit code is 1 if devices disagree about an answer, 2 if there is nothing to measure
on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

import gdb
from benchmarks.gpu import pattern_counts
from benchmarks.inputs import graphs, query_sets
from benchmarks.inputs.published import PUBLISHED, measured_names, read_subjects
from benchmarks.matching import large_patterns
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table, figures
from gdb.errors import CountOverflow, QueryTimeout
from gdb.executor.gpu import memory, special
from gdb.executor.gpu.device import absence
from gdb.executor.nest.prepare import Prepared
from gdb.executor.plan.plan import Plan

SETS = (*query_sets.SETS, *pattern_counts.GRAPHS)
RUNS = 5  # whose median is taken, unless they take longer than the limit together
ALLOWED = 1.5  # times the better device
MANY = 60  # runs before a query counts as warm
LONG = 3  # times the limit that they take at most
COMPILING = 20.0  # seconds that its own kernel may take before it is measured
DEVICES = ("cpu", "cuda", "auto")
STATES = ("first", "again")


@dataclass(slots=True)
class Asked:
    """A question; seconds in each state, infinite where the limit was reached; what the choice knows of it."""

    group: str
    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    answers: set[int] = field(default_factory=set)
    knows: dict[str, object] = field(default_factory=dict)

    def regret(self, state: str) -> float:
        """How many times slower the choice was than the better device."""
        best = min(self.seconds[f"cpu {state}"], self.seconds[f"cuda {state}"])
        return self.seconds[f"auto {state}"] / best

    def ended(self, state: str = "first") -> bool:
        """Whether a device ended within the limit."""
        found = (self.seconds.get(f"{device} {state}", math.inf) for device in ("cpu", "cuda"))
        return min(found) < math.inf


def questions(
    name: str, folder: Path, data: Path, published: Path, number: int
) -> tuple[Path, list[tuple[str, str]]]:
    """The store of a set, and the names and texts of its questions."""
    if name in query_sets.SETS:
        store, queries = query_sets.opened(name, folder, data, number)
        found = [(f"{q.name} {kind}", text) for q in queries for kind, text in q.texts().items()]
        return store, found
    chosen = measured_names(published, name)
    subjects = read_subjects(published, name, chosen, labelled=bool(pattern_counts.GRAPHS[name][1]))
    texts = [(s.pattern.name, s.pattern.cypher("isomorphisms")) for s in subjects]
    return pattern_counts.loaded(name, folder, data, published), texts


def forget() -> None:
    """Have nothing on the device."""
    memory.KEPT.forget()
    memory.RESIDENTS.forget(0)


class Asker:
    """Runs one query in every state; each device gets a text of its own, so that none is planned before."""

    def __init__(self, db: gdb.Database, group: str, name: str, text: str, limit: float) -> None:
        self.db, self.limit = db, limit
        self.counts = "count(*)" in text
        self.texts, self.spaces = dict.fromkeys(DEVICES, text), 0
        self.asked = Asked(group, name)

    def anew(self, device: str) -> None:
        """Have nothing on the device, and a text that was not planned before."""
        forget()
        self.spaces += 1
        self.texts[device] = self.texts[device].rstrip(" ") + " " * self.spaces

    def once(self, device: str) -> tuple[float, str]:
        """Seconds of one run, infinite if it does not end, and where it ran."""
        begin = time.perf_counter()
        try:
            result = self.db.execute(self.texts[device], device=device, timeout=self.limit)
        except QueryTimeout:
            return math.inf, "not ended"
        seconds = time.perf_counter() - begin
        self.asked.answers.add(int(str(result.scalar())) if self.counts else len(result))
        return seconds, result.summary.device

    def run(self) -> Asked:
        """All states of it."""
        with large_patterns.planned() as plans:
            self.anew("cpu")
            self.once("cpu")
        for plan, _ in plans:
            self.asked.knows.update(known(plan))
        self.measure("first")
        if self.asked.ended():
            for device in DEVICES:
                self.warm(device)
            special.settle(COMPILING)
            self.measure("again")
        return self.asked

    def warm(self, device: str) -> None:
        """Run it many times, unless it does not end."""
        begin, runs = time.perf_counter(), 0
        if self.asked.seconds[f"{device} first"] < math.inf:
            while runs < MANY and time.perf_counter() - begin < LONG * self.limit:
                self.once(device)
                runs += 1

    def measure(self, state: str) -> None:
        """The medians of a state: the devices in turn, since a machine is not as quick at every time."""
        taken: dict[str, list[float]] = {device: [] for device in DEVICES}
        for _ in range(RUNS):
            for device, seconds in taken.items():
                if sum(seconds) < self.limit:
                    if state == "first":
                        self.anew(device)
                    took, ran = self.once(device)
                    seconds.append(took)
                    self.asked.chosen[f"{device} {state}"] = ran
        for device, seconds in taken.items():
            self.asked.seconds[f"{device} {state}"] = statistics.median(seconds)


def known(plan: Plan) -> dict[str, object]:
    """What the choice has to go by."""
    stages = [kept[1] for kept in plan.stages.values() if isinstance(kept[1], Prepared)]
    found: dict[str, object] = {
        "steps": plan.notes.steps,
        "estimates": list(plan.notes.estimates),
        "counting": plan.counting,
        "terms": len(plan.terms),
    }
    for stage in stages:
        found |= {
            "bytes": stage.bytes,
            "roots": len(stage.roots),
            "work": stage.work,
            "branches": bool(stage.nest.around),
            "caches": len(stage.nest.caches),
            "loops": stage.tables.loops,
            "spent": sum(int(getattr(w, "spent", 0)) for w in stage.idle["cpu"]),
        }
    return found


def report(asked: list[Asked], limit: float) -> Report:
    """A table of regrets by set and state, and the worst."""
    rows: list[tuple[Cell, ...]] = []
    for group in [*dict.fromkeys(a.group for a in asked), "all"]:
        for state in STATES:
            these = [a for a in asked if a.ended(state) and group in (a.group, "all")]
            if not these:
                continue
            regrets = [a.regret(state) for a in these]
            gpu_better = sum(a.seconds[f"cuda {state}"] < a.seconds[f"cpu {state}"] for a in these)
            within = round(100 * sum(r <= ALLOWED for r in regrets) / len(these))
            with np.errstate(invalid="ignore"):  # between two that did not end
                spread = [*np.percentile(regrets, (50, 95)).tolist(), max(regrets)]
            cells = (regret if math.isfinite(regret) else "not ended" for regret in spread)
            rows.append((group, state, len(these), gpu_better, within, *cells))
    head = ("set", "state", "questions", "GPU quicker", Column(f"within {ALLOWED}x", "%"))
    worst = [(a.regret(s), a, s) for a in asked for s in STATES if a.ended(s)]
    worst = sorted(worst, key=lambda w: -w[0])[:10]
    notes = [
        f"{a.group} {a.name}, {s}: {figures(r)}x (CPU {figures(1e3 * a.seconds[f'cpu {s}'])} ms, GPU "
        f"{figures(1e3 * a.seconds[f'cuda {s}'])} ms, chosen: {a.chosen[f'auto {s}']})"
        for r, a, s in worst
        if r > ALLOWED
    ]
    notes += [
        f"{a.group} {a.name}: devices disagree: {a.answers}" for a in asked if len(a.answers) > 1
    ]
    table = Table.of((*head, "p50", "p95", "most"), rows)
    return Report.of(f"Limit {limit:g} s.", [table], notes)


def read(path: Path) -> list[Asked]:
    """What --raw wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Asked(**{**one, "answers": set(one["answers"])}) for one in found]


def measured(arguments: argparse.Namespace, folder: Path) -> Iterator[Asked]:
    """The measurements of every query."""
    for group in arguments.sets.split(","):
        begin = time.monotonic()
        store, texts = questions(
            group, folder, arguments.data, arguments.published, arguments.queries
        )
        with gdb.connect(store, read_only=True) as db:
            warm = Asker(db, group, "", f"{texts[0][1]} ;", arguments.limit)
            for device in DEVICES:
                warm.once(device)
            for name, text in texts:
                try:
                    yield Asker(db, group, name, text, arguments.limit).run()
                except CountOverflow:
                    continue
        forget()
        print(f"{group}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add(
        "--queries",
        type=int,
        default=10,
        help="so many of each set of large patterns (default: 10)",
    )
    add("--limit", type=float, default=2.0, help="seconds for one run (default: 2)")
    add("--sets", default=",".join(SETS), help=f"which of {', '.join(SETS)} (default: all)")
    add("--raw", type=Path, help="write what was known and measured, as JSON")
    add(
        "--earlier",
        type=Path,
        nargs="*",
        default=[],
        help="such files, of sets that were measured before",
    )
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Run the queries and print the table."""
    arguments = arguments_of(line)
    missing = absence()
    if missing is not None:
        print(f"there is nothing to measure on: {missing}", file=sys.stderr)
        return 2
    asked = [one for path in arguments.earlier for one in read(path)]
    with tempfile.TemporaryDirectory(prefix="gdb-choose-device-") as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for one in measured(arguments, folder):
            asked.append(one)
            if arguments.raw:
                written = [{**asdict(a), "answers": sorted(a.answers)} for a in asked]
                arguments.raw.write_text(json.dumps(written), encoding="utf-8")
    found = report(asked, arguments.limit)
    print(found.markdown())
    if arguments.save:
        page.save(__file__, "Choice of a device", found, "numpy", "cupy", "llvmlite")
    return int(any(len(a.answers) > 1 for a in asked))


if __name__ == "__main__":
    sys.exit(main())

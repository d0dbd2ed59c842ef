"""Compare ours with every peer from PyPI, and with a hand-written floor, on the same queries in one run.

    python -m benchmarks.matching.peers_cpu [--graph enron hprd rmat10m] [--query tri ...] [--engine ours kuzu ...]
        [--peer-python PATH] [--threads 1 2] [--folder DIR] [--save]

Each engine answers each query in a process of its own: the graph is opened outside the clock, the first run is reported
apart, and the median of the further ones is taken. A run over the limit is stopped. Peers that are not installed are
named and left out; they may live in another environment (--peer-python). The exit code is 1 if answers differ or ours
fails, 2 if the data folder (`../shared/data`) is not here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import data, engine, measure, report, workload
from benchmarks.peers.engine import Settings
from benchmarks.peers.worker import Job
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import figures

CURE = "pip install kuzu ladybug igraph python-graphblas pyarrow"
_PROBE = """
import importlib.metadata, importlib.util, json, sys
found = {}
for module, distribution in json.loads(sys.argv[1]).items():
    if importlib.util.find_spec(module) is not None:
        found[module] = importlib.metadata.version(distribution)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """An engine that is here: the Python that has it, and its version."""

    python: Path
    version: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how; `source` is the folder that the graphs are made from."""

    source: Path
    engines: dict[str, Installed]
    threads: list[int]
    edge_labels: str
    memory_gb: int
    repeats: int
    limits: measure.Limits

    def rows(self) -> list[tuple[str, str, int]]:
        """Row name, engine and threads of each row of the tables."""
        found = []
        for name in self.engines:
            if name == engine.OURS:
                found += [(f"{name}, {_threads(n)}", name, n) for n in self.threads]
            else:
                found.append((name, name, 0))
        return found

    def settings(self, threads: int) -> Settings:
        """The settings of one process."""
        return Settings(self.memory_gb, threads, self.edge_labels, 0.8 * self.limits.run)


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"


def installed(names: list[str], pythons: list[Path]) -> dict[str, Installed]:
    """The engines that the first Python has, or else the next."""
    own = Path(sys.executable)
    found = {name: Installed(own, "") for name in names if name in (engine.OURS, engine.FLOOR)}
    wanted = {
        engine.MODULES[name]: engine.DISTRIBUTIONS.get(name, name)
        for name in names
        if name in engine.MODULES
    }
    for python in reversed(pythons):
        command = [str(python), "-c", _PROBE, json.dumps(wanted)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        versions = json.loads(output)
        for name in names:
            if name in engine.MODULES and engine.MODULES[name] in versions:
                found[name] = Installed(python, str(versions[engine.MODULES[name]]))
    return {name: found[name] for name in names if name in found}


def store_of(name: str, query: workload.Query, plan: Plan, folder: Path) -> Path:
    """Where an engine's store for a query lies."""
    if name == engine.OURS:
        kind = engine.kind_of_store(query, plan.edge_labels)
        return folder / f"ours-{kind}.gdb"
    return folder / f"{name}-{plan.engines[name].version}.db"


def load(name: str, store: Path, files: data.GraphFiles, plan: Plan) -> measure.Measured:
    """Load a store, unless a run before did; what that took is kept beside it."""
    told = store.with_name(store.name + ".json")
    if told.exists():
        seconds, peak = json.loads(told.read_text(encoding="utf-8"))
        return measure.Measured("measured", opened=seconds, peak=peak)
    if store.is_dir():  # what an interrupted run left
        shutil.rmtree(store)
    store.unlink(missing_ok=True)
    job = Job(name, str(files.folder), str(store), "", plan.settings(1))
    loaded = measure.run(job, plan.engines[name].python, plan.limits)
    if loaded.outcome == "measured":
        told.write_text(json.dumps([loaded.opened, loaded.peak]), encoding="utf-8")
    return loaded


def compare(name: str, queries: Iterable[str], plan: Plan, folder: Path) -> report.GraphReport:
    """Measure all engines on a graph."""
    files = data.made(name, folder / name, plan.source)
    known = workload.queries(name)
    found = report.GraphReport(
        name,
        f"{files.vertices:,} vertices, {files.edges:,} edges.",
        {query: known[query] for query in queries if query in known},
    )
    for row, engine_name, threads in plan.rows():
        for query in found.queries.values():
            store = store_of(engine_name, query, plan, files.folder)
            if engine_name in engine.WITH_STORE and not _loaded(found, engine_name, store, plan):
                continue
            job = Job(
                engine_name,
                str(files.folder),
                str(store),
                query.name,
                plan.settings(threads),
                plan.repeats,
                plan.limits.run / 2,
            )
            cell = measure.run(job, plan.engines[engine_name].python, plan.limits)
            found.cells[row, query.name] = cell
            _tell(name, row, query.name, cell)
    return found


def _loaded(found: report.GraphReport, name: str, store: Path, plan: Plan) -> bool:
    """Whether the store is there; loads it on first use."""
    if store.stem not in found.loads:
        loaded = load(name, store, data.opened(store.parent), plan)
        size = engine.bytes_below(store) if store.exists() else 0
        found.loads[store.stem] = (loaded, size)
        print(
            f"{found.graph} {store.stem}: loaded, {loaded.opened:.2f} s {loaded.note}", flush=True
        )
    return found.loads[store.stem][0].outcome == "measured"


def _tell(graph: str, row: str, query: str, cell: measure.Measured) -> None:
    """Print a line on what was just measured."""
    numbers = cell.note
    if cell.runs:
        numbers = f"{cell.runs[0].count:>20,}  {figures(cell.seconds):>10} s  {cell.note}"
    print(f"{graph:<8} {query:<8} {row:<16} {cell.outcome:<12} {numbers}", flush=True)


def whole(found: report.GraphReport, plan: Plan) -> Report:
    """The report of a graph, and how it was measured."""
    versions = ", ".join(f"{n} {e.version}" for n, e in plan.engines.items() if e.version)
    introduction = (
        f"Each engine and query in a process of its own, opened before the clock starts, stopped at "
        f"{plan.limits.run:g} s; the peers use all cores. ours: through `db.execute`, from a store on disk. "
        f"floor: kernels of one thread, by hand. Peers: {versions or 'none'}."
    )
    return report.report(found, introduction)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    engines = [engine.OURS, *engine.PEERS, engine.FLOOR]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        default=data.DATA,
        help="the folder of graphs (default: ../shared/data)",
    )
    add("--graph", nargs="+", default=list(data.MAKERS), choices=list(data.MAKERS))
    add(
        "--query",
        nargs="+",
        choices=workload.NAMES,
        help=f"(default: all; on rmat10m {' '.join(workload.SUBSETS['rmat10m'])})",
    )
    add("--engine", nargs="+", default=engines, choices=engines)
    add("--reps", type=int, default=3, help="runs after the first (default: 3)")
    add("--limit", type=float, default=120.0, help="seconds for each run (default: 120)")
    add("--load-limit", type=float, default=900.0, help="seconds to load or open (default: 900)")
    add(
        "--threads",
        type=int,
        nargs="+",
        default=sorted({1, cores or 1}),
        help="threads of ours, a row for each (default: 1 and all cores)",
    )
    add(
        "--edge-labels",
        default="types",
        choices=("types", "property"),
        help="how ours holds the edge labels of rw6e (default: types)",
    )
    add(
        "--memory",
        type=int,
        default=max(1, int(gigabytes / 2)),
        help="GB for engines that take a budget (default: half of the memory); at 1.4 times this any is stopped",
    )
    add("--peer-python", type=Path, help="a Python that has the peers")
    add(
        "--folder",
        type=Path,
        help="keep graphs and stores here; empty it when ours changes its format",
    )
    add("--save", action="store_true", help="write the section to benchmarks/results/")
    arguments = parser.parse_args(line)
    if arguments.peer_python is not None and not arguments.peer_python.is_file():
        parser.error(f"--peer-python: there is no {arguments.peer_python}")
    return arguments


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the command line selects; names the peers that are not installed."""
    pythons = [Path(sys.executable)]
    if arguments.peer_python is not None:
        pythons.insert(0, arguments.peer_python.absolute())
    engines = installed(arguments.engine, pythons)
    if absent := [name for name in arguments.engine if name not in engines]:
        print(f"left out, not installed: {', '.join(absent)}. To have them: {CURE}")
    memory = int(arguments.memory * 1.4 * 2**30)
    return Plan(
        arguments.data,
        engines,
        arguments.threads,
        arguments.edge_labels,
        arguments.memory,
        arguments.reps,
        measure.Limits(arguments.limit, arguments.load_limit, memory),
    )


def main(line: list[str] | None = None) -> int:
    """Make the graphs, measure, print."""
    arguments = arguments_of(line)
    if absent := data.missing(arguments.graph, arguments.data):
        names = ", ".join(map(str, absent))
        print(f"there is nothing to compare on, not here: {names}", file=sys.stderr)
        return 2
    plan = plan_of(arguments)
    wrong = False
    with tempfile.TemporaryDirectory(prefix="gdb-peers-") as temporary:
        folder = arguments.folder.absolute() if arguments.folder else Path(temporary)
        for name in arguments.graph:
            queries = arguments.query or workload.SUBSETS.get(name, workload.NAMES)
            found = compare(name, queries, plan, folder)
            comparison = whole(found, plan)
            print(f"\n## {name}\n\n{comparison.markdown()}\n", flush=True)
            if arguments.save:
                took_part = ("numpy", "llvmlite", "numba", "duckdb")
                page.save(__file__, f"Peers on the CPU: {name}", comparison, *took_part)
            ours = [cell for (row, _), cell in found.cells.items() if report.is_ours(row)]
            wrong = wrong or bool(report.disagreements(found))
            wrong = wrong or any(cell.outcome == "failed" for cell in ours)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())

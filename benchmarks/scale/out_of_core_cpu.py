"""The CPU part of `out_of_core.py`: stores on disk, queried in processes that cannot get more memory than they may.

Each cell is a process of its own, which queries a small graph first (so that Python, NumPy and machine code are there)
and then limits itself to what it has, its budget, and what is left of 100 MB: what it has of its own may become the
budget plus 100 MB, and no allocation beyond that succeeds (`RLIMIT_DATA`). With --group the process also joins a memory
group (cgroup) with the same limit, which counts the page cache of the store's files and of temporary files as well:
their pages are dropped before, and the system takes them back when the group is full, so that they are read again and
again (give a long --timeout). Without rights to make a group, the limit is `RLIMIT_DATA` alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import gdb
from benchmarks.inputs import graphs, patterns, rmat
from benchmarks.report.section import Report
from benchmarks.report.table import Cell as TableCell
from benchmarks.report.table import Column, Table
from benchmarks.scale import memory_group, page_cache
from gdb.base import budget
from gdb.base.machine.cores import cores

SPARED = 100_000_000
"""Bytes that a process may have of its own beside its budget."""
MODE = "isomorphisms"
FIRST = "MATCH (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)"
_MB = 1e6
_COMMAND = [sys.executable, "-m", "benchmarks.scale.out_of_core_cpu"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A pattern at a budget. seconds, cpu : of a warm run, medians. peak : bytes of its own that the process had at
    most, seen a hundred times a second. group : bytes that its memory group had at most, 0 without one. wrong : what
    went wrong, "" for nothing."""

    count: int | None = None
    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    group: int = 0
    wrong: str = ""


def measured(
    store: Path, text: str, memory: int, runs: int, timeout: float, folder: str = ""
) -> Cell:
    """Query a store; called in a process of its own. memory : bytes, 0 for no budget and no limit. folder : of a memory
    group to join, "" for none."""
    budget.LEAST = 1  # so that small graphs do not fit either
    with gdb.connect() as db:
        db.execute("CREATE (:N)-[:R]->(:N)")
        db.execute(FIRST, device="cpu")
    if memory:
        more = memory + SPARED - _own("RssAnon")
        most = _own("VmData") + more
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        if folder:
            memory_group.at(Path(folder)).restrict(more)
            memory_group.at(Path(folder)).join()
    peaks, done = [0], threading.Event()
    threading.Thread(target=_watch, args=[peaks, done], daemon=True).start()
    seconds, cpu, count = list[float](), list[float](), None
    try:
        with gdb.connect(store, read_only=True) as db:
            for _ in range(1 + runs):
                begin, used = time.perf_counter(), time.process_time()
                count = db.execute(
                    text, device="cpu", memory=memory or None, timeout=timeout
                ).scalar()
                seconds.append(time.perf_counter() - begin)
                cpu.append(time.process_time() - used)
    except (gdb.GdbError, MemoryError) as error:
        return Cell(wrong=type(error).__name__, peak=peaks[0])
    done.set()
    peak = max(peaks[0], _own("RssAnon"))
    median = statistics.median
    return Cell(int(str(count)), median(seconds[1:]), median(cpu[1:]), peak)


def _own(name: str) -> int:
    """Bytes, of a line of /proc/self/status."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _watch(peaks: list[int], done: threading.Event) -> None:
    while not done.wait(0.01):
        peaks[0] = max(peaks[0], _own("RssAnon"))


def _cell(store: Path, text: str, memory: int, arguments: argparse.Namespace) -> Cell:
    """`measured` in another process."""
    words = [str(store), text, str(memory), str(arguments.runs), str(arguments.timeout)]
    with memory_group.group() if arguments.group else nullcontext() as group:
        if group is not None and memory:
            page_cache.drop(store)  # pages that another group has are not counted in this one
            words.append(str(group.folder))
        ended = subprocess.run([*_COMMAND, *words], stdout=subprocess.PIPE, text=True)
        most = group.most() if group is not None and memory else 0
    if ended.returncode:
        return Cell(wrong=f"exit {ended.returncode}", group=most)
    return replace(Cell(**json.loads(ended.stdout.splitlines()[-1])), group=most)


def stored(name: str, folder: Path) -> tuple[Path, int]:
    """A graph as a store in a folder, and the bytes of its view: a neighbour and an offset have 4 and 8 bytes."""
    store = folder / f"{name}.gdb"
    if name not in rmat.SIZES:
        graphs.loaded(name, folder)
    with gdb.connect(store) as db:
        if not db.stats().edges:
            import pyarrow as pa

            scale, count = rmat.SIZES[name]
            keys = rmat.relationships(scale, count, cores())
            ends = {":START_ID": keys >> scale, ":END_ID": keys & ((1 << scale) - 1)}
            begin = time.perf_counter()
            db.load(edges={"E": pa.table(ends)}, label="N", directed=False)
            print(name, f"imported in {time.perf_counter() - begin:.1f} s", flush=True)
        stats = db.stats()
    return store, 8 * stats.edges + 8 * stats.vertices


def _queries(
    name: str, shapes: dict[str, tuple[tuple[int, int], ...]]
) -> Iterator[tuple[str, str, int | None]]:
    """The patterns for a graph, the six, or all whose counts are known: name, text, and the count."""
    if name in rmat.SIZES:
        for pattern, pairs in shapes.items():
            vertices = 1 + max(map(max, pairs))
            shape = patterns.Pattern(pattern, (None,) * vertices, pairs)
            yield pattern, shape.cypher(MODE), None
        return
    for known in graphs.known(name):
        for mode, count in known.counts.items():
            yield f"{known.name}, {mode}", known.cypher(mode), count


def report(
    arguments: argparse.Namespace, shapes: dict[str, tuple[tuple[int, int], ...]]
) -> tuple[Report, bool]:
    """Make the stores, query; and whether every answer is the one in memory."""
    rows, wrong = list[tuple[TableCell, ...]](), False
    with tempfile.TemporaryDirectory(prefix="gdb-out-of-core-") as temporary:
        for name in arguments.graph:
            store, size = stored(name, arguments.folder or Path(temporary))
            for pattern, text, known in _queries(name, shapes):
                whole: Cell | None = None
                for part in sorted(arguments.budgets):
                    memory = 0 if part == 1 else size // part
                    cell = _cell(store, text, memory, arguments)
                    whole = whole or cell
                    if whole.wrong == "QueryTimeout":
                        print(name, pattern, f"takes longer than {arguments.timeout:g} s")
                        break
                    equal = (
                        cell.count is not None
                        and cell.count == whole.count
                        and known in (None, cell.count)
                    )
                    late = cell.wrong == "QueryTimeout"
                    wrong = wrong or not (equal or late)
                    over = memory and cell.peak > memory + SPARED
                    parts = (cell.seconds / whole.seconds, cell.cpu / whole.cpu) if equal else ()
                    held = round(cell.peak / _MB)
                    rows.append(
                        (
                            *(name, pattern, f"1/{part}" if part > 1 else "none"),
                            memory / _MB if memory else None,
                            *((cell.seconds, cell.cpu) if equal else (None, None)),
                            *(parts or (cell.wrong, cell.wrong)),
                            *(f"{held:,} OVER" if over else held, round(cell.group / _MB) or None),
                            "yes" if equal else "late" if late else "NO",
                        )
                    )
                    print(*rows[-1], sep="\t", flush=True)
    header = (
        *("graph", "pattern", "budget", Column("memory", "MB", 1), Column("time", "s")),
        *(Column("CPU", "s"), Column("ratio", decimals=2), Column("CPU ratio", decimals=2)),
        *(Column("own", "MB"), Column("group", "MB"), "equal"),
    )
    introduction = (
        "Stores on disk, queried in processes of their own, which may have their budget and "
        f"{SPARED / _MB:.0f} MB. budget: `memory=` as a part of the bytes of the graph's view. Warm runs, medians; "
        "own: memory that is no map of a file, at most; group: all of the memory group, page cache included; "
        f"late: longer than {arguments.timeout:g} s."
    )
    return Report.of(introduction, [Table.of(header, rows)]), not wrong


if __name__ == "__main__":
    place, query, size, times, most_seconds, *joined = sys.argv[1:]
    found = measured(Path(place), query, int(size), int(times), float(most_seconds), *joined)
    print(json.dumps({name: getattr(found, name) for name in Cell.__slots__}))

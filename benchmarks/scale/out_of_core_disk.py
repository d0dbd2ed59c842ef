"""The disk part of `out_of_core.py`: stores whose files are not in the page cache, plain and packed.

A cell is three processes that query a small graph first and then open the store: two with its files in the page cache,
the first of them without a bound of the host's memory, and one after they were dropped from it. The others have
`memory=` of a part of the store (`--host`, a fourth), and on a GPU the graph has a part of its view in device memory
(`--gpu-part`, a sixteenth). With `--device auto` the one without a bound runs on the GPU, the others where the choice
of a device has them run. The rate of the disk is measured before each cell, by four threads that read the store's
files. The first answer from the disk may take the larger one of 1.25 times the bytes that it reads by that rate, and 3
times the first answer without a bound. A query takes at most --timeout.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gdb
from benchmarks.inputs import patterns
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from benchmarks.scale import out_of_core_cpu, page_cache
from gdb.base import budget
from gdb.errors import OutOfBudget, QueryTimeout
from gdb.executor.gpu import residency, special

MOST_READING, MOST_RATIO = 1.25, 3.0
_MB = 1e6

Shapes = dict[str, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True)
class First:
    """The first answer of a process over a store. again : seconds of the second one. read : bytes from the disk. on :
    the device that ran it."""

    count: int
    seconds: float
    again: float
    read: int
    on: str


def measured(
    store: Path, text: str, memory: int, device: str, most: int, timeout: float, cold: bool
) -> First:
    """Query a store in a process of its own. memory : 0 for no bound. most : bytes of the graph on the device; cold :
    not from the page cache."""
    options: dict[str, Any] = {"device": device, "memory": memory or None, "timeout": timeout}
    with gdb.connect() as db:
        db.execute("CREATE (:N)-[:R]->(:N)")
        db.execute(out_of_core_cpu.FIRST, device=_named(device))
    special.settle(60)
    if device != "cpu":
        residency.MOST = most
    (page_cache.drop if cold else page_cache.warm)(store)
    before, begin = page_cache.bytes_from_disk(), time.perf_counter()
    with gdb.connect(store, read_only=True) as db:
        result = db.execute(text, **options)
        count = result.scalar()
        seconds, read = time.perf_counter() - begin, page_cache.bytes_from_disk() - before
        begin = time.perf_counter()
        db.execute(text, **options).scalar()
        again = time.perf_counter() - begin
    return First(int(str(count)), seconds, again, read, result.summary.device)


def _named(device: str) -> str:
    return "cuda" if device == "auto" else device


def _other_process(*words: object) -> First | str:
    """What a process of its own measures, or how the query has failed."""
    command = [sys.executable, "-m", "benchmarks.scale.out_of_core_disk", *map(str, words)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    return found if isinstance(found, str) else First(**found)


def _row(
    name: str,
    kind: str,
    store: Path,
    shape: patterns.Pattern,
    sizes: Sequence[int],
    arguments: argparse.Namespace,
) -> tuple[Cell, ...]:
    """A row of the table. sizes : `memory=`, and bytes of the graph in device memory."""
    text, rate = shape.cypher(out_of_core_cpu.MODE), page_cache.disk_rate(store)
    first = name, shape.name, kind, sizes[0] / _MB
    found = list[First]()
    for memory, cold in ((0, 0), (sizes[0], 0), (sizes[0], 1)):
        device = arguments.device if found else _named(arguments.device)
        words = (store, text, memory, device, sizes[1], arguments.timeout, cold)
        one = _other_process(*words)
        if isinstance(one, str):
            return (*first, one, *[None] * (7 + 2))
        found.append(one)
    free, warm, cold_one = found
    allowed = max(MOST_READING * cold_one.read / rate, MOST_RATIO * free.seconds)
    return (
        *(*first, cold_one.read / _MB, rate / _MB, cold_one.seconds, warm.seconds, warm.again),
        *(free.seconds, allowed, cold_one.seconds / allowed),
        *(cold_one.on, "yes" if free.count == cold_one.count == warm.count else "NO"),
    )


def report(arguments: argparse.Namespace, shapes: Shapes) -> Iterator[tuple[Report, bool]]:
    """Make the stores, query; after each cell what there is, and whether all answers are equal."""
    table, end = list[tuple[Cell, ...]](), time.perf_counter() + arguments.limit
    with tempfile.TemporaryDirectory(prefix="gdb-out-of-core-") as temporary:
        folder = arguments.folder or Path(temporary)
        for name in arguments.graph:
            plain, view = out_of_core_cpu.stored(name, folder)
            for kind in arguments.stores:
                store = _packed(plain) if kind == "packed" else plain
                sizes = page_cache.size(store) // arguments.host, view // arguments.gpu_part
                for pattern, pairs in shapes.items():
                    if time.perf_counter() > end:
                        return
                    vertices = (None,) * (1 + max(map(max, pairs)))
                    shape = patterns.Pattern(pattern, vertices, pairs)
                    table.append(_row(name, kind, store, shape, sizes, arguments))
                    print(*table[-1], sep="\t", flush=True)
                    yield _so_far(table, arguments)


def _so_far(table: list[tuple[Cell, ...]], arguments: argparse.Namespace) -> tuple[Report, bool]:
    header = (
        *("graph", "pattern", "store", Column("memory", "MB", 1), Column("read", "MB", 1)),
        *(Column("disk", "MB/s", 0), Column("from the disk", "s"), Column("page cache", "s")),
        *(Column("again", "s"), Column("no bound", "s"), Column("allowed", "s")),
        *(Column("part of it", decimals=2), "on", "equal"),
    )
    introduction = (
        f"First answers of processes with `memory=` of 1/{arguments.host} of the store; the disk's rate is that of "
        f"four readers before each. no bound: from the page cache, without `memory=`. allowed: the larger of "
        f"{MOST_READING} times the bytes read by that rate and {MOST_RATIO:g} times that without a bound. page cache: "
        "where it takes seconds more, a kernel was compiled, once on a machine."
    )
    return Report.of(introduction, [Table.of(header, table)]), not any("NO" in row for row in table)


def _packed(plain: Path) -> Path:
    """A packed copy of a store beside it."""
    store = plain.with_name(f"{plain.stem}-packed.gdb")
    if not store.exists():
        with gdb.connect(plain, read_only=True) as db:
            db.backup(store)
        with gdb.connect(store) as db:
            db.compact(packed=True)
    return store


if __name__ == "__main__":
    place, query, memory, device, most, timeout, cold = sys.argv[1:]
    budget.LEAST = 1  # so that small graphs do not fit either
    try:
        on = device, int(most), float(timeout), bool(int(cold))
        found = measured(Path(place), query, int(memory), *on)
    except (OutOfBudget, QueryTimeout) as error:
        print(error, file=sys.stderr)
        late = isinstance(error, QueryTimeout)
        print(json.dumps(f"over {timeout} s" if late else "refused"))
    else:
        print(json.dumps({name: getattr(found, name) for name in First.__slots__}))

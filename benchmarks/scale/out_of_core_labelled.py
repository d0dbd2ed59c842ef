"""The part `--labelled` of `out_of_core.py`: R-MAT with 16 vertex labels and 64 edge labels, the k-th as frequent as
1 / k.

Triangles of three edge labels, frequent ones and rare ones, show that only the partitions that a plan reads are placed:
the bytes that the first run copies to the device (on the CPU: reads), beside those of all partitions. Query graphs of
12 vertices that random walks cut out of the graph run with all of what they read in memory and with `--part` of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import gdb
from benchmarks.inputs import rmat
from benchmarks.inputs.query_sets import Query
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Over, Table
from gdb.base import budget
from gdb.base.machine.cores import cores
from gdb.errors import OutOfBudget, QueryTimeout
from gdb.executor.gpu import memory, pinned, residency, special

LABELS, TYPES = 16, 64
TRIANGLES = {"frequent": (0, 1, 2), "middle": (7, 8, 9), "rare": (40, 41, 42)}
SIZE = 12  # vertices of a query graph
COMPILING = 2.0  # seconds to wait for the kernel of a query
FIRST = 30.0  # seconds that the first run of a query may take at least
_PIECE = 1 << 20
_MB = 1e6

Bytes = npt.NDArray[np.uint8]


def drawn(number: int, count: int, seed: int) -> Bytes:
    """Numbers below `number`, the k-th as frequent as 1 / (k + 1), u8[count]."""
    chances = np.cumsum(1 / np.arange(1, number + 1))
    rng, found = np.random.default_rng(seed), np.empty(count, np.uint8)
    for at in range(0, count, _PIECE):
        some = rng.random(min(_PIECE, count - at)) * chances[-1]
        found[at : at + len(some)] = np.searchsorted(chances, some, side="right")
    return found


class Labelled:
    """The graph. keys : of `rmat.relationships`; kinds : the edge label of each, u8[m]; labels : of each vertex."""

    def __init__(self, name: str) -> None:
        self.scale, count = rmat.SIZES[name]
        self.keys = rmat.relationships(self.scale, count, cores())
        self.kinds = drawn(TYPES, count, 1)
        self.labels = drawn(LABELS, 1 << self.scale, 2)
        self._mask = (1 << self.scale) - 1

    def ends(self) -> list[tuple[rmat.Keys, rmat.Keys]]:
        """The ends of the relationships of each edge label, i64[m] both."""
        order = np.argsort(self.kinds, kind="stable")
        limits = np.cumsum(np.bincount(self.kinds, minlength=TYPES))[:-1]
        parts = np.split(self.keys[order], limits)
        return [(some >> self.scale, some & self._mask) for some in parts]

    def load(self, store: Path) -> int:
        """Into a new store; the bytes of all partitions in memory, where a neighbour has 4 and an offset 8."""
        import pyarrow as pa

        there, size = np.zeros(1 << self.scale, np.bool_), 8 * len(self.keys)
        tables = {}
        for k, (a, b) in enumerate(self.ends()):
            own = np.zeros(1 << self.scale, np.bool_)
            own[a] = own[b] = True
            there |= own
            size += 8 * int(np.count_nonzero(own))
            tables[f"T{k}"] = pa.table({":START_ID": a, ":END_ID": b})
        vids = np.flatnonzero(there)
        nodes = {f"L{k}": pa.table({":ID": vids[self.labels[vids] == k]}) for k in range(LABELS)}
        begin = time.perf_counter()
        with gdb.connect(store) as db:
            db.load(nodes=nodes, edges=tables, directed=False)
        print(f"imported in {time.perf_counter() - begin:.1f} s", flush=True)
        return size

    def walks(self, number: int) -> Iterator[Query]:
        """Query graphs with all edges between the vertices of a walk, and with those of the walk alone, in turns."""
        mask, scale = self._mask, self.scale
        back = rmat.ascending(((self.keys & mask) << scale) | (self.keys >> scale), cores())
        for k in range(number):
            rng = np.random.default_rng([SIZE, k])
            at = int(self.keys[int(rng.integers(len(self.keys)))] >> scale)
            chosen, steps = {at: 0}, set[tuple[int, int]]()
            while len(chosen) < SIZE:
                sides = [self._row(keys, at) for keys in (self.keys, back)]
                which = int(rng.integers(sum(map(len, sides))))
                keys, place = (0, which) if which < len(sides[0]) else (1, which - len(sides[0]))
                to = int(sides[keys][place] & mask)
                if to not in chosen:
                    chosen[to] = len(chosen)
                    steps.add((min(at, to), max(at, to)))
                at = to
            pairs = {(u, v) for u in chosen for v in chosen if u < v and self._kind(u, v) >= 0}
            dense = k % 2 == 0
            kept = sorted(pairs if dense else steps)
            edges = tuple((chosen[u], chosen[v], f"T{self._kind(u, v)}") for u, v in kept)
            labels = tuple(f"L{self.labels[v]}" for v in chosen)
            yield Query(f"{'dense' if dense else 'sparse'}_{SIZE}_{k}", labels, edges)

    def _row(self, keys: rmat.Keys, vertex: int) -> rmat.Keys:
        low, high = np.searchsorted(keys, [vertex << self.scale, (vertex + 1) << self.scale])
        return keys[low:high]

    def _kind(self, low: int, high: int) -> int:
        """The edge label between two vertices, -1 where there is no edge."""
        key = low << self.scale | high
        at = int(np.searchsorted(self.keys, key))
        return int(self.kinds[at]) if at < len(self.keys) and self.keys[at] == key else -1


@dataclass(frozen=True, slots=True)
class Run:
    """A query. first, again : seconds. moved : bytes that the first run copied to the device, or read on the CPU."""

    count: int
    first: float
    again: float
    moved: int


def run(store: Path, text: str, most: int, arguments: argparse.Namespace) -> Run:
    """Query a store that nothing was read of before. most : bytes of the graph in memory, 0 for all."""
    gpu = arguments.device != "cpu"
    if gpu:
        residency.MOST = most or sys.maxsize
        memory.KEPT.forget()
        memory.RESIDENTS.forget(0)
    options = {"device": arguments.device}
    if most and not gpu:
        options["memory"] = most
    try:
        with gdb.connect(store, read_only=True) as db:
            seconds = list[float]()
            for _ in range(2):
                begin = time.perf_counter()
                # a first one may wait for a compiler
                limit = arguments.timeout if seconds else max(arguments.timeout, FIRST)
                result = db.execute(text, timeout=limit, **options)
                count = int(str(result.scalar()))
                seconds.append(time.perf_counter() - begin)
                if len(seconds) == 1:
                    told = result.summary.moved_bytes if gpu else result.summary.bytes_read
                    special.settle(COMPILING)
        return Run(count, seconds[0], seconds[1], told)
    finally:
        residency.MOST = sys.maxsize


def report(arguments: argparse.Namespace) -> Iterator[tuple[Report, bool]]:
    """Make the stores, query; after each query what there is, and whether every answer is the one in memory."""
    budget.LEAST, start = 1, time.perf_counter()
    placed, walked, right = list[tuple[Cell, ...]](), list[tuple[Cell, ...]](), True
    with tempfile.TemporaryDirectory(prefix="gdb-labelled-", dir=arguments.folder) as temporary:
        for name in arguments.graph:
            begin = time.perf_counter()
            graph = Labelled(name)
            queries = list(graph.walks(arguments.walks))
            print(name, f"made in {time.perf_counter() - begin:.1f} s", flush=True)
            store = Path(temporary) / f"{name}.gdb"
            whole = graph.load(store)
            del graph
            for word, kinds in TRIANGLES.items():
                a, b, c = (f"T{k}" for k in kinds)
                ends = f"(x)-[:{a}]-(y)-[:{b}]-(z), (x)-[:{c}]-(z)"
                row: tuple[Cell, ...] = (name, word, f"{a}, {b}, {c}")
                try:
                    found = run(
                        store, f"MATCH DIFFERENT NODES {ends} RETURN count(*)", 0, arguments
                    )
                except QueryTimeout:
                    placed.append((*row, None, None, None, Over(arguments.timeout * 1e3), None))
                else:
                    moved = found.moved / _MB, found.moved / whole
                    placed.append((*row, *moved, found.first, found.again * 1e3, found.count))
                print(*placed[-1], sep="\t", flush=True)
                yield _report(arguments, placed, walked), right
            for query in queries:
                if time.perf_counter() - start > arguments.limit:
                    break
                row, equal = _walk(store, query, arguments)
                walked.append((name, *row))
                right = right and equal
                print(*walked[-1], sep="\t", flush=True)
                yield _report(arguments, placed, walked), right
    pinned.CACHE.forget()


def _report(
    arguments: argparse.Namespace, placed: list[tuple[Cell, ...]], walked: list[tuple[Cell, ...]]
) -> Report:
    what = "read" if arguments.device == "cpu" else "placed"
    tables = [
        Table.of(
            (
                *("graph", "edge labels", "which", Column(what, "MB", 1)),
                *(Column("part of all", decimals=3), Column("first", "s"), Column("again", "ms")),
                "triangles",
            ),
            placed,
        ),
        Table.of(
            (
                *(
                    "graph",
                    "query graph",
                    "edges",
                    Column(what, "MB", 1),
                    Column("in memory", "ms"),
                ),
                *(Column(f"1/{arguments.part}", "ms"), Column("ratio", decimals=2), "embeddings"),
                "equal",
            ),
            walked,
        ),
    ]
    verb = "reads" if what == "read" else "copies to the device"
    introduction = (
        f"{LABELS} vertex labels and {TYPES} edge labels, the k-th as frequent as 1 / k. {what}: bytes of the graph "
        f"that a first run {verb}. Query graphs of {SIZE} vertices: second runs, over after {arguments.timeout:g} s; "
        f"1/{arguments.part} of what they read in memory."
    )
    return Report.of(introduction, tables)


def _walk(
    store: Path, query: Query, arguments: argparse.Namespace
) -> tuple[tuple[Cell, ...], bool]:
    """A row of the second table, and whether both counts are equal."""
    text, over = query.texts()["count"], Over(arguments.timeout * 1e3)
    begun = query.name, len(query.edges)
    try:
        whole = run(store, text, 0, arguments)
    except QueryTimeout:
        return (*begun, None, over, None, None, None, None), True
    read = whole.moved / _MB, whole.again * 1e3
    try:
        part = run(store, text, max(whole.moved // arguments.part, 1), arguments)
    except QueryTimeout:
        return (*begun, *read, over, None, whole.count, None), True
    except OutOfBudget as error:
        print(query.name, error, file=sys.stderr)
        return (*begun, *read, "refused", None, whole.count, None), True
    equal, ratio = part.count == whole.count, part.again / whole.again
    return (*begun, *read, part.again * 1e3, ratio, whole.count, "yes" if equal else "NO"), equal

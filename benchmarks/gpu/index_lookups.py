"""Look vids up on a GPU in three layouts of edge-label partitions: interval index, hash-PCSR, plain CSR.

    python -m benchmarks.gpu.index_lookups [--edges 1e7] [--labels 1 5 12 100] [--runs 5] [--save]
    python -m benchmarks.gpu.index_lookups --check [--edges 1e6]

An R-MAT graph, its edge labels drawn by Zipf's law; one edge-label partition (ELP) for each label, built and stored by
the product. A lookup gives start and end of a vid's neighbours. The interval index is searched by the product's own
`find_row` (executor/gpu/kernels/lookup.cuh); hash-PCSR is laid out as GSI does it, and probed by a thread or, as GSI
does, by a warp for each vid (index_layouts.py, index_lookups.cu): the comparison of geneva-tpds §8.2, figure 8 and
table 2. `--check` needs no GPU: it builds all layouts, looks every vid up in each with NumPy, and prints the bytes. The
exit code is 1 if a layout gives another row than the others, 2 if there is nothing to measure on.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.gpu.index_kernels import (
    CROWDED,
    CSR,
    GENERIC,
    GSI,
    HASHES,
    INTERVAL,
    KERNELS,
    ROOM,
    SHARED,
    SLOTS,
    SMALL,
    SMALL_ROOM,
    Kernel,
    Layout,
    Placed,
    source,
)
from benchmarks.gpu.index_layouts import (
    I64,
    U32,
    Bytes,
    bytes_of,
    digest,
    digests,
    find_by_intervals,
    rmat,
    stored,
    zipf_labels,
)
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Table, figures
from gdb.executor.gpu import compiler, device, memory
from gdb.executor.gpu.memory import DeviceArray
from gdb.storage.graph.adjacency import Adjacency

LOOKUPS = 1 << 26  # of one timed launch: a smaller set of look-ups runs several times
WARP_CHUNKS, WARP_CHUNK = 8, 8192  # lookups that a single warp is timed with
DIGEST_CHUNK = 4096


# ---- look-ups ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Lookups:
    """The look-ups: for each ELP a range of `vids`, u32[n]. bounds : i64[elps, 2]."""

    asked: str
    order: str
    vids: U32
    bounds: I64

    @property
    def total(self) -> int:
        return int((self.bounds[:, 1] - self.bounds[:, 0]).sum())

    def chunks(self, size: int) -> I64:
        """The ranges in pieces: i64[count, 3], an ELP, begin, end."""
        pieces = []
        for elp, (begin, end) in enumerate(self.bounds.tolist()):
            starts = np.arange(begin, end, size)
            elps = np.full_like(starts, elp)
            pieces.append(np.stack([elps, starts, np.minimum(starts + size, end)], axis=1))
        return np.concatenate(pieces)


def questions(parts: list[Adjacency], vertices: int) -> Iterator[Lookups]:
    """The vids that have a row in each ELP, ascending, at random, and in the order of the ELP's neighbour lists; all
    vids of the graph in each ELP."""
    rng = np.random.default_rng(1)
    own = [part.vids() for part in parts]
    orders = {
        "ascending": own,
        "random": [rng.permutation(vids) for vids in own],
        "as neighbours": [part.neighbours for part in parts],
    }
    for order, lists in orders.items():
        ends = np.cumsum([len(vids) for vids in lists])
        bounds = np.stack([np.append(0, ends[:-1]), ends], axis=1).astype(np.int64)
        yield Lookups("with a row", order, np.concatenate(lists), bounds)
    everyone = np.arange(vertices, dtype=np.uint32)
    bounds = np.tile(np.array([0, vertices], np.int64), (len(parts), 1))
    yield Lookups("all", "ascending", everyone, bounds)
    yield Lookups("all", "random", rng.permutation(everyone), bounds)


# ---- measuring -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """Lookups a second of each kernel, by its name; `alone` on a single warp."""

    labels: int
    asked: str
    order: str
    alone: bool
    rates: dict[str, float]

    @property
    def interval(self) -> float:
        """The product's: in a nest's own kernel or in the generic one."""
        return max(self.rates[INTERVAL.name], self.rates[GENERIC.name])

    @property
    def hashed(self) -> tuple[float, str]:
        """The best of hash-PCSR, and which kernel that is."""
        return max((self.rates[kernel.name], kernel.name) for kernel in HASHES)


class Bench:
    """The compiled kernels on the current device. problems : where two of them disagree."""

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self.problems: list[str] = []
        self.sums = memory.empty((SLOTS, 2), np.uint64)

    def digests(
        self, kernel: Kernel, placed: Placed, asked: Lookups, vids: DeviceArray
    ) -> list[int]:
        """The digest of each ELP's rows."""
        sums = memory.empty((placed.elps,), np.uint64, zero=True)
        chunks = asked.chunks(DIGEST_CHUNK)
        _function(kernel.special, CROWDED[0], f"digest_{kernel.entry}")(
            (len(chunks),),
            (kernel.block,),
            _arguments(kernel, placed, vids, chunks, sums),
            shared_mem=4 * kernel.room,
        )
        found: list[int] = memory.download(sums).tolist()
        return found

    def measure(self, labels: int, placed: Placed, asked: Lookups, alone: bool) -> Measured:
        """The rate of each kernel. What the lookups found is summed up, so that none can be left out, and compared."""
        vids = memory.upload(asked.vids)
        rates: dict[str, float] = {}
        found: dict[str, tuple[int, int]] = {}
        for kernel in KERNELS:
            for size in (WARP_CHUNK,) if alone else kernel.chunks:
                chunks = _sample(asked, size) if alone else _repeated(asked, size)
                arguments = _arguments(kernel, placed, vids, chunks, self.sums)
                shape = ((1,), (32,)) if alone else ((len(chunks),), (kernel.block,))
                for crowded in CROWDED[:1] if alone else CROWDED:
                    function = _function(kernel.special, crowded, f"time_{kernel.entry}")
                    sums, seconds = self._timed(function, arguments, *shape, 4 * kernel.room)
                    rate = int((chunks[:, 2] - chunks[:, 1]).sum()) / seconds
                    rates[kernel.name] = max(rate, rates.get(kernel.name, 0.0))
                    if found.setdefault(kernel.name, sums) != sums:
                        self.problems.append(f"{kernel.name} finds other rows in other chunks")
        measured = Measured(labels, asked.asked, asked.order, alone, rates)
        self._compare(measured, found)
        return measured

    def _timed(
        self,
        function: compiler.Function,
        arguments: tuple[object, ...],
        grid: tuple[int],
        block: tuple[int],
        shared: int,
    ) -> tuple[tuple[int, int], float]:
        """The sums of one launch, and the median seconds of those after it."""
        self.sums.data.memset_async(0, self.sums.nbytes)
        function(grid, block, arguments, shared_mem=shared)
        starts, ends = memory.download(self.sums).sum(axis=0).tolist()
        seconds = []
        for _ in range(self.runs):
            clock = memory.Clock()
            function(grid, block, arguments, shared_mem=shared)
            clock.stop()
            seconds.append(clock.seconds())
        return (starts, ends), statistics.median(seconds)

    def _compare(self, measured: Measured, found: dict[str, tuple[int, int]]) -> None:
        """Starts and ends are the same but for hash-PCSR, whose rows lie in another order; lengths are all the same."""
        where = f"{measured.labels} labels, {measured.asked}, {measured.order}"
        for kernel in KERNELS:
            like = found[GSI.name if kernel.layout is Layout.HASH else CSR.name]
            starts, ends = found[kernel.name]
            wrap = 1 << 64
            if (starts, ends) != like or (ends - starts) % wrap != _length(found[CSR.name]):
                self.problems.append(f"{where}: {kernel.name} finds {starts}, {ends}")


@cache
def _module(special: bool, crowded: int) -> compiler.Module:
    return compiler.load_kernels(source(special, crowded), 0)


@cache
def _function(special: bool, crowded: int, name: str) -> compiler.Function:
    return _module(special, crowded).get_function(name)


def _sample(asked: Lookups, size: int) -> I64:
    """Some of the chunks, always the same."""
    chunks = asked.chunks(size)
    picked = np.random.default_rng(2).permutation(len(chunks))[:WARP_CHUNKS]
    return chunks[np.sort(picked)]


def _repeated(asked: Lookups, size: int) -> I64:
    """All chunks, so often that a launch has about LOOKUPS lookups."""
    return np.tile(asked.chunks(size), (max(1, round(LOOKUPS / asked.total)), 1))


def _arguments(
    kernel: Kernel, placed: Placed, vids: DeviceArray, chunks: I64, sums: DeviceArray
) -> tuple[object, ...]:
    counts = np.int64(len(chunks)), np.int64(kernel.room)
    return placed.tables[kernel.layout], vids, memory.upload(chunks), *counts, sums


def _length(sums: tuple[int, int]) -> int:
    return (sums[1] - sums[0]) % (1 << 64)


def compare(
    bench: Bench, labels: int, placed: Placed, parts: list[Adjacency], vertices: int
) -> None:
    """Every row that every kernel finds, for all vids of the graph in each ELP, against NumPy's."""
    vids = np.arange(vertices, dtype=np.uint32)
    right = [digest(vids, find_by_intervals(part, vids), part.neighbours) for part in parts]
    bounds = np.tile(np.array([0, vertices], np.int64), (len(parts), 1))
    asked, there = Lookups("all", "ascending", vids, bounds), memory.upload(vids)
    for kernel in KERNELS:
        found = bench.digests(kernel, placed, asked, there)
        wrong = [elp for elp, (x, y) in enumerate(zip(found, right, strict=True)) if x != y]
        if wrong:
            bench.problems.append(f"{labels} labels: {kernel.name} gives other rows in {wrong}")


# ---- tables --------------------------------------------------------------------------------------


def bytes_table(found: dict[int, Bytes]) -> Table:
    """Bytes of the three layouts, by number of labels."""
    layouts = ("CSR", "interval", "4-byte offsets", "hash-PCSR")
    whole_of = ("CSR", "interval", "hash-PCSR")
    header: Header = (
        *("labels", "rows", "intervals"),
        *(Column(name, "bytes") for name in layouts),
        *(Column(f"{name} with neighbours", "bytes") for name in whole_of),
        *(Column("interval / CSR", decimals=3), Column("saved of hash", "%", 1)),
    )
    rows: list[tuple[Cell, ...]] = []
    for labels, one in found.items():
        whole = [one.neighbours + index for index in (one.csr, one.interval, one.hashed)]
        counts = (labels, one.rows, one.intervals, one.csr, one.interval, one.compact, one.hashed)
        saved = 100 * (1 - whole[1] / whole[2])
        rows.append((*counts, *whole, whole[1] / whole[0], saved))
    return Table.of(header, rows, "Bytes of the index; ratios with neighbours:")


def rates_table(measured: Iterable[Measured], unit: int, caption: str) -> Table:
    """Lookups a second in 10 to the power of `unit`, and ratios."""
    rates_of = (Column(kernel.name, f"10^{unit}/s") for kernel in KERNELS)
    header: Header = (
        *("labels", "vids", "order"),
        *rates_of,
        "best hash",
        *("interval / hash", "interval / GSI", "interval / CSR", "shared / interval"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in measured:
        best, which = one.hashed
        shared = max(one.rates[SHARED.name], one.rates[SMALL.name])
        ratios = (one.interval / x for x in (best, one.rates[GSI.name], one.rates[CSR.name]))
        rates = (one.rates[kernel.name] / 10**unit for kernel in KERNELS)
        rows.append(
            (one.labels, one.asked, one.order, *rates, which, *ratios, shared / one.interval)
        )
    return Table.of(header, rows, caption)


def notes(measured: list[Measured]) -> list[str]:
    """Geometric means over the questions, by number of labels."""
    lines = []
    for labels in dict.fromkeys(one.labels for one in measured):
        for alone in (False, True):
            mine = [one for one in measured if one.labels == labels and one.alone is alone]
            if not mine:
                continue
            hashed = statistics.geometric_mean(one.interval / one.hashed[0] for one in mine)
            gsi = statistics.geometric_mean(one.interval / one.rates[GSI.name] for one in mine)
            plain = statistics.geometric_mean(one.interval / one.rates[CSR.name] for one in mine)
            where = "one warp" if alone else "the whole GPU"
            lines.append(
                f"{labels} labels, {where}: the interval index looks up {figures(hashed)} times as many as the best "
                f"hash-PCSR, {figures(gsi)} times as many as GSI's way, {figures(plain)} times as many as CSR"
            )
    return lines


def report(
    sizes: dict[int, Bytes], measured: list[Measured], vertices: int, edges: int, runs: int
) -> Report:
    """All that is printed and saved."""
    whole = [one for one in measured if not one.alone]
    alone = [one for one in measured if one.alone]
    tables = [bytes_table(sizes)]
    if measured:
        tables += [
            rates_table(whole, 9, "The whole GPU, lookups a second:"),
            rates_table(alone, 6, "One warp, as in figure 8, lookups a second:"),
        ]
    introduction = (
        f"An R-MAT graph of {vertices:,} vertices and {edges:,} undirected edges, labels by Zipf's law; an ELP holds "
        "both ends of an edge. A lookup gives start and end of a vid's neighbours; CUDA events, medians of "
        f"{runs} warm launches, each of about 67 million lookups; each kernel in its best shape. interval: the "
        "product's `find_row` as in a nest's own kernel, with offsets of 8 bytes; generic: as in the generic kernel; "
        "4-byte: `interval` with offsets of 4 bytes; "
        f"shared: the first vids of intervals in shared memory, up to {ROOM:,} or {SMALL_ROOM:,} of them, beyond that "
        "every n-th. Hash-PCSR as GSI lays it out (128 bytes for each row), a thread or a warp for each vid; `%`: the "
        "remainder by division as in GSI, otherwise by multiplication; `warp %` is GSI's way. CSR: 4-byte offsets for "
        "all vids in each ELP. Ratios take the better of interval and generic, the best hash, the better of shared. "
        "with a row: the vids that the ELP has; all: all vids of the graph in each ELP. All rows that all kernels find "
        "were compared."
    )
    return Report.of(introduction, tables, notes(measured))


# ---- the program ---------------------------------------------------------------------------------


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--edges", type=lambda text: int(float(text)), default=10_000_000, help="(default: 1e7)")
    add("--labels", type=int, nargs="+", default=[1, 5, 12, 100], help="(default: 1 5 12 100)")
    add("--runs", type=int, default=5, help="launches after the first (default: 5)")
    add("--check", action="store_true", help="compare the layouts with NumPy, without a GPU")
    add("--save", action="store_true", help="write the section to benchmarks/results/")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Build, compare, measure, print."""
    arguments = arguments_of(line)
    missing = device.absence()
    if not arguments.check and missing is not None:
        print(f"there is nothing to measure on: {missing}", file=sys.stderr)
        return 2
    vertices, sources, targets = rmat(arguments.edges)
    print(f"{vertices:,} vertices, {len(sources):,} edges", flush=True)
    sizes: dict[int, Bytes] = {}
    measured: list[Measured] = []
    problems: list[str] = []
    for labels in arguments.labels:
        begin = time.perf_counter()
        drawn = zipf_labels(len(sources), labels)
        with (
            tempfile.TemporaryDirectory(prefix="gdb-index-") as folder,
            stored(vertices, sources, targets, drawn, Path(folder) / "store") as parts,
        ):
            sizes[labels] = bytes_of(parts, vertices)
            told = f"{labels} labels: {sizes[labels].intervals:,} intervals"
            print(f"{told}, stored in {time.perf_counter() - begin:.1f} s", flush=True)
            if arguments.check:
                wrong = [k for k, part in enumerate(parts) if len(set(digests(part, vertices))) > 1]
                problems += [f"{labels} labels: the layouts differ in {k}" for k in wrong]
            else:
                with device.on(0):
                    measured += run(labels, parts, vertices, arguments.runs, problems)
        print(f"{labels} labels: {time.perf_counter() - begin:.1f} s", flush=True)
    found = report(sizes, measured, vertices, len(sources), arguments.runs)
    print(f"\n{found.markdown()}")
    for problem in problems:
        print(problem, file=sys.stderr)
    if arguments.save and measured and not problems:
        title = "Interval index on the GPU"
        page.save(__file__, title, found, "numpy", "cupy-cuda12x", "cupy-cuda13x")
    return int(bool(problems))


def run(
    labels: int, parts: list[Adjacency], vertices: int, runs: int, problems: list[str]
) -> list[Measured]:
    """All questions about one graph, on the current device."""
    bench, placed = Bench(runs), Placed(parts, vertices)
    compare(bench, labels, placed, parts, vertices)
    measured = []
    for asked in questions(parts, vertices):
        for alone in (False, True):
            measured.append(bench.measure(labels, placed, asked, alone))
    problems += bench.problems
    return measured


if __name__ == "__main__":
    sys.exit(main())

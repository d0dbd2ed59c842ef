"""Bytes of a graph as CSR, interval-PCSR, packed or not, and hash-PCSR, and what renumbering does to the intervals.

    python -m benchmarks.storage.size_on_disk [--save]

email-Enron with 1, 3 and 12 edge labels (each undirected edge gets one at random, seed 0) and hprd with its vertex
labels, without property columns: the comparison of geneva-tpds §8.2, table 2. Interval-PCSR is measured on disk, the
others are computed from the same partitions (`benchmarks.storage.layout_sizes`). The exit code is 1 if interval-PCSR
takes more than 1.1 times CSR, 2 if the graphs are not here.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.inputs import graphs
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Table
from benchmarks.storage.layout_sizes import Sizes, interval_pcsr_bytes, sizes
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

I64 = npt.NDArray[np.int64]
MOST_OVER_CSR = 1.1


def simple(pairs: I64) -> I64:
    """Undirected edges without loops and repetitions, i64[m, 2] ascending."""
    ends = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    return np.unique(ends, axis=0)


def email_enron(labels: int) -> GraphTables:
    """email-Enron; each edge is given one of several labels by `default_rng(0)`."""
    with gzip.open(graphs.DATA / "email-enron" / "email-Enron.txt.gz", "rt") as file:
        pairs = np.loadtxt(file, dtype=np.int64, comments="#")
    ids, numbers = np.unique(pairs, return_inverse=True)
    edges = simple(numbers.reshape(pairs.shape).astype(np.int64))
    chosen = np.random.default_rng(0).integers(0, labels, size=edges.shape[0])
    tables = []
    for label in range(labels):
        mine = edges[chosen == label]
        tables.append(EdgeTable(f"T{label}", False, mine[:, 0], mine[:, 1], {}))
    return GraphTables((VertexTable((), "", ids, {}),), tuple(tables))


def hprd() -> GraphTables:
    """hprd, its vertices in one table for each label."""
    labels: list[str] = []
    pairs = []
    for line in (graphs.DATA / "hprd" / "HPRD.graph").read_text(encoding="utf-8").splitlines():
        match line.split():
            case ["v", _, label, *_]:
                labels.append(f"L{label}")
            case ["e", u, v, *_]:
                pairs.append((int(u), int(v)))
    names = np.array(labels)
    order = np.argsort(names, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.shape[0])
    vertices = tuple(
        VertexTable((str(name),), "", np.flatnonzero(names == name), {})
        for name in np.unique(names)
    )
    edges = place[simple(np.array(pairs, dtype=np.int64))]
    return GraphTables(vertices, (EdgeTable("BINDS", False, edges[:, 0], edges[:, 1], {}),))


def subjects() -> Iterator[tuple[str, GraphTables]]:
    """What is measured."""
    for labels in (1, 3, 12):
        yield f"email-Enron, {labels} edge label{'s' * (labels > 1)}", email_enron(labels)
    yield "hprd", hprd()


def measure(tables: GraphTables, folder: Path) -> tuple[Sizes, int]:
    """Write a store and measure it; and the bytes of its partitions packed."""
    store = Store.open(folder, create=True)
    try:
        found = sizes(tables, write_graph(store, tables))
        packed = write_graph(store, tables, packed=True)
        return found, interval_pcsr_bytes(packed.stats())
    finally:
        store.close()


def main() -> int:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args()
    if not (graphs.DATA / "hprd").is_dir():
        print("there is nothing to measure: ../shared/data is not here", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="gdb-storage-") as folder:
        found = {name: measure(tables, Path(folder) / name) for name, tables in subjects()}
    report = Report.of(
        "Bytes without property columns and user ids. CSR: one for all edges, 4-byte offsets and neighbours, no "
        "labels. Interval-PCSR: indexes, offsets and neighbours of all partitions as they lie on disk. Hash-PCSR: "
        "32 words for each vertex of each partition, and the neighbours (GSI's layout). Packed: interval-PCSR in "
        "packed sections, on disk. Both directions of an undirected edge are stored in all three.",
        [bytes_table(found), intervals_table(found)],
    )
    print(report.markdown())
    if arguments.save:
        page.save(__file__, "Bytes on disk", report, "numpy")
    return int(any(one.over_csr > MOST_OVER_CSR for one, _ in found.values()))


def bytes_table(found: dict[str, tuple[Sizes, int]]) -> Table:
    """Bytes of the three formats, one row for each graph."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(name, one.csr, one.interval_pcsr, one.hash_pcsr, packed),
            *(one.over_csr, packed / one.csr, 100 * one.saved),
        )
        for name, (one, packed) in found.items()
    ]
    formats = ("CSR", "interval-PCSR", "hash-PCSR", "packed")
    header: Header = (
        "graph",
        *(Column(name, "bytes") for name in formats),
        *(Column("interval / CSR", decimals=3), Column("packed / CSR", decimals=3)),
        Column("saved of hash", "%", 1),
    )
    return Table.of(header, rows)


def intervals_table(found: dict[str, tuple[Sizes, int]]) -> Table:
    """Intervals of each partition, before and after renumbering."""
    rows: list[tuple[Cell, ...]] = [
        (name, part.type, part.rows, part.before, part.after)
        for name, (one, _) in found.items()
        for part in one.parts
    ]
    header: Header = ("graph", "partition", "vertices", "intervals before", "intervals after")
    return Table.of(header, rows)


if __name__ == "__main__":
    sys.exit(main())

"""One input of any format into the assembly of an import."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import replace

from ..columns.model import VertexTable
from ..disk.duckdb_engine import Engine
from . import compressed, csv_graph, matrix_market, snap
from .assemble import Assembly, NewEdges
from .csv_graph import Sheet
from .detect import is_parquet
from .documents import DOCUMENTS
from .documents.collect import Collecting
from .frames import Frame
from .graph_format import read_graph
from .header import names_of
from .inputs import Input
from .meter import Meter
from .networkx_graph import NetworkxGraph, is_graph, read_networkx
from .properties import Source
from .report import FileReport, LoadReport

Later = Callable[[], None]


def read(
    each: Input, assembly: Assembly, report: LoadReport, meter: Meter, engine: Engine
) -> Later | None:
    """One input into the assembly; what is left to do once all nodes of the import are there, or None.

    Raises
    ------
    ImportFailed : it holds what cannot be stored.
    """
    if "nodes" in (each.kind, each.side):
        each = each._replace(naming=each.naming.in_space_of(assembly))
    kind, path, naming, held, _ = each
    if kind in DOCUMENTS:
        return _document(each, assembly, report, meter)
    formats = {
        "nodes": "CSV nodes",
        "edges": "CSV relationships",
        "snap": "SNAP edge list",
        "graph": ".graph",
        "mtx": "Matrix Market",
        "networkx": "networkx graph",
    }
    named = formats[kind]
    frame = held if isinstance(held, Frame) else None
    if frame is not None:
        named = named.replace("CSV", "Arrow")
    elif kind in ("nodes", "edges") and is_parquet(path):
        named = named.replace("CSV", "Parquet")
    file = FileReport(str(path), named)
    report.files.append(file)
    meter.check()
    sheet = Sheet(path, naming, file, assembly, meter, engine, frame)
    if kind in ("nodes", "edges") and frame is None:  # DuckDB unpacks it
        compressed.check(path, sheet.most, meter.check, whole=True)
    match kind:
        case "nodes":
            report.warnings += csv_graph.add_nodes(sheet)
        case "edges":
            report.warnings += csv_graph.add_edges(sheet)
        case "snap":
            _add_snap(sheet)
        case "mtx":
            _add_matrix(sheet)
        case "graph":
            _add_graph(sheet)
    if is_graph(held):
        _add_networkx(held, sheet)
        return None
    if not file.rows and not file.rejected and kind in ("snap", "graph"):
        raise ImportFailed("holds no data", "Remove it from the import.", file=str(path))
    meter.done(path)
    return None


def _document(each: Input, assembly: Assembly, report: LoadReport, meter: Meter) -> Later:
    """The nodes of a document now, its relationships later."""
    document = DOCUMENTS[each.kind]
    file = FileReport(str(each.path), " ".join(filter(None, (document.name, each.side))))
    report.files.append(file)
    meter.check()
    collecting = Collecting(
        document, each.path, each.naming, each.side, assembly, report, file, meter
    )
    collecting.nodes()
    return collecting.edges


def _add_snap(sheet: Sheet) -> None:
    path, report, assembly = sheet.path, sheet.report, sheet.assembly
    refused = set[int]()  # lines that were no edges

    def place(rows: list[int]) -> list[tuple[int, str]]:
        return snap.places_of(path, rows, refused)

    done, seen = 0, 0
    for sources, targets in snap.read_snap(path, report, assembly.rejects, sheet.tick, sheet.most):
        refused |= {r.line for r in report.rejected[seen:]}
        rows = np.arange(done, done + len(sources))
        ends, directed = (sources, targets, sheet.spaces), sheet.naming.directed
        found = NewEdges(sheet.type, directed, *ends, {}, rows, place, report)
        # an edge list has no other place to name its nodes
        assembly.add_edges(replace(found, create=True))
        done, seen = done + len(sources), len(report.rejected)


def _add_matrix(sheet: Sheet) -> None:
    path, naming, assembly = sheet.path, sheet.naming, sheet.assembly
    matrix = matrix_market.read_matrix(path, sheet.report, assembly.rejects, sheet.tick, sheet.most)
    if matrix.rows != matrix.columns and naming.ends is None:
        raise ImportFailed(
            f"is a matrix of {matrix.rows:,} rows and {matrix.columns:,} columns, which are not the same nodes",
            'Name the id space of each: ends=("Row", "Column").',
            file=str(path),
        )
    # a short file can declare more nodes than fit in memory
    if 8 * max(matrix.rows, matrix.columns) > compressed.allowance(path.stat().st_size, sheet.most):
        raise ImportFailed(
            f"declares {max(matrix.rows, matrix.columns):,} nodes, far more than it names",
            "If its size line is right, raise max_unpacked= to 8 bytes for each.",
            file=str(path),
        )
    spaces = naming.ends or sheet.spaces
    refused = {r.line for r in sheet.report.rejected}

    def place(rows: list[int]) -> list[tuple[int, str]]:
        return matrix_market.places_of(path, rows, refused)

    if assembly.options.missing_ends != "refuse":  # rows without an entry are nodes as well
        for name, count in zip(spaces, (matrix.rows, matrix.columns), strict=True):
            assembly.create(name, np.arange(1, count + 1), sheet.report)
    values = {} if matrix.values is None else {matrix_market.VALUE: matrix.values}
    rows = np.arange(len(matrix.sources))
    directed, ends = naming.directed and not matrix.symmetric, (matrix.sources, matrix.targets)
    found = NewEdges(sheet.type, directed, *ends, spaces, values, rows, place, sheet.report)
    assembly.add_edges(replace(found, create=True))


def _add_networkx(graph: NetworkxGraph, sheet: Sheet) -> None:
    naming, report, assembly = sheet.naming, sheet.report, sheet.assembly
    space, check = sheet.spaces[0], sheet.meter.check
    read = read_networkx(graph, names_of(naming.label), space, report, check)
    if read.vertices:
        found = [(table, _named(rows.names, report)) for table, rows in read.vertices]
        assembly.add_vertices(found, report)
    directed = naming.directed and read.directed
    for type, (sources, targets, rows) in read.edges.items():
        columns, numbers = rows.columns(report.file), np.arange(len(sources))
        place = _named(rows.names, report).place
        ends = sources, targets, sheet.spaces
        assembly.add_edges(
            NewEdges(type or sheet.type, directed, *ends, columns, numbers, place, report)
        )


def _named(names: list[str], file: FileReport) -> Source:
    """The places of a graph's rows in memory: they have names."""
    return Source(file.file, lambda row: row, lambda rows: [(None, names[row]) for row in rows])


def _add_graph(sheet: Sheet) -> None:
    path, report, assembly = sheet.path, sheet.report, sheet.assembly
    graph = read_graph(path, report, assembly.rejects, sheet.part, sheet.most)
    extra = names_of(sheet.naming.label)
    found: list[tuple[VertexTable, Source]] = []
    nowhere = Source(str(path), lambda row: row, lambda _: [])  # there are no properties
    for number in np.unique(graph.labels).tolist():
        labels = tuple(sorted({f"L{number}", *extra}))
        found.append(
            (VertexTable(labels, sheet.spaces[0], graph.ids[graph.labels == number], {}), nowhere)
        )
    if found:
        assembly.add_vertices(found, report)
    plain = not (graph.edge_labels > 0).any()  # files without edge labels have none, or a 0
    kinds = np.where(graph.edge_labels < 0, 0, graph.edge_labels) if plain else graph.edge_labels
    for number in np.unique(kinds).tolist():
        rows = np.flatnonzero(kinds == number)
        name = sheet.type if plain or number < 0 else f"{sheet.type}{number}"
        sources, targets = graph.sources[rows], graph.targets[rows]
        # every end was checked when its line was read
        assembly.add_edges(
            NewEdges(name, False, sources, targets, sheet.spaces, {}, rows, lambda _: [], report)
        )

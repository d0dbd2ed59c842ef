"""Import: edge lists, tables, `.graph` files and exports into a store, all or nothing (design.md §2, *Import*)."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from gdb.errors import ImportFailed
from gdb.storage.build import write_spools
from gdb.storage.engine import Engine
from gdb.storage.importer import compressed, csv_graph, matrix_market, parquet, snap
from gdb.storage.importer.assemble import Assembly, NewEdges, Options
from gdb.storage.importer.csv_graph import DEFAULT_TYPE, Naming, Sheet
from gdb.storage.importer.detect import is_parquet, open_input
from gdb.storage.importer.duplicates import OnDuplicate
from gdb.storage.importer.frames import Frame
from gdb.storage.importer.graph_format import read_graph
from gdb.storage.importer.header import names_of
from gdb.storage.importer.inputs import AnySource, Edges, Gathering, Input, Nodes
from gdb.storage.importer.meter import LoadProgress, Meter, Progress
from gdb.storage.importer.networkx_graph import NetworkxGraph, is_graph, read_networkx
from gdb.storage.importer.properties import Source
from gdb.storage.importer.report import (
    FileReport,
    LoadReport,
    Rejected,
    Rejects,
    loud,
    written_rejects,
)
from gdb.storage.model import VertexTable
from gdb.storage.reading import read_edges, read_vertices, repeats_of
from gdb.storage.runs import PIECE, Room
from gdb.storage.scratch_folder import ScratchFolder
from gdb.storage.snapshot import Snapshot
from gdb.storage.store import Store

__all__ = [
    "AnySource",
    "Edges",
    "FileReport",
    "LoadProgress",
    "LoadReport",
    "Nodes",
    "Rejected",
    "load",
]

_KILLED = "an earlier load ended before it was done; nothing of it was kept, and its temporary files are removed"


def load(
    store: Store,
    source: AnySource | Sequence[AnySource] | None = None,
    *,
    nodes: Nodes | None = None,
    edges: Edges | None = None,
    format: Literal["auto", "snap", "csv", "parquet", "graph", "mtx"] = "auto",
    type: str | None = None,
    label: str | None = None,
    directed: bool = True,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    id_space: str | None = None,
    ends: tuple[str, str] | None = None,
    missing_ends: Literal["create", "refuse"] | None = None,
    multi_edges: Literal["keep", "drop"] = "keep",
    self_loops: Literal["keep", "drop"] = "keep",
    on_duplicate: OnDuplicate = "error",
    on_error: Literal["raise", "skip"] = "raise",
    max_errors: int = 1000,
    rejects_file: Path | None = None,
    max_unpacked: int = compressed.MOST_UNPACKED,
    memory: int | None = None,
    packed: bool | None = None,
    import_root: Path | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> LoadReport:
    """Add files, and tables and graphs in memory, to a store, in one commit.

    Parameters
    ----------
    source : files whose format is found from their content unless `format` names it, and folders
        that `Database.export` wrote: those say themselves all that the options below leave open. Also
        graphs of networkx (`labels` or `label` of a node are its labels, `type` of an edge, or a text that is its key
        in a multigraph, its type, other attributes properties), and tables as below.
    nodes, edges : CSV or Parquet files, or tables in memory: whatever has `__arrow_c_stream__` (pyarrow,
        polars, pandas, DuckDB); a mapping gives the label or type of each. A key "TYPE:START:END" of edges, or these
        three as a tuple, names the labels of both ends: of files of nodes in the same call each such label is an id
        space of its own. One of edges may be (table, start space, end space).
    type, label : relationship type and node label where files name none; the type is "EDGE" by
        default, `.graph` vertices get the label L<number>. "A:B" gives two labels, also as a key of
        `nodes`.
    directed : False: each relationship is stored once, for both directions (`.graph` files and symmetric matrices
        are always undirected).
    columns : names of a file's columns, as header fields. delimiter, header : how it is
        written, if not as it looks.
    id_space : id space of nodes, and of edge ends, where headers name none; ends : id spaces of
        both ends. A label of `nodes` that is named there is the id space of those nodes.
    missing_ends : what an edge does whose node does not exist; by default "refuse" where the nodes
        of its id space were loaded from CSV files, else "create"; nodes that are made have a label and their id as a
        property where the labels of the ends are named. A `.graph` file names all its
        vertices; each row and column of a matrix is one.
    multi_edges, self_loops : "drop" leaves them out; both are counted in the report. An undirected
        list that holds every edge in both directions wants directed=False and multi_edges="drop".
    on_duplicate : what a node does whose id is there already, in the graph or earlier in the files: "skip" leaves it
        out, "update" writes its properties over those of the node, nulls included, whose labels stay; the report
        counts these.
    on_error : "skip" leaves bad lines out, at most `max_errors`, and lists them in the report. rejects_file : a new
        CSV file for them (file, line, column, reason, text), written also where the import fails.
    max_unpacked : bytes that a compressed or Parquet file may unpack to, if they are more than 200 times its size.
    memory : bytes that the import may take beside what it keeps of each vertex; None for no bound. With less than the
        edges need, they are sorted through scratch files in the store's folder (see `gdb.storage.runs`).
    packed : write the store in packed sections, now and later; None as it is (see docs/IMPORT.md).
    import_root : a resolved folder; files outside of it, also by `..` or symbolic links, are refused.
    progress : called with a `LoadProgress`, now and then; what it raises ends the import.
    cancel : when set, the import stops.

    Raises
    ------
    ImportFailed : file, line, text, reason and cure; nothing was stored.
    Cancelled, StoreLocked, ReadOnlyError, StorePermissionError.
    """
    began = time.monotonic()
    if rejects_file is not None and on_error != "skip":
        raise ImportFailed("rejects_file= is for skipped lines", 'Pass on_error="skip" as well.')
    if store.path is None:  # there is no other place than memory
        memory = None
    report = LoadReport()
    rejects = Rejects(on_error, max_errors)
    naming = Naming(type, label, directed, columns, delimiter, header, id_space, ends)
    meter = Meter(progress, cancel)

    def check(path: Path) -> None:
        open_input(path).close()
        compressed.check(path, max_unpacked, meter.check)
        if is_parquet(path):
            parquet.check(path, max_unpacked, memory, meter.check)

    inputs = Gathering(naming, format, check, import_root).inputs(source, nodes, edges)
    files = [x.path for x in inputs if x.held is None]
    meter.measure(files)
    options = Options(
        missing_ends, multi_edges, self_loops, label, rejects, max_unpacked, on_duplicate
    )
    with (
        store.writer(meter.check),
        ScratchFolder(store.path) as scratch,
        closing(Engine(memory, scratch, files=files)) as engine,
        closing(Assembly(options, Room(store.files, memory, meter.check))) as assembly,
    ):
        if scratch.left and store.path is not None:
            report.warnings.append(_KILLED)
        _keep(store.snapshot(), assembly)
        with written_rejects(report, rejects_file):
            # nodes before edges, so that edges find their ends in whatever order the files were named
            for each in sorted(inputs, key=lambda x: x.kind != "nodes"):
                _read(each, assembly, report, rejects, meter, engine)
        engine.close()  # and its memory is for what follows
        assembly.settle()
        assembly.spaces.clear()  # nobody looks up an id any more

        def written(repeats: Mapping[str, int]) -> None:
            assembly.count_repeats(repeats)
            _totals(report, assembly, options)
            loud(report)  # before the commit: a program may make errors of warnings

        write_spools(
            store,
            tuple(assembly.vertices),
            assembly.edges,
            progress=meter.step,
            written=written,
            packed=packed,
        )
    report.seconds = time.monotonic() - began
    return report


def _keep(snapshot: Snapshot, assembly: Assembly) -> None:
    """What the store holds, into the assembly. Nobody holds the snapshot afterwards: its files may go."""
    vertices, rows = read_vertices(snapshot)
    assembly.keep(vertices, read_edges(snapshot, rows, PIECE), repeats_of(snapshot))


def _read(
    each: Input,
    assembly: Assembly,
    report: LoadReport,
    rejects: Rejects,
    meter: Meter,
    engine: Engine,
) -> None:
    """One file into the assembly."""
    kind, path, naming, held = each
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
    if is_graph(held):
        _add_networkx(held, naming, assembly, file, meter)
        return
    sheet = Sheet(
        path,
        naming,
        file,
        rejects,
        meter.cancel,
        engine,
        frame,
        assembly.room,
        partial(meter.at, path),
        partial(meter.part, path),
    )
    if kind in ("nodes", "edges") and frame is None:  # DuckDB unpacks it
        compressed.check(path, assembly.options.max_unpacked, meter.check, whole=True)
    match kind:
        case "nodes":
            report.warnings += csv_graph.add_nodes(sheet, assembly)
        case "edges":
            report.warnings += csv_graph.add_edges(sheet, assembly)
        case "snap":
            _add_snap(path, naming, assembly, file, rejects, meter)
        case "mtx":
            _add_matrix(path, naming, assembly, file, rejects, meter)
        case _:
            _add_graph(path, naming, assembly, file, rejects, meter)
    if not file.rows and not file.rejected and kind in ("snap", "graph"):
        raise ImportFailed("holds no data", "Remove it from the import.", file=str(path))
    meter.done(path)


def _add_snap(
    path: Path,
    naming: Naming,
    assembly: Assembly,
    file: FileReport,
    rejects: Rejects,
    meter: Meter,
) -> None:
    space = naming.id_space or ""
    refused = set[int]()  # lines that were no edges

    def place(rows: list[int]) -> list[tuple[int, str]]:
        return snap.places_of(path, rows, refused)

    done, seen = 0, 0
    for sources, targets in snap.read_snap(
        path, file, rejects, partial(meter.at, path), assembly.options.max_unpacked
    ):
        refused |= {r.line for r in file.rejected[seen:]}
        rows = np.arange(done, done + len(sources))
        assembly.add_edges(
            NewEdges(
                naming.type or DEFAULT_TYPE,
                naming.directed,
                sources,
                targets,
                (space, space),
                {},
                rows,
                place,
                file,
                create=True,  # an edge list has no other place to name its nodes
            )
        )
        done, seen = done + len(sources), len(file.rejected)


def _add_matrix(
    path: Path,
    naming: Naming,
    assembly: Assembly,
    file: FileReport,
    rejects: Rejects,
    meter: Meter,
) -> None:
    matrix = matrix_market.read_matrix(
        path, file, rejects, lambda done: meter.at(path, done), assembly.options.max_unpacked
    )
    if matrix.rows != matrix.columns and naming.ends is None:
        raise ImportFailed(
            f"is a matrix of {matrix.rows:,} rows and {matrix.columns:,} columns, which are not the same nodes",
            'Name the id space of each: ends=("Row", "Column").',
            file=str(path),
        )
    # a short file can ask for more nodes than there is memory
    allowed = compressed.allowance(path.stat().st_size, assembly.options.max_unpacked)
    if 8 * max(matrix.rows, matrix.columns) > allowed:
        raise ImportFailed(
            f"asks for {max(matrix.rows, matrix.columns):,} nodes, far more than it names",
            "If its size line is right, raise max_unpacked= to 8 bytes for each.",
            file=str(path),
        )
    space = naming.id_space or ""
    spaces = naming.ends or (space, space)
    refused = {r.line for r in file.rejected}

    def place(rows: list[int]) -> list[tuple[int, str]]:
        return matrix_market.places_of(path, rows, refused)

    if assembly.options.missing_ends != "refuse":  # rows without an entry are nodes as well
        for name, count in zip(spaces, (matrix.rows, matrix.columns), strict=True):
            assembly.create(name, np.arange(1, count + 1), file)
    assembly.add_edges(
        NewEdges(
            naming.type or DEFAULT_TYPE,
            naming.directed and not matrix.symmetric,
            matrix.sources,
            matrix.targets,
            spaces,
            {} if matrix.values is None else {matrix_market.VALUE: matrix.values},
            np.arange(len(matrix.sources)),
            place,
            file,
            create=True,
        )
    )


def _add_networkx(
    graph: NetworkxGraph, naming: Naming, assembly: Assembly, file: FileReport, meter: Meter
) -> None:
    space = naming.id_space or ""
    read = read_networkx(graph, names_of(naming.label), space, file, meter.check)
    if read.vertices:
        found = [(table, _named(rows.names, file)) for table, rows in read.vertices]
        assembly.add_vertices(found, file)
    for type, (sources, targets, rows) in read.edges.items():
        assembly.add_edges(
            NewEdges(
                type or naming.type or DEFAULT_TYPE,
                naming.directed and read.directed,
                sources,
                targets,
                (space, space),
                rows.columns(file.file),
                np.arange(len(sources)),
                _named(rows.names, file).place,
                file,
            )
        )


def _named(names: list[str], file: FileReport) -> Source:
    """Where the rows of a graph in memory stand: they have names."""
    return Source(file.file, lambda row: row, lambda rows: [(None, names[row]) for row in rows])


def _add_graph(
    path: Path,
    naming: Naming,
    assembly: Assembly,
    file: FileReport,
    rejects: Rejects,
    meter: Meter,
) -> None:
    graph = read_graph(
        path, file, rejects, partial(meter.part, path), assembly.options.max_unpacked
    )
    space = naming.id_space or ""
    extra = names_of(naming.label)
    found: list[tuple[VertexTable, Source]] = []
    nowhere = Source(str(path), lambda row: row, lambda _: [])  # there are no properties
    for number in np.unique(graph.labels).tolist():
        labels = tuple(sorted({f"L{number}", *extra}))
        found.append((VertexTable(labels, space, graph.ids[graph.labels == number], {}), nowhere))
    if found:
        assembly.add_vertices(found, file)
    base = naming.type or DEFAULT_TYPE
    plain = not (graph.edge_labels > 0).any()  # files without edge labels have none, or a 0
    kinds = np.where(graph.edge_labels < 0, 0, graph.edge_labels) if plain else graph.edge_labels
    for number in np.unique(kinds).tolist():
        rows = np.flatnonzero(kinds == number)
        name = base if plain or number < 0 else f"{base}{number}"
        sources, targets = graph.sources[rows], graph.targets[rows]
        # every end was checked when its line was read
        assembly.add_edges(
            NewEdges(name, False, sources, targets, (space, space), {}, rows, lambda _: [], file)
        )


def _totals(report: LoadReport, assembly: Assembly, options: Options) -> None:
    report.vertices, report.edges = assembly.added_vertices, assembly.added_edges
    report.updated = assembly.updated_vertices
    report.multi_edges, report.self_loops = assembly.multi_edges, assembly.self_loops
    dropped = {"multi-edges": options.multi_edges, "self-loops": options.self_loops}
    report.dropped = frozenset(name for name, choice in dropped.items() if choice == "drop")
    undirected = not assembly.last_directed
    if undirected and options.multi_edges == "keep" and 2 * report.multi_edges == report.edges:
        report.warnings.append(
            "every relationship stands twice, once in each direction: this undirected list wants multi_edges='drop'"
        )

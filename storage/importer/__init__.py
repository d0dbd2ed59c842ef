"""Import: edge lists, tables, `.graph` files and exports into a store, all or nothing (design.md §2, *Import*)."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from gdb.errors import ImportFailed
from gdb.records import replace

from ..disk.duckdb_engine import Engine
from ..disk.scratch_folder import ScratchFolder
from ..graph.snapshot import Snapshot
from ..write.build import write_spools
from ..write.edge_runs import Room
from ..write.snapshot_tables import read_edges, read_vertices, repeats_of
from ..write.store import Store
from . import compressed, parquet
from .assemble import Assembly
from .csv_graph import Naming
from .detect import is_parquet, open_input
from .documents import DOCUMENTS
from .inputs import AnySource, Edges, Gathering, Input, Nodes
from .kuzu_parquet import Mending
from .load_options import LoadOptions
from .meter import LoadProgress, Meter, Progress
from .read import read
from .report import FileReport, LoadReport, Rejected, Rejects, loud, written_rejects

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

_DEFAULTS = LoadOptions()
_KILLED = "an earlier load ended before it was done; nothing of it was kept, and its temporary files are removed"


def load(
    store: Store,
    source: AnySource | Sequence[AnySource] | None = None,
    *,
    nodes: Nodes | None = None,
    edges: Edges | None = None,
    options: LoadOptions = _DEFAULTS,
    import_root: Path | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> LoadReport:
    """Add files, and tables and graphs in memory, to a store, in one commit.

    Parameters
    ----------
    source : files whose format is found from their content unless `format` names it, and folders
        that `Database.export` or Kuzu wrote: those say themselves all that the options below leave open. Also
        graphs of networkx (`labels` or `label` of a node are its labels, `type` of an edge, or a text that is its key
        in a multigraph, its type, other attributes properties), and tables as below.
    nodes, edges : CSV or Parquet files, or tables in memory: whatever has `__arrow_c_stream__` (pyarrow,
        polars, pandas, DuckDB); a mapping gives the label or type of each. A key "TYPE:START:END" of edges, or these
        three as a tuple, names the labels of both ends: of files of nodes in the same call each such label is an id
        space of its own. One of edges may be (table, start space, end space).
    options : all else that is said of them.
    import_root : a resolved folder; files outside of it, also by `..` or symbolic links, are refused.
    progress : called with a `LoadProgress`, now and then; what it raises ends the import.
    cancel : when set, the import stops.

    Raises
    ------
    ImportFailed : file, line, text, reason and cure; nothing was stored.
    Cancelled, StoreLocked, ReadOnlyError, StorePermissionError.
    """
    began = time.monotonic()
    if options.rejects_file is not None and options.on_error != "skip":
        raise ImportFailed("rejects_file= is for skipped lines", 'Pass on_error="skip" as well.')
    if store.path is None:  # there is no other place than memory
        options = replace(options, memory=None)
    memory = options.memory
    report = LoadReport()
    rejects = Rejects(options.on_error, options.max_errors)
    meter = Meter(progress, cancel)

    def check(path: Path) -> None:
        open_input(path).close()
        compressed.check(path, options.max_unpacked, meter.check)
        if is_parquet(path):
            parquet.check(path, options.max_unpacked, memory, meter.check)

    with Mending() as mending:
        gathering = Gathering(Naming.of(options), check, import_root, mending.mended)
        inputs = gathering.inputs(source, nodes, edges)
        _load(store, inputs, options, report, rejects, meter)
    report.seconds = time.monotonic() - began
    return report


def _load(
    store: Store,
    inputs: list[Input],
    options: LoadOptions,
    report: LoadReport,
    rejects: Rejects,
    meter: Meter,
) -> None:
    """Read the inputs and commit what they hold."""
    memory = options.memory
    files = [x.path for x in inputs if x.held is None]
    meter.measure(files)
    with (
        store.writer(meter.check),
        ScratchFolder(store.path) as scratch,
        closing(Engine(memory, scratch, files=files)) as engine,
        closing(
            Assembly(options, rejects, Room(store.files, memory, meter.check, store.path))
        ) as assembly,
    ):
        if scratch.left and store.path is not None:
            report.warnings.append(_KILLED)
        _keep(store.snapshot(), assembly)
        with written_rejects(report, options.rejects_file):
            # nodes before edges, so that edges find their ends in whatever order the files were named
            later = [
                read(each, assembly, report, meter, engine) for each in sorted(inputs, key=_turn)
            ]
            for rest in filter(None, later):
                rest()
        engine.close()  # and its memory is for what follows
        assembly.settle()
        assembly.spaces.clear()  # no id is looked up after this

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
            packed=options.packed,
            room=assembly.room,
        )


def _keep(snapshot: Snapshot, assembly: Assembly) -> None:
    """Read the store's contents into the assembly. The snapshot is not held afterwards: its files may go."""
    vertices, rows = read_vertices(snapshot)
    assembly.keep(vertices, read_edges(snapshot, rows), repeats_of(snapshot))


def _turn(each: Input) -> int:
    """Tables of nodes come first, then what may hold nodes beside all else."""
    return 0 if each.kind == "nodes" else 1 if each.kind in DOCUMENTS else 2


def _totals(report: LoadReport, assembly: Assembly, options: LoadOptions) -> None:
    report.vertices, report.edges = assembly.added_vertices, assembly.added_edges
    report.updated = assembly.updated_vertices
    report.multi_edges, report.self_loops = assembly.multi_edges, assembly.self_loops
    dropped = {"multi-edges": options.multi_edges, "self-loops": options.self_loops}
    report.dropped = frozenset(name for name, choice in dropped.items() if choice == "drop")
    undirected = not assembly.last_directed
    if undirected and options.multi_edges == "keep" and 2 * report.multi_edges == report.edges:
        report.warnings.append(
            "every relationship occurs twice, once in each direction: this undirected list needs multi_edges='drop'"
        )

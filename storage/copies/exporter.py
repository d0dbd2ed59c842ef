"""Export: a snapshot as CSV or Parquet files with neo4j-admin headers, which an import reads back equal."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.sql import (
    aliased,
    cast,
    column_of,
    copied,
    created_empty,
    dropped,
    everything,
    exp,
    inserted,
    select,
    value_of,
    written,
)
from gdb.errors import Cancelled
from gdb.records import dataclass, field

from ..columns import temporal
from ..columns.model import I64, ITEM_OF, TEXT_KINDS, U32, Column, Kind
from ..columns.slices import struct_of
from ..disk import csv_values
from ..disk.duckdb_engine import SQL_TYPES, Engine, Watch, write_error
from ..disk.files import PosixFiles
from ..disk.new_folder import new_folder
from ..disk.scratch_folder import ScratchFolder
from ..disk.steps import Steps
from ..graph.snapshot import EdgeType, Snapshot, StoreStats, VertexGroup
from . import export_contents, formulas
from .export_contents import (
    Contents,
    ExportedColumn,
    ExportedEdges,
    ExportedFile,
    ExportedNodes,
    FileFormat,
    Role,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from gdb.base.sql import Value

_BATCH = 1 << 18  # rows that are in memory as arrays at once
_HEADER_TYPES: dict[Kind, str] = {
    "int64": "long",
    "float64": "double",
    "bool": "boolean",
    "string": "string",
    "date": "date",
    "datetime": "localdatetime",
    "duration": "duration",
    "any": "any",
}
_HOW: dict[FileFormat, dict[str, Value]] = {
    "csv": {
        "FORMAT": "csv",
        "HEADER": True,
        "DELIMITER": ",",
        "QUOTE": '"',
        "ESCAPE": '"',
        "NULLSTR": "",
    },
    "parquet": {"FORMAT": "parquet"},
}


def export(
    snapshot: Snapshot,
    path: Path,
    format: FileFormat,
    steps: Steps,
    *,
    guard_formulas: bool = False,
) -> StoreStats:
    """Write a snapshot into a new folder: all of it, synced, or nothing.

    There is one file for each vertex group (label set and id space), one or more for each edge type
    (one for each pair of id spaces of its ends), and `gdb-export.json`, which describes them.

    Parameters
    ----------
    path : must not exist, or be an empty folder.
    guard_formulas : in CSV, an apostrophe before texts and names of columns that a spreadsheet would take for formulas;
        an import does not take it off.

    Returns
    -------
    The sizes of what was exported (of the store, not of the files).

    Raises
    ------
    FolderTaken : there is something at `path`.
    CorruptStore : a file of the store is not the one that was committed.
    Cancelled, StorePermissionError, StoreError : the files cannot be written.

    Cost: rows pass through DuckDB one file at a time; beyond its share of memory it spills to disk.
    """
    snapshot.look()
    with (
        new_folder(path) as target,
        ScratchFolder() as scratch,
        closing(Engine(None, scratch, folders=[Path(target.where)])) as engine,
        _translated_errors(path, steps),
    ):
        connection = engine.cursor()
        watch = Watch(connection, steps.cancel)
        try:
            guard = guard_formulas and format == "csv"
            run = _Export(snapshot, target, format, steps, connection, guard)
            held = Contents(tuple(run.nodes()), tuple(run.edges()), guard)
        finally:
            watch.close()
            connection.close()
        out = target.create(export_contents.NAME)
        try:
            out.write(export_contents.encode(held))
        finally:
            out.close()
        steps.at("committing", run.total, run.total)
    return snapshot.stats()


@contextmanager
def _translated_errors(path: Path, steps: Steps) -> Iterator[None]:
    """Turn errors of DuckDB into ours."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        steps.check()
        raise Cancelled(f"The {steps.work} was interrupted; nothing of it was kept.") from None
    except duckdb.Error as error:
        raise write_error(path, error) from None


@dataclass(slots=True)
class _ExportTable:
    """A file to be: rows gathered in a DuckDB table of columns c0, c1, ..."""

    name: str
    fields: list[tuple[ExportedColumn, str]]  # with the header field
    rows: int = 0
    widest: int = 0


@dataclass(slots=True)
class _Export:
    """One export."""

    snapshot: Snapshot
    target: PosixFiles
    format: FileFormat
    steps: Steps
    connection: DuckDBPyConnection
    guard: bool
    total: int = field(init=False)
    done: int = 0
    tables: int = 0

    def __post_init__(self) -> None:
        self.total = 2 * (self.snapshot.vertex_count + self.snapshot.edge_count)

    # ---- what is written ------------------------------------------------------------------------

    def nodes(self) -> Iterator[ExportedNodes]:
        """Write the vertex groups."""
        for number, group in enumerate(self.snapshot.groups):
            ids = self.snapshot.id_column(number)
            columns = [ids, *self._vertex_columns(number, group)]
            own = [
                _column("ID", ids.kind, group.id_space),
                *(_property(key, group.keys[key]) for key in group.keys),
            ]
            table = self._begin(own)
            for start in range(0, group.count, _BATCH):
                rows = np.arange(start, min(start + _BATCH, group.count))
                self._append(table, [column.take(rows) for column in columns], "reading nodes")
            label = ";".join(group.labels)
            held = self._finish(table, f"nodes-{number}", group.labels, "LABEL", label)
            yield ExportedNodes(group.labels, group.id_space, held)

    def edges(self) -> Iterator[ExportedEdges]:
        """Write the edge types."""
        for number, edge_type in enumerate(self.snapshot.edge_types):
            tables: dict[tuple[str, str], _ExportTable] = {}
            for start in range(0, edge_type.edge_count, _BATCH):
                rows = np.arange(start, min(start + _BATCH, edge_type.edge_count))
                self._append_edges(edge_type, rows, tables)
            if not tables:  # a type without edges is a type
                tables["", ""] = self._begin(self._edge_fields(edge_type, ("", ""), ("int64",) * 2))
            for place, (spaces, table) in enumerate(sorted(tables.items())):
                name = edge_type.name
                held = self._finish(table, f"edges-{number}-{place}", (name,), "TYPE", name)
                yield ExportedEdges(name, edge_type.directed, *spaces, held)

    def _vertex_columns(self, number: int, group: VertexGroup) -> list[Column]:
        found = [self.snapshot.vertex_column(number, key) for key in group.keys]
        return [column for column in found if column is not None]

    def _append_edges(
        self, edge_type: EdgeType, rows: I64, tables: dict[tuple[str, str], _ExportTable]
    ) -> None:
        """Append some edges of a type to the tables of their ends' id spaces."""
        snapshot = self.snapshot
        _, sources, targets = snapshot.edge_ends(rows + edge_type.first_eid)
        names = sorted({group.id_space for group in snapshot.groups})
        space_of = np.array([names.index(group.id_space) for group in snapshot.groups])
        starts = space_of[snapshot.groups_of(sources)]
        ends = space_of[snapshot.groups_of(targets)]
        pairs = starts * len(names) + ends
        found = [snapshot.edge_column(edge_type.name, key) for key in edge_type.keys]
        for pair in np.unique(pairs).tolist():
            mine = np.flatnonzero(pairs == pair)
            spaces = names[pair // len(names)], names[pair % len(names)]
            both = self._ids(sources[mine]), self._ids(targets[mine])
            kinds = both[0].kind, both[1].kind
            if spaces not in tables:
                tables[spaces] = self._begin(self._edge_fields(edge_type, spaces, kinds))
            taken = [column.take(rows[mine]) for column in found if column is not None]
            self._append(tables[spaces], [*both, *taken], "reading relationships")

    @staticmethod
    def _edge_fields(
        edge_type: EdgeType, spaces: tuple[str, str], kinds: tuple[Kind, Kind]
    ) -> list[tuple[ExportedColumn, str]]:
        return [
            _column("START_ID", kinds[0], spaces[0]),
            _column("END_ID", kinds[1], spaces[1]),
            *(_property(key, edge_type.keys[key]) for key in edge_type.keys),
        ]

    def _ids(self, vids: U32) -> Column:
        """The user ids of vertices of one id space, in that order."""
        numbers = self.snapshot.groups_of(vids)
        order = np.argsort(numbers, kind="stable")
        pieces: list[Column] = []
        for group in np.unique(numbers).tolist():
            mine = order[numbers[order] == group]
            rows = self.snapshot.group_rows(vids[mine], group)
            pieces.append(self.snapshot.id_column(group).take(rows))
        places = np.empty(vids.shape[0], np.int64)
        places[order] = np.arange(vids.shape[0])
        return Column.concat(pieces).take(places)

    # ---- through DuckDB -------------------------------------------------------------------------

    def _begin(self, fields: list[tuple[ExportedColumn, str]]) -> _ExportTable:
        table = _ExportTable(f"t{self.tables}", fields)
        self.tables += 1
        columns = {f"c{i}": SQL_TYPES[c.kind] for i, (c, _) in enumerate(fields)}
        self._execute(created_empty(table.name, columns))
        return table

    def _execute(self, statement: exp.Expr) -> None:
        self.connection.execute(written(statement))

    def _append(self, table: _ExportTable, columns: list[Column], step: str) -> None:
        """Append rows, at least one."""
        import nanoarrow as na

        count = len(columns[0])
        self.steps.at(step, self.done, self.total)
        names = [f"c{number}" for number in range(len(columns))]
        batch = na.Array(struct_of(names, [column.in_sql() for column in columns], count))
        self.connection.register("batch", batch)
        self._execute(inserted(table.name, everything("batch")))
        self.connection.unregister("batch")
        lengths = [_widths(column) for column in columns if column.offsets is not None]
        if lengths:
            table.widest = max(table.widest, int(np.sum(lengths, axis=0).max()))
        table.rows += count
        self.done += count

    def _finish(
        self, table: _ExportTable, stem: str, names: tuple[str, ...], role: Role, said: str
    ) -> ExportedFile:
        """Write a table as a file; a column of `role` says `said` in every row."""
        before = 2 if role == "TYPE" else 1  # after the ids
        fields = list(table.fields)
        fields.insert(before, _column(role, "string", None))
        picked = [self._picked(f"c{i}", c.kind) for i, (c, _) in enumerate(table.fields)]
        named = formulas.guarded(said) if self.guard else said
        picked.insert(before, value_of(named) if said else cast(value_of(None), "VARCHAR"))
        columns = [
            aliased(column, _header(formulas.guarded(header) if self.guard else header))
            for column, (_, header) in zip(picked, fields, strict=True)
        ]
        file = "-".join([stem, *(_plain(name) for name in names)])[:100] + f".{self.format}"
        path = str(Path(self.target.where) / file)
        self.steps.at(f"writing {file}", self.done, self.total)
        how = _HOW[self.format]
        if self.format == "parquet":
            how = how | _told_to_arrow(fields)
        self._execute(copied(select(columns, table.name), path, **how))
        self._execute(dropped(table.name))
        self.done += table.rows
        # quotes are doubled, and a number has less than 32 characters
        widest = 2 * (table.widest + len(said.encode())) + 41 * len(fields)
        header = sum(2 * len(header.encode()) + 9 for _, header in fields)
        kept = tuple(column for column, _ in fields)
        return ExportedFile(file, table.rows, max(widest, header), kept)

    def _picked(self, name: str, kind: Kind) -> exp.Expr:
        """The value of a column as it is written."""
        value: exp.Expr = column_of(name)
        if self.format == "csv" and kind in ITEM_OF:
            value = csv_values.as_text(value, kind)
        if self.guard and (kind in TEXT_KINDS or ITEM_OF.get(kind) in TEXT_KINDS):
            return formulas.guarded_sql(value)
        if self.format == "csv" and kind in temporal.KINDS:
            return temporal.written_sql(value, kind)
        return value


def _widths(column: Column) -> I64:
    """Bytes that each value of a text or list column takes in a CSV file at most, i64[n]."""
    assert column.offsets is not None
    if column.items is None:
        return np.diff(column.offsets)
    items = column.items
    # a character of an item may be escaped by another, an empty item by two; no other item has 32 characters
    each = np.full(len(items), 32) if items.offsets is None else 3 + 2 * np.diff(items.offsets)
    return np.diff(np.concatenate([[0], np.cumsum(each)])[column.offsets])


def _column(role: Role, kind: Kind, space: str | None) -> tuple[ExportedColumn, str]:
    """A column with a role, and its header field."""
    named = f"({space})" if space else ""
    typed = f"{{id-type:{_header_type(kind)}}}" if role == "ID" else ""
    return ExportedColumn("", role, kind), f":{role}{named}{typed}"


def _property(key: str, kind: Kind) -> tuple[ExportedColumn, str]:
    return ExportedColumn(key, "", kind), f"{key}:{_header_type(kind)}"


def _header_type(kind: Kind) -> str:
    return _HEADER_TYPES[ITEM_OF[kind]] + "[]" if kind in ITEM_OF else _HEADER_TYPES[kind]


def _told_to_arrow(fields: Sequence[tuple[ExportedColumn, str]]) -> dict[str, Value]:
    """What makes Arrow's readers take microseconds for durations, which Parquet lacks: options of COPY."""
    if not {column.kind for column, _ in fields} & {"duration", "duration[]"}:
        return {}
    from nanoarrow.ipc import StreamWriter  # only Parquet needs it

    names = [_header(header) for _, header in fields]
    nothing = [Column.nulls(column.kind, 0) for column, _ in fields]
    out = io.BytesIO()
    with StreamWriter.from_writable(out) as writer:
        writer.write_stream(struct_of(names, nothing, 0))
    encoded = base64.b64encode(out.getvalue()).decode()
    return {"KV_METADATA": {"ARROW:schema": encoded}}


def _plain(name: str) -> str:
    """A name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:40]


def _header(header: str) -> str:
    """A header field on one line; the description has the exact name."""
    return re.sub(r"[\x00-\x1f]", " ", header)

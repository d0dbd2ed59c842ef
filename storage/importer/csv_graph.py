"""CSV, Parquet and Arrow tables to vertices and edges: which columns are ids, labels, types and properties."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass, replace

from ..columns.model import I64, Column, Kind, VertexTable, from_strings
from ..disk.duckdb_engine import Engine
from .assemble import Assembly, NewEdges
from .detect import head, is_parquet
from .frames import Frame, FrameTable, frame_layout
from .header import Field, assume_roles, ends_by_label, named_twice, names_of, repeated_name
from .integer_table import IntegerTable, read_integers
from .layout import Layout, layout_of
from .load_options import LoadOptions, load_options
from .meter import Meter
from .parquet import ParquetTable, parquet_layout
from .properties import Source
from .report import FileReport
from .spaces import DUPLICATE, Ids, Space, some_ids
from .tables import Table, TableInput

T = TypeVar("T")
DEFAULT_TYPE = "EDGE"


@dataclass(frozen=True, slots=True)
class Naming(LoadOptions):
    """The options for one table: names for what its header leaves open, and how it is written.

    labels : exactly these, whatever the file says. layout : instead of the file's own header.
    labelled : whether `ends` are the labels of both ends; their nodes are in the id spaces of these names, or where the
        nodes of that label are.
    end : the label of nodes by which relationships name them, the id space of new ones.
    """

    labelled: bool = False
    end: str = ""
    labels: tuple[str, ...] | None = None
    layout: Layout | None = None

    def in_space_of(self, assembly: Assembly) -> Naming:
        """Of nodes whose id space the caller leaves open: that in which the graph has all nodes of their label, else
        that of the label by which relationships name them."""
        if self.id_space is not None or self.label is None:
            return self
        known = assembly.stored_space(self.label)
        return replace(self, id_space=(self.end or None) if known is None else known)

    @classmethod
    def of(cls, options: LoadOptions) -> Naming:
        """The caller's options for all tables."""
        return cls(*(getattr(options, name) for name in load_options()))


@dataclass(frozen=True, slots=True)
class Sheet:
    """One input to read: the file, the caller's options for it, where it is reported, and the graph that it is part of.

    frame : a table in memory instead of a file.
    """

    path: Path
    naming: Naming
    report: FileReport
    assembly: Assembly
    meter: Meter
    engine: Engine
    frame: Frame | None = None

    @property
    def spaces(self) -> tuple[str, str]:
        """The id spaces of both ends of its relationships, where the input itself names none."""
        space = self.naming.id_space or ""
        return space, space

    @property
    def type(self) -> str:
        """The type of its relationships, where the input itself names none."""
        return self.naming.type or DEFAULT_TYPE

    @property
    def most(self) -> int:
        """See `LoadOptions.max_unpacked`."""
        return self.assembly.options.max_unpacked

    def tick(self, done: int) -> None:
        """So many bytes of it are read."""
        self.meter.at(self.path, done)

    def part(self, done: float) -> None:
        """Such a part of it is taken in, 0 to 1."""
        self.meter.part(self.path, done)

    def table(self, *, edges: bool) -> tuple[Table, list[str]]:
        """Its rows, not read yet, and warnings about its header."""
        if self.frame is not None:
            found = frame_layout(self.frame, self.naming.columns, self.engine)
        else:
            found = layout(self.path, self.naming)
        if edges and len(found.fields) < 2:
            raise ImportFailed(
                "has one column, an edge file needs two",
                "Pass delimiter=, or load it as nodes=.",
                file=str(self.path),
                line=1,
            )
        found = replace(found, fields=assume_roles(found.fields, edges=edges))
        # files of relationships may name their ends alike; exports have names that no header can hold
        double = repeated_name(found.fields) if self.naming.layout is None else None
        if double:
            raise named_twice(double, lambda *told: ImportFailed(*told, file=str(self.path)))
        warnings = [f"{self.path}: {warning}" for warning in found.warnings]
        if edges and found.guessed and not all(f.known for f in found.fields):
            named = self.frame is not None or is_parquet(self.path)  # no line of it could be data
            warnings.append(
                f"{self.path}: the first two columns were taken for the ends (name them :START_ID and :END_ID)"
                if named
                else f"{self.path}: the first line was taken for a header, the first two columns for the "
                "ends (pass header=False and columns= if it is data)"
            )
        path = self.path if self.frame is None else Path(self.frame.name)
        rejects = self.assembly.rejects
        given = TableInput(path, found, self.report, rejects, self.part, self.engine)
        if self.frame is not None:
            return FrameTable(self.frame, given), warnings
        if is_parquet(path):
            return ParquetTable(given), warnings
        room, cancel = self.assembly.room, self.meter.cancel
        numbers = read_integers(path, found, room, cancel, self.tick)
        if numbers is not None:
            return IntegerTable(numbers, given), warnings
        return Table(given), warnings


def layout(path: Path, naming: Naming) -> Layout:
    """The layout of a file, from its first lines or its schema."""
    if naming.layout is not None:
        return naming.layout
    if is_parquet(path):
        return parquet_layout(path, naming.columns)
    return layout_of(path, head(path), naming.delimiter, naming.header, naming.columns)


def holds_edges(layout: Layout, naming: Naming) -> bool:
    """Whether a file of unknown kind holds edges: by its header's roles, else by what the caller names."""
    roles = {f.role for f in layout.fields}
    if roles & {"START_ID", "END_ID", "TYPE"}:
        return True
    if roles & {"ID", "LABEL"}:
        return False
    if naming.type is not None or naming.ends is not None:
        return True
    if naming.label is not None or len(layout.fields) < 2:
        return False
    names = {f.name.lower() for f in layout.fields}
    return "id" not in names or ends_by_label(layout.fields) is not None


def add_nodes(sheet: Sheet) -> list[str]:
    """Read a node file into the assembly; gives warnings."""
    assembly = sheet.assembly
    unread, warnings = sheet.table(edges=False)
    with unread as table:
        fields = table.layout.fields
        at = _role(fields, "ID", sheet.path)
        field = fields[at]
        space = field.space if field.space is not None else sheet.naming.id_space or ""
        table.reject_missing(at, "the id")
        kinds = _kinds_of_properties(table)  # finding them may reject rows
        ids = _new_ids(table, at, space, assembly)
        # one after the other: all of them may be more than there is room for
        filed = assembly.room.filed
        columns = {fields[i].name: filed(table.column(i, kind)) for i, kind in kinds.items()}
        if field.name:
            own = from_strings(ids) if isinstance(ids, list) else Column("int64", ids)
            columns = {field.name: filed(own), **columns}
        labels = _labels(table, sheet.naming)
        _finish(table, warnings)
        if len(fields) == 1 and " " in field.name.strip():
            warnings.append(
                f"{table.path}: holds one column, {field.name!r}, so that each line is a node; of relationships "
                "between texts give the file as edges=, with delimiter=' '"
            )
        found: list[tuple[VertexTable, Source]] = []
        records = cache(table.records)
        for names, rows in labels:
            made = VertexTable(names, space, ids, columns)
            if rows is not None:
                taken = {k: filed(c.take(rows)) for k, c in columns.items()}
                made = VertexTable(names, space, some_ids(ids, rows), taken)
            found.append((made, _source(table, records, rows)))
        if found:
            assembly.add_vertices(found, sheet.report)
    return warnings


def _source(table: Table, records: Callable[[], I64], rows: I64 | None) -> Source:
    """The places of some rows of a table, None for all; records : of all."""

    def number(row: int) -> int:
        return int(records()[row if rows is None else rows[row]])

    exported = table.layout.written is not None
    return Source(table.report.file, number, table.places.listed, exported=exported)


def _finish(table: Table, warnings: list[str]) -> None:
    count = table.count()
    table.report.rows += count
    warnings += table.warnings
    written = table.layout.written
    if written is not None and count + len(table.report.rejected) != written.rows:
        raise ImportFailed(
            f"has {count:,} rows; when it was exported it had {written.rows:,}",
            "Take the whole export from where it was written.",
            file=str(table.path),
        )
    if not count and not table.report.rejected and written is None:
        warnings.append(f"{table.path}: holds a header and no rows")
    for i, field in enumerate(table.layout.fields):
        if not field.role and not field.name and not table.is_empty(i):
            warnings.append(f"{table.path}: column {i + 1} has no name and was left out")


def _new_ids(table: Table, at: int, space: str, assembly: Assembly) -> Ids:
    """The ids of new nodes; lines whose id exists already are rejected, unless they update it."""
    ids = _ids_as(table, at, _kind_of_ids(table, at, space, assembly))
    known = assembly.spaces.get(space) or Space(space)
    if assembly.options.on_duplicate != "error":
        return ids
    again = known.repeated(ids)
    if not len(again):
        return ids
    where = f" in id space {space!r}" if space else ""
    few = again[: table.rejects.shown].tolist()
    found = [ids[k] if isinstance(ids, list) else int(ids[k]) for k in few]
    reasons = [
        f"a node with id {one!r} is there already{where}"
        if known.has(one)
        else f"node id {one!r} occurs twice{where}"
        for one in found
    ]
    table.reject_rows(again[: len(few)], reasons, DUPLICATE, at)
    return some_ids(ids, np.delete(np.arange(len(ids)), again))


def _kind_of_ids(table: Table, at: int, space: str, assembly: Assembly) -> Kind:
    """How a column of ids is read: as text where it is declared so, where the ids of its space are, or where one is no
    integer. Rows whose id does not fit the space are rejected."""
    text, declared = assembly.is_text(space), table.layout.fields[at].kind
    if text is False and declared != "string":
        where = f"id space {space!r}" if space else "the graph"
        cure = (
            "Declare the ids as text in every file (:ID{id-type:string}), or name another id space."
        )
        table.reject_misfits(at, "int64", f"the ids of {where} are numbers, not", cure)
    if text is None and declared is not None:
        text = declared != "int64"
    elif text is None:
        text = not table.all_fit(at, "int64")
        if text and table.all_fit(at, "float64"):  # 007 is a text
            table.warns_of_digits(at, "all ids of it are texts, so that 1 is '1'")
    elif declared == "string":
        text = True
    return "string" if text else "int64"


def _ids_as(table: Table, at: int, kind: Kind) -> Ids:
    """A column of ids."""
    column = table.column(at, kind)
    if kind == "string":
        return [str(x or "") for x in column.to_list()]
    return column.values.astype(np.int64, copy=False)


def _labels(table: Table, naming: Naming) -> list[tuple[tuple[str, ...], I64 | None]]:
    """Label sets and the rows that have them; one set for the whole file where no column names labels."""
    if naming.labels is not None:
        return [(naming.labels, None)]
    fixed = set(names_of(naming.label))

    def names(text: str) -> tuple[str, ...]:
        return tuple(sorted(fixed | {x.strip() for x in text.split(";") if x.strip()}))

    return _rows_by(table, "LABEL", names)


def _rows_by(table: Table, role: str, meaning: Callable[[str], T]) -> list[tuple[T, I64 | None]]:
    """What the texts of the column of a role mean, each once, with the rows that have it, ascending; all rows mean what
    "" does where there is no such column."""
    at = next((i for i, f in enumerate(table.layout.fields) if f.role == role), None)
    if at is None:
        return [(meaning(""), None)]
    texts, codes = table.groups(at)
    meanings = list(map(meaning, texts))
    distinct = list(dict.fromkeys(meanings))
    if not meanings:
        return []
    number = np.array([distinct.index(one) for one in meanings], np.int64)[codes]
    counts = np.bincount(number, minlength=len(distinct))
    rows = np.split(np.argsort(number, kind="stable"), np.cumsum(counts)[:-1])
    return list(zip(distinct, rows, strict=True))


def add_edges(sheet: Sheet) -> list[str]:
    """Read an edge file into the assembly; gives warnings."""
    naming, assembly = sheet.naming, sheet.assembly
    unread, warnings = sheet.table(edges=True)
    with unread as table:
        fields = table.layout.fields
        start, end = _role(fields, "START_ID", sheet.path), _role(fields, "END_ID", sheet.path)
        table.reject_missing(start, "the start id")
        table.reject_missing(end, "the end id")
        ends = naming.ends or sheet.spaces
        if naming.labelled:
            ends = assembly.space_of(ends[0]), assembly.space_of(ends[1])
        chosen = fields[start].space, fields[end].space
        spaces = (
            ends[0] if chosen[0] is None else chosen[0],
            ends[1] if chosen[1] is None else chosen[1],
        )
        kinds = _kinds_of_ends(table, (start, end), spaces, assembly)
        properties = _kinds_of_properties(table)
        _finish(table, warnings)
        for _ in table.parts():
            some = NewEdges(
                "",
                naming.directed,
                _ids_as(table, start, kinds[0]),
                _ids_as(table, end, kinds[1]),
                spaces,
                {fields[i].name: table.column(i, kind) for i, kind in properties.items()},
                table.records(),
                table.places.listed,
                sheet.report,
                at=(start + 1, end + 1),
                labels=naming.ends if naming.labelled else None,
            )
            for name, rows in _rows_by(table, "TYPE", lambda text: text or sheet.type):
                assembly.add_edges(replace(_rows(some, rows), type=name))
    return warnings


def _kinds_of_ends(
    table: Table, at: tuple[int, int], spaces: tuple[str, str], assembly: Assembly
) -> tuple[Kind, Kind]:
    """How the ids of both ends are read, as their spaces hold them; of one kind where they share a space."""
    first, second = (_kind_of_ids(table, i, s, assembly) for i, s in zip(at, spaces, strict=True))
    if spaces[0] == spaces[1] and first != second:
        return "string", "string"
    return first, second


def _rows(edges: NewEdges, rows: I64 | None) -> NewEdges:
    if rows is None:
        return edges
    return replace(
        edges,
        sources=some_ids(edges.sources, rows),
        targets=some_ids(edges.targets, rows),
        columns={k: c.take(rows) for k, c in edges.columns.items()},
        rows=edges.rows[rows],
    )


def _kinds_of_properties(table: Table) -> dict[int, Kind]:
    """The columns that are properties, by number, and their kinds."""
    fields = table.layout.fields
    return {i: table.kind(i) for i, f in enumerate(fields) if not f.role and f.name}


def _role(fields: list[Field], role: str, path: Path) -> int:
    for i, field in enumerate(fields):
        if field.role == role:
            return i
    raise ImportFailed(
        f"has no {role} column", f"Add :{role} to its header.", file=str(path), line=1
    )

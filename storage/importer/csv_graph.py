"""CSV tables to vertices and edges: which columns are ids, labels, types and properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gdb.errors import ImportFailed
from gdb.storage.importer.assemble import Assembly, Ids, NewEdges, as_ids, id_property
from gdb.storage.importer.detect import head
from gdb.storage.importer.header import Field, assume_roles
from gdb.storage.importer.report import FileReport, Rejects
from gdb.storage.importer.tables import Layout, Table, layout_of
from gdb.storage.model import I64, Column, VertexTable

DEFAULT_TYPE = "EDGE"


@dataclass(frozen=True, slots=True)
class Naming:
    """What the caller says about CSV files: names for what their headers leave open, and how they are written."""

    type: str | None = None
    label: str | None = None
    directed: bool = True
    columns: Sequence[str] | None = None
    delimiter: str | None = None
    header: bool | None = None
    id_space: str | None = None
    ends: tuple[str, str] | None = None


def layout(path: Path, naming: Naming) -> Layout:
    """The layout of a CSV file, from its first lines."""
    lines = head(path)
    if not any(x.strip() for x in lines):
        raise ImportFailed("holds no data", "Remove it from the import.", file=str(path))
    return layout_of(path, lines, naming.delimiter, naming.header, naming.columns)


def holds_edges(found: Layout, naming: Naming) -> bool:
    """Whether a file of unknown kind holds edges: by its header's roles, else by what the caller names."""
    roles = {f.role for f in found.fields}
    if roles & {"START_ID", "END_ID", "TYPE"}:
        return True
    if roles & {"ID", "LABEL"}:
        return False
    if naming.type is not None or naming.ends is not None:
        return True
    if naming.label is not None or len(found.fields) < 2:
        return False
    names = {f.name.lower() for f in found.fields}
    return "id" not in names


def add_nodes(
    path: Path, naming: Naming, assembly: Assembly, report: FileReport, rejects: Rejects
) -> list[str]:
    """Read a node file into the assembly; the header's warnings."""
    found = layout(path, naming)
    found = replace(found, fields=assume_roles(found.fields, edges=False))
    table = Table(path, found, report, rejects)
    try:
        at = _role(found.fields, "ID", path)
        table.reject_nulls(at, "the id")
        ids = _ids(table, at, None)
        field = found.fields[at]
        columns = _properties(table, found.fields)
        if field.name:
            columns = {field.name: id_property(ids), **columns}
        space = field.space if field.space is not None else naming.id_space or ""
        labels = _labels(table, found.fields, naming.label)
    finally:
        table.close()
    for names, rows in labels:
        taken = (
            ids if rows is None else [ids[r] for r in rows] if isinstance(ids, list) else ids[rows]
        )
        kept = columns if rows is None else {k: c.take(rows) for k, c in columns.items()}
        assembly.add_vertices(VertexTable(names, space, taken, kept), report)
    return found.warnings


def _labels(
    table: Table, fields: list[Field], label: str | None
) -> list[tuple[tuple[str, ...], I64 | None]]:
    """Label sets and the rows that have them; one set for the whole file where no column names labels."""
    fixed = {label} if label else set()
    at = next((i for i, f in enumerate(fields) if f.role == "LABEL"), None)
    if at is None:
        return [(tuple(sorted(fixed)), None)]
    by_set: dict[tuple[str, ...], list[int]] = {}
    for row, text in enumerate(table.texts(at)):
        names = tuple(sorted(fixed | {x.strip() for x in text.split(";") if x.strip()}))
        by_set.setdefault(names, []).append(row)
    return [(names, np.array(rows, np.int64)) for names, rows in by_set.items()]


def add_edges(
    path: Path, naming: Naming, assembly: Assembly, report: FileReport, rejects: Rejects
) -> list[str]:
    """Read an edge file into the assembly; the header's warnings."""
    found = layout(path, naming)
    if len(found.fields) < 2:
        raise ImportFailed(
            "has one column, an edge file needs two",
            "Pass delimiter=, or load it as nodes=.",
            file=str(path),
            line=1,
        )
    found = replace(found, fields=assume_roles(found.fields, edges=True))
    table = Table(path, found, report, rejects)
    try:
        start, end = _role(found.fields, "START_ID", path), _role(found.fields, "END_ID", path)
        table.reject_nulls(start, "the start id")
        table.reject_nulls(end, "the end id")
        ends = naming.ends or (naming.id_space or "", naming.id_space or "")
        chosen = [found.fields[i].space for i in (start, end)]
        spaces = (
            ends[0] if chosen[0] is None else chosen[0],
            ends[1] if chosen[1] is None else chosen[1],
        )
        sources, targets = _both_ends(table, (start, end), spaces, assembly)
        columns, lines = _properties(table, found.fields), table.lines()
        types = _types(table, found.fields, naming.type)
    finally:
        table.close()
    whole = NewEdges("", naming.directed, sources, targets, spaces, columns, lines, report)
    for name, rows in types:
        assembly.add_edges(replace(_rows(whole, rows), type=name))
    return found.warnings


def _both_ends(
    table: Table, at: tuple[int, int], spaces: tuple[str, str], assembly: Assembly
) -> tuple[Ids, Ids]:
    """Ids of both ends, as numbers or text as their spaces hold them; of one type where they share a space."""
    found = [_ids(table, i, assembly.is_text(s)) for i, s in zip(at, spaces, strict=True)]
    if spaces[0] == spaces[1] and isinstance(found[0], list) != isinstance(found[1], list):
        found = [_ids(table, i, True) for i in at]
    return found[0], found[1]


def _ids(table: Table, at: int, text: bool | None) -> Ids:
    """A column of ids; text where `text` or where not every value is an integer."""
    if text:
        return table.texts(at)
    kind = table.kind(at)
    return as_ids(table.column(at, "int64")) if kind == "int64" else table.texts(at)


def _types(table: Table, fields: list[Field], name: str | None) -> list[tuple[str, I64 | None]]:
    at = next((i for i, f in enumerate(fields) if f.role == "TYPE"), None)
    if at is None:
        return [(name or DEFAULT_TYPE, None)]
    by_name: dict[str, list[int]] = {}
    for row, text in enumerate(table.texts(at)):
        by_name.setdefault(text or name or DEFAULT_TYPE, []).append(row)
    return [(k, np.array(rows, np.int64)) for k, rows in by_name.items()]


def _rows(edges: NewEdges, rows: I64 | None) -> NewEdges:
    if rows is None:
        return edges

    def some(ids: Ids) -> Ids:
        return [ids[r] for r in rows.tolist()] if isinstance(ids, list) else ids[rows]

    columns = {k: c.take(rows) for k, c in edges.columns.items()}
    return replace(
        edges,
        sources=some(edges.sources),
        targets=some(edges.targets),
        columns=columns,
        lines=edges.lines[rows],
    )


def _properties(table: Table, fields: list[Field]) -> dict[str, Column]:
    return {
        f.name: table.column(i, table.kind(i))
        for i, f in enumerate(fields)
        if not f.role and f.name
    }


def _role(fields: list[Field], role: str, path: Path) -> int:
    for i, field in enumerate(fields):
        if field.role == role:
            return i
    raise ImportFailed(
        f"has no {role} column", f"Add :{role} to its header.", file=str(path), line=1
    )

"""Folders that `Database.export` wrote, as inputs of an import that leave nothing open."""

from __future__ import annotations

import os
from pathlib import Path

from gdb.errors import ImportFailed
from gdb.records import replace

from ..copies import export_contents
from ..copies.export_contents import ExportedColumn, ExportedFile
from .csv_graph import Naming
from .detect import open_input
from .header import Field
from .layout import Layout, WrittenFile

_MOST = 1 << 26  # bytes of the description, which is read whole
_GUARDED = "was exported for spreadsheets; texts that were formulas keep the apostrophe before them"


def is_export(path: Path) -> bool:
    """Whether a path is a folder that an export wrote."""
    return os.path.isfile(path / export_contents.NAME)  # False also for what is no path at all


def inputs(path: Path, naming: Naming) -> list[tuple[str, Path, Naming]]:
    """What an import reads of the folder in which `path` describes what is there: "nodes" or "edges", the file, and
    all that is to know of it.

    Raises
    ------
    ImportFailed : its description cannot be read.
    """
    folder = Path(path).parent
    try:
        with open_input(path) as stream:
            text = stream.read(_MOST + 1)
        if len(text) > _MOST:
            raise ValueError(f"it has more than {_MOST:,} bytes")
        held = export_contents.decode(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ImportFailed(
            f"cannot be understood ({error})", "Export the graph again.", file=str(path)
        ) from None
    found: list[tuple[str, Path, Naming]] = []
    for nodes in held.nodes:
        how = replace(
            naming,
            labels=nodes.labels,
            id_space=nodes.id_space,
            layout=_layout(nodes.held, {"ID": nodes.id_space}, held.guarded),
        )
        found.append(("nodes", folder / nodes.held.file, how))
    for edges in held.edges:
        spaces = {"START_ID": edges.start_space, "END_ID": edges.end_space}
        how = replace(
            naming,
            type=edges.type,
            directed=edges.directed,
            ends=(edges.start_space, edges.end_space),
            layout=_layout(edges.held, spaces, held.guarded),
        )
        found.append(("edges", folder / edges.held.file, how))
    return found


def _layout(file: ExportedFile, spaces: dict[str, str], guarded: bool) -> Layout:
    fields = [_field(column, spaces) for column in file.columns]
    warnings = [_GUARDED] if guarded else []
    return Layout(",", 1, fields, warnings, False, WrittenFile(file.rows, file.widest))


def _field(column: ExportedColumn, spaces: dict[str, str]) -> Field:
    if column.role in ("LABEL", "TYPE"):  # for other programs
        return Field("", "IGNORE", kind=column.kind)
    return Field(column.name, column.role, spaces.get(column.role), column.kind)

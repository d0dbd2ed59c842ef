"""The contents of an export, `gdb-export.json` beside its files, so that reading it back leaves nothing open.

The files' own headers say the same to other programs as far as neo4j-admin headers can; names that
these cannot hold (a property `a:b`, labels with a `;`) are exact here only.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Literal, cast

from gdb.records import dataclass

from ..columns.model import FIRST_KINDS, Kind
from ..format.json_fields import Fields, Json

NAME = "gdb-export.json"
VERSION = 3
FileFormat = Literal["csv", "parquet"]
FORMATS: tuple[FileFormat, ...] = ("csv", "parquet")
Role = Literal["", "ID", "LABEL", "START_ID", "END_ID", "TYPE"]
_ROLES: tuple[Role, ...] = ("", "ID", "LABEL", "START_ID", "END_ID", "TYPE")


@dataclass(frozen=True, slots=True)
class ExportedColumn:
    """A column of a file: a property, or what its role says (then it has no name)."""

    name: str
    role: Role
    kind: Kind


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file.

    rows : without the header. widest : no line has more bytes (CSV).
    """

    file: str
    rows: int
    widest: int
    columns: tuple[ExportedColumn, ...]


@dataclass(frozen=True, slots=True)
class ExportedNodes:
    """The vertices of one vertex group."""

    labels: tuple[str, ...]
    id_space: str
    held: ExportedFile


@dataclass(frozen=True, slots=True)
class ExportedEdges:
    """Edges of one type whose sources are of one id space, and whose targets are."""

    type: str
    directed: bool
    start_space: str
    end_space: str
    held: ExportedFile


@dataclass(frozen=True, slots=True)
class Contents:
    """A whole export. guarded : there are apostrophes before texts that would be formulas."""

    nodes: tuple[ExportedNodes, ...]
    edges: tuple[ExportedEdges, ...]
    guarded: bool = False


def encode(contents: Contents) -> bytes:
    """The bytes of `gdb-export.json`."""
    files = [*(nodes.held for nodes in contents.nodes), *(edges.held for edges in contents.edges)]
    kinds = {column.kind for file in files for column in file.columns}
    # the oldest gdb that can reads it
    version = 1 if kinds <= set(FIRST_KINDS) else 3 if "any" in kinds else 2
    body = {"gdb_export": version, **asdict(contents)}
    if not contents.guarded:
        del body["guarded"]  # which older files have not either
    return (json.dumps(body, ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def decode(raw: bytes) -> Contents:
    """The contents that the bytes describe.

    Raises
    ------
    ValueError : they are of a newer version, or not what `encode` writes.
    """
    body = cast(Json, json.loads(raw))
    at = Fields(body)
    version = at.number("gdb_export")
    if not 1 <= version <= VERSION:
        raise ValueError(f"version {version}; this gdb reads up to version {VERSION}")
    guarded = isinstance(body, dict) and body.get("guarded") is True
    return Contents(at.each("nodes", _nodes), at.each("edges", _edges), guarded)


def _nodes(at: Fields) -> ExportedNodes:
    return ExportedNodes(at.texts("labels"), at.text("id_space"), _file(at.one("held")))


def _edges(at: Fields) -> ExportedEdges:
    return ExportedEdges(
        at.text("type"),
        at.flag("directed"),
        at.text("start_space"),
        at.text("end_space"),
        _file(at.one("held")),
    )


def _file(at: Fields) -> ExportedFile:
    name = at.text("file")
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise ValueError(f"{name!r} is no name of a file in the folder")  # never a way out of it
    columns = at.each("columns", _column)
    return ExportedFile(name, at.number("rows"), at.number("widest"), columns)


def _column(at: Fields) -> ExportedColumn:
    role = next((role for role in _ROLES if role == at.text("role")), None)
    if role is None:
        raise ValueError(f"{at.text('role')!r} is no role of a column")
    return ExportedColumn(at.text("name"), role, at.kind("kind"))

"""What a caller names, as a list of what is to be read: files with their formats, folders that `export` wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from gdb.errors import ImportFailed
from gdb.storage.importer import csv_graph, exported
from gdb.storage.importer.csv_graph import Naming
from gdb.storage.importer.detect import detect, head, is_parquet

AnyPath = str | PathLike[str]
EdgePath = AnyPath | tuple[AnyPath, str, str]
Nodes = AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath | Sequence[AnyPath]]
Edges = AnyPath | Sequence[AnyPath] | Mapping[str, EdgePath | Sequence[EdgePath]]


class Input(NamedTuple):
    """What is read as one table or graph: "nodes", "edges" or a format, the file, and what is said of it."""

    kind: str
    path: Path
    naming: Naming


def gathered(
    source: AnyPath | Sequence[AnyPath] | None,
    nodes: Nodes | None,
    edges: Edges | None,
    naming: Naming,
    format: str,
) -> list[Input]:
    """All that an import reads.

    Raises
    ------
    ImportFailed : nothing is named, or what is named is no file that can be read.
    """
    relations = _edges(edges, naming)
    inputs = [*_nodes(nodes, naming, relations), *relations, *_sources(source, naming, format)]
    if not inputs and not (source is not None and _paths(source)):  # an export may be empty
        raise ImportFailed("no file was given", "Name a file, or nodes= and edges=.")
    return inputs


def _several(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else [value]


def _path(value: object) -> Path:
    if not isinstance(value, (str, PathLike)) or not isinstance(fspath(value), str):
        raise ImportFailed(f"{value!r} is no path", "Name a file as text or pathlib.Path.")
    return Path(value)


def _paths(value: AnyPath | Sequence[AnyPath]) -> list[Path]:
    return [_path(v) for v in ([value] if isinstance(value, (str, bytes, PathLike)) else value)]


def _nodes(nodes: Nodes | None, naming: Naming, edges: list[Input]) -> list[Input]:
    """Node files; a label that the edges name as an end is the id space of its nodes."""
    if nodes is None:
        return []
    if isinstance(nodes, Mapping):
        spaces = {space for _, _, how in edges for space in how.ends or ()}
        return [
            Input(
                "nodes", path, replace(naming, label=label, id_space=_space(naming, label, spaces))
            )
            for label, value in nodes.items()
            for path in _paths(value)
        ]
    return [Input("nodes", path, naming) for path in _paths(nodes)]


def _space(naming: Naming, label: str, named: set[str]) -> str | None:
    if naming.id_space is not None or label not in named:
        return naming.id_space
    return label


def _edges(edges: Edges | None, naming: Naming) -> list[Input]:
    if edges is None:
        return []
    if not isinstance(edges, Mapping):
        return [Input("edges", path, naming) for path in _paths(edges)]
    found: list[Input] = []
    for name, value in edges.items():
        for item in _several(value):
            how = replace(naming, type=name)
            if isinstance(item, tuple):
                if len(item) != 3:
                    raise ImportFailed(
                        f"edges={{{name!r}: {item!r}}} is not (path, start space, end space)",
                        "Give several files of one type as a list.",
                    )
                path, start, end = item
                how = replace(how, ends=(start, end))
            else:
                path = item
            found.append(Input("edges", _path(path), how))
    return found


def _sources(
    source: AnyPath | Sequence[AnyPath] | None, naming: Naming, format: str
) -> list[Input]:
    found: list[Input] = []
    for path in _paths(source) if source is not None else []:
        if format == "auto" and exported.is_export(path):
            found += [Input(*each) for each in exported.inputs(path, naming)]
            continue
        kind = _kind(path) if format == "auto" else format
        if format == "parquet" and not is_parquet(path):
            raise ImportFailed("is no Parquet file", "Leave format= out.", file=str(path))
        if kind in ("csv", "parquet"):
            layout = csv_graph.layout(path, naming)
            kind = "edges" if csv_graph.holds_edges(layout, naming) else "nodes"
        found.append(Input(kind, path, naming))
    return found


def _kind(path: Path) -> str:
    return "parquet" if is_parquet(path) else detect(path, head(path))

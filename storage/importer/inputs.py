"""What a caller names, as a list of what is to be read: files with their formats, folders that `export` wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Gathering:
    """How what a caller names becomes a list of inputs.

    check : of every file before anything is read of it; it raises where the file is not to be read.
    """

    naming: Naming
    format: str
    check: Callable[[Path], None]

    def inputs(
        self,
        source: AnyPath | Sequence[AnyPath] | None,
        nodes: Nodes | None,
        edges: Edges | None,
    ) -> list[Input]:
        """All that an import reads.

        Raises
        ------
        ImportFailed : nothing is named, or what is named is no file that can be read.
        """
        sources = [] if source is None else self._paths(source)
        relations = self._edges(edges)
        found = [*self._nodes(nodes, relations), *relations]
        for path in sources:
            found += self._source(path)
        if not found and not sources:  # an export may be empty
            raise ImportFailed("no file was given", "Name a file, or nodes= and edges=.")
        return found

    def _input(self, kind: str, path: Path, naming: Naming) -> Input:
        self.check(path)
        return Input(kind, path, naming)

    def _path(self, value: object) -> Path:
        if not isinstance(value, (str, PathLike)) or not isinstance(fspath(value), str):
            raise ImportFailed(f"{value!r} is no path", "Name a file as text or pathlib.Path.")
        return Path(value)

    def _paths(self, value: AnyPath | Sequence[AnyPath]) -> list[Path]:
        several = [value] if isinstance(value, (str, bytes, PathLike)) else value
        return [self._path(each) for each in several]

    def _nodes(self, nodes: Nodes | None, edges: list[Input]) -> list[Input]:
        """Node files; a label that the edges name as an end is the id space of its nodes."""
        if nodes is None:
            return []
        if not isinstance(nodes, Mapping):
            return [self._input("nodes", path, self.naming) for path in self._paths(nodes)]
        spaces = {space for _, _, how in edges for space in how.ends or ()}
        found: list[Input] = []
        for label, value in nodes.items():
            how = replace(self.naming, label=label)
            if how.id_space is None and label in spaces:
                how = replace(how, id_space=label)
            found += [self._input("nodes", path, how) for path in self._paths(value)]
        return found

    def _edges(self, edges: Edges | None) -> list[Input]:
        if edges is None:
            return []
        if not isinstance(edges, Mapping):
            return [self._input("edges", path, self.naming) for path in self._paths(edges)]
        found: list[Input] = []
        for name, value in edges.items():
            for item in _several(value):
                how = replace(self.naming, type=name)
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
                found.append(self._input("edges", self._path(path), how))
        return found

    def _source(self, path: Path) -> list[Input]:
        if self.format == "auto" and exported.is_export(path):
            return [self._input(*each) for each in exported.inputs(path, self.naming)]
        self.check(path)
        kind = _kind(path) if self.format == "auto" else self.format
        if self.format == "parquet" and not is_parquet(path):
            raise ImportFailed("is no Parquet file", "Leave format= out.", file=str(path))
        if kind in ("csv", "parquet"):
            layout = csv_graph.layout(path, self.naming)
            kind = "edges" if csv_graph.holds_edges(layout, self.naming) else "nodes"
        return [Input(kind, path, self.naming)]


def _several(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else [value]


def _kind(path: Path) -> str:
    return "parquet" if is_parquet(path) else detect(path, head(path))

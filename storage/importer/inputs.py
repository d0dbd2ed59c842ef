"""The inputs of an import, made of what a caller names: files with their formats, folders that `export` wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from gdb.errors import ImportFailed
from gdb.records import dataclass, replace

from ..columns.arrow_arrays import ArrowStream, is_stream
from ..columns.model import Column
from ..copies import export_contents
from ..disk.duckdb_engine import Engine
from ..disk.import_root import rooted
from . import csv_graph, exported, kuzu_export
from .csv_graph import Naming
from .detect import begin, detect, document_of, head, is_parquet
from .documents import DOCUMENTS
from .frames import Frame, frame_layout
from .header import as_text, assume_roles, names_of, parse_header
from .layout import Layout
from .networkx_graph import NetworkxGraph, is_graph
from .parquet import parquet_kinds
from .parted import PartedFile, expand_patterns, group_parts, parts_of
from .records import LazyRows, LazyTable, Records, RecordTable, is_records, table_of

_NO_IDS = Column.nulls("string", 0)
AnyPath = str | PathLike[str]
AnyTable = AnyPath | ArrowStream | Records | LazyRows
AnySource = AnyTable | NetworkxGraph
EdgeTable = AnyTable | tuple[AnyTable, str, str]
Nodes = AnyTable | Sequence[AnyTable] | Mapping[str, AnyTable | Sequence[AnyTable]]
Edges = (
    AnyTable
    | Sequence[AnyTable]
    | Mapping[str, EdgeTable | Sequence[EdgeTable]]
    | Mapping[tuple[str, str, str], EdgeTable | Sequence[EdgeTable]]
    | Mapping[str | tuple[str, str, str], EdgeTable | Sequence[EdgeTable]]
)
"""A key is a type, or "TYPE:START:END" with the labels of both ends, or these three as a tuple."""


class Input(NamedTuple):
    """One table or graph to read: "nodes", "edges" or a format, the file, and its options.

    held : what is in memory instead; then `path` is but a name for it. side : of records of JSON, "nodes" or "edges"
    where the caller says which they are.
    """

    kind: str
    path: Path
    naming: Naming
    held: Frame | NetworkxGraph | None = None
    side: str = ""


@dataclass(frozen=True, slots=True)
class Gathering:
    """How what a caller names becomes a list of inputs.

    check : of every file before anything is read of it; it raises where the file is not to be read.
    root : the folder, resolved, in which all files must lie; None for any.
    mended : gives a copy of a Parquet file of Kuzu that can be read, where the file itself cannot.
    """

    naming: Naming
    check: Callable[[Path], None]
    root: Path | None = None
    mended: Callable[[Path], Path] = lambda path: path

    def inputs(
        self,
        source: AnySource | Sequence[AnySource] | None,
        nodes: Nodes | None,
        edges: Edges | None,
    ) -> list[Input]:
        """All that an import reads.

        Raises
        ------
        ImportFailed : nothing is named, or what is named cannot be read. Empty lists of tables are nothing to read.
        """
        relations = self._edges(edges)
        found = [*self._nodes(nodes, relations), *relations]
        sources = [] if source is None else self._files(_several(source), self.naming)
        for each in sources:
            found += self._source(each)
        if not sources and nodes is None and edges is None:
            raise ImportFailed("no file was given", "Name a file, or nodes= and edges=.")
        return found

    def _files(self, things: list[object], naming: Naming) -> list[object]:
        """What is named, with the files of patterns, and those that are one table as a `PartedFile`."""
        found = expand_patterns(things, self._inside)
        if self.naming.format not in ("auto", "csv") or len(found) < 2:
            return found
        return group_parts(found, naming, self._checked)

    def _tables(self, kind: str, things: list[object], naming: Naming) -> list[Input]:
        """Tables of nodes or edges: files, or in memory. An empty list is a table without rows, so that its nodes are
        known to be none."""
        if not things:
            nothing = dict.fromkeys(("id",) if kind == "nodes" else ("source", "target"), _NO_IDS)
            how = replace(naming, columns=None, header=None)
            return [self._table(kind, RecordTable(nothing, 0), how)]
        found: list[Input] = []
        for each in self._files(things, naming):
            if isinstance(each, PartedFile):
                parts = parts_of(each, naming, self._checked)
                found += [self._table(kind, path, how) for path, how in parts]
            else:
                found.append(self._table(kind, each, naming))
        return found

    def _checked(self, path: Path) -> Path:
        """The path by which a file is opened, once it is known to be fit to be read."""
        found = self._inside(path)
        self.check(found)
        return found

    def _table(self, kind: str, source: object, naming: Naming) -> Input:
        """A table of nodes or edges: a file, or one in memory."""
        if is_stream(source):
            name = (
                f"{_kind_of(source)} ({naming.type if kind == 'edges' else naming.label or kind})"
            )
            frame = Frame(source, name)
            if _is_empty_frame(source):
                frame.take_as_text(_ids_of(frame, naming, kind))
            return Input(kind, Path(name), naming, frame)
        path = self._inside(_path(source))
        self.check(path)
        document = self._document(path, naming)
        if document == "json":
            return Input("json", path, naming, side=kind)
        if document:
            raise ImportFailed(
                f"is a whole graph ({DOCUMENTS[document].name}), no table of {kind}",
                "Name it without nodes= or edges=.",
                file=str(path),
            )
        return Input(kind, path, naming)

    def _of_kuzu(self, kind: str, source: Path, naming: Naming) -> Input:
        """A file of a folder that Kuzu wrote; the types of Parquet are those that it has."""
        path = self._inside(source)
        if path.is_file() and is_parquet(path):
            path = self.mended(path)
        self.check(path)
        kinds = parquet_kinds(path) if is_parquet(path) else None
        layout = naming.layout
        if layout is not None and kinds is not None:
            if len(kinds) != len(layout.fields):
                raise ImportFailed(
                    f"has {len(kinds)} columns; its schema has {len(layout.fields)}",
                    "Export the database again.",
                    file=str(path),
                )
            pairs = list(zip(layout.fields, kinds, strict=True))
            fields = [replace(f, kind=kind) for f, (kind, _) in pairs]
            warnings = [as_text(f.name, type) for f, (_, type) in pairs if type]
            layout = replace(layout, fields=fields, warnings=warnings)
            naming = replace(naming, layout=layout)
        return Input(kind, path, naming)

    def _document(self, path: Path, naming: Naming) -> str:
        """The format of a file that is a document; "" where it is none, or is said to be a table."""
        if naming.layout is not None or naming.columns is not None or naming.header is not None:
            return ""
        if self.naming.format in DOCUMENTS:
            return self.naming.format
        if self.naming.format != "auto" or is_parquet(path):
            return ""
        return document_of(begin(path)) or ""

    def _nodes(self, nodes: Nodes | None, edges: list[Input]) -> list[Input]:
        """Tables of nodes; a label that the edges name as an end is the id space of its nodes."""
        if nodes is None:
            return []
        if not isinstance(nodes, Mapping):
            return self._tables("nodes", _several(nodes), self.naming)
        spaces = {space for each in edges for space in each.naming.ends or ()}
        found: list[Input] = []
        for label, value in nodes.items():
            if not isinstance(label, str):
                raise ImportFailed(f"the key {label!r} of nodes= is no text", "Keys are labels.")
            how = replace(self.naming, label=label)
            own = next((one for one in (label, *names_of(label)) if one in spaces), None)
            if own is not None:
                how = replace(how, end=own)
            found += self._tables("nodes", _several(value), how)
        return found

    def _edges(self, edges: Edges | None) -> list[Input]:
        if edges is None:
            return []
        if not isinstance(edges, Mapping):
            return self._tables("edges", _several(edges), self.naming)
        found: list[Input] = []
        for name, value in edges.items():
            how, plain = _relation(self.naming, name), list[object]()
            for item in _tables_of(value):
                if not isinstance(item, tuple):
                    plain.append(table_of(item))
                    continue
                if len(item) != 3:
                    raise ImportFailed(
                        f"edges={{{name!r}: {item!r}}} is not (path, start space, end space)",
                        "Give several files of one type as a list.",
                    )
                ends = (str(item[1]), str(item[2]))
                how_one = replace(how, ends=ends, labelled=False)
                found += self._tables("edges", [table_of(item[0])], how_one)
            if plain or not _tables_of(value):
                found += self._tables("edges", plain, how)
        return found

    def _source(self, source: object) -> list[Input]:
        """A file or folder of any format, a table in memory, or a graph of networkx."""
        if is_graph(source):
            return [Input("networkx", Path(_kind_of(source)), self.naming, source)]
        if is_stream(source):
            name = _kind_of(source)
            frame = Frame(source, name)
            with closing(Engine()) as engine:
                layout = frame_layout(frame, self.naming.columns, engine)
            side = self._side(layout)
            if _is_empty_frame(source):
                frame.take_as_text(_ids_of(frame, self.naming, side))
            return [Input(side, Path(name), self.naming, frame)]
        if isinstance(source, PartedFile):
            return self._group(source)
        path = self._inside(_path(source))
        if self.naming.format == "auto" and exported.is_export(path):
            contents = self._inside(path / export_contents.NAME)
            return [self._table(*each) for each in exported.inputs(contents, self.naming)]
        if self.naming.format == "auto" and kuzu_export.is_kuzu_export(path):
            tables = kuzu_export.inputs(path, self.naming, self._inside)
            return [self._of_kuzu(*each) for each in tables if not _is_empty(each[1])]
        self.check(path)
        document = self._document(path, self.naming)
        kind = document or (_format(path) if self.naming.format == "auto" else self.naming.format)
        if self.naming.format == "parquet" and not is_parquet(path):
            raise ImportFailed("is no Parquet file", "Leave format= out.", file=str(path))
        if kind in ("csv", "parquet"):
            kind = self._side(csv_graph.layout(path, self.naming))
        return [Input(kind, path, self.naming)]

    def _group(self, group: PartedFile) -> list[Input]:
        """Files that are one table, nodes or edges; if they are of another format, each by itself."""
        first = self._inside(group.files[0])
        self.check(first)
        kind = _format(first) if self.naming.format == "auto" else self.naming.format
        if kind != "csv":
            return [found for path in group.files for found in self._source(path)]
        side = self._side(csv_graph.layout(first, self.naming))
        return self._tables(side, [group], self.naming)

    def _inside(self, path: Path) -> Path:
        """A path that lies within the root: where links and `..` lead, so that what is checked is what is opened.

        Raises
        ------
        ImportFailed : it lies outside.
        """
        if self.root is None:
            return path
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
            raise ImportFailed(
                f"cannot be opened ({error})", "Check the path.", file=str(path)
            ) from None
        if not real.is_relative_to(self.root):
            raise ImportFailed(
                f"lies outside of the import root {self.root}",
                "Put the file there, or connect with another import_root=.",
                file=str(path),
            )
        return rooted(real, self.root)

    def _side(self, layout: Layout) -> str:
        return "edges" if csv_graph.holds_edges(layout, self.naming) else "nodes"


def _relation(naming: Naming, key: object) -> Naming:
    """The meaning of a key of `edges`: a type, or with it the labels of both ends.

    Raises
    ------
    ImportFailed : it is neither.
    """
    parts = key.split(":") if isinstance(key, str) else key
    if isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts):
        if len(parts) == 1 and isinstance(key, str):
            return replace(naming, type=key)
        if len(parts) == 3 and all(names_of(label) for label in parts[1:]):
            type, start, end = (part.strip() for part in parts)
            return replace(naming, type=type or naming.type, ends=(start, end), labelled=True)
    raise ImportFailed(
        f"edges={{{key!r}: ...}} names no type and its two ends",
        'Write "TYPE", or "TYPE:START:END" with the labels of both ends, as in "KNOWS:Person:Person".',
    )


def _tables_of(source: object) -> list[object]:
    """The items of a list of tables; a list of dicts is one table, as all else is."""
    return source if isinstance(source, list) and not is_records(source) else [source]


def _several(value: object) -> list[object]:
    """One thing, or a sequence of them."""
    value = table_of(value)
    if isinstance(value, Mapping):
        raise ImportFailed(
            f"a dict of {', '.join(map(repr, value)) or 'nothing'} is no table",
            "Make a data frame of it, give a list with a dict for each row, or use tx.add_nodes or"
            " tx.add_relationships.",
        )
    if isinstance(value, (str, bytes, PathLike)) or is_stream(value) or is_graph(value):
        return [value]
    if not isinstance(value, Iterable):
        return [value]  # a later check raises that this is no path
    return [table_of(each) for each in value]


def _is_empty_frame(source: object) -> bool:
    """Whether it is a data frame of pandas without rows, whose columns have types by chance: ids would be floats."""
    return is_stream(source) and getattr(source, "empty", False) is True


def _ids_of(frame: Frame, naming: Naming, kind: str) -> list[int]:
    """The columns of a frame that hold ids, by their numbers."""
    names = frame.names if naming.columns is None else [*naming.columns]
    plain, _ = parse_header(names, lambda why, cure: ImportFailed(why, cure, file=frame.name))
    fields = assume_roles(plain, edges=kind == "edges")
    return [k for k, field in enumerate(fields) if field.role in ("ID", "START_ID", "END_ID")]


def _path(value: object) -> Path:
    if not isinstance(value, (str, PathLike)) or not isinstance(fspath(value), str):
        raise ImportFailed(
            f"{value!r} is no path", "Name a file as text or pathlib.Path, or give a data frame."
        )
    return Path(value)


def _kind_of(value: object) -> str:
    """What a thing in memory is called: polars.DataFrame, networkx.DiGraph, ..."""
    if isinstance(value, LazyTable):
        return "polars.LazyFrame"
    if isinstance(value, RecordTable):
        return "list of dicts" if value.count else "empty list"
    return f"{type(value).__module__.split('.')[0]}.{type(value).__name__}"


def _is_empty(path: Path) -> bool:
    """Whether a file has no bytes, as that of an empty table without a header."""
    return path.is_file() and not path.stat().st_size


def _format(path: Path) -> str:
    return "parquet" if is_parquet(path) else detect(path, head(path))

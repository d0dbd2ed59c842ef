"""The options of an import: one record, filled in by Python, COPY and the shell alike.

It lies outside of the importer, so that listing the options does not import the readers of files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Literal, TypeAlias, get_args, get_origin, get_type_hints

from gdb.records import dataclass

Format: TypeAlias = Literal[
    "auto", "snap", "csv", "parquet", "graph", "mtx", "graphml", "gexf", "gml", "json"
]
MissingEnds: TypeAlias = Literal["create", "refuse"]
Repeated: TypeAlias = Literal["keep", "drop"]
OnDuplicate: TypeAlias = Literal["error", "skip", "update"]
OnError: TypeAlias = Literal["raise", "skip"]

SIZES = ("max_unpacked", "memory")
"""Options that are bytes, which a caller may write as a text: "512MB"."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How files become a graph.

    format : of files; "auto" finds it from their content.
    type, label : relationship type and node label where files name none; the type is "EDGE" by default, `.graph`
        vertices get the label L<number>. "A:B" gives two labels, also as a key of `nodes`.
    directed : False: each relationship is stored once, for both directions (`.graph` files and symmetric matrices
        are always undirected).
    columns : names of a file's columns, as header fields. delimiter, header : how it is written, if not as it looks.
    id_space : id space of nodes, and of edge ends, where headers name none; ends : id spaces of both ends. A label of
        `nodes` that is named there is the id space of those nodes.
    missing_ends : what an edge does whose node does not exist; by default "refuse" where the nodes of its id space were
        loaded from CSV files, else "create"; nodes that are made have a label and their id as a property where the
        labels of the ends are named. A `.graph` file names all its vertices; each row and column of a matrix is one.
    multi_edges, self_loops : "drop" leaves them out; both are counted in the report. An undirected list that holds
        every edge in both directions wants directed=False and multi_edges="drop".
    on_duplicate : what a node does whose id is there already, in the graph or earlier in the files: "skip" leaves it
        out, "update" writes its properties over those of the node, nulls included, whose labels stay; the report
        counts these.
    on_error : "skip" leaves bad lines out, at most `max_errors`, and lists them in the report. rejects_file : a new
        CSV file for them (file, line, column, reason, text), written also where the import fails.
    max_unpacked : bytes that a compressed or Parquet file may unpack to, if they are more than 200 times its size.
    memory : bytes that the import may take beside the ids of vertices; None for no bound. With less than the
        edges need, they are sorted through scratch files in the store's folder (see `gdb.storage.write.edge_runs`).
    packed : write the store in packed sections, now and later; None as it is (see docs/IMPORT.md).
    """

    format: Format = "auto"
    type: str | None = None
    label: str | None = None
    directed: bool = True
    columns: Sequence[str] | None = None
    delimiter: str | None = None
    header: bool | None = None
    id_space: str | None = None
    ends: tuple[str, str] | None = None
    missing_ends: MissingEnds | None = None
    multi_edges: Repeated = "keep"
    self_loops: Repeated = "keep"
    on_duplicate: OnDuplicate = "error"
    on_error: OnError = "raise"
    max_errors: int = 1000
    rejects_file: Path | None = None
    max_unpacked: int = 16 << 20
    memory: int | None = None
    packed: bool | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """One of the options, as places where users write it need it.

    kinds : the types of its values, None left out; a list for what has several, a text for a file, a text or an
    integer for bytes. choices : its values where they are a fixed set. default : None where it is left open.
    """

    name: str
    kinds: tuple[type, ...]
    choices: tuple[str, ...]
    default: object


@cache
def load_options() -> Mapping[str, Option]:
    """All options by name, in their order."""
    defaults = LoadOptions()
    found: dict[str, Option] = {}
    for name, hint in get_type_hints(LoadOptions).items():
        default = getattr(defaults, name)
        found[name] = Option(name, _kinds(name, hint), _choices(hint), default)
    return found


def _kinds(name: str, hint: object) -> tuple[type, ...]:
    if name in SIZES:
        return str, int
    held = [kind for kind in _parts(hint) if kind is not NoneType]
    return tuple(_kind(each) for each in held)


def _kind(hint: object) -> type:
    origin = get_origin(hint)
    if hint is Path or origin is Literal:
        return str
    return hint if isinstance(hint, type) and origin is None else list


def _parts(hint: object) -> tuple[object, ...]:
    """The members of a union; a single type is its own."""
    return get_args(hint) if NoneType in get_args(hint) else (hint,)


def _choices(hint: object) -> tuple[str, ...]:
    return next((get_args(part) for part in _parts(hint) if get_origin(part) is Literal), ())


# ---- the words of an error -----------------------------------------------------------------------------


def respelt(text: str, write: Callable[[str, str], str], names: Sequence[str] = ()) -> str:
    """A text that names options as arguments of Python, in other words.

    write : what an option and its value ("" for none) are there. names : of arguments that are no options of an import.

    Examples
    --------
    >>> respelt('Pass on_error="skip", or columns=[...].', lambda name, value: f"{name}: {value or '...'}")
    'Pass on_error: skip, or columns: [...].'
    """
    known = "|".join((*load_options(), *names))
    value = r"""(?:"(?P<text>[^"]*)"|'(?P<other>[^']*)'|(?P<word>True|False|None|\[[^\]]*\]|\([^)]*\)))?"""
    return re.sub(
        rf"""(?<![\w'"-])(?P<name>{known})={value}(?![\w'"=])""",
        lambda found: write(found["name"], found["text"] or found["other"] or found["word"] or ""),
        text,
    )

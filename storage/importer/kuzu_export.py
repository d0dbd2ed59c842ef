"""Folders that `EXPORT DATABASE` of Kuzu, or of Ladybug which went on from it, wrote: `schema.cypher` says which tables
there are, `copy.cypher` in which file each lies and how that is written.

Kuzu writes a file for each table of nodes and each pair of ends of a table of relationships, as CSV or Parquet. Ladybug
writes Parquet without `copy.cypher`, `nodes_TABLE.parquet` and `rels_TABLE.parquet`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from gdb.errors import ImportFailed
from gdb.records import dataclass, field, replace

from ..columns.model import LIST_OF, Kind
from .csv_graph import Naming
from .detect import open_input
from .header import Field, as_text
from .layout import Layout

SCHEMA, COPIES = "schema.cypher", "copy.cypher"
_MOST = 1 << 22  # bytes of either, which is read whole
_CURE = "Export the database again."
_TOKEN = re.compile(
    r"\s+|(?P<name>`(?:[^`]|``)*`|[A-Za-z_]\w*)|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>[0-9]+)|(?P<sign>.)",
    re.DOTALL,
)
_INTEGERS = ("INT8", "INT16", "INT32", "INT64", "INT", "UINT8", "UINT16", "UINT32", "SERIAL")
_KINDS: Mapping[str, Kind | None] = {
    **dict.fromkeys(_INTEGERS, "int64"),
    **dict.fromkeys(("UINT64", "INT128"), None),  # an integer where all values are of 64 bits
    **dict.fromkeys(("DOUBLE", "FLOAT"), "float64"),
    **dict.fromkeys(("BOOL", "BOOLEAN"), "bool"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_SEC"), "datetime"),
    "TIMESTAMP_TZ": "datetime",
    **dict.fromkeys(("STRING", "UUID"), "string"),
}
Words = list[str]


@dataclass(slots=True)
class _KuzuTable:
    """A table: its columns and their types. key : of nodes, the column of ids. pairs : of relationships, the tables of
    both ends."""

    name: str
    columns: dict[str, str]
    key: str = ""
    pairs: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A file of a table: its columns as they lie, and how it is written."""

    table: str
    columns: tuple[str, ...]
    file: str
    options: Mapping[str, str]


def is_kuzu_export(path: Path) -> bool:
    """Whether a path is a folder that describes a schema as Kuzu does."""
    return os.path.isfile(path / SCHEMA)


def inputs(
    folder: Path, naming: Naming, inside: Callable[[Path], Path]
) -> list[tuple[str, Path, Naming]]:
    """What an import reads of a folder: "nodes" or "edges", the file, and all that is to know of it. The files
    themselves are not looked at. inside : gives the path of a file that may be read, or raises.

    Raises
    ------
    ImportFailed : what describes the folder cannot be understood.
    """
    folder = Path(folder)
    schema, order = inside(folder / SCHEMA), folder / COPIES
    tables = {table.name: table for table in _tables(schema)}
    copies = _copies(inside(order)) if order.is_file() else _by_name(tables)
    found: list[tuple[str, Path, Naming]] = []
    for copy in copies:
        table = tables.get(copy.table)
        if table is None:
            _fail(order, f"names the table {copy.table!r}, which {SCHEMA} does not have")
        # where the folder was when it was written says nothing
        path = folder / re.split(r"[/\\]", copy.file)[-1]
        how = _named(naming, table, copy, tables, schema)
        found.append(("edges" if table.pairs else "nodes", path, how))
    return found


def _named(
    naming: Naming, table: _KuzuTable, copy: _Copy, tables: Mapping[str, _KuzuTable], schema: Path
) -> Naming:
    """What is to be said of a file of a table."""
    columns = copy.columns or tuple(name for name in table.columns if name)
    ends: list[tuple[str, str]] = []
    if table.pairs:
        first, last = table.pairs[0]
        ends = [
            ("START_ID", copy.options.get("from", first)),
            ("END_ID", copy.options.get("to", last)),
        ]
    fields: list[Field] = []
    warnings: list[str] = []
    for role, label in ends:
        other = tables.get(label)
        if other is None or not other.key:
            _fail(schema, f"joins the table {label!r}, which is no table of nodes")
        kind, _ = _kind(other.columns[other.key])
        fields.append(Field("", role, None, kind))
    for name in columns:
        if name not in table.columns:
            _fail(schema, f"has no column {name!r} in the table {table.name!r}")
        kind, is_known = _kind(table.columns[name])
        if not is_known:
            warnings.append(as_text(name, table.columns[name]))
        fields.append(Field(name, "ID" if name == table.key else "", None, kind))
    said = copy.options
    layout = Layout(
        said.get("delim", ","),
        int(said.get("header", "false").lower() in ("true", "1")),
        fields,
        warnings,
        False,
        quote=said.get("quote", '"'),
        escape=said.get("escape", '"'),
        bracketed=True,
    )
    if not table.pairs:
        return replace(naming, labels=(table.name,), id_space=table.name, layout=layout)
    labels = ends[0][1], ends[1][1]
    how = replace(naming, type=table.name, ends=labels, labelled=True)
    return replace(how, layout=layout, directed=True)


def _kind(type: str) -> tuple[Kind | None, bool]:
    """The kind of a type, and whether it is stored as it is and not as text."""
    if type.upper() in _KINDS:
        return _KINDS[type.upper()], True
    item = re.fullmatch(r"([A-Z0-9_]+)\[[0-9]*\]", type.upper())
    kind = _KINDS.get(item[1]) if item else None
    return (LIST_OF[kind], True) if kind is not None else ("string", False)


def _by_name(tables: Mapping[str, _KuzuTable]) -> list[_Copy]:
    """The files that Ladybug writes."""
    return [
        _Copy(name, (), f"{'rels' if table.pairs else 'nodes'}_{name}.parquet", {})
        for name, table in tables.items()
    ]


# ---- the statements ------------------------------------------------------------------------------------


def _statements(path: Path) -> Iterator[Words]:
    """The words of each statement of a file."""
    with open_input(path) as stream:
        content = stream.read(_MOST + 1)
    if len(content) > _MOST:
        _fail(path, f"has more than {_MOST:,} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        _fail(path, "is not UTF-8")
    words: Words = []
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "sign" and found["sign"] == ";":
            yield words
            words = []
        elif found.lastgroup is not None:
            words.append(found[found.lastgroup])
    if words:
        yield words


def _tables(path: Path) -> Iterator[_KuzuTable]:
    for words in _statements(path):
        head = [word.upper() for word in words[:4]]
        if head[:1] != ["CREATE"] or head[1:3] not in (["NODE", "TABLE"], ["REL", "TABLE"]):
            continue  # sequences, indexes, macros
        is_rel, rest = head[1] == "REL", words[3:]
        if is_rel and head[3] == "GROUP" and rest[1:2] != ["("]:
            rest = rest[1:]
        while (
            [word.upper() for word in rest[:1]] in (["IF"], ["NOT"], ["EXISTS"])
            and len(rest) > 1
            and rest[1] != "("
        ):
            rest = rest[1:]
        if len(rest) < 3 or rest[1] != "(":
            _fail(path, f"has a statement that cannot be understood: {' '.join(words[:6])}")
        yield _table(path, _plain(rest[0]), _parts(rest[2:]), is_rel=is_rel)


def _table(path: Path, name: str, parts: list[Words], *, is_rel: bool) -> _KuzuTable:
    table = _KuzuTable(name, {})
    for part in parts:
        first = [word.upper() for word in part[:2]]
        if is_rel and first[:1] == ["FROM"] and len(part) >= 4:
            table.pairs.append((_plain(part[1]), _plain(part[3])))
        elif first == ["PRIMARY", "KEY"]:
            table.key = _plain(part[3])
        elif len(part) > 1:
            table.columns[_plain(part[0])] = _type(part[1:])
            if [word.upper() for word in part[-2:]] == ["PRIMARY", "KEY"]:
                table.key = _plain(part[0])
    if is_rel and not table.pairs:
        _fail(path, f"joins nothing by the table {name!r}")
    if not is_rel and table.key not in table.columns:
        _fail(path, f"has no primary key in the table {name!r}")
    return table


def _type(words: Words) -> str:
    """A type, without what else is said of the column."""
    held = list(words)
    for k, word in enumerate(words):
        if (
            k
            and word.upper() in ("DEFAULT", "PRIMARY")
            and words[:k].count("(") == words[:k].count(")")
        ):
            held = words[:k]
            break
    return re.sub(r" ?([\[\](),]) ?", r"\1", " ".join(held)).replace(",", ", ")


def _copies(path: Path) -> list[_Copy]:
    """The statements of `copy.cypher`."""
    found: list[_Copy] = []
    for words in _statements(path):
        upper = [word.upper() for word in words]
        if upper[:1] != ["COPY"] or "FROM" not in upper:
            _fail(path, f"has a statement that cannot be understood: {' '.join(words[:6])}")
        at = upper.index("FROM", 2)
        columns = tuple(_plain(part[0]) for part in _parts(words[3:at]) if part) if at > 2 else ()
        options: dict[str, str] = {}
        for part in _parts(words[at + 3 :]):
            tokens = [word for word in part if word != "="]  # `quote=quote='"'` is written as well
            if len(tokens) > 1:
                options[tokens[0].lower()] = _plain(tokens[-1])
        found.append(_Copy(_plain(words[1]), columns, _plain(words[at + 1]), options))
    return found


def _parts(words: Words) -> list[Words]:
    """What lies between the commas up to the bracket that closes."""
    parts: list[Words] = [[]]
    depth = 0
    for word in words:
        if word == ")" and not depth:
            break
        depth += (word == "(") - (word == ")")
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _plain(word: str) -> str:
    """A name or a text without its quotes."""
    if word[:1] == "`":
        return word[1:-1].replace("``", "`")
    if word[:1] in ("'", '"'):
        return re.sub(
            r"\\(.)", lambda found: {"t": "\t", "n": "\n"}.get(found[1], found[1]), word[1:-1]
        )
    return word


def _fail(path: Path, reason: str) -> NoReturn:
    raise ImportFailed(reason, _CURE, file=str(path))

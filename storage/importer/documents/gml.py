"""GML: keys with integers, reals, texts or lists of such (M. Himsolt, *GML: A portable Graph File Format*, 1997), as
networkx, igraph and yEd write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import name2codepoint
from typing import TypeAlias

from gdb.records import dataclass, field

from ...columns.model import INT64, Item
from ..lines import lines_of
from ..number_lines import is_beyond_floats
from ..report import Fault
from .elements import LONGEST, Edge, Element, Node, Pass, Values

_TOKEN = re.compile(
    r"\s*(?:(?P<open>\[)|(?P<close>\])|(?P<key>[A-Za-z_][\w]*)"
    r"|(?P<real>[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf)\b)"
    r"|(?P<integer>[+-]?[0-9]+)|(?P<text>\"))",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]+);")
_MEND = "Mend the file, or write it anew with the program that it is from."
_LIST = "_networkx_list_start"  # networkx writes it first in a list of one
_NUMBERS = {"NAN": float("nan"), "+INF": float("inf"), "INF": float("inf"), "-INF": float("-inf")}
Entry: TypeAlias = "tuple[str, Item | list[Entry], int]"
"""A key, its value, and the line."""


def read(one: Pass) -> Iterator[Element]:
    """The nodes or edges of a file.

    Raises
    ------
    ImportFailed : it is no GML that can be stored; names the line.
    """
    return _GmlReader(one).elements()


@dataclass(slots=True)
class _List:
    """A list that is open: the key that it is of, and what is in it so far."""

    key: str
    line: int
    entries: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class _GmlReader:
    one: Pass
    directed: bool = False
    edges: bool = False  # whether there was one
    graphs: int = 0
    open: list[_List] = field(default_factory=list)
    key: str | None = None  # whose value comes next
    size: int = 0  # tokens that are held

    def elements(self) -> Iterator[Element]:
        for kind, text, line in _tokens(self.one):
            match kind:
                case "key" if self.key is None:
                    self.key = text
                case "open" if self.key is not None:
                    self._open(line)
                case "close" if self.open and self.key is None:
                    found = self._close()
                    if found is not None:
                        yield from self._elements_of(found)
                case "integer" | "real" | "text" if self.key is not None:
                    self._take(_value(kind, text), line)
                case _ if kind == "key" and text.upper() in _NUMBERS and self.key is not None:
                    self._take(_NUMBERS[text.upper()], line)
                case _:
                    self.one.fail(line, f"{text!r} is out of place", _MEND, text)
        if self.open or self.key is not None:
            line = self.open[-1].line if self.open else 1
            self.one.fail(line, "ends before this list is closed", _MEND)

    def _open(self, line: int) -> None:
        assert self.key is not None
        if len(self.open) >= 32:
            self.one.fail(line, "lists lie more than 32 deep", _MEND)
        if self.key == "graph" and not self.open:
            self.graphs += 1
            if self.graphs > 1:
                self.one.fail(line, "holds a second graph", "A file holds one graph; split it.")
        self.open.append(_List(self.key, line))
        self.key = None

    def _take(self, value: Item, line: int) -> None:
        key, self.key = self.key or "", None
        if not self.open:  # Creator, Version
            return
        if len(self.open) == 1 and self.open[0].key == "graph":
            if key == "directed":
                if self.edges and self.directed != (value == 1):
                    cure = "Write `directed` before the edges."
                    self.one.fail(line, "`directed` comes behind edges", cure)
                self.directed = value == 1
            return
        self.size += 1
        if self.size > LONGEST:
            self.one.fail(line, f"a list holds more than {LONGEST:,} values", _MEND)
        self.open[-1].entries.append((key, value, line))

    def _close(self) -> _List | None:
        """A node or an edge that is whole; another list is put into the one that holds it."""
        done = self.open.pop()
        inside = len(self.open) == 1 and self.open[0].key == "graph"
        if inside and done.key in ("node", "edge"):
            self.edges = self.edges or done.key == "edge"
            self.size = 0
            return done
        if self.open and not inside:
            self.open[-1].entries.append((done.key, done.entries, done.line))
        return None

    def _elements_of(self, element: _List) -> Iterator[Element]:
        is_node = element.key == "node"
        wanted = is_node == self.one.nodes
        if is_node and not wanted:
            return
        values = self._values(element, wanted)
        needed = ("id",) if is_node else ("source", "target")
        ids = [values.pop(name, None) for name in needed]
        for name, id in zip(needed, ids, strict=True):
            if not isinstance(id, (int, str)) or isinstance(id, bool) or id == "":
                if wanted:
                    cure = f"Every {element.key} needs one, an integer."
                    self.one.reject(
                        element.line, element.key, Fault(f"{element.key} has no {name}", cure)
                    )
                return
        ends = [id for id in ids if isinstance(id, (int, str))]
        if is_node:
            labels = values.pop("labels", None)
            names = labels if isinstance(labels, list) else [labels] if labels else []
            yield Node(ends[0], tuple(sorted(set(map(str, names)))), values, element.line)
            return
        type = values.pop("type", None) if isinstance(values.get("type"), str) else None
        yield Edge(
            ends[0], ends[1], str(type) if type else None, self.directed, values, element.line
        )

    def _values(self, element: _List, wanted: bool) -> Values:
        """The entries of a list: a key that occurs several times has a list of values."""
        found: Values = {}
        several: dict[str, list[Item]] = {}
        for key, value, _ in element.entries:
            if isinstance(value, list):
                if wanted:
                    self.one.leave_out(f"lists of keys, as {key!r}")
            elif value == _LIST:
                several.setdefault(key, [])
            elif key in several:
                several[key].append(value)
            elif key in found:
                first = found.pop(key)
                assert first is not None
                assert not isinstance(first, list)
                several[key] = [first, value]
            else:
                found[key] = value
        return {**found, **several}


def _value(kind: str, text: str) -> Item:
    if kind == "integer":
        return int(text)
    return float(text) if kind == "real" else _ENTITY.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    """The character that a text names; what names none is left as it is."""
    name = match[1]
    code = name2codepoint.get(name, -1)
    if name.startswith("#"):
        code = int(name[2:], 16) if name[1:2] in "xX" else int(name[1:])
    return chr(code) if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


def _tokens(one: Pass) -> Iterator[tuple[str, str, int]]:
    """The tokens of a file: what each is, its text, its line."""
    text: list[str] | None = None  # of a string that is open
    begun, length = 0, 0
    for number, raw, part in lines_of(one.path, one.most):
        if not number % (1 << 14):
            one.tick(part)
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            line = raw.decode("latin-1")  # GML is ASCII, and older programs write this
        at = 0
        if text is None and line.lstrip().startswith("#"):
            continue
        while at < len(line):
            if text is not None:
                end = line.find('"', at)
                text.append(line[at:] + "\n" if end < 0 else line[at:end])
                length += len(text[-1])
                if length > LONGEST:
                    one.fail(begun, f"a text has more than {LONGEST:,} characters", _MEND)
                if end < 0:
                    break
                yield "text", "".join(text), begun
                text, at = None, end + 1
                continue
            found = _TOKEN.match(line, at)
            if found is None:
                if line[at:].strip():
                    one.fail(
                        number, f"is no GML (column {at + 1})", _MEND, line[at : at + 80].strip()
                    )
                break
            kind, at = str(found.lastgroup), found.end()
            if kind == "text":
                text, begun, length = [], number, 0
            elif kind == "integer" and (len(found[kind]) > 20 or int(found[kind]) not in INT64):
                one.fail(number, f"the integer {found[kind][:40]} does not fit 64 bits", _MEND)
            elif kind == "real" and is_beyond_floats(found[kind]):
                one.fail(number, f"{found[kind][:40]} is beyond the range of a float", _MEND)
            else:
                yield kind, found[kind], number
    if text is not None:
        one.fail(begun, "a text is not closed", "Close the quote.")

"""The CREATE clauses that a long script begins with: many patterns that differ in names and literals only.

A graph that is written as one statement has tens of thousands of patterns of a few shapes:

    CREATE (p1:Person {id: 1, name: 'Anna'}), (p2:Person {id: 2, name: 'Ben'}), ...,
      (p1)-[:KNOWS {since: 2010}]->(p2), ...

A pattern of a new shape is read by the parser and checked; from it a regular expression is made that reads the next
ones of this shape, names and values, in one match. A pattern is taken only where it is sure to mean the same: each of
its nodes has a label or a property and a new name, or is nothing but the name of a node that is there; its properties
are computed of literals alone, as in date('2020-01-01'). The first that is anything else, or wrong, ends the table, and
from there on the parser reads as always, so that its errors and places are those of the text.

The first clauses of a query have one row before them: what several of them create in their order is what one creates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from gdb.errors import QueryError
from gdb.language import syntax
from gdb.language.clauses import BulkCreate, BulkPattern, Create, Query
from gdb.language.escapes import unescaped
from gdb.language.pattern_syntax import PathPattern, values
from gdb.language.shapes import LITERAL, Constant, constant, replace_parts
from gdb.language.syntax import Expression, Name, Place, walk
from gdb.records import dataclass

Pulse: TypeAlias = Callable[[], object]
Parse: TypeAlias = Callable[[str], Query]
Convert: TypeAlias = Callable[[str], Constant | None]
Key: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]

FEWEST = 16
"""Patterns from which on they are worth a table."""
# beyond so many shapes there are so many patterns of each, on an average: to find one takes as long as to parse some
# patterns
_SHAPES, _PER_SHAPE = 16, 8
_BETWEEN_PULSES = 1024

_BLANK = r"(?:\s|//[^\r\n]*(?=[\r\n]|\Z)|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*"
_QUOTED = r"""(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")"""
_FLAT = rf"[^()'\"`/$]*(?:{_QUOTED}[^()'\"`/$]*)*"
_INSIDE = rf"{_FLAT}(?:(?<=\w)\({_FLAT}\){_FLAT})*"  # with calls
_NODE = rf"\({_INSIDE}\)"
_ENDS = rf"(?={_BLANK}(?:[,;]|\Z|[^\W\d]))"
_NEXT = rf"({_BLANK}(?:,|[cC][rR][eE][aA][tT][eE]\b){_BLANK}(?=\())?"
_PATTERN = re.compile(rf"{_NODE}(?:\s*<?-(?:\[{_INSIDE}\]-|-)>?\s*{_NODE})*{_ENDS}", re.DOTALL)
_BEGIN = re.compile(rf"{_BLANK}CREATE\b{_BLANK}(?=\()", re.IGNORECASE)
_NAME = re.compile(r"(?<=\()(\s*)([^\W\d]\w*)|(?<=-\[)(\s*)([^\W\d]\w*)")
_EMPTY_MAP = re.compile(r"\{\s*\}")
_NO_NAMES = frozenset({"INF", "INFINITY", "NAN"})  # which may be numbers in the text behind
_OF_LITERALS = (syntax.Literal, syntax.Variable, syntax.ListLiteral, syntax.MapLiteral, syntax.Call)
_READS = {
    "'": r"('[^'\\]*(?:\\.[^'\\]*)*')",
    '"': r'("[^"\\]*(?:\\.[^"\\]*)*")',
    "name": r"([^\W\d]\w*)",
    "bool": "(true|false)",
    "float": r"(-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,15})",
    "int": "(-?(?:0|[1-9][0-9]{0,17}))",
}


def bulk(text: str, parse: Parse, pulse: Pulse | None = None) -> BulkCreate | None:
    """The CREATE clauses that a text begins with, as a table; None where there are few patterns, or others.

    parse : reads a query, without tables. pulse : called now and then; what it raises ends the reading.
    """
    begin = _BEGIN.match(text)
    if begin is None:
        return None
    reader = _BulkReader(text, parse, pulse)
    end = reader.read(begin.end())
    if len(reader.rows) < FEWEST:
        return None
    shapes = tuple([one.pattern for one in reader.shapes])
    written = text[begin.start() : end].strip()
    place = Place(begin.start(), end)
    return BulkCreate(shapes, reader.rows, reader.nodes, reader.relationships, written, place)


@dataclass(slots=True, eq=False)
class _Shape:
    """How the patterns of a shape are read.

    groups : of what matches: the numbers of names and of values. fresh, known, between : which of the names are those
    of new nodes, of nodes that are there, and of relationships.
    """

    number: int
    pattern: BulkPattern
    matches: re.Pattern[str]
    names: tuple[int, ...]
    values: tuple[tuple[int, Convert], ...]
    fresh: tuple[int, ...]
    known: tuple[int, ...]
    between: tuple[int, ...]


class _BulkReader:
    """rows : for each pattern the number of its shape, its names and its values. nodes, relationships : their names, in
    the order in which they come."""

    def __init__(self, text: str, parse: Parse, pulse: Pulse | None) -> None:
        self.text, self.parse, self.pulse = text, parse, pulse
        self.shapes: list[_Shape] = []
        self.rows: list[tuple[int, tuple[str, ...], tuple[Constant, ...]]] = []
        self.nodes: dict[str, None] = {}
        self.relationships: dict[str, None] = {}
        self._by_key: dict[Key, _Shape | None] = {}

    def read(self, at: int) -> int:
        """Read patterns, beginning here; where the last one ends."""
        text, shape, end = self.text, None, at
        while True:
            found = None if shape is None else shape.matches.match(text, at)
            if found is None:
                shape = self._shape_at(at)
                found = None if shape is None else shape.matches.match(text, at)
            if found is None or shape is None or not self._take(shape, found):
                return end
            if found.group(shape.matches.groups) is None:
                return found.end()
            end, at = found.start(shape.matches.groups), found.end()
            if self.pulse is not None and not len(self.rows) % _BETWEEN_PULSES:
                self.pulse()

    def _take(self, shape: _Shape, match: re.Match[str]) -> bool:
        """Keep a pattern; whether it means what its shape does."""
        groups, nodes = match.groups(), self.nodes
        names = tuple([groups[k] for k in shape.names])
        for k in shape.known:
            if names[k] not in nodes:
                return False
        values = tuple([convert(groups[k]) for k, convert in shape.values])
        new = [names[k] for k in (*shape.fresh, *shape.between)]
        if None in values or len({*new}) < len(new) or not self._are_new(new):
            return False
        nodes.update(dict.fromkeys(names[k] for k in shape.fresh))
        self.relationships.update(dict.fromkeys(names[k] for k in shape.between))
        self.rows.append((shape.number, names, values))  # type: ignore[arg-type]  # without None
        return True

    def _are_new(self, names: list[str]) -> bool:
        return not any(
            name in self.nodes or name in self.relationships or name.upper() in _NO_NAMES
            for name in names
        )

    def _shape_at(self, at: int) -> _Shape | None:
        """The shape of the pattern that begins here; None where it has none, or where there are too many."""
        found = _PATTERN.match(self.text, at)
        if found is None:
            return None
        slots = _Slots(found[0])
        if slots.key not in self._by_key:
            several = len(self.shapes)
            if several >= _SHAPES and several * _PER_SHAPE > len(self.rows):
                return None
            shape = self._by_key[slots.key] = _shape(found[0], slots, len(self.shapes), self.parse)
            self.shapes += [] if shape is None else [shape]
        return self._by_key[slots.key]


class _Slots:
    """What of a pattern is a name or a literal.

    key : the text between, and the kind of each. made : the pattern with variables in these places. names, values : as
    they are written.
    """

    def __init__(self, text: str) -> None:
        between: list[str] = [""]
        kinds: list[str] = []
        self.names: list[str] = []
        self.values: list[str] = []
        made: list[str] = []
        for fixed, kind, written in _parts(text):
            between[-1] += fixed
            made.append(fixed)
            if kind:
                several, sign = (self.names, "@") if kind == "name" else (self.values, "#")
                made.append(f"`{sign}{len(several)}`")
                several.append(written)
                kinds.append(kind)
                between.append("")
        self.key: Key = tuple(between), tuple(kinds)
        self.made = "".join(made)

    def expression(self) -> re.Pattern[str]:
        """The regular expression of patterns of this shape, and of the text before the next one."""
        between, kinds = self.key
        pieces = [re.escape(between[0])]
        for kind, fixed in zip(kinds, between[1:], strict=True):
            pieces += [_READS[kind], re.escape(fixed)]
        return re.compile("".join(pieces) + _ENDS + _NEXT, re.DOTALL)


def _parts(text: str) -> Iterator[tuple[str, str, str]]:
    """A pattern in parts: text that is fixed; the kind of what follows it, and how that is written."""
    pieces = LITERAL.split(text)
    for k, piece in enumerate(pieces[::2]):
        at = 0
        for found in _NAME.finditer(piece):
            begin = found.start(found.lastindex or 0)
            yield piece[at:begin], "name", piece[begin : found.end()]
            at = found.end()
        literal = pieces[2 * k + 1] if 2 * k + 1 < len(pieces) else ""
        yield piece[at:], _kind(literal), literal


def _kind(literal: str) -> str:
    if not literal or literal[0] in "'\"":
        return literal[:1]
    if literal[0] in "tf":
        return "bool"
    return "float" if "." in literal else "int"


def _converter(kind: str) -> Convert:
    known: dict[str, Convert] = {"int": int, "float": float, "bool": "true".__eq__}
    return known.get(kind, _string)


def _string(written: str) -> str | None:
    return unescaped(written) if "\\" in written else written[1:-1]


def _shape(text: str, slots: _Slots, number: int, parse: Parse) -> _Shape | None:
    """The shape of a pattern; None where patterns of it could mean something else."""
    try:
        path = _path(slots, text, parse)
    except QueryError:  # the parser will say so, with the place
        return None
    if path is None or _EMPTY_MAP.search(text) or not all(map(_plain, _written(path))):
        return None
    roles = _roles(path)
    made = [f"@{k}" for k in range(len(slots.names))]
    if sorted(name for several in roles for name in several) != sorted(made):
        return None
    fresh, known, between = (tuple([int(name[1:]) for name in several]) for several in roles)
    kinds = slots.key[1]
    names = tuple([k for k, kind in enumerate(kinds) if kind == "name"])
    converted = tuple([(k, _converter(kind)) for k, kind in enumerate(kinds) if kind != "name"])
    pattern = BulkPattern(
        path,
        tuple([(k, f"@{k}") for k in known]),
        tuple([(k, f"@{k}") for k in (*fresh, *between)]),
        tuple([f"#{k}" for k in range(len(converted))]),
    )
    return _Shape(number, pattern, slots.expression(), names, converted, fresh, known, between)


def _path(slots: _Slots, text: str, parse: Parse) -> PathPattern | None:
    """The pattern with variables in the places of names and literals; None where it is another with these put back."""
    from gdb.language.checks import check  # here: only long texts of literals come here

    written, made = _created(text, parse), _created(slots.made, parse)
    if written is None or made is None or check(written[0], ()):  # a warning shows what is written
        return None
    literals = list(map(constant, slots.values))

    def back(part: object) -> object | None:
        if isinstance(part, syntax.Variable) and part.name[:1] == "#":
            value = literals[int(part.name[1:])]
            return None if value is None else syntax.Literal(value, part.place)
        if isinstance(part, Name) and part.text[:1] == "@":
            return Name(slots.names[int(part.text[1:])], part.place)
        return None

    return made[1] if replace_parts(made[1], back) == written[1] else None


def _created(text: str, parse: Parse) -> tuple[Query, PathPattern] | None:
    """A query that creates one pattern, and the pattern."""
    query = parse(f"CREATE {text}")
    match query.parts:
        case ((Create(patterns=(path,)),),):
            return query, path
    return None


def _written(path: PathPattern) -> Iterator[Expression]:
    """What is computed for a pattern."""
    for part in path.parts:
        yield from (*values(part), *part.named)
        if part.where is not None:
            yield part.where


def _plain(value: Expression) -> bool:
    """Whether a property is computed of nothing but literals."""
    parts = list(walk(value))
    own = all(part.name[:1] == "#" for part in parts if isinstance(part, syntax.Variable))
    return own and all(isinstance(part, _OF_LITERALS) for part in parts)


def _roles(path: PathPattern) -> tuple[list[str], list[str], list[str]]:
    """The names of new nodes, of nodes that are there, and of relationships."""
    fresh: list[str] = []
    known: list[str] = []
    for node in path.nodes:
        if node.variable is not None:
            bare = path.relationships and not node.labels and not node.properties
            (known if bare else fresh).append(node.variable.text)
    between = [one.variable.text for one in path.relationships if one.variable is not None]
    return fresh, known, between

"""XML as a stream of elements, none held longer than needed, and without any expansion.

A file may come from an untrusted source. Entities of its own are refused where they are declared, so none can grow
("billion laughs"), and none can name another file or an address; expat opens neither by itself. Attributes that a
document type adds to elements are ignored. Texts, depth and what it has to hold of one tag are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from gdb.errors import ImportFailed
from gdb.records import dataclass, field

from ...columns.model import PropertyValue
from ...columns.python_columns import shown
from ..compressed import bytes_read
from ..detect import open_input
from .elements import LONGEST, Pass, Values
from .typed_texts import UnreadableText, value_of

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

_PIECE = 1 << 16  # bytes that expat is given at a time
_DEEPEST = 64
_DEFAULT = 1000  # characters: a tag of a few makes an element that has the default
_NAMES = 1000  # of tags that are kept
_ENTITIES = (
    "Entities can make a small file harmful to its readers: write the characters themselves in it."
)
_MEND = "Mend the file, or write it anew with the program that it is from."


@dataclass(slots=True)
class Start:
    """A tag that opens. name : without its prefix; attributes by theirs, without prefixes as well. foreign : of a
    namespace that is not the document's. depth : of the document's own element it is 0."""

    name: str
    attributes: Mapping[str, str]
    line: int
    depth: int
    foreign: bool


@dataclass(slots=True)
class Declared:
    """What a file declares of a property: its name and type, and the default. split : the items of a list, None where
    it is none. owner : of what it is the property: node, edge, all."""

    name: str
    type: str
    split: Callable[[str], list[str]] | None = None
    owner: str = "all"
    default: str | None = None

    def value(self, text: str) -> PropertyValue:
        """What a text means. Raises UnreadableText."""
        try:
            if self.split is None:
                return value_of(text, self.type)
            items = [value_of(item, self.type) for item in self.split(text)]
        except UnreadableText as error:
            raise UnreadableText(f"has {error.reason} as {self.name!r}", error.cure) from None
        return [item for item in items if item is not None]


@dataclass(slots=True)
class Datum:
    """A value as it is written. key : of what declares it. timed : whether it holds at a time only."""

    key: str
    text: str
    line: int
    timed: bool = False


@dataclass(slots=True)
class Open:
    """A node or an edge whose tag is open, and its values so far. replaced : the names of properties that have several
    values over time, once for each value but the last."""

    start: Start
    data: list[Datum] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    def require(self, *names: str) -> None:
        """Raise UnreadableText unless the tag has attributes of these names."""
        for needed in names:
            if not self.start.attributes.get(needed):
                raise UnreadableText(f"has no {needed}", f"Every {self.start.name} needs one.")

    def values(self, declared: Mapping[str, Declared], tag: str) -> Values:
        """The defaults of its kind, and its own values over them; of several over time the last. tag : declares them.

        Raises
        ------
        UnreadableText : a value is none of its type, is not declared, or is another one than that before it.
        """
        found: Values = {
            one.name: one.value(one.default)
            for one in declared.values()
            if one.default is not None and one.owner in (self.start.name, "all")
        }
        own: dict[str, Datum] = {}
        for each in self.data:
            one = declared.get(each.key)
            if one is None:
                what = f"names the {tag} {each.key!r} (line {each.line}), which is not declared"
                raise UnreadableText(what, f"Declare it: <{tag}>.")
            value, earlier = one.value(each.text), own.get(one.name)
            if earlier is not None and earlier.timed and each.timed:
                self.replaced.append(one.name)
            elif earlier is not None:
                where = f" (lines {earlier.line} and {each.line})"
                cure = f"Write one of them, or declare another <{tag}> for it."
                self.require_equal(found, one.name, value, cure, where)
                continue
            own[one.name], found[one.name] = each, value
        return found

    def require_equal(
        self, values: Values, name: str, value: PropertyValue, cure: str, where: str = ""
    ) -> None:
        """Add a value, unless there is an equal one of its name. cure : where there is another; where : both are.

        Raises
        ------
        UnreadableText : there is another one.
        """
        held = values.get(name)
        if held is None:
            values[name] = value
        elif value not in (None, held):
            what = f"has two values of {name!r}, {shown(held)} and {shown(value)}{where}"
            raise UnreadableText(what, cure)


@dataclass(slots=True)
class End:
    """A tag that closes. text : all that is between it and its opening, without what inner elements hold."""

    name: str
    text: str
    line: int
    depth: int
    foreign: bool


Event = Start | End


@dataclass(slots=True)
class _Events:
    """What expat calls."""

    read: Pass
    parser: XMLParserType
    found: list[Event] = field(default_factory=list)
    space: str | None = None  # namespace of the document's own element
    texts: list[list[str]] = field(default_factory=list)  # of the elements that are open
    length: int = 0  # characters of these
    names: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        own, foreign = self._named(name)
        depth = len(self.texts)
        line = self.parser.CurrentLineNumber
        if depth >= _DEEPEST:
            self.read.fail(line, f"elements lie more than {_DEEPEST} deep", _MEND, own)
        self.texts.append([])
        if " " in "".join(attributes):  # of a namespace
            attributes = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        self.found.append(Start(own, attributes, line, depth, foreign))

    def end(self, name: str) -> None:
        own, foreign = self._named(name)
        text = "".join(self.texts.pop())
        self.length -= len(text)
        self.found.append(End(own, text, self.parser.CurrentLineNumber, len(self.texts), foreign))

    def _named(self, name: str) -> tuple[str, bool]:
        """A name without its namespace, and whether that is not the document's."""
        known = self.names.get(name)
        if known is None:
            space, _, own = name.rpartition(" ")
            if self.space is None:
                self.space = space
            known = own, space != self.space
            if len(self.names) < _NAMES:
                self.names[name] = known
        return known

    def characters(self, text: str) -> None:
        self.texts[-1].append(text)
        self.length += len(text)
        if self.length > LONGEST:
            line = self.parser.CurrentLineNumber
            self.read.fail(line, f"a text has more than {LONGEST:,} characters", _MEND)

    def entity(self, name: str, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        self.read.fail(line, f"declares the entity {name!r}", _ENTITIES)

    def skipped(self, name: str, _: bool) -> None:
        self.read.fail(self.parser.CurrentLineNumber, f"names the entity {name!r}", _ENTITIES)

    def outside(self, *_: object) -> int:
        self.read.fail(self.parser.CurrentLineNumber, "names an entity of another file", _ENTITIES)


def events(read: Pass) -> Iterator[Event]:
    """The tags of a file, in their order.

    Raises
    ------
    ImportFailed : it is no XML, names line and column; or declares entities.
    """
    from xml.parsers import expat

    parser = expat.ParserCreate(namespace_separator=" ")
    calls = _Events(read, parser)
    parser.buffer_text = True
    parser.specified_attributes = True  # none that a document type adds to each element
    parser.StartElementHandler, parser.EndElementHandler = calls.start, calls.end
    parser.CharacterDataHandler = calls.characters
    parser.EntityDeclHandler, parser.SkippedEntityHandler = calls.entity, calls.skipped
    parser.ExternalEntityRefHandler = calls.outside
    size = max(read.path.stat().st_size, 1)
    with open_input(read.path, read.most) as stream:
        fed, last = 0, False
        while not last:
            data = stream.read(_PIECE)
            last = not data
            try:
                parser.Parse(data, last)
            except expat.ExpatError as error:
                reason = expat.ErrorString(error.code) or "no XML"
                raise _malformed(read, reason, error.lineno, error.offset + 1) from None
            except (ValueError, LookupError) as error:  # an encoding that Python lacks
                raise _malformed(read, str(error), 1, 1) from None
            fed += len(data)
            if not calls.found and fed - max(parser.CurrentByteIndex, 0) > LONGEST:
                read.fail(parser.CurrentLineNumber, f"a tag has more than {LONGEST:,} bytes", _MEND)
            yield from calls.found
            calls.found.clear()
            read.tick(min(bytes_read(stream) / size, 1.0))


def default_of(read: Pass, tag: End) -> str:
    """The default of a property, which every element has that names no value.

    Raises
    ------
    ImportFailed : it is long, so that a small file could need more memory than there is.
    """
    if len(tag.text) > _DEFAULT:
        reason = f"declares a default of {len(tag.text):,} characters; the most are {_DEFAULT:,}"
        read.fail(tag.line, reason, "Write the value at the elements that have it.")
    return tag.text


def _malformed(read: Pass, reason: str, line: int, column: int) -> ImportFailed:
    where = f"column {column}"
    return ImportFailed(
        f"is not well-formed XML: {reason} ({where})", _MEND, file=str(read.path), line=line
    )

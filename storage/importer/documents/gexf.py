"""GEXF, the format of Gephi (https://gexf.net, versions 1.1 to 1.3); positions, colours and times are left out; of
values over time the last is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gdb.records import dataclass, field

from ..report import Fault
from .elements import Edge, Element, Node, Pass, Values
from .typed_texts import UnreadableText, json_items, labels_of
from .xml_events import Datum, Declared, End, Open, Start, default_of, events

_TIMES = (
    "start",
    "end",
    "startopen",
    "endopen",
    "timestamp",
    "timestamps",
    "interval",
    "intervals",
)
_RENAME = "Give the attribute of that name another title, in its <attribute>."
_DIRECTED: TypeAlias = tuple[bool, bool]
_HOW: dict[str, _DIRECTED] = {
    "directed": (True, False),
    "undirected": (False, False),
    "mutual": (True, True),
}
"""Of each type of edge whether it is directed, and whether there is one back."""


def read(one: Pass) -> Iterator[Element]:
    """The nodes or edges of a file.

    Raises
    ------
    ImportFailed : it is no GEXF that can be stored; names the line.
    """
    return _GexfReader(one).elements()


@dataclass(slots=True)
class _GexfReader:
    one: Pass
    keys: dict[str, dict[str, Declared]] = field(default_factory=lambda: {"node": {}, "edge": {}})
    owner: str = "node"  # whose attributes are declared
    last: Declared | None = None
    several: dict[tuple[str, str], str] = field(default_factory=dict)  # see `_leave_out_value`
    how: str = "undirected"  # the type of an edge that names none
    open: list[Open] = field(default_factory=list)

    def elements(self) -> Iterator[Element]:
        for event in events(self.one):
            if event.foreign:
                if isinstance(event, Start) and self.open and self._is_wanted(self.open[-1]):
                    self.one.leave_out("what is for drawing (viz:)")
            elif isinstance(event, Start):
                self._opened(event)
            else:
                yield from self._closed(event)

    def _is_wanted(self, element: Open) -> bool:
        return (element.start.name == "node") == self.one.nodes

    def _opened(self, tag: Start) -> None:
        attributes = tag.attributes
        match tag.name:
            case "graph":
                self.how = attributes.get("defaultedgetype", "undirected")
            case "attributes":
                self.owner = attributes.get("class", "node")
            case "attribute":
                type = attributes.get("type", "string")
                self.last = Declared(
                    attributes.get("title") or attributes.get("id", ""),
                    type.removeprefix("list"),
                    _items if type.startswith("list") else None,
                )
                self.keys.setdefault(self.owner, {})[attributes.get("id", "")] = self.last
            case "node" | "edge":
                if tag.name == "node" and (self.open or "pid" in attributes) and self.one.nodes:
                    self.one.leave_out("which node lies in which")
                self.open.append(Open(tag))
            case "attvalue" if self.open:
                name = attributes.get("for") or attributes.get("id", "")
                timed = any(time in attributes for time in _TIMES)
                if timed and self._is_wanted(self.open[-1]):
                    self.one.leave_out("times of values")
                datum = Datum(name, attributes.get("value", ""), tag.line, timed)
                self.open[-1].data.append(datum)
            case "spell" if self.open and self._is_wanted(self.open[-1]):
                self.one.leave_out("times of nodes and edges")

    def _closed(self, tag: End) -> Iterator[Element]:
        match tag.name:
            case "default" if self.last is not None:
                self.last.default = default_of(self.one, tag)
            case "node" | "edge" if self.open:
                element = self.open.pop()
                try:
                    yield from self._elements_of(element)
                except UnreadableText as error:
                    if self._is_wanted(element):
                        named = (
                            f"{element.start.name} {element.start.attributes.get('id', '')}".strip()
                        )
                        fault = Fault(f"{named} {error.reason}", error.cure)
                        self.one.reject(element.start.line, named, fault)

    def _elements_of(self, element: Open) -> Iterator[Element]:
        """The elements of a tag and its values. Raises Unreadable."""
        attributes, line, wanted = (
            element.start.attributes,
            element.start.line,
            self._is_wanted(element),
        )
        is_node = element.start.name == "node"
        if is_node and not wanted:
            return
        element.require(*(("id",) if is_node else ("source", "target")))
        values = self._values(element) if wanted else {}
        if is_node:
            labels = values.pop("labels", None)
            names = labels_of(
                ";".join(map(str, labels)) if isinstance(labels, list) else str(labels or "")
            )
            yield Node(attributes["id"], tuple(sorted(set(names))), values, line)
            return
        how = _HOW.get(attributes.get("type") or self.how)
        if how is None:
            raise UnreadableText(
                f"is of type {attributes['type']!r}", f"There are {', '.join(_HOW)}."
            )
        type = attributes.get("kind") or None
        yield Edge(attributes["source"], attributes["target"], type, how[0], values, line)
        if how[1]:
            yield Edge(attributes["target"], attributes["source"], type, how[0], dict(values), line)

    def _values(self, element: Open) -> Values:
        kind, attributes = element.start.name, element.start.attributes
        found = element.values(self.keys[kind], "attribute")
        for name in element.replaced:
            self._leave_out_value(element, name)
        if attributes.get("label") or ("label" in attributes and "label" not in found):
            element.require_equal(found, "label", attributes["label"], _RENAME)
        if "weight" in attributes and kind == "edge":
            weight = Declared("weight", "double").value(attributes["weight"])
            element.require_equal(found, "weight", weight, _RENAME)
        if any(name in attributes for name in _TIMES):
            self.one.leave_out("times of nodes and edges")
        return found

    def _leave_out_value(self, element: Open, name: str) -> None:
        """Count a value that a later one of the same attribute replaces."""
        kind, line = element.start.name, element.start.line
        named = f"{kind} {element.start.attributes.get('id', '')}".strip()
        what = (
            f"values of the attribute {name!r}: {named} (line {line}) has several over time, and the "
            "last in the file is kept (to keep all, make an attribute for each)"
        )
        self.one.leave_out(self.several.setdefault((kind, name), what))


def _items(text: str) -> list[str]:
    """The items of a list: `[1, 2]`, or texts with `|`, `;` or commas between."""
    if (found := json_items(text)) is not None:
        return found
    plain = text.strip().removeprefix("[").removesuffix("]")
    delimiter = next((one for one in "|;," if one in plain), ",")
    return [item.strip().strip("\"'") for item in plain.split(delimiter) if item.strip()]

"""GraphML, as networkx, igraph, Gephi, yEd, TinkerPop and neo4j's `apoc.export.graphml` write it.

U. Brandes, M. Eiglsperger, I. Herman, M. Himsolt, M. S. Marshall, *GraphML Progress Report* (2001),
http://graphml.graphdrawing.org/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gdb.records import dataclass, field

from ...columns.model import PropertyValue
from ..report import Fault
from .elements import Edge, Element, Node, Pass, Values
from .typed_texts import UnreadableText, json_items, labels_of
from .xml_events import Declared, End, Open, Start, default_of, events

_NODE_LABELS = ("labels", "labelV")
_EDGE_TYPES = ("type", "labelE")
_NESTED = "Write the graph without nested graphs, hyperedges and ports, as simple nodes and edges."


class _Key(Declared):
    """What a `<key>` declares; an empty text is one, also where lists are."""

    def value(self, text: str) -> PropertyValue:
        return "" if not text and self.type == "string" else Declared.value(self, text)


def read(one: Pass) -> Iterator[Element]:
    """The nodes or edges of a file.

    Raises
    ------
    ImportFailed : it is no GraphML that can be stored; names the line.
    """
    return _GraphmlReader(one).elements()


@dataclass(slots=True)
class _GraphmlReader:
    one: Pass
    keys: dict[str, _Key] = field(default_factory=dict)
    directed: bool = True
    open: Open | None = None
    data: tuple[str, int] | None = None  # key and line of the data that are open
    graphs: int = 0

    def elements(self) -> Iterator[Element]:
        for event in events(self.one):
            if event.foreign:
                continue
            if isinstance(event, Start):
                self._opened(event)
            elif (found := self._closed(event)) is not None:
                yield found

    def _opened(self, tag: Start) -> None:
        match tag.name:
            case "key":
                self._declare(tag)
            case "graph":
                self.graphs += 1
                if self.open is not None or self.graphs > 1:
                    what = "a graph in a graph" if self.open is not None else "a second graph"
                    self.one.fail(tag.line, f"holds {what}", _NESTED)
                self.directed = tag.attributes.get("edgedefault", "directed") != "undirected"
            case "node" | "edge":
                self.open = Open(tag)
            case "data":
                self.data = tag.attributes.get("key", ""), tag.line
            case "hyperedge":
                self.one.fail(tag.line, "holds a hyperedge", _NESTED)
            case "port":
                self.one.leave_out("ports of nodes")

    def _declare(self, tag: Start) -> None:
        attributes = tag.attributes
        name = attributes.get("attr.name") or attributes.get("id", "")
        split = _list if "attr.list" in attributes else None
        type = attributes.get("attr.list") or attributes.get("attr.type") or "string"
        owner = attributes.get("for", "all")
        self.keys[attributes.get("id", "")] = _Key(name, type, split, owner)

    def _closed(self, tag: End) -> Element | None:
        match tag.name:
            case "default" if self.keys:
                next(reversed(self.keys.values())).default = default_of(self.one, tag)
            case "data" if self.data is not None:
                if self.open is not None:
                    self.open.data.append((self.data[0], tag.text, self.data[1]))
                self.data = None
            case "node" | "edge" if self.open is not None:
                done, self.open = self.open, None
                return self._elements_of(done)
        return None

    def _elements_of(self, element: Open) -> Element | None:
        """The element of a tag and its data; None where it is not wanted, or was rejected."""
        attributes, line = element.start.attributes, element.start.line
        is_node = element.start.name == "node"
        if is_node and not self.one.nodes:
            return None
        name = (
            attributes.get("id", "")
            if is_node
            else f"{attributes.get('source')} -> {attributes.get('target')}"
        )
        named = f"{element.start.name} {name}".strip()
        try:
            element.require(*(("id",) if is_node else ("source", "target")))
            values = element.values(self.keys, "key") if is_node == self.one.nodes else {}
        except UnreadableText as error:
            if is_node == self.one.nodes:
                self.one.reject(line, named, Fault(f"{named} {error.reason}", error.cure))
            return None
        if is_node:
            return Node(attributes["id"], _labels(attributes, values), values, line)
        directed = attributes.get("directed")
        how = self.directed if directed is None else directed.lower() in ("true", "1")
        return Edge(
            attributes["source"], attributes["target"], _type(attributes, values), how, values, line
        )


def _list(text: str) -> list[str]:
    """The items of a list, which neo4j writes as JSON."""
    found = json_items(text)
    if found is None:
        raise UnreadableText(f"{text[:60]!r}, which is no list", "Write it as JSON: [1, 2].")
    return found


def _labels(attributes: Mapping[str, str], values: Values) -> tuple[str, ...]:
    """The labels of a node; what names them is no property."""
    found = labels_of(attributes.get("labels", ""))
    for name in _NODE_LABELS:
        value = values.get(name)
        if isinstance(value, str):
            found += labels_of(value)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            found += [str(each) for each in value]
        else:
            continue
        del values[name]
    return tuple(sorted(set(found)))


def _type(attributes: Mapping[str, str], values: Values) -> str | None:
    """The type of an edge; what names it is no property."""
    label = attributes.get("label")
    if label and values.get("label") == label:  # neo4j writes it twice
        del values["label"]
    for name in _EDGE_TYPES:
        if isinstance(values.get(name), str) and values[name]:
            own = str(values.pop(name))
            label = label or own
    return label or None

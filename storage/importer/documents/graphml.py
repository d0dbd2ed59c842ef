"""GraphML, as networkx, igraph, Gephi, yEd, TinkerPop and neo4j's `apoc.export.graphml` write it.

yEd writes what it draws as elements inside of `<data>`: the text of the label becomes the property `label`, as in
networkx.

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
from .xml_events import Datum, Declared, End, Event, Open, Start, default_of, events

_NODE_LABELS = ("labels", "labelV")
_EDGE_TYPES = ("type", "labelE")
_YED_LABELS = ("NodeLabel", "EdgeLabel", "Label.Text")  # the last of yFiles for HTML
_YED_TEXTS = ("AttributeLabel", "MethodLabel")  # of classes in UML
_LABEL = "label"  # the property that a label of yEd becomes
_RENAME = f"Give the key of one of them another attr.name than {_LABEL!r}, in its <key>."
_NESTED = "Write the graph without nested graphs, hyperedges and ports, as simple nodes and edges."


@dataclass(slots=True)
class _Key(Declared):
    """What a `<key>` declares; an empty text is one, also where lists are. of_yfiles : its data are for drawing."""

    of_yfiles: bool = False

    def value(self, text: str) -> PropertyValue:
        return "" if not text and self.type == "string" else Declared.value(self, text)


@dataclass(slots=True)
class _Data:
    """A `<data>` that is open. depth : of its tag. nested : whether elements are in it.

    labels : the texts of yEd's labels in it. label : depth of one that is open. mixed : whether elements are in that.
    """

    key: str
    line: int
    depth: int
    nested: bool = False
    labels: list[str] = field(default_factory=list)
    label: int | None = None
    mixed: bool = False

    def opened(self, tag: Start) -> None:
        """Take in a tag inside of it."""
        self.nested = True
        if tag.name in _YED_LABELS:
            self.label, self.mixed = tag.depth, False
        elif self.label is not None:
            self.mixed = True

    def closed(self, tag: End) -> None:
        """Take in the end of a tag inside of it."""
        if tag.depth == self.label:
            # line ends before and after the elements in it are no part of the text
            text = tag.text.strip() if self.mixed else tag.text
            self.labels += [text] if text.strip() else []
            self.label = None


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
    labels: list[str] = field(default_factory=list)  # of yEd, of the element that is open
    data: _Data | None = None
    ports: int = 0  # that are open
    graphs: int = 0

    def elements(self) -> Iterator[Element]:
        for event in events(self.one):
            if self.data is not None and event.depth > self.data.depth:
                self._inside(self.data, event)
            elif event.foreign:
                continue
            elif isinstance(event, Start):
                self._opened(event)
            elif (found := self._closed(event)) is not None:
                yield found

    def _inside(self, data: _Data, event: Event) -> None:
        """An element inside of data, which yEd and others write there for drawing."""
        if isinstance(event, Start):
            data.opened(event)
        else:
            data.closed(event)
            if event.name in _YED_TEXTS and event.text.strip():
                self._leave_out("attributes and methods of classes, of {} (yEd)")

    def _leave_out(self, what: str) -> None:
        """Count something of the open element, in the pass in which it is read. what : with `{}` for its kind."""
        if self.open is not None and (self.open.start.name == "node") == self.one.nodes:
            self.one.leave_out(what.format(f"{self.open.start.name}s"))

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
                self.open, self.labels = Open(tag), []
            case "data":
                self.data = _Data(tag.attributes.get("key", ""), tag.line, tag.depth)
            case "hyperedge":
                self.one.fail(tag.line, "holds a hyperedge", _NESTED)
            case "port":
                self.ports += 1
                self._leave_out("ports of {}")
            case "desc":
                self._leave_out("descriptions (desc) of {}")

    def _declare(self, tag: Start) -> None:
        attributes = tag.attributes
        name = attributes.get("attr.name") or attributes.get("id", "")
        split = _list if "attr.list" in attributes else None
        type = attributes.get("attr.list") or attributes.get("attr.type") or "string"
        owner = attributes.get("for", "all")
        drawn = "yfiles.type" in attributes
        self.keys[attributes.get("id", "")] = _Key(name, type, split, owner, of_yfiles=drawn)

    def _closed(self, tag: End) -> Element | None:
        match tag.name:
            case "default" if self.keys:
                next(reversed(self.keys.values())).default = default_of(self.one, tag)
            case "data" if self.data is not None:
                if self.open is not None and not self.ports:
                    self._store_data(self.open, self.data, tag.text)
                self.data = None
            case "port":
                self.ports -= 1
            case "node" | "edge" if self.open is not None:
                done, self.open = self.open, None
                return self._elements_of(done)
        return None

    def _store_data(self, element: Open, data: _Data, text: str) -> None:
        """The data of an element: a value, or what is in it of yEd."""
        key = self.keys.get(data.key)
        if not data.nested and (key is None or not key.of_yfiles):
            element.data.append(Datum(data.key, text, data.line))
        elif data.nested or text.strip():
            self._leave_out("elements inside of data of {}, as what yEd draws")
        if data.labels[not self.labels :]:
            self._leave_out("labels of {} beyond the first (yEd)")
        self.labels += data.labels

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
            if self.labels and is_node == self.one.nodes:
                element.require_equal(values, _LABEL, self.labels[0], _RENAME)
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

"""Documents that hold a whole graph, nodes and relationships in any order: GraphML, GEXF, GML and lines of JSON.

A reader gives the elements of a document one after the other; what becomes of them is written once (`collect`). A
document is read twice, first for its nodes: so relationships may come before the nodes that they join, and are never
held all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gdb.records import dataclass
from gdb.storage.importer.documents import gexf, gml, graphml, json_lines
from gdb.storage.importer.documents.elements import Element, Pass

Reader = Callable[[Pass], Iterator[Element]]


@dataclass(frozen=True, slots=True)
class Document:
    """A format. typed : whether an id is an integer or a text as it is written; else a text of digits is an integer
    where all of them are."""

    name: str
    read: Reader
    typed: bool


DOCUMENTS: Mapping[str, Document] = {
    "graphml": Document("GraphML", graphml.read, False),
    "gexf": Document("GEXF", gexf.read, False),
    "gml": Document("GML", gml.read, True),
    "json": Document("JSON", json_lines.read, True),
}

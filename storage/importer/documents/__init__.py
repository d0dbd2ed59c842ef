"""Documents that hold a whole graph, nodes and relationships in any order: GraphML, GEXF, GML and lines of JSON.

A reader gives the elements of a document one after the other; what becomes of them is written once (`collect`). A
document is read twice, first for its nodes: so relationships may come before the nodes that they join, and are never
held all at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from gdb.records import dataclass

from . import gexf, gml, graphml, json_lines
from .elements import Element, Pass

Reader = Callable[[Pass], Iterator[Element]]


@dataclass(frozen=True, slots=True)
class Document:
    """A format. typed : whether an id is an integer or a text as it is written; else a text of digits is an integer
    where all of them are.

    node, edge : what matches wherever a node or a relationship begins, and maybe elsewhere. A file that holds no `node`
    behind its first `edge` is read for its nodes up to there only. None where such signs are not certain.
    """

    name: str
    read: Reader
    typed: bool
    node: re.Pattern[bytes] | None = None
    edge: re.Pattern[bytes] | None = None


_NODE, _EDGE, _XML_EDGE = (re.compile(sign) for sign in (rb"node", rb"edge", rb"[<:]edge[\s/>]"))
DOCUMENTS: Mapping[str, Document] = {
    "graphml": Document("GraphML", graphml.read, False, _NODE, _XML_EDGE),
    "gexf": Document("GEXF", gexf.read, False, _NODE, _XML_EDGE),
    "gml": Document("GML", gml.read, True, _NODE, _EDGE),
    "json": Document("JSON", json_lines.read, True),
}

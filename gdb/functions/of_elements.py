"""The functions of nodes, relationships, paths and maps. Their SQL is columns of the store
(`gdb.language.element_columns`)."""

from __future__ import annotations

from gdb.base.values import graph_functions as graph
from gdb.functions.function import function

ROWS = (
    function(
        "id(element :: NODE | RELATIONSHIP) :: ANY",
        graph.id_of,
        "the id that the import or the program gave a node; of a relationship its number",
        checked=True,
    ),
    function(
        "elementId(element :: NODE | RELATIONSHIP) :: STRING",
        graph.element_id,
        "the id as a string, behind its id space",
        checked=True,
    ),
    function(
        "labels(node :: NODE) :: LIST<STRING>", graph.labels, "its labels, sorted", checked=True
    ),
    function(
        "type(relationship :: RELATIONSHIP) :: STRING", graph.type_of, "its type", checked=True
    ),
    function(
        "keys(of :: NODE | RELATIONSHIP | MAP) :: LIST<STRING>",
        lambda value: list(graph.entries("keys()", value)),
        "the names of its properties",
        checked=True,
    ),
    function(
        "properties(of :: NODE | RELATIONSHIP | MAP) :: MAP",
        lambda value: dict(graph.entries("properties()", value)),
        "its properties as a map",
        checked=True,
    ),
    function(
        "startNode(relationship :: RELATIONSHIP) :: NODE",
        lambda value: graph.relationship("startNode", value).start,
        "the node that it comes from",
        checked=True,
    ),
    function(
        "endNode(relationship :: RELATIONSHIP) :: NODE",
        lambda value: graph.relationship("endNode", value).end,
        "the node that it leads to",
        checked=True,
    ),
    *(
        function(
            f"{name}(path :: PATH) :: INTEGER",
            lambda value, name=name: len(graph.path_of(name, value)),
            "the number of its relationships",
            checked=True,
        )
        for name in ("length", "path_length")
    ),
    function(
        "nodes(path :: PATH) :: LIST<NODE>",
        lambda value: list(graph.path_of("nodes", value).nodes),
        "its nodes, in the order of the path",
        checked=True,
    ),
    *(
        function(
            f"{name}(path :: PATH) :: LIST<RELATIONSHIP>",
            lambda value, name=name: list(graph.path_of(name, value).relationships),
            "its relationships, in the order of the path",
            checked=True,
        )
        for name in ("relationships", "rels")
    ),
    function(
        "elements(path :: PATH) :: LIST",
        graph.elements,
        "its nodes and relationships in turn",
        checked=True,
    ),
    function(
        "ALL_DIFFERENT(first :: ANY, second :: ANY, ...) :: BOOLEAN",
        graph.all_different,
        "whether no two of these elements are one",
        strict=False,
    ),
    function(
        "SAME(first :: ANY, second :: ANY, ...) :: BOOLEAN",
        graph.same,
        "whether all of these elements are one",
        strict=False,
    ),
)
"""One row a function."""

"""The functions of nodes, relationships, paths and maps. Their SQL is columns of the store
(`gdb.language.element_columns`)."""

from __future__ import annotations

from gdb.base.values import graph_functions
from gdb.functions.function import Apply, Function, function


def _checked(signature: str, apply: Apply, doc: str) -> Function:
    """A function whose argument is refused before the query runs where it is of another kind."""
    return function(signature, apply, doc, checked=True)


ROWS = (
    _checked(
        "id(element :: NODE | RELATIONSHIP) :: ANY",
        graph_functions.id_of,
        "the id that the import or the program gave a node; of a relationship its number",
    ),
    _checked(
        "elementId(element :: NODE | RELATIONSHIP) :: STRING",
        graph_functions.element_id,
        "the id as a string, behind its id space",
    ),
    _checked("labels(node :: NODE) :: LIST<STRING>", graph_functions.labels, "its labels, sorted"),
    _checked("type(relationship :: RELATIONSHIP) :: STRING", graph_functions.type_of, "its type"),
    _checked(
        "keys(of :: NODE | RELATIONSHIP | MAP) :: LIST<STRING>",
        lambda value: list(graph_functions.entries("keys()", value)),
        "the names of its properties",
    ),
    _checked(
        "properties(of :: NODE | RELATIONSHIP | MAP) :: MAP",
        lambda value: dict(graph_functions.entries("properties()", value)),
        "its properties as a map",
    ),
    _checked(
        "startNode(relationship :: RELATIONSHIP) :: NODE",
        lambda value: graph_functions.relationship("startNode", value).start,
        "the node that it comes from",
    ),
    _checked(
        "endNode(relationship :: RELATIONSHIP) :: NODE",
        lambda value: graph_functions.relationship("endNode", value).end,
        "the node that it leads to",
    ),
    *(
        _checked(
            f"{name}(path :: PATH) :: INTEGER",
            lambda value, name=name: len(graph_functions.path_of(name, value)),
            "the number of its relationships",
        )
        for name in ("length", "path_length")
    ),
    _checked(
        "nodes(path :: PATH) :: LIST<NODE>",
        lambda value: list(graph_functions.path_of("nodes", value).nodes),
        "its nodes, in the order of the path",
    ),
    *(
        _checked(
            f"{name}(path :: PATH) :: LIST<RELATIONSHIP>",
            lambda value, name=name: list(graph_functions.path_of(name, value).relationships),
            "its relationships, in the order of the path",
        )
        for name in ("relationships", "rels")
    ),
    _checked(
        "elements(path :: PATH) :: LIST",
        graph_functions.elements,
        "its nodes and relationships in turn",
    ),
    function(
        "ALL_DIFFERENT(first :: ANY, second :: ANY, ...) :: BOOLEAN",
        graph_functions.all_different,
        "whether no two of these elements are one",
        strict=False,
    ),
    function(
        "SAME(first :: ANY, second :: ANY, ...) :: BOOLEAN",
        graph_functions.same,
        "whether all of these elements are one",
        strict=False,
    ),
)
"""One row a function."""

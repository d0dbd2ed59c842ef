"""The nodes and relationships of an answer as a graph of networkx; `Database.load` reads it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.answer.answer_elements import Elements, key

if TYPE_CHECKING:
    import networkx


def graph_of(elements: Elements) -> networkx.MultiDiGraph | networkx.MultiGraph:
    """See `Result.networkx`."""
    import networkx

    relationships = elements.relationships.values()
    undirected = bool(relationships) and not any(one.directed for one in relationships)
    graph = networkx.MultiGraph() if undirected else networkx.MultiDiGraph()
    for name, node in elements.nodes.items():
        graph.add_node(name)  # not as keyword arguments: a property may have any name
        graph.nodes[name].update(node.properties, labels=[*node.labels])
    for one in relationships:
        start, end = map(key, (one.start, one.end), one.id_spaces)
        ways = {(start, end), (start, end) if one.directed or undirected else (end, start)}
        for tail, head in ways:
            graph.add_edge(tail, head, one.id)
            graph.edges[tail, head, one.id].update(one.properties, type=one.type)
    return graph

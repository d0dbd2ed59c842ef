"""The nodes and relationships of an answer as a graph of networkx; `Database.load` reads it back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

from gdb.answer.entities import Node, Path, Relationship, UserId
from gdb.records import dataclass, field

if TYPE_CHECKING:
    import networkx


@dataclass(slots=True)
class _Found:
    """The elements of an answer, each once."""

    nodes: dict[Hashable, Node] = field(default_factory=dict)
    relationships: dict[int, Relationship] = field(default_factory=dict)

    def add(self, cell: object) -> None:
        match cell:
            case Node(id=id_, id_space=space):
                self.nodes[_key(id_, space)] = cell
            case Relationship(id=number):
                self.relationships[number] = cell
            case Path(nodes=nodes, relationships=relationships):
                for part in (*nodes, *relationships):
                    self.add(part)
            case Mapping():
                for held in cell.values():
                    self.add(held)
            case list() | tuple():
                for held in cell:
                    self.add(held)


def graph_of(cells: Iterable[object]) -> networkx.MultiDiGraph | networkx.MultiGraph:
    """See `Result.networkx`."""
    import networkx

    found = _Found()
    for cell in cells:
        found.add(cell)
    relationships = found.relationships.values()
    undirected = bool(relationships) and not any(one.directed for one in relationships)
    graph = networkx.MultiGraph() if undirected else networkx.MultiDiGraph()
    for key, node in found.nodes.items():
        graph.add_node(key)  # not as keyword arguments: a property may have any name
        graph.nodes[key].update(node.properties, labels=[*node.labels])
    for one in relationships:
        start, end = map(_key, (one.start, one.end), one.id_spaces)
        ways = {(start, end), (start, end) if one.directed or undirected else (end, start)}
        for tail, head in ways:
            graph.add_edge(tail, head, one.id)
            graph.edges[tail, head, one.id].update(one.properties, type=one.type)
    return graph


def _key(id_: UserId, space: str) -> Hashable:
    return (space, id_) if space else id_

"""The model of what statements write: dicts and lists, and the same of a database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import gdb

Properties = dict[str, int]


class Refused(Exception):
    """The statement must fail."""


@dataclass(slots=True)
class Edge:
    """a, b : k of its ends."""

    type: str
    a: int
    b: int
    own: Properties


@dataclass(slots=True)
class Model:
    """nodes : k -> labels and the other properties."""

    nodes: dict[int, tuple[set[str], Properties]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    next: int = 0

    def copy(self) -> Model:
        nodes = {k: (set(labels), dict(own)) for k, (labels, own) in self.nodes.items()}
        return Model(nodes, [Edge(e.type, e.a, e.b, dict(e.own)) for e in self.edges], self.next)

    def fresh(self) -> int:
        self.next += 1
        return self.next

    def content(self) -> object:
        nodes = {k: (frozenset(ls), frozenset(own.items())) for k, (ls, own) in self.nodes.items()}
        return nodes, Counter((e.type, *ends_of(e), frozenset(e.own.items())) for e in self.edges)

    def at(self, k: int) -> list[Edge]:
        return [edge for edge in self.edges if k in (edge.a, edge.b)]

    def delete(self, k: int, detach: bool) -> None:
        if detach:
            self.edges = [edge for edge in self.edges if k not in (edge.a, edge.b)]
        elif self.at(k):
            raise Refused
        del self.nodes[k]


def ends_of(edge: Edge) -> tuple[int, int]:
    return (min(edge.a, edge.b), max(edge.a, edge.b)) if edge.type == "U" else (edge.a, edge.b)


def content(db: gdb.Database) -> object:
    """The same of a database, by queries."""
    nodes = {}
    for k, labels, own in db.execute("MATCH (n) RETURN n.k, labels(n), n").fetchall():
        kept = {key: value for key, value in own.properties.items() if key != "k"}
        nodes[k] = frozenset(labels), frozenset(kept.items())
    edges: Counter[object] = Counter()
    found = db.execute("MATCH (a)-[r]->(b) RETURN r, a.k, b.k").fetchall()
    seen = set()
    for r, a, b in found:
        if r.type == "U":  # found from either end
            if r in seen:
                continue
            seen.add(r)
        ends = ends_of(Edge(r.type, a, b, {}))
        edges[(r.type, *ends, frozenset(r.properties.items()))] += 1
    return nodes, edges

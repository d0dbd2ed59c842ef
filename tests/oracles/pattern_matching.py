"""Brute force: every way to lay a pattern over a graph, by the words of the language's definition.

An embedding binds names: a node to the number of a vertex, a relationship to that of an edge, one of variable length
to a tuple of edges, a path to its vertices and edges.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.fuzz.graphs import UNDIRECTED, Edge, Graph
from tests.fuzz.patterns import (
    Chain,
    Compare,
    Condition,
    Either,
    Labelled,
    Link,
    Node,
    Not,
    Operand,
    Pattern,
)

MODES = ("", "DIFFERENT EDGES", "DIFFERENT NODES", "REPEATABLE ELEMENTS", "SUBGRAPHS", "INDUCED")
Bound = int | tuple[int, ...] | tuple[tuple[int, ...], tuple[int, ...]] | None
Embedding = dict[str, Bound]


class TooMany(Exception):
    """More embeddings than a test waits for."""


@dataclass(slots=True)
class _Search:
    graph: Graph
    pattern: Pattern
    mode: str
    most: int
    steps: int = 0
    found: list[Embedding] = field(default_factory=list)

    @property
    def edges_differ(self) -> bool:
        return self.mode != "REPEATABLE ELEMENTS"

    @property
    def nodes_differ(self) -> bool:
        return self.mode in ("DIFFERENT NODES", "SUBGRAPHS", "INDUCED")

    def chain(self, k: int, bound: Embedding, used: tuple[int, ...]) -> None:
        """Lay chain k and all behind it."""
        if k == len(self.pattern.chains):
            if self.holds(bound):
                self.found.append(bound)
            return
        chain = self.pattern.chains[k]
        for vertex, more in self.at(chain.nodes[0], None, bound):
            self.link(k, 0, (vertex,), (), more, used)

    def link(
        self,
        k: int,
        at: int,
        path: tuple[int, ...],
        edges: tuple[int, ...],
        bound: Embedding,
        used: tuple[int, ...],
    ) -> None:
        """Lay the links of chain k from number `at` on. path, edges : what it passed so far."""
        self.steps += 1
        if self.steps > self.most:
            raise TooMany
        chain = self.pattern.chains[k]
        if at == len(chain.links):
            if "ACYCLIC" in chain.before and len(set(path)) < len(path):
                return
            if chain.path:
                bound = {**bound, chain.path: (path, edges)}
            self.chain(k + 1, bound, used)
            return
        link = chain.links[at]
        for walk, passed in self.walks(chain, link, path[-1]):
            if self.edges_differ and set(walk) & set(used):
                continue
            value = walk[0] if link.length is None else walk
            if bound.get(link.name, value) != value:
                continue
            for _, more in self.at(chain.nodes[at + 1], passed[-1], {**bound, link.name: value}):
                self.link(k, at + 1, path + passed[1:], edges + walk, more, used + walk)

    def at(
        self, node: Node, vertex: int | None, bound: Embedding
    ) -> Iterator[tuple[int, Embedding]]:
        """The vertices that a node may be: that one, or any."""
        for number, it in enumerate(self.graph.vertices):
            if vertex not in (None, number) or bound.get(node.name, number) != number:
                continue
            if not all(it.labels & set(term) for term in node.labels):
                continue
            if node.x is None or it.properties.get("x") == node.x:
                yield number, {**bound, node.name: number}

    def walks(
        self, chain: Chain, link: Link, start: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The edges, and the vertices, of every walk that a link may be."""
        low, high = link.length or (1, 1)
        waiting: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), (start,))]
        while waiting:
            self.steps += 1
            if self.steps > self.most:
                raise TooMany
            edges, path = waiting.pop()
            if len(edges) >= low:
                yield edges, path
            if high is not None and len(edges) >= high:
                continue
            for number, edge in enumerate(self.graph.edges):
                trail = "WALK" not in chain.before and self.edges_differ
                if trail and number in edges:
                    continue
                for other in _others(edge, path[-1], link):
                    if "ACYCLIC" not in chain.before or other not in path:
                        waiting.append(((*edges, number), (*path, other)))

    def holds(self, bound: Embedding) -> bool:
        names = self.pattern.nodes
        vertices = [bound[name] for name in names]
        if self.nodes_differ and len(set(vertices)) < len(vertices):
            return False
        if self.mode == "INDUCED":
            inside = {
                k
                for k, edge in enumerate(self.graph.edges)
                if edge.source in vertices and edge.target in vertices
            }
            if inside != {bound[link.name] for link in self.pattern.links}:
                return False
        return all(value(c, self.graph, bound) is True for c in self.pattern.conditions)


def embeddings(
    graph: Graph,
    pattern: Pattern,
    mode: str = "",
    given: Mapping[str, Bound] | None = None,
    most: int = 20_000,
) -> list[Embedding]:
    """All embeddings of a pattern that agree with what is given; SUBGRAPHS as DIFFERENT NODES.

    Raises
    ------
    TooMany : the search takes more than `most` steps.
    """
    search = _Search(graph, pattern, mode, most)
    search.chain(0, dict(given or {}), ())
    return search.found


def _others(edge: Edge, here: int, link: Link) -> set[int]:
    """Where an edge leads to from a vertex, as the arrow of a link says."""
    if link.types and edge.type not in link.types:
        return set()
    if link.w is not None and edge.properties.get("w") != link.w:
        return set()
    either = edge.type in UNDIRECTED or link.arrow == "-"
    found = set()
    if edge.source == here and (either or link.arrow == ">"):
        found.add(edge.target)
    if edge.target == here and (either or link.arrow == "<"):
        found.add(edge.source)
    return found


# ---- conditions --------------------------------------------------------------------------------------


def value(condition: Condition, graph: Graph, bound: Mapping[str, Bound]) -> bool | None:
    """What a condition is: true, false or null. Names of relationships begin with r."""
    match condition:
        case Either(left, right):
            sides = {value(one, graph, bound) for one in (left, right)}
            return True if True in sides else None if None in sides else False
        case Not(of):
            inner = value(of, graph, bound)
            return None if inner is None else not inner
        case Labelled(name, label):
            number = bound[name]
            return None if number is None else label in graph.vertices[_number(number)].labels
        case Compare(operator, left, right):
            first, second = (_operand(one, graph, bound) for one in (left, right))
            if first is None or second is None:
                return None
            return compared(first, operator, second)


def compared(first: int, operator: str, second: int) -> bool:
    return {
        "=": first == second,
        "<>": first != second,
        "<": first < second,
        "<=": first <= second,
        ">": first > second,
        ">=": first >= second,
    }[operator]


def _operand(operand: Operand, graph: Graph, bound: Mapping[str, Bound]) -> int | None:
    kind, name, key = operand
    if kind == "value":
        return _number(name)
    number = bound[str(name)]
    if number is None or kind == "element":
        return None if number is None else _number(number)
    of = graph.edges if str(name).startswith("r") else graph.vertices
    return of[_number(number)].properties.get(key)


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


# ---- symmetry ----------------------------------------------------------------------------------------


def classes(pattern: Pattern, found: list[Embedding]) -> list[tuple[Bound, ...]]:
    """One name for the class of each embedding under the symmetries of the pattern, sorted."""
    nodes, links = pattern.nodes, [link.name for link in pattern.links]
    group = _symmetries(pattern)
    names = [*nodes, *links]
    return sorted(
        min(tuple(one[image[name]] for name in names) for image in group) for one in found
    )


def _symmetries(pattern: Pattern) -> list[dict[str, str]]:
    """The renamings of nodes and relationships under which the pattern says the same."""
    nodes, links = pattern.nodes, pattern.links
    plain = _said(pattern, {name: name for name in [*nodes, *(one.name for one in links)]})
    found = []
    for vertices in itertools.permutations(nodes):
        image = dict(zip(nodes, vertices, strict=True))
        for edges in itertools.permutations([one.name for one in links]):
            whole = image | {one.name: e for one, e in zip(links, edges, strict=True)}
            if _said(pattern, whole) == plain:
                found.append(whole)
    return found


def _said(pattern: Pattern, image: Mapping[str, str]) -> frozenset[object]:
    """What a pattern says with other names, however it is written."""
    said: set[object] = set()
    for chain in pattern.chains:
        for node in chain.nodes:
            said |= {(image[node.name], "is", frozenset(term)) for term in node.labels}
            if node.x is not None:
                said.add(_canonical(_is(node.name, "x", node.x), image))
        for k, link in enumerate(chain.links):
            ends = image[chain.nodes[k].name], image[chain.nodes[k + 1].name]
            ends = ends[::-1] if link.arrow == "<" else ends
            either = link.arrow == "-" or ends[0] == ends[1]  # with and without an arrow: the same
            shape: object = frozenset(ends) if either else ends
            said.add((image[link.name], shape, frozenset(link.types)))
            if link.w is not None:
                said.add(_canonical(_is(link.name, "w", link.w), image))
    said |= {_canonical(condition, image) for condition in pattern.conditions}
    return frozenset(said)


def _is(name: str, key: str, number: int) -> Compare:
    return Compare("=", ("property", name, key), ("value", number, ""))


def _canonical(condition: Condition, image: Mapping[str, str]) -> object:
    match condition:
        case Either(left, right):
            return "or", frozenset(_canonical(one, image) for one in (left, right))
        case Not(of):
            return "not", _canonical(of, image)
        case Labelled(name, label):
            return image[name], "is", frozenset([label])
        case Compare(operator, left, right):
            sides = [(kind, image.get(str(name), name), key) for kind, name, key in (left, right)]
            if operator in ("=", "<>"):
                return operator, frozenset(sides), len(set(sides))
            if operator.startswith(">"):
                return operator.replace(">", "<"), tuple(sides[::-1])
            return operator, tuple(sides)

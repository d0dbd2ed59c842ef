"""The queries, in a form that each engine writes in its own language, and the answers that must agree.

A count has one meaning for every engine: each subgraph once for the patterns without labels (tri, c4, diamond, k4, k5),
injective embeddings for those with labels (star3, path5, rw6, rw6e). Engines that know neither are given conditions
`<` and `<>` between vertices that come to the same.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SHAPES = ("tri", "c4", "diamond", "k4", "k5")
LABELLED = ("star3", "path5", "rw6", "rw6e")
NAMES = (*SHAPES, *LABELLED, "hop2", "agg")
SUBSETS = {"rmat10m": ("tri", "c4", "diamond", "k4", "star3", "rw6", "hop2")}  # elsewhere all
POINTS = 1000
LEAST_VALUE = 900  # agg: WHERE a.val >= 900
_PATTERNS = Path(__file__).with_name("patterns.json")


@dataclass(frozen=True, slots=True)
class PatternEdge:
    """An edge between two pattern vertices; `ascending` if the first must have the smaller id."""

    source: int
    target: int
    ascending: bool = False
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern to match.

    Parameters
    ----------
    size : number of vertices.
    edges : edges; the ascending ones and `less` leave one match of each subgraph.
    labels : label of each vertex; empty where they have none.
    less : pairs of vertices that share no edge; the first must have the smaller id.
    symmetries : how many embeddings a subgraph has.
    limit : of the rows; None for the count.
    known : the count, where it was published with the pattern.
    """

    size: int
    edges: tuple[PatternEdge, ...]
    labels: tuple[int, ...] = ()
    less: tuple[tuple[int, int], ...] = ()
    symmetries: int = 1
    limit: int | None = None
    known: int | None = None

    @property
    def has_edge_labels(self) -> bool:
        return any(edge.label is not None for edge in self.edges)

    def unequal(self) -> list[tuple[int, int]]:
        """Pairs of vertices that need an explicit inequality: not apart by an edge, a `<` or a label."""
        apart = {frozenset((e.source, e.target)) for e in self.edges}
        apart |= {frozenset(pair) for pair in self.less}
        return [
            (i, j)
            for i, j in itertools.combinations(range(self.size), 2)
            if frozenset((i, j)) not in apart
            and (not self.labels or self.labels[i] == self.labels[j])
        ]


@dataclass(frozen=True, slots=True)
class Query:
    """One column of the table: a pattern, or None for hop2 and agg."""

    name: str
    pattern: Pattern | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run found: a count, the groups of agg, the latencies of hop2 in milliseconds."""

    count: int
    groups: dict[str, int] = field(default_factory=dict)
    points: int = 0
    p50: float = 0.0
    p99: float = 0.0


def queries(graph: str) -> dict[str, Query]:
    """The queries of a graph, by name."""
    found = {name: Query(name, shape(name)) for name in SHAPES}
    for name, text in json.loads(_PATTERNS.read_text(encoding="utf-8"))[graph].items():
        labels = tuple(int(label) for label in text["labels"])
        edges = tuple(PatternEdge(i, j, False, label) for i, j, label in text["edges"])
        found[name] = Query(
            name,
            Pattern(len(labels), edges, labels, limit=text.get("limit"), known=text.get("count")),
        )
    return found | {name: Query(name) for name in ("hop2", "agg")}


def shape(name: str) -> Pattern:
    """A pattern without labels: one of SHAPES, or "house"."""
    if name == "c4":
        ring = ((0, 1, True), (0, 3, True), (1, 2, False), (3, 2, False))
        return Pattern(4, _edges(ring), less=((0, 2), (1, 3)), symmetries=8)
    if name == "diamond":
        chord = ((0, 1, True), (0, 2, False), (1, 2, False), (0, 3, False), (1, 3, False))
        return Pattern(4, _edges(chord), less=((2, 3),), symmetries=4)
    if name == "house":  # a 4-cycle, and a triangle on its first edge
        walls = ((0, 1, True), (1, 2, False), (2, 3, False), (3, 0, False))
        return Pattern(5, _edges((*walls, (0, 4, False), (1, 4, False))), symmetries=2)
    size, symmetries = {"tri": (3, 6), "k4": (4, 24), "k5": (5, 120)}[name]
    pairs = itertools.combinations(range(size), 2)
    return Pattern(size, _edges((i, j, True) for i, j in pairs), symmetries=symmetries)


def _edges(edges: Iterable[tuple[int, int, bool]]) -> tuple[PatternEdge, ...]:
    return tuple(PatternEdge(i, j, ascending) for i, j, ascending in edges)


def two_hops(one: Callable[[int], int], vertices: int, seconds: float) -> Answer:
    """Find the vertices two steps from each of 1000 vertices, for some seconds at most.

    Parameters
    ----------
    one : the number of vertices that two edges lead to from a vertex, itself not counted.
    """
    chosen: list[int] = np.random.default_rng(11).integers(0, vertices, POINTS).tolist()
    times: list[float] = []
    total = 0
    end = time.perf_counter() + seconds
    for vertex in chosen:
        start = time.perf_counter()
        total += one(vertex)
        stop = time.perf_counter()
        times.append((stop - start) * 1e3)
        if stop > end:
            break
    p50, p99 = (float(np.percentile(times, q)) for q in (50, 99))
    return Answer(total, points=len(times), p50=p50, p99=p99)


def grouped(pairs: Iterable[tuple[int, int]]) -> Answer:
    """The answer to agg: label and number of edges that lead to it."""
    groups = {str(label): int(number) for label, number in sorted(pairs)}
    return Answer(sum(groups.values()), groups)

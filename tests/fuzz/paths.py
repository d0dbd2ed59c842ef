"""Relationships of variable length, and which paths are meant: against the enumeration of all walks."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import gdb
from tests.fuzz.cases import Failure, ask
from tests.fuzz.graphs import Graph, database, random_graph
from tests.fuzz.patterns import (
    Chain,
    Link,
    Pattern,
    random_conditions,
    random_link,
    random_node,
    random_pattern,
)
from tests.oracles.pattern_matching import Bound, Embedding, TooMany, embeddings

PATTERNS = 20
MOST_ROWS = 2000
LENGTHS: tuple[tuple[int, int | None], ...] = (
    *((1, None), (1, None), (0, None), (2, None), (2, 2), (1, 3), (1, 3)),
    *((0, 2), (1, 2), (0, 0), (1, 1), (0, 1), (3, 4)),
)
SELECTORS = (
    *("shortestPath(", "allShortestPaths(", "ANY SHORTEST", "ALL SHORTEST", "SHORTEST 1"),
    *("SHORTEST 2", "SHORTEST 3", "ANY", "ANY 2", "ANY SHORTEST ACYCLIC", "SHORTEST 2 ACYCLIC"),
)
NAMES = ("a", "b", "c")


def suite(seed: int) -> Iterator[Failure | None]:
    """A graph, and some patterns with paths: each query is a case."""
    draw = random.Random(f"paths {seed}")
    graph = random_graph(draw, 4, 7)
    with database(graph) as db:
        for _ in range(PATTERNS):
            try:
                if draw.random() < 0.4:
                    yield _selected(db, seed, graph, draw)
                else:
                    yield _all(db, seed, graph, draw)
            except TooMany:
                continue


def _all(db: gdb.Database, seed: int, graph: Graph, draw: random.Random) -> Failure | None:
    """Every path of a pattern."""
    mode = draw.choice(["", "", "", "DIFFERENT EDGES", "REPEATABLE ELEMENTS"])
    chains = [_chain(draw, mode, draw.choice([1, 1, 1, 2, 2, 3]))]
    if draw.random() < 0.35:
        chains += random_pattern(draw, draw.choice([0, 1, 1, 2]), NAMES, "s").chains
    if draw.random() < 0.15:
        chains.append(_chain(draw, mode, 1, "t"))
    draw.shuffle(chains)
    pattern = _with_conditions(draw, chains)
    expected = sorted(_row(pattern, one) for one in embeddings(graph, pattern, mode))
    if len(expected) > MOST_ROWS:
        raise TooMany
    text = f"MATCH {mode} {pattern} RETURN {_columns(pattern)}"
    found = sorted(ask(db, text))
    return Failure(seed, text, graph, expected, found) if found != expected else None


def _chain(draw: random.Random, mode: str, links: int, tag: str = "") -> Chain:
    """Some links, most often one of them long."""
    before = "" if mode == "REPEATABLE ELEMENTS" else draw.choice(["", "", "", "TRAIL", "ACYCLIC"])
    if not before and links == 1 and draw.random() < 0.2:
        before = "WALK"
    bounded = mode == "REPEATABLE ELEMENTS" or before == "WALK"
    long = draw.randrange(-1, links)
    own = []
    for k in range(links):
        link = random_link(draw, f"r{tag}{k}", f"_{tag}e{k}")
        own.append(_long(draw, link, bounded) if k == long or draw.random() < 0.3 else link)
    nodes = tuple(random_node(draw, NAMES, f"_{tag}v{k}") for k in range(links + 1))
    path = f"p{tag}" if draw.random() < 0.5 else ""
    return Chain(nodes, tuple(own), path, before)


def _long(draw: random.Random, link: Link, bounded: bool) -> Link:
    low, high = draw.choice(LENGTHS)
    if bounded:
        low = min(low, 2)
        high = min(2 if high is None else high, 3)
    return replace(link, length=(low, max(low, high) if high is not None else None))


def _selected(db: gdb.Database, seed: int, graph: Graph, draw: random.Random) -> Failure | None:
    """Some of the paths between each two nodes: as many and as long as they must be, and each a path."""
    before = draw.choice(SELECTORS)
    link = random_link(draw, "r0", "_e0")
    link = _long(draw, link, False) if draw.random() < 0.9 else link
    ends = tuple(random_node(draw, NAMES, f"_v{k}") for k in range(2))
    path = Chain(ends, (link,), "p", before)
    others = [Chain((end,), ()) for end in ends if draw.random() < 0.2 and end.name in NAMES]
    whole = _with_conditions(draw, [*others, path])
    every = embeddings(graph, whole)
    groups: dict[object, list[int]] = defaultdict(list)
    for one in every:
        groups[_ends(one["p"])].append(_long_as(one["p"]))
    expected = {pair: _taken(before, lengths) for pair, lengths in groups.items()}
    text = f"MATCH {whole} RETURN {_columns(whole)}"
    rows = ask(db, text)
    if any("error" in row for row in rows):
        return Failure(seed, text, graph, expected, rows)
    paths = [row[-2:] for row in rows]
    found: dict[object, list[int]] = defaultdict(list)
    for path_ in paths:
        found[_ends(path_)].append(_long_as(path_))
    if before.startswith("ANY") and "SHORTEST" not in before:  # any of them: how many, not how long
        expected = {pair: [0] * len(lengths) for pair, lengths in expected.items()}
        found = defaultdict(list, {pair: [0] * len(some) for pair, some in found.items()})
    right = {pair: sorted(some) for pair, some in found.items()} == expected
    right = right and set(rows) <= {_row(whole, one) for one in every}
    right = right and len(set(paths)) == len(paths)
    return None if right else Failure(seed, text, graph, expected, rows)


def _taken(before: str, lengths: list[int]) -> list[int]:
    """How long the paths are that a selector takes."""
    lengths = sorted(lengths)
    if before in ("allShortestPaths(", "ALL SHORTEST"):
        return [one for one in lengths if one == lengths[0]]
    return lengths[: next((int(c) for c in before if c.isdigit()), 1)]


def _ends(path: object) -> object:
    vertices, _ = cast(Sequence[Sequence[object]], path)
    return vertices[0], vertices[-1]


def _long_as(path: object) -> int:
    _, edges = cast(Sequence[Sequence[object]], path)
    return len(edges)


def _with_conditions(draw: random.Random, chains: list[Chain]) -> Pattern:
    # of a selected path the ends alone: WHERE filters selected paths, and which one is selected is free
    chosen = [replace(c, links=()) for c in chains if c.before in SELECTORS]
    free = [c for c in chains if c.before not in SELECTORS]
    short = [replace(c, links=tuple(one for one in c.links if not one.length)) for c in free]
    short += chosen
    nodes = Pattern(tuple(short))
    return Pattern(tuple(chains), random_conditions(draw, nodes))


def _shown(pattern: Pattern) -> list[str]:
    every = [*pattern.nodes, *(link.name for link in pattern.links)]
    return [name for name in every if not name.startswith("_")]


def _columns(pattern: Pattern) -> str:
    nodes, long = set(pattern.nodes), {link.name for link in pattern.links if link.length}
    columns = [
        f"id({name})" if name in nodes else f"[x IN {name} | x.k]" if name in long else f"{name}.k"
        for name in _shown(pattern)
    ]
    for path in pattern.paths:
        columns += [f"[x IN nodes({path}) | id(x)]", f"[x IN relationships({path}) | x.k]"]
    return ", ".join(columns) or "1"


def _row(pattern: Pattern, one: Embedding) -> tuple[Any, ...]:
    row: list[Bound | int] = [one[name] for name in _shown(pattern)]
    for path in pattern.paths:
        row += cast(Sequence[Bound], one[path])
    return tuple(row) or (1,)

"""Which elements of a match must differ: random patterns in every mode, as one pattern, row by row, and in two MATCH.

Rows and counts are compared with those of brute force.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import gdb
from tests.fuzz.cases import Failure, ask
from tests.fuzz.graphs import Graph, database, random_graph
from tests.fuzz.patterns import Pattern, named, random_pattern
from tests.oracles.pattern_matching import MODES, Embedding, TooMany, classes, embeddings

PATTERNS = 12
MOST_ROWS = 3000
Row = tuple[object, ...]


def suite(seed: int) -> Iterator[Failure | None]:
    """A graph, and some patterns in some modes: each query is a case."""
    draw = random.Random(f"unique {seed}")
    graph = random_graph(draw)
    with database(graph) as db:
        for _ in range(PATTERNS):
            names = draw.choice([("a", "b", "c", "d"), ("a", "b", "c", "d", "f", "g", "i", "j")])
            pattern = random_pattern(draw, draw.choice([1, 2, 2, 3, 3, 4]), names)
            try:
                for mode in (draw.choice(MODES[:2]), draw.choice(MODES[2:])):
                    yield from _one(db, seed, graph, pattern, mode, draw)
                symmetric = random_pattern(draw, draw.choice([1, 2, 2, 3]), plain=0.8)
                yield from _one(db, seed, graph, symmetric, "SUBGRAPHS", draw)
                other = random_pattern(draw, draw.choice([1, 2]), tag="s")
                mode = draw.choice([mode for mode in MODES if mode != "SUBGRAPHS"])
                yield _two(db, seed, graph, (pattern, other), mode, draw)
            except TooMany:
                continue


def _one(
    db: gdb.Database, seed: int, graph: Graph, pattern: Pattern, mode: str, draw: random.Random
) -> Iterator[Failure | None]:
    """A pattern alone: by the matcher of one pattern, and row by row."""
    distinct = mode == "SUBGRAPHS"
    if distinct:
        pattern = named(pattern)
    found = embeddings(graph, pattern, mode)
    if len(found) > MOST_ROWS:
        raise TooMany
    expected: list[Row]
    if distinct:
        expected = sorted(set(classes(pattern, found)))
    else:
        expected = sorted(_row(pattern, one) for one in found)
    columns = _columns(pattern)
    for between in (
        "",
        draw.choice(["WITH *", "WITH *", "WITH 1 AS one"]) if columns else "WITH 1 AS one",
    ):
        count = not columns or "one" in between or draw.random() < 0.4
        text = f"MATCH {mode} {pattern} {between} RETURN {'count(*)' if count else columns}"
        rows = sorted(ask(db, text))
        if count:
            wrong = rows != [(len(expected),)]
        elif distinct and not any("error" in row for row in rows):
            wrong = classes(pattern, [_embedding(pattern, row) for row in rows]) != expected
        else:
            wrong = rows != expected
        yield Failure(seed, text, graph, expected, rows) if wrong else None


def _two(
    db: gdb.Database,
    seed: int,
    graph: Graph,
    patterns: tuple[Pattern, Pattern],
    mode: str,
    draw: random.Random,
) -> Failure | None:
    """Two MATCH, which differ each for itself."""
    first, second = patterns
    both: list[Embedding] = []
    visible = [name for name in first.nodes if not name.startswith("_")]
    for one in embeddings(graph, first, mode):
        given = {name: one[name] for name in visible}
        both += [{**one, **two} for two in embeddings(graph, second, mode, given)]
        if len(both) > MOST_ROWS:
            raise TooMany
    whole = Pattern((*first.chains, *second.chains))
    count = not _columns(whole) or draw.random() < 0.3
    returned = "count(*)" if count else _columns(whole)
    text = f"MATCH {mode} {first} MATCH {mode} {second} RETURN {returned}"
    expected = [(len(both),)] if count else sorted(_row(whole, one) for one in both)
    rows = sorted(ask(db, text))
    return Failure(seed, text, graph, expected, rows) if rows != expected else None


def _names(pattern: Pattern) -> list[str]:
    every = [*pattern.nodes, *(link.name for link in pattern.links)]
    return [name for name in every if not name.startswith("_")]


def _columns(pattern: Pattern) -> str:
    nodes = set(pattern.nodes)
    return ", ".join(f"id({n})" if n in nodes else f"{n}.k" for n in _names(pattern))


def _row(pattern: Pattern, one: Embedding) -> Row:
    return tuple(one[name] for name in _names(pattern))


def _embedding(pattern: Pattern, row: Row) -> Embedding:
    return dict(zip(_names(pattern), row, strict=True))  # type: ignore[arg-type]

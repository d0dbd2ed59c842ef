"""Which elements of a match must differ: random patterns in every mode, as one pattern, row by row, and in two MATCH.

Rows and counts are compared with those of brute force.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import gdb
from tests.fuzz.cases import Failure, ask
from tests.fuzz.graphs import Graph, database, random_graph
from tests.fuzz.matching import MODES, Embedding, TooMany, classes, embeddings
from tests.fuzz.patterns import Pattern, named, random_pattern

PATTERNS = 12
MOST_ROWS = 3000
Row = tuple[object, ...]


def suite(seed: int) -> Iterator[Failure | None]:
    """A graph, and some patterns in every mode: each query is a case."""
    draw = random.Random(f"unique {seed}")
    graph = random_graph(draw)
    with database(graph) as db:
        for _ in range(PATTERNS):
            pattern = random_pattern(draw, draw.choice([1, 2, 2, 3, 3, 4]))
            try:
                for mode in draw.sample(MODES, 2):
                    yield from _one(db, seed, graph, pattern, mode)
                symmetric = random_pattern(draw, draw.choice([1, 2, 2, 3]), plain=0.8)
                yield from _one(db, seed, graph, symmetric, "SUBGRAPHS")
                other = random_pattern(draw, draw.choice([1, 2]), tag="s")
                mode = draw.choice([mode for mode in MODES if mode != "SUBGRAPHS"])
                yield from _two(db, seed, graph, (pattern, other), mode)
            except TooMany:
                continue


def _one(
    db: gdb.Database, seed: int, graph: Graph, pattern: Pattern, mode: str
) -> Iterator[Failure | None]:
    """A pattern alone: by the matcher of one pattern, then row by row."""
    distinct = mode == "SUBGRAPHS"
    if distinct:
        pattern = named(pattern)
    found = embeddings(graph, pattern, mode)
    if len(found) > MOST_ROWS:
        raise TooMany
    said = classes(pattern, found) if distinct else []
    if distinct:
        said = sorted(set(said))
    expected = said or sorted(_row(pattern, one) for one in found)
    match = f"MATCH {mode} {pattern}"
    for between in ("", "WITH * ", "WITH 1 AS one "):
        if between == "WITH * " and not _columns(pattern):
            continue
        text = f"{match} {between}RETURN count(*)"
        count = ask(db, text)[0][0]
        wrong = count != len(expected)
        yield Failure(seed, text, graph, len(expected), count) if wrong else None
        if between != "WITH 1 AS one " and _columns(pattern):
            text = f"{match} {between}RETURN {_columns(pattern)}"
            rows = sorted(ask(db, text))
            if distinct and not any("error" in row for row in rows):
                rows = classes(pattern, [_embedding(pattern, row) for row in rows])
            yield Failure(seed, text, graph, expected, rows) if rows != expected else None


def _two(
    db: gdb.Database, seed: int, graph: Graph, patterns: tuple[Pattern, Pattern], mode: str
) -> Iterator[Failure | None]:
    """Two MATCH, which differ each for itself."""
    first, second = patterns
    both: list[Embedding] = []
    visible = [name for name in first.nodes if not name.startswith("_")]
    for one in embeddings(graph, first, mode):
        given = {name: one[name] for name in visible}
        both += [{**one, **two} for two in embeddings(graph, second, mode, given)]
        if len(both) > MOST_ROWS:
            raise TooMany
    names = {*_names(first), *_names(second)}
    whole = Pattern((*first.chains, *second.chains))
    text = f"MATCH {mode} {first} MATCH {mode} {second} RETURN "
    count = ask(db, f"{text}count(*)")[0][0]
    yield Failure(seed, f"{text}count(*)", graph, len(both), count) if count != len(both) else None
    if names:
        expected = sorted(_row(whole, one) for one in both)
        text += _columns(whole)
        rows = sorted(ask(db, text))
        yield Failure(seed, text, graph, expected, rows) if rows != expected else None


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

"""Patterns with known counts, and their text in Cypher.

Truth files hold one JSON object: query name -> {vertices: [label or null], edges: [[i, j, label or null]], and a count
for each of four semantics}. `.graph` query files hold `t`, `v id label degree` and `e u v` lines (the literature's
form).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

# the truth's word for each semantics -> what a query says after MATCH
MODES = {
    "isomorphisms": "DIFFERENT NODES",
    "distinct": "SUBGRAPHS",
    "homomorphisms": "REPEATABLE ELEMENTS",
    "edge_injective": "",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """An undirected query graph with its true counts.

    vertices : the label of each vertex, None for any; edges : pairs of vertex numbers.
    counts : semantics (a key of MODES) -> number of embeddings; what is not known is absent.
    """

    name: str
    vertices: tuple[str | None, ...]
    edges: tuple[tuple[int, int], ...]
    counts: dict[str, int] = field(default_factory=dict)

    def cypher(self, mode: str) -> str:
        """The query that counts this pattern under a semantics: the labels are where a vertex is named first."""
        named: set[int] = set()
        parts = [f"{self._vertex(i, named)}-[]-{self._vertex(j, named)}" for i, j in self.edges]
        parts += [self._vertex(i, named) for i in range(len(self.vertices)) if i not in named]
        return " ".join(f"MATCH {MODES[mode]} {', '.join(parts)} RETURN count(*) AS n".split())

    def _vertex(self, number: int, named: set[int]) -> str:
        label = self.vertices[number] if number not in named else None
        named.add(number)
        return f"(v{number})" if label is None else f"(v{number}:{label})"


def read_truth(file: Path) -> list[Pattern]:
    """The patterns of a truth file; vertex label N becomes LN, as the import of `.graph` files names it."""
    patterns = []
    for name, query in json.loads(file.read_text(encoding="utf-8")).items():
        labels = tuple(None if label is None else f"L{label}" for label in query["vertices"])
        edges = tuple((int(i), int(j)) for i, j, _ in query["edges"])
        counts = {mode: int(query[mode]) for mode in MODES if query[mode] is not None}
        patterns.append(Pattern(name, labels, edges, counts))
    return patterns


def read_published(folder: Path, counts: Path) -> list[Pattern]:
    """The `.graph` query graphs of a folder that have a line `name:count` (isomorphisms) in a file."""
    published = dict(line.split(":") for line in counts.read_text(encoding="utf-8").split())
    return [
        Pattern(name, *read_graph(folder / f"{name}.graph"), {"isomorphisms": int(count)})
        for name, count in sorted(published.items())
    ]


def read_graph(file: Path) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The labels of a `.graph` file's vertices, which are numbered 0, 1, ... in it, and the ends of its edges."""
    labels: dict[int, str] = {}
    edges = []
    for line in file.read_text(encoding="utf-8").splitlines():
        match line.split():
            case ["v", number, label, *_]:
                labels[int(number)] = f"L{label}"
            case ["e", i, j, *_]:
                edges.append((int(i), int(j)))
    return tuple(labels[number] for number in range(len(labels))), tuple(edges)

"""Query graphs of 12 to 32 vertices, and the graphs that they are matched in.

The published ones of yeast (1200) and hprd (200), and graphs that random walks cut out of email-Enron (16 skewed
labels), wiki-Vote (5 labels) and bitcoin-otc (directed, two types), whose seeds are fixed.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import gdb
from benchmarks.inputs import graphs, patterns

ROWS = 100_000
MODE = "DIFFERENT NODES"
SIZES = (12, 16, 24, 32)
WALKED = 24  # query graphs of one walked graph, size and density


@dataclass(frozen=True, slots=True)
class Query:
    """A query graph.

    labels : of each vertex, "" for any. edges : source, target and type ("" for any); directed : along the edges.
    count : of embeddings with different nodes, None where it is not known.
    """

    name: str
    labels: tuple[str, ...]
    edges: tuple[tuple[int, int, str], ...]
    directed: bool = False
    count: int | None = None

    def match(self) -> str:
        """Its MATCH clause."""
        named: set[int] = set()
        arrow = "->" if self.directed else "-"
        parts = []
        for source, target, kind in self.edges:
            edge = f"-[:{kind}]{arrow}" if kind else f"-[]{arrow}"
            parts.append(f"{self._vertex(source, named)}{edge}{self._vertex(target, named)}")
        return f"MATCH {MODE} {', '.join(parts)}"

    def _vertex(self, number: int, named: set[int]) -> str:
        label = self.labels[number] if number not in named else ""
        named.add(number)
        return f"(v{number}:{label})" if label else f"(v{number})"

    def texts(self) -> dict[str, str]:
        """The two questions."""
        ids = ", ".join(f"id(v{k}) AS i{k}" for k in range(len(self.labels)))
        match = self.match()
        return {
            "rows": f"{match} RETURN {ids} LIMIT {ROWS}",
            "count": f"{match} RETURN count(*) AS n",
        }


def _published(name: str, folder: Path, counts: dict[str, int]) -> list[Query]:
    found = []
    for file in sorted(folder.glob("*.graph")):
        labels, pairs = patterns.read_graph(file)
        edges = tuple((a, b, "") for a, b in pairs)
        short = f"{name}_{file.stem.removeprefix('query_')}"
        found.append(Query(short, labels, edges, count=counts.get(file.stem)))
    return found


@dataclass(frozen=True, slots=True)
class Network:
    """A data graph that walks cut query graphs out of: vertices 0 .. n - 1.

    labels : of each vertex. ends : i64[m, 2], each edge once; kinds : the type of each.
    """

    labels: tuple[str, ...]
    ends: npt.NDArray[np.int64]
    kinds: tuple[str, ...]
    directed: bool

    @classmethod
    def of(
        cls,
        pairs: Iterable[tuple[int, int]],
        kinds: Iterable[str],
        *,
        labels: int,
        directed: bool,
        seed: int,
    ) -> Network:
        """Of pairs of any numbers; loops and repeated pairs are dropped. labels : so many, the k-th as frequent as
        1 / k; 0: none."""
        number: dict[int, int] = {}
        known: dict[tuple[int, int], str] = {}
        for (a, b), kind in zip(pairs, kinds, strict=True):
            u, v = number.setdefault(a, len(number)), number.setdefault(b, len(number))
            ends = (u, v) if directed else (min(u, v), max(u, v))
            if u != v:
                known.setdefault(ends, kind)
        chances = 1 / np.arange(1, max(labels, 1) + 1)
        drawn = np.random.default_rng(seed).choice(
            max(labels, 1), size=len(number), p=chances / chances.sum()
        )
        names = tuple(f"L{k}" if labels else "" for k in drawn.tolist())
        ends_of = np.array(sorted(known), np.int64).reshape(-1, 2)
        return cls(names, ends_of, tuple(known[u, v] for u, v in ends_of.tolist()), directed)

    def load(self, db: gdb.Database, folder: Path) -> None:
        """Into a database, through CSV files."""
        nodes, edges = folder / "nodes.csv", folder / "edges.csv"
        with nodes.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow([":ID", ":LABEL"])
            out.writerows([k, label or "V"] for k, label in enumerate(self.labels))
        with edges.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow([":START_ID", ":END_ID", ":TYPE"])
            rows = zip(self.ends.tolist(), self.kinds, strict=True)
            out.writerows([u, v, kind] for (u, v), kind in rows)
        db.load(nodes=nodes, edges=edges, format="csv", directed=self.directed)

    def walked(self, name: str, number: int) -> list[Query]:
        """`number` query graphs of each size, dense ones with all edges between their vertices, sparse ones with those
        of the walk and a quarter of the others."""
        near: list[dict[int, int]] = [{} for _ in self.labels]
        for e, (u, v) in enumerate(self.ends.tolist()):
            near[u][v] = near[v][u] = e
        reverse = {(u, v): e for e, (u, v) in enumerate(self.ends.tolist())}
        found = []
        for size in SIZES:
            for dense in (True, False):
                for k in range(number):
                    seed = [size, int(dense), k]
                    word = "dense" if dense else "sparse"
                    chosen, taken = self._walk(near, size, dense, np.random.default_rng(seed))
                    place = {v: i for i, v in enumerate(chosen)}
                    edges = []
                    for u, v in taken:
                        e = reverse.get((u, v), reverse.get((v, u), -1))
                        s, t = self.ends[e].tolist()
                        edges.append((place[s], place[t], self.kinds[e] if self.directed else ""))
                    labels = tuple(self.labels[v] for v in chosen)
                    made = Query(f"{name}_{word}_{size}_{k}", labels, tuple(edges), self.directed)
                    found.append(made)
        return found

    def _walk(
        self, near: list[dict[int, int]], size: int, dense: bool, random: np.random.Generator
    ) -> tuple[list[int], list[tuple[int, int]]]:
        while True:
            at = int(random.integers(len(near)))
            chosen, steps = {at: None}, set[tuple[int, int]]()
            for _ in range(100 * size):
                around = sorted(near[at])
                if not around:
                    break
                to = around[int(random.integers(len(around)))]
                if to not in chosen:
                    steps.add((min(at, to), max(at, to)))
                chosen[to] = None
                at = to
                if len(chosen) == size:
                    break
            if len(chosen) == size:
                break
        members = list(chosen)
        others = [
            (u, v)
            for u in members
            for v in near[u]
            if u < v and v in chosen and (u, v) not in steps
        ]
        kept = [pair for pair in others if dense or random.random() < 0.25]
        return members, [*sorted(steps), *sorted(kept)]


def _enron(data: Path) -> Network:
    with gzip.open(data / "email-enron" / "email-Enron.txt.gz", "rt", encoding="utf-8") as file:
        pairs = _snap(file)
    return Network.of(pairs, ["E"] * len(pairs), labels=16, directed=False, seed=16)


def _wiki(data: Path) -> Network:
    with (data / "wiki-vote" / "wiki-Vote.txt").open(encoding="utf-8") as file:
        pairs = _snap(file)
    return Network.of(pairs, ["E"] * len(pairs), labels=5, directed=False, seed=5)


def _otc(data: Path) -> Network:
    with (data / "bitcoin-otc" / "edges.csv").open(encoding="utf-8") as file:
        rows = [line.split(",") for line in file]
    pairs = [(int(row[0]), int(row[1])) for row in rows]
    kinds = ["TRUSTS" if int(row[2]) > 0 else "DISTRUSTS" for row in rows]
    return Network.of(pairs, kinds, labels=0, directed=True, seed=0)


def _snap(lines: Iterable[str]) -> list[tuple[int, int]]:
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [(int(a), int(b)) for a, b, *_ in rows]


NETWORKS: dict[str, Callable[[Path], Network]] = {
    "email-enron": _enron,
    "wiki-vote": _wiki,
    "bitcoin-otc": _otc,
}
SETS = ("yeast", "hprd", *NETWORKS)


def sample(queries: list[Query], number: int) -> list[Query]:
    """So many of them, at equal distances; 0: all."""
    if not number or number >= len(queries):
        return queries
    return [queries[k * len(queries) // number] for k in range(number)]


def opened(name: str, folder: Path, data: Path, number: int) -> tuple[Path, list[Query]]:
    """The store of a set, and a sample of its query graphs."""
    if name not in NETWORKS:
        counts = {}
        if name == "hprd":
            counts = {p.name: p.counts["isomorphisms"] for p in graphs.published(data)}
        queries = _published(name, data / name / "query_graph", counts)
        return graphs.loaded(name, folder, data), sample(queries, number)
    network = NETWORKS[name](data)
    store = folder / f"{name}-labelled.gdb"
    if not store.exists():
        with gdb.connect(store) as db, tempfile.TemporaryDirectory() as temporary:
            network.load(db, Path(temporary))
    return store, sample(network.walked(name, WALKED), number)

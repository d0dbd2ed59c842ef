"""The graphs of the comparison, made once into a folder of files that every engine can read.

A graph is simple and undirected, each edge once with src < dst. Its folder holds `graph.json` (name and sizes),
`vertices.npy` (label and val of each vertex) and `edges.npy` (src, dst, label) for engines in memory, `nodes.csv` and
`edges.csv` for those with a loader, and the same under the headers of neo4j-admin for ours (`ours-*.csv`).

- enron: email-Enron; 16 vertex labels (uniform, seed 1) and 5 edge labels (power law, seed 2) are synthetic.
- hprd: with its own vertex labels, no edge labels.
- rmat10m: R-MAT of 2^20 vertices and 10^7 edges, ids shuffled; 5 vertex and 5 edge labels (power law).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
# in the data folder; rmat10m is made from nothing
SOURCES = {
    "enron": Path("email-enron") / "email-Enron.txt.gz",
    "hprd": Path("hprd") / "HPRD.graph",
}


@dataclass(frozen=True, slots=True)
class Graph:
    """Columns of a graph in memory."""

    labels: I64
    values: I64
    sources: I64
    targets: I64
    edge_labels: I64

    @property
    def vertices(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class GraphFiles:
    """A graph's folder."""

    folder: Path
    name: str
    vertices: int
    edges: int

    def read(self) -> Graph:
        """The columns."""
        vertices = np.load(self.folder / "vertices.npy")
        edges = np.load(self.folder / "edges.npy")
        return Graph(*vertices, *edges)


def opened(folder: Path) -> GraphFiles:
    """The graph that `made` wrote into a folder."""
    text = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    return GraphFiles(folder, text["name"], text["vertices"], text["edges"])


def made(name: str, folder: Path, data: Path = DATA) -> GraphFiles:
    """Make a graph's folder, unless it is there already."""
    if not (folder / "graph.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        graph = MAKERS[name](data)
        np.save(folder / "vertices.npy", np.stack([graph.labels, graph.values]))
        np.save(folder / "edges.npy", np.stack([graph.sources, graph.targets, graph.edge_labels]))
        _write_tables(graph, folder)
        sizes = {"name": name, "vertices": graph.vertices, "edges": len(graph.sources)}
        (folder / "graph.json").write_text(json.dumps(sizes), encoding="utf-8")
    return opened(folder)


def missing(names: list[str], data: Path = DATA) -> list[Path]:
    """Files that the graphs are made of and that are not here."""
    needed = [data / SOURCES[name] for name in names if name in SOURCES]
    return [path for path in needed if not path.exists()]


def _write_tables(graph: Graph, folder: Path) -> None:
    import duckdb

    connection = duckdb.connect()
    vertices = {"id": np.arange(graph.vertices), "lbl": graph.labels, "val": graph.values}
    edges = {"src": graph.sources, "dst": graph.targets, "lbl": graph.edge_labels}
    connection.register("v", vertices)
    connection.register("e", edges)
    ends = 'src AS ":START_ID", dst AS ":END_ID"'
    tables = {
        "nodes": "SELECT id, lbl, val FROM v",
        "edges": "SELECT src, dst, lbl FROM e",
        "ours-nodes": (
            """SELECT id AS ":ID", 'L' || lbl AS ":LABEL", lbl AS "lbl:int", val AS "val:int" FROM v"""
        ),
        "ours-edges": f'SELECT {ends}, lbl AS "lbl:int" FROM e',
        "ours-typed": f"""SELECT {ends}, 'E' || lbl AS ":TYPE" FROM e""",
    }
    for name, select in tables.items():
        connection.execute(f"COPY ({select}) TO '{folder / name}.csv' (FORMAT csv, HEADER)")
    connection.close()


def _power_law(rng: np.random.Generator, length: int) -> I64:
    """Labels 0 to 4, label k as often as (k + 1)^-1.5."""
    weights = np.arange(1, 6) ** -1.5
    return rng.choice(5, length, p=weights / weights.sum()).astype(np.int64)


def _simple(labels: I64, sources: I64, targets: I64, edge_labels: Callable[[int], I64]) -> Graph:
    """Drop loops and parallel edges, sort, and give every vertex a val from 0 to 999."""
    vertices = len(labels)
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    keep = low != high
    keys = np.unique(low[keep] * vertices + high[keep])
    values = np.random.default_rng(7).integers(0, 1000, vertices)
    return Graph(labels, values, keys // vertices, keys % vertices, edge_labels(len(keys)))


def _enron(data: Path) -> Graph:
    with gzip.open(data / SOURCES["enron"], "rt") as file:
        pairs = np.loadtxt(file, dtype=np.int64, comments="#")
    labels = np.random.default_rng(1).integers(0, 16, int(pairs.max()) + 1)
    return _simple(
        labels, pairs[:, 0], pairs[:, 1], lambda n: _power_law(np.random.default_rng(2), n)
    )


def _hprd(data: Path) -> Graph:
    labels: dict[int, int] = {}
    pairs = []
    for line in (data / SOURCES["hprd"]).read_text(encoding="utf-8").splitlines():
        match line.split():
            case ["v", vertex, label, *_]:
                labels[int(vertex)] = int(label)
            case ["e", u, v, *_]:
                pairs.append((int(u), int(v)))
    ids = np.array(sorted(labels))
    ends = np.searchsorted(ids, np.array(pairs))
    dense = np.unique([labels[vertex] for vertex in ids.tolist()], return_inverse=True)[1]
    return _simple(dense.astype(np.int64), ends[:, 0], ends[:, 1], lambda n: np.zeros(n, np.int64))


def rmat_edges(scale: int, edges: int, seed: int) -> tuple[I64, I64]:
    """Ends of so many distinct edges of an R-MAT graph (a, b, c = .45, .22, .22), ids shuffled."""
    a, b, c = 0.45, 0.22, 0.22
    rng = np.random.default_rng(seed)
    vertices = 1 << scale
    keys = np.empty(0, np.int64)
    while len(keys) < edges:
        batch = int((edges - len(keys)) * 1.3) + 1000
        source = np.zeros(batch, np.int64)
        target = np.zeros(batch, np.int64)
        for _ in range(scale):
            draw = rng.random(batch)
            source = 2 * source + (draw >= a + b)
            target = 2 * target + (((draw >= a) & (draw < a + b)) | (draw >= a + b + c))
        low, high = np.minimum(source, target), np.maximum(source, target)
        keys = np.unique(np.concatenate([keys, (low * vertices + high)[low != high]]))
    keys = rng.permutation(keys)[:edges]
    shuffled = rng.permutation(vertices)
    return shuffled[keys // vertices], shuffled[keys % vertices]


def _rmat10m(data: Path) -> Graph:
    sources, targets = rmat_edges(20, 10_000_000, 3)
    labels = _power_law(np.random.default_rng(4), 1 << 20)
    return _simple(labels, sources, targets, lambda n: _power_law(np.random.default_rng(5), n))


MAKERS: dict[str, Callable[[Path], Graph]] = {"enron": _enron, "hprd": _hprd, "rmat10m": _rmat10m}

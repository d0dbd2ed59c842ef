"""R-MAT graphs as arrays: the generator of the published measurements, without a file between it and a plan.

The graph is in memory as a snapshot shows it, its vertices numbered by degree, so that nothing is renumbered when a
query comes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, Adjacency, Shape

Keys = npt.NDArray[np.int64]
SIZES = {
    "rmat1m": (17, 1_000_000),
    "rmat10m": (20, 10_000_000),
    "rmat100m": (23, 100_000_000),
}  # scale, relationships
_CHUNK = (
    1 << 22
)  # edges that one thread draws at once, of graphs too large for one stream of random numbers
ONE_STREAM = 20_000_000  # relationships up to which the graph is the published one, bit for bit


@dataclass(frozen=True)
class Group:
    labels: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Type:
    name: str
    directed: bool


class ArrayGraph:
    """An undirected graph of one type, without labels, as CSR: a source for the planner and the executors.

    offsets : i64[vertices + 1]. neighbours : u32[2 x relationships], ascending in a row, none twice, no loops.
    """

    def __init__(self, offsets: I64, neighbours: npt.NDArray[np.uint32]) -> None:
        n = len(offsets) - 1
        self.vertex_count, self.edge_count = n, len(neighbours) // 2
        self.groups = (Group((), ((0, n),)),)
        self.edge_types = (Type("E", directed=False),)
        one = np.array([n], np.uint32)
        zero = np.zeros(1, np.uint32)
        most = int(np.diff(offsets).max())
        parts = (zero, one, zero, offsets, neighbours, True, False, most)
        self._view = Adjacency(("E",), Direction.ANY, *parts)

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """The one view that there is."""
        return self._view

    def shape(self, types: tuple[str, ...], direction: Direction) -> Shape:
        """See `gdb.storage.graph.adjacency.Shape`."""
        return self._view.shape

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        """No query of a measurement binds a relationship."""
        raise NotImplementedError


def drawn(rng: np.random.Generator, scale: int, count: int) -> Keys:
    """So many relationships, lower end * 2^scale + higher end; without loops, but some several times."""
    u, v = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        r = rng.random(count)
        u = (u << 1) | (r >= 0.67)
        v = (v << 1) | (((r >= 0.45) & (r < 0.67)) | (r >= 0.89))
    a, b = np.minimum(u, v), np.maximum(u, v)
    keys: Keys = ((a << scale) + b)[a != b]
    return keys


def relationships(scale: int, count: int, threads: int, on: Any) -> Keys:
    """`count` distinct relationships. on : the module, NumPy or CuPy, that sorts them."""
    if count <= ONE_STREAM:
        rng, keys = np.random.default_rng(7), np.empty(0, np.int64)
        while len(keys) < count:
            more = drawn(rng, scale, int((count - len(keys)) * 1.15) + 1000)
            keys = np.unique(np.concatenate([keys, more]))
        return np.sort(rng.permutation(keys)[:count])
    chunk, keys = 0, np.empty(0, np.int64)
    with ThreadPoolExecutor(threads) as pool:
        while len(keys) < count:
            chunks = int((count - len(keys)) * 1.15) // _CHUNK + 1
            seeds = [np.random.default_rng([7, chunk + k]) for k in range(chunks)]
            chunk += chunks
            parts = list(pool.map(lambda rng: drawn(rng, scale, _CHUNK), seeds))
            keys = _distinct(np.concatenate([keys, *parts]), on)
    # any subset would do; the keys of a stride keep the shape, where the first would cut off high ids
    return keys[(np.arange(count) * (len(keys) / count)).astype(np.int64)]


def _distinct(keys: Keys, on: Any) -> Keys:
    found: Keys = np.unique(keys) if on is np else on.asnumpy(on.unique(on.asarray(keys)))
    return found


def graph(name: str, threads: int = 1, on: Any = np) -> ArrayGraph:
    """A graph of `SIZES`, its vertices numbered by degree, those without a relationship left out."""
    scale, count = SIZES[name]
    keys = on.asarray(relationships(scale, count, threads, on))
    a, b = keys >> scale, keys & ((1 << scale) - 1)
    degrees = on.bincount(on.concatenate([a, b]), minlength=1 << scale)
    order = on.argsort(-degrees, kind="stable")
    rank = on.empty_like(order)
    rank[order] = on.arange(len(order))
    a, b = rank[a], rank[b]
    both = on.concatenate([(a << scale) | b, (b << scale) | a])
    both.sort()
    n = int((degrees > 0).sum())
    offsets = on.concatenate([on.zeros(1, on.int64), on.cumsum(degrees[order][:n])])
    neighbours = (both & ((1 << scale) - 1)).astype(on.uint32)
    if on is np:
        return ArrayGraph(offsets.astype(np.int64), neighbours)
    return ArrayGraph(on.asnumpy(offsets).astype(np.int64), on.asnumpy(neighbours))

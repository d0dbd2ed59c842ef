"""Three layouts of an edge-label partition (ELP), and what a lookup of a vid finds in each: start and end of its
neighbours.

Interval index: `gdb.storage.graph.adjacency.Adjacency`, as the product builds, stores and reads it. Hash-PCSR: as GSI
lays it out (Zeng and others, SGSI, TKDE 2022, §4, definition 5 and algorithm 7; hash and seed are those of GSI's
program). Plain CSR: row offsets for all vids in each ELP, the "basic representation" there. Everything is NumPy;
`index_lookups.py` measures the same lookups on a GPU, and both sides make the same digest of the rows that they find.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import Adjacency
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

GROUP_WORDS = 32  # u32 of a group: 128 bytes, what a warp reads in one transaction
GROUP_KEYS = 15  # of its 16 pairs; the last is (GID, END)
NONE = np.uint32(0xFFFFFFFF)  # no key, no other group
SEED = 17  # of GSI's hash
CHUNK = 1 << 22  # neighbours digested at once


# ---- the graph -----------------------------------------------------------------------------------


def rmat(edges: int, seed: int = 7) -> tuple[int, I64, I64]:
    """An R-MAT graph of distinct undirected edges, about 10 for each of 2**scale vertices, of gentle skew.

    Returns (vertices, sources i64[edges], targets i64[edges]); vertices without an edge are left out.
    """
    rng = np.random.default_rng(seed)
    scale = max(2, round(np.log2(edges / 10)))
    keys = np.zeros(0, np.int64)
    while len(keys) < edges:
        more = int((edges - len(keys)) * 1.15) + 1000
        u, v = np.zeros(more, np.int64), np.zeros(more, np.int64)
        for _ in range(scale):  # quarters of the matrix: 0.45, 0.22, 0.22, 0.11
            r = rng.random(more)
            u = u << 1 | (r >= 0.67)
            v = v << 1 | (((r >= 0.45) & (r < 0.67)) | (r >= 0.89))
        low, high = np.minimum(u, v), np.maximum(u, v)
        keys = np.unique(np.concatenate([keys, (low << scale | high)[low != high]]))
    keys = rng.permutation(keys)[:edges]
    ends = rng.permutation(1 << scale)[np.concatenate([keys >> scale, keys & (1 << scale) - 1])]
    names, numbers = np.unique(ends, return_inverse=True)
    numbers = numbers.astype(np.int64)
    return len(names), numbers[:edges], numbers[edges:]


def zipf_labels(edges: int, labels: int, seed: int = 0) -> I64:
    """A label for each edge, i64[edges]: the k-th of the labels with a weight of 1 / k."""
    weights = 1 / np.arange(1, labels + 1)
    chosen = np.random.default_rng(seed).choice(labels, edges, p=weights / weights.sum())
    return chosen.astype(np.int64)


@contextmanager
def stored(
    vertices: int, sources: I64, targets: I64, labels: I64, folder: Path
) -> Iterator[list[Adjacency]]:
    """The ELP of each label, in the order of the labels, from a store that the product writes (renumbered, as always)
    and reads. Edges are undirected: an ELP holds both ends of an edge."""
    tables = []
    for label in np.unique(labels).tolist():
        mine = labels == label
        tables.append(EdgeTable(f"T{label:04}", False, sources[mine], targets[mine]))
    graph = GraphTables((VertexTable((), "", np.arange(vertices)),), tuple(tables))
    store = Store.open(folder, create=True)
    try:
        snapshot = write_graph(store, graph)
        yield [snapshot.adjacency((table.type,), Direction.ANY) for table in tables]
    finally:
        store.close()


# ---- hash-PCSR -----------------------------------------------------------------------------------


def murmur(vids: U32) -> U32:
    """MurmurHash2 of each vid's four bytes, u32[n]."""
    m = np.uint32(0x5BD1E995)
    k = vids * m
    k ^= k >> np.uint32(24)
    k *= m
    h: U32 = np.full(vids.shape, SEED ^ 4, np.uint32) * m ^ k
    h ^= h >> np.uint32(13)
    h *= m
    h ^= h >> np.uint32(15)
    return h


@dataclass(frozen=True, slots=True, eq=False)
class HashPcsr:
    """One ELP as GSI lays it out.

    words : u32[groups, 32], as many groups as rows. A group is 15 pairs (vid, start), then (GID, END): the group where
        its other vids are, or NONE. A row ends where that of the next pair starts; the pair after the last vid has no
        vid, but the end.
    neighbours : u32[m], row after row in the order of the groups, so that each row's end is the next one's start.
    """

    words: U32
    neighbours: U32

    def find(self, vids: U32) -> tuple[I64, I64]:
        """Start and end of each vid's neighbours, i64[n] each; equal (0) where it has none."""
        starts, ends = np.zeros(vids.shape, np.int64), np.zeros(vids.shape, np.int64)
        left = np.arange(vids.shape[0])
        groups = (murmur(vids) % np.uint32(len(self.words))).astype(np.int64)
        while left.shape[0]:
            words = self.words[groups]
            same = words[:, 0 : 2 * GROUP_KEYS : 2] == vids[left, None]
            hit, at = same.any(axis=1), 2 * same.argmax(axis=1)
            found, at = left[hit], at[hit]
            starts[found], ends[found] = words[hit, at + 1], words[hit, at + 3]
            on = ~hit & (words[:, -2] != NONE)
            left, groups = left[on], words[on, -2].astype(np.int64)
        return starts, ends


def hash_pcsr(part: Adjacency) -> HashPcsr:
    """GSI's algorithm 7 in whole arrays. A group that overflows goes on in groups to which nothing was hashed."""
    vids = part.vids()
    n = len(vids)
    home = (murmur(vids) % np.uint32(max(n, 1))).astype(np.int64)
    order = np.argsort(home, kind="stable")
    counts = np.bincount(home, minlength=n)
    rank = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    # a group's vids beyond the first 15 are dealt out to empty groups, 15 to each
    over = np.maximum(-(-counts // GROUP_KEYS) - 1, 0)
    spare = np.flatnonzero(counts == 0)[: int(over.sum())]
    first_spare = np.cumsum(over) - over
    group, nth = home[order], rank // GROUP_KEYS
    moved = nth > 0
    group[moved] = spare[first_spare[group[moved]] + nth[moved] - 1]
    slot = rank % GROUP_KEYS
    words = np.full((n, GROUP_WORDS), NONE, np.uint32)
    owner = np.repeat(np.arange(n), over)
    before = np.where(np.arange(len(spare)) == first_spare[owner], owner, np.roll(spare, 1))
    words[before, -2] = spare
    # neighbours lie in the order of groups, and of pairs within each
    laid = np.lexsort((slot, group))
    order, group, slot = order[laid], group[laid], slot[laid]
    lengths = np.diff(part.offsets)[order]
    ends = np.cumsum(lengths)
    words[group, 2 * slot] = vids[order]
    words[group, 2 * slot + 3] = ends
    words[group, 2 * slot + 1] = ends - lengths
    return HashPcsr(words, part.neighbours[positions(part.offsets[order], lengths)])


def positions(starts: I64, lengths: I64) -> I64:
    """`starts[i] .. starts[i] + lengths[i] - 1` of each i, one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


# ---- plain CSR, interval index -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """One ELP with a row for every vid of the graph; 4-byte offsets, the smallest that it can have.

    offsets : u32[vertices + 1]. neighbours : u32[m], those of the `Adjacency`.
    """

    offsets: U32
    neighbours: U32

    def find(self, vids: U32) -> tuple[I64, I64]:
        """As `HashPcsr.find`; where a vid has none, the two are equal but not 0."""
        at = vids.astype(np.int64)
        return self.offsets[at].astype(np.int64), self.offsets[at + 1].astype(np.int64)


def csr(part: Adjacency, vertices: int) -> Csr:
    """The rows of a part, and empty ones between them."""
    offsets = np.zeros(vertices + 1, np.uint32)
    offsets[part.vids().astype(np.int64) + 1] = np.diff(part.offsets)
    return Csr(np.cumsum(offsets, dtype=np.uint32), part.neighbours)


def find_by_intervals(part: Adjacency, vids: U32) -> tuple[I64, I64]:
    """As `HashPcsr.find`, by the product's own lookup."""
    rows = part.rows_of(vids)
    safe = np.maximum(rows, 0)
    ends = part.offsets[np.minimum(safe + 1, part.rows)]
    return np.where(rows >= 0, part.offsets[safe], 0), np.where(rows >= 0, ends, 0)


# ---- bytes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bytes:
    """What the ELPs of a graph take on the device without their neighbours, which are the same in all layouts.

    interval : 12 for each interval and 8 for each row's offset. compact : the same with offsets of 4 bytes, the word
    of the other two layouts and of the paper.
    """

    csr: int
    interval: int
    compact: int
    hashed: int
    neighbours: int
    rows: int
    intervals: int


def bytes_of(parts: list[Adjacency], vertices: int) -> Bytes:
    """The sums over all ELPs."""
    rows = sum(part.rows for part in parts)
    intervals = sum(len(part.first) for part in parts)
    index = 12 * intervals
    return Bytes(
        csr=4 * len(parts) * (vertices + 1),
        interval=index + 8 * (rows + len(parts)),
        compact=index + 4 * (rows + len(parts)),
        hashed=4 * GROUP_WORDS * rows,
        neighbours=sum(part.neighbours.nbytes for part in parts),
        rows=rows,
        intervals=intervals,
    )


# ---- equal rows ----------------------------------------------------------------------------------


def mix(x: U64) -> U64:
    """The finaliser of SplitMix64; `mix` in index_lookups.cu is the same."""
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def digest(vids: U32, found: tuple[I64, I64], neighbours: U32) -> int:
    """One number for all that lookups have found: every vid with every neighbour at its place, in any order of vids."""
    starts, lengths = found[0], found[1] - found[0]
    rows = lengths.astype(np.uint64)
    full = np.flatnonzero(lengths)
    totals = np.cumsum(lengths[full])
    # in pieces of whole rows, so that no more than some neighbours are mixed at once
    cuts = np.searchsorted(totals, np.arange(CHUNK, (totals[-1] if len(full) else 0), CHUNK))
    for piece in np.split(full, cuts):
        if len(piece):
            size = lengths[piece]
            at = positions(starts[piece], size)
            nth = at - np.repeat(starts[piece], size)
            mixed = mix(neighbours[at].astype(np.uint64) | nth.astype(np.uint64) << np.uint64(32))
            rows[piece] += np.add.reduceat(mixed, np.cumsum(size) - size)
    return int(mix(rows ^ mix(vids.astype(np.uint64))).sum(dtype=np.uint64))


def digests(part: Adjacency, vertices: int) -> tuple[int, int, int]:
    """The digest of all vids of the graph in each layout: interval index, hash-PCSR, plain CSR."""
    vids = np.arange(vertices, dtype=np.uint32)
    hashed, plain = hash_pcsr(part), csr(part, vertices)
    return (
        digest(vids, find_by_intervals(part, vids), part.neighbours),
        digest(vids, hashed.find(vids), hashed.neighbours),
        digest(vids, plain.find(vids), plain.neighbours),
    )

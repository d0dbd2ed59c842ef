"""R-MAT graphs as arrays: the generator of the published measurements (`../shared/peers/rmat.py`), without a file
between it and a plan.

The relationships are those of that program, number for number: its one stream of random numbers (PCG64) is cut into
pieces, which threads draw beside one another, each from its own place in the stream. The graph is in memory as a
snapshot shows it, its vertices numbered by degree, so that nothing is renumbered when a query comes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base.machine.compile import together
from gdb.base.machine.memory import load_i64, load_u32, store_u32
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, Adjacency, Shape

Keys = npt.NDArray[np.int64]
Item = TypeVar("Item", bound=np.generic)
SIZES = {
    "rmat1m": (17, 1_000_000),
    "rmat10m": (20, 10_000_000),
    "rmat100m": (23, 100_000_000),
}  # scale, relationships
_SEED = 7
_LOW = 0xFFFFFFFF
_PIECE = 1 << 18  # relationships that a thread draws at once: they stay in its core's cache
_PARTS = 256  # ranges of keys that are sorted beside one another
_WORDS = 1 << 20  # random numbers of 64 bits that are drawn at once for a permutation


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


def relationships(scale: int, count: int, threads: int) -> Keys:
    """`count` distinct relationships, lower end * 2^scale + higher end, ascending."""
    keys, at = np.empty(0, np.int64), 0
    with ThreadPoolExecutor(threads) as pool:
        while len(keys) < count:
            more = int((count - len(keys)) * 1.15) + 1000
            keys = _merged([keys, *_drawn(scale, more, at, pool)], pool, _distinct)
            at += scale * more
        keep = np.ones(len(keys), np.bool_)
        keep[_behind(len(keys), count, at)] = False
        cuts = list(pairwise([*range(0, len(keys), _PIECE), len(keys)]))
        return _joined(list(pool.map(lambda cut: keys[slice(*cut)][keep[slice(*cut)]], cuts)), pool)


def ascending(keys: Keys, threads: int) -> Keys:
    """Keys in ascending order."""
    pieces = [keys[first : first + _PIECE] for first in range(0, len(keys), _PIECE)]
    with ThreadPoolExecutor(threads) as pool:
        return _merged(list(pool.map(np.sort, pieces)), pool, lambda part: part)


def _stream(at: int) -> np.random.PCG64:
    """The stream of random numbers from a place on."""
    stream = np.random.PCG64(_SEED)
    stream.advance(at)
    return stream


def _drawn(scale: int, count: int, at: int, pool: ThreadPoolExecutor) -> list[Keys]:
    """So many relationships from a place of the stream on, sorted pieces; without loops, but some several times. The
    stream has a number of each for the first bit of their ends, then a number of each for the second one, ..."""

    def piece(first: int) -> Keys:
        size = min(_PIECE, count - first)
        numbers, ends = np.empty(size), np.zeros((2, size), np.uint32)
        least, over, most = np.empty(
            (3, size), np.bool_
        )  # new ones for each bit would be new pages
        for bit in range(scale):
            np.random.Generator(_stream(at + bit * count + first)).random(out=numbers)
            np.greater_equal(numbers, 0.45, out=least)
            np.greater_equal(numbers, 0.67, out=over)
            np.greater_equal(numbers, 0.89, out=most)
            least ^= over
            least ^= most
            ends <<= np.uint32(1)
            ends[0] |= over
            ends[1] |= least
        low, high = np.minimum(*ends).astype(np.int64), np.maximum(*ends)
        keys: Keys = ((low << scale) | high)[low != high]
        keys.sort()
        return keys

    return list(pool.map(piece, range(0, count, _PIECE)))


def _distinct(keys: Keys) -> Keys:
    kept = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=kept[1:])
    return keys[kept]


def _merged(
    pieces: list[Keys], pool: ThreadPoolExecutor, made: Callable[[Keys], npt.NDArray[Item]]
) -> npt.NDArray[Item]:
    """What is made of the keys of sorted pieces together, a range of them after the other."""
    sample = np.sort(np.concatenate([keys[:: 1 + len(keys) // 100] for keys in pieces]))
    limits = sample[len(sample) * np.arange(1, _PARTS) // _PARTS]
    cuts = [[0, *np.searchsorted(keys, limits).tolist(), len(keys)] for keys in pieces]

    def part(k: int) -> npt.NDArray[Item]:
        slices = [keys[cut[k] : cut[k + 1]] for keys, cut in zip(pieces, cuts, strict=True)]
        keys = np.concatenate(slices)
        keys.sort(kind="stable")  # of sorted pieces, that is a merge
        return made(keys)

    parts = list(pool.map(part, range(_PARTS)))
    pieces.clear()
    return _joined(parts, pool)


def _joined(parts: list[npt.NDArray[Item]], pool: ThreadPoolExecutor) -> npt.NDArray[Item]:
    ends = np.cumsum([len(part) for part in parts]).tolist()
    found = np.empty(ends[-1], parts[0].dtype)

    def copy(end: int, part: npt.NDArray[Item]) -> None:
        found[end - len(part) : end] = part

    for _ in pool.map(copy, ends, parts):
        pass
    return found


def _swap_loop(order: int, last: int, first: int, words: int, count: int) -> int:
    """Shuffle order[first..last] from above, as NumPy does; the place that comes next when the words are used up."""
    at = last
    mask = _LOW
    for k in range(count):
        if at < first:
            break
        while (mask >> 1) >= at:
            mask = mask >> 1
        other = load_u32(words, k) & mask
        if other <= at:
            moved = load_u32(order, at)
            store_u32(order, at, load_u32(order, other))
            store_u32(order, other, moved)
            at -= 1
    return at


def _degree_loop(keys: int, count: int, scale: int, degrees: int) -> None:
    """Add 1 to the degrees, u32, of both ends of each key."""
    mask = (1 << scale) - 1
    for k in range(count):
        key = load_i64(keys, k)
        store_u32(degrees, key >> scale, load_u32(degrees, key >> scale) + 1)
        store_u32(degrees, key & mask, load_u32(degrees, key & mask) + 1)


_swap, _degree = together(_swap_loop, _degree_loop)


def _behind(size: int, count: int, at: int) -> npt.NDArray[np.uint32]:
    """The numbers below `size` that a permutation, drawn from a place of the stream on, puts behind the first `count`.
    What it does to those is left out, as they are sorted again."""
    order = np.arange(size, dtype=np.uint32)
    stream, last = _stream(at), size - 1
    while last >= count:
        words = stream.random_raw(_WORDS).view(np.uint32)
        last = _swap(order.ctypes.data, last, count, words.ctypes.data, len(words))
    return order[count:]


def _degrees(keys: Keys, scale: int, threads: int, pool: ThreadPoolExecutor) -> I64:
    """The number of relationships of each vertex."""

    def part(some: Keys) -> npt.NDArray[np.uint32]:
        degrees = np.zeros(1 << scale, np.uint32)
        _degree(some.ctypes.data, len(some), scale, degrees.ctypes.data)
        return degrees

    found = np.zeros(1 << scale, np.int64)
    for some in pool.map(part, np.array_split(keys, threads)):
        found += some
    return found


def graph(name: str, threads: int = 1) -> ArrayGraph:
    """A graph of `SIZES`, its vertices numbered by degree, those without a relationship left out."""
    scale, count = SIZES[name]
    keys, mask = relationships(scale, count, threads), (1 << scale) - 1
    with ThreadPoolExecutor(threads) as pool:
        degrees = _degrees(keys, scale, threads, pool)
        few = (int(degrees.max()) - degrees) << scale | np.arange(len(degrees))
        order = ascending(few, threads) & mask
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))

        def turned(first: int) -> tuple[Keys, Keys]:
            piece = keys[first : first + _PIECE]
            a, b = rank[piece >> scale], rank[piece & mask]
            return np.sort((a << scale) | b), np.sort((b << scale) | a)

        both = [one for pair in pool.map(turned, range(0, count, _PIECE)) for one in pair]
        neighbours = _merged(both, pool, lambda part: (part & mask).astype(np.uint32))
    n = int((degrees > 0).sum())
    offsets = np.concatenate([[0], np.cumsum(degrees[order][:n])])
    return ArrayGraph(offsets, neighbours)

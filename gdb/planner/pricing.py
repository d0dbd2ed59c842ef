"""The cost of a counting nest of a large pattern, priced from samples before there is a nest.

A nest is priced as `executor.nest.branches` and `interface_caches` will make it of an order: what falls apart is
counted apart, and a loop whose count is kept by some of the vertices around it runs as often as these are bound to
other data vertices, at most as often as the pattern between them has embeddings. All numbers of embeddings are
sampled: mean degrees, which know nothing of hubs, have been wrong by a factor of ten and more here.
`gdb.executor.cpu.nest_prices` does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.executor.cpu import nest_orders, nest_prices, nest_shapes, populations
from gdb.storage.graph.adjacency import I64

if TYPE_CHECKING:
    from gdb.planner.sampled_embeddings import Statistics

# microseconds of a price for which all samples are known, of a sample, and of an element that sampling looks at
A_PRICE, A_SAMPLE, AN_ELEMENT = 3.0, 5.0, 0.0065
# room for the parts of a query graph that are sampled: of one of up to so many vertices, and of a larger one
MEDIUM, SETS, MORE_SETS = 16, 1 << 12, 1 << 15
FIRST_ROOM, MOST_ROOM = 1 << 17, 1 << 21  # bytes of further samples that are made at a time


class Samples:
    """Samples of the embeddings of the parts of one query graph, kept.

    most : members of each sample.
    """

    def __init__(self, statistics: Statistics, most: int) -> None:
        self.statistics = statistics
        n = statistics.n
        self._empty = statistics.begin(most)
        self._fan = np.zeros((n, n))
        for (u, v), share in statistics.fan.items():
            self._fan[u, v] = share
        self._near = np.array(statistics.near, np.int64)
        sets = SETS if n <= MEDIUM else MORE_SETS
        self._sets = np.zeros((3, sets), np.int64)
        self._work = np.empty(6 * n, np.int64)
        self._rooms: list[npt.NDArray[np.int64]] = []
        keys, work = int(self._sets.ctypes.data), int(self._work.ctypes.data)
        self._state = np.array(
            (
                *(*statistics.tables, n, statistics.scratch, most),
                *(self._fan.ctypes.data, self._near.ctypes.data, self._empty.address),
                *(sets, keys, keys + 8 * sets, keys + 16 * sets, 0, 0, 0, 0),
                *(work, work + 32 * n),
            ),
            np.int64,
        )
        self.address = int(self._state.ctypes.data)
        self._least = 8 * populations.N_POPULATION + (most + 8) * (16 + 4 * n) + 8

    @property
    def drawn(self) -> int:
        """How many samples there are."""
        return int(self._state[nest_shapes.DRAWN])

    def grow(self) -> None:
        """Make room for further samples."""
        size = min(FIRST_ROOM << len(self._rooms), MOST_ROOM)
        room = np.empty(max(size, self._least) // 8 + 1, np.int64)
        self._rooms.append(room)
        at = int(room.ctypes.data)
        self._state[[nest_shapes.ROOM, nest_shapes.ROOM_END]] = at, at + room.nbytes


class Prices:
    """Prices of the nests of one query graph, and orders of its vertices.

    apart : pairs of vertices that have to differ.
    """

    def __init__(self, samples: Samples, apart: Iterable[tuple[int, int]]) -> None:
        self.samples = samples
        self.statistics = samples.statistics
        self.n = n = samples.statistics.n
        block = np.empty(2 * n, np.int64)
        self._differs, self._out = block[:n], block[n:]
        self._at = int(block.ctypes.data)
        self._out_at = self._at + 8 * n
        self._priced, self._known, self._spent = 0, samples.drawn, samples.statistics.spent
        self.require(apart)

    @property
    def effort(self) -> float:
        """What pricing took so far, in about microseconds; the same each time."""
        looked_at = self.statistics.spent - self._spent
        drawn = self.samples.drawn - self._known
        return A_PRICE * self._priced + A_SAMPLE * drawn + AN_ELEMENT * looked_at

    def require(self, apart: Iterable[tuple[int, int]]) -> None:
        """Price nests under other conditions: pairs of vertices that have to differ."""
        differs = [0] * self.n
        for u, v in apart:
            differs[u] |= 1 << v
            differs[v] |= 1 << u
        self._differs[:] = differs

    def price(self, order: Sequence[int] | I64) -> float:
        """Steps to count the embeddings along an order: to loop over its first vertices and count the others."""
        self._priced += 1
        places = np.asarray(order, np.int64)
        arguments = self.samples.address, self._at, int(places.ctypes.data)
        found = nest_prices.price(*arguments)
        while found < 0.0:
            self.samples.grow()
            found = nest_prices.price(*arguments)
        return found

    def embeddings(self, order: Sequence[int]) -> tuple[float, ...]:
        """Expected embeddings of the pattern between the vertices up to each one of an order."""
        found, mask = [], 0
        for v in order:
            mask |= 1 << v
            number = nest_prices.embeddings(self.samples.address, mask)
            while number < 0.0:
                self.samples.grow()
                number = nest_prices.embeddings(self.samples.address, mask)
            found.append(number)
        return tuple(found)

    def tail(self, order: Sequence[int]) -> int:
        """How many vertices at the end of an order are counted without loops."""
        places = np.array(order, np.int64)
        looped = nest_prices.looped(self.samples.address, self._at, int(places.ctypes.data))
        return self.n - looped

    def tried(self, orders: I64, given: int, draws: Draws) -> npt.NDArray[np.float64]:
        """Put orders into the rows of `orders`, i64[count, n], after those that are given, and price all: f64[count],
        `nest_prices.UNKNOWN` of what is no order. draws : for those that are made."""
        prices = np.empty(len(orders))
        self._run(
            *(nest_orders.tried, len(orders), given, draws),
            *(int(orders.ctypes.data), int(prices.ctypes.data)),
        )
        return prices

    def climbed(self, order: I64, price: float, count: int, draws: Draws, *, rooted: bool) -> float:
        """Change an order, i64[n], of a known price as long as that makes it cheaper, in so many tries; the price of
        what it has become. rooted : its first vertex stays."""
        found = np.array([price])
        places = int(order.ctypes.data), int(found.ctypes.data)
        self._run(nest_orders.climbed, count, 0, draws, *places, rooted=rooted)
        return float(found[0])

    def _run(
        self,
        kernel: Callable[..., object],
        count: int,
        given: int,
        draws: Draws,
        *places: int,
        rooted: bool = False,
    ) -> None:
        """Do so many tries, with ever more room for samples."""
        self._priced += count
        tries = np.array((0, count, given, *draws.addresses, self._out_at, rooted), np.int64)
        while kernel(self.samples.address, self._at, int(tries.ctypes.data), *places) != count:
            self.samples.grow()


class Draws:
    """Random numbers for orders of n vertices that are made and changed.

    firsts : i64[made], the vertices that orders begin with. falls : f64[3, n + 1], how much more a vertex counts that
        leaves a part of so many, in turn. noises : f64[made, n], how much more each vertex counts. changes : i64[k, 2],
        a place, and another that a vertex is moved to.
    """

    def __init__(
        self,
        firsts: I64,
        falls: npt.NDArray[np.float64],
        noises: npt.NDArray[np.float64],
        changes: I64,
    ) -> None:
        self._kept = firsts, falls, noises, changes
        self.addresses = tuple(int(each.ctypes.data) for each in self._kept)

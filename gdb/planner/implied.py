"""Comparisons that follow from others: of e.at <= f.at, f.at <= g.at and g.at - e.at <= w that f.at - e.at is within
[0, w], which is known as soon as e and f are bound.

Comparisons within bounds are difference constraints (Cormen et al., Introduction to Algorithms, "Difference constraints
and shortest paths"): the tightest bound that follows for two values is the length of a shortest path between them. A
null fails every comparison that mentions it, so that what follows holds of all that is matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gdb.executor.plan.plan import Compare
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64

_ANY = 1 << 62  # no difference of two values is more, and none less than its negative
_OPEN = 1 << 80  # no bound
_LEAST = -(1 << 70)  # as good as any bound that cannot hold; contradictions must not run away


@dataclass(frozen=True, slots=True)
class _Place:
    """A compared value: its query vertex or edge, and the array that it comes from (its address)."""

    element: int
    is_edge: bool
    values: int


def _places(compare: Compare) -> tuple[_Place, _Place]:
    left, right = id(compare.left_values), id(compare.right_values)
    return (
        _Place(compare.left, compare.left_is_edge, left),
        _Place(compare.right, compare.right_is_edge, right),
    )


class Bounds:
    """What some comparisons, taken together, say of the difference of every two values."""

    def __init__(self, compares: Iterable[Compare]) -> None:
        """Bounds of the values of these comparisons; none is applied before `hold`."""
        self.places: list[_Place] = []
        self.values: list[Compare] = []  # one with the place on its left or right
        self._at: dict[_Place, int] = {}
        for compare in compares:
            for place in _places(compare):
                if compare.inside and place not in self._at:
                    self._at[place] = len(self.places)
                    self.places.append(place)
                    self.values.append(compare)
        n = len(self.places)
        # most[i][j] : of the value at j less that at i
        self.most = [[0 if i == j else _OPEN for j in range(n)] for i in range(n)]

    def hold(self, compare: Compare) -> None:
        """Take in one more comparison."""
        if compare.inside:
            left, right = (self._at[place] for place in _places(compare))
            self._hold(left, right, compare.most)
            self._hold(right, left, -compare.least)

    def _hold(self, i: int, j: int, most: int) -> None:
        if most >= min(_ANY, self.most[i][j]):
            return
        after = self.most[j]
        for row in self.most:
            if row[i] < _OPEN:
                for k, beyond in enumerate(after):
                    if beyond < _OPEN:
                        row[k] = min(row[k], max(row[i] + most + beyond, _LEAST))

    def of(self, i: int, j: int) -> tuple[int, int]:
        """Least and most of the value at j less that at i."""
        least, most = -self.most[j][i], self.most[i][j]
        return min(max(least, -_ANY - 1), _ANY + 1), max(min(most, _ANY + 1), -_ANY - 1)

    def between(self, compare: Compare) -> tuple[int, int]:
        """What they say of the two values of a comparison."""
        left, right = (self._at[place] for place in _places(compare))
        return self.of(left, right)

    @property
    def apart(self) -> frozenset[tuple[int, int]]:
        """Pairs of query edges, both ways around, that cannot be the same data edge: their values from one array
        differ."""
        edges = [(k, x) for k, x in enumerate(self.places) if x.is_edge]
        return frozenset(
            (x.element, y.element)
            for i, x in edges
            for j, y in edges
            if x.element != y.element
            and x.values == y.values
            and min(self.most[i][j], self.most[j][i]) < 0
        )


def bounds_of(compares: Sequence[Compare]) -> Bounds:
    """What all of some comparisons say."""
    found = Bounds(compares)
    for compare in compares:
        found.hold(compare)
    return found


class Implied:
    """Finds the comparisons that follow from those of a query graph, and are not covered by those that a plan has made
    so far."""

    def __init__(self, compares: Sequence[Compare]) -> None:
        self.whole, self.known = bounds_of(compares), Bounds(compares)
        self.text = " AND ".join(c.text for c in compares if c.inside)

    def note_made(self, compare: Compare) -> None:
        """A plan makes this comparison."""
        self.known.hold(compare)

    def following(self, vertices: Iterable[int], edges: Iterable[int]) -> Iterator[Compare]:
        """What follows for the values of these query vertices and edges; it counts as made."""
        bound = {(v, False) for v in vertices} | {(e, True) for e in edges}
        places = self.whole.places
        there = [k for k, x in enumerate(places) if (x.element, x.is_edge) in bound]
        for j in there:
            for i in there:
                other = (places[i].element, places[i].is_edge)
                if i < j and other != (places[j].element, places[j].is_edge):
                    compare = self._missing(i, j)
                    if compare is not None:
                        self.note_made(compare)
                        yield compare

    def _missing(self, i: int, j: int) -> Compare | None:
        known, whole = self.known.most, self.whole.most
        if whole[i][j] >= known[i][j] and whole[j][i] >= known[j][i]:
            return None
        ends = [_side(self.whole.values[k], self.whole.places[k]) for k in (i, j)]
        (left, left_is_edge, left_values), (right, right_is_edge, right_values) = ends
        sides = left, right, left_is_edge, right_is_edge
        return Compare(
            *sides, *self.whole.of(i, j), left_values, right_values, self._text(i, j), implied=True
        )

    def _text(self, i: int, j: int) -> str:
        """Which two it compares, and of what that follows."""
        names = [
            f"{'edge' if self.whole.places[k].is_edge else 'vertex'} {self.whole.places[k].element}"
            for k in (i, j)
        ]
        return f"{' and '.join(names)}, as follows from {self.text}"


def _side(compare: Compare, place: _Place) -> tuple[int, bool, I64]:
    left = _places(compare)[0] == place
    return (
        place.element,
        place.is_edge,
        compare.left_values if left else compare.right_values,
    )


def again(
    compares: Sequence[Compare], bounds: Mapping[int, tuple[int, int]]
) -> dict[int, tuple[int, int]] | None:
    """Bounds of a plan's comparisons, by their number, when some that are not implied have others: with those of the
    implied ones. None where these bounds make other pairs of edges differ, so that the plan does not fit."""
    if not bounds:
        return {}
    changed = [
        replace(c, least=bounds[k][0], most=bounds[k][1]) if k in bounds else c
        for k, c in enumerate(compares)
    ]
    whole = bounds_of([c for c in changed if not c.implied])
    if whole.apart != bounds_of([c for c in compares if not c.implied]).apart:
        return None
    return {**bounds, **{k: whole.between(c) for k, c in enumerate(compares) if c.implied}}

"""Patterns of MERGE in which a row never matches what another row has made, unless all their values are equal.

Such rows are matched all at once, in the graph before the clause. A row makes the nodes that it has not, and all
relationships of the pattern, so a row that matches anything new has a new relationship in its match:

- Where no new relationship can take another place than its own in the pattern, the nodes at its ends are at their own
  places, too. A new node has no relationships but those made with it, so the next ones are at their own places as well,
  up to both ends of the pattern, unless the rows have a node between them. Then all values of both rows are equal.
- Where rows have no node of the pattern, what a row makes is connected with nothing else, and has as many relationships
  as the pattern. A match that has each once is the whole of it, in its own direction or the other one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from gdb.language.mentioned_names import asks
from gdb.language.syntax import Call, Index, MapProjection, Property, Variable, walk
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.language.syntax import Expression, NodePattern, PathPattern, RelationshipPattern
    from gdb.query_graph import MatchMode


def is_independent(
    pattern: PathPattern, bound: Collection[str], undirected: Collection[str], mode: MatchMode
) -> bool:
    """Whether no row matches what another row of the clause has made, unless all their values are equal.

    pattern : of MERGE. bound : the names in it that the rows have. undirected : the types of relationships that have no
        direction in the store.
    """
    if not pattern.relationships:
        return True
    if mode.nodes_differ or mode.distinct or mode.induced:
        return False
    names = [node.variable.text for node in pattern.nodes if node.variable is not None]
    if len(pattern.relationships) > 1 and len({*names}) < len(names):
        return False
    made = _MergedPattern(pattern, bound, undirected)
    between = [made.is_bound(node) for node in pattern.nodes[1:-1]]
    if not any(between) and not made.moves():
        return True
    return mode.edges_differ and not any(map(made.is_bound, pattern.nodes)) and not made.turns()


class _MergedPattern:
    """What a row makes of a pattern, and which places in the pattern that can take."""

    def __init__(
        self, pattern: PathPattern, bound: Collection[str], undirected: Collection[str]
    ) -> None:
        self.nodes, self.relationships = pattern.nodes, pattern.relationships
        self.bound, self.undirected = bound, undirected

    def is_bound(self, node: NodePattern) -> bool:
        """Whether the rows have a node."""
        return node.variable is not None and node.variable.text in self.bound

    def moves(self) -> bool:
        """Whether a relationship can take another place than its own, or the other direction."""
        count = range(len(self.relationships))
        return any((k, k, k + 1) != found for k in count for found in self._places(k))

    def turns(self) -> bool:
        """Whether all of it can take the places in the other direction."""
        last = len(self.relationships) - 1
        return all((last - k, k + 1, k) in self._places(k) for k in range(last + 1))

    def _places(self, made: int) -> Iterator[tuple[int, int, int]]:
        """Where the relationship of a place can match: at which place, and which of its nodes are left and right then,
        by their own places."""
        own = self.relationships[made]
        turned = own.direction is Direction.IN
        start, end = (made + 1, made) if turned else (made, made + 1)
        name = own.types[0].text
        for place, one in enumerate(self.relationships):
            if one.types[0].text != name or not _may_be(own, one):
                continue
            ways = {Direction.OUT: [(start, end)], Direction.IN: [(end, start)]}
            both = [(start, end), (end, start)]
            for left, right in both if name in self.undirected else ways.get(one.direction, both):
                if self._fits(left, place) and self._fits(right, place + 1):
                    yield place, left, right

    def _fits(self, made: int, place: int) -> bool:
        """Whether the node of a place can match at another one. One that the rows have may be any node of the graph,
        and one that is made is none that the rows have."""
        own, other = self.nodes[made], self.nodes[place]
        if self.is_bound(own):
            return True
        if self.is_bound(other):
            return False
        labels = {label.text for term in own.labels for label in term}
        needed = {label.text for term in other.labels for label in term}
        return needed <= labels and _may_be(own, other)


def _may_be(
    own: NodePattern | RelationshipPattern, other: NodePattern | RelationshipPattern
) -> bool:
    """Whether an element that is made for a part of a pattern has all properties that another part has."""
    return {key.text for key, _ in other.properties} <= {key.text for key, _ in own.properties}


# ---- values that the clause changes --------------------------------------------------------------


def reread(values: Iterable[Expression], keys: Collection[str]) -> frozenset[str] | None:
    """The names whose properties called `keys` some values read; None where that is not known, for they read all
    properties of an element, or match a pattern."""
    found: set[str] = set()
    for value in values:
        if asks(value):
            return None
        for part in walk(value) if keys else ():
            match part:
                case Property(subject=Variable(name=name), key=key):
                    found |= {name} if key.text in keys else set()
                case Property(key=key) if key.text in keys:
                    return None
                case _ if reads_all_properties(part):
                    return None
    return frozenset(found)


def reads_all_properties(part: Expression) -> bool:
    """Whether a part of an expression, without those in it, reads properties of an element whose keys its text does not
    name."""
    if isinstance(part, Call):
        return part.function.text.lower() in ("properties", "keys")
    return isinstance(part, (Index, MapProjection))
